"""The best DAG over orders: against all orders, and against growing and shrinking in NumPy."""

from itertools import combinations, permutations

import numpy as np
import pytest

import bowfree as bf
from bowfree import _core
from bowfree.graph.encodings import graph_of_bits
from search_cases import simulate

N = 500.0
TOLERANCE = 1e-9


def best_order(S, *, seed=0, kicks=20, memory=2**28, **space):
    """Return the order and the DAG that the core finds; None where the space is beyond orders."""
    names = tuple(f"x{i + 1}" for i in range(len(S)))
    rules = bf.SearchSpace(**space).rules(names)
    found = _core.best_over_orders(np.asarray(S), N, 1.0, rules, seed, kicks, TOLERANCE, memory)
    return None if found is None else (tuple(found[0]), graph_of_bits(names, *found[1]))


def best_dag(S, **options):
    return best_order(S, **options)[1]


def node_score(S, v, parents):
    """Return one node's part of the score: its residual variance, and the price of its arrows."""
    P = list(parents)
    rest = S[v, v] - (S[v, P] @ np.linalg.solve(S[np.ix_(P, P)], S[P, v]) if P else 0.0)
    return -0.5 * np.log(rest) - np.log(N) / N * len(P)


def best_subset(S, v, before):
    """Return the best score of a node over all sets of parents among those before it."""
    return max(
        node_score(S, v, parents)
        for size in range(len(before) + 1)
        for parents in combinations(before, size)
    )


def grow_and_shrink(S, v, before):
    """Add the parent that gains most while one gains, then take away what no longer pays."""
    parents = []
    for step in ("grow", "shrink"):
        while True:
            here = node_score(S, v, parents)
            if step == "grow":
                others = [[*parents, u] for u in before if u not in parents]
            else:
                others = [[p for p in parents if p != out] for out in parents]
            best = max(others, key=lambda other: node_score(S, v, other), default=parents)
            if node_score(S, v, best) <= here:
                break
            parents = best
    return node_score(S, v, parents)


def total(S, order, node=grow_and_shrink):
    return sum(node(S, v, order[:k]) for k, v in enumerate(order))


def dag_score(S, graph):
    return sum(
        node_score(S, v, [graph.nodes.index(p) for p in graph.parents(name)])
        for v, name in enumerate(graph.nodes)
    )


def test_a_collider():
    #   x1 -> x2 <- x3: the only DAG of its class.
    B, Omega = np.zeros((3, 3)), np.eye(3)
    B[1, 0] = B[1, 2] = 0.8
    A = np.linalg.inv(np.eye(3) - B)
    assert best_dag(A @ Omega @ A.T) == bf.parse("x1 -> x2 <- x3")


@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_all_orders(seed):
    # Four nodes: all 24 orders, with the best of all sets of parents for each node.
    S, _ = simulate([4, seed], 4)
    best = max(total(S, order, best_subset) for order in permutations(range(4)))
    assert dag_score(S, best_dag(S, seed=seed)) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_no_node_has_a_better_place(seed):
    # Without kicks, from a random order on: every node is moved to every other place by the twin.
    d = 7
    S, _ = simulate([d, seed], d)
    order, graph = best_order(S, seed=seed, kicks=0)
    score = dag_score(S, graph)
    assert total(S, order) == pytest.approx(score, abs=1e-10)
    for v in order:
        rest = tuple(u for u in order if u != v)
        for to in range(d):
            assert total(S, (*rest[:to], v, *rest[to:])) <= score + 2 * TOLERANCE


def test_kicks_lose_nothing_and_gain_somewhere():
    gains = []
    for seed in range(6):
        S, _ = simulate([12, seed], 12, max_in_degree=3)
        few, many = (dag_score(S, best_dag(S, seed=seed, kicks=k)) for k in (0, 30))
        gains.append(many - few)
    assert min(gains) >= -TOLERANCE
    assert max(gains) > 1e-4


def test_the_space_is_kept_to():
    d = 8
    S, _ = simulate([d, 1], d)
    names = [f"x{i + 1}" for i in range(d)]
    knowledge = bf.Knowledge(
        tiers=[names[4:], names[:4]],
        required=[("x8", "->", "x1"), ("x1", "->", "x2")],
        forbidden=[("x5", "->", "x6")],
    )
    for seed in range(5):
        graph = best_dag(S, seed=seed, knowledge=knowledge, max_in_degree=2)
        assert bf.SearchSpace("dag", max_in_degree=2, knowledge=knowledge).permits(graph)
        assert graph.n_edges > 4


@pytest.mark.parametrize(
    "space",
    [
        {"max_edges": 3},
        {"graph_class": "bidirected"},
        {"knowledge": bf.Knowledge(required=[("x1", "<->", "x2")])},
    ],
)
def test_what_is_beyond_orders(space):
    # There, dag-first runs climb over DAGs as they used to, within the space.
    S, _ = simulate([5, 1], 5)
    assert best_order(S, **space) is None
    result = bf.greedy_search(cov=S, n=int(N), rng=1, restarts=2, rounds=0, **space)
    assert bf.SearchSpace(**space).permits(result.graph)


def test_near_copies_do_not_both_become_parents():
    # x2 is x1 but for rounding: once one of the two is a parent, the other explains nothing.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] = X[:, 0] * (1 + 1e-15)
    X[:, 2] += X[:, 0]
    S = np.cov(X.T)
    graph = best_dag(S)
    assert np.isfinite(S).all()
    assert graph.n_edges <= 3


def test_trees_that_forget_find_the_same():
    S, _ = simulate(5, 14, max_in_degree=3)
    remembered = best_order(S, kicks=5)
    for memory in (0, 10_000):  # emptied before every move, or now and then
        assert best_order(S, kicks=5, memory=memory) == remembered
