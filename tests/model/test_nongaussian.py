"""Scores that use the rows beyond their covariances: ``errors="nongaussian"``."""

import math
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize, root
from scipy.special import logsumexp, ndtri, softmax
from scipy.stats import norm

import bowfree as bf
from bowfree import _core
from bowfree.uncertainty.posterior import EDGE_PENALTY, EVIDENCE_POWER, with_tempered_errors


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


def test_a_graph_that_does_not_fit_the_covariances_gains_nothing_by_it():
    e = np.random.default_rng(0).exponential(size=(1000, 4))
    data = dict(zip("xyzw", np.cumsum(e, axis=1).T, strict=True))
    chain, hidden = (evidence(bf.parse(f"x {e} y {e} z {e} w"), data) for e in ("->", "<->"))
    assert hidden < 0.6 * chain


def test_coefficients_are_improved():
    """The most likely coefficient of uniform errors explains them better than least squares."""
    e = np.random.default_rng(3).random((2, 300))
    data = {"x": e[0], "y": 0.8 * e[0] + e[1]}
    slope = np.polyfit(data["x"], data["y"], 1)[0]
    residual = data | {"y": data["y"] - slope * data["x"]}
    assert evidence(bf.parse("x -> y"), data) > evidence(bf.parse("x, y"), residual) + 1


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


def test_executors_and_checkpoints_lead_to_the_same_search(tmp_path):
    def content(result):
        return result.graph, result.score, result.pool, [run.score for run in result.runs]

    options = {"data": skewed(300), "errors": "nongaussian", "rng": 1}
    whole = content(bf.greedy_search(**options, n_jobs=1))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert content(bf.greedy_search(**options, executor=processes)) == whole
        chains = {"steps": 2000, "chains": 2}
        samples = [bf.structure_mcmc(**options, **chains, executor=e) for e in (processes, None)]
    np.testing.assert_array_equal(samples[0].states, samples[1].states)
    np.testing.assert_array_equal(samples[0].scores, samples[1].scores)

    def interrupt(progress):
        if progress.done >= 2:
            raise KeyboardInterrupt

    path = tmp_path / "search.json"
    with pytest.raises(KeyboardInterrupt):
        bf.greedy_search(**options, n_jobs=1, checkpoint=path, progress=interrupt)
    with pytest.raises(bf.BowfreeError, match="another search"):  # covariances alone
        bf.greedy_search(options["data"], rng=1, checkpoint=path)
    assert content(bf.greedy_search(**options, checkpoint=path)) == whole


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
    normal = _core.error_scores(np.ascontiguousarray(found.moments.sample.deviations))[3]
    edge = math.exp(-EDGE_PENALTY * np.mean(1 - normal) * math.log(150))
    prior = [edge**g.n_edges / (math.comb(3, g.n_edges) * 3**g.n_edges) for g in graphs]
    tempered = with_tempered_errors(found.moments)
    scores = [150 * bf.score(g, tempered, penalty=0.5) for g in graphs]
    for g, score in zip(graphs, scores, strict=True):
        expected = 150 * bf.score(g, data, penalty=0.5) + EVIDENCE_POWER * evidence(g, data)
        assert score == pytest.approx(expected, abs=1e-6)
    weights = softmax(np.array(scores) + np.log(prior))
    total, share = np.zeros((3, 3)), 0.0
    for k in np.argsort(-weights):  # estimates of the last graphs are by covariances
        errors = "nongaussian" if share < 0.95 else "gaussian"
        total += weights[k] * bf.fit(graphs[k], data, errors=errors).total_effects().estimate
        share += weights[k]
    i, j = found.moments.names.index("y"), found.moments.names.index("x")
    edge = sum(w for w, g in zip(weights, graphs, strict=True) if ("x", "y") in g.directed)
    average = bf.averaged_effects(found, window=50)
    assert average.mean[i, j] == pytest.approx(total[i, j], abs=1e-6)
    assert average.directed[i, j] == pytest.approx(edge, abs=1e-6)
    by_covariances = bf.averaged_effects(found, window=50, se="standard")
    ratio = (average.upper - average.lower)[i, j] / (by_covariances.upper - by_covariances.lower)[
        i, j
    ]
    assert 0.2 < ratio < 0.9
    assert average.classes[0].graph == graphs[np.argmax(weights)]
    assert (average.errors, average.se) == ("nongaussian", "robust")
    late = bf.averaged_effects(graphs[:1], data, errors="nongaussian", time_limit=1e-9)
    assert not late.complete  # no time for estimates by the distribution of the errors
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


