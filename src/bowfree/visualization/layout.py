"""Positions of the nodes in a drawing: on a circle, in layers, or grouped into modules.

A :class:`Layout` holds a center and a box for each node, in SVG units (pixels, y downwards).
:mod:`bowfree.visualization.routing` adds the edges; SVG, plots, report and app draw the result.

- :func:`circle_layout`: in node order on a circle;
- :func:`layered_layout`: in rows, parents above their children;
- :func:`wave_layout`: a column for each wave of a panel;
- :func:`modules` and :func:`module_layout`: for dense graphs, groups of nodes with many edges
  inside and few between, each in a block of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from bowfree.errors import GraphError
from bowfree.space.knowledge import wave_of
from bowfree.text_reading import join_names
from bowfree.validation import check_choice

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

Floats = npt.NDArray[np.float64]
Region = tuple[float, float, float, float]

LAYOUTS = ("auto", "circle", "layered", "waves")

FONT_SIZE = 14.0
HEIGHT = 28.0  # of a box
REGION_MARGIN = 16.0  # between the boxes of a module and the border of its region
_COLUMN_GAP = 40.0  # between the boxes of a row
_WAVE_GAP = 90.0  # between the columns of two waves
_ROW_GAP = 62.0  # between rows, for an arrow and an arc
_BLOCK_GAP = 2 * REGION_MARGIN + 44.0  # between the boxes of two modules
_SWEEPS = 12
_MIN_GAIN = 1e-12  # of modularity; smaller gains are rounding errors and could repeat forever


@dataclass(frozen=True)
class Layout:
    """Boxes of the nodes; the leftmost and topmost boxes touch the axes."""

    centers: Floats  # (d, 2)
    sizes: Floats  # (d, 2): width and height

    @property
    def extent(self) -> tuple[float, float]:
        """Width and height of the drawing."""
        if not len(self.centers):
            return 0.0, 0.0
        width, height = (self.centers + self.sizes / 2).max(axis=0)
        return float(width), float(height)

    def spread(self, factor: float) -> Layout:
        """Return the layout with the centers farther apart by a factor >= 1, sizes unchanged."""
        return _at_origin(self.centers * factor, self.sizes)


def label_width(name: str) -> float:
    """Return an upper estimate of the width of a name in a sans-serif font."""
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
        else:
            total += 0.74 if letter.isupper() else 0.6
    return total * FONT_SIZE


def _box_sizes(graph: MixedGraph) -> Floats:
    widths = [max(HEIGHT + 8, label_width(name) + HEIGHT * 0.7) for name in graph.nodes]
    return np.array([[width, HEIGHT] for width in widths]).reshape(-1, 2)


def _at_origin(centers: Floats, sizes: Floats) -> Layout:
    if len(centers):
        centers = centers - (centers - sizes / 2).min(axis=0)
    return Layout(centers, sizes)


def layout_by_name(
    graph: MixedGraph, name: str, groups: Sequence[Sequence[int]] | None = None
) -> Layout:
    """Return the "circle", "layered" or "waves" layout, or that of these groups ("modules").

    "auto" is layered where possible.
    """
    if groups is not None and name == "modules":
        return module_layout(graph, groups)
    check_choice("layout", name, LAYOUTS)
    if name == "auto":
        name = "layered" if graph.n_directed and graph.is_acyclic() else "circle"
    layouts = {"circle": circle_layout, "layered": layered_layout, "waves": wave_layout}
    return layouts[name](graph)


def wave_layout(graph: MixedGraph) -> Layout:
    """Place the variables of a wave below each other, and the waves from left to right.

    The wave is the number at the end of a name, as in ``x_1``; variables without one come first.
    A row has the same variable in all waves.
    """
    parts = [wave_of(name) for name in graph.nodes]
    waves = sorted({wave for _, wave in parts if wave is not None})
    if len(waves) < 2:
        raise GraphError(
            f"layout = 'waves' needs names that end in the numbers of two or more waves, as x_1 and "
            f"x_2; the names are {join_names(graph.nodes)}"
        )
    stems = list(dict.fromkeys(stem for stem, wave in parts if wave is not None))
    constant = [stem for stem, wave in parts if wave is None]
    sizes = _box_sizes(graph)
    column = np.array([0 if wave is None else 1 + waves.index(wave) for _, wave in parts])
    row = np.array([(constant if wave is None else stems).index(stem) for stem, wave in parts])
    widths = [sizes[column == k, 0].max(initial=0.0) for k in range(len(waves) + 1)]
    gaps = np.where(np.array(widths) > 0, np.array(widths) + _WAVE_GAP, 0.0)
    left = np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    x = left[column] + np.array(widths)[column] / 2
    return _at_origin(np.column_stack([x, row * (HEIGHT + _ROW_GAP)]), sizes)


def circle_layout(graph: MixedGraph) -> Layout:
    """Place the nodes on a circle in node order, clockwise from the top."""
    d = len(graph)
    sizes = _box_sizes(graph)
    if d == 0:
        return Layout(np.zeros((0, 2)), sizes)
    angle = 2 * np.pi * np.arange(d) / d
    direction = np.column_stack([np.sin(angle), -np.cos(angle)])
    # Increase the radius until every two boxes are 14 apart, horizontally or vertically. The first
    # radius is too small for two boxes above each other.
    radius = max(55.0, 0.8 * d * (HEIGHT + 14) / (2 * np.pi))
    while d > 1:
        centers = radius * direction
        apart = np.abs(centers[:, None] - centers[None]) - (sizes[:, None] + sizes[None]) / 2
        apart[np.arange(d), np.arange(d)] = np.inf
        if np.maximum(apart[..., 0] - 14, apart[..., 1] - 14).min() >= 0:
            break
        radius *= 1.06
    return _at_origin(radius * direction, sizes)


# --- layers ---


def layered_layout(graph: MixedGraph) -> Layout:
    """Place the nodes of an acyclic graph in rows, parents above their children.

    Connected components are side by side, with rows of at most about 1.6 sqrt(d) of their d
    nodes. Within a row, nodes are sorted by the mean position of their neighbors, in sweeps down
    and up. Isolated nodes are in rows of their own at the bottom.
    """
    sizes = _box_sizes(graph)
    index = {name: v for v, name in enumerate(graph.nodes)}
    weights = _weights(graph)
    near = [np.flatnonzero(row).tolist() for row in weights]
    parents = [[index[u] for u in graph.parents(name)] for name in graph.nodes]
    order = [index[name] for name in graph.topological_order()]
    centers = np.zeros((len(graph), 2))
    # Components would push each other apart in the sweeps: each has its own rows.
    components = [c for c in _components(order, weights) if len(c) > 1]
    for component in components:
        rows = _rows(component, parents)
        centers[component, 0] = _sorted_rows(rows, near, sizes[:, 0])[component]
        for depth, row in enumerate(rows):
            centers[row, 1] = depth * (HEIGHT + _ROW_GAP)
    bottom = place_on_shelves(components, centers, sizes) + _ROW_GAP + HEIGHT / 2
    middle = (centers[:, 0].max() + centers[:, 0].min()) / 2 if components else 0.0
    isolated = [v for v in order if not near[v]]
    limit = _row_limit(len(graph))
    for k in range(0, len(isolated), limit):
        row = isolated[k : k + limit]
        x = np.zeros(len(graph))
        _place_row(row, x, sizes[:, 0])
        centers[row, 0] = x[row] + middle
        centers[row, 1] = (bottom if components else 0.0) + k // limit * (HEIGHT + _ROW_GAP)
    return _at_origin(centers, sizes)


def _weights(graph: MixedGraph, strengths: Sequence[float] | None = None) -> Floats:
    """Return the weights of all pairs of nodes, 0 for those that are not adjacent."""
    index = {name: v for v, name in enumerate(graph.nodes)}
    weights = np.zeros((len(graph), len(graph)))
    for (a, _, b), strength in zip(graph.edges, strengths or [1.0] * graph.n_edges, strict=True):
        # Not zero: an edge of strength zero still connects.
        weights[index[a], index[b]] += max(strength, 1e-3)
        weights[index[b], index[a]] += max(strength, 1e-3)
    return weights


def _components(nodes: Sequence[int], weights: Floats) -> list[list[int]]:
    """Return the connected components of some nodes, each in the order of `nodes`."""
    n, label = connected_components(weights[np.ix_(nodes, nodes)], directed=False)
    return [[v for v, own in zip(nodes, label, strict=True) if own == k] for k in range(n)]


def _row_limit(d: int) -> int:
    return max(3, ceil(1.6 * sqrt(d)))


def _rows(component: list[int], parents: list[list[int]]) -> list[list[int]]:
    """Assign each node to the first row below its parents that is not full."""
    limit = _row_limit(len(component))
    row_of: dict[int, int] = {}
    rows: list[list[int]] = []
    for v in component:
        depth = max((row_of[p] + 1 for p in parents[v]), default=0)
        while depth < len(rows) and len(rows[depth]) >= limit:
            depth += 1
        if depth == len(rows):
            rows.append([])
        rows[depth].append(v)
        row_of[v] = depth
    return rows


def _sorted_rows(rows: list[list[int]], near: list[list[int]], widths: Floats) -> Floats:
    """Sort the nodes within rows by the mean position of their neighbors; return positions."""
    x = np.zeros(len(near))
    for row in rows:
        _place_row(row, x, widths)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = {v: float(np.mean(x[near[v]])) for v in row}
            row.sort(key=lambda v: (wanted[v], v))
            _place_row(row, x, widths, wanted)
    return x


def _place_row(
    row: list[int], x: Floats, widths: Floats, wanted: dict[int, float] | None = None
) -> None:
    """Set the positions of one row in this order, near the wanted positions, without overlap."""
    positions = np.zeros(len(row))
    for k, v in enumerate(row):
        aim = -np.inf if wanted is None else wanted[v]
        if k:
            aim = max(aim, positions[k - 1] + (widths[row[k - 1]] + widths[v]) / 2 + _COLUMN_GAP)
        positions[k] = aim if np.isfinite(aim) else 0.0
    # The nodes were pushed to the right only: shift the row back to its wanted mean.
    goal = 0.0 if wanted is None else float(np.mean([wanted[v] for v in row]))
    x[row] = positions - positions.mean() + goal


def place_on_shelves(
    blocks: list[list[int]],
    centers: Floats,
    sizes: Floats,
    gaps: tuple[float, float] = (_COLUMN_GAP, _ROW_GAP),
) -> float:
    """Move blocks of nodes side by side, in several rows if needed; return the lower end."""
    corners = [
        ((centers[b] - sizes[b] / 2).min(axis=0), (centers[b] + sizes[b] / 2).max(axis=0))
        for b in blocks
    ]
    extents = [high - low for low, high in corners]
    area = sum((w + gaps[0]) * (h + gaps[1]) for w, h in extents)
    shelf_width = max([1.5 * sqrt(area), *(float(w) for w, _ in extents)])
    left = top = height = 0.0
    for block, (low, _), (w, h) in zip(blocks, corners, extents, strict=True):
        if left and left + w > shelf_width:
            left, top, height = 0.0, top + height + gaps[1], 0.0
        centers[block] += np.array([left, top]) - low
        left += w + gaps[0]
        height = max(height, h)
    return top + height


# --- modules ---


def modules(
    graph: MixedGraph, strengths: Sequence[float] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return groups of nodes, by index, with many edges inside and few between.

    Greedy moves increase the modularity, as in the Louvain method (Blondel and others, Fast
    unfolding of communities in large networks, 2008), but without randomness: nodes in their order,
    ties to the first. Every group is connected; isolated nodes are in none. The groups are in
    causal order on average. `strengths` are weights >= 0 of the edges.
    """
    d = len(graph)
    weights = _weights(graph, strengths)
    label = np.arange(d)  # the group of each node
    between = weights  # of groups; edges inside a group count twice, on the diagonal
    while True:
        merged = _merge_groups(between)
        label = merged[label]
        n_groups = int(merged.max(initial=-1)) + 1
        if len(merged) == n_groups:
            break
        member = np.eye(n_groups)[merged]
        between = member.T @ between @ member
    order = graph.topological_order() if graph.is_acyclic() else graph.nodes
    rank = np.array([order.index(name) for name in graph.nodes])
    found = [
        tuple(component)
        for k in range(n_groups)
        for component in _components(np.flatnonzero(label == k).tolist(), weights)
        if len(component) > 1
    ]
    return tuple(sorted(found, key=lambda group: (float(rank[list(group)].mean()), group)))


