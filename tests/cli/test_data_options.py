"""The options for data, on tables from the wild, and the commands about given graphs."""

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main
from bowfree.datasets.tables import write_table

CHAIN = "sun -> leaves -> fruit"
QUICK = ("--restarts", 1, "--strategy", "restart")


def run(*arguments, code=0):
    done = CliRunner().invoke(main, [str(a) for a in arguments])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def plants(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text(write_table(bf.datasets.load_demo()), encoding="utf-8")
    return path


def wild(tmp_path):
    """Excel in Germany, packed: a number for each plant, a remark, -999 for what is missing."""
    demo = bf.datasets.load_demo()
    lines = ["nr;sorte;sun;leaves;fruit"]
    rows = np.column_stack([demo[name] for name in ("sun", "leaves", "fruit")])
    for k, row in enumerate(rows.tolist()):
        cells = [f"{x}".replace(".", ",") for x in row]
        if k == 7:
            cells[1] = "-999"
        lines.append(";".join([str(k + 1), "größe"[k % 5], *cells]))
    path = tmp_path / "wild.csv.gz"
    path.write_bytes(gzip.compress("\r\n".join(lines).encode("cp1252")))
    return path


def test_from_the_wild_to_a_fit(tmp_path):
    """Each error names the option that helps; with all of them the numbers are those of Python."""
    path, given = wild(tmp_path), []
    for option, problem in [
        (("--encoding", "cp1252"), "--encoding"),
        (("--drop", "sorte,nr"), "drop that column (--drop)"),
        (("--na", "-999"), None),
        (("--drop-missing",), "1 of 1000 rows: leaves (1, first in row 9); --drop-missing"),
    ]:
        if problem is not None:
            assert problem in run("learn", path, *given, *QUICK, code=1).stderr
        given += option
    found = run("learn", path, *given, *QUICK, "--json")
    assert "dropped 1 of 1000 rows" in found.stderr
    demo = bf.datasets.load_demo()
    data = {name: np.delete(demo[name], 7) for name in ("sun", "leaves", "fruit")}
    fit = bf.fit(bf.parse(json.loads(found.stdout)["text"]), data)
    assert json.loads(found.stdout)["fit"]["loglik"] == pytest.approx(fit.loglik, rel=1e-12)


def test_identifiers_are_named_once_in_the_words_of_the_command_line(plants, tmp_path):
    table = bf.datasets.load_demo()
    rows = np.column_stack([np.arange(1, 1001), np.arange(1000) % 2, table.X[:, :2]])
    path = tmp_path / "id.csv"
    path.write_text(write_table(bf.datasets.Table(("id", "sex", *table.names[:2]), rows)))
    said = run("learn", path, *QUICK).stderr
    assert said.count("Warning: column id: looks like row numbers") == 1
    assert said.count("Warning: column sex: 6 different values or fewer") == 1
    assert said.count("to leave it out: --drop") == 2
    assert run("learn", path, "--drop", "id,sex", *QUICK).stderr == ""


def test_shrinkage(plants):
    auto = json.loads(run("fit", plants, "--graph", CHAIN, "--shrinkage", "auto", "--json").stdout)
    fit = bf.fit(bf.parse(CHAIN), bf.datasets.load_demo(), shrinkage="auto")
    assert auto["loglik"] == fit.loglik
    some = json.loads(run("fit", plants, "--graph", CHAIN, "--shrinkage", 0.5, "--json").stdout)
    assert some["loglik"] < auto["loglik"]
    for value in ("much", "2", "nan"):
        bad = run("fit", plants, "--graph", CHAIN, "--shrinkage", value, code=2)
        assert "--shrinkage" in bad.stderr


def test_ambiguous_tables_are_asked_about(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x;y\n1,234;2\n2,345;5\n3,456;4\n")
    assert "--decimal comma" in run("fit", path, "--graph", "x -> y", code=1).stderr
    run("fit", path, "--graph", "x -> y", "--decimal", "comma")
    path.write_text("x,y;z\n1,2;3\n4,5;6\n7,7;1\n")
    assert "--separator" in run("fit", path, "--graph", "x,y", code=1).stderr


def test_fit_with_indices_and_changes(plants):
    fit = bf.fit(bf.parse(CHAIN), bf.datasets.load_demo())
    changes = bf.edge_changes(bf.parse(CHAIN), bf.datasets.load_demo())
    found = run("fit", plants, "--graph", CHAIN, "--indices", "--changes").stdout
    assert found == f"{fit.summary()}\n\n{fit.modification_indices()}\n\n{changes}\n"
    content = json.loads(run("fit", plants, "--graph", CHAIN, "--changes", "--json").stdout)
    assert content["edge_changes"]["changes"][0]["score"] == changes[0].score
    assert "modification_indices" not in content


def test_compare(plants, tmp_path):
    (tmp_path / "file.txt").write_text("sun -> leaves <-> fruit")
    graphs = ("--graph", f"chain={CHAIN}", "--graph", "sun, leaves, fruit")
    found = run("compare", plants, *graphs, "--graph-file", tmp_path / "file.txt")
    same = bf.compare(
        {
            "chain": bf.parse(CHAIN),
            "G2": bf.parse("sun, leaves, fruit"),
            "file": bf.parse("sun -> leaves <-> fruit"),
        },
        bf.datasets.load_demo(),
    )
    assert found.stdout == f"{same}\n"
    assert "Vuong" in found.stdout
    content = json.loads(run("compare", plants, *graphs, "--json").stdout)
    assert content["pairs"][0]["relation"] == "nested"


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (("--graph", "a=sun"), 2, "give two graphs or more"),
        (("--graph", "a=sun", "--graph", "a=leaves"), 2, "two graphs are called a"),
        (("--graph", "sun", "--graph", "leaves"), 1, "different variables"),
        (("--graph", "sun ->", "--graph", "leaves"), 1, "--graph: "),
        (("--graph", "sun", "--graph", "leaves", "--format", "json"), 2, "--format belongs to"),
    ],
)
def test_graphs_that_cannot_be_compared(options, code, problem, plants):
    assert problem in run("compare", plants, *options, code=code).stderr
