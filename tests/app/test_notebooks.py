"""The widget in JupyterLab and marimo, in a real browser with their own kernels.

``nox -s notebooks`` installs both; without them, or without a browser, the tests are skipped.
"""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import bowfree as bf
from app_tab import Tab
from browser import find_browser

pytest.importorskip("anywidget", reason="the extra `notebook` is not installed")

NAMES = tuple(bf.datasets.load_demo())
FIRST = "import bowfree as bf\nbench = bf.workbench(bf.datasets.load_demo())\nbench"
SECOND = "print('kernel:', bench.graph)"
PATIENCE = 180  # seconds: servers and kernels have to start


@pytest.fixture
def tab(request, tmp_path):
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed: the widget is not tested in a notebook")
    with Tab(path, tmp_path / "profile") as browser:
        browser.names, browser.patience = NAMES, PATIENCE
        yield browser
        if folder := os.environ.get("BOWFREE_SCREENSHOTS"):
            browser.screenshot(f"{folder}/{request.node.name}.png")


@contextlib.contextmanager
def running(command, port, folder, **environment):
    """Run a notebook server until the end of the block."""
    log = folder / "server.log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": str(folder), **environment},
        )
        try:
            end = time.monotonic() + PATIENCE
            while not _answers(port):
                text = log.read_text(encoding="utf-8", errors="replace")
                assert process.poll() is None, text
                assert time.monotonic() < end, text
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def _answers(port):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
    except urllib.error.HTTPError:
        return True  # it requires the token
    except OSError:
        return False
    return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def jupyter(folder):
    """Serve a notebook in JupyterLab; yield its address."""
    cells = [
        {"cell_type": "code", "id": f"cell{k}", "source": source, "metadata": {}, "outputs": [],
         "execution_count": None}
        for k, source in enumerate((FIRST, SECOND))
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4,
                "nbformat_minor": 5}  # fmt: skip
    (folder / "try.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    port, token = free_port(), secrets.token_urlsafe(16)
    quiet = "@jupyterlab/apputils-extension:announcements"  # connects to other servers
    command = [
        "jupyterlab", "--allow-root", "--no-browser", f"--ServerApp.port={port}",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}",
        "--LabApp.extension_manager=readonly", f"--LabApp.labextensions_disabled={quiet}",
    ]  # fmt: skip
    places = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    with running(command, port, folder, **places):
        yield f"http://127.0.0.1:{port}/doc/tree/try.ipynb?token={token}"


def run_cell(tab, number):
    """Press Shift+Enter in a cell of JupyterLab until it runs."""
    cell = f"document.querySelectorAll('.jp-CodeCell')[{number}]"
    tab.until(f"{cell}?.querySelector('.cm-content')")
    end = time.monotonic() + PATIENCE
    while not tab.evaluate(f"/[*0-9]/.test({cell}.querySelector('.jp-InputPrompt').innerText)"):
        assert time.monotonic() < end, "the cell does not run"
        tab.click_on(f"{cell}.querySelector('.cm-line')")
        tab.press("Enter", shift=True)
        time.sleep(1)


def use_workbench(tab):
    """Draw, undo, try an impossible edge, use the keyboard, and search."""
    tab.drag("sun", "leaves")
    tab.until_edges("sun → leaves")
    assert "+0.2454" in tab.text(".numbers")
    tab.press_button("↔ hidden cause")
    tab.drag("sun", "leaves")
    tab.until_visible(".callout")
    tab.press_button("Change it to sun ↔ leaves")
    tab.until_edges("sun ↔ leaves")
    tab.press_button("↶ Undo")
    tab.until_edges("sun → leaves")
    # Keys that are shortcuts of notebooks as well must not reach the notebook.
    focus = f"({tab.root}.activeElement || document.body).getAttribute('aria-label')"
    tab.evaluate(f"{tab.one('.current .edge')}.focus()")
    tab.press("c")
    tab.until_edges("sun ↔ leaves")
    assert tab.evaluate(focus).startswith("sun ↔ leaves")  # the changed edge keeps the focus
    tab.press("z", control=True)
    tab.until_edges("sun → leaves")
    tab.evaluate(f"{tab.one('.current .box')}.focus()")
    tab.press("Enter")
    tab.press("ArrowDown")
    other = tab.evaluate(focus).split(":")[0]
    tab.press("a")  # adds a cell in JupyterLab, as does b
    tab.press("b")
    tab.until_edges("sun → leaves", f"sun ↔ {other}")
    tab.press("z", control=True)
    tab.until_edges("sun → leaves")
    tab.press(" ")
    tab.until_visible(".menu")
    tab.press("Escape")
    tab.until(f"{tab.one('.menu')}.hidden")
    tab.press_button("Search")
    tab.press_button("Start search")
    tab.until(tab.one(".candidates"))
    assert "best score −8.8492" in tab.text(".found").replace("-", "−")


def test_jupyterlab(tab, tmp_path):
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    with jupyter(tmp_path) as address:
        tab.open(address, width=1400, height=1000)
        tab.until("document.querySelector('.jp-Notebook')")
        tab.until("document.querySelector('[data-status=idle]')")
        run_cell(tab, 0)
        tab.until("document.querySelector('.bf-workbench .box')")
        before = tab.count(".jp-Cell")
        use_workbench(tab)
        assert tab.count(".jp-Cell") == before
        run_cell(tab, 1)
        output = "document.querySelectorAll('.jp-CodeCell')[1].innerText"
        tab.until(f"{output}.includes('kernel: ')")


MARIMO = """
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    {first}
    return (bench,)


@app.cell
def _(bench):
    import marimo as mo
    ask = mo.ui.button(label="print")
    ask
    return (ask,)


@app.cell
def _(ask, bench):
    ask.value
    {second}
    return


if __name__ == "__main__":
    app.run()
"""


@contextlib.contextmanager
def marimo(folder):
    """Serve a notebook in marimo, which runs its cells at once; yield its address."""
    indented = {"first": FIRST.replace("\n", "\n    "), "second": SECOND}
    file = folder / "try.py"
    file.write_text(MARIMO.format(**indented), encoding="utf-8")
    settings = folder / "config" / "marimo"
    settings.mkdir(parents=True)
    (settings / "marimo.toml").write_text("[runtime]\nauto_instantiate = true\n", encoding="utf-8")
    port, token = free_port(), secrets.token_urlsafe(16)
    command = ["marimo", "--yes", "edit", str(file), "--headless", "--skip-update-check",
               f"--port={port}", f"--token-password={token}"]  # fmt: skip
    with running(command, port, folder, XDG_CONFIG_HOME=str(folder / "config")):
        yield f"http://127.0.0.1:{port}/?access_token={token}"


def test_marimo(tab, tmp_path):
    pytest.importorskip("marimo", reason="marimo is not installed")
    # marimo renders widgets in a shadow tree.
    tab.root = "document.querySelector('marimo-anywidget').shadowRoot"
    with marimo(tmp_path) as address:
        tab.open(address, width=1400, height=1000)
        tab.until("document.querySelector('marimo-anywidget')?.shadowRoot")
        tab.until(tab.one(".bf-workbench .box"))
        use_workbench(tab)
        tab.click_on("document.querySelector('marimo-button').shadowRoot.querySelector('button')")
        tab.until("document.body.innerText.includes('kernel: sun -> leaves')")
