"""How sure a search can be that there is no better graph.

A greedy search proves nothing; only :func:`bowfree.exhaustive_search` does. But its runs come to
the best score from different places, the first ones knowing nothing of each other. When many of
them do, a better graph is rare; when few do, the search has looked longer
(:func:`bowfree.search.plan.patience_for`), and says so.

How rare was measured: in simulations, five searches with other seeds were run on the same data, and
it was counted how often one of them found better. Up to twelve variables few searches miss
anything. Beyond, what tells most is how dense the best graph is, then how many runs came to its
score. ``benchmarks/bench_sureness.py`` repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bowfree.results.display import TextDisplay, percent
from bowfree.results.serialization import ToDict

SURE = 0.1  # largest probability of a better graph that a search may be called sure with
FEW_NODES = 12  # beyond, searches miss more, and there is a formula
MISSED = {True: 0.025, False: 0.051}  # 4 of 162 and 7 of 138 searches, by whether their runs agreed
# Beyond: the log odds are these times 1, edges per variable, and log(1 + arrivals).
LOG_ODDS = (-3.78, 1.92, -0.43)  # from 228 searches of 38 sets with 15 to 50 variables


def agree(first: int, agreeing: int) -> bool:
    """Whether enough of the first runs ended at the best score: one in eight."""
    return agreeing >= max(1, first // 8)


@dataclass(frozen=True)
class Ending:
    """What :func:`judge` needs to know of a run."""

    start: float  # its score
    end: float
    first: bool  # whether it knew nothing of other runs


@dataclass(frozen=True, repr=False)
class Sureness(TextDisplay, ToDict):
    """How sure a search can be that there is no better graph.

    Attributes
    ----------
    runs : int
        Runs that knew nothing of each other.
    agreeing : int
        Those among them that ended at the best score.
    arrivals : int
        Runs of all kinds that came to the best score from a lower one.
    missed : float
        Estimate of the probability that five times as many runs would find better: how often that
        happened in simulations. NaN after an early end, when nobody knows.
    """

    runs: int
    agreeing: int
    arrivals: int
    missed: float

    @property
    def agree(self) -> bool:
        """Whether at least one in eight of the independent runs ended at the best score."""
        return agree(self.runs, self.agreeing)

    @property
    def sure(self) -> bool:
        """Whether the runs agree, and a better graph has a probability of 10 % at most."""
        return self.agree and self.missed <= SURE

    def _headline(self) -> str:
        return f"{self.agreeing} of {self.runs} independent runs ended at the best score"

    def _sections(self) -> Iterator[str]:
        yield self._headline()
        if not self.sure:
            yield "NOT SURE: a better graph may exist; search with more `restarts` or another `rng`"
        if not math.isnan(self.missed):
            yield f"in simulations {percent(self.missed)} of such searches missed a better graph"


def judge(
    runs: Sequence[Ending], best: float, *, n_nodes: int, n_edges: int, complete: bool
) -> Sureness:
    """Judge a search by where its runs began and ended."""
    at_best = [run for run in runs if run.end >= best - 1e-9]
    first, agreeing = sum(run.first for run in runs), sum(run.first for run in at_best)
    arrivals = sum(run.start < best - 1e-9 for run in at_best)
    if not complete:
        missed = math.nan
    elif n_nodes <= FEW_NODES:
        missed = MISSED[agree(first, agreeing)]
    else:
        known = (1.0, n_edges / n_nodes, math.log1p(arrivals))
        odds = math.exp(math.fsum(a * x for a, x in zip(LOG_ODDS, known, strict=True)))
        missed = odds / (1.0 + odds)
    return Sureness(first, agreeing, arrivals, missed)
