"""How sure a search can be that there is no better graph.

A greedy search proves nothing; only :func:`bowfree.exhaustive_search` does. But its first runs know
nothing of each other, and when many of them end at the best score, a better one is rare; when few
do, the search has looked longer (:func:`bowfree.search.plan.patience_for`), and says so.

How rare was measured: in simulations, searches with other seeds were run on the same data, and it
was counted how often one of them found better. ``benchmarks/bench_sureness.py`` repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bowfree.display import Shown, percent

__all__ = ["Sureness", "agree", "judge"]

MEASURED_NODES = 12  # more variables than this were not measured
MISSED = {True: 0.025, False: 0.051}  # 4 of 162 and 7 of 138 searches, by whether their runs agreed


def agree(first: int, agreeing: int) -> bool:
    """Whether enough of the first runs ended at the best score: one in eight."""
    return agreeing >= max(1, first // 8)


@dataclass(frozen=True, repr=False)
class Sureness(Shown):
    """How sure a search can be that there is no better graph.

    Attributes
    ----------
    runs : int
        Runs that knew nothing of each other.
    agreeing : int
        Those among them that ended at the best score.
    missed : float
        Estimate of the probability that another search would find better: how often that happened
        in simulations with up to 12 variables; NaN for more, and after an early end.
    """

    runs: int
    agreeing: int
    missed: float

    @property
    def sure(self) -> bool:
        """Whether the runs agree: at least one in eight ended at the best score."""
        return agree(self.runs, self.agreeing)

    def _brief(self) -> str:
        return f"{self.agreeing} of {self.runs} independent runs ended at the best score"

    def _shown(self) -> Iterator[str]:
        yield self._brief()
        if not self.sure:
            yield "NOT SURE: a better graph may exist; search with more `restarts` or another `rng`"
        if not math.isnan(self.missed):
            yield f"in simulations {percent(self.missed)} of such searches missed a better graph"


def judge(scores: Sequence[float], best: float, *, n_nodes: int, complete: bool) -> Sureness:
    """Judge a search by the scores at which its first runs ended."""
    agreeing = sum(score >= best - 1e-9 for score in scores)
    known = complete and n_nodes <= MEASURED_NODES
    missed = MISSED[agree(len(scores), agreeing)] if known else math.nan
    return Sureness(len(scores), agreeing, missed)
