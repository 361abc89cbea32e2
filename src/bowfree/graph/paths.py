"""Paths in a mixed graph, one by one and only as many as are asked for (section 2.1).

The number of paths grows exponentially with the edges, so everything here is a generator. For
questions about all paths at once there are faster ways: :meth:`MixedGraph.m_separated`,
:meth:`MixedGraph.ancestors`. The collider-free paths have a module of their own,
:mod:`bowfree.graph.paths`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bowfree.graph.encodings import closure, members, singletons
from bowfree.graph.structure import check_acyclic
from bowfree.graph.text import quote

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


Step = tuple[str, Sequence[int]]
"""A mark and, for every node, the set of nodes that an edge with this mark leads to."""


@dataclass(frozen=True)
class Path:
    """A path: its nodes, and the mark of every edge on the way.

    The marks are needed because a pair of nodes can have two edges (a bow).

    Attributes
    ----------
    nodes : tuple of str, length l + 1
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
        """True when all edges point to the last node."""
        return all(mark == "->" for mark in self.marks)

    def __str__(self) -> str:
        words = [quote(self.nodes[0])]
        for mark, node in zip(self.marks, self.nodes[1:], strict=True):
            words += [mark, quote(node)]
        return " ".join(words)


def paths(graph: MixedGraph, a: str, b: str) -> Iterator[Path]:
    """Yield all non-overlapping paths between two nodes.

    Parameters
    ----------
    a, b : str
        The end nodes. For ``a == b`` there is one path, of length zero.

    Yields
    ------
    Path
        In depth-first order. Where a pair of nodes has two edges, each gives a path of its own.

    Examples
    --------
    >>> import bowfree as bf
    >>> for path in bf.parse("a -> b -> c <-> a").paths("a", "c"):
    ...     print(path)
    a -> b -> c
    a <-> c

    References
    ----------
    Section 2.1 of the paper.
    """
    start, stop = graph._node(a), graph._node(b)
    steps: list[Step] = [
        ("->", graph._children()),
        ("<-", graph._parents),
        ("<->", graph._spouses),
    ]
    return (
        Path(tuple(graph._nodes[v] for v in walk), marks)
        for walk, marks in _walks(steps, start, stop, inside=(1 << len(graph._nodes)) - 1)
    )


def directed_paths(graph: MixedGraph, a: str, b: str) -> Iterator[Path]:
    """Yield all non-overlapping directed paths from a to b.

    Their products of coefficients sum to the total effect of a on b in an acyclic linear SEM.

    Parameters
    ----------
    a, b : str
        First and last node. For ``a == b`` there is one path, of length zero.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(*bf.parse("a -> b -> c <- a").directed_paths("a", "c"), sep="; ")
    a -> b -> c; a -> c

    References
    ----------
    Section 2.1 of the paper; lemma "path" of appendix A.1.
    """
    start, stop = graph._node(a), graph._node(b)
    return (
        Path(tuple(graph._nodes[v] for v in walk), ("->",) * (len(walk) - 1))
        for walk in directed_walks(graph, start, stop)
    )


def directed_walks(
    graph: MixedGraph, start: int, stop: int, *, avoid: int = 0
) -> Iterator[tuple[int, ...]]:
    """Yield the directed paths between two nodes by number, around the set ``avoid``."""
    # Only ancestors of the end can lie on the way: the search never runs into a dead end in an
    # acyclic graph.
    inside = closure(graph._parents, 1 << stop, within=~avoid)
    return (walk for walk, _ in _walks([("->", graph._children())], start, stop, inside))


def _walks(
    steps: list[Step], start: int, stop: int, inside: int
) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Depth-first search over non-overlapping paths inside a set, with an explicit stack.

    (A chain of a thousand nodes would exceed Python's recursion limit.)
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

    walk, marks = [start], list[str]()
    free = inside & ~(1 << start)
    stack = [moves(start, free)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            free |= 1 << walk.pop()
            if marks:
                marks.pop()
            continue
        w, mark = step
        if w == stop:
            yield (*walk, w), (*marks, mark)
            continue
        walk.append(w)
        marks.append(mark)
        free &= ~(1 << w)
        stack.append(moves(w, free))


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
