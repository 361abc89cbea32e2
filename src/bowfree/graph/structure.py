"""Structure of a graph: districts, colliders, cycles, bows, and graph classes (section 2.1).

The public functions are methods of :class:`~bowfree.MixedGraph`. The classes are nested::

    DAG  ⊂  ancestral  ⊂  arid  ⊂  BAP (bow-free, acyclic)  ⊂  ADMG (acyclic)  ⊂  mixed graph
"""

from __future__ import annotations

from itertools import combinations
from operator import and_
from typing import TYPE_CHECKING

from bowfree.errors import GraphError
from bowfree.graph.encodings import closure, members, singletons
from bowfree.graph.text import quote

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


def districts(self: MixedGraph) -> tuple[tuple[str, ...], ...]:
    """Return the districts: the sets of nodes connected by bidirected edges.

    They are a partition of the nodes, ordered by first nodes. The likelihood and the score of a BAP
    are sums over districts (section 3.1 of the paper).

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.parse("a -> b <-> c, d <-> b").districts()
    (('a',), ('b', 'c', 'd'))
    """
    return tuple(tuple(self._nodes[v] for v in members(mask)) for mask in district_masks(self))


def district_masks(graph: MixedGraph) -> list[int]:
    """Return the districts as masks, ordered by their first node."""
    result = []
    rest = (1 << len(graph._nodes)) - 1
    while rest:
        district = closure(graph._spouses, rest & -rest)
        result.append(district)
        rest &= ~district
    return result


def skeleton(self: MixedGraph) -> frozenset[frozenset[str]]:
    """Return the skeleton: the pairs of nodes joined by at least one edge."""
    return frozenset(map(frozenset, self.directed + self.bidirected))


def collider_triples(self: MixedGraph) -> frozenset[tuple[str, str, str]]:
    """Return the collider triples: (i, j, k) with arrowheads from i and from k at j.

    Each triple appears once, with i before k in node order. Graphs with the same skeleton and
    collider triples are distributionally equivalent (theorem "sufficient").
    """
    into = [p | s for p, s in zip(self._parents, self._spouses, strict=True)]
    nodes = self._nodes
    return frozenset(
        (nodes[i], nodes[j], nodes[k])
        for j, mask in enumerate(into)
        for i, k in combinations(members(mask), 2)
    )


def v_structures(self: MixedGraph) -> frozenset[tuple[str, str, str]]:
    """Return the v-structures: collider triples (i, j, k) with i and k not adjacent.

    Equivalent BAPs agree in them (corollary "necessary").

    Examples
    --------
    >>> import bowfree as bf
    >>> sorted(bf.parse("a -> b <-> c, a -> c, c <- d").v_structures())
    [('a', 'c', 'd'), ('b', 'c', 'd')]
    """
    return frozenset(t for t in collider_triples(self) if not self.adjacent(t[0], t[2]))


def topological_order(self: MixedGraph) -> tuple[str, ...]:
    """Return the nodes with every parent before its children, or raise a GraphError for a cycle.

    Of the nodes whose parents are all placed, the first in node order is next. The order is
    therefore unique; the compiled core uses the same rule.
    """
    order, rest = peel_sources(self)
    if rest:
        check_acyclic(self)
    return tuple(self._nodes[v] for v in order)


def peel_sources(graph: MixedGraph) -> tuple[tuple[int, ...], int]:
    """Remove nodes without remaining parents; return their order and the mask of the other nodes.

    The other nodes contain every directed cycle. The result is cached in the graph.
    """
    if graph._peeled is None:
        object.__setattr__(graph, "_peeled", _peel(graph))
    return graph._peeled  # type: ignore[return-value]  # set just above


def _peel(graph: MixedGraph) -> tuple[tuple[int, ...], int]:
    children = graph._children()
    n_parents = [mask.bit_count() for mask in graph._parents]
    free = singletons(v for v, count in enumerate(n_parents) if count == 0)
    rest = (1 << len(n_parents)) - 1
    order = []
    while free:
        low = free & -free
        free ^= low
        rest ^= low
        v = low.bit_length() - 1
        order.append(v)
        for child in members(children[v]):
            n_parents[child] -= 1
            if n_parents[child] == 0:
                free |= 1 << child
    return tuple(order), rest


