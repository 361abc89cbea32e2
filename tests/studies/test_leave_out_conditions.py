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


def test_the_true_graph_predicts_what_pooling_cannot():
    found = leave_out_conditions(experiments(), GRAPH)
    assert [c.name for c in found.conditions] == ["watched", "x set", "y set"]
    assert found.complete
    assert found.skipped == ()
    for condition in found.conditions:
        assert condition.loglik_pooled < condition.loglik <= condition.loglik_own + 1e-12
    assert found.gain > 0.05
    for effect in found.effects:
        assert abs(effect.predicted - effect.measured) < 5 * effect.se + 0.05
    (through,) = (e for e in found.effects if (e.of, e.on) == ("x", "z"))
    assert through.predicted == pytest.approx(-0.72, abs=0.08)
    (back,) = (e for e in found.effects if (e.of, e.on) == ("y", "x"))
    assert back.predicted == 0


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


def test_measured_effects_are_regressions():
    data = experiments(n=100)
    (effect,) = (e for e in leave_out_conditions(data, GRAPH).effects if (e.of, e.on) == ("y", "z"))
    y, z = (data[2].data[v] - data[2].data[v].mean() for v in "yz")
    slope = y @ z / (y @ y)
    assert effect.measured == pytest.approx(slope)
    assert effect.se == pytest.approx(np.sqrt(((z - slope * y) ** 2).sum() / 98 / (y @ y)))
