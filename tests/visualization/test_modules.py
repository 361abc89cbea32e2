"""Modules of dense graphs: what belongs together, and where it stands."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from bowfree.visualization.layout import module_layout, module_regions, modules


#   a -> b     d -> e
#    \   |      \   |
#     v  v       v  v
#      c  ------> f          h
def test_two_triangles_and_a_bridge():
    graph = bf.parse("a -> b -> c, a -> c, d -> e -> f, d -> f, c -> f, h")
    assert modules(graph) == ((0, 1, 2), (3, 4, 5))


def test_graphs_without_edges_or_nodes():
    assert modules(bf.parse("a, b")) == ()
    assert modules(bf.MixedGraph([])) == ()
    assert len(module_layout(bf.parse("a, b"), ()).centers) == 2


def modularity(graph, groups):
    """Return the share of edges inside groups less what chance would give: the slow twin."""
    m = graph.n_edges
    degree = {v: sum(v in (a, b) for a, _, b in graph.edges) for v in graph.nodes}
    total = 0.0
    for group in groups:
        names = {graph.nodes[v] for v in group}
        inside = sum(a in names and b in names for a, _, b in graph.edges)
        total += inside / m - (sum(degree[v] for v in names) / (2 * m)) ** 2
    return total


@given(st.integers(2, 14), st.integers(0, 10_000))
def test_no_single_move_and_no_union_is_better(d, seed):
    graph = bf.random_bap(d, max_in_degree=3, rng=seed)
    groups = modules(graph)
    placed = [v for group in groups for v in group]
    assert sorted(placed) == [graph._node(v) for v in graph.nodes if graph.neighbors([v])]
    assert modules(graph) == groups
    for group in groups:
        names, reached = {graph.nodes[v] for v in group}, {graph.nodes[group[0]]}
        while more := (graph.neighbors(reached) & names) - reached:
            reached |= more
        assert reached == names
    best = modularity(graph, groups) if groups else 0.0
    for g, h in combinations(range(len(groups)), 2):
        joined = [group for k, group in enumerate(groups) if k not in (g, h)]
        assert modularity(graph, [*joined, groups[g] + groups[h]]) <= best + 1e-9


def test_planted_modules_are_found():
    rng = np.random.default_rng(3)
    names = [f"x{k}" for k in range(40)]
    inside = [(i, j) for i, j in combinations(range(40), 2) if i // 10 == j // 10]
    chosen = [pair for pair in inside if rng.random() < 0.4]
    between = [(9, 10), (19, 20), (29, 30), (3, 33)]
    graph = bf.MixedGraph(names, [(names[i], names[j]) for i, j in chosen + between])
    assert {frozenset(v // 10 for v in group) for group in modules(graph)} == {
        frozenset({k}) for k in range(4)
    }


@given(st.integers(1, 30), st.integers(0, 10_000))
def test_regions_hold_their_boxes_and_no_others(d, seed):
    graph = bf.random_bap(d, max_in_degree=1, rng=seed)
    groups = modules(graph)
    placed = module_layout(graph, groups)
    low, high = placed.centers - placed.sizes / 2, placed.centers + placed.sizes / 2
    assert (low >= -1e-9).all()
    for group, (x, y, width, height) in zip(groups, module_regions(placed, groups), strict=True):
        corner = np.array([x + width, y + height])
        inside = ((low > [x, y]) & (high < corner)).all(axis=1)
        apart = ((high < [x, y]) | (low > corner)).any(axis=1)
        assert set(np.flatnonzero(inside)) == set(group)
        assert (inside | apart).all()
    for i, j in combinations(range(d), 2):
        assert ((high[i] <= low[j]) | (low[i] >= high[j])).any()  # no box on another
