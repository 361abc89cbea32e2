"""The bootstrap of a search: :func:`bowfree.bootstrap`.

The search is repeated on resampled rows. The averages of :mod:`bowfree.uncertainty.averaging` are
about the graphs that the given data support; the bootstrap is about the graphs that would be
learned from other data from the same population. Every resample has its own random stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import Floats
from bowfree.effects.bounds import ZERO, class_bounds, effect_counter
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.targets import targets_of
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup
from bowfree.model.context import ScoringRule
from bowfree.model.effect_tables import (
    EffectMatrices,
    decimals,
    effect_pairs,
    effect_table,
    quantities,
)
from bowfree.parallel.budget import Budget, LazyTasks, Progress
from bowfree.parameters import Errors, GraphClass, Method, Penalty, Rng, public
from bowfree.results.display import Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row
from bowfree.search.plan import Strategy, StrategyName
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.repeated_searches import RepeatedSearch, Rows, limit_notes
from bowfree.uncertainty.structure_samples import edge_table
from bowfree.validation import check_count, check_fraction, check_nonnegative

_PRINTED = 0.05  # smallest frequency of edges and effects that are printed


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(EffectMatrices, EdgeLookup[Row], Frozen):
    """Frequencies and intervals over resamples; ``[i, j]`` is about j -> i or the effect of j on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    graphs : tuple of MixedGraph
        The best graph of each resample.
    scores : ndarray of shape (resamples,)
        Their scores.
    directed, bidirected, adjacent : ndarray of shape (d, d)
        Frequency of the edge j -> i, of the edge i <-> j, and of an edge of any kind. In each
        resample an edge counts with the share of the members of the class that have it.
    directed_interval, bidirected_interval, adjacent_interval : ndarray of shape (2, d, d)
        Lower and upper ends of Wilson's interval for these frequencies.
    effect_frequency : ndarray of shape (d, d)
        Frequency of an effect of j on i in all members of the class.
    effect_frequency_interval : ndarray of shape (2, d, d)
        Wilson's interval for this frequency.
    min_abs : ndarray of shape (d, d)
        Mean of the smallest absolute effect over the class.
    min_abs_interval : ndarray of shape (2, d, d)
        Its quantiles.
    total_effect_interval : ndarray of shape (2, d, d)
        Percentile interval of the total effect, whichever member of the class is true: the lower
        quantile of the lower bounds and the upper quantile of the upper bounds.
    confidence : float
        Confidence level of all intervals.
    n_planned : int
        Number of resamples that were requested.
    n_hit_work_limit : int
        Number of resamples whose search ended at its work limit with the best graph found by then.
    complete : bool
        False if time was up before the last resample, or a class has more members than `limit`.
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
    n_hit_work_limit: int
    complete: bool

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.graphs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on limits that were reached."""
        done, planned = self.n_resamples, self.n_planned
        notes = limit_notes("resamples", done, planned, self.n_hit_work_limit)
        if done == planned and not self.complete:
            return ("NOT COMPLETE: some classes have more members than `limit`", *notes)
        return notes

    def _matrices(self) -> dict[str, Floats]:
        lower, upper = self.total_effect_interval
        names = ("min_abs", "directed", "bidirected", "adjacent")
        others = {name: getattr(self, name) for name in names}
        return {"frequency": self.effect_frequency, "lower": lower, "upper": upper, **others}

    def _at_edge(self, i: int, mark: str, j: int) -> Row:
        kind = "directed" if mark == "->" else "bidirected"
        lower, upper = getattr(self, f"{kind}_interval")[:, j, i].tolist()
        a, b, frequency = self.names[i], self.names[j], float(getattr(self, kind)[j, i])
        return Row(a=a, mark=mark, b=b, frequency=frequency, lower=lower, upper=upper)

    def _content(self) -> Any:
        return super()._content() | {"n_resamples": self.n_resamples, "notes": self.notes}

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {count(self.n_resamples, 'resample')}"
        return some if self.complete else f"{some}, not complete"

    def _sections(self) -> Iterator[str | Table]:
        level = f"{100 * self.confidence:g} %"
        yield f"{self.n_resamples} bootstrap resamples"
        yield from self.notes
        low, high = self.adjacent_interval
        ends = {f"{level} interval": lambda i, j: f"{low[i, j]:.2f} to {high[i, j]:.2f}"}
        yield edge_table(self.names, self.directed, self.bidirected, _PRINTED, ends)
        lower, upper = (quantities(end, 3) for end in self.total_effect_interval)
        yield effect_table(
            "effect",
            self.names,
            effect_pairs(self.effect_frequency >= _PRINTED),
            {
                "in all members": decimals(self.effect_frequency, 2),
                f"{level} interval": lambda i, j: f"{lower(i, j)} to {upper(i, j)}",
            },
            size=self.effect_frequency,
        )


@public
def bootstrap(
    data: Any,
    *,
    n_resamples: int = 100,
    confidence: float = 0.95,
    shrinkage: float | Literal["auto"] = 0.0,
    nominal: Sequence[str] = (),
    clusters: Any = None,
    errors: Errors = "gaussian",
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
    limit: int = 10_000,
    zero: float = ZERO,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> BootstrapResult:
    """Repeat a search on resampled rows, and count edges and effects.

    :func:`bowfree.bootstrap_fit` is the bootstrap of a given graph.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Conditions are resampled separately.
    n_resamples : int
        Number of resamples, each of n rows, or of as many clusters as there are, drawn with
        replacement.
    confidence : float
        Confidence level of intervals. Both tails of the quantiles must contain a resample, so 0.95
        requires at least 40 resamples.
    strategy : {"ils", "restart"} or Strategy
        How to search, as in :func:`bowfree.greedy_search`. Unless it sets ``work``, each search has
        a work limit of 1.7e8 multiplications per restart and variable, of which most need a tenth.
    restarts : int, optional
        Number of restarts of each search; by default 3, fewer than in a single search.
    limit : int
        Largest number of members of each connected component of a class to enumerate.

    Raises
    ------
    WorkInterrupted
        On Ctrl-C: a :class:`KeyboardInterrupt` whose ``result`` has the resamples finished so far.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> g = bf.parse("x -> y <- z")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0], [1, 0, 1], [0, 0, 0]], np.eye(3))
    >>> stable = bf.bootstrap(sem.sample(300, rng=3), n_resamples=40, restarts=2, rng=0)
    >>> x, y, z = range(3)
    >>> bool(stable.adjacent[x, y] > 0.99), bool(stable.adjacent[x, z] < 0.3)
    (True, True)

    References
    ----------
    B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993; E. B. Wilson, Probable
    inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    confidence, zero = check_fraction("confidence", confidence), check_nonnegative("zero", zero)
    needed = math.ceil(2.0 / (1.0 - confidence) - 1e-9)  # both tails contain a resample
    if check_count("n_resamples", n_resamples, 1) < needed:
        raise BowfreeError(
            f"n_resamples = {n_resamples} is too few for intervals of level {confidence:g}, which "
            f"need at least {needed}; raise `n_resamples` or lower `confidence`"
        )
    check_count("limit", limit, 1)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    search = RepeatedSearch.of(within, rule, strategy, restarts)
    if (options := DataOptions(errors=errors)).errors != "gaussian":
        data = options.read(data)
    rows = Rows.of(data, shrinkage, clusters, nominal)
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    seeds = budget.generator().integers(0, 2**63, size=n_resamples).tolist()

    def draw(k: int) -> tuple[Moments, Budget]:  # a worker receives moments and not the rows
        stream = np.random.default_rng(seeds[k])
        return rows.moments(rows.draw(stream)), budget.for_task(stream)

    result: BootstrapResult = budget.run(
        partial(_resample, search=search, limit=limit, zero=zero),
        LazyTasks(n_resamples, draw),
        what="resamples",
        gather=partial(_summarize, rows.names, n_resamples, confidence),
    )
    return result


