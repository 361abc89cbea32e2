"""The drawn graph: its fit, its past and future, and what follows from it.

:class:`Drawn` goes from one :class:`~bowfree.app.editing.Board` to the next. Each is fitted at once,
which takes a few milliseconds; the best next changes, the class and the bounds of the chosen effect
are worked out beside the conversation and told when they are known, each marked with the version of
the drawn graph that it is about. What was overtaken by another edit is not told at all.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bowfree.app.background_jobs import Answer, Tell, brief_sentence
from bowfree.app.editing import Board
from bowfree.app.views import (
    seen_changes,
    seen_class,
    seen_edges,
    seen_effect,
    seen_fit,
    seen_graph,
    seen_knowledge,
)
from bowfree.app.workers import Newest
from bowfree.data.moments import Moments
from bowfree.effects.bounds import quick_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.search.neighbors import edge_changes

CLASS_SECONDS = 1.0
"""As long as this the class of a drawn graph is looked for."""

_MOST_FITTED = 20_000  # members of a component that bounds of effects are taken over
_MOST_UNDONE = 500

_log = logging.getLogger("bowfree.app")
# Filters of warnings belong to the whole process: one thread at a time may change them.
_filters = threading.Lock()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Let warnings pass unsaid: the page shows what they are about."""
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class _Shown:
    """The drawn graph as it was last fitted."""

    version: int
    board: Board
    fit: Fit | None
    state: Answer


