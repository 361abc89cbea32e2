r"""Stability selection: :func:`bowfree.stability_selection`.

The search is repeated on random halves of the rows, and the pairs of variables that are adjacent in
at least a share tau of the halves are selected. With q adjacent pairs in a half on average and p
pairs in all, the expected number of selected pairs whose probability of being adjacent is at most
q / p, as in a random choice, is at most ::

    C(tau) q^2 / p,    C(tau) = 1 / (2 (2 tau - 1 - 1 / n))         for tau up to 3/4
                       C(tau) = 4 (1 - tau + 1 / n) / (1 + 2 / n)   above

with n halves, provided that the frequencies of such pairs have a unimodal distribution. Solved for
tau, the bound gives the threshold for an acceptable number of false pairs.

The bound is about *adjacencies*, not about the kind of an edge; probabilities of directions are in
:func:`bowfree.averaged_effects`.

References
----------
N. Meinshausen and P. Bühlmann, Stability selection, JRSS B 72 (2010); R. D. Shah and R. J.
Samworth, Variable selection with error control: another look at stability selection, JRSS B 75
(2013), for complementary pairs of halves and for the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget, LazyTasks, Progress
from bowfree.parameters import GraphClass, Method, Penalty, Rng, public
from bowfree.results.display import MOST_ROWS, Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.search.plan import Strategy, StrategyName
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.repeated_searches import RepeatedSearch, Rows, limit_notes
from bowfree.validation import check_count, check_positive

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StablePairs(RowTable, ToDict, Frozen):
    """Pairs of variables that are adjacent in most halves of the data.

    Attributes
    ----------
    names : tuple of str
        The variables.
    pairs : tuple of (str, str)
        The selected pairs, the most frequent first.
    frequency : ndarray of shape (d, d)
        Share of the halves in which two variables are adjacent.
    threshold : float
        Smallest frequency of a selected pair; infinite if no pair can be selected.
    max_false : float
        Bound on the expected number of false pairs.
    n_adjacent : float
        Mean number of adjacent pairs in a half.
    n_halves : int
        Number of halves.
    n_planned : int
        Number of halves that were requested.
    n_hit_work_limit : int
        Number of halves whose search ended at its work limit.
    complete : bool
        False if time was up before the last half.
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    frequency: Floats
    threshold: float
    max_false: float
    n_adjacent: float
    n_halves: int
    n_planned: int
    n_hit_work_limit: int
    complete: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on limits that were reached."""
        return limit_notes("halves", self.n_halves, self.n_planned, self.n_hit_work_limit)

    @property
    def rows(self) -> list[Row]:
        """One row for each pair of variables: a, b, frequency, stable."""
        return [
            Row(a=a, b=b, frequency=share, stable=share >= self.threshold)
            for (i, a), (j, b) in combinations(enumerate(self.names), 2)
            for share in [float(self.frequency[i, j])]
        ]

    def _headline(self) -> str:
        return f"{count(len(self.pairs), 'stable pair')} of {count(len(self.names), 'variable')}"

    def _sections(self) -> Iterator[str | Table]:
        yield (
            f"{count(self.n_halves, 'half', 'halves')} of the data, {self.n_adjacent:.1f} adjacent "
            "pairs in each on average"
        )
        yield from self.notes
        if self.threshold > 1:
            yield (
                f"no pair can be selected with at most {self.max_false:g} false pairs expected; "
                "raise `max_false` or `penalty`"
            )
            return
        yield (
            f"adjacent in at least {self.threshold:.2f} of them; expected number of false pairs at "
            f"most {self.max_false:g}:"
        )
        index = {name: k for k, name in enumerate(self.names)}
        rows = [
            (f"{quote(a)}, {quote(b)}", f"{self.frequency[index[a], index[b]]:.2f}")
            for a, b in self.pairs
        ]
        yield Table(("pair", "frequency"), rows, most=MOST_ROWS, rest="more: see to_frame()")


@public
def stability_selection(
    data: Any,
    *,
    max_false: float = 1.0,
    n_halves: int = 100,
    shrinkage: float | Literal["auto"] = 0.0,
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty = 1.0,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    strategy: StrategyName | Strategy = "ils",
    restarts: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StablePairs:
    """Select the pairs of variables that are adjacent in most random halves of the data.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Conditions are divided separately.
    max_false : float
        Bound on the expected number of false pairs.
    n_halves : int
        Number of halves; they come in disjoint pairs.
    strategy : {"ils", "restart"} or Strategy
        How to search, with a work limit as in :func:`bowfree.bootstrap`.
    restarts : int, optional
        Number of restarts of each search; by default 3.

    Examples
    --------
    >>> import bowfree as bf
    >>> data = bf.datasets.load_demo()
    >>> quick = bf.search.Strategy(restarts=2, rounds=0)
    >>> stable = bf.stability_selection(data, n_halves=20, strategy=quick, rng=0)
    >>> ("leaves", "fruit") in stable.pairs, ("sun", "pot") in stable.pairs
    (True, False)
    """
    max_false = check_positive("max_false", max_false)
    check_count("n_halves", n_halves, 2)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    search = RepeatedSearch.of(within, rule, strategy, restarts)
    rows, budget = Rows.of(data, shrinkage), Budget(rng, n_jobs, time_limit, progress, executor)
    if len(rows) < 4:
        raise BowfreeError(f"n = {len(rows)}: each half must have at least 2 rows")
    seeds = budget.generator().integers(0, 2**63, size=n_halves).tolist()

    def half(k: int) -> tuple[Moments, Budget]:  # 2 k and 2 k + 1 are disjoint
        halves = rows.halves(np.random.default_rng(seeds[k - k % 2]))
        return rows.moments(halves[k % 2]), budget.for_task(np.random.default_rng(seeds[k]))

    pairs: StablePairs = budget.run(
        partial(_search_half, search=search),
        LazyTasks(n_halves, half),
        what="halves",
        gather=partial(_select, rows.variables, max_false, n_halves),
    )
    return pairs


def _search_half(
    task: tuple[Moments, Budget], *, search: RepeatedSearch
) -> tuple[MixedGraph, bool] | None:
    """Return the graph of one half, and whether it hit the work limit; None if time was up."""
    result = search.search(*task)
    return (result.graph, result.hit_work_limit) if result.complete else None


def _select(
    names: tuple[str, ...], max_false: float, n_halves: int, found: list[tuple[MixedGraph, bool]]
) -> StablePairs:
    """Select the pairs that are adjacent in most halves."""
    d = len(names)
    frequency = np.zeros((d, d))
    for graph, _ in found:
        for a, _, b in graph.edges:
            i, j = names.index(a), names.index(b)
            frequency[[i, j], [j, i]] += 1
    frequency /= len(found)
    n_adjacent = float(np.triu(frequency, 1).sum())
    max_factor = max_false * (d * (d - 1) // 2) / n_adjacent**2 if n_adjacent else math.inf
    threshold = _threshold(max_factor, len(found))
    pairs = [pair for pair in combinations(range(d), 2) if frequency[pair] >= threshold]
    pairs.sort(key=lambda pair: (-frequency[pair], pair))
    return StablePairs(
        names=names,
        pairs=tuple((names[i], names[j]) for i, j in pairs),
        frequency=frequency,
        threshold=threshold,
        max_false=max_false,
        n_adjacent=n_adjacent,
        n_halves=len(found),
        n_planned=n_halves,
        n_hit_work_limit=sum(hit for _, hit in found),
        complete=len(found) == n_halves,
    )


def _threshold(max_factor: float, n_halves: int) -> float:
    """Return the smallest tau with C(tau) <= max_factor, infinity if there is none."""
    low = 0.5 + 0.5 / n_halves + (0.25 / max_factor if max_factor > 0 else math.inf)
    if low <= 0.75:
        return low
    high = 1 + 1 / n_halves - 0.25 * max_factor * (1 + 2 / n_halves)
    return max(0.75, high) if high <= 1 else math.inf
