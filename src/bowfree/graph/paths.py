"""Paths in a mixed graph, one by one and only as many as are asked for (section 2.1).

The number of paths grows exponentially with the edges, so everything here is a generator. For
questions about all paths at once there are faster ways: :meth:`MixedGraph.m_separated`,
:meth:`MixedGraph.ancestors`. The collider-free paths have a module of their own,
:mod:`bowfree.graph.treks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bowfree.graph.bit_sets import closure, members
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
