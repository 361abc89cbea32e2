"""When two graphs have the same m-separations: what independences alone could tell.

For Gaussian BAPs it is less than their equivalence (:mod:`bowfree.equivalence.decision`), as there
are constraints that are no independences.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bowfree.equivalence.decision import aligned
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.separation import minimal_separator

__all__ = ["markov_equivalent", "separation_difference"]


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
    questions, their maximal ancestral graphs have the same adjacencies, the same unshielded
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
    for a, b, including in _questions(g, h):
        in_g = _separable(g, a, b, including)
        if in_g != _separable(h, a, b, including):
            given = minimal_separator(g if in_g else h, a, b, including=including)
            assert given is not None
            return a, b, given, in_g
    return None


def _questions(g: MixedGraph, h: MixedGraph) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (a, b, including) such that graphs which agree on all have equal m-separations."""
    inseparable: dict[str, set[str]] = {v: set() for v in g.nodes}
    separable = []
    for a, b in combinations(g.nodes, 2):
        if g.adjacent(a, b) and h.adjacent(a, b):
            inseparable[a].add(b)
            inseparable[b].add(a)
            continue
        yield a, b, ()
        # Whoever asks on has found that the graphs agree on this pair.
        if _separable(g, a, b, ()):
            separable.append((a, b))
        else:
            inseparable[a].add(b)
            inseparable[b].add(a)
    for a, b in separable:
        # The middle of an unshielded triple, and the node that a discriminating path is about, are
        # inseparable from a or from b.
        for k in sorted(inseparable[a] | inseparable[b], key=g._node):
            yield a, b, (k,)


def _separable(graph: MixedGraph, a: str, b: str, including: tuple[str, ...]) -> bool:
    if graph.adjacent(a, b):
        return False
    return graph.m_separated(a, b, graph.ancestors((a, b, *including)) - {a, b})
