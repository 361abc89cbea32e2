"""The exceptions and warnings of bowfree.

All exceptions but :class:`WorkInterrupted` are subclasses of :class:`ValueError`. Messages state
the problem, the value and the remedy.
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
    """Base class of the exceptions: an argument cannot be used."""


class GraphError(BowfreeError):
    """A graph that the function cannot use: unknown node, self-loop, cycle, bow, other nodes."""


class ParseError(BowfreeError):
    """A string that is not in the expected format.

    Attributes
    ----------
    line, column : int or None
        Position of the problem, counted from 1; None if it concerns the whole string.
    """

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(where + message)
        self.line = line
        self.column = column


class DataError(BowfreeError):
    """Data or a covariance matrix that cannot be used: missing values, singular, wrong names."""


class KnowledgeError(BowfreeError):
    """Background knowledge that names unknown variables or is contradictory."""


class CheckpointError(BowfreeError):
    """A checkpoint of another search or version, or a damaged one."""


class TimeIsUp(BowfreeError):
    """The time limit was reached before there was a result."""


class WorkersLost(BowfreeError):
    """All workers of an executor have died, or it was closed, before all tasks were done.

    Attributes
    ----------
    result : object
        The result of the finished tasks, as after a time limit; None if there is none.
    """

    result: Any = None


class WorkInterrupted(KeyboardInterrupt):
    """Ctrl-C during a computation that consists of tasks.

    Attributes
    ----------
    result : object
        The result of the finished tasks, as after a time limit.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted; the result so far is in .result")
        self.result = result


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the line outside the package that caused it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "bowfree"


class DataWarning(UserWarning):
    """Data that are probably not measurements: row numbers, categories."""


class FitWarning(UserWarning):
    """A fit that is not reliable: no convergence, divergence, singular information."""


class LearnedGraphWarning(FitWarning):
    """Standard errors and tests from the rows that the graph was learned from: too optimistic."""
