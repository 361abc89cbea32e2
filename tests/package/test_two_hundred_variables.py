"""Two hundred variables: fits and decisions take seconds, classes obey a time limit."""

import warnings

import numpy as np
import pytest

import bowfree as bf

D = 200


@pytest.fixture(scope="module")
def found():
    """Return a search on data of a sparse DAG with every tenth variable hidden."""
    rng = np.random.default_rng(1)
    p = D + D // 10
    B = np.zeros((p, p))
    for v in range(1, p):
        for u in rng.choice(v, min(v, rng.poisson(1.2)), replace=False):
            B[v, u] = rng.uniform(0.4, 0.9) * rng.choice([-1, 1])
    X = np.linalg.solve(np.eye(p) - B, rng.standard_normal((p, 1000))).T
    seen = np.sort(rng.choice(p, D, replace=False))
    return bf.greedy_search(X[:, seen], restarts=1, rounds=0, rng=1)


def test_a_class_and_its_effects_obey_their_limits(found):
    members = bf.equivalence_class(found, time_limit=0.3)
    assert found.graph in members
    bounds = bf.effect_bounds(members, found.moments, limit=50, time_limit=0.5)
    assert bounds.names == found.graph.nodes
    assert (bounds.lower <= bounds.upper).all()


def test_decisions(found):
    graph = found.graph
    a, b = next(
        (a, b) for a, b in graph.directed if graph.parents(a) == graph.parents(b) - {a}
    )  # a covered edge
    turned = graph.remove(f"{a} -> {b}").add(f"{b} -> {a}")
    other = graph.remove(f"{a} -> {b}")
    assert bf.equivalent(graph, turned, rng=0) or graph.spouses(a) or graph.spouses(b)
    assert not bf.equivalent(graph, other, rng=0)
    assert not bf.equivalence.markov_equivalent(graph, other)


def test_a_fit_and_its_effects(found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.LearnedGraphWarning)
        fit = found.fit()
    assert fit.converged
    effects = fit.total_effects()
    a, b = found.graph.directed[0]
    assert effects.effect(of=a, on=b).estimate != 0
    assert "more: print(fit.summary()) has all" in str(fit)
