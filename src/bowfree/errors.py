"""The exceptions and the warnings of bowfree.

All exceptions are :class:`ValueError`, so that code which only wants to know "the input was bad"
needs no import from here. Each message says what was wrong, the value seen, and the way out.
"""

import sys
import warnings
from types import FrameType
from typing import Any

__all__ = [
    "BowfreeError",
    "CheckpointError",
    "DataError",
    "DataWarning",
    "FitWarning",
    "GraphError",
    "KnowledgeError",
    "LearnedGraphWarning",
    "ParseError",
    "TimeIsUp",
    "WorkInterrupted",
    "WorkersLost",
]


class BowfreeError(ValueError):
    """Base class: something given to bowfree cannot be used."""


class GraphError(BowfreeError):
    """A graph is not what the function needs: unknown node, self-loop, cycle, bow, other nodes."""


class ParseError(BowfreeError):
    """Text that is not in the named format; the message gives line and column.

    Attributes
    ----------
    line, column : int or None
        Where the text went wrong, counted from 1; None when the text as a whole is the problem.
    """

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(where + message)
        self.line = line
        self.column = column


class DataError(BowfreeError):
    """Data or a covariance matrix that cannot be used: missing values, singular, wrong names."""


class KnowledgeError(BowfreeError):
    """Background knowledge that names unknown variables or contradicts itself."""


class CheckpointError(BowfreeError):
    """A checkpoint that belongs to another search, another version, or is cut short."""


class TimeIsUp(BowfreeError):
    """A time limit was over before there was anything to return."""


class WorkersLost(BowfreeError):
    """All workers of an executor are gone, or it was closed, before the work was done.

    Attributes
    ----------
    result : object
        What was finished by then, as the function would have returned it after a time limit; None
        when there was nothing.
    """

    result: Any = None


class WorkInterrupted(KeyboardInterrupt):
    """Ctrl-C during work that falls into pieces; those that were done are in :attr:`result`.

    Attributes
    ----------
    result : object
        What was finished by then, as the function would have returned it after a time limit.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted; what was done so far is in .result")
        self.result = result


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line outside the package that led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "bowfree"


class DataWarning(UserWarning):
    """Data that are probably not what they are taken for: row numbers, categories."""


class FitWarning(UserWarning):
    """A result worth less than it looks: no convergence, divergence, singular information."""


class LearnedGraphWarning(FitWarning):
    """Standard errors and tests on the rows that the graph was learned from: they say too much."""
