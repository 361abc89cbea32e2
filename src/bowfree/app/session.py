"""One workbench: data, the drawn graph and its past, and what is known; asked and told in messages.

A :class:`Session` knows nothing of browsers. :meth:`Session.answer` takes a message of a page, a
mapping as JSON has it, and returns one; what comes later, or from another page of the same
session, goes to everyone who listens (:meth:`Session.listen`). The server
(:mod:`bowfree.app.server`) and the widget (:mod:`bowfree.app.widget`) only carry messages to and
fro.

An edit is answered with the fit, which takes a few milliseconds. What follows from the drawn graph
comes later (:mod:`bowfree.app.current_graph`), as does what searches and resampling find
(:mod:`bowfree.app.background_jobs`). The first field of a message is its word. ``hello`` is answered here
with everything, for a page that has just been opened; the other words are in
:mod:`bowfree.app.commands` (draw, undo, what is known, places) and :mod:`bowfree.app.requests`
(effects, other graphs, long work, what is kept).
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Unpack
from weakref import WeakSet

from bowfree.app import commands as edits
from bowfree.app import requests as questions
from bowfree.app.background_jobs import Answer, LongWork, brief_sentence
from bowfree.app.current_graph import Drawn
from bowfree.app.editing import Board, Refusal
from bowfree.app.messages import Message
from bowfree.app.positions import Floor, arrange, labels
from bowfree.app.reproduce import Origin
from bowfree.app.views import seen_graph
from bowfree.data.joint_moments import JointMoments
from bowfree.data.loader import read_moments
from bowfree.errors import BowfreeError, DataError
from bowfree.formats.text_formats import FORMATS
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.results.serialization import to_plain
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import DataOptions, check_penalty, split_options

MOST_VARIABLES = 150
"""More boxes than this do not fit a canvas, nor does a person."""

_log = logging.getLogger("bowfree.app")
_open: WeakSet[Session] = WeakSet()


@atexit.register
def _close_all() -> None:
    """Let no thread of a session outlive the process."""
    for session in list(_open):
        session.close()


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
        Those of :func:`bowfree.moments` (:class:`~bowfree.validation.DataOptions`).

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
        (self.data_options,) = split_options("workbench", options, DataOptions)
        self.data = data
        self.moments = read_moments(data, **self.data_options)
        self.names = self.moments.names
        if len(self.names) > MOST_VARIABLES:
            raise BowfreeError(
                f"{len(self.names)} variables: a workbench has room for {MOST_VARIABLES}; choose "
                "columns"
            )
        self.moments._require_definite("a workbench fits any graph that is drawn")
        if isinstance(self.moments, JointMoments) and self.moments.targets:
            raise DataError(
                f"several conditions with interventions (on {join_names(self.moments.targets)}): a "
                "workbench shows how a graph fits one covariance matrix; give one of the "
                "conditions, or those without targets"
            )
        self.origin = origin or Origin()
        board = Board(MixedGraph(self.names), Knowledge())
        if graph is not None:
            board = board.with_graph(graph_of(graph))
        if knowledge is not None:
            board = board.with_knowledge(SearchSpace(knowledge=knowledge).knowledge)  # checked
        penalty = check_penalty(penalty)
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Answer], None]] = []
        self.floor = Floor(arrange(board.graph, board.knowledge.tiers), self.tell)
        self.pinned: MixedGraph | None = None  # kept for comparison
        self.long = LongWork(self.moments, data, self.data_options, self._lock, self.tell)
        self.drawn = Drawn(self.moments, board, penalty, self._lock, self.tell)
        _open.add(self)

    @property
    def board(self) -> Board:
        """What is drawn and known."""
        return self.drawn.board

    @property
    def fit(self) -> Fit | None:
        """The fit of the drawn graph; None where it cannot be fitted."""
        return self.drawn.fit

    @property
    def rows(self) -> Any:
        """The rows of the data, where they are used as they are; None otherwise."""
        plain = not self.data_options and self.data is not self.moments
        return self.data if plain else None

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
        self.drawn.close()
        self.long.close()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is under way; say whether that came about."""
        return self.long.wait(seconds) and self.drawn.wait(seconds)

    def _do(self, message: Any) -> Answer:
        if not isinstance(message, Mapping):
            raise BowfreeError(f"a message is an object, not {short_repr(message)}")
        word = message.get("do")
        if not isinstance(word, str) or word not in _WORDS:
            raise BowfreeError(f"do = {short_repr(word)}: nobody here knows how")
        return _WORDS[word](self, Message(message, self.names))

    def tell(self, message: Answer) -> None:
        """Send a message to all pages."""
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
                "sizes": [list(size) for size in self.floor.places.sizes],
                "data": self.origin.name,
                "about": self.moments._headline(),
                "n": to_plain(n),
                "formats": list(FORMATS),
                "places": self.floor.seen(),
                "state": self.drawn.state,
                "later": list(self.drawn.later.values()),
                "errand": self.long.under_way(),
                "candidates": self.long.seen_candidates(),
                "shares": self.long.shares,
                "pinned": None if self.pinned is None else seen_graph(self.pinned),
            }
        }


_WORDS: dict[str, Callable[[Session, Message], Answer]] = {
    "hello": Session._hello,
    **edits.WORDS,
    **questions.WORDS,
}
