"""The effect under a hidden cause, against models in which the hidden cause is observed."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.effects.sensitivity import _critical, _robustness, sensitivity


def partial(S, given):
    return S - S[:, given] @ np.linalg.solve(S[np.ix_(given, given)], S[given])


def r2(S, a, b, given):
    rest = partial(S, given)
    return rest[a, b] ** 2 / (rest[a, a] * rest[b, b])


@pytest.mark.parametrize("seed", range(30))
def test_the_remaining_effect_is_that_of_the_regression_with_the_hidden_cause(seed):
    #   u -> x, u -> y, w -> x -> y <- w, and u is not observed
    full = bf.parse("w, u, x <- w, x <- u, y <- x, y <- w, y <- u")
    sem = bf.random_sem(full, rng=seed)
    S = sem.covariance()
    w, u, x, y = range(4)
    observed = [w, x, y]
    graph = bf.parse("w, x <- w, y <- x, y <- w")
    fit = bf.fit(graph, cov=S[np.ix_(observed, observed)], n=200, ddof=0)
    found = sensitivity(fit, of="x", on="y")
    assert found.adjust_for == ("w",)
    strength = {"r2_exposure": r2(S, x, u, [w]), "r2_outcome": r2(S, y, u, [w, x])}
    effect = sem.B[y, x]
    bias = abs(found.estimate - found.adjusted(**strength))
    assert abs(found.estimate - effect) == pytest.approx(bias, rel=1e-8)
    if abs(effect) < abs(found.estimate):
        assert found.adjusted(**strength) == pytest.approx(effect, rel=1e-8, abs=1e-10)
    value = found.robustness_value
    assert found.adjusted(r2_exposure=value, r2_outcome=value) == pytest.approx(0, abs=1e-9)
    assert found.adjusted(r2_exposure=found.partial_r2, r2_outcome=1) == pytest.approx(0, abs=1e-9)
    assert found.robustness_value_significance <= value


def test_the_published_example():
    # Cinelli and Hazlett (2020), section 5.2: t = 4.18 on 783 degrees of freedom.
    f = 4.184 / np.sqrt(783)
    assert _robustness(f, 0) == pytest.approx(0.139, abs=0.0005)
    assert _robustness(f, _critical(0.95, 783)) == pytest.approx(0.076, abs=0.0005)


def test_a_missing_edge_with_this_error_correlation_has_the_same_covariances():
    graph = bf.parse("w -> x -> y <- w")
    fit = bf.fit(graph, cov=[[1, 0.3, 0.4], [0.3, 1, 0.5], [0.4, 0.5, 1]], n=100)
    found = sensitivity(fit, of="x", on="y")
    bow = bf.parse("w -> x <-> y <- w")
    B, Omega = np.zeros((3, 3)), np.diag([1.0, 1 - 0.09, 1 - 0.16])
    B[1, 0], B[2, 0] = 0.3, 0.4
    Omega[1, 2] = Omega[2, 1] = found.error_correlation * np.sqrt(Omega[1, 1] * Omega[2, 2])
    Sigma = bf.LinearSEM(bow, B, Omega).covariance()
    assert Sigma[1, 2] == pytest.approx(0.5, rel=1e-12)


def test_the_estimate_is_the_total_effect_of_the_fit_and_units_do_not_matter():
    graph = bf.parse("w -> x -> m -> y <- w, v -> y, x <-> v")
    data = bf.random_sem(graph, rng=1).sample(300, rng=1, as_frame="pandas")
    fit = bf.fit(graph, data)
    found = sensitivity(fit, of="x", on="y", adjust_for=["w", "v"])
    assert found.estimate == pytest.approx(fit.total_effects().effect(of="x", on="y").estimate)
    scaled = sensitivity(
        bf.fit(graph, data * 2.0 ** np.array([9, -20, 3, 40, 1])),
        of="x",
        on="y",
        adjust_for=["w", "v"],
    )
    assert scaled.robustness_value == pytest.approx(found.robustness_value, rel=1e-12)
    assert [row.variable for row in found] == ["w", "v"]
    assert found.to_dict()["benchmarks"][0]["variable"] == "w"
    assert not any(key.startswith("_") for key in found.to_dict())


def test_a_benchmark_bounds_a_twin_of_the_variable():
    #   u and w are independent causes with the same effects on x and y
    full = bf.parse("w, u, x <- w, x <- u, y <- x, y <- w, y <- u")
    B = np.zeros((4, 4))
    B[2, :2], B[3, :3] = 0.4, [0.3, 0.3, 0.5]
    S = bf.LinearSEM(full, B, np.eye(4)).covariance()
    observed = [0, 2, 3]
    fit = bf.fit(
        bf.parse("w, x <- w, y <- x, y <- w"), cov=S[np.ix_(observed, observed)], n=500, ddof=0
    )
    (row,) = sensitivity(fit, of="x", on="y")
    # Relative to the other variables, u is exactly as strong as w.
    assert row.r2_exposure == pytest.approx(r2(S, 2, 1, [0]), rel=1e-9)
    assert row.r2_outcome >= r2(S, 3, 1, [0, 2]) - 1e-12
    assert row.estimate <= B[3, 2] + 1e-12


def test_refused_questions():
    fit = bf.fit(bf.parse("w -> x -> y <- w, y <-> z"), cov=np.eye(4) + 0.2, n=100)
    with pytest.raises(bf.errors.GraphError, match="the empty set is not an adjustment set"):
        sensitivity(fit, of="x", on="y", adjust_for=[])
    with pytest.raises(bf.errors.GraphError, match="is not an adjustment set"):
        sensitivity(fit, of="x", on="y", adjust_for=["w", "x"])
    with pytest.raises(bf.BowfreeError, match="pass the result of"):
        sensitivity(fit.graph, of="x", on="y")
    with pytest.raises(bf.BowfreeError, match="r2_exposure = 1"):
        sensitivity(fit, of="x", on="y").adjusted(r2_exposure=1, r2_outcome=0.5)
    hidden = bf.fit(bf.parse("x -> m -> y <-> x"), cov=np.eye(3) + 0.2, n=100)
    with pytest.raises(bf.errors.GraphError, match="no adjustment set"):
        sensitivity(hidden, of="x", on="y")
