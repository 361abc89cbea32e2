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

Conditions may be of different kinds, ``kind=["perfect", "perfect", "noise"]``.

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

from bowfree.data.joint_moments import JointMoments
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.parameters import Kind
from bowfree.text_reading import short_repr
from bowfree.validation import as_list, check_choice

_KINDS = get_args(Kind)  # in the order of the core's

TargetSets = Iterable[Iterable[str] | str]
"""What a user may give as ``targets``: a set of names for each condition."""

Kinds = Kind | tuple[Kind, ...]
"""What interventions do: all the same, or one for each condition."""

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
        The targets of each condition, in the order of the nodes.
    kind : str or tuple of str
        What the interventions do; one for each condition where they differ.
    """

    nodes: Names
    sets: tuple[Names, ...]
    kind: Kinds

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What was done in each condition."""
        return (self.kind,) * len(self.sets) if isinstance(self.kind, str) else self.kind

    @property
    def any(self) -> bool:
        """Whether there is a target at all."""
        return any(self.sets)

    @property
    def core(self) -> list[tuple[int, list[int]]]:
        """The same for the core: (kind, targets) of each condition; none without any target."""
        if not self.any:
            return []
        at = {name: i for i, name in enumerate(self.nodes)}
        return [
            (_KINDS.index(kind), [at[name] for name in names])
            for kind, names in zip(self.kinds, self.sets, strict=True)
        ]

    def cut(self, graph: MixedGraph, condition: int) -> MixedGraph:
        """Return what is left of a graph in the condition of this number."""
        if self.kinds[condition] != "perfect":
            return graph
        heads = set(self.sets[condition])
        return MixedGraph(
            graph.nodes,
            directed=[(a, b) for a, b in graph.directed if b not in heads],
            bidirected=[(a, b) for a, b in graph.bidirected if not heads & {a, b}],
        )

    def check_seen(self, what: str) -> None:
        """Refuse conditions that hide an edge: its graphs would not share a skeleton."""
        if any(kind != "perfect" for kind in self.kinds) or () in self.sets:
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
        if isinstance(self.kind, str):
            sets = "; ".join(said(names) for names in self.sets)
            return f"{self.kind} interventions, targets by condition: {sets}"
        parts = [
            f"{said(names)} ({kind})" if names else said(names)
            for kind, names in zip(self.kinds, self.sets, strict=True)
        ]
        return f"interventions, targets by condition: {'; '.join(parts)}"


def said(names: Sequence[str]) -> str:
    """Return the targets of one condition as a text."""
    return ", ".join(map(quote, names)) if names else "none"


def given_targets(targets: TargetSets | None, kind: Kind | Sequence[Kind], nodes: Names) -> Targets:
    """Return what a user gave, checked; None is one condition without targets.

    A condition without targets has no kind to speak of, and what says nothing new is left out.

    Raises
    ------
    BowfreeError
        Something else than a list of sets, no condition at all, or kinds that are not as many.
    GraphError
        A target that is no node.
    """
    given: list[Kind]
    given = [kind] if isinstance(kind, str) else [*as_list("kind", kind, "kinds of interventions")]
    for word in given:
        check_choice("kind", word, _KINDS)
    if targets is None and isinstance(kind, str):
        return Targets(nodes, OBSERVED, kind)
    if targets is None:
        raise BowfreeError(
            f"kind = {short_repr(kind)} without targets: give the targets of each condition, too, as in "
            "[(), ('x',)]"
        )
    if isinstance(targets, str):
        raise BowfreeError(
            f"targets is {short_repr(targets)}: give the targets of each condition, as in "
            "[(), ('x',)]; () is a condition without any"
        )
    found = [target_set(item, nodes) for item in as_list("targets", targets, "sets of nodes")]
    if not found:
        raise BowfreeError(
            "targets is empty: give the targets of each condition, as in [(), ('x',)]; () is a "
            "condition without any"
        )
    if isinstance(kind, str):
        pairs = telling([(kind, names) for names in found])
        return Targets(nodes, tuple(names for _, names in pairs), kind)
    if len(given) != len(found):
        raise BowfreeError(
            f"kind = {short_repr(kind)} for targets = {short_repr(targets)}: give one kind for all "
            "conditions, or as many as there are conditions"
        )
    kinds: list[Kind] = [
        word if names else "perfect" for word, names in zip(given, found, strict=True)
    ]
    pairs = telling(zip(kinds, found, strict=True))
    words = list(dict.fromkeys(word for word, names in pairs if names)) or given[:1]
    chosen = words[0] if len(words) == 1 else tuple(word for word, _ in pairs)
    return Targets(nodes, tuple(names for _, names in pairs), chosen)


def telling(conditions: Iterable[tuple[Kind, Names]]) -> list[tuple[Kind, Names]]:
    """Return the conditions, those that repeat another only where two say more than one.

    Two conditions with the same targets can be compared with each other: what differs is what the
    intervention changed. A condition without targets is as good for that, and so is one in which
    variables were set, because nothing else of it is its own than how these vary.
    """
    given = list(conditions)
    undisturbed = any(not names for _, names in given)
    return [
        (kind, names)
        for k, (kind, names) in enumerate(given)
        if given[:k].count((kind, names)) < (1 if undisturbed or kind == "perfect" else 2)
    ]


def targets_of(moments: Any, nodes: Names) -> Targets:
    """Return the conditions that data are from; one without targets, unless they say otherwise."""
    if isinstance(moments, JointMoments) and moments.targets:
        return given_targets([c.targets for c in moments.conditions], moments.kinds, nodes)
    return Targets(nodes, OBSERVED, "perfect")


def target_set(item: Any, nodes: Names) -> Names:
    """Return the targets of one condition in the order of the nodes; a name alone is a set."""
    names = [item] if isinstance(item, str) else as_list("a set of targets", item, "names of nodes")
    places = {node_index(name, nodes) for name in names}
    return tuple(nodes[i] for i in sorted(places))
