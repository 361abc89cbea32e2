"""Summary of an equivalence class: the marks of each edge, counted over the members.

A mark at the end of an edge is either the same in all equivalent graphs, or drawn as a circle. That
all members agree does not mean that the edge is certain: another class may fit as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bowfree.errors import GraphError
from bowfree.graph.names import node_index
from bowfree.graph.text import quote, quote_edge, quote_names
from bowfree.results.display import Table, TextDisplay, count
from bowfree.results.rows import Cell, Row, data_frame, row_table
from bowfree.results.serialization import ToDict

End = Literal["head", "tail", "circle"]
_COUNTS = ("n_forward", "n_backward", "n_bidirected")
_COLUMNS = ("a", "b", *_COUNTS, "end_at_a", "end_at_b")


class EdgeSummary(Row):
    """The marks of one edge of the skeleton, counted over the members of a class.

    Attributes
    ----------
    a, b : str
        The ends, in node order.
    n_forward, n_backward, n_bidirected : int
        Number of members with a -> b, a <- b and a <-> b.
    end_at_a, end_at_b : {"head", "tail", "circle"}
        The mark at each end if it is the same in all members, otherwise "circle".
    """

    __slots__ = ()

    def __init__(self, a: str, b: str, n_forward: int, n_backward: int, n_bidirected: int) -> None:
        ends = (
            _end(n_backward + n_bidirected, n_forward),
            _end(n_forward + n_bidirected, n_backward),
        )
        values = (a, b, n_forward, n_backward, n_bidirected, *ends)
        super().__init__(**dict(zip(_COLUMNS, values, strict=True)))

    @property
    def invariant(self) -> bool:
        """Whether all members have the same edge."""
        return "circle" not in (self.end_at_a, self.end_at_b)

    @property
    def mark(self) -> str:
        """The common mark: ``->``, ``<-``, ``<->``, with ``o`` at ends that differ."""
        left = {"head": "<", "tail": "-", "circle": "o"}[self.end_at_a]
        right = {"head": ">", "tail": "-", "circle": "o"}[self.end_at_b]
        # `a -> b`, not `a --> b`, as in bowfree.parse.
        return f"{left}-{right}".replace("-->", "->").replace("<--", "<-")

    def reversed(self) -> EdgeSummary:
        """Return the summary with a and b exchanged."""
        return EdgeSummary(self.b, self.a, self.n_backward, self.n_forward, self.n_bidirected)

    def _headline(self) -> str:
        return quote_edge(self.a, self.mark, self.b)


def _end(heads: int, tails: int) -> End:
    return "circle" if heads and tails else "head" if heads else "tail"


@dataclass(frozen=True, repr=False)
class ClassSummary(TextDisplay, ToDict):
    """The edges of a class, with their marks counted over the members.

    Attributes
    ----------
    n_members : int
        Number of members counted.
    complete : bool
        Whether these are all members that the method can find.
    edges : tuple of EdgeSummary
        One for each edge of the skeleton, in node order.
    names : tuple of str
        The nodes.
    """

    n_members: int
    complete: bool
    edges: tuple[EdgeSummary, ...]
    names: tuple[str, ...]

    def edge(self, a: str, b: str) -> EdgeSummary:
        """Return the summary of the edge between two adjacent nodes, with `a` as its first end.

        Examples
        --------
        >>> import bowfree as bf
        >>> summary = bf.equivalence_class(bf.parse("x -> y <- z")).summary()
        >>> str(summary.edge("x", "y")), str(summary.edge("y", "x"))
        ('x o-> y', 'y <-o x')
        """
        node_index(a, self.names), node_index(b, self.names)
        for edge in self.edges:
            if {edge.a, edge.b} == {a, b}:
                return edge if edge.a == a else edge.reversed()
        raise GraphError(f"{quote(a)} and {quote(b)} are not adjacent in any member of the class")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each edge of the skeleton.

        Its columns are a, b; n_forward, n_backward, n_bidirected (numbers of members with a -> b,
        a <- b, a <-> b, as floats if they exceed 64 bits); end_at_a, end_at_b.
        """
        columns = {name: [edge[name] for edge in self.edges] for name in _COLUMNS}
        if self.n_members > np.iinfo(np.int64).max:
            columns |= {name: list(map(float, columns[name])) for name in _COUNTS}
        return data_frame(columns, backend)

    def _content(self) -> Any:
        keys = ("a", "b", "->", "<-", "<->", "end_at_a", "end_at_b")
        edges = [dict(zip(keys, edge.values(), strict=True)) for edge in self.edges]
        return {"n_members": self.n_members, "complete": self.complete, "edges": edges}

    def _headline(self) -> str:
        return f"{member_count(self.n_members, self.complete)}, {count(len(self.edges), 'edge')}"

    def _sections(self) -> Iterator[str | Table]:
        yield member_count(self.n_members, self.complete)
        cells: dict[str, Cell] = {
            "edge": lambda edge: quote_names((edge.a, edge.b)),
            "a -> b": "n_forward",
            "a <- b": "n_backward",
            "a <-> b": "n_bidirected",
            "same in all equivalent graphs": str,
        }
        yield row_table(self.edges, cells, left=(0, 4), most=None)


def member_count(n_members: int, complete: bool) -> str:
    """Return "5 members", or "5 members found, more may exist"."""
    some = count(n_members, "member")
    return some if complete else f"{some} found, more may exist"
