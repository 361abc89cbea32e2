"""Results with a graph: in a notebook its picture stands above their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bowfree.results.display import TextDisplay

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


MOST_NODES = 40
"""Larger graphs are drawn when asked for: the picture takes seconds, and shows little."""


class GraphDisplay(TextDisplay):
    """What is shown with the picture of its graph; the class has an attribute ``graph``."""

    if TYPE_CHECKING:
        graph: Any  # a MixedGraph, as a field or as a property

    def _picture(self) -> str:
        graph: MixedGraph = self.graph
        return graph.to_svg()

    def _repr_html_(self) -> str:
        text = super()._repr_html_()
        return f"{self._picture()}\n{text}" if len(self.graph) <= MOST_NODES else text
