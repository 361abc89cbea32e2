"""The picture of a graph, as SVG, for notebooks and files; no other program is needed.

Directed edges are black arrows, bidirected edges red arcs with two heads. The boxes come from
:mod:`bowfree.layout`. An edge is a quadratic Bézier curve from box to box; of a handful of bends
the first one is taken that stays clear of all other boxes and does not run along another edge of
the same node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bowfree.layout import FONT_SIZE, Layout, layout_by_name

if TYPE_CHECKING:
    from bowfree.graph import MixedGraph

__all__ = ["Curve", "class_svg", "edge_curves"]

DIRECTED_COLOUR = "#111111"
BIDIRECTED_COLOUR = "#c8102e"
VARYING_COLOUR = "#2f5fb3"  # edges of a class whose marks differ between its members

_MARGIN = 14.0
_GAP = 2.0  # between a box and the tip of an arrow
_HEAD_LENGTH, _HEAD_WIDTH = 9.0, 7.0
_CIRCLE_RADIUS = 3.5
_CLEARANCE = 5.0  # an edge should pass other boxes at this distance
_APART = 9.0  # two edges of one node should be so far from each other half-way
# Bends, as the height of the curve over its chord, in the order of preference. Arcs of bidirected
# edges are never straight, so that they differ from arrows in form as well as in colour.
_DIRECTED_BENDS = (0.0, *(s * k / 100 for k in range(5, 60, 5) for s in (1, -1)))
_BIDIRECTED_BENDS = tuple(
    s * k / 100 for k in (20, 15, 25, 10, 30, 35, 40, 45, 50, 55) for s in (1, -1)
)

_TRIES = 2500  # bends to look at in one picture
_ALONG = np.linspace(0.02, 0.98, 49)  # where a curve is compared with the boxes
_HALFWAY = np.array([0.35, 0.5, 0.65])  # and with other curves

Vector = npt.NDArray[np.float64]
Ends = Mapping[tuple[str, str], tuple[str, str]]
"""The marks at both ends of edges: "head", "tail" or "circle"."""


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
        Height of the curve between the two centres over its chord, as a share of the chord.
    """

    edge: tuple[str, str, str]
    points: Vector
    bend: float


