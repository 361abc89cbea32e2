"""When two graphs have the same m-separations: what independences alone could tell.

For Gaussian BAPs it is less than their equivalence (:mod:`bowfree.equivalence.decision`), as there
are constraints that are no independences.
"""

from __future__ import annotations

from itertools import combinations

from bowfree.equivalence.decision import aligned
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.separation import minimal_separator


def markov_equivalent(graph: GraphLike, other: GraphLike) -> bool:
    """Tell whether two acyclic graphs have the same m-separations: necessary for equivalence.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        Acyclic graphs on the same nodes; bows are allowed.

    Returns
    -------
    bool

    Notes
    -----
    Not all 2^d conditioning sets are looked at. Nodes a and b are separated by some set that
    contains k exactly if the ancestors of a, b and k separate them. If two graphs agree on these
    questions, for all k that may be the middle of a triple or the end of a discriminating path,
    their maximal ancestral graphs have the same adjacencies, the same unshielded
    colliders, and the same colliders at the ends of discriminating paths; so they have the same
    m-separations (Spirtes and Richardson 1996).

    Examples
    --------
    Figure "counterexample" (a) and (c): no m-separations at all in either, and not equivalent:

    >>> import bowfree as bf
    >>> a = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4")
    >>> c = a.add("x2 <-> x3")
    >>> bf.markov_equivalent(a, c), bf.equivalent(a, c)
    (True, False)

    References
    ----------
    Section 2.4 of the paper, Lemma "m-sep".
    """
    g, h = graph_of(graph), graph_of(other)
    g.check_acyclic()
    h.check_acyclic()
    return separation_difference(g, aligned(g, h)) is None


def separation_difference(
    g: MixedGraph, h: MixedGraph
) -> tuple[str, str, tuple[str, ...], bool] | None:
    """Return an m-separation of one of the graphs only, as (a, b, given, is it the first's)."""
    near: dict[str, set[str]] = {v: set() for v in g.nodes}  # what no set separates from v
    apart = []
    for a, b in combinations(g.nodes, 2):
        in_g = _separable(g, a, b)
        if in_g != _separable(h, a, b):
            return _witness(g, h, a, b, in_g=in_g)
        if in_g:
            apart.append((a, b))
        else:
            near[a].add(b)
            near[b].add(a)
    for a, b in apart:
        # The middle of an unshielded triple is near both. On a discriminating path between a and b,
        # all nodes but the last are parents of b: the one next to a is near both, too.
        if near[a].isdisjoint(near[b]):
            continue
        for k in sorted(near[a] | near[b], key=g._node):
            in_g = _separable(g, a, b, k)
            if in_g != _separable(h, a, b, k):
                return _witness(g, h, a, b, k, in_g=in_g)
    return None


def _witness(
    g: MixedGraph, h: MixedGraph, a: str, b: str, *including: str, in_g: bool
) -> tuple[str, str, tuple[str, ...], bool]:
    """Return the m-separation that one of the graphs has."""
    given = minimal_separator(g if in_g else h, a, b, including=including)
    assert given is not None
    return a, b, given, in_g


def _separable(graph: MixedGraph, a: str, b: str, *including: str) -> bool:
    """Tell whether some set with these nodes separates a and b."""
    if graph.adjacent(a, b):
        return False
    return graph.m_separated(a, b, graph.ancestors((a, b, *including)) - {a, b})
