"""What a user gives where a graph is wanted: a graph, or a result that has one.

Searches, fits and classes all carry a ``graph``. Whatever makes sense for a graph makes sense for
them too, so the functions of this package ask here what they were given.
"""

from __future__ import annotations

from typing import Any, Protocol

from bowfree.errors import GraphError
from bowfree.graph.mixed_graph import MixedGraph


class HasGraph(Protocol):
    """A result with a graph: of a search, a fit, an equivalence class."""

    @property
    def graph(self) -> MixedGraph: ...


GraphLike = MixedGraph | HasGraph


def graph_of(given: GraphLike | Any) -> MixedGraph:
    """Return the graph, or the graph of the result, or say that it is neither.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.graph.graph_like import graph_of
    >>> str(graph_of(bf.equivalence_class(bf.parse("x -> y"))))
    'x -> y'
    """
    if isinstance(given, MixedGraph):
        return given
    graph = getattr(given, "graph", None)
    if isinstance(graph, MixedGraph):
        return graph
    shown = (
        f"the text {given[:60]!r}; bowfree.parse reads it"
        if isinstance(given, str)
        else (f"an object of type {type(given).__name__}")
    )
    raise GraphError(f"expected a graph, or a result that has one, and got {shown}")
