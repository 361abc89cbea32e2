"""Missing values: the likelihood of the observed cells, its maximum, and errors."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import bowfree as bf
from bowfree.data.missing_values import Patterns, saturated
from bowfree.model.fiml import curvature
from bowfree.model.inference import parameter_values
from twins import derivatives, implied_covariance, parameter_matrices

NAN = math.nan
#   a -> b -> c,  a <-> c
GRAPH = bf.MixedGraph(list("abc"), [("a", "b"), ("b", "c")], [("a", "c")])


def incomplete_rows(n=80, d=3, seed=1, share=0.25):
    """Return normal rows, some cells missing completely at random, no row without any."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    X[rng.random((n, d)) < share] = NAN
    return X[np.isfinite(X).any(axis=1)]


def named(X):
    return pd.DataFrame(X, columns=list("abcdefgh")[: X.shape[1]])


X = incomplete_rows()


def slow_loglik(X, mu, Sigma):
    total = 0.0
    for row in X:
        o = np.isfinite(row)
        total += multivariate_normal.logpdf(row[o], mu[o], Sigma[np.ix_(o, o)])
    return total


def test_smallest_example():
    #  x  0  1  2  3     y regressed on x over three rows: slope 3/7, mean 1 at x = 4/3;
    #  y  1  0  -  2     at 3/2, the mean of all four x, it is 1 + 3/7 (3/2 - 4/3) = 1 + 1/14
    found = saturated(Patterns.of(np.array([[0.0, 1], [1, 0], [2, NAN], [3, 2]])))
    assert_allclose(found.mean, [1.5, 1 + 1 / 14])
    assert found.converged


def test_derivatives_and_their_slow_twins():
    patterns, (a, b) = Patterns.of(X), np.tril_indices(3)
    mu, Sigma = np.array([0.1, -0.2, 0.3]), np.cov(X[np.isfinite(X).all(axis=1)], rowvar=False)
    at = np.concatenate([mu, Sigma[a, b]])

    def point(theta):
        Sigma = np.zeros((3, 3))
        Sigma[a, b] = Sigma[b, a] = theta[3:]
        return theta[:3], Sigma

    def gradient(theta):
        by_mu, G = patterns.gradient(*point(theta))
        return np.concatenate([by_mu, np.where(a == b, 1, 2) * G[a, b]])

    assert_allclose(patterns.loglik(mu, Sigma), slow_loglik(X, mu, Sigma), rtol=1e-12)
    assert patterns.loglik(mu, -Sigma) == -math.inf
    numeric = derivatives(lambda t: patterns.loglik(*point(t)), at, 1e-5)
    assert_allclose(gradient(at), numeric, atol=1e-5 * np.abs(numeric).max())
    numeric = -derivatives(gradient, at, 1e-5)
    assert_allclose(patterns.information(mu, Sigma), numeric, atol=1e-6 * np.abs(numeric).max())
    # The scores of single rows.
    weights, total = np.random.default_rng(3).uniform(0.5, 2, size=len(X)), 0.0
    for row, weight in zip(X, weights, strict=True):
        score = derivatives(lambda t, row=row: slow_loglik(row[None], *point(t)), at, 1e-5)
        total = total + weight**2 * np.outer(score, score)
    products = patterns.score_products(X, mu, Sigma, weights)
    assert_allclose(products, total, rtol=1e-4, atol=1e-4 * np.abs(total).max())


def test_em_never_goes_downhill_and_newton_ends_at_its_limit():
    patterns = Patterns.of(X)
    mu, Sigma = np.zeros(3), np.eye(3)
    values = []
    for _ in range(500):
        values.append(patterns.loglik(mu, Sigma))
        mu, Sigma = patterns.em_step(mu, Sigma)
    assert (np.diff(values) > -1e-9).all()
    found = saturated(patterns)
    assert found.converged
    assert_allclose(found.mean, mu, atol=1e-6)
    assert_allclose(found.Sigma, Sigma, atol=1e-5)
    gradient, G = patterns.gradient(found.mean, found.Sigma)
    assert np.abs(gradient).max() < 1e-7
    assert np.abs(G).max() < 1e-7


