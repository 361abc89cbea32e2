"""Arguments that are a graph, or a result with an attribute ``graph``."""

from __future__ import annotations

from typing import Any, Protocol

from bowfree.errors import GraphError
from bowfree.graph.mixed_graph import MixedGraph


class HasGraph(Protocol):
    """A result with a graph: of a search, a fit, an equivalence class."""

    @property
    def graph(self) -> MixedGraph: ...


GraphLike = MixedGraph | HasGraph


def graph_of(value: GraphLike | Any) -> MixedGraph:
    """Return the graph, or the graph of the result; raise a GraphError if it is neither."""
    if isinstance(value, MixedGraph):
        return value
    graph = getattr(value, "graph", None)
    if isinstance(graph, MixedGraph):
        return graph
    found = (
        f"the string {value[:60]!r}; convert it with bowfree.parse"
        if isinstance(value, str)
        else f"an object of type {type(value).__name__}"
    )
    raise GraphError(f"expected a graph or a result that has one, got {found}")
