"""Bad files and options give one sentence that names the option, and exit code 1 or 2."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree import formats
from bowfree.cli import main
from bowfree.datasets.tables import write_table
from command_line import run

GRAPH = ("--graph", "sun -> leaves")
MANY = ", ".join(f"x{k}" for k in range(99))
XY = bf.parse("x -> y").to_dict()


def model(B, Omega, graph=XY):
    return json.dumps({"graph": graph, "B": B, "Omega": Omega}).encode()


FILES = {
    "empty.csv": b"",
    "binary.csv": bytes(range(256)) * 4,
    "nul.csv": b"\0" * 100,
    "utf16.csv": "sun,leaves\n1,2\n".encode("utf-16"),
    "words.csv": b"sun,leaves\nred,blue\n",
    "header.csv": b"sun,leaves,fruit\n",
    "one-row.csv": b"sun,leaves,fruit\n1,2,3\n",
    "constant.csv": b"sun,leaves,fruit\n" + b"1,2,3\n" * 30,
    "missing-values.csv": b"sun,leaves,fruit\n" + b"nan,2,3\n" * 30,
    "infinite.csv": b"sun,leaves,fruit\n" + b"inf,2,3\n1,2,1\n" * 30,
    "too-large.csv": b"sun,leaves,fruit\n1e999,2,3\n",
    "underscore.csv": b"sun,leaves\n1_000,2\n",
    "ragged.csv": b"sun,leaves,fruit\n1,2\n",
    "twice.csv": b"sun,sun,leaves\n1,2,3\n",
    "quote.csv": b'sun,"leaves\n1,2\n',
    "other.csv": b"moon,star\n1,2\n",
    "table.xlsx": b"PK",
    "bad.parquet": b"PAR1xxxxPAR1",
    "asymmetric.csv": b"sun,leaves\n1,0.5\n0.1,1\n",
    "negative.csv": b"sun,leaves\n-1,0.5\n0.5,1\n",
    "singular.csv": b"sun,leaves\n1,1\n1,1\n",
    "zero.csv": b"sun,leaves\n0,0\n0,0\n",
    "cov.csv": b"sun,leaves\n1,0.5\n0.5,1\n",
    "bad.json": b"{",
    "deep.json": b"[" * 100_000,
    "list.json": b"[1]",
    "graph.json": json.dumps(XY).encode(),
    "model-types.json": model(5, None),
    "model-words.json": model([[0, "a"], [1, 0]], [[1, 0], [0, 1]]),
    "model-graph.json": model([[0, 0], [1, 0]], [[1, 0], [0, 1]], graph=5),
    "model-nan.json": model([[0, 0], [float("nan"), 0]], [[1, 0], [0, 1]]),
    "model-ragged.json": model({"a": 1}, [[1, 0], [0]]),
    "open.toml": b"required = [",
    "types.toml": b"required = 5",
    "unknown.toml": b"required = ['sun -> moon']",
    "bytes.toml": b"\xff",
    "cycle.txt": b"sun -> leaves -> sun",
    "bow.txt": b"sun -> leaves, sun <-> leaves",
    "bytes.txt": bytes(range(256)),
}
DATA = [
    name for name in FILES if name.endswith((".csv", ".xlsx", ".parquet")) and name != "cov.csv"
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with these files, a valid one, and a folder that has the name of a file."""
    path = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        (path / name).write_bytes(content)
    (path / "good.csv").write_text(write_table(bf.datasets.load_demo()))
    (path / "folder.csv").mkdir()
    return path


