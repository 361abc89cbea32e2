"""Messages of a page to a session: reading their fields, and answering them.

A message is a JSON object: ``{"do": "draw", "a": 0, "mark": "->", "b": 3}``. Variables are given by
index, so names are never quoted. A missing or invalid field raises an error.

=======================================  ==========================================================
``draw``, ``change``                     add an edge; reverse it, change its kind, or delete it
``undo``, ``redo``                       the history of edits
``lock``, ``forbid``, ``allow``          knowledge about a pair of variables
``confounded``, ``tier``, ``tiers``      knowledge about a variable, and about time
``position``, ``arrange``                positions of the variables
``penalty``                              the penalty of the score
``effect``, ``separation``               bounds of an effect; m-separation of two variables
``implications``, ``data``               equations that the graph implies, with tests; the rows
``member``, ``use_member``               an equivalent graph: return it, make it the current one
``pin``, ``compare``, ``use``            another graph: keep it, compare it, make it the current one
``search``, ``bootstrap``, ``average``   long computations, one at a time
``report``, ``report_file``, ``stop``    write the report and return it; stop a computation
``save``, ``load``, ``share``            session files; a page that answers from a recording
``read``, ``export``, ``code``           graphs in other formats; a script that repeats the analysis
=======================================  ==========================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from bowfree.app import front_end
from bowfree.app.editing import MAX_TIERS, Drawing
from bowfree.app.jobs import ignore_warnings
from bowfree.app.positions import ARRANGEMENTS, MAX_COORDINATE, arrange
from bowfree.app.saved import Saved, python_code, read_saved, write_saved
from bowfree.app.views import (
    MAX_MEMBERS,
    View,
    comparison_view,
    data_view,
    graph_view,
    separation_view,
)
from bowfree.data.diagnostics import has_rows
from bowfree.equivalence.comparison import compare
from bowfree.equivalence.equations import constraint_tests
from bowfree.errors import BowfreeError
from bowfree.formats.lavaan import read_lavaan
from bowfree.formats.text_formats import FORMATS, read, write
from bowfree.results.display import count
from bowfree.results.serialization import to_plain
from bowfree.text_reading import short_repr
from bowfree.validation import LARGEST_PENALTY, as_float, check_penalty, is_number

if TYPE_CHECKING:
    from bowfree.app.session import Session
    from bowfree.graph.mixed_graph import MixedGraph

MAX_TEXT = 4_000_000
"""Largest number of characters of a string from a page: a session file, or a graph."""

_MARKS = ("->", "<-", "<->")
_MAX_SECONDS = 100_000
_MAX_SEED = 2**53 - 1  # JavaScript's integers
_MAX_RECORDED = 12  # variables whose effects are all recorded, and graphs of a search


@dataclass(frozen=True)
class Message:
    """The fields of a message; each method reads and validates one of them."""

    content: Mapping[str, Any]
    names: tuple[str, ...]

    def node(self, field: str) -> str:
        """Return the variable with the index in this field."""
        return self.names[self.integer(field, 0, len(self.names) - 1)]

    def nodes(self, field: str) -> tuple[str, ...]:
        """Return the variables with the indices in this field."""
        indices = self.content.get(field)
        self._checked(field, isinstance(indices, list), "a list of variables")
        return tuple(Message({field: index}, self.names).node(field) for index in indices or [])

    def edge(self, marks: tuple[str, ...]) -> tuple[str, str, str]:
        """Return the edge in the fields a, mark and b."""
        return self.node("a"), self.choice("mark", marks), self.node("b")

    def integer(self, field: str, low: int, high: int) -> int:
        """Return an integer in a range."""
        value = self.content.get(field)
        valid = type(value) is int and low <= value <= high
        return int(self._checked(field, valid, f"an integer from {low} to {high}"))

    def number(self, field: str, low: float, high: float) -> float:
        """Return a number in a range."""
        value = self.content.get(field)
        valid = is_number(value) and low <= as_float(value) <= high
        return float(self._checked(field, valid, f"a number from {low:g} to {high:g}"))

    def choice(self, field: str, choices: Sequence[str]) -> str:
        """Return one of several strings."""
        value = self.content.get(field)
        valid = isinstance(value, str) and value in choices
        return str(self._checked(field, valid, f"one of {', '.join(map(repr, choices))}"))

    def boolean(self, field: str) -> bool:
        """Return true or false."""
        valid = isinstance(self.content.get(field), bool)
        return bool(self._checked(field, valid, "true or false"))

    def text(self, field: str) -> str:
        """Return a string of at most `MAX_TEXT` characters."""
        value = self.content.get(field)
        valid = isinstance(value, str) and len(value) <= MAX_TEXT
        return str(self._checked(field, valid, f"a string of at most {MAX_TEXT:,} characters"))

    def has(self, field: str) -> bool:
        """Return whether the field exists and is not null."""
        return self.content.get(field) is not None

    def seed(self) -> int:
        """Return the seed of a computation."""
        return self.integer("seed", 0, _MAX_SEED)

    def _checked(self, field: str, valid: bool, expected: str) -> Any:
        value = self.content.get(field)
        if not valid:
            raise BowfreeError(f"{field} = {short_repr(value)}: must be {expected}")
        return value


# --- edits ---


def _draw(session: Session, message: Message) -> View:
    a, mark, b = message.edge(_MARKS)
    return session.edit(session.drawing.add_edge(a, mark, b), f"{a} {mark} {b} added")


def _change(session: Session, message: Message) -> View:
    a, mark, b = message.edge(("", *_MARKS))
    old = session.drawing.mark(a, b)
    if not old and not mark:
        raise BowfreeError("there is no edge to delete")
    what = f"{a} {mark} {b} added" if not old else f"{a} {old} {b} deleted"
    if old and mark:
        what = f"{a} {old} {b} changed to {a} {mark} {b}"
    drawing = session.drawing.change_edge(a, mark, b)
    if message.has("suggested"):
        session.chosen_on_data.add(drawing.graph)
    return session.edit(drawing, what)


def _penalty(session: Session, message: Message) -> View:
    return session.set_penalty(check_penalty(message.number("value", 0, LARGEST_PENALTY)))


# --- knowledge ---


def _lock(session: Session, message: Message) -> View:
    a, b = message.node("a"), message.node("b")
    return session.edit(session.drawing.toggle_lock(a, b), f"lock of {a} and {b}")


def _forbid(session: Session, message: Message) -> View:
    a, mark, b = message.edge((*_MARKS, "--"))
    return session.edit(session.drawing.forbid(a, mark, b), f"{a} {mark} {b} forbidden")


def _allow(session: Session, message: Message) -> View:
    a, b = message.node("a"), message.node("b")
    return session.edit(session.drawing.allow(a, b), f"all edges of {a} and {b} allowed")


def _confounded(session: Session, message: Message) -> View:
    node, possible = message.node("node"), message.boolean("possible")
    what = f"{node} {'may be' if possible else 'is not'} confounded"
    return session.edit(session.drawing.set_confounded(node, possible), what)


def _tier(session: Session, message: Message) -> View:
    node = message.node("node")
    tier = message.integer("tier", 0, MAX_TIERS - 1) if message.has("tier") else None
    where = "no tier" if tier is None else f"tier {tier + 1}"
    return _show_bands(session, session.drawing.set_tier(node, tier), f"{node} in {where}")


def _tiers(session: Session, message: Message) -> View:
    n = message.integer("count", 0, MAX_TIERS)
    return _show_bands(session, session.drawing.set_tier_count(n), count(n, "tier"))


def _show_bands(session: Session, drawing: Drawing, what: str) -> View:
    session.positions.set(arrange(drawing.graph, drawing.knowledge.tiers))
    return session.edit(drawing, what)


# --- positions ---


def _position(session: Session, message: Message) -> View:
    x, y = (message.number(field, -MAX_COORDINATE, MAX_COORDINATE) for field in ("x", "y"))
    session.positions.move(session.names.index(message.node("node")), (x, y))
    return {"positions": session.positions.view()}


def _arrange(session: Session, message: Message) -> View:
    how, drawing = message.choice("how", ARRANGEMENTS), session.drawing
    session.positions.set(arrange(drawing.graph, drawing.knowledge.tiers, how))
    return {"positions": session.positions.view()}


# --- analyses ---


def _effect(session: Session, message: Message) -> View:
    if not message.has("of") and not message.has("on"):
        return session.select_effect(None)
    of, on = message.node("of"), message.node("on")
    if of == on:
        raise BowfreeError("choose two different variables")
    return session.select_effect((of, on))


def _separation(session: Session, message: Message) -> View:
    a, b, given = message.node("a"), message.node("b"), message.nodes("given")
    unique = tuple(dict.fromkeys(given))
    return {"separation": separation_view(session.drawing.graph, session.moments, a, b, unique)}


def _data(session: Session, message: Message) -> View:
    if session.rows is None or session.fit is None or not has_rows(session.moments):
        raise BowfreeError("there are no rows to show: open a table of numbers without options")
    b = message.node("b") if message.has("b") else None
    return {"data": data_view(session.fit, session.rows, message.node("a"), b)}


# --- other graphs ---


def _compare(session: Session, message: Message) -> View:
    other = _other_graph(session, message)
    # Vuong's test needs the rows, which moments of complete rows do not contain.
    rows = session.moments if session.rows is None else session.rows
    with ignore_warnings():
        graphs = {"current": session.drawing.graph, "other": other}
        found = compare(graphs, rows, penalty=session.penalty)
    curves = session.positions.draw_others(other.edges)
    return {"other": graph_view(other), "curves": curves, "comparison": comparison_view(found)}


def _use(session: Session, message: Message) -> View:
    drawing = session.drawing.with_graph(_other_graph(session, message))
    if message.content.get("which") != "pinned":
        session.chosen_on_data.add(drawing.graph)
    return session.edit(drawing, "another graph chosen")


def _other_graph(session: Session, message: Message) -> MixedGraph:
    """Return the pinned graph, or one of those found by a search."""
    if message.content.get("which") == "pinned":
        if session.pinned is None:
            raise BowfreeError("no graph was kept for comparison")
        return session.pinned
    found = session.jobs.candidates
    if not found:
        raise BowfreeError("there are no graphs to choose from: search first")
    return found[message.integer("which", 0, len(found) - 1)][0].graph


# --- long computations ---


def _budget(session: Session, message: Message) -> dict[str, Any]:
    """Return seed, penalty and time limit, where they are not the default."""
    options: dict[str, Any] = {"rng": message.seed()}
    if session.penalty != 1.0:
        options["penalty"] = session.penalty
    if message.has("seconds"):
        options["time_limit"] = message.number("seconds", 0.1, _MAX_SECONDS)
    return options


def _implications(session: Session, message: Message) -> View:
    tests = constraint_tests(session.drawing.graph, session.moments)
    rows = sorted(tests.rows, key=lambda row: row.p_value)
    names = ("equation", "value", "p_value")
    return {
        "implications": to_plain([{name: getattr(row, name) for name in names} for row in rows])
    }


def _member(session: Session, message: Message) -> View:
    number = message.integer("number", 0, MAX_MEMBERS - 1)
    return {"member": {"graph": graph_view(session.member(number))}}


def _use_member(session: Session, message: Message) -> View:
    member = session.member(message.integer("number", 0, MAX_MEMBERS - 1))
    return session.edit(session.drawing.with_graph(member), "an equivalent graph chosen")


def _search(session: Session, message: Message) -> View:
    options = _budget(session, message)
    if message.has("restarts"):
        options["restarts"] = message.integer("restarts", 1, 10_000)
    from_current = message.boolean("from_current")
    average = message.has("average") and message.boolean("average")
    return session.jobs.search(options, from_current=from_current, average=average)


def _bootstrap(session: Session, message: Message) -> View:
    return session.jobs.bootstrap(message.integer("resamples", 40, 10_000), message.seed())


def _report_file(session: Session, message: Message) -> View:
    if session.jobs.report_file is None:
        raise BowfreeError("no report was written")
    return {"file": session.jobs.report_file, "name": "report.html"}


# --- files ---


def _save(session: Session, message: Message) -> View:
    centers = session.positions.current.centers
    saved = Saved(session.drawing, session.pinned, session.penalty, centers, session.effect)
    return {"file": write_saved(saved), "name": "workbench.json"}


def _share(session: Session, message: Message) -> View:
    """Return the page in one file, with recorded answers to the questions about this graph.

    It contains results and the session, but no rows.
    """
    names = session.names
    pairs = list(permutations(range(len(names)), 2)) if len(names) <= _MAX_RECORDED else []
    if not pairs and session.effect is not None:
        pairs = [(names.index(session.effect[0]), names.index(session.effect[1]))]
    shown = session.analyses.get("class", {}).get("shown", 0)
    searched = range(len(session.jobs.candidates[:_MAX_RECORDED]))
    questions: list[View] = [
        *({"do": name} for name in ("save", "code", "implications")),
        *({"do": "export", "format": format} for format in FORMATS),
        *({"do": "member", "number": k} for k in range(shown)),
        *({"do": "compare", "which": which} for which in searched),
        *({"do": "separation", "a": a, "b": b, "given": []} for a, b in pairs),
    ]
    answers: list[tuple[View, View, list[View]]]
    answers = [(question, session.answer(question), []) for question in questions]
    for of, on in pairs:
        event = session.effect_message(names[of], names[on])
        answers.append(({"do": "effect", "of": of, "on": on}, {"effect": [of, on]}, [event]))
    hello = session.answer({"do": "hello"})
    hello["hello"]["about"] += ", a recorded session"
    hello["hello"]["state"] |= {"undo": None, "redo": None}
    answers.append(({"do": "hello"}, hello, []))
    recording = {
        json.dumps(question, sort_keys=True, separators=(",", ":")): [answer, *events]
        for question, answer, events in answers
        if "error" not in answer
    }
    return {"file": front_end.recorded_page(recording), "name": "workbench.html"}


def _load(session: Session, message: Message) -> View:
    saved = read_saved(message.text("text"), session.names)
    session.penalty, session.effect = saved.penalty, saved.effect
    session.positions.set(replace(session.positions.current, centers=saved.centers, bands=()))
    session.set_pinned(saved.pinned)
    return session.edit(saved.drawing, "a session loaded", force=True)


def _read(session: Session, message: Message) -> View:
    text, format = message.text("text"), message.choice("format", FORMATS)
    what = "a graph read"
    if format == "lavaan":
        model = read_lavaan(text)
        graph = model.graph
        if model.not_written:
            what += f", with {count(len(model.not_written), 'covariance')} that sem() adds"
    else:
        graph = read(text, format=format)
    answer = session.edit(session.drawing.with_graph(graph), what)
    session.positions.set(arrange(session.drawing.graph, session.drawing.knowledge.tiers))
    return answer


def _export(session: Session, message: Message) -> View:
    format = message.choice("format", FORMATS)
    return {"file": write(session.drawing.graph, format=format), "name": f"graph-{format}.txt"}


def _code(session: Session, message: Message) -> View:
    return {"file": python_code(session), "name": "workbench.py"}


Handler = Callable[["Session", Message], View]

HANDLERS: dict[str, Handler] = {
    "hello": lambda session, _: session.hello(),
    "undo": lambda session, _: session.undo(),
    "redo": lambda session, _: session.redo(),
    "pin": lambda session, _: session.set_pinned(session.drawing.graph),
    "average": lambda session, message: session.jobs.average(_budget(session, message)),
    "report": lambda session, _: session.jobs.report(),
    "stop": lambda session, _: session.jobs.stop(),
    **{
        handler.__name__.removeprefix("_"): handler
        for handler in (
            *(_draw, _change, _penalty, _lock, _forbid, _allow, _confounded, _tier, _tiers),
            *(_position, _arrange, _effect, _separation, _implications, _data, _compare, _use),
            *(_member, _use_member),
            *(_search, _bootstrap, _report_file, _save, _share, _load, _read, _export),
            _code,
        )
    },
}
"""The functions that answer messages, by the field ``do``."""
