"""Bounds on total effects over classes of graphs, and interventions."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import bowfree as bf
from bowfree.effects.bounds import quick_bounds
from random_models import random_bap, random_covariance, random_parameters, sample_covariance
from reference_cases import fits, graph_of, matrix
from twins import MATRICES, extremes, graph_matrices, implied_covariance


def bounds_twin(graphs, S, n, *, sign=-1.0, zero=1e-8):
    """Fit every graph on its own and keep all effects."""
    effects = []
    for graph in graphs:
        B = bf.fit(graph.reorder(graphs[0].nodes), cov=S, n=n).B
        effects.append(np.linalg.inv(np.eye(len(B)) + sign * B))
    return extremes(effects, zero)


def assert_equal(bounds, twin):
    # Fits of one district are the same number in both; the inverse adds rounding.
    for name in MATRICES:
        np.testing.assert_allclose(getattr(bounds, name), twin[name], rtol=1e-9, atol=1e-12)


def sampled(seed, d, *, density=0.5, n=300):
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=density)
    Sigma = implied_covariance(*random_parameters(rng, *graph_matrices(graph)))
    return graph, sample_covariance(rng, Sigma, n), n


def test_one_edge():
    # x -> y, x <- y and x <-> y are equivalent: an effect either way, or none.
    bounds = bf.effect_bounds(
        bf.equivalence_class(bf.parse("x -> y")), cov=[[1.0, -0.5], [-0.5, 2.0]], n=100
    )
    assert (bounds.names, bounds.n_members, bounds.complete) == (("x", "y"), 3, True)
    np.testing.assert_allclose(bounds.lower, [[1, -0.25], [-0.5, 1]])
    np.testing.assert_allclose(bounds.upper, [[1, 0], [0, 1]])
    np.testing.assert_allclose(bounds.max_abs, [[1, 0.25], [0.5, 1]])
    np.testing.assert_allclose(bounds.mean, [[1, -0.25 / 3], [-0.5 / 3, 1]])
    np.testing.assert_allclose(bounds.nonzero, [[1, 1 / 3], [1 / 3, 1]])
    np.testing.assert_allclose(bounds.sign_agreement, [[1, 2 / 3], [2 / 3, 1]])
    assert bounds.sign.tolist() == [[1, 0], [0, 1]]
    assert "x on y  -0.5000  0.0000" in str(bounds)


def test_one_graph_has_the_effects_of_its_fit():
    graph, S, n = sampled(1, 6)
    bounds = bf.effect_bounds([graph], cov=S, n=n)
    effects = bf.fit(graph, cov=S, n=n).total_effects().estimate
    for name in ("lower", "upper", "mean"):
        np.testing.assert_allclose(getattr(bounds, name), effects, atol=1e-12)
    np.testing.assert_allclose(bounds.min_abs, np.abs(effects), atol=1e-12)
    # What the graph excludes is exactly zero.
    for i, a in enumerate(graph.nodes):
        for j, b in enumerate(graph.nodes):
            if b not in graph.ancestors(a):
                assert bounds.max_abs[i, j] == 0.0


def test_more_nodes_than_bits_in_a_word():
    # A chain of 70 nodes: effects multiply along it.
    nodes = [f"v{i}" for i in range(70)]
    graph = bf.MixedGraph(nodes, directed=pairwise(nodes))
    S = 0.9 ** np.abs(np.subtract.outer(np.arange(70), np.arange(70)))
    bounds = bf.effect_bounds([graph], cov=S, n=1000)
    np.testing.assert_allclose(bounds.lower, np.tril(S), atol=1e-12)


@pytest.mark.parametrize("method", ["exact", "edge-changes", "colliders", "empirical"])
@pytest.mark.parametrize("formula", ["corrected", "as-published"])
def test_twin_on_classes(method, formula):
    sign = -1.0 if formula == "corrected" else 1.0
    for seed in range(3):
        graph, S, n = sampled(seed, 5)
        if method == "empirical":
            members = bf.empirical_class(graph, cov=S, n=n)
        else:
            members = bf.equivalence_class(graph, method=method)
        few = list(members)[:400]
        bounds = bf.effect_bounds(few, cov=S, n=n, formula=formula)
        assert_equal(bounds, bounds_twin(few, S, n, sign=sign))
        whole = bf.effect_bounds(members, cov=S, n=n, formula=formula)
        assert (whole.n_members, whole.complete, whole.formula) == (len(members), True, formula)
        if len(members) <= 400:
            assert_equal(whole, {name: getattr(bounds, name) for name in MATRICES})


@pytest.mark.parametrize(("zero", "signs"), [(0.0, (1, -1)), (0.25, (1, 0)), (0.35, (0, 0))])
def test_small_effects_have_no_sign(zero, signs):
    # x -> y by 0.3, y -> z by -0.2: a threshold between the two leaves the first only.
    graph = bf.parse("x -> y -> z")
    S = [[1.0, 0.3, -0.06], [0.3, 1.0, -0.2], [-0.06, -0.2, 1.0]]
    own = bf.effect_bounds([graph], cov=S, n=100, zero=zero)
    assert (own.sign[1, 0], own.sign[2, 1]) == signs
    members = bf.equivalence_class(graph)
    twin = bounds_twin(list(members), S, 100, zero=zero)
    assert_equal(bf.effect_bounds(members, cov=S, n=100, zero=zero), twin)
    assert_equal(bf.effect_bounds(iter(members), cov=S, n=100, zero=zero), twin)


def test_components_vary_independently():
    # Three components, 5 * 3 * 25 members: enumerated, and as a product.
    graph = bf.parse("a -> b -> c, d -> e, f -> g -> h <- f, i")
    rng = np.random.default_rng(0)
    S = random_covariance(rng, 9, 200)
    members = bf.equivalence_class(graph)
    assert len(members) == 5 * 3 * 25
    product = bf.effect_bounds(members, cov=S, n=200)
    listed = bf.effect_bounds(iter(members), cov=S, n=200)
    assert product.n_members == listed.n_members == 375
    assert_equal(product, {name: getattr(listed, name) for name in MATRICES})
    assert product.n_fits < 100  # every district is fitted once
    many = bf.equivalence_class(bf.parse(", ".join(f"a{i} -> b{i}" for i in range(30))))
    assert bf.effect_bounds(many, cov=np.eye(60), n=100).n_members == 3**30


def test_limits_make_bounds_that_say_so():
    graph, S, n = sampled(4, 5, density=0.9)
    members = bf.equivalence_class(graph)
    assert len(members) > 20
    for few in (
        bf.effect_bounds(bf.equivalence_class(graph, limit=7), cov=S, n=n),
        bf.effect_bounds(members, cov=S, n=n, limit=7),
        bf.effect_bounds(iter(members), cov=S, n=n, limit=7),
    ):
        assert (few.n_members >= 7, few.complete) == (True, False)
        assert "NOT COMPLETE" in str(few)
        assert few.to_dict()["complete"] is False
    exactly = bf.effect_bounds(iter(members), cov=S, n=n, limit=len(members))
    assert exactly.complete


def test_a_search_result_has_data_and_knowledge():
    graph = bf.parse("x -> y -> z")
    X = bf.LinearSEM(graph, [[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.eye(3)).sample(400, rng=0)
    frame = dict(zip("xyz", X.T, strict=True))
    free = bf.effect_bounds(bf.greedy_search(frame, rng=0))
    tiers = bf.Knowledge(tiers=[["x"], ["y"], ["z"]], unconfounded=["y"])
    found = bf.greedy_search(frame, knowledge=tiers, rng=0)
    known = bf.effect_bounds(found)
    assert (free.n_members, known.n_members) == (5, 1)
    assert_equal(known, bounds_twin([graph], np.cov(X, rowvar=False), 400))
    assert known.sign[2, 0] == 1


def test_bounds_after_a_search_refer_to_averages():
    X = np.random.default_rng(3).normal(size=(200, 3)) @ [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    for result in (bf.greedy_search(X, rng=0), bf.exhaustive_search(X)):
        bounds, average = bf.effect_bounds(result), bf.averaged_effects(result, rng=0)
        assert bounds.learned
        assert "averaged_effects" in str(bounds)
        members = bf.effect_bounds(bf.equivalence_class(result.graph), X)
        assert not members.learned
        assert bf.effect_bounds(bf.equivalence_class(result)).learned  # with the same data
        assert "averaged_effects" not in str(members)
        # Both results have the same columns and say what their intervals account for.
        assert set(bounds.to_frame()) < set(average.to_frame())
        assert bounds.covers == ("members",)
        assert average.covers == ("estimates", "members", "classes")


def test_uncertified_fits_are_reported():
    # A reference case whose likelihood still grows while a coefficient runs to infinity.
    case = fits(lambda case: "no_finite_mle_found_B_diverges" in case["flags"])[0]
    graph, S = graph_of(case, case["d"]), matrix(case["S"])
    with pytest.warns(bf.errors.FitWarning, match="not certified"):
        bounds = bf.effect_bounds([graph], cov=S, n=case["n"])
    assert bounds.n_uncertified > 0
    assert np.isfinite(bounds.lower).all()


# --- interventions --------------------------------------------------------------------------------


def test_total_effects_are_interventions():
    graph, S, n = sampled(7, 6)
    fitted = bf.fit(graph, cov=S, n=n)
    effects = fitted.total_effects().estimate
    for j, name in enumerate(graph.nodes):
        done = bf.intervene(fitted, do={name: 1.0})
        np.testing.assert_allclose(done.mean, effects[:, j], atol=1e-12)
        assert done.covariance[j].tolist() == [0.0] * 6
    # Without an intervention on an ancestor nothing changes: roots keep their distribution.
    last = graph.topological_order()[-1]
    kept = [i for i, name in enumerate(graph.nodes) if name != last]
    done = bf.intervene(fitted, do={last: 5.0})
    np.testing.assert_allclose(
        done.covariance[np.ix_(kept, kept)], fitted.Sigma[np.ix_(kept, kept)], atol=1e-10
    )


def test_intervention_against_simulation():
    graph, _, _ = sampled(8, 5, density=0.8)
    sem = bf.random_sem(graph, rng=1)
    a, b = graph.topological_order()[:2]
    base = np.arange(5.0)
    do = {a: 2.0, b: -1.0}
    done = bf.intervene(sem, do=do, mean=base)
    # Simulate the equations one by one, those of a and b being struck out.
    rng = np.random.default_rng(5)
    n = 200_000
    eps = rng.normal(size=(n, 5)) @ np.linalg.cholesky(sem.Omega).T
    X = np.zeros((n, 5))
    for name in graph.topological_order():
        v = graph.nodes.index(name)
        X[:, v] = (do[name] - base[v]) if name in do else X @ sem.B[v] + eps[:, v]
    X += base
    # Five standard errors of each mean and each covariance; what is set does not vary at all.
    Sigma, variances = done.covariance, np.diag(done.covariance)
    assert (np.abs(X.mean(axis=0) - done.mean) <= 5 * np.sqrt(variances / n) + 1e-12).all()
    errors = np.sqrt((np.outer(variances, variances) + Sigma**2) / n)
    assert (np.abs(np.cov(X, rowvar=False) - Sigma) <= 5 * errors + 1e-12).all()


# --- invalid input --------------------------------------------------------------------------------

S2 = [[1.0, 0.5], [0.5, 1.0]]
EDGE = bf.parse("x -> y")
SEM = bf.LinearSEM(EDGE, [[0, 0], [1, 0]], np.eye(2))


@pytest.mark.parametrize(
    ("graphs", "options", "message"),
    [
        ([], {}, "graphs is empty"),
        (EDGE, {}, "single graph"),
        ("x -> y", {}, "pass an equivalence class"),
        ([EDGE, "y"], {}, "must be a MixedGraph"),
        ([EDGE, bf.parse("x -> y, x <-> y")], {}, "bow"),
        ([EDGE, bf.parse("x -> z")], {}, "nodes"),
        ([EDGE], {"cov": None, "n": None}, "neither was given"),
    ],
)
def test_invalid_graphs_and_options(graphs, options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.effect_bounds(graphs, **({"cov": S2, "n": 50} | options))


@pytest.mark.parametrize(
    ("do", "mean", "message"),
    [
        ({}, None, "do is {}"),
        ({"w": 1.0}, None, "w"),
        ({"x": "high"}, None, "finite number"),
        ({"x": np.inf}, None, "finite number"),
        ({"x": 1.0}, [1.0], "1 values"),
        ({"x": 1.0}, {"x": 1.0}, "missing: y"),
    ],
)
def test_invalid_interventions(do, mean, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.intervene(SEM, do, mean=mean)


def test_quick_bounds_stop_after_a_fixed_amount_of_work(monkeypatch):
    complete = bf.MixedGraph(list("abcde"), list(combinations("abcde", 2)))
    S = random_covariance(np.random.default_rng(3), 5, 100)
    members = bf.equivalence_class(complete, limit=5000)
    moments = bf.moments(cov=S, n=100, ddof=0, graph=complete)
    whole = bf.effect_bounds(members, moments)
    unlimited = quick_bounds(members, moments, 5000)
    monkeypatch.setattr("bowfree.effects.bounds.MAX_WORK", 20_000)
    some, again = (quick_bounds(members, moments, 5000) for _ in range(2))
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(unlimited, name), getattr(whole, name))
        np.testing.assert_array_equal(getattr(some, name), getattr(again, name))
    assert 0 < some.n_fits < whole.n_fits / 2
    assert not some.complete
    assert (some.lower >= whole.lower).all()
    assert (some.upper <= whole.upper).all()
    assert (some.upper < whole.upper).any()


def test_bounds_with_missing_values():
    graph = bf.parse("x -> y -> z, y <-> w, z -> w")
    X = np.array(bf.random_sem(graph, rng=2).sample(200, rng=3))
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    data = dict(zip(graph.nodes, X.T, strict=True))
    members = bf.equivalence_class(graph)
    fits = [bf.fit(member, data, missing="fiml") for member in members]
    effects = np.array([fit.total_effects().estimate for fit in fits])
    bounds = bf.effect_bounds(members, data, missing="fiml")
    assert len(effects) > 1
    np.testing.assert_allclose(bounds.lower, effects.min(axis=0), atol=1e-8)
    np.testing.assert_allclose(bounds.upper, effects.max(axis=0), atol=1e-8)
    by_moments = bf.effect_bounds(members, data, missing="two-stage")
    assert np.abs(by_moments.upper - bounds.upper).max() > 1e-4


def test_effects_in_small_units_keep_their_digits():
    S = [[1e6, 80.0], [80.0, 1.0]]  # an effect of 0.00008 of x on y, or of 80 the other way
    shown = str(bf.effect_bounds(bf.equivalence_class(bf.parse("x -> y")), cov=S, n=100))
    assert "0.0000800" in shown
    assert "80.0000" in shown
    assert "0.0000800" in str(bf.fit(bf.parse("x -> y"), cov=S, n=100).total_effects())


# --- several conditions ---


def experiments(seed, d, targets, *, n=200):
    """Return a graph and conditions with these targets, set by hand, each with shifted means."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.6)
    B, Omega = random_parameters(rng, *graph_matrices(graph))
    data = []
    for names in targets:
        b, omega = B.copy(), Omega.copy()
        at = [graph.nodes.index(name) for name in names]
        b[at] = omega[at] = omega[:, at] = 0.0
        omega[at, at] = 1.5
        errors = rng.multivariate_normal(np.zeros(d), omega, size=n)
        X = np.linalg.solve(np.eye(d) - b, errors.T).T + rng.normal(size=d)
        data.append(bf.Condition(dict(zip(graph.nodes, X.T, strict=True)), targets=names))
    return graph, data


