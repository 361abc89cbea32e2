"""How stable is what was found? The bootstrap.

:func:`bootstrap` draws the observations anew, searches again, and counts: how often is there an
edge, how often an effect in every member of the class, and how far do the effects spread. Unlike
the averages of :mod:`bowfree.uncertainty.averaging`, which ask what the given data support, it asks
what other data of the same kind would have led to.

Resamples are independent searches. Each has a random stream of its own, so that the result is the
same for every ``n_jobs`` and every executor. Next: :mod:`bowfree.uncertainty.penalty_choice`,
which leaves observations out instead of drawing them anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.effects.bounds import ZERO, class_bounds, effect_counter
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.targets import targets_of
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup
from bowfree.graph.text import quote
from bowfree.model.effect_tables import EffectMatrices, decimals, effect_pairs, effect_table
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Rng, public
from bowfree.results.display import MOST_ROWS, Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row
from bowfree.uncertainty.repeated_searches import Recipe, Rows, exhausted_note
from bowfree.validation import check_count, check_fraction, check_nonnegative

Floats = npt.NDArray[np.float64]

N_RESAMPLES = 100
LIMIT = 10_000  # members of a component: a single class of a million would outlast all the searches


_EDGES = ("directed", "bidirected", "adjacent")
_RARE = 0.05  # what is found less often than this is not printed


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(EffectMatrices, EdgeLookup[Row], Frozen):
    """Frequencies and intervals over resamples; ``[i, j]`` is about j -> i, or j's effect on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    graphs : tuple of MixedGraph
        The best graph of each resample.
    scores : ndarray of shape (resamples,)
        Their scores.
    directed, bidirected, adjacent : ndarray of shape (d, d)
        How often there is an edge j -> i, an edge i <-> j, an edge of any kind. In a resample an
        edge counts by the share of the members of the class that have it.
    directed_interval, bidirected_interval, adjacent_interval : ndarray of shape (2, d, d)
        Lower and upper ends of Wilson's interval for these frequencies.
    effect_frequency : ndarray of shape (d, d)
        How often every member of the class has an effect of j on i.
    effect_frequency_interval : ndarray of shape (2, d, d)
        Wilson's interval for that.
    min_abs : ndarray of shape (d, d)
        Mean of the smallest absolute effect over the class.
    min_abs_interval : ndarray of shape (2, d, d)
        Quantiles of the same.
    total_effect_interval : ndarray of shape (2, d, d)
        Percentile interval for the total effect, whichever member of the class is true: the lower
        quantile of the lower bounds and the upper quantile of the upper bounds.
    confidence : float
        Level of all intervals.
    n_planned : int
        Resamples that were asked for; after a time limit or Ctrl-C there are fewer.
    n_exhausted : int
        Resamples whose search ended when the work set aside for it was done, with the best graph by
        then; a longer search may have found a better one.
    complete : bool
        False when the time was up before the last resample, or when some class had more members
        than were looked at.
    """

    names: tuple[str, ...]
    graphs: tuple[MixedGraph, ...]
    scores: Floats
    directed: Floats
    bidirected: Floats
    adjacent: Floats
    directed_interval: Floats
    bidirected_interval: Floats
    adjacent_interval: Floats
    effect_frequency: Floats
    effect_frequency_interval: Floats
    min_abs: Floats
    min_abs_interval: Floats
    total_effect_interval: Floats
    confidence: float
    n_planned: int
    n_exhausted: int
    complete: bool

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.graphs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was cut short, in sentences."""
        found = []
        if self.n_resamples < self.n_planned:
            found.append(
                f"NOT COMPLETE: ended after {self.n_resamples} of {self.n_planned} "
                "resamples; frequencies and intervals are those of these"
            )
        elif not self.complete:
            found.append("NOT COMPLETE: some classes have more members than `limit`")
        if self.n_exhausted:
            found.append(exhausted_note(self.n_exhausted, self.n_resamples))
        return tuple(found)

    def _matrices(self) -> dict[str, Floats]:
        lower, upper = self.total_effect_interval
        edges = {name: getattr(self, name) for name in ("min_abs", *_EDGES)}
        return {"frequency": self.effect_frequency, "lower": lower, "upper": upper, **edges}

    def _at_edge(self, i: int, mark: str, j: int) -> Row:
        kind = "directed" if mark == "->" else "bidirected"
        lower, upper = getattr(self, f"{kind}_interval")[:, j, i].tolist()
        frequency = float(getattr(self, kind)[j, i])
        return Row(
            a=self.names[i],
            mark=mark,
            b=self.names[j],
            frequency=frequency,
            lower=lower,
            upper=upper,
        )

    def _content(self) -> Any:
        counts = ("n_resamples", "n_planned", "n_exhausted")
        plain = ("names", *counts, "confidence", "complete", "notes", "graphs", "scores")
        effects = ("effect_frequency", "effect_frequency_interval", "min_abs", "min_abs_interval")
        arrays = (*_EDGES, *(f"{name}_interval" for name in _EDGES), *effects)
        return {name: getattr(self, name) for name in (*plain, *arrays, "total_effect_interval")}

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {count(self.n_resamples, 'resample')}"
        return some if self.complete else f"{some}, not complete"

    def _sections(self) -> Iterator[str | Table]:
        level = f"{100 * self.confidence:g} %"
        yield f"{self.n_resamples} bootstrap resamples"
        yield from self.notes
        yield self._edges(level)
        lower, upper = self.total_effect_interval
        yield effect_table(
            "effect",
            self.names,
            effect_pairs(self.effect_frequency >= _RARE),
            {
                "in all members": decimals(self.effect_frequency, 2),
                f"{level} interval of its size": lambda i, j: (
                    f"{lower[i, j]:.3f} to {upper[i, j]:.3f}"
                ),
            },
            size=self.effect_frequency,
        )

    def _edges(self, level: str) -> Table:
        names, d = [quote(name) for name in self.names], len(self.names)
        pairs = [(i, j) for i, j in combinations(range(d), 2) if self.adjacent[i, j] >= _RARE]
        if len(pairs) > MOST_ROWS:
            pairs.sort(key=lambda pair: -self.adjacent[pair])
        low, high = self.adjacent_interval
        rows = []
        for i, j in pairs:
            numbers = (self.directed[j, i], self.directed[i, j], self.bidirected[i, j])
            rows.append(
                (
                    f"{names[i]}, {names[j]}",
                    f"{self.adjacent[i, j]:.2f}",
                    f"{low[i, j]:.2f} to {high[i, j]:.2f}",
                    *(f"{x:.2f}" for x in numbers),
                )
            )
        headings = ("edge", "any", f"{level} interval", "a -> b", "a <- b", "a <-> b")
        return Table(headings, rows, most=MOST_ROWS, rest="rarer ones: to_frame() has all")


