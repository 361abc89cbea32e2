"""Conditions of the exact test: the targets of interventions, and their kinds.

Observational data, data with an intervention on one variable, and with one on two are three
conditions, ``targets=[(), ("akt",), ("pkc", "mek")]``. Coefficients and error covariances are the
same in all of them except for the effects of the interventions, of which there are four kinds:

=============  ====================================================================
``perfect``    a target loses all edges with an arrowhead at it; it is set from outside, at random
``mechanism``  coefficients, error variance and error covariances of a target are new
``activity``   the coefficients of the edges out of a target are new
``noise``      the error variance of a target is new
=============  ====================================================================

Conditions may be of different kinds, ``kind=["perfect", "perfect", "noise"]``. Two graphs are
distinguished by an error covariance that should be zero, or by two conditions that should share a
parameter and do not (``cpp/equivalence/interventions.hpp``). An observational condition is not
required.
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

_KINDS = get_args(Kind)  # in the order of the core

TargetSets = Iterable[Iterable[str] | str]
"""The argument ``targets``: a set of names for each condition."""

Kinds = Kind | tuple[Kind, ...]
"""One kind for all conditions, or one for each."""

Names = tuple[str, ...]
OBSERVED: tuple[Names, ...] = ((),)
"""One observational condition."""


@dataclass(frozen=True)
class Targets:
    """The targets (`sets`) and kinds of interventions in each condition, for graphs on `nodes`."""

    nodes: Names
    sets: tuple[Names, ...]
    kind: Kinds

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kind of the intervention in each condition."""
        return (self.kind,) * len(self.sets) if isinstance(self.kind, str) else self.kind

    @property
    def any(self) -> bool:
        """Whether some condition has a target."""
        return any(self.sets)

    @property
    def core(self) -> list[tuple[int, list[int]]]:
        """(kind, targets) of each condition, for the core; empty without any target."""
        if not self.any:
            return []
        at = {name: i for i, name in enumerate(self.nodes)}
        return [
            (_KINDS.index(kind), [at[name] for name in names])
            for kind, names in zip(self.kinds, self.sets, strict=True)
        ]

    def cut(self, graph: MixedGraph, condition: int) -> MixedGraph:
        """Return the remainder of a graph in the condition with this number."""
        if self.kinds[condition] != "perfect":
            return graph
        heads = set(self.sets[condition])
        return MixedGraph(
            graph.nodes,
            directed=[(a, b) for a, b in graph.directed if b not in heads],
            bidirected=[(a, b) for a, b in graph.bidirected if not heads & {a, b}],
        )

    def check_identified_skeleton(self, what: str) -> None:
        """Raise an error if an edge is never visible, so that a class would have no one skeleton."""
        if any(kind != "perfect" for kind in self.kinds) or () in self.sets:
            return
        for a, b in combinations(self.nodes, 2):
            if not any(a not in names and b not in names for names in self.sets):
                raise BowfreeError(
                    f"every condition intervenes on {quote(a)} or {quote(b)}, so that an edge "
                    f"{quote(a)} <-> {quote(b)} cannot be detected; {what} requires an "
                    "observational condition, (), or one without these targets "
                    "(bowfree.equivalent compares two graphs under any conditions)"
                )

    def describe(self) -> str:
        """Return the conditions as text."""
        if isinstance(self.kind, str):
            sets = "; ".join(target_names(names) for names in self.sets)
            return f"{self.kind} interventions, targets by condition: {sets}"
        parts = [
            f"{target_names(names)} ({kind})" if names else "none"
            for kind, names in zip(self.kinds, self.sets, strict=True)
        ]
        return f"interventions, targets by condition: {'; '.join(parts)}"


def target_names(names: Sequence[str]) -> str:
    """Return the targets of one condition as text, "none" without any."""
    return ", ".join(map(quote, names)) if names else "none"


def read_targets(targets: TargetSets | None, kind: Kind | Sequence[Kind], nodes: Names) -> Targets:
    """Validate targets and kinds and drop redundant conditions; None is one observational one."""
    one = isinstance(kind, str)
    words: list[Any] = [kind] if one else as_list("kind", kind, "kinds of interventions")
    for word in words:
        check_choice("kind", word, _KINDS)
    if targets is None and isinstance(kind, str):
        return Targets(nodes, OBSERVED, kind)
    listed = [] if targets is None else as_list("targets", targets, "sets of nodes")
    if isinstance(targets, str) or not listed:
        raise BowfreeError(
            f"targets is {short_repr(targets)}: pass the targets of each condition, as in "
            "[(), ('x',)]; () is an observational condition"
        )
    found = [target_set(item, nodes) for item in listed]
    words = words * len(found) if one else words
    if len(words) != len(found):
        raise BowfreeError(
            f"kind = {short_repr(kind)} for targets = {short_repr(targets)}: pass one kind for all "
            "conditions, or one for each"
        )
    # Without targets there is no kind.
    pairs = informative(
        (word if names else "perfect", names) for word, names in zip(words, found, strict=True)
    )
    used = words[:1] if one else list(dict.fromkeys(word for word, names in pairs if names))
    kinds = (used or words)[0] if len(used) < 2 else tuple(word for word, _ in pairs)
    return Targets(nodes, tuple(names for _, names in pairs), kinds)


def informative(conditions: Iterable[tuple[Kind, Names]]) -> list[tuple[Kind, Names]]:
    """Return the conditions without redundant repetitions.

    A second condition with the same targets is informative: it differs in the parameters that the
    intervention changes. It is redundant beside an observational condition or if the intervention
    is perfect, because then only the variances of the targets differ.
    """
    given = list(conditions)
    observational = any(not names for _, names in given)
    return [
        (kind, names)
        for k, (kind, names) in enumerate(given)
        if given[:k].count((kind, names)) < (1 if observational or kind == "perfect" else 2)
    ]


def targets_of(moments: Any, nodes: Names) -> Targets:
    """Return the conditions of the data; by default one observational condition."""
    if isinstance(moments, JointMoments) and moments.targets:
        return read_targets([c.targets for c in moments.conditions], moments.kinds, nodes)
    return Targets(nodes, OBSERVED, "perfect")


def target_set(item: Any, nodes: Names) -> Names:
    """Return the targets of one condition in node order; a single name is a set."""
    names = [item] if isinstance(item, str) else as_list("a set of targets", item, "names of nodes")
    places = {node_index(name, nodes) for name in names}
    return tuple(nodes[i] for i in sorted(places))
