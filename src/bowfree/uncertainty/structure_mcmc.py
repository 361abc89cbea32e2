"""Markov chain Monte Carlo over graphs: which graphs the data support, not only which is best.

A chain walks over BAPs by single-edge changes and stays at a graph G in proportion to
``exp(n s(G) / temper)``, s being the penalised score. With ``penalty=0.5`` that is the BIC
approximation of a posterior over graphs under a uniform prior. Proposals are symmetric: one of the
``d (d - 1) / 2`` pairs, one of the three states it is not in. Scores come from the same kernels
and the same kind of cache as in the search, so a step that looks at known districts costs less
than a microsecond.

Two uses: edge frequencies with honest diagnostics (:mod:`bowfree.uncertainty.mcmc_diagnostics`),
and a pool of good graphs wider than the search's, for :mod:`bowfree.uncertainty.averaging`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from bowfree import _core
from bowfree.budget import Budget
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pair_states import index_pairs
from bowfree.model.moments import Moments, read_moments
from bowfree.model.scoring_rule import ScoringRule
from bowfree.options import (
    DataOptions,
    PenaltyOption,
    SpaceOptions,
    at_least,
    each,
    one_of,
    positive,
    split_options,
)
from bowfree.search.greedy import check_finite_n
from bowfree.search.result import ScoredGraph
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.structure_samples import StructureSamples

__all__ = ["structure_mcmc"]


@dataclass(frozen=True)
class ChainPlan:
    """How long chains walk and what they keep; the options of :class:`ChainOptions`, checked."""

    steps: int = 50_000
    burn_in: int | None = None
    thin: int | None = None
    chains: int | None = None
    starts: Sequence[MixedGraph] | None = None
    temper: float = 1.0
    keep: int = 1000
    window: float = 10.0
    distinct: Literal["graphs", "classes"] = "graphs"
    cache_mb: float = 256.0

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1)
        for name, least in (("burn_in", 0), ("thin", 1), ("chains", 1)):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), least)
        at_least("keep", self.keep, 0)
        for name in ("temper", "window", "cache_mb"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        one_of("distinct", self.distinct, ("graphs", "classes"))
        if self.starts is not None:
            object.__setattr__(self, "starts", tuple(each("starts", self.starts, "graphs")))
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
    burn_in : int
        Steps before the first sample; by default half of `steps`.
    thin : int
        Steps from one sample to the next; by default the number of pairs of variables.
    chains : int
        Number of chains; by default 4, or as many as there are `starts`.
    temper : float
        Above 1 the law is flatter and the chains move more freely.
    keep, window : int, float
        The pool keeps this many of the best graphs met (1000), within this many units of
        ``n * score`` (10).
    distinct : {"graphs", "classes"}
        The pool has every graph, or one graph for each skeleton and score: one for each class, as
        equivalent graphs have both in common.
    cache_mb : float
        Memory for known district scores, in megabytes (256).
    """

    burn_in: int | None
    thin: int | None
    chains: int | None
    temper: float
    keep: int
    window: float
    distinct: Literal["graphs", "classes"]
    cache_mb: float


class ChainBudget(TypedDict, total=False):
    """The part of :class:`~bowfree.options.BudgetOptions` that chains know."""

    rng: int | np.random.Generator | None
    n_jobs: int | None


class StructureOptions(
    DataOptions, SpaceOptions, PenaltyOption, ChainOptions, ChainBudget, total=False
):
    """All options of :func:`structure_mcmc` that it does not name itself."""


