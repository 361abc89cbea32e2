"""The published network of the proteins of Sachs et al., and the targets of the reagents.

The network is a consensus of many experiments, not the truth about these cells. :class:`Agreement`
counts the pairs that are adjacent in a learned graph and in the network, the arrows among them with
the published direction, and the arrows that are the same in all equivalent graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bowfree.equivalence.class_summary import ClassSummary
from bowfree.graph.mixed_graph import MixedGraph

SACHS_TARGETS: Mapping[str, tuple[str, ...]] = {
    "cd3cd28icam2+aktinhib": ("pakts473",),
    "cd3cd28icam2+g0076": ("pkc",),
    "cd3cd28icam2+psit": ("pip2",),
    "cd3cd28icam2+u0126": ("pmek",),
    "cd3cd28+aktinhib": ("pakts473",),
    "cd3cd28+g0076": ("pkc",),
    "cd3cd28+psitect": ("pip2",),
    "cd3cd28+u0126": ("pmek",),
    "pma": ("pkc",),
    "b2camp": ("pka",),
}
"""Targets of the reagents among the measured proteins; LY294002 acts on PI3K, which is not one."""

CONSENSUS = tuple(
    (cause, effect)
    for cause, effects in {
        "praf": ["pmek"],
        "pmek": ["p44/42"],
        "plcg": ["pip2", "pkc"],
        "pip2": ["pkc"],
        "pip3": ["pip2", "plcg", "pakts473"],
        "p44/42": ["pakts473"],
        "pka": ["pakts473", "p44/42", "pmek", "praf", "pjnk", "p38"],
        "pkc": ["pjnk", "p38", "pmek", "praf", "pka"],
    }.items()
    for effect in effects
)
"""The 20 published arcs, figures 2 and 3 of Sachs et al. (2005): the 17 of their network, with
PIP3 -> PLCg as in the literature, and the three that they missed."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of a graph with the published network.

    Attributes
    ----------
    n_edges, n_bidirected : int
        Number of edges, and of those that are bidirected.
    n_adjacent : int
        Number of pairs that are adjacent in both.
    n_directed, n_reversed : int
        Arrows among these with the published direction, and with the opposite one.
    n_invariant, n_invariant_right : int
        Arrows among these that are the same in all equivalent graphs, and those of them with the
        published direction.
    """

    n_edges: int
    n_bidirected: int
    n_adjacent: int
    n_directed: int
    n_reversed: int
    n_invariant: int
    n_invariant_right: int

    @property
    def precision(self) -> float:
        """Share of the adjacent pairs that are published."""
        return self.n_adjacent / self.n_edges if self.n_edges else float("nan")

    @property
    def recall(self) -> float:
        """Share of the published pairs that are adjacent."""
        return self.n_adjacent / len(CONSENSUS)

    @classmethod
    def of(cls, graph: MixedGraph, summary: ClassSummary | None = None) -> Agreement:
        """Compare a graph and its equivalence class with the network."""
        published = set(CONSENSUS)
        both = published | {(b, a) for a, b in published}
        arrows = [(a, b) for a, b in graph.directed if (a, b) in both]
        invariant = [] if summary is None else [*_invariant(summary)]
        return cls(
            graph.n_edges,
            graph.n_bidirected,
            len(arrows) + sum(pair in both for pair in graph.bidirected),
            sum(arrow in published for arrow in arrows),
            sum(arrow not in published for arrow in arrows),
            sum(arrow in both for arrow in invariant),
            sum(arrow in published for arrow in invariant),
        )


def _invariant(summary: ClassSummary) -> Iterable[tuple[str, str]]:
    """Yield the arrows that all members have."""
    for edge in summary.edges:
        if (edge.end_at_a, edge.end_at_b) == ("tail", "head"):
            yield edge.a, edge.b
        if (edge.end_at_a, edge.end_at_b) == ("head", "tail"):
            yield edge.b, edge.a
