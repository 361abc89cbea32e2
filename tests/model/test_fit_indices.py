"""Fit indices: closed forms, limits, and the definition of the RMSEA interval."""

import math

import numpy as np
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
