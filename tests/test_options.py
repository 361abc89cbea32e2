"""Checks of options that several functions share."""

import math
from fractions import Fraction

import numpy as np
import pytest

import bowfree as bf
from bowfree.validation import (
    LARGEST_COUNT,
    as_list,
    check_choice,
    check_count,
    check_fraction,
    check_nonnegative,
    check_path,
    check_penalty,
    check_positive,
)

BAD_PENALTIES = [-1, -1e-9, math.nan, math.inf, 1e308, 10**400, True, "1", None, [1.0], 1j]


@pytest.mark.parametrize("penalty", [0, 0.5, np.float32(0.5), np.int64(2), Fraction(1, 2), 1e6])
def test_a_penalty_of_any_type(penalty):
    assert check_penalty(penalty) == float(penalty)
    assert type(check_penalty(penalty)) is float


@pytest.mark.parametrize("penalty", BAD_PENALTIES, ids=lambda penalty: repr(penalty)[:8])
def test_invalid_penalties(penalty):
    with pytest.raises(bf.BowfreeError, match=r"penalty = .*: must be .* >= 0 and at most 1e\+06"):
        check_penalty(penalty)


ODD = [None, "", "2", [], np.array([1, 2]), np.array(1.5), 1j, ...]


@pytest.mark.parametrize("value", [*ODD, True, 0, -3, 1.0, LARGEST_COUNT + 1, 10**400], ids=str)
def test_a_count(value):
    with pytest.raises(bf.BowfreeError, match="rounds") as caught:
        check_count("rounds", value, 1)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("check", [check_positive, check_nonnegative, check_fraction])
@pytest.mark.parametrize("value", [*ODD, True, -0.5, math.nan], ids=str)
def test_a_number(check, value):
    with pytest.raises(bf.BowfreeError, match=r"width\b.*(positive|at least 0|between 0 and 1)"):
        check("width", value)


def test_numbers_of_any_type_become_floats():
    assert (
        check_positive("width", 10**400)
        == check_nonnegative("width", Fraction(10**400))
        == math.inf
    )
    assert (
        check_fraction("width", Fraction(1, 4)) == check_positive("width", np.float32(0.25)) == 0.25
    )
    assert check_nonnegative("width", 0) == 0.0
    assert check_count("rounds", np.uint8(3), 1) == 3


@pytest.mark.parametrize("value", [*ODD, "summer " * 1000], ids=lambda value: str(value)[:9])
def test_a_choice(value):
    with pytest.raises(bf.BowfreeError, match=r"unknown season .*; choose one of dry, wet") as seen:
        check_choice("season", value, ("dry", "wet"))
    assert len(str(seen.value)) < 200


@pytest.mark.parametrize("value", [None, 3, np.array(1.0), ...], ids=str)
def test_a_collection(value):
    with pytest.raises(bf.errors.GraphError, match=r"nodes is .*; (give|pass) a list of names"):
        as_list("nodes", value, "names", bf.errors.GraphError)
    assert as_list("nodes", iter("ab"), "names") == ["a", "b"]


@pytest.mark.parametrize("value", [None, 0, True, "", b"out", "a\0b", "\ud800"], ids=ascii)
def test_a_path(value):
    with pytest.raises(bf.BowfreeError, match="pass the path of a file"):
        check_path("path", value)


def test_paths_of_any_type(tmp_path):
    assert check_path("path", tmp_path) == check_path("path", str(tmp_path)) == str(tmp_path)
