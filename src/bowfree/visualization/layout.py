"""Where the nodes of a graph go in a picture: on a circle, or in layers of causal order.

A layout is a :class:`Layout`: one center and one box per node, in the units of an SVG (pixels, y
downwards). It knows nothing of the format of the picture; :mod:`bowfree.visualization.routing` adds the
edges and :mod:`bowfree.visualization.svg` writes SVG.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bowfree.graph.encodings import members
from bowfree.validation import check_choice

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


LAYOUTS = ("auto", "circle", "layered")

FONT_SIZE = 14.0
HEIGHT = 28.0  # of a node's box
_COLUMN_GAP = 40.0  # between boxes of one layer
_ROW_GAP = 62.0  # between layers: room for an arrow and an arc
_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """Centers and sizes of the nodes' boxes.

    Attributes
    ----------
    centers : array (d, 2)
        x to the right, y downwards; the leftmost and topmost boxes touch the axes.
    sizes : array (d, 2)
        Width and height of each box.
    """

    centers: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.float64]

    @property
    def extent(self) -> tuple[float, float]:
        """Width and height of the whole."""
        if not len(self.centers):
            return 0.0, 0.0
        width, height = (self.centers + self.sizes / 2).max(axis=0)
        return float(width), float(height)

    def spread(self, factor: float) -> Layout:
        """Return the layout with the centers farther apart by a factor >= 1, boxes as they are."""
        return _placed(self.centers * factor, self.sizes)


def label_width(name: str) -> float:
    """Estimate the width of a name in a sans-serif font, on the generous side."""
    total = 0.0
    for letter in name:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            total += 1.05
        elif letter in "ijlt.,:;'|!()[]":
            total += 0.36
        elif letter in "mwMW@%":
            total += 0.95
        elif letter.isupper():
            total += 0.74
        else:
            total += 0.6
    return total * FONT_SIZE


def _sizes(graph: MixedGraph) -> npt.NDArray[np.float64]:
    widths = [max(HEIGHT + 8, label_width(name) + HEIGHT * 0.7) for name in graph.nodes]
    return np.array([[width, HEIGHT] for width in widths]).reshape(-1, 2)


def _placed(centers: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64]) -> Layout:
    if len(centers):
        centers = centers - (centers - sizes / 2).min(axis=0)
    return Layout(centers, sizes)


def circle_layout(graph: MixedGraph) -> Layout:
    """Place the nodes on a circle in node order, clockwise from the top.

    As points of a circle, no three nodes are on one line.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.layout import circle_layout
    >>> circle_layout(bf.parse("a -> b <-> c")).centers.shape
    (3, 2)
    """
    d = len(graph)
    sizes = _sizes(graph)
    if d == 0:
        return Layout(np.zeros((0, 2)), sizes)
    angle = 2 * np.pi * np.arange(d) / d
    direction = np.column_stack([np.sin(angle), -np.cos(angle)])
    # The smallest radius at which no two boxes come closer than the gap: boxes that share a
    # horizontal band must be a box width apart, others a box height. Growing until it fits is
    # simple, and ends because distances grow with the radius.
    # It begins below what the two sides need, where boxes stand over one another.
    radius = max(55.0, 0.8 * d * (HEIGHT + 14) / (2 * np.pi))
    while d > 1:
        centers = radius * direction
        apart = np.abs(centers[:, None] - centers[None]) - (sizes[:, None] + sizes[None]) / 2
        apart[np.arange(d), np.arange(d)] = np.inf
        if np.maximum(apart[..., 0] - 14, apart[..., 1] - 14).min() >= 0:
            break
        radius *= 1.06
    return _placed(radius * direction, sizes)


def layered_layout(graph: MixedGraph) -> Layout:
    """Place the nodes of an acyclic graph in rows, every parent above its children.

    Connected parts stand side by side. Rows of a part hold no more than about 1.6 sqrt(d) of its d
    nodes. Within a row, nodes are sorted by the mean place of their neighbors, directed or
    bidirected, in sweeps down and up. Nodes without edges stand in rows of their own at the bottom.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.layout import layered_layout
    >>> layered_layout(bf.parse("a -> b -> c")).centers[:, 1].tolist()
    [14.0, 104.0, 194.0]
    """
    sizes = _sizes(graph)
    near = [
        list(members(p | s | c))
        for p, s, c in zip(graph._parents, graph._spouses, graph._children(), strict=True)
    ]
    order = [graph._node(name) for name in graph.topological_order()]
    centers = np.zeros((len(graph), 2))
    # Parts that no edge connects would push each other apart in the sweeps: each has its own rows,
    # and they are set side by side.
    parts = _parts(order, near)
    for part in parts:
        rows = _rows(part, graph)
        centers[part, 0] = _sorted_rows(rows, near, sizes[:, 0])[part]
        for depth, row in enumerate(rows):
            centers[row, 1] = depth * (HEIGHT + _ROW_GAP)
    bottom = on_shelves(parts, centers, sizes) + _ROW_GAP + HEIGHT / 2 if parts else 0.0
    lone = [v for v in order if not near[v]]
    limit = _row_limit(len(graph))
    for k in range(0, len(lone), limit):
        row = lone[k : k + limit]
        places = np.zeros(len(graph))
        _spread(row, places, sizes[:, 0])
        middle = (centers[:, 0].max() + centers[:, 0].min()) / 2 if parts else 0.0
        centers[row, 0] = places[row] + middle
        centers[row, 1] = bottom + k // limit * (HEIGHT + _ROW_GAP)
    return _placed(centers, sizes)


def _parts(order: list[int], near: list[list[int]]) -> list[list[int]]:
    """Return the connected parts with more than one node, nodes in the given order."""
    seen: set[int] = set()
    parts = []
    for v in order:
        if v in seen or not near[v]:
            continue
        part, stack = {v}, [v]
        while stack:
            fresh = [u for u in near[stack.pop()] if u not in part]
            part.update(fresh)
            stack.extend(fresh)
        seen |= part
        parts.append([u for u in order if u in part])
    return parts


def _row_limit(d: int) -> int:
    return max(3, ceil(1.6 * sqrt(d)))


def _rows(part: list[int], graph: MixedGraph) -> list[list[int]]:
    """Assign each node to the first row below its parents that has room."""
    limit = _row_limit(len(part))
    row_of: dict[int, int] = {}
    rows: list[list[int]] = []
    for v in part:
        depth = max((row_of[p] + 1 for p in members(graph._parents[v])), default=0)
        while depth < len(rows) and len(rows[depth]) >= limit:
            depth += 1
        if depth == len(rows):
            rows.append([])
        rows[depth].append(v)
        row_of[v] = depth
    return rows


def _sorted_rows(
    rows: list[list[int]], near: list[list[int]], widths: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Sort the nodes within rows by the mean place of their neighbors; return the places."""
    x = np.zeros(len(near))
    for row in rows:
        _spread(row, x, widths)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = {v: float(np.mean(x[near[v]])) for v in row}
            row.sort(key=lambda v: (wanted[v], v))
            _spread(row, x, widths, wanted)
    return x


