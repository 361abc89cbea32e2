"""Markov chain Monte Carlo over graphs: which graphs the data support, not only which is best.

A chain walks over BAPs and stays at a graph in proportion to its weight
(:mod:`bowfree.uncertainty.posterior`): by default the BIC approximation of its posterior
probability, under a prior that does not favor graphs with many edges. Most steps propose to change
one pair of variables; every twentieth *jumps* among graphs that are known by then, from the pool of
a search or met by the chains, in proportion to their weights; every fifth *splices*, takes over the
edges among some variables from a graph that was sampled before. Without these two chains stay for
long in the valley where they started. When they have not mixed at the end of their way and may go
on, they do so with what they have met as new places to jump to and to splice from, and only what
comes after counts. Scores come from the same kernels and the same kind of cache as in the search,
so a step that looks at known districts costs next to nothing.

Are the samples to be trusted? Chains from different starts must agree on every edge, which the
worst split R-hat of an edge tells (:mod:`bowfree.uncertainty.structure_samples`); the score's R-hat
alone often looks fine when edges do not. A result of chains that have not mixed says so.

Next: :mod:`bowfree.uncertainty.chain_segments`, where the chains walk, here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from bowfree import _core
from bowfree.data.loader import read_moments
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, TimeIsUp, WorkersLost, WorkInterrupted
from bowfree.graph.encodings import graphs_of_bits, index_pairs
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.search.greedy import check_finite_n
from bowfree.search.result import ScoredGraph, SearchResult
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.chain_segments import ChainSetup, legs_of, walk
from bowfree.uncertainty.posterior import GraphLaw, LawOptions
from bowfree.uncertainty.structure_samples import StructureSamples
from bowfree.validation import (
    BudgetOptions,
    DataOptions,
    SpaceOptions,
    as_list,
    check_count,
    check_positive,
    split_options,
)


@dataclass(frozen=True)
class ChainPlan:
    """How long chains walk and what they keep; the options of :class:`ChainOptions`, checked."""

    steps: int = 200_000
    max_steps: int | None = None
    burn_in: int | None = None
    thin: int | None = None
    chains: int | None = None
    starts: Sequence[MixedGraph] | None = None
    known: Sequence[MixedGraph] = ()
    keep: int = 5000
    window: float = 10.0
    cache_mb: float = 256.0

    def __post_init__(self) -> None:
        check_count("steps", self.steps, 1)
        optional = (("max_steps", self.steps), ("burn_in", 0), ("thin", 1), ("chains", 1))
        for name, least in optional:
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least)
        check_count("keep", self.keep, 0)
        for name in ("window", "cache_mb"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.starts is not None:
            object.__setattr__(self, "starts", tuple(as_list("starts", self.starts, "graphs")))
        if self.starts == ():
            raise BowfreeError("starts is empty: give at least one graph, or leave it out")

    @property
    def n_chains(self) -> int:
        """Number of chains; by default 4, or as many as there are starts."""
        default = 4 if self.starts is None else len(self.starts)
        return default if self.chains is None else self.chains


class ChainOptions(TypedDict, total=False):
    """How long chains walk, and what they keep.

    Attributes
    ----------
    max_steps : int
        Chains that have not mixed after `steps` go on for twice as many, which count in their
        place, and so on, as long as these are not more than `max_steps` together. By default there
        are no more than `steps`.
    burn_in : int
        Steps before the first sample; by default a quarter of `steps`.
    thin : int
        Steps from one sample to the next; by default the number of pairs of variables.
    chains : int
        Number of chains; by default 4, or as many as there are `starts`.
    keep, window : int, float
        The pool keeps this many of the heaviest graphs met (5000), with a logarithm of the weight
        within this distance of the best (10). Those known at the end of the burn-in, and up to
        four times as many that were sampled until then, are the ones that chains jump among and
        splice from; with ``keep=0`` they do neither.
    cache_mb : float
        Memory for known district scores, in megabytes (256).
    """

    max_steps: int | None
    burn_in: int | None
    thin: int | None
    chains: int | None
    keep: int
    window: float
    cache_mb: float


class StructureOptions(
    DataOptions, SpaceOptions, LawOptions, ChainOptions, BudgetOptions, total=False
):
    """All options of :func:`structure_mcmc` that it does not name itself."""


def structure_mcmc(
    data: Any = None,
    *,
    space: SearchSpace | None = None,
    steps: int = 200_000,
    starts: Sequence[MixedGraph] | None = None,
    **options: Unpack[StructureOptions],
) -> StructureSamples:
    """Sample graphs in proportion to how probable the data make them.

    Parameters
    ----------
    data : SearchResult, array_like of shape (n, d), data frame or Moments, optional
        Observations in rows. Of a search its data and its space are used, its pool is known to the
        chains from the beginning, and they start from graphs all over it.
    space : SearchSpace, optional
        The graphs to walk among; by default all BAPs.
    steps : int
        Steps of each chain after its burn-in.
    starts : sequence of MixedGraph, optional
        Where the chains begin, in turn. By default the first begins at the empty graph (or the
        required edges) and the others at random graphs with about d / 2 edges.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.validation.DataOptions`).
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.validation.SpaceOptions`).
        ``penalty``, ``prior``, ``temper``
            How probable a graph is (:class:`~bowfree.uncertainty.posterior.LawOptions`).
        ``max_steps``, ``burn_in``, ``thin``, ``chains``, ``keep``, ``window``, ``cache_mb``
            How the chains walk and what they keep
            (:class:`~bowfree.uncertainty.mcmc.ChainOptions`).
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); at most one thread or one
            worker per chain. When time is up the samples there are come back, marked incomplete.

    Returns
    -------
    StructureSamples

    Raises
    ------
    BowfreeError, DataError, GraphError, KnowledgeError
        Input that cannot be used, or a time limit that leaves fewer than 4 samples per chain.
    WorkInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` with the samples there are in its ``result``.
    WorkersLost
        When all workers of the executor are gone; with the samples there are in its ``result``.

    Examples
    --------
    That x1 and x2 are joined is as good as sure; what it means is not:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> samples = bf.structure_mcmc(cov=S, n=300, steps=20_000, rng=1)
    >>> adjacent = samples.directed + samples.directed.T + samples.bidirected
    >>> bool(adjacent[0, 1] > 0.99), bool(adjacent[0, 2] < 0.1), samples.mixed
    (True, True, True)

    References
    ----------
    Sections 3.1 and 3.2 of the paper, for the score and for the neighbors.
    """
    groups = split_options(
        "structure_mcmc",
        options,
        DataOptions,
        SpaceOptions,
        LawOptions,
        ChainOptions,
        BudgetOptions,
    )
    data_options, space_options, law_options, chain_options, budget_options = groups
    known: list[MixedGraph] = []
    if isinstance(data, SearchResult):
        if data_options:
            raise BowfreeError(
                f"a SearchResult brings its own data: leave out {', '.join(data_options)}"
            )
        within, moments = SearchSpace.of(space or data.space, **space_options), data.moments
        known = pool_within(data, within)
        starts = starts or starts_over(known)
    else:
        within, moments = SearchSpace.of(space, **space_options), read_moments(data, **data_options)
    return sample_structures(
        moments,
        within,
        GraphLaw(**law_options),
        ChainPlan(steps, starts=starts, known=known, **chain_options),
        Budget(**budget_options),
    )


def pool_within(found: SearchResult, space: SearchSpace) -> list[MixedGraph]:
    """Return the graphs of a search that lie in a space, which may be smaller than its own."""
    rules = space.rules(found.moments.names)
    return [graph for graph, _ in found.pool if rules.permits(*graph._bits())]


def starts_over(pool: Sequence[MixedGraph], size: int = 4) -> list[MixedGraph] | None:
    """Return graphs from all over a pool, best and worst among them; None if it is empty."""
    return [pool[(k * (len(pool) - 1)) // (size - 1)] for k in range(size)] if pool else None


def sample_structures(
    moments: Moments, space: SearchSpace, law: GraphLaw, plan: ChainPlan, budget: Budget
) -> StructureSamples:
    """Do the work of :func:`structure_mcmc` on moments that were read already."""
    check_finite_n(moments)
    if not moments.definite:
        space = space.with_default_limits(moments.n)
    names, d = moments.names, len(moments.names)
    n_pairs = d * (d - 1) // 2
    every = max(1, n_pairs) if plan.thin is None else plan.thin
    warm_up = plan.steps // 4 if plan.burn_in is None else plan.burn_in
    if plan.steps < 4 * every:
        raise BowfreeError(
            f"steps = {plan.steps} with a sample every {every} steps leaves "
            f"{plan.steps // every} samples per chain: at least 4 are needed; raise steps or lower "
            "thin"
        )
    ground, seed = space.required_graph(names), budget.seed()
    if plan.starts is None:
        sparse = SearchSpace.of(space, max_edges=ground.n_edges + d // 2)
        parents, spouses = _core.sample_mcmc(
            *ground._bits(), sparse.rules(names), plan.n_chains - 1, 20 * n_pairs, 0, False, seed
        )
        begin = [ground._bits(), *zip(parents, spouses, strict=True)]
    else:
        for graph in plan.starts:
            space.check_start(graph, names)
        begin = [plan.starts[k % len(plan.starts)]._bits() for k in range(plan.n_chains)]
    cache_bytes = int(min(plan.cache_mb, 2**40) * 2**20)
    setup = ChainSetup(moments, space, law, plan.keep, plan.window, cache_bytes)
    chains = setup.core(begin, seed)
    known = [graph._bits() for graph in plan.known]
    if known and plan.keep:
        chains.offer(np.stack([p for p, _ in known]), np.stack([s for _, s in known]))
    most = plan.steps if plan.max_steps is None else plan.max_steps
    legs = legs_of(warm_up, plan.steps, every, most)
    way = walk(chains, plan.n_chains, legs, budget, setup, warm_up + plan.steps)
    found = way.samples
    if found is None:
        raise way.cut or TimeIsUp(
            f"time_limit = {budget.time_limit:g} s ended before every chain had 4 samples: raise "
            "it, or ask for fewer steps or a shorter burn_in"
        )
    best = chains.pool()
    pool = [
        ScoredGraph(graph, float(score))
        for graph, score in zip(
            graphs_of_bits(names, best["parents"], best["spouses"]), best["scores"], strict=True
        )
    ]
    result = StructureSamples(
        names=names,
        scores=found.scores,
        states=found.states,
        pairs=tuple((names[i], names[j]) for i, j in index_pairs(d)),
        acceptance=found.acceptance,
        pool=tuple(pool),
        moments=moments,
        space=space,
        law=law,
        steps=found.leg.steps,
        burn_in=found.before,
        thin=found.leg.thin,
        complete=way.complete,
    )
    for array in (result.scores, result.states, result.acceptance):
        array.setflags(write=False)
    if isinstance(way.cut, WorkersLost):
        way.cut.result = result
        raise way.cut
    if way.cut is not None:
        raise WorkInterrupted(result) from way.cut
    return result
