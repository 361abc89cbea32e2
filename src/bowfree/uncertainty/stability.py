"""Which edges come back on halves of the data, with a bound on the number of false ones.

*Stability selection*: search on many random halves of the rows, and keep the pairs of variables
that are joined in at least a share tau of them. With q pairs joined in a half on average and p
pairs in all, the expected number of kept pairs whose chance of being joined is no more than q / p,
which is what a random choice would have, is at most ::

    C(tau) q^2 / p,    C(tau) = 1 / (2 (2 tau - 1 - 1 / n))         for tau up to 3/4
                       C(tau) = 4 (1 - tau + 1 / n) / (1 + 2 / n)   above

with n halves, provided that the frequencies of such pairs are unimodal. Read the other way round,
the number of false pairs that one is willing to expect gives tau.

The bound is about *adjacency*, not about what kind of edge it is: directions are shared out among
the members of a class, and :func:`bowfree.averaged_effects` has their probabilities.

References
----------
N. Meinshausen and P. Bühlmann, Stability selection, JRSS B 72 (2010); R. D. Shah and R. J.
Samworth, Variable selection with error control: another look at stability selection, JRSS B 75
(2013), for halves that come in complementary pairs and for the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError
from bowfree.graph.text import quote
from bowfree.parallel.budget import Budget
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.uncertainty.repeated_searches import Recipe, Rows, exhausted_note
from bowfree.validation import BudgetOptions, check_count, check_positive, split_options

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StablePairs(TextDisplay, ToDict, Frozen):
    """Pairs of variables that are joined in most halves of the data.

    Attributes
    ----------
    names : tuple of str
        The variables.
    pairs : tuple of (str, str)
        The pairs whose frequency reaches the threshold, the most frequent first.
    frequency : ndarray of shape (d, d)
        Share of the halves in which two variables are joined.
    threshold : float
        The frequency that a pair must reach; infinite when none is enough.
    max_false : float
        How many of the pairs may be false, at most and on average.
    n_joined : float
        Pairs joined in a half, on average.
    n_halves : int
        Number of halves.
    n_planned : int
        Halves that were asked for; when the time was up before, there are fewer.
    n_exhausted : int
        Halves whose search ended when the work set aside for it was done.
    complete : bool
        False when the time limit came first.
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    frequency: Floats
    threshold: float
    max_false: float
    n_joined: float
    n_halves: int
    n_planned: int
    n_exhausted: int
    complete: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What was cut short, in sentences."""
        found = []
        if not self.complete:
            found.append(f"NOT COMPLETE: ended after {self.n_halves} of {self.n_planned} halves")
        if self.n_exhausted:
            found.append(exhausted_note(self.n_exhausted, self.n_halves))
        return tuple(found)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, b, frequency, stable.
        """
        pairs = list(combinations(range(len(self.names)), 2))
        shares = [float(self.frequency[pair]) for pair in pairs]
        return data_frame(
            {
                "a": [self.names[i] for i, _ in pairs],
                "b": [self.names[j] for _, j in pairs],
                "frequency": shares,
                "stable": [share >= self.threshold for share in shares],
            },
            backend,
        )

    def _headline(self) -> str:
        return f"{count(len(self.pairs), 'stable pair')} of {count(len(self.names), 'variable')}"

    def _sections(self) -> Iterator[str | Table]:
        yield (
            f"{count(self.n_halves, 'half', 'halves')} of the data, "
            f"{self.n_joined:.1f} pairs joined in each on average"
        )
        yield from self.notes
        if self.threshold > 1:
            yield (
                f"no pair is stable enough to expect at most {self.max_false:g} false ones: allow "
                "more (`max_false`), or join fewer pairs by a larger penalty"
            )
            return
        yield (
            f"joined in at least {self.threshold:.2f} of them, with at most "
            f"{self.max_false:g} expected to be false:"
        )
        place = {name: k for k, name in enumerate(self.names)}
        rows = [
            (f"{quote(a)}, {quote(b)}", f"{self.frequency[place[a], place[b]]:.2f}")
            for a, b in self.pairs
        ]
        yield Table(("pair", "frequency"), rows, most=MOST_ROWS, rest="more: to_frame() has all")


