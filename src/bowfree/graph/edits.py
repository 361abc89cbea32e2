"""Graphs with a change: add, remove or replace edges, restrict, rename, reorder.

A :class:`~bowfree.MixedGraph` never changes; each of these methods returns a new graph that shares
what it can with the old one. Edges are given as text in the language of :func:`bowfree.parse`, or
as pairs under ``directed=`` and ``bidirected=``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.encodings import members
from bowfree.graph.text import quote, read_statements
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

__all__: list[str] = []  # reached through MixedGraph

Pairs = Iterable[tuple[str, str]]


def add(
    graph: MixedGraph,
    *edges: str,
    directed: Pairs = (),
    bidirected: Pairs = (),
    nodes: str | Iterable[str] = (),
) -> MixedGraph:
    """Return this graph with more edges (and nodes).

    Parameters
    ----------
    *edges : str
        Edges as text, such as ``"x -> y"`` or ``"x -> y <-> z"``.
    directed, bidirected : iterable of pairs of str
        The same as pairs: ``directed=[("x", "y")]`` is ``x -> y``.
    nodes : str or iterable of str
        New nodes, placed after the present ones. An edge does not create its nodes, so that a
        misspelt name is an error and not a new variable.

    Returns
    -------
    MixedGraph
        An edge that is already there stays as it is. Cycles and bows are not refused here; ask
        ``is_bap()``.

    Raises
    ------
    GraphError
        Unknown node, self-loop, or a new node whose name is taken.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y, z")
    >>> print(g.add("y <-> z"))
    x -> y <-> z
    >>> print(g.add(directed=[("z", "w")], nodes=["w"]))
    x -> y, z -> w
    """
    new = (
        (nodes,) if isinstance(nodes, str) else tuple(as_list("nodes", nodes, "names", GraphError))
    )
    if new:
        graph = type(graph)(graph.nodes + new, graph.directed, graph.bidirected)
    parents, spouses = list(graph._parents), list(graph._spouses)
    for i, mark, j in _edge_list(graph, edges, directed, bidirected):
        if mark == "->":
            parents[j] |= 1 << i
        else:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return graph._with(parents, spouses)


def remove(
    graph: MixedGraph,
    *edges: str,
    directed: Pairs = (),
    bidirected: Pairs = (),
    nodes: str | Iterable[str] = (),
) -> MixedGraph:
    """Return this graph without some edges (and nodes).

    Parameters
    ----------
    *edges : str
        Edges as text, such as ``"x -> y"``.
    directed, bidirected : iterable of pairs of str
        The same as pairs.
    nodes : str or iterable of str
        Nodes to take away, with all their edges.

    Raises
    ------
    GraphError
        Unknown node, or an edge that is not in the graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> print(g.remove("x -> y"))
    x, y <-> z
    >>> print(g.remove(nodes="y"))
    x, z
    """
    parents, spouses = list(graph._parents), list(graph._spouses)
    for i, mark, j in _edge_list(graph, edges, directed, bidirected):
        there = parents[j] if mark == "->" else spouses[j]
        if not there >> i & 1:
            a, b = graph._nodes[i], graph._nodes[j]
            seen = str(graph.subgraph([a, b])) if graph.adjacent(a, b) else "no edge"
            raise GraphError(
                f"no edge {quote(a)} {mark} {quote(b)} to remove: this pair has {seen}; "
                "remove only edges that are there (has_edge tells)"
            )
        if mark == "->":
            parents[j] &= ~(1 << i)
        else:
            spouses[i] &= ~(1 << j)
            spouses[j] &= ~(1 << i)
    changed = graph._with(parents, spouses)
    gone = graph._mask(nodes)
    return changed.subgraph(graph._names(~gone & ((1 << len(graph)) - 1))) if gone else changed


def replace(graph: MixedGraph, old: str, new: str) -> MixedGraph:
    """Return this graph with the edges of ``old`` exchanged for those of ``new``.

    Parameters
    ----------
    old, new : str
        Edges as text; all of ``old`` must be there.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z")
    >>> print(g.replace("x -> y", "x <-> y"))
    x <-> y -> z
    >>> print(g.replace("x -> y -> z", "z -> y -> x"))
    x <- y <- z
    """
    return add(remove(graph, old), new)


def subgraph(graph: MixedGraph, nodes: str | Iterable[str]) -> MixedGraph:
    """Return the induced subgraph: these nodes and all edges between them.

    Parameters
    ----------
    nodes : str or iterable of str
        The nodes to keep; they stay in the graph's order.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.parse("a -> b <-> c, d -> c").subgraph(["d", "c", "b"]))
    b <-> c <- d

    References
    ----------
    Section 2.1 of the paper, and theorem "subgraph".
    """
    return _pick(graph, list(members(graph._mask(nodes))))


def reorder(graph: MixedGraph, nodes: Iterable[str]) -> MixedGraph:
    """Return the same graph with its nodes in another order, for example that of a data set.

    Parameters
    ----------
    nodes : iterable of str
        All nodes of the graph, each once.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.parse("a -> b").reorder(["b", "a"]).nodes
    ('b', 'a')
    """
    given = [nodes] if isinstance(nodes, str) else as_list("nodes", nodes, "names", GraphError)
    order = [graph._node(v) for v in given]
    if sorted(order) != list(range(len(graph))):
        names = [graph._nodes[v] for v in order]
        raise GraphError(
            f"the new order {join_names(names)} must list each of the nodes {join_names(graph.nodes)} once"
        )
    return _pick(graph, order)


def _pick(graph: MixedGraph, order: list[int]) -> MixedGraph:
    """Build the induced subgraph whose k-th node is the old node ``order[k]``."""
    place = {v: k for k, v in enumerate(order)}
    keep = 0
    for v in order:
        keep |= 1 << v

    def moved(mask: int) -> int:
        result = 0
        for v in members(mask & keep):
            result |= 1 << place[v]
        return result

    return graph._from_masks(
        tuple(graph._nodes[v] for v in order),
        [moved(graph._parents[v]) for v in order],
        [moved(graph._spouses[v]) for v in order],
    )


def relabel(graph: MixedGraph, names: Mapping[str, str]) -> MixedGraph:
    """Return the graph with new names for some or all of its nodes.

    Parameters
    ----------
    names : mapping from str to str
        From old to new name; nodes that are not listed keep theirs.

    Raises
    ------
    GraphError
        An old name that is unknown, or two nodes that would get one name.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.parse("a -> b <-> c").relabel({"a": "b", "b": "a"}))
    b -> a <-> c
    """
    if not isinstance(names, Mapping):
        raise GraphError(f"names is {short_repr(names)}; give a mapping from old to new names")
    for old in names:
        graph._node(old)
    renamed = type(graph)(names.get(name, name) for name in graph.nodes)
    return renamed._with(graph._parents, graph._spouses)


def has_edge(graph: MixedGraph, edge: str) -> bool:
    """Tell whether the graph has an edge, or all edges, written as text.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("a -> b <-> c")
    >>> g.has_edge("a -> b"), g.has_edge("b -> a"), g.has_edge("c <-> b")
    (True, False, True)
    """
    return all(
        (graph._parents[j] if mark == "->" else graph._spouses[j]) >> i & 1
        for i, mark, j in _edge_list(graph, (edge,), (), ())
    )


def _edge_list(
    graph: MixedGraph, texts: Iterable[str], directed: Pairs, bidirected: Pairs
) -> list[tuple[int, str, int]]:
    """Read the three ways to give edges; names become indices, and must be known."""
    pairs = "pairs of nodes"
    result = [(*graph._pair(p), "->") for p in as_list("directed", directed, pairs, GraphError)]
    result += [
        (*graph._pair(p), "<->") for p in as_list("bidirected", bidirected, pairs, GraphError)
    ]
    for text in texts:
        names, edges = read_statements(text)
        alone = set(names).difference(*((a, b) for a, _, b in edges))
        if alone or not edges:
            raise GraphError(
                f"{short_repr(text)} should name edges, such as 'x -> y'; nodes go under nodes=[...]"
            )
        result += [(*graph._pair((a, b)), mark) for a, mark, b in edges]
    return [(i, mark, j) for i, j, mark in result]
