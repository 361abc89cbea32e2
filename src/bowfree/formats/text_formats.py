"""Read and write graphs in a named format: `read`, `write`, and the formats without a module.

In networkx a mixed graph is a ``MultiDiGraph`` whose edges have the attribute ``type``:
``"directed"`` or ``"bidirected"``. A bidirected edge is stored in both directions, so that
``G.in_degree(v)`` is the number of arrowheads at ``v``, the paper's in-degree. ``docs/formats.md``
has recipes for other packages.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bowfree.errors import BowfreeError, ParseError
from bowfree.formats.dot import from_dagitty, from_dot, to_dagitty, to_dot
from bowfree.formats.lavaan import from_lavaan, to_lavaan
from bowfree.formats.matrices import (
    MATRIX_FORMATS,
    PAG_MARKS,
    PAGLike,
    pag_from_matrix,
    pag_of,
    read_matrix,
    write_matrix,
)
from bowfree.formats.tetrad import from_tetrad, pag_from_tetrad, to_tetrad
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.pag import PAG
from bowfree.graph.text import parse
from bowfree.parameters import public
from bowfree.text_reading import check_nodes, check_text, load_json, short_repr


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


class _TextFormat(NamedTuple):
    write: Callable[[Any], str]
    read: Callable[[str], MixedGraph] | None = None
    read_pag: Callable[[str], PAG] | None = None  # of a format that can represent PAGs


_FORMATS = {
    "text": _TextFormat(lambda graph: f"{graph}\n", parse),
    "json": _TextFormat(lambda graph: graph.to_json(indent=2) + "\n", MixedGraph.from_json),
    "tetrad": _TextFormat(to_tetrad, from_tetrad, pag_from_tetrad),
    "dagitty": _TextFormat(to_dagitty, from_dagitty),
    "lavaan": _TextFormat(to_lavaan, from_lavaan),
    "dot": _TextFormat(to_dot, from_dot),
    "caugi": _TextFormat(to_caugi, from_caugi),
}
_FORMATS |= {
    name: _TextFormat(
        partial(write_matrix, format=name),
        partial(read_matrix, format=name),
        partial(read_matrix, format=name, convert=pag_from_matrix) if name in PAG_MARKS else None,
    )
    for name in MATRIX_FORMATS
}

FORMATS = tuple(_FORMATS)
"""The formats that `read` reads; `write` writes these and `EXPORTS`."""

_FORMATS["mermaid"] = _TextFormat(to_mermaid)
_FORMATS["graphml"] = _TextFormat(to_graphml)
EXPORTS = ("mermaid", "graphml")
"""Formats that `write` writes in addition to `FORMATS`."""


@public
def read(text: str, *, format: str) -> MixedGraph:
    r"""Read a graph from text in a named format.

    Parameters
    ----------
    text : str
        The graph. For a matrix format this is CSV with the names of the nodes in the first line
        and, if that line starts with an empty cell, in the first column.
    format : str
        One of `FORMATS`.

    Raises
    ------
    ParseError
        With line and column, if the text is not in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.read("x,y\n0,1\n0,0\n", format="ggm") == bf.parse("x -> y")
    True
    """
    reader = _find(format, FORMATS).read
    assert reader is not None
    return reader(check_text(text, format))


@public
def read_pag(source: Any, *, format: str, nodes: Sequence[str] | None = None) -> PAG:
    """Read a partial ancestral graph, with circles, from a result of another package.

    Parameters
    ----------
    source : str, array_like, data frame or GeneralGraph
        For "tetrad" its text; for "pcalg" the matrix ``amat.pag`` and for "causal-learn" that of a
        ``GeneralGraph``, as an array or as CSV text; or the ``GeneralGraph`` itself.
    format : {"tetrad", "pcalg", "causal-learn"}
        The convention, see :func:`to_matrix`.
    nodes : sequence of str, optional
        Names of the rows of an array, as for :func:`from_matrix`.

    Raises
    ------
    ParseError
        If the source is not of this form, with line and column in a text.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.read_pag([[0, 2, 0], [1, 0, 1], [0, 2, 0]], format="pcalg"))
    x1 o-> x2, x3 o-> x2
    """
    chosen = _find(format, [name for name, each in _FORMATS.items() if each.read_pag])
    if format in PAG_MARKS and not isinstance(source, str):
        return pag_from_matrix(source, format, nodes)
    assert chosen.read_pag is not None
    return chosen.read_pag(check_text(source, format))


@public
def write(graph: PAGLike, *, format: str) -> str:
    """Write a graph as text in a named format; `read` is the inverse.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Some formats do not support bows or some names. A class is written as its PAG in the formats
        that have circles (``pcalg``, ``causal-learn``, ``tetrad``), and otherwise as its ``graph``.
    format : str
        One of `FORMATS`, or "mermaid" or "graphml", which are not read.

    Raises
    ------
    GraphError
        If the graph cannot be written in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.write(bf.parse("x -> y"), format="ggm"), end="")
    ,x,y
    x,0,1
    y,0,0
    """
    chosen, pag = _find(format, tuple(_FORMATS)), pag_of(graph)
    return chosen.write(pag if chosen.read_pag and pag is not None else graph_of(graph))


def _find(format: object, known: Sequence[str]) -> _TextFormat:
    if not isinstance(format, str) or format not in known:
        raise BowfreeError(f"unknown format {short_repr(format)}; known are {', '.join(known)}")
    return _FORMATS[format]
