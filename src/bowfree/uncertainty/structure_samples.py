"""Graphs sampled by several Markov chains, and convergence diagnostics.

The diagnostics compare a quantity, the score or the indicator of an edge, between chains. *Split
R-hat* compares the variance between half-chains with the variance within them; it is close to 1
after convergence. The *effective sample size* is the number of independent draws whose mean would
be as precise.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R-hat, Bayesian Analysis 16 (2021). Rank normalization does not change the
R-hat of an indicator, so only scores are rank-normalized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.data.sample import Bools, Floats, Indices
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    EDGES,
    FORWARD,
    MARKS,
    Bits,
    States,
    graph_of_states,
    index_pairs,
)
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup
from bowfree.graph.text import describe, quote
from bowfree.model.effect_tables import Column, decimals
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, shorten_list
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.rows import Row, data_frame
from bowfree.results.serialization import ToDict
from bowfree.search.result import ScoredGraph
from bowfree.search.scheduler import to_pool
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.posterior import GraphPosterior

MIXED = 1.05  # largest R-hat of chains that count as mixed
PRECISE = 0.02  # largest Monte Carlo standard error of a probability of chains that do
PRINTED = 0.1  # smallest frequency of adjacent pairs that are printed
RARE = 0.01  # edges in a smaller share of the samples are ignored by the diagnostics


@dataclass(frozen=True, eq=False, repr=False)
class StructureSamples(TextDisplay, ToDict, EdgeLookup[Row], Frozen):
    """Samples of graphs from several chains, with convergence diagnostics.

    Attributes
    ----------
    names : tuple of str
        The variables.
    scores : ndarray of shape (chains, samples)
        Scores of the sampled graphs.
    states : ndarray of uint8, shape (chains, samples, pairs)
        State of each pair in each sampled graph: 0 no edge, 1 ``->``, 2 ``<-``, 3 ``<->``.
    pairs : tuple of (str, str)
        The pairs, in the order of the last axis of `states`.
    acceptance : ndarray of shape (chains,)
        Share of the proposals that were accepted after the burn-in.
    moments : Moments
        The data.
    space : SearchSpace
        The graphs considered.
    posterior : GraphPosterior
        The distribution sampled from: penalty, prior, temperature.
    steps, burn_in, thin : int
        Number of steps per chain that the samples are from, of steps before them, and from sample
        to sample. If chains were extended, all steps before the last segment are burn-in.
    complete : bool
        False if time was up before the last step.
    """

    names: tuple[str, ...]
    scores: Floats
    states: States
    pairs: tuple[tuple[str, str], ...]
    acceptance: Floats
    moments: Moments
    space: SearchSpace
    posterior: GraphPosterior
    steps: int
    burn_in: int
    thin: int
    complete: bool
    _pool: tuple[Bits, Bits, Floats]  # parents, spouses, scores

    @cached_property
    def pool(self) -> tuple[ScoredGraph, ...]:
        """The distinct graphs of largest weight that were visited or proposed, best first."""
        return tuple(to_pool(self.names, self._pool))

    @property
    def penalty(self) -> float:
        """Weight of ``log n`` for each node and edge in the score."""
        return self.posterior.penalty

    @property
    def r_hat(self) -> float:
        """Rank-normalized split R-hat of the score."""
        return split_r_hat(normal_ranks(self.scores))

    @property
    def worst_r_hat(self) -> float:
        """Largest split R-hat of an edge that is in at least 1 % of the samples."""
        return worst_edge_r_hat(self.states)

    @property
    def mixed(self) -> bool:
        """Whether the chains agree: `worst_r_hat` below 1.05 and `largest_mcse` at most 0.02."""
        return self.worst_r_hat < MIXED and self.largest_mcse <= PRECISE

    @cached_property
    def edge_mcse(self) -> Floats:
        """Monte Carlo standard error of the frequency of each edge, shape (pairs, 3)."""
        return self._per_edge(mcse)

    @cached_property
    def effect_mcse(self) -> Floats:
        """Monte Carlo standard error of the frequency of a directed path from j to i, (d, d)."""
        d = len(self.names)
        paths = path_indicators(self.states, d)
        errors = np.array([[mcse(paths[:, :, i, j]) for j in range(d)] for i in range(d)])
        lock_arrays(errors)
        return errors

    @cached_property
    def largest_mcse(self) -> float:
        """Largest Monte Carlo standard error of the probability of an edge or an effect."""
        return largest_mcse(self.states)

    @property
    def ess(self) -> float:
        """Effective sample size of the score."""
        return effective_sample_size(self.scores)

    @cached_property
    def edge_r_hat(self) -> Floats:
        """Split R-hat of the indicators of ``->``, ``<-``, ``<->``, shape (pairs, 3)."""
        return self._per_edge(split_r_hat)

    @cached_property
    def edge_ess(self) -> Floats:
        """Effective sample size of these indicators; NaN for those that do not vary."""
        return self._per_edge(effective_sample_size)

    def _per_edge(self, statistic: Callable[[Any], Any]) -> Floats:
        table = per_edge(self.states, statistic)
        lock_arrays(table)
        return table

    @property
    def directed(self) -> Floats:
        """Frequency of the edge j -> i at entry ``[i, j]``, shape (d, d)."""
        return self._frequency(BACKWARD) + self._frequency(FORWARD).T

    @property
    def bidirected(self) -> Floats:
        """Frequency of the edge i <-> j, shape (d, d), symmetric."""
        upper = self._frequency(BIDIRECTED)
        return upper + upper.T

    def _frequency(self, state: int) -> Floats:
        """Return the frequency of a state of the pairs i < j at entry ``[i, j]``."""
        i, j = np.array(index_pairs(len(self.names)), dtype=np.intp).reshape(-1, 2).T
        frequency = np.zeros((len(self.names), len(self.names)))
        frequency[i, j] = (self.states == state).mean(axis=(0, 1))
        return frequency

    def _at_edge(self, i: int, mark: str, j: int) -> Row:
        matrix = self.directed if mark == "->" else self.bidirected
        return Row(a=self.names[i], mark=mark, b=self.names[j], frequency=float(matrix[j, i]))

    def counts(self) -> dict[MixedGraph, int]:
        """Return the distinct sampled graphs and their numbers of samples, most frequent first."""
        rows, times = self._distinct()
        graphs = (graph_of_states(self.names, row) for row in rows)
        return dict(zip(graphs, times[:, 0].tolist(), strict=True))

    def _distinct(self, n_batches: int = 1) -> tuple[States, Indices]:
        """Return the distinct graphs, most frequent first, and how often each batch has them.

        The batches are consecutive samples, such as the halves of four chains.
        """
        size = self.scores.size
        flat = self.states.reshape(size, len(self.pairs))
        rows, which = np.unique(flat, axis=0, return_inverse=True)
        cell = which.ravel() * n_batches + np.arange(size) * n_batches // size
        times = np.bincount(cell, minlength=len(rows) * n_batches).reshape(-1, n_batches)
        order = np.argsort(-times.sum(axis=1), kind="stable")
        return rows[order], times[order]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each possible edge.

        Its columns are a, mark (``->``, ``<-``, ``<->``), b, frequency, mcse (its Monte Carlo
        standard error), r_hat, ess; the last is NaN for edges that do not vary.
        """
        return data_frame(
            {
                "a": [a for a, _ in self.pairs for _ in EDGES],
                "mark": [MARKS[state] for _ in self.pairs for state in EDGES],
                "b": [b for _, b in self.pairs for _ in EDGES],
                "frequency": self._per_edge(np.mean).ravel(),
                "mcse": self.edge_mcse.ravel(),
                "r_hat": self.edge_r_hat.ravel(),
                "ess": self.edge_ess.ravel(),
            },
            backend,
        )

    def _content(self) -> Any:
        plan = ("steps", "burn_in", "thin", "complete", "posterior")
        names = (*plan, "acceptance", "r_hat", "ess", "worst_r_hat", "largest_mcse", "mixed")
        return {
            "names": self.names,
            "chains": len(self.scores),
            "samples": self.scores.shape[1],
            **{name: getattr(self, name) for name in (*names, "directed", "bidirected")},
            "pool": [{"graph": graph, "score": score} for graph, score in self.pool],
        }

    def _headline(self) -> str:
        chains, samples = self.scores.shape
        variables = count(len(self.names), "variable")
        some = f"{variables}, {count(chains, 'chain')} of {count(samples, 'sample')}"
        return some if self.mixed else f"{some}, NOT MIXED"

    def _sections(self) -> Iterator[str | Table]:
        chains, samples = self.scores.shape
        yield (
            f"{count(chains, 'chain')} of {count(samples, 'sample')}, every {self.thin} steps "
            f"after a burn-in of {self.burn_in}; "
            f"{100 * self.acceptance.mean():.1f} % of the proposals accepted"
        )
        yield (
            f"score: R-hat {self.r_hat:.3f}, effective sample size {self.ess:.0f}; "
            f"edges: worst R-hat {self.worst_r_hat:.3f}; largest Monte Carlo standard error of a "
            f"probability {self.largest_mcse:.3f}"
        )
        if not self.mixed:
            yield "NOT MIXED: probabilities are not precise yet; increase `steps` or `max_steps`"
        if not self.complete:
            yield "NOT COMPLETE: time was up before the last step"
        if len(self._pool[-1]):
            graph, score = self.pool[0]
            text = shorten_list(describe(graph), ".pool[0].graph has all")
            yield f"best graph: {text} (score {score:.6f})"
        yield edge_table(self.names, self.directed, self.bidirected, PRINTED, {})
        others = int((self._per_edge(np.mean).sum(axis=1) < PRINTED).sum())
        if others:
            what = count(others, "other pair")
            yield f"{what} with a frequency below {PRINTED:g}: see to_frame()"


