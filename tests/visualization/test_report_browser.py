"""The report in a real browser: no network, and all controls work."""

import json
import re

import numpy as np
import pytest

import bowfree as bf
from bowfree.results.display import significant
from browser import Browser, find_browser
from report_page import DATA


@pytest.fixture(scope="module")
def tab(result, tmp_path_factory):
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed: the report is not tested in a browser")
    folder = tmp_path_factory.mktemp("browser")
    file = result.report(folder / "out.html", data=DATA)
    with Browser(path, folder / "profile") as browser:
        browser.open(file)
        browser.file = file
        yield browser


def middle(tab, selector):
    """Return the middle of an element in the window, after scrolling to it."""
    return tab.evaluate(
        f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
        e.scrollIntoView({{block: "center", behavior: "instant"}});
        const r = e.getBoundingClientRect();
        return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; }})()"""
    )


def click(tab, selector):
    x, y = middle(tab, selector)
    for kind in ("Moved", "Pressed", "Released"):
        tab.mouse(kind, x, y)


def test_the_page_loads_without_errors_or_network(tab):
    assert tab.evaluate("document.readyState") == "complete"
    assert tab.errors == []
    assert tab.requests == [tab.file.as_uri()]


def test_tooltip(tab, result):
    assert tab.evaluate("document.getElementById('tip').hidden") is True
    k = 0
    x, y = tab.evaluate(
        f"""(() => {{ const line = document.querySelectorAll(".edge .line")[{k}];
        line.scrollIntoView({{block: "center", behavior: "instant"}});
        const p = line.getPointAtLength(0.25 * line.getTotalLength());
        const q = p.matrixTransform(line.getScreenCTM()); return [q.x, q.y]; }})()"""
    )
    tab.mouse("Moved", x, y)
    tip = tab.evaluate("document.getElementById('tip').innerText")
    fit = result.fit()
    a, mark, b = result.graph.edges[k]
    i, j = (result.graph.nodes.index(v) for v in (b, a))
    value, errors = (fit.B, fit.standard_errors().B) if mark == "->" else (
        fit.Omega, fit.standard_errors().Omega
    )  # fmt: skip
    numbers = f"{significant(value[i, j], 4)} (standard error {significant(errors[i, j], 4)})"
    assert numbers in tip
    assert "equivalent graphs" in tip
    tab.mouse("Moved", 1, 1)
    assert tab.evaluate("document.getElementById('tip').hidden") is True


def visible(tab, kind):
    return tab.evaluate(
        f"[...document.querySelectorAll('.edge.{kind}')]"
        ".filter(e => getComputedStyle(e).display !== 'none').length"
    )


def test_toggles_and_slider_hide_edges(tab, result):
    g = result.graph
    assert (visible(tab, "directed"), visible(tab, "bidirected")) == (g.n_directed, g.n_bidirected)
    click(tab, "#show-directed")
    assert (visible(tab, "directed"), visible(tab, "bidirected")) == (0, g.n_bidirected)
    assert tab.evaluate("document.getElementById('shown').textContent").startswith(
        f"{g.n_bidirected} of {g.n_edges} "
    )
    click(tab, "#show-directed")
    tab.evaluate(
        "(() => { const s = document.getElementById('strength'); s.value = 0.6;"
        "s.dispatchEvent(new Event('input')); })()"
    )
    strong = sum(abs(e.std_all) >= 0.6 for e in result.fit().estimates() if e.mark != "variance")
    assert 0 < strong < g.n_edges
    assert visible(tab, "directed") + visible(tab, "bidirected") == strong
    click(tab, "#restore")
    assert visible(tab, "directed") == g.n_directed


def picture_width(tab):
    return tab.evaluate("document.getElementById('picture').getBoundingClientRect().width")


def test_zoom(tab):
    whole = picture_width(tab)
    click(tab, "#larger")
    assert picture_width(tab) == pytest.approx(1.25 * whole, abs=2)
    click(tab, "#smaller")
    assert picture_width(tab) == pytest.approx(whole, abs=2)


def test_names_can_be_read_on_a_phone(tab):
    tab.open(tab.file, width=400, height=800)
    height = tab.evaluate("document.querySelector('.node text').getBoundingClientRect().height")
    assert height >= 11
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    click(tab, "#whole")
    assert picture_width(tab) <= 400
    tab.open(tab.file)


def test_neighbors_of_a_variable(tab, result):
    tab.evaluate(
        "(() => { const s = document.getElementById('around'); s.value = '0';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    name = result.graph.nodes[0]
    shown = tab.evaluate("document.querySelectorAll('.node:not(.gone)').length")
    assert shown == 1 + len(result.graph.neighbors(name))
    click(tab, "#restore")
    assert tab.evaluate("document.querySelectorAll('.node.gone').length") == 0


def test_a_large_graph_is_shown_in_modules(tab, tmp_path):
    d, size = 40, 10
    names = [f"v{i}" for i in range(d)]
    pairs = [(i, j) for i in range(d) for j in (i + 1, i + 2, i + 3) if j < d]
    inside = [(names[i], names[j]) for i, j in pairs if i // size == j // size]
    bridges = [(names[i], names[i + 1]) for i in range(size - 1, d - 1, size)]
    graph = bf.MixedGraph(names, inside + bridges)
    B = np.zeros((d, d))
    for i, j in pairs:
        B[j, i] = 0.4 * graph.adjacent(names[i], names[j])
    sem = bf.LinearSEM(graph, B, np.eye(d))
    fit = bf.fit(graph, cov=sem.covariance(), n=500)
    members = bf.equivalence_class(graph, method="colliders")

    def choose(control, value):
        tab.evaluate(
            f"(() => {{ const c = document.getElementById('{control}'); c.value = '{value}';"
            " c.dispatchEvent(new Event('input')); })()"
        )

    def count(selector):
        return tab.evaluate(f"document.querySelectorAll('{selector}').length")

    tab.open(bf.report.write(tmp_path / "large.html", fit, equivalence_class=members))
    try:
        assert tab.evaluate("document.getElementById('layout').value") == "modules"
        assert count(".region") == 4
        assert count(".edge.between") == len(bridges)
        choose("strength", "0")
        choose("around", "module 1")
        assert count(".node:not(.gone)") == size + 2  # and the ends of two bridges
        choose("layout", "layered")
        assert (count(".region"), count(".edge.between")) == (0, 0)
        assert tab.errors == []
    finally:
        tab.open(tab.file)


def test_nodes_move_with_pointer_and_keys(tab):
    place = "document.querySelector('.node').getAttribute('transform')"
    lines = "[...document.querySelectorAll('.edge .line')].map(e => e.getAttribute('d')).join()"
    home, drawn = tab.evaluate(place), tab.evaluate(lines)
    x, y = middle(tab, ".node")
    tab.mouse("Moved", x, y)
    tab.mouse("Pressed", x, y)
    tab.mouse("Dragged", x + 30, y + 20)
    tab.mouse("Released", x + 30, y + 20)
    moved = tab.evaluate(place)
    assert moved != home
    assert tab.evaluate(lines) != drawn
    tab.evaluate("document.querySelector('.node').focus()")
    tab.press("ArrowDown")
    assert tab.evaluate(place) != moved
    click(tab, "#restore")
    assert tab.evaluate(place) == home


def test_a_click_on_a_heading_sorts(tab):
    values = (
        "[...document.querySelectorAll('#table-edges tbody tr')]"
        ".map(r => Number(r.cells[1].dataset.value))"
    )
    heading = "#table-edges thead th:nth-child(2)"
    click(tab, f"{heading} button")
    found = tab.evaluate(values)
    assert found == sorted(found, reverse=True)
    assert tab.evaluate(f"document.querySelector('{heading}').ariaSort") == "descending"
    click(tab, f"{heading} button")
    assert tab.evaluate(values) == sorted(found)


def test_class_marks_are_drawn(tab, result):
    circles = "document.querySelectorAll('.edge circle[visibility=visible]').length"
    assert tab.evaluate(circles) == 0
    click(tab, "#show-marks")
    summary = bf.equivalence_class(result.graph).summary()
    expected = sum((e.end_at_a == "circle") + (e.end_at_b == "circle") for e in summary.edges)
    assert tab.evaluate(circles) == expected > 0
    click(tab, "#restore")


def test_dark_and_light(tab):
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    click(tab, "#theme")
    dark = tab.evaluate(background)
    assert (
        sum(map(int, re.findall(r"\d+", dark)))
        < 150
        < 600
        < sum(map(int, re.findall(r"\d+", light)))
    )
    tab.open(tab.file, dark=True)
    assert tab.evaluate(background) == dark
    assert tab.errors == []


def test_the_script_draws_what_python_drew(tab):
    lines = "[...document.querySelectorAll('.edge .line')].map(e => e.getAttribute('d'))"
    tab.open(tab.file)
    drawn = tab.evaluate(lines)
    click(tab, "#restore")
    again = tab.evaluate(lines)
    numbers = [np.array(re.findall(r"-?[\d.]+", d), dtype=float) for d in drawn]
    redrawn = [np.array(re.findall(r"-?[\d.]+", d), dtype=float) for d in again]
    # Both clip curves at boxes on a grid: at most two units.
    assert max(np.abs(a - b).max() for a, b in zip(numbers, redrawn, strict=True)) < 2
