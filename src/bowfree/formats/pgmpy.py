"""Graphs of pgmpy, ``pgmpy.base.ADMG`` (from version 1.1), imported when the function is called."""

from __future__ import annotations

from typing import Any

from bowfree.formats.packages import load
from bowfree.graph.graph_like import GraphLike, graph_of


def to_pgmpy(graph: GraphLike) -> Any:
    """Write a graph as an ADMG of pgmpy.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Acyclic.

    Returns
    -------
    pgmpy.base.ADMG

    Raises
    ------
    GraphError
        If the graph has a directed cycle.
    """
    graph = graph_of(graph)
    ADMG = load("pgmpy.base", "pgmpy").ADMG
    graph.check_acyclic()
    result = ADMG(directed_ebunch=graph.directed, bidirected_ebunch=graph.bidirected)
    result.add_nodes_from(graph.nodes)  # those without edges
    return result
