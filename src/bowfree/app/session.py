"""One workbench: data, the drawn graph and its past, and what is known; asked and told in messages.

A :class:`Session` knows nothing of browsers. :meth:`Session.answer` takes a message of a page, a
mapping as JSON has it, and returns one; what comes later, or from another page of the same
session, goes to everyone who listens (:meth:`Session.listen`). The server
(:mod:`bowfree.app.server`) and the widget (:mod:`bowfree.app.widget`) only carry messages to and
fro.

An edit is answered with the fit, which takes a few milliseconds. The best next changes, the class
and the bounds of the chosen effect follow, each marked with the version of the drawn graph that
they are about; searches and resampling follow when they are done (:mod:`bowfree.app.work`).

==============================  ==============================================================
``hello``                       everything, for a page that has just been opened
``draw``, ``change``            an edge more; an edge turned, of another kind, or gone
``lock``, ``forbid``, ``allow``, ``tier``, ``tiers``, ``confounded``   what is known
``undo``, ``redo``              back and forth
``place``, ``arrange``          where the variables stand
``penalty``, ``effect``         the price of an edge; the cause and effect to be followed
``separation``, ``compare``, ``pin``, ``look``   questions about the drawn graph
``search``, ``bootstrap``, ``average``, ``stop``, ``take``   long work and what it found
``save``, ``load``, ``read``, ``export``, ``report``, ``written``, ``code``   to keep
==============================  ==============================================================
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from bowfree.app.board import MOST_TIERS, Board, Refusal
from bowfree.app.long_work import Answer, LongWork, brief_sentence
from bowfree.app.messages import Message
from bowfree.app.places import ARRANGEMENTS, Places, arrange, labels
from bowfree.app.reproduce import Origin, python_code
from bowfree.app.saved import Saved, checked_place, read_saved, write_saved
from bowfree.app.seen import (
    seen_changes,
    seen_class,
    seen_comparison,
    seen_edges,
    seen_effect,
    seen_fit,
    seen_graph,
    seen_knowledge,
    seen_separation,
)
from bowfree.app.work import Newest
from bowfree.display import count
from bowfree.effects.bounds import effect_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.equivalence.comparison import compare
from bowfree.errors import BowfreeError
from bowfree.formats import FORMATS, read, write
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.json_values import json_values
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.model.gate import read_moments
from bowfree.options import LARGEST_PENALTY, DataOptions, checked_penalty, split_options
from bowfree.search.edge_changes import edge_changes
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_input import shown

__all__ = ["MOST_VARIABLES", "Session"]

MOST_VARIABLES = 150
"""More boxes than this do not fit a canvas, nor does a person."""

CLASS_SECONDS = 1.0
"""As long as this the class of a drawn graph is looked for."""

_MOST_FITTED = 20_000  # members of a component that bounds of effects are taken over
_MOST_UNDONE = 500

_MARKS = ("->", "<-", "<->")

_log = logging.getLogger("bowfree.app")
# Filters of warnings belong to the whole process: one thread at a time may change them.
_filters = threading.Lock()


@dataclass(frozen=True)
class _Shown:
    """The drawn graph as it was last fitted."""

    version: int
    board: Board
    fit: Fit | None
    state: Answer


class Session:
    """A graph being drawn over data.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    graph : MixedGraph, or a result that has one, optional
        What to begin with; by default no edges. Its nodes are columns of the data.
    knowledge : Knowledge, optional
        What is known before.
    penalty : float
        Weight of ``log n`` per node and edge in the score.
    origin : Origin
        Where the data came from, for the code that reproduces the screen.
    **options
        Those of :func:`bowfree.moments` (:class:`~bowfree.options.DataOptions`).

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.app.session import Session
    >>> session = Session(bf.datasets.load_demo())
    >>> answer = session.answer({"do": "draw", "a": 0, "mark": "->", "b": 1})
    >>> answer["state"]["graph"], round(answer["state"]["change"]["score"], 3)
    ([[0, '->', 1]], 0.245)
    >>> session.answer({"do": "draw", "a": 1, "mark": "->", "b": 0})["error"]
    'leaves <- sun is there: leaves -> sun beside it would be a cycle'
    >>> session.close()
    """

    def __init__(
        self,
        data: Any = None,
        *,
        graph: GraphLike | None = None,
        knowledge: Knowledge | None = None,
        penalty: float = 1.0,
        origin: Origin | None = None,
        **options: Unpack[DataOptions],
    ) -> None:
        (self._data_options,) = split_options("workbench", options, DataOptions)
        self._data = data
        self.moments = read_moments(data, **self._data_options)
        self.names = self.moments.names
        if len(self.names) > MOST_VARIABLES:
            raise BowfreeError(
                f"{len(self.names)} variables: a workbench has room for {MOST_VARIABLES}; choose "
                "columns"
            )
        self._origin = origin or Origin()
        board = Board(MixedGraph(self.names), Knowledge())
        if graph is not None:
            board = board.with_graph(graph_of(graph))
        if knowledge is not None:
            board = board.with_knowledge(SearchSpace(knowledge=knowledge).knowledge)  # checked
        self._penalty = checked_penalty(penalty)
        self._past: list[tuple[str, Board]] = []  # what was done then, and the board before it
        self._future: list[tuple[str, Board]] = []
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Answer], None]] = []
        self._places = arrange(board.graph, board.knowledge.tiers, _usual(board))
        self._moves = 0
        self._effect: tuple[str, str] | None = None
        self._pinned: MixedGraph | None = None
        self._long = LongWork(self.moments, data, self._data_options, self._lock, self._tell)
        self._later: dict[str, Answer] = {}  # what followed from the drawn graph, by its kind
        self._next, self._class = Newest(), Newest()
        self._members: tuple[int, EquivalenceClass] | None = None
        self._shown = _Shown(0, board, None, {})
        self._fit_board(board, "")

    # --- the conversation ---

    def listen(self, listener: Callable[[Answer], None]) -> Callable[[], None]:
        """Have a function called with every message to all pages; return how to end that.

        It is called from other threads, and must come back at once.
        """
        with self._lock:
            self._listeners.append(listener)

        def leave() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return leave

    def answer(self, message: Any) -> Answer:
        """Return the answer to a message; one that makes no sense is answered with a sentence."""
        number = message.get("id") if isinstance(message, Mapping) else None
        try:
            with self._lock:
                found = self._do(message)
            return {"re": number, **found}
        except Refusal as refusal:
            place = self.names.index
            change = refusal.change
            return {
                "re": number,
                "error": str(refusal),
                "path": [[place(a), place(b)] for a, b in refusal.path],
                "instead": change and [place(change[0]), change[1], place(change[2])],
            }
        except BowfreeError as error:
            return {"re": number, "error": brief_sentence(error)}
        except Exception as error:
            # The page must not fall silent: the graph is as it was, and the log has the rest.
            _log.exception("a message could not be answered")
            return {
                "re": number,
                "error": f"something went wrong inside ({type(error).__name__}); nothing was "
                "changed",
            }

    def close(self) -> None:
        """Stop what is under way and end the threads."""
        self._next.close()
        self._class.close()
        self._long.close()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is under way; say whether that came about."""
        return self._long.wait(seconds) and self._next.wait(seconds) and self._class.wait(seconds)

    def _do(self, message: Any) -> Answer:
        if not isinstance(message, Mapping):
            raise BowfreeError(f"a message is an object, not {shown(message)}")
        word = message.get("do")
        if not isinstance(word, str) or word not in _WORDS:
            raise BowfreeError(f"do = {shown(word)}: nobody here knows how")
        return _WORDS[word](self, Message(message, self.names))

    def _tell(self, message: Answer) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(message)

    def _hello(self, message: Message) -> Answer:
        n = self.moments.n
        return {
            "hello": {
                "names": list(self.names),
                "labels": list(labels(self.names)),
                "sizes": [list(size) for size in self._places.sizes],
                "data": self._origin.name,
                "about": self.moments._brief(),
                "n": json_values(n),
                "formats": list(FORMATS),
                "places": self._seen_places(),
                "state": self._shown.state,
                "later": list(self._later.values()),
                "errand": self._long.under_way(),
                "candidates": self._long.seen_candidates(),
                "shares": self._long.shares,
                "pinned": None if self._pinned is None else seen_graph(self._pinned),
            }
        }

    # --- the drawn graph ---

    @property
    def board(self) -> Board:
        """What is drawn and known."""
        return self._shown.board

    @property
    def fit(self) -> Fit | None:
        """The fit of the drawn graph; None where it cannot be fitted."""
        return self._shown.fit

    def _step(self, board: Board, what: str) -> Answer:
        """Go to another board; undoing comes back here."""
        if board == self.board:
            return {"state": self._shown.state}
        self._past = [*self._past, (what, self.board)][-_MOST_UNDONE:]
        self._future = []
        return self._fit_board(board, what)

    def _draw(self, message: Message) -> Answer:
        a, mark, b = self._edge(message, _MARKS)
        return self._step(self.board.draw(a, mark, b), f"{a} {mark} {b} added")

    def _change(self, message: Message) -> Answer:
        a, mark, b = self._edge(message, ("", *_MARKS))
        now = self.board.mark(a, b)
        if not now and not mark:
            raise BowfreeError("there is no edge to delete")
        what = f"{a} {mark} {b} added" if not now else f"{a} {now} {b} deleted"
        if now and mark:
            what = f"{a} {now} {b} became {a} {mark} {b}"
        return self._step(self.board.change(a, mark, b), what)

    def _undo(self, message: Message) -> Answer:
        return self._go(self._past, self._future, "undo")

    def _redo(self, message: Message) -> Answer:
        return self._go(self._future, self._past, "redo")

    def _go(
        self, source: list[tuple[str, Board]], target: list[tuple[str, Board]], word: str
    ) -> Answer:
        if not source:
            raise BowfreeError(f"nothing to {word}")
        what, board = source.pop()
        target.append((what, self.board))
        return self._fit_board(board, f"{word}: {what}")

    def _edge(self, message: Message, marks: tuple[str, ...]) -> tuple[str, str, str]:
        return message.node("a"), message.one_of("mark", marks), message.node("b")

    def _fit_board(self, board: Board, what: str) -> Answer:
        """Fit a board and show it; what follows from it is worked out afterwards."""
        before, version = self._shown, self._shown.version + 1
        fit, edges, problem = None, None, None
        try:
            fit = fit_quietly(board.graph, self.moments, {"penalty": self._penalty})
            with _filters, warnings.catch_warnings():
                # Where there is no standard error the page shows none; it need not be said twice.
                warnings.simplefilter("ignore")
                seen, edges = seen_fit(fit), seen_edges(fit)
        except BowfreeError as error:
            fit, seen, problem = None, None, brief_sentence(error)
        score = None if before.fit is None or fit is None else fit.score - before.fit.score
        state = {
            "version": version,
            "graph": seen_graph(board.graph),
            "knowledge": seen_knowledge(board.knowledge, self.names),
            "text": str(board.graph),
            "undo": self._past[-1][0] if self._past else None,
            "redo": self._future[-1][0] if self._future else None,
            "penalty": self._penalty,
            "change": {"what": what, "score": score},
            "fit": seen,
            "edges": edges,
            "problem": problem,
            "effect": self._effect and [self.names.index(name) for name in self._effect],
        }
        self._shown = shown = _Shown(version, board, fit, state)
        self._later.clear()
        self._tell({"kind": "state", "state": state})
        if fit is not None:
            self._next.give(lambda: self._find_changes(shown))
            self._class.give(lambda: self._find_class(shown))
        return {"state": state}

    # --- what follows from it ---

    def _find_changes(self, shown: _Shown) -> None:
        found = self._attempt(
            lambda: {
                "changes": seen_changes(
                    edge_changes(
                        shown.board.graph,
                        self.moments,
                        knowledge=shown.board.knowledge,
                        penalty=self._penalty,
                    )
                )
            }
        )
        self._follow("changes", shown, found)

    def _find_class(self, shown: _Shown) -> None:
        board = shown.board

        def find() -> Answer:
            members = equivalence_class(board.graph, time_limit=CLASS_SECONDS, rng=0)
            known = members.permitted_by(board.knowledge)
            self._members = shown.version, known
            return seen_class(members, known)

        self._follow("class", shown, self._attempt(find))
        self._find_effect(shown)

    def _find_effect(self, shown: _Shown) -> None:
        effect, fit = self._effect, shown.fit
        if effect is None or fit is None or self._members is None:
            return
        version, members = self._members
        if version != shown.version:
            return

        def find() -> Answer:
            bounds = effect_bounds(members, self.moments, limit=_MOST_FITTED)
            return seen_effect(fit, bounds, *effect)

        of, on = (self.names.index(name) for name in effect)
        self._follow("effect", shown, {"of": of, "on": on, **self._attempt(find)})

    def _attempt(self, find: Callable[[], Answer]) -> Answer:
        """Return what was found, or a sentence on why there is nothing."""
        try:
            return find()
        except BowfreeError as error:
            return {"problem": brief_sentence(error)}
        except Exception as error:
            _log.exception("what follows from a graph could not be worked out")
            return {"problem": f"something went wrong inside ({type(error).__name__})"}

    def _follow(self, kind: str, shown: _Shown, found: Answer) -> None:
        """Send what was worked out, unless the graph is another by now."""
        message = {"kind": kind, "version": shown.version, **found}
        with self._lock:
            if self._shown.version != shown.version:
                return
            self._later[kind] = message
        self._tell(message)

    def _choose_effect(self, message: Message) -> Answer:
        if not message.has("of") and not message.has("on"):
            self._effect = None
        else:
            of, on = message.node("of"), message.node("on")
            if of == on:
                raise BowfreeError("choose two different variables")
            self._effect = of, on
        shown = self._shown
        state = shown.state | {
            "effect": self._effect and [self.names.index(name) for name in self._effect]
        }
        self._shown = replace(shown, state=state)
        self._later.pop("effect", None)
        known = self._members is not None and self._members[0] == shown.version
        follow = self._find_effect if known else self._find_class
        self._class.give(lambda: follow(self._shown))
        return {"state": state}

    def _separation(self, message: Message) -> Answer:
        a, b, given = message.node("a"), message.node("b"), message.nodes("given")
        found = seen_separation(self.board.graph, self.moments, a, b, tuple(dict.fromkeys(given)))
        return {"separation": found}

    def _set_penalty(self, message: Message) -> Answer:
        self._penalty = checked_penalty(message.real("value", 0, LARGEST_PENALTY))
        return self._fit_board(self.board, f"penalty {self._penalty:g}")

    # --- knowledge ---

    def _lock_edge(self, message: Message) -> Answer:
        a, b = message.node("a"), message.node("b")
        return self._step(self.board.lock(a, b), f"lock between {a} and {b}")

    def _forbid(self, message: Message) -> Answer:
        a, mark, b = self._edge(message, (*_MARKS, "--"))
        return self._step(self.board.forbid(a, mark, b), f"{a} {mark} {b} forbidden")

    def _allow(self, message: Message) -> Answer:
        a, b = message.node("a"), message.node("b")
        return self._step(self.board.allow(a, b), f"all allowed between {a} and {b}")

    def _confounded(self, message: Message) -> Answer:
        node, possible = message.node("node"), message.yes("possible")
        what = f"{node} {'may be' if possible else 'is not'} confounded"
        return self._step(self.board.confounded(node, possible), what)

    def _tier(self, message: Message) -> Answer:
        node = message.node("node")
        tier = message.whole("tier", 0, MOST_TIERS - 1) if message.has("tier") else None
        where = "no tier" if tier is None else f"tier {tier + 1}"
        return self._in_bands(self.board.tier(node, tier), f"{node} in {where}")

    def _tiers(self, message: Message) -> Answer:
        wanted = message.whole("count", 0, MOST_TIERS)
        return self._in_bands(self.board.tiers(wanted), count(wanted, "tier"))

    def _in_bands(self, board: Board, what: str) -> Answer:
        """Go to a board with other tiers, and show them as bands."""
        self._put(arrange(board.graph, board.knowledge.tiers, _usual(board)))
        return self._step(board, what)

    # --- places ---

    def _seen_places(self) -> Answer:
        return {
            "moves": self._moves,
            "centres": [list(centre) for centre in self._places.centres],
            "bands": [list(band) for band in self._places.bands],
        }

    def _put(self, places: Places) -> None:
        self._places, self._moves = places, self._moves + 1
        self._tell({"kind": "places", "places": self._seen_places()})

    def _place(self, message: Message) -> Answer:
        node = self.names.index(message.node("node"))
        centres = list(self._places.centres)
        centres[node] = checked_place([message.content.get("x"), message.content.get("y")])
        self._put(replace(self._places, centres=tuple(centres)))
        return {"places": self._seen_places()}

    def _arrange(self, message: Message) -> Answer:
        how = message.one_of("how", ARRANGEMENTS)
        self._put(arrange(self.board.graph, self.board.knowledge.tiers, how))
        return {"places": self._seen_places()}

    # --- other graphs ---

    def _pin(self, message: Message) -> Answer:
        self._pinned = self.board.graph
        pinned = seen_graph(self._pinned)
        self._tell({"kind": "pinned", "graph": pinned})
        return {"pinned": pinned}

    def _other(self, message: Message) -> MixedGraph:
        """Return the graph that a message means: the kept one, or one of those found."""
        if message.content.get("which") == "pinned":
            if self._pinned is None:
                raise BowfreeError("no graph was kept for comparison yet")
            return self._pinned
        found = self._long.candidates
        if not found:
            raise BowfreeError("there was no search yet, so there are no graphs to choose from")
        return found[message.whole("which", 0, len(found) - 1)][0].graph

    def _look(self, message: Message) -> Answer:
        """Return another graph, and how it compares with the drawn one."""
        other = self._other(message)
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Vuong's test needs the rows, which moments of complete rows do not show.
            rows = self._data if self._has_rows() else self.moments
            found = compare(
                {"drawn": self.board.graph, "other": other}, rows, penalty=self._penalty
            )
        return {"other": seen_graph(other), "comparison": seen_comparison(found)}

    def _has_rows(self) -> bool:
        return self._data is not None and not self._data_options and self._data is not self.moments

    def _take(self, message: Message) -> Answer:
        return self._step(self.board.with_graph(self._other(message)), "another graph taken")

    # --- long work ---

    def _search(self, message: Message) -> Answer:
        return self._long.search(self.board, self._penalty, message)

    def _bootstrap(self, message: Message) -> Answer:
        return self._long.bootstrap(self.board, self._penalty, message)

    def _average(self, message: Message) -> Answer:
        return self._long.average(self._penalty, message)

    def _report(self, message: Message) -> Answer:
        if self._shown.fit is None:
            raise BowfreeError("the drawn graph could not be fitted: there is nothing to report")
        rows = self._data if self._has_rows() else None
        return self._long.report(self._shown.fit, f"A graph for {self._origin.name}", rows)

    def _stop(self, message: Message) -> Answer:
        return self._long.stop()

    def _written(self, message: Message) -> Answer:
        if self._long.written is None:
            raise BowfreeError("no report was written yet")
        return {"file": self._long.written, "name": "report.html"}

    # --- to keep ---

    def _save(self, message: Message) -> Answer:
        saved = Saved(self.board, self._pinned, self._penalty, self._places.centres, self._effect)
        return {"file": write_saved(saved), "name": "workbench.json"}

    def _load(self, message: Message) -> Answer:
        saved = read_saved(message.text("text"), self.names)
        self._pinned, self._penalty, self._effect = saved.pinned, saved.penalty, saved.effect
        self._put(replace(self._places, centres=saved.centres, bands=()))
        pinned = None if saved.pinned is None else seen_graph(saved.pinned)
        self._tell({"kind": "pinned", "graph": pinned})
        self._past = [*self._past, ("a session loaded", self.board)][-_MOST_UNDONE:]
        self._future = []
        return self._fit_board(saved.board, "a session loaded")

    def _read(self, message: Message) -> Answer:
        graph = read(message.text("text"), format=message.one_of("format", FORMATS))
        answer = self._step(self.board.with_graph(graph), "a graph read")
        self._put(arrange(self.board.graph, self.board.knowledge.tiers, _usual(self.board)))
        return answer

    def _export(self, message: Message) -> Answer:
        format = message.one_of("format", FORMATS)
        return {"file": write(self.board.graph, format=format), "name": f"graph-{format}.txt"}

    def _code(self, message: Message) -> Answer:
        text = python_code(
            self.board,
            self._origin,
            self.moments,
            self._data_options,
            penalty=self._penalty,
            effect=self._effect,
            search=self._long.searched,
        )
        return {"file": text, "name": "workbench.py"}


_WORDS: dict[str, Callable[[Session, Message], Answer]] = {
    "hello": Session._hello,
    "draw": Session._draw,
    "change": Session._change,
    "undo": Session._undo,
    "redo": Session._redo,
    "lock": Session._lock_edge,
    "forbid": Session._forbid,
    "allow": Session._allow,
    "tier": Session._tier,
    "tiers": Session._tiers,
    "confounded": Session._confounded,
    "place": Session._place,
    "arrange": Session._arrange,
    "penalty": Session._set_penalty,
    "effect": Session._choose_effect,
    "separation": Session._separation,
    "pin": Session._pin,
    "look": Session._look,
    "take": Session._take,
    "search": Session._search,
    "bootstrap": Session._bootstrap,
    "average": Session._average,
    "stop": Session._stop,
    "save": Session._save,
    "load": Session._load,
    "read": Session._read,
    "export": Session._export,
    "report": Session._report,
    "written": Session._written,
    "code": Session._code,
}


def _usual(board: Board) -> str:
    return "bands" if board.knowledge.tiers else "rows"
