"""Effects and edges averaged over all graphs that the data leave probable (model averaging).

One best graph is a bold statement: with finite data many graphs are almost as probable, an edge
that is not quite worth its penalty may be there all the same, and standard errors computed as if
the graph had been given forget that it was learned from the same data. Instead of committing to
one graph, average over all of them, each with its probability
(:mod:`bowfree.uncertainty.posterior`). Every ordered pair of variables then has a probability of an
effect, and an interval with three kinds of doubt in it: about the estimate in a given graph, about
the member of an equivalence class, and about the class.

The graphs are sampled by chains that start from the pool of a search
(:mod:`bowfree.uncertainty.mcmc`), or come from an exhaustive search, which makes all
weights exact on up to five variables. Equivalent graphs are equally probable. So the members of a
class are not left to chance: the heaviest classes are enumerated, and every member has an equal
part in the weight of its class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.effects.bounds import (
    ZERO,
    effect_counter,
    given_checked,
    given_first,
    given_iterable,
    given_moments,
)
from bowfree.effects.bounds_result import Formula
from bowfree.equivalence.targets import Targets, targets_of
from bowfree.errors import BowfreeError, WorkersLost, WorkInterrupted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.greedy import check_finite_n
from bowfree.search.result import SearchResult
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.average_result import AveragedClass, AveragedEffects
from bowfree.uncertainty.mcmc import (
    ChainPlan,
    pool_within,
    sample_structures,
    starts_over,
)
from bowfree.uncertainty.posterior import GraphLaw, LawOptions, log_weights
from bowfree.uncertainty.structure_samples import StructureSamples
from bowfree.validation import (
    BudgetOptions,
    DataOptions,
    SpaceOptions,
    check_choice,
    check_count,
    check_fraction,
    check_nonnegative,
    check_positive,
    split_options,
)

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

Counted = Literal["graphs", "classes"]

MOST_SAMPLES = 1000  # of each chain
FEW = 12  # variables, up to which a step takes microseconds and chains have a third leg
MOST_ENTRIES = 10**6  # of effects in the samples of a chain: fewer samples for many variables


class AveragingOptions(TypedDict, total=False):
    """What is averaged.

    Attributes
    ----------
    level : float
        What the intervals of the effects should cover (0.95).
    count : {"graphs", "classes"}
        Whether every graph counts once, so that a class weighs as much as all its members together
        (the default), or every class counts once, however many members it has.
    steps : int
        Steps of each of the four chains that sample graphs after a search (40,000), after a quarter
        as many as their burn-in.
    max_steps : int
        Chains that have not mixed by then go on for twice as many steps, which count in their
        place, and so on, as long as these are not more than `max_steps` together (seven times
        `steps` for up to 12 variables, three times for more).
    window : float
        Of an exhaustive search and of given graphs: those count whose logarithm of the weight is
        within this distance of the best (15).
    max_classes : int
        So many classes are enumerated, the heaviest (300). Of the others the sampled graphs
        count.
    limit : int
        Of each connected component of a class at most so many members are enumerated (300). Where
        there are more, the sampled graphs of the class stand for them; the result says where.
    effects : {"corrected", "as-published"}
        As for :func:`bowfree.effect_bounds`.
    zero : float
        Effects with an absolute value up to this count as none.
    """

    level: float
    count: Counted
    steps: int
    max_steps: int
    window: float
    max_classes: int
    limit: int
    effects: Formula
    zero: float


@dataclass(frozen=True)
class Averaging:
    """The options of :class:`AveragingOptions`, checked."""

    level: float = 0.95
    count: Counted = "graphs"
    steps: int = 40_000
    max_steps: int | None = None
    window: float = 15.0
    max_classes: int = 300
    limit: int = 300
    effects: Formula = "corrected"
    zero: float = ZERO

    def __post_init__(self) -> None:
        check_fraction("level", self.level)
        check_choice("count", self.count, get_args(Counted))
        check_count("steps", self.steps, 4)
        if self.max_steps is not None:
            check_count("max_steps", self.max_steps, self.steps)
        object.__setattr__(self, "window", check_positive("window", self.window))
        check_count("max_classes", self.max_classes, 1)
        check_count("limit", self.limit, 1)
        check_choice("effects", self.effects, get_args(Formula))
        object.__setattr__(self, "zero", check_nonnegative("zero", self.zero))


class AveragedEffectsOptions(
    DataOptions, SpaceOptions, LawOptions, AveragingOptions, BudgetOptions, total=False
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
            A covariance matrix in place of `data` (:class:`~bowfree.validation.DataOptions`).
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.validation.SpaceOptions`).
        ``penalty``, ``prior``, ``temper``
            How probable a graph is (:class:`~bowfree.uncertainty.posterior.LawOptions`).
        ``level``, ``count``, ``steps``, ``max_steps``, ``window``, ``max_classes``, ``limit``, \
``effects``, ``zero``
            What is averaged (:class:`~bowfree.uncertainty.averaging.AveragingOptions`).
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`). Random numbers, threads and
            workers are for the chains. Half of the time is for them, or for the scores of given
            graphs; the rest is for the classes, the heaviest first. What time did not suffice for
            is left out, but for the first graph and the first member, each of which is waited for
            a tenth of a second longer.

    Returns
    -------
    AveragedEffects

    Raises
    ------
    BowfreeError
        No graphs, options that make no sense, or a time limit within which not even one graph
        could be fitted.
    WorkersLost
        When all workers of the executor are gone; with the average over the samples there are in
        its ``result``.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <- z, y -> w")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]],
    ...                    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> result = bf.exhaustive_search(sem.sample(2000, rng=2, as_frame="pandas"))
    >>> average = bf.averaged_effects(result)
    >>> found = average.effect(of="y", on="w")
    >>> found.probability > 0.9, found.lower < 1 < found.upper
    (True, True)
    >>> average.effect(of="w", on="y").probability < 0.1
    True

    References
    ----------
    Section 4.1 of the paper has the minimal absolute effect over one class; the average over
    classes goes beyond the paper.
    """
    groups = split_options(
        "averaged_effects",
        options,
        DataOptions,
        SpaceOptions,
        LawOptions,
        AveragingOptions,
        BudgetOptions,
    )
    data_options, space_options, law_options, averaging_options, budget_options = groups
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
    law = GraphLaw(**law_options)
    if isinstance(graphs, SearchResult | ExhaustiveResult | StructureSamples):
        if data is not None or data_options:
            raise BowfreeError(
                f"a {type(graphs).__name__} brings its own data: leave out `data` and `cov`, or "
                "give graphs instead"
            )
        moments = graphs.moments
        check_finite_n(moments)
    else:
        first, rest = given_first(given_iterable(graphs))
        moments = given_moments(graphs, first, data, data_options)
        check_finite_n(moments)
        graphs = [given_checked(graph, first) for graph in rest]
    counter = effect_counter(moments, averaging.effects, averaging.zero, variances=True)
    if isinstance(graphs, SearchResult):
        try:
            votes = _sampled(_chains(graphs, within, law, averaging, budget))
        except WorkersLost as lost:
            if lost.result is not None:
                votes = _sampled(lost.result)
                lost.result = average_votes(votes, counter, moments, within, law, averaging, budget)
            raise
        except WorkInterrupted as stop:
            raise KeyboardInterrupt from stop  # samples are not what was asked for
    elif isinstance(graphs, StructureSamples):
        if law_options:
            raise BowfreeError(
                f"{', '.join(law_options)}: the chains have sampled from a law of their own; give "
                "it to structure_mcmc"
            )
        law = graphs.law
        votes = _sampled(graphs)
    elif isinstance(graphs, ExhaustiveResult):
        votes = _listed(graphs, within, law, averaging)
    else:
        votes = _given(graphs, counter, moments, within, law, averaging, budget)
    if not votes.graphs:
        raise BowfreeError("no graphs to average over: none was given")
    return average_votes(votes, counter, moments, within, law, averaging, budget)


