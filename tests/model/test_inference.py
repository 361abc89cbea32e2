"""Standard errors, sandwiches, delta method, fit indices: definitions, slow twins, closed forms."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bowfree as bf
from bowfree.data.sample import CompleteRows, normal_gamma
from bowfree.model.fit_indices import discrepancy, fit_indices, srmr
from bowfree.model.inference import (
    Sandwich,
    expected_information,
    jacobian,
    normal_weight,
    observed_information,
)
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


#   a -> b -> c,  a <-> c,  d -> b
GRAPH = bf.MixedGraph(list("abcd"), [("a", "b"), ("b", "c"), ("d", "b")], [("a", "c")])
SEM = bf.random_sem(GRAPH, rng=3)


def heavy_tailed(n, seed, df=5):
    """Rows with the covariance structure of the model and errors of Student's t."""
    rng = np.random.default_rng(seed)
    eps = rng.standard_t(df, size=(n, 4)) @ np.linalg.cholesky(SEM.Omega).T
    return pd.DataFrame(eps @ np.linalg.inv(np.eye(4) - SEM.B).T, columns=list("abcd"))


def entries(M):
    return np.array([M[i, j] for i in range(len(M)) for j in range(i + 1)])


def test_smallest_sandwich():
    # One variable: the variance of a variance is the fourth moment minus the squared second.
    x = np.array([0.0, 1.0, 2.0, 5.0])
    z = x - x.mean()
    moments = bf.moments({"x": x})
    assert_allclose(moments.Gamma, [[np.mean(z**4) - np.mean(z**2) ** 2]])
    fit = bf.fit(bf.parse("x"), moments, se="robust")
    assert_allclose(fit.estimates()[0].se, math.sqrt(moments.Gamma[0, 0] / 4))


def test_gamma_of_rows_and_its_slow_twin():
    X = np.random.default_rng(1).exponential(size=(5000, 3))  # more than a chunk
    rows = CompleteRows(X - X.mean(axis=0))
    S = rows.covariance()
    deviations = [entries(np.outer(z, z) - S) for z in rows.deviations]
    assert_allclose(rows.gamma(), np.mean([np.outer(v, v) for v in deviations], axis=0))


def test_gamma_of_normal_data_is_its_expectation():
    # Isserlis: cov(z_i z_j, z_k z_l) = S_ik S_jl + S_il S_jk; half a million rows are close to it.
    S = np.array([[2.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.5]])
    X = np.random.default_rng(2).multivariate_normal(np.zeros(3), S, size=500_000)
    assert_allclose(bf.moments(X).Gamma, normal_gamma(S), atol=0.08)
    assert_array_equal(bf.moments(cov=S, n=9, ddof=0).Gamma, normal_gamma(S))


def test_weight_is_the_inverse_and_the_curvature_of_the_discrepancy():
    S = SEM.covariance()
    V = normal_weight(S)
    assert_allclose(V @ normal_gamma(S), np.eye(10), atol=1e-9)
    H = np.random.default_rng(1).normal(size=(4, 4)) * 1e-4
    H = H + H.T
    assert_allclose(discrepancy(S + H, S), entries(H) @ V @ entries(H), rtol=1e-2)


def test_jacobian_and_its_slow_twin():
    fit = bf.fit(GRAPH, heavy_tailed(300, 1))
    slopes = derivatives(
        lambda t: entries(implied_covariance(*parameter_matrices(fit._parameters, t))),
        fit._values(),
        1e-5,
    )
    assert_allclose(jacobian(fit.B, fit.Omega, fit._parameters), slopes.T, atol=1e-8)


def test_the_sandwich_of_normal_data_is_the_inverse_information():
    fit = bf.fit(GRAPH, cov=SEM.covariance(), n=100)
    Gamma = normal_gamma(fit.Sigma)
    at = Sandwich(fit.B, fit.Omega, fit.S, Gamma, fit._parameters, fit.Sigma)
    inverse = np.linalg.inv(expected_information(fit.B, fit.Omega, 1.0, fit._parameters))
    assert_allclose(at.covariance("expected"), inverse, rtol=1e-8, atol=1e-10)
    for test in ("satorra-bentler", "yuan-bentler"):
        assert_allclose(at.expected_chi2(test), fit.df)


def test_huber_whites_sandwich_is_the_delta_method():
    # The estimates as functions of S, differentiated numerically, whatever the graph's misfit.
    data = heavy_tailed(300, 2) + np.array([0, 0, 0, 1])
    wrong = bf.parse("a -> b -> c, d")
    fit = bf.fit(wrong, data, se="robust-huber-white")
    moments = fit.moments
    at = entries(moments.S)

    def estimates(s):
        S = np.zeros((4, 4))
        S[np.tril_indices(4)] = s
        return bf.fit(wrong, cov=S + np.tril(S, -1).T, n=300, ddof=0)._values()

    slopes = derivatives(estimates, at, 1e-4)
    expected = slopes.T @ moments.Gamma @ slopes / 300
    assert_allclose(fit.standard_errors().covariance, expected, rtol=1e-5, atol=1e-9)