def test_a_fit_uses_the_distribution_of_the_errors():
    graph, data = bf.parse("x -> y <-> z"), skewed()
    fit = bf.fit(graph, data, errors="nongaussian")
    by_covariances = bf.fit(graph, data, se="robust")
    assert fit.converged
    assert abs(fit.B[1, 0] - 0.8) < 2.5 * fit.standard_errors().B[1, 0]
    assert fit.standard_errors().B[1, 0] < 0.75 * by_covariances.standard_errors().B[1, 0]
    assert fit.score == pytest.approx(bf.score(graph, data, errors="nongaussian"), abs=1e-12)
    assert "non-Gaussian errors" in repr(fit)
    assert fit.to_dict()["errors"] == "nongaussian"
    # A result of such a search, and moments, bring it along.
    found = bf.fit(graph, bf.moments(data, errors="nongaussian"))
    np.testing.assert_array_equal(found.B, fit.B)
    assert fit.total_effects().se[1, 0] == fit.standard_errors().B[1, 0]
    without = bf.fit(bf.parse("x, y <-> z"), data, errors="nongaussian")
    assert not without.B.any()


def test_tests_and_likelihood_of_such_a_fit_are_those_of_covariances():
    graph, data = bf.parse("x -> y <-> z <- w"), skewed() | {"w": skewed(seed=7)["x"]}
    fit = bf.fit(graph, data, errors="nongaussian")
    twin = bf.fit(graph, data, se="robust", test="satorra-bentler")
    assert not np.array_equal(fit.B, twin.B)
    assert (fit.chi2, fit.loglik, fit.aic) == (twin.chi2, twin.loglik, twin.aic)
    assert fit.valid_test == twin.valid_test
    assert str(fit.modification_indices()) == str(twin.modification_indices())
    np.testing.assert_allclose(fit.Sigma, fit.sem().covariance(), rtol=1e-12)


def test_estimates_have_the_units_of_the_data_bit_for_bit():
    graph, data = bf.parse("x -> y -> z <-> x"), skewed(300)
    factors = {"x": 8.0, "y": 2.0**-30, "z": 2.0**40}
    plain = bf.fit(graph, data, errors="nongaussian")
    scaled = {name: factors[name] * column for name, column in data.items()}
    other = bf.fit(graph, scaled, errors="nongaussian")
    unit = np.array([factors[name] for name in graph.nodes])
    np.testing.assert_array_equal(other.B, plain.B * np.outer(unit, 1 / unit))
    np.testing.assert_array_equal(other.Omega, plain.Omega * np.outer(unit, unit))
    errors = [fit.standard_errors().B for fit in (other, plain)]
    np.testing.assert_array_equal(errors[0], errors[1] * np.outer(unit, 1 / unit))


def test_estimates_depend_on_the_order_of_rows_and_columns_by_rounding_only():
    data = skewed(300)
    rows = np.random.default_rng(3).permutation(300)
    fit = bf.fit(bf.parse("x -> y -> z <-> x"), data, errors="nongaussian")
    changed = {name: 3 + data[name][rows] for name in ("z", "x", "y")}
    graph = bf.MixedGraph(["z", "x", "y"], [("x", "y"), ("y", "z")], [("z", "x")])
    other = bf.fit(graph, changed, errors="nongaussian")
    for a, mark, b in (("x", "->", "y"), ("y", "->", "z"), ("x", "<->", "z")):
        found, expected = other.edge(a, mark, b), fit.edge(a, mark, b)
        assert found.estimate == pytest.approx(expected.estimate, rel=1e-5)
        assert found.se == pytest.approx(expected.se, rel=1e-4)


