"""Newton's method where the plain step fails: poles, saddle points, and ends that are no maximum.

The covariance matrices are rounded correlations of random data, found by trying many: on most data
the plain step is all it takes.
"""

import warnings

import numpy as np
import pytest

import bowfree as bf
from random_models import foreign_data


def correlations(rows):
    """Return the matrix whose lower triangle is given, in thousandths, without the diagonal."""
    d = len(rows) + 1
    R = np.eye(d)
    R[np.tril_indices(d, -1)] = np.concatenate(rows) / 1000
    return np.tril(R) + np.tril(R, -1).T


def fit_quietly(graph, S, n, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)
        return bf.fit(graph, cov=S, n=n, **options)


#   From the least squares fit the maximum lies beyond a pole, where a row of B and Omega has run to
#   infinity and come back with the other sign.
BEYOND_A_POLE = (
    "v0 <-> v1 <-> v2 -> v0 <-> v3 <-> v1, v2 <-> v3 <- v4 <- v0, v1 -> v4 <-> v2",
    [[275], [-949, -387], [-70, -844, 117], [-800, -787, 825, 584]],
)
#   The sweeps and the first steps lead to a place where the likelihood curves the wrong way.
NEAR_A_SADDLE = (
    "v0 <-> v1 <- v2 -> v3 <-> v0, v1 <-> v3 -> v4 <-> v0, v1 <-> v4 <-> v2 <-> v5 <- v0, "
    "v3 -> v5 <- v4",
    [[-66], [-439, -16], [734, 234, -827], [-843, 123, 556, -822], [-420, 855, 346, -250, 575]],
)


@pytest.mark.parametrize(("text", "rows"), [BEYOND_A_POLE, NEAR_A_SADDLE], ids=["pole", "saddle"])
def test_one_start_finds_what_thirty_find(text, rows):
    graph, S = bf.parse(text), correlations(rows)
    one = bf.fit(graph, cov=S, n=50)
    many = bf.fit(graph, cov=S, n=50, n_starts=30, rng=0)
    assert one.converged
    assert one.loglik == pytest.approx(many.loglik, abs=1e-8)


#   From most starts the steps run out on a long way to a maximum.
OUT_OF_STEPS = (
    "v0 -> v1 <- v2 -> v0 <-> v3 <-> v1, v2 <- v3 -> v4 <-> v0, v1 <-> v4 <-> v2",
    [[916], [-811, -686], [880, 788, -987], [452, 474, 116, 7]],
)


def test_where_the_steps_of_all_starts_run_out_there_are_more():
    graph, S = bf.parse(OUT_OF_STEPS[0]), correlations(OUT_OF_STEPS[1])
    one, eight = fit_quietly(graph, S, 50), fit_quietly(graph, S, 50, n_starts=8, rng=0)
    assert one.converged
    assert one.loglik == pytest.approx(eight.loglik)
    assert [district.n_iter > 150 for district in one.certificate] == [True]


def test_ends_that_are_no_maximum_are_not_counted_as_optima():
    # One of eight starts ends at a maximum, the others wherever their steps ran out.
    graph, S = bf.parse(OUT_OF_STEPS[0]), correlations(OUT_OF_STEPS[1])
    fit = fit_quietly(graph, S, 50, n_starts=8, rng=0)
    assert fit.converged
    assert [district.n_optima for district in fit.certificate] == [1]


def test_not_certified_is_not_yet_diverging():
    # Found by trying: no step is left, while errors and coefficients are moderate.
    graph, S = foreign_data(np.random.default_rng(584), 12)
    sd = np.sqrt(np.diag(S))
    fit = fit_quietly(graph, S / np.outer(sd, sd), 1000)
    assert not fit.converged
    assert np.abs(fit.B).max() < 10
    assert not fit.diverging
    assert "diverg" not in repr(fit)