class Drawn:
    """What is drawn now, and how to go on from there, or back.

    Parameters
    ----------
    moments : Moments
        What graphs are fitted to.
    board : Board
        What to begin with.
    penalty : float
        Weight of ``log n`` per node and edge in the score.
    lock : lock
        Held by whoever calls; taken when what was worked out meanwhile is put in its place.
    tell : callable
        Called with what all pages should know.
    """

    def __init__(
        self, moments: Moments, board: Board, penalty: float, lock: threading.RLock, tell: Tell
    ) -> None:
        self._moments, self._names = moments, moments.names
        self._lock, self._tell = lock, tell
        self._past: list[tuple[str, Board]] = []  # what was done then, and the board before it
        self._future: list[tuple[str, Board]] = []
        self.penalty = penalty
        self.effect: tuple[str, str] | None = None  # the cause and effect to be followed
        self.later: dict[str, Answer] = {}  # what followed from the drawn graph, by its kind
        self._next, self._class = Newest(), Newest()
        self._members: tuple[int, EquivalenceClass] | None = None
        self._shown = _Shown(0, board, None, {})
        self._show(board, "")

    @property
    def board(self) -> Board:
        """What is drawn and known."""
        return self._shown.board

    @property
    def fit(self) -> Fit | None:
        """The fit of the drawn graph; None where it cannot be fitted."""
        return self._shown.fit

    @property
    def state(self) -> Answer:
        """What pages see of it."""
        return self._shown.state

    def close(self) -> None:
        """End the threads."""
        self._next.close()
        self._class.close()

    def wait(self, seconds: float) -> bool:
        """Wait until all is known that follows; say whether that came about."""
        return self._next.wait(seconds) and self._class.wait(seconds)

    # --- from one board to the next ---

    def step(self, board: Board, what: str) -> Answer:
        """Go to another board, if it is another; undoing comes back here."""
        if board == self.board:
            return {"state": self.state}
        return self.begin_anew(board, what)

    def begin_anew(self, board: Board, what: str) -> Answer:
        """Go to a board, even if only what is beside it has changed."""
        self._past = [*self._past, (what, self.board)][-_MOST_UNDONE:]
        self._future = []
        return self._show(board, what)

    def undo(self) -> Answer:
        """Go back."""
        return self._go(self._past, self._future, "undo")

    def redo(self) -> Answer:
        """Go forward again."""
        return self._go(self._future, self._past, "redo")

    def set_penalty(self, penalty: float) -> Answer:
        """Give edges another price."""
        self.penalty = penalty
        return self._show(self.board, f"penalty {penalty:g}")

    def _go(
        self, source: list[tuple[str, Board]], target: list[tuple[str, Board]], word: str
    ) -> Answer:
        if not source:
            raise BowfreeError(f"nothing to {word}")
        what, board = source.pop()
        target.append((what, self.board))
        return self._show(board, f"{word}: {what}")

    def _show(self, board: Board, what: str) -> Answer:
        """Fit a board and show it; what follows from it is worked out afterwards."""
        before, version = self._shown, self._shown.version + 1
        fit, edges, problem = None, None, None
        try:
            fit = fit_quietly(board.graph, self._moments, penalty=self.penalty)
            with quietly():  # where there is no standard error the page shows none
                seen, edges = seen_fit(fit), seen_edges(fit)
        except BowfreeError as error:
            fit, seen, problem = None, None, brief_sentence(error)
        score = None if before.fit is None or fit is None else fit.score - before.fit.score
        state = {
            "version": version,
            "graph": seen_graph(board.graph),
            "knowledge": seen_knowledge(board.knowledge, self._names),
            "text": str(board.graph),
            "undo": self._past[-1][0] if self._past else None,
            "redo": self._future[-1][0] if self._future else None,
            "penalty": self.penalty,
            "change": {"what": what, "score": score},
            "fit": seen,
            "edges": edges,
            "problem": problem,
            "effect": self._seen_effect(),
        }
        self._shown = shown = _Shown(version, board, fit, state)
        self.later.clear()
        self._tell({"kind": "state", "state": state})
        if fit is not None:
            self._next.give(lambda: self._find_changes(shown))
            self._class.give(lambda: self._find_class(shown))
        return {"state": state}

    # --- what follows from it ---

    def follow_effect(self, effect: tuple[str, str] | None) -> Answer:
        """Choose the cause and effect whose bounds are shown."""
        self.effect = effect
        shown = self._shown
        self._shown = replace(shown, state=shown.state | {"effect": self._seen_effect()})
        self.later.pop("effect", None)
        known = self._members is not None and self._members[0] == shown.version
        find = self._find_effect if known else self._find_class
        self._class.give(lambda: find(self._shown))
        return {"state": self.state}

    def _seen_effect(self) -> list[int] | None:
        return None if self.effect is None else [self._names.index(name) for name in self.effect]

    def _find_changes(self, shown: _Shown) -> None:
        def find() -> Answer:
            found = edge_changes(
                shown.board.graph,
                self._moments,
                knowledge=shown.board.knowledge,
                penalty=self.penalty,
            )
            return {"changes": seen_changes(found)}

        self._follow("changes", shown, _attempt(find))

    def _find_class(self, shown: _Shown) -> None:
        board = shown.board

        def find() -> Answer:
            members = equivalence_class(board.graph, time_limit=CLASS_SECONDS, rng=0)
            known = members.permitted_by(board.knowledge)
            self._members = shown.version, known
            return seen_class(members, known)

        self._follow("class", shown, _attempt(find))
        self._find_effect(shown)

    def _find_effect(self, shown: _Shown) -> None:
        effect, fit = self.effect, shown.fit
        if effect is None or fit is None or self._members is None:
            return
        version, members = self._members
        if version != shown.version:
            return

        def find() -> Answer:
            bounds = quick_bounds(members, self._moments, _MOST_FITTED)
            return seen_effect(fit, bounds, *effect)

        of, on = (self._names.index(name) for name in effect)
        self._follow("effect", shown, {"of": of, "on": on, **_attempt(find)})

    def _follow(self, kind: str, shown: _Shown, found: Answer) -> None:
        """Send what was worked out, unless the graph is another by now."""
        message = {"kind": kind, "version": shown.version, **found}
        with self._lock:
            if self._shown.version != shown.version:
                return
            self.later[kind] = message
        self._tell(message)


def _attempt(find: Callable[[], Answer]) -> Answer:
    """Return what was found, or a sentence on why there is nothing."""
    try:
        return find()
    except BowfreeError as error:
        return {"problem": brief_sentence(error)}
    except Exception as error:
        _log.exception("what follows from a graph could not be worked out")
        return {"problem": f"something went wrong inside ({type(error).__name__})"}
