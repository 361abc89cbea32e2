"""Words of a page that change what is drawn: edges, what is known, places, the price of an edge.

Each takes the session and the message, and returns the answer; what is not possible raises a
:class:`~bowfree.app.editing.Refusal`, and nothing has changed then.

========================================  ========================================================
``draw``, ``change``                      an edge more; an edge turned, of another kind, or gone
``undo``, ``redo``                        back and forth
``lock``, ``forbid``, ``allow``           what is known about a pair
``confounded``, ``tier``, ``tiers``       what is known about a variable, and about time
``place``, ``arrange``                    where the variables stand
``penalty``                               the price of an edge
========================================  ========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bowfree.app.background_jobs import Answer
from bowfree.app.editing import MOST_TIERS, Board
from bowfree.app.messages import Message
from bowfree.app.positions import ARRANGEMENTS, arrange
from bowfree.app.saved import checked_place
from bowfree.errors import BowfreeError
from bowfree.results.display import count
from bowfree.validation import LARGEST_PENALTY, check_penalty

if TYPE_CHECKING:
    from bowfree.app.session import Session


_MARKS = ("->", "<-", "<->")


def _edge(message: Message, marks: tuple[str, ...]) -> tuple[str, str, str]:
    return message.node("a"), message.one_of("mark", marks), message.node("b")


# --- edges ---


def _draw(session: Session, message: Message) -> Answer:
    a, mark, b = _edge(message, _MARKS)
    return session.drawn.step(session.board.draw(a, mark, b), f"{a} {mark} {b} added")


def _change(session: Session, message: Message) -> Answer:
    a, mark, b = _edge(message, ("", *_MARKS))
    now = session.board.mark(a, b)
    if not now and not mark:
        raise BowfreeError("there is no edge to delete")
    what = f"{a} {mark} {b} added" if not now else f"{a} {now} {b} deleted"
    if now and mark:
        what = f"{a} {now} {b} became {a} {mark} {b}"
    return session.drawn.step(session.board.change(a, mark, b), what)


def _undo(session: Session, message: Message) -> Answer:
    return session.drawn.undo()


def _redo(session: Session, message: Message) -> Answer:
    return session.drawn.redo()


# --- what is known ---


def _lock(session: Session, message: Message) -> Answer:
    a, b = message.node("a"), message.node("b")
    return session.drawn.step(session.board.lock(a, b), f"lock between {a} and {b}")


def _forbid(session: Session, message: Message) -> Answer:
    a, mark, b = _edge(message, (*_MARKS, "--"))
    return session.drawn.step(session.board.forbid(a, mark, b), f"{a} {mark} {b} forbidden")


def _allow(session: Session, message: Message) -> Answer:
    a, b = message.node("a"), message.node("b")
    return session.drawn.step(session.board.allow(a, b), f"all allowed between {a} and {b}")


def _confounded(session: Session, message: Message) -> Answer:
    node, possible = message.node("node"), message.yes("possible")
    what = f"{node} {'may be' if possible else 'is not'} confounded"
    return session.drawn.step(session.board.confounded(node, possible), what)


def _tier(session: Session, message: Message) -> Answer:
    node = message.node("node")
    tier = message.whole("tier", 0, MOST_TIERS - 1) if message.has("tier") else None
    where = "no tier" if tier is None else f"tier {tier + 1}"
    return _in_bands(session, session.board.tier(node, tier), f"{node} in {where}")


def _tiers(session: Session, message: Message) -> Answer:
    wanted = message.whole("count", 0, MOST_TIERS)
    return _in_bands(session, session.board.tiers(wanted), count(wanted, "tier"))


def _in_bands(session: Session, board: Board, what: str) -> Answer:
    """Go to a board with other tiers, and show them as bands."""
    session.floor.put(arrange(board.graph, board.knowledge.tiers))
    return session.drawn.step(board, what)


# --- places, and the price of an edge ---


def _place(session: Session, message: Message) -> Answer:
    node = session.names.index(message.node("node"))
    session.floor.move(node, checked_place([message.content.get("x"), message.content.get("y")]))
    return {"places": session.floor.seen()}


def _arrange(session: Session, message: Message) -> Answer:
    how = message.one_of("how", ARRANGEMENTS)
    session.floor.put(arrange(session.board.graph, session.board.knowledge.tiers, how))
    return {"places": session.floor.seen()}


def _penalty(session: Session, message: Message) -> Answer:
    return session.drawn.set_penalty(check_penalty(message.real("value", 0, LARGEST_PENALTY)))


WORDS: dict[str, Callable[[Session, Message], Answer]] = {
    "draw": _draw,
    "change": _change,
    "undo": _undo,
    "redo": _redo,
    "lock": _lock,
    "forbid": _forbid,
    "allow": _allow,
    "confounded": _confounded,
    "tier": _tier,
    "tiers": _tiers,
    "place": _place,
    "arrange": _arrange,
    "penalty": _penalty,
}
