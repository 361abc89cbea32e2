"""Curves of the edges in a drawing, and positions of their labels.

SVG files, plots, the report and the workbench all use these curves. An edge is a quadratic Bézier
curve between two boxes. Of about twenty bends the one of lowest cost is chosen. In order of
importance, the curve keeps clear of other boxes; of arrowheads, since a head on a crossing cannot
be read; of crossings; and of other edges at the same node. Edges are routed one after the other, and
those without a clear curve again when all others are known. Where every bend meets a box, the edge
takes the shortest way around the boxes, as a chain of curves.

Labels may slide along their edge and step aside. Those on the shortest edges, with the fewest
possible positions, are placed first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from bowfree.visualization.layout import Layout

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


HEAD_LENGTH, HEAD_WIDTH = 9.0, 7.0

_GAP = 2.0  # between a box and the tip of an arrow
_CLEARANCE = 5.0  # an edge should pass other boxes at this distance
_HEAD_ROOM = 10.0  # distance from the middle of other edges' heads
_APART = 9.0  # distance of two edges of one node from each other half-way
# Bends, the height of the curve over its chord, in order of preference. Bidirected edges are never
# straight: they differ from directed ones in form as well as in color.
_DIRECTED_BENDS = (0.0, *(s * k / 100 for k in range(5, 60, 5) for s in (1, -1)))
_BIDIRECTED_BENDS = tuple(
    s * k / 100 for k in (20, 15, 25, 10, 30, 35, 40, 45, 50, 55) for s in (1, -1)
)
# Costs per pixel too near, per unit of unneeded bend and per crossing: no large detour for a small
# gain.
_BOX_COST, _HEAD_COST, _BEND_COST, _CROSS_COST = 100.0, 3.0, 90.0, 6.0
_COARSE = 6  # every sixth point of a curve is compared with other curves, for crossings
_TRIES = 2500  # bends to try in one drawing
_MANY = 100  # edges; beyond, heads and crossings are ignored and no edge is routed twice
_ALONG = np.linspace(0.02, 0.98, 65)  # where a curve is compared with boxes and heads
_HALFWAY = np.array([0.35, 0.5, 0.65])  # and with other curves
_HOP = 250.0  # pixels: the largest distance of neighbors in a network of corners
_RINGS = (7.0, 13.0, 19.0)  # distances of the corners of detours from a box
_SIGNS = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
_CORNER_COST = 25.0  # pixels: edges should not share corners, and turn seldom
_TURN = 14.0  # largest distance from a corner at which a detour leaves its straight line

# Candidate positions of labels: along the edge, and aside from it.
_LABEL_ALONG = np.array([0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74, 0.2, 0.8])
_LABEL_ASIDE = np.array([0.0, 9.0, -9.0, 15.0, -15.0, 22.0, -22.0, 30.0, -30.0])
_LABEL_GAP = 1.5  # between labels, and between a label and a box
_HEAD_REACH = 11.0  # from the end of an edge, the part that shows its arrowhead
# Two labels on one another cannot be read; an edge under a label can, since only a short piece of
# it is hidden.
_OVERLAP, _CROSSING, _HEAD_HIDDEN, _AWAY, _OFF_CENTER = 1000.0, 4.0, 250.0, 0.9, 8.0

Floats = npt.NDArray[np.float64]
Edge = tuple[str, str, str]


@dataclass(frozen=True)
class Curve:
    """A chain of quadratic Bézier curves between the borders of two boxes, mostly a single one."""

    edge: Edge  # a, mark, b with mark "->" or "<->"
    points: Floats  # (2k + 1, 2): start at a, control point, joint, control point, ..., end at b
    bend: float  # height of the curve between the centers over its chord, divided by the chord


@dataclass(frozen=True)
class _Route:
    """A curve, its visible points, the middles of its heads, and its cost."""

    points: Floats
    bend: float
    line: Floats
    heads: Floats
    cost: float


def edge_curves(graph: MixedGraph, layout: Layout) -> list[Curve]:
    """Return a curve for each edge, around the boxes of a layout."""
    return route_edges(graph.nodes, graph.edges, layout, {})


def route_edges(
    nodes: Sequence[str],
    edges: Sequence[Edge],
    layout: Layout,
    kept: Mapping[Edge, Curve],
    moved: Sequence[int] = (),
) -> list[Curve]:
    """Return a curve for each of these edges.

    `kept` has curves of an earlier drawing. They are used again unless one of the boxes that were
    `moved` since is an end of them or stands in their way.
    """
    index = {name: v for v, name in enumerate(nodes)}
    ends = [(index[a], index[b]) for a, _, b in edges]
    old = [kept.get(edge) for edge in edges]
    if moved:
        old = [
            None if curve is None or _is_disturbed(curve, layout, pair, moved) else curve
            for curve, pair in zip(old, ends, strict=True)
        ]
    if None not in old:
        return [curve for curve in old if curve is not None]
    directed = {(a, b) for a, mark, b in edges if mark == "->"}
    # The more edges, the fewer bends are tried: a notebook must not wait.
    tries = max(1, _TRIES // max(1, len(edges)))
    crowded = len(edges) > _MANY
    edges_at: list[list[int]] = [[] for _ in nodes]
    for edge, pair in enumerate(ends):
        for v in pair:
            edges_at[v].append(edge)
    routes: dict[int, _Route] = {}
    corners: list[Floats] = []  # of detours

    def known_route(points: Floats, bend: float, edge: int) -> _Route:
        # In a crowded drawing, only the points are used.
        line = heads = np.zeros((0, 2))
        if not crowded:
            samples = points_on(points, _ALONG)
            line, heads = _visible(samples, layout, *ends[edge], edges[edge][1])
        return _Route(points, bend, line, heads, 0.0)

    def route(edge: int) -> _Route:
        a, mark, b = edges[edge]
        bends = _BIDIRECTED_BENDS if mark == "<->" else _DIRECTED_BENDS
        if mark == "->" and (b, a) in directed:
            bends = _DIRECTED_BENDS[3::2]  # each to its own left: the two separate
        beside = [
            routes[other]
            for v in ends[edge]
            for other in edges_at[v]
            if other != edge and other in routes
        ]
        others = [] if crowded else [routes[other] for other in routes if other != edge]
        found = _route(layout, *ends[edge], mark, bends[:tries], others, beside)
        if _meets_box(found.points, layout, *ends[edge], _GAP):
            around = _detour(layout, *ends[edge], corners)
            if around is not None:
                return known_route(around, found.bend, edge)
        return found

    for edge, curve in enumerate(old):
        if curve is not None:
            routes[edge] = known_route(curve.points, curve.bend, edge)
    for edge, curve in enumerate(old):
        if curve is None:
            routes[edge] = route(edge)
    for edge in range(len(edges)):
        if routes[edge].cost > 0 and not crowded:
            routes[edge] = route(edge)
    return [
        curve or Curve(edges[k], routes[k].points, routes[k].bend) for k, curve in enumerate(old)
    ]


def _is_disturbed(
    curve: Curve, layout: Layout, ends: tuple[int, int], moved: Sequence[int]
) -> bool:
    """Return whether a moved box is an end of a curve, or stands in its way."""
    if not {*ends}.isdisjoint(moved):
        return True
    among = Layout(layout.centers[[*ends, *moved]], layout.sizes[[*ends, *moved]])
    return _meets_box(curve.points, among, 0, 1, _GAP)


def _meets_box(points: Floats, layout: Layout, i: int, j: int, distance: float) -> bool:
    """Return whether an edge from i to j is nearer than this to another box."""
    length = float(np.hypot(*np.diff(points, axis=0).T).sum())
    line = points_on(points, np.linspace(0, 1, max(17, round(length / 5))))
    near = _boxes_near(line, layout, i, j)
    offsets = line[:, None] - layout.centers[near]
    return bool((_box_distance(offsets, layout.sizes[near]) < distance).any())


def _boxes_near(line: Floats, layout: Layout, i: int, j: int) -> npt.NDArray[np.bool_]:
    """Return which boxes other than i and j may be too near to a line."""
    reach = layout.sizes / 2 + _CLEARANCE
    low, high = line.min(axis=0), line.max(axis=0)
    near: npt.NDArray[np.bool_] = (layout.centers + reach >= low).all(axis=1)
    near &= (layout.centers - reach <= high).all(axis=1)
    near[[i, j]] = False
    return near


def _route(
    layout: Layout,
    i: int,
    j: int,
    mark: str,
    bends: Sequence[float],
    others: Sequence[_Route],
    beside: Sequence[_Route],
) -> _Route:
    """Return the best curve from i to j, given the `others`; those `beside` it end at i or j."""
    start, end = layout.centers[i], layout.centers[j]
    chord = end - start
    normal = np.array([chord[1], -chord[0]])
    heads_there = np.vstack([np.zeros((0, 2)), *(other.heads for other in others)])
    lines_there = np.vstack([np.zeros((0, 2)), *(other.line for other in others)])
    lines_beside = [points_on(other.points, _ALONG) for other in beside]
    segments = _segments([other.line[::_COARSE] for other in others])
    best, least = None, np.inf
    for bend in bends:
        detour = _BEND_COST * abs(abs(bend) - abs(bends[0]))
        if detour >= least:
            break  # bends are sorted by detour
        # A quadratic curve rises to half the height of its control point.
        points = np.array([start, (start + end) / 2 + 2 * bend * normal, end])
        samples = points_on(points, _ALONG)
        near = _boxes_near(samples, layout, i, j)
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
        cost += _CROSS_COST * _crossings(_segments([line[::_COARSE]]), segments)
        if cost + detour >= least:
            continue
        cost += _crowding(points_on(points, _HALFWAY), lines_beside)
        if cost + detour < least:
            best, least = _Route(points, bend, line, heads, cost), cost + detour
    assert best is not None
    return replace(best, points=_clipped(best.points, layout, i, j))


def _visible(samples: Floats, layout: Layout, i: int, j: int, mark: str) -> tuple[Floats, Floats]:
    """Return the samples of a curve outside its own boxes, and the middles of its heads."""
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


def _nearness(line: Floats, heads: Floats) -> float:
    """Return by how many pixels lines are too near to the middles of heads, summed over heads."""
    if not len(line) or not len(heads):
        return 0.0
    x, y = (line[:, k, None] - heads[:, k] for k in (0, 1))
    distance = np.sqrt((x * x + y * y).min(axis=0))
    return float(np.maximum(_HEAD_ROOM - distance, 0).sum())


def _inside(points: Floats, shape: Floats) -> Floats:
    """Return the points in the rectangle around a shape, with room for a head."""
    if not len(shape):
        return points[:0]
    low, high = shape.min(axis=0) - _HEAD_ROOM, shape.max(axis=0) + _HEAD_ROOM
    (x, y), (x0, y0), (x1, y1) = points.T, low, high
    result: Floats = points[(x > x0) & (x < x1) & (y > y0) & (y < y1)]
    return result


def _crowding(halfway: Floats, lines: Sequence[Floats]) -> float:
    """Return how much a curve runs along others, at the points around its middle."""
    if not lines:
        return 0.0
    distance = np.hypot(*np.moveaxis(halfway[:, None] - np.array(lines)[:, None], -1, 0))
    # At a crossing only one of the points is near: use the farthest.
    return float(np.maximum(_APART - distance.min(axis=2).max(axis=1), 0).sum())


def _segments(lines: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the starts of all segments of some lines, and the vectors to their ends."""
    empty = np.zeros((0, 2))
    return (
        np.vstack([empty, *(line[:-1] for line in lines)]),
        np.vstack([empty, *(np.diff(line, axis=0) for line in lines)]),
    )


