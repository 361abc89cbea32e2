"""The options for data, and the commands ``fit`` and ``compare``."""

import gzip
import json
import shlex

import numpy as np
import polars as pl
import pytest

import bowfree as bf
from bowfree.data import streaming as streams
from bowfree.datasets.tables import write_table
from command_line import run

CHAIN = "sun -> leaves -> fruit"
QUICK = ("--restarts", 1, "--strategy", "restart")


def german_file(tmp_path):
    """Write a German Excel file, compressed, with row numbers, text and -999 for missing values."""
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


def test_errors_lead_to_the_right_options(tmp_path):
    """Each error names the option that helps; with all of them the fit is that of Python."""
    path, given = german_file(tmp_path), []
    for option, problem in [
        (("--encoding", "cp1252"), "--encoding"),
        (("--drop", "sorte,nr"), "--drop sorte,nr"),
        (("--na", "-999"), None),
        (
            ("--missing", "listwise"),
            "missing values in leaves (1, first in line 9); --missing fiml",
        ),
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


def incomplete(tmp_path, kind="csv", rows=400):
    """Write three columns with 10 % missing values, weights, and fruit in four classes."""
    demo = bf.datasets.load_demo()
    rng = np.random.default_rng(1)
    X = np.exp(np.column_stack([demo[name] / 10 for name in ("sun", "leaves", "fruit")])[:rows])
    X[rng.random(X.shape) < 0.1] = np.nan
    cuts = np.nanquantile(X[:, 2], [0.25, 0.5, 0.75])
    classes = np.where(np.isnan(X[:, 2]), np.nan, np.digitize(X[:, 2], cuts))
    names = ("sun", "leaves", "fruit", "size", "w")
    table = bf.datasets.Table(names, np.column_stack([X, classes, rng.uniform(1, 3, rows)]))
    path = tmp_path / f"incomplete.{kind}"
    if kind == "csv":
        path.write_text(write_table(table).replace("nan", ""), encoding="utf-8")
    else:
        pl.DataFrame(dict(table)).fill_nan(None).write_parquet(path)
    return path, dict(table)


@pytest.mark.parametrize(
    "words",
    [
        {"missing": "fiml"},
        {"missing": "two-stage"},
        {"ordinal": "size"},
        {"correlation": "spearman"},
        {"weights": "w"},
        {"shrinkage": "auto"},
        {"shrinkage": 0.5},
        {"se": "robust", "test": "satorra-bentler"},
        {"se": "robust-huber-white", "test": "yuan-bentler", "missing": "fiml"},
        {"se": "bootstrap", "n_bootstrap": 20, "rng": 3},
    ],
)
def test_options_of_fit_are_those_of_the_function(tmp_path, words):
    path, data = incomplete(tmp_path, rows=200)
    words = {"missing": "listwise"} | words
    graph = "sun -> leaves -> size" if "ordinal" in words else CHAIN
    written = {"n_bootstrap": "resamples", "rng": "seed"}
    options = [(f"--{written.get(name, name)}", value) for name, value in words.items()]
    found = run("fit", path, "--graph", graph, *(o for pair in options for o in pair), "--json")
    if "ordinal" in words:
        words["ordinal"] = ["size"]
    fit = bf.fit(bf.parse(graph), data, **words)
    said = json.loads(found.stdout)
    assert said["chi2"] == pytest.approx(fit.chi2, rel=1e-9)
    assert [e["se"] for e in said["estimates"]] == pytest.approx([e.se for e in fit.estimates()])
    assert (said["se"], said["test"]) == (fit.se, fit.test)
    assert "column w" not in found.stderr
    if fit.scaled is not None:
        assert said["scaled"]["chi2"] == pytest.approx(fit.chi2_scaled)


def test_missing_values_in_other_commands(tmp_path):
    path, data = incomplete(tmp_path, "parquet")
    asked = run("fit", path, "--graph", CHAIN, code=1).stderr
    assert "--missing fiml uses all observed values, --missing listwise drops" in asked
    options = ("--columns", "sun,leaves,fruit", "--missing", "fiml")
    report = tmp_path / "report.html"
    page = run("learn", path, *options, *QUICK, "--report", report).stdout
    assert "missing" in page
    assert "Little" in report.read_text(encoding="utf-8")
    bounds = bf.effect_bounds(bf.equivalence_class(bf.parse(CHAIN)), data, missing="fiml")
    assert run("effects", path, *options, "--graph", CHAIN).stdout == f"{bounds}\n"
    graphs = ("--graph", CHAIN, "--graph", "sun -> leaves, fruit")
    assert "chi-square" in run("compare", path, *options, *graphs).stdout


def test_missing_values_with_logarithms_and_units(tmp_path):
    path, data = incomplete(tmp_path)
    logs = {name: np.log(data[name]) for name in ("sun", "leaves", "fruit")}
    scaled = {name: column / np.nanstd(column) for name, column in logs.items()}
    for options, columns in ((("--log",), logs), (("--log", "--standardize"), scaled)):
        found = run("fit", path, "--graph", CHAIN, "--missing", "fiml", *options, "--json").stdout
        expected = bf.fit(bf.parse(CHAIN), columns, missing="fiml")
        assert json.loads(found)["loglik"] == pytest.approx(expected.loglik, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (("--missing", "fiml", "--drop-missing"), 2, "choose one of --drop-missing"),
        (("--cov", "--n", 10, "--missing", "fiml"), 2, "--missing needs observations"),
        (("--missing", "mean"), 2, "'mean' is not one of"),
        (("--shrinkage", "much"), 2, "--shrinkage"),
        (("--shrinkage", "nan"), 1, "--shrinkage"),
        (("--errors", "nongaussian", "--se", "standard"), 1, "is for estimates by covariances"),
        (("--resamples", 10), 2, "--resamples belongs to --se bootstrap"),
        (("--seed", 1, "--se", "robust"), 2, "--seed belongs to --se bootstrap"),
        (("--ordinal", "sun", "--ordinal", "sun=low,high"), 2, "--ordinal names column sun twice"),
        # The library refuses these; its parameters are options here.
        (("--ordinal", "sun", "--correlation", "kendall"), 1, "correlations are polychoric"),
        (("--conditions", "pot", "--se", "robust"), 1, "condition"),
    ],
)
def test_options_that_exclude_each_other(options, code, problem, plants):
    assert problem in run("fit", plants, "--graph", CHAIN, *options, code=code).stderr


