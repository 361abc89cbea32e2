"""One condition predicted from the others (benchmarks/leave_out_conditions.py)."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bowfree as bf

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from leave_out_conditions import leave_out_conditions

sys.path.pop(0)

#   x -> y -> z with hidden x <-> z
GRAPH = bf.parse("x -> y -> z, x <-> z")
B = np.array([[0, 0, 0], [0.9, 0, 0], [0, -0.8, 0]])
OMEGA = np.array([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]])


def rows(n, rng, target=None):
    coefficients, Omega = B.copy(), OMEGA.copy()
    if target is not None:
        coefficients[target] = 0
        Omega[target] = Omega[:, target] = 0
        Omega[target, target] = 4
    errors = rng.multivariate_normal(np.zeros(3), Omega, size=n)
    X = np.linalg.solve(np.eye(3) - coefficients, errors.T).T
    return dict(zip("xyz", X.T, strict=True))


def experiments(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    return [
        bf.Condition(rows(n, rng), name="watched"),
        bf.Condition(rows(n, rng, 0), targets=["x"], name="x set"),
        bf.Condition(rows(n, rng, 1), targets=["y"], name="y set"),
    ]


def test_the_density_is_that_of_the_others_given_the_targets():
    data = experiments(n=200)
    found = leave_out_conditions(data, GRAPH).conditions[2]
    fit = bf.fit(GRAPH, data[:2])
    X = np.column_stack(list(data[2].data.values()))
    X = X - X.mean(axis=0)
    S = X.T @ X / len(X)
    cut, Omega = fit.B.copy(), fit.Omega.copy()
    cut[1] = Omega[1] = Omega[:, 1] = 0
    Omega[1, 1] = S[1, 1]
    E = np.linalg.inv(np.eye(3) - cut)
    whole = multivariate_normal(cov=E @ Omega @ E.T).logpdf(X).mean()
    target = multivariate_normal(cov=S[1, 1]).logpdf(X[:, 1]).mean()
    assert found.loglik == pytest.approx(whole - target, abs=1e-10)