def edge_curves(graph: MixedGraph, layout: Layout) -> list[Curve]:
    """Route all edges around the boxes of a layout.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.drawing import edge_curves
    >>> from bowfree.layout import circle_layout
    >>> g = bf.parse("a -> b <-> c")
    >>> [curve.edge for curve in edge_curves(g, circle_layout(g))]
    [('a', '->', 'b'), ('b', '<->', 'c')]
    """
    directed = set(graph.directed)
    # With thousands of edges hardly any bend is clear, and looking for one would keep a notebook
    # waiting: the more edges, the fewer bends are tried for each.
    tries = max(1, _TRIES // max(1, graph.n_edges))
    curves = []
    lines_at: list[list[Vector]] = [[] for _ in graph.nodes]
    for a, mark, b in graph.edges:
        i, j = graph._node(a), graph._node(b)
        bends = _DIRECTED_BENDS if mark == "->" else _BIDIRECTED_BENDS
        if mark == "->" and (b, a) in directed:
            bends = _DIRECTED_BENDS[3::2]  # both bend to their own left, so they part
        near = lines_at[i] + lines_at[j]
        points, bend = _route(layout, i, j, bends[:tries], near)
        curves.append(Curve((a, mark, b), points, bend))
        for v in (i, j):
            lines_at[v].append(_at(points, _ALONG))
    return curves


def _route(
    layout: Layout, i: int, j: int, bends: Sequence[float], lines: Sequence[Vector]
) -> tuple[Vector, float]:
    """Return the first curve and its bend that clears all other boxes, else the one least in.

    Without a clear bend the depth of the hits decides, in boxes first and then in the `lines` of
    the edges that end at i or j: a graph with many edges has no clear drawing.
    """
    reach = layout.sizes / 2 + _CLEARANCE
    start, end = layout.centres[i], layout.centres[j]
    chord = end - start
    normal = np.array([chord[1], -chord[0]])
    best, taken, least = None, 0.0, np.inf
    for bend in bends:
        # A quadratic curve rises to half the height of its control point.
        points = np.array([start, (start + end) / 2 + 2 * bend * normal, end])
        samples = _at(points, _ALONG)
        near = (layout.centres + reach >= samples.min(axis=0)).all(axis=1) & (
            layout.centres - reach <= samples.max(axis=0)
        ).all(axis=1)
        near[[i, j]] = False
        distance = _box_distance(samples[:, None] - layout.centres[near], layout.sizes[near])
        depth = 100 * float(np.maximum(_CLEARANCE - distance, 0).sum())
        if depth < least:
            depth += _crowding(_at(points, _HALFWAY), lines)
        if depth < least:
            best, taken, least = points, bend, depth
        if depth == 0:
            break
    assert best is not None
    return _clipped(best, layout, i, j), taken


def _crowding(halfway: Vector, lines: Sequence[Vector]) -> float:
    """How much a curve runs along others, from the points around its middle."""
    if not lines:
        return 0.0
    distance = np.hypot(*np.moveaxis(halfway[:, None] - np.array(lines)[:, None], -1, 0))
    # A crossing is near at one of the points only; the farthest tells the two cases apart.
    return float(np.maximum(_APART - distance.min(axis=2).max(axis=1), 0).sum())


def _at(points: Vector, t: Vector) -> Vector:
    """Points of a quadratic Bézier curve, shape (len(t), 2)."""
    u = 1 - t
    return np.outer(u * u, points[0]) + np.outer(2 * u * t, points[1]) + np.outer(t * t, points[2])


def _box_distance(offset: Vector, size: Vector) -> Vector:
    """Distance from a box with round ends to points given relative to its centre; < 0 inside."""
    radius = size[..., 1] / 2
    corner = np.abs(offset) - size / 2 + radius[..., None]
    outside = np.hypot(np.maximum(corner[..., 0], 0), np.maximum(corner[..., 1], 0))
    result: Vector = outside + np.minimum(corner.max(axis=-1), 0) - radius
    return result


def _clipped(points: Vector, layout: Layout, i: int, j: int) -> Vector:
    """Cut a curve between two centres at the borders of their boxes."""
    t = np.linspace(0, 1, 513)
    line = _at(points, t)
    left_start = _box_distance(line - layout.centres[i], layout.sizes[i]) >= _GAP
    before_end = _box_distance(line - layout.centres[j], layout.sizes[j]) >= _GAP
    free = np.flatnonzero(left_start & before_end)
    # Boxes never touch (see layout), so part of the curve is free.
    t0, t1 = t[free[0]], t[free[-1]]
    first, last = _at(points, np.array([t0, t1]))
    # The control point of the piece is the polar form at (t0, t1).
    control = (
        (1 - t0) * (1 - t1) * points[0]
        + ((1 - t0) * t1 + t0 * (1 - t1)) * points[1]
        + t0 * t1 * points[2]
    )
    return np.array([first, control, last])


def to_svg(graph: MixedGraph, *, layout: str = "auto") -> str:
    """Return a picture of the graph as SVG text.

    Directed edges are black arrows, bidirected edges red arcs with two heads.

    Parameters
    ----------
    layout : {"auto", "layered", "circle"}
        Rows from causes to effects, or a circle in node order. "auto" takes rows for an acyclic
        graph with directed edges, and else the circle.

    Returns
    -------
    str
        A complete ``<svg>`` element on a white ground, readable on dark pages too.

    Examples
    --------
    >>> import bowfree as bf
    >>> svg = bf.parse("x -> y <-> z").to_svg()
    >>> svg.startswith("<svg"), svg.count("<text")
    (True, 3)
    """
    return _svg(graph, layout, {}, _caption(graph))


def class_svg(graph: MixedGraph, ends: Ends, caption: str, *, layout: str = "auto") -> str:
    """Return a picture of graphs with one skeleton: a circle where they disagree about an end.

    Parameters
    ----------
    graph : MixedGraph
        One of the graphs; its picture gives the layout.
    ends : mapping
        From (a, b), a before b in node order, to the marks at a and at b, each "head", "tail" or
        "circle". Edges with a circle are blue.
    caption : str
        What the picture is called.
    """
    return _svg(graph, layout, ends, caption)


def _svg(graph: MixedGraph, layout: str, ends: Ends, caption: str) -> str:
    placed = layout_by_name(graph, layout)
    curves = edge_curves(graph, placed)
    seen = np.vstack(
        [np.zeros(2), placed.extent, *(_at(c.points, np.linspace(0, 1, 33)) for c in curves)]
    )
    low, high = seen.min(axis=0) - _MARGIN, seen.max(axis=0) + _MARGIN
    width, height = high - low
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{low[0]:.1f} {low[1]:.1f} {width:.1f} {height:.1f}" '
        f'style="max-width:100%;height:auto" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="{FONT_SIZE:g}" role="img">',
        f"<title>{escape(caption)}</title>",
        f'<rect x="{low[0]:.1f}" y="{low[1]:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'rx="6" fill="#ffffff"/>',
        *(line for curve in curves for line in _svg_edge(curve, _edge_ends(curve, ends))),
        *(
            line
            for name, centre, size in zip(graph.nodes, placed.centres, placed.sizes, strict=True)
            for line in _svg_node(name, centre, size)
        ),
        "</svg>",
    ]
    return "\n".join(lines)