def test_robust_numbers_of_a_table_too_large_for_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "KEPT", 10)
    demo = bf.datasets.load_demo()
    for k in range(2):
        part = bf.datasets.Table(demo.names, demo.X[k::2])
        (tmp_path / f"{k}.csv").write_text(write_table(part), encoding="utf-8")
    assert "--se robust" in run("fit", tmp_path, "--graph", CHAIN, "--se", "robust", code=1).stderr


def test_notes_are_printed(tmp_path):
    """Dropped rows and corrected correlation matrices are reported."""
    path = tmp_path / "holes.csv"
    rows = np.random.default_rng(1).normal(size=(30, 2)).tolist()
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows) + ",\n,2.5\n")
    found = run("fit", path, "--graph", "a -> b", "--missing", "fiml")
    assert "note: 1 row without observed values dropped" in found.stderr
    Z = np.random.default_rng(0).normal(size=(14, 6))
    codes = (Z @ np.random.default_rng(1).normal(size=(6, 6)) > 0.3).astype(int)
    path.write_text("a,b,c,d,e,f\n" + "".join(",".join(map(str, r)) + "\n" for r in codes))
    found = run("fit", path, "--graph", "a -> b, c, d, e, f", "--ordinal", "a,b,c,d,e,f")
    assert "note: the correlations were not positive definite" in found.stderr


