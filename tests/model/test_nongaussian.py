"""Scores that use the rows beyond their covariances: ``errors="nongaussian"``."""

import math

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import bowfree as bf


def skewed(n=1000, seed=0):
    """Return x -> y <-> z with exponential errors and an exponential hidden cause."""
    e = np.random.default_rng(seed).exponential(size=(4, n)) - 1
    x = e[0]
    return {"x": x, "y": 0.8 * x + e[1] + e[3], "z": e[2] + e[3]}


def evidence(graph, data):
    """Return the log evidence beyond the normal log-likelihood."""
    both = [bf.score(graph, data, errors=errors) for errors in ("nongaussian", "gaussian")]
    return len(data["x"]) * (both[0] - both[1])


@pytest.mark.parametrize(
    ("draw", "divergence"),
    [
        (lambda rng, n: rng.exponential(size=n), 0.5 * math.log(2 * math.pi) - 0.5),
        (lambda rng, n: rng.random(n), 0.5 * math.log(2 * math.pi * math.e / 12)),
        (lambda rng, n: rng.laplace(size=n), 0.5 * math.log(math.pi / math.e)),
    ],
    ids=["exponential", "uniform", "laplace"],
)
def test_evidence_of_one_variable_is_its_divergence_from_normality(draw, divergence):
    n = 20_000
    data = {"x": draw(np.random.default_rng(1), n)}
    assert 0.82 < evidence(bf.parse("x"), data) / (n * divergence) < 1.02  # splines blur an edge


def test_normal_data_give_no_evidence():
    z = np.random.default_rng(2).standard_normal((3, 1000))
    data = {"x": z[0], "y": 0.6 * z[0] + z[1], "z": z[2]}
    found = [evidence(bf.parse(text), data) for text in ("x -> y, z", "x <- y, z", "x <-> y, z")]
    assert np.ptp(found) < 2
    assert abs(found[0] - 3 * math.log(0.5)) < 2


@pytest.mark.parametrize("sign", [1, -1])
def test_equivalent_graphs_are_told_apart(sign):
    data = skewed() | {"z": sign * skewed()["z"]}
    result = bf.greedy_search(data, errors="nongaussian", rng=1)
    assert result.graph == bf.parse("x -> y <-> z")
    assert bf.equivalent(result.graph, bf.parse("x <-> y <-> z"))
    assert bf.score(result) == pytest.approx(result.score, abs=1e-12)


def test_results_do_not_depend_on_threads_or_units():
    data = skewed(400)
    scaled = {name: 2.0**k * column for k, (name, column) in enumerate(data.items())}
    one = bf.greedy_search(data, errors="nongaussian", rng=1, n_jobs=1)
    two = bf.greedy_search(scaled, errors="nongaussian", rng=1, n_jobs=2)
    assert (one.graph, one.pool[-1].graph) == (two.graph, two.pool[-1].graph)
    assert evidence(one.graph, data) == pytest.approx(evidence(one.graph, scaled), abs=1e-8)


def test_order_and_signs_do_not_matter():
    data, graph = skewed(400), bf.parse("x -> y <-> z")
    rows = np.random.default_rng(3).permutation(400)
    changed = {name: 3 - data[name][rows] for name in ("z", "x", "y")}
    mirrored = {name: -column for name, column in data.items()}
    assert evidence(graph, changed) == pytest.approx(evidence(graph, mirrored), abs=1e-6)
    assert evidence(graph, mirrored) == pytest.approx(evidence(graph, data), abs=0.1)


def test_chains_and_bootstrap_use_the_rows():
    data = skewed(500)
    samples = bf.structure_mcmc(data, errors="nongaussian", steps=2000, chains=2, rng=1)
    i, j, k = (samples.moments.names.index(name) for name in "xyz")
    assert samples.directed[j, i] > 0.9
    assert samples.bidirected[j, k] > 0.9
    found = bf.bootstrap(
        data, errors="nongaussian", n_resamples=4, confidence=0.5, restarts=1, rng=1
    )
    assert found.directed[j, i] > found.directed[i, j]


