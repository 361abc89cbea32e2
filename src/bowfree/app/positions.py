"""Where the variables stand on the canvas: in rows, on a circle, in modules, or in bands.

Centers and sizes are in the units of the SVG, as in :mod:`bowfree.visualization.layout`, which does the
first two; :mod:`bowfree.visualization.layout` does the third. A band is for a tier, whose variables
stand in rows of their own; those of no tier stand below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import numpy as np

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.visualization.layout import HEIGHT, layout_by_name, module_layout, modules
from bowfree.visualization.svg import printable

ARRANGEMENTS = ("rows", "circle", "bands", "modules")

FARTHEST = 20_000.0
"""No variable is moved farther than this from where the canvas begins."""

_SPREAD = 1.3
_LABEL = 24  # characters of a name that are written in its box
_GAP = 84.0  # between boxes of one row: room for a label
_ROW = HEIGHT + 62.0
_MARGIN = 38.0  # between a band's border and its boxes


@dataclass(frozen=True)
class Places:
    """Centers and sizes of the boxes, and the upper and lower ends of the bands.

    Attributes
    ----------
    centers, sizes : tuple of pairs of float
        One of each for every variable.
    bands : tuple of pairs of float
        For every tier; none when the variables are not arranged in bands.
    """

    centers: tuple[tuple[float, float], ...]
    sizes: tuple[tuple[float, float], ...]
    bands: tuple[tuple[float, float], ...] = ()


class Floor:
    """Where the variables stand now.

    Pages count the moves, so that an older one that comes late does not undo a newer one.
    """

    def __init__(self, places: Places, tell: Callable[[dict[str, Any]], None]) -> None:
        self.places = places
        self._moves = 0
        self._tell = tell

    def put(self, places: Places) -> None:
        """Have the variables stand elsewhere."""
        self.places, self._moves = places, self._moves + 1
        self._tell({"kind": "places", "places": self.seen()})

    def move(self, node: int, center: tuple[float, float]) -> None:
        """Move one variable."""
        centers = list(self.places.centers)
        centers[node] = center
        self.put(replace(self.places, centers=tuple(centers)))

    def seen(self) -> dict[str, Any]:
        """Return what pages see of it."""
        return {
            "moves": self._moves,
            "centers": [list(center) for center in self.places.centers],
            "bands": [list(band) for band in self.places.bands],
        }


def labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is written in the boxes: the names, long ones cut, no two the same."""
    found: list[str] = []
    for name in names:
        whole = printable(name)
        label = whole if len(whole) <= _LABEL else f"{whole[: _LABEL - 1]}…"
        k = 1
        while label in found:
            k += 1
            label = f"{whole[: _LABEL - 4]}…{k}"
        found.append(label)
    return tuple(found)


def arrange(
    graph: MixedGraph, tiers: tuple[tuple[str, ...], ...], how: str | None = None
) -> Places:
    """Return places for the variables of a graph: in bands where there are tiers, else in rows."""
    how = how or ("bands" if tiers else "rows")
    drawn = graph.relabel(dict(zip(graph.nodes, labels(graph.nodes), strict=True)))
    layered = graph.n_directed > 0 and how != "circle"
    if how == "modules":
        placed = module_layout(drawn, modules(drawn)).spread(_SPREAD)
    else:
        placed = layout_by_name(drawn, "layered" if layered else "circle").spread(_SPREAD)
    sizes = tuple((float(w), float(h)) for w, h in np.round(placed.sizes, 1))
    centers = np.round(placed.centers, 1)
    if how == "bands" and tiers:
        return _in_bands(graph, tiers, centers, sizes)
    return Places(tuple((float(x), float(y)) for x, y in centers), sizes)


def _in_bands(
    graph: MixedGraph,
    tiers: tuple[tuple[str, ...], ...],
    centers: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    sizes: tuple[tuple[float, float], ...],
) -> Places:
    index = {name: k for k, name in enumerate(graph.nodes)}
    placed = {name for tier in tiers for name in tier}
    free = tuple(name for name in graph.nodes if name not in placed)
    per_row = max(3, ceil(1.6 * sqrt(len(graph))))
    found = [(0.0, 0.0)] * len(graph)
    bands = []
    top = 0.0
    for group in (*tiers, free):
        # The order from left to right is that of the picture without tiers: fewer crossings.
        order = sorted((index[name] for name in group), key=lambda v: (centers[v][0], v))
        rows = [order[k : k + per_row] for k in range(0, len(order), per_row)] or [[]]
        for depth, row in enumerate(rows):
            width = sum(sizes[v][0] for v in row) + _GAP * max(0, len(row) - 1)
            left = -width / 2
            for v in row:
                y = top + _MARGIN + HEIGHT / 2 + depth * _ROW
                found[v] = (round(left + sizes[v][0] / 2, 1), round(y, 1))
                left += sizes[v][0] + _GAP
        bottom = top + 2 * _MARGIN + HEIGHT + (len(rows) - 1) * _ROW
        bands.append((round(top, 1), round(bottom, 1)))
        top = bottom
    return Places(tuple(found), sizes, tuple(bands[: len(tiers)]))
