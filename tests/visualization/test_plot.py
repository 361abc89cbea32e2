"""Plots with matplotlib: their content, and that no label overlaps another."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon

import bowfree as bf
from bowfree.visualization.svg import BIDIRECTED_COLOR, VARYING_COLOR

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


def count(ax, kind):
    return sum(isinstance(patch, kind) for patch in ax.patches)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def y_labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


# --- graphs ---


def test_modules_have_backgrounds_and_pale_edges_between_them():
    graph = bf.parse("a -> b -> c, a -> c, c -> d, d -> e -> f, d -> f, g")
    ax = bf.plot.graph(graph, layout="modules", weights=bf.random_sem(graph, rng=1))
    by_name = {patch.get_gid(): patch for patch in ax.patches}
    assert {"module 1", "module 2"} <= set(by_name)
    assert "module 3" not in by_name  # g has no edges
    assert by_name["c -> d"].get_alpha() < by_name["a -> b"].get_alpha() == 1.0
    assert len(ax.texts) == 7 + 6  # no number between modules


def test_parts_of_a_drawing():
    ax = bf.plot.graph(bf.random_sem(FIGURE_1B, rng=1))
    assert count(ax, FancyBboxPatch) == 4
    assert count(ax, PathPatch) == 4  # lines
    assert count(ax, Polygon) == 3 + 2  # heads: one per arrow, two per arc
    assert count(ax, Circle) == 0
    assert texts(ax) == [*FIGURE_1B.nodes, "0.35", "0.82", "0.33", "-1.3"]
    arc = next(patch for patch in ax.patches if patch.get_gid() == "x2 <-> x4")
    assert mpl.colors.to_hex(arc.get_edgecolor()) == BIDIRECTED_COLOR


def test_marks_of_a_class_are_circles_where_members_differ():
    # x -> y -> z: both edges are o-o.
    ax = bf.plot.graph(bf.equivalence_class(bf.parse("x -> y -> z")))
    assert count(ax, Circle) == 4
    assert count(ax, Polygon) == 0
    lines = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    assert {mpl.colors.to_hex(line.get_edgecolor()) for line in lines} == {VARYING_COLOR}


def test_axes_are_used_and_returned():
    _, (left, middle, right) = plt.subplots(1, 3)
    assert bf.plot.graph(FIGURE_1B, ax=left) is left
    assert bf.plot.scores(RUNS, ax=middle) is middle
    assert bf.plot.design(bf.design(bf.parse("x, y")), ax=right) is right
    assert len(plt.get_fignums()) == 1


def test_letters_shrink_with_the_figure():
    figure, ax = plt.subplots(figsize=(8, 8))
    bf.plot.graph(FIGURE_1B, ax=ax)
    figure.draw_without_rendering()
    large = ax.texts[0].get_window_extent().width
    figure.set_size_inches(4, 4)
    figure.draw_without_rendering()
    assert ax.texts[0].get_window_extent().width == pytest.approx(large / 2, rel=0.1)


def overlapping(boxes):
    """Return the pairs of boxes on the screen that share more than half a pixel."""
    return [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i].x1, boxes[j].x1) - max(boxes[i].x0, boxes[j].x0) > 0.5
        and min(boxes[i].y1, boxes[j].y1) - max(boxes[i].y0, boxes[j].y0) > 0.5
    ]


@pytest.mark.parametrize("layout", ["layered", "circle"])
@pytest.mark.parametrize(("d", "density"), [(4, 0.8), (11, 0.35), (30, 0.1)])
def test_labels_do_not_overlap_and_heads_are_visible(d, density, layout):
    # A random BAP whose order is that of the names; two of seven edges are bidirected.
    names = [f"x{i + 1}" for i in range(d)]
    pairs = [(names[j], names[i]) for i in range(d) for j in range(i)]
    draws = np.random.default_rng(d).random(len(pairs)) / density
    g = bf.MixedGraph(
        names,
        directed=[pair for pair, u in zip(pairs, draws, strict=True) if u < 5 / 7],
        bidirected=[pair for pair, u in zip(pairs, draws, strict=True) if 5 / 7 <= u < 1],
    )
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
    ax = bf.plot.graph(bf.MixedGraph(["$a$", "b_WWWW"], directed=[("$a$", "b_WWWW")]))
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_text() == "$a$"
    assert not ax.texts[0].get_parse_math()


def test_weights_have_significant_digits():
    graph = bf.parse("x -> y <-> z")
    ax = bf.plot.graph(graph, weights={("x", "->", "y"): 242.88, ("y", "<->", "z"): -0.0032})
    assert texts(ax)[3:] == ["243", "-0.0032"]


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
        assert {*texts(ax)} - {"x", "y", "z"} == {f"{x_y.std_all:.2f}", f"{y_z.std_all:.2f}"}
    raw = {*texts(bf.plot.graph(fit.sem()))} - {"x", "y", "z"}
    assert raw == {f"{x_y.estimate:.0f}", f"{y_z.estimate:.0f}"}


# --- scores ---


def test_score_curves():
    ax = bf.plot.scores(RUNS)
    best = next(line for line in ax.lines if line.get_label() == "best of 3 runs")
    assert best.get_ydata().tolist() == [-30.0, -8.0, -6.5, -5.5]
    assert "-30" in ax.get_xlabel()  # the start that the axis does not show
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
    assert texts(bf.plot.graph(result))[0] == result.graph.nodes[0]


# --- effects ---


def values(ax):
    return np.asarray(ax.collections[0].get_array())


def test_effect_bounds_have_two_triangles_per_cell():
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    bounds = bf.effect_bounds(bf.equivalence_class(bf.parse("x -> y -> z")), cov=S, n=100)
    ax = bf.plot.effects(bounds)
    (cells,) = ax.collections
    off = ~np.eye(3, dtype=bool)
    assert values(ax).tolist() == [*bounds.lower[off], *bounds.upper[off]]
    assert len(cells.get_paths()) == 2 * 6
    assert y_labels(ax) == ["x", "y", "z"]
    # [i, j] is the effect of j on i: the first cell, in row 0, is the effect of y on x.
    assert cells.get_paths()[0].vertices.mean(axis=0)[0] > 0.5


def test_effects_of_an_average_a_bootstrap_and_an_array():
    E = np.array([[1.0, 0.0], [0.7, 1.0]])
    average = SimpleNamespace(names=("x", "y"), mean=E)
    resampled = SimpleNamespace(names=("x", "y"), total_effect_interval=[E - 0.1, E + 0.1])
    assert values(bf.plot.effects(average, colorbar=False)).tolist() == [0.0, 0.7, 0.0, 0.7]
    assert np.allclose(values(bf.plot.effects(resampled)), [-0.1, 0.6, 0.1, 0.8])
    small = SimpleNamespace(names=("x", "y"), total_effect_interval=[1e-10 * E, 2e-10 * E])
    assert len(texts(bf.plot.effects(small, colorbar=False))) == 2  # two ends in any unit
    ax = bf.plot.effects(E, names=["cause", "$target$"], colorbar=False)
    assert values(ax).tolist() == [0.0, 0.7, 0.0, 0.7]
    assert texts(ax) == [".70"]


def test_effects_of_a_fit_are_standardized():
    # y in millionths: its raw effect would outshine all others.
    cov = np.array([[1.0, 5e5, 0.3], [5e5, 1e12, 2e5], [0.3, 2e5, 1.0]])
    fit = bf.fit(bf.parse("x -> y -> z"), cov=cov, n=100)
    ax = bf.plot.effects(fit)
    assert np.abs(values(ax)).max() == pytest.approx(0.5)
    total = fit.total_effects()
    assert np.allclose(values(bf.plot.effects(total, sd=fit)), values(ax))
    norm = bf.plot.effects(total).collections[0].norm
    assert 0.52 < norm(total.effect(of="x", on="z").estimate) < 0.98  # a color between the ends
    with pytest.raises(bf.BowfreeError, match="3 standard deviations"):
        bf.plot.effects(total, sd=[1.0, 2.0])


def test_labels_of_the_map_do_not_overlap():
    names = [f"a long name {k}" for k in range(6)]
    ax = bf.plot.effects(np.random.default_rng(1).standard_normal((6, 6)), names=names)
    ax.figure.canvas.draw()
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert overlapping([label.get_window_extent() for label in labels]) == []
    whole = ax.figure.bbox
    for axes in ax.figure.axes:  # the map and its color scale
        box = axes.get_tightbbox()
        assert box.x0 >= whole.x0 - 1
        assert box.x1 <= whole.x1 + 1
        assert box.y0 >= whole.y0 - 1
        assert box.y1 <= whole.y1 + 1


# --- bars ---


def test_class_summary():
    ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("x -> y -> z")))
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    assert np.allclose(widths, [[1 / 5, 3 / 5], [3 / 5, 1 / 5], [1 / 5, 1 / 5]])
    # w -> x <- y, x -> z: the last edge is the same in all members.
    ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("w -> x <- y, x -> z")))
    assert y_labels(ax) == ["w – x", "x – y"]
    assert "1 other edge" in ax.get_xlabel()
    ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("a <-> b <-> c <-> d <-> a")))
    assert "all 4 edges" in texts(ax)[0]


def test_bootstrap_edges():
    directed = np.array([[0.0, 0.1, 0.0], [0.6, 0.0, 0.0], [0.02, 0.0, 0.0]])  # j -> i at [i, j]
    bidirected = np.array([[0.0, 0.2, 0.0], [0.2, 0.0, 1.0], [0.0, 1.0, 0.0]])
    found = SimpleNamespace(names=("x", "y", "z"), directed=directed, bidirected=bidirected)
    ax = bf.plot.bootstrap_edges(found)
    assert y_labels(ax) == ["y – z", "x – y"]
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    assert np.allclose(widths, [[0, 0.6], [0, 0.1], [1, 0.2]])


def test_experiments():
    plan = bf.design(bf.parse("x -> y -> z, y -> $w_1$"), max_targets=2)
    ax = bf.plot.design(plan, max_rows=3)
    assert y_labels(ax) == [", ".join(e.targets) for e in plan.experiments[:3]]
    now, gain = ax.containers
    ends = [bar.get_x() + bar.get_width() for bar in gain]
    assert ends == pytest.approx([e.resolved_ends for e in plan.experiments[:3]])
    assert [bar.get_width() for bar in now] == [plan.resolved_ends] * 3
    assert texts(ax) == [f"{e.members_left:,.4g} left" for e in plan.experiments[:3]]


# --- errors ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.plot.graph("x -> y"), "cannot draw a str"),
        (
            lambda: bf.plot.graph(FIGURE_1B, layout="spring"),
            "auto, circle, layered, waves, modules",
        ),
        (
            lambda: bf.plot.graph(FIGURE_1B, weights={("x2", "->", "x1"): 1}),
            r"\('x2', '->', 'x1'\), which is not an edge",
        ),
        (
            lambda: bf.plot.graph(FIGURE_1B, weights=bf.random_sem(bf.parse("a -> b"), rng=0)),
            "a graph with other nodes",
        ),
        (lambda: bf.plot.scores([]), "no runs"),
        (lambda: bf.plot.scores(RUNS, against="cost"), "choose one of steps, time"),
        (lambda: bf.plot.effects([[1, 2, 3]]), r"shape \(1, 3\): expected a square matrix"),
        (lambda: bf.plot.effects(np.eye(2), names=["a"]), "1 names for 2 variables"),
        (lambda: bf.plot.class_summary(bf.equivalence_class(bf.parse("x, y"))), "no edges"),
        (lambda: bf.plot.bootstrap_edges([("x", "y", 0, 0, 1)]), "result of bowfree.bootstrap"),
        (lambda: bf.plot.design(bf.parse("x -> y")), "result of bowfree.design"),
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
