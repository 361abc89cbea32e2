"""Paths and treks: the sets T^ij and S^ij of appendix A.1."""

from itertools import islice, pairwise, permutations

from hypothesis import given, settings

import bowfree as bf
from bowfree.graph.paths import Trek
from graph_strategies import admgs, mixed_graphs


def test_paths_of_a_triangle_with_a_bow():
    #   a -> b <-> a,  b -> c <-> a
    g = bf.parse("a -> b <-> a, b -> c <-> a")
    assert [str(path) for path in g.paths("a", "c")] == ["a -> b -> c", "a <-> b -> c", "a <-> c"]
    assert [(str(path), path.colliders) for path in g.paths("b", "c")] == [
        ("b <- a <-> c", ()),
        ("b <-> a <-> c", ("a",)),
        ("b -> c", ()),
    ]
    assert [str(path) for path in g.directed_paths("a", "c")] == ["a -> b -> c"]


def test_paths_are_lazy():
    # A complete graph on 60 nodes has more paths than can be listed.
    nodes = [f"v{i}" for i in range(60)]
    g = bf.MixedGraph(nodes, [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]])
    assert len(list(islice(g.paths("v0", "v59"), 100))) == 100


def test_long_paths_need_no_recursion():
    nodes = [f"v{i}" for i in range(3000)]
    g = bf.MixedGraph(nodes, list(pairwise(nodes)))
    assert [path.length for path in g.paths("v0", "v2999")] == [2999]


@given(mixed_graphs(max_nodes=5))
def test_paths_agree_with_all_orders_of_nodes(g):
    if len(g) < 2:
        return
    a, b, *rest = g.nodes

    def edges(u, v):
        return [mark for mark in ("->", "<-", "<->") if g.has_edge(f"{u} {mark} {v}")]

    count = 0
    for size in range(len(rest) + 1):
        for inner in permutations(rest, size):
            walk = (a, *inner, b)
            ways = 1
            for u, v in pairwise(walk):
                ways *= len(edges(u, v))
            count += ways
    found = list(g.paths(a, b))
    assert len(found) == len(set(found)) == count
    assert all(len(set(path.nodes)) == path.length + 1 for path in found)
    assert all(g.has_edge(str(path)) for path in found)
    assert [p for p in found if p.is_directed] == list(g.directed_paths(a, b))


#   x1 -> x2 -> x3 -> x4 <-> x2       figure 1 (b)
FIGURE_1B = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")


def test_treks_of_figure_1b():
    assert [str(t) for t in FIGURE_1B.treks("x1", "x4", simple=True)] == ["x1 -> x2 -> x3 -> x4"]
    assert {str(t) for t in FIGURE_1B.treks("x2", "x4")} == {
        "x2 <- x1 -> x2 -> x3 -> x4",
        "x2 -> x3 -> x4",
        "x2 <-> x4",
    }
    assert [str(t) for t in FIGURE_1B.treks("x1", "x1")] == []
    assert {str(t) for t in FIGURE_1B.treks("x4", "x4")} == {
        "x4 <- x3 <- x2 <- x1 -> x2 -> x3 -> x4",
        "x4 <- x3 <- x2 -> x3 -> x4",
        "x4 <- x3 -> x4",
        "x4 <- x3 <- x2 <-> x4",
        "x4 <-> x2 -> x3 -> x4",
    }


@given(admgs(max_nodes=5))
@settings(max_examples=60)
def test_treks_are_the_pairs_of_directed_paths_with_a_common_top(g):
    tops = [(v, v) for v in g.nodes]
    tops += [pair for a, b in g.bidirected for pair in ((a, b), (b, a))]
    for i in g.nodes:
        for j in g.nodes:
            expected = {
                Trek(left.nodes[::-1], right.nodes)
                for a, b in tops
                for left in g.directed_paths(a, i)
                for right in g.directed_paths(b, j)
            } - {Trek((i,), (i,))}
            found = list(g.treks(i, j))
            assert set(found) == expected == {trek.reversed() for trek in g.treks(j, i)}
            assert len(found) == len(expected)
            assert set(g.treks(i, j, simple=True)) == {trek for trek in found if trek.is_simple}


@given(admgs(max_nodes=5))
@settings(max_examples=60)
def test_simple_treks_are_the_non_overlapping_paths_without_colliders(g):
    for i in g.nodes:
        for j in g.nodes:
            if i != j:
                collider_free = {str(path) for path in g.paths(i, j) if not path.colliders}
                assert {str(t) for t in g.treks(i, j, simple=True)} == collider_free
