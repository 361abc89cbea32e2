"""The lines of edges in a picture: from box to box, around what is in the way.

An edge is a quadratic Bézier curve. Of a handful of bends the best one is taken: it stays clear of
all other boxes, then of other edges' arrowheads, and its own heads stay off other lines (a head on
a crossing cannot be read), then it does not run along another edge of the same node. The edges are
routed one after another; those that found no clear line get a second chance when all others are
known. The boxes come from :mod:`bowfree.visualization.layout`; :mod:`bowfree.visualization.svg` writes the
SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bowfree.visualization.layout import Layout

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


HEAD_LENGTH, HEAD_WIDTH = 9.0, 7.0

_GAP = 2.0  # between a box and the tip of an arrow
_CLEARANCE = 5.0  # an edge should pass other boxes at this distance
_HEAD_ROOM = 10.0  # and the middle of other edges' heads at this one
_APART = 9.0  # two edges of one node should be so far from each other half-way
# Bends, as the height of the curve over its chord, in the order of preference. Arcs of bidirected
# edges are never straight, so that they differ from arrows in form as well as in color.
_DIRECTED_BENDS = (0.0, *(s * k / 100 for k in range(5, 60, 5) for s in (1, -1)))
_BIDIRECTED_BENDS = tuple(
    s * k / 100 for k in (20, 15, 25, 10, 30, 35, 40, 45, 50, 55) for s in (1, -1)
)
# What the parts of a bend's cost weigh, per pixel too near, and per unit of bend more than needed:
# where nothing is clear, an edge should not make a large detour for little.
_BOX_COST, _HEAD_COST, _BEND_COST = 100.0, 3.0, 90.0

_TRIES = 2500  # bends to look at in one picture
_MANY = 100  # edges, from which on heads are not looked at and there is no second chance
_ALONG = np.linspace(0.02, 0.98, 65)  # where a curve is compared with boxes and heads
_HALFWAY = np.array([0.35, 0.5, 0.65])  # and with other curves

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The line of one edge: a quadratic Bézier curve between the borders of two boxes.

    Attributes
    ----------
    edge : tuple
        ``(a, mark, b)`` with mark ``"->"`` or ``"<->"``.
    points : array (3, 2)
        Start, control point and end; the start is at a, the end at b.
    bend : float
        Height of the curve between the two centers over its chord, as a share of the chord.
    """

    edge: tuple[str, str, str]
    points: Vector
    bend: float


@dataclass(frozen=True)
class _Route:
    """A curve between two centers with what other edges must know of it.

    `line` is the visible part in points, shape (k, 2); `heads` the middles of the arrowheads;
    `cost` what was wrong with it when it was chosen, without its bend.
    """

    points: Vector
    bend: float
    line: Vector
    heads: Vector
    cost: float


