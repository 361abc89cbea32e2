"""Graphs with a change."""

from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import mixed_graphs

#   x -> y <-> z
G = bf.parse("x -> y <-> z")


def test_add_by_text_or_by_pairs():
    expected = bf.MixedGraph(["x", "y", "z"], [("x", "y"), ("x", "z")], [("y", "z")])
    assert G.add("x -> z") == expected
    assert G.add("z <- x") == expected
    assert G.add(directed=[("x", "z")]) == expected
    assert G.add("x -> y <-> z") == G  # an edge is there or not; never twice
    assert G.add("z <-> x", bidirected=[("x", "y")]).n_bidirected == 3
    assert str(G) == "x -> y <-> z"  # the old graph is as it was


def test_add_nodes():
    assert G.add(nodes=["w", "v"]).nodes == ("x", "y", "z", "w", "v")
    assert G.add(nodes="ww").nodes == ("x", "y", "z", "ww")  # a string is one node
    assert G.add("w -> x", nodes=["w"]).parents("x") == {"w"}


def test_remove_edges_and_nodes():
    assert G.remove("x -> y") == bf.parse("x, y <-> z")
    assert G.remove(bidirected=[("z", "y")]) == bf.parse("x -> y, z")
    assert G.remove(nodes="y") == bf.parse("x, z")
    assert G.remove("x -> y", nodes=["z"]) == bf.parse("x, y")


def test_replace_turns_an_edge():
    assert G.replace("x -> y", "y -> x") == bf.parse("x <- y <-> z")
    assert G.replace("y <-> z", "z -> y") == bf.parse("x -> y <- z")


def test_relabel_can_swap():
    assert G.relabel({"x": "z", "z": "x"}) == bf.parse("z -> y <-> x")
    assert G.relabel({}) == G


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
