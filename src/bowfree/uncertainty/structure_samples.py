"""Graphs sampled by several chains, and how far they can be trusted.

Made by :func:`bowfree.structure_mcmc`.

Both look at a number (a score, or whether an edge is there) along several chains. *Split R-hat*
compares the spread between half-chains with the spread inside them: it tends to 1 from above, and
values over about 1.01 say that the chains have not yet seen the same. The *effective sample size*
is the number of independent draws that would give a mean as precise as the chains do.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R-hat, Bayesian Analysis 16 (2021). An indicator ("the edge is there")
keeps its R-hat under rank normalization, so that only scores are worth it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    EDGES,
    FORWARD,
    MARKS,
    States,
    graph_of_states,
    index_pairs,
)
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, shorten_list
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.serialization import ToDict
from bowfree.search.result import ScoredGraph
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.edge_share import EdgeShares
from bowfree.uncertainty.posterior import GraphLaw

Floats = npt.NDArray[np.float64]

MIXED = 1.05  # chains whose worst R-hat is above disagree by more than chance
RARE = 0.01  # of the samples: an edge seen less often says little about the chains


def worst_edge_r_hat(states: States) -> float:
    """Return the largest split R-hat of an edge that is in at least one of a hundred samples.

    Rank normalization would change nothing for an edge, which is there or not.

    Parameters
    ----------
    states : ndarray of uint8, shape (chains, samples, pairs)
        As in :class:`StructureSamples`.
    """
    often = _per_edge(states, np.mean) >= RARE
    return float(np.max(_per_edge(states, split_r_hat), where=often, initial=1.0))


def _per_edge(states: States, statistic: Callable[[npt.NDArray[np.bool_]], Any]) -> Floats:
    """Return a number for each indicator "the pair is ``->``, ``<-``, ``<->``", (pairs, 3)."""
    values = [
        [statistic(states[:, :, k] == state) for state in EDGES] for k in range(states.shape[2])
    ]
    return np.array(values, dtype=np.float64).reshape(-1, 3)


@dataclass(frozen=True, eq=False, repr=False)
class StructureSamples(TextDisplay, ToDict, EdgeShares, Frozen):
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
        The heaviest distinct graphs known, heaviest first; also those that were only looked at.
    moments : Moments
        The data as the chains saw them.
    space : SearchSpace
        Where they walked.
    law : GraphLaw
        What was sampled from: penalty, prior, temper.
    steps, burn_in, thin : int
        Planned steps per chain that the samples are from, steps before them, steps from sample to
        sample. Where chains went on because they had not mixed, all before the last leg is burn-in.
    complete : bool
        False when the time limit came before the last step.
    """

    names: tuple[str, ...]
    scores: Floats
    states: States
    pairs: tuple[tuple[str, str], ...]
    acceptance: Floats
    pool: tuple[ScoredGraph, ...]
    moments: Moments
    space: SearchSpace
    law: GraphLaw
    steps: int
    burn_in: int
    thin: int
    complete: bool

    @property
    def penalty(self) -> float:
        """Penalty per node and edge, in units of ``log n``."""
        return self.law.penalty

    @property
    def r_hat(self) -> float:
        """Rank-normalized split R-hat of the score."""
        return split_r_hat(normal_ranks(self.scores))

    @property
    def worst_r_hat(self) -> float:
        """The largest split R-hat of an edge that is in at least one of a hundred samples."""
        return worst_edge_r_hat(self.states)

    @property
    def mixed(self) -> bool:
        """Whether the chains agree on every edge: `worst_r_hat` below 1.05."""
        return self.worst_r_hat < MIXED

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
        table = _per_edge(self.states, statistic)
        lock_arrays(table)
        return table

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

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each possible edge.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, mark (``->``, ``<-``, ``<->``), b, frequency, r_hat, ess; the last is NaN
            where an edge never varies.
        """
        return data_frame(
            {
                "a": [a for a, _ in self.pairs for _ in EDGES],
                "mark": [MARKS[state] for _ in self.pairs for state in EDGES],
                "b": [b for _, b in self.pairs for _ in EDGES],
                "frequency": self._shares().ravel(),
                "r_hat": self.edge_r_hat.ravel(),
                "ess": self.edge_ess.ravel(),
            },
            backend,
        )

    def _shares(self) -> Floats:
        """Return the frequencies of ``->``, ``<-`` and ``<->``, shape (pairs, 3)."""
        return self._per_edge(np.mean)

    def _content(self) -> Any:
        plan = ("steps", "burn_in", "thin", "complete", "law")
        names = (*plan, "acceptance", "r_hat", "ess", "worst_r_hat", "mixed")
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
            f"edges: worst R-hat {self.worst_r_hat:.3f}"
        )
        if not self.mixed:
            yield (
                "NOT MIXED: the chains disagree on edges; ask for more `steps` before trusting "
                "these frequencies"
            )
        if not self.complete:
            yield "NOT COMPLETE: the time limit came before the last step"
        if self.pool:
            graph, score = self.pool[0]
            text = shorten_list(str(graph), ".pool[0].graph has all")
            yield f"best graph met: {text} (score {score:.6f})"
        shares = self._shares()
        shown = [k for k in range(len(self.pairs)) if shares[k].sum() >= 0.005]
        if len(shown) > MOST_ROWS:
            shown.sort(key=lambda k: -shares[k].sum())
        rows = [
            (", ".join(map(quote, self.pairs[k])), *(f"{share:.2f}" for share in shares[k]))
            for k in shown
        ]
        headings = ("edge", "a -> b", "a <- b", "a <-> b")
        yield Table(headings, rows, most=MOST_ROWS, rest="rarer ones: to_frame() has all")


# --- have the chains converged? ---


def normal_ranks(draws: npt.ArrayLike) -> Floats:
    """Return the normal scores of the ranks of all draws together, equal draws having equal ones.

    R-hat of these notices chains that differ in spread or in tails as well as in their mean.
    """
    from scipy.special import ndtri  # takes as long to import as all of bowfree

    values = np.asarray(draws, dtype=np.float64)
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - 0.5 * (times - 1))[place].reshape(values.shape)
    scores: Floats = ndtri((ranks - 0.375) / (values.size + 0.25))
    return scores


def split_r_hat(draws: npt.ArrayLike) -> float:
    """Return the split R-hat of draws of shape (chains, samples).

    1 when all draws are equal; infinite when every half-chain is constant and they differ; NaN
    with fewer than 4 samples per chain.

    Examples
    --------
    >>> from bowfree.uncertainty.structure_samples import split_r_hat
    >>> split_r_hat([[0, 1, 0, 1, 0, 1], [5, 6, 5, 6, 5, 6]]) > 4
    True
    """
    halves = _halves(draws)
    n = halves.shape[1]
    if n < 2:
        return math.nan
    # Asked of the draws themselves: the variance of equal numbers can be some 1e-32.
    if (halves == halves[:, :1]).all():
        return 1.0 if (halves == halves[0, 0]).all() else math.inf
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    return math.sqrt((n - 1) / n + between / within)


def effective_sample_size(draws: npt.ArrayLike) -> float:
    """Return how many independent draws the draws of shape (chains, samples) are worth.

    NaN when all are equal (nothing varies, so nothing can be said) and with fewer than 4 samples
    per chain.

    Notes
    -----
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
    # Alternating chains can be worth more than their number; a bound keeps the estimate sane.
    return float(min(m * n / max(time, 1e-300), m * n * math.log10(m * n)))


def _halves(draws: npt.ArrayLike) -> Floats:
    """Cut every chain in two; an odd draw in the middle is left out."""
    chains = np.asarray(draws, dtype=np.float64)
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, chains.shape[1] - half :]])
