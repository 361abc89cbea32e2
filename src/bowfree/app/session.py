"""A workbench: data, the current graph with its history, and background jobs.

A :class:`Session` does not depend on browsers. :meth:`Session.answer` answers a message of a page
(:mod:`bowfree.app.messages`). Results that come later, and edits by other pages, are sent to all
listeners. The server (:mod:`bowfree.app.server`) and the widget (:mod:`bowfree.app.widget`) only
transport messages.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

from bowfree.app.background_jobs import BackgroundJobs, error_text, internal_error
from bowfree.app.current_graph import CurrentGraph
from bowfree.app.editing import Drawing, EditError
from bowfree.app.messages import HANDLERS, Message
from bowfree.app.positions import Positions, arrange, labels
from bowfree.app.saved import Origin
from bowfree.app.views import View, graph_view
from bowfree.data.joint_moments import JointMoments
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError, DataError
from bowfree.formats.text_formats import FORMATS
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.model.fit_result import Fit
from bowfree.results.serialization import to_plain
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import check_penalty

MAX_VARIABLES = 150

_open: WeakSet[Session] = WeakSet()


@atexit.register
def _close_all() -> None:
    """End all threads before the interpreter exits."""
    for session in list(_open):
        session.close()


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
        self.origin = origin or Origin()
        drawing = Drawing(MixedGraph(self.names), Knowledge())
        if graph is not None:
            drawing = drawing.with_graph(graph_of(graph))
        if knowledge is not None:
            drawing = drawing.with_knowledge(SearchSpace(knowledge=knowledge).knowledge)
        penalty = check_penalty(penalty)
        self._lock = threading.RLock()
        self._listeners: list[Callable[[View], None]] = []
        self.pinned: MixedGraph | None = None  # kept for comparison
        arrangement = arrange(drawing.graph, drawing.knowledge.tiers)
        self.positions = Positions(self.names, arrangement, self.broadcast)
        self.jobs = BackgroundJobs(self.moments, data, self.options, self._lock, self.broadcast)
        self.current = CurrentGraph(
            self.moments, self.rows, drawing, penalty, self.positions, self._lock, self.broadcast
        )
        _open.add(self)

    @property
    def drawing(self) -> Drawing:
        """The current graph and knowledge."""
        return self.current.drawing

    @property
    def fit(self) -> Fit | None:
        """The fit of the current graph; None if it could not be fitted."""
        return self.current.fit

    @property
    def rows(self) -> Any:
        """The rows of the data if they are used unchanged, otherwise None."""
        unchanged = not self.options.changed and self.data is not self.moments
        return self.data if unchanged else None

    def listen(self, listener: Callable[[View], None]) -> Callable[[], None]:
        """Call a function with every message to all pages; return a function that ends this.

        The listener is called from other threads and must return at once.
        """
        with self._lock:
            self._listeners.append(listener)

        def leave() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return leave

    def broadcast(self, message: View) -> None:
        """Send a message to all pages."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(message)

    def answer(self, message: Any) -> View:
        """Return the answer to a message, or an object with the field ``error``."""
        number = message.get("id") if isinstance(message, Mapping) else None
        try:
            with self._lock:
                return {"reply_to": number, **self._answer(message)}
        except EditError as error:
            index, change = self.names.index, error.alternative
            return {
                "reply_to": number,
                "error": str(error),
                "path": [[index(a), index(b)] for a, b in error.path],
                "alternative": change and [index(change[0]), change[1], index(change[2])],
            }
        except BowfreeError as error:
            return {"reply_to": number, "error": error_text(error)}
        except Exception as error:
            return {"reply_to": number, "error": internal_error(error, "a message failed")}

    def close(self) -> None:
        """Stop all computations and end the threads."""
        self.current.close()
        self.jobs.close()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until no computation is running; return whether that is the case."""
        return self.jobs.wait(seconds) and self.current.wait(seconds)

    def set_pinned(self, graph: MixedGraph | None) -> View:
        """Keep a graph for comparison."""
        self.pinned = graph
        pinned = None if graph is None else graph_view(graph)
        self.broadcast({"kind": "pinned", "graph": pinned})
        return {"pinned": pinned}

    def _answer(self, message: Any) -> View:
        if not isinstance(message, Mapping):
            raise BowfreeError(f"a message must be an object, not {short_repr(message)}")
        name = message.get("do")
        if name == "hello":
            return self._hello()
        if not isinstance(name, str) or name not in HANDLERS:
            raise BowfreeError(f"do = {short_repr(name)}: unknown message")
        return HANDLERS[name](self, Message(message, self.names))

    def _hello(self) -> View:
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
                "state": self.current.state | curves,
                "analyses": list(self.current.analyses.values()),
                "job": self.jobs.job_view(),
                "candidates": self.jobs.candidates_view(),
                "shares": self.jobs.shares,
                "pinned": None if self.pinned is None else graph_view(self.pinned),
            }
        }
