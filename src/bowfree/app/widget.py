"""The workbench in notebooks: Jupyter, VS Code, marimo, and others that support anywidget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from bowfree.app import front_end
from bowfree.app.session import Session
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import GraphLike
from bowfree.parameters import Correlation, Means, Missing, public
from bowfree.space.knowledge import Knowledge

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph
    from bowfree.model.fit_result import Fit


@public
def workbench(
    data: Any = None,
    *,
    graph: GraphLike | None = None,
    knowledge: Knowledge | None = None,
    penalty: float = 1.0,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
) -> Any:
    """Open the workbench in a notebook: draw a graph over data; fit, search and compare it live.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one, optional
        The first graph; by default without edges. Its nodes are columns of the data.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers and unconfounded variables.
    penalty : float
        Weight of ``log n`` for each node and edge in the score: 1 is the paper's, 0.5 the usual
        BIC.

    Returns
    -------
    anywidget.AnyWidget
        The last line of a cell displays it. Its ``graph``, ``fit`` and ``knowledge`` are always
        the current ones; ``close()`` ends it.

    Raises
    ------
    BowfreeError
        If anywidget is not installed, or the graph is not a BAP of these variables.
    DataError
        If the data cannot be used.

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
            "the workbench requires anywidget, which is not installed: run `pip install "
            '"bowfree[notebook]"`, or use `bowfree app` in a browser'
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
            """The current graph."""
            return self.session.drawing.graph

        @property
        def fit(self) -> Fit | None:
            """The fit of the current graph; None if it could not be fitted."""
            return self.session.fit

        @property
        def knowledge(self) -> Knowledge:
            """The current knowledge."""
            return self.session.drawing.knowledge

        def close(self) -> None:
            """End the session and the widget."""
            self.session.close()
            super().close()

    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    return Workbench(Session(data, options, graph=graph, knowledge=knowledge, penalty=penalty))
