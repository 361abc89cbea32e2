"""Graphs sampled by several chains, and how far they can be trusted.

Made by :func:`bowfree.structure_mcmc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pair_states import (
    BACKWARD,
    BIDIRECTED,
    EDGES,
    FORWARD,
    States,
    graph_of_states,
    index_pairs,
)
from bowfree.model.moments import Moments
from bowfree.search.result import ScoredGraph
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.mcmc_diagnostics import effective_sample_size, split_r_hat

__all__ = ["StructureSamples"]

Floats = npt.NDArray[np.float64]


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
    space : SearchSpace
        Where they walked.
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
    space: SearchSpace
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
                [statistic(self.states[:, :, k] == state) for state in EDGES]
                for k in range(len(self.pairs))
            ]
        ).reshape(-1, 3)

    @property
    def directed(self) -> Floats:
        """Frequency of the edge j -> i at entry ``[i, j]``, shape (d, d)."""
        frequency = np.zeros((len(self.names), len(self.names)))
        for k, (i, j) in enumerate(index_pairs(len(self.names))):
            frequency[j, i] = (self.states[:, :, k] == FORWARD).mean()
            frequency[i, j] = (self.states[:, :, k] == BACKWARD).mean()
        return frequency

    @property
    def bidirected(self) -> Floats:
        """Frequency of the edge i <-> j, shape (d, d), symmetric."""
        frequency = np.zeros((len(self.names), len(self.names)))
        for k, (i, j) in enumerate(index_pairs(len(self.names))):
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
            shares = [float((self.states[:, :, k] == state).mean()) for state in EDGES]
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
