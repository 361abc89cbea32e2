"""Diagnostics of rows: against their definitions, and no alarm for normal data."""

import math
import re
import warnings
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bowfree as bf
from bowfree.data import diagnostics
from bowfree.data.diagnostics import _distances, diagnose, odd_columns
from bowfree.data.missing_values import IncompleteRows
from report_page import Page


@pytest.mark.parametrize("d", [3, 9])  # Mardia's skewness has two ways, for few and many columns
def test_mardia_and_mahalanobis_against_the_definitions(d):
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(60, d))
    X[7] += 15
    g = bf.MixedGraph([f"x{i + 1}" for i in range(d)])
    fit = bf.fit(g, X)
    checks = diagnose(X, fit.moments)
    Z = X - X.mean(axis=0)
    G = Z @ np.linalg.inv(np.cov(X.T, ddof=0)) @ Z.T  # all products of whitened rows
    assert checks.mardia.skewness == pytest.approx((G**3).mean())
    assert checks.mardia.kurtosis == pytest.approx((np.diag(G) ** 2).mean())
    assert checks.outliers[0].row == 8
    assert checks.outliers[0].distance2 == pytest.approx(G[7, 7] * 59 / 60)
    assert checks.n_outliers == 1
    assert [v.p_skewness for v in checks.variables] == pytest.approx(stats.skewtest(X).pvalue)
    found = " ".join(checks.warnings())
    for words in (f"{d} of {d} variables are not normal", "not jointly normal", "1 row far from"):
        assert words in found
    assert "Warnings" in bf.report.render(fit, data=X)


def test_outliers_have_the_distribution_of_a_row_left_out():
    # A row against mean and covariance of the *other* rows: Hotelling's test of two samples, one of
    # which is the row. It has the same p-value as the row's place among all rows.
    n, d = 25, 3
    X = np.random.default_rng(4).normal(size=(n, d))
    checks = diagnose(X, n_outliers=n)
    assert sorted(outlier.row for outlier in checks.outliers) == list(range(1, n + 1))
    for outlier in checks.outliers:
        rest = np.delete(X, outlier.row - 1, axis=0)
        deviation = X[outlier.row - 1] - rest.mean(axis=0)
        t2 = (n - 1) / n * deviation @ np.linalg.solve(np.cov(rest.T), deviation)
        p_value = stats.f.sf(t2 * (n - 1 - d) / ((n - 2) * d), d, n - 1 - d)
        assert outlier.p_value == pytest.approx(p_value, rel=1e-9)


def test_advice_fits_the_data():
    rng = np.random.default_rng(1)

    def found(X):
        return diagnose(X).warnings()

    # A uniform variable is not normal, but a logarithm would not help.
    flat = np.column_stack([np.linspace(-1, 1, 800), rng.normal(size=800)])
    assert "most of all x1, skewness 0.00, excess kurtosis -1.20" in found(flat)[0]
    assert "logarithm" not in found(flat)[0]
    assert "a logarithm may help with skewness" in found(rng.exponential(size=(300, 2)))[0]
    far = rng.normal(size=(300, 2))
    far[:8] = 9 * np.column_stack([np.cos(np.arange(8)), np.sin(np.arange(8))])
    assert re.search(r"^8 rows .*: (\d, ){5}\d and 2 more\. Check them", found(far)[-1])


def test_clean_data_raise_no_alarm():
    rng = np.random.default_rng(0)
    # At a level of 1 %, with three families of tests, about 3 of 100 clean data sets are flagged.
    alarms = 0
    for _ in range(100):
        X = rng.normal(size=(100, 3))
        alarms += bool(diagnose(X).warnings())
    assert alarms <= 9


def test_data_of_another_fit():
    X = np.random.default_rng(0).exponential(size=(200, 2))
    with pytest.raises(bf.errors.DataError, match="not the data of the fit"):
        diagnose(2 * X, bf.moments(X))


# --- distances ---


def incomplete_rows(n, d, share, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + rng.normal(size=(n, 1))) * scale
    X[rng.random(X.shape) < share] = np.nan
    return X[np.isfinite(X).any(axis=1)]


