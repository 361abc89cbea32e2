"""`bowfree fit --conditions COLUMN --targets FILE`."""

import json

import numpy as np
import polars as pl
import pytest

import bowfree as bf
from command_line import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 80))
    y[:50] += x[:50]
    lines = [
        f"{a},{'control' if k < 50 else 'inhibitor'},{b},{b + c}"
        for k, (a, b, c) in enumerate(zip(x, y, z, strict=True))
    ]
    (tmp_path / "data.csv").write_text("x,batch,y,z\n" + "\n".join(lines) + "\n")
    (tmp_path / "targets.toml").write_text('inhibitor = ["y"]\n')
    return tmp_path


def fit(*arguments, code=0):
    return run("fit", "data.csv", "--graph", "x -> y -> z", *arguments, code=code)


def test_fit_by_condition(folder):
    done = fit("--conditions", "batch", "--targets", "targets.toml", "--json")
    found = json.loads(done.stdout)
    expected = bf.fit(bf.parse("x -> y -> z"), conditions_of_the_table(folder))
    assert found["loglik"] == pytest.approx(expected.loglik, rel=1e-12)
    assert [c["name"] for c in found["conditions"]] == ["control", "inhibitor"]
    text = fit("--conditions", "batch", "--targets", "targets.toml")
    assert "inhibitor  30  y" in text.stdout
    assert "Parameters shared by all conditions" in text.stdout
    without = fit("--conditions", "batch")
    assert "inhibitor  30 " in without.stdout


@pytest.mark.parametrize(
    ("arguments", "toml", "message"),
    [
        (["--targets", "targets.toml"], "", "--targets needs --conditions"),
        (["--means", "shared"], "", "--means needs --conditions"),
        (["--conditions", "day"], "", "no column 'day'; it has x, batch, y, z"),
        (["--conditions", "batch", "--missing", "fiml"], "", "pass --missing listwise"),
        (["--conditions", "batch", "--targets", "targets.toml"], "inhibitor = 3", "pass a list"),
        (["--conditions", "batch", "--targets", "targets.toml"], "inhibitor = [", "not valid TOML"),
        (["--conditions", "batch", "--targets", "targets.toml"], 'drug = ["y"]', "'drug'"),
        (
            ["--conditions", "batch", "--targets", "targets.toml"],
            'inhibitor = ["q"]',
            "no variable",
        ),
        (
            ["--conditions", "batch", "--shrinkage", "0.1"],
            "",
            "cannot be combined with several conditions",
        ),
    ],
)
def test_invalid_options(folder, arguments, toml, message):
    if toml:
        (folder / "targets.toml").write_text(toml)
    done = fit(*arguments, code=None)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_learn_with_targets(folder):
    options = ["--conditions", "batch", "--targets", "targets.toml", "--seed", "1"]
    done = run("learn", "data.csv", *options, "--json")
    found = json.loads(done.stdout)
    assert found["averaged"]["n_graphs"] > 0
    assert [c["targets"] for c in found["fit"]["conditions"]] == [[], ["y"]]
    graph = bf.parse(found["text"])
    members = bf.equivalence_class(graph, targets=[(), ("y",)])
    assert found["class"]["n_members"] == len(members) < len(bf.equivalence_class(graph))
    run("learn", "data.csv", *options)
    run("learn", "data.csv", *options, "--report", "page.html")
    assert 'id="table-conditions"' in (folder / "page.html").read_text(encoding="utf-8")


def parts_of(folder):
    """Return the table with a column of conditions."""
    table = dict(bf.datasets.read_table("data.csv", columns=["x", "y", "z"]))
    batch = ["control"] * 50 + ["inhibitor"] * 30
    return {**table, "batch": batch}


@pytest.mark.parametrize("kind", ["mechanism", "activity", "noise"])
def test_kinds_and_means(folder, kind):
    options = ["--conditions", "batch", "--targets", "targets.toml", "--kind", kind]
    data = bf.conditions(parts_of(folder), column="batch", targets={"inhibitor": ["y"]}, kind=kind)
    for means in ("free", "shared"):
        done = fit(*options, "--means", means, "--json")
        expected = bf.fit(bf.parse("x -> y -> z"), data, means=means)
        assert json.loads(done.stdout)["loglik"] == pytest.approx(expected.loglik, rel=1e-12)


def test_several_files(folder):
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "a.csv").write_text("".join(lines[:31]))
    (folder / "b.csv").write_text("".join([lines[0], *lines[31:]]))
    options = ["--graph", "x -> y -> z", "--conditions", "batch", "--json"]
    one, two = (run("fit", *files, *options) for files in (["data.csv"], ["a.csv", "b.csv"]))
    assert json.loads(two.stdout)["loglik"] == json.loads(one.stdout)["loglik"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("command", ["learn", "fit", "effects"])
def test_text_columns_and_incomplete_rows(folder, kind, command):
    """Conditions are text, a column that no graph needs too, and rows lack values."""
    table = pl.read_csv("data.csv").with_columns(note=pl.lit("text"))
    lacking = pl.int_range(pl.len()) % 20 == 3
    table = table.with_columns(y=pl.when(lacking).then(None).otherwise("y"))
    getattr(table, {"csv": "write_csv", "feather": "write_ipc"}.get(kind, f"write_{kind}"))(
        f"t.{kind}"
    )
    graph = ["--drop", "note"] if command == "learn" else ["--graph", "x -> y -> z"]
    words = [command, f"t.{kind}", *graph, "--conditions", "batch", "--missing", "listwise"]
    done = run(*words, "--json")
    assert "dropped 4 of 80 rows" in done.stderr
    if command == "fit":
        data = bf.conditions(table.drop("note"), column="batch")
        expected = bf.fit(bf.parse("x -> y -> z"), data, missing="listwise")
        assert json.loads(done.stdout)["loglik"] == pytest.approx(expected.loglik, rel=1e-12)


def conditions_of_the_table(folder):
    return bf.conditions(parts_of(folder), column="batch", targets={"inhibitor": ["y"]})
