"""m-separation: which partial correlations a mixed graph forces to be zero (section 2.1).

A path is m-connecting given C if its non-colliders are outside C and its colliders are ancestors of
C. Paths are too many to look at one by one; but a *walk*, which may visit a node twice, can be
followed edge by edge, and an m-connecting walk exists exactly when an m-connecting path does (cut
the walk at a node v it visits twice: if v becomes a collider that it was not before, the piece cut
out left v along directed edges and has to end in a collider, so v is an ancestor of C).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.encodings import closure, members, transpose, union
from bowfree.graph.structure import check_acyclic

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


def latent_projection(graph: MixedGraph, hidden: str | Iterable[str]) -> MixedGraph:
    """Return the graph over the other nodes when ``hidden`` are not observed.

    There is x -> y when a directed path from x to y has only hidden nodes in between, and x <-> y
    when a trek with an arrowhead at each end has. The observed variables of a linear SEM on this
    graph follow a linear SEM on the projection. The result can have bows.

    Parameters
    ----------
    hidden : str or iterable of str
        The nodes to hide.

    Returns
    -------
    MixedGraph
        On the remaining nodes, in their order.

    Raises
    ------
    GraphError
        When a node is unknown, or the graph has a directed cycle.

    Notes
    -----
    One node is hidden after the other; the order does not matter.

    Examples
    --------
    Figure 1 of the paper, from (a) to (b), and on to (c), which has a bow:

    >>> import bowfree as bf
    >>> a = bf.parse("x1, x2, x3, x4, x1 -> h1 <- x3, x1 -> h2 -> x2 <- h3 -> x4, x2 -> x3 -> x4")
    >>> b = a.latent_projection(["h1", "h2", "h3"])
    >>> print(b)
    x1 -> x2 -> x3 -> x4 <-> x2
    >>> print(b.latent_projection("x3"))
    x1 -> x2 -> x4 <-> x2

    References
    ----------
    Section 1 of the paper, figure 1; T. Verma and J. Pearl (1990).
    """
    check_acyclic(graph)
    hide = graph._mask(hidden)
    parents, spouses = list(graph._parents), list(graph._spouses)
    children = transpose(parents)
    for h in members(hide):
        bit = 1 << h
        for c in members(children[h]):
            # x -> h -> c, x <-> h -> c and x <- h -> c; x = c (a bow, or c itself) only adds to the
            # variance of c.
            parents[c] = (parents[c] | parents[h]) & ~bit
            spouses[c] |= (spouses[h] | children[h]) & ~bit & ~(1 << c)
            for x in members(spouses[h]):
                if x != c:
                    spouses[x] |= 1 << c
        for x in members(parents[h]):
            children[x] = (children[x] | children[h]) & ~bit
        for x in members(spouses[h]):
            spouses[x] &= ~bit
        parents[h] = children[h] = spouses[h] = 0
    keep = ((1 << len(graph._nodes)) - 1) & ~hide
    return graph._with(parents, spouses).subgraph(graph._names(keep))


def mag(graph: MixedGraph) -> MixedGraph:
    """Return the maximal ancestral graph with the same ancestors and m-separations.

    Returns
    -------
    MixedGraph
        On the same nodes; ancestral, and every pair without an edge is separated by some set.

    Raises
    ------
    GraphError
        When the graph has a directed cycle.

    Examples
    --------
    Figure 1 (b) of the paper, where x1 and x4 are not adjacent and no set separates them:

    >>> import bowfree as bf
    >>> print(bf.parse("x1 -> x2 -> x3 -> x4 <-> x2").mag())
    x1 -> x2 -> x3 -> x4 <- x1, x2 -> x4

    References
    ----------
    T. Richardson, P. Spirtes, Ancestral graph Markov models, Annals of Statistics 30 (2002).
    """
    check_acyclic(graph)
    d = len(graph)
    ancestors = [closure(graph._parents, 1 << v) for v in range(d)]
    parents, spouses = [0] * d, [0] * d
    for i, j in combinations(range(d), 2):
        a, b = graph.nodes[i], graph.nodes[j]
        if not graph.adjacent(a, b) and minimal_separator(graph, a, b) is not None:
            continue
        if ancestors[j] >> i & 1:
            parents[j] |= 1 << i
        elif ancestors[i] >> j & 1:
            parents[i] |= 1 << j
        else:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return graph._with(parents, spouses)
