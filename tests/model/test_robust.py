"""Sandwiches: their ingredients against slow twins, and what they are for normal data."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bowfree as bf
from bowfree.data.sample import CompleteRows, normal_gamma
from bowfree.model.fit_indices import discrepancy
from bowfree.model.inference import Sandwich, expected_information, jacobian, normal_weight
from twins import derivatives, implied_covariance, parameter_matrices

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


def test_smallest_example():
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
