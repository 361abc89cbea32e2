"""The current graph: its fit, its history, and analyses of it.

Every edit is fitted at once, which takes a few milliseconds. The best next changes, the equivalence
class and the bounds of the selected effect are computed in threads. Their messages have the version
of the graph; results for an outdated version are dropped.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bowfree.app.background_jobs import Broadcast, LatestTask, error_text, internal_error
from bowfree.app.editing import Drawing
from bowfree.app.positions import Positions
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
from bowfree.data.moments import Moments
from bowfree.effects.bounds import quick_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.search.neighbors import edge_changes
from bowfree.visualization.warnings import result_warnings

CLASS_SECONDS = 1.0  # time limit for the equivalence class of the current graph

_MAX_FITTED = 20_000  # members of a component, for bounds of effects
_MAX_UNDO = 500

# Warning filters belong to the process: one thread at a time may change them.
_filter_lock = threading.Lock()


@contextlib.contextmanager
def ignore_warnings() -> Iterator[None]:
    """Suppress Python warnings: the page shows its own."""
    with _filter_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class _Version:
    """A version of the current graph, as it was fitted."""

    number: int
    drawing: Drawing
    fit: Fit | None
    state: View


class CurrentGraph:
    """The current graph and its history.

    `lock` is held by callers, and while the result of an analysis is stored; `broadcast` sends a
    message to all pages.
    """

    def __init__(
        self,
        moments: Moments,
        rows: Any,
        drawing: Drawing,
        penalty: float,
        positions: Positions,
        lock: threading.RLock,
        broadcast: Broadcast,
    ) -> None:
        self._moments, self._names, self._positions = moments, moments.names, positions
        self._rows = rows  # for checks of normality and outliers; None if there are none
        self._lock, self._broadcast = lock, broadcast
        self._past: list[tuple[str, Drawing]] = []  # descriptions of edits, and drawings before
        self._future: list[tuple[str, Drawing]] = []
        self.chosen_on_data: set[MixedGraph] = set()  # found by a search, or suggested changes
        self.penalty = penalty
        self.effect: tuple[str, str] | None = None  # the selected cause and effect
        self.analyses: dict[str, View] = {}  # messages about the current version, by kind
        self._changes_task, self._class_task = LatestTask(), LatestTask()
        self._members: tuple[int, EquivalenceClass] | None = None
        self._version = _Version(0, drawing, None, {})
        self._show(drawing, "")

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

    def close(self) -> None:
        """End the threads."""
        self._changes_task.close()
        self._class_task.close()

    def wait(self, seconds: float) -> bool:
        """Wait until all analyses are finished; return whether they are."""
        return self._changes_task.wait(seconds) and self._class_task.wait(seconds)

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

    def set_penalty(self, penalty: float) -> View:
        """Change the penalty of the score."""
        self.penalty = penalty
        return self._show(self.drawing, f"penalty {penalty:g}")

    def _move(
        self, source: list[tuple[str, Drawing]], target: list[tuple[str, Drawing]], what: str
    ) -> View:
        if not source:
            raise BowfreeError(f"nothing to {what}")
        description, drawing = source.pop()
        target.append((description, self.drawing))
        return self._show(drawing, f"{what}: {description}")

    def _show(self, drawing: Drawing, description: str) -> View:
        """Fit a drawing, send it to all pages, and start the analyses."""
        before, number = self._version, self._version.number + 1
        fit, numbers, edges, problem = None, None, None, None
        try:
            fit = fit_quietly(drawing.graph, self._moments, penalty=self.penalty)
            with ignore_warnings():
                numbers, edges = fit_view(fit)
        except BowfreeError as error:
            fit, problem = None, error_text(error)
        gain = None if before.fit is None or fit is None else fit.score - before.fit.score
        state = {
            "version": number,
            "graph": graph_view(drawing.graph),
            "knowledge": knowledge_view(drawing.knowledge, self._names),
            "moves": self._positions.moves,
            "curves": self._positions.draw(drawing.graph.edges, drawing.knowledge.forbidden),
            "chosen_on_data": any(
                old.graph in self.chosen_on_data for old in (drawing, *(d for _, d in self._past))
            ),
            "undo": self._past[-1][0] if self._past else None,
            "redo": self._future[-1][0] if self._future else None,
            "penalty": self.penalty,
            "change": {"description": description, "score": gain},
            "fit": numbers,
            "edges": edges,
            "problem": problem,
            "effect": self._effect_indices(),
        }
        self._version = version = _Version(number, drawing, fit, state)
        self.analyses.clear()
        self._broadcast({"kind": "state", "state": state})
        if fit is not None:
            self._changes_task.submit(lambda: self._find_changes(version))
            self._class_task.submit(lambda: self._find_class(version))
        return {"state": state}

    # --- analyses ---

    def select_effect(self, effect: tuple[str, str] | None) -> View:
        """Select the cause and effect whose bounds are shown."""
        self.effect = effect
        version, indices = self._version, self._effect_indices()
        self._version = replace(version, state=version.state | {"effect": indices})
        self.analyses.pop("effect", None)
        known = self._members is not None and self._members[0] == version.number
        find = self._find_effect if known else self._find_class
        self._class_task.submit(lambda: find(self._version))
        return {"effect": indices}

    def _effect_indices(self) -> list[int] | None:
        return None if self.effect is None else [self._names.index(name) for name in self.effect]

    def _find_changes(self, version: _Version) -> None:
        def find() -> View:
            drawing, penalty = version.drawing, self.penalty
            found = edge_changes(
                drawing.graph, self._moments, knowledge=drawing.knowledge, penalty=penalty
            )
            changes = changes_view(found)
            new = [(c.a, c.after, c.b) for c in found if not c.before][: len(changes)]
            edges = [(b, "->", a) if mark == "<-" else (a, mark, b) for a, mark, b in new]
            return {"changes": changes, "curves": self._positions.draw_more("changes", edges)}

        self._send("changes", version, find)

    def _find_class(self, version: _Version) -> None:
        def find() -> View:
            drawing = version.drawing
            members = equivalence_class(drawing.graph, time_limit=CLASS_SECONDS, rng=0)
            permitted = members.permitted_by(drawing.knowledge)
            self._members = version.number, permitted
            view = class_view(members, permitted)
            # The partial ancestral graph may have pairs without an edge in the current graph.
            pairs = [(self._names[a], mark, self._names[b]) for a, mark, b in view["pag"]["edges"]]
            more = [edge for edge in pairs if edge not in drawing.graph.edges]
            view["pag"]["curves"] = self._positions.draw_more("pag", more)
            return view

        self._send("class", version, find)
        self._send("warnings", version, lambda: {"warnings": self._find_warnings(version)})
        self._find_effect(version)

    def _find_warnings(self, version: _Version) -> list[str]:
        """Return the warnings that the report and the command line show as well."""
        fit, found = version.fit, self._members
        assert fit is not None
        if found is None or found[0] != version.number:
            return list(version.state["fit"]["warnings"])
        with ignore_warnings():
            checks = diagnose_if_rows(fit.moments, self._rows)
            return result_warnings(fit, fit.estimates(), found[1].summary(), checks=checks)

    def _known_members(self, version: _Version) -> EquivalenceClass:
        if self._members is None or self._members[0] != version.number:
            raise BowfreeError("the equivalent graphs are not known yet: wait a moment")
        return self._members[1]

    def member(self, number: int) -> View:
        """Return one of the equivalent graphs that were found."""
        return {"graph": graph_view(self._known_members(self._version)[number])}

    def use_member(self, number: int) -> View:
        """Show one of the equivalent graphs."""
        member = self._known_members(self._version)[number]
        return self.edit(self.drawing.with_graph(member), "an equivalent graph chosen")

    def _find_effect(self, version: _Version) -> None:
        effect = self.effect
        if effect is not None and version.fit is not None:
            self._send("effect", version, lambda: self._effect_view(version, *effect))

    def _effect_view(self, version: _Version, of: str, on: str) -> View:
        members = self._known_members(version)
        assert version.fit is not None
        bounds = quick_bounds(members, self._moments, _MAX_FITTED)
        pair = [self._names.index(of), self._names.index(on)]
        return {"pair": pair, **effect_view(version.fit, members, bounds, of, on)}

    def effect_message(self, of: str, on: str) -> View:
        """Return the message about an effect that is not selected."""
        version = self._version
        head = {"kind": "effect", "version": version.number}
        return head | self._effect_view(version, of, on)

    def _send(self, kind: str, version: _Version, find: Callable[[], View]) -> None:
        """Send the result of an analysis, unless the graph has changed."""
        try:
            found = find()
        except BowfreeError as error:
            found = {"problem": error_text(error)}
        except Exception as error:
            found = {"problem": internal_error(error, f"analysis of the {kind} failed")}
        message = {"kind": kind, "version": version.number, **found}
        with self._lock:
            if self._version.number != version.number:
                return
            self.analyses[kind] = message
        self._broadcast(message)
