"""Treks: the sets T^ij and S^ij of appendix A.1."""

from hypothesis import given, settings

import bowfree as bf
from graph_strategies import admgs

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


def test_the_parts_of_a_trek():
    trek = bf.Trek(left=("i", "h"), right=("h", "k", "j"))
    assert (trek.head, trek.is_simple) == ("h", True)
    assert trek.nodes == ("i", "h", "k", "j")
    assert str(trek) == "i <- h -> k -> j"
    assert str(trek.reversed()) == "j <- k <- h -> i"
    crossing = bf.Trek(left=("i", "k"), right=("h", "i", "j"))
    assert (crossing.head, crossing.is_simple) == (None, False)
    assert crossing.edges == (
        ("i", "<-", "k"),
        ("k", "<->", "h"),
        ("h", "->", "i"),
        ("i", "->", "j"),
    )


@given(admgs(max_nodes=5))
@settings(max_examples=60)
def test_treks_read_the_same_both_ways(g):
    for i in g.nodes:
        for j in g.nodes:
            there = list(g.treks(i, j))
            assert len(set(there)) == len(there)
            assert {t.reversed() for t in there} == set(g.treks(j, i))
            assert all(g.has_edge(str(t)) for t in there)
            assert all(t.nodes[0] == i and t.nodes[-1] == j for t in there)
            assert set(g.treks(i, j, simple=True)) == {t for t in there if t.is_simple}


@given(admgs(max_nodes=5))
@settings(max_examples=60)
def test_treks_are_the_pairs_of_directed_paths_with_a_common_top(g):
    tops = [(v, v) for v in g.nodes]
    tops += [pair for a, b in g.bidirected for pair in ((a, b), (b, a))]
    for i in g.nodes:
        for j in g.nodes:
            expected = {
                bf.Trek(left.nodes[::-1], right.nodes)
                for a, b in tops
                for left in g.directed_paths(a, i)
                for right in g.directed_paths(b, j)
            } - {bf.Trek((i,), (i,))}
            assert set(g.treks(i, j)) == expected


@given(admgs(max_nodes=5))
@settings(max_examples=60)
def test_simple_treks_are_the_non_overlapping_paths_without_colliders(g):
    for i in g.nodes:
        for j in g.nodes:
            if i != j:
                collider_free = {str(path) for path in g.paths(i, j) if not path.colliders}
                assert {str(t) for t in g.treks(i, j, simple=True)} == collider_free
