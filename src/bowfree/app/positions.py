"""Positions of the variables on the canvas: in rows, on a circle, in modules, or in bands.

Centers and sizes are in SVG units, as in :mod:`bowfree.visualization.layout`, which computes them.
A band contains the variables of a tier; variables without a tier are below the bands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import numpy as np

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.visualization.layout import HEIGHT, Layout, layout_by_name, modules
from bowfree.visualization.routing import Curve, Edge, place_labels, route_edges
from bowfree.visualization.svg import printable

ARRANGEMENTS = ("rows", "circle", "bands", "modules")
MAX_COORDINATE = 20_000.0

_SPREAD = 1.3
_MAX_LABEL = 24  # characters of a name that are written in its box
_GAP = 84.0  # between boxes of a row, for a label
_ROW_HEIGHT = HEIGHT + 62.0
_MARGIN = 38.0  # between the border of a band and its boxes

# Sizes of labels, a number or a number and an interval, and up to how many edges they avoid each
# other: more would slow down every edit.
_LABELS = {"spot": ((34.0, 14.0), 45), "wide": ((86.0, 27.0), 20)}

Pair = tuple[float, float]


@dataclass(frozen=True)
class Arrangement:
    """Centers and sizes of the boxes, and the upper and lower ends of the bands, if any."""

    centers: tuple[Pair, ...]
    sizes: tuple[Pair, ...]
    bands: tuple[Pair, ...] = ()


class Positions:
    """The current arrangement and the curves of the edges.

    Moves are numbered, so that pages can ignore outdated ones.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        current: Arrangement,
        broadcast: Callable[[dict[str, Any]], None],
    ) -> None:
        self.current = current
        self._names = names
        self.moves = 0  # their number
        self._broadcast = broadcast
        self._edges: list[Edge] = []
        self._others: dict[str, list[Edge]] = {}  # suggested edges, and those of the PAG
        # The arrangement when the edges were drawn last, their curves, and views with labels.
        self._drawn: tuple[Arrangement, dict[Edge, Curve], dict[Edge, Any]] = (current, {}, {})

    def draw(self, edges: Sequence[Edge], forbidden: Sequence[Edge]) -> dict[str, Any]:
        """Return the curves of the current edges and of forbidden ones, by ``"a,mark,b"``."""
        self._edges = [*edges, *dict.fromkeys((a, "--", b) for a, _, b in forbidden)]
        return self._draw_current()

    def draw_others(self, edges: Sequence[Edge]) -> dict[str, Any]:
        """Return the curves of edges of another graph; those of the current graph are the same."""
        return self._view(self._route(edges))

    def draw_more(self, kind: str, edges: Sequence[Edge]) -> dict[str, Any]:
        """Return the curves of suggested edges, or of the PAG, which are part of later views."""
        self._others[kind] = list(edges)
        return self.draw_others(edges)

    def _draw_current(self) -> dict[str, Any]:
        curves = self._route(self._edges)
        view = self._view(curves)
        edges = [curve.edge for curve in curves]
        by_edge = dict(zip(edges, view.values(), strict=True))
        self._drawn = self.current, dict(zip(edges, curves, strict=True)), by_edge
        return view

    def _route(self, edges: Sequence[Edge]) -> list[Curve]:
        before, curves, _ = self._drawn
        pairs = zip(self.current.centers, before.centers, strict=True)
        moved = [v for v, (now, old) in enumerate(pairs) if now != old]
        return route_edges(self._names, edges, self._layout, curves, moved)

    @property
    def _layout(self) -> Layout:
        return Layout(np.array(self.current.centers), np.array(self.current.sizes))

    def _view(self, curves: list[Curve]) -> dict[str, Any]:
        index = {name: k for k, name in enumerate(self._names)}
        _, old, views = self._drawn
        found: dict[str, Any] = {
            f"{index[a]},{mark},{index[b]}": {
                "points": np.round(curve.points, 1).tolist(),
                "bend": curve.bend,
            }
            for curve in curves
            for a, mark, b in [curve.edge]
        }
        for name, (size, most) in _LABELS.items():
            if len(curves) <= most:
                # Labels move with their curves.
                kept = {
                    curve.edge: np.array(views[curve.edge][name])
                    for curve in curves
                    if old.get(curve.edge) is curve and name in views[curve.edge]
                }
                spots = place_labels(curves, self._layout, np.tile(size, (len(curves), 1)), kept)
                for view, spot in zip(found.values(), np.round(spots, 1).tolist(), strict=True):
                    view[name] = spot
        return found

    def set(self, arrangement: Arrangement) -> None:
        """Change the arrangement and send it to all pages."""
        self.current, self.moves = arrangement, self.moves + 1
        self._broadcast({"kind": "positions", "positions": self.view()})

    def move(self, node: int, center: Pair) -> None:
        """Move one variable."""
        centers = list(self.current.centers)
        centers[node] = center
        self.set(replace(self.current, centers=tuple(centers)))

    def view(self) -> dict[str, Any]:
        """Return the arrangement for the page."""
        others = list(dict.fromkeys(edge for edges in self._others.values() for edge in edges))
        return {
            "moves": self.moves,
            "centers": [list(center) for center in self.current.centers],
            "bands": [list(band) for band in self.current.bands],
            "curves": self.draw_others(others) | self._draw_current(),
        }


def labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of the boxes: long names are cut, and no two labels are the same."""
    found: list[str] = []
    for name in names:
        full = printable(name)
        label = full if len(full) <= _MAX_LABEL else f"{full[: _MAX_LABEL - 1]}…"
        k = 1
        while label in found:
            k += 1
            label = f"{full[: _MAX_LABEL - 4]}…{k}"
        found.append(label)
    return tuple(found)


def arrange(
    graph: MixedGraph, tiers: tuple[tuple[str, ...], ...], how: str | None = None
) -> Arrangement:
    """Arrange the variables of a graph, by default in bands if there are tiers, else in rows."""
    how = how or ("bands" if tiers else "rows")
    labeled = graph.relabel(dict(zip(graph.nodes, labels(graph.nodes), strict=True)))
    name = how if how in ("modules", "circle") else "auto"
    groups = modules(labeled) if how == "modules" else ()
    layout = layout_by_name(labeled, name, groups).spread(_SPREAD)
    sizes = tuple((float(w), float(h)) for w, h in np.round(layout.sizes, 1))
    centers = tuple((float(x), float(y)) for x, y in np.round(layout.centers, 1))
    if how == "bands" and tiers:
        return _in_bands(graph, tiers, centers, sizes)
    return Arrangement(centers, sizes)


def _in_bands(
    graph: MixedGraph,
    tiers: tuple[tuple[str, ...], ...],
    centers: tuple[Pair, ...],
    sizes: tuple[Pair, ...],
) -> Arrangement:
    index = {name: k for k, name in enumerate(graph.nodes)}
    in_tiers = {name for tier in tiers for name in tier}
    others = tuple(name for name in graph.nodes if name not in in_tiers)
    per_row = max(3, ceil(1.6 * sqrt(len(graph))))
    found = [(0.0, 0.0)] * len(graph)
    bands = []
    top = 0.0
    for group in (*tiers, others):
        # The order from left to right is that without tiers: fewer crossings.
        order = sorted((index[name] for name in group), key=lambda v: (centers[v][0], v))
        rows = [order[k : k + per_row] for k in range(0, len(order), per_row)] or [[]]
        for depth, row in enumerate(rows):
            left = -(sum(sizes[v][0] for v in row) + _GAP * max(0, len(row) - 1)) / 2
            for v in row:
                y = top + _MARGIN + HEIGHT / 2 + depth * _ROW_HEIGHT
                found[v] = (round(left + sizes[v][0] / 2, 1), round(y, 1))
                left += sizes[v][0] + _GAP
        bottom = top + 2 * _MARGIN + HEIGHT + (len(rows) - 1) * _ROW_HEIGHT
        bands.append((round(top, 1), round(bottom, 1)))
        top = bottom
    return Arrangement(tuple(found), sizes, tuple(bands[: len(tiers)]))
