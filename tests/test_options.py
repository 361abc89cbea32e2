"""Checks of options that several functions share."""

import math
from fractions import Fraction
from functools import partial

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

ODD = [None, "", "2", [], np.array([1, 2]), np.array(1.5), 1j, ...]
NOT_POSITIVE = [*ODD, True, -0.5, math.nan]
# check, values that it refuses, the message
REFUSED = {
    "penalty": (
        check_penalty,
        [*ODD, -1, -1e-9, math.nan, math.inf, 1e308, 10**400, True],
        r"penalty = .*: must be .* >= 0 and at most 1e\+06",
    ),
    "count": (
        partial(check_count, "rounds", least=1),
        [*ODD, True, 0, -3, 1.0, LARGEST_COUNT + 1, 10**400],
        "rounds",
    ),
    "positive": (partial(check_positive, "width"), NOT_POSITIVE, r"width\b.* positive"),
    "nonnegative": (partial(check_nonnegative, "width"), NOT_POSITIVE, r"width\b.*at least 0"),
    "fraction": (partial(check_fraction, "width"), NOT_POSITIVE, r"width\b.*between 0 and 1"),
    "choice": (
        partial(check_choice, "season", choices=("dry", "wet")),
        [*ODD, "summer " * 1000],
        "unknown season .*; choose one of dry, wet",
    ),
    "list": (
        partial(as_list, "nodes", what="names"),
        [None, 3, np.array(1.0), ...],
        "nodes is .*; pass a list of names",
    ),
    "path": (
        partial(check_path, "path"),
        [None, 0, True, "", b"out", "a\0b", "\ud800"],
        "pass the path of a file",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_values(name):
    check, values, message = REFUSED[name]
    for value in values:
        with pytest.raises(bf.BowfreeError, match=message) as caught:
            check(value)
        assert len(str(caught.value)) < 200


def test_values_of_any_type(tmp_path):
    for check in (check_penalty, *(REFUSED[name][0] for name in ("positive", "fraction"))):
        for number in (0.5, np.float32(0.5), Fraction(1, 2)):
            assert (check(number), type(check(number))) == (0.5, float)
    assert check_positive("width", 10**400) == math.inf
    assert check_nonnegative("width", 0) == 0.0
    assert check_count("rounds", np.uint8(3), 1) == 3
    assert as_list("nodes", iter("ab"), "names") == ["a", "b"]
    assert check_path("path", tmp_path) == check_path("path", str(tmp_path)) == str(tmp_path)
