"""The commands that learn, compare and draw: each against the function that it stands for."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main
from bowfree.datasets.table import Table
from bowfree.datasets.tables import read_covariance, read_table, write_table


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def plants(tmp_path_factory):
    """Return the path of a CSV file with the demo data."""
    path = tmp_path_factory.mktemp("data") / "plants.csv"
    path.write_text(write_table(bf.datasets.load_demo()), encoding="utf-8")
    return path


def test_learn_prints_the_graph_and_what_is_settled(plants):
    out = run("learn", plants).stdout
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0)
    edges = ", ".join(f"{a} {mark} {b}" for a, mark, b in result.graph.edges)
    assert f"best graph: {edges}" in " ".join(out.split())
    assert "in class" in out
    assert "known" in out
    rows = {line.split("  ")[0].strip(): line.split() for line in out.splitlines()}
    assert rows["sun -> leaves"][-3:] == ["50", "%", "o->"]
    assert rows["roots <-> fruit"][-3:] == ["100", "%", "<->"]
    assert "8 equivalent graphs" in out
    assert f"score {result.score:.6f}" in out


def test_learn_json_has_everything(plants):
    document = json.loads(run("learn", plants, "--json", "--jobs", 2, "--penalty", 0.5).stdout)
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0, penalty=0.5)
    assert bf.MixedGraph.from_dict(document["graph"]) == result.graph
    assert document["score"] == result.score
    assert document["fit"]["chi2"] == result.fit().chi2
    members = bf.equivalence_class(result.graph)
    assert document["class"] == members.summary().to_dict()


def test_the_price_of_an_edge(plants):
    document = json.loads(run("learn", plants, "--json", "--penalty", "ebic").stdout)
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0, penalty="ebic")
    assert (document["score"], document["penalty"]) == (result.score, result.penalty)
    assert document["notes"] == list(result.notes)
    out = run("learn", plants, "--smallest-effect", 0.3, "--max-district", 1).stdout
    assert "! Penalty 6.826 is the price of smallest_effect = 0.3." in out
    assert "<->" not in out.split("best graph")[1].split("edge")[0]
    assert "'bic' is not a number" in run("learn", plants, "--penalty", "bic", code=2).stderr
    graph = str(result.graph)
    fitted = json.loads(run("fit", plants, "--graph", graph, "--penalty", "ebic", "--json").stdout)
    assert fitted["penalty"] == result.penalty


def test_fewer_rows_than_columns(tmp_path):
    path = tmp_path / "genes.csv"
    X = np.random.default_rng(1).standard_normal((6, 8))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    path.write_text(write_table(Table(tuple("abcdefgh"), X)), encoding="utf-8")
    page = tmp_path / "report.html"
    out = " ".join(run("learn", path, "--report", page).stdout.split())
    assert "! N = 6 observations of 8 variables: only BAPs with at most 2 arrowheads" in out
    assert "nan" not in out
    assert "N = 6 observations of 8 variables: only BAPs" in page.read_text(encoding="utf-8")


def test_learn_writes_a_folder_that_the_other_commands_read(plants, tmp_path):
    out = tmp_path / "results"
    done = run("learn", plants, "--out", out, "--format", "lavaan")
    graph = bf.formats.read(done.stdout, format="lavaan")
    names = {path.name for path in out.iterdir()}
    assert {line.rsplit("/", 1)[1] for line in done.stderr.splitlines()} == names
    assert bf.parse((out / "graph.txt").read_text()) == graph
    assert bf.formats.read((out / "graph.lavaan").read_text(), format="lavaan") == graph
    sample = run("sample", "--model", out / "model.json", "--n", 3, "--seed", 2).stdout
    assert sample.splitlines()[0] == ",".join(graph.nodes)
    fitted = run("fit", plants, "--graph-file", out / "graph.txt").stdout
    assert fitted == (out / "summary.txt").read_text()
    run("learn", plants, "--out", out, code=1)


def test_learn_writes_a_report(plants, tmp_path):
    report = tmp_path / "report.html"
    done = run("learn", plants, "--report", report)
    assert done.stderr == f"wrote {report}\n"
    html = report.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert all(name in html for name in bf.datasets.load_demo())


def test_learn_from_covariances_equals_learning_from_data(plants, tmp_path):
    data = bf.datasets.load_demo()
    S = np.cov(data.X.T)
    plain, labeled = tmp_path / "plain.csv", tmp_path / "labeled.tsv"
    plain.write_text(write_table(type(data)(data.names, S)))
    named = zip(data.names, S.tolist(), strict=True)
    rows = [["", *data.names]] + [[name, *map(repr, row)] for name, row in named]
    rows = [rows[0], *rows[:0:-1]]  # rows with labels may come in any order
    labeled.write_text("".join("\t".join(row) + "\n" for row in rows))
    wanted = run("learn", plants, "--format", "text").stdout
    for path in (plain, labeled):
        assert run("learn", path, "--cov", "--n", 1000, "--format", "text").stdout == wanted
    assert run("learn", plain, "--cov", "--n", 1000, "--standardize").stdout.count("->") > 5


def test_ways_to_prepare_the_data(tmp_path):
    data = bf.datasets.load_demo()
    path = tmp_path / "odd.csv"
    table = [["plant", *data.names]] + [
        [f"plant {k}", *map(repr, np.exp(row).tolist())] for k, row in enumerate(data.X[:400])
    ]
    table[5][2] = "NA"
    path.write_text("\n".join(",".join(row) for row in table) + "\n")
    columns = ",".join(data.names)
    assert "plant" in run("learn", path, "--log", code=1).stderr
    assert "missing" in run("learn", path, "--columns", columns, code=1).stderr
    done = run("learn", path, "--columns", columns, "--log", "--drop-missing", "--standardize")
    assert done.stderr == "dropped 1 of 400 rows: missing values\n"
    assert "399 observations of 7 variables" in done.stdout


def test_parquet(plants, tmp_path):
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = {"plant": ["p"] * 1000, **bf.datasets.load_demo()}
    parquet.write_table(pa.table(columns), tmp_path / "plants.parquet")
    names = ",".join(bf.datasets.load_demo())
    found = run("learn", tmp_path / "plants.parquet", "--columns", names, "--format", "text")
    assert found.stdout == run("learn", plants, "--format", "text").stdout


def test_learn_obeys_knowledge_class_and_limits(plants, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('required = ["sun -> leaves"]\nforbidden = ["pot -- roots"]\n')
    options = ("--knowledge", known, "--class", "dag", "--max-in-degree", 2, "--format", "text")
    graph = bf.parse(run("learn", plants, *options).stdout)
    assert graph.has_edge("sun -> leaves")
    assert frozenset(("pot", "roots")) not in graph.skeleton()
    assert graph.is_dag()
    assert max(len(graph.parents(v)) for v in graph) <= 2
    known.write_text('unconfounded = ["sun", "water", "pot"]\n')
    assert "no other graph that the knowledge" in run("learn", plants, "--knowledge", known).stdout


def test_bootstrap(plants):
    short = ("--restarts", 1, "--seed", 3)
    found = run("bootstrap", plants, "--resamples", 40, *short, "--jobs", 2, "--json").stdout
    data, search = bf.datasets.load_demo(), {"restarts": 1}
    expected = bf.bootstrap(data, n_resamples=40, search=search, rng=3)
    assert json.loads(found) == expected.to_dict()
    assert str(expected) in run("bootstrap", plants, "--resamples", 40, *short).stdout
    usual = str(bf.bootstrap(data, n_resamples=40, rng=0))
    assert usual in run("bootstrap", plants, "--resamples", 40, "--jobs", 2).stdout


@pytest.mark.parametrize("more", [(), ("--max-false", 1)])
def test_an_interrupted_bootstrap_shows_what_is_done(plants, monkeypatch, more):
    @contextlib.contextmanager
    def watch(doing):
        def show(progress):
            if progress.done == 3:
                raise KeyboardInterrupt

        yield show

    monkeypatch.setattr("bowfree.cli.bootstrap.progress_bar", watch)
    words = ("bootstrap", plants, "--resamples", 40, "--restarts", 1, *more)
    out = run(*words, code=1).stdout
    assert "NOT COMPLETE: ended after 3 of 40 " in out
    assert json.loads(run(*words, "--json", code=1).stdout)["n_planned"] == 40


def test_stability_selection(plants):
    out = run("bootstrap", plants, "--resamples", 10, "--restarts", 1, "--max-false", 2).stdout
    data, search = bf.datasets.load_demo(), {"restarts": 1}
    expected = bf.stability_selection(data, n_halves=10, max_false=2, search=search, rng=0)
    assert str(expected) in out


def test_learn_says_when_it_was_cut_short(plants):
    options = ("--strategy", "restart", "--restarts", 100000, "--time-limit", 0.2)
    assert "ended early" in run("learn", plants, *options).stderr


def test_equiv(tmp_path):
    members = bf.equivalence_class(bf.parse("x -> y -> z"))
    svg = tmp_path / "class.svg"
    done = run("equiv", "--graph", "x -> y -> z", "--list", 9, "--svg", svg)
    listed = "\n".join(str(graph) for graph in members)
    assert done.stdout == f"{members.summary()}\n\n{listed}\n"
    assert svg.read_text() == members.to_svg()
    document = json.loads(run("equiv", "--graph", "x -> y -> z", "--list", 2, "--json").stdout)
    assert document["summary"]["n_members"] == 5
    assert len(document["members"]) == 2
    verdict = run("equiv", "--graph", "x -> y -> z", "--and", "x -> y <- z").stdout
    assert verdict.startswith("not equivalent: ")
    same = run("equiv", "--graph", "x -> y", "--and", "x <-> y", "--json").stdout
    assert json.loads(same)["equivalent"] is True


def test_effects(plants):
    bounds = bf.effect_bounds(
        bf.equivalence_class(bf.datasets.demo_model().graph), bf.datasets.load_demo()
    )
    graph = str(bf.datasets.demo_model().graph)
    assert run("effects", plants, "--graph", graph).stdout == f"{bounds}\n"
    document = json.loads(run("effects", plants, "--graph", graph, "--json").stdout)
    assert document == bounds.to_dict()


def test_simulate_draws_what_learn_can_use(tmp_path):
    options = ("simulate", "--nodes", 5, "--max-in-degree", 2, "--n", 50, "--seed", 4)
    out = tmp_path / "truth"
    done = run(*options, "--out", out)
    graph = bf.parse(done.stdout)
    model = json.loads((out / "model.json").read_text())
    assert (
        bf.MixedGraph.from_dict(model["graph"])
        == graph
        == bf.parse((out / "graph.txt").read_text())
    )
    assert np.array_equal(np.array(model["B"]) != 0, bf.formats.to_ggm(graph).T == 1)
    again = run(*options)
    assert again.stdout == (out / "data.csv").read_text()
    assert again.stderr == f"graph: {graph}\n"
    assert read_table(out / "data.csv").X.shape == (50, 5)


def test_covariance_files_are_checked(tmp_path):
    path = tmp_path / "cov.csv"
    for text, problem in {
        "x,y,z\n1,0,0\n": "1 rows and 3 columns",
        ",x,y\nx,1,0\nz,0,1\n": "different names: y, z",
    }.items():
        path.write_text(text)
        with pytest.raises(bf.errors.DataError, match=problem):
            read_covariance(path)
    path.write_text("x,y\n1,0.5\n0.5,2\n")
    assert read_covariance(path, columns=["y"]).X.tolist() == [[2.0]]


def test_a_bar_on_a_terminal_and_none_in_a_pipe(plants):
    pty = pytest.importorskip("pty", reason="pseudo-terminals are a Unix thing")
    command = [sys.executable, "-m", "bowfree", "learn", str(plants), "--restarts", "60"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as watched:
        os.close(theirs)
        seen = b""
        # Linux raises OSError at the end of a pseudo-terminal, others return nothing.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 4096):
                seen += chunk
        table = watched.stdout.read()
    os.close(ours)
    assert watched.returncode == 0
    assert b"searching" in seen
    # One line has the seconds.
    shown, told = (re.sub(r"[\d.]+ s$", "", text, flags=re.M) for text in (table, piped.stdout))
    assert shown.splitlines() == told.splitlines()


def test_a_variable_without_edges_is_named_as_such(tmp_path):
    sem = bf.LinearSEM(
        bf.MixedGraph(["alone", "y", "x"], [("x", "y")]),
        [[0, 0, 0], [0, 0, 2.0], [0, 0, 0]],
        np.eye(3) * 1e-6,
    )
    path = tmp_path / "data.csv"
    sem.sample(300, rng=1, as_frame="pandas").to_csv(path, index=False)
    out = run("learn", path, "--restarts", 1).stdout
    first = next(line for line in out.splitlines() if line.startswith("best graph"))
    assert first.endswith("; without edges: alone")
    marks = ("x -> y", "y -> x", "x <-> y", "y <-> x")
    (row,) = [line for line in out.splitlines() if line.strip().startswith(marks)]
    assert " 0.000 " not in row  # small units have digits, too


def test_many_edges_are_counted(tmp_path):
    names = [f"v{i}" for i in range(8)]
    graph = bf.MixedGraph(names, [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    path = tmp_path / "data.csv"
    bf.random_sem(graph, rng=2).sample(2000, rng=1, as_frame="pandas").to_csv(path, index=False)
    out = run("learn", path, "--restarts", 1, "--time-limit", 5).stdout
    first = next(line for line in out.splitlines() if line.startswith("best graph"))
    assert "listed below" in first
    assert len(first) <= 100


def test_a_narrow_terminal_breaks_between_words(monkeypatch, capsys):
    from bowfree.cli import terminal

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    names = "a rather long name", "another long name"
    terminal.print_table(
        ("edge", "share>", "known"), [(" -> ".join(names), "50 %", "<-> ".join(names))]
    )
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    for word in " ".join(names).split():
        assert re.search(rf"\b{word}\b", printed)


def test_a_table_that_is_too_wide_goes_on_below(monkeypatch, capsys):
    from bowfree.cli import terminal

    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    edge = "a_long_name -> od280/od315_of_diluted_wines"
    numbers = ("0.00135", "0.000138", "0.00108 to 0.00162", "100 %")
    terminal.print_table(
        ("edge", "estimate>", "s.e.>", "95 % interval>", "in class>"), [(edge, *numbers)]
    )
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 50
    for word in (*edge.split(), *numbers):
        assert re.search(rf"(^|\s){re.escape(word)}(\s|$)", printed)
    assert printed.count("od280/od315_of_diluted_wines") > 1


def test_a_pipe_has_no_edge(capsys):
    from bowfree.cli import terminal

    row = ("a long name of a cause -> and of what it has an effect on", *["0.123456789"] * 6)
    terminal.print_table(("edge", *[f"number {k}>" for k in range(6)]), [row])
    assert capsys.readouterr().out.splitlines()[-1].split() == " ".join(row).split()


def test_many_edges_are_cut_to_the_strongest(plants, monkeypatch):
    monkeypatch.setattr("bowfree.cli.learn.MOST_EDGES", 4)
    out = run("learn", plants, "--restarts", 4).stdout
    fit = bf.greedy_search(bf.datasets.load_demo(), restarts=4, rng=0).fit()
    sizes = sorted((abs(e.std_all) for e in fit.estimates() if e.lhs != e.rhs), reverse=True)
    rows = [line.split() for line in out.splitlines() if re.match(r" \w+ <?-> \w+ ", line)]
    shown = [abs(float(row[8])) for row in rows]
    assert sorted(shown, reverse=True) == pytest.approx(sizes[:4], abs=6e-4)
    assert f"... and {len(sizes) - 4} weaker ones: --json" in out


def test_names_in_a_table_that_goes_on_below_are_whole(monkeypatch, capsys):
    from bowfree.cli import terminal

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    row = (
        "Sepal.Length -> Petal.Length",
        "-0.0155",
        "0.0230",
        "-0.0606 to 0.0296",
        "-0.143",
        "50 %",
    )
    headings = ("edge", "estimate>", "s.e.>", "95 % interval>", "std. all>", "in class>", "known")
    terminal.print_table(headings, [(*row, "o->")])
    printed = capsys.readouterr().out
    assert printed.count(row[0]) == 2
    assert "interval" in printed.splitlines()[0]


class Narrow(io.StringIO):
    def isatty(self):
        return True


def test_results_and_sentences_end_between_words(monkeypatch):
    from bowfree.cli import terminal

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", narrow := Narrow())
    graph = bf.parse("flavanoids -> nonflavanoid_phenols -> alcalinity_of_ash")
    fit = bf.fit(graph, cov=np.diag([1.0, 1e-6, 1e6]) + 1e-4, n=100)
    terminal.print_result(fit.summary())
    terminal.print_result(fit.total_effects())
    terminal.print_result(bf.equivalence_class(graph).summary())
    terminal.say("a sentence that is longer than the line and has to end somewhere")
    printed = narrow.getvalue()
    assert max(map(len, printed.splitlines())) <= 60
    words = set(printed.split())
    assert set(str(fit.summary()).split()) <= words
    assert {"somewhere", "Std.all", "ci.lower"} <= words


def test_names_in_quotes_are_not_torn_apart(capsys):
    from bowfree.cli import terminal

    edge = '"sepal length (cm)" -> "petal width (cm)"'
    terminal.say(", ".join([edge] * 3), most=50)
    printed = capsys.readouterr().out
    assert printed.split("\n") == [*[f"{edge},"] * 2, edge, ""]


def test_interrupted_while_loading():
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from bowfree.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
