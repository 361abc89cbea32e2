"""Fit indices: closed forms, limits, and the definition of the RMSEA interval."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bowfree as bf
from bowfree.model.fit_indices import discrepancy, fit_indices, srmr
from random_models import random_bap, random_covariance

# Two variables with correlation 0.3; the model says they are independent.
S2 = np.array([[1.0, 0.3], [0.3, 1.0]])


def indices_of(S, Sigma, n, n_parameters):
    d = len(S)
    misfit = discrepancy(S, Sigma), discrepancy(S, np.diag(np.diag(S)))
    df = d * (d + 1) // 2 - n_parameters
    return fit_indices(*misfit, df, d * (d - 1) // 2, n, srmr(S, Sigma))


def test_smallest_example():
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


@pytest.mark.parametrize("chi2", [1.0, 5.0, 12.0, 60.0, 900.0])
def test_rmsea_interval_inverts_the_noncentral_chi_square(chi2):
    n, df = 200, 5
    # One variable in six is off; its variance ratio r solves n (r - 1 - log r) = chi2.
    r = 1.0
    for _ in range(200):
        r = 1 + math.log(r) + chi2 / n
    indices = indices_of(np.diag([r, 1, 1, 1]), np.eye(4), n=n, n_parameters=5)
    assert_allclose(indices.chi2, chi2, rtol=1e-6)
    assert indices.df == df
    for bound, level in ((indices.rmsea_lower, 0.95), (indices.rmsea_upper, 0.05)):
        if bound == 0.0:
            assert stats.chi2.cdf(indices.chi2, df) <= level
        else:
            reached = stats.ncx2.cdf(indices.chi2, df, n * df * bound**2)
            assert_allclose(reached, level, rtol=1e-6)
    expected = stats.ncx2.sf(indices.chi2, df, n * df * 0.05**2)
    assert_allclose(indices.rmsea_p_close, expected, atol=1e-10)


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


def test_chi2_is_twice_the_gap_to_the_saturated_likelihood():
    rng = np.random.default_rng(5)
    graph, S = random_bap(rng, 6, density=0.4), random_covariance(rng, 6, 300)
    complete = bf.MixedGraph(
        graph.nodes, directed=[(a, b) for b in graph.nodes for a in graph.nodes if a < b]
    )
    small, full = bf.fit(graph, cov=S, n=300), bf.fit(complete, cov=S, n=300)
    assert_allclose(small.chi2, 2 * (full.loglik - small.loglik), rtol=1e-9)
    assert small.df == full.n_parameters - small.n_parameters
    assert_allclose(full.chi2, 0, atol=1e-9)
