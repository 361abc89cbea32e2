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
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.budget import Budget
from bowfree.effects.bounds import (
    ZERO,
    effect_counter,
    given_checked,
    given_first,
    given_iterable,
    given_moments,
)
from bowfree.effects.effect_bounds import Formula
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.moments import Moments
from bowfree.model.scoring_rule import ScoringRule
from bowfree.options import (
    BudgetOptions,
    DataOptions,
    SpaceOptions,
    at_least,
    not_negative,
    one_of,
    positive,
    share,
    split_options,
)
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.greedy import check_finite_n
from bowfree.search.result import ScoredGraph, SearchResult
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.averaged_effects import AveragedClass, AveragedEffects
from bowfree.uncertainty.structure_mcmc import ChainPlan, sample_structures
from bowfree.uncertainty.structure_samples import StructureSamples

__all__ = ["averaged_effects"]

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]


class AveragingOptions(TypedDict, total=False):
    """What is averaged, and with which weights.

    Attributes
    ----------
    window : float
        Classes within this many units of ``n * score`` of the best are averaged: 10, the default,
        leaves out weights below ``exp(-10)``.
    temper : float
        Weights are ``exp(n * (score - best) / temper)``; above 1 they are flatter.
    level : float
        What the intervals of the effects should cover (0.95).
    penalty : float
        Penalty of the score, by default that of the search (1.0 for an iterable of graphs).
    widen : int
        Steps of each of the four chains that widen the pool of a search (30,000); 0 for none.
    max_classes : int
        At most this many classes, the best (1,000).
    limit : int
        At most this many members of each connected component of a class (5,000). The result says
        which classes have more.
    effects : {"corrected", "as-published"}
        As for :func:`bowfree.effect_bounds`.
    zero : float
        Effects with an absolute value up to this count as none.
    """

    window: float
    temper: float
    level: float
    penalty: float | None
    widen: int
    max_classes: int
    limit: int
    effects: Formula
    zero: float


