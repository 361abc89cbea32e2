"""Formats: the conventions of other packages, round trips, and errors with line and column."""

import csv
import io
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from bowfree import formats
from graph_strategies import baps, mixed_graphs

#   x -> y <-> z        w
GRAPH = bf.parse("x -> y <-> z, w")

NAN = float("nan")

MATRICES = {
    "ggm": [[0, 1, 0, 0], [0, 0, 100, 0], [0, 100, 0, 0], [0, 0, 0, 0]],
    "pcalg": [[0, 2, 0, 0], [3, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]],
    "causal-learn": [[0, -1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
    "pywhy": [[0, 1, 0, 0], [0, 0, 20, 0], [0, 20, 0, 0], [0, 0, 0, 0]],
    "lingam": [[0, 0, 0, 0], [1, 0, NAN, 0], [0, NAN, 0, 0], [0, 0, 0, 0]],
}

# A bow x -> y, x <-> y, where the format has a code for it.
BOWS = {
    "ggm": [[0, 101], [100, 0]],
    "causal-learn": [[0, 4], [5, 0]],
    "pywhy": [[0, 21], [20, 0]],
}

TEXTS = {
    "text": "x -> y <-> z, isolated: w\n",
    "tetrad": "Graph Nodes:\nx;y;z;w\n\nGraph Edges:\n1. x --> y\n2. y <-> z\n",
    "dagitty": "dag {\nx\ny\nz\nw\nx -> y\ny <-> z\n}\n",
    "lavaan": (
        "# variances\nx ~~ x\ny ~~ y\nz ~~ z\nw ~~ w\n# directed edges\ny ~ x\n"
        "# bidirected edges\ny ~~ z\n# no other covariances\n"
        "x ~~ 0*y + 0*z + 0*w\ny ~~ 0*w\nz ~~ 0*w\n"
    ),
    "dot": (
        'digraph {\n  "x";\n  "y";\n  "z";\n  "w";\n  "x" -> "y";\n'
        '  "y" -> "z" [dir=both, style=dashed, color=red];\n}\n'
    ),
    "caugi": (
        '{\n  "$schema": "https://caugi.org/schemas/caugi-v1.schema.json",\n'
        '  "format": "caugi",\n  "version": "1.0.0",\n  "graph": {\n    "class": "ADMG",\n'
        '    "nodes": [\n      "x",\n      "y",\n      "z",\n      "w"\n    ],\n    "edges": [\n'
        '      {\n        "from": "x",\n        "to": "y",\n        "edge": "-->"\n      },\n'
        '      {\n        "from": "y",\n        "to": "z",\n        "edge": "<->"\n      }\n'
        "    ]\n  }\n}\n"
    ),
    "ggm": ",x,y,z,w\nx,0,1,0,0\ny,0,0,100,0\nz,0,100,0,0\nw,0,0,0,0\n",
    "lingam": ",x,y,z,w\nx,0,0,0,0\ny,1,0,nan,0\nz,0,nan,0,0\nw,0,0,0,0\n",
}


def test_exports():
    odd = GRAPH.relabel({"w": 'a "b" <c>'})
    assert formats.write(odd, format="mermaid").splitlines()[1:] == [
        '  n0["x"]',
        '  n1["y"]',
        '  n2["z"]',
        '  n3["a &quot;b&quot; &lt;c&gt;"]',
        "  n0 --> n1",
        "  n1 <-.-> n2",
    ]
    text = formats.write(odd, format="graphml")
    assert formats.from_networkx(nx.parse_graphml(text, force_multigraph=True)) == odd
    with pytest.raises(bf.BowfreeError, match="unknown format 'mermaid'"):
        formats.read("flowchart", format="mermaid")


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_has_the_convention_of_its_package(name):
    assert np.array_equal(formats.to_matrix(GRAPH, format=name), MATRICES[name], equal_nan=True)
    assert formats.from_matrix(MATRICES[name], format=name, nodes=GRAPH.nodes) == GRAPH


@pytest.mark.parametrize("name", BOWS)
def test_a_bow_has_a_code(name):
    bow = bf.parse("x -> y, x <-> y")
    assert formats.to_matrix(bow, format=name).tolist() == BOWS[name]
    assert formats.from_matrix(BOWS[name], format=name, nodes=["x", "y"]) == bow
    other_way = bf.MixedGraph(["x", "y"], [("y", "x")], [("x", "y")])
    assert formats.from_matrix(np.transpose(BOWS[name]), format=name, nodes=["x", "y"]) == other_way


@pytest.mark.parametrize("name", ["pcalg", "lingam"])
def test_a_bow_without_code_is_refused(name):
    with pytest.raises(bf.errors.GraphError, match="no code for"):
        formats.to_matrix(bf.parse("x -> y, x <-> y"), format=name)


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_written_and_read(name):
    written = formats.write(GRAPH, format=name)
    assert written == TEXTS[name]
    assert formats.read(written, format=name) == GRAPH


def test_networkx_in_degree_is_the_number_of_arrowheads():
    graph = formats.to_networkx(GRAPH)
    assert isinstance(graph, nx.MultiDiGraph)
    assert dict(graph.in_degree()) == {v: GRAPH.in_degree(v) for v in GRAPH.nodes}
    assert formats.from_networkx(graph) == GRAPH


def test_names_of_a_matrix():
    assert formats.from_matrix([[0, 1], [0, 0]], format="ggm") == bf.parse("x1 -> x2")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        formats.to_matrix(GRAPH, format="ggm"), columns=GRAPH.nodes, index=GRAPH.nodes
    )
    assert formats.from_matrix(frame, format="ggm") == GRAPH
    with pytest.raises(bf.errors.ParseError, match="use the same order"):
        formats.from_matrix(frame.iloc[::-1], format="ggm")


def test_lingam_takes_weights():
    B = np.zeros((4, 4))
    B[1, 0] = -0.5
    matrix = formats.to_matrix(GRAPH, format="lingam", B=B)
    assert matrix[1, 0] == -0.5
    assert formats.from_matrix(matrix, format="lingam", nodes=GRAPH.nodes) == GRAPH
    with pytest.raises(bf.errors.GraphError, match="cannot contain the effect 0"):
        formats.to_matrix(GRAPH, format="lingam", B=np.zeros((4, 4)))


# Forms that the documentation of a format allows and we do not write.
VARIANTS = {
    "tetrad older separator, remarks, attributes": (
        "tetrad",
        "Graph Nodes:\nx,y,z\n\nGraph Edges:\n1. x --> y dd nl\n2. z <-- x\n\n"
        "Graph Attributes:\nScore: -12.5\n",
        "x -> y, z <- x",
    ),
    "dagitty chain and group": (
        "dagitty",
        'dag "model" { bb="0,0,1,1"\n/* a remark */ x [exposure,pos="1,0"]; {x w} -> y <- z }',
        "x, w, y <- x, w -> y <- z",
    ),
    "dagitty edge attribute": ("dagitty", "dag{x->y[beta=-0.3]y<->z}", "x -> y <-> z"),
    "dagitty hyphen in a name": ("dagitty", "mag{ IL-6 -> y-1 }", '"IL-6" -> "y-1"'),
    "lavaan modifiers": (
        "lavaan",
        "y ~ b1*x + NA*z +\n start(0.5)*w ! remark\ny ~ 1\nx ~~ z; w ~~ v*z\nab := b1*2\n",
        "y <- x, z -> y, w -> y, x <-> z, w <-> z",
    ),
    "lavaan continuation and two left sides": (
        "lavaan",
        "y1 + y2 ~ x\n  + 0*z\n",
        "y1 <- x, z, y2 <- x, y1 <-> y2, x <-> z",
    ),
    "dot chain, comments, back, ids": (
        "dot",
        "strict digraph g {\n rankdir=LR; node [shape=box]\n// c\n a -> b -> 3 # d\n"
        ' 3 -> a [dir="both"] a -> c [dir=back, label="->"] }',
        "a -> b -> 3, 3 <-> a, a <- c",
    ),
    "csv of R, quoted": ("ggm", '"","x","y 1"\n"x",0,1\n"y 1",0,0\n', 'x -> "y 1"'),
    "csv without row names": ("pcalg", "x, y\n0,2\n3,0\n", "x -> y"),
}


@pytest.mark.parametrize("case", VARIANTS)
def test_variants_are_read(case):
    name, text, expected = VARIANTS[case]
    assert formats.read(text, format=name) == bf.parse(expected)


def test_dagitty_latent_variables_can_be_kept():
    text = "dag { h [latent] x <- h -> y }"
    assert formats.from_dagitty(text, latent="keep") == bf.parse("h, x <- h -> y")


TETRAD = "Graph Nodes:\nx;y\nGraph Edges:\n"

# format, text, line, column, words of the message
MALFORMED = [
    ("text", "x -> ", 1, 6, "name after"),
    ("json", '{"format": "bowfree.MixedGraph",\n "nodes": [}', 2, 12, "not JSON"),
    ("tetrad", TETRAD + "1. x o-> y\n", 4, 6, "leaves a direction open"),
    ("tetrad", TETRAD + "1. x --> q\n", 4, 10, "'q' is not in the list of nodes"),
    ("tetrad", TETRAD + "1. x --> y\n2. x --> y\n", 5, 4, "listed twice"),
    ("tetrad", "Graph Nodes:\nx;y;x\nGraph Edges:\n", 2, 5, "listed twice"),
    ("tetrad", "Graph Nodes:\nx;;y\nGraph Edges:\n", 2, 3, "empty"),
    ("tetrad", "Graph Nodes:\nx;y\n", 2, 1, "without a section 'Graph Edges:'"),
    ("dagitty", "dag { x -- y }", 1, 9, "open direction"),
    ("dagitty", "pag { x @-> y }", 1, 1, "open directions"),
    ("dagitty", "dag { x -> y", 1, 13, "end of the text"),
    ("dagitty", "dag { x -> y }\n y -> z", 2, 2, "the end of the text"),
    ("dagitty", "dag {\nh [latent]\nx <- h }", 2, 4, "is latent"),
    ("dagitty", "dag { {} -> y }", 1, 10, "in the braces"),
    ("dagitty", "dag { x /* y }", 1, 9, "comment is not closed"),
    ("lavaan", "f =~ x + y", 1, 3, "latent variables"),
    ("lavaan", "y ~ x\na == b", 2, 1, "'a' labels no parameter"),
    ("lavaan", "y ~ a*x\na == 2*a", 2, 7, "constraints are 'a == b'"),
    ("lavaan", "y ~ a*x\na > 0", 2, 3, "inequalities are not supported"),
    ("lavaan", "x ~~ v*x\nv == 0", 2, 6, "fixes a variance to zero"),
    ("lavaan", "y ~ c(0, 1)*x", 1, 5, "groups"),
    ("lavaan", "y ~ x +", 1, 8, "expected a variable"),
    ("lavaan", "x ~~ 0*x", 1, 8, "variance of x is fixed to zero"),
    ("lavaan", "x ~~ y\ny ~~ 0*x", 2, 8, "both free and fixed"),
    ("lavaan", "y ~ x @ z", 1, 7, "unexpected character '@'"),
    ("lavaan", "y ~ a*1\nz ~ a*x", 2, 5, "label 'a' constrains an intercept"),
    ("lavaan", "y ~ x\nz ~ equal('y~x')*x", 2, 5, "equal(...) is not supported"),
    ("lavaan", "y ~ lower(0)*x", 1, 5, "lower(...) bounds a parameter"),
    ("lavaan", "y ~ 0*1", 1, 7, "fixes the intercept of y"),
    ("lavaan", "y ~ a*x\nt := a*c", 2, 8, "'c' is not a label"),
    ("lavaan", "y ~ a*x\nt := u\nu := a", 2, 6, "'u' is not a label and not defined before"),
    ("lavaan", "y ~ a*x\nt := a\nt := a", 3, 1, "defined twice"),
    ("lavaan", "y ~ a*x\nt := 2*(a + 1", 2, 8, "not closed"),
    ("lavaan", "y ~ a*x\nt := exp(a)", 2, 6, "function exp"),
    ("lavaan", "y ~ m*1\nt := m", 2, 6, "labels an intercept"),
    ("dot", "graph { a -- b }", 1, 1, "expected 'digraph'"),
    ("dot", "digraph { a -> b [dir=none] }", 1, 23, "dir=both"),
    ("dot", "digraph { edge [dir=both] a -> b }", 1, 21, "hides the direction"),
    ("dot", "digraph { a -> b [arrowhead=none] }", 1, 29, "ambiguous"),
    ("dot", "digraph { subgraph s { a } }", 1, 11, "subgraphs"),
    ("dot", 'digraph { "a -> b }', 1, 11, "quoted name is not closed"),
    ("ggm", "", 1, 1, "empty"),
    ("ggm", "x,y\n0,10\n10,0\n", 2, 3, "undirected line"),
    ("ggm", ",x,y\nx,0,1\ny,0,1\n", 3, 5, "diagonal"),
    ("ggm", ",x,y\ny,0,1\nx,0,0\n", 2, 1, "use the same order"),
    ("ggm", "x,y\n0,1\n", 2, 1, "expected 2 rows"),
    ("ggm", "x,y\n0,1,0\n0,0\n", 2, 5, "expected 2 cells"),
    ("ggm", "x,y\n0,one\n0,0\n", 2, 3, "not a number"),
    ("ggm", 'x,"y\n0,1\n0,0\n', 1, 3, "not closed"),
    ("pcalg", "x,y\n0,2\n1,0\n", 2, 3, "circle"),
    ("causal-learn", "x,y\n0,1\n2,0\n", 2, 3, "circle"),
    ("pywhy", "x,y\n0,20\n0,0\n", 2, 3, "20 on both"),
    ("lingam", "x,y\n0,nan\n0.3,0\n", 2, 3, "NaN on both sides"),
]


@pytest.mark.parametrize(("name", "text", "line", "column", "problem"), MALFORMED)
def test_malformed_text_says_where(name, text, line, column, problem):
    with pytest.raises(bf.errors.ParseError) as caught:
        formats.read(text, format=name)
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: formats.from_matrix([[0, 1, 0], [0, 0, 0]], format="ggm"), "square"),
        (lambda: formats.from_matrix([[0]], nodes=["x", "y"], format="ggm"), "2 node names"),
        (lambda: formats.from_matrix([[0, np.inf], [0, 0]], format="lingam"), "finite"),
        (lambda: formats.from_networkx(nx.Graph([("x", "y")])), "undirected"),
        (lambda: formats.from_networkx(nx.MultiDiGraph([("x", "y")])), "has type None"),
        (lambda: formats.from_networkx(5), "int"),
    ],
)
def test_malformed_objects_are_refused(call, problem):
    with pytest.raises(bf.errors.ParseError, match=problem):
        call()