def _merge_groups(weights: Floats) -> npt.NDArray[np.intp]:
    """Move nodes between groups while that increases the modularity; return the group numbers.

    With k_v the degree of v and 2m the sum of all degrees, moving v to a group G gains the weight
    of its edges to G minus the expected weight: sum of w_vu over u in G, minus k_v k(G) / 2m.
    """
    d = len(weights)
    degree = weights.sum(axis=0)
    total = float(degree.sum())
    group, group_degree = np.arange(d), degree.copy()
    while total:
        before = group.copy()
        for v in range(d):
            own = group[v]
            group_degree[own] -= degree[v]
            row = weights[v].copy()
            row[v] = 0.0
            gain = np.bincount(group, row, minlength=d) - degree[v] * group_degree / total
            best = int(np.argmax(gain))
            if gain[best] <= gain[own] + _MIN_GAIN * total:
                best = own
            group[v] = best
            group_degree[best] += degree[v]
        if (group == before).all():
            break
    return np.unique(group, return_inverse=True)[1]


def module_layout(graph: MixedGraph, groups: Sequence[Sequence[int]]) -> Layout:
    """Lay out each module by itself and place the blocks side by side, isolated nodes last."""
    centers, sizes = np.zeros((len(graph), 2)), np.zeros((len(graph), 2))
    isolated = sorted(set(range(len(graph))).difference(*groups))
    blocks = [*map(list, groups), *([isolated] if isolated else [])]
    for nodes in blocks:
        block = graph.subgraph([graph.nodes[v] for v in nodes])
        layered = not block.n_edges or (block.n_directed and block.is_acyclic())
        placed = layered_layout(block) if layered else circle_layout(block)
        index = [graph.nodes.index(name) for name in block.nodes]
        centers[index], sizes[index] = placed.centers, placed.sizes
    place_on_shelves(blocks, centers, sizes, (_BLOCK_GAP, _BLOCK_GAP))
    return Layout(centers, sizes)


def module_regions(layout: Layout, groups: Sequence[Sequence[int]]) -> list[Region]:
    """Return a rectangle around each module: left, top, width, height."""
    regions = []
    for group in map(list, groups):
        low = (layout.centers[group] - layout.sizes[group] / 2).min(axis=0) - REGION_MARGIN
        high = (layout.centers[group] + layout.sizes[group] / 2).max(axis=0) + REGION_MARGIN
        left, top, width, height = (float(x) for x in (*low, *(high - low)))
        regions.append((left, top, width, height))
    return regions
