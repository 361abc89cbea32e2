"""Pictures with matplotlib: what is drawn, and that no label lies on another."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon

import bowfree as bf
from bowfree.visualization.routing import place_labels
from bowfree.visualization.layout import layout_by_name
from bowfree.visualization.routing import edge_curves
from bowfree.visualization.svg import BIDIRECTED_COLOUR, VARYING_COLOUR
from graph_strategies import mixed_graphs

#   x1 -> x2 -> x3 -> x4 <-> x2
FIGURE_1B = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
RUNS = [
    SimpleNamespace(path=(-9.0, -7.0, -6.0), seconds=0.5),
    SimpleNamespace(path=(-30.0, -8.0, -6.5, -5.5), seconds=0.25),
    SimpleNamespace(path=(-7.0,), seconds=0.25),
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def random_graph(d, density, rng):
    """Draw a BAP whose order is that of the names; two of seven edges are bidirected."""
    names = [f"x{i + 1}" for i in range(d)]
    pairs = [(names[j], names[i]) for i in range(d) for j in range(i)]
    draws = rng.random(len(pairs)) / density
    return bf.MixedGraph(
        names,
        directed=[pair for pair, u in zip(pairs, draws, strict=True) if u < 5 / 7],
        bidirected=[pair for pair, u in zip(pairs, draws, strict=True) if 5 / 7 <= u < 1],
    )


def count(ax, kind):
    return sum(isinstance(patch, kind) for patch in ax.patches)


def overlapping(boxes):
    """Pairs of boxes on the screen that share more than half a pixel."""
    return [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i].x1, boxes[j].x1) - max(boxes[i].x0, boxes[j].x0) > 0.5
        and min(boxes[i].y1, boxes[j].y1) - max(boxes[i].y0, boxes[j].y0) > 0.5
    ]


# --- the graph ---


def test_modules_have_a_ground_and_pale_edges_between_them():
    graph = bf.parse("a -> b -> c, a -> c, c -> d, d -> e -> f, d -> f, g")
    ax = bf.plot.graph(graph, layout="modules", weights=bf.random_sem(graph, rng=1))
    by_name = {patch.get_gid(): patch for patch in ax.patches}
    assert {"module 1", "module 2"} <= set(by_name)
    assert "module 3" not in by_name  # g has no edges
    assert by_name["c -> d"].get_alpha() < by_name["a -> b"].get_alpha() == 1.0
    assert len(ax.texts) == 7 + 6  # no number between modules
    with pytest.raises(bf.BowfreeError, match="auto, circle, layered, modules"):
        bf.plot.graph(graph, layout="spring")


def test_parts_of_the_picture():
    sem = bf.random_sem(FIGURE_1B, rng=1)
    ax = bf.plot.graph(sem)
    assert count(ax, FancyBboxPatch) == 4
    assert count(ax, PathPatch) == 4  # lines
    assert count(ax, Polygon) == 3 + 2  # heads: one per arrow, two per arc
    assert count(ax, Circle) == 0
    texts = [text.get_text() for text in ax.texts]
    assert texts[:4] == list(FIGURE_1B.nodes)
    assert texts[4:] == [
        "0.35", "0.82", "0.33", "-1.3"
    ]  # fmt: skip
    arc = next(patch for patch in ax.patches if patch.get_gid() == "x2 <-> x4")
    assert mpl.colors.to_hex(arc.get_edgecolor()) == BIDIRECTED_COLOUR


def test_class_marks_are_circles_where_members_disagree():
    # x -> y -> z: both edges are o-o.
    ax = bf.plot.graph(bf.equivalence_class(bf.parse("x -> y -> z")))
    assert count(ax, Circle) == 4
    assert count(ax, Polygon) == 0
    lines = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    assert {mpl.colors.to_hex(line.get_edgecolor()) for line in lines} == {VARYING_COLOUR}


def test_given_axes_are_used_and_returned():
    _, (left, right) = plt.subplots(1, 2)
    assert bf.plot.graph(FIGURE_1B, ax=left) is left
    assert bf.plot.scores(RUNS, ax=right) is right
    assert len(plt.get_fignums()) == 1


def test_letters_shrink_with_the_picture():
    figure, ax = plt.subplots(figsize=(8, 8))
    bf.plot.graph(FIGURE_1B, ax=ax)
    figure.draw_without_rendering()
    large = ax.texts[0].get_window_extent().width
    figure.set_size_inches(4, 4)
    figure.draw_without_rendering()
    assert ax.texts[0].get_window_extent().width == pytest.approx(large / 2, rel=0.1)


@pytest.mark.parametrize("layout", ["layered", "circle"])
@pytest.mark.parametrize(("d", "density"), [(4, 0.8), (11, 0.35), (30, 0.1)])
def test_labels_do_not_overlap_and_heads_are_seen(d, density, layout):
    g = random_graph(d, density, np.random.default_rng(d))
    ax = bf.plot.graph(bf.random_sem(g, rng=0), layout=layout)
    ax.figure.draw_without_rendering()
    weights = [text.get_window_extent() for text in ax.texts[d:]]
    boxes = [p.get_window_extent() for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(weights) == g.n_edges
    assert overlapping([*boxes, *weights]) == []
    for text, box in zip(ax.texts[:d], boxes, strict=True):
        name = text.get_window_extent()
        assert box.x0 < name.x0 < name.x1 < box.x1
    # The middle of no arrowhead is under a box.
    middles = [p.get_window_extent() for p in ax.patches if isinstance(p, Polygon)]
    centers = [((m.x0 + m.x1) / 2, (m.y0 + m.y1) / 2) for m in middles]
    assert not any(b.contains(*c) for b in boxes for c in centers)


def test_names_are_not_mathematics():
    ax = bf.plot.graph(
        bf.MixedGraph(["$a$", "a_very_long_name_WWWW"], directed=[("$a$", "a_very_long_name_WWWW")])
    )
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_text() == "$a$"
    assert not ax.texts[0].get_parse_math()


@given(mixed_graphs(max_nodes=7))
@settings(max_examples=25)
def test_labels_keep_clear_of_boxes(g):
    placed = layout_by_name(g, "circle").spread(1.35)
    curves = edge_curves(g, placed)
    sizes = np.full((len(curves), 2), [24.0, 10.0])
    spots = place_labels(curves, placed, sizes)
    apart = np.abs(spots[:, None] - placed.centers) - (sizes[:, None] + placed.sizes) / 2
    assert (apart.max(axis=2) >= 0).all()


# --- numbers ---


def test_score_curves():
    ax = bf.plot.scores(RUNS)
    best = next(line for line in ax.lines if line.get_label() == "best of 3 runs")
    assert best.get_ydata().tolist() == [-30.0, -8.0, -6.5, -5.5]
    assert "-30" in ax.get_xlabel()  # what the axis does not show, it says
    assert ax.get_ylim()[0] > -10
    assert all(step == round(step) for step in ax.get_xticks())
    ax = bf.plot.scores(SimpleNamespace(runs=RUNS), against="time", reference=-5.8)
    step = next(line for line in ax.lines if line.get_label() == "best so far")
    assert step.get_xdata().tolist() == [0.5, 0.75, 1.0]
    assert step.get_ydata().tolist() == [-6.0, -5.5, -5.5]


def test_score_curves_of_a_search():
    result = bf.greedy_search(bf.datasets.load_demo(), restarts=4, rounds=0, rng=1)
    ax = bf.plot.scores(result)
    assert max(line.get_ydata().max() for line in ax.lines) == pytest.approx(result.score)
    assert bf.plot.graph(result).texts[0].get_text() == result.graph.nodes[0]


def test_roc_curves():
    perfect, chance = ([0, 0, 1], [0, 1, 1]), ([0, 1], [0, 1])
    curve = SimpleNamespace(fpr=np.array([0, 0.5, 1]), tpr=np.array([0, 1.0, 1]))
    ax = bf.plot.roc({"both": [perfect, chance], "perfect": perfect, "object": curve})
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["both (AUC 0.75)", "perfect (AUC 1.00)", "object (AUC 0.75)"]
    mean = next(line for line in ax.lines if line.get_label() == "both (AUC 0.75)")
    x, y = mean.get_data()
    assert (x[0], y[0]) == (0, 0)
    assert np.allclose(y[1:], (1 + x[1:]) / 2)


def test_effect_bounds_have_two_triangles_a_cell():
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    bounds = bf.effect_bounds(bf.equivalence_class(bf.parse("x -> y -> z")), cov=S, n=100)
    ax = bf.plot.effects(bounds)
    (cells,) = ax.collections
    off = ~np.eye(3, dtype=bool)
    assert cells.get_array().tolist() == [*bounds.lower[off], *bounds.upper[off]]
    assert len(cells.get_paths()) == 2 * 6
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y", "z"]
    # [i, j] is the effect of j on i: the first cell, in row 0, is the effect of y on x.
    assert cells.get_paths()[0].vertices.mean(axis=0)[0] > 0.5


def test_effects_of_an_average_and_of_a_bootstrap():
    E = np.array([[1.0, 0.0], [0.7, 1.0]])
    average = SimpleNamespace(names=("x", "y"), mean=E)
    resampled = SimpleNamespace(
        names=("x", "y"),
        effect_frequency=np.eye(2),
        total_effect_interval=np.array([E - 0.1, E + 0.1]),
    )
    values = bf.plot.effects(average, colorbar=False).collections[0].get_array()
    assert values.tolist() == [0.0, 0.7, 0.0, 0.7]
    values = bf.plot.effects(resampled).collections[0].get_array()
    assert np.allclose(values, [-0.1, 0.6, 0.1, 0.8])


def test_effects_of_an_array():
    E = np.array([[1.0, 0.0], [0.7, 1.0]])
    ax = bf.plot.effects(E, names=["cause", "$target$"], colorbar=False)
    assert ax.collections[0].get_array().tolist() == [0.0, 0.7, 0.0, 0.7]
    assert [text.get_text() for text in ax.texts] == [".70"]


def test_class_summary_shares():
    ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("x -> y -> z")))
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    assert np.allclose(widths, [[1 / 5, 3 / 5], [3 / 5, 1 / 5], [1 / 5, 1 / 5]])


def test_bootstrap_edges_from_matrices():
    directed = np.array([[0.0, 0.1, 0.0], [0.6, 0.0, 0.0], [0.02, 0.0, 0.0]])  # j -> i at [i, j]
    bidirected = np.array([[0.0, 0.2, 0.0], [0.2, 0.0, 1.0], [0.0, 1.0, 0.0]])
    found = SimpleNamespace(names=("x", "y", "z"), directed=directed, bidirected=bidirected)
    ax = bf.plot.bootstrap_edges(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["y – z", "x – y"]
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    assert np.allclose(widths, [[0, 0.6], [0, 0.1], [1, 0.2]])


# --- bad input, and no matplotlib ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.plot.graph("x -> y"), "cannot draw a str: give a MixedGraph"),
        (lambda: bf.plot.graph(FIGURE_1B, layout="spring"), "choose one of auto, circle"),
        (
            lambda: bf.plot.graph(FIGURE_1B, weights={("x2", "->", "x1"): 1}),
            r"weight for \('x2', '->', 'x1'\), which is no edge",
        ),
        (
            lambda: bf.plot.graph(FIGURE_1B, weights=bf.random_sem(bf.parse("a -> b"), rng=0)),
            "a graph with other nodes",
        ),
        (lambda: bf.plot.scores([]), "no runs"),
        (lambda: bf.plot.scores(RUNS, against="cost"), "choose one of steps, time"),
        (lambda: bf.plot.roc({}), "no curve to draw"),
        (lambda: bf.plot.roc({"a": ([0, 1], [0.5, 1])}), "rise from 0 to 1, found 0 … 1 and 0.5"),
        (lambda: bf.plot.roc({"a": [[1, 2, 3]]}), "expected a pair"),
        (lambda: bf.plot.roc({"a": []}), "list of curves is empty"),
        (lambda: bf.plot.effects([[1, 2, 3]]), r"shape \(1, 3\): expected a square matrix"),
        (lambda: bf.plot.effects(np.eye(2), names=["a"]), "1 names for 2 variables"),
        (lambda: bf.plot.class_summary(bf.equivalence_class(bf.parse("x, y"))), "no edges"),
        (lambda: bf.plot.bootstrap_edges([("x", "y", 0, 0, 0.01)]), "lower `at_least`"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(bf.BowfreeError, match=message):
        call()


def test_without_matplotlib_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import bowfree as bf\n"
        "try:\n    bf.plot\nexcept ImportError as error:\n    print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "bowfree[plot]"' in found.stdout


# --- units ---


def test_weights_have_significant_digits():
    graph = bf.parse("x -> y <-> z")
    ax = bf.plot.graph(graph, weights={("x", "->", "y"): 242.88, ("y", "<->", "z"): -0.0032})
    assert [text.get_text() for text in ax.texts][3:] == ["243", "-0.0032"]


def test_weights_of_a_fit_are_standardized():
    # y in millionths, z in thousands: the numbers are those of the column `std_all`.
    sem = bf.LinearSEM(
        bf.parse("x -> y <-> z"),
        [[0, 0, 0], [5e5, 0, 0], [0, 0, 0]],
        [[1, 0, 0], [0, 1e12, 3e2], [0, 3e2, 1e-6]],
    )
    fit = bf.fit(sem.graph, sem.sample(200, rng=1))
    x_y, y_z = fit.edge("x -> y"), fit.edge("y <-> z")
    for ax in (bf.plot.graph(fit), bf.plot.graph(bf.parse("z <-> y <- x"), weights=fit)):
        written = {text.get_text() for text in ax.texts} - {"x", "y", "z"}
        assert written == {f"{x_y.std_all:.2f}", f"{y_z.std_all:.2f}"}
    raw = {text.get_text() for text in bf.plot.graph(fit.sem()).texts} - {"x", "y", "z"}
    assert raw == {f"{x_y.estimate:.0f}", f"{y_z.estimate:.0f}"}


def test_effects_of_a_fit_are_standardized():
    # y in units of a millionth: its raw effect would outshine all others.
    cov = np.array([[1.0, 5e5, 0.3], [5e5, 1e12, 2e5], [0.3, 2e5, 1.0]])
    fit = bf.fit(bf.parse("x -> y -> z"), cov=cov, n=100)
    ax = bf.plot.effects(fit)
    values = np.asarray(ax.collections[0].get_array())
    assert np.abs(values).max() == pytest.approx(0.5)
    total = fit.total_effects()
    same = bf.plot.effects(total, sd=fit)
    assert np.allclose(same.collections[0].get_array(), values)
    raw = bf.plot.effects(total)
    assert raw.collections[0].norm.vmax < 5e5  # the scale ends at what is usual
    with pytest.raises(bf.BowfreeError, match="3 standard deviations"):
        bf.plot.effects(total, sd=[1.0, 2.0])


def test_labels_of_the_map_do_not_touch():
    names = [f"a long name {k}" for k in range(6)]
    E = np.random.default_rng(1).standard_normal((6, 6))
    ax = bf.plot.effects(E, names=names)
    ax.figure.canvas.draw()
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = [label.get_window_extent() for label in labels]
        for k, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[k + 1 :])
    whole = ax.figure.bbox
    for axes in ax.figure.axes:  # the map and its scale, with all that is written on them
        box = axes.get_tightbbox()
        assert box.x0 >= whole.x0 - 1
        assert box.x1 <= whole.x1 + 1
        assert box.y0 >= whole.y0 - 1
        assert box.y1 <= whole.y1 + 1


def test_bars_are_for_undecided_edges():
    # w -> x <- y, x -> z: the last edge is the same in all members
    ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("w -> x <- y, x -> z")))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["w – x", "x – y"]
    assert "agree on 1 other" in ax.get_xlabel()
    alone = bf.equivalence_class(bf.parse("w -> x <- y, x -> z"), limit=1)
    settled = bf.plot.class_summary(bf.equivalence_class(bf.parse("a <-> b <-> c <-> d <-> a")))
    assert "all members agree on all 4 edges" in settled.texts[0].get_text(), alone


def test_experiments_are_bars():
    plan = bf.design(bf.parse("x -> y -> z, y -> $w_1$"), max_targets=2)
    ax = bf.plot.design(plan, most=3)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [", ".join(e.targets) for e in plan.experiments[:3]]
    now, gain = ax.containers
    ends = [bar.get_x() + bar.get_width() for bar in gain]
    assert ends == pytest.approx([e.settled_ends for e in plan.experiments[:3]])
    assert [bar.get_width() for bar in now] == [plan.settled_ends] * 3
    assert [t.get_text() for t in ax.texts] == [
        f"{e.members_left:,.4g} left" for e in plan.experiments[:3]
    ]
    axes = plt.subplots()[1]
    assert bf.plot.design(bf.design(bf.parse("x, y")), ax=axes) is axes
    with pytest.raises(bf.BowfreeError, match="give what bowfree"):
        bf.plot.design(bf.parse("x -> y"))
