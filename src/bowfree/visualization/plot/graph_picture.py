"""The picture of a graph: black arrows, red arcs with two heads, numbers on them if wanted.

The geometry is that of the SVG (:mod:`bowfree.visualization.layout`, :mod:`bowfree.visualization.routing`),
in the same units: boxes, heads and letters are drawn in data units, so a small Axes shows a small
copy of the picture and not letters that overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.linear_sem import LinearSEM
from bowfree.model.parameter_table import edge_weights
from bowfree.results.display import significant
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, is_number
from bowfree.visualization import svg
from bowfree.visualization.edge_labels import place_labels
from bowfree.visualization.layout import FONT_SIZE, LAYOUTS, Layout, layout_by_name
from bowfree.visualization.modules import REGION_MARGIN, module_layout, module_regions, modules
from bowfree.visualization.plot.canvas import ScaledText, new_axes
from bowfree.visualization.routing import Curve, edge_curves, points_on

Floats = npt.NDArray[np.float64]
Weights = Mapping[tuple[str, str, str], float]

_INCHES_PER_UNIT = 0.75 / 72  # a unit is a CSS pixel
_LINE_WIDTH = 1.5  # in units
_WEIGHT_SIZE = 10.5
_MARGIN = 10.0
_PALE, _GROUND = 0.25, 0.22  # opacity of edges between modules, and of the ground of one
_SPREAD = 1.35  # numbers on edges need more room between the boxes


def graph(
    graph: MixedGraph | Fit | LinearSEM | EquivalenceClass | Any,
    *,
    weights: Fit | LinearSEM | Weights | None = None,
    marks: EquivalenceClass | ClassSummary | None = None,
    layout: str = "auto",
    digits: int = 2,
    ax: Axes | None = None,
) -> Axes:
    """Draw a graph.

    Directed edges are black arrows, bidirected edges red arcs with two heads. With `marks`, an end
    on which the members of an equivalence class disagree has a circle, and its edge is blue.

    Parameters
    ----------
    graph : MixedGraph, Fit, LinearSEM, EquivalenceClass or a result with a ``graph``
        A fit or a model brings its weights, a class its marks.
    weights : Fit, LinearSEM or mapping, optional
        Numbers to write on the edges. Of a fit: effects in standard deviations and correlations of
        errors, which can be compared whatever the units (``std_all`` of its estimates); for the
        units of the data give ``fit.sem()``. Of a model: ``B`` at the directed and ``Omega`` at
        the bidirected edges. Or any numbers by edge,
        ``{("x", "->", "y"): 0.5, ("y", "<->", "z"): 0.2}``.
    marks : EquivalenceClass or ClassSummary, optional
        The class whose marks to draw.
    layout : {"auto", "layered", "circle", "modules"}
        Rows from causes to effects, or a circle in node order. "auto" takes rows for an acyclic
        graph with directed edges, and else the circle. "modules" is for dense graphs: groups of
        nodes with many edges inside and few between, each on a ground of its own; edges from one to
        another are pale and bear no numbers.
    digits : int
        Significant digits of the weights, so that variables in small and in large units can both
        be read.
    ax : Axes, optional
        Where to draw; without it, on a new figure of a size that suits the graph.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.graph(bf.parse("x -> y <-> z"), weights={("x", "->", "y"): 0.5})
    >>> [text.get_text() for text in ax.texts]
    ['x', 'y', 'z', '0.50']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)
    """
    if weights is None and isinstance(graph, Fit | LinearSEM):
        weights = graph
    if marks is None and isinstance(graph, EquivalenceClass):
        marks = graph
    drawn = graph if isinstance(graph, MixedGraph) else getattr(graph, "graph", None)
    if not isinstance(drawn, MixedGraph):
        raise BowfreeError(
            f"cannot draw a {type(graph).__name__}: give a MixedGraph, or a result that has one"
        )
    numbers = _numbers(drawn, weights)
    check_choice("layout", layout, (*LAYOUTS, "modules"))
    by_modules = layout == "modules"
    groups = modules(drawn) if by_modules else ()
    placed = module_layout(drawn, groups) if by_modules else layout_by_name(drawn, layout)
    if numbers:
        placed = placed.spread(_SPREAD)
    curves = edge_curves(drawn, placed)
    group_of = {drawn.nodes[v]: k for k, group in enumerate(groups) for v in group}
    pale = {(a, m, b) for a, m, b in drawn.edges if group_of.get(a) != group_of.get(b)}
    shown = [curve for curve in curves if curve.edge in numbers and curve.edge not in pale]
    labels = [significant(numbers[curve.edge], digits) for curve in shown]
    widths = [[_text_width(label, _WEIGHT_SIZE) + 3, _WEIGHT_SIZE] for label in labels]
    spots = place_labels(shown, placed, np.array(widths).reshape(-1, 2))

    low, high = _frame(placed.extent, curves, spots)
    if groups:
        low, high = low - REGION_MARGIN, high + REGION_MARGIN
    if ax is None:
        width, height = (high - low) * _INCHES_PER_UNIT
        ax = new_axes(max(width, 1.5), max(height, 1.0))
    ax.set_aspect("equal")
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(high[1], low[1])  # the layout's y runs downwards
    ax.set_axis_off()
    scale = _points_per_unit(ax)
    ends = _ends(marks)
    _draw_regions(ax, placed, groups)
    for curve in curves:
        alpha = _PALE if curve.edge in pale else 1.0
        _draw_edge(ax, curve, svg.edge_ends(curve, ends), _LINE_WIDTH * scale, alpha)
    for name, center, size in zip(drawn.nodes, placed.centers, placed.sizes, strict=True):
        _draw_node(ax, svg.printable(name), center, size, scale)
    for curve, label, spot in zip(shown, labels, spots, strict=True):
        _draw_weight(ax, label, spot, _color(svg.edge_ends(curve, ends)))
    return ax


def _numbers(graph: MixedGraph, weights: Fit | LinearSEM | Weights | None) -> Weights:
    """Return the weights by edge, spelled as the graph spells its edges."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping | Fit | LinearSEM):
        raise BowfreeError(
            f"weights is {short_repr(weights)}: give a fit, a LinearSEM, or a mapping from edges"
        )
    if not isinstance(weights, Mapping):
        if set(weights.graph.nodes) != set(graph.nodes):
            raise BowfreeError("the weights belong to a graph with other nodes")
        if isinstance(weights, Fit):
            by_edge = edge_weights(weights)
            by_edge |= {(b, mark, a): x for (a, mark, b), x in by_edge.items() if mark == "<->"}
            return {edge: by_edge.get(edge, 0.0) for edge in graph.edges}
        index = {name: i for i, name in enumerate(weights.graph.nodes)}
        B, Omega = weights.B, weights.Omega
        return {
            (a, mark, b): float(
                B[index[b], index[a]] if mark == "->" else Omega[index[a], index[b]]
            )
            for a, mark, b in graph.edges
        }
    known = {edge: edge for edge in graph.edges}
    known.update({(b, mark, a): (a, mark, b) for a, mark, b in graph.edges if mark == "<->"})
    strange = [edge for edge in weights if edge not in known]
    if strange:
        raise BowfreeError(
            f"weight for {short_repr(strange[0])}, which is no edge of the graph; "
            f"edges are written like {next(iter(graph.edges), ('x', '->', 'y'))!r}"
        )
    for edge, value in weights.items():
        if not is_number(value):
            raise BowfreeError(
                f"weight {short_repr(value)} of {short_repr(edge)}: must be a number"
            )
    return {known[edge]: float(value) for edge, value in weights.items()}


