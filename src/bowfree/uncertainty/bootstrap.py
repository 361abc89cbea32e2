"""How stable is what was found? The bootstrap.

:func:`bootstrap` draws the observations anew, searches again, and counts: how often is there an
edge, how often an effect in every member of the class, and how far do the effects spread. Unlike
the averages of :mod:`bowfree.uncertainty.averaging`, which ask what the given data support, it asks
what other data of the same kind would have led to.

Resamples are independent searches. Each has a random stream of its own, so that the result is the
same for every ``n_jobs`` and every joblib backend. Next: :mod:`bowfree.uncertainty.penalty_choice`,
which leaves observations out instead of drawing them anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.bounds import MAX_MEMBERS, ZERO, class_bounds, effect_counter, exact_members
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.moments import _read_table, read_moments
from bowfree.options import at_least
from bowfree.search.greedy import greedy_search
from bowfree.space.knowledge import member_masks

__all__ = ["BootstrapResult", "bootstrap"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
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
    effect : ndarray of shape (d, d)
        How often every member of the class has an effect of j on i.
    effect_interval : ndarray of shape (2, d, d)
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
    complete : bool
        False when some class had more members than were looked at.
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
    effect: Floats
    effect_interval: Floats
    min_abs: Floats
    min_abs_interval: Floats
    total_effect_interval: Floats
    confidence: float
    complete: bool

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.graphs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        edges = ("directed", "bidirected", "adjacent")
        effects = ("effect", "effect_interval", "min_abs", "min_abs_interval")
        arrays = (*edges, *(f"{name}_interval" for name in edges), *effects)
        return {
            "names": list(self.names),
            "n_resamples": self.n_resamples,
            "confidence": self.confidence,
            "complete": self.complete,
            "graphs": [str(graph) for graph in self.graphs],
            "scores": self.scores.tolist(),
            **{name: getattr(self, name).tolist() for name in arrays},
            "total_effect_interval": self.total_effect_interval.tolist(),
        }

    def __str__(self) -> str:
        level = f"{100 * self.confidence:g} %"
        names, d = [quote(name) for name in self.names], len(self.names)
        rows: list[tuple[str, ...]] = [
            ("edge", "any", f"{level} interval", "a -> b", "a <- b", "a <-> b")
        ]
        for i in range(d):
            for j in range(i + 1, d):
                if self.adjacent[i, j] >= 0.05:
                    low, high = self.adjacent_interval[:, i, j]
                    numbers = (self.directed[j, i], self.directed[i, j], self.bidirected[i, j])
                    rows.append(
                        (
                            f"{names[i]}, {names[j]}",
                            f"{self.adjacent[i, j]:.2f}",
                            f"{low:.2f} to {high:.2f}",
                            *(f"{x:.2f}" for x in numbers),
                        )
                    )
        effects = [("effect", "in all members", f"{level} interval of its size")]
        for j in range(d):
            for i in range(d):
                if i != j and self.effect[i, j] >= 0.05:
                    low, high = self.total_effect_interval[:, i, j]
                    effects.append(
                        (
                            f"{names[j]} on {names[i]}",
                            f"{self.effect[i, j]:.2f}",
                            f"{low:.3f} to {high:.3f}",
                        )
                    )
        head = f"{self.n_resamples} bootstrap resamples"
        return "\n".join([head, *table_lines(rows), *table_lines(effects)])

    def __repr__(self) -> str:
        return f"<BootstrapResult: {self.n_resamples} resamples>"


def table_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows with their columns aligned, the first to the left."""
    width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])]) for row in rows
    ]


