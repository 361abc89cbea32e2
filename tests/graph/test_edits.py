"""Graphs with a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import mixed_graphs

#   x -> y <-> z
G = bf.parse("x -> y <-> z")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (G.add("x -> z"), "x -> y <-> z <- x"),
        (G.add("z <- x"), "x -> y <-> z <- x"),
        (G.add(directed=[("x", "z")]), "x -> y <-> z <- x"),
        (G.add("x -> y <-> z"), "x -> y <-> z"),  # an edge is there or not; never twice
        (G.add("z <-> x", bidirected=[("x", "y")]), "x -> y <-> z <-> x <-> y"),
        (G.add(nodes=["w", "v"]), "x -> y <-> z, w, v"),
        (G.add(nodes="ww"), "x -> y <-> z, ww"),  # a string is one node
        (G.add("w -> x", nodes=["w"]), "x -> y <-> z, w -> x"),
        (G.remove("x -> y"), "x, y <-> z"),
        (G.remove(bidirected=[("z", "y")]), "x -> y, z"),
        (G.remove(nodes="y"), "x, z"),
        (G.remove("x -> y", nodes=["z"]), "x, y"),
        (G.replace("x -> y", "y -> x"), "x <- y <-> z"),
        (G.replace("y <-> z", "z -> y"), "x -> y <- z"),
        (G.relabel({"x": "z", "z": "x"}), "z -> y <-> x"),
        (G.relabel({}), "x -> y <-> z"),
    ],
)
def test_changes(changed, expected):
    assert changed == bf.parse(expected)
    assert str(G) == "x -> y <-> z"  # the old graph is as it was


@given(mixed_graphs(), st.randoms(use_true_random=False))
def test_changes_can_be_undone(g, random):
    order = list(g.nodes)
    random.shuffle(order)
    assert g.reorder(order).reorder(g.nodes) == g
    names = dict(zip(g.nodes, order, strict=True))
    back = {new: old for old, new in names.items()}
    assert g.relabel(names).relabel(back) == g
    for a, mark, b in g.edges:
        edge = f"{a} {mark} {b}"
        without = g.remove(edge)
        assert without < g
        assert not without.has_edge(edge)
        assert without.add(edge) == g


@given(mixed_graphs())
def test_induced_subgraph_keeps_what_lies_inside(g):
    keep = g.nodes[::2]
    part = g.subgraph(keep)
    assert part.nodes == keep
    assert part.directed == tuple(e for e in g.directed if set(e) <= set(keep))
    assert part.bidirected == tuple(e for e in g.bidirected if set(e) <= set(keep))
