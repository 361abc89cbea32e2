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
from bowfree.app.saved import python_code, read_field, read_saved, write_saved
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
    """A message with methods that validate its fields, and a method for each kind of message."""

    session: Session
    content: Mapping[str, Any]

    def answer(self) -> View:
        """Return the answer to the message, or raise an error."""
        handler = getattr(self, f"do_{self.content.get('do')}", None)
        if handler is None:
            raise BowfreeError(f"do = {short_repr(self.content.get('do'))}: unknown message")
        answer: View = handler()
        return answer

    # --- fields ---

    def _read(self, field: str, is_valid: Callable[[Any], bool], expected: str) -> Any:
        return read_field(self.content, field, is_valid, expected)

    def _integer(self, field: str, low: int, high: int) -> int:
        expected = f"an integer from {low} to {high}"
        return int(self._read(field, lambda x: type(x) is int and low <= x <= high, expected))

    def _number(self, field: str, low: float, high: float) -> float:
        expected = f"a number from {low:g} to {high:g}"
        return float(
            self._read(field, lambda x: is_number(x) and low <= as_float(x) <= high, expected)
        )

    def _choice(self, field: str, choices: Sequence[str]) -> str:
        expected = f"one of {', '.join(map(repr, choices))}"
        return str(self._read(field, lambda x: isinstance(x, str) and x in choices, expected))

    def _boolean(self, field: str) -> bool:
        return bool(self._read(field, lambda x: isinstance(x, bool), "true or false"))

    def text(self, field: str) -> str:
        """Return a string of at most `MAX_TEXT` characters."""
        expected = f"a string of at most {MAX_TEXT:,} characters"
        return str(self._read(field, lambda x: isinstance(x, str) and len(x) <= MAX_TEXT, expected))

    def _has(self, field: str) -> bool:
        return self.content.get(field) is not None

    def _node(self, field: str) -> str:
        return self.session.names[self._integer(field, 0, len(self.session.names) - 1)]

    def _nodes(self, *fields: str) -> tuple[str, ...]:
        return tuple(map(self._node, fields))

    def _edge(self, marks: tuple[str, ...]) -> tuple[str, str, str]:
        return self._node("a"), self._choice("mark", marks), self._node("b")

    # --- edits ---

    @property
    def drawing(self) -> Drawing:
        """The current graph and knowledge."""
        return self.session.drawing

    def _edit(self, drawing: Drawing, what: str) -> View:
        return self.session.edit(drawing, what)

    def do_hello(self) -> View:
        return self.session.hello()

    def do_undo(self) -> View:
        return self.session.undo()

    def do_redo(self) -> View:
        return self.session.redo()

    def do_draw(self) -> View:
        a, mark, b = self._edge(_MARKS)
        return self._edit(self.drawing.add_edge(a, mark, b), f"{a} {mark} {b} added")

    def do_change(self) -> View:
        a, mark, b = self._edge(("", *_MARKS))
        old = self.drawing.mark(a, b)
        if not old and not mark:
            raise BowfreeError("there is no edge to delete")
        what = f"{a} {mark} {b} added" if not old else f"{a} {old} {b} deleted"
        if old and mark:
            what = f"{a} {old} {b} changed to {a} {mark} {b}"
        drawing = self.drawing.change_edge(a, mark, b)
        if self._has("suggested"):
            self.session.chosen_on_data.add(drawing.graph)
        return self._edit(drawing, what)

    def do_penalty(self) -> View:
        return self.session.set_penalty(check_penalty(self._number("value", 0, LARGEST_PENALTY)))

    # --- knowledge ---

    def do_lock(self) -> View:
        a, b = self._nodes("a", "b")
        return self._edit(self.drawing.toggle_lock(a, b), f"lock of {a} and {b}")

    def do_forbid(self) -> View:
        a, mark, b = self._edge((*_MARKS, "--"))
        return self._edit(self.drawing.forbid(a, mark, b), f"{a} {mark} {b} forbidden")

    def do_allow(self) -> View:
        a, b = self._nodes("a", "b")
        return self._edit(self.drawing.allow(a, b), f"all edges of {a} and {b} allowed")

    def do_confounded(self) -> View:
        node, possible = self._node("node"), self._boolean("possible")
        what = f"{node} {'may be' if possible else 'is not'} confounded"
        return self._edit(self.drawing.set_confounded(node, possible), what)

    def do_tier(self) -> View:
        node = self._node("node")
        tier = self._integer("tier", 0, MAX_TIERS - 1) if self._has("tier") else None
        where = "no tier" if tier is None else f"tier {tier + 1}"
        return self._show_bands(self.drawing.set_tier(node, tier), f"{node} in {where}")

    def do_tiers(self) -> View:
        n = self._integer("count", 0, MAX_TIERS)
        return self._show_bands(self.drawing.set_tier_count(n), count(n, "tier"))

    def _show_bands(self, drawing: Drawing, what: str) -> View:
        self._arrange(drawing)
        return self._edit(drawing, what)

    def _arrange(self, drawing: Drawing, how: str | None = None) -> None:
        self.session.positions.set(arrange(drawing.graph, drawing.knowledge.tiers, how))

    # --- positions ---

    def do_position(self) -> View:
        x, y = (self._number(field, -MAX_COORDINATE, MAX_COORDINATE) for field in ("x", "y"))
        self.session.positions.move(self.session.names.index(self._node("node")), (x, y))
        return {"positions": self.session.positions.view()}

    def do_arrange(self) -> View:
        self._arrange(self.drawing, self._choice("how", ARRANGEMENTS))
        return {"positions": self.session.positions.view()}

    # --- analyses ---

    def do_effect(self) -> View:
        if not self._has("of") and not self._has("on"):
            return self.session.select_effect(None)
        of, on = self._nodes("of", "on")
        if of == on:
            raise BowfreeError("choose two different variables")
        return self.session.select_effect((of, on))

    def do_separation(self) -> View:
        a, b = self._nodes("a", "b")
        given = self._read("given", lambda x: isinstance(x, list), "a list of variables")
        messages = (replace(self, content={"given": index}) for index in given)
        names = tuple(dict.fromkeys(message._node("given") for message in messages))
        found = separation_view(self.drawing.graph, self.session.moments, a, b, names)
        return {"separation": found}

    def do_data(self) -> View:
        fit, rows = self.session.fit, self.session.rows
        if rows is None or fit is None or not has_rows(self.session.moments):
            raise BowfreeError("there are no rows to show: open a table of numbers without options")
        b = self._node("b") if self._has("b") else None
        return {"data": data_view(fit, rows, self._node("a"), b)}

    # --- other graphs ---

    def do_pin(self) -> View:
        return self.session.set_pinned(self.drawing.graph)

    def do_compare(self) -> View:
        other = self._other_graph()
        # Vuong's test needs the rows, which moments of complete rows do not contain.
        rows = self.session.moments if self.session.rows is None else self.session.rows
        with ignore_warnings():
            graphs = {"current": self.drawing.graph, "other": other}
            found = compare(graphs, rows, penalty=self.session.penalty)
        curves = self.session.positions.draw_others(other.edges)
        return {"other": graph_view(other), "curves": curves, "comparison": comparison_view(found)}

    def do_use(self) -> View:
        drawing = self.drawing.with_graph(self._other_graph())
        if self.content.get("which") != "pinned":
            self.session.chosen_on_data.add(drawing.graph)
        return self._edit(drawing, "another graph chosen")

    def _other_graph(self) -> MixedGraph:
        """Return the pinned graph, or one of those found by a search."""
        if self.content.get("which") == "pinned":
            if self.session.pinned is None:
                raise BowfreeError("no graph was kept for comparison")
            return self.session.pinned
        found = self.session.jobs.candidates
        if not found:
            raise BowfreeError("there are no graphs to choose from: search first")
        return found[self._integer("which", 0, len(found) - 1)][0].graph

    # --- long computations ---

    def _budget(self) -> dict[str, Any]:
        """Return seed, penalty and time limit, where they are not the default."""
        options: dict[str, Any] = {"rng": self._integer("seed", 0, _MAX_SEED)}
        if self.session.penalty != 1.0:
            options["penalty"] = self.session.penalty
        if self._has("seconds"):
            options["time_limit"] = self._number("seconds", 0.1, _MAX_SECONDS)
        return options

    def do_implications(self) -> View:
        tests = constraint_tests(self.drawing.graph, self.session.moments)
        rows = sorted(tests.rows, key=lambda row: row.p_value)
        names = ("equation", "value", "p_value")
        return {
            "implications": to_plain([{name: getattr(row, name) for name in names} for row in rows])
        }

    def do_member(self) -> View:
        number = self._integer("number", 0, MAX_MEMBERS - 1)
        return {"member": {"graph": graph_view(self.session.member(number))}}

    def do_use_member(self) -> View:
        member = self.session.member(self._integer("number", 0, MAX_MEMBERS - 1))
        return self._edit(self.drawing.with_graph(member), "an equivalent graph chosen")

    def do_search(self) -> View:
        options = self._budget()
        if self._has("restarts"):
            options["restarts"] = self._integer("restarts", 1, 10_000)
        from_current = self._boolean("from_current")
        average = self._has("average") and self._boolean("average")
        return self.session.jobs.search(options, from_current=from_current, average=average)

    def do_bootstrap(self) -> View:
        n_resamples = self._integer("resamples", 40, 10_000)
        return self.session.jobs.bootstrap(n_resamples, self._integer("seed", 0, _MAX_SEED))

    def do_average(self) -> View:
        return self.session.jobs.average(self._budget())

    def do_report(self) -> View:
        return self.session.jobs.report()

    def do_stop(self) -> View:
        return self.session.jobs.stop()

    def do_report_file(self) -> View:
        if self.session.jobs.report_file is None:
            raise BowfreeError("no report was written")
        return {"file": self.session.jobs.report_file, "name": "report.html"}

    # --- files ---

    def do_save(self) -> View:
        return {"file": write_saved(self.session), "name": "workbench.json"}

    def do_share(self) -> View:
        """Return the page in one file, with recorded answers to the questions about this graph.

        It contains results and the session, but no rows.
        """
        names = self.session.names
        pairs = list(permutations(range(len(names)), 2)) if len(names) <= _MAX_RECORDED else []
        if not pairs and self.session.effect is not None:
            pairs = [(names.index(self.session.effect[0]), names.index(self.session.effect[1]))]
        shown = self.session.analyses.get("class", {}).get("shown", 0)
        searched = range(len(self.session.jobs.candidates[:_MAX_RECORDED]))
        questions: list[View] = [
            *({"do": name} for name in ("save", "code", "implications")),
            *({"do": "export", "format": format} for format in FORMATS),
            *({"do": "member", "number": k} for k in range(shown)),
            *({"do": "compare", "which": which} for which in searched),
            *({"do": "separation", "a": a, "b": b, "given": []} for a, b in pairs),
        ]
        answers: list[tuple[View, View, list[View]]]
        answers = [(question, self.session.answer(question), []) for question in questions]
        for of, on in pairs:
            event = self.session.effect_message(names[of], names[on])
            answers.append(({"do": "effect", "of": of, "on": on}, {"effect": [of, on]}, [event]))
        hello = self.session.answer({"do": "hello"})
        hello["hello"]["about"] += ", a recorded session"
        hello["hello"]["state"] |= {"undo": None, "redo": None}
        answers.append(({"do": "hello"}, hello, []))
        recording = {
            json.dumps(question, sort_keys=True, separators=(",", ":")): [answer, *events]
            for question, answer, events in answers
            if "error" not in answer
        }
        return {"file": front_end.recorded_page(recording), "name": "workbench.html"}

    def do_load(self) -> View:
        saved = read_saved(self.text("text"), self.session.names)
        self.session.penalty, self.session.effect = saved.penalty, saved.effect
        positions = self.session.positions
        positions.set(replace(positions.current, centers=saved.centers, bands=()))
        self.session.set_pinned(saved.pinned)
        return self.session.edit(saved.drawing, "a session loaded", force=True)

    def do_read(self) -> View:
        text, format = self.text("text"), self._choice("format", FORMATS)
        what = "a graph read"
        if format == "lavaan":
            model = read_lavaan(text)
            graph = model.graph
            if model.not_written:
                what += f", with {count(len(model.not_written), 'covariance')} that sem() adds"
        else:
            graph = read(text, format=format)
        answer = self.session.edit(self.drawing.with_graph(graph), what)
        self.session.positions.set(arrange(self.drawing.graph, self.drawing.knowledge.tiers))
        return answer

    def do_export(self) -> View:
        format = self._choice("format", FORMATS)
        return {"file": write(self.drawing.graph, format=format), "name": f"graph-{format}.txt"}

    def do_code(self) -> View:
        return {"file": python_code(self.session), "name": "workbench.py"}
