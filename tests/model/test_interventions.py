"""Fits to several conditions under every kind of intervention, with free and with shared means.

The slow twin writes the log-likelihood of all conditions down from the definition of the kinds, in
one vector of all parameters, and climbs it with BFGS. So whatever the core does on its way
(districts, peeled members, pooled groups of conditions, sweeps, Newton steps) is compared with
nothing but the model.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from conditions_twin import ConditionModel
from random_models import random_bap

KINDS = ("perfect", "mechanism", "activity", "noise")
TARGETS = ((), ("v1",), ("v0", "v2"))
CHAIN = bf.parse("x -> y -> z")
RNG = np.random.default_rng(0)


def sampled(kind, seed, *, d=3, means="free"):
    """Return a graph, its model at random parameters, and the sample of three conditions."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.8)
    model = ConditionModel(graph, kind, TARGETS, means=means == "shared")
    theta = model.random(rng, graph)
    return graph, model, theta, model.sample(rng, theta, (200, 120, 90))


def moments(graph, kinds, targets, data, means="free"):
    """Return the moments of (n, covariance matrix, mean) of each condition."""
    kinds = [kinds] * len(data) if isinstance(kinds, str) else kinds
    conditions = [
        bf.Condition(bf.Moments(graph.nodes, S, n, m), targets=names, kind=kind)
        for (n, S, m), names, kind in zip(data, targets, kinds, strict=True)
    ]
    return bf.moments(conditions, means=means)


def pair(n, slope, sd):
    x = RNG.normal(size=n)
    return {"x": x, "y": slope * x + sd * RNG.normal(size=n)}


def chain(n, *, shift=0.0, set_y=None):
    """Return rows of x -> y -> z with intercepts 1, 2, 3; x shifted, or y set by hand."""
    x, y, z = RNG.normal(size=(3, n))
    x = x + 1 + shift
    y = 2 + 0.5 * x + y if set_y is None else set_y + 2 * y
    return {"x": x, "y": y, "z": 3 - y + z}


# --- one node: closed forms ---

TWO = [pair(80, 1.0, 1.0), pair(60, -0.5, 2.0)]
MATRICES = [np.cov(table["x"], table["y"], ddof=0) for table in TWO]


def fit_pair(text, target, kind):
    second = bf.Condition(TWO[1], targets=[target], kind=kind)
    return bf.fit(bf.parse(text), [bf.Condition(TWO[0]), second])


def test_specific_parameters_of_one_node():
    fit = fit_pair("x -> y", "y", "mechanism")
    for (B, Omega, _), S in zip(fit.own, MATRICES, strict=True):
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-10)
        assert Omega[1, 1] == pytest.approx(S[1, 1] - S[0, 1] ** 2 / S[0, 0], rel=1e-10)
    assert (fit.n_parameters, fit.df) == (5, 1)  # only the variance of x is shared
    fit = fit_pair("x -> y", "x", "activity")
    left = 0.0
    for (B, _, _), S, share in zip(fit.own, MATRICES, (80 / 140, 60 / 140), strict=True):
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-8)
        left += share * (S[1, 1] - S[0, 1] ** 2 / S[0, 0])
    assert fit.Omega[1, 1] == pytest.approx(left, rel=1e-8)
    assert (fit.n_parameters, fit.df) == (4, 2)
    fit = fit_pair("x, y", "y", "noise")
    assert [own.Omega[1, 1] for own in fit.own] == pytest.approx([S[1, 1] for S in MATRICES])
    assert fit.n_parameters == 3
    # With a parent the slope is shared: each condition counts by its precision.
    fit = fit_pair("x -> y", "y", "noise")
    weights = np.array([80, 60]) / [own.Omega[1, 1] for own in fit.own]
    up, down = (weights @ [S[0, k] for S in MATRICES] for k in (1, 0))
    assert fit.B[1, 0] == pytest.approx(up / down, rel=1e-7)


