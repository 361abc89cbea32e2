"""The probability that a search has missed a better graph.

A greedy search proves nothing; :func:`bowfree.exact_search` does. But the runs of its
first round are independent. If many of them end at the best score, a better graph is unlikely; if
few do, the search has continued for longer (:func:`bowfree.search.plan.patience_for`).

The probability was estimated in simulations: five searches with other seeds were run on the same
data, and it was counted how often one of them found a better graph. Up to twelve variables this is
rare. Beyond, it depends mostly on the density of the best graph, then on the number of runs that
reached its score. ``benchmarks/bench_confidence.py`` repeats the simulations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bowfree.results.display import TextDisplay, percent
from bowfree.results.serialization import ToDict

RELIABLE = 0.1  # largest probability of a better graph of a reliable search
FEW_NODES = 12  # beyond, the probability is that of a logistic regression
MISSED = {True: 0.025, False: 0.051}  # 4 of 162 and 7 of 138 searches, by `runs_agree`
# Coefficients of 1, edges per variable, and log(1 + arrivals), from 228 searches on 38 data sets
# with 15 to 50 variables.
LOG_ODDS = (-3.78, 1.92, -0.43)


def runs_agree(independent: int, at_best: int) -> bool:
    """Return whether at least one in eight of the independent runs ended at the best score."""
    return at_best >= max(1, independent // 8)


def missed_probability(
    independent: int, at_best: int, arrivals: int, *, n_nodes: int, n_edges: int
) -> float:
    """Return the probability that a complete search has missed a better graph."""
    if n_nodes <= FEW_NODES:
        return MISSED[runs_agree(independent, at_best)]
    predictors = (1.0, n_edges / n_nodes, math.log1p(arrivals))
    odds = math.exp(math.fsum(a * x for a, x in zip(LOG_ODDS, predictors, strict=True)))
    return odds / (1.0 + odds)


@dataclass(frozen=True, repr=False)
class SearchConfidence(TextDisplay, ToDict):
    """How likely it is that a search has found the best graph.

    Attributes
    ----------
    runs, at_best : int
        Number of runs, and of those that ended at the best score.
    independent, independent_at_best : int
        The same counts among the independent runs, those of the first round.
    arrivals : int
        Number of runs that reached the best score from a lower one.
    missed : float
        Estimated probability that five times as many runs would find a better graph. NaN if the
        search was ended early, and 0 if the best graph is proved.
    proved : bool
        Whether no better graph exists, see :func:`bowfree.exact_search`.
    """

    runs: int
    at_best: int
    independent: int
    independent_at_best: int
    arrivals: int
    missed: float
    proved: bool = False

    @property
    def runs_agree(self) -> bool:
        """Whether at least one in eight of the independent runs ended at the best score."""
        return runs_agree(self.independent, self.independent_at_best)

    @property
    def reliable(self) -> bool:
        """Whether the graph is proved best, or the runs agree and 10 % at most miss a better one."""
        return self.proved or (self.runs_agree and self.missed <= RELIABLE)

    def _headline(self) -> str:
        return (
            f"{self.at_best} of {self.runs} runs ended at the best score, among them "
            f"{self.independent_at_best} of the {self.independent} independent runs"
        )

    def _sections(self) -> Iterator[str]:
        yield self._headline()
        if not (self.proved or math.isnan(self.missed)):
            yield f"in simulations, {percent(self.missed)} of such searches missed a better graph"
        if not self.reliable:
            yield "a better graph may exist: search with more restarts or with another seed"
