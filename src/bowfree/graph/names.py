"""Look up nodes and edges by name, with the same rules and messages in all results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from bowfree.errors import GraphError
from bowfree.graph.text import quote, read_statements
from bowfree.text_reading import join_names, short_repr, similar_names

Entry = TypeVar("Entry", covariant=True)


def unknown_node(name: object, nodes: Sequence[str]) -> str:
    """Return the message about an unknown node, with similar names or all names."""
    if not isinstance(name, str):
        return f"unknown node {short_repr(name)}: node names are strings, not {type(name).__name__}"
    close = similar_names(name, nodes, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"unknown node {short_repr(name)}; {hint or f'nodes are: {join_names(nodes)}'}"


def node_index(name: object, names: Sequence[str]) -> int:
    """Return the index of a variable, or raise a GraphError."""
    if not isinstance(name, str) or name not in names:
        raise GraphError(unknown_node(name, names))
    return names.index(name)


def parse_edge(
    names: Sequence[str], a: str, mark: str | None, b: str | None
) -> tuple[int, Literal["->", "<->"], int]:
    """Return the indices of the ends of an edge and its mark; an edge ``<-`` is returned as ``->``.

    The edge is ``"x", "->", "y"``, or one string ``"x -> y"`` as `a`.
    """
    if mark is None and b is None:
        nodes, edges = read_statements(a)
        if len(edges) != 1 or len(nodes) != 2:
            raise GraphError(f"{short_repr(a)} should be one edge, such as 'x -> y'")
        a, mark, b = edges[0]
    if not isinstance(mark, str) or mark not in ("->", "<-", "<->") or b is None:
        raise GraphError(
            "an edge consists of two ends and a mark between them, '->', '<-' or '<->'; "
            f"got {short_repr((a, mark, b))}"
        )
    i, j = node_index(a, names), node_index(b, names)
    if i == j:
        raise GraphError(f"self-loop at {quote(a)}: an edge joins two different nodes")
    if mark == "<-":
        i, j = j, i
    return i, "<->" if mark == "<->" else "->", j


class EdgeLookup(Generic[Entry]):
    """Mixin for results with ``names`` that have an entry for each edge: ``result.edge("x -> y")``."""

    if TYPE_CHECKING:

        @property
        def names(self) -> tuple[str, ...]:
            """The variables."""

    def edge(self, a: str, mark: str | None = None, b: str | None = None) -> Entry:
        """Return the entry of one edge, or raise a GraphError if there is no such edge.

        Parameters
        ----------
        a, mark, b : str
            ``.edge("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``, or the edge as one
            string, ``.edge("x -> y")``.
        """
        return self._at_edge(*parse_edge(self.names, a, mark, b))

    @abstractmethod
    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Entry:
        """Return the entry of an edge, by the indices of its ends."""