def in_words(tmp_path):
    """Write the table of `incomplete` with words for the size, "none" for the smallest."""
    path, data = incomplete(tmp_path)
    words = ("none", "some", "many", "a lot")
    lines = ["sun,leaves,size"]
    for sun, leaves, size in zip(data["sun"], data["leaves"], data["size"], strict=True):
        word = "" if np.isnan(size) else words[int(size)]
        lines.append(f"{sun},{leaves},{word}".replace("nan", ""))
    path = tmp_path / "words.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, data


def test_words_in_their_order(tmp_path):
    path, data = in_words(tmp_path)
    options = ("--graph", "sun -> leaves -> size", "--missing", "listwise", "--json")
    asked = run("fit", path, *options, "--ordinal", "size", code=1).stderr
    assert "in their order (--ordinal)" in asked
    asked = run("fit", path, *options, "--ordinal", "size=none,some,many", code=1).stderr
    assert "none of none, some, many; list all categories in" in asked
    found = run("fit", path, *options, "--ordinal", "size=none, some, many, a lot").stdout
    fit = bf.fit(bf.parse("sun -> leaves -> size"), data, ordinal=["size"], missing="listwise")
    assert json.loads(found)["chi2"] == pytest.approx(fit.chi2, rel=1e-9)
    other = run("fit", path, *options, "--ordinal", "size=some,none,many,a lot").stdout
    assert json.loads(other)["chi2"] != pytest.approx(fit.chi2, rel=1e-3)


# --- several files --------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [10, 2**24])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_several_files_are_one_table(tmp_path, kind, kept, monkeypatch):
    """A folder or its files, in memory or not, give the numbers of the whole table."""
    monkeypatch.setattr(streams, "KEPT", kept)
    demo = bf.datasets.load_demo()
    demo = bf.datasets.Table(demo.names, np.exp(demo.X / 10))
    for k in range(3):
        part = bf.datasets.Table(demo.names, demo.X[400 * k : 400 * (k + 1)])
        if kind == "csv":
            (tmp_path / f"part{k}.csv").write_text(write_table(part))
        else:
            pl.DataFrame(dict(part)).write_parquet(tmp_path / f"part{k}.parquet")
    expected = bf.fit(bf.parse(CHAIN), demo)
    files = sorted(tmp_path.iterdir())
    for data in ((tmp_path,), files, files[::-1]):
        found = json.loads(run("fit", *data, "--graph", CHAIN, "--json").stdout)
        assert found["n"] == 1000
        assert found["loglik"] == pytest.approx(expected.loglik, rel=1e-12)
    unit = bf.fit(bf.parse(CHAIN), {name: np.log(x) / np.log(x).std() for name, x in demo.items()})
    scaled = run("fit", tmp_path, "--graph", CHAIN, "--log", "--standardize", "--json").stdout
    assert json.loads(scaled)["loglik"] == pytest.approx(unit.loglik, rel=1e-9)
    learned = run("learn", *files, *QUICK, "--report", tmp_path.parent / f"{kind}{kept}.html")
    assert "1000 observations of" in learned.stdout


@pytest.mark.parametrize(("kept", "said"), [(2, "dropped 1 rows"), (2**24, "dropped 1 of 5 rows")])
def test_missing_values_in_several_files(tmp_path, monkeypatch, kept, said):
    monkeypatch.setattr(streams, "KEPT", kept)
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,5\n")
    (tmp_path / "b.csv").write_text("x,y\n4,7\n5,\n6,6\n")
    refused = run("fit", tmp_path, "--graph", "x -> y", code=1).stderr
    assert "b.csv: missing values in y (1, first in line 3)" in refused
    done = run("fit", tmp_path, "--graph", "x -> y", "--missing", "listwise", "--json")
    assert said in done.stderr
    assert json.loads(done.stdout)["n"] == 4


