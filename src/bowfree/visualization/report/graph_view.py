"""The graph of the report: SVG that can be read without scripts, and numbers for the script.

The script of the page moves nodes and hides edges; it redraws curves from the centers and the bend
of each edge, as :mod:`bowfree.visualization.svg` does. Colors come from the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.equivalence.class_summary import ClassSummary, EdgeSummary
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.results.display import significant
from bowfree.visualization import svg
from bowfree.visualization.routing import place_labels
from bowfree.visualization.layout import Layout, layout_by_name
from bowfree.visualization.layout import module_layout, module_regions, modules
from bowfree.visualization.routing import Curve, edge_curves, points_on

Floats = npt.NDArray[np.float64]

_LABEL_HEIGHT, _DIGIT = 11.0, 6.4
_SPREAD = 1.25
_MARGIN = 22.0
_MOST_SHOWN = 40  # edges that a picture starts with
_MANY, _VERY_MANY = 12, 40  # nodes from which on modules are offered, and shown at first


@dataclass(frozen=True)
class EdgeRow:
    """One edge of the best graph with all that is known about it.

    Attributes
    ----------
    a, mark, b : str
        The edge; mark is ``"->"`` or ``"<->"``.
    weight, se, z, p_value, std : float
        Estimate (effect, or error covariance), standard error, their ratio, p-value, standardized
        estimate (error correlation at a bidirected edge).
    share : float
        Share of the members of the class that have this very edge.
    in_class : str
        What all members agree on, such as ``a o-> b``.
    ends : tuple of str
        The marks at a and b over the class: "head", "tail" or "circle".
    """

    a: str
    mark: str
    b: str
    weight: float
    se: float
    z: float
    p_value: float
    std: float
    share: float
    in_class: str
    ends: tuple[str, str]

    @property
    def arrow(self) -> str:
        """The edge as a reader writes it."""
        return f"{self.a} {'→' if self.mark == '->' else '↔'} {self.b}"


@dataclass(frozen=True)
class GraphView:
    """What the template needs to draw the graph.

    Attributes
    ----------
    nodes, edges : list of dict
        SVG attributes of boxes and curves.
    frame : tuple
        ``(x, y, width, height)`` of the view box.
    least : float
        Strength below which edges are hidden at first, so that a dense graph can be read.
    modules : list of list of str
        Names of the nodes of each module; none for graphs of a few nodes.
    regions : list of tuple
        ``(x, y, width, height)`` of the modules, if the picture starts with them.
    script : dict
        Centers, sizes and bends for the page's script, by layout.
    """

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    frame: tuple[float, float, float, float]
    least: float
    modules: list[list[str]]
    regions: list[tuple[float, ...]]
    script: dict[str, Any]


def class_edges(graph: MixedGraph, summary: ClassSummary) -> dict[tuple[str, str, str], Any]:
    """Return, for every edge of a graph, the share of members with it, what all say, the ends."""
    by_pair = {frozenset((e.a, e.b)): e for e in summary.edges}
    found = {}
    for a, mark, b in graph.edges:
        edge = by_pair[frozenset((a, b))]
        counts = {
            (edge.a, "->", edge.b): edge.n_forward,
            (edge.b, "->", edge.a): edge.n_backward,
        }
        count = counts[a, mark, b] if mark == "->" else edge.n_bidirected
        ends = (edge.end_at_a, edge.end_at_b)
        found[a, mark, b] = (
            count / summary.n_members,
            str(edge if edge.a == a else _turned(edge)),
            ends if edge.a == a else ends[::-1],
        )
    return found


def _turned(edge: EdgeSummary) -> EdgeSummary:
    """Return the same edge as seen from its other end."""
    return EdgeSummary(edge.b, edge.a, edge.n_backward, edge.n_forward, edge.n_bidirected)


def graph_view(
    graph: MixedGraph,
    rows: Sequence[EdgeRow],
    tips: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> GraphView:
    """Lay the graph out in rows, on a circle and, if it is large, in modules; draw the first.

    Parameters
    ----------
    graph : MixedGraph
        The best graph.
    rows : sequence of EdgeRow
        Its edges, in the order of ``graph.edges``.
    tips : sequence of sequence of str
        What to show for each edge, line by line.
    notes : sequence of str
        A line about each node.
    """
    names = ["layered", "circle"] if graph.is_acyclic() and graph.n_directed else ["circle"]
    strengths = [min(abs(row.std), 1.0) if np.isfinite(row.std) else 0.0 for row in rows]
    groups = modules(graph, strengths) if len(graph) >= _MANY else ()
    if len(groups) > 1:
        dense = len(graph) >= _VERY_MANY or len(rows) > _MOST_SHOWN
        names.insert(0 if dense else len(names), "modules")
    else:
        groups = ()
    layouts: dict[str, Any] = {}
    for name in names:
        by_modules = name == "modules"
        placed = module_layout(graph, groups) if by_modules else layout_by_name(graph, name)
        placed = placed.spread(_SPREAD)
        curves = edge_curves(graph, placed)
        labels = np.array([[_DIGIT * len(f"{r.std:.2f}"), _LABEL_HEIGHT] for r in rows])
        spots = place_labels(curves, placed, labels)
        regions = module_regions(placed, groups) if by_modules else []
        low, high = _corners(placed, curves)
        layouts[name] = {
            "placed": placed,
            "curves": curves,
            "spots": spots,
            "regions": [tuple(_round(region)) for region in regions],
            "frame": tuple(_round([*low, *(high - low)])),
        }
    first = layouts[names[0]]
    return GraphView(
        nodes=[
            {"name": svg.printable(name), "x": x, "y": y, "w": w, "h": h, "note": note}
            for name, (x, y), (w, h), note in zip(
                graph.nodes,
                np.round(first["placed"].centers, 1).tolist(),
                np.round(first["placed"].sizes, 1).tolist(),
                notes,
                strict=True,
            )
        ],
        edges=[
            _svg_edge(row, curve, spot)
            for row, curve, spot in zip(rows, first["curves"], first["spots"], strict=True)
        ],
        frame=first["frame"],
        least=_least([abs(row.std) for row in rows if np.isfinite(row.std)]),
        modules=[[graph.nodes[v] for v in group] for group in groups],
        regions=first["regions"],
        script={
            "sizes": np.round(first["placed"].sizes, 1).tolist(),
            "edges": [
                {
                    "a": graph._node(row.a),
                    "b": graph._node(row.b),
                    "kind": "directed" if row.mark == "->" else "bidirected",
                    "strength": round(abs(row.std), 6) if np.isfinite(row.std) else 0.0,
                    "ends": row.ends,
                    "tip": list(tip),
                }
                for row, tip in zip(rows, tips, strict=True)
            ],
            "modules": [list(group) for group in groups],
            "hues": svg.MODULE_COLOURS,
            "layouts": {
                name: {
                    "centers": np.round(each["placed"].centers, 1).tolist(),
                    "bends": [curve.bend for curve in each["curves"]],
                    "spots": np.round(each["spots"], 1).tolist(),
                    "frame": each["frame"],
                    "regions": each["regions"],
                }
                for name, each in layouts.items()
            },
        },
    )


def _corners(placed: Layout, curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle around boxes and edges."""
    lines = [points_on(curve.points, np.linspace(0, 1, 33)) for curve in curves]
    seen = np.vstack([np.zeros(2), placed.extent, *lines])
    return seen.min(axis=0) - _MARGIN, seen.max(axis=0) + _MARGIN


