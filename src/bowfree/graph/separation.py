"""Conditional independences of a graph: m-separation, latent projection, maximal ancestral graph.

A path is m-connecting given C if its non-colliders are outside C and its colliders are ancestors of
C (section 2.1). Instead of paths, the test follows *walks*, which may visit a node twice, edge by
edge: an m-connecting walk exists if and only if an m-connecting path exists. (Cut the walk at a
node v that it visits twice. If this makes v a collider, the part that was cut out leaves v along
directed edges and ends in a collider, so v is an ancestor of C.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, islice
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    FORWARD,
    closure,
    masks_of_states,
    members,
    transpose,
    union,
)
from bowfree.graph.structure import check_acyclic
from bowfree.parameters import public
from bowfree.results.rows import Row
from bowfree.validation import check_count

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


@public
def m_separated(
    self: MixedGraph,
    a: str | Iterable[str],
    b: str | Iterable[str],
    given: str | Iterable[str] = (),
) -> bool:
    """Test whether `a` and `b` are m-separated given a third set of nodes.

    If so, every linear SEM on this graph has zero partial correlation between each node of `a` and
    each node of `b` given `given`; if not, almost no linear SEM on this graph has.

    Parameters
    ----------
    a, b, given : str or iterable of str
        Disjoint sets of nodes. The graph may have cycles and bows.

    Raises
    ------
    GraphError
        If a node is unknown or the sets overlap.

    Examples
    --------
    Figure 1 (b) of the paper, where x1 and x3 are independent given x2:

    >>> import bowfree as bf
    >>> g = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    >>> g.m_separated("x1", "x3", given="x2"), g.m_separated("x1", "x3")
    (True, False)
    >>> g.m_separated("x1", "x4", given=["x2", "x3"])
    False
    """
    source, target, evidence = self._mask(a), self._mask(b), self._mask(given)
    overlap = (source & target) | (source & evidence) | (target & evidence)
    if overlap:
        raise GraphError(
            f"{sorted(self._names(overlap))} in more than one of a, b and given; "
            "m-separation requires disjoint sets"
        )
    parents, spouses, children = self._parents, self._spouses, self._children()
    opened = closure(parents, evidence)  # an(C): colliders that a walk may pass
    # A walk may leave the start along any edge, as if it had arrived by a tail.
    by_tail, by_head = source, 0
    new_tail, new_head = source, 0
    while new_tail or new_head:
        if (new_tail | new_head) & target:
            return False
        # Along v -> c: v is not a collider and must be outside C.
        # Along v <- p or v <-> s: v is a collider if the walk arrived by an arrowhead.
        through = (new_tail | new_head) & ~evidence
        against = (new_tail & ~evidence) | (new_head & opened)
        new_tail, new_head = (
            union(parents, against) & ~by_tail,
            (union(children, through) | union(spouses, against)) & ~by_head,
        )
        by_tail |= new_tail
        by_head |= new_head
    return True


def separable(graph: MixedGraph, a: str, b: str, *including: str) -> bool:
    """Return whether some set that includes these nodes m-separates two nodes of an acyclic graph.

    Then their ancestors do: no path of colliders in the ancestors joins a and b.
    """
    i, j = graph._node(a), graph._node(b)
    ancestors = closure(graph._parents, graph._mask((a, b, *including)))
    return not _joined(graph, i, ancestors) >> j & 1


def minimal_separator(
    graph: MixedGraph, a: str, b: str, *, including: Iterable[str] = ()
) -> tuple[str, ...] | None:
    """Return a minimal set that m-separates two nodes of an acyclic graph, in node order, or None.

    The set contains all nodes `including`; without any of its other nodes it does not separate.
    """
    i, j, required = graph._node(a), graph._node(b), graph._mask(including)
    ancestors = closure(graph._parents, 1 << i | 1 << j | required)
    # Of the neighbors of a, those that b reaches without passing others.
    border = _joined(graph, i, ancestors) & ~required
    if border >> j & 1:
        return None
    reached = frontier = 1 << j
    while frontier:
        step = 0
        for v in members(frontier & ~border):
            step |= _joined(graph, v, ancestors)
        frontier = step & ~reached & ~required
        reached |= frontier
    return tuple(graph.nodes[v] for v in members((border & reached) | required))


def minimal_separators(
    graph: MixedGraph, a: int, b: int, *, allowed: int = -1
) -> Iterator[tuple[str, ...]]:
    """Yield all minimal sets of `allowed` nodes that m-separate two nodes of an acyclic graph."""
    near = augmented_graph(graph, 1 << a | 1 << b)
    # A path through a node that is not allowed cannot be blocked there: join its neighbors.
    for v, around in enumerate(near):
        if around and not allowed >> v & 1 and v not in (a, b):
            for u in members(around):
                near[u] = (near[u] | around) & ~(1 << u) & ~(1 << v)
            near[v] = 0
    for found in _separators(near, a, b):
        yield tuple(graph.nodes[v] for v in members(found))


def augmented_graph(graph: MixedGraph, nodes: int) -> list[int]:
    """Return masks of neighbors in the undirected graph whose separations are m-separations.

    If any set separates two nodes, a subset of their ancestors does. Among the ancestors of `nodes`
    m-separation is separation in the graph that joins two nodes if a path of colliders leads from
    one to the other (van der Zander, Liskiewicz, Textor, Artificial Intelligence 270, 2019).
    """
    ancestors = closure(graph._parents, nodes)
    return [_joined(graph, v, ancestors) if ancestors >> v & 1 else 0 for v in range(len(graph))]


def _joined(graph: MixedGraph, v: int, ancestors: int) -> int:
    """Return the nodes that paths of colliders in an ancestral set join to v."""
    heads = closure(graph._spouses, 1 << v | (graph._children()[v] & ancestors), within=ancestors)
    return (heads | union(graph._parents, heads)) & ~(1 << v)


def _separators(near: list[int], a: int, b: int) -> Iterator[int]:
    """Yield the minimal sets that separate a from b in an undirected graph.

    A task is a pair (side, fixed): the separators that contain `fixed` and whose side of a contains
    `side`. The one closest to a is the border of the part of b. If it has a node v that is not
    fixed, the others contain v, or have it on the side of a. There is a result for every task
    (K. Takata, Discrete Applied Mathematics 158, 2010).
    """
    tasks = [(1 << a, 0)]
    while tasks:
        side, fixed = tasks.pop()
        border = union(near, side) & ~side
        if (side | border) >> b & 1:
            continue
        far = closure(near, 1 << b, within=~(side | border))
        closest = union(near, far) & ~far
        if fixed & ~closest:
            continue
        if closest == fixed:
            yield closest
            continue
        side = closure(near, 1 << a, within=~(closest | far))
        v = (closest & ~fixed) & -(closest & ~fixed)
        tasks.append((side | v, fixed))
        tasks.append((side, fixed | v))


@public
def independencies(self: MixedGraph, *, limit: int = 1000) -> tuple[Row, ...]:
    """Return the testable implications: pairs of nodes and the minimal sets that separate them.

    :func:`bowfree.constraint_tests` tests the implications of a graph on data, also those that are
    not independencies.

    Parameters
    ----------
    limit : int
        Largest number of independencies.

    Returns
    -------
    tuple of Row
        ``a``, ``b`` and ``given``: a and b are independent given the set, and not given any proper
        subset of it. A pair can have several sets.

    Examples
    --------
    >>> import bowfree as bf
    >>> for row in bf.parse("x -> m -> y, x -> w -> y").independencies():
    ...     print(row.a, row.b, row.given)
    x y ('m', 'w')
    m w ('x',)
    """
    check_acyclic(self)
    check_count("limit", limit, 1)
    found = (
        Row(a=self.nodes[i], b=self.nodes[j], given=given)
        for i, j in combinations(range(len(self)), 2)
        if not self.adjacent(self.nodes[i], self.nodes[j])
        for given in minimal_separators(self, i, j)
    )
    return tuple(islice(found, limit))


@public
def latent_projection(self: MixedGraph, hidden: str | Iterable[str]) -> MixedGraph:
    """Return the graph over the other nodes if the nodes `hidden` are not observed.

    The projection has x -> y if there is a directed path from x to y whose inner nodes are hidden,
    and x <-> y if there is such a trek with an arrowhead at each end. The observed variables of a
    linear SEM on this graph follow a linear SEM on the projection, which can have bows.

    Parameters
    ----------
    hidden : str or iterable of str
        The nodes to hide. The graph must be acyclic.

    Examples
    --------
    Figure 1 of the paper, from (a) to (b), and to (c), which has a bow:

    >>> import bowfree as bf
    >>> a = bf.parse("x1, x2, x3, x4, x1 -> h1 <- x3, x1 -> h2 -> x2 <- h3 -> x4, x2 -> x3 -> x4")
    >>> b = a.latent_projection(["h1", "h2", "h3"])
    >>> print(b)
    x1 -> x2 -> x3 -> x4 <-> x2
    >>> print(b.latent_projection("x3"))
    x1 -> x2 -> x4 <-> x2
    """
    check_acyclic(self)
    hide = self._mask(hidden)
    parents, spouses = list(self._parents), list(self._spouses)
    children = transpose(parents)
    for h in members(hide):  # one after the other; the order does not matter
        bit = 1 << h
        for c in members(children[h]):
            # x -> h -> c, x <-> h -> c and x <- h -> c; for x = c only the variance changes.
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
    keep = ((1 << len(self._nodes)) - 1) & ~hide
    return self._with(parents, spouses).subgraph(self._names(keep))


def mag(self: MixedGraph) -> MixedGraph:
    """Return the maximal ancestral graph (MAG) with the same ancestors and m-separations.

    Two nodes of a MAG are joined if and only if no set m-separates them. The edge is ``a -> b`` if
    a is an ancestor of b, and ``<->`` if neither is an ancestor of the other. Raises a GraphError
    if the graph has a directed cycle.

    Examples
    --------
    In figure 1 (b) of the paper x1 and x4 are not adjacent, but no set separates them:

    >>> import bowfree as bf
    >>> print(bf.parse("x1 -> x2 -> x3 -> x4 <-> x2").mag())
    x1 -> x2 -> x3 -> x4 <- x1, x2 -> x4

    References
    ----------
    T. Richardson, P. Spirtes, Ancestral graph Markov models, Annals of Statistics 30 (2002).
    """
    check_acyclic(self)
    ancestors = [closure(self._parents, 1 << v) for v in range(len(self))]
    pairs = [
        (i, j)
        for i, j in combinations(range(len(self)), 2)
        if not separable(self, self.nodes[i], self.nodes[j])
    ]
    states = [
        FORWARD if ancestors[j] >> i & 1 else BACKWARD if ancestors[i] >> j & 1 else BIDIRECTED
        for i, j in pairs
    ]
    return self._with(*masks_of_states(len(self), states, pairs))
