"""Words of a page that ask: about the drawn graph and others, for long work, for what is kept.

Each takes the session and the message, and returns the answer.

==========================================  ======================================================
``effect``                                  the cause and effect whose bounds are followed
``separation``                              what the graph and the data say about two variables
``pin``, ``look``, ``take``                 another graph: kept, compared, made the drawn one
``search``, ``bootstrap``, ``average``      long work, one at a time; its answer comes later
``report``, ``written``, ``stop``           the report and where it is; an end to long work
``save``, ``load``                          a session as a file
``read``, ``export``, ``code``              graphs of other programs; the script that leads here
==========================================  ======================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from bowfree.app.background_jobs import Answer
from bowfree.app.current_graph import quietly
from bowfree.app.messages import Message
from bowfree.app.positions import arrange
from bowfree.app.reproduce import python_code
from bowfree.app.saved import Saved, read_saved, write_saved
from bowfree.app.views import seen_comparison, seen_graph, seen_separation
from bowfree.equivalence.comparison import compare
from bowfree.errors import BowfreeError
from bowfree.formats.lavaan import read_lavaan
from bowfree.formats.text_formats import FORMATS, read, write
from bowfree.results.display import count

if TYPE_CHECKING:
    from bowfree.app.session import Session
    from bowfree.graph.mixed_graph import MixedGraph


# --- about the drawn graph ---


def _effect(session: Session, message: Message) -> Answer:
    if not message.has("of") and not message.has("on"):
        return session.drawn.follow_effect(None)
    of, on = message.node("of"), message.node("on")
    if of == on:
        raise BowfreeError("choose two different variables")
    return session.drawn.follow_effect((of, on))


def _separation(session: Session, message: Message) -> Answer:
    a, b, given = message.node("a"), message.node("b"), message.nodes("given")
    once = tuple(dict.fromkeys(given))
    return {"separation": seen_separation(session.board.graph, session.moments, a, b, once)}


# --- other graphs ---


def _pin(session: Session, message: Message) -> Answer:
    session.pinned = session.board.graph
    pinned = seen_graph(session.pinned)
    session.tell({"kind": "pinned", "graph": pinned})
    return {"pinned": pinned}


def _look(session: Session, message: Message) -> Answer:
    """Return another graph, and how it compares with the drawn one."""
    other = _other(session, message)
    # Vuong's test needs the rows, which moments of complete rows do not show.
    rows = session.moments if session.rows is None else session.rows
    with quietly():
        found = compare(
            {"drawn": session.board.graph, "other": other}, rows, penalty=session.drawn.penalty
        )
    return {"other": seen_graph(other), "comparison": seen_comparison(found)}


def _take(session: Session, message: Message) -> Answer:
    other = _other(session, message)
    return session.drawn.step(session.board.with_graph(other), "another graph taken")


def _other(session: Session, message: Message) -> MixedGraph:
    """Return the graph that a message means: the kept one, or one of those found."""
    if message.content.get("which") == "pinned":
        if session.pinned is None:
            raise BowfreeError("no graph was kept for comparison yet")
        return session.pinned
    found = session.long.candidates
    if not found:
        raise BowfreeError("there was no search yet, so there are no graphs to choose from")
    return found[message.whole("which", 0, len(found) - 1)][0].graph


# --- long work ---


def _search(session: Session, message: Message) -> Answer:
    return session.long.search(session.board, session.drawn.penalty, message)


def _bootstrap(session: Session, message: Message) -> Answer:
    return session.long.bootstrap(session.board, session.drawn.penalty, message)


def _average(session: Session, message: Message) -> Answer:
    return session.long.average(session.drawn.penalty, message)


def _report(session: Session, message: Message) -> Answer:
    if session.fit is None:
        raise BowfreeError("the drawn graph could not be fitted: there is nothing to report")
    return session.long.report(session.fit, f"A graph for {session.origin.name}", session.rows)


def _written(session: Session, message: Message) -> Answer:
    if session.long.written is None:
        raise BowfreeError("no report was written yet")
    return {"file": session.long.written, "name": "report.html"}


def _stop(session: Session, message: Message) -> Answer:
    return session.long.stop()


# --- to keep ---


def _save(session: Session, message: Message) -> Answer:
    drawn, centers = session.drawn, session.floor.places.centers
    saved = Saved(drawn.board, session.pinned, drawn.penalty, centers, drawn.effect)
    return {"file": write_saved(saved), "name": "workbench.json"}


def _load(session: Session, message: Message) -> Answer:
    saved = read_saved(message.text("text"), session.names)
    session.pinned = saved.pinned
    session.drawn.penalty, session.drawn.effect = saved.penalty, saved.effect
    session.floor.put(replace(session.floor.places, centers=saved.centers, bands=()))
    pinned = None if saved.pinned is None else seen_graph(saved.pinned)
    session.tell({"kind": "pinned", "graph": pinned})
    return session.drawn.begin_anew(saved.board, "a session loaded")


def _read(session: Session, message: Message) -> Answer:
    text, format = message.text("text"), message.one_of("format", FORMATS)
    what = "a graph read"
    if format == "lavaan":
        model = read_lavaan(text)
        graph = model.graph
        if model.not_written:
            added = count(len(model.not_written), "covariance")
            what += f", with {added} that sem() adds to what is written"
    else:
        graph = read(text, format=format)
    answer = session.drawn.step(session.board.with_graph(graph), what)
    session.floor.put(arrange(session.board.graph, session.board.knowledge.tiers))
    return answer


def _export(session: Session, message: Message) -> Answer:
    format = message.one_of("format", FORMATS)
    return {"file": write(session.board.graph, format=format), "name": f"graph-{format}.txt"}


def _code(session: Session, message: Message) -> Answer:
    text = python_code(
        session.board,
        session.origin,
        session.moments,
        session.data_options,
        penalty=session.drawn.penalty,
        effect=session.drawn.effect,
        search=session.long.searched,
    )
    return {"file": text, "name": "workbench.py"}


WORDS: dict[str, Callable[[Session, Message], Answer]] = {
    "effect": _effect,
    "separation": _separation,
    "pin": _pin,
    "look": _look,
    "take": _take,
    "search": _search,
    "bootstrap": _bootstrap,
    "average": _average,
    "report": _report,
    "written": _written,
    "stop": _stop,
    "save": _save,
    "load": _load,
    "read": _read,
    "export": _export,
    "code": _code,
}
