"""What repeated searches on parts of the data share: the rows, and how to search.

Used by :mod:`bowfree.uncertainty.search_bootstrap` and :mod:`bowfree.uncertainty.penalty_choice`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from bowfree.data.conditions import are_conditions
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows
from bowfree.errors import BowfreeError, DataError
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.results.display import count
from bowfree.search.greedy import search_moments
from bowfree.search.plan import Strategy, work_of_search_for
from bowfree.search.result import SearchResult
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import ScoreOptions, SpaceOptions, split_options

Floats = npt.NDArray[np.float64]


class _OtherWords(TypedDict, total=False):
    strategy: Any
    space: Any
    shrinkage: float


RESTARTS = 3
"""Runs of each repeated search, unless the caller says otherwise.

A single search goes on for longer, to be sure of its one graph. Frequencies over many graphs do not
need that: at 15 variables, 20 resamples, they differ by 0.004 on average and 0.05 at most from
those of full searches, in less than half of the time.
"""

WORK = 1.7e8
"""Work set aside for each of these runs and variable, with that of the kicks that come after.

It is counted in multiplications (``work`` of :class:`bowfree.search.Strategy`), not in
seconds, so that the same seed leads to the same graphs on every machine. Most searches need a tenth
of it. The others have come among large districts: on a table of 569 rows and 30 columns, with
districts of twenty variables, a search took fifty seconds without it, and five with it.
"""

WINDOW = 1.0
"""Units of ``n * score`` that the graphs kept by each repeated search may be below its best one.

