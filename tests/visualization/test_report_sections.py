"""Sections and pictures that are there where they say something, and only there."""

import re
from importlib import resources

import numpy as np

import bowfree as bf
from bowfree.visualization.report.score_svg import steps_svg, time_svg


def test_the_next_experiment():
    fit = bf.fit(bf.parse("x -> y -> z"), cov=np.eye(3) + 0.5, n=50)
    html = bf.report.render(fit)
    assert "Setting <strong>y</strong> from outside" in html
    assert "3.2 would be settled on average, instead of 0 now" in html
    assert "were looked at" not in html
    # Nothing is open, or the members have different models: no section.
    settled = bf.fit(bf.parse("x, y"), cov=np.eye(2), n=50)
    assert "The next experiment" not in bf.report.render(settled)
    close = bf.empirical_class(fit)
    assert "The next experiment" not in bf.report.render(fit, equivalence_class=close)


def test_bars_are_for_undecided_edges():
    settled = bf.report.render(bf.fit(bf.parse("a <-> b <-> c <-> d <-> a"), cov=np.eye(4), n=50))
    assert 'class="bars"' not in settled
    half = bf.report.render(bf.fit(bf.parse("a -> c <- b, c -> d"), cov=np.eye(4), n=50))
    assert half.count('class="pair"') == 2
    assert "agree on 1 of 3 edges" in half


def test_a_class_of_one_is_called_so():
    S = np.eye(4) + 0.3
    html = bf.report.render(bf.fit(bf.parse("a <-> b <-> c <-> d <-> a"), cov=S, n=50))
    assert "No other graph fits all data as well as the best one does" in html
    assert "the bounds are its own effects" in html
    assert "over 1 of them" not in html


def test_headings_are_larger_than_text_and_numbers_on_color_can_be_read():
    style = (
        resources.files("bowfree.visualization.report")
        .joinpath("style.css")
        .read_text(encoding="utf-8")
    )
    assert re.findall(r"^h2 \{ font-size: ([\d.]+)rem", style, re.MULTILINE) == ["1.2"]
    themes = re.findall(r"--ground: (#\w+);.*?--ink: (#\w+);.*?--positive: (#\w+); "
                        r"--negative: (#\w+); --full: ([\d.]+);", style, re.DOTALL)  # fmt: skip
    assert len(themes) == 3  # light, dark by the system, dark by the button
    for ground, ink, *colors, full in themes:
        for color in colors:
            mixed = float(full) * rgb(color) + (1 - float(full)) * rgb(ground)
            assert contrast(mixed, rgb(ink)) >= 4.5  # what WCAG asks for


def rgb(color):
    return np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def contrast(one, other):
    def luminance(color):
        light = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        return light @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_dense_graphs_begin_with_their_strongest_edges():
    names = [f"v{i}" for i in range(12)]
    graph = bf.MixedGraph(names, [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    sem = bf.random_sem(graph, rng=1).standardized()
    fit = bf.fit(graph, cov=sem.covariance(), n=300)
    least = float(re.search(r'id="strength"[^>]* value="([0-9.]+)"', bf.report.render(fit))[1])
    strengths = [abs(e.std_all) for e in fit.estimates() if e.lhs != e.rhs]
    assert 30 <= sum(s >= least for s in strengths) <= 40


def test_score_curves():
    steps = steps_svg([[-5.0], [-100.0, -4.0, -3.0]])
    assert steps.count('class="run"') == 1
    assert steps.count('class="best"') == 1
    svg = time_svg([-3.0, -2.0], [0.0, 0.0])  # a clock too coarse for the runs
    assert svg.count("<circle") == 2
    assert "nan" not in svg
    assert steps_svg([[-1.0]]).count("<polyline") == 1
    assert re.findall(r'text-anchor="middle">([\d.]+)<', steps_svg([[-2.0, -1.0]])) == ["0", "1"]
    # Ends that differ by rounding are one score, and ticks have few digits.
    equal = [-8.849174088000001, -8.849174088]
    for svg in (time_svg(equal, [1.0, 1.0]), steps_svg([[equal[0]], [equal[1]]])):
        assert max(map(len, re.findall(r'text-anchor="end">([^<]*)<', svg))) <= 6
