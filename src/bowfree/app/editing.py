"""What is drawn: a graph and what is known about it, and the changes that a hand may make.

A :class:`Board` never changes; each change returns a new one, so that undoing is going back. Every
board is sound: its graph is a BAP within its knowledge. A change that would end elsewhere raises
:class:`Refusal`, which says why, and where on the canvas the reason can be seen::

    sun -> leaves -> fruit      and now fruit -> sun?
    "fruit -> sun would close the cycle sun -> leaves -> fruit -> sun"; path: these edges

Next: :mod:`bowfree.app.current_graph`, which keeps the boards of the past.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from bowfree.errors import BowfreeError, KnowledgeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import truncate

MOST_TIERS = 20

_MIRROR = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}


class Refusal(BowfreeError):
    """A change that cannot be made.

    Attributes
    ----------
    path : tuple of pairs of str
        The edges that are the reason, by their ends.
    change : tuple of str or None
        ``(a, mark, b)``: what could be done instead, namely change the edge that is there.
    """

    def __init__(
        self,
        message: str,
        path: Iterable[tuple[str, str]] = (),
        change: tuple[str, str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.path = tuple(path)
        self.change = change


@dataclass(frozen=True)
class Board:
    """A BAP, and knowledge that it keeps to.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.app.editing import Board
    >>> board = Board(bf.parse("x -> y -> z"), bf.Knowledge())
    >>> print(board.draw("x", "<->", "z").graph)
    x -> y -> z <-> x
    >>> board.draw("z", "->", "x")
    Traceback (most recent call last):
        ...
    bowfree.app.editing.Refusal: z -> x would close the cycle x -> y -> z -> x
    """

    graph: MixedGraph
    knowledge: Knowledge

    # --- edges ---

    def mark(self, a: str, b: str) -> str:
        """Return what is between two variables: "", "->", "<-" or "<->"."""
        if b in self.graph.children(a):
            return "->"
        if b in self.graph.parents(a):
            return "<-"
        return "<->" if b in self.graph.spouses(a) else ""

    def draw(self, a: str, mark: str, b: str) -> Board:
        """Return the board with one more edge."""
        self._check_different(a, b)
        now = self.mark(a, b)
        if now == mark:
            raise Refusal(f"{_said(a, mark, b)} is there already", [(a, b)])
        if now:
            why = "a bow" if "<->" in (now, mark) else "a cycle"
            raise Refusal(
                f"{_said(a, now, b)} is there: {_said(a, mark, b)} beside it would be {why}",
                [(a, b)],
                (a, mark, b),
            )
        return self.change(a, mark, b)

    def change(self, a: str, mark: str, b: str) -> Board:
        """Return the board with "->", "<-", "<->" or "", which is no edge, between two."""
        self._check_different(a, b)
        graph = self._with(a, mark, b)
        cycle = graph.find_cycle()
        if cycle is not None:
            cause, effect = (a, b) if mark == "->" else (b, a)
            start = cycle.index(effect)
            way = [*cycle[start:], *cycle[:start]]  # from the effect back to the cause
            raise Refusal(
                f"{_said(cause, '->', effect)} would close the cycle {_way([*way, effect])}",
                pairwise(way),
            )
        return self._checked(replace(self, graph=graph))

    def with_graph(self, graph: MixedGraph) -> Board:
        """Return the board with another graph on the same variables."""
        graph.check_bap()
        same = MixedGraph(self.graph.nodes, graph.directed, graph.bidirected)
        return self._checked(replace(self, graph=same))

    # --- knowledge ---

    def lock(self, a: str, b: str) -> Board:
        """Return the board on which the edge between two variables is required; or no longer."""
        mark = self.mark(a, b)
        if not mark:
            raise Refusal(f"there is no edge between {_named(a)} and {_named(b)} to lock")
        kept = [edge for edge in self.knowledge.required if {edge[0], edge[2]} != {a, b}]
        if len(kept) == len(self.knowledge.required):
            kept.append((b, "->", a) if mark == "<-" else (a, mark, b))
        return self._knowing(required=kept)

    def forbid(self, a: str, mark: str, b: str) -> Board:
        """Return the board without such an edge, now and later; "--" is any edge."""
        self._check_different(a, b)
        now = self.mark(a, b)
        gone = bool(now) and mark in (now, "--")
        board = self.change(a, "", b) if gone else self
        known = {*self.knowledge.forbidden}
        more = [] if {(a, mark, b), (b, _MIRROR[mark], a)} & known else [(a, mark, b)]
        return board._knowing(forbidden=[*self.knowledge.forbidden, *more])

    def allow(self, a: str, b: str) -> Board:
        """Return the board on which nothing is required or forbidden between two variables."""
        pair = {a, b}
        return self._knowing(
            required=[edge for edge in self.knowledge.required if {edge[0], edge[2]} != pair],
            forbidden=[edge for edge in self.knowledge.forbidden if {edge[0], edge[2]} != pair],
        )

    def confounded(self, node: str, possible: bool) -> Board:
        """Return the board on which a variable may, or may not, have hidden common causes."""
        kept = [name for name in self.knowledge.unconfounded if name != node]
        return self._knowing(unconfounded=kept if possible else [*kept, node])

    def tier(self, node: str, tier: int | None) -> Board:
        """Return the board with a variable in a tier, counted from 0; None is in none of them."""
        tiers = [[name for name in names if name != node] for names in self.knowledge.tiers]
        if tier is not None:
            if tier >= MOST_TIERS:
                raise Refusal(f"tier {tier + 1}: there are at most {MOST_TIERS}")
            tiers += [[] for _ in range(tier + 1 - len(tiers))]
            tiers[tier].append(node)
        return self._knowing(tiers=tiers)

    def tiers(self, count: int) -> Board:
        """Return the board with so many tiers; variables of those that are gone are free."""
        tiers = [list(names) for names in self.knowledge.tiers[:count]]
        return self._knowing(tiers=[*tiers, *([] for _ in range(count - len(tiers)))])

    def with_knowledge(self, knowledge: Knowledge) -> Board:
        """Return the board with other knowledge about the same variables."""
        return self._knowing(**{name: getattr(knowledge, name) for name in _FIELDS})

    # --- checks ---

    def _check_different(self, a: str, b: str) -> None:
        if a == b:
            raise Refusal(f"an edge joins two different variables, not {_named(a)} with itself")

    def _with(self, a: str, mark: str, b: str) -> MixedGraph:
        directed = [pair for pair in self.graph.directed if {*pair} != {a, b}]
        both = [pair for pair in self.graph.bidirected if {*pair} != {a, b}]
        directed += [(a, b)] if mark == "->" else [(b, a)] if mark == "<-" else []
        both += [(a, b)] if mark == "<->" else []
        return MixedGraph(self.graph.nodes, directed, both)

    def _knowing(self, **changes: object) -> Board:
        known = {name: getattr(self.knowledge, name) for name in _FIELDS} | changes
        knowledge = Knowledge(**known)
        try:
            knowledge.masks(self.graph.nodes)
        except KnowledgeError as error:
            raise Refusal(str(error)) from None
        return self._checked(replace(self, knowledge=knowledge))

    def _checked(self, board: Board) -> Board:
        """Return the board if its graph keeps to its knowledge; else say which edge does not."""
        if not board.knowledge.permits(board.graph):
            raise _objection(board)
        return board


_FIELDS = ("required", "forbidden", "tiers", "unconfounded")


def _objection(board: Board) -> Refusal:
    """Return what the knowledge has against the graph."""
    known, graph = board.knowledge, board.graph
    for a, mark, b in known.required:
        if board.mark(a, b) != mark:
            return Refusal(f"{_said(a, mark, b)} is locked: unlock it first", [(a, b)])
    for a, mark, b in known.forbidden:
        now = board.mark(a, b)
        if now and mark in (now, "--"):
            rule = "every edge between the two" if mark == "--" else "it"
            return Refusal(f"{_said(a, now, b)}: {rule} is forbidden; allow it first", [(a, b)])
    tier = {name: k for k, names in enumerate(known.tiers) for name in names}
    for a, b in graph.directed:
        if tier.get(a, -1) > tier.get(b, len(known.tiers)):
            return Refusal(
                f"{_said(a, '->', b)} would lead back in time: {_named(a)} is in tier "
                f"{tier[a] + 1}, {_named(b)} in tier {tier[b] + 1}",
                [(a, b)],
            )
    for a, b in graph.bidirected:
        for name in (a, b):
            if name in known.unconfounded:
                return Refusal(
                    f"{_said(a, '<->', b)}: {_named(name)} is marked as unconfounded", [(a, b)]
                )
    raise AssertionError(f"{known} permits {graph}")  # all kinds of knowledge are above


def _named(name: str) -> str:
    return truncate(quote(name))


def _said(a: str, mark: str, b: str) -> str:
    return f"{_named(a)} {mark} {_named(b)}"


def _way(names: list[str]) -> str:
    shown = names if len(names) <= 10 else [*names[:9], "...", names[-1]]
    return " -> ".join(name if name == "..." else _named(name) for name in shown)
