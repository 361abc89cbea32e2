"""Names as a user says them: which variable, which pair, which edge.

Results are matrices inside, and every entry has names outside. What a user may say, and what is
answered to a name that does not exist, is the same for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from bowfree.errors import GraphError
from bowfree.graph.text import quote, read_statements
from bowfree.text_reading import join_names, short_repr, similar_names

Entry = TypeVar("Entry", covariant=True)


def unknown_node(name: object, nodes: Sequence[str]) -> str:
    """Say which name is unknown, and which were perhaps meant."""
    if not isinstance(name, str):
        return f"unknown node {short_repr(name)}: node names are strings, not {type(name).__name__}"
    close = similar_names(name, nodes, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"unknown node {short_repr(name)}; {hint or f'nodes are: {join_names(nodes)}'}"


def node_index(name: object, names: Sequence[str]) -> int:
    """Return the place of a variable among the names, or raise a GraphError.

    Examples
    --------
    >>> from bowfree.graph.names import node_index
    >>> node_index("y", ("x", "y"))
    1
    """
    if not isinstance(name, str) or name not in names:
        raise GraphError(unknown_node(name, names))
    return names.index(name)


def parse_edge(
    names: Sequence[str], a: str, mark: str | None, b: str | None
) -> tuple[int, Literal["->", "<->"], int]:
    """Return the ends and the mark of one edge, said in three words or as one text.

    Parameters
    ----------
    names : sequence of str
        The variables.
    a, mark, b : str
        ``"x", "->", "y"``, ``"y", "<-", "x"``, ``"x", "<->", "y"``; or all of it as `a`, in the
        language of :func:`bowfree.parse`, and the others None.

    Returns
    -------
    i, mark, j
        Places of the ends; ``"<-"`` comes back turned.

    Raises
    ------
    GraphError
        Unknown names, an unknown mark, or more or less than one edge.

    Examples
    --------
    >>> from bowfree.graph.names import parse_edge
    >>> parse_edge(("x", "y"), "y", "<-", "x"), parse_edge(("x", "y"), "x -> y", None, None)
    ((0, '->', 1), (0, '->', 1))
    """
    if mark is None and b is None:
        alone, edges = read_statements(a)
        if len(edges) != 1 or len(alone) != 2:
            raise GraphError(f"{short_repr(a)} should be one edge, such as 'x -> y'")
        a, mark, b = edges[0]
    if not isinstance(mark, str) or mark not in ("->", "<-", "<->") or b is None:
        raise GraphError(
            f"an edge has two ends and a mark between them, '->', '<-' or '<->', "
            f"and not {short_repr((a, mark, b))}"
        )
    i, j = node_index(a, names), node_index(b, names)
    if i == j:
        raise GraphError(f"self-loop at {quote(a)}: an edge joins two different nodes")
    if mark == "<-":
        i, j = j, i
    return i, "<->" if mark == "<->" else "->", j


class EdgeLookup(Generic[Entry]):
    """Mixin for results with ``names`` that have something to say of single edges."""

    if TYPE_CHECKING:

        @property
        def names(self) -> tuple[str, ...]:
            """The variables."""

    def edge(self, a: str, mark: str | None = None, b: str | None = None) -> Entry:
        """Return what the result says of one edge.

        Parameters
        ----------
        a, mark, b : str
            ``.edge("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``; or the edge as
            one text, ``.edge("x -> y")``.

        Raises
        ------
        GraphError
            An unknown name, or an edge that the result is not about.
        """
        return self._at_edge(*parse_edge(self.names, a, mark, b))

    @abstractmethod
    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Entry:
        """Return what there is to say of an edge between two places, the first one its tail."""