def _crossings(one: tuple[Floats, Floats], many: tuple[Floats, Floats]) -> int:
    """Return the number of crossings of segments."""
    (p, u), (q, v) = one, many
    x, y = (q[:, k] - p[:, k, None] for k in (0, 1))
    a, b, c, d = u[:, 0, None], u[:, 1, None], v[:, 0], v[:, 1]
    det = a * d - b * c
    s, t = (x * d - y * c) * np.sign(det), (x * b - y * a) * np.sign(det)
    size = np.abs(det)
    return int(((s > 0) & (s < size) & (t > 0) & (t < size)).sum())


def points_on(points: Floats, t: Floats) -> Floats:
    """Return points of a chain of quadratic Bézier curves, shape (len(t), 2).

    `t` runs from 0 to 1 over the chain; the share of a curve is that of its chord.
    """
    chords = np.hypot(*(points[2::2] - points[:-2:2]).T)
    joints = np.concatenate([[0.0], np.cumsum(chords) / max(float(chords.sum()), 1e-9)])
    k = np.clip(np.searchsorted(joints, t, side="right") - 1, 0, len(chords) - 1)
    w = ((t - joints[k]) / np.maximum(joints[k + 1] - joints[k], 1e-9))[:, None]
    start, control, end = points[2 * k], points[2 * k + 1], points[2 * k + 2]
    result: Floats = (1 - w) ** 2 * start + 2 * w * (1 - w) * control + w * w * end
    return result