def edge_curves(graph: MixedGraph, layout: Layout) -> list[Curve]:
    """Route all edges around the boxes of a layout.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.layout import circle_layout
    >>> from bowfree.visualization.routing import edge_curves
    >>> g = bf.parse("a -> b <-> c")
    >>> [curve.edge for curve in edge_curves(g, circle_layout(g))]
    [('a', '->', 'b'), ('b', '<->', 'c')]
    """
    directed = set(graph.directed)
    # With thousands of edges hardly any bend is clear, and looking for one would keep a notebook
    # waiting: the more edges, the fewer bends are tried for each.
    tries = max(1, _TRIES // max(1, graph.n_edges))
    crowded = graph.n_edges > _MANY
    ends = [(graph._node(a), graph._node(b)) for a, _, b in graph.edges]
    edges_at: list[list[int]] = [[] for _ in graph.nodes]
    for edge, pair in enumerate(ends):
        for v in pair:
            edges_at[v].append(edge)
    routes: dict[int, _Route] = {}

    def route(edge: int) -> _Route:
        a, mark, b = graph.edges[edge]
        bends = _DIRECTED_BENDS if mark == "->" else _BIDIRECTED_BENDS
        if mark == "->" and (b, a) in directed:
            bends = _DIRECTED_BENDS[3::2]  # both bend to their own left, so they part
        beside = [
            routes[other]
            for v in ends[edge]
            for other in edges_at[v]
            if other != edge and other in routes
        ]
        others = [] if crowded else [routes[other] for other in routes if other != edge]
        return _route(layout, *ends[edge], mark, bends[:tries], others, beside)

    for edge in range(graph.n_edges):
        routes[edge] = route(edge)
    for edge in range(graph.n_edges):
        if routes[edge].cost > 0 and not crowded:
            routes[edge] = route(edge)
    return [
        Curve(name, _clipped(routes[edge].points, layout, *ends[edge]), routes[edge].bend)
        for edge, name in enumerate(graph.edges)
    ]


def _route(
    layout: Layout,
    i: int,
    j: int,
    mark: str,
    bends: Sequence[float],
    others: Sequence[_Route],
    beside: Sequence[_Route],
) -> _Route:
    """Return the best curve from i to j, given the `others`; those `beside` it end at i or j too.

    Without a clear bend the depth of the hits decides: a graph with many edges has no clear
    drawing.
    """
    reach = layout.sizes / 2 + _CLEARANCE
    start, end = layout.centers[i], layout.centers[j]
    chord = end - start
    normal = np.array([chord[1], -chord[0]])
    heads_there = np.vstack([np.zeros((0, 2)), *(other.heads for other in others)])
    lines_there = np.vstack([np.zeros((0, 2)), *(other.line for other in others)])
    lines_beside = [points_on(other.points, _ALONG) for other in beside]
    best, least = None, np.inf
    for bend in bends:
        detour = _BEND_COST * abs(abs(bend) - abs(bends[0]))
        if detour >= least:
            break  # bends are in the order of their detours
        # A quadratic curve rises to half the height of its control point.
        points = np.array([start, (start + end) / 2 + 2 * bend * normal, end])
        samples = points_on(points, _ALONG)
        near = (layout.centers + reach >= samples.min(axis=0)).all(axis=1) & (
            layout.centers - reach <= samples.max(axis=0)
        ).all(axis=1)
        near[[i, j]] = False
        distance = _box_distance(samples[:, None] - layout.centers[near], layout.sizes[near])
        cost = _BOX_COST * float(np.maximum(_CLEARANCE - distance, 0).sum())
        if cost + detour >= least:
            continue
        line, heads = _visible(samples, layout, i, j, mark)
        cost += _HEAD_COST * _nearness(line, _inside(heads_there, samples))
        if cost + detour >= least:
            continue
        cost += _HEAD_COST * _nearness(_inside(lines_there, heads), heads)
        if cost + detour >= least:
            continue
        cost += _crowding(points_on(points, _HALFWAY), lines_beside)
        if cost + detour < least:
            best, least = _Route(points, bend, line, heads, cost), cost + detour
    assert best is not None
    return best


def _visible(samples: Vector, layout: Layout, i: int, j: int, mark: str) -> tuple[Vector, Vector]:
    """Return the samples of a curve outside of its own boxes, and the middles of its heads."""
    outside = (_box_distance(samples - layout.centers[i], layout.sizes[i]) >= _GAP) & (
        _box_distance(samples - layout.centers[j], layout.sizes[j]) >= _GAP
    )
    line = samples[outside]
    if len(line) < 2:
        return line, np.zeros((0, 2))
    inwards = [(line[-1], line[-2])] + ([(line[0], line[1])] if mark == "<->" else [])
    heads = [
        tip + (to - tip) * (HEAD_LENGTH / 2 / float(np.hypot(*(to - tip)))) for tip, to in inwards
    ]
    return line, np.array(heads)


def _nearness(line: Vector, heads: Vector) -> float:
    """How much points of lines are too near to the middles of heads, in pixels over all heads."""
    if not len(line) or not len(heads):
        return 0.0
    x, y = (line[:, k, None] - heads[:, k] for k in (0, 1))
    distance = np.sqrt((x * x + y * y).min(axis=0))
    return float(np.maximum(_HEAD_ROOM - distance, 0).sum())


def _inside(points: Vector, shape: Vector) -> Vector:
    """Return the points in the rectangle around a shape, where heads may be too near to it."""
    if not len(shape):
        return points[:0]
    low, high = shape.min(axis=0) - _HEAD_ROOM, shape.max(axis=0) + _HEAD_ROOM
    (x, y), (x0, y0), (x1, y1) = points.T, low, high
    result: Vector = points[(x > x0) & (x < x1) & (y > y0) & (y < y1)]
    return result


def _crowding(halfway: Vector, lines: Sequence[Vector]) -> float:
    """How much a curve runs along others, from the points around its middle."""
    if not lines:
        return 0.0
    distance = np.hypot(*np.moveaxis(halfway[:, None] - np.array(lines)[:, None], -1, 0))
    # A crossing is near at one of the points only; the farthest tells the two cases apart.
    return float(np.maximum(_APART - distance.min(axis=2).max(axis=1), 0).sum())


def points_on(points: Vector, t: Vector) -> Vector:
    """Points of a quadratic Bézier curve, shape (len(t), 2)."""
    u = 1 - t
    return np.outer(u * u, points[0]) + np.outer(2 * u * t, points[1]) + np.outer(t * t, points[2])


def _box_distance(offset: Vector, size: Vector) -> Vector:
    """Distance from a box with round ends to points given relative to its center; < 0 inside."""
    radius = size[..., 1] / 2
    corner = np.abs(offset) - size / 2 + radius[..., None]
    outside = np.hypot(np.maximum(corner[..., 0], 0), np.maximum(corner[..., 1], 0))
    result: Vector = outside + np.minimum(corner.max(axis=-1), 0) - radius
    return result


def _clipped(points: Vector, layout: Layout, i: int, j: int) -> Vector:
    """Cut a curve between two centers at the borders of their boxes."""
    t = np.linspace(0, 1, 513)
    line = points_on(points, t)
    left_start = _box_distance(line - layout.centers[i], layout.sizes[i]) >= _GAP
    before_end = _box_distance(line - layout.centers[j], layout.sizes[j]) >= _GAP
    free = np.flatnonzero(left_start & before_end)
    # Boxes never touch (see layout), so part of the curve is free.
    t0, t1 = t[free[0]], t[free[-1]]
    first, last = points_on(points, np.array([t0, t1]))
    # The control point of the piece is the polar form at (t0, t1).
    control = (
        (1 - t0) * (1 - t1) * points[0]
        + ((1 - t0) * t1 + t0 * (1 - t1)) * points[1]
        + t0 * t1 * points[2]
    )
    return np.array([first, control, last])
