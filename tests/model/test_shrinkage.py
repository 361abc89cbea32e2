"""Ledoit and Wolf's shrinkage: scikit-learn's on standardized columns."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage as theirs

import bowfree as bf
from bowfree.data.shrinkage import ledoit_wolf_shrinkage


@pytest.mark.parametrize(("n", "d"), [(10, 3), (20, 40), (200, 5), (3, 2), (50, 1)])
def test_scikit_learn_says_the_same(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** rng.integers(-3, 4, d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # A single column has no correlation to shrink; scikit-learn says 0, and it does not matter.
    expected = 1.0 if d == 1 else theirs(Z)
    assert ledoit_wolf_shrinkage(X) == pytest.approx(expected, rel=1e-9)


def test_auto_is_that_number():
    X = np.random.default_rng(1).standard_normal((12, 20))
    chosen = bf.moments(X, shrinkage="auto")
    given = bf.moments(X, shrinkage=ledoit_wolf_shrinkage(X))
    np.testing.assert_allclose(chosen.S, given.S)
    assert bf.fit(bf.parse("a -> b"), X[:, :2], shrinkage="auto").loglik < 0


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: bf.moments(cov=np.eye(2), n=5, shrinkage="auto"), "needs complete rows"),
        (lambda: bf.moments([[1.0, 2.0], [2.0, 1.0]], shrinkage="much"), "or 'auto'"),
        (lambda: bf.moments([[1.0, np.nan], [2.0, 1.0]], shrinkage="auto"), "missing or infinite"),
        (lambda: bf.moments([[1.0, 3.0], [1.0, 1.0]], shrinkage="auto"), "constant column"),
    ],
)
def test_bad_questions(call, problem):
    with pytest.raises(bf.errors.DataError, match=problem):
        call()
