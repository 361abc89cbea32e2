"""The picture: valid SVG, no overlap, edges around boxes."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings

import bowfree as bf
from bowfree.drawing import BIDIRECTED_COLOUR, DIRECTED_COLOUR, _at, _box_distance, edge_curves
from bowfree.layout import circle_layout, label_width, layered_layout
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


def test_rows_follow_the_causal_order():
    y = layered_layout(FIGURE_1B).centres[:, 1]
    assert (np.diff(y) > 0).all()
    lone = layered_layout(bf.parse("a, b -> c"))
    assert lone.centres[0, 1] > lone.centres[2, 1]  # a, without edges, stands below


def test_arcs_are_bent_and_avoid_the_box_in_between():
    layout = layered_layout(FIGURE_1B)
    arc = edge_curves(FIGURE_1B, layout)[-1]
    line = _at(arc.points, np.linspace(0, 1, 50))
    assert _box_distance(line - layout.centres[2], layout.sizes[2]).min() > 0


def test_two_edges_of_a_pair_part():
    for text in ("a -> b <-> a", "a -> b -> a"):
        g = bf.parse(text)
        one, other = edge_curves(g, circle_layout(g))
        assert (
            np.abs(_at(one.points, np.array([0.5])) - _at(other.points, np.array([0.5]))).max() > 2
        )


def test_wide_names_get_wide_boxes():
    assert label_width("WWWW") > label_width("iiii")
    assert label_width("変数") > label_width("ab")
    sizes = layered_layout(bf.parse("a -> a_very_long_name")).sizes
    assert sizes[1, 0] > label_width("a_very_long_name") > sizes[0, 0]


def test_unknown_layout():
    with pytest.raises(bf.BowfreeError, match="choose 'auto', 'circle' or 'layered'"):
        FIGURE_1B.to_svg(layout="spring")
    with pytest.raises(bf.GraphError, match="directed cycle a -> b -> a"):
        bf.parse("a -> b -> a").to_svg(layout="layered")


def _boxes_are_apart(layout):
    d = len(layout.centres)
    apart = (
        np.abs(layout.centres[:, None] - layout.centres)
        - (layout.sizes[:, None] + layout.sizes) / 2
    )
    return (apart.max(axis=2)[~np.eye(d, dtype=bool)] > 0).all()


@given(mixed_graphs(max_nodes=8, names=ODD_NAMES))
@settings(deadline=None, max_examples=50)
def test_any_graph_has_a_valid_picture(g):
    for layout in ("auto", "circle"):
        root = ET.fromstring(g.to_svg(layout=layout))
        assert len(root.findall(f"{SVG}text")) == len(g)
        assert len(root.findall(f"{SVG}g")) == g.n_edges
    assert _boxes_are_apart(circle_layout(g))
    if g.is_acyclic():
        assert _boxes_are_apart(layered_layout(g))
        y = dict(zip(g.nodes, layered_layout(g).centres[:, 1], strict=True))
        assert all(y[a] < y[b] for a, b in g.directed)
