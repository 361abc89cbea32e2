"""Networkx, caugi, Mermaid, GraphML; ``docs/formats.md`` has recipes for other packages.

In networkx a mixed graph is a ``MultiDiGraph`` whose edges have the attribute ``type``:
``"directed"`` or ``"bidirected"``. A bidirected edge is stored in both directions, so that
``G.in_degree(v)`` is the number of arrowheads at ``v``, the paper's in-degree.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from bowfree.errors import ParseError
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.parameters import public
from bowfree.text_reading import check_nodes, load_json, short_repr


@public
def to_networkx(graph: GraphLike) -> Any:
    """Return a graph as a ``networkx.MultiDiGraph``.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Returns
    -------
    networkx.MultiDiGraph
        Key and attribute ``type`` of an edge are ``"directed"`` or ``"bidirected"``; a bidirected
        edge is stored in both directions.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> sorted(bf.formats.to_networkx(g).edges(data="type"))
    [('x', 'y', 'directed'), ('y', 'z', 'bidirected'), ('z', 'y', 'bidirected')]
    """
    import networkx as nx

    graph = graph_of(graph)
    both = [*graph.bidirected, *((b, a) for a, b in graph.bidirected)]
    result = nx.MultiDiGraph()
    result.add_nodes_from(graph.nodes)
    for kind, edges in (("directed", graph.directed), ("bidirected", both)):
        result.add_edges_from((a, b, kind, {"type": kind}) for a, b in edges)
    return result


@public
def from_networkx(graph: Any) -> MixedGraph:
    """Read a graph from networkx; the inverse of `to_networkx`.

    Parameters
    ----------
    graph : networkx.MultiDiGraph or networkx.DiGraph
        Every edge has the attribute ``type``, ``"directed"`` or ``"bidirected"``; a bidirected edge
        may be in one direction or in both. Nodes are strings.

    Raises
    ------
    ParseError
        If the graph is undirected or an edge has no known ``type``.

    Examples
    --------
    >>> import networkx as nx
    >>> import bowfree as bf
    >>> G = nx.MultiDiGraph([("x", "y", {"type": "directed"}), ("y", "z", {"type": "bidirected"})])
    >>> bf.formats.from_networkx(G) == bf.parse("x -> y, y <-> z")
    True
    """
    if not hasattr(graph, "is_directed") or not graph.is_directed():
        found = "an undirected graph" if hasattr(graph, "is_directed") else type(graph).__name__
        raise ParseError(
            f"networkx: expected a MultiDiGraph with the edge attribute 'type', got {found}"
        )
    edges: dict[str, list[tuple[Any, Any]]] = {"directed": [], "bidirected": []}
    for a, b, kind in graph.edges(data="type"):
        if kind not in edges:
            raise ParseError(
                f"networkx: edge ({short_repr(a)}, {short_repr(b)}) has type {short_repr(kind)}; "
                "set the edge attribute 'type' to 'directed' or 'bidirected'"
            )
        edges[kind].append((a, b))
    return MixedGraph(graph.nodes, **edges)


def to_caugi(graph: MixedGraph) -> str:
    """Write a graph as the JSON that ``read_caugi`` of the R package caugi reads."""
    kind = "DAG" if not graph.bidirected else "ADMG"
    edges = [
        {"from": a, "to": b, "edge": "-->" if mark == "->" else mark} for a, mark, b in graph.edges
    ]
    content = {
        "$schema": "https://caugi.org/schemas/caugi-v1.schema.json",
        "format": "caugi",
        "version": "1.0.0",
        "graph": {
            "class": kind if graph.find_cycle() is None else "UNKNOWN",
            "nodes": graph.nodes,
            "edges": edges,
        },
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def from_caugi(text: str) -> MixedGraph:
    """Read a graph from the JSON of the R package caugi; open directions are errors."""
    content = load_json(text)
    graph = content.get("graph") if isinstance(content, Mapping) else None
    if not isinstance(graph, Mapping) or content.get("format") != "caugi":
        raise ParseError('caugi: expected a JSON object with "format": "caugi" and a "graph"')
    version = content.get("version")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        raise ParseError(f"caugi: 'version' is {short_repr(version)}; versions 1.x are read")
    for key in ("nodes", "edges"):
        if not isinstance(graph.get(key), list):
            raise ParseError(
                f"caugi: {key!r} is missing or not a list: {short_repr(graph.get(key))}"
            )
    check_nodes(len(graph["nodes"]), "caugi")
    edges: dict[str, list[tuple[Any, Any]]] = {"-->": [], "<->": []}
    for edge in graph["edges"]:
        mark = edge.get("edge") if isinstance(edge, Mapping) else None
        if not isinstance(mark, str) or mark not in edges:
            raise ParseError(
                f"caugi: edge {short_repr(edge)} is not '-->' or '<->'; other edges leave a "
                "direction open"
            )
        edges[mark].append((edge.get("from"), edge.get("to")))
    return MixedGraph(graph["nodes"], edges["-->"], edges["<->"])


def to_mermaid(graph: MixedGraph) -> str:
    """Write a graph as a flowchart of Mermaid, which Markdown pages on GitHub and GitLab draw."""
    names = {name: f"n{i}" for i, name in enumerate(graph.nodes)}
    # Mermaid shows HTML entities in quoted labels.
    lines = [f'  {key}["{html.escape(name)}"]' for name, key in names.items()]
    lines += [f"  {names[a]} --> {names[b]}" for a, b in graph.directed]
    lines += [f"  {names[a]} <-.-> {names[b]}" for a, b in graph.bidirected]
    return "\n".join(["flowchart LR", *lines]) + "\n"


def to_graphml(graph: MixedGraph) -> str:
    """Write a graph as GraphML: the attribute ``type`` of an edge is as in `to_networkx`."""
    import networkx as nx

    result = nx.MultiDiGraph()
    result.add_nodes_from(graph.nodes)
    for k, (a, mark, b) in enumerate(graph.edges):
        kind = "directed" if mark == "->" else "bidirected"
        result.add_edge(a, b, type=kind, id=f"e{k}")
    lines = nx.generate_graphml(result, edge_id_from_attribute="id")
    return "\n".join(lines) + "\n"
