"""Latent projection: the graph that is left when some variables are hidden (figure 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bowfree.graph.bit_sets import members, transpose
from bowfree.graph.structure import check_acyclic

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

__all__: list[str] = []  # reached through MixedGraph


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