def test_patterns_in_parts_are_the_same(monkeypatch):
    patterns = Patterns.of(X)
    whole = patterns.information(np.zeros(3), np.eye(3))
    monkeypatch.setattr("bowfree.data.missing_values._STACK", 9)  # one pattern at a time
    assert_allclose(patterns.information(np.zeros(3), np.eye(3)), whole, rtol=1e-10)


def test_curvature_and_its_slow_twin():
    sem = bf.random_sem(GRAPH, rng=2)
    parameters = bf.fit(GRAPH, cov=sem.covariance(), n=9)._parameters
    G = np.random.default_rng(1).normal(size=(3, 3))
    G = G + G.T

    def traced(values):
        return np.sum(G * implied_covariance(*parameter_matrices(parameters, values)))

    at = parameter_values(sem.B, sem.Omega, parameters)
    numeric = derivatives(lambda t: derivatives(traced, t, 1e-3), at, 1e-3)
    assert_allclose(
        curvature(sem.B, sem.Omega, G, parameters), numeric, atol=1e-4 * np.abs(numeric).max()
    )


def test_full_information_finds_what_a_general_optimizer_finds():
    data = named(incomplete_rows(120, seed=4))
    chain = bf.parse("a -> b -> c")
    fit = bf.fit(chain, data, missing="fiml")

    def loss(t):
        mu, (ab, bc), sd = t[:3], t[3:5], np.exp(t[5:])
        E = np.linalg.inv(np.eye(3) - np.array([[0, 0, 0], [ab, 0, 0], [0, bc, 0]]))
        return -slow_loglik(data.to_numpy(), mu, E @ np.diag(sd**2) @ E.T)

    best = minimize(loss, np.zeros(8), method="BFGS")
    assert_allclose(fit.loglik, -best.fun, rtol=1e-7)
    assert_allclose([fit.B[1, 0], fit.B[2, 1]], best.x[3:5], atol=1e-3)
    assert_allclose(fit.mean, best.x[:3], atol=1e-3)


def test_full_information_without_a_graphs_claims_is_the_first_stage():
    data = named(incomplete_rows(100, seed=5))
    fit = bf.fit(GRAPH, data, missing="fiml")  # three edges on three nodes: nothing is claimed
    assert fit.df == 0
    assert_allclose(fit.Sigma, fit.moments.S, rtol=1e-6)
    assert_allclose(fit.chi2, 0, atol=1e-9)
    two = bf.fit(GRAPH, data, missing="two-stage")
    assert_allclose(fit.B, two.B, atol=1e-7)
    assert not two.full_information


def test_a_row_without_values_changes_nothing():
    # Every row complete but one that has nothing: as if it had not been there.
    complete = named(np.random.default_rng(6).normal(size=(60, 3)))
    incomplete = pd.concat([complete, named(np.full((1, 3), NAN))])
    fit, plain = bf.fit(GRAPH, incomplete, missing="fiml"), bf.fit(GRAPH, complete)
    assert fit.moments.notes == ("1 row without observed values dropped",)
    assert_allclose(fit.B, plain.B, atol=1e-9)
    assert_allclose(fit.loglik, plain.loglik)


def test_effective_n():
    data = named(X)
    moments = bf.moments(data, missing="fiml")
    pairs = [data[[x, y]].dropna().shape[0] for x, y in (("a", "b"), ("a", "c"), ("b", "c"))]
    assert moments.n == round(np.mean(pairs))
    assert moments.n_rows == len(X)
    assert bf.fit(GRAPH, moments).n == len(X)
    assert f"effective sample size {moments.n:.0f}" in repr(moments)


def test_search_and_scores_use_the_first_stage():
    data = named(X)
    found = bf.greedy_search(data, missing="fiml", rng=1)
    by_hand = bf.moments(data, missing="two-stage")
    assert_array_equal(found.moments.S, by_hand.S)
    assert found.score == bf.greedy_search(by_hand, rng=1).score
    assert_allclose(bf.score(found.graph, by_hand), found.score)
    assert_allclose(bf.score(found.graph, cov=by_hand.S, n=by_hand.n, ddof=0), found.score)
    assert found.fit().full_information


