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

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bowfree import _core
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pair_states import index_pairs
from bowfree.model.moments import Moments, read_moments
from bowfree.options import at_least, n_threads, positive
from bowfree.search.greedy import check_start
from bowfree.search.result import ScoredGraph
from bowfree.space.knowledge import Knowledge
from bowfree.space.random_graphs import GraphClass, draw_seed, graph_rules, permitted_ground
from bowfree.uncertainty.structure_samples import StructureSamples

__all__ = ["structure_mcmc"]


def structure_mcmc(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    steps: int = 50_000,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int | None = None,
    starts: Sequence[MixedGraph] | None = None,
    penalty: float = 1.0,
    temper: float = 1.0,
    graph_class: GraphClass = "bap",
    max_in_degree: int | None = None,
    max_district: int | None = None,
    knowledge: Knowledge | None = None,
    shrinkage: float = 0.0,
    keep: int = 1000,
    window: float = 10.0,
    distinct: Literal["graphs", "classes"] = "graphs",
    n_jobs: int = 1,
    cache_mb: float = 256.0,
    rng: Any = None,
) -> StructureSamples:
    """Sample graphs in proportion to ``exp(n * score / temper)``.

    Parameters
    ----------
    data, cov, n, ddof
        The data, as for :func:`bowfree.fit`.
    steps : int
        Steps of each chain after its burn-in.
    burn_in : int, optional
        Steps before the first sample; by default half of `steps`.
    thin : int, optional
        Steps from one sample to the next; by default the number of pairs of variables.
    chains : int, optional
        Number of chains; by default 4, or as many as there are `starts`.
    starts : sequence of MixedGraph, optional
        Where the chains begin, in turn. By default the first begins at the empty graph (or the
        required edges) and the others at random graphs with about d / 2 edges.
    penalty : float
        Weight of ``log n`` per node and edge: 1 is the paper's, 0.5 the usual BIC.
    temper : float
        Above 1 the law is flatter and the chains move more freely.
    graph_class, max_in_degree, max_district, knowledge, shrinkage
        As for :func:`bowfree.greedy_search`.
    keep, window : int, float
        The pool keeps so many of the best graphs met, within so many units of ``n * score``.
    distinct : {"graphs", "classes"}
        The pool has every graph, or one graph for each skeleton and score: one for each class, as
        equivalent graphs have both in common.
    n_jobs : int
        Threads, one per chain at most; -1 for all cores. The result does not depend on it.
    cache_mb : float
        Memory for known district scores, in megabytes.
    rng : int or numpy.random.Generator, optional
        Anything :func:`numpy.random.default_rng` takes.

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
    moments = read_moments(data, cov=cov, n=n, ddof=ddof, shrinkage=shrinkage)
    return sample_structures(
        moments,
        steps=steps,
        burn_in=burn_in,
        thin=thin,
        chains=chains,
        starts=starts,
        penalty=penalty,
        temper=temper,
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
        knowledge=knowledge,
        keep=keep,
        window=window,
        distinct=distinct,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        rng=rng,
    )


def sample_structures(
    moments: Moments,
    *,
    steps: int,
    burn_in: int | None,
    thin: int | None,
    chains: int | None,
    starts: Sequence[MixedGraph] | None,
    penalty: float,
    temper: float,
    graph_class: GraphClass,
    max_in_degree: int | None,
    max_district: int | None,
    knowledge: Knowledge | None,
    keep: int,
    window: float,
    distinct: str,
    n_jobs: int,
    cache_mb: float,
    rng: Any,
) -> StructureSamples:
    """Do the work of :func:`structure_mcmc` on moments that were read already."""
    if not math.isfinite(moments.n):
        raise DataError("n = inf: give the n that the weights exp(n * score) should be based on")
    if not (math.isfinite(penalty) and penalty >= 0):
        raise BowfreeError(f"penalty must be a finite number >= 0, got {penalty!r}")
    names, d = moments.names, len(moments.names)
    n_pairs = d * (d - 1) // 2
    length = at_least("steps", steps, 1)
    every = max(1, n_pairs) if thin is None else at_least("thin", thin, 1)
    warm_up = length // 2 if burn_in is None else at_least("burn_in", burn_in, 0)
    if length < 4 * every:
        raise BowfreeError(
            f"steps = {length} with a sample every {every} steps leaves {length // every} samples "
            "per chain: at least 4 are needed; raise steps or lower thin"
        )
    if distinct not in ("graphs", "classes"):
        raise BowfreeError(f"distinct = {distinct!r}: must be 'graphs' or 'classes'")
    known = Knowledge() if knowledge is None else knowledge

    def rules_with(max_edges: int | None) -> _core.Rules:
        return graph_rules(
            d,
            graph_class,
            max_in_degree=max_in_degree,
            max_edges=max_edges,
            max_district=max_district,
            knowledge=None if knowledge is None else known.masks(names),
        )

    rules = rules_with(None)
    ground = permitted_ground(known, names, rules, graph_class)
    if starts is not None and not starts:
        raise BowfreeError("starts is empty: give at least one graph, or leave it out")
    for graph in starts or ():
        check_start(graph, names, rules)
    default = 4 if starts is None else len(starts)
    number = at_least("chains", default if chains is None else chains, 1)
    seed = draw_seed(rng)
    if starts is None:
        sparse = rules_with(ground.n_edges + d // 2)
        parents, spouses = _core.sample_mcmc(
            *ground._bits(), sparse, number - 1, 20 * n_pairs, 0, False, seed
        )
        begin = [ground._bits(), *zip(parents, spouses, strict=True)]
    else:
        begin = [starts[k % len(starts)]._bits() for k in range(number)]
    found = _core.structure_chains(
        moments.S,
        moments.n,
        penalty,
        int(positive("cache_mb", cache_mb) * 2**20),
        rules,
        begin,
        steps=length,
        burn_in=warm_up,
        thin=every,
        temper=positive("temper", temper),
        keep=at_least("keep", keep, 0),
        window=positive("window", window) / moments.n,
        one_per_class=distinct == "classes",
        seed=seed,
        n_threads=n_threads(n_jobs),
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
        acceptance=np.array([chain["accepted"] / length for chain in found["chains"]]),
        pool=tuple(pool),
        moments=moments,
        penalty=float(penalty),
        temper=float(temper),
        steps=length,
        burn_in=warm_up,
        thin=every,
    )
    for array in (result.scores, result.states, result.acceptance):
        array.setflags(write=False)
    return result
