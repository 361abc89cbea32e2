"""``result.edge("x -> y")``: one entry of a result, by the edge that it is about."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from bowfree.graph.names import said_edge

Entry = TypeVar("Entry", covariant=True)


class ByEdge(Generic[Entry]):
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
        return self._at_edge(*said_edge(self.names, a, mark, b))

    @abstractmethod
    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Entry:
        """Return what there is to say of an edge between two places, the first one its tail."""
