"""The share of an edge: what averages, chains and resamples answer when asked for one."""

from __future__ import annotations

from dataclasses import dataclass

from bowfree.graph.names import EdgeLookup
from bowfree.graph.text import quote
from bowfree.results.display import TextDisplay
from bowfree.results.serialization import ToDict


@dataclass(frozen=True, repr=False)
class EdgeShare(TextDisplay, ToDict):
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

    def _headline(self) -> str:
        ends = "" if self.interval is None else " ({:.2f} to {:.2f})".format(*self.interval)
        return f"{quote(self.a)} {self.mark} {quote(self.b)}: {self.share:.3f}{ends}"


class EdgeShares(EdgeLookup[EdgeShare]):
    """Mixin for results with matrices ``directed`` and ``bidirected``, ``[j, i]`` about i -> j.

    What they say of an edge is its probability, or how often it was found.
    """

    def _at_edge(self, i: int, mark: str, j: int) -> EdgeShare:
        kind = "directed" if mark == "->" else "bidirected"
        share = float(getattr(self, kind)[j, i])
        return EdgeShare(self.names[i], mark, self.names[j], share, self._edge_interval(kind, j, i))

    def _edge_interval(self, kind: str, i: int, j: int) -> tuple[float, float] | None:
        """Return a confidence interval, where the result has one."""
        return None
