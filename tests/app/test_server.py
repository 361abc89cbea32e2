"""The server answers requests with the right address from this machine only."""

import dataclasses
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from app_serving import serving
from bowfree.app.session import Session
from bowfree.cli import main
from bowfree.data.options import DataOptions


@pytest.fixture(scope="module")
def server():
    with serving(Session(options=DataOptions(cov=np.eye(3) + 0.2, n=100))) as running:
        yield running


def ask(server, path, *, method="GET", body=None, **headers):
    """Return status, headers and text of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    host = headers.pop("Host", f"127.0.0.1:{server.port}")
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    given = {"Host": host, **headers}
    if body is not None:
        given["Content-Length"] = str(len(body))
    for name, value in given.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def post(server, message, **headers):
    given = {"Origin": f"http://127.0.0.1:{server.port}"} | headers
    given = {name: value for name, value in given.items() if value is not None}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return ask(server, f"/{server.token}/do", method="POST", body=body, **given)


def test_only_the_page_and_its_files_are_served(server):
    for name, kind in {
        "": "text/html",
        "start.js": "text/javascript",
        "workbench.js": "text/javascript",
        "style.css": "text/css",
    }.items():
        status, headers, text = ask(server, f"/{server.token}/{name}")
        assert status == 200
        assert headers["content-type"].startswith(kind)
        assert text
    for name in ("page.html", "../pyproject.toml", "%2e%2e/session.py", "..%2fsession.py",
                 "/etc/passwd", "static/style.css", "do", "style.css/", "__init__.py"):  # fmt: skip
        assert ask(server, f"/{server.token}/{name}")[0] == 404, name


def test_the_token_is_required(server):
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    for token, name in product(["", wrong, server.token[:-1], server.token + "x"], ["", "events"]):
        assert ask(server, f"/{token}/{name}")[0] == 404
    status, _, text = ask(server, "/")
    assert status == 404
    assert "start `bowfree app` again" in text
    assert len(server.token) >= 32


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", ""])
def test_other_hosts_are_refused(server, host):
    assert ask(server, f"/{server.token}/", Host=host.format(server.port))[0] == 404
    assert ask(server, f"/{server.token}/", Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:1", None])
def test_other_sites_are_refused(server, origin):
    status, _, text = post(server, {"do": "hello"}, Origin=origin)
    assert status == 403
    assert "names" not in text
    if origin is not None:
        assert ask(server, f"/{server.token}/events", Origin=origin)[0] == 403


def test_security_headers(server):
    for path in (f"/{server.token}/", "/nothing"):
        headers = ask(server, path)[1]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_messages_are_answered(server):
    status, headers, text = post(server, {"do": "draw", "a": 0, "mark": "->", "b": 1, "id": 7})
    answer = json.loads(text)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert answer["reply_to"] == 7
    assert answer["state"]["graph"] == [[0, "->", 1]]
    assert "not JSON" in json.loads(post(server, b"{")[2])["error"]
    assert "UTF-8" in json.loads(post(server, b"\xff\xfe")[2])["error"]
    assert "must be an object" in json.loads(post(server, 5)[2])["error"]


def test_long_messages_are_refused(server):
    from bowfree.app.messages import MAX_TEXT

    origin = f"http://127.0.0.1:{server.port}"
    size = {"Content-Length": str(4 * MAX_TEXT + 1)}
    path = f"/{server.token}/do"
    assert ask(server, path, method="POST", Origin=origin, **size)[0] == 413  # before it is read


def test_a_table_is_opened():
    with serving(Session(options=DataOptions(cov=np.eye(3) + 0.2, n=100))) as server:
        rows = np.random.default_rng(0).normal(size=(40, 3)).round(3).tolist()
        text = "p;q;r\n" + "\n".join(";".join(map(str, row)) for row in rows)
        answer = json.loads(post(server, {"do": "open", "name": "../new.csv", "text": text})[2])
        assert answer["opened"] == "new.csv"
        hello = json.loads(post(server, {"do": "hello"})[2])["hello"]
        assert (hello["names"], hello["data"]) == (["p", "q", "r"], "new.csv")
        bad = {"do": "open", "name": "bad.csv", "text": "a,b\n1,x\n2,3\n"}
        assert "line 2" in json.loads(post(server, bad)[2])["error"]
        assert "name = 5" in json.loads(post(server, {"do": "open", "name": 5})[2])["error"]
        assert json.loads(post(server, {"do": "hello"})[2])["hello"]["data"] == "new.csv"


def test_messages_of_the_session_are_events(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"/{server.token}/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type").startswith("text/event-stream")
    assert answer.readline().startswith(b":")
    post(server, {"do": "change", "a": 1, "mark": "<->", "b": 2})
    while not (line := answer.readline()).startswith(b"data: "):
        pass
    message = json.loads(line[6:])
    assert message["kind"] == "state"
    assert [1, "<->", 2] in message["state"]["graph"]
    answer.close()
    connection.close()


# --- the command ---


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "plants.csv"
    rows = np.random.default_rng(0).normal(size=(50, 3)).round(3)
    path.write_text("x,y,z\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist()))
    return path


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_the_command_serves_until_ctrl_c(table, tmp_path):
    graph = tmp_path / "graph.txt"
    graph.write_text("x -> y <-> z")
    command = [sys.executable, "-m", "bowfree", "app", str(table), "--graph", str(graph)]
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", line).groups()
        running = type("Running", (), {"port": int(port), "token": token})

        for _ in range(100):
            try:
                hello = json.loads(post(running, {"do": "hello"})[2])["hello"]
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        assert hello["state"]["graph"] == [[0, "->", 1], [1, "<->", 2]]
        assert hello["data"] == "plants.csv"
        code = json.loads(post(running, {"do": "code"})[2])["file"]
        assert f"bf.datasets.read_table({str(table)!r})" in code
        post(running, {"do": "search", "seed": 1, "from_current": True})
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert errors.splitlines() == ["Press Ctrl-C to quit.", "The workbench has stopped."]


def run(*words):
    result = CliRunner().invoke(main, ["app", *map(str, words), "--no-browser"])
    assert result.exit_code != 0
    return result.stderr


def test_errors_of_the_command(table, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = run(table, "--port", port)
    assert f"port {port} cannot be used" in message
    assert "omit the port" in message
    assert "does not exist" in run(tmp_path / "none.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text("x,y\n1,2\n3,many\n")
    assert "line 3" in run(bad)
    assert "moon" in run(table, "--graph", "x -> moon")
    assert "cycle" in run(table, "--graph", "x -> y -> x")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'pip install "bowfree[app]"' in run(table)


def test_options_of_the_data_are_in_the_code(tmp_path):
    from bowfree.cli.programs import _origin
    from bowfree.cli.tables import Source
    from bowfree.datasets.tables import ReadOptions

    path = tmp_path / "data.csv"
    path.write_text("x;y;w\n1,5;2;a\n2,5;9;b\n4,0;3;c\n")
    source = Source((path,), ReadOptions(("x", "y"), (), (), "semicolon", "comma"), None)
    space = {}
    exec("import bowfree as bf\n" + "\n".join(_origin(source).lines), space)
    assert {name: x.tolist() for name, x in space["data"].items()} == {
        "x": [1.5, 2.5, 4.0],
        "y": [2.0, 9.0, 3.0],
    }
    assert _origin(dataclasses.replace(source, log=True)).lines == ()  # the covariances, then
