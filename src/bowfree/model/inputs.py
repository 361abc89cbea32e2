"""What a user gives where a graph and its data are wanted.

A graph with data; or the result of a search, which brings its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowfree.data.loader import read_moments
from bowfree.data.moments import Moments
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph


def graph_and_moments(
    given: GraphLike, data: Any, data_options: Mapping[str, Any]
) -> tuple[MixedGraph, Moments]:
    """Return the graph, and the moments of its variables in the order of its nodes.

    Of a search with a holdout, these are the rows put aside.
    """
    graph = graph_of(given)
    if data is None and data_options.get("cov") is None:
        data = getattr(given, "holdout", None) or getattr(given, "moments", None)
    return graph, read_moments(data, graph=graph, **data_options)
