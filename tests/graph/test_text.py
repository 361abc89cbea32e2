"""Text and JSON, there and back."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import ODD_NAMES, mixed_graphs

SMALL = bf.MixedGraph(["a", "b", "c", "d"], [("a", "b")], [("b", "c")])


def test_smallest_example():
    assert bf.parse("a -> b <-> c, d") == SMALL
    assert str(SMALL) == "a -> b <-> c, isolated: d"
    assert repr(SMALL) == "parse('a -> b <-> c, isolated: d')"


@pytest.mark.parametrize(
    "text",
    [
        "a->b<->c,d",
        "a -> b, b <-> c, d",
        "a, b <- a, c <-> b, d",
        "a -> b  # a direct effect\n\n# a hidden cause:\nb <-> c\nd\n",
        "\ta -> b <-> c,\r\n d,",
        '"a" -> "b" <-> c, d',
        "a, b, c, d, c <-> b <- a",
        "b <-> c, a -> b, nodes: a, b, c, d",
        "nodes: a, b\nc, d, c <-> b <- a",
    ],
)
def test_other_spellings_of_the_same_graph(text):
    assert bf.parse(text) == SMALL


@pytest.mark.parametrize(
    "text",
    [
        "",
        "isolated: a",
        "a -> b <-> a",
        "a -> b -> a",
        "a -> b, c -> d <-> b",
        "b -> c <- a, nodes: a, b, c",
        "a -> c, b -> d, isolated: e, nodes: a, e, b, c, d",
        '"nodes:" -> a, isolated: "isolated:"',
        "IL-6 -> x",
        '"blood pressure" <-> "say \\"hi\\"" -> "a,b", isolated: "#1"',
    ],
)
def test_these_texts_are_written_as_they_are_read(text):
    assert str(bf.parse(text)) == text


def test_order_of_nodes():
    assert bf.parse("y <- x, z, w -> x").nodes == ("y", "x", "z", "w")
    assert bf.parse("y <- x, z, nodes: x, w").nodes == ("x", "w", "y", "z")
    assert bf.parse("").nodes == ()


def test_isolated_variables_are_last():
    graph = bf.MixedGraph(["a", "f0", "b", "f1", "c"], [("a", "b")], [("b", "c")])
    assert str(graph) == "a -> b <-> c, isolated: f0, f1, nodes: a, f0, b, f1, c"
    assert str(graph.reorder(["a", "b", "c", "f0", "f1"])) == "a -> b <-> c, isolated: f0, f1"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a -> ", 1, 6, "expected a node name after '->'"),
        ("a -> b,\n -> c", 2, 2, "expected a node name before '->'"),
        ("a b", 1, 3, "expected an edge or a comma before b"),
        ("isolated: a, b\na -> c", 1, 11, "a is in the list after 'isolated:' but has an edge"),
        ("nodes: a -> b", 1, 10, "expected a comma or a line end"),
        ("a,, b", 1, 3, "expected a node name before the comma"),
        ("a -> b\nb -- c", 2, 3, "unexpected '-'"),
        ("x -> y -> y", 1, 11, "self-loop at y"),
        ('a -> "b', 1, 6, "bad quoted name"),
        ('a -> ""', 1, 6, "empty name"),
        ('x\n"a\\q"', 2, 3, "bad quoted name"),
    ],
)
def test_malformed_text_is_refused_with_its_place(text, line, column, words):
    with pytest.raises(bf.errors.ParseError) as caught:
        bf.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: {words}")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('{"format": ', "line 1, column 12: not JSON"),
        ("[1]", "a graph is stored as a JSON object, not as list"),
        ("{}", "'format' is None"),
        ('{"format": "bowfree.MixedGraph", "version": 99}', "'version' is 99"),
        ('{"format": "bowfree.MixedGraph", "version": 1}', "'nodes' is missing"),
        (json.dumps({**SMALL.to_dict(), "directed": [["a"]]}), "a pair of node names"),
        (json.dumps({**SMALL.to_dict(), "directed": [["a", "q"]]}), "unknown node 'q'"),
    ],
)
def test_bad_json_is_refused(source, words):
    with pytest.raises(bf.BowfreeError) as caught:
        bf.MixedGraph.from_json(source)
    assert words in str(caught.value)


@given(mixed_graphs(max_nodes=7) | mixed_graphs(max_nodes=8, names=ODD_NAMES))
def test_text_and_json_are_inverse(g):
    assert bf.parse(str(g)) == g
    assert bf.MixedGraph.from_json(g.to_json()) == g
    assert bf.MixedGraph.from_json(g.to_json(indent=2).encode()) == g
    assert bf.MixedGraph.from_dict(g.to_dict()) == g


@given(st.lists(st.text(min_size=1), unique=True, max_size=4))
def test_any_names_survive(names):
    g = bf.MixedGraph(names, bidirected=list(itertools.pairwise(names)))
    assert bf.parse(str(g)) == g


@given(st.text(alphabet='ab-<>,#"\n ', max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        g = bf.parse(text)
    except bf.errors.ParseError:
        return
    assert bf.parse(str(g)) == g
