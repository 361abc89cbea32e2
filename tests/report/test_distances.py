"""Distances of rows from the mean, with gaps and without; Mardia's kurtosis of both."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bowfree.model.missing import IncompleteRows
from bowfree.report.distances import complete_distances, incomplete_distances


def rows_with_gaps(n, d, share, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + rng.normal(size=(n, 1))) * scale
    X[rng.random(X.shape) < share] = np.nan
    return X[np.isfinite(X).any(axis=1)]


def test_without_gaps_both_ways_are_one():
    X = rows_with_gaps(80, 4, 0.0, seed=1)
    whole = complete_distances(X - X.mean(axis=0))
    cells = incomplete_distances(IncompleteRows.of(X, "fiml"))
    assert_allclose(cells.squared * 79 / 80, whole.squared, rtol=1e-6)
    for name in ("kurtosis", "normal_kurtosis", "p_kurtosis"):
        assert getattr(cells.mardia, name) == pytest.approx(getattr(whole.mardia, name), rel=1e-5)
    assert np.isnan(cells.mardia.skewness)
    assert whole.mardia.normal_kurtosis == 24


def test_rows_by_their_observed_cells():
    X = rows_with_gaps(60, 3, 0.3, seed=2)
    rows = IncompleteRows.of(X, "fiml")
    mean, S = rows.moments()
    found = incomplete_distances(rows)
    cells = []
    for x, squared in zip(X, found.squared, strict=True):
        there = np.isfinite(x)
        z = (x - mean)[there]
        assert squared == pytest.approx(z @ np.linalg.solve(S[np.ix_(there, there)], z))
        cells.append(there.sum())
    k = np.array(cells)
    assert found.mardia.kurtosis == pytest.approx(np.mean(found.squared**2))
    assert found.mardia.normal_kurtosis == pytest.approx(np.mean(k * (k + 2)))


def test_units_do_not_matter():
    X = rows_with_gaps(60, 3, 0.3, seed=2)
    one = incomplete_distances(IncompleteRows.of(X, "fiml"))
    other = incomplete_distances(IncompleteRows.of(X * [1e-3, 1.0, 1e5] + 7, "fiml"))
    assert other.mardia.p_kurtosis == pytest.approx(one.mardia.p_kurtosis, rel=1e-6)


def test_the_kurtosis_varies_as_said():
    # 300 p-values: shares have standard errors of 0.013 and 0.029. Without the correction for
    # estimated moments hardly any p-value would be below 0.5.
    p = [
        incomplete_distances(
            IncompleteRows.of(rows_with_gaps(300, 4, 0.25, seed=k), "fiml")
        ).mardia.p_kurtosis
        for k in range(300)
    ]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(np.array(p) < 0.5) == pytest.approx(0.5, abs=0.1)


def test_heavy_tails_are_noticed_through_gaps():
    rng = np.random.default_rng(3)
    scale = np.sqrt(6 / rng.chisquare(8, size=(400, 1)))
    found = incomplete_distances(
        IncompleteRows.of(rows_with_gaps(400, 4, 0.2, seed=4, scale=scale), "fiml")
    )
    assert found.mardia.kurtosis > found.mardia.normal_kurtosis
    assert found.mardia.p_kurtosis < 1e-3


def test_few_rows_have_distances_and_no_test():
    found = incomplete_distances(IncompleteRows.of(rows_with_gaps(19, 2, 0.1, seed=5), "fiml"))
    assert np.isfinite(found.squared).all()
    assert np.isnan(found.mardia.p_kurtosis)
