"""Tests of normality and rows far from the others: against their definitions, and in silence."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import bowfree as bf
from bowfree.visualization.report.data_checks import check_data
from report_page import Page


@pytest.mark.parametrize("d", [3, 9])  # Mardia's skewness has two ways, for few and many columns
def test_mardia_and_mahalanobis_against_the_definitions(d):
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(60, d))
    X[7] += 15
    g = bf.MixedGraph([f"x{i + 1}" for i in range(d)])
    fit = bf.fit(g, X)
    checks = check_data(fit, X)
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


def test_outliers_have_the_law_of_a_row_left_out():
    # A row against mean and covariance of the *other* rows: Hotelling's test of two samples, one of
    # which is the row. It has the same p-value as the row's place among all rows.
    n, d = 25, 3
    X = np.random.default_rng(4).normal(size=(n, d))
    checks = check_data(bf.fit(bf.parse("x1, x2, x3"), X), X, listed=n)
    assert sorted(outlier.row for outlier in checks.outliers) == list(range(1, n + 1))
    for outlier in checks.outliers:
        rest = np.delete(X, outlier.row - 1, axis=0)
        gap = X[outlier.row - 1] - rest.mean(axis=0)
        t2 = (n - 1) / n * gap @ np.linalg.solve(np.cov(rest.T), gap)
        p_value = stats.f.sf(t2 * (n - 1 - d) / ((n - 2) * d), d, n - 1 - d)
        assert outlier.p_value == pytest.approx(p_value, rel=1e-9)


def test_advice_fits_the_data():
    graph = bf.parse("x1, x2")
    rng = np.random.default_rng(1)

    def warnings(X):
        return check_data(bf.fit(graph, X), X).warnings()

    # A uniform variable is not normal, but a logarithm would not help.
    flat = np.column_stack([np.linspace(-1, 1, 800), rng.normal(size=800)])
    assert "most of all x1, skewness 0.00, excess kurtosis -1.20" in warnings(flat)[0]
    assert "logarithm" not in warnings(flat)[0]
    assert "a logarithm may help with skewness" in warnings(rng.exponential(size=(300, 2)))[0]
    far = rng.normal(size=(300, 2))
    far[:8] = 9 * np.column_stack([np.cos(np.arange(8)), np.sin(np.arange(8))])
    assert re.search(r"^8 rows .*: (\d, ){5}\d and 2 more\. Check them", warnings(far)[-1])


def test_clean_data_raise_no_alarm(fit):
    rng = np.random.default_rng(0)
    g = bf.parse("x1, x2, x3")
    # At a level of 1 %, with three families of tests, about 3 of 100 clean data sets are flagged.
    alarms = 0
    for _ in range(100):
        X = rng.normal(size=(100, 3))
        alarms += bool(check_data(bf.fit(g, X), X).warnings())
    assert alarms <= 9


def test_few_rows_have_no_tests():
    X = np.random.default_rng(0).normal(size=(12, 2))
    checks = check_data(bf.fit(bf.parse("x1, x2"), X), X)
    assert math.isnan(checks.variables[0].p_skewness)
    assert checks.warnings() == []
    Page(bf.report.render(bf.fit(bf.parse("x1, x2"), X), data=X))