def test_normal_errors_leave_the_estimates_by_covariances():
    z = np.random.default_rng(2).standard_normal((3, 2000))
    data = {"x": z[0], "y": 0.6 * z[0] + z[1], "z": z[2] + z[1]}
    graph = bf.parse("x -> y <-> z")
    fits = [bf.fit(graph, data, errors=errors) for errors in ("gaussian", "nongaussian")]
    se = fits[0].standard_errors().B[1, 0]
    assert abs(fits[0].B[1, 0] - fits[1].B[1, 0]) < 0.2 * se
    assert fits[1].standard_errors().B[1, 0] == pytest.approx(se, rel=0.05)


@pytest.mark.parametrize("draw", ["exponential", "laplace", "random"])
def test_intervals_have_their_level(draw):
    graph, hits, widths = bf.parse("x -> y -> z <-> w, x -> z"), [], []
    rng = np.random.default_rng(11)
    for _ in range(40):
        e = getattr(rng, draw)(size=(5, 500))
        x = e[0]
        y = 0.8 * x + e[1]
        z = 0.8 * y - 0.6 * x + e[2] + 0.7 * e[4]
        data = {"x": x, "y": y, "z": z, "w": e[3] + 0.7 * e[4]}
        fit = bf.fit(graph, data, errors="nongaussian")
        for edge, value in {"x -> y": 0.8, "y -> z": 0.8, "x -> z": -0.6}.items():
            row = fit.edge(edge)
            hits.append(row.lower < value < row.upper)
            widths.append(row.se / bf.fit(graph, data, se="robust").edge(edge).se)
    assert 0.88 < np.mean(hits) < 0.995  # standard error .02
    assert np.median(widths) < 0.97


def test_intervals_have_their_level_in_large_districts():
    """Weights that are estimated from the same rows make intervals too narrow, if not corrected."""
    graph = bf.parse("a -> b -> c -> d -> e -> f, a <-> c <-> e, b <-> d <-> f, a <-> d, b <-> e")
    rng, z = np.random.default_rng(12), []
    for _ in range(30):
        errors = np.exp(rng.standard_normal((6, 300)))
        for first, second in graph.bidirected:
            hidden = 0.8 * np.exp(rng.standard_normal(300))
            errors[[graph.nodes.index(first), graph.nodes.index(second)]] += hidden
        rows = np.zeros_like(errors)
        for k in range(6):
            rows[k] = errors[k] + 0.8 * rows[k - 1] * (k > 0)
        fit = bf.fit(graph, dict(zip(graph.nodes, rows, strict=True)), errors="nongaussian")
        se = fit.standard_errors().B
        z += [(fit.B[k, k - 1] - 0.8) / se[k, k - 1] for k in range(1, 6)]
    assert np.sqrt(np.mean(np.square(z))) < 1.25
    assert np.mean(np.abs(z) < 1.96) > 0.88  # standard error .02


