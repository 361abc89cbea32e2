"""How probable an edge is: what averages, chains and resamples answer when asked for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowfree.display import Shown
from bowfree.graph.names import said_edge
from bowfree.graph.text import quote

__all__ = ["EdgeProbability", "edge_probability"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class EdgeProbability(Shown):
    """An edge and its probability, or how often it was found; ``float`` gives the number.

    Attributes
    ----------
    a, mark, b : str
        ``a -> b`` or ``a <-> b``.
    probability : float
        Between 0 and 1.
    interval : (float, float) or None
        A confidence interval, where the result has one.
    """

    a: str
    mark: str
    b: str
    probability: float
    interval: tuple[float, float] | None = None

    def __float__(self) -> float:
        return self.probability

    def _brief(self) -> str:
        ends = "" if self.interval is None else " ({:.2f} to {:.2f})".format(*self.interval)
        return f"{quote(self.a)} {self.mark} {quote(self.b)}: {self.probability:.3f}{ends}"


def edge_probability(
    names: Sequence[str],
    edge: tuple[str, str | None, str | None],
    directed: Floats,
    bidirected: Floats,
    intervals: tuple[Floats, Floats] | None = None,
) -> EdgeProbability:
    """Return the entry of an edge, in three words or one text, and of its interval."""
    i, mark, j = said_edge(names, *edge)
    kind = 0 if mark == "->" else 1
    at = j, i  # entry [j, i] is about i -> j
    interval = None
    if intervals is not None:
        low, high = (float(end[at]) for end in intervals[kind])
        interval = low, high
    probability = float((directed, bidirected)[kind][at])
    return EdgeProbability(names[i], mark, names[j], probability, interval)