def on_shelves(
    parts: list[list[int]],
    centers: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.float64],
    gaps: tuple[float, float] = (_COLUMN_GAP, _ROW_GAP),
) -> float:
    """Set the parts on shelves from left to right; return the y where they end."""
    corners = [
        ((centers[p] - sizes[p] / 2).min(axis=0), (centers[p] + sizes[p] / 2).max(axis=0))
        for p in parts
    ]
    extents = [high - low for low, high in corners]
    area = sum((w + gaps[0]) * (h + gaps[1]) for w, h in extents)
    shelf_width = max([1.5 * sqrt(area), *(float(w) for w, _ in extents)])
    left = top = height = 0.0
    for part, (low, _), (w, h) in zip(parts, corners, extents, strict=True):
        if left and left + w > shelf_width:
            left, top, height = 0.0, top + height + gaps[1], 0.0
        centers[part] += np.array([left, top]) - low
        left += w + gaps[0]
        height = max(height, h)
    return top + height


def _spread(
    row: list[int],
    x: npt.NDArray[np.float64],
    widths: npt.NDArray[np.float64],
    wanted: dict[int, float] | None = None,
) -> None:
    """Give the nodes of one row places in this order, near those wanted, without overlap."""
    places = np.zeros(len(row))
    for k, v in enumerate(row):
        aim = 0.0 if wanted is None else wanted[v]
        if k:
            room = (widths[row[k - 1]] + widths[v]) / 2 + _COLUMN_GAP
            aim = max(aim, places[k - 1] + room) if wanted is not None else places[k - 1] + room
        places[k] = aim
    # Pushing to the right moved the row as a whole: shift it back to where it was wanted.
    goal = 0.0 if wanted is None else float(np.mean([wanted[v] for v in row]))
    x[row] = places - places.mean() + goal


def layout_by_name(graph: MixedGraph, name: str) -> Layout:
    """Return the layout called "circle" or "layered"; "auto" prefers layers where they exist."""
    check_choice("layout", name, LAYOUTS)
    if name == "auto":
        name = "layered" if graph.n_directed and graph.is_acyclic() else "circle"
    return circle_layout(graph) if name == "circle" else layered_layout(graph)
