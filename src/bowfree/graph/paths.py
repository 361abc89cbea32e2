"""Paths, directed paths and treks of a mixed graph, as generators (section 2.1, appendix A.1).

Their number can grow exponentially with the number of edges; :meth:`MixedGraph.m_separated` and
:meth:`MixedGraph.ancestors` answer questions about all paths at once.

A *trek* from i to j is a path without colliders: it goes up against directed edges from i to a top,
crosses at most one bidirected edge, and goes down to j::

    i <- ... <- head -> ... -> j          i <- ... <- a <-> b -> ... -> j

Its left side leads to i, its right side to j. :meth:`bowfree.LinearSEM.wright_covariance` expresses
covariances by treks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bowfree.graph.encodings import closure, members, singletons
from bowfree.graph.structure import check_acyclic
from bowfree.graph.text import quote
from bowfree.parameters import public

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

Step = tuple[str, Sequence[int]]
"""A mark and, for every node, the mask of nodes that edges with this mark lead to."""


@dataclass(frozen=True)
class Path:
    """A path: its nodes, and the marks of its edges.

    The marks are necessary because a pair of nodes can have two edges (a bow).

    Attributes
    ----------
    nodes : tuple of str, length l + 1
        The nodes, in order.
    marks : tuple of ``"->"``, ``"<-"`` or ``"<->"``, length l
        ``marks[k]`` is the edge between ``nodes[k]`` and ``nodes[k + 1]``.

    Examples
    --------
    >>> import bowfree as bf
    >>> path = next(bf.parse("a -> b <-> c").paths("a", "c"))
    >>> print(path)
    a -> b <-> c
    >>> path.length, path.colliders, path.is_directed
    (2, ('b',), False)
    """

    nodes: tuple[str, ...]
    marks: tuple[str, ...]

    @property
    def length(self) -> int:
        """The number of edges."""
        return len(self.marks)

    @property
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """The edges as (node, mark, next node)."""
        return tuple(zip(self.nodes, self.marks, self.nodes[1:], strict=False))

    @property
    def colliders(self) -> tuple[str, ...]:
        """The inner nodes at which two arrowheads meet."""
        return tuple(
            node
            for before, node, after in zip(self.marks, self.nodes[1:], self.marks[1:], strict=False)
            if before != "<-" and after != "->"
        )

    @property
    def is_directed(self) -> bool:
        """Whether all edges point to the last node."""
        return all(mark == "->" for mark in self.marks)

    def __str__(self) -> str:
        return _chain(self.nodes[0], self.edges)


@dataclass(frozen=True)
class Trek:
    """A trek from ``left[0]`` to ``right[-1]``.

    Attributes
    ----------
    left : tuple of str
        The left side, from the first node to the top.
    right : tuple of str
        The right side, from the top to the last node. Both sides have the same top, the head,
        unless the trek has a bidirected edge between their tops.

    Examples
    --------
    >>> import bowfree as bf
    >>> trek = bf.graph.Trek(left=("x", "h"), right=("h", "y"))
    >>> print(trek, "with head", trek.head)
    x <- h -> y with head h
    >>> print(bf.graph.Trek(left=("x", "u"), right=("y",)))
    x <- u <-> y
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def head(self) -> str | None:
        """The common top of both sides, or None if a bidirected edge joins them."""
        return self.left[-1] if self.left[-1] == self.right[0] else None

    @property
    def is_simple(self) -> bool:
        """Whether the two sides have no node in common except the head."""
        return set(self.left) & set(self.right) <= {self.head}

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in order, the head once."""
        return self.left + (self.right if self.head is None else self.right[1:])

    @property
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """The edges in order, as (node, mark, next node)."""
        across = ["<->"] if self.head is None else []
        marks = ["<-"] * (len(self.left) - 1) + across + ["->"] * (len(self.right) - 1)
        return tuple(zip(self.nodes, marks, self.nodes[1:], strict=False))

    def reversed(self) -> Trek:
        """Return the same trek from its last node to its first."""
        return Trek(self.right[::-1], self.left[::-1])

    def __str__(self) -> str:
        return _chain(self.left[0], self.edges)


def _chain(first: str, edges: Sequence[tuple[str, str, str]]) -> str:
    return " ".join([quote(first), *(f"{mark} {quote(node)}" for _, mark, node in edges)])


@public
def paths(self: MixedGraph, a: str, b: str) -> Iterator[Path]:
    """Yield all paths between two nodes that visit no node twice.

    Parameters
    ----------
    a, b : str
        The end nodes. For ``a == b`` there is one path, of length zero.

    Yields
    ------
    Path
        In depth-first order. The two edges of a bow belong to different paths.

    Examples
    --------
    >>> import bowfree as bf
    >>> for path in bf.parse("a -> b -> c <-> a").paths("a", "c"):
    ...     print(path)
    a -> b -> c
    a <-> c
    """
    start, stop = self._node(a), self._node(b)
    steps: list[Step] = [
        ("->", self._children()),
        ("<-", self._parents),
        ("<->", self._spouses),
    ]
    return (
        Path(tuple(self._nodes[v] for v in nodes), marks)
        for nodes, marks in _simple_paths(steps, start, stop, inside=(1 << len(self)) - 1)
    )


@public
def directed_paths(self: MixedGraph, a: str, b: str) -> Iterator[Path]:
    """Yield all directed paths from a to b that visit no node twice.

    In an acyclic linear SEM the total effect of a on b is the sum, over these paths, of the
    products of their coefficients.

    Parameters
    ----------
    a, b : str
        First and last node. For ``a == b`` there is one path, of length zero.
    """
    start, stop = self._node(a), self._node(b)
    return (
        Path(tuple(self._nodes[v] for v in nodes), ("->",) * (len(nodes) - 1))
        for nodes in _directed(self, start, stop)
    )


@public
def treks(self: MixedGraph, a: str, b: str, *, simple: bool = False) -> Iterator[Trek]:
    """Yield the treks from a to b.

    Parameters
    ----------
    a, b : str
        First and last node. The trek of length zero from a node to itself is left out, as in
        appendix A.1, which treats the error variance separately.
    simple : bool
        Only treks whose sides have no node in common except the head. There are none from a node to
        itself.

    Yields
    ------
    Trek
        By tops in node order, depth first.

    Examples
    --------
    Figure 1 (b) of the paper has two treks between x2 and x4:

    >>> import bowfree as bf
    >>> for trek in bf.parse("x1 -> x2 -> x3 -> x4 <-> x2").treks("x2", "x4", simple=True):
    ...     print(trek)
    x2 -> x3 -> x4
    x2 <-> x4
    """
    check_acyclic(self)
    return _treks(self, self._node(a), self._node(b), simple)


def _treks(graph: MixedGraph, i: int, j: int, simple: bool) -> Iterator[Trek]:
    above_j = closure(graph._parents, 1 << j)
    for top in members(closure(graph._parents, 1 << i)):
        starts = graph._spouses[top] & above_j
        if not top == j == i:  # which would be the trek of length zero
            starts |= 1 << top & above_j
        if not starts:
            continue
        for down in _directed(graph, top, i):
            left = tuple(graph._nodes[v] for v in reversed(down))
            taken = singletons(down) if simple else 0
            # The head first, then the spouses of the top.
            for start in sorted(members(starts), key=lambda v: (v != top, v)):
                avoid = taken & ~(1 << top) if start == top else taken
                for right in _directed(graph, start, j, avoid=avoid):
                    yield Trek(left, tuple(graph._nodes[v] for v in right))


def _directed(
    graph: MixedGraph, start: int, stop: int, *, avoid: int = 0
) -> Iterator[tuple[int, ...]]:
    """Yield the directed paths between two nodes outside the set ``avoid``."""
    # Restricted to ancestors of the end, the search has no dead ends in an acyclic graph.
    inside = closure(graph._parents, 1 << stop, within=~avoid)
    return (nodes for nodes, _ in _simple_paths([("->", graph._children())], start, stop, inside))


def _simple_paths(
    steps: list[Step], start: int, stop: int, inside: int
) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Yield nodes and marks of all paths inside a set, by depth-first search.

    The stack is explicit because long chains would exceed Python's recursion limit.
    """
    if not inside >> start & 1:
        return
    if start == stop:
        yield (start,), ()
        return

    def moves(v: int, free: int) -> Iterator[tuple[int, str]]:
        reachable = 0
        for _, masks in steps:
            reachable |= masks[v]
        for w in members(reachable & free):
            for mark, masks in steps:
                if masks[v] >> w & 1:
                    yield w, mark

    nodes, marks = [start], list[str]()
    free = inside & ~(1 << start)
    stack = [moves(start, free)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            free |= 1 << nodes.pop()
            if marks:
                marks.pop()
            continue
        w, mark = step
        if w == stop:
            yield (*nodes, w), (*marks, mark)
            continue
        nodes.append(w)
        marks.append(mark)
        free &= ~(1 << w)
        stack.append(moves(w, free))
