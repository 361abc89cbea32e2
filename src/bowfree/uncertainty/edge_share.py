"""The share of an edge: what averages, chains and resamples answer when asked for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowfree.display import Shown
from bowfree.graph.names import said_edge
from bowfree.graph.text import quote

__all__ = ["EdgeShare", "edge_share"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class EdgeShare(Shown):
    """How much of an average, or how many of the graphs, have an edge; ``float`` gives the number.

    Attributes
    ----------
    a, mark, b : str
        ``a -> b`` or ``a <-> b``.
    share : float
        Between 0 and 1: the probability of the edge, for an average and for chains that have walked
        long enough; how often it was found, for a bootstrap.
    interval : (float, float) or None
        A confidence interval, where the result has one.
    """

    a: str
    mark: str
    b: str
    share: float
    interval: tuple[float, float] | None = None

    def __float__(self) -> float:
        return self.share

    def _brief(self) -> str:
        ends = "" if self.interval is None else " ({:.2f} to {:.2f})".format(*self.interval)
        return f"{quote(self.a)} {self.mark} {quote(self.b)}: {self.share:.3f}{ends}"


def edge_share(
    names: Sequence[str],
    edge: tuple[str, str | None, str | None],
    directed: Floats,
    bidirected: Floats,
    intervals: tuple[Floats, Floats] | None = None,
) -> EdgeShare:
    """Return the entry of an edge, in three words or one text, and of its interval."""
    i, mark, j = said_edge(names, *edge)
    kind = 0 if mark == "->" else 1
    at = j, i  # entry [j, i] is about i -> j
    interval = None
    if intervals is not None:
        low, high = (float(end[at]) for end in intervals[kind])
        interval = low, high
    share = float((directed, bidirected)[kind][at])
    return EdgeShare(names[i], mark, names[j], share, interval)