@public
def bootstrap(
    data: Any,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = 0.95,
    search: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
    zero: float = ZERO,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> BootstrapResult:
    """Search on resampled data, and count edges and effects.

    The bootstrap of a given graph is :func:`bowfree.bootstrap_fit`.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Of several conditions each is drawn from by itself.
    n_resamples : int
        Number of resamples, each of n rows drawn with replacement.
    confidence : float
        Level of the intervals. Both tails of the quantiles must hold a resample, so 95 % needs at
        least 40 of them.
    search : mapping, optional
        Options of :func:`bowfree.greedy_search`, as ``{"penalty": 0.5, "max_in_degree": 2}``. The
        searches are shorter than a single one: three restarts each, and for each of these ``work``
        of 1.7e8 multiplications a variable, a tenth of which suffices for most. Say
        ``{"restarts": 24}`` for the usual number, which also gives them more work.
    limit : int
        Largest number of members of each component of a class.
    zero : float
        Effects with an absolute value up to this count as none.

    Returns
    -------
    BootstrapResult

    Raises
    ------
    WorkInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` with the resamples that were done in its ``result``.
    BowfreeError
        Too few resamples for the level of confidence, or options that are not the search's.
    DataError
        Data that cannot be used.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> g = bf.parse("x -> y <- z")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0], [1, 0, 1], [0, 0, 0]], np.eye(3))
    >>> quick = {"restarts": 2, "rounds": 0}
    >>> stable = bf.bootstrap(sem.sample(300, rng=3), n_resamples=40, search=quick, rng=0)
    >>> x, y, z = range(3)
    >>> bool(stable.adjacent[x, y] > 0.99), bool(stable.adjacent[x, z] < 0.3)
    (True, True)

    References
    ----------
    B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993; E. B. Wilson, Probable
    inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    confidence, zero = check_fraction("confidence", confidence), check_nonnegative("zero", zero)
    needed = resamples_needed(confidence)
    if check_count("n_resamples", n_resamples, 1) < needed:
        raise BowfreeError(
            f"n_resamples = {n_resamples} is too few for intervals of level {confidence:g}: at "
            f"least {needed} are needed; raise n_resamples or lower confidence"
        )
    budget, recipe = Budget(rng, n_jobs, time_limit, progress, executor), Recipe.of(search)
    rows = Rows.of(data, recipe)
    check_count("limit", limit, 1)
    seeds = budget.generator().integers(0, 2**63, size=n_resamples).tolist()
    result: BootstrapResult = budget.run(
        partial(_resample, recipe=recipe, limit=limit, zero=zero),
        _Resamples(rows, seeds, budget),
        what="resamples",
        gather=partial(_counted, rows.names, n_resamples, confidence, budget),
    )
    return result


def _counted(
    names: tuple[str, ...],
    n_resamples: int,
    confidence: float,
    budget: Budget,
    done: list[_Resample | None],
) -> BootstrapResult:
    """Count over the resamples whose search came to its end."""
    found = [one for one in done if one is not None]
    if not found:
        raise BowfreeError(
            f"time_limit = {budget.time_limit:g}: the time was up before the first resample was "
            "done; give more, or a quicker search"
        )
    mean = {
        name: np.mean([getattr(one, name) for one in found], axis=0)
        for name in ("directed", "bidirected", "min_abs", "effect")
    }
    adjacent = mean["directed"] + mean["directed"].T + mean["bidirected"]
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)

    def wilson(frequency: Floats) -> Floats:
        return wilson_interval(frequency, len(found), confidence)

    return BootstrapResult(
        names=names,
        graphs=tuple(one.graph for one in found),
        scores=np.array([one.score for one in found]),
        directed=mean["directed"],
        bidirected=mean["bidirected"],
        adjacent=adjacent,
        directed_interval=wilson(mean["directed"]),
        bidirected_interval=wilson(mean["bidirected"]),
        adjacent_interval=wilson(adjacent),
        effect_frequency=mean["effect"],
        effect_frequency_interval=wilson(mean["effect"]),
        min_abs=mean["min_abs"],
        min_abs_interval=np.quantile([one.min_abs for one in found], tails, axis=0),
        total_effect_interval=np.stack(
            [
                np.quantile([one.lower for one in found], tails[0], axis=0),
                np.quantile([one.upper for one in found], tails[1], axis=0),
            ]
        ),
        confidence=float(confidence),
        n_planned=n_resamples,
        n_exhausted=sum(one.exhausted for one in found),
        complete=len(found) == n_resamples and all(one.complete for one in found),
    )


def resamples_needed(confidence: float) -> int:
    """Return how many resamples it takes for both tails of an interval to hold one."""
    return math.ceil(2.0 / (1.0 - confidence) - 1e-9)


@dataclass(frozen=True, eq=False)
class _Resamples(Sequence[tuple[Moments, Budget]]):
    """The pieces of work, made when they are asked for.

    A worker is sent the moments of its resample, which are small, and not the rows.
    """

    rows: Rows
    seeds: list[int]
    budget: Budget

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, k: Any) -> Any:
        stream = np.random.default_rng(self.seeds[k])
        return self.rows.moments(self.rows.draw(stream)), self.budget.for_task(stream)


@dataclass(frozen=True, eq=False)
class _Resample:
    """What one resample led to."""

    graph: MixedGraph
    score: float
    directed: Floats
    bidirected: Floats
    min_abs: Floats
    effect: Floats
    lower: Floats
    upper: Floats
    exhausted: bool
    complete: bool


def _resample(
    piece: tuple[Moments, Budget], *, recipe: Recipe, limit: int, zero: float
) -> _Resample | None:
    """Search on one resample, and bound the effects; None when time was up for the search."""
    moments, budget = piece
    result = recipe.search(moments, budget)
    if not result.complete:
        return None
    counter = effect_counter(moments, "corrected", zero)
    members = class_by_components(result, limit, budget.seconds_left)
    bounds = class_bounds(counter, members, limit, budget, "corrected", zero)
    parents, spouses = result.graph._bits()
    masks = result.space.member_masks(result.graph.nodes)
    total, parts, _ = _core.average_classes(
        counter,
        parents[None],
        spouses[None],
        shares=[1.0],
        sizes=[1],
        n_classes=1,
        power=0,
        n=moments.n,
        level=0.95,
        limit=limit,
        knowledge=masks,
        conditions=targets_of(moments, moments.names).core,
        seconds=budget.seconds_left,
    )
    return _Resample(
        graph=result.graph,
        score=result.score,
        directed=total["directed"],
        bidirected=total["bidirected"],
        min_abs=bounds.min_abs,
        effect=total["probability_all_members"],
        lower=bounds.lower,
        upper=bounds.upper,
        exhausted=result.hit_work_limit,
        complete=bounds.complete and all(complete for _, _, complete in parts),
    )


def wilson_interval(frequency: Floats, size: int, confidence: float) -> Floats:
    """Return Wilson's interval for a frequency among `size`, lower and upper ends stacked."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    center = (frequency + z**2 / (2 * size)) / (1 + z**2 / size)
    spread = frequency * (1 - frequency) / size + z**2 / (4 * size**2)
    half = z / (1 + z**2 / size) * np.sqrt(np.maximum(spread, 0.0))
    return np.clip(np.stack([center - half, center + half]), 0.0, 1.0)
