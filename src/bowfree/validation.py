"""Validation of arguments, with messages that name the argument, the value and the remedy."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeGuard

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr

# With a larger penalty the likelihood is lost in the rounding of the score.
LARGEST_PENALTY = 1e6
# The core stores some counts in 32 bits.
LARGEST_COUNT = 2**31 - 1


def check_count(name: str, value: int, least: int) -> int:
    """Return a whole number of at least ``least``, or raise an error."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise BowfreeError(
            f"{name} must be a whole number of at least {least}, got {short_repr(value)}"
        )
    if number > LARGEST_COUNT:
        raise BowfreeError(f"{name} = {short_repr(value)} is too large: at most {LARGEST_COUNT:,}")
    return number


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy; booleans are not."""
    # The check against the abstract class `Real` is slow, and most numbers are of these types.
    return type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))


def check_penalty(value: object, *, also: str = "") -> float:
    """Return a penalty as a float, or raise an error, which adds `also`, such as ", or 'ebic'"."""
    number = as_float(value) if is_number(value) else math.nan
    if not 0.0 <= number <= LARGEST_PENALTY:
        raise BowfreeError(
            f"penalty = {short_repr(value)}: must be a finite number >= 0 and at most "
            f"{LARGEST_PENALTY:g} (1 is the paper's, 0.5 the usual BIC){also}"
        )
    return number


def check_choice(
    name: str, value: object, choices: Sequence[str], error: type[BowfreeError] = BowfreeError
) -> int:
    """Return the index of ``value`` in ``choices``, or raise an error."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"unknown {name} {short_repr(value)}; choose one of {', '.join(choices)}")
    return choices.index(value)


def check_positive(name: str, value: float) -> float:
    """Return a positive number as a float, or raise an error."""
    if not is_number(value) or not value > 0:
        raise BowfreeError(f"{name} must be positive, got {short_repr(value)}")
    return as_float(value)


def check_nonnegative(name: str, value: float) -> float:
    """Return a number of at least 0 as a float, or raise an error."""
    if not is_number(value) or not value >= 0:
        raise BowfreeError(f"{name} = {short_repr(value)}: must be a number of at least 0")
    return as_float(value)


def check_fraction(name: str, value: float) -> float:
    """Return a number between 0 and 1 as a float, or raise an error."""
    if not is_number(value) or not 0 < value < 1:
        raise BowfreeError(f"{name} = {short_repr(value)}: must be a number between 0 and 1")
    return as_float(value)


def as_float(value: float) -> float:
    """Return a number as a float, infinity if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_list(
    name: str, values: Any, what: str, error: type[BowfreeError] = BowfreeError
) -> list[Any]:
    """Return a collection of `what` as a list, or raise an error; a string becomes its letters."""
    try:
        return list(values)
    except TypeError:
        raise error(f"{name} is {short_repr(values)}; pass a list of {what}") from None


def check_path(name: str, value: object) -> str:
    """Return the path of a file as a string, or raise an error."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    try:
        usable = isinstance(path, str) and b"\0" not in os.fsencode(path) and path != ""
    except UnicodeEncodeError:
        usable = False
    if not isinstance(path, str) or not usable:
        raise BowfreeError(
            f"{name} = {short_repr(value)}: pass the path of a file, such as 'out.html'"
        )
    return path
