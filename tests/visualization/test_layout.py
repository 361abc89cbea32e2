"""Where the nodes go: rows of causal order, circles, no overlap."""

import numpy as np
import pytest
from hypothesis import given

import bowfree as bf
from bowfree.visualization.layout import circle_layout, label_width, layered_layout
from graph_strategies import ODD_NAMES, admgs, mixed_graphs

#   x1 -> x2 -> x3 -> x4 <-> x2
FIGURE_1B = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")


def test_rows_follow_the_causal_order():
    y = layered_layout(FIGURE_1B).centers[:, 1]
    assert (np.diff(y) > 0).all()
    lone = layered_layout(bf.parse("a, b -> c"))
    assert lone.centers[0, 1] > lone.centers[2, 1]  # a, without edges, stands below


def test_a_circle_starts_at_the_top_and_goes_clockwise():
    x, y = circle_layout(FIGURE_1B).centers.T
    assert y[0] < y[1] < y[2]
    assert x[3] < x[0] < x[1]
    assert (x[2], y[3]) == pytest.approx((x[0], y[1]))


def test_wide_names_get_wide_boxes():
    assert label_width("WWWW") > label_width("iiii")
    assert label_width("変数") > label_width("ab")
    sizes = layered_layout(bf.parse("a -> a_very_long_name")).sizes
    assert sizes[1, 0] > label_width("a_very_long_name") > sizes[0, 0]


def test_unknown_layout():
    with pytest.raises(bf.BowfreeError, match="choose one of auto, circle, layered"):
        FIGURE_1B.to_svg(layout="spring")
    with pytest.raises(bf.errors.GraphError, match="directed cycle a -> b -> a"):
        bf.parse("a -> b -> a").to_svg(layout="layered")


def _boxes_are_apart(layout):
    d = len(layout.centers)
    apart = (
        np.abs(layout.centers[:, None] - layout.centers)
        - (layout.sizes[:, None] + layout.sizes) / 2
    )
    return (apart.max(axis=2)[~np.eye(d, dtype=bool)] > 0).all()


@given(mixed_graphs(max_nodes=8, names=ODD_NAMES))
def test_boxes_of_a_circle_do_not_overlap(g):
    assert _boxes_are_apart(circle_layout(g))


@given(admgs(max_nodes=8))
def test_boxes_in_rows_do_not_overlap_and_children_stand_below(g):
    layout = layered_layout(g)
    assert _boxes_are_apart(layout)
    y = dict(zip(g.nodes, layout.centers[:, 1], strict=True))
    assert all(y[a] < y[b] for a, b in g.directed)
