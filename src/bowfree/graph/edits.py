"""Copies of a graph with a change: edges added, removed or replaced, nodes selected or renamed.

Edges are written as text in the language of :func:`bowfree.parse`, or as pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.encodings import members, singletons
from bowfree.graph.text import quote_edge, read_statements
from bowfree.parameters import public
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

Pairs = Iterable[tuple[str, str]]


@public
def add(
    self: MixedGraph,
    *edges: str,
    directed: Pairs = (),
    bidirected: Pairs = (),
    nodes: str | Iterable[str] = (),
) -> MixedGraph:
    """Return a copy of this graph with additional edges and nodes.

    Parameters
    ----------
    *edges : str
        Edges as text, such as ``"x -> y"`` or ``"x -> y <-> z"``. Edges that exist already stay as
        they are. Cycles and bows are allowed; see ``is_bap()``.
    directed, bidirected : iterable of pairs of str
        Edges as pairs: ``directed=[("x", "y")]`` is ``x -> y``.
    nodes : str or iterable of str
        New nodes, placed after the present ones. Edges do not create nodes, so that a misspelled
        name is an error.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y, z")
    >>> print(g.add("y <-> z"))
    x -> y <-> z
    >>> print(g.add(directed=[("z", "w")], nodes=["w"]))
    x -> y, z -> w
    """
    new = [nodes] if isinstance(nodes, str) else as_list("nodes", nodes, "names", GraphError)
    graph = type(self)((*self.nodes, *new), self.directed, self.bidirected) if new else self
    parents, spouses = list(graph._parents), list(graph._spouses)
    for i, mark, j in _edge_list(graph, edges, directed, bidirected):
        if mark == "->":
            parents[j] |= 1 << i
        else:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return graph._with(parents, spouses)


@public
def remove(
    self: MixedGraph,
    *edges: str,
    directed: Pairs = (),
    bidirected: Pairs = (),
    nodes: str | Iterable[str] = (),
) -> MixedGraph:
    """Return a copy of this graph without some edges and nodes.

    Parameters
    ----------
    *edges : str
        Edges as text, such as ``"x -> y"``; they must be in the graph.
    directed, bidirected : iterable of pairs of str
        Edges as pairs.
    nodes : str or iterable of str
        Nodes to remove, with all their edges.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.parse("x -> y <-> z").remove("y <-> z"))
    x -> y, isolated: z
    """
    parents, spouses = list(self._parents), list(self._spouses)
    for i, mark, j in _edge_list(self, edges, directed, bidirected):
        if not (parents if mark == "->" else spouses)[j] >> i & 1:
            a, b = self._nodes[i], self._nodes[j]
            found = str(self.subgraph([a, b])) if self.adjacent(a, b) else "no edge"
            raise GraphError(
                f"no edge {quote_edge(a, mark, b)} to remove: this pair has {found}; "
                "remove only edges of the graph (see has_edge)"
            )
        if mark == "->":
            parents[j] &= ~(1 << i)
        else:
            spouses[i] &= ~(1 << j)
            spouses[j] &= ~(1 << i)
    changed, removed = self._with(parents, spouses), self._mask(nodes)
    if not removed:
        return changed
    return changed.subgraph(self._names(~removed & ((1 << len(self)) - 1)))


@public
def replace(self: MixedGraph, old: str, new: str) -> MixedGraph:
    """Return a copy of this graph with the edges `old` replaced by the edges `new`.

    Parameters
    ----------
    old, new : str
        Edges as text; all edges `old` must be in the graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.parse("x -> y -> z").replace("x -> y", "x <-> y"))
    x <-> y -> z
    """
    return add(remove(self, old), new)


@public
def subgraph(self: MixedGraph, nodes: str | Iterable[str]) -> MixedGraph:
    """Return the induced subgraph: these nodes and all edges between them.

    Parameters
    ----------
    nodes : str or iterable of str
        The nodes to keep; they stay in the order of the graph.
    """
    return _select(self, list(members(self._mask(nodes))))


@public
def reorder(self: MixedGraph, nodes: Iterable[str]) -> MixedGraph:
    """Return this graph with its nodes in another order, such as that of the columns of a data set.

    Parameters
    ----------
    nodes : iterable of str
        All nodes of the graph, each once.
    """
    names = [nodes] if isinstance(nodes, str) else as_list("nodes", nodes, "names", GraphError)
    order = [self._node(name) for name in names]
    if sorted(order) != list(range(len(self))):
        raise GraphError(
            f"the new order {join_names(names)} must contain each of the nodes "
            f"{join_names(self.nodes)} once"
        )
    return _select(self, order)


def _select(graph: MixedGraph, order: list[int]) -> MixedGraph:
    """Return the induced subgraph whose k-th node is the old node ``order[k]``."""
    new_index = {v: k for k, v in enumerate(order)}
    keep = singletons(order)

    def moved(mask: int) -> int:
        result = 0
        for v in members(mask & keep):
            result |= 1 << new_index[v]
        return result

    return graph._from_masks(
        tuple(graph._nodes[v] for v in order),
        [moved(graph._parents[v]) for v in order],
        [moved(graph._spouses[v]) for v in order],
    )


@public
def relabel(self: MixedGraph, names: Mapping[str, str]) -> MixedGraph:
    """Return the graph with new names for some or all of its nodes.

    Parameters
    ----------
    names : mapping from str to str
        New names by old names. Other nodes keep their names.
    """
    if not isinstance(names, Mapping):
        raise GraphError(f"names is {short_repr(names)}; pass a mapping from old to new names")
    for old in names:
        self._node(old)
    renamed = type(self)(names.get(name, name) for name in self.nodes)
    return renamed._with(self._parents, self._spouses)


def has_edge(self: MixedGraph, edge: str) -> bool:
    """Test whether the graph has an edge such as ``"a -> b"``, or all of several edges."""
    return all(
        (self._parents if mark == "->" else self._spouses)[j] >> i & 1
        for i, mark, j in _edge_list(self, (edge,), (), ())
    )


def _edge_list(
    graph: MixedGraph, texts: Iterable[str], directed: Pairs, bidirected: Pairs
) -> list[tuple[int, str, int]]:
    """Return all edges as (i, mark, j); their nodes must be in the graph."""
    what = "pairs of nodes"
    found = [(pair, "->") for pair in as_list("directed", directed, what, GraphError)]
    found += [(pair, "<->") for pair in as_list("bidirected", bidirected, what, GraphError)]
    for text in texts:
        names, edges = read_statements(text)
        if set(names).difference(*((a, b) for a, _, b in edges)) or not edges:
            raise GraphError(
                f"{short_repr(text)} should contain edges only, such as 'x -> y'; pass nodes as "
                "nodes=[...]"
            )
        found += [((a, b), mark) for a, mark, b in edges]
    return [(i, mark, j) for pair, mark in found for i, j in [graph._pair(pair)]]
