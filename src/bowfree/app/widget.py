"""The workbench in a notebook: Jupyter, VS Code, marimo, or whatever else shows an anywidget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from bowfree.app import front_end
from bowfree.app.session import Session
from bowfree.errors import BowfreeError
from bowfree.graph.graph_like import GraphLike
from bowfree.space.knowledge import Knowledge
from bowfree.validation import DataOptions

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph
    from bowfree.model.fit_result import Fit


def workbench(
    data: Any = None,
    *,
    graph: GraphLike | None = None,
    knowledge: Knowledge | None = None,
    penalty: float = 1.0,
    **options: Unpack[DataOptions],
) -> Any:
    """Open a workbench in a notebook: draw a graph over data, fit, search and compare it live.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    graph : MixedGraph, or a result that has one, optional
        What to begin with; by default no edges. Its nodes are columns of the data.
    knowledge : Knowledge, optional
        Locked and forbidden edges, tiers and unconfounded variables.
    penalty : float
        Weight of ``log n`` per node and edge in the score: 1 is the paper's, 0.5 the usual BIC.
    **options
        Those of :func:`bowfree.moments` (:class:`~bowfree.validation.DataOptions`).

    Returns
    -------
    anywidget.AnyWidget
        The last line of a cell shows it. Its ``graph`` is the drawn graph, its ``fit`` how well
        that fits and its ``knowledge`` what is known, at any time; ``close()`` ends it.

    Raises
    ------
    BowfreeError
        When anywidget is not installed, or the graph is no BAP of these variables.
    DataError
        When the data cannot be used.

    See Also
    --------
    bowfree.fit, bowfree.edge_changes, bowfree.greedy_search

    Examples
    --------
    >>> import bowfree as bf
    >>> bench = bf.workbench(bf.datasets.load_demo(), graph=bf.parse("sun -> leaves"))
    >>> bench.graph.directed, round(bench.fit.score, 3)
    ((('sun', 'leaves'),), -10.683)
    >>> bench.close()
    """
    try:
        import anywidget
    except ImportError as error:
        raise BowfreeError(
            "the workbench needs anywidget, which is not installed: run `pip install "
            '"bowfree[notebook]"`, or `bowfree app` for one in a browser'
        ) from error

    class Workbench(anywidget.AnyWidget):  # type: ignore[misc]
        """A session in a cell of a notebook."""

        _esm = front_end.module()
        _css = front_end.style()

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session
            session.listen(self.send)
            self.on_msg(lambda _, message, buffers: self.send(session.answer(message)))

        @property
        def graph(self) -> MixedGraph:
            """The drawn graph."""
            return self.session.board.graph

        @property
        def fit(self) -> Fit | None:
            """The fit of the drawn graph; None where it cannot be fitted."""
            return self.session.fit

        @property
        def knowledge(self) -> Knowledge:
            """What is known."""
            return self.session.board.knowledge

        def close(self) -> None:
            """End the session and the widget."""
            self.session.close()
            super().close()

    return Workbench(Session(data, graph=graph, knowledge=knowledge, penalty=penalty, **options))
