"""Standard errors and the delta method, against definitions rather than against a program."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bowfree as bf
from bowfree.model.inference import expected_information, observed_information
from random_models import random_bap, random_covariance
from twins import (
    derivatives,
    implied_covariance,
    log_likelihood,
    parameter_matrices,
)


#   x -> y:  the textbook regression
def test_smallest_example():
    S = np.array([[2.0, 1.0], [1.0, 3.0]])
    fit = bf.fit(bf.MixedGraph(list("xy"), directed=[("x", "y")]), cov=S, n=50, ddof=0)
    assert_allclose(fit.B[1, 0], 0.5)
    assert_allclose(fit.Omega, np.diag([2.0, 2.5]))
    errors = fit.standard_errors()
    assert_allclose(errors.B[1, 0], math.sqrt(2.5 / (50 * 2.0)))
    assert_allclose(np.diag(errors.Omega), np.array([2.0, 2.5]) * math.sqrt(2 / 50))
    assert np.isnan(errors.B[0, 1])
    assert np.isnan(errors.Omega[0, 1])


def test_expected_information_is_fishers_formula():
    rng = np.random.default_rng(1)
    graph = random_bap(rng, 5, density=0.8)
    fit = bf.fit(graph, cov=random_covariance(rng, 5, 200), n=200)
    parameters = fit._parameters
    theta = fit._values()
    dSigma = derivatives(
        lambda t: implied_covariance(*parameter_matrices(parameters, t)), theta, 1e-6
    )
    scaled = [np.linalg.solve(fit.Sigma, D) for D in dSigma]
    fisher = [[200 / 2 * np.trace(P @ Q) for Q in scaled] for P in scaled]
    ours = expected_information(fit.B, fit.Omega, 200, parameters)
    assert_allclose(ours, fisher, rtol=1e-6, atol=1e-6 * np.abs(ours).max())


@pytest.mark.parametrize("off_optimum", [0.0, 0.05])
def test_observed_information_is_the_numerical_hessian(off_optimum):
    rng = np.random.default_rng(2)
    graph = random_bap(rng, 5, density=0.8)
    S = random_covariance(rng, 5, 200)
    fit = bf.fit(graph, cov=S, n=200, ddof=0)
    parameters = fit._parameters
    theta = fit._values() * (1 + off_optimum)

    def loglik(t):
        return log_likelihood(implied_covariance(*parameter_matrices(parameters, t)), S, 200)

    hessian = derivatives(lambda t: derivatives(loglik, t, 1e-4), theta, 1e-4)
    ours = observed_information(*parameter_matrices(parameters, theta), S, 200, parameters)
    assert_allclose(ours, -hessian, rtol=1e-4, atol=1e-5 * np.abs(ours).max())


#   x -> y -> z:  the effect of x on z is a product
def test_delta_method_of_a_product():
    S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]
    fit = bf.fit(bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")]), cov=S, n=80)
    effects, errors = fit.total_effects(), fit.standard_errors()
    a, b = fit.B[1, 0], fit.B[2, 1]
    assert_allclose(effects.estimate, [[1, 0, 0], [a, 1, 0], [a * b, b, 1]])
    sobel = math.sqrt(b**2 * errors.B[1, 0] ** 2 + a**2 * errors.B[2, 1] ** 2)
    assert_allclose(effects.se[2, 0], sobel)
    assert np.isnan(effects.se[np.triu_indices(3)]).all()
    assert "x on z    0.3000" in str(effects)


#   w -> u -> q -> v,  w <-> q,  w <-> v,  u <-> v
def test_a_point_where_an_effect_is_not_identified():
    # cov(eps_q, q) = Omega_qq + (effect of w on q) Omega_wq = 1 - 2 * 0.5 = 0, so that nothing
    # tells the effect of q on v from the error covariances of v: a null set, but it is not empty.
    graph = bf.MixedGraph(
        list("wuqv"),
        directed=[("w", "u"), ("u", "q"), ("q", "v")],
        bidirected=[("w", "q"), ("w", "v"), ("u", "v")],
    )
    regular = bf.fit(graph, cov=np.eye(4), n=100)
    B = np.zeros((4, 4))
    B[1, 0], B[2, 1], B[3, 2] = 1.0, 2.0, 0.7
    Omega = np.array([[1.0, 0, -0.5, 0.1], [0, 1.0, 0, 0.1], [-0.5, 0, 1.0, 0], [0.1, 0.1, 0, 2.0]])
    singular = replace(regular, B=B, Omega=Omega)
    with pytest.warns(bf.errors.FitWarning, match="not identified"):
        errors = singular.standard_errors()
    assert np.isnan(errors.covariance).all()
    assert np.isfinite(regular.standard_errors().covariance).all()


def test_intervals_are_in_every_table():
    fit = bf.fit(bf.parse("x -> y -> z"), cov=np.eye(3) + 0.4, n=150)
    estimate = fit.edge("x -> y")
    low, high = estimate.lower, estimate.upper
    assert (low + high) / 2 == pytest.approx(estimate.estimate)
    assert high - low == pytest.approx(2 * 1.959963984540054 * estimate.se)
    for lower, upper in (
        fit.to_frame(confidence=0.9).loc[0, ["lower", "upper"]],
        fit.conf_int(0.9)["x -> y"],
    ):
        assert upper - lower == pytest.approx(2 * 1.6448536269514722 * estimate.se)
    assert fit.params["x -> y"] == estimate.estimate
    effects = fit.total_effects()
    row = effects.to_frame().query("of == 'x' and on == 'z'").iloc[0]
    assert row.to_dict() == effects.effect(of="x", on="z").to_dict()
    shown = f"{low:.3f}", f"{high:.3f}"
    assert all(end in str(fit.summary()) for end in shown)
    assert (fit.to_dict()["estimates"][0]["lower"], fit.to_dict()["estimates"][0]["upper"]) == (
        low,
        high,
    )
    with pytest.raises(bf.BowfreeError, match=r"confidence = 95: must be a number between 0 and 1"):
        fit.conf_int(95)
