"""The commands agree with the functions of the library; output on terminals and in pipes."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import bowfree as bf
from bowfree.data.frames import Table
from bowfree.datasets import read_table, write_table
from command_line import run


def test_learn_prints_the_graph_and_its_class(plants):
    out = run("learn", plants).stdout
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0)
    assert f"best graph: {result.graph}" in " ".join(out.split())
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["sun -> leaves"][-4:-1] == ["50", "%", "o->"]
    assert rows["leaves -> fruit"][-2] == "all"
    assert float(rows["leaves -> fruit"][-1]) > 0.9
    assert "8 equivalent graphs" in out
    assert f"score {result.score:.6f}" in out
    assert max(map(len, out.splitlines())) <= 82


def test_learn_with_a_proof(plants):
    out = run("learn", plants, "--exact").stdout
    assert "roved best among BAPs with at most 2 nodes in a district" in " ".join(out.split())


def test_learn_json_has_everything(plants):
    document = json.loads(run("learn", plants, "--json", "--jobs", 2, "--penalty", 0.5).stdout)
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0, penalty=0.5)
    assert bf.MixedGraph.from_dict(document["graph"]) == result.graph
    assert document["score"] == result.score
    assert document["fit"]["chi2"] == result.fit().chi2
    members = bf.equivalence_class(result.graph)
    assert document["class"] == members.summary().to_dict()


def test_penalty_and_smallest_effect(plants):
    document = json.loads(run("learn", plants, "--json", "--penalty", "ebic").stdout)
    result = bf.greedy_search(bf.datasets.load_demo(), rng=0, penalty="ebic")
    assert (document["score"], document["penalty"]) == (result.score, result.penalty)
    assert document["notes"] == list(result.notes)
    out = run("learn", plants, "--smallest-effect", 0.3, "--max-district", 1).stdout
    assert "! Penalty 6.826 is" in out
    assert "<->" not in out.split("best graph")[1].split("edge")[0]
    assert "'bic' is not a valid float" in run("learn", plants, "--penalty", "bic", code=2).stderr
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
    assert "! N = 6 observations of 8 variables" in out
    assert "nan" not in out
    assert "N = 6 observations of 8 variables" in page.read_text(encoding="utf-8")


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
    assert fitted.split() == (out / "summary.txt").read_text().split()
    assert run("fit", plants, "--graph", out / "graph.txt").stdout == fitted  # a file as well
    pair = run("compare", plants, "--graph", out / "graph.txt", "--graph", f"other={graph}").stdout
    assert "graph" in pair
    run("learn", plants, "--out", out, code=2)


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


@pytest.mark.parametrize("more", [(), ("--max-false", 1)])
def test_an_interrupted_bootstrap_prints_its_results(plants, monkeypatch, more):
    @contextlib.contextmanager
    def watch(doing):
        def show(progress):
            if progress.done == 3:
                raise KeyboardInterrupt

        yield show

    monkeypatch.setattr("bowfree.cli.work.progress_bar", watch)
    words = ("bootstrap", plants, "--resamples", 40, "--restarts", 1, *more)
    out = run(*words, code=1).stdout
    assert "NOT COMPLETE: ended after 3 of 40 " in out
    assert json.loads(run(*words, "--json", code=1).stdout)["n_planned"] == 40


def test_equiv(tmp_path):
    members = bf.equivalence_class(bf.parse("x -> y -> z"))
    svg = tmp_path / "class.svg"
    done = run("equiv", "--graph", "x -> y -> z", "--list", 9, "--svg", svg)
    listed = "\n".join(str(graph) for graph in members)
    assert done.stdout == f"{members.summary()}\n\n{listed}\n"
    assert svg.read_text() == members.to_svg() + "\n"
    document = json.loads(run("equiv", "--graph", "x -> y -> z", "--list", 2, "--json").stdout)
    assert document["summary"]["n_members"] == 5
    assert len(document["members"]) == 2
    verdict = run("equiv", "--graph", "x -> y -> z", "--and", "x -> y <- z").stdout
    assert verdict.startswith("not equivalent: ")
    same = run("equiv", "--graph", "x -> y", "--and", "x <-> y", "--json").stdout
    assert json.loads(same)["equivalent"] is True


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
    assert np.array_equal(
        np.array(model["B"]) != 0, bf.formats.to_matrix(graph, format="ggm").T == 1
    )
    again = run(*options)
    assert again.stdout == (out / "data.csv").read_text()
    assert again.stderr == f"graph: {graph}\n"
    assert read_table(out / "data.csv").X.shape == (50, 5)


def test_progress_bar_on_terminals_only(plants):
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


def test_many_edges_are_cut_to_the_strongest(plants, monkeypatch):
    monkeypatch.setattr("bowfree.cli.learn.MAX_EDGES", 4)
    out = run("learn", plants, "--restarts", 4).stdout
    fit = bf.greedy_search(bf.datasets.load_demo(), restarts=4, rng=0).fit()
    sizes = sorted((abs(e.std_all) for e in fit.estimates() if e.mark != "variance"), reverse=True)
    rows = [line.split() for line in out.splitlines() if re.match(r"\w+ <?-> \w+  ", line)]
    shown = [abs(float(row[8])) for row in rows]
    assert sorted(shown, reverse=True) == pytest.approx(sizes[:4], abs=6e-4)
    assert f"... and {len(sizes) - 4} weaker ones: --json" in out


class Narrow(io.StringIO):
    def isatty(self):
        return True


def test_lines_fit_the_terminal(monkeypatch):
    from bowfree.cli import terminal

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", narrow := Narrow())
    graph = bf.parse("flavanoids -> nonflavanoid_phenols -> alcalinity_of_ash")
    fit = bf.fit(graph, cov=np.diag([1.0, 1e-6, 1e6]) + 1e-4, n=100)
    terminal.show(fit.summary()._sections())
    terminal.show(bf.equivalence_class(graph).summary()._sections())
    terminal.show(["a sentence that is longer than the line and has to end somewhere"])
    printed = narrow.getvalue()
    assert max(map(len, printed.splitlines())) <= 60
    assert set(str(fit.summary()).split()) | {"somewhere"} <= set(printed.split())


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("penalty='ebic' is 4.2 here", "--penalty ebic is 4.2 here"),
        ("n_jobs must be positive", "--jobs must be positive"),
        ("more `restarts` or another `rng`", "more --restarts or another --seed"),
        # neither a parameter nor an option
        ("n = 3: half of the rows", "n = 3: half of the rows"),
        ("fit(penalty==1) my_penalty=2 x.penalty=3", "fit(penalty==1) my_penalty=2 x.penalty=3"),
    ],
)
def test_messages_name_options(message, printed):
    from bowfree.cli.terminal import in_options

    assert in_options(message) == printed


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


def test_learn_excludes_graphs_by_higher_moments(tmp_path):
    e = np.random.default_rng(1).exponential(size=(600, 3))
    y = e[:, 0] + e[:, 1]
    table = Table(("x", "y", "z"), np.column_stack([e[:, 0], y, y + e[:, 2]]))
    (tmp_path / "a.csv").write_text(write_table(table))
    out = " ".join(run("learn", tmp_path / "a.csv", "--report", tmp_path / "a.html").stdout.split())
    assert "higher moments exclude 3 of 5 equivalent graphs" in out
    assert "errors of 3 of 3 variables are not normal" in out
    assert "a search with --errors nongaussian may tell more of these graphs apart" in out
    page = (tmp_path / "a.html").read_text()
    assert "Higher moments exclude 3 of 5 equivalent graphs" in page
    assert re.search("A search with errors=.{1,5}nongaussian.{1,5} may tell", page)
    assert "By higher moments" in page
    document = json.loads(run("learn", tmp_path / "a.csv", "--json").stdout)
    edges = [(e["a"], e["after"], e["b"]) for e in document["higher_moments"]["edges"]]
    assert edges == [("x", "o->", "y"), ("y", "->", "z")]


def test_learn_says_which_evidence_decided_each_mark(tmp_path):
    x, u = np.random.default_rng(1).exponential(size=(2, 300))
    table = Table(("x", "y"), np.column_stack([x, x + u]))
    (tmp_path / "two.csv").write_text(write_table(table))
    options = ("--errors", "nongaussian", "--report", tmp_path / "two.html")
    out = run("learn", tmp_path / "two.csv", *options).stdout
    assert re.search(r"x -> y .* non-Gaussianity \(\d", out)
    assert "3 equivalent graphs, which have the same covariances" in " ".join(out.split())
    assert "--errors nongaussian" not in out
    fit = json.loads(run("learn", tmp_path / "two.csv", *options[:2], "--json").stdout)["fit"]
    assert fit["errors"] == "nongaussian"  # as those of `bf.fit(result)`
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "Decided by" in page
    assert "which have the same covariances." in page
    assert "3 graphs have these covariances." in page
    assert "equally well" not in page


def test_learn_on_normal_data_does_not_mention_higher_moments(plants):
    assert "higher moments" not in run("learn", plants).stdout


def test_equivalent_graphs_of_nominal_variables(tmp_path, monkeypatch):
    """Those of a large class of DAGs are equivalent without a check; labels are short numbers."""
    monkeypatch.setattr("bowfree.visualization.warnings.MAX_CHECKED", 1)
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal(400)
    team = np.digitize(hidden + rng.standard_normal(400), [-0.5, 0.5]) * 5.0
    x, y = hidden + rng.standard_normal((2, 400))
    path = tmp_path / "t.csv"
    path.write_text(
        "x,y,team\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(x, y, team, strict=True))
    )
    learn = ("learn", path, "--nominal", "team", "--penalty", "0.1")
    dags = run(*learn, "--class", "dag").stdout
    assert "6 equivalent DAGs, which fit every data set equally well" in dags
    assert "400 observations of 3 variables (4 columns)" in dags
    assert "team=5 " in dags
    assert "team=10 " in dags
    assert "if all variables were numbers" in run(*learn).stdout
