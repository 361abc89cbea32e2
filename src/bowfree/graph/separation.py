"""m-separation: which partial correlations a mixed graph forces to be zero (section 2.1).

A path is m-connecting given C if its non-colliders are outside C and its colliders are ancestors of
C. Paths are too many to look at one by one; but a *walk*, which may visit a node twice, can be
followed edge by edge, and an m-connecting walk exists exactly when an m-connecting path does (cut
the walk at a node v it visits twice: if v becomes a collider that it was not before, the piece cut
out left v along directed edges and has to end in a collider, so v is an ancestor of C).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.bit_sets import closure, members, union

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

__all__ = ["minimal_separator"]  # the rest is reached through MixedGraph


def m_separated(
    graph: MixedGraph,
    a: str | Iterable[str],
    b: str | Iterable[str],
    given: str | Iterable[str] = (),
) -> bool:
    """Tell whether ``a`` and ``b`` are m-separated given a third set of nodes.

    If they are, every linear SEM on this graph has zero partial correlation between each node of
    ``a`` and each of ``b`` given ``given``; if they are not, almost none has.

    Parameters
    ----------
    a, b, given : str or iterable of str
        Disjoint sets of nodes; a string is one node. Cycles and bows are allowed in the graph.

    Returns
    -------
    bool

    Raises
    ------
    GraphError
        When a node is unknown, or the sets overlap.

    Notes
    -----
    A search over states (node, arrived by an arrowhead or by a tail): every state is entered once,
    so every edge is looked at no more than twice from each side.

    Examples
    --------
    Figure 1 (b) of the paper, where x1 and x3 are independent given x2:

    >>> import bowfree as bf
    >>> g = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    >>> g.m_separated("x1", "x3", given="x2"), g.m_separated("x1", "x3")
    (True, False)
    >>> g.m_separated("x1", "x4", given=["x2", "x3"])
    False

    References
    ----------
    Section 2.1 of the paper; P. Spirtes and others (1998) for the global Markov property.
    """
    source, target, evidence = graph._mask(a), graph._mask(b), graph._mask(given)
    overlap = (source & target) | (source & evidence) | (target & evidence)
    if overlap:
        raise GraphError(
            f"{sorted(graph._names(overlap))} in more than one of a, b and given; "
            "m-separation is about disjoint sets"
        )
    parents, spouses, children = graph._parents, graph._spouses, graph._children()
    opened = closure(parents, evidence)  # colliders that let a walk pass: an(C)
    # A start node behaves like a non-collider outside C: all its edges may be taken.
    by_tail, by_head = source, 0
    new_tail, new_head = source, 0
    while new_tail or new_head:
        if (new_tail | new_head) & target:
            return False
        # Leaving along v -> c: v is no collider, and must be outside C.
        # Leaving along v <- p or v <-> s: no collider if the walk came by a tail, else a collider.
        through = (new_tail | new_head) & ~evidence
        against = (new_tail & ~evidence) | (new_head & opened)
        new_tail, new_head = (
            union(parents, against) & ~by_tail,
            (union(children, through) | union(spouses, against)) & ~by_head,
        )
        by_tail |= new_tail
        by_head |= new_head
    return True


def minimal_separator(
    graph: MixedGraph, a: str, b: str, *, including: Iterable[str] = ()
) -> tuple[str, ...] | None:
    """Return a set that m-separates two nodes and has no needless member, in node order.

    Parameters
    ----------
    a, b : str
        Two nodes of an acyclic graph.
    including : iterable of str
        Nodes that the set has to have; the others are needed.

    Returns
    -------
    tuple of str or None
        None when no set (with these nodes) separates them.

    Notes
    -----
    If any set separates a and b, one among their ancestors does. Among the ancestors m-separation
    is separation in an undirected graph, in which two nodes are joined when a path of colliders
    leads from one to the other: through children and districts of the first to a member of such a
    district or to a parent of one. There the neighbors of a that b can be reached from, without
    passing other neighbors of a, are a separator, and each of them is needed.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.graph.separation import minimal_separator
    >>> minimal_separator(bf.parse("w -> x -> y -> z <- w"), "x", "z")
    ('w', 'y')
    >>> minimal_separator(bf.parse("x -> y <-> z"), "x", "z", including=["y"]) is None
    True

    References
    ----------
    B. van der Zander, M. Liskiewicz, J. Textor, Separators and adjustment sets in causal graphs,
    Artificial Intelligence 270 (2019).
    """
    start, end, needed = graph._mask(a), graph._mask(b), graph._mask(including)
    parents, spouses, children = graph._parents, graph._spouses, graph._children()
    ancestors = closure(parents, start | end | needed)

    def joined(nodes: int) -> int:
        """Neighbors in the undirected graph, of all nodes of a set."""
        heads = closure(spouses, nodes | (union(children, nodes) & ancestors), within=ancestors)
        return heads | (union(parents, heads) & ancestors)

    near = joined(start) & ~start
    if near & end:
        return None
    fence = near & ~needed
    reached = frontier = end
    while frontier:
        # One node at a time: a path of colliders belongs to one node, not to a set of them.
        step = 0
        for v in members(frontier & ~fence):
            step |= joined(1 << v)
        frontier = step & ~reached & ~needed
        reached |= frontier
    return tuple(graph.nodes[v] for v in members((fence & reached) | needed))