def bootstrap(
    data: Any,
    *,
    n_resamples: int = 100,
    confidence: float = 0.95,
    search: Mapping[str, Any] | None = None,
    limit: int | None = None,
    zero: float = ZERO,
    n_jobs: int = 1,
    rng: Any = None,
) -> BootstrapResult:
    """Search on resampled data, and count edges and effects.

    Parameters
    ----------
    data : array_like of shape (n, d) or data frame
        Observations in rows.
    n_resamples : int
        Number of resamples, each of n rows drawn with replacement.
    confidence : float
        Level of the intervals. Both tails of the quantiles must hold a resample, so 95 % needs at
        least 40 of them.
    search : mapping, optional
        Options of :func:`bowfree.greedy_search`, as ``{"penalty": 0.5, "max_in_degree": 2}``.
    limit : int, optional
        At most so many members of each component of a class; by default 1,000,000.
    zero : float
        Effects with an absolute value up to this count as none.
    n_jobs : int
        Resamples at a time, by joblib; -1 for all cores. Threads unless a
        ``joblib.parallel_config`` says otherwise. The result does not depend on it.
    rng : int or numpy.random.Generator, optional
        Anything :func:`numpy.random.default_rng` takes.

    Returns
    -------
    BootstrapResult

    Raises
    ------
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
    if not 0.0 < confidence < 1.0:
        raise BowfreeError(f"confidence = {confidence!r}: must be between 0 and 1, such as 0.95")
    needed = math.ceil(2.0 / (1.0 - confidence) - 1e-9)
    if at_least("n_resamples", n_resamples, 1) < needed:
        raise BowfreeError(
            f"n_resamples = {n_resamples} is too few for intervals of level {confidence:g}: at "
            f"least {needed} are needed; raise n_resamples or lower confidence"
        )
    names, X = read_rows(data)
    most = MAX_MEMBERS if limit is None else at_least("limit", limit, 1)
    options = search_options(search)
    seeds = np.random.default_rng(rng).integers(0, 2**63, size=n_resamples)
    found: list[_Resample] = in_parallel(
        partial(_resample, names=names, X=X, options=options, limit=most, zero=zero),
        seeds.tolist(),
        n_jobs,
    )
    mean = {
        name: np.mean([getattr(one, name) for one in found], axis=0)
        for name in ("directed", "bidirected", "min_abs", "effect")
    }
    adjacent = mean["directed"] + mean["directed"].T + mean["bidirected"]
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)

    def wilson(frequency: Floats) -> Floats:
        return wilson_interval(frequency, n_resamples, confidence)

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
        effect=mean["effect"],
        effect_interval=wilson(mean["effect"]),
        min_abs=mean["min_abs"],
        min_abs_interval=np.quantile([one.min_abs for one in found], tails, axis=0),
        total_effect_interval=np.stack(
            [
                np.quantile([one.lower for one in found], tails[0], axis=0),
                np.quantile([one.upper for one in found], tails[1], axis=0),
            ]
        ),
        confidence=float(confidence),
        complete=all(one.complete for one in found),
    )


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
    complete: bool


def _resample(
    seed: int,
    names: tuple[str, ...],
    X: Floats,
    options: Mapping[str, Any],
    limit: int,
    zero: float,
) -> _Resample:
    stream = np.random.default_rng(seed)
    rows = stream.integers(0, len(X), size=len(X))
    result = greedy_search(columns_of(names, X[rows]), rng=stream, **options)
    counter = effect_counter(result.moments, "corrected", zero)
    members = exact_members(result.graph, limit).permitted_by(
        result.knowledge, graph_class=result.graph_class
    )
    bounds = class_bounds(counter, members, limit, "corrected", zero)
    parents, spouses = result.graph._bits()
    masks = member_masks(result.graph.nodes, result.knowledge, result.graph_class)
    total, _ = counter.average_classes(
        parents[None], spouses[None], [1.0], limit, zero, masks, None
    )
    return _Resample(
        graph=result.graph,
        score=result.score,
        directed=total["directed"],
        bidirected=total["bidirected"],
        min_abs=bounds.min_abs,
        effect=total["probability"],
        lower=bounds.lower,
        upper=bounds.upper,
        complete=bounds.complete,
    )


def wilson_interval(frequency: Floats, size: int, confidence: float) -> Floats:
    """Return Wilson's interval for a frequency among `size`, lower and upper ends stacked."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (frequency + z**2 / (2 * size)) / (1 + z**2 / size)
    spread = frequency * (1 - frequency) / size + z**2 / (4 * size**2)
    half = z / (1 + z**2 / size) * np.sqrt(np.maximum(spread, 0.0))
    return np.clip(np.stack([centre - half, centre + half]), 0.0, 1.0)


# --- what cross-validation needs, too -------------------------------------------------------------


def read_rows(data: Any) -> tuple[tuple[str, ...], Floats]:
    """Return names and observations, after the checks that every function makes."""
    if data is None:
        raise DataError("data are missing: resampling needs observations, not a covariance matrix")
    read_moments(data)
    return _read_table(data, None, "data")


def columns_of(names: tuple[str, ...], X: Floats) -> dict[str, Floats]:
    """Return observations as a mapping, which carries their names."""
    return dict(zip(names, X.T, strict=True))


def search_options(search: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of the search, unless they are ours to set."""
    options = {} if search is None else dict(search)
    ours = sorted(set(options) & {"data", "cov", "n", "rng", "n_jobs", "checkpoint", "progress"})
    if ours:
        raise BowfreeError(f"search may not set {ours[0]!r}: every resample has its own")
    return options


def in_parallel(task: Callable[[Any], Any], items: Sequence[Any], n_jobs: int) -> list[Any]:
    """Do the task for every item, in the order of the items."""
    if n_jobs == 1:
        return [task(item) for item in items]
    if n_jobs != -1:
        at_least("n_jobs", n_jobs, 1)
    from joblib import Parallel, delayed

    # The core releases the interpreter while it searches, so threads do; a parallel_config of the
    # caller (loky, dask, ray) has precedence over this hint.
    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(task)(item) for item in items)
    return list(found)
