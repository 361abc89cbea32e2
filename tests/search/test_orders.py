"""Searches begin with the best DAG over orders of the nodes, where the space allows it."""

import pytest

import bowfree as bf
from search_cases import simulate


def test_knowledge_is_respected():
    d = 14  # with fewer variables there is no search over orders
    S, _ = simulate([d, 1], d, max_in_degree=2)
    names = [f"x{i + 1}" for i in range(d)]
    knowledge = bf.Knowledge(
        tiers=[names[7:], names[:7]],
        required=[("x14", "->", "x1"), ("x1", "->", "x2")],
        forbidden=[("x8", "->", "x9")],
    )
    space = {"graph_class": "dag", "max_in_degree": 2, "knowledge": knowledge}
    result = bf.greedy_search(cov=S, n=500, rng=1, restarts=2, rounds=0, **space)
    assert bf.SearchSpace(**space).permits(result.graph)
    assert result.graph.n_edges > 4


@pytest.mark.parametrize(
    "space",
    [
        {"max_edges": 3},
        {"graph_class": "bidirected"},
        {"knowledge": bf.Knowledge(required=[("x1", "<->", "x2")])},
    ],
)
def test_spaces_that_orders_cannot_express(space):
    # There, dag-first runs climb over DAGs by single changes.
    S, _ = simulate([5, 1], 5)
    result = bf.greedy_search(cov=S, n=500, rng=1, restarts=2, rounds=0, **space)
    assert bf.SearchSpace(**space).permits(result.graph)