def test_averages_weigh_each_graph_by_its_own_tempered_score():
    data = skewed(150, 4)
    found = bf.exhaustive_search(bf.moments(data, errors="nongaussian"))
    graphs = [found.graph_at(rank) for rank in range(len(found))]
    prior = [1 / (math.comb(3, g.n_edges) * 3**g.n_edges) for g in graphs]
    scores = [150 * bf.score(g, data, penalty=0.5) + 0.3 * evidence(g, data) for g in graphs]
    weights = softmax(np.array(scores) + np.log(prior))
    I, fits = np.eye(3), (bf.fit(g, data) for g in graphs)
    total = sum(w * np.linalg.inv(I - fit.B) for w, fit in zip(weights, fits, strict=True))
    i, j = found.moments.names.index("y"), found.moments.names.index("x")
    edge = sum(w for w, g in zip(weights, graphs, strict=True) if ("x", "y") in g.directed)
    average = bf.averaged_effects(found, window=50)
    assert average.mean[i, j] == pytest.approx(total[i, j], abs=1e-6)
    assert average.directed[i, j] == pytest.approx(edge, abs=1e-6)
    assert average.classes[0].graph == graphs[np.argmax(weights)]
    assert (average.errors, average.se) == ("nongaussian", "robust")
    listed = bf.averaged_effects(graphs, data, errors="nongaussian", window=50)
    np.testing.assert_allclose(listed.mean, average.mean, atol=1e-9)
    result = bf.greedy_search(data, errors="nongaussian", rng=1)
    sampled = bf.averaged_effects(result, rng=1)
    np.testing.assert_allclose(sampled.directed, average.directed, atol=0.05)
    np.testing.assert_allclose(sampled.lower, average.lower, atol=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cov": np.eye(2), "n": 100}, "needs observations in rows"),
        ({"data": skewed(100), "weights": np.ones(100)}, "complete, unweighted"),
        ({"data": skewed(100), "missing": "fiml"}, "complete, unweighted"),
        ({"data": skewed(100), "clusters": np.arange(100) // 5}, "complete, unweighted"),
        ({"data": {"x": np.arange(50) % 5, "y": np.arange(50.0)}}, "column 'x' has many equal"),
        ({"data": [bf.Condition(skewed(50)), bf.Condition(skewed(50, 1))]}, "several conditions"),
    ],
)
def test_data_without_continuous_rows_are_refused(given, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.greedy_search(**given, errors="nongaussian")


def test_functions_that_need_covariances_only_refuse():
    found = bf.moments(skewed(100), errors="nongaussian")
    with pytest.raises(bf.BowfreeError, match="count = 'classes' requires scores of covariances"):
        bf.averaged_effects([bf.parse("x -> y <-> z")], found, count="classes")
    with pytest.raises(bf.BowfreeError, match="requires scores of covariances"):
        bf.exact_search(found)


def test_changes_of_edges_and_reliability_claim_no_more_than_is_known():
    result = bf.greedy_search(skewed(400), errors="nongaussian", rng=1)
    assert math.isnan(result.confidence.missed)  # simulated for scores of covariances only
    by_covariances = bf.edge_changes(result.graph, skewed(400))
    assert [row.score for row in bf.edge_changes(result)] == pytest.approx(
        [row.score for row in by_covariances]
    )


def margin_evidence(x):
    """Return the log evidence of one error by dense matrices and SciPy, point by point."""
    n, K, per_knot = len(x), 20, 8
    x = (x - x.mean()) / x.std()
    end = np.arcsinh(max(6.0, 1.25 * abs(x).max())) + 0.15
    u = np.linspace(-end, end, (K - 3) * per_knot + 1)
    knot = (u[1] - u[0]) * per_knot
    splines = BSpline(-end + knot * np.arange(-3, K + 1), np.eye(K), 3)(np.minimum(u, end - 1e-9))
    grid = np.sinh(u)
    features = np.column_stack([grid, grid**2, splines])
    log_width = np.log(np.cosh(u) * (u[1] - u[0]))
    place = (np.arcsinh(x) - u[0]) / (u[1] - u[0])
    point = place.astype(int)
    share = np.bincount(point, 1 - place + point, len(u))
    share += np.bincount(point + 1, place - point, len(u))
    steps = np.diff(np.eye(K), axis=0)
    walk = 0.05 * np.eye(K) + steps.T @ steps / knot

    def laplace(q, precision):
        F, Q = features[:, :q], np.zeros((q, q))
        Q[2:, 2:] = precision * walk[: q - 2, : q - 2]

        def minus_log_posterior(theta):
            e = log_width + F @ theta
            return n * logsumexp(e) - share @ F @ theta + 0.5 * theta @ Q @ theta

        def gradient(theta):
            p = softmax(log_width + F @ theta)
            return n * p @ F - share @ F + Q @ theta

        def hessian(theta):
            p = softmax(log_width + F @ theta)
            return n * (F.T * p @ F - np.outer(p @ F, p @ F)) + Q

        start = np.zeros(q)
        start[1] = -0.5
        found = minimize(
            minus_log_posterior, start, jac=gradient, hess=hessian, method="trust-exact"
        )
        value = -found.fun - 0.5 * np.linalg.slogdet(hessian(found.x) + 1e-8 * n * np.eye(q))[1]
        return value + 0.5 * np.linalg.slogdet(precision * walk)[1] if q > 2 else value

    normal = laplace(2, 0.0)
    terms = [laplace(K + 2, scale**-2.0) - normal for scale in (0.5, 2.0, 8.0)]
    return logsumexp([0.0, *terms], b=[1 / 2, 1 / 6, 1 / 6, 1 / 6])


@pytest.mark.parametrize("draw", ["exponential", "laplace", "standard_normal"])
def test_margins_agree_with_a_slow_twin(draw):
    x = getattr(np.random.default_rng(5), draw)(size=300)
    # Newton's method of the core ends when the log posterior gains less than 1e-3.
    assert evidence(bf.parse("x"), {"x": x}) == pytest.approx(margin_evidence(x), abs=0.02)