def test_an_intervention_settles_an_effect():
    # x -> y: the control leaves x <- y and x <-> y open, and with x set by hand nothing is.
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 300))
    control = bf.Condition({"x": x, "y": 0.8 * x + y})
    set_x = bf.Condition({"x": 2 * y, "y": 1.6 * y + x}, targets=["x"])
    open_ = bf.effect_bounds(bf.exhaustive_search([control])).effect(of="x", on="y")
    identified = bf.effect_bounds(bf.exhaustive_search([control, set_x])).effect(of="x", on="y")
    assert open_.lower == 0 < open_.upper
    assert identified.lower == identified.upper == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("targets", [[(), ("v2",)], [(), ("v0", "v3"), ("v1",)]])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_those_of_members_fitted_one_by_one(seed, targets):
    graph, data = experiments(seed, 4, targets)
    members = bf.equivalence_class(graph, targets=targets)
    bounds = bf.effect_bounds(members, data)
    twin = extremes([np.linalg.inv(np.eye(4) - bf.fit(member, data).B) for member in members])
    assert bounds.n_members == len(members)
    for name in MATRICES:
        np.testing.assert_allclose(getattr(bounds, name), twin[name], rtol=1e-8, atol=1e-10)


def test_the_result_of_a_search_stands_for_its_interventional_class():
    _, data = experiments(5, 4, [(), ("v1",), ("v2",)])
    result = bf.exhaustive_search(data)
    members = bf.equivalence_class(result)
    assert members.targets == ((), ("v1",), ("v2",))
    assert members.size < bf.equivalence_class(result.graph).size
    mine, theirs = bf.effect_bounds(result), bf.effect_bounds(members, data)
    assert mine.n_members == theirs.n_members == members.size
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def test_conditions_that_hide_an_edge_have_no_class():
    _, data = experiments(2, 3, [("v0",), ("v1",)])
    result = bf.exhaustive_search(data)
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on v0 or v1"):
        bf.effect_bounds(result)
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on v0 or v1"):
        bf.averaged_effects(result)


def test_members_may_need_more_rows_than_the_graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 3))
    few = [bf.Condition(X[:3]), bf.Condition(X[3:], targets=["x1"])]
    with pytest.raises(bf.errors.DataError, match="n = 3 observations of 3 variables"):
        bf.effect_bounds([bf.MixedGraph(["x1", "x2", "x3"])], few)
