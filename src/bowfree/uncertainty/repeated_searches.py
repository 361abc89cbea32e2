"""Searches that are repeated on parts of the data, or on resampled rows.

Shared by :mod:`~bowfree.uncertainty.search_bootstrap` and :mod:`~bowfree.uncertainty.selection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from bowfree.data.conditions import are_conditions
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments, with_columns
from bowfree.data.options import DataOptions
from bowfree.data.sample import (
    Bools,
    CompleteRows,
    Floats,
    Indices,
    NonGaussianRows,
    cross_products,
)
from bowfree.errors import DataError
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.results.display import count
from bowfree.search.greedy import search_moments
from bowfree.search.plan import Strategy, StrategyName, work_of_search_for
from bowfree.search.result import SearchResult
from bowfree.space.search_space import SearchSpace

HeldOut = tuple[int, Floats]  # number of rows left out, second moments about the mean of the others

RESTARTS = 3
"""Default number of restarts; frequencies over many searches need fewer than a single search."""

WORK = 1.7e8
"""Work limit of a search for each restart and variable (``work`` of :class:`Strategy`).

Most searches need a tenth of it; the others have large districts. Work is counted and not timed, so
that the same seed gives the same result on every machine.
"""

WINDOW = 1.0
"""Window of the pool of each search, in units of ``n * score``; the pool is used to break ties."""

MOST_DRAWS = 100  # of a resample in which every category occurs


@dataclass(frozen=True)
class RepeatedSearch:
    """Settings of a search that is repeated on different data."""

    space: SearchSpace
    rule: ScoringRule
    strategy: Strategy

    @classmethod
    def of(
        cls,
        space: SearchSpace,
        rule: ScoringRule,
        strategy: StrategyName | Strategy,
        restarts: int | None = None,
    ) -> RepeatedSearch:
        """Return the settings, with the defaults of repeated searches."""
        strategy = Strategy.of(strategy, None, restarts)
        if strategy.name == "ils" and strategy.restarts is None:
            strategy = replace(strategy, restarts=RESTARTS)
        if strategy.window is None:
            strategy = replace(strategy, window=WINDOW)
        return cls(space, rule, strategy)

    def search(self, moments: Moments, budget: Budget) -> SearchResult:
        """Search on these moments, with a limit on the work unless the strategy has its own."""
        strategy = self.strategy
        if strategy.name == "ils" and strategy.work is None:
            d = len(moments.names)
            work = min((strategy.restarts or RESTARTS) * WORK * d, work_of_search_for(d))
            strategy = replace(strategy, work=work)
        return search_moments(moments, self.space, self.rule, strategy, budget)


def limit_notes(what: str, n_searches: int, n_planned: int, n_limited: int) -> tuple[str, ...]:
    """Return notes on searches that time did not permit, or that reached their work limit."""
    notes = []
    if n_searches < n_planned:
        notes.append(f"NOT COMPLETE: ended after {n_searches} of {n_planned} {what}")
    if n_limited:
        notes.append(
            f"{n_limited} of {count(n_searches, 'search', 'searches')} reached the work limit, "
            "because of large districts; raise `restarts` for more work, or `penalty`, or set "
            "`max_district`"
        )
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations that can be resampled; those of several conditions are resampled separately."""

    names: tuple[str, ...]
    X: Floats
    sizes: tuple[int, ...]  # numbers of rows of each condition
    options: DataOptions
    joint: JointMoments | None = None
    clusters: tuple[Indices, ...] = ()  # the rows of each, drawn together
    design_effect: float = 1.0
    source: Moments | None = None  # of nominal variables, whose indicators are `X`

    @classmethod
    def of(
        cls, data: Any, shrinkage: Any = 0.0, clusters: Any = None, nominal: Sequence[str] = ()
    ) -> Rows:
        """Read and validate the data."""
        options = DataOptions(shrinkage=shrinkage)
        first = DataOptions(nominal=nominal, clusters=clusters)
        if clusters is not None or first.nominal:
            data = first.read(data)
        if isinstance(data, JointMoments) or are_conditions(data):
            data = options.read(data)
        if isinstance(data, JointMoments):
            rows = [c.deviations for c in data.conditions if c.deviations is not None]
            if len(rows) < len(data.conditions):
                raise DataError("resampling requires rows in every condition, not covariances")
            sizes = tuple(map(len, rows))
            return cls(data.names, np.concatenate(rows), sizes, options, data)
        members: list[Indices] = []
        effect, source = 1.0, None
        if isinstance(data, BlockMoments):
            source, data = data, data.columns
        if isinstance(data, Moments) and isinstance(data.sample, CompleteRows):
            sample = data.sample
            if isinstance(sample, NonGaussianRows):
                options = DataOptions(shrinkage=shrinkage, errors="nongaussian")
            if sample.clusters is not None and sample.weights is None:
                order = np.argsort(sample.clusters, kind="stable")
                members = np.split(order, np.cumsum(np.bincount(sample.clusters))[:-1])
                effect = sample.design_effect()
            if sample.weights is None:
                data = sample.table(data.names, data.mean)
        if data is None or isinstance(data, Moments):
            raise DataError(
                "resampling requires observations in rows, not a covariance matrix, and without "
                "weights, ranks, ordered categories and missing values"
            )
        options.read(data)
        names, X = read_observations(data, None, "data")
        return cls(names, X, (len(X),), options, None, tuple(members), effect, source)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, of which `names` are the columns."""
        return self.names if self.source is None else self.source.names

    def __len__(self) -> int:
        return len(self.X)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the first row of each condition and its number of rows."""
        for end, n in zip(accumulate(self.sizes), self.sizes, strict=True):
            yield end - n, n

    def moments(self, chosen: Indices) -> Moments:
        """Return the moments of rows given by their numbers."""
        if self.joint is None:
            columns = dict(zip(self.names, self.X[chosen].T, strict=True))
            found = self.options.read(columns).without_rows()
            if self.clusters:
                n = max(2.0, float(np.round(found.n / self.design_effect)))
                found = Moments._unchecked(found.names, found.S, n, found.mean, None, found.notes)
            return found if self.source is None else with_columns(self.source, found)
        parts = [
            chosen[(chosen >= start) & (chosen < start + n)] - start for start, n in self._blocks()
        ]
        return self.joint._of_rows(parts).without_rows()

    def _units(self) -> list[tuple[int, Callable[[Indices], Indices]]]:
        """Return the number of rows, or of clusters, of each condition, and the rows of some."""
        if self.clusters:
            clusters = self.clusters
            return [(len(clusters), lambda some: np.concatenate([clusters[k] for k in some]))]
        return [(n, partial(np.add, start)) for start, n in self._blocks()]

    def draw(self, rng: np.random.Generator) -> Indices:
        """Draw rows with replacement, as many of each condition as it has, or whole clusters.

        Draws in which a category of a nominal variable does not occur are repeated.
        """
        for _ in range(MOST_DRAWS):
            drawn = [take(rng.integers(0, n, size=n)) for n, take in self._units()]
            chosen = np.concatenate(drawn)
            if self.source is None or (constant := np.ptp(self.X[chosen], axis=0) == 0).sum() == 0:
                return chosen
        raise DataError(
            f"{self.names[int(np.argmax(constant))]} is constant in {MOST_DRAWS} resamples: merge "
            "rare categories"
        )

    def halves(self, rng: np.random.Generator) -> list[Indices]:
        """Return two disjoint random halves of the rows, each with half of every condition."""
        units = self._units()
        orders = [rng.permutation(n)[: n // 2 * 2].reshape(2, -1) for n, _ in units]
        return [
            np.concatenate([take(order[k]) for (_, take), order in zip(units, orders, strict=True)])
            for k in (0, 1)
        ]

    def folds(self, cv: int, rng: np.random.Generator) -> Indices:
        """Return a random fold number for each row, balanced within every condition."""
        fold = np.empty(len(self), dtype=np.intp)
        for n, take in self._units():
            order = rng.permutation(n)
            for k in range(min(cv, n)):
                fold[take(order[k::cv])] = k
        return fold

    def held_out(self, out: Bools) -> list[HeldOut]:
        """Return the rows left out: their number, and moments about the mean of the others."""
        found = []
        for start, n in self._blocks():
            X, own = self.X[start : start + n], out[start : start + n]
            deviations = X[own] - X[~own].mean(axis=0)
            size = len(deviations)
            found.append((size, cross_products(deviations, deviations) / max(size, 1)))
        return found