def _box_distance(offset: Floats, size: Floats) -> Floats:
    """Return the distances of points, relative to its center, from a box with round ends."""
    radius = size[..., 1] / 2
    corner = np.abs(offset) - size / 2 + radius[..., None]
    outside = np.hypot(np.maximum(corner[..., 0], 0), np.maximum(corner[..., 1], 0))
    result: Floats = outside + np.minimum(corner.max(axis=-1), 0) - radius
    return result


def _clipped(points: Floats, layout: Layout, i: int, j: int) -> Floats:
    """Cut a curve between two centers at the borders of their boxes."""
    t = np.linspace(0, 1, 129 + 2 * round(float(np.hypot(*np.diff(points, axis=0).T).sum())))
    line = points_on(points, t)
    left_start = _box_distance(line - layout.centers[i], layout.sizes[i]) >= _GAP
    before_end = _box_distance(line - layout.centers[j], layout.sizes[j]) >= _GAP
    free = np.flatnonzero(left_start & before_end)
    if not len(free):  # the boxes touch, as in the workbench while one of them is moved
        return points
    t0, t1 = t[free[0]], t[free[-1]]
    first, last = points_on(points, np.array([t0, t1]))
    # The control point of a part of the curve is the polar form at (t0, t1).
    control = (
        (1 - t0) * (1 - t1) * points[0]
        + ((1 - t0) * t1 + t0 * (1 - t1)) * points[1]
        + t0 * t1 * points[2]
    )
    return np.array([first, control, last])