# --- the graphs and their shares ------------------------------------------------------------------


class Votes(NamedTuple):
    """Graphs and what each weighs, before classes come into it."""

    graphs: Sequence[MixedGraph]
    shares: Floats  # sum to 1
    all_graphs: bool  # True: a class weighs what its graphs here weigh; False: one graph for each
    samples: StructureSamples | None  # where they come from
    complete: bool = True  # False: time was up before all were looked at


def _chains(
    found: SearchResult,
    space: SearchSpace,
    law: GraphLaw,
    averaging: Averaging,
    budget: Budget,
) -> StructureSamples:
    """Sample graphs, starting from graphs all over the pool of a search."""
    d = len(found.moments.names)
    size = max(4, min(MOST_SAMPLES, averaging.steps, MOST_ENTRIES // d**2))
    known = pool_within(found, space)
    plan = ChainPlan(
        steps=averaging.steps,
        max_steps=averaging.max_steps or (7 if d <= FEW else 3) * averaging.steps,
        thin=averaging.steps // size,
        starts=starts_over(known),
        known=known,
    )
    return sample_structures(found.moments, space, law, plan, budget.with_share(0.5))


def _sampled(samples: StructureSamples) -> Votes:
    """Return the distinct graphs that chains visited, and how often they did."""
    counts = samples.counts()
    times = np.array(list(counts.values()), dtype=np.float64)
    return Votes(list(counts), times / times.sum(), True, samples, samples.complete)


def _listed(
    found: ExhaustiveResult, space: SearchSpace, law: GraphLaw, averaging: Averaging
) -> Votes:
    """Return all graphs that matter of an exhaustive search, with their exact weights."""
    n = found.moments.n
    n_edges = found.edge_counts()
    # The same fits, at another price of an edge.
    dearer = (found.penalty - law.penalty) * math.log(n) / n
    scores = found.scores + dearer * found.parameter_counts()
    weights = log_weights(law, scores, n_edges, found.moments, space)
    near = np.flatnonzero(weights >= weights.max() - averaging.window)
    near = near[np.argsort(-weights[near], kind="stable")]
    return Votes([found.graph_at(int(k)) for k in near], _shares(weights[near]), True, None)


def _given(
    graphs: Sequence[MixedGraph],
    counter: _core.EffectCounter,
    moments: Moments,
    space: SearchSpace,
    law: GraphLaw,
    averaging: Averaging,
    budget: Budget,
) -> Votes:
    """Return one graph for each class of the given ones; the fits are needed again for effects."""
    graphs = list(dict.fromkeys(graphs))
    half = budget.with_share(0.5)
    F = counter.objectives(*_stacks(graphs), half.seconds_left, budget.seconds_left)
    complete, graphs = len(F) == len(graphs), graphs[: len(F)]
    n_edges = np.array([graph.n_edges for graph in graphs])
    own = [
        moments._own_numbers(graph).sum() if isinstance(moments, JointMoments) else 0
        for graph in graphs
    ]
    price = law.penalty * math.log(moments.n) / moments.n
    scores = -0.5 * F - price * (n_edges + np.array(own))
    weights = log_weights(law, scores, n_edges, moments, space)
    near = np.argsort(-weights, kind="stable")
    near = near[weights[near] >= weights.max() - averaging.window]
    graphs = [graphs[k] for k in near]
    first = first_of_class(graphs, targets_of(moments, moments.names))
    kept = np.flatnonzero(first == np.arange(len(first)))
    return Votes([graphs[k] for k in kept], _shares(weights[near][kept]), False, None, complete)


def _shares(log_weights: Floats) -> Floats:
    weights: Floats = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return weights


def first_of_class(graphs: Sequence[MixedGraph], conditions: Targets) -> npt.NDArray[np.intp]:
    """Return for each graph the place of the first that is equivalent to it; exact."""
    conditions.check_seen("an average over classes")
    found = _core.first_of_class(*_stacks(graphs), 0, conditions.core)
    return np.asarray(found, dtype=np.intp)


def _stacks(graphs: Sequence[MixedGraph]) -> tuple[Bits, Bits]:
    """Return parents and spouses of all graphs, each (graphs, d, words)."""
    bits = [graph._bits() for graph in graphs]
    return np.stack([p for p, _ in bits]), np.stack([s for _, s in bits])


# --- the average ----------------------------------------------------------------------------------


def average_votes(
    votes: Votes,
    counter: _core.EffectCounter,
    moments: Moments,
    space: SearchSpace,
    law: GraphLaw,
    averaging: Averaging,
    budget: Budget,
) -> AveragedEffects:
    """Average over the classes of the graphs, the heaviest class first."""
    conditions = targets_of(moments, moments.names)
    if votes.all_graphs:
        first = first_of_class(votes.graphs, conditions)
    else:
        first = np.arange(len(votes.graphs))
    mass = np.bincount(first, weights=votes.shares, minlength=len(first))
    order = np.lexsort((np.arange(len(first)), first, -mass[first]))
    begins = np.flatnonzero(np.diff(first[order], prepend=-1))
    sizes = np.diff(begins, append=len(order))
    graphs, shares = [votes.graphs[k] for k in order], votes.shares[order]
    # What the shares of a class have to be multiplied by: its number of members to this power.
    power = {(True, "graphs"): 0, (True, "classes"): -1, (False, "graphs"): 1}.get(
        (votes.all_graphs, averaging.count), 0
    )
    enumerated = min(len(sizes), averaging.max_classes)
    everything = not power or enumerated == len(sizes)
    if power:  # weights are known only where members were counted
        sizes = sizes[:enumerated]
        graphs, shares = graphs[: sizes.sum()], shares[: sizes.sum()]
    total, parts, weight = _core.average_classes(
        counter,
        *_stacks(graphs),
        shares.tolist(),
        sizes.tolist(),
        enumerated,
        power,
        moments.n,
        averaging.level,
        averaging.limit,
        space.member_masks(moments.names),
        conditions.core,
        budget.seconds_left,
    )
    entries = [
        AveragedClass(graphs[begin], part / weight, math.prod(components), complete)
        for begin, (part, components, complete) in zip(begins, parts, strict=False)
    ]
    entries.sort(key=lambda entry: -entry.weight)
    for matrix in total.values():
        matrix.setflags(write=False)
    return AveragedEffects(
        names=moments.names,
        **total,
        classes=tuple(entries),
        n_graphs=len(votes.graphs),
        n_classes=len(begins),
        level=float(averaging.level),
        count=averaging.count,
        law=law,
        formula=averaging.effects,
        complete=(
            everything
            and len(parts) == enumerated
            and (power != 0 or weight > 1 - 1e-9)
            and (power == 0 or all(entry.complete for entry in entries))
            and votes.complete
        ),
        samples=votes.samples,
        targets=conditions.sets,
        kind=conditions.kind,
    )