def edge_table(
    names: Sequence[str],
    directed: Floats,
    bidirected: Floats,
    least: float,
    columns: Mapping[str, Column],
) -> Table:
    """Return a table of the edges with a frequency of at least `least`; a long one is cut."""
    adjacent = directed + directed.T + bidirected
    pairs = [(i, j) for i, j in combinations(range(len(names)), 2) if adjacent[i, j] >= least]
    if len(pairs) > MOST_ROWS:
        pairs.sort(key=lambda pair: -adjacent[pair])
    kinds = {"a -> b": directed.T, "a <- b": directed, "a <-> b": bidirected}
    cells = {"any": decimals(adjacent, 2), **columns}
    cells |= {name: decimals(matrix, 2) for name, matrix in kinds.items()}
    rows = [
        (f"{quote(names[i])}, {quote(names[j])}", *(cell(i, j) for cell in cells.values()))
        for i, j in pairs
    ]
    return Table(("edge", *cells), rows, most=MOST_ROWS, rest="less frequent: see to_frame()")


# --- diagnostics ----------------------------------------------------------------------------------


def per_edge(states: States, statistic: Callable[[Bools], Any]) -> Floats:
    """Return a statistic of the indicators of ``->``, ``<-``, ``<->``, shape (pairs, 3).

    It is applied to arrays of shape (chains, samples).
    """
    values = [
        [statistic(states[:, :, k] == state) for state in EDGES] for k in range(states.shape[2])
    ]
    return np.array(values, dtype=np.float64).reshape(-1, 3)