# --- detours ---


class _Network:
    """Corners around the boxes of a layout, and which of them see each other over a short distance."""

    def __init__(self, centers: Floats, sizes: Floats) -> None:
        halves = sizes / 2
        corners = np.concatenate(
            [(centers[:, None] + _SIGNS * (halves + r)[:, None]).reshape(-1, 2) for r in _RINGS]
        )
        distance = np.abs(corners[:, None] - centers) - halves - _RINGS[0]
        self.corners: Floats = corners[distance.max(axis=2).min(axis=1) >= -0.5]
        self._centers, self._halves = centers, halves + _RINGS[0] - 1  # with room for a line
        self._known: dict[int, tuple[npt.NDArray[np.int64], Floats]] = {}

    def neighbors(self, k: int) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the corners that corner k sees, and their distances."""
        if k not in self._known:
            here = self.corners[k]
            distance = np.hypot(*(self.corners - here).T)
            near = np.flatnonzero(distance < _HOP)
            around = (np.abs(self._centers - here) < self._halves + _HOP).all(axis=1)
            boxes = self._centers[around], self._halves[around]
            near = near[_sees(here, self.corners[near], boxes)]
            self._known[k] = near, distance[near]
        return self._known[k]


@lru_cache(maxsize=4)
def _network(centers: bytes, sizes: bytes) -> _Network:
    """Return the network of a layout, which the workbench uses for many edits."""
    return _Network(*(np.frombuffer(part).reshape(-1, 2) for part in (centers, sizes)))


def _detour(layout: Layout, i: int, j: int, used: list[Floats]) -> Floats | None:
    """Return the points of a curve from i to j around all other boxes; None without a way.

    The A* algorithm finds the shortest way over the corners of a network. `used` has the corners of
    other detours, which are avoided.
    """
    own = np.isin(np.arange(len(layout.sizes)), (i, j))
    boxes = layout.centers[~own], layout.sizes[~own] / 2 + _RINGS[0] - 1
    start, end = layout.centers[i], layout.centers[j]
    network = _network(layout.centers.tobytes(), layout.sizes.tobytes())
    way = _shortest_way(start, end, network, boxes, used)
    if way is None:
        return None
    # Hops are short: leave out the corners between two that see each other.
    points, kept = np.array([start, *way, end]), [0]
    while kept[-1] < len(points) - 1:
        here, further = points[kept[-1]], points[kept[-1] + 1 :]
        kept.append(kept[-1] + 1 + int(np.flatnonzero(_sees(here, further, boxes))[-1]))
    way = points[kept[1:-1]] if len(kept) > 2 else (points[:1] + points[-1:]) / 2
    used.append(way)
    return _along(layout, i, j, way)


def _shortest_way(
    start: Floats,
    end: Floats,
    network: _Network,
    boxes: tuple[Floats, Floats],
    used: list[Floats],
) -> Floats | None:
    """Return the corners of the shortest way around boxes, which are given by center and half."""
    corners = network.corners
    taken = cKDTree(np.vstack([np.zeros((0, 2)), *used]))
    shared = taken.query_ball_point(corners, _RINGS[0] / 2, p=np.inf, return_length=True)
    price = _CORNER_COST * (1 + 3 * shared)
    to_start, to_end = (np.hypot(*(corners - point).T) for point in (start, end))
    sees_end = np.zeros(len(corners), dtype=bool)
    last = np.flatnonzero(to_end < _HOP)
    sees_end[last] = _sees(end, corners[last], boxes)
    near = np.flatnonzero(to_start < _HOP)
    near = near[_sees(start, corners[near], boxes)]
    cost = np.full(len(corners), np.inf)
    cost[near] = to_start[near] + price[near]
    before = np.full(len(corners), -1)
    queue = [(cost[k] + to_end[k], k) for k in near.tolist()]
    heapq.heapify(queue)
    done = np.zeros(len(corners), dtype=bool)
    while queue:
        _, k = heapq.heappop(queue)
        if done[k]:
            continue
        done[k] = True
        if sees_end[k]:
            way = [k]
            while before[way[-1]] >= 0:
                way.append(int(before[way[-1]]))
            return corners[way[::-1]]
        near, distance = network.neighbors(k)
        length = cost[k] + distance + price[near]
        better = length < cost[near]
        cost[near[better]], before[near[better]] = length[better], k
        for n in near[better].tolist():
            heapq.heappush(queue, (cost[n] + to_end[n], n))
    return None


def _sees(point: Floats, targets: Floats, boxes: tuple[Floats, Floats]) -> npt.NDArray[np.bool_]:
    """Return which segments from a point to targets meet no box."""
    centers, halves = boxes
    step = targets - point
    step = np.where(step == 0, 1e-9, step)[:, None]
    near, far = (centers - halves - point) / step, (centers + halves - point) / step
    enter = np.minimum(near, far).max(axis=2)
    leave = np.maximum(near, far).min(axis=2)
    result: npt.NDArray[np.bool_] = ~((enter < leave) & (enter < 1) & (leave > 0)).any(axis=1)
    return result


def _along(layout: Layout, i: int, j: int, way: Floats) -> Floats:
    """Return a chain of curves along straight lines, with round corners."""
    tips = []
    for v, toward in ((i, way[0]), (j, way[-1])):
        center = layout.centers[v]
        line = center + np.linspace(0, 1, 2049)[:, None] * (toward - center)
        tips.append(line[np.argmax(_box_distance(line - center, layout.sizes[v]) >= _GAP)])
    corners = np.array([tips[0], *way, tips[1]])
    lengths = np.hypot(*np.diff(corners, axis=0).T)
    lengths[[0, -1]] = np.maximum(lengths[[0, -1]] - HEAD_LENGTH, 0) * 2  # room for a head
    points = [corners[0]]
    for k in range(1, len(corners) - 1):
        turn = min(_TURN, lengths[k - 1] / 2, lengths[k] / 2)
        into, out = (corners[n] - corners[k] for n in (k - 1, k + 1))
        joint, leaving = (corners[k] + x * (turn / np.hypot(*x)) for x in (into, out))
        points += [(points[-1] + joint) / 2, joint, corners[k], leaving]
    return np.array([*points, (points[-1] + corners[-1]) / 2, corners[-1]])


# --- labels ---


def place_labels(
    curves: Sequence[Curve],
    layout: Layout,
    sizes: Floats,
    kept: Mapping[Edge, Floats] | None = None,
) -> Floats:
    """Return the center of one label per curve.

    `sizes`, of shape (m, 2), are width and height of the labels. `kept` has centers of an earlier
    drawing; those that hide no new edge and no box are used again.
    """
    sizes = np.asarray(sizes, dtype=np.float64).reshape(-1, 2)
    lines = [points_on(curve.points, np.linspace(0, 1, 41)) for curve in curves]
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    on_lines = np.vstack([np.zeros((0, 2)), *lines])
    owner = np.repeat(np.arange(len(lines)), 41)
    heads = _points_on_heads(curves)
    centers = np.zeros((len(curves), 2))
    old = [(kept or {}).get(curve.edge) for curve in curves]
    new_curves = [curve for curve, spot in zip(curves, old, strict=True) if spot is None]
    is_new = np.array([spot is None for spot in old], dtype=bool)
    new_points = np.vstack([on_lines[is_new[owner]], _points_on_heads(new_curves)])
    placed: list[int] = []
    for e, spot in enumerate(old):
        if spot is None:
            continue
        hidden = _points_under(spot[None], sizes[e], new_points)
        if not hidden and not _overlap(spot[None], sizes[e], layout.centers, layout.sizes):
            centers[e] = spot
            placed.append(e)
    for e in np.argsort(lengths, kind="stable").tolist():
        if e in placed:
            continue
        spots, cost = _candidates(curves[e])
        cost += _OVERLAP * _overlap(spots, sizes[e], layout.centers, layout.sizes)
        cost += _OVERLAP * _overlap(spots, sizes[e], centers[placed], sizes[placed])
        cost += _CROSSING * _points_under(spots, sizes[e], on_lines[owner != e])
        cost += _HEAD_HIDDEN * _points_under(spots, sizes[e], heads)
        centers[e] = spots[cost.argmin()]
        placed.append(e)
    return centers


def _points_on_heads(curves: Sequence[Curve]) -> Floats:
    """Return points on the arrowheads of the curves: along their middle, and their corners."""
    along = np.array([0.2, 0.6, 1.0, 0.8, 0.8]) * _HEAD_REACH
    across = np.array([0, 0, 0, HEAD_WIDTH / 2, -HEAD_WIDTH / 2])
    points = [np.zeros((0, 2))]
    for curve in curves:
        ends = [(curve.points[-1], curve.points[-2])]
        if curve.edge[1] == "<->":
            ends.append((curve.points[0], curve.points[1]))
        for tip, inwards in ends:
            back = (inwards - tip) / max(float(np.hypot(*(inwards - tip))), 1e-9)
            points.append(tip + np.outer(along, back) + np.outer(across, [-back[1], back[0]]))
    return np.vstack(points)


def _candidates(curve: Curve) -> tuple[Floats, Floats]:
    """Return positions for a label, and the cost of each by itself."""
    on_line = points_on(curve.points, _LABEL_ALONG)
    tangent = points_on(curve.points, _LABEL_ALONG + 0.01) - on_line
    normal = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    normal /= np.maximum(np.hypot(*normal.T), 1e-9)[:, None]
    spots = on_line[:, None] + _LABEL_ASIDE[None, :, None] * normal[:, None]
    cost = _OFF_CENTER * np.abs(_LABEL_ALONG - 0.5)[:, None] + _AWAY * np.abs(_LABEL_ASIDE)
    return spots.reshape(-1, 2), cost.ravel()


def _overlap(spots: Floats, size: Floats, centers: Floats, sizes: Floats) -> Floats:
    """Return by how much a label at each spot overlaps boxes, summed."""
    reach = (size + sizes) / 2 + _LABEL_GAP
    depth = (reach - np.abs(spots[:, None] - centers)).min(axis=2)
    total: Floats = np.maximum(depth, 0).sum(axis=1)
    return total


def _points_under(spots: Floats, size: Floats, points: Floats) -> Floats:
    """Return the number of points under a label at each spot."""
    reach = size / 2 + 1
    low, high = spots.min(axis=0) - reach, spots.max(axis=0) + reach
    points = points[((points > low) & (points < high)).all(axis=1)]
    under = (np.abs(spots[:, None] - points) < reach).all(axis=2)
    count: Floats = under.sum(axis=1).astype(np.float64)
    return count