def test_files_that_are_not_one_table(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    assert "different columns (y, z)" in run("learn", tmp_path, code=1).stderr
    assert "--cov needs one file" in run("learn", tmp_path, "--cov", "--n", 9, code=2).stderr


def test_warnings_about_columns_name_options_once(plants, tmp_path):
    table = bf.datasets.load_demo()
    rows = np.column_stack([np.arange(1, 1001), np.arange(1000) % 2, table.X[:, :2]])
    path = tmp_path / "id.csv"
    path.write_text(write_table(bf.datasets.Table(("id", "sex", *table.names[:2]), rows)))
    said = run("learn", path, *QUICK).stderr
    assert said.count("Warning: column id looks like row numbers") == 1
    assert said.count("to drop it: --drop id\n") == 1
    assert said.count("Warning: column sex looks like categories") == 1
    assert said.count("for binary or unordered ones: --nominal sex; to drop it: --drop sex\n") == 1
    assert run("learn", path, "--drop", "id,sex", *QUICK).stderr == ""


def test_fit_with_indices_and_changes(plants):
    fit = bf.fit(bf.parse(CHAIN), bf.datasets.load_demo())
    changes = bf.edge_changes(bf.parse(CHAIN), bf.datasets.load_demo())
    found = run("fit", plants, "--graph", CHAIN, "--indices", "--changes").stdout
    assert found == f"{fit.summary()}\n\n{fit.modification_indices()}\n\n{changes}\n"
    content = json.loads(run("fit", plants, "--graph", CHAIN, "--changes", "--json").stdout)
    assert content["edge_changes"]["rows"][0]["score"] == changes[0].score
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
        (("--graph", "sun", "--errors", "nongaussian"), 2, "--errors nongaussian belongs to"),
    ],
)
def test_graphs_that_cannot_be_compared(options, code, problem, plants):
    assert problem in run("compare", plants, *options, code=code).stderr


def test_the_remedy_for_collinear_columns_can_be_pasted(tmp_path):
    """One of the columns has a name with a comma and a space."""
    a, b, c = np.random.default_rng(2).normal(size=(3, 50))
    table = bf.datasets.Table(("a", "b", "c", "a, b", "c2"), np.column_stack([a, b, c, a + b, -c]))
    path = tmp_path / "data.csv"
    path.write_text(write_table(table))
    error = run("learn", path, *QUICK, code=1).stderr
    remedy = error[error.index("--drop") :].strip()
    assert remedy == """--drop '"a, b",c2'"""
    found = run("learn", path, *shlex.split(remedy), *QUICK, "--json")
    assert bf.parse(json.loads(found.stdout)["text"]).nodes == ("a", "b", "c")


def test_all_problems_of_a_table_at_once(tmp_path):
    """An identifier, dates, missing values, a constant and a sum; the remedies can be pasted."""
    a, b, c = np.random.default_rng(2).normal(size=(3, 50)).round(4)
    rows = [f"{k},2020-01-{k % 28 + 1:02},{x},{y if k != 7 else 'NA'},{z},3,{2 * z}"
            for k, (x, y, z) in enumerate(zip(a, b, c, strict=True))]  # fmt: skip
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["id,day,a,b,c,same,double", *rows, ""]))
    error = run("learn", path, *QUICK, code=1).stderr
    for problem in (
        "column 'day': '2020-01-01' in line 2",
        "constant column 'same'",
        "'double' is determined by 'c'",
        "column id looks like row numbers",
        "missing values in b (1)",
    ):
        assert problem in error
    remedy = shlex.split(error[error.rindex("--drop") :])
    assert remedy == ["--drop", "day,same,double,id"]
    run("learn", path, *remedy, "--missing", "listwise", *QUICK)
    error = run("learn", path, "--drop", "day", *QUICK, code=1).stderr
    assert "missing values in b" in error
    assert "--drop same,double" in error