Nobody looks at them but to choose among equals, and a few hundred graphs, the usual pool, take as
long as a small search.
"""


@dataclass(frozen=True)
class Recipe:
    """How to search, again and again, on other data each time."""

    space: SearchSpace = field(default_factory=SearchSpace)
    rule: ScoringRule = field(default_factory=ScoringRule)
    strategy: Strategy = field(default_factory=Strategy)
    shrinkage: float = 0.0
    bounded: bool = True

    @classmethod
    def of(cls, search: Mapping[str, Any] | None) -> Recipe:
        """Read the options of :func:`bowfree.greedy_search`, as far as they are not ours to set.

        Unless the options say how much work a search may do, it does no more than :data:`WORK` has
        it, nor than a single search does.
        """
        if search is not None and not isinstance(search, Mapping):
            raise BowfreeError(
                f"search is an object of type {type(search).__name__}: give a mapping of options "
                "of greedy_search, such as {'penalty': 0.5}"
            )
        options = dict(search or {})
        ours = ("data", "cov", "n", "ddof", "rng", "n_jobs", "executor", "time_limit", "progress")
        for name in (*ours, "checkpoint"):
            if name in options:
                raise BowfreeError(
                    f"search may not set {short_repr(name)}: every repetition has its own; rng, n_jobs, "
                    "time_limit and progress are options of the function itself"
                )
        space_options, score_options, strategy_options, other = split_options(
            "greedy_search", options, SpaceOptions, ScoreOptions, Strategy, _OtherWords
        )
        strategy = Strategy.of(other.get("strategy", "ils"), **strategy_options)
        ils = strategy.name == "ils"
        if ils and strategy.restarts is None:
            strategy = replace(strategy, restarts=RESTARTS)
        if strategy.window is None:
            strategy = replace(strategy, window=WINDOW)
        return cls(
            SearchSpace.of(other.get("space"), **space_options),
            ScoringRule(**score_options),
            strategy,
            other.get("shrinkage", 0.0),
            ils and strategy.work is None,
        )

    def search(self, moments: Moments, budget: Budget) -> SearchResult:
        """Search on these moments."""
        strategy = self.strategy
        if self.bounded and strategy.restarts is not None:
            d = len(moments.names)
            work = min(strategy.restarts * WORK * d, work_of_search_for(d))
            strategy = replace(strategy, work=work)
        return search_moments(moments, self.space, self.rule, strategy, budget)


def exhausted_note(n_exhausted: int, n_searches: int) -> str:
    """Say that searches came to the bound of their work, and what to do about it."""
    return (
        f"{n_exhausted} of {count(n_searches, 'search', 'searches')} ended when the work set aside "
        "for each was done, among large districts; more `restarts` give each more work, "
        "`max_district` or a larger `penalty` keep districts small"
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations that can be drawn anew or left out."""

    names: tuple[str, ...]
    X: Floats
    shrinkage: float

    @classmethod
    def of(cls, data: Any, recipe: Recipe) -> Rows:
        """Read the data, after the checks that every function makes."""
        if isinstance(data, JointMoments) or are_conditions(data):
            moments = DataOptions(shrinkage=recipe.shrinkage).read(data)
            if isinstance(moments, JointMoments):
                return JointRows.of_conditions(moments)
            data = moments
        if isinstance(data, Moments) and isinstance(data.sample, CompleteRows) and data.plain:
            data = data.sample.table(data.names, data.mean)
        if data is None or isinstance(data, Moments):
            raise DataError(
                "observations are missing: resampling needs the rows themselves, not a covariance "
                "matrix"
            )
        DataOptions(shrinkage=recipe.shrinkage).read(data)
        return cls(*read_observations(data, None, "data"), recipe.shrinkage)

    def __len__(self) -> int:
        return len(self.X)

    def moments(self, chosen: npt.NDArray[Any]) -> Moments:
        """Return the moments of some rows by their numbers."""
        columns = dict(zip(self.names, self.X[chosen].T, strict=True))
        return DataOptions(shrinkage=self.shrinkage).read(columns).without_rows()

    def draw(self, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Draw as many rows as there are, with replacement."""
        return rng.integers(0, len(self), size=len(self))

    def halves(self, rng: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return two random halves that share no row."""
        order = rng.permutation(len(self))
        half = len(order) // 2
        return order[:half], order[half : 2 * half]

    def folds(self, cv: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Deal the rows out at random; return the number of the fold of each."""
        fold = np.empty(len(self), dtype=np.int64)
        fold[rng.permutation(len(self))] = np.arange(len(self)) % cv
        return fold

    def left_out(self, out: npt.NDArray[np.bool_]) -> tuple[LeftOut, ...]:
        """Return what the likelihood of some rows needs to know of them, by condition."""
        return (_about_mean_of_others(self.X, out),)


class LeftOut(NamedTuple):
    """Rows that were left out: how many, and their second moments about the mean of the others."""

    n: int
    about_mean: Floats


def _about_mean_of_others(X: Floats, out: npt.NDArray[np.bool_]) -> LeftOut:
    deviations = X[out] - X[~out].mean(axis=0)
    return LeftOut(len(deviations), deviations.T @ deviations / max(len(deviations), 1))


@dataclass(frozen=True, eq=False)
class JointRows(Rows):
    """Observations of several conditions below each other; each is drawn from by itself."""

    joint: JointMoments

    @classmethod
    def of_conditions(cls, moments: JointMoments) -> JointRows:
        """Take conditions that have rows, all of them."""
        rows = [c.deviations for c in moments.conditions if c.deviations is not None]
        if len(rows) < len(moments.conditions):
            raise DataError("resampling needs the rows themselves, in every condition")
        return cls(moments.names, np.concatenate(rows), 0.0, moments)

    @property
    def _ends(self) -> npt.NDArray[np.int_]:
        return np.cumsum([round(c.n) for c in self.joint.conditions])

    def moments(self, chosen: npt.NDArray[Any]) -> Moments:
        """Return the moments of some rows by their numbers."""
        parts, start = [], 0
        for end in self._ends:
            parts.append(chosen[(chosen >= start) & (chosen < end)] - start)
            start = end
        return self.joint._of_rows(parts).without_rows()

    def draw(self, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Draw as many rows of each condition as it has, with replacement."""
        return np.concatenate(
            [
                end - round(c.n) + rng.integers(0, round(c.n), size=round(c.n))
                for end, c in zip(self._ends, self.joint.conditions, strict=True)
            ]
        )

    def halves(self, rng: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return two random halves that share no row, each with half of every condition."""
        first, second = [], []
        for end, condition in zip(self._ends, self.joint.conditions, strict=True):
            order = end - round(condition.n) + rng.permutation(round(condition.n))
            half = len(order) // 2
            first.append(order[:half])
            second.append(order[half : 2 * half])
        return np.concatenate(first), np.concatenate(second)

    def folds(self, cv: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Deal out the rows of each condition by themselves."""
        fold = np.empty(len(self), dtype=np.int64)
        for end, condition in zip(self._ends, self.joint.conditions, strict=True):
            n = round(condition.n)
            fold[end - n + rng.permutation(n)] = np.arange(n) % cv
        return fold

    def left_out(self, out: npt.NDArray[np.bool_]) -> tuple[LeftOut, ...]:
        """Return the same for each condition."""
        parts = zip(np.split(self.X, self._ends[:-1]), np.split(out, self._ends[:-1]), strict=True)
        return tuple(_about_mean_of_others(X, own) for X, own in parts)