def _caption(graph: MixedGraph) -> str:
    return (
        f"mixed graph: {len(graph)} nodes, {graph.n_directed} directed and "
        f"{graph.n_bidirected} bidirected edges"
    )


def _edge_ends(curve: Curve, ends: Ends) -> tuple[str, str]:
    """Return the marks at the start and at the end of a curve; by default those of its edge."""
    a, mark, b = curve.edge
    if (a, b) in ends:
        return ends[a, b]
    if (b, a) in ends:
        return ends[b, a][::-1]
    return ("tail" if mark == "->" else "head", "head")


def _svg_edge(curve: Curve, ends: tuple[str, str]) -> Iterator[str]:
    """Write line and heads. The heads are drawn here, not by SVG markers, whose ids would clash."""
    a, _, b = curve.edge
    kind, colour = "directed", DIRECTED_COLOUR
    if ends == ("head", "head"):
        kind, colour = "bidirected", BIDIRECTED_COLOUR
    elif "circle" in ends:
        kind, colour = "varying", VARYING_COLOUR
    start, control, end = curve.points
    heads, circles = [], []
    if ends[1] == "head":
        end, head = _head(end, control)
        heads.append(head)
    elif ends[1] == "circle":
        end, centre = _circle(end, control)
        circles.append(centre)
    if ends[0] == "head":
        start, head = _head(start, control)
        heads.append(head)
    elif ends[0] == "circle":
        start, centre = _circle(start, control)
        circles.append(centre)
    left = {"head": "<", "tail": "", "circle": "o"}[ends[0]]
    right = {"head": ">", "tail": "", "circle": "o"}[ends[1]]
    yield f'<g class="{kind}" stroke="{colour}" fill="{colour}" stroke-width="1.5">'
    yield f"<title>{escape(_printable(f'{a} {left}-{right} {b}'))}</title>"
    yield f'<path fill="none" d="M{_xy(start)} Q{_xy(control)} {_xy(end)}"/>'
    for head in heads:
        yield f'<path stroke="none" d="M{" L".join(map(_xy, head))} Z"/>'
    for x, y in circles:
        yield f'<circle fill="#ffffff" cx="{x:.1f}" cy="{y:.1f}" r="{_CIRCLE_RADIUS:g}"/>'
    yield "</g>"


def _circle(tip: Vector, control: Vector) -> tuple[Vector, Vector]:
    """Return where the line ends at a circle mark, and the centre of the circle."""
    along = tip - control
    along = along / float(np.hypot(*along))
    return tip - along * (2 * _CIRCLE_RADIUS), tip - along * _CIRCLE_RADIUS


def _head(tip: Vector, control: Vector) -> tuple[Vector, Vector]:
    """Return where the line ends under an arrowhead, and the three corners of the head."""
    along = tip - control
    length = float(np.hypot(*along))
    along = along / length
    across = np.array([-along[1], along[0]]) * (_HEAD_WIDTH / 2)
    base = tip - along * _HEAD_LENGTH
    return tip - along * (0.8 * _HEAD_LENGTH), np.array([tip, base + across, base - across])


def _svg_node(name: str, centre: Vector, size: Vector) -> Iterator[str]:
    x, y = centre - size / 2
    yield (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" '
        f'rx="{size[1] / 2:.1f}" fill="#eef3fb" stroke="#3b5b8c"/>'
    )
    yield (
        f'<text x="{centre[0]:.1f}" y="{centre[1]:.1f}" dy="0.35em" text-anchor="middle" '
        f'fill="#111111">{escape(_printable(name))}</text>'
    )


def _printable(name: str) -> str:
    """Replace control characters, which XML does not allow and nobody could see."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name
    )


def _xy(point: Vector) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
