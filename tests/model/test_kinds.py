"""Interventions that keep a target's edges: parameters that a condition has to itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from kinds_twin import ConditionModel
from random_models import random_bap

KINDS = ("mechanism", "activity", "noise")
RNG = np.random.default_rng(0)


def sampled(kind, seed, d=3, targets=((), ("v1",), ("v0", "v2")), sizes=(200, 120, 90)):
    """Return a graph, its model, and covariance matrices of samples from it."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.8)
    model = ConditionModel(graph, kind, targets)
    theta = model.random(rng, graph)
    return graph, model, theta, model.sample(rng, theta, sizes)


def conditions(graph, kind, targets, data):
    names = graph.nodes
    return [
        bf.Condition(bf.Moments(names, S, n), targets=chosen, kind=kind)
        for (n, S, _), chosen in zip(data, targets, strict=True)
    ]


TARGETS = ((), ("v1",), ("v0", "v2"))


# --- one node: closed forms ---


def pair(n, slope, sd):
    x = RNG.normal(size=n)
    return {"x": x, "y": slope * x + sd * RNG.normal(size=n)}


TWO = [pair(80, 1.0, 1.0), pair(60, -0.5, 2.0)]


def test_a_mechanism_of_its_own_is_a_regression_of_its_own():
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="mechanism")],
    )
    for (B, Omega, _), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-10)
        assert Omega[1, 1] == pytest.approx(S[1, 1] - S[0, 1] ** 2 / S[0, 0], rel=1e-10)
    assert fit.n_parameters == 5
    assert fit.df == 1  # two matrices of three entries; only the variance of x is shared


def test_an_activity_of_its_own_is_a_slope_of_its_own():
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["x"], kind="activity")],
    )
    left = 0.0
    for (B, _, _), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-8)
        left += len(table["x"]) / 140 * (S[1, 1] - S[0, 1] ** 2 / S[0, 0])
    assert fit.Omega[1, 1] == pytest.approx(left, rel=1e-8)
    assert (fit.n_parameters, fit.df) == (4, 2)


def test_noise_of_its_own():
    fit = bf.fit(
        bf.parse("x, y"), [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="noise")]
    )
    for (_, Omega, _), table in zip(fit.own, TWO, strict=True):
        assert Omega[1, 1] == pytest.approx(np.var(table["y"]), rel=1e-8)
    assert fit.n_parameters == 3
    # With a parent the slope is shared: each condition counts by its precision.
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="noise")],
    )
    up = down = 0.0
    for (_, Omega, _), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        up += len(table["x"]) * S[0, 1] / Omega[1, 1]
        down += len(table["x"]) * S[0, 0] / Omega[1, 1]
    assert fit.B[1, 0] == pytest.approx(up / down, rel=1e-7)