def _ends(marks: EquivalenceClass | ClassSummary | None) -> svg.Ends:
    if marks is None:
        return {}
    summary = marks.summary() if isinstance(marks, EquivalenceClass) else marks
    if not isinstance(summary, ClassSummary):
        raise BowfreeError(
            f"marks is {short_repr(marks)}: give an equivalence class or its summary"
        )
    return {(edge.a, edge.b): (edge.end_at_a, edge.end_at_b) for edge in summary.edges}


def _frame(
    extent: tuple[float, float], curves: list[Curve], spots: Floats
) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle around boxes, edges and labels."""
    lines = [points_on(curve.points, np.linspace(0, 1, 33)) for curve in curves]
    room = np.array([2.0 * _WEIGHT_SIZE, _WEIGHT_SIZE])
    seen = np.vstack([np.zeros(2), extent, *lines, spots - room, spots + room])
    return seen.min(axis=0) - _MARGIN, seen.max(axis=0) + _MARGIN


def _points_per_unit(ax: Axes) -> float:
    """Return how many points (1/72 inch) one unit of the picture takes."""
    ax.apply_aspect()
    (x0, _), (x1, _) = ax.transData.transform([(0, 0), (1, 0)])
    assert ax.figure is not None
    return float(abs(x1 - x0) * 72 / ax.figure.dpi)


def _color(ends: tuple[str, str]) -> str:
    if ends == ("head", "head"):
        return svg.BIDIRECTED_COLOUR
    if "circle" in ends:
        return svg.VARYING_COLOUR
    # The ink of the style in use, so that the arrows are seen on a dark ground too.
    return str(rcParams["text.color"])


def _draw_regions(ax: Axes, placed: Layout, groups: Sequence[Sequence[int]]) -> None:
    """Draw the ground of every module."""
    for k, (x, y, width, height) in enumerate(module_regions(placed, groups)):
        color = svg.MODULE_COLOURS[k % len(svg.MODULE_COLOURS)]
        style = f"round,pad=0,rounding_size={REGION_MARGIN}"
        ground = FancyBboxPatch(
            (x, y), width, height, boxstyle=style, fc=color, ec=color, lw=0.8, zorder=0
        )
        ground.set_alpha(_GROUND)
        ground.set_gid(f"module {k + 1}")
        ax.add_patch(ground)


def _draw_edge(
    ax: Axes, curve: Curve, ends: tuple[str, str], line_width: float, alpha: float
) -> None:
    color, order = _color(ends), 1 if ends == ("head", "head") else 2
    start, control, end = curve.points
    decorations: list[Polygon | Circle] = []
    trimmed = []
    for tip, end_mark in ((start, ends[0]), (end, ends[1])):
        if end_mark == "head":
            tip, corners = svg.arrowhead(tip, control)
            decorations.append(Polygon(corners, closed=True, fc=color, ec="none"))
        elif end_mark == "circle":
            tip, center = svg.circle_mark(tip, control)
            radius = svg.CIRCLE_RADIUS
            decorations.append(Circle(tuple(center), radius, fc=ax.get_facecolor(), ec=color))
        trimmed.append(tip)
    path = Path([trimmed[0], control, trimmed[1]], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    a, mark, b = curve.edge
    line = PathPatch(path, fc="none", ec=color, lw=line_width, capstyle="butt", zorder=order)
    line.set_gid(f"{a} {mark} {b}")
    line.set_alpha(alpha)
    ax.add_patch(line)
    for decoration in decorations:
        decoration.set_linewidth(line_width)
        decoration.set_zorder(order + 0.5)
        decoration.set_alpha(alpha)
        ax.add_patch(decoration)


def _draw_node(ax: Axes, name: str, center: Floats, size: Floats, scale: float) -> None:
    x, y = center - size / 2
    box = FancyBboxPatch(
        (x, y),
        size[0],
        size[1],
        boxstyle=f"round,pad=0,rounding_size={size[1] / 2}",
        fc="#eef3fb",
        ec="#3b5b8c",
        lw=scale,
        zorder=4,
    )
    ax.add_patch(box)
    # Boxes are made for an average font: a name that is wider in the one in use is written smaller.
    height = FONT_SIZE * min(1.0, (size[0] - 8) / max(_text_width(name, FONT_SIZE), 1.0))
    ax.add_artist(
        ScaledText(
            center[0],
            center[1],
            name,
            height=height,
            ha="center",
            va="center_baseline",
            color="#111111",
            zorder=5,
        )
    )


def _draw_weight(ax: Axes, label: str, spot: Floats, color: str) -> None:
    ax.add_artist(
        ScaledText(
            spot[0],
            spot[1],
            label,
            height=_WEIGHT_SIZE,
            ha="center",
            va="center",
            color=color,
            zorder=3.5,
            bbox={"boxstyle": "square,pad=0.08", "fc": ax.get_facecolor(), "ec": "none"},
        )
    )


def _text_width(text: str, size: float) -> float:
    outline, _ = text_to_path.get_text_path(FontProperties(), text)  # empty for a text of spaces
    across = [x for x, _ in outline]
    return size * float(np.ptp(across)) / text_to_path.FONT_SCALE if across else 0.0
