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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.moments import Moments, read_moments
from bowfree.options import at_least, n_threads, positive
from bowfree.search.greedy import check_start
from bowfree.search.result import ScoredGraph
from bowfree.space.knowledge import BACKWARD, BIDIRECTED, FORWARD, NONE, Knowledge
from bowfree.space.random_graphs import GraphClass, draw_seed, graph_rules, permitted_ground
from bowfree.uncertainty.mcmc_diagnostics import effective_sample_size, split_r_hat

__all__ = ["StructureSamples", "structure_mcmc"]

Floats = npt.NDArray[np.float64]
States = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class StructureSamples:
    """Samples of graphs from several chains, and how far they can be trusted.

    Attributes
    ----------
    names : tuple of str
        The variables.
    scores : ndarray of shape (chains, samples)
        Score of each sampled graph.
    states : ndarray of uint8, shape (chains, samples, pairs)
        State of each pair of each sampled graph: 0 none, 1 ``->``, 2 ``<-``, 3 ``<->``.
    pairs : tuple of (str, str)
        The pairs, in the order of the last axis of `states`.
    acceptance : ndarray of shape (chains,)
        Share of the proposals that were accepted after the burn-in.
    pool : tuple of ScoredGraph
        The best distinct graphs met, best first; also those that were only looked at.
    moments : Moments
        The data as the chains saw them.
    penalty, temper : float
        The target is ``exp(n * score / temper)``.
    steps, burn_in, thin : int
        Steps per chain after the burn-in, steps of the burn-in, steps from sample to sample.
    """

    names: tuple[str, ...]
    scores: Floats
    states: States
    pairs: tuple[tuple[str, str], ...]
    acceptance: Floats
    pool: tuple[ScoredGraph, ...]
    moments: Moments
    penalty: float
    temper: float
    steps: int
    burn_in: int
    thin: int

    @property
    def r_hat(self) -> float:
        """Split R-hat of the score."""
        return split_r_hat(self.scores)

    @property
    def ess(self) -> float:
        """Effective sample size of the score."""
        return effective_sample_size(self.scores)

    @cached_property
    def edge_r_hat(self) -> Floats:
        """Split R-hat of "the pair is ``->``, ``<-``, ``<->``", shape (pairs, 3)."""
        return self._per_edge(split_r_hat)

    @cached_property
    def edge_ess(self) -> Floats:
        """Effective sample size of the same indicators; NaN where an edge never varies."""
        return self._per_edge(effective_sample_size)

    def _per_edge(self, statistic: Any) -> Floats:
        return np.array(
            [
                [statistic(self.states[:, :, k] == state) for state in _EDGES]
                for k in range(len(self.pairs))
            ]
        ).reshape(-1, 3)

    @property
    def directed(self) -> Floats:
        """Frequency of the edge j -> i at entry ``[i, j]``, shape (d, d)."""
        frequency = np.zeros((len(self.names), len(self.names)))
        for k, (i, j) in enumerate(_index_pairs(len(self.names))):
            frequency[j, i] = (self.states[:, :, k] == FORWARD).mean()
            frequency[i, j] = (self.states[:, :, k] == BACKWARD).mean()
        return frequency

    @property
    def bidirected(self) -> Floats:
        """Frequency of the edge i <-> j, shape (d, d), symmetric."""
        frequency = np.zeros((len(self.names), len(self.names)))
        for k, (i, j) in enumerate(_index_pairs(len(self.names))):
            frequency[i, j] = frequency[j, i] = (self.states[:, :, k] == BIDIRECTED).mean()
        return frequency

    def counts(self) -> dict[MixedGraph, int]:
        """Return the distinct sampled graphs and how often each was sampled, most often first."""
        flat = self.states.reshape(self.scores.size, len(self.pairs))
        rows, times = np.unique(flat, axis=0, return_counts=True)
        order = np.argsort(-times, kind="stable")
        return {self._graph(rows[k]): int(times[k]) for k in order}

    def _graph(self, states: States) -> MixedGraph:
        return graph_of_states(self.names, states)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON: summaries, not the samples."""
        return {
            "names": list(self.names),
            "chains": len(self.scores),
            "samples": self.scores.shape[1],
            "steps": self.steps,
            "burn_in": self.burn_in,
            "thin": self.thin,
            "penalty": self.penalty,
            "temper": self.temper,
            "acceptance": self.acceptance.tolist(),
            "r_hat": self.r_hat,
            "ess": self.ess,
            "directed": self.directed.tolist(),
            "bidirected": self.bidirected.tolist(),
            "pool": [{"graph": str(graph), "score": score} for graph, score in self.pool],
        }

    def __str__(self) -> str:
        chains, samples = self.scores.shape
        worst = float(np.max(self.edge_r_hat, initial=1.0))
        lines = [
            f"{chains} chain{'s' * (chains != 1)} of {samples} samples, every {self.thin} steps "
            f"after a burn-in of {self.burn_in}; "
            f"{100 * self.acceptance.mean():.1f} % of the proposals accepted",
            f"score: R-hat {self.r_hat:.3f}, effective sample size {self.ess:.0f}; "
            f"edges: worst R-hat {worst:.3f}",
        ]
        if self.pool:
            graph, score = self.pool[0]
            lines.append(f"best graph met: {graph} (score {score:.6f})")
        edges: list[tuple[str, ...]] = [("edge", "a -> b", "a <- b", "a <-> b")]
        for k, (a, b) in enumerate(self.pairs):
            shares = [float((self.states[:, :, k] == state).mean()) for state in _EDGES]
            if sum(shares) >= 0.005:
                edges.append((f"{a}, {b}", *(f"{share:.2f}" for share in shares)))
        width = [max(len(row[k]) for row in edges) for k in range(4)]
        lines += [
            "  ".join([row[0].ljust(width[0]), *(row[k].rjust(width[k]) for k in (1, 2, 3))])
            for row in edges
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<StructureSamples: {self.scores.shape[0]} chains of {self.scores.shape[1]}>"


_EDGES = (FORWARD, BACKWARD, BIDIRECTED)


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
        pairs=tuple((names[i], names[j]) for i, j in _index_pairs(d)),
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


def graph_of_states(names: tuple[str, ...], states: States) -> MixedGraph:
    """Build the graph whose pairs have these states."""
    parents, spouses = [0] * len(names), [0] * len(names)
    for (i, j), state in zip(_index_pairs(len(names)), states.tolist(), strict=True):
        if state == FORWARD:
            parents[j] |= 1 << i
        elif state == BACKWARD:
            parents[i] |= 1 << j
        elif state != NONE:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return MixedGraph._from_masks(names, parents, spouses)


def _index_pairs(d: int) -> list[tuple[int, int]]:
    """Return the pairs in the order of the core: (0,1), (0,2), (1,2), (0,3), ..."""
    return [(i, j) for j in range(d) for i in range(j)]
