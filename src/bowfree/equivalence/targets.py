"""Conditions as the exact test sees them: which nodes were intervened on in each, and how.

Observe a system undisturbed, then with one variable set by hand, then with two: three conditions,
``targets=[(), ("akt",), ("pkc", "mek")]``. Coefficients and error covariances are the same in all
of them but for what the interventions do. Four kinds of intervention are known:

=============  ====================================================================
``perfect``    a target loses every edge with a head at it: it is set from outside, at random
``mechanism``  coefficients, error variance and error covariances of a target are new
``activity``   the coefficients of the edges out of a target are new
``noise``      the error variance of a target is new
=============  ====================================================================

The algebra is in ``cpp/equivalence/interventions.hpp``. In short: what is left of a BAP in a
condition is a BAP, so its parameters there follow from the covariance matrix of that condition; two
graphs are told apart by an error covariance that should be zero, or by two conditions that should
share a parameter and do not. No condition without targets is needed for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, get_args

from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import place
from bowfree.graph.text import quote
from bowfree.model.joint_moments import JointMoments
from bowfree.options import Kind, each, one_of
from bowfree.text_input import shown

__all__ = [
    "OBSERVED",
    "Kind",
    "TargetSets",
    "Targets",
    "given_targets",
    "target_set",
    "targets_of",
]

_KINDS = get_args(Kind)  # in the order of the core's

TargetSets = Iterable[Iterable[str] | str]
"""What a user may give as ``targets``: a set of names for each condition."""

Names = tuple[str, ...]
OBSERVED: tuple[Names, ...] = ((),)
"""One condition, and no targets in it."""


@dataclass(frozen=True)
class Targets:
    """The conditions, about given nodes.

    Attributes
    ----------
    nodes : tuple of str
        The nodes of the graphs.
    sets : tuple of tuple of str
        The targets of each condition, in the order of the nodes; each set once.
    kind : str
        What the interventions do.
    """

    nodes: Names
    sets: tuple[Names, ...]
    kind: Kind

    @property
    def any(self) -> bool:
        """Whether there is a target at all."""
        return any(self.sets)

    @property
    def core(self) -> list[tuple[int, list[int]]]:
        """The same for the core: (kind, targets) of each condition; none without any target."""
        if not self.any:
            return []
        number = _KINDS.index(self.kind)
        at = {name: i for i, name in enumerate(self.nodes)}
        return [(number, [at[name] for name in names]) for names in self.sets]

    def cut(self, graph: MixedGraph, names: Names) -> MixedGraph:
        """Return what is left of a graph in the condition with these targets."""
        if self.kind != "perfect":
            return graph
        heads = set(names)
        return MixedGraph(
            graph.nodes,
            directed=[(a, b) for a, b in graph.directed if b not in heads],
            bidirected=[(a, b) for a, b in graph.bidirected if not heads & {a, b}],
        )

    def check_seen(self, what: str) -> None:
        """Refuse conditions that hide an edge: its graphs would not share a skeleton."""
        if self.kind != "perfect" or () in self.sets:
            return
        for a, b in combinations(self.nodes, 2):
            if not any(a not in names and b not in names for names in self.sets):
                raise BowfreeError(
                    f"no condition leaves both {quote(a)} and {quote(b)} alone, so that an edge "
                    f"{quote(a)} <-> {quote(b)} would never show; {what} needs a condition "
                    "without targets, (), or one without these two (bowfree.equivalent compares "
                    "two graphs under any conditions)"
                )

    def words(self) -> str:
        """Say what the conditions are."""
        sets = "; ".join(said(names) for names in self.sets)
        return f"{self.kind} interventions, targets by condition: {sets}"


def said(names: Sequence[str]) -> str:
    """Return the targets of one condition as a text."""
    return ", ".join(map(quote, names)) if names else "none"


def given_targets(targets: TargetSets | None, kind: Kind, nodes: Names) -> Targets:
    """Return what a user gave, checked; None is one condition without targets.

    Raises
    ------
    BowfreeError
        Something else than a list of sets, or no condition at all.
    GraphError
        A target that is no node.
    """
    one_of("kind", kind, _KINDS)
    if targets is None:
        return Targets(nodes, OBSERVED, kind)
    if isinstance(targets, str):
        raise BowfreeError(
            f"targets is {shown(targets)}: give the targets of each condition, as in "
            "[(), ('x',)]; () is a condition without any"
        )
    found = [target_set(item, nodes) for item in each("targets", targets, "sets of nodes")]
    if not found:
        raise BowfreeError(
            "targets is empty: give the targets of each condition, as in [(), ('x',)]; () is a "
            "condition without any"
        )
    return Targets(nodes, tuple(dict.fromkeys(found)), kind)


def targets_of(moments: Any, nodes: Names) -> Targets:
    """Return the conditions that data are from; one without targets, unless they say otherwise."""
    if isinstance(moments, JointMoments) and moments.targets:
        return given_targets([c.targets for c in moments.conditions], moments.kind, nodes)
    return Targets(nodes, OBSERVED, "perfect")


def target_set(item: Any, nodes: Names) -> Names:
    """Return the targets of one condition in the order of the nodes; a name alone is a set."""
    names = [item] if isinstance(item, str) else each("a set of targets", item, "names of nodes")
    places = {place(name, nodes) for name in names}
    return tuple(nodes[i] for i in sorted(places))