def test_a_graph_with_fewer_variables_forgets_the_others():
    data = named(incomplete_rows(100, 4, seed=8))
    graph = bf.parse("a -> b")
    whole = bf.moments(data, missing="fiml")
    fit, direct = bf.fit(graph, whole), bf.fit(graph, data, missing="fiml")
    assert fit.n == direct.n
    assert_allclose(fit.B, direct.B, atol=1e-9)


def test_missing_values_are_described_and_tested():
    data = named(X)
    missing = bf.moments(data, missing="fiml").missing_values
    assert missing.missing == tuple(data.isna().sum())
    assert sum(missing.rows) == len(data)
    found = saturated(Patterns.of(X))
    statistic = 0.0
    for pattern, rows in zip(missing.patterns, missing.rows, strict=True):
        here = X[(np.isnan(X) == pattern).all(axis=1)]
        assert len(here) == rows
        o = ~pattern
        z = here[:, o].mean(axis=0) - found.mean[o]
        statistic += rows * z @ np.linalg.inv(found.Sigma[np.ix_(o, o)]) @ z
    assert_allclose(missing.statistic, statistic, rtol=1e-6)
    assert missing.df == (~missing.patterns).sum() - 3
    assert "Little's test" in str(missing)
    assert "none" in str(missing)
    assert bf.moments(data.dropna()).missing_values is None


def test_weights_with_missing_values():
    # A row of weight two is a row given twice, for estimates.
    data = named(X)
    twice = pd.concat([data, data.iloc[:20]])
    weights = np.r_[np.full(20, 2.0), np.ones(len(X) - 20)]
    chain = bf.parse("a -> b -> c")
    weighted = bf.fit(chain, data, missing="fiml", weights=weights)
    assert_allclose(weighted.B, bf.fit(chain, twice, missing="fiml").B, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"missing or infinite values in 'a' \(.*\), 'b' .*'c' .*: missing='fiml' uses"),
        ({"missing": "fiml", "correlation": "kendall"}, "with ranks; use missing='listwise'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(named(X), **options)


def with_column(values, name="b"):
    return named(X).assign(**{name: values})


half = np.arange(len(X)) % 2 == 0
BAD_TABLES = {
    "empty column": (with_column(NAN), "empty column 'b'; drop it"),
    "constant": (with_column(np.where(half, 1.0, NAN)), "constant column 'b'; drop it"),
    "never together": (
        named(X).assign(b=np.where(half, X[:, 0], NAN), c=np.where(half, NAN, X[:, 0] ** 2)),
        "'b' and 'c': observed together in fewer than two rows",
    ),
    "too large": (with_column(X[:, 0] * 1e200), "column 'b' has values up to"),
    "duplicates": (with_column(X[:, 0]), "duplicated columns: 'b' is det|no maximum of the"),
}


@pytest.mark.parametrize(("data", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
@pytest.mark.filterwarnings("error")
def test_bad_tables(data, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(data, missing="fiml")


def test_the_pair_that_fewest_rows_have_is_named():
    few = [[NAN, 1.0, 2.0], [1.0, 2.0, 2.5], [3.0, 2.5, 1.0]]
    with pytest.raises(
        bf.errors.DataError, match=r"'x1' and 'x2' are observed together in 2 of them\); use fewer"
    ):
        bf.moments(few, missing="fiml")


def test_what_full_information_has_not():
    data = named(X)
    fit = bf.fit(GRAPH, data, missing="fiml")
    with pytest.raises(bf.BowfreeError, match="information = 'expected' is inconsistent"):
        fit.standard_errors(information="expected")
    with pytest.raises(bf.BowfreeError, match="with missing='fiml' use test='yuan-bentler'"):
        bf.fit(GRAPH, data, missing="fiml", test="satorra-bentler")
    with pytest.raises(bf.BowfreeError, match="method='ricf' fits covariance matrices"):
        bf.fit(GRAPH, data, missing="fiml", method="ricf")
