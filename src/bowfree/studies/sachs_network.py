"""What is known of the proteins of Sachs et al.: the published network, and what reagents act on.

The network is not the truth about these cells, but what many experiments agree on; so a graph that
was learned from the data is not right or wrong, but agrees with it more or less. Three things are
told apart (:class:`Agreement`): pairs that are joined in both, arrows with the published direction
among them, and arrows that the data settle, because all graphs of the class have them.

:mod:`bowfree.studies.sachs_joint_study` asks these questions of its searches.
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
"""What the reagents act on, of the proteins measured; LY294002 acts on PI3K, which was not."""

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
"""The 20 published arcs: figures 2 and 3 of Sachs et al. (2005). Those 17 that their network has,
PIP3 -> PLCg as the literature has it and not as they found it, and the three that they missed."""


@dataclass(frozen=True)
class Agreement:
    """What a graph has in common with the published network.

    Attributes
    ----------
    n_edges, n_bidirected : int
        Edges found, and how many of them ``<->``.
    n_adjacent : int
        Pairs that are joined in both.
    n_directed : int
        Of these, arrows with the published direction.
    n_turned : int
        Arrows against it.
    n_settled, n_settled_right : int
        Arrows that all graphs of the class have on pairs that are joined in both, and those of them
        with the published direction.
    """

    n_edges: int
    n_bidirected: int
    n_adjacent: int
    n_directed: int
    n_turned: int
    n_settled: int
    n_settled_right: int

    @property
    def precision(self) -> float:
        """Share of the pairs found that are published."""
        return self.n_adjacent / self.n_edges if self.n_edges else float("nan")

    @property
    def recall(self) -> float:
        """Share of the published pairs that were found."""
        return self.n_adjacent / len(CONSENSUS)

    @classmethod
    def of(cls, graph: MixedGraph, summary: ClassSummary | None = None) -> Agreement:
        """Compare a graph, and what its class leaves open."""
        published = set(CONSENSUS)
        both = published | {(b, a) for a, b in published}
        arrows = [(a, b) for a, b in graph.directed if (a, b) in both]
        settled = [] if summary is None else [*_settled(summary)]
        return cls(
            graph.n_edges,
            graph.n_bidirected,
            len(arrows) + sum(pair in both for pair in graph.bidirected),
            sum(arrow in published for arrow in arrows),
            sum(arrow not in published for arrow in arrows),
            sum(arrow in both for arrow in settled),
            sum(arrow in published for arrow in settled),
        )


def _settled(summary: ClassSummary) -> Iterable[tuple[str, str]]:
    """Yield the arrows that all members have."""
    for edge in summary.edges:
        if (edge.end_at_a, edge.end_at_b) == ("tail", "head"):
            yield edge.a, edge.b
        if (edge.end_at_a, edge.end_at_b) == ("head", "tail"):
            yield edge.b, edge.a