def test_complete_rows_give_the_same_by_both_methods():
    X = incomplete_rows(80, 4, 0.0, seed=1)
    whole = _distances(X - X.mean(axis=0))
    cells = _distances(IncompleteRows.of(X, "fiml"))
    assert_allclose(cells.squared * 79 / 80, whole.squared, rtol=1e-6)
    assert cells.mardia == pytest.approx(whole.mardia, rel=1e-5)
    assert whole.mardia.normal_kurtosis == pytest.approx(24 * 79 / 81)


def test_rows_by_their_observed_cells():
    X = incomplete_rows(60, 3, 0.3, seed=2)
    rows = IncompleteRows.of(X, "fiml")
    mean, S = rows.moments()
    found = _distances(rows)
    cells = []
    for x, squared in zip(X, found.squared, strict=True):
        there = np.isfinite(x)
        z = (x - mean)[there]
        assert squared == pytest.approx(z @ np.linalg.solve(S[np.ix_(there, there)], z))
        cells.append(there.sum())
    k = np.array(cells)
    assert found.mardia.kurtosis == pytest.approx(np.mean(found.squared**2))
    n = len(X)
    assert found.mardia.normal_kurtosis == pytest.approx(np.mean(k * (k + 2)) * (n - 1) / (n + 1))


def skewness_by_loops(X, least):
    """Score test of the third cumulants, row by row and triple by triple."""
    rows = IncompleteRows.of(X, "fiml")
    mean, S = rows.moments()
    seen = np.isfinite(X)
    triples = [
        t
        for t in combinations_with_replacement(range(X.shape[1]), 3)
        if seen[:, list(t)].all(axis=1).sum() >= least
    ]
    score, V = np.zeros(len(triples)), np.zeros((len(triples), len(triples)))
    for x in X:
        there = np.flatnonzero(np.isfinite(x))
        W = np.zeros_like(S)
        W[np.ix_(there, there)] = np.linalg.inv(S[np.ix_(there, there)])
        y = W @ np.nan_to_num(x - mean)
        for s, (a, b, c) in enumerate(triples):
            if not {a, b, c} <= set(there):
                continue
            score[s] += y[a] * y[b] * y[c] - y[a] * W[b, c] - y[b] * W[a, c] - y[c] * W[a, b]
            for t, other in enumerate(triples):
                if set(other) <= set(there):
                    V[s, t] += sum(W[a, i] * W[b, j] * W[c, k] for i, j, k in permutations(other))
    return 6 / len(X) * score @ np.linalg.solve(V, score), len(triples)


def test_skewness_against_the_sum_over_rows():
    X = incomplete_rows(150, 3, 0.0, seed=6)
    X[:45, 0] = X[45:95, 1] = X[95:145, 2] = np.nan  # five rows have all three, too few for a test
    X[::9, 0] = np.where(np.isfinite(X[::9, 1]), np.nan, X[::9, 0])
    found = _distances(IncompleteRows.of(X, "fiml")).mardia
    value, df = skewness_by_loops(X, least=20)
    assert df == 9
    assert found.skewness == pytest.approx(value)
    exact = 4 * 151 * 153 / (151 * 4 - 6)  # n and its correction for three variables
    assert found.p_skewness == pytest.approx(stats.chi2.sf(exact / 6 * value, df))


def test_variances_of_skewness_and_kurtosis():
    # 300 p-values: shares have standard errors of 0.013 and 0.029. Without the correction for
    # estimated moments hardly any p-value of the kurtosis would be below 0.5.
    found = [
        _distances(IncompleteRows.of(incomplete_rows(300, 4, 0.25, seed=k), "fiml")).mardia
        for k in range(300)
    ]
    for p in (np.array([m.p_kurtosis for m in found]), np.array([m.p_skewness for m in found])):
        assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.04)
        assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.1)