def _svg_edge(row: EdgeRow, curve: Curve, spot: Floats) -> dict[str, Any]:
    start, control, end = curve.points
    heads = ["", ""]
    if row.mark == "<->":
        start, corners = svg.arrowhead(start, control)
        heads[0] = f"M{' L'.join(map(svg.xy, corners))} Z"
    end, corners = svg.arrowhead(end, control)
    heads[1] = f"M{' L'.join(map(svg.xy, corners))} Z"
    strength = min(abs(row.std), 1.0) if np.isfinite(row.std) else 0.0
    return {
        "row": row,
        "kind": "directed" if row.mark == "->" else "bidirected",
        "line": f"M{svg.xy(start)} Q{svg.xy(control)} {svg.xy(end)}",
        "heads": heads,
        "width": round(1.1 + 1.7 * strength, 2),
        "weight": significant(row.weight, 4),
        "se": significant(row.se, 4),
        "label": f"{row.std:.2f}" if np.isfinite(row.std) else "",
        "label_x": round(float(spot[0]), 1),
        "label_y": round(float(spot[1]), 1),
        "label_w": round(_DIGIT * len(f"{row.std:.2f}") + 2, 1),
    }


def _least(strengths: Sequence[float]) -> float:
    """Return a strength that no more than `_MOST_SHOWN` edges reach; 0 when there are no more."""
    if len(strengths) <= _MOST_SHOWN:
        return 0.0
    hidden = sorted(strengths, reverse=True)[_MOST_SHOWN]
    return min(1.0, math.floor(100 * hidden + 1) / 100)


def _round(values: Sequence[float]) -> list[float]:
    return [round(float(value), 1) for value in values]