# --- identities ---


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_the_truth_is_found_in_population_matrices(kind, seed):
    graph, model, theta, _ = sampled(kind, seed, d=4, targets=TARGETS)
    exact = [(1000, Sigma, mean) for mean, Sigma in model.laws(theta)]
    fit = bf.fit(graph, conditions(graph, kind, TARGETS, exact))
    assert fit.chi2 == pytest.approx(0, abs=1e-5)
    for e, (B, Omega, _) in enumerate(fit.own):
        want_B, want_Omega, _ = model.matrices(theta, e)
        np.testing.assert_allclose(B, want_B, atol=1e-4)
        np.testing.assert_allclose(Omega, want_Omega, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_as_many_as_the_matrices_have_dimensions(kind):
    for seed in range(4):
        graph, model, theta, data = sampled(kind, seed, d=4)
        step = 1e-6 * np.eye(model.size)
        at = np.array([Sigma for _, Sigma in model.laws(theta)]).ravel()
        slopes = [
            (np.array([Sigma for _, Sigma in model.laws(theta + u)]).ravel() - at) / 1e-6
            for u in step
        ]
        fit = bf.fit(graph, conditions(graph, kind, TARGETS, data))
        assert fit.n_parameters == model.size == np.linalg.matrix_rank(slopes, tol=1e-4)
        assert fit.df == 3 * 10 - model.size
        assert fit.score == pytest.approx((fit.loglik - model.size * np.log(410)) / 410, rel=1e-12)
        assert sum(c.loglik for c in fit.conditions) == pytest.approx(fit.loglik, rel=1e-12)


# --- the twin (fits: test_direct_maximization.py) ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 6])
def test_standard_errors_are_those_of_the_curvature(kind, seed):
    graph, model, theta, data = sampled(kind, seed)
    assert graph.n_directed
    fit = bf.fit(graph, conditions(graph, kind, TARGETS, data))
    best, _ = model.fit(data, theta)
    expected = model.standard_errors(best, data)
    observed = fit.standard_errors(information="observed")
    for (what, i, j), number in model.shared.items():
        se = (observed.B if what == "B" else observed.Omega)[i, j]
        assert se == pytest.approx(expected[number], rel=1e-3)


# --- searches ---


@pytest.mark.parametrize("kind", KINDS)
def test_searches_score_as_fits_do(kind):
    graph, _, _, data = sampled(kind, 7)
    given_ = conditions(graph, kind, TARGETS, data)
    result = bf.exhaustive_search(given_)
    for found, score in list(result.ranking(1e9))[::7]:
        assert score == pytest.approx(bf.score(found, given_), rel=1e-10)
    greedy = bf.greedy_search(given_, rng=1)
    assert greedy.score == pytest.approx(result.score, rel=1e-10)
    assert greedy.graph in bf.equivalence_class(result)
    cheap = bf.exhaustive_search(given_, penalty=0.5)
    price = 0.5 * np.log(410) / 410
    by_graph = dict(cheap.ranking(1e9))
    n_fixed = 3 + {"mechanism": 3, "noise": 3, "activity": 0}[kind]
    for (found, score), number in zip(result.ranking(1e9), result.parameter_counts(), strict=True):
        assert by_graph[found] == pytest.approx(score + price * (n_fixed + number), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_edges_count_what_conditions_have_to_themselves(kind):
    graph, _, _, data = sampled(kind, 3)
    given_ = conditions(graph, kind, TARGETS, data)
    fit = bf.fit(graph, given_)
    for change in bf.edge_changes(graph, given_):
        a, b = change.a, change.b
        edges = [e for e in graph.edges if {e[0], e[2]} != {a, b}]
        now = bf.MixedGraph(
            graph.nodes,
            directed=[(x, y) for x, mark, y in edges if mark == "->"]
            + [(a, b)] * (change.after == "->")
            + [(b, a)] * (change.after == "<-"),
            bidirected=[(x, y) for x, mark, y in edges if mark == "<->"]
            + [(a, b)] * (change.after == "<->"),
        )
        other = bf.fit(now, given_)
        assert change.df == other.df - fit.df
        assert change.score == pytest.approx(other.score - fit.score, abs=1e-9)


# --- different kinds ---

MIXED = [
    bf.Condition(TWO[0], kind="activity"),
    bf.Condition(TWO[1], targets=["y"], kind="noise"),
    bf.Condition(pair(50, 1.0, 1.0), targets=["x"]),
]


def test_conditions_of_different_kinds():
    #  x -> y: y varies more in the second condition, x is set in the third
    moments = bf.moments(MIXED)
    assert moments.kinds == ("perfect", "noise", "perfect")  # without targets there is none
    fit = bf.fit(bf.parse("x -> y"), moments)
    assert fit.n_parameters == 3 + 2
    S = [c.S for c in moments.conditions]
    # x varies by itself where it was not set; y has a variance in the second condition and another
    # in the others.
    assert fit.Omega[0, 0] == pytest.approx((80 * S[0][0, 0] + 60 * S[1][0, 0]) / 140)
    left = [s[1, 1] - 2 * fit.B[1, 0] * s[0, 1] + fit.B[1, 0] ** 2 * s[0, 0] for s in S]
    assert fit.own[1].Omega[1, 1] == pytest.approx(left[1], rel=1e-6)
    assert fit.Omega[1, 1] == pytest.approx((80 * left[0] + 50 * left[2]) / 130, rel=1e-6)


# --- what is refused ---
