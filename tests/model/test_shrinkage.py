"""Shrinkage by the method of Ledoit and Wolf, on correlations."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

import bowfree as bf


@pytest.mark.parametrize(("n", "d"), [(10, 3), (20, 40), (200, 5)])
def test_auto_is_the_choice_for_standardized_columns(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** rng.integers(-3, 4, d)
    amount = ledoit_wolf_shrinkage((X - X.mean(axis=0)) / X.std(axis=0))
    chosen = bf.moments(X, shrinkage="auto")
    np.testing.assert_allclose(chosen.S, bf.moments(X, shrinkage=amount).S, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: bf.moments(cov=np.eye(2), n=5, shrinkage="auto"), "needs complete"),
        (lambda: bf.moments([[1.0, 2.0], [2.0, 1.0]], shrinkage="much"), "or 'auto'"),
        (lambda: bf.moments([[1.0, np.nan], [2.0, 1.0]], shrinkage="auto"), "missing or infinite"),
        (lambda: bf.moments([[1.0, 3.0], [1.0, 1.0]], shrinkage="auto"), "constant column"),
    ],
)
def test_bad_input(call, problem):
    with pytest.raises(bf.errors.DataError, match=problem):
        call()
