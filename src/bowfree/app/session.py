"""A workbench: data, the current graph with its history and analyses, and background jobs.

A :class:`Session` does not depend on browsers. :meth:`Session.answer` answers a message of a page
(:mod:`bowfree.app.messages`). Results that come later, and edits by other pages, are sent to all
listeners. The server (:mod:`bowfree.app.server`) and the widget (:mod:`bowfree.app.widget`) only
transport messages.

Every edit is fitted at once, which takes a few milliseconds. The best next changes, the equivalence
class and the bounds of the selected effect are computed in threads. Their messages have the version
of the graph; results for an outdated version are dropped.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from bowfree.app.editing import Drawing, EditError
from bowfree.app.jobs import BackgroundJobs, LatestTask, error_text, ignore_warnings
from bowfree.app.messages import Message
from bowfree.app.positions import Positions, arrange, labels
from bowfree.app.saved import Origin
from bowfree.app.views import (
    View,
    changes_view,
    class_view,
    effect_view,
    fit_view,
    graph_view,
    knowledge_view,
)
from bowfree.data.diagnostics import diagnose_if_rows
from bowfree.data.joint_moments import JointMoments
from bowfree.data.options import DataOptions
from bowfree.effects.bounds import quick_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError, DataError
from bowfree.formats.text_formats import FORMATS
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.results.serialization import to_plain
from bowfree.search.neighbors import edge_changes
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import check_penalty
from bowfree.visualization.warnings import fit_warnings, result_warnings

MAX_VARIABLES = 150
CLASS_SECONDS = 1.0  # time limit for the equivalence class of the current graph

_MAX_FITTED = 20_000  # members of a component, for bounds of effects
_MAX_UNDO = 500

_open: WeakSet[Session] = WeakSet()


@atexit.register
def _close_all() -> None:
    """End all threads before the interpreter exits."""
    for session in list(_open):
        session.close()


@dataclass
class _Version:
    """A version of the current graph, as it was fitted."""

    number: int
    drawing: Drawing
    fit: Fit | None = None  # None if it could not be fitted
    state: View = field(default_factory=dict)  # for the page
    members: EquivalenceClass | None = None  # that the knowledge permits, when they are found


class Session:
    """A graph that is edited over data; :func:`bowfree.workbench` describes the parameters."""

    def __init__(
        self,
        data: Any = None,
        options: DataOptions | None = None,
        *,
        graph: GraphLike | None = None,
        knowledge: Knowledge | None = None,
        penalty: float = 1.0,
        origin: Origin | None = None,
    ) -> None:
        self.data, self.options = data, options or DataOptions()
        self.moments = self.options.read(data)
        self.names = self.moments.names
        if len(self.names) > MAX_VARIABLES:
            raise BowfreeError(
                f"{len(self.names)} variables: the workbench shows at most {MAX_VARIABLES}; choose "
                "columns"
            )
        self.moments._require_definite("the workbench fits every graph that is drawn")
        if isinstance(self.moments, JointMoments) and self.moments.targets:
            raise DataError(
                f"conditions with interventions (on {join_names(self.moments.targets)}): the "
                "workbench needs a single covariance matrix; pass one of the conditions, or those "
                "without targets"
            )
        unchanged = not self.options.changed and data is not self.moments
        self.rows = data if unchanged else None  # None unless they are used as they are
        self.origin = origin or Origin()
        drawing = Drawing(MixedGraph(self.names), Knowledge())
        if graph is not None:
            drawing = drawing.with_graph(graph_of(graph))
        if knowledge is not None:
            drawing = drawing.with_knowledge(SearchSpace(knowledge=knowledge).knowledge)
        self.penalty = check_penalty(penalty)
        self.effect: tuple[str, str] | None = None  # the selected cause and effect
        self.pinned: MixedGraph | None = None  # kept for comparison
        self.chosen_on_data: set[MixedGraph] = set()  # found by a search, or suggested changes
        self.lock = threading.RLock()  # held during an answer, and while a result is stored
        self._listeners: list[Callable[[View], None]] = []
        arrangement = arrange(drawing.graph, drawing.knowledge.tiers)
        self.positions = Positions(self.names, arrangement, self.broadcast)
        self.jobs = BackgroundJobs(self)
        self.analyses: dict[str, View] = {}  # messages about the current version, by kind
        self._tasks = LatestTask(), LatestTask()  # for the changes, and for the others
        self._past: list[tuple[str, Drawing]] = []  # descriptions of edits, and drawings before
        self._future: list[tuple[str, Drawing]] = []
        self._version = _Version(0, drawing)
        self._show(drawing, "")
        _open.add(self)

    @property
    def drawing(self) -> Drawing:
        """The current graph and knowledge."""
        return self._version.drawing

    @property
    def fit(self) -> Fit | None:
        """The fit of the current graph; None if it could not be fitted."""
        return self._version.fit

    @property
    def state(self) -> View:
        """The current graph for the page."""
        return self._version.state

    def listen(self, listener: Callable[[View], None]) -> Callable[[], None]:
        """Call a function with every message to all pages; return a function that ends this.

        The listener is called from other threads and must return at once.
        """
        with self.lock:
            self._listeners.append(listener)

        def leave() -> None:
            with self.lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return leave

    def broadcast(self, message: View) -> None:
        """Send a message to all pages."""
        with self.lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(message)

    def answer(self, message: Any) -> View:
        """Return the answer to a message, or an object with the field ``error``."""
        reply: View = {"reply_to": message.get("id") if isinstance(message, Mapping) else None}
        try:
            if not isinstance(message, Mapping):
                raise BowfreeError(f"a message must be an object, not {short_repr(message)}")
            with self.lock:
                return reply | Message(self, message).answer()
        except EditError as error:
            index, change = self.names.index, error.alternative
            return reply | {
                "error": str(error),
                "path": [[index(a), index(b)] for a, b in error.path],
                "alternative": change and [index(change[0]), change[1], index(change[2])],
            }
        except Exception as error:
            return reply | {"error": error_text(error, "a message failed")}

    def close(self) -> None:
        """Stop all computations and end the threads."""
        for task in self._tasks:
            task.close()
        self.jobs.close()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until no computation is running; return whether that is the case."""
        return self.jobs.wait(seconds) and all(t.wait(seconds) for t in self._tasks)

    def hello(self) -> View:
        """Return everything, for a page that was just opened."""
        positions = self.positions.view()  # the curves of a state may be older
        curves = {name: positions[name] for name in ("moves", "curves")}
        return {
            "hello": {
                "names": list(self.names),
                "labels": list(labels(self.names)),
                "sizes": [list(size) for size in self.positions.current.sizes],
                "data": self.origin.name,
                "about": self.moments._headline(),
                "n": to_plain(self.moments.n),
                "formats": list(FORMATS),
                "positions": positions,
                "state": self.state | curves,
                "analyses": list(self.analyses.values()),
                "job": self.jobs.job_view(),
                "candidates": self.jobs.candidates_view(),
                "shares": self.jobs.shares,
                "pinned": None if self.pinned is None else graph_view(self.pinned),
            }
        }

    # --- edits ---

    def edit(self, drawing: Drawing, description: str, *, force: bool = False) -> View:
        """Show another drawing, which can be undone; `force` shows an equal one again."""
        if drawing == self.drawing and not force:
            return {"state": self.state}
        self._past = [*self._past, (description, self.drawing)][-_MAX_UNDO:]
        self._future = []
        return self._show(drawing, description)

    def undo(self) -> View:
        """Go back by one edit."""
        return self._move(self._past, self._future, "undo")

    def redo(self) -> View:
        """Go forward by one edit."""
        return self._move(self._future, self._past, "redo")

    def _move(
        self, source: list[tuple[str, Drawing]], target: list[tuple[str, Drawing]], what: str
    ) -> View:
        if not source:
            raise BowfreeError(f"nothing to {what}")
        description, drawing = source.pop()
        target.append((description, self.drawing))
        return self._show(drawing, f"{what}: {description}")

    def set_penalty(self, penalty: float) -> View:
        """Change the penalty of the score."""
        self.penalty = penalty
        return self._show(self.drawing, f"penalty {penalty:g}")

    def set_pinned(self, graph: MixedGraph | None) -> View:
        """Keep a graph for comparison."""
        self.pinned = graph
        pinned = None if graph is None else graph_view(graph)
        self.broadcast({"kind": "pinned", "graph": pinned})
        return {"pinned": pinned}

    def _show(self, drawing: Drawing, description: str) -> View:
        """Fit a drawing, send it to all pages, and start the analyses."""
        version, before = _Version(self._version.number + 1, drawing), self._version.fit
        numbers, edges, problem, gain = None, None, None, None
        try:
            version.fit = fit_quietly(drawing.graph, self.moments, penalty=self.penalty)
            with ignore_warnings():
                numbers, edges = fit_view(version.fit)
            gain = None if before is None else version.fit.score - before.score
        except BowfreeError as error:
            version.fit, problem = None, error_text(error)
        history = [drawing, *(earlier for _, earlier in self._past)]
        version.state = state = {
            "version": version.number,
            "graph": graph_view(drawing.graph),
            "knowledge": knowledge_view(drawing.knowledge, self.names),
            "moves": self.positions.moves,
            "curves": self.positions.draw(drawing.graph.edges, drawing.knowledge.forbidden),
            "chosen_on_data": any(old.graph in self.chosen_on_data for old in history),
            "undo": self._past[-1][0] if self._past else None,
            "redo": self._future[-1][0] if self._future else None,
            "penalty": self.penalty,
            "change": {"description": description, "score": gain},
            "fit": numbers,
            "edges": edges,
            "problem": problem,
            "effect": self._effect_indices(),
        }
        self._version = version
        self.analyses.clear()
        self.broadcast({"kind": "state", "state": state})
        self._analyze("changes")
        self._analyze("class", "warnings", "effect")
        return {"state": state}

    # --- analyses ---

    def select_effect(self, effect: tuple[str, str] | None) -> View:
        """Select the cause and effect whose bounds are shown."""
        self.effect = effect
        indices = {"effect": self._effect_indices()}
        self._version.state = self.state | indices
        self.analyses.pop("effect", None)
        found = self._version.members is not None
        self._analyze(*(["effect"] if found else ["class", "warnings", "effect"]))
        return indices

    def _effect_indices(self) -> list[int] | None:
        return None if self.effect is None else [self.names.index(name) for name in self.effect]

    def _analyze(self, *kinds: str) -> None:
        """Send the results of analyses when they are finished, unless the graph has changed."""
        version = self._version

        def task() -> None:
            for kind in kinds:
                try:
                    found = getattr(self, f"_find_{kind}")(version)
                except Exception as error:
                    found = {"problem": error_text(error, f"analysis of the {kind} failed")}
                if found is None:
                    continue
                message = {"kind": kind, "version": version.number, **found}
                with self.lock:
                    if self._version.number != version.number:
                        return
                    self.analyses[kind] = message
                self.broadcast(message)

        if version.fit is not None:
            self._tasks[kinds[0] != "changes"].submit(task)

    def _find_changes(self, version: _Version) -> View:
        graph, known = version.drawing.graph, version.drawing.knowledge
        found = edge_changes(graph, self.moments, knowledge=known, penalty=self.penalty)
        changes = changes_view(found)
        new = [(c.a, c.after, c.b) for c in found if not c.before][: len(changes)]
        edges = [(b, "->", a) if mark == "<-" else (a, mark, b) for a, mark, b in new]
        return {"changes": changes, "curves": self.positions.draw_more("changes", edges)}

    def _find_class(self, version: _Version) -> View:
        drawing = version.drawing
        members = equivalence_class(drawing.graph, time_limit=CLASS_SECONDS, rng=0)
        version.members = members.permitted_by(drawing.knowledge)
        view = class_view(members, version.members)
        # The partial ancestral graph may have pairs without an edge in the current graph.
        pairs = [(self.names[a], mark, self.names[b]) for a, mark, b in view["pag"]["edges"]]
        more = [edge for edge in pairs if edge not in drawing.graph.edges]
        view["pag"]["curves"] = self.positions.draw_more("pag", more)
        return view

    def _find_warnings(self, version: _Version) -> View:
        """Return the warnings that the report and the command line show as well."""
        fit, members = version.fit, version.members
        assert fit is not None
        with ignore_warnings():
            if members is None:
                return {"warnings": fit_warnings(fit, fit.estimates())}
            checks = diagnose_if_rows(fit.moments, self.rows)
            found = result_warnings(fit, fit.estimates(), members.summary(), checks=checks)
        return {"warnings": found}

    def _find_effect(self, version: _Version) -> View | None:
        return None if self.effect is None else self._effect_view(version, *self.effect)

    def _effect_view(self, version: _Version, of: str, on: str) -> View:
        members = _known(version)
        assert version.fit is not None
        bounds = quick_bounds(members, self.moments, _MAX_FITTED)
        pair = [self.names.index(of), self.names.index(on)]
        return {"pair": pair, **effect_view(version.fit, members, bounds, of, on)}

    def effect_message(self, of: str, on: str) -> View:
        """Return the message about an effect that is not selected."""
        version = self._version
        return {"kind": "effect", "version": version.number, **self._effect_view(version, of, on)}

    def member(self, number: int) -> MixedGraph:
        """Return one of the equivalent graphs that were found."""
        member: MixedGraph = _known(self._version)[number]
        return member


def _known(version: _Version) -> EquivalenceClass:
    if version.members is None:
        raise BowfreeError("the equivalent graphs are not known yet: wait a moment")
    return version.members
