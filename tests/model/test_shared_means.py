"""Conditions with shared intercepts: shifts of the mean speak for the graph, too."""

import numpy as np
import pytest

import bowfree as bf
from kinds_twin import ConditionModel
from random_models import random_bap

KINDS = ("perfect", "mechanism", "activity", "noise")
TARGETS = ((), ("v1",), ("v0", "v2"))
RNG = np.random.default_rng(0)


def chain(n, *, shift=0.0, set_y=None):
    """Return rows of x -> y -> z with intercepts 1, 2, 3; x shifted, or y set by hand."""
    x, y, z = RNG.normal(size=(3, n))
    x = x + 1 + shift
    y = 2 + 0.5 * x + y if set_y is None else set_y + 2 * y
    return {"x": x, "y": y, "z": 3 - y + z}


CHAIN = bf.parse("x -> y -> z")


# --- the smallest example ---


def test_without_targets_it_is_one_table():
    #  x -> y -> z, and nothing differs between the conditions but chance
    parts = [chain(60), chain(40)]
    table = {name: np.concatenate([part[name] for part in parts]) for name in "xyz"}
    shared = bf.fit(CHAIN, [bf.Condition(part) for part in parts], means="shared")
    one = bf.fit(CHAIN, table)
    np.testing.assert_allclose(shared.B, one.B, rtol=1e-10)
    assert shared.loglik == pytest.approx(one.loglik, rel=1e-12)
    assert shared.score == pytest.approx(one.score, rel=1e-12)
    assert sum(c.loglik for c in shared.conditions) == pytest.approx(one.loglik, rel=1e-12)
    # One mean of three is left over: three more degrees of freedom, beside six covariances.
    free = bf.fit(CHAIN, [bf.Condition(part) for part in parts])
    assert shared.df == free.df + 3


def test_one_node_is_a_regression_with_a_constant():
    parts = [chain(60), chain(40, set_y=7.0), chain(50, shift=4.0)]
    data = [
        bf.Condition(parts[0]),
        bf.Condition(parts[1], targets=["y"]),
        bf.Condition(parts[2], targets=["x"]),
    ]
    fit = bf.fit(CHAIN, data, means="shared")
    for child, parent, used in (("y", "x", (0, 2)), ("z", "y", (0, 1, 2))):
        x = np.concatenate([parts[e][parent] for e in used])
        y = np.concatenate([parts[e][child] for e in used])
        design = np.column_stack([np.ones(len(x)), x])
        slope, (rss,), _, _ = np.linalg.lstsq(design, y)
        i, j = "xyz".index(child), "xyz".index(parent)
        assert fit.B[i, j] == pytest.approx(slope[1], rel=1e-10)
        assert fit.Omega[i, i] == pytest.approx(rss / len(x), rel=1e-10)


def test_a_shift_that_the_graph_does_not_explain():
    honest = [bf.Condition(chain(200)), bf.Condition(chain(200, shift=3.0), targets=["x"])]
    other = bf.Condition(chain(200, shift=3.0), targets=["z"], kind="mechanism")
    wrong = [honest[0], other]
    good, bad = (bf.fit(CHAIN, data, means="shared") for data in (honest, wrong))
    assert good.p_value > 0.001
    assert bad.p_value < 1e-10
    assert bf.fit(CHAIN, wrong).p_value > 0.001  # with free means nobody looks at them


# --- the twin (fits: test_direct_maximization.py) ---


def sampled(kind, seed):
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, 3, density=0.8)
    model = ConditionModel(graph, kind, TARGETS, means=True)
    theta = model.random(rng, graph)
    return graph, model, theta, model.sample(rng, theta, (200, 120, 90))


def conditions(graph, kind, data):
    return [
        bf.Condition(bf.Moments(graph.nodes, S, n, m), targets=targets, kind=kind)
        for (n, S, m), targets in zip(data, TARGETS, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_standard_errors_are_those_of_the_curvature(kind):
    graph, model, theta, data = sampled(kind, 3)
    assert graph.n_directed
    fit = bf.fit(graph, conditions(graph, kind, data), means="shared")
    best, _ = model.fit(data, theta, means=True)
    expected = model.standard_errors(best, data, means=True)
    observed = fit.standard_errors(information="observed")
    for (what, i, j), number in model.shared.items():
        if what != "c":
            se = (observed.B if what == "B" else observed.Omega)[i, j]
            assert se == pytest.approx(expected[number], rel=1e-3)


# --- searches and what follows ---


@pytest.mark.parametrize("kind", KINDS)
def test_searches_score_as_fits_do(kind):
    graph, _, _, data = sampled(kind, 7)
    given = bf.moments(conditions(graph, kind, data), means="shared")
    result = bf.exhaustive_search(given)
    for found, score in list(result.ranking(1e9))[::9]:
        assert score == pytest.approx(bf.score(found, given), rel=1e-10)
    assert bf.greedy_search(given, rng=1).score == pytest.approx(result.score, rel=1e-10)


def test_intervals_know_that_intercepts_are_estimated():
    data = [bf.Condition(chain(80)), bf.Condition(chain(60, shift=4.0), targets=["x"])]
    moments = bf.moments(data, means="shared")
    se = bf.fit(CHAIN, moments).total_effects(information="observed").se
    average = bf.averaged_effects(
        [CHAIN],
        moments,
        space=bf.SearchSpace(knowledge=bf.Knowledge(required=["x -> y", "y -> z"])),
    )
    half = (average.upper - average.lower) / 2
    found = se > 0
    np.testing.assert_allclose(half[found], 1.96 * se[found], rtol=1e-3)


@pytest.mark.parametrize(("kind", "own"), [("perfect", 1), ("mechanism", 1), ("noise", 0)])
def test_own_intercepts_are_counted(kind, own):
    """With shared means, the intercept of a target is a parameter: in fits, scores and searches."""
    graph = bf.parse("a -> b -> c")
    sem = bf.random_sem(graph, rng=1)
    tables = [sem.sample(300, rng=seed, as_frame="pandas") for seed in (2, 3)]
    given = [bf.Condition(tables[0]), bf.Condition(tables[1], targets=["b"], kind=kind)]
    free, shared = (bf.fit(graph, given, means=means) for means in ("free", "shared"))
    assert shared.n_parameters == free.n_parameters + own
    assert shared.score == pytest.approx(bf.score(graph, given, means="shared"), abs=1e-12)
    search = bf.greedy_search(given, means="shared", rng=1, restarts=2, rounds=0)
    again = bf.score(search.graph, given, means="shared", penalty=search.penalty)
    assert search.score == pytest.approx(again, abs=1e-9)