def test_normal_data_of_many_variables_are_not_rejected():
    # With the mean and variance for infinitely many rows every p-value of the kurtosis was 0.
    found = [
        _distances(X - X.mean(axis=0)).mardia
        for X in np.random.default_rng(1).normal(size=(20, 300, 80))
    ]
    assert np.mean([m.p_kurtosis for m in found]) == pytest.approx(0.5, abs=0.25)
    assert np.mean([m.p_skewness for m in found]) > 0.25


def test_too_many_triples_are_not_tested(monkeypatch):
    monkeypatch.setattr(diagnostics, "_MOST_WORK", 10**4)
    found = _distances(IncompleteRows.of(incomplete_rows(80, 4, 0.1, seed=9), "fiml"))
    assert np.isnan(found.mardia.p_skewness)
    assert np.isfinite(found.mardia.p_kurtosis)


def test_departures_from_normality_are_found_in_incomplete_rows():
    rng = np.random.default_rng(8)
    X = rng.chisquare(12, size=(300, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    assert _distances(IncompleteRows.of(X, "fiml")).mardia.p_skewness < 1e-3
    scale = np.sqrt(6 / rng.chisquare(8, size=(400, 1)))
    found = _distances(IncompleteRows.of(incomplete_rows(400, 4, 0.2, seed=4, scale=scale), "fiml"))
    assert found.mardia.p_kurtosis < 1e-3


def test_few_rows_have_no_tests():
    X = np.random.default_rng(0).normal(size=(12, 2))
    checks = diagnose(X)
    assert math.isnan(checks.variables[0].p_skewness)
    assert checks.warnings() == []
    Page(bf.report.render(bf.fit(bf.parse("x1, x2"), X), data=X))
    found = _distances(IncompleteRows.of(incomplete_rows(19, 2, 0.1, seed=5), "fiml"))
    assert np.isfinite(found.squared).all()
    assert np.isnan([found.mardia.p_kurtosis, found.mardia.p_skewness]).all()


# --- columns that are not measurements ---

RNG = np.random.default_rng(1)
N = 60
NOISE = RNG.standard_normal(N)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.arange(1, N + 1), "identifier"),
        (np.arange(N)[::-1], "identifier"),  # 0 to n - 1 in another order
        (RNG.permutation(N) + 1, "identifier"),
        (1950 + 2 * np.arange(N), "identifier"),
        (np.cumsum(RNG.integers(1, 9, N)), "identifier"),
        (RNG.integers(0, 2, N), "few values"),
        (RNG.integers(1, 6, N), "few values"),
        (np.full(N, 3), "constant"),
        (NOISE, None),
        (np.sort(NOISE), None),  # rising, but no whole numbers
        (RNG.integers(0, 500, N), None),
        (np.round(10 * NOISE), None),
    ],
)
def test_one_column(column, kind):
    odd = odd_columns(["c", "y"], np.column_stack([column, NOISE]).astype(float))
    assert odd == ({} if kind is None else {kind: ["c"]})


def test_missing_values_and_few_rows():
    column = np.arange(40.0)
    column[3] = np.nan
    assert odd_columns(["id"], column[:, None]) == {"identifier": ["id"]}
    assert odd_columns(["id"], np.arange(5.0)[:, None]) == {}
    assert odd_columns(["empty"], np.full((5, 1), np.nan)) == {}


def test_a_search_warns():
    data = {"id": np.arange(N), "sex": RNG.integers(0, 2, N), "x": NOISE, "y": NOISE**3}
    quick = {"restarts": 1, "rounds": 0, "rng": 1}
    with pytest.warns(bf.errors.DataWarning) as caught:
        bf.greedy_search(data, **quick)
    found = [str(w.message) for w in caught]
    assert "column id looks like row numbers" in found[0]
    assert found[1].endswith("nominal=['sex']; to drop it: data.drop(columns=['sex'])")
    assert [w.filename for w in caught] == [__file__] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bf.greedy_search({"x": NOISE, "y": NOISE**3}, **quick)
        bf.greedy_search(bf.moments(data), **quick)  # no rows to look at
        bf.fit(bf.parse("id -> x"), data)  # the user named the column
