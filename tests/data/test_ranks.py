"""Ranks: coefficients against SciPy, influences against simulation, repairs, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bowfree as bf
from bowfree import _core
from bowfree.data.ranks import RankedRows, nearest_correlation

R = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, -0.2], [0.3, -0.2, 1.0]])
CHAIN = bf.parse("x1 -> x2 -> x3")


def normal_rows(n, seed):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), R, size=n)


def distorted(Z):
    """Apply increasing functions, one to a column."""
    return np.column_stack([np.exp(Z[:, 0]), Z[:, 1] ** 3, np.arctan(5 * Z[:, 2])])


@pytest.mark.parametrize("ties", [False, True])
def test_concordance_and_its_slow_twin(ties):
    rng = np.random.default_rng(1)
    x, y = (
        (rng.integers(0, 7, 60) if ties else rng.permutation(60)).astype(np.int32) for _ in range(2)
    )
    slow = [int(np.sum(np.sign(x[i] - x) * np.sign(y[i] - y))) for i in range(60)]
    assert_array_equal(_core.concordance(x, y), slow)


@pytest.mark.parametrize("ties", [False, True])
def test_coefficients_are_scipys(ties):
    X = normal_rows(200, 1)
    if ties:
        X = np.round(2 * X)
    spearman = stats.spearmanr(X).statistic
    kendall = [[stats.kendalltau(a, b).statistic for a in X.T] for b in X.T]
    found = {
        coefficient: RankedRows.of(X, coefficient).correlations()
        for coefficient in ("spearman", "kendall")
    }
    assert_allclose(found["spearman"], 2 * np.sin(np.pi / 6 * spearman), atol=1e-12)
    assert_allclose(found["kendall"], np.sin(np.pi / 2 * np.array(kendall)), atol=1e-12)


@pytest.mark.parametrize("coefficient", ["spearman", "kendall"])
@pytest.mark.parametrize("ties", [False, True])
def test_influences_and_their_slow_twin(coefficient, ties):
    # What leaving out a row changes, times n - 1, is its influence but for terms of order 1/n.
    X = normal_rows(150, 7)
    if ties:
        X = np.round(X)
    r, influence = RankedRows.of(X, coefficient).estimates
    without = [RankedRows.of(np.delete(X, k, axis=0), coefficient).estimates[0] for k in range(150)]
    jackknife = 149 * (r - np.array(without))
    assert_allclose(jackknife, influence - influence.mean(axis=0), atol=0.08)


@pytest.mark.parametrize("coefficient", ["spearman", "kendall"])
@pytest.mark.parametrize("ties", [False, True])
def test_gamma_is_the_variance_over_samples(coefficient, ties):
    def rows(seed):
        X = normal_rows(250, seed)
        return RankedRows.of(np.round(X) if ties else X, coefficient)

    drawn = [rows(seed) for seed in range(400)]
    over_samples = 250 * np.cov([rows.estimates[0] for rows in drawn], rowvar=False)
    off = [1, 3, 4]  # places of the correlations in the lower triangle
    gamma = np.mean([rows.gamma()[np.ix_(off, off)] for rows in drawn], axis=0)
    # 400 samples know a variance to 7 %.
    assert_allclose(gamma, over_samples, atol=0.25 * np.diag(over_samples).max())
    assert_allclose(np.diag(gamma), np.diag(over_samples), rtol=0.2)


@pytest.mark.parametrize("coefficient", ["spearman", "kendall"])
def test_monotone_functions_change_nothing(coefficient):
    Z = normal_rows(300, 2)
    plain, bent = (bf.moments(X, correlation=coefficient) for X in (Z, distorted(Z)))
    assert_array_equal(plain.S, bent.S)
    assert_allclose(plain.Gamma, bent.Gamma)
    turned, direct = plain.take(["x3", "x1"]), bf.moments(Z[:, [2, 0]], correlation=coefficient)
    assert_allclose(turned.S, direct.S)
    assert_allclose(turned.Gamma, direct.Gamma)
    # The truth is in reach; Pearson's correlations of the distorted columns are far from it.
    assert np.abs(bent.S - R).max() < 0.15
    assert np.abs(np.corrcoef(distorted(Z), rowvar=False) - R).max() > 0.15


def test_nearest_correlation_matrix():
    bad = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.9], [0.3, 0.9, 1.0]])
    near, notes = nearest_correlation(bad)
    eigenvalues = np.linalg.eigvalsh(near)
    assert_allclose(np.diag(near), 1)
    assert eigenvalues[0] > 0.9e-4
    assert "not positive definite (smallest eigenvalue -0.13)" in notes[0]
    # The nearest one: no symmetric change in any direction that stays inside comes closer.
    rng = np.random.default_rng(1)
    for _ in range(200):
        step = rng.normal(size=(3, 3)) * 1e-3
        other = near + step + step.T
        np.fill_diagonal(other, 1.0)
        if np.linalg.eigvalsh(other)[0] >= 1e-4:
            assert np.linalg.norm(other - bad) >= np.linalg.norm(near - bad) - 1e-8
    assert nearest_correlation(R)[0] is R


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correlation": "tau"}, "unknown correlation 'tau'; choose one of pearson"),
        ({"correlation": "kendall", "weights": np.ones(50)}, "weights cannot be combined with"),
        ({"correlation": "kendall", "ordinal": ["x1"]}, "whose correlations are polychoric"),
    ],
)
def test_bad_words(options, message):
    X = normal_rows(50, 1)
    X[:, 0] = X[:, 0] > 0
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(X, **options)
    for data, message in (({"cov": R, "n": 50}, "needs obs"), ({"data": bf.moments(X)}, "cannot")):
        with pytest.raises(bf.errors.DataError, match=f"correlation = 'kendall': {message}"):
            bf.moments(**data, correlation="kendall")


@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_linear_algebra_of_the_core_and_its_numpy_twin(d):
    A = np.cov(np.random.default_rng(d).normal(size=(d, 3 * d + 2))).reshape(d, d)
    eigenvalues, V = _core.eigen_decomposition(A)
    np.testing.assert_allclose(np.sort(eigenvalues), np.linalg.eigvalsh(A), rtol=1e-10)
    np.testing.assert_allclose(V * eigenvalues @ V.T, A, atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-12)
    b = np.arange(1.0, d + 1)
    np.testing.assert_allclose(A @ _core.solve_definite(A, b), b, rtol=1e-9)
    assert _core.solve_definite(A - 2 * eigenvalues.max() * np.eye(d), b) is None
