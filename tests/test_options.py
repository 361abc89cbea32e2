"""Checks of options that several functions share."""

import math
from fractions import Fraction

import numpy as np
import pytest

import bowfree as bf
from bowfree.options import checked_penalty

S = [[1.0, 0.5], [0.5, 1.0]]
EDGE = bf.parse("x1 -> x2")
BAD_PENALTIES = [-1, -1e-9, math.nan, math.inf, 1e308, 10**400, True, "1", None, [1.0], 1j]


@pytest.mark.parametrize("penalty", [0, 0.5, np.float32(0.5), np.int64(2), Fraction(1, 2), 1e6])
def test_a_penalty_of_any_type(penalty):
    assert checked_penalty(penalty) == float(penalty)
    assert type(checked_penalty(penalty)) is float


@pytest.mark.parametrize("penalty", BAD_PENALTIES, ids=lambda penalty: repr(penalty)[:8])
def test_a_penalty_that_makes_no_score(penalty):
    with pytest.raises(bf.BowfreeError, match=r"penalty = .*: must be .* >= 0 and at most 1e\+06"):
        checked_penalty(penalty)


@pytest.mark.parametrize("penalty", [-1.0, 1e308, math.nan])
def test_every_score_asks_for_a_sensible_penalty(penalty):
    options = {"cov": S, "n": 100, "penalty": penalty}
    for ask in (
        lambda: bf.fit(EDGE, **options),
        lambda: bf.score(EDGE, **options),
        lambda: bf.district_scores(EDGE, **options),
        lambda: bf.exhaustive_search(**options),
        lambda: bf.greedy_search(**options),
        lambda: bf.structure_mcmc(**options),
        lambda: bf.averaged_effects([EDGE], **options),
    ):
        with pytest.raises(bf.BowfreeError, match="penalty"):
            ask()
