"""Graphs of networkx, and the edge lists of ananke and pywhy-graphs.

In networkx a mixed graph is a ``MultiDiGraph`` whose edges have the attribute ``type``:
``"directed"`` or ``"bidirected"``. A bidirected edge is stored in both directions, so that
``G.in_degree(v)`` is the number of arrowheads at ``v``, the paper's in-degree. networkx is
imported when a function here is called.

ananke (``ADMG(vertices, di_edges, bi_edges)``) and pywhy-graphs (``ADMG`` with its edge types
``directed`` and ``bidirected``) take plain lists of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bowfree.errors import ParseError
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import short_repr
from bowfree.validation import as_list

_TYPES = ("directed", "bidirected")


def to_networkx(graph: GraphLike) -> Any:
    """Write a graph as a ``networkx.MultiDiGraph``.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Returns
    -------
    networkx.MultiDiGraph
        Key and attribute ``type`` of an edge are ``"directed"`` or ``"bidirected"``; a bidirected
        edge is there in both directions.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> sorted(bf.formats.to_networkx(g).edges(data="type"))
    [('x', 'y', 'directed'), ('y', 'z', 'bidirected'), ('z', 'y', 'bidirected')]
    """
    import networkx as nx

    graph = graph_of(graph)
    result = nx.MultiDiGraph()
    result.add_nodes_from(graph.nodes)
    for a, b in graph.directed:
        result.add_edge(a, b, key="directed", type="directed")
    for a, b in graph.bidirected:
        result.add_edge(a, b, key="bidirected", type="bidirected")
        result.add_edge(b, a, key="bidirected", type="bidirected")
    return result


def from_networkx(graph: Any) -> MixedGraph:
    """Read a graph from networkx; the inverse of `to_networkx`.

    Parameters
    ----------
    graph : networkx.MultiDiGraph or networkx.DiGraph
        Every edge has the attribute ``type``, ``"directed"`` or ``"bidirected"``; a bidirected
        edge may stand in one direction or in both. Nodes are strings.

    Raises
    ------
    ParseError
        If the graph is undirected, a node is no string, or an edge has no known ``type``.

    Examples
    --------
    >>> import networkx as nx
    >>> import bowfree as bf
    >>> G = nx.MultiDiGraph([("x", "y", {"type": "directed"}), ("y", "z", {"type": "bidirected"})])
    >>> bf.formats.from_networkx(G) == bf.parse("x -> y, y <-> z")
    True
    """
    if not hasattr(graph, "is_directed"):
        raise ParseError(f"networkx: expected a MultiDiGraph, not {type(graph).__name__}")
    if not graph.is_directed():
        raise ParseError(
            "networkx: the graph is undirected; use a MultiDiGraph with the edge attribute 'type'"
        )
    directed: list[tuple[Any, Any]] = []
    # A dict as an ordered set: the second direction of a bidirected edge finds the first.
    bidirected: dict[frozenset[Any], tuple[Any, Any]] = {}
    for a, b, kind in graph.edges(data="type"):
        if kind not in _TYPES:
            raise ParseError(
                f"networkx: edge ({short_repr(a)}, {short_repr(b)}) has type {short_repr(kind)}; set the edge "
                "attribute 'type' to 'directed' or 'bidirected'"
            )
        if kind == "directed":
            directed.append((a, b))
        else:
            bidirected.setdefault(frozenset((a, b)), (a, b))
    return from_edge_lists(list(graph.nodes), directed, bidirected.values())


def to_edge_lists(
    graph: GraphLike,
) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """Write a graph as the three lists that ananke's and pywhy-graphs' ``ADMG`` are made from.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Returns
    -------
    vertices, di_edges, bi_edges : list
        A pair ``(a, b)`` of ``di_edges`` is a -> b; each bidirected edge stands once.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.to_edge_lists(bf.parse("x -> y, y <-> z"))
    (['x', 'y', 'z'], [('x', 'y')], [('y', 'z')])
    """
    graph = graph_of(graph)
    return list(graph.nodes), list(graph.directed), list(graph.bidirected)


def from_edge_lists(
    vertices: Iterable[str],
    di_edges: Iterable[tuple[str, str]] = (),
    bi_edges: Iterable[tuple[str, str]] = (),
) -> MixedGraph:
    """Read a graph from the lists of ananke or pywhy-graphs; the inverse of `to_edge_lists`.

    Parameters
    ----------
    vertices : iterable of str
        The nodes.
    di_edges, bi_edges : iterable of (str, str)
        Directed edges ``(a, b)``, a -> b, and bidirected ones.

    Raises
    ------
    ParseError
        If a node is no string or an edge no pair, or is given twice.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_edge_lists(["x", "y"], [("x", "y")]) == bf.parse("x -> y")
    True
    """
    nodes = _listed(vertices)
    for node in nodes:
        if not isinstance(node, str):
            raise ParseError(
                f"edge lists: node {short_repr(node)} is not a string; relabel the nodes first"
            )
    seen: set[tuple[str, frozenset[str] | tuple[str, str]]] = set()
    lists: dict[str, list[tuple[str, str]]] = {"directed": [], "bidirected": []}
    given: dict[str, Iterable[Any]] = {"directed": di_edges, "bidirected": bi_edges}
    for kind, edges in given.items():
        for edge in _listed(edges):
            pair = isinstance(edge, tuple | list) and len(edge) == 2
            if not (pair and all(isinstance(end, str) for end in edge)):
                raise ParseError(f"edge lists: {short_repr(edge)} is no pair of nodes (a, b)")
            a, b = edge
            key = (kind, (a, b) if kind == "directed" else frozenset((a, b)))
            if key in seen:
                raise ParseError(
                    f"edge lists: {kind} edge {short_repr(edge)} is given twice; drop one"
                )
            seen.add(key)
            lists[kind].append((a, b))
    return MixedGraph(nodes, lists["directed"], lists["bidirected"])


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str):
        raise ParseError(f"edge lists: expected a list, not {short_repr(values)}")
    return list(as_list("edge lists: one", values, "names or pairs", ParseError))
