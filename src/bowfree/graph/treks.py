"""Treks, the collider-free paths, whose products make up the covariances (appendix A.1).

A trek from i to j goes up against directed edges from i to a top, crosses over at most once along a
bidirected edge, and goes down to j::

    i <- ... <- head -> ... -> j          i <- ... <- a <-> b -> ... -> j

Its left side is the part that leads to i, its right side the part that leads to j. Wright's theorem
turns treks into covariances, see :meth:`LinearSEM.wright_covariance`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bowfree.graph.bit_sets import closure, members, singletons
from bowfree.graph.paths import directed_walks
from bowfree.graph.structure import check_acyclic
from bowfree.graph.text import quote

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


@dataclass(frozen=True)
class Trek:
    """A trek from ``left[0]`` to ``right[-1]``.

    Attributes
    ----------
    left : tuple of str
        The left side, from the first node up: i, ..., top.
    right : tuple of str
        The right side, from the top down: top, ..., j. Both tops are the same node, the head,
        unless the trek has a bidirected edge between them.

    Examples
    --------
    >>> import bowfree as bf
    >>> trek = bf.Trek(left=("x", "h"), right=("h", "y"))
    >>> print(trek, "with head", trek.head)
    x <- h -> y with head h
    >>> print(bf.Trek(left=("x", "u"), right=("y",)))
    x <- u <-> y

    References
    ----------
    Appendix A.1 of the paper.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def head(self) -> str | None:
        """The common top of both sides; None when they are joined by a bidirected edge."""
        return self.left[-1] if self.left[-1] == self.right[0] else None

    @property
    def is_simple(self) -> bool:
        """True when left and right side have no node in common, except for the head."""
        return set(self.left) & set(self.right) <= {self.head}

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in order from i to j; the head counts once."""
        return self.left + (self.right if self.head is None else self.right[1:])

    @property
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """The edges in order from i to j, as (node, mark, next node)."""
        up = [(a, "<-", b) for a, b in zip(self.left, self.left[1:], strict=False)]
        across = [] if self.head is not None else [(self.left[-1], "<->", self.right[0])]
        down = [(a, "->", b) for a, b in zip(self.right, self.right[1:], strict=False)]
        return tuple(up + across + down)

    def reversed(self) -> Trek:
        """Return the same trek read from j to i."""
        return Trek(self.right[::-1], self.left[::-1])

    def __str__(self) -> str:
        words = [quote(self.left[0])]
        for _, mark, node in self.edges:
            words += [mark, quote(node)]
        return " ".join(words)


def treks(graph: MixedGraph, a: str, b: str, *, simple: bool = False) -> Iterator[Trek]:
    """Yield the treks from a to b.

    Parameters
    ----------
    a, b : str
        First and last node. The trek of length zero from a node to itself is not one (appendix
        A.1 keeps the error variance apart), so it is not listed.
    simple : bool, default: False
        Only those whose left and right sides do not meet (except in the head). There are none
        from a node to itself.

    Yields
    ------
    Trek
        Tops in node order, depth first. In an acyclic graph the number is finite, yet it can be
        exponential in the number of edges.

    Raises
    ------
    GraphError
        When the graph has a directed cycle: the treks would never end.

    Examples
    --------
    Figure 1 (b) of the paper has two treks between x2 and x4:

    >>> import bowfree as bf
    >>> for trek in bf.parse("x1 -> x2 -> x3 -> x4 <-> x2").treks("x2", "x4", simple=True):
    ...     print(trek)
    x2 -> x3 -> x4
    x2 <-> x4

    References
    ----------
    Appendix A.1 of the paper: the sets T^ij and S^ij.
    """
    check_acyclic(graph)
    return _treks(graph, graph._node(a), graph._node(b), simple)


def _treks(graph: MixedGraph, i: int, j: int, simple: bool) -> Iterator[Trek]:
    above_j = closure(graph._parents, 1 << j)
    for top in members(closure(graph._parents, 1 << i)):
        if not (graph._spouses[top] | 1 << top) & above_j:
            continue
        for down in directed_walks(graph, top, i):
            left = tuple(graph._nodes[v] for v in reversed(down))
            taken = singletons(down) if simple else 0
            if top == j == i:
                starts = graph._spouses[top] & above_j  # not the trek of length zero
            else:
                starts = (graph._spouses[top] | 1 << top) & above_j
            # The head first, then the spouses of the top.
            for start in sorted(members(starts), key=lambda v: (v != top, v)):
                avoid = taken & ~(1 << top) if start == top else taken
                for right in directed_walks(graph, start, j, avoid=avoid):
                    yield Trek(left, tuple(graph._nodes[v] for v in right))
