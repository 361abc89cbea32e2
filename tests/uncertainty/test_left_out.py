"""One condition foreseen from the others."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bowfree as bf

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


def test_the_true_graph_foresees_what_pooling_cannot():
    found = bf.leave_out_conditions(experiments(), GRAPH)
    assert [c.name for c in found.conditions] == ["watched", "x set", "y set"]
    assert found.complete
    assert found.skipped == ()
    for condition in found.conditions:
        assert condition.loglik_pooled < condition.loglik <= condition.loglik_own + 1e-12
        assert condition.explained > 0.9
    assert found.gain > 0.05
    assert found.effect_correlation > 0.99
    for effect in found.effects:
        assert abs(effect.foreseen - effect.measured) < 5 * effect.se + 0.05
    (through,) = (e for e in found.effects if (e.of, e.on) == ("x", "z"))
    assert through.foreseen == pytest.approx(-0.72, abs=0.08)
    (back,) = (e for e in found.effects if (e.of, e.on) == ("y", "x"))
    assert back.foreseen == 0


def test_a_wrong_graph_does_not():
    wrong = bf.parse("x <- y <- z, x <- z")
    right, other = (bf.leave_out_conditions(experiments(), g) for g in (GRAPH, wrong))
    assert other.gain < right.gain
    assert other.effect_correlation < 0.5


def test_the_density_is_that_of_the_others_given_the_targets():
    data = experiments(n=200)
    found = bf.leave_out_conditions(data, GRAPH).conditions[2]
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
    (effect,) = (
        e for e in bf.leave_out_conditions(data, GRAPH).effects if (e.of, e.on) == ("y", "z")
    )
    y, z = (data[2].data[v] - data[2].data[v].mean() for v in "yz")
    slope = y @ z / (y @ y)
    assert effect.measured == pytest.approx(slope)
    assert effect.se == pytest.approx(np.sqrt(((z - slope * y) ** 2).sum() / 98 / (y @ y)))


def test_a_graph_is_learned_from_the_others():
    quick = {"restarts": 2, "rounds": 0}
    found = bf.leave_out_conditions(experiments(), search=quick, rng=1)
    again = bf.leave_out_conditions(experiments(), search=quick, rng=1)
    assert found == again
    for k, condition in enumerate(found.conditions):
        others = [c for j, c in enumerate(experiments()) if j != k]
        assert condition.graph in bf.exhaustive_search(others).best_graphs


def test_what_cannot_be_left_out_is_said():
    rng = np.random.default_rng(1)
    data = [
        bf.Condition(rows(50, rng), name="watched"),
        bf.Condition(rows(50, rng, 0), targets=["x"], name="a"),
        bf.Condition(rows(50, rng, 0), targets=["x"], name="b"),
    ]
    found = bf.leave_out_conditions(data, GRAPH)
    assert found.skipped == ("watched",)
    assert "watched cannot be left out" in str(found)
    for few in (data[:2], data[:1], rows(50, rng)):
        with pytest.raises(bf.DataError, match="three conditions are needed"):
            bf.leave_out_conditions(few, GRAPH)
