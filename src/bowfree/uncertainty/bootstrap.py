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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.bounds import MAX_MEMBERS, ZERO, class_bounds, effect_counter, exact_members
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.options import at_least
from bowfree.search.greedy import greedy_search
from bowfree.space.knowledge import member_masks
from bowfree.uncertainty.bootstrap_result import BootstrapResult
from bowfree.uncertainty.resampling import columns_of, in_parallel, read_rows, search_options

__all__ = ["bootstrap"]

Floats = npt.NDArray[np.float64]


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