def worst_edge_r_hat(states: States) -> float:
    """Return the largest split R-hat of an edge that is in at least 1 % of the samples."""
    frequent = per_edge(states, np.mean) >= RARE
    return float(np.max(per_edge(states, split_r_hat), where=frequent, initial=1.0))


def mcse(indicator: Bools) -> float:
    """Return the Monte Carlo standard error of the mean of draws of shape (chains, samples).

    It uses the effective sample size of all chains together, which is small if they disagree.
    """
    p = float(np.mean(indicator))
    if p in (0.0, 1.0):
        return 0.0
    return math.sqrt(p * (1 - p) / effective_sample_size(indicator))


def path_indicators(states: States, d: int) -> Bools:
    """Return whether a directed path leads from j to i in each sample: (chains, samples, d, d)."""
    i, j = np.array(index_pairs(d), dtype=np.intp).reshape(-1, 2).T
    paths = np.zeros((*states.shape[:2], d, d), dtype=np.float32)
    paths[:, :, j, i] = states == FORWARD
    paths[:, :, i, j] = states == BACKWARD
    length = 1
    while length < d:
        paths = ((paths + paths @ paths) > 0).astype(np.float32)
        length *= 2
    return paths > 0


def have_mixed(states: States) -> bool:
    """Return whether the chains agree on every edge and their probabilities are precise."""
    return worst_edge_r_hat(states) < MIXED and largest_mcse(states) <= PRECISE


