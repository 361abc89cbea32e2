"""Drawings of graphs as SVG, for notebooks and files, without other programs.

Directed edges are black arrows, bidirected edges red arcs with two heads. The boxes come from
:mod:`bowfree.visualization.layout`, the curves from :mod:`bowfree.visualization.routing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bowfree.visualization.layout import FONT_SIZE, Floats, Layout, layout_by_name
from bowfree.visualization.routing import HEAD_LENGTH, HEAD_WIDTH, Curve, edge_curves, points_on

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

DIRECTED_COLOR = "#111111"
BIDIRECTED_COLOR = "#c8102e"
VARYING_COLOR = "#2f5fb3"  # edges whose marks differ between the members of a class
# Pale backgrounds; neighbors in the list differ in hue and in lightness.
MODULE_COLORS = (
    "#4c86c6", "#e08a3c", "#5aa469", "#9a6fb8", "#c9b037", "#3fa3a3", "#c76a86", "#7d7d7d",
)  # fmt: skip
CIRCLE_RADIUS = 3.5
_MARGIN = 14.0

Ends = Mapping[tuple[str, str], tuple[str, str]]
"""The marks at both ends of edges: "head", "tail" or "circle"."""


def graph_svg(graph: MixedGraph, *, layout: str = "auto") -> str:
    """Return a drawing of the graph; see :meth:`bowfree.MixedGraph.to_svg`."""
    caption = (
        f"mixed graph: {len(graph)} nodes, {graph.n_directed} directed and "
        f"{graph.n_bidirected} bidirected edges"
    )
    return class_svg(graph, {}, caption, layout=layout)


def class_svg(graph: MixedGraph, ends: Ends, caption: str, *, layout: str = "auto") -> str:
    """Return a drawing of graphs with one skeleton, with circles at the ends where they differ.

    `graph` is one of them. `ends` maps (a, b) to the marks at a and at b; edges with a circle are
    blue.
    """
    placed = layout_by_name(graph, layout)
    curves = edge_curves(graph, placed)
    low, high = bounding_box(placed, curves, _MARGIN)
    width, height = high - low
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{low[0]:.1f} {low[1]:.1f} {width:.1f} {height:.1f}" '
        f'style="max-width:100%;height:auto" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="{FONT_SIZE:g}" role="img">',
        f"<title>{escape(caption)}</title>",
        f'<rect x="{low[0]:.1f}" y="{low[1]:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'rx="6" fill="#ffffff"/>',
        *(line for curve in curves for line in _svg_edge(curve, edge_ends(curve, ends))),
        *(
            line
            for name, center, size in zip(graph.nodes, placed.centers, placed.sizes, strict=True)
            for line in _svg_node(name, center, size)
        ),
        "</svg>",
    ]
    return "\n".join(lines)


def bounding_box(
    layout: Layout, curves: Sequence[Curve], margin: float, *more: Floats
) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle around boxes, edges and more points."""
    lines = [points_on(curve.points, np.linspace(0, 1, 33)) for curve in curves]
    points = np.vstack([np.zeros(2), layout.extent, *lines, *more])
    return points.min(axis=0) - margin, points.max(axis=0) + margin


def edge_ends(curve: Curve, ends: Ends) -> tuple[str, str]:
    """Return the marks at the start and the end of a curve, by default those of its edge."""
    a, mark, b = curve.edge
    if (a, b) in ends:
        return ends[a, b]
    if (b, a) in ends:
        return ends[b, a][::-1]
    return ("tail" if mark == "->" else "head", "head")


class EdgeShape(NamedTuple):
    """The line of an edge (points of a curve) and its marks, by end, None where absent.

    A head is given by its three corners, a circle by its center.
    """

    line: Floats
    heads: list[Floats | None]
    circles: list[Floats | None]


def edge_shape(curve: Curve, ends: tuple[str, str]) -> EdgeShape:
    """Return the shape of an edge with these marks; the line stops at heads and circles."""
    line = curve.points.copy()
    shape = EdgeShape(line, [], [])
    for k, inner, mark in ((0, 1, ends[0]), (-1, -2, ends[1])):
        tip = curve.points[k]
        along = tip - curve.points[inner]
        along /= float(np.hypot(*along)) or 1.0
        across = np.array([-along[1], along[0]]) * (HEAD_WIDTH / 2)
        base = tip - along * HEAD_LENGTH
        head = np.array([tip, base + across, base - across])
        retreat = {"head": 0.8 * HEAD_LENGTH, "circle": 2 * CIRCLE_RADIUS, "tail": 0.0}[mark]
        line[k] = tip - along * retreat
        shape.heads.append(head if mark == "head" else None)
        shape.circles.append(tip - along * CIRCLE_RADIUS if mark == "circle" else None)
    return shape


def line_path(points: Floats) -> str:
    """Return a curve as an SVG path."""
    parts = [f"Q{_xy(points[k])} {_xy(points[k + 1])}" for k in range(1, len(points), 2)]
    return f"M{_xy(points[0])} {' '.join(parts)}"


def head_path(corners: Floats | None) -> str:
    """Return an arrowhead as an SVG path; empty where there is none."""
    return "" if corners is None else f"M{' L'.join(map(_xy, corners))} Z"


def _svg_edge(curve: Curve, ends: tuple[str, str]) -> Iterator[str]:
    """Write line and heads. SVG markers are not used: their ids would clash on a page."""
    a, _, b = curve.edge
    kind, color = "directed", DIRECTED_COLOR
    if ends == ("head", "head"):
        kind, color = "bidirected", BIDIRECTED_COLOR
    elif "circle" in ends:
        kind, color = "varying", VARYING_COLOR
    shape = edge_shape(curve, ends)
    left = {"head": "<", "tail": "", "circle": "o"}[ends[0]]
    right = {"head": ">", "tail": "", "circle": "o"}[ends[1]]
    yield f'<g class="{kind}" stroke="{color}" fill="{color}" stroke-width="1.5">'
    yield f"<title>{escape(printable(f'{a} {left}-{right} {b}'))}</title>"
    yield f'<path fill="none" d="{line_path(shape.line)}"/>'
    for head in shape.heads[::-1]:
        if head is not None:
            yield f'<path stroke="none" d="{head_path(head)}"/>'
    for circle in shape.circles[::-1]:
        if circle is not None:
            x, y = circle
            yield f'<circle fill="#ffffff" cx="{x:.1f}" cy="{y:.1f}" r="{CIRCLE_RADIUS:g}"/>'
    yield "</g>"


def _svg_node(name: str, center: Floats, size: Floats) -> Iterator[str]:
    x, y = center - size / 2
    yield (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" '
        f'rx="{size[1] / 2:.1f}" fill="#eef3fb" stroke="#3b5b8c"/>'
    )
    yield (
        f'<text x="{center[0]:.1f}" y="{center[1]:.1f}" dy="0.35em" text-anchor="middle" '
        f'fill="#111111">{escape(printable(name))}</text>'
    )


def printable(name: str) -> str:
    """Replace control characters, which XML does not allow."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name
    )


def curves_script() -> str:
    """Return JavaScript that draws edges in the same way, for pages whose nodes can be moved."""
    return Path(__file__).with_name("curves.js").read_text(encoding="utf-8")


def _xy(point: Floats) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