def structure_mcmc(
    data: Any = None,
    *,
    space: SearchSpace | None = None,
    steps: int = 50_000,
    starts: Sequence[MixedGraph] | None = None,
    **options: Unpack[StructureOptions],
) -> StructureSamples:
    """Sample graphs in proportion to ``exp(n * score / temper)``.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    space : SearchSpace, optional
        The graphs to walk among; by default all BAPs.
    steps : int
        Steps of each chain after its burn-in.
    starts : sequence of MixedGraph, optional
        Where the chains begin, in turn. By default the first begins at the empty graph (or the
        required edges) and the others at random graphs with about d / 2 edges.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.options.DataOptions`).
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.options.SpaceOptions`).
        ``penalty``
            Weight of ``log n`` per node and edge: 1 is the paper's, 0.5 the usual BIC.
        ``burn_in``, ``thin``, ``chains``, ``temper``, ``keep``, ``window``, ``distinct``, \
``cache_mb``
            How the chains walk and what they keep
            (:class:`~bowfree.uncertainty.structure_mcmc.ChainOptions`).
        ``rng``, ``n_jobs``
            Random numbers and threads (:class:`~bowfree.options.BudgetOptions`), one chain per
            thread at most.

    Returns
    -------
    StructureSamples

    Raises
    ------
    BowfreeError, DataError, GraphError, KnowledgeError
        Input that cannot be used.

    Examples
    --------
    The edge between x1 and x2 is certain; what it means is not:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> samples = bf.structure_mcmc(cov=S, n=300, steps=20_000, rng=1)
    >>> adjacent = samples.directed + samples.directed.T + samples.bidirected
    >>> bool(adjacent[0, 1] > 0.99), bool(adjacent[0, 2] < 0.1), samples.r_hat < 1.1
    (True, True, True)

    References
    ----------
    Sections 3.1 and 3.2 of the paper, for the score and for the neighbours.
    """
    groups = split_options(
        "structure_mcmc",
        options,
        DataOptions,
        SpaceOptions,
        PenaltyOption,
        ChainOptions,
        ChainBudget,
    )
    data_options, space_options, penalty_option, chain_options, budget_options = groups
    return sample_structures(
        read_moments(data, **data_options),
        SearchSpace.of(space, **space_options),
        ScoringRule(**penalty_option),
        ChainPlan(steps, starts=starts, **chain_options),
        Budget(**budget_options),
    )


def sample_structures(
    moments: Moments, space: SearchSpace, rule: ScoringRule, plan: ChainPlan, budget: Budget
) -> StructureSamples:
    """Do the work of :func:`structure_mcmc` on moments that were read already."""
    check_finite_n(moments)
    names, d = moments.names, len(moments.names)
    n_pairs = d * (d - 1) // 2
    every = max(1, n_pairs) if plan.thin is None else plan.thin
    warm_up = plan.steps // 2 if plan.burn_in is None else plan.burn_in
    if plan.steps < 4 * every:
        raise BowfreeError(
            f"steps = {plan.steps} with a sample every {every} steps leaves "
            f"{plan.steps // every} samples per chain: at least 4 are needed; raise steps or lower "
            "thin"
        )
    ground, seed = space.ground(names), budget.seed()
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
    found = _core.structure_chains(
        moments.S,
        moments.n,
        rule.penalty,
        int(min(plan.cache_mb, 2**40) * 2**20),
        space.rules(names),
        begin,
        steps=plan.steps,
        burn_in=warm_up,
        thin=every,
        temper=plan.temper,
        keep=plan.keep,
        window=plan.window / moments.n,
        one_per_class=plan.distinct == "classes",
        seed=seed,
        n_threads=budget.n_threads,
    )
    pool = [
        ScoredGraph(MixedGraph._from_bits(names, p, s), float(score))
        for p, s, score in zip(
            found["pool_parents"], found["pool_spouses"], found["pool_scores"], strict=True
        )
    ]
    pool.sort(key=lambda entry: -entry.score)
    result = StructureSamples(
        names=names,
        scores=np.stack([chain["scores"] for chain in found["chains"]]),
        states=np.stack([chain["states"] for chain in found["chains"]]),
        pairs=tuple((names[i], names[j]) for i, j in index_pairs(d)),
        acceptance=np.array([chain["accepted"] / plan.steps for chain in found["chains"]]),
        pool=tuple(pool),
        moments=moments,
        space=space,
        penalty=rule.penalty,
        temper=float(plan.temper),
        steps=plan.steps,
        burn_in=warm_up,
        thin=every,
    )
    for array in (result.scores, result.states, result.acceptance):
        array.setflags(write=False)
    return result
