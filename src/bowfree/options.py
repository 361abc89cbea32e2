"""Checks of options that several functions share: what was wrong, the value seen, the way out."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from bowfree.errors import BowfreeError

__all__ = ["at_least", "n_threads", "one_of", "positive"]


def at_least(name: str, value: int, least: int) -> int:
    """Return ``value`` as an int, or raise when it is not a whole number >= ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise BowfreeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def one_of(name: str, value: str, choices: Sequence[str]) -> int:
    """Return the place of ``value`` among ``choices``, or raise."""
    if value not in choices:
        raise BowfreeError(f"unknown {name} {value!r}; choose one of {', '.join(choices)}")
    return choices.index(value)


def positive(name: str, value: float) -> float:
    """Return ``value``, or raise when it is not positive (NaN is not)."""
    if not value > 0:
        raise BowfreeError(f"{name} must be positive, got {value!r}")
    return value


def n_threads(n_jobs: int) -> int:
    """Return the number of threads that ``n_jobs`` stands for; -1 is one for each core."""
    if n_jobs == -1:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    return at_least("n_jobs", n_jobs, 1)