@pytest.mark.parametrize(
    ("name", "node"), [("tetrad", "a b"), ("tetrad", "a;b"), ("lavaan", "1a"), ("lavaan", "NA")]
)
def test_names_that_a_format_unsupported_are_refused(name, node):
    with pytest.raises(bf.errors.GraphError, match="does not support"):
        formats.write(bf.MixedGraph([node]), format=name)


def test_unknown_formats_are_refused():
    with pytest.raises(bf.BowfreeError, match="unknown format 'pag'; known are text"):
        formats.read("x", format="pag")


@given(baps().filter(len))
def test_every_format_returns_the_bap(graph):
    for name in formats.FORMATS:
        assert formats.read(formats.write(graph, format=name), format=name) == graph
    for name in MATRICES:
        matrix = formats.to_matrix(graph, format=name)
        assert formats.from_matrix(matrix, format=name, nodes=graph.nodes) == graph


def test_the_empty_graph_has_no_csv():
    with pytest.raises(bf.errors.GraphError, match="without nodes"):
        formats.write(bf.MixedGraph([]), format="ggm")


@given(mixed_graphs().filter(len))
def test_bows_and_cycles_survive_where_there_is_room(graph):
    for name in ("text", "json", "tetrad", "dagitty", "lavaan", "dot", "caugi", "ggm", "pywhy"):
        assert formats.read(formats.write(graph, format=name), format=name) == graph
    assert formats.from_networkx(formats.to_networkx(graph)) == graph


