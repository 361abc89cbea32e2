"""The maximal ancestral graph (MAG) with the same m-separations.

A BAP can have two nodes without an edge that no set separates (Figure 2 of the paper is about what
such pairs mean), and a ``<->`` between a node and its ancestor. A MAG has neither: two nodes are
joined exactly when no set m-separates them, and an edge is ``a -> b`` when a is an ancestor of b,
``<->`` when neither is of the other. Every acyclic mixed graph has one MAG; what the graph says
beyond its m-separations (effects, constraints of other kinds) is not in it.

Next: :mod:`bowfree.graph.pag`, what all MAGs with these m-separations have in common.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from bowfree.graph.bit_sets import closure
from bowfree.graph.separation import minimal_separator
from bowfree.graph.structure import check_acyclic

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

__all__: list[str] = []  # reached through MixedGraph


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
