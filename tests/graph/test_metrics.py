"""Distances between graphs, against counts edge by edge."""

import math
from itertools import combinations, permutations

import pytest
from hypothesis import given

import bowfree as bf
from bowfree.graph.metrics import accuracy, shd
from graph_strategies import mixed_graphs


def marks(graph, a, b):
    """Return the marks at a of the edges between a and b."""
    found = set()
    if graph.has_edge(f"{a} -> {b}"):
        found.add("tail")
    if graph.has_edge(f"{b} -> {a}") or graph.has_edge(f"{a} <-> {b}"):
        found.add("arrowhead")
    return found


@given(mixed_graphs(max_nodes=5), mixed_graphs(max_nodes=5))
def test_metrics_count_pairs_and_ends(estimate, truth):
    size = min(len(estimate), len(truth))
    estimate, truth = (
        g.subgraph(g.nodes[:size]).relabel({old: f"v{i}" for i, old in enumerate(g.nodes[:size])})
        for g in (estimate, truth)
    )
    found = accuracy(estimate, truth)
    pairs = list(combinations(truth.nodes, 2))
    assert found.shd == sum(
        set(estimate.subgraph(pair).edges) != set(truth.subgraph(pair).edges)
        or estimate.subgraph(pair).bidirected != truth.subgraph(pair).bidirected
        for pair in pairs
    )
    assert found.shd == shd(truth, estimate)
    for kind in ("arrowhead", "tail"):
        ends = list(permutations(truth.nodes, 2))
        one = [kind in marks(estimate, a, b) for a, b in ends]
        two = [kind in marks(truth, a, b) for a, b in ends]
        hits = sum(x and y for x, y in zip(one, two, strict=True))
        for name, total in (("precision", sum(one)), ("recall", sum(two))):
            value = found[f"{kind}_{name}"]
            assert math.isnan(value) if not total else value == hits / total
    perfect = accuracy(truth, truth)
    assert perfect.shd == 0
    assert all(math.isnan(v) or v == 1 for k, v in perfect.items() if k != "shd")


def test_circles_are_not_statements():
    pag = bf.parse("w -> x -> z, y -> x").pag()  # w o-> x, x -> z, y o-> x
    found = accuracy(pag, bf.parse("w -> x -> z, y <-> x"))
    assert (found.adjacency_f, found.arrowhead_precision, found.tail_precision) == (1, 1, 1)
    assert (found.arrowhead_recall, found.tail_recall, found.shd) == (3 / 4, 1 / 2, 2)
    assert shd(pag, bf.parse("w <-> x -> z, y <-> x").pag()) == 0
    with pytest.raises(bf.errors.GraphError, match="different nodes"):
        shd(pag, bf.parse("x -> y"))