def stability_selection(
    data: Any,
    *,
    max_false: float = 1.0,
    n_halves: int = 100,
    search: Mapping[str, Any] | None = None,
    **options: Unpack[BudgetOptions],
) -> StablePairs:
    """Search on random halves of the data, and keep the pairs that are joined in most of them.

    Parameters
    ----------
    data : array_like of shape (n, d) or data frame
        Observations in rows.
    max_false : float
        How many of the pairs that are kept may be false, at most and on average.
    n_halves : int
        Number of halves; they come in pairs that have no row in common.
    search : mapping, optional
        Options of :func:`bowfree.greedy_search`, as ``{"penalty": 0.5, "max_in_degree": 2}``;
        ``restarts`` is 3 unless it says otherwise, and the work of each search is bounded as in
        :func:`bowfree.bootstrap`.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``: what may be spent
        (:class:`~bowfree.validation.BudgetOptions`).

    Returns
    -------
    StablePairs

    Raises
    ------
    BowfreeError
        Options that make no sense, or no time for a single half.
    DataError
        Data that cannot be used.

    Examples
    --------
    >>> import bowfree as bf
    >>> data = bf.datasets.load_demo()
    >>> stable = bf.stability_selection(
    ...     data, n_halves=20, search={"restarts": 2, "rounds": 0}, rng=0)
    >>> ("leaves", "fruit") in stable.pairs, ("sun", "pot") in stable.pairs
    (True, False)
    """
    most_false = check_positive("max_false", max_false)
    check_count("n_halves", n_halves, 2)
    (budget_options,) = split_options("stability_selection", options, BudgetOptions)
    budget, recipe = Budget(**budget_options), Recipe.of(search)
    rows = Rows.of(data, recipe)
    if len(rows) < 4:
        raise BowfreeError(f"n = {len(rows)}: half of the rows must be at least 2")
    seeds = budget.generator().integers(0, 2**63, size=n_halves).tolist()
    pairs: StablePairs = budget.run(
        partial(_joined, recipe=recipe),
        _Halves(rows, seeds, budget),
        what="halves",
        gather=partial(_stable, rows.names, most_false, n_halves, budget),
    )
    return pairs


def _stable(
    names: tuple[str, ...],
    max_false: float,
    n_halves: int,
    budget: Budget,
    found: list[_Half | None],
) -> StablePairs:
    """Keep the pairs that most halves join."""
    searched = [half for half in found if half is not None]
    if not searched:
        raise BowfreeError(
            f"time_limit = {budget.time_limit:g}: the time was up before the first half was "
            "searched; give more, or a quicker search"
        )
    frequency: Floats = np.mean([half.joined for half in searched], axis=0)
    d = len(names)
    n_pairs = d * (d - 1) // 2
    n_joined = float(np.triu(frequency, 1).sum())
    most = max_false * n_pairs / n_joined**2 if n_joined else math.inf
    threshold = _threshold(most, len(searched))
    kept = [pair for pair in combinations(range(d), 2) if frequency[pair] >= threshold]
    kept.sort(key=lambda pair: (-frequency[pair], pair))
    return StablePairs(
        names=names,
        pairs=tuple((names[i], names[j]) for i, j in kept),
        frequency=frequency,
        threshold=threshold,
        max_false=max_false,
        n_joined=n_joined,
        n_halves=len(searched),
        n_planned=n_halves,
        n_exhausted=sum(half.exhausted for half in searched),
        complete=len(searched) == n_halves,
    )


def _threshold(most: float, n_halves: int) -> float:
    """Return the smallest tau with C(tau) <= most; infinity when there is none."""
    low = 0.5 + 0.5 / n_halves + (0.25 / most if most > 0 else math.inf)
    if low <= 0.75:
        return low
    high = 1 + 1 / n_halves - 0.25 * most * (1 + 2 / n_halves)
    return max(0.75, high) if high <= 1 else math.inf


@dataclass(frozen=True, eq=False)
class _Halves(Sequence[tuple[Moments, Budget]]):
    """The pieces of work, made when they are asked for: 2 k and 2 k + 1 share no row."""

    rows: Rows
    seeds: list[int]
    budget: Budget

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, k: Any) -> Any:
        halves = self.rows.halves(np.random.default_rng(self.seeds[k - k % 2]))
        return self.rows.moments(halves[k % 2]), self.budget.for_task(
            np.random.default_rng(self.seeds[k])
        )


class _Half(NamedTuple):
    """What one half led to: 1 where its best graph joins two variables."""

    joined: Floats
    exhausted: bool


def _joined(piece: tuple[Moments, Budget], *, recipe: Recipe) -> _Half | None:
    """Search on one half; None when time was up."""
    moments, budget = piece
    result = recipe.search(moments, budget)
    if not result.complete:
        return None
    place = {name: k for k, name in enumerate(moments.names)}
    joined = np.zeros((len(place), len(place)))
    for a, _, b in result.graph.edges:
        joined[place[a], place[b]] = joined[place[b], place[a]] = 1.0
    return _Half(joined, result.hit_work_limit)
