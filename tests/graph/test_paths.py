"""Paths, one by one."""

from itertools import islice, pairwise, permutations

from hypothesis import given

import bowfree as bf
from graph_strategies import mixed_graphs


def test_paths_of_a_triangle_with_a_bow():
    #   a -> b <-> a,  b -> c <-> a
    g = bf.parse("a -> b <-> a, b -> c <-> a")
    assert [str(path) for path in g.paths("a", "c")] == [
        "a -> b -> c",
        "a <-> b -> c",
        "a <-> c",
    ]
    assert [(str(path), path.colliders) for path in g.paths("b", "c")] == [
        ("b <- a <-> c", ()),
        ("b <-> a <-> c", ("a",)),
        ("b -> c", ()),
    ]
    assert [str(path) for path in g.directed_paths("a", "c")] == ["a -> b -> c"]


def test_colliders_on_a_path():
    path = next(bf.parse("a -> b <-> c <- d -> e").paths("a", "e"))
    assert path.colliders == ("b", "c")
    assert path.length == 4
    assert not path.is_directed
    assert path.edges[1] == ("b", "<->", "c")


def test_a_node_is_a_path_to_itself():
    g = bf.parse("a -> b")
    assert [path.nodes for path in g.paths("a", "a")] == [("a",)]
    assert [path.length for path in g.directed_paths("b", "b")] == [0]
    assert list(g.directed_paths("b", "a")) == []


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