def largest_mcse(states: States) -> float:
    """Return the largest Monte Carlo standard error of the probability of an edge or an effect."""
    d = (1 + math.isqrt(1 + 8 * states.shape[2])) // 2
    if states.shape[1] < 4 or d < 2:
        return 0.0
    paths = path_indicators(states, d).reshape(*states.shape[:2], d * d)
    edges = np.concatenate([states == state for state in EDGES], axis=2)
    found = 0.0
    for indicators in (edges, paths):
        p = indicators.mean(axis=(0, 1))
        # The smallest possible error is that of independent samples.
        least = np.sqrt(p * (1 - p) / (states.shape[0] * states.shape[1]))
        for k in np.argsort(-least):
            # Chains with an effective sample size below 1 % of the samples are not mixed anyway.
            if 10 * least[k] <= found:
                break
            found = max(found, mcse(indicators[:, :, k]))
    return found


def normal_ranks(draws: npt.ArrayLike) -> Floats:
    """Return the normal scores of the ranks of all draws; tied draws have equal scores.

    The R-hat of these scores also detects chains that differ in their spread or their tails.
    """
    from scipy.special import ndtri  # slow to import

    values = np.asarray(draws, dtype=np.float64)
    _, index, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - 0.5 * (times - 1))[index].reshape(values.shape)
    scores: Floats = ndtri((ranks - 0.375) / (values.size + 0.25))
    return scores


def split_r_hat(draws: npt.ArrayLike) -> float:
    """Return the split R-hat of draws of shape (chains, samples); NaN with fewer than 4 samples.

    It is 1 if all draws are equal, and infinite if the half-chains are constant and differ.
    """
    halves = _halves(draws)
    n = halves.shape[1]
    if n < 2:
        return math.nan
    # The computed variance of equal numbers may be 1e-32 instead of 0.
    if (halves == halves[:, :1]).all():
        return 1.0 if (halves == halves[0, 0]).all() else math.inf
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    return math.sqrt((n - 1) / n + between / within)


def effective_sample_size(draws: npt.ArrayLike) -> float:
    """Return the effective sample size of draws of shape (chains, samples), NaN if they are equal.

    Autocorrelations are estimated over all half-chains together and summed in pairs as long as the
    sums are positive, made non-increasing (Geyer's initial monotone sequence).
    """
    halves = _halves(draws)
    m, n = halves.shape
    if n < 2 or (halves == halves[0, 0]).all():
        return math.nan
    centered = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centered, n=2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, n=2 * n, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + halves.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    time = -1.0 + 2.0 * kept.sum()
    # The effective sample size of alternating chains exceeds the number of draws; it is bounded.
    return float(min(m * n / max(time, 1e-300), m * n * math.log10(m * n)))


def _halves(draws: npt.ArrayLike) -> Floats:
    """Split every chain in two; an odd draw in the middle is left out."""
    chains = np.asarray(draws, dtype=np.float64)
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, chains.shape[1] - half :]])