def test_the_choice_changes_errors_and_test_and_nothing_else():
    data = heavy_tailed(400, 3)
    plain = bf.fit(GRAPH, data)
    assert (plain.se, plain.test) == ("standard", "standard")
    assert plain.scaled is None
    assert math.isnan(plain.chi2_scaled)
    for se, test in (("robust", "satorra-bentler"), ("robust-huber-white", "yuan-bentler")):
        fit = bf.fit(GRAPH, data, se=se, test=test)
        assert_array_equal(fit.B, plain.B)
        assert (fit.chi2, fit.df, fit.p_value) == (plain.chi2, plain.df, plain.p_value)
        assert fit.standard_errors().se == se
        assert fit.edge("a -> b").se != plain.edge("a -> b").se
        total = fit.total_effects().effect(of="a", on="b")
        assert_allclose(total.se, fit.edge("a -> b").se)  # one path, one edge
        text = str(fit.summary())
        assert "Scaled chi-square" in text
        assert f"Standarderrors{se}" in text.replace(" ", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"se": "sandwich"}, "unknown se 'sandwich'; choose one of standard, robust"),
        ({"test": "mlm"}, "unknown test 'mlm'; choose one of standard, satorra-bentler"),
        ({"se": "bootstrap", "n_bootstrap": 1}, "n_bootstrap must be .* at least 2"),
    ],
)
def test_bad_choice(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.fit(GRAPH, heavy_tailed(100, 1), **options)


def test_a_covariance_matrix_does_not_say_how_it_varies():
    with pytest.raises(
        bf.errors.DataError, match="se='robust' and test='yuan-bentler' need the observ"
    ):
        bf.fit(GRAPH, cov=SEM.covariance(), n=100, se="robust", test="yuan-bentler")
    light = bf.moments(heavy_tailed(100, 1)).without_rows()
    with pytest.raises(bf.errors.DataError, match="se='bootstrap' need the observations"):
        bf.fit(GRAPH, light, se="bootstrap")


def test_a_negative_factor_is_no_scale():
    rng = np.random.default_rng(0)
    wrong = bf.parse("a, b, c")
    found = []
    for _ in range(200):
        X = rng.standard_t(3, size=(25, 1)) + 0.1 * rng.normal(size=(25, 3))
        fit = bf.fit(wrong, pd.DataFrame(X, columns=list("abc")), test="yuan-bentler")
        found.append(fit)
    negative = [fit for fit in found if fit.scaling_factor < 0]
    assert negative
    for fit in negative:
        assert math.isnan(fit.chi2_scaled)
        assert math.isnan(fit.p_value_scaled)
        assert math.isnan(fit.scaled.rmsea_upper)
        assert "Scaled chi-square" not in str(fit.summary())


# Two variables with correlation 0.3; the model says they are independent.
S2 = np.array([[1.0, 0.3], [0.3, 1.0]])


def indices_of(S, Sigma, n, n_parameters):
    d = len(S)
    misfit = discrepancy(S, Sigma), discrepancy(S, np.diag(np.diag(S)))
    df = d * (d + 1) // 2 - n_parameters
    return fit_indices(*misfit, df, d * (d - 1) // 2, n, srmr(S, Sigma))


def test_indices_of_two_variables():
    indices = indices_of(S2, np.eye(2), n=100, n_parameters=2)
    assert_allclose(indices.chi2, -100 * math.log(1 - 0.3**2))
    assert indices.df == 1
    assert_allclose(indices.p_value, stats.chi2.sf(indices.chi2, 1))
    assert_allclose(indices.rmsea, math.sqrt((indices.chi2 - 1) / 100))
    assert_allclose(indices.srmr, 0.3 / math.sqrt(3))
    assert indices.cfi == 0.0  # the model is its own baseline
    assert_allclose(indices.tli, 0.0, atol=1e-15)


def test_saturated_model():
    indices = indices_of(S2, S2, n=100, n_parameters=3)
    assert (indices.chi2, indices.df, indices.cfi, indices.tli) == (0.0, 0, 1.0, 1.0)
    assert (indices.rmsea, indices.rmsea_lower, indices.rmsea_upper) == (0.0, 0.0, 0.0)
    assert math.isnan(indices.p_value)


def test_discrepancy_is_the_textbook_formula():
    rng = np.random.default_rng(0)
    S, Sigma = random_covariance(rng, 5, 50), random_covariance(rng, 5, 50)
    textbook = (
        np.linalg.slogdet(Sigma)[1]
        + np.trace(np.linalg.solve(Sigma, S))
        - np.linalg.slogdet(S)[1]
        - 5
    )
    assert_allclose(discrepancy(S, Sigma), textbook, rtol=1e-12)


def test_discrepancy_keeps_its_digits_near_zero():
    # F is 0.5 h^2 for one variable off by a factor 1 + h; the textbook formula has no digit left.
    Sigma = np.diag([1.0, 1.0 + 1e-9])
    assert_allclose(discrepancy(np.eye(2), Sigma), 0.5e-18, rtol=1e-6)


def test_population_indices_are_the_limits():
    rng = np.random.default_rng(4)
    graph = random_bap(rng, 5, density=0.4)
    S = random_covariance(rng, 5, 1000)
    population = bf.fit(graph, cov=S, n=math.inf)
    large = bf.fit(graph, cov=S, n=10**12)
    for name in ("rmsea", "cfi", "tli", "srmr"):
        assert_allclose(getattr(population, name), getattr(large, name), rtol=1e-8)
    for name in ("chi2", "p_value", "aic", "bic"):
        assert math.isnan(getattr(population, name))
    assert math.isnan(population.indices.rmsea_lower)
