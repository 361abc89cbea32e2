"""Newton's method where the plain step fails: poles, saddle points, and ends that are no maximum.

The covariance matrices are rounded correlations of random data, found by trying many: on most data
the plain step is all it takes.
"""

import warnings

import numpy as np
import pytest

import bowfree as bf
from reference_cases import fits, graph_of, matrix


def correlations(rows):
    """Return the matrix whose lower triangle is given, in thousandths, without the diagonal."""
    d = len(rows) + 1
    R = np.eye(d)
    R[np.tril_indices(d, -1)] = np.concatenate(rows) / 1000
    return np.tril(R) + np.tril(R, -1).T


def fit_quietly(graph, S, n, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.FitWarning)
        return bf.fit(graph, cov=S, n=n, **options)


#   From the least squares fit the maximum lies beyond a pole, where a row of B and Omega
#   has run to infinity and come back with the other sign.
BEYOND_A_POLE = (
    "v0 <-> v1 -> v2 -> v0 <- v3 -> v1, v2 <-> v3 <-> v4 <-> v0, v1 <- v4 <-> v2",
    [[849], [-581, -891], [-811, -434, 187], [-736, -854, 690, 285]],
)
#   The sweeps and the first steps lead to a saddle point, from which no gradient leads away.
AT_A_SADDLE = (
    "v0 <-> v1, v0 <-> v2 <-> v3 <-> v1 <-> v4 <-> v2, v3 <-> v4",
    [[-22], [270, -129], [-805, -8, -75], [-890, -154, -499, 832]],
)


@pytest.mark.parametrize(("text", "rows"), [BEYOND_A_POLE, AT_A_SADDLE], ids=["pole", "saddle"])
def test_one_start_finds_what_thirty_find(text, rows):
    graph, S = bf.parse(text), correlations(rows)
    one = bf.fit(graph, cov=S, n=50)
    many = bf.fit(graph, cov=S, n=50, n_starts=30, rng=0)
    assert one.converged
    assert one.loglik == pytest.approx(many.loglik, abs=1e-8)


#   After all steps the decrement is still too large, but errors and coefficients are moderate.
OUT_OF_STEPS = (
    "v0 <-> v1 <- v2 <-> v0, v1 <- v3 <-> v2 <-> v4 <- v0, v1 <-> v4 <-> v3 -> v5 <- v0, "
    "v1 -> v5, v1 <-> v6 <-> v3",
    [
        [-952],
        [988, -944],
        [-549, 672, -530],
        [19, 183, 7, 2],
        [736, -806, 780, -554, -239],
        [-160, 398, -156, 283, 948, -404],
    ],
)


def test_not_certified_is_not_yet_diverging():
    fit = fit_quietly(bf.parse(OUT_OF_STEPS[0]), correlations(OUT_OF_STEPS[1]), 50)
    assert not fit.converged
    assert np.abs(fit.B).max() < 10
    assert not fit.diverging
    assert "diverg" not in repr(fit)


UNBOUNDED = fits(lambda case: "no_finite_mle_found_B_diverges" in case["flags"])


@pytest.mark.parametrize("case", UNBOUNDED, ids=[case["id"] for case in UNBOUNDED])
def test_ends_that_are_no_maximum_are_not_counted_as_optima(case):
    # Where the likelihood grows for ever every start ends elsewhere, and none at an optimum.
    graph, S = graph_of(case, case["d"]), matrix(case["S"])
    fit = fit_quietly(graph, S, case["n"], n_starts=8, rng=0)
    (district,) = (found for found in fit.certificate if not found.converged)
    assert district.diverging
    assert district.n_optima == 1