# Everything that means something in one of the formats or to a spreadsheet, and a few others.
ODD = " \t\r\n\"'\\,;:#!-<>@{}[]()=~*+|/.%_0aé→＝１\u2028\x85\x00\ufeff𝒳"
HOSTILE_NAMES = st.one_of(
    st.text(ODD, min_size=1, max_size=4),
    st.text(min_size=1, max_size=6),  # hypothesis leaves out surrogates
    st.sampled_from(
        ["=cmd|' /C calc'!A0", "+1", "-x", "@SUM(A1)", "'=x", "''", "\t=", "NA", "dag"]
    ),
)


@given(st.lists(HOSTILE_NAMES, min_size=2, max_size=4, unique=True))
def test_hostile_names_survive_or_are_refused_by_name(names):
    unsupported = {
        "tetrad": re.compile(r"[\s;,]").search,
        "lavaan": lambda name: name == "NA" or not re.fullmatch(r"([^\W\d_]|\.(?!\d))[\w.]*", name),
    }
    graph = bf.MixedGraph(names, [(names[1], names[0])], [(names[0], names[-1])][: len(names) - 2])
    for name in formats.FORMATS:
        if name in ("tetrad", "lavaan") and any(map(unsupported[name], names)):
            with pytest.raises(
                bf.errors.GraphError, match=f"(?i){name}.* does not support"
            ) as caught:
                formats.write(graph, format=name)
            assert any(repr(node) in str(caught.value) for node in names)
            continue
        text = formats.write(graph, format=name)
        assert formats.read(text, format=name) == graph
        # As a file has it: bytes, with the line ends that were written.
        assert formats.read(text.encode().decode(), format=name) == graph


@given(st.lists(HOSTILE_NAMES, min_size=2, max_size=4, unique=True))
def test_a_spreadsheet_finds_no_formula(names):
    text = formats.write(bf.MixedGraph(names), format="ggm")
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in row)
        assert not any(cell.startswith(("\t", "\r")) for cell in row)