def test_the_bootstrap_repeats_the_estimates():
    graph, data = bf.parse("x -> y <-> z"), skewed(400)
    fit = bf.fit(graph, data, errors="nongaussian", se="bootstrap", n_bootstrap=60, rng=1)
    sandwich = bf.fit(graph, data, errors="nongaussian")
    assert fit.B[1, 0] == sandwich.B[1, 0]
    assert fit.edge("x -> y").se == pytest.approx(sandwich.edge("x -> y").se, rel=0.4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"se": "standard"}, "se = 'standard' is for estimates by covariances"),
        ({"method": "ricf"}, "method = 'ricf' is for"),
        ({"fixed_x": True}, "fixed_x = True is for"),
        ({"fixed": {"x -> y": 0.5}}, "cannot be combined with errors='nongaussian'"),
        ({"clusters": np.arange(100) // 5}, "complete, unweighted"),
    ],
)
def test_a_fit_refuses_what_is_defined_for_covariances_only(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.fit(bf.parse("x -> y <-> z"), skewed(100), errors="nongaussian", **options)
    fit = bf.fit(bf.parse("x -> y <-> z"), skewed(100), errors="nongaussian")
    with pytest.raises(bf.BowfreeError, match="information = 'observed'"):
        fit.standard_errors(information="observed")


def test_estimates_solve_the_equations_of_a_slow_twin():
    """Write the moments, weights and derivatives of ``x -> y -> z, w`` as sums over rows."""
    e = np.random.default_rng(1).exponential(size=(3, 200)) - 1
    data = {"x": e[0], "y": 0.8 * e[0] + e[1], "z": e[2]}
    data["z"] = data["z"] - 0.5 * data["y"]
    X = np.array([(x - x.mean()) / x.std() for x in data.values()])

    def errors_at(b):
        return np.array([X[0], X[1] - b[0] * X[0], X[2] - b[1] * X[1]])

    def functions(at):
        """Return e and psi of each error as functions, with the mean slope of psi."""
        found = []
        errors = errors_at(at)
        points, psi, slopes, _ = _core.error_scores(np.ascontiguousarray(errors.T))
        for own, score, slope in zip(errors, psi, slopes, strict=True):
            u = own / own.std()
            h = np.interp(u, points, score)
            slope = min(slope, np.mean(h**2))
            line = np.polyfit(u, h, 1)
            size = np.std(h - np.polyval(line, u))
            found.append((own.std(), points, (score - np.polyval(line, points)) / size))
            found[-1] += ((slope - line[0]) / size,)
        return found

    def values(b, densities):
        rows = []
        for own, (sd, points, psi, _) in zip(errors_at(b), densities, strict=True):
            rows.append([own / sd, np.interp(own / sd, points, psi)])
        return np.array(rows)

    pairs = [(0, 1), (0, 2), (1, 2)]
    terms = [(a, i, b, j) for a, b in pairs for i, j in ((0, 0), (0, 1), (1, 0))]
    b = np.array([np.cov(X[:2])[0, 1] / np.var(X[0], ddof=1), np.corrcoef(X[1:])[0, 1]])
    for _ in range(4):
        densities, start = functions(b), b
        h, total = (
            values(b, densities),
            np.linalg.inv(np.eye(3) - np.array([[0, 0, 0], [b[0], 0, 0], [0, b[1], 0]])),
        )
        W, G = np.zeros((9, 9)), np.zeros((9, 2))
        for r, (a, i, c, j) in enumerate(terms):
            for s, (a2, i2, c2, j2) in enumerate(terms):
                if (a, c) == (a2, c2):  # other pairs are uncorrelated
                    W[r, s] = np.mean(h[a, i] * h[a, i2]) * np.mean(h[c, j] * h[c, j2])
            for k, (effect, cause) in enumerate([(1, 0), (2, 1)]):
                for of, kind, other, function in ((a, i, c, j), (c, j, a, i)):
                    if of == effect:
                        slope = (densities[of][3] if kind else 1.0) / densities[of][0]
                        product = densities[other][0] * h[other, 0] * h[other, function]
                        G[r, k] -= slope * total[cause, other] * product.mean()
        L = np.linalg.solve(W, G).T

        def equations(b, L=L, densities=densities):
            h = values(b, densities)
            return L @ [np.mean(h[a, i] * h[c, j]) for a, i, c, j in terms]

        b = root(equations, start, tol=1e-10).x
    fit = bf.fit(bf.parse("x -> y -> z"), data, errors="nongaussian")
    sd = np.array([x.std() for x in data.values()])
    np.testing.assert_allclose([fit.B[1, 0], fit.B[2, 1]], b * sd[1:] / sd[:2], atol=2e-4)
    h = values(b, densities)
    rows = L @ np.array([h[a, i] * h[c, j] for a, i, c, j in terms])
    covariance = np.linalg.inv(L @ G) @ np.cov(rows) @ np.linalg.inv(L @ G).T / 200
    se = np.sqrt(np.diag(covariance)) * sd[1:] / sd[:2]
    found = fit.standard_errors().B
    np.testing.assert_allclose([found[1, 0], found[2, 1]], se, rtol=0.02)


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


class Margin:
    """The density of one error by dense matrices and SciPy, point by point."""

    def __init__(self, x):
        n, K, per_knot = len(x), 20, 8
        x = (x - x.mean()) / x.std()
        end = np.arcsinh(max(6.0, 1.25 * abs(x).max())) + 0.15
        u = np.linspace(-end, end, (K - 3) * per_knot + 1)
        knot = (u[1] - u[0]) * per_knot
        knots = -end + knot * np.arange(-3, K + 1)
        splines = BSpline(knots, np.eye(K), 3)(np.minimum(u, end - 1e-9))
        grid = np.sinh(u)
        features = np.column_stack([grid, grid**2, splines])
        log_width = np.log(np.cosh(u) * (u[1] - u[0]))
        place = np.interp(x, grid, np.arange(len(u)))
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
            value += 0.5 * np.linalg.slogdet(precision * walk)[1] if q > 2 else 0.0
            return value, softmax(log_width + F @ found.x)

        fits = [laplace(2, 0.0), *(laplace(K + 2, scale**-2.0) for scale in (0.5, 2.0, 8.0))]
        terms = np.array([value for value, _ in fits]) - fits[0][0]
        terms += np.log([1 / 2, 1 / 6, 1 / 6, 1 / 6])
        self.log_evidence = logsumexp(terms)
        self.p_normal = math.exp(terms[0] - self.log_evidence)
        p = fits[np.argmax(terms)][1]
        self.z = np.interp(place, np.arange(len(u)), ndtri(np.cumsum(p) - p / 2))
        clipped = np.clip(x, -6, 6)
        self.cumulants = np.array([np.mean(clipped**3), np.mean(clipped**4) - 3])


@pytest.mark.parametrize("draw", ["exponential", "laplace", "standard_normal"])
def test_margins_agree_with_a_slow_twin(draw):
    x = getattr(np.random.default_rng(5), draw)(size=300)
    # Newton's method of the core ends when the log posterior gains less than 1e-3.
    assert evidence(bf.parse("x"), {"x": x}) == pytest.approx(Margin(x).log_evidence, abs=0.02)


# Weights, means and variances of the distributions of hidden causes and errors in the core.
SHAPES = np.array(
    [
        [[0.316, 0.461, 0.223], [-0.777, -0.106, 1.323], [0.022, 0.195, 1.424]],
        [[0.327, 0.501, 0.172], [-0.829, 0.097, 1.287], [0.167, 0.436, 1.228]],
        [[0.511, 0.395, 0.094], [-0.489, 0.129, 2.105], [0.023, 0.197, 3.844]],
        [[0.205, 0.590, 0.205], [-1.303, 0.0, 1.303], [0.074, 0.465, 0.074]],
        [[0.242, 0.195, 0.563], [0.0, 0.0, 0.0], [2.624, 0.070, 0.626]],
        [[0.4, 0.3, 0.3], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
    ]
)
SHAPES = np.concatenate([SHAPES, SHAPES[:3] * [[[1], [-1], [1]]]])
VALUES = np.linspace(-14, 14, 701)  # of a hidden cause, for numerical integration


def density(shape, x):
    weight, mean, variance = shape[..., None]
    return weight.ravel() @ norm.pdf(x.ravel(), mean, np.sqrt(variance)).reshape(3, -1)


def shape_cumulants(shape):
    p = density(shape, VALUES) * (VALUES[1] - VALUES[0])
    return np.array([p @ VALUES**3, p @ VALUES**4 - 3])


def hidden_cause_ratio(count, grid, r, x, y):
    """Return the largest log-likelihood ratio of x = a h + e, y = c h + f, by integration."""
    if r < 0:
        count, y = count[:, ::-1], y * [-1, 1]
    nearest = min(max(round(abs(r) / 0.025), 1), 37) * 0.025
    cumulants = np.array([shape_cumulants(shape) for shape in SHAPES])
    step, found = VALUES[1] - VALUES[0], []

    def closest(of_x, of_h, a):
        of_e = (of_x - of_h * [a**3, a**4]) / [(1 - a * a) ** 1.5, (1 - a * a) ** 2]
        of_e[1] = min(of_e[1], 13.0)
        distance = (((of_e - cumulants) / [1, 3]) ** 2).sum(axis=1)
        return np.argsort(distance, kind="stable")[:3]

    @cache
    def given_h(h, e, a):  # density of a h + e at the quantiles of the grid, for each value of h
        s = math.sqrt(1 - a * a)
        (wh, mh, vh), (we, me, ve) = SHAPES[h], SHAPES[e]
        mean = a * mh[:, None] + s * me
        sd = np.sqrt(a * a * vh[:, None] + s * s * ve)
        total = np.tensordot(np.outer(wh, we), norm.cdf(VALUES, mean[..., None], sd[..., None]), 2)
        quantile = np.interp(norm.cdf(grid), total, VALUES)
        return density(SHAPES[e], (quantile[:, None] - a * VALUES) / s).reshape(len(grid), -1) / s

    def log_ratio(h, a, e, f):
        X, Y = given_h(h, e, a), given_h(h, f, nearest / a)
        p = density(SHAPES[h], VALUES) * step
        joint = (X * p) @ Y.T + 1e-12 * np.outer(X @ p, Y @ p)
        return np.sum(count * np.log(joint / np.outer(X @ p, Y @ p)))

    for h, ratio in product(range(9), (0.6, 1.0, 1 / 0.6)):
        a = math.sqrt(min(max(nearest * ratio, nearest**2 / 0.93), 0.93))
        E, F = closest(x, cumulants[h], a), closest(y, cumulants[h], nearest / a)
        found.append((log_ratio(h, a, E[0], F[0]), h, a, E, F))
    best = max(value for value, *_ in found)
    promising = [cause for value, *cause in found if value > best - 10]
    for h, a, E, F in promising:
        e = max(E, key=lambda e: log_ratio(h, a, e, F[0]))
        best = max(best, *(log_ratio(h, a, e, f) for f in F))
    return best


def pair_evidence(a, b, r):
    """Return the log evidence of x <-> y minus that of x, y, from their margins and correlation."""
    n = len(a.z)
    rho = a.z @ b.z / math.sqrt(a.z @ a.z * (b.z @ b.z))
    c = math.sqrt(1 - rho * rho)
    weight = 0.5 * (1 - a.p_normal * b.p_normal)
    grid = -3.6 + 0.3 * np.arange(25)
    count = np.zeros((25, 25))
    places = [np.clip((z + 3.6) / 0.3, 0, 23.999) for z in (a.z, b.z)]
    (i, j), (s, t) = (p.astype(int) for p in places), (p % 1 for p in places)
    for k, m in product((0, 1), (0, 1)):
        np.add.at(count, (i + k, j + m), (s if k else 1 - s) * (t if m else 1 - t))
    X, Y = grid[:, None], grid
    gaussian = -0.5 * (math.log(c * c) + (rho**2 * (X**2 + Y**2) - 2 * rho * X * Y) / c**2)
    hidden = hidden_cause_ratio(count, grid, r, a.cumulants, b.cumulants)
    terms = math.log1p(-weight), math.log(weight) + hidden - np.sum(count * gaussian)
    return logsumexp(terms) - 0.5 * n * math.log(c * c) + 0.5 * n * math.log(1 - r * r)


@pytest.mark.parametrize(("draw", "sign"), [("exponential", -1), ("laplace", 1)])
def test_pair_terms_agree_with_numerical_integration(draw, sign):
    e = getattr(np.random.default_rng(6), draw)(size=(3, 300))
    x, y = e[0] + e[2], sign * (e[1] + 0.7 * e[2])
    both = [evidence(bf.parse(text), {"x": x, "y": y}) for text in ("x <-> y", "x, y")]
    twin = pair_evidence(Margin(x), Margin(y), np.corrcoef(x, y)[0, 1])
    # Newton's method of the margins ends early; hidden causes are integrated with 18 nodes.
    assert both[0] - both[1] == pytest.approx(twin, abs=0.3)
