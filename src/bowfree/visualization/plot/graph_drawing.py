"""Drawings of graphs: black arrows, red arcs with two heads, and numbers on the edges.

The geometry is that of the SVG, in the same units. Boxes, heads and letters are drawn in data
units, so a small Axes shows a small copy of the drawing and no overlapping letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import edge_weights
from bowfree.model.linear_sem import LinearSEM
from bowfree.parameters import public
from bowfree.results.display import significant
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, is_number
from bowfree.visualization import svg
from bowfree.visualization.layout import (
    FONT_SIZE,
    LAYOUTS,
    REGION_MARGIN,
    Floats,
    layout_by_name,
    module_regions,
    modules,
)
from bowfree.visualization.plot.charts import check_type, new_axes
from bowfree.visualization.routing import Curve, edge_curves, place_labels

Weights = Mapping[tuple[str, str, str], float]

_INCHES_PER_UNIT = 0.75 / 72  # a unit is a CSS pixel
_LINE_WIDTH = 1.5  # in units
_WEIGHT_SIZE = 10.5
_MARGIN = 10.0
_PALE, _BACKGROUND = 0.25, 0.22  # opacity of edges between modules, and of module backgrounds
_SPREAD = 1.35  # numbers on edges need more space between the boxes


@public
def graph(
    graph: MixedGraph | Fit | LinearSEM | EquivalenceClass | Any,
    *,
    weights: Fit | LinearSEM | Weights | None = None,
    marks: EquivalenceClass | ClassSummary | None = None,
    layout: Literal["auto", "layered", "circle", "waves", "modules"] = "auto",
    digits: int = 2,
    ax: Axes | None = None,
) -> Axes:
    """Draw a graph.

    Directed edges are black arrows, bidirected edges red arcs with two heads. With `marks`, an end
    that differs between the members of an equivalence class has a circle, and its edge is blue.

    Parameters
    ----------
    graph : MixedGraph, Fit, LinearSEM, EquivalenceClass or a result with a ``graph``
        A fit or a model is drawn with its weights, a class with its marks.
    weights : Fit, LinearSEM or mapping, optional
        Numbers to write on the edges. For a fit, standardized effects and error correlations
        (``std_all`` of its estimates), which are comparable whatever the units; for the units of
        the data pass ``fit.sem()``. For a model, ``B`` at the directed and ``Omega`` at the
        bidirected edges. Or any numbers by edge,
        ``{("x", "->", "y"): 0.5, ("y", "<->", "z"): 0.2}``.
    marks : EquivalenceClass or ClassSummary, optional
        The class whose marks are drawn.
    layout : {"auto", "layered", "circle", "waves", "modules"}
        Rows from causes to effects, a circle in node order, or a column for each wave of a panel.
        "auto" is layered for acyclic graphs with directed edges, and a circle otherwise. "modules" is for dense graphs: groups of nodes
        with many edges inside and few between, each on a colored background; edges between groups
        are pale and have no numbers.
    digits : int
        Significant digits of the weights.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default on a new figure whose size suits the graph.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.graph(bf.parse("x -> y <-> z"), weights={("x", "->", "y"): 0.5})
    >>> [text.get_text() for text in ax.texts]
    ['x', 'y', 'z', '0.50']
    """
    if weights is None and isinstance(graph, Fit | LinearSEM):
        weights = graph
    if marks is None and isinstance(graph, EquivalenceClass):
        marks = graph
    g = graph if isinstance(graph, MixedGraph) else getattr(graph, "graph", None)
    if not isinstance(g, MixedGraph):
        raise BowfreeError(
            f"cannot draw a {type(graph).__name__}: pass a MixedGraph, or a result that has one"
        )
    numbers = _numbers(g, weights)
    ends = _ends(marks)
    check_choice("layout", layout, (*LAYOUTS, "modules"))
    groups = modules(g) if layout == "modules" else ()
    placed = layout_by_name(g, layout, groups)
    if numbers:
        placed = placed.spread(_SPREAD)
    curves = edge_curves(g, placed)
    group_of = {g.nodes[v]: k for k, group in enumerate(groups) for v in group}
    pale = {(a, m, b) for a, m, b in g.edges if group_of.get(a) != group_of.get(b)}
    labeled = [curve for curve in curves if curve.edge in numbers and curve.edge not in pale]
    labels = [significant(numbers[curve.edge], digits) for curve in labeled]
    sizes = [[_text_width(label, _WEIGHT_SIZE) + 3, _WEIGHT_SIZE] for label in labels]
    spots = place_labels(labeled, placed, np.array(sizes).reshape(-1, 2))

    half = np.array([2.0 * _WEIGHT_SIZE, _WEIGHT_SIZE])
    margin = _MARGIN + (REGION_MARGIN if groups else 0.0)
    low, high = svg.bounding_box(placed, curves, margin, spots - half, spots + half)
    if ax is None:
        width, height = (high - low) * _INCHES_PER_UNIT
        ax = new_axes(max(width, 1.5), max(height, 1.0))
    ax.set_aspect("equal")
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(high[1], low[1])  # the layout's y runs downwards
    ax.set_axis_off()
    scale = _points_per_unit(ax)
    for k, (x, y, width, height) in enumerate(module_regions(placed, groups)):
        color = svg.MODULE_COLORS[k % len(svg.MODULE_COLORS)]
        region = _rounded_box((x, y), (width, height), REGION_MARGIN, fc=color, ec=color, lw=0.8)
        region.set(alpha=_BACKGROUND, gid=f"module {k + 1}", zorder=0)
        ax.add_patch(region)
    for curve in curves:
        alpha = _PALE if curve.edge in pale else 1.0
        _draw_edge(ax, curve, svg.edge_ends(curve, ends), _LINE_WIDTH * scale, alpha)
    for name, center, size in zip(g.nodes, placed.centers, placed.sizes, strict=True):
        _draw_node(ax, svg.printable(name), center, size, scale)
    background = {"boxstyle": "square,pad=0.08", "fc": ax.get_facecolor(), "ec": "none"}
    for curve, label, (x, y) in zip(labeled, labels, spots, strict=True):
        text = ScaledText(x, y, label, height=_WEIGHT_SIZE, va="center", bbox=background)
        text.set(color=_color(svg.edge_ends(curve, ends)), zorder=3.5)
        ax.add_artist(text)
    return ax


def _numbers(graph: MixedGraph, weights: Fit | LinearSEM | Weights | None) -> Weights:
    """Return the weights by edge, as the graph writes its edges."""
    if weights is None:
        return {}
    remedy = "a fit, a LinearSEM, or a mapping from edges"
    check_type("weights", weights, (Mapping, Fit, LinearSEM), remedy)
    if not isinstance(weights, Mapping):
        if set(weights.graph.nodes) != set(graph.nodes):
            raise BowfreeError("the weights belong to a graph with other nodes")
        if isinstance(weights, Fit):
            by_edge = edge_weights(weights)
            by_edge |= {(b, mark, a): x for (a, mark, b), x in by_edge.items() if mark == "<->"}
            return {edge: by_edge.get(edge, 0.0) for edge in graph.edges}
        index = {name: i for i, name in enumerate(weights.graph.nodes)}
        matrices = {"->": weights.B, "<->": weights.Omega}
        return {(a, m, b): float(matrices[m][index[b], index[a]]) for a, m, b in graph.edges}
    known = {edge: edge for edge in graph.edges}
    known.update({(b, mark, a): (a, mark, b) for a, mark, b in graph.edges if mark == "<->"})
    for edge, value in weights.items():
        if edge not in known:
            raise BowfreeError(
                f"weights contains {short_repr(edge)}, which is not an edge of the graph; "
                f"edges are written like {next(iter(graph.edges), ('x', '->', 'y'))!r}"
            )
        if not is_number(value):
            raise BowfreeError(
                f"weight {short_repr(value)} of {short_repr(edge)}: must be a number"
            )
    return {known[edge]: float(value) for edge, value in weights.items()}


def _ends(marks: EquivalenceClass | ClassSummary | None) -> svg.Ends:
    summary = marks.summary() if isinstance(marks, EquivalenceClass) else marks
    if summary is None:
        return {}
    check_type("marks", summary, ClassSummary, "an equivalence class or its summary")
    return {(edge.a, edge.b): (edge.end_at_a, edge.end_at_b) for edge in summary.edges}


def _points_per_unit(ax: Axes) -> float:
    """Return how many points (1/72 inch) one unit of the drawing takes."""
    ax.apply_aspect()
    (x0, _), (x1, _) = ax.transData.transform([(0, 0), (1, 0)])
    assert ax.figure is not None
    return float(abs(x1 - x0) * 72 / ax.figure.dpi)


def _color(ends: tuple[str, str]) -> str:
    if ends == ("head", "head"):
        return svg.BIDIRECTED_COLOR
    # The text color of the style in use is visible on dark backgrounds, too.
    return svg.VARYING_COLOR if "circle" in ends else str(rcParams["text.color"])


def _draw_edge(
    ax: Axes, curve: Curve, ends: tuple[str, str], line_width: float, alpha: float
) -> None:
    color, order = _color(ends), 1 if ends == ("head", "head") else 2
    shape = svg.edge_shape(curve, ends)
    path = Path(shape.line, [Path.MOVETO, *[Path.CURVE3] * (len(shape.line) - 1)])
    a, mark, b = curve.edge
    line = PathPatch(path, fc="none", ec=color, capstyle="butt", zorder=order)
    line.set_gid(f"{a} {mark} {b}")
    parts: list[Patch] = [line]
    for head, circle in zip(shape.heads, shape.circles, strict=True):
        if head is not None:
            parts.append(Polygon(head, closed=True, fc=color, ec="none", zorder=order + 0.5))
        if circle is not None:
            style = {"fc": ax.get_facecolor(), "ec": color, "zorder": order + 0.5}
            parts.append(Circle(tuple(circle), svg.CIRCLE_RADIUS, **style))
    for part in parts:
        part.set(linewidth=line_width, alpha=alpha)
        ax.add_patch(part)


def _rounded_box(corner: Any, size: Any, radius: float, **style: Any) -> FancyBboxPatch:
    shape = f"round,pad=0,rounding_size={radius}"
    return FancyBboxPatch(corner, size[0], size[1], boxstyle=shape, **style)


def _draw_node(ax: Axes, name: str, center: Floats, size: Floats, scale: float) -> None:
    style = {"fc": "#eef3fb", "ec": "#3b5b8c", "lw": scale, "zorder": 4}
    ax.add_patch(_rounded_box(tuple(center - size / 2), size, size[1] / 2, **style))
    # Boxes suit an average font: names that are wider in the font in use are written smaller.
    height = FONT_SIZE * min(1.0, (size[0] - 8) / max(_text_width(name, FONT_SIZE), 1.0))
    text = ScaledText(center[0], center[1], name, height=height, va="center_baseline")
    text.set(color="#111111", zorder=5)
    ax.add_artist(text)


def _text_width(text: str, size: float) -> float:
    outline, _ = text_to_path.get_text_path(FontProperties(), text)  # empty for spaces
    across = [x for x, _ in outline]
    return size * float(np.ptp(across)) / text_to_path.FONT_SCALE if across else 0.0


class ScaledText(Text):
    """Text whose height is given in units of the y axis, so that it fits its box at any size."""

    def __init__(self, x: float, y: float, text: str, *, height: float, **properties: Any) -> None:
        super().__init__(x, y, text, parse_math=False, ha="center", **properties)
        self._height = height

    def _rescale(self) -> None:
        if self.axes is None or self.axes.figure is None:
            return
        (_, low), (_, high) = self.axes.transData.transform([(0, 0), (0, self._height)])
        points = abs(high - low) * 72 / self.axes.figure.dpi
        # Setting a size marks the text as changed: without this check it would always be.
        if abs(points - float(self.get_fontsize())) > 1e-6:
            self.set_fontsize(points)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the text at the current size of the drawing."""
        self._rescale()
        super().draw(renderer)

    def get_window_extent(
        self, renderer: RendererBase | None = None, dpi: float | None = None
    ) -> Bbox:
        """Return the box of the text on the screen, at the current size of the drawing."""
        self._rescale()
        return super().get_window_extent(renderer, dpi)
