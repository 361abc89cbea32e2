"""The picture of a graph, as SVG, for notebooks and files; no other program is needed.

Directed edges are black arrows, bidirected edges red arcs with two heads. The boxes come from
:mod:`bowfree.visualization.layout`, the lines from :mod:`bowfree.visualization.routing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bowfree.visualization.layout import FONT_SIZE, layout_by_name
from bowfree.visualization.routing import (
    HEAD_LENGTH,
    HEAD_WIDTH,
    Curve,
    Vector,
    edge_curves,
    points_on,
)

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


DIRECTED_COLOUR = "#111111"
BIDIRECTED_COLOUR = "#c8102e"
# Of grounds, pale: neighbors in the list differ in hue and in lightness.
MODULE_COLOURS = (
    "#4c86c6", "#e08a3c", "#5aa469", "#9a6fb8", "#c9b037", "#3fa3a3", "#c76a86", "#7d7d7d",
)  # fmt: skip
VARYING_COLOUR = "#2f5fb3"  # edges of a class whose marks differ between its members

_MARGIN = 14.0
CIRCLE_RADIUS = 3.5

Ends = Mapping[tuple[str, str], tuple[str, str]]
"""The marks at both ends of edges: "head", "tail" or "circle"."""


def graph_svg(graph: MixedGraph, *, layout: str = "auto") -> str:
    """Return a picture of the graph; see :meth:`bowfree.MixedGraph.to_svg`."""
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
        [np.zeros(2), placed.extent, *(points_on(c.points, np.linspace(0, 1, 33)) for c in curves)]
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
        *(line for curve in curves for line in _svg_edge(curve, edge_ends(curve, ends))),
        *(
            line
            for name, center, size in zip(graph.nodes, placed.centers, placed.sizes, strict=True)
            for line in _svg_node(name, center, size)
        ),
        "</svg>",
    ]
    return "\n".join(lines)


def _caption(graph: MixedGraph) -> str:
    return (
        f"mixed graph: {len(graph)} nodes, {graph.n_directed} directed and "
        f"{graph.n_bidirected} bidirected edges"
    )


def edge_ends(curve: Curve, ends: Ends) -> tuple[str, str]:
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
    kind, color = "directed", DIRECTED_COLOUR
    if ends == ("head", "head"):
        kind, color = "bidirected", BIDIRECTED_COLOUR
    elif "circle" in ends:
        kind, color = "varying", VARYING_COLOUR
    start, control, end = curve.points
    heads, circles = [], []
    tips = []
    for tip, mark in ((end, ends[1]), (start, ends[0])):
        if mark == "head":
            tip, head = arrowhead(tip, control)
            heads.append(head)
        elif mark == "circle":
            tip, center = circle_mark(tip, control)
            circles.append(center)
        tips.append(tip)
    end, start = tips
    left = {"head": "<", "tail": "", "circle": "o"}[ends[0]]
    right = {"head": ">", "tail": "", "circle": "o"}[ends[1]]
    yield f'<g class="{kind}" stroke="{color}" fill="{color}" stroke-width="1.5">'
    yield f"<title>{escape(printable(f'{a} {left}-{right} {b}'))}</title>"
    yield f'<path fill="none" d="M{xy(start)} Q{xy(control)} {xy(end)}"/>'
    for head in heads:
        yield f'<path stroke="none" d="M{" L".join(map(xy, head))} Z"/>'
    for x, y in circles:
        yield f'<circle fill="#ffffff" cx="{x:.1f}" cy="{y:.1f}" r="{CIRCLE_RADIUS:g}"/>'
    yield "</g>"


def curves_script() -> str:
    """Return the JavaScript that draws edges as they are drawn here, for pages that move them."""
    return Path(__file__).with_name("curves.js").read_text(encoding="utf-8")


def circle_mark(tip: Vector, control: Vector) -> tuple[Vector, Vector]:
    """Return where the line ends at a circle mark, and the center of the circle."""
    along = tip - control
    along = along / float(np.hypot(*along))
    return tip - along * (2 * CIRCLE_RADIUS), tip - along * CIRCLE_RADIUS


def arrowhead(tip: Vector, control: Vector) -> tuple[Vector, Vector]:
    """Return where the line ends under an arrowhead, and the three corners of the head."""
    along = tip - control
    length = float(np.hypot(*along))
    along = along / length
    across = np.array([-along[1], along[0]]) * (HEAD_WIDTH / 2)
    base = tip - along * HEAD_LENGTH
    return tip - along * (0.8 * HEAD_LENGTH), np.array([tip, base + across, base - across])


def _svg_node(name: str, center: Vector, size: Vector) -> Iterator[str]:
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
    """Replace control characters, which XML does not allow and nobody could see."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name
    )


def xy(point: Vector) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
