"""A warning points at the line of the caller outside the package."""

import warnings

import numpy as np
import pytest

import bowfree as bf

DATA = bf.datasets.load_demo()
RESULT = bf.greedy_search(DATA, restarts=1, rounds=0, rng=1)

ROWS = {"row": np.arange(60.0), "x": np.sin(np.arange(60.0))}
QUICK = bf.search.Strategy(restarts=1, rounds=0)

CALLS = {
    "fit of a result": lambda: bf.fit(RESULT),
    "result.fit()": lambda: RESULT.fit(),
    "a method on a list": lambda: [one.fit() for one in [RESULT]],
    "row numbers": lambda: bf.greedy_search(ROWS, rng=1, strategy=QUICK),
    "an estimator": lambda: bf.BAPLearner(random_state=1, strategy=QUICK).fit(ROWS),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_the_line_is_the_users(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}