def test_conditions_of_different_kinds():
    #  x -> y: y varies more in the second condition, x is set in the third
    given = [
        bf.Condition(TWO[0], kind="activity"),
        bf.Condition(TWO[1], targets=["y"], kind="noise"),
        bf.Condition(pair(50, 1.0, 1.0), targets=["x"]),
    ]
    joint = bf.moments(given)
    assert joint.kinds == ("perfect", "noise", "perfect")  # without targets there is none
    fit = bf.fit(bf.parse("x -> y"), joint)
    assert fit.n_parameters == 3 + 2
    S = [c.S for c in joint.conditions]
    # x varies by itself where it was not set; y has a variance in the second condition and another
    # in the others.
    assert fit.Omega[0, 0] == pytest.approx((80 * S[0][0, 0] + 60 * S[1][0, 0]) / 140)
    left = [s[1, 1] - 2 * fit.B[1, 0] * s[0, 1] + fit.B[1, 0] ** 2 * s[0, 0] for s in S]
    assert fit.own[1].Omega[1, 1] == pytest.approx(left[1], rel=1e-6)
    assert fit.Omega[1, 1] == pytest.approx((80 * left[0] + 50 * left[2]) / 130, rel=1e-6)


def test_one_node_with_shared_means_is_a_regression_with_a_constant():
    parts = [chain(60), chain(40, set_y=7.0), chain(50, shift=4.0)]
    targets = ([], ["y"], ["x"])
    data = [bf.Condition(part, targets=t) for part, t in zip(parts, targets, strict=True)]
    fit = bf.fit(CHAIN, data, means="shared")
    for child, parent, used in (("y", "x", (0, 2)), ("z", "y", (0, 1, 2))):
        x, y = (np.concatenate([parts[e][name] for e in used]) for name in (parent, child))
        slope, (rss,), _, _ = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y)
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
    assert bf.fit(CHAIN, wrong).p_value > 0.001  # free means are not compared


# --- the twin ---

# The kind of the condition without targets does not matter.
MIXTURES = (
    ("noise", "perfect", "noise", "mechanism"),
    ("perfect", "activity", "perfect", "noise"),
    ("perfect", "mechanism", "activity", "perfect"),
)
PROBLEMS = [([kind] * 4, d, seed) for kind in KINDS for d in (3, 4, 5) for seed in (0, 1)]
PROBLEMS += [(kinds, d, s) for kinds in MIXTURES for d, s in ((3, 2), (4, 2), (4, 3), (5, 3))]


@pytest.mark.parametrize("means", ["free", "shared"])
@pytest.mark.parametrize(("kinds", "d", "seed"), PROBLEMS)
def test_fits_are_those_of_the_twin(kinds, d, seed, means):
    # One condition is undisturbed, one has one target, one two, and one has one of these again:
    # some members of a district are left alone by several conditions together. The undisturbed one
    # comes first or last.
    rng = np.random.default_rng([d, seed])
    graph = random_bap(rng, d, density=0.8, bidirected=0.5)
    a, b, c = rng.permutation(d)[:3]
    targets = [tuple(graph.nodes[t] for t in chosen) for chosen in ((), (a,), (b, c), (b,))]
    targets = targets[seed % 2 :] + targets[: seed % 2]
    shared = means == "shared"
    model = ConditionModel(graph, kinds, targets, means=shared)
    theta = model.random(rng, graph)
    data = model.sample(rng, theta, (150, 250, 100, 180))
    joint = moments(graph, kinds, targets, data, means)
    fit = bf.fit(graph, joint)
    best, loglik = model.fit(data, theta, means=shared)
    assert fit.converged
    assert fit.loglik == pytest.approx(loglik, rel=1e-9)
    assert sum(part.loglik for part in fit.conditions) == pytest.approx(loglik, rel=1e-9)
    for e, (condition, (_, Sigma)) in enumerate(
        zip(fit.conditions, model.distributions(best), strict=True)
    ):
        np.testing.assert_allclose(condition.Sigma, Sigma, atol=1e-4, rtol=1e-4)
        if kinds[e] != "perfect":
            B, Omega, _ = model.matrices(best, e)
            np.testing.assert_allclose(fit.own[e].B, B, atol=2e-4)
            np.testing.assert_allclose(fit.own[e].Omega, Omega, atol=2e-4)
    intercepts = {number for places in model.index for what, *_, number in places if what == "c"}
    priced = model.size - (d if shared else len(intercepts))  # shared intercepts are free
    assert fit.n_parameters == priced
    assert fit.df == len(data) * (d * (d + 1) // 2 + d * shared) - model.size
    for penalty in (0.5, 1.0):
        score = (loglik - penalty * np.log(fit.n) * priced) / fit.n
        assert bf.score(graph, joint, penalty=penalty) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("means", "seed"), [("free", 1), ("free", 6), ("shared", 3)])