class _Resample(NamedTuple):
    """Result of one resample."""

    graph: MixedGraph
    score: float
    matrices: dict[str, Floats]
    hit_work_limit: bool
    complete: bool


def _resample(
    task: tuple[Moments, Budget], *, search: RepeatedSearch, limit: int, zero: float
) -> _Resample | None:
    """Search on one resample and bound the effects; return None if time was up."""
    moments, budget = task
    result = search.search(moments, budget)
    if not result.complete:
        return None
    counter = effect_counter(moments, "corrected", zero)
    members = class_by_components(result, limit, budget.seconds_left)
    bounds = class_bounds(counter, moments, members, limit, budget)
    parents, spouses = result.graph._bits()
    total, parts, _ = _core.average_classes(
        counter,
        parents[None],
        spouses[None],
        shares=[1.0],
        batches=[],
        sizes=[1],
        n_classes=1,
        power=0,
        n=moments.n,
        level=0.95,
        limit=limit,
        knowledge=result.space.member_masks(result.graph.nodes),
        conditions=targets_of(moments, moments.names).core,
        seconds=budget.seconds_left,
    )
    matrices = {name: total[name] for name in ("directed", "bidirected", "probability_all_members")}
    matrices |= {name: getattr(bounds, name) for name in ("min_abs", "lower", "upper")}
    complete = bounds.complete and all(complete for _, _, complete in parts)
    return _Resample(result.graph, result.score, matrices, result.hit_work_limit, complete)


def _summarize(
    names: tuple[str, ...], n_resamples: int, confidence: float, found: list[_Resample]
) -> BootstrapResult:
    """Summarize the resamples whose search was completed."""
    values = {name: np.array([one.matrices[name] for one in found]) for name in found[0].matrices}
    mean: dict[str, Floats] = {name: matrices.mean(axis=0) for name, matrices in values.items()}
    adjacent = mean["directed"] + mean["directed"].T + mean["bidirected"]
    effect = mean["probability_all_members"]
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    wilson = partial(wilson_interval, size=len(found), confidence=confidence)
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
        effect_frequency=effect,
        effect_frequency_interval=wilson(effect),
        min_abs=mean["min_abs"],
        min_abs_interval=np.quantile(values["min_abs"], tails, axis=0),
        total_effect_interval=np.stack(
            [
                np.quantile(values[name], tail, axis=0)
                for name, tail in zip(("lower", "upper"), tails, strict=True)
            ]
        ),
        confidence=confidence,
        n_planned=n_resamples,
        n_hit_work_limit=sum(one.hit_work_limit for one in found),
        complete=len(found) == n_resamples and all(one.complete for one in found),
    )


def wilson_interval(frequency: Floats, size: int, confidence: float) -> Floats:
    """Return Wilson's interval for a frequency among `size`, lower and upper ends stacked."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    center = (frequency + z**2 / (2 * size)) / (1 + z**2 / size)
    spread = frequency * (1 - frequency) / size + z**2 / (4 * size**2)
    half = z / (1 + z**2 / size) * np.sqrt(np.maximum(spread, 0.0))
    return np.clip(np.stack([center - half, center + half]), 0.0, 1.0)
