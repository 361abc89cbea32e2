"""Graphs of ananke, ``ananke.graphs.ADMG``, which is imported when the function is called."""

from __future__ import annotations

from typing import Any

from bowfree.formats.networkx import to_edge_lists
from bowfree.formats.packages import load
from bowfree.graph.graph_like import GraphLike, graph_of


def to_ananke(graph: GraphLike) -> Any:
    """Write a graph as an ADMG of ananke.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Acyclic.

    Returns
    -------
    ananke.graphs.ADMG

    Raises
    ------
    GraphError
        If the graph has a directed cycle.
    """
    graph = graph_of(graph)
    ADMG = load("ananke.graphs", "ananke-causal").ADMG
    graph.check_acyclic()
    vertices, di_edges, bi_edges = to_edge_lists(graph)
    return ADMG(vertices=vertices, di_edges=di_edges, bi_edges=bi_edges)