def find_cycle(self: MixedGraph) -> tuple[str, ...] | None:
    """Return the nodes of one directed cycle, in order, or None if there is no cycle."""
    _, rest = peel_sources(self)
    if not rest:
        return None
    # Every remaining node has a remaining parent, so a walk from parent to parent ends in a cycle.
    v = next(members(rest))
    seen: dict[int, int] = {}
    walk: list[int] = []
    while v not in seen:
        seen[v] = len(walk)
        walk.append(v)
        v = next(members(self._parents[v] & rest))
    cycle = walk[seen[v] :][::-1]
    first = cycle.index(min(cycle))
    return tuple(self._nodes[v] for v in cycle[first:] + cycle[:first])


def bows(self: MixedGraph) -> tuple[tuple[str, str], ...]:
    """Return the bows: the pairs (i, j) with both i -> j and i <-> j."""
    return tuple(
        (i, j) for i, j in self.directed if self._spouses[self._index[j]] >> self._index[i] & 1
    )


def is_acyclic(self: MixedGraph) -> bool:
    """Test whether there is no directed cycle (an ADMG, or recursive path diagram)."""
    return not peel_sources(self)[1]


def is_bow_free(self: MixedGraph) -> bool:
    """Test whether no pair of nodes has both a directed and a bidirected edge."""
    return not any(map(and_, self._parents, self._spouses))


def is_bap(self: MixedGraph) -> bool:
    """Test whether the graph is a bow-free acyclic path diagram, the class of the paper."""
    return is_bow_free(self) and is_acyclic(self)


def is_dag(self: MixedGraph) -> bool:
    """Test whether the graph is acyclic and has no bidirected edge."""
    return not any(self._spouses) and is_acyclic(self)


def is_ancestral(self: MixedGraph) -> bool:
    """Test whether the graph is acyclic and no node is an ancestor of one of its spouses.

    References
    ----------
    T. Richardson and P. Spirtes, Ancestral graph Markov models, Annals of Statistics 30 (2002),
    section 3; without undirected edges.
    """
    return is_acyclic(self) and not any(
        spouses & closure(self._parents, 1 << v) for v, spouses in enumerate(self._spouses)
    )


def is_arid(self: MixedGraph) -> bool:
    """Test whether the graph is acyclic and all its parameters are globally identified.

    An arid graph has no set W of two or more nodes that is connected by bidirected edges inside W
    and in which all nodes have directed paths, inside W, to one of them. This is equivalent to the
    map from parameters (B, Omega) to the covariance matrix being injective. A bow is such a set, so
    arid graphs are BAPs; for BAPs in general the map is injective outside a null set only.

    Examples
    --------
    A chain a -> b -> c -> d whose three other pairs are confounded is a BAP but not arid:

    >>> import bowfree as bf
    >>> g = bf.parse("a -> b -> c -> d, a <-> c, a <-> d, b <-> d")
    >>> g.is_bap(), g.is_arid(), g.remove("a <-> c").is_arid()
    (True, False, True)

    References
    ----------
    M. Drton, R. Foygel and S. Sullivant, Global identifiability of linear structural equation
    models, Annals of Statistics 39 (2011), theorem 2; the name "arid" is that of I. Shpitser,
    R. Evans and T. Richardson, Acyclic linear SEMs obey the nested Markov property, UAI 2018.
    """
    return is_acyclic(self) and all(
        convergent_set(self, v) == 1 << v for v in range(len(self._nodes))
    )


def convergent_set(graph: MixedGraph, v: int) -> int:
    """Return the largest set W that is connected by ``<->`` in W and leads to v by ``->`` in W.

    Every such set is contained in each step of the iteration, and its fixed point is such a set.
    """
    inside = (1 << len(graph._nodes)) - 1
    while True:
        district = closure(graph._spouses, 1 << v, within=inside)
        leading = closure(graph._parents, 1 << v, within=district)
        if leading == inside:
            return inside
        inside = leading


def check_acyclic(self: MixedGraph) -> None:
    """Raise a GraphError that names a directed cycle if there is one."""
    cycle = find_cycle(self)
    if cycle is not None:
        path = " -> ".join(map(quote, cycle + cycle[:1]))
        raise GraphError(f"graph has a directed cycle {path}; drop or reverse one of its edges")


def check_bap(self: MixedGraph) -> None:
    """Raise a GraphError that names a directed cycle or a bow, unless the graph is a BAP."""
    check_acyclic(self)
    if not is_bow_free(self):
        x, y = map(quote, bows(self)[0])
        raise GraphError(
            f"graph has a bow at ({x}, {y}): both {x} -> {y} and {x} <-> {y}; drop one of the two "
            "(graph.identified() shows which coefficients data determine)"
        )
