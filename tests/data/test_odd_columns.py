"""Columns that are not measurements: row numbers, categories, constants."""

import warnings

import numpy as np
import pytest

import bowfree as bf
from bowfree.data.diagnostics import odd_columns

RNG = np.random.default_rng(1)
N = 60
NOISE = RNG.standard_normal(N)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.arange(1, N + 1), "identifier"),
        (np.arange(N)[::-1], "identifier"),  # 0 to n - 1 in another order
        (RNG.permutation(N) + 1, "identifier"),
        (1950 + 2 * np.arange(N), "identifier"),
        (np.cumsum(RNG.integers(1, 9, N)), "identifier"),
        (RNG.integers(0, 2, N), "few values"),
        (RNG.integers(1, 6, N), "few values"),
        (np.full(N, 3), "constant"),
        (NOISE, None),
        (np.sort(NOISE), None),  # rising, but no whole numbers
        (RNG.integers(0, 500, N), None),
        (np.round(10 * NOISE), None),
    ],
)
def test_one_column(column, kind):
    odd = odd_columns(["c", "y"], np.column_stack([column, NOISE]).astype(float))
    assert odd == ({} if kind is None else {kind: ["c"]})


def test_missing_values_and_few_rows():
    column = np.arange(40.0)
    column[3] = np.nan
    assert odd_columns(["id"], column[:, None]) == {"identifier": ["id"]}
    assert odd_columns(["id"], np.arange(5.0)[:, None]) == {}
    assert odd_columns(["empty"], np.full((5, 1), np.nan)) == {}


def test_many_different_values_after_the_first_thousand():
    column = np.r_[np.zeros(1500), NOISE]
    assert odd_columns(["c"], column[:, None]) == {}
    assert odd_columns(["c"], np.r_[np.zeros(1500), np.ones(9)][:, None]) == {"few values": ["c"]}


def test_a_search_warns():
    data = {"id": np.arange(N), "sex": RNG.integers(0, 2, N), "x": NOISE, "y": NOISE**3}
    quick = {"restarts": 1, "rounds": 0, "rng": 1}
    with pytest.warns(bf.errors.DataWarning) as caught:
        bf.greedy_search(data, **quick)
    said = [str(w.message) for w in caught]
    assert len(said) == 2
    assert "column id looks like row numbers" in said[0]
    assert "column sex looks like categories" in said[1]
    assert said[1].endswith("nominal=['sex']; to drop it: data.drop(columns=['sex'])")
    assert all(w.filename == __file__ for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bf.greedy_search({"x": NOISE, "y": NOISE**3}, **quick)
        bf.greedy_search(bf.moments(data), **quick)  # no rows to look at
        bf.fit(bf.parse("id -> x"), data)  # the user named the column
