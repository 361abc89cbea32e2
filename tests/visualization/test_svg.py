"""The picture: valid SVG, colors and heads, edges around boxes."""

import xml.etree.ElementTree as ET

import numpy as np
from hypothesis import given, settings

import bowfree as bf
from bowfree.visualization.layout import circle_layout, layered_layout
from bowfree.visualization.routing import _box_distance, edge_curves, points_on
from bowfree.visualization.svg import BIDIRECTED_COLOUR, DIRECTED_COLOUR
from graph_strategies import ODD_NAMES, mixed_graphs

SVG = "{http://www.w3.org/2000/svg}"

#   x1 -> x2 -> x3 -> x4 <-> x2
FIGURE_1B = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")


def test_arrows_are_black_and_arcs_red_with_two_heads():
    root = ET.fromstring(FIGURE_1B._repr_svg_())
    groups = root.findall(f"{SVG}g")
    assert [group.find(f"{SVG}title").text for group in groups] == [
        "x1 -> x2",
        "x2 -> x3",
        "x3 -> x4",
        "x2 <-> x4",
    ]
    assert [group.get("stroke") for group in groups] == 3 * [DIRECTED_COLOUR] + [BIDIRECTED_COLOUR]
    assert [len(group.findall(f"{SVG}path")) - 1 for group in groups] == [1, 1, 1, 2]
    assert [text.text for text in root.findall(f"{SVG}text")] == list(FIGURE_1B.nodes)


def test_edges_go_round_the_box_in_between():
    #   x1 -> x2 -> x3 in one column, and a second edge past x2, straight or bent
    for text in ("x1 -> x2 -> x3 <-> x1", "x1 -> x2 -> x3 <- x1"):
        g = bf.parse(text)
        layout = layered_layout(g)
        past = next(curve for curve in edge_curves(g, layout) if "x2" not in curve.edge)
        line = points_on(past.points, np.linspace(0, 1, 50))
        assert _box_distance(line - layout.centers[1], layout.sizes[1]).min() > 0
    (short,) = edge_curves(bf.parse("a -> b"), layered_layout(bf.parse("a -> b")))
    assert np.ptp(short.points[:, 0]) < 1e-9  # nothing in the way: straight


def test_two_edges_of_a_pair_part():
    for text in ("a -> b <-> a", "a -> b -> a"):
        g = bf.parse(text)
        one, other = edge_curves(g, circle_layout(g))
        assert (
            np.abs(
                points_on(one.points, np.array([0.5])) - points_on(other.points, np.array([0.5]))
            ).max()
            > 2
        )


def heads_on_lines(g, layout):
    """Return the pairs of edges of which the first has a head at the line of the second."""
    curves = edge_curves(g, layout)
    found = []
    for curve in curves:
        tips = [curve.points[2]] + ([curve.points[0]] if curve.edge[1] == "<->" else [])
        for other in curves:
            line = points_on(other.points, np.linspace(0, 1, 200))
            for tip in tips:
                toward = curve.points[1] - tip
                middle = tip + toward / np.hypot(*toward) * 4.5  # half the length of a head
                # A head reaches 5.7 from its middle; the rest is white in between.
                if other is not curve and np.hypot(*(line - middle).T).min() < 9:
                    found.append((curve.edge, other.edge))
    return found


def test_no_head_lies_on_a_crossing():
    # The best DAG of the protein data, condition 8, on a circle. The straight line from pkc to
    # pakts473 passes just beside pka, where the arrow from p44/42 ends.
    names = "praf pmek plcg pip2 pip3 p44/42 pakts473 pka pkc p38 pjnk"
    arrows = "praf-pmek plcg-pip3 pip3-pip2 p44/42-pakts473 p44/42-pka pka-pakts473 pkc-pakts473"
    g = bf.MixedGraph(
        names.split(), directed=[pair.split("-") for pair in f"{arrows} pkc-p38 p38-pjnk".split()]
    )
    layout = circle_layout(g)
    assert heads_on_lines(g, layout) == []
    for curve in edge_curves(g, layout):
        line = points_on(curve.points, np.linspace(0, 1, 200))
        for name, center, size in zip(g.nodes, layout.centers, layout.sizes, strict=True):
            if name not in curve.edge:
                assert _box_distance(line - center, size).min() > 4


@given(mixed_graphs(max_nodes=8, names=ODD_NAMES))
@settings(deadline=None, max_examples=50)
def test_any_graph_has_a_valid_picture(g):
    for layout in ("auto", "circle"):
        root = ET.fromstring(g.to_svg(layout=layout))
        assert len(root.findall(f"{SVG}text")) == len(g)
        assert len(root.findall(f"{SVG}g")) == g.n_edges
