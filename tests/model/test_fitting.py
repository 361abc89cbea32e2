"""Maximum likelihood: what a maximum must satisfy, the NumPy twin, and how a fit is shown."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bowfree as bf
from random_models import random_bap, random_covariance, random_parameters
from twins import graph_matrices, implied_covariance, log_likelihood, ricf

SEEDS = st.integers(0, 10**6)
few = settings(max_examples=40, deadline=None, derandomize=True)

#   x -> y -> z,  x <-> z:  three edges on three nodes, so that S is reproduced exactly
BOWLESS = bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")], bidirected=[("x", "z")])
S3 = np.array([[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]])


def test_smallest_example():
    fit = bf.fit(BOWLESS, cov=S3, n=100, ddof=0)
    # b_yx = 0.5 by regression; then cov(x, z) = b_zy 0.5 + Omega_xz and cov(y, z) = b_zy + 0.5
    # Omega_xz give b_zy = 0.6 and Omega_xz = 0.4.
    assert_allclose(fit.B, [[0, 0, 0], [0.5, 0, 0], [0, 0.6, 0]], atol=1e-12)
    assert_allclose(fit.Omega[0, 2], 0.4)
    assert_allclose(fit.Sigma, S3)
    assert_allclose(fit.loglik, log_likelihood(S3, S3, 100))
    assert_allclose(fit.score, (fit.loglik - 6 * math.log(100)) / 100)
    assert fit.converged
    assert [district.nodes for district in fit.certificate] == [("x", "z"), ("y",)]


def test_population_covariance_is_recovered():
    rng = np.random.default_rng(1)
    graph = random_bap(rng, 8, density=0.4)
    B, Omega = random_parameters(rng, *graph_matrices(graph))
    Sigma = implied_covariance(B, Omega)
    fit = bf.fit(graph, cov=Sigma, n=math.inf)
    assert_allclose(fit.B, B, atol=1e-6)
    assert_allclose(fit.Omega, Omega, atol=1e-6)
    assert_allclose(fit.loglik, log_likelihood(Sigma, Sigma, 1))
    assert fit.score == fit.loglik  # no penalty
    assert fit.rmsea < 1e-6


def test_penalty_is_a_number():
    one, half = (bf.fit(BOWLESS, cov=S3, n=100, penalty=penalty) for penalty in (1.0, 0.5))
    assert one.loglik == half.loglik
    assert_allclose(half.score - one.score, 0.5 * 6 * math.log(100) / 100)
    assert_allclose(half.bic, -2 * 100 * half.score)


@few
@given(seed=SEEDS, d=st.integers(2, 12))
def test_score_equations_vanish_at_the_optimum(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, density=0.4), random_covariance(rng, d, 30 * d)
    fit = bf.fit(graph, cov=S, n=30 * d, ddof=0, n_starts=1)  # and no word of other maxima
    for kind, i, j in fit._parameters:
        # The step is in units of the parameter, so that the difference quotient is too.
        unit = math.sqrt(S[i, i] / S[j, j]) if kind == "B" else math.sqrt(S[i, i] * S[j, j])
        ends = []
        for step in (1e-5 * unit, -1e-5 * unit):
            B, Omega = fit.B.copy(), fit.Omega.copy()
            if kind == "B":
                B[i, j] += step
            else:
                Omega[i, j] += step
                Omega[j, i] = Omega[i, j]
            ends.append(log_likelihood(implied_covariance(B, Omega), S, 1))
        # Central differences: error h^2 f''' / 6 and rounding 1e-15 / h, relative to curvature.
        scale = max(1.0, 1 / np.linalg.eigvalsh(fit.Omega / np.outer(unit_sd(S), unit_sd(S)))[0])
        assert abs(ends[0] - ends[1]) / 2e-5 < 1e-6 * scale**2


def unit_sd(S):
    return np.sqrt(np.diag(S))


@few
@given(seed=SEEDS, d=st.integers(2, 9))
def test_never_below_the_numpy_twin(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, density=0.4), random_covariance(rng, d, 30 * d)
    fit = bf.fit(graph, cov=S, n=1000, ddof=0, n_starts=5, rng=0)
    # The same maximum that plain sweeps reach from the least squares fit, when they get there.
    B, Omega, sweeps = ricf(
        S, *graph_matrices(graph), max_iter=300, tol=1e-9, start=(fit.B, fit.Omega)
    )
    assert sweeps > 0
    assert_allclose(B, fit.B, atol=1e-5)
    B, Omega, _ = ricf(S, *graph_matrices(graph), max_iter=50, tol=1e-9)
    assert fit.loglik > log_likelihood(implied_covariance(B, Omega), S, 1000) - 1e-7


@few
@given(seed=SEEDS, d=st.integers(2, 9), sweeps=st.integers(1, 12))
def test_ricf_is_the_numpy_twin_sweep_by_sweep(seed, d, sweeps):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d), random_covariance(rng, d, 30 * d)
    B, Omega, _ = ricf(S, *graph_matrices(graph), max_iter=sweeps, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)
        fit = bf.fit(graph, cov=S, n=100, ddof=0, method="ricf", max_iter=sweeps, tol=0.0)
    assert_allclose(fit.B, B, atol=1e-9)
    assert_allclose(fit.Omega, Omega, atol=1e-9)
    assert_allclose(fit.loglik, log_likelihood(fit.Sigma, S, 100), rtol=1e-10)


@few
@given(seed=SEEDS, d=st.integers(2, 12))
@pytest.mark.filterwarnings("ignore::bowfree.errors.FitWarning")
def test_an_edge_more_never_lowers_the_likelihood(seed, d):
    rng = np.random.default_rng(seed)
    graph, n = random_bap(rng, d, density=rng.uniform(0.1, 0.6)), 30 * d
    S = random_covariance(rng, d, n)
    small = bf.fit(graph, cov=S, n=n)
    more = small.modification_indices().rows
    if more:
        edge = more[rng.integers(len(more))]
        # The smaller model lies in the larger one, so the *global* maximum cannot fall; a single
        # start may stop at another local one, which is what more starts are for.
        larger = graph.add(f"{edge.a} {edge.mark} {edge.b}")
        assert bf.fit(larger, cov=S, n=n, n_starts=20, rng=0).loglik > small.loglik - 1e-7 * n


def test_ricf_that_does_not_converge_says_so():
    rng = np.random.default_rng(10)
    graph, S = random_bap(rng, 6, density=0.8), random_covariance(rng, 6, 100)
    with pytest.warns(bf.errors.FitWarning, match="no certified maximum after 2 iterations"):
        fit = bf.fit(graph, cov=S, n=100, method="ricf", max_iter=2)
    assert not fit.converged
    assert "NOT CERTIFIED" in str(fit.summary())


BAD_OPTIONS = {
    "method": ({"method": "em"}, "unknown method 'em'; choose one of newton, ricf"),
    "max_iter": ({"max_iter": 10}, "max_iter is an option of method='ricf'"),
    "ricf starts": ({"method": "ricf", "n_starts": 2}, "n_starts is an option of method='newton'"),
    "penalty": ({"penalty": -1.0}, "penalty = -1.0: must be a finite number >= 0"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.fit(BOWLESS, cov=S3, n=100, **options)


#   x -> y -> z:  the missing edge costs n log(1 - r^2), r the partial correlation of x and z. The
#   other numbers are lavaan's (0.6-14, likelihood = "normal").
SUMMARY = """\
Maximum likelihood fit of a path diagram (newton): closed form

  Observations                            200
  Free parameters                           5
  Districts                                 3
  Log-likelihood                     -851.840
  Score (penalty 1)                 -4.391656
  AIC                                1713.679
  BIC                                1730.171
  Chi-square                           18.475
  Degrees of freedom                        1
  P-value (chi-square)                < 0.001
  CFI                                   0.884
  TLI                                   0.651
  RMSEA                                 0.296
  RMSEA 90 % interval           0.188 – 0.420
  P-value (RMSEA <= 0.05)             < 0.001
  SRMR                                  0.087
"""


def test_summary():
    fit = bf.fit(bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")]), cov=S3, n=200)
    assert_allclose(fit.chi2, -200 * math.log(1 - 0.3**2 / (0.75 * 1.36)))
    assert str(fit.summary()).startswith(SUMMARY)
    assert str(fit) == str(fit.summary())


def test_summary_tables():
    fit = bf.fit(BOWLESS, cov=S3, n=200)
    text = str(fit.summary())
    head = "                Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper  Std.all\n"
    regressions = head + (
        "  y ~\n"
        "    x              0.500    0.061    8.165  < 0.001    0.380    0.620    0.500\n"
        "  z ~\n"
        "    y              0.600    0.091    6.599  < 0.001    0.422    0.778    0.424\n"
    )
    covariances = head + (
        "  x ~~\n    z              0.398    0.099    4.027  < 0.001    0.204    0.592    0.338\n"
    )
    assert f"\nRegressions:\n{regressions}" in text
    assert f"\nCovariances:\n{covariances}" in text
    assert text.endswith(
        "  z                1.393    0.144    9.679  < 0.001    1.111    1.675    0.700"
    )
    assert fit.summary()._text(80) == text  # the tables fit into 80 columns
