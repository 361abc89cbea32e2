"""Markov chain Monte Carlo over graphs: :func:`bowfree.structure_mcmc`.

A chain visits graphs in proportion to their posterior probability
(:mod:`bowfree.uncertainty.posterior`). Most steps propose to *change* one pair of variables; every
fifth step *exchanges* an edge for one between another pair. Every twentieth step *jumps* within a
list of good graphs, from the pool of a search or found by the chains, in proportion to their
weights. Every fifth step *splices*: it replaces the edges among some variables by those of a graph
sampled before. Without jumps and splices, chains stay near the local optimum where they started
for a long time. Chains that have not mixed at the end may be extended: the graphs found so far
become new targets of jumps and splices, and only samples drawn afterwards count.

Chains from different starts must agree on every edge (:mod:`bowfree.uncertainty.structure_samples`);
the R-hat of the score is often small when edges have not mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError, TimeIsUp, WorkersLost, WorkInterrupted
from bowfree.graph.encodings import index_pairs
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Errors, GraphClass, Means, Missing, Rng, public
from bowfree.search.greedy import check_finite_n, search_moments
from bowfree.search.plan import Strategy, first_runs_for
from bowfree.search.result import TOLERANCE, SearchInterrupted, SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.chain_segments import ChainSetup, plan_segments, run_chains
from bowfree.uncertainty.posterior import GraphPosterior, Prior, with_tempered_errors
from bowfree.uncertainty.structure_samples import StructureSamples
from bowfree.validation import as_list, check_count, check_positive


@dataclass(frozen=True)
class ChainPlan:
    """Length of the chains and size of their pool; parameters of :func:`structure_mcmc`."""

    steps: int = 200_000
    max_steps: int | None = None
    burn_in: int | None = None
    thin: int | None = None
    chains: int | None = None
    starts: Sequence[MixedGraph] | None = None
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
            raise BowfreeError("starts is empty: pass at least one graph, or None")

    @property
    def n_chains(self) -> int:
        """Number of chains; by default 4, or the number of starts."""
        default = 4 if self.starts is None else len(self.starts)
        return default if self.chains is None else self.chains


@public
def structure_mcmc(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    nominal: Sequence[str] = (),
    errors: Errors = "gaussian",
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: float = 0.5,
    prior: Prior = "density",
    temperature: float = 1.0,
    steps: int = 200_000,
    max_steps: int | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int | None = None,
    starts: Sequence[MixedGraph] | None = None,
    keep: int = 5000,
    window: float = 10.0,
    cache_mb: float = 256.0,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StructureSamples:
    """Sample graphs from their posterior distribution by Markov chain Monte Carlo.

    Parameters
    ----------
    data : SearchResult, array_like of shape (n, d), data frame or Moments, optional
        Observations in rows, or the result of a search: its data and its space are used, and the
        chains start from graphs of its pool.
    penalty : float
        Weight of ``log n`` for each node and edge in the score. The default, 0.5, makes ``n`` times
        the score the BIC approximation of the log marginal likelihood, and is used whatever the
        penalty of the search was.
    steps : int
        Number of steps of each chain after its burn-in.
    max_steps : int, optional
        Chains that have not mixed (see :attr:`StructureSamples.mixed`) after `steps` steps are
        extended by twice as many, whose samples replace the previous ones, and so on, as long as
        all of them together are at most `max_steps`. By default chains are not extended.
    burn_in : int, optional
        Number of steps before the first sample; by default ``steps / 4``.
    thin : int, optional
        Number of steps from one sample to the next; by default the number of pairs of variables.
    chains : int, optional
        Number of chains; by default 4, or the number of `starts`.
    starts : sequence of MixedGraph, optional
        Graphs at which the chains start. By default they start from graphs spread over the pool of
        a short search, which is made unless `data` are the result of one.
    keep, window : int, float
        The pool keeps at most `keep` graphs, with a log weight within `window` of the best. The
        pool at the end of the burn-in, and up to ``4 * keep`` graphs sampled by then, are the
        targets of jumps and splices; with ``keep=0`` there are none.
    cache_mb : float
        Memory for scores of districts, in megabytes.

    Notes
    -----
    With ``errors="nongaussian"`` the evidence beyond covariances is raised to the power 0.7, because
    probabilities would otherwise be too extreme (:mod:`bowfree.uncertainty.posterior`).

    Raises
    ------
    TimeIsUp
        If the time limit leaves fewer than 4 samples per chain.
    WorkInterrupted, WorkersLost
        On Ctrl-C, or if all workers of the executor are lost. The attribute ``result`` has the
        samples drawn so far.

    Examples
    --------
    That x1 and x2 are adjacent is almost certain; the kind of the edge is not:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> samples = bf.structure_mcmc(cov=S, n=300, steps=20_000, rng=1)
    >>> adjacent = samples.directed + samples.directed.T + samples.bidirected
    >>> bool(adjacent[0, 1] > 0.99), bool(adjacent[0, 2] < 0.1), samples.mixed
    (True, True, True)
    """
    options = DataOptions(
        cov,
        n,
        ddof,
        shrinkage,
        missing,
        correlation,
        ordinal,
        weights,
        means,
        nominal,
        errors=errors,
    )
    space = data.space if space is None and isinstance(data, SearchResult) else space
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    if isinstance(data, SearchResult):
        options.refuse("a SearchResult has its own data; omit it")
        moments, found = data.moments, data
    else:
        moments, found = options.read(data), None
    return sample_structures(
        moments,
        within,
        GraphPosterior(penalty, prior, temperature),
        ChainPlan(steps, max_steps, burn_in, thin, chains, starts, keep, window, cache_mb),
        Budget(rng, n_jobs, time_limit, progress, executor),
        found,
    )


def pool_within(found: SearchResult, space: SearchSpace) -> list[MixedGraph]:
    """Return the graphs of a search that lie in a space, which may be smaller, the best first.

    Graphs with the same score are sorted by their edges, not by rounding errors. If the pool was
    full, those with the score of the last one may be incomplete and are left out.
    """
    scores = np.array([score for _, score in found.pool])
    rank = np.append(0, np.cumsum(np.diff(scores) < -TOLERANCE))
    full = len(scores) >= found.settings.get("keep", Strategy.keep) and rank[-1] > 0
    ranked = sorted(
        (int(k), graph._parents, graph._spouses, graph)
        for k, (graph, _) in zip(rank, found.pool, strict=True)
        if not (full and k == rank[-1])
    )
    rules = space.rules(found.moments.names)
    return [graph for *_, graph in ranked if rules.permits(*graph._bits())]


def short_search(
    moments: Moments, space: SearchSpace, posterior: GraphPosterior, budget: Budget
) -> SearchResult:
    """Return the result of a search that only has to find good graphs, without workers."""
    strategy = Strategy(restarts=min(8, first_runs_for(len(moments.names))), rounds=1)
    own = Budget(budget.generator().spawn(1)[0], budget.n_jobs, budget.with_share(0.25).time_limit)
    try:
        return search_moments(moments, space, ScoringRule(posterior.penalty), strategy, own)
    except SearchInterrupted as stop:
        raise KeyboardInterrupt from stop  # there are no samples yet


def sample_structures(
    moments: Moments,
    space: SearchSpace,
    posterior: GraphPosterior,
    plan: ChainPlan,
    budget: Budget,
    found: SearchResult | None = None,
) -> StructureSamples:
    """Run the chains of :func:`structure_mcmc`; they start from the pool of `found`."""
    check_finite_n(moments)
    moments = with_tempered_errors(moments)
    if not moments.definite:
        space = space.with_default_limits(moments.n, moments._n_distinct)
    names, d = moments.names, len(moments.names)
    n_pairs = d * (d - 1) // 2
    thin = max(1, n_pairs) if plan.thin is None else plan.thin
    burn_in = plan.steps // 4 if plan.burn_in is None else plan.burn_in
    if plan.steps < 4 * thin:
        raise BowfreeError(
            f"steps = {plan.steps} with a sample every {thin} steps makes {plan.steps // thin} "
            "samples per chain, and at least 4 are needed: raise `steps` or lower `thin`"
        )
    pool = [] if found is None else pool_within(found, space)
    for graph in plan.starts or ():
        space.check_start(graph, names)
    if not pool and not plan.starts:
        pool = pool_within(short_search(moments, space, posterior, budget), space)
    # Spread over the ranking of the pool, with the first and the last of its graphs.
    last = max(1, plan.n_chains - 1)
    spread = [pool[k * (len(pool) - 1) // last] for k in range(plan.n_chains) if pool]
    graphs = plan.starts or spread
    starts = [graphs[k % len(graphs)]._bits() for k in range(plan.n_chains)]
    cache_bytes = int(min(plan.cache_mb, 2**40) * 2**20)
    setup = ChainSetup(moments, space, posterior, plan.keep, plan.window, cache_bytes)
    chains = setup.start(starts, budget.seed())
    if pool and plan.keep:
        chains.offer(*map(np.stack, zip(*(graph._bits() for graph in pool), strict=True)))
    max_steps = plan.steps if plan.max_steps is None else plan.max_steps
    segments = plan_segments(burn_in, plan.steps, thin, max_steps)
    outcome = run_chains(chains, plan.n_chains, segments, budget, setup, burn_in + plan.steps)
    samples = outcome.samples
    if samples is None:
        raise outcome.interruption or TimeIsUp(
            "the time limit was reached before every chain had 4 samples; raise `time_limit`, or "
            "lower `steps`"
        )
    result = StructureSamples(
        names=names,
        scores=samples.scores,
        states=samples.states,
        pairs=tuple((names[i], names[j]) for i, j in index_pairs(d)),
        acceptance=samples.acceptance,
        moments=moments,
        space=space,
        posterior=posterior,
        steps=samples.segment.steps,
        burn_in=samples.before,
        thin=samples.segment.thin,
        complete=outcome.complete,
        _pool=chains.pool(),
    )
    if isinstance(outcome.interruption, WorkersLost):
        outcome.interruption.result = result
        raise outcome.interruption
    if outcome.interruption is not None:
        raise WorkInterrupted(result) from outcome.interruption
    return result
