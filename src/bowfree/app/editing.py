"""Changes of a graph and of the knowledge about it.

A :class:`Drawing` never changes; each edit returns a new one, so that undo restores an old one. Its
graph is always a BAP that its knowledge permits. An impossible edit raises :class:`EditError`, with
the edges that are the reason::

    sun -> leaves -> fruit      and now fruit -> sun?
    "fruit -> sun would close the cycle sun -> leaves -> fruit -> sun"; path: these edges
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from bowfree.errors import BowfreeError, KnowledgeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import truncate

MAX_TIERS = 20

_REVERSED = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}


class EditError(BowfreeError):
    """An impossible edit.

    `path` has the edges that are the reason, by their ends; `alternative` is a change of an
    existing edge, ``(a, mark, b)``, that is possible in its place.
    """

    def __init__(
        self,
        message: str,
        path: Iterable[tuple[str, str]] = (),
        alternative: tuple[str, str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.path = tuple(path)
        self.alternative = alternative


@dataclass(frozen=True)
class Drawing:
    """A BAP, and knowledge that permits it."""

    graph: MixedGraph
    knowledge: Knowledge

    # --- edges ---

    def mark(self, a: str, b: str) -> str:
        """Return the mark between two variables: "", "->", "<-" or "<->"."""
        if b in self.graph.children(a):
            return "->"
        if b in self.graph.parents(a):
            return "<-"
        return "<->" if b in self.graph.spouses(a) else ""

    def add_edge(self, a: str, mark: str, b: str) -> Drawing:
        """Return the drawing with one more edge."""
        old = self.mark(a, b)
        if old == mark:
            raise EditError(f"{_edge(a, mark, b)} exists already", [(a, b)])
        if old:
            reason = "a bow" if "<->" in (old, mark) else "a cycle"
            raise EditError(
                f"{_edge(a, old, b)} exists: with {_edge(a, mark, b)} it would be {reason}",
                [(a, b)],
                (a, mark, b),
            )
        return self.change_edge(a, mark, b)

    def change_edge(self, a: str, mark: str, b: str) -> Drawing:
        """Return the drawing with "->", "<-", "<->" or "" (no edge) between two variables."""
        _check_different(a, b)
        directed = [pair for pair in self.graph.directed if {*pair} != {a, b}]
        bidirected = [pair for pair in self.graph.bidirected if {*pair} != {a, b}]
        directed += [(a, b)] if mark == "->" else [(b, a)] if mark == "<-" else []
        bidirected += [(a, b)] if mark == "<->" else []
        graph = MixedGraph(self.graph.nodes, directed, bidirected)
        cycle = graph.find_cycle()
        if cycle is not None:
            cause, effect = (a, b) if mark == "->" else (b, a)
            start = cycle.index(effect)
            path = [*cycle[start:], *cycle[:start]]  # from the effect back to the cause
            raise EditError(
                f"{_edge(cause, '->', effect)} would close the cycle {_path([*path, effect])}",
                pairwise(path),
            )
        return self._checked(graph=graph)

    def with_graph(self, graph: MixedGraph) -> Drawing:
        """Return the drawing with another graph on the same variables."""
        graph.check_bap()
        return self._checked(graph=MixedGraph(self.graph.nodes, graph.directed, graph.bidirected))

    # --- knowledge ---

    def toggle_lock(self, a: str, b: str) -> Drawing:
        """Return the drawing in which the edge between two variables is, or is not, required."""
        mark = self.mark(a, b)
        if not mark:
            raise EditError(f"there is no edge between {_name(a)} and {_name(b)} to lock")
        required = [edge for edge in self.knowledge.required if {edge[0], edge[2]} != {a, b}]
        if len(required) == len(self.knowledge.required):
            required.append((b, "->", a) if mark == "<-" else (a, mark, b))
        return self._with_knowledge(required=required)

    def forbid(self, a: str, mark: str, b: str) -> Drawing:
        """Return the drawing without such an edge, which is now forbidden; "--" is any edge."""
        _check_different(a, b)
        old = self.mark(a, b)
        drawing = self.change_edge(a, "", b) if old and mark in (old, "--") else self
        forbidden = list(self.knowledge.forbidden)
        if not {(a, mark, b), (b, _REVERSED[mark], a)} & {*forbidden}:
            forbidden.append((a, mark, b))
        return drawing._with_knowledge(forbidden=forbidden)

    def allow(self, a: str, b: str) -> Drawing:
        """Return the drawing without required and forbidden edges between two variables."""
        known = self.knowledge
        return self._with_knowledge(
            required=[edge for edge in known.required if {edge[0], edge[2]} != {a, b}],
            forbidden=[edge for edge in known.forbidden if {edge[0], edge[2]} != {a, b}],
        )

    def set_confounded(self, node: str, possible: bool) -> Drawing:
        """Return the drawing in which a variable may, or may not, have hidden common causes."""
        kept = [name for name in self.knowledge.unconfounded if name != node]
        return self._with_knowledge(unconfounded=kept if possible else [*kept, node])

    def set_tier(self, node: str, tier: int | None) -> Drawing:
        """Return the drawing with a variable in a tier, counted from 0, or in none."""
        tiers = [[name for name in names if name != node] for names in self.knowledge.tiers]
        if tier is not None:
            tiers += [[] for _ in range(tier + 1 - len(tiers))]
            tiers[tier].append(node)
        return self._with_knowledge(tiers=tiers)

    def set_tier_count(self, count: int) -> Drawing:
        """Return the drawing with this many tiers; the variables of removed tiers are in none."""
        tiers = [list(names) for names in self.knowledge.tiers[:count]]
        return self._with_knowledge(tiers=[*tiers, *([] for _ in range(count - len(tiers)))])

    def with_knowledge(self, knowledge: Knowledge) -> Drawing:
        """Return the drawing with other knowledge about the same variables."""
        try:
            knowledge.masks(self.graph.nodes)
        except KnowledgeError as error:
            raise EditError(str(error)) from None
        return self._checked(knowledge=knowledge)

    def _with_knowledge(self, **changes: Any) -> Drawing:
        return self.with_knowledge(replace(self.knowledge, **changes))

    def _checked(self, **changes: object) -> Drawing:
        """Return the changed drawing if its knowledge permits its graph."""
        drawing = replace(self, **changes)  # type: ignore[arg-type]
        known = drawing.knowledge
        if known != Knowledge() and not known.permits(drawing.graph):
            raise _contradiction(drawing)
        return drawing


def _contradiction(drawing: Drawing) -> EditError:
    """Return why the knowledge does not permit the graph."""
    known, graph = drawing.knowledge, drawing.graph
    for a, mark, b in known.required:
        if drawing.mark(a, b) != mark:
            return EditError(f"{_edge(a, mark, b)} is locked: unlock it first", [(a, b)])
    for a, mark, b in known.forbidden:
        old = drawing.mark(a, b)
        if old and mark in (old, "--"):
            rule = "every edge between the two" if mark == "--" else "it"
            return EditError(f"{_edge(a, old, b)}: {rule} is forbidden; allow it first", [(a, b)])
    tier = {name: k for k, names in enumerate(known.tiers) for name in names}
    for a, b in graph.directed:
        if tier.get(a, -1) > tier.get(b, len(known.tiers)):
            return EditError(
                f"{_edge(a, '->', b)} would point back in time: {_name(a)} is in tier "
                f"{tier[a] + 1}, {_name(b)} in tier {tier[b] + 1}",
                [(a, b)],
            )
    for a, b in graph.bidirected:
        for name in {a, b} & {*known.unconfounded}:
            return EditError(f"{_edge(a, '<->', b)}: {_name(name)} is unconfounded", [(a, b)])
    raise AssertionError(f"{known} permits {graph}")  # all kinds of knowledge are above


def _check_different(a: str, b: str) -> None:
    if a == b:
        raise EditError(f"an edge connects two different variables, not {_name(a)} with itself")


def _name(name: str) -> str:
    return truncate(quote(name))


def _edge(a: str, mark: str, b: str) -> str:
    return f"{_name(a)} {mark} {_name(b)}"


def _path(names: list[str]) -> str:
    shown = names if len(names) <= 10 else [*names[:9], "...", names[-1]]
    return " -> ".join(name if name == "..." else _name(name) for name in shown)
