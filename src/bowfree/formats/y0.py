"""Mixed graphs of y0, ``y0.graph.NxMixedGraph``; what it calls undirected is bidirected here.

y0 is imported when the function is called.
"""

from __future__ import annotations

from typing import Any

from bowfree.formats.packages import load
from bowfree.graph.graph_like import GraphLike, graph_of


def to_y0(graph: GraphLike) -> Any:
    """Write a graph as a mixed graph of y0.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph; y0 asks for an acyclic one when it identifies an effect.

    Returns
    -------
    y0.graph.NxMixedGraph
        Its nodes are ``y0.dsl.Variable`` with our names.
    """
    graph = graph_of(graph)
    NxMixedGraph = load("y0.graph", "y0").NxMixedGraph
    return NxMixedGraph.from_str_edges(
        nodes=graph.nodes, directed=graph.directed, undirected=graph.bidirected
    )
