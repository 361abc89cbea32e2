"""The graph of the report: SVG that can be read without scripts, and geometry for the script.

The script of the page moves nodes and hides edges. It draws the same curves; those of a node that was
moved are drawn with their old bend. Colors come from the style sheet of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments
from bowfree.equivalence.class_summary import ClassSummary, EdgeSummary
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_summary import Estimate
from bowfree.results.display import significant
from bowfree.visualization import svg
from bowfree.visualization.layout import Floats, layout_by_name, module_regions, modules
from bowfree.visualization.routing import Curve, edge_curves, place_labels

ARROWS = {"->": "→", "<-": "←", "<->": "↔", "o->": "o→", "<-o": "←o", "o-o": "o–o"}
_LABEL_HEIGHT, _DIGIT = 11.0, 6.4
_SPREAD = 1.25
_MARGIN = 22.0
_MAX_SHOWN = 40  # edges that are shown at first
_MANY, _VERY_MANY = 12, 40  # nodes from which on modules are offered, and shown at first


@dataclass(frozen=True)
class EdgeView:
    """An edge of the fit with its estimate and its summary over the class, seen from `a`.

    The ends of an edge are columns; those of a nominal variable are its categories.
    """

    a: str
    mark: str
    b: str
    estimate: Estimate
    nodes: tuple[str, str]
    summary: Any  # the EdgeSummary, or None without a class

    @property
    def share(self) -> float:
        """The share of the equivalent graphs with this edge."""
        edge: EdgeSummary = self.summary
        own = edge.n_forward if self.mark == "->" else edge.n_bidirected
        return float(own / (edge.n_forward + edge.n_backward + edge.n_bidirected))

    @property
    def arrow(self) -> str:
        """The edge with a typographic arrow."""
        return f"{self.a} {ARROWS[self.mark]} {self.b}"

    def between_nodes(self) -> EdgeView:
        """Return the edge with the variables as its ends."""
        return replace(self, a=self.nodes[0], b=self.nodes[1])

    @property
    def strength(self) -> float:
        """The absolute standardized estimate, 0 where it is not defined."""
        std = self.estimate.std_all
        return abs(std) if math.isfinite(std) else 0.0

    def frequency(self, result: Any) -> float:
        """Return the probability or frequency of this edge in an average or a bootstrap."""
        shares = result.directed if self.mark == "->" else result.bidirected
        return float(shares[result.names.index(self.b), result.names.index(self.a)])


def edge_views(
    graph: MixedGraph,
    estimates: Sequence[Estimate],
    summary: ClassSummary | None,
    moments: Moments,
) -> list[EdgeView]:
    """Return the edges of a fit with their estimates, in the order of ``graph.edges``."""
    by_edge = estimates_by_edge(estimates)
    node = moments.node if isinstance(moments, BlockMoments) else str
    views = []
    for a, mark, b in graph.edges:
        nodes = node(a), node(b)
        if nodes[0] != nodes[1]:
            edge = None if summary is None else summary.edge(*nodes)
            views.append(EdgeView(a, mark, b, by_edge[a, mark, b], nodes, edge))
    return views


def strongest_edges(graph: MixedGraph, views: Sequence[EdgeView]) -> list[EdgeView]:
    """Return for each edge of a graph the strongest of its views, which are those of categories."""
    found = {}
    for view in sorted(views, key=lambda view: view.strength):
        found[view.mark, frozenset(view.nodes)] = view
    return [found[mark, frozenset((a, b))] for a, mark, b in graph.edges]


def estimates_by_edge(estimates: Sequence[Estimate]) -> dict[tuple[str, str, str], Estimate]:
    """Return the estimates by edge; bidirected edges in both directions."""
    found = {}
    for row in estimates:
        a, mark, b = row.edge
        found[a, mark, b] = row
        if mark == "<->":
            found[b, mark, a] = row
    return found


def graph_view(
    graph: MixedGraph,
    edges: Sequence[EdgeView],
    tips: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Lay out the graph in rows, on a circle and, if it is large, in modules; draw the first.

    `tips` has lines to show for each edge, `notes` a line for each node. Returns the attributes of
    the SVG for the template, and under "script" the geometry of all layouts.
    """
    names = ["layered", "circle"] if graph.is_acyclic() and graph.n_directed else ["circle"]
    groups: Sequence[Sequence[int]] = ()
    if len(graph) >= _MANY:
        groups = modules(graph, [min(edge.strength, 1.0) for edge in edges])
    if len(groups) > 1:
        dense = len(graph) >= _VERY_MANY or len(edges) > _MAX_SHOWN
        names.insert(0 if dense else len(names), "modules")
    else:
        groups = ()
    stds = [edge.estimate.std_all for edge in edges]
    labels = [f"{std:.2f}" if math.isfinite(std) else "" for std in stds]
    label_sizes = np.array([[_DIGIT * len(label), _LABEL_HEIGHT] for label in labels])
    layouts: dict[str, Any] = {}
    for name in names:
        layout = layout_by_name(graph, name, groups).spread(_SPREAD)
        curves = edge_curves(graph, layout)
        low, high = svg.bounding_box(layout, curves, _MARGIN)
        regions = module_regions(layout, groups) if name == "modules" else []
        layouts[name] = {
            "centers": _rounded(layout.centers),
            "curves": [_rounded(curve.points) for curve in curves],
            "bends": [curve.bend for curve in curves],
            "spots": _rounded(spots := place_labels(curves, layout, label_sizes)),
            "frame": _rounded(np.concatenate([low, high - low])),
            "regions": [_rounded(np.array(region)) for region in regions],
        }
        if name == names[0]:
            sizes = _rounded(layout.sizes)
            drawn = [
                _svg_edge(edge, curve, label, spot)
                for edge, curve, label, spot in zip(edges, curves, labels, spots, strict=True)
            ]
    first = layouts[names[0]]
    boxes = zip(graph.nodes, first["centers"], sizes, notes, strict=True)
    return {
        "nodes": [
            {"name": svg.printable(name), "x": x, "y": y, "w": w, "h": h, "note": note}
            for name, (x, y), (w, h), note in boxes
        ],
        "edges": drawn,
        "frame": first["frame"],
        "min_strength": _min_strength([edge.strength for edge in edges]),
        "modules": [[graph.nodes[v] for v in group] for group in groups],
        "regions": first["regions"],
        "script": {
            "sizes": sizes,
            "edges": [
                {
                    "a": graph.nodes.index(edge.a),
                    "b": graph.nodes.index(edge.b),
                    "kind": "directed" if edge.mark == "->" else "bidirected",
                    "strength": round(edge.strength, 6),
                    "ends": [edge.summary.end_at_a, edge.summary.end_at_b],
                    "tip": list(tip),
                }
                for edge, tip in zip(edges, tips, strict=True)
            ],
            "modules": [list(group) for group in groups],
            "colors": svg.MODULE_COLORS,
            "layouts": layouts,
        },
    }


def _svg_edge(edge: EdgeView, curve: Curve, label: str, spot: Floats) -> dict[str, Any]:
    shape = svg.edge_shape(curve, svg.edge_ends(curve, {}))
    return {
        "view": edge,
        "kind": "directed" if edge.mark == "->" else "bidirected",
        "line": svg.line_path(shape.line),
        "heads": [svg.head_path(head) for head in shape.heads],
        "width": round(1.1 + 1.7 * min(edge.strength, 1.0), 2),
        "weight": significant(edge.estimate.estimate, 4),
        "se": significant(edge.estimate.se, 4),
        "label": label,
        "label_x": round(float(spot[0]), 1),
        "label_y": round(float(spot[1]), 1),
        "label_w": round(_DIGIT * len(label) + 2, 1),
    }


def _min_strength(strengths: Sequence[float]) -> float:
    """Return a strength that at most `_MAX_SHOWN` edges reach; 0 if there are no more."""
    if len(strengths) <= _MAX_SHOWN:
        return 0.0
    hidden = sorted(strengths, reverse=True)[_MAX_SHOWN]
    return min(1.0, math.floor(100 * hidden + 1) / 100)


def _rounded(values: Floats) -> Any:
    return np.round(values, 1).tolist()
