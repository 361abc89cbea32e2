"""Causal graphs of DoWhy: hidden common causes as nodes of their own.

DoWhy has no bidirected edges. It takes a ``networkx.DiGraph`` and counts a node that is no column
of the data as unobserved; so each ``x <-> y`` becomes ``x <- U -> y`` with a new node, named after
its two ends. Hand it over as it is: ``CausalModel(data, "x", "y", graph=to_dowhy(graph))``.
"""

from __future__ import annotations

from typing import Any

from bowfree.graph.graph_like import GraphLike, graph_of


def to_dowhy(graph: GraphLike) -> Any:
    """Write a graph as DoWhy wants it.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Acyclic, as DoWhy's graphs are.

    Returns
    -------
    networkx.DiGraph
        The nodes have the attribute ``observed``, ``"yes"`` or, for the hidden causes, ``"no"``.

    Raises
    ------
    GraphError
        If the graph has a directed cycle.

    Examples
    --------
    >>> import bowfree as bf
    >>> sorted(bf.formats.to_dowhy(bf.parse("x -> y <-> z")).edges)
    [('U_y_z', 'y'), ('U_y_z', 'z'), ('x', 'y')]
    """
    import networkx as nx

    graph = graph_of(graph)
    graph.check_acyclic()
    result = nx.DiGraph()
    result.add_nodes_from(graph.nodes, observed="yes")
    result.add_edges_from(graph.directed)
    for a, b in graph.bidirected:
        hidden = f"U_{a}_{b}"
        while hidden in result:
            hidden += "_"
        result.add_node(hidden, observed="no")
        result.add_edges_from([(hidden, a), (hidden, b)])
    return result