@dataclass(frozen=True)
class Averaging:
    """The options of :class:`AveragingOptions`, checked."""

    window: float = 10.0
    temper: float = 1.0
    level: float = 0.95
    penalty: float | None = None
    widen: int = 30_000
    max_classes: int = 1000
    limit: int = 5000
    effects: Formula = "corrected"
    zero: float = ZERO

    def __post_init__(self) -> None:
        for name in ("window", "temper"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        share("level", self.level)
        at_least("widen", self.widen, 0)
        at_least("max_classes", self.max_classes, 1)
        at_least("limit", self.limit, 1)
        one_of("effects", self.effects, get_args(Formula))
        object.__setattr__(self, "zero", not_negative("zero", self.zero))


class AveragedEffectsOptions(
    DataOptions, SpaceOptions, AveragingOptions, BudgetOptions, total=False
):
    """All options of :func:`averaged_effects` that it does not name itself."""


def averaged_effects(
    graphs: SearchResult | ExhaustiveResult | StructureSamples | Iterable[MixedGraph],
    data: Any = None,
    *,
    space: SearchSpace | None = None,
    **options: Unpack[AveragedEffectsOptions],
) -> AveragedEffects:
    """Average effects and edges over the classes of all near-optimal graphs.

    Parameters
    ----------
    graphs : SearchResult, ExhaustiveResult, StructureSamples, or iterable of MixedGraph
        Where the graphs come from. The results bring their data, penalty and space; of a search and
        of chains the pool is used.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows; only with an iterable of graphs.
    space : SearchSpace, optional
        Where the chains walk, and which members of a class count; by default that of the result.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.options.DataOptions`).
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.options.SpaceOptions`).
        ``window``, ``temper``, ``level``, ``penalty``, ``widen``, ``max_classes``, ``limit``, \
``effects``, ``zero``
            What is averaged, and with which weights
            (:class:`~bowfree.uncertainty.averaging.AveragingOptions`).
        ``rng``, ``n_jobs``, ``time_limit``
            What may be spent (:class:`~bowfree.options.BudgetOptions`). Random numbers and threads
            are for the chains. The time limit holds for the members of the classes, the best class
            first. Of the best class at least one member counts; classes that time did not suffice
            for are left out, as beyond ``max_classes``.

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
    >>> average.effect(of="y", on="w").probability > 0.9
    True
    >>> average.effect(of="w", on="y").probability < 0.1
    True

    References
    ----------
    Section 4.1 of the paper has the minimal absolute effect over one class; the average over
    classes goes beyond the paper.
    """
    groups = split_options(
        "averaged_effects", options, DataOptions, SpaceOptions, AveragingOptions, BudgetOptions
    )
    data_options, space_options, averaging_options, budget_options = groups
    averaging, budget = Averaging(**averaging_options), Budget(**budget_options)
    within = SearchSpace.of(
        getattr(graphs, "space", None) if space is None else space, **space_options
    )
    if not isinstance(graphs, SearchResult) and space_options.get("graph_class") in (
        "ancestral",
        "arid",
    ):
        raise BowfreeError(
            f"graph_class = {within.graph_class!r}: only the chains after a search can keep to it; "
            "give 'bap', 'dag' or 'bidirected' here"
        )
    if isinstance(graphs, SearchResult | ExhaustiveResult | StructureSamples):
        if data is not None or data_options:
            raise BowfreeError(
                f"a {type(graphs).__name__} brings its own data: leave out `data` and `cov`, or "
                "give graphs instead"
            )
        moments = graphs.moments
        check_finite_n(moments)
        counter = effect_counter(moments, averaging.effects, averaging.zero)
        scored, samples = _graphs_of_result(graphs, within, averaging, budget, counter)
    else:
        first, rest = given_first(given_iterable(graphs))
        moments = given_moments(graphs, first, data, data_options)
        check_finite_n(moments)
        counter = effect_counter(moments, averaging.effects, averaging.zero)
        given, samples = [given_checked(graph, first) for graph in rest], None
        rule = ScoringRule(1.0 if averaging.penalty is None else averaging.penalty)
        scored = _scored(given, counter, moments, rule)
    if not scored:
        raise BowfreeError("no graphs to average over: the pool is empty (keep = 0?)")
    return _average(scored, counter, moments, within, averaging, budget, samples)


# --- the graphs -----------------------------------------------------------------------------------


def _graphs_of_result(
    found: SearchResult | ExhaustiveResult | StructureSamples,
    space: SearchSpace,
    averaging: Averaging,
    budget: Budget,
    counter: _core.EffectCounter,
) -> tuple[list[ScoredGraph], StructureSamples | None]:
    """Return the scored graphs that a result brings, and the chains that widened its pool."""
    moments = found.moments
    if isinstance(found, ExhaustiveResult):
        if averaging.penalty is not None:
            raise BowfreeError("penalty belongs to exhaustive_search here: give it there")
        return list(found.ranking(averaging.window)), None
    rule = ScoringRule(found.penalty if averaging.penalty is None else averaging.penalty)
    scored, samples = list(found.pool), None
    # Scores of another kind, another penalty or unconverged fits, are no weights here.
    if rule != (found.rule if isinstance(found, SearchResult) else ScoringRule(found.penalty)):
        scored = _scored([graph for graph, _ in scored], counter, moments, rule)
    if isinstance(found, SearchResult) and averaging.widen and len(moments.names) > 1:
        samples = _widen(scored, moments, space, rule, averaging, budget)
        scored += samples.pool
    return scored, samples


def _widen(
    pool: Sequence[ScoredGraph],
    moments: Moments,
    space: SearchSpace,
    rule: ScoringRule,
    averaging: Averaging,
    budget: Budget,
) -> StructureSamples:
    """Run short chains from graphs all over the pool; they keep one graph of each class."""
    d = len(moments.names)
    plan = ChainPlan(
        steps=max(averaging.widen, 4),
        burn_in=0,
        thin=max(1, min(d * (d - 1) // 2, averaging.widen // 4)),
        starts=[pool[(k * (len(pool) - 1)) // 3].graph for k in range(4)],
        keep=5000,
        window=averaging.window,
        distinct="classes",
    )
    return sample_structures(moments, space, rule, plan, budget)


def _scored(
    graphs: Sequence[MixedGraph],
    counter: _core.EffectCounter,
    moments: Moments,
    rule: ScoringRule,
) -> list[ScoredGraph]:
    """Score graphs by fits that the effects will need again; they are converged."""
    F = counter.objectives(*_stacks(graphs))
    d, price = len(moments.names), rule.penalty * math.log(moments.n) / moments.n
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
    space: SearchSpace,
    averaging: Averaging,
    budget: Budget,
    samples: StructureSamples | None,
) -> AveragedEffects:
    best = max(score for _, score in scored)
    near = [entry for entry in scored if moments.n * (best - entry.score) <= averaging.window]
    classes = group_by_class(near)
    left_out = max(0, len(classes) - averaging.max_classes)
    classes = classes[: averaging.max_classes]
    gaps = np.array([moments.n * (score - best) for _, score in classes])
    weights = np.exp(gaps / averaging.temper)
    weights /= weights.sum()
    total, sizes = _core.average_classes(
        counter,
        *_stacks([graph for graph, _ in classes]),
        weights.tolist(),
        moments.n,
        averaging.level,
        averaging.limit,
        averaging.zero,
        space.member_masks(moments.names),
        budget.seconds_left,
    )
    if len(sizes) < len(classes):  # time was up: the classes looked at share the weight
        left_out += len(classes) - len(sizes)
        classes = classes[: len(sizes)]
        weights = weights[: len(sizes)]
        total = {
            name: matrix if name in ("lower", "upper") else matrix / weights.sum()
            for name, matrix in total.items()
        }
        weights = weights / weights.sum()
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
        level=float(averaging.level),
        window=float(averaging.window),
        temper=float(averaging.temper),
        formula=averaging.effects,
        samples=samples,
    )
