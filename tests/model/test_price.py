"""The price of an edge: a number, the extended BIC, or a smallest effect.

The smallest example is one edge: x -> y is worth it or not.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bowfree as bf
from random_models import random_bap, random_covariance

EMPTY, EDGE = bf.parse("x, y"), bf.parse("x -> y")


def pair(r):
    return [[1.0, r], [r, 1.0]]


def gain(r, **options):
    """Return what the score gains by the one edge, given the correlation."""
    given = {"cov": pair(r), "ddof": 0, **options}
    return bf.score(EDGE, **given) - bf.score(EMPTY, **given)


# --- the extended BIC -----------------------------------------------------------------------------


def test_an_edge_costs_half_of_log_n_and_twice_gamma_of_log_d():
    n, r = 200, 0.3
    likelihood = -math.log(1 - r**2) / 2
    for gamma in (0.0, 0.25, 1.0):
        price = math.log(n) / 2 + 2 * gamma * math.log(2)
        assert_allclose(gain(r, n=n, penalty="ebic", gamma=gamma), likelihood - price / n)
    assert gain(r, n=n, penalty="ebic") == gain(r, n=n, penalty="ebic", gamma=0.5)
    assert_allclose(gain(r, n=n, penalty="ebic", gamma=0), gain(r, n=n, penalty=0.5))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.floats(0, 1))
def test_differences_are_those_of_foygel_and_drton(seed, d, gamma):
    # EBIC = -2 loglik + #edges log n + 4 gamma #edges log d
    rng = np.random.default_rng(seed)
    n, S = 150, random_covariance(rng, d, 150)
    ebic, scores = [], []
    for _ in range(2):
        fit = bf.fit(random_bap(rng, d), cov=S, n=n, penalty="ebic", gamma=gamma)
        k = fit.graph.n_edges
        ebic.append(-2 * fit.loglik + k * math.log(n) + 4 * gamma * k * math.log(d))
        scores.append(fit.score)
    assert_allclose(n * (scores[1] - scores[0]), -(ebic[1] - ebic[0]) / 2, atol=1e-8)


def test_the_search_scores_by_it_and_says_so():
    S = random_covariance(np.random.default_rng(3), 5, 100)
    options = {"cov": S, "n": 100, "penalty": "ebic", "gamma": 1.0}
    found = bf.greedy_search(**options, rng=1)
    weight = 0.5 + 2 * math.log(5) / math.log(100)
    assert_allclose(found.penalty, weight)
    assert found.score == pytest.approx(bf.score(found.graph, **options), abs=1e-12)
    said = "penalty 1.199 is that of penalty='ebic' with gamma = 1 and 5 variables"
    assert found.notes == (said,)
    assert said in str(found)
    number = bf.greedy_search(cov=S, n=100, penalty=weight, rng=1)
    assert (number.graph, number.score, number.notes) == (found.graph, found.score, ())
    everything = bf.exhaustive_search(**options)
    assert everything.score == pytest.approx(found.score, abs=1e-12)
    assert everything.notes == (said,)


def test_what_goes_on_from_a_search_has_its_penalty():
    S = random_covariance(np.random.default_rng(3), 5, 100)
    found = bf.greedy_search(cov=S, n=100, penalty="ebic", rng=1)
    with pytest.warns(bf.errors.LearnedGraphWarning):
        assert found.fit().penalty == found.penalty
    assert bf.edge_changes(found).penalty == found.penalty
    assert found.score == pytest.approx(bf.score(found), abs=1e-12)


# --- the smallest effect --------------------------------------------------------------------------


def test_a_floor_on_the_gain_of_an_edge():
    n = 1_000_000
    assert gain(0.049, n=n, smallest_effect=0.05) < 0 < gain(0.051, n=n, smallest_effect=0.05)
    assert gain(0.01, n=n) > 0
    # Where observations are few, log n is more than that.
    assert gain(0.1, n=100, smallest_effect=0.05) == gain(0.1, n=100)
    assert gain(0.2, n=math.inf, smallest_effect=0.5) == gain(0.2, n=math.inf)


def test_the_search_leaves_out_what_is_too_weak():
    S = np.eye(3)
    S[0, 1] = S[1, 0] = 0.5
    S[1, 2] = S[2, 1] = 0.02
    options = {"cov": S, "n": 10**6, "rng": 1}
    assert bf.greedy_search(**options).graph.n_edges == 2
    found = bf.greedy_search(**options, smallest_effect=0.05)
    assert [{a, b} for a, _, b in found.graph.edges] == [{"x1", "x2"}]
    assert found.notes == ("penalty 90.59 is implied by smallest_effect = 0.05",)


# --- refused --------------------------------------------------------------------------------------

REFUSED = {
    "gamma alone": ({"gamma": 0.5}, "gamma is an option of penalty='ebic'; leave it out"),
    "gamma with a number": ({"penalty": 1.0, "gamma": 0.5}, "gamma is an option of penalty='ebic'"),
    "gamma too large": ({"penalty": "ebic", "gamma": 2}, "gamma = 2: must be a number between 0"),
    "another word": ({"penalty": "bic"}, "penalty = 'bic': must be a finite number .* or 'ebic'"),
    "an effect of one": ({"smallest_effect": 1.0}, "smallest_effect = 1.0: must be a partial corr"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(options, message):
    for function in (bf.greedy_search, bf.exhaustive_search):
        with pytest.raises(bf.BowfreeError, match=message):
            function(cov=pair(0.5), n=100, **options)
    with pytest.raises(bf.BowfreeError, match=message):
        bf.score(EDGE, cov=pair(0.5), n=100, **options)
