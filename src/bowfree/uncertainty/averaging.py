"""Effects and edges averaged over all graphs that come close to the best (model averaging).

One best graph is a bold statement: with finite data many graphs score almost as well, and weak
edges are often not worth their penalty. Instead of committing to one, take the classes of all
graphs near the optimum, and let a class speak with the weight ``exp(n (score - best))``. For an
ordered pair (j, i) the question "is the smallest effect of j on i over the class not zero?" then
has a probability instead of an answer. In the simulations of section 4.1 ranking pairs by it is
the largest gain in AUC known, larger than what any better search can bring.

A class counts once, by its best score, however many members it has: a class is one statistical
model, and the number of its graphs is no evidence for it.

The graphs come from the pool of a search, widened by a short run of
:mod:`bowfree.uncertainty.structure_mcmc`; or from an exhaustive search, which makes the weights
exact on up to five variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.effects.bounds import (
    ZERO,
    effect_counter,
    given_checked,
    given_first,
    given_iterable,
    given_moments,
)
from bowfree.effects.effect_bounds import Formula
from bowfree.equivalence.classes import check_limits
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.moments import Moments
from bowfree.options import at_least, positive
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.result import ScoredGraph, SearchResult
from bowfree.space.knowledge import Knowledge, member_masks
from bowfree.space.random_graphs import GraphClass, graph_rules
from bowfree.uncertainty.averaged_effects import AveragedClass, AveragedEffects
from bowfree.uncertainty.structure_mcmc import sample_structures
from bowfree.uncertainty.structure_samples import StructureSamples

__all__ = ["averaged_effects"]

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

CLASS_LIMIT = 5000
"""Most members of one component of a class that are looked at, unless the caller says otherwise."""


def averaged_effects(
    graphs: SearchResult | ExhaustiveResult | StructureSamples | Iterable[MixedGraph],
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    window: float = 10.0,
    temper: float = 1.0,
    penalty: float | None = None,
    widen: int = 30_000,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_classes: int = 1000,
    limit: int = CLASS_LIMIT,
    time_limit: float | None = None,
    effects: Formula = "corrected",
    zero: float = ZERO,
    n_jobs: int = 1,
    rng: Any = None,
) -> AveragedEffects:
    """Average effects and edges over the classes of all near-optimal graphs.

    Parameters
    ----------
    graphs : SearchResult, ExhaustiveResult, StructureSamples, or iterable of MixedGraph
        Where the graphs come from. The results bring their data and penalty; of a search and of
        chains the pool is used.
    data, cov, n, ddof
        The data, as for :func:`bowfree.fit`; only with an iterable of graphs.
    window : float
        Classes within so many units of ``n * score`` of the best are averaged: 10 leaves out
        weights below ``exp(-10)``.
    temper : float
        Weights are ``exp(n * (score - best) / temper)``; above 1 they are flatter.
    penalty : float, optional
        Penalty of the score, by default that of the search (1.0 for an iterable of graphs).
    widen : int
        Steps of each of the four chains that widen the pool of a search; 0 for none.
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}, optional
        Where the chains walk; of every class only DAGs (bidirected graphs) count after a search
        for them. By default that of the search, and else ``"bap"``.
    max_in_degree, max_district : int, optional
        Limits that the chains respect, by default those of the search; for none where the search
        had some, give the number of variables.
    max_classes : int
        At most so many classes, the best.
    limit : int
        At most so many members of each connected component of a class. The result says which
        classes have more.
    time_limit : float, optional
        Seconds for the members of all classes, the best class first; of a class that is cut at
        least one member counts, and the result is not complete. The chains come before and are
        not limited. Only with it the result depends on the machine.
    effects : {"corrected", "as-published"}
        As for :func:`bowfree.effect_bounds`.
    zero : float
        Effects with an absolute value up to this count as none.
    n_jobs : int
        Threads of the chains. The result does not depend on it.
    rng : int or numpy.random.Generator, optional
        Of the chains.

    Returns
    -------
    AveragedEffects

    Raises
    ------
    BowfreeError
        No graphs, or options that make no sense.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <- z, y -> w")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]],
    ...                    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> result = bf.exhaustive_search(sem.sample(500, rng=1, as_frame="pandas"))
    >>> average = bf.averaged_effects(result)
    >>> y, w = (average.names.index(name) for name in "yw")
    >>> bool(average.probability[w, y] > 0.9), bool(average.probability[y, w] < 0.1)
    (True, True)

    References
    ----------
    Section 4.1 of the paper has the minimal absolute effect over one class; the average over
    classes goes beyond the paper.
    """
    check_limits(limit, time_limit)
    if effects not in get_args(Formula):
        raise BowfreeError(f"effects = {effects!r}: must be 'corrected' or 'as-published'")
    positive("window", window)
    positive("temper", temper)
    at_least("widen", widen, 0)
    at_least("max_classes", max_classes, 1)
    if isinstance(graphs, SearchResult):
        graph_class = graphs.graph_class if graph_class is None else graph_class
        max_in_degree = graphs.max_in_degree if max_in_degree is None else max_in_degree
        max_district = graphs.max_district if max_district is None else max_district
    within: GraphClass = "bap" if graph_class is None else graph_class
    graph_rules(1, within, max_in_degree=max_in_degree, max_district=max_district)  # checks them
    if within in ("ancestral", "arid") and not isinstance(graphs, SearchResult):
        raise BowfreeError(
            f"graph_class = {within!r}: only the chains after a search can keep to it; give 'bap', "
            "'dag' or 'bidirected' here"
        )
    samples = None
    knowledge: Knowledge | None = None
    if isinstance(graphs, SearchResult | ExhaustiveResult | StructureSamples):
        if data is not None or cov is not None:
            raise BowfreeError(
                f"a {type(graphs).__name__} brings its own data: leave out `data` and `cov`, or "
                "give graphs instead"
            )
        moments = graphs.moments
        counter = effect_counter(moments, effects, zero)
        if isinstance(graphs, ExhaustiveResult):
            if penalty is not None:
                raise BowfreeError("penalty belongs to exhaustive_search here: give it there")
            scored = list(graphs.ranking(window))
        else:
            price = graphs.penalty if penalty is None else penalty
            scored = list(graphs.pool)
            if isinstance(graphs, SearchResult):
                knowledge = graphs.knowledge
                if widen and len(moments.names) > 1:
                    samples = _widen(
                        scored,
                        moments,
                        price,
                        knowledge,
                        {
                            "graph_class": within,
                            "max_in_degree": max_in_degree,
                            "max_district": max_district,
                        },
                        widen,
                        window,
                        n_jobs,
                        rng,
                    )
                    scored += samples.pool
            if price != graphs.penalty:
                scored = _scored([graph for graph, _ in scored], counter, moments, price)
    else:
        first, rest = given_first(given_iterable(graphs))
        moments = given_moments(graphs, first, data, cov, n, ddof)
        counter = effect_counter(moments, effects, zero)
        given = [given_checked(graph, first) for graph in rest]
        scored = _scored(given, counter, moments, 1.0 if penalty is None else penalty)
    if not scored:
        raise BowfreeError("no graphs to average over: the pool is empty (keep = 0?)")
    return _average(
        scored,
        counter,
        moments,
        member_masks(moments.names, knowledge, within),
        window=window,
        temper=temper,
        max_classes=max_classes,
        limit=limit,
        time_limit=time_limit,
        formula=effects,
        zero=zero,
        samples=samples,
    )


# --- the graphs -----------------------------------------------------------------------------------


def _widen(
    pool: Sequence[ScoredGraph],
    moments: Moments,
    penalty: float,
    knowledge: Knowledge,
    limits: dict[str, Any],
    steps: int,
    window: float,
    n_jobs: int,
    rng: Any,
) -> StructureSamples:
    """Run short chains from graphs all over the pool; they keep one graph of each class."""
    d = len(moments.names)
    starts = [pool[(k * (len(pool) - 1)) // 3].graph for k in range(4)]
    return sample_structures(
        moments,
        steps=max(steps, 4),
        burn_in=0,
        thin=max(1, min(d * (d - 1) // 2, steps // 4)),
        chains=None,
        starts=starts,
        penalty=penalty,
        temper=1.0,
        **limits,
        knowledge=knowledge,
        keep=5000,
        window=window,
        distinct="classes",
        n_jobs=n_jobs,
        cache_mb=256.0,
        rng=rng,
    )


def _scored(
    graphs: Sequence[MixedGraph], counter: _core.EffectCounter, moments: Moments, penalty: float
) -> list[ScoredGraph]:
    """Score graphs by fits that the effects will need again."""
    if not math.isfinite(moments.n):
        raise DataError("n = inf: give the n that the weights exp(n * score) should be based on")
    F = counter.objectives(*_stacks(graphs))
    d, price = len(moments.names), penalty * math.log(moments.n) / moments.n
    return [
        ScoredGraph(
            graph, float(-0.5 * (d * math.log(2 * math.pi) + f) - price * (d + graph.n_edges))
        )
        for graph, f in zip(graphs, F, strict=True)
    ]


def group_by_class(scored: Iterable[ScoredGraph]) -> list[ScoredGraph]:
    """Return one graph per class, the best of those given, best first; equivalence is exact."""
    ranked = sorted(dict(reversed(list(scored))).items(), key=lambda entry: -entry[1])
    first = _core.first_of_class(*_stacks([graph for graph, _ in ranked]), 0)
    return [ScoredGraph(*ranked[k]) for k in np.flatnonzero(first == np.arange(len(first)))]


def _stacks(graphs: Sequence[MixedGraph]) -> tuple[Bits, Bits]:
    """Return parents and spouses of all graphs, each (graphs, d, words)."""
    bits = [graph._bits() for graph in graphs]
    return np.stack([p for p, _ in bits]), np.stack([s for _, s in bits])


# --- the average ----------------------------------------------------------------------------------


def _average(
    scored: Sequence[ScoredGraph],
    counter: _core.EffectCounter,
    moments: Moments,
    masks: npt.NDArray[np.uint8],
    *,
    window: float,
    temper: float,
    max_classes: int,
    limit: int,
    time_limit: float | None,
    formula: Formula,
    zero: float,
    samples: StructureSamples | None,
) -> AveragedEffects:
    best = max(score for _, score in scored)
    near = [entry for entry in scored if moments.n * (best - entry.score) <= window]
    classes = group_by_class(near)
    left_out = max(0, len(classes) - max_classes)
    classes = classes[:max_classes]
    gaps = np.array([moments.n * (score - best) for _, score in classes])
    weights = np.exp(gaps / temper)
    weights /= weights.sum()
    total, sizes = counter.average_classes(
        *_stacks([graph for graph, _ in classes]), weights.tolist(), limit, zero, masks, time_limit
    )
    entries = [
        AveragedClass(graph, score, weight, math.prod(components), complete)
        for (graph, score), weight, (components, complete) in zip(
            classes, weights.tolist(), sizes, strict=True
        )
    ]
    for matrix in total.values():
        matrix.setflags(write=False)
    return AveragedEffects(
        names=moments.names,
        **total,
        classes=tuple(entries),
        n_graphs=len({graph for graph, _ in near}),
        n_left_out=left_out,
        window=float(window),
        temper=float(temper),
        formula=formula,
        samples=samples,
    )