def test_standard_errors_are_those_of_the_curvature(kind, means, seed):
    graph, model, theta, data = sampled(kind, seed, means=means)
    assert graph.n_directed
    fit = bf.fit(graph, moments(graph, kind, TARGETS, data, means))
    shared = means == "shared"
    best, _ = model.fit(data, theta, means=shared)
    expected = model.standard_errors(best, data, means=shared)
    observed = fit.standard_errors(information="observed")
    for (what, i, j), number in model.shared.items():
        if what != "c":
            se = (observed.B if what == "B" else observed.Omega)[i, j]
            assert se == pytest.approx(expected[number], rel=1e-3)


# --- identities ---


@pytest.mark.parametrize("kind", KINDS[1:])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_the_truth_is_found_in_population_matrices(kind, seed):
    graph, model, theta, _ = sampled(kind, seed, d=4)
    exact = [(1000, Sigma, mean) for mean, Sigma in model.distributions(theta)]
    fit = bf.fit(graph, moments(graph, kind, TARGETS, exact))
    assert fit.chi2 == pytest.approx(0, abs=1e-5)
    for e, (B, Omega, _) in enumerate(fit.own):
        want_B, want_Omega, _ = model.matrices(theta, e)
        np.testing.assert_allclose(B, want_B, atol=1e-4)
        np.testing.assert_allclose(Omega, want_Omega, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("seed", range(4))
def test_parameters_are_as_many_as_the_matrices_have_dimensions(kind, seed):
    graph, model, theta, data = sampled(kind, seed, d=4)

    def matrices(theta):
        return np.array([Sigma for _, Sigma in model.distributions(theta)]).ravel()

    slopes = [(matrices(theta + u) - matrices(theta)) / 1e-6 for u in 1e-6 * np.eye(model.size)]
    fit = bf.fit(graph, moments(graph, kind, TARGETS, data))
    assert fit.n_parameters == model.size == np.linalg.matrix_rank(slopes, tol=1e-4)


# --- searches ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("means", ["free", "shared"])
def test_searches_score_as_fits_do(kind, means):
    graph, _, _, data = sampled(kind, 7, means=means)
    joint = moments(graph, kind, TARGETS, data, means)
    result = bf.exhaustive_search(joint)
    for found, score in list(result.ranking(1e9))[::9]:
        assert score == pytest.approx(bf.score(found, joint), rel=1e-10)
    greedy = bf.greedy_search(joint, rng=1)
    assert greedy.score == pytest.approx(result.score, rel=1e-10)
    assert greedy.graph in bf.equivalence_class(result)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_parameters_are_counted_in_searches(kind):
    graph, _, _, data = sampled(kind, 7)
    joint = moments(graph, kind, TARGETS, data)
    result, cheap = (bf.exhaustive_search(joint, penalty=penalty) for penalty in (1.0, 0.5))
    price, by_graph = 0.5 * np.log(410) / 410, dict(cheap.ranking(1e9))
    n_fixed = 3 + {"mechanism": 3, "noise": 3, "activity": 0}[kind]
    for (found, score), number in zip(result.ranking(1e9), result.parameter_counts(), strict=True):
        assert by_graph[found] == pytest.approx(score + price * (n_fixed + number), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_changes_of_edges_count_specific_parameters(kind):
    graph, _, _, data = sampled(kind, 3)
    joint = moments(graph, kind, TARGETS, data)
    fit = bf.fit(graph, joint)
    for change in bf.edge_changes(graph, joint):
        a, b = change.a, change.b
        kept = [" ".join(edge) for edge in graph.edges if {edge[0], edge[2]} != {a, b}]
        kept += [f"{a} {change.after} {b}"] if change.after else []
        other = bf.fit(bf.parse(", ".join([*graph.nodes, *kept])), joint)
        assert change.df == other.df - fit.df
        assert change.score == pytest.approx(other.score - fit.score, abs=1e-9)


def test_intervals_know_that_intercepts_are_estimated():
    data = [bf.Condition(chain(80)), bf.Condition(chain(60, shift=4.0), targets=["x"])]
    joint = bf.moments(data, means="shared")
    se = bf.fit(CHAIN, joint).total_effects(information="observed").se
    required = bf.SearchSpace(knowledge=bf.Knowledge(required=["x -> y", "y -> z"]))
    average = bf.averaged_effects([CHAIN], joint, space=required)
    half = (average.upper - average.lower) / 2
    found = se > 0
    np.testing.assert_allclose(half[found], 1.96 * se[found], rtol=1e-3)


@pytest.mark.parametrize(("kind", "own"), [("perfect", 1), ("mechanism", 1), ("noise", 0)])
def test_intercepts_of_targets_are_counted(kind, own):
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