def cases():
    """Yield command lines that fail, with words of the message."""
    for name in [*DATA, "folder.csv", "nowhere.csv"]:
        covariances = name in ("asymmetric.csv", "negative.csv", "singular.csv", "zero.csv")
        kind = ("--cov", "--n", "50") if covariances else ()
        yield ["fit", name, *GRAPH, *kind], ""
        yield ["effects", name, *GRAPH, *kind, "--standardize"], ""
        yield ["learn", name, "--restarts", "1", *kind], ""
    yield ["fit", "header.csv", *GRAPH, "--log"], ""
    yield ["fit", "good.csv", *GRAPH, "--cov", "--n", "9"], "square"
    # Numbers that click or the library refuses.
    for command, option, values in (
        ("learn good.csv", "--seed", ["x", "", "0.5", "-1", "9" * 5000]),
        ("learn good.csv", "--restarts", ["x", "0", "9" * 30]),
        ("learn good.csv", "--jobs", ["x", "0", "-2", "9" * 30]),
        ("learn good.csv", "--max-in-degree", ["-1", "9" * 30]),
        ("learn good.csv", "--penalty", ["x", "-1", "nan", "inf"]),
        ("learn good.csv", "--time-limit", ["0", "nan"]),
        ("fit cov.csv --graph sun->leaves --cov", "--n", ["1", "x"]),
        ("effects good.csv --graph sun->leaves", "--limit", ["0", "0.5", "9" * 30]),
        ("equiv --graph x->y", "--list", ["-1", "9" * 30]),
        ("simulate --nodes 3 --seed 1", "--max-edges", ["-1", "9" * 30]),
        ("simulate --seed 1", "--nodes", ["0", ""]),
    ):
        for value in values:
            yield [*command.split(), option, value], option
    yield ["sample", *GRAPH, "--seed", "1", "--n", "9" * 30], "too large"
    yield ["simulate", "--seed", "1", "--nodes", "9" * 30], "too large"
    yield ["bootstrap", "good.csv", "--resamples", "10"], "resamples"
    yield ["bootstrap", "cov.csv", "--cov", "--n", "50"], "rows"
    yield ["bootstrap", "good.csv", "--correlation", "spearman"], "without weights, ranks"
    # Graphs.
    for format in formats.FORMATS:
        # To the language of graphs, brackets are a name like any other.
        brackets = () if format == "text" else ("deep.json", "list.json")
        for name in ("bytes.txt", "good.csv", *brackets):
            yield ["convert", name, "--from", format, "--to", "dot"], "FILE"
        yield ["fit", "good.csv", "--graph-file", "bytes.txt", "--format", format], "--graph-file"
    for text in ("->", "\udcff -> b", "x" * 300_000 + " y", "x -> " * 3, '"', "a b"):
        for command in (["equiv"], ["fit", "good.csv"], ["sample", "--seed", "1"]):
            yield [*command, "--graph", text], "--graph"
        yield ["equiv", *GRAPH, "--and", text], "--and"
    yield ["equiv", *GRAPH, "--and", "x" * 300_000], "--and"
    for name in ("cycle.txt", "bow.txt"):
        yield ["effects", "good.csv", "--graph-file", name], ""
        yield ["fit", "good.csv", "--graph-file", name], ""
    yield ["convert", "cycle.txt", "--from", "text", "--to", "pcalg"], "--to"
    # Models and knowledge.
    for name in FILES:
        if name.endswith(".json"):
            yield ["sample", "--model", name, "--seed", "1"], "--model"
        if name.endswith(".toml") and name != "unknown.toml":
            yield ["learn", "good.csv", "--knowledge", name], "--knowledge"
    yield ["learn", "good.csv", "--knowledge", "unknown.toml"], "'moon'"
    # Where the results go.
    for name in ("good.csv/file", "good.csv", "folder.csv", "x" * 300):
        yield ["sample", *GRAPH, "--seed", "1", "--n", "2", "--out", name], "out"
        yield ["equiv", *GRAPH, "--svg", name], "svg"
        yield ["learn", "good.csv", "--report", name], "report"
    yield ["learn", "good.csv", "--out", "good.csv"], "--out"
    yield ["simulate", "--nodes", "2", "--seed", "1", "--out", "folder.csv"], "--out"
    # Columns.
    for names in ("", "sun,", "sun,sun", "moon", "\udcff"):
        yield ["learn", "good.csv", "--columns", names], ""
    yield ["fit", "good.csv", *GRAPH, "--columns", "sun"], ""


@pytest.mark.parametrize(
    ("arguments", "words"), [pytest.param(*case, id=f"{k}") for k, case in enumerate(cases())]
)
def test_a_sentence_and_no_traceback(arguments, words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, arguments)
    assert isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert "Error: " in result.stderr
    assert words in result.stderr
    assert len(result.stderr) < 2000 or "9999" in result.stderr  # click repeats the value
    assert "Traceback" not in result.stderr


def bowfree(*arguments, **options):
    command = [sys.executable, "-m", "bowfree", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["fit", "binary.csv", *GRAPH], {}, "UTF-8"),
        (["convert", "folder.csv", "--from", "dot", "--to", "text"], {}, "folder.csv"),
        (["equiv", "--graph", "𝒳 -> y"], {"PYTHONIOENCODING": "latin-1"}, "PYTHONUTF8=1"),
        (["sample", "--graph", "x", "--seed", "1", "--n", "9" * 17], {}, "too large: at most"),
        (["sample", "--graph", MANY, "--seed", "1", "--n", "2147483647"], {}, "memory"),
    ],
)
def test_the_same_in_a_new_process(arguments, environment, words, folder):
    done = bowfree(*arguments, cwd=folder, env=os.environ | environment)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_many_problems_end_with_a_line_to_copy(tmp_path):
    """The option that drops what cannot be used is not cut off, however many problems there are."""
    columns = {f"text_{k}": [f"a long entry {k} {row}" for row in range(3)] for k in range(12)}
    path = tmp_path / "messy.csv"
    rows = zip(*columns.values(), [1.0, 2.0, 4.0], [3.0, 1.0, 2.0], strict=True)
    head = ",".join([*columns, "x", "y"])
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]))
    last = run("learn", path, code=1).stderr.splitlines()[-1]
    assert last.strip().startswith("to drop all columns that cannot be used: --drop text_0,")
    assert last.endswith("text_11")
    option = last.split("--drop ")[1]
    assert "x" in run("learn", path, "--drop", option, "--restarts", 1).output
