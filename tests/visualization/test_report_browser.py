"""The report in a real browser: no network, and all controls work."""

import base64
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import bowfree as bf
from app_tab import MIDDLE, Tab
from bowfree.results.display import significant
from browser import find_browser
from report_page import DATA


@pytest.fixture(scope="module")
def tab(result, tmp_path_factory):
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed: the report is not tested in a browser")
    folder = tmp_path_factory.mktemp("browser")
    with Tab(path, folder / "profile") as browser:
        browser.file = result.report(folder / "out.html", data=DATA)
        browser.open(browser.file)
        yield browser


def click(tab, selector):
    tab.click_on(tab.one(selector))


def choose(tab, control, value):
    tab.evaluate(
        f"(() => {{ const c = {tab.one('#' + control)}; c.value = {json.dumps(value)};"
        " c.dispatchEvent(new Event('input')); })()"
    )


def visible(tab):
    """Return the numbers of visible directed and bidirected edges."""
    return tuple(tab.count(f".edge.{kind}:not(.filtered)") for kind in ("directed", "bidirected"))


def numbers(text):
    return np.array(re.findall(r"-?[\d.]+", text), dtype=float)


def lines(tab):
    return tab.evaluate(f"{tab.each('.edge .line')}.map(e => e.getAttribute('d'))")


def test_the_page_loads_without_errors_or_network(tab):
    assert tab.evaluate("document.readyState") == "complete"
    assert tab.errors == []
    assert tab.requests == [tab.file.as_uri()]


def test_the_script_draws_the_same_as_python(tab):
    drawn = lines(tab)
    click(tab, "#restore")
    # Both clip curves at boxes on a grid: at most two units.
    for before, after in zip(drawn, lines(tab), strict=True):
        assert np.abs(numbers(before) - numbers(after)).max() < 2


def test_tooltip(tab, result):
    tip = tab.one("#tip")
    assert tab.evaluate(f"{tip}.hidden")
    x, y = tab.evaluate(
        f"""(() => {{ const line = {tab.one(".edge .line")};
        line.scrollIntoView({{block: "center", behavior: "instant"}});
        const p = line.getPointAtLength(0.25 * line.getTotalLength());
        const q = p.matrixTransform(line.getScreenCTM()); return [q.x, q.y]; }})()"""
    )
    tab.mouse("Moved", x, y)
    text = tab.text("#tip")
    estimate = result.fit().edge(*result.graph.edges[0])
    assert significant(estimate.estimate, 4) in text
    assert f"(standard error {significant(estimate.se, 4)})" in text
    assert "equivalent graphs" in text
    tab.mouse("Moved", 1, 1)
    assert tab.evaluate(f"{tip}.hidden")


def test_filters(tab, result):
    g = result.graph
    assert visible(tab) == (g.n_directed, g.n_bidirected)
    click(tab, "#show-directed")
    assert visible(tab) == (0, g.n_bidirected)
    assert tab.text("#shown").startswith(f"Only {g.n_bidirected} of {g.n_edges} edges")
    click(tab, "#shown button")
    assert tab.text("#shown") == f"All {g.n_edges} edges are drawn."
    choose(tab, "strength", 0.6)
    strong = sum(abs(e.std_all) >= 0.6 for e in result.fit().estimates() if e.mark != "variance")
    assert 0 < strong < g.n_edges
    assert sum(visible(tab)) == strong
    click(tab, "#restore")
    assert visible(tab) == (g.n_directed, g.n_bidirected)
    choose(tab, "around", "0")
    assert tab.count(".node:not(.filtered)") == 1 + len(g.neighbors(g.nodes[0]))
    click(tab, "#restore")
    assert tab.count(".node.filtered") == 0


def test_zoom_and_a_phone(tab):
    def width():
        return tab.evaluate(f"{tab.one('#picture')}.getBoundingClientRect().width")

    before = width()
    click(tab, "#larger")
    assert width() == pytest.approx(1.25 * before, abs=2)
    click(tab, "#smaller")
    assert width() == pytest.approx(before, abs=2)
    tab.open(tab.file, width=400, height=800)
    assert tab.evaluate(f"{tab.one('.node text')}.getBoundingClientRect().height") >= 11
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    click(tab, "#whole")
    assert width() <= 400
    tab.open(tab.file)


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
    fit = bf.fit(graph, cov=bf.LinearSEM(graph, B, np.eye(d)).covariance(), n=500)
    members = bf.equivalence_class(graph, method="colliders")
    tab.open(fit.report(tmp_path / "large.html", equivalence_class=members))
    try:
        assert tab.evaluate(f"{tab.one('#layout')}.value") == "modules"
        assert (tab.count(".region"), tab.count(".edge.between")) == (4, len(bridges))
        choose(tab, "strength", "0")
        choose(tab, "around", "module 1")
        assert tab.count(".node:not(.filtered)") == size + 2  # and the ends of two bridges
        choose(tab, "layout", "layered")
        assert (tab.count(".region"), tab.count(".edge.between")) == (0, 0)
        assert tab.errors == []
    finally:
        tab.open(tab.file)


def test_nodes_move_with_pointer_and_keys(tab):
    position = f"{tab.one('.node')}.getAttribute('transform')"
    start, drawn = tab.evaluate(position), lines(tab)
    x, y = tab.evaluate(f"({MIDDLE})({tab.one('.node')})")
    for kind, step in (("Moved", 0), ("Pressed", 0), ("Dragged", 30), ("Released", 30)):
        tab.mouse(kind, x + step, y + step)
    moved = tab.evaluate(position)
    assert moved != start
    assert lines(tab) != drawn
    tab.evaluate(f"{tab.one('.node')}.focus()")
    tab.press("ArrowDown")
    assert tab.evaluate(position) != moved
    click(tab, "#restore")
    assert tab.evaluate(position) == start


def test_a_click_on_a_heading_sorts(tab):
    rows = tab.each("#table-edges tbody tr")
    values = f"{rows}.map(r => Number(r.cells[1].dataset.value))"
    heading = "#table-edges thead th:nth-child(2)"
    click(tab, f"{heading} button")
    found = tab.evaluate(values)
    assert found == sorted(found, reverse=True)
    assert tab.evaluate(f"{tab.one(heading)}.ariaSort") == "descending"
    click(tab, f"{heading} button")
    assert tab.evaluate(values) == sorted(found)


def test_marks_of_the_class_are_drawn(tab, result):
    circles = ".edge circle[visibility=visible]"
    assert tab.count(circles) == 0
    click(tab, "#show-marks")
    edges = bf.equivalence_class(result.graph).summary().edges
    ends = [end for e in edges for end in (e.end_at_a, e.end_at_b)]
    assert tab.count(circles) == ends.count("circle") > 0
    click(tab, "#restore")


def test_the_picture_has_a_caption(tab, result):
    text = tab.evaluate("pictureText(document.querySelector('#picture'), ['n = 1,000'], 'white')")
    root = ET.fromstring(text)
    written = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert set(result.graph.nodes) < set(written)
    assert written[-1] == "n = 1,000"
    assert f"score {result.score:.4f}" in tab.text("#caption")
    assert "chosen on the same data" in tab.text("#caption")


def overprinted(pdf):
    """Return the words of a PDF that overlap others, by the boxes that pdftotext finds."""
    html = subprocess.run(
        ["pdftotext", "-bbox", pdf, "-"], capture_output=True, text=True, check=True
    )
    found = []
    for page in html.stdout.split("<page")[1:]:
        words = re.findall(
            r'<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)<', page
        )
        boxes = np.array([word[:4] for word in words], dtype=float).reshape(-1, 4)
        across, down = (
            np.minimum.outer(boxes[:, k + 2], boxes[:, k + 2])
            - np.maximum.outer(boxes[:, k], boxes[:, k])
            for k in (0, 1)
        )
        height = boxes[:, 3] - boxes[:, 1]
        hit = (across > 0.5) & (down > 0.35 * np.minimum.outer(height, height))
        np.fill_diagonal(hit, False)
        found += [words[k][4] for k in np.flatnonzero(hit.any(axis=1))]
    return found


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
@pytest.mark.parametrize("d", [7, 60])
def test_printed_pages(tab, d, tmp_path):
    file = tab.file
    if d == 60:
        graph = bf.random_bap(d, max_in_degree=2, rng=1)
        rows = bf.random_sem(graph, rng=1).sample(400, rng=1)
        members = bf.equivalence_class(graph, method="colliders", limit=500)
        file = bf.fit(graph, rows).report(tmp_path / "large.html", equivalence_class=members)
    tab.open(file)
    tab.call("Emulation.setEmulatedMedia", media="print")
    # Nothing is cut off at the right: the graph and all tables are as wide as the page.
    tab.call(
        "Emulation.setDeviceMetricsOverride",
        width=700,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    assert tab.evaluate(
        f"{tab.each('svg, table')}.every(e => e.getBoundingClientRect().right <= 700)"
    )
    assert (
        tab.evaluate(f"getComputedStyle({tab.one('.bar, .region, .warnings')}).printColorAdjust")
        == "exact"
    )
    pdf = tmp_path / "page.pdf"
    pdf.write_bytes(base64.b64decode(tab.call("Page.printToPDF")["data"]))
    assert overprinted(pdf) == []
    tab.call("Emulation.setEmulatedMedia", media="")
    tab.open(tab.file)


def test_dark_and_light(tab):
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    click(tab, "#theme")
    dark = tab.evaluate(background)
    assert numbers(dark).sum() < 150 < 600 < numbers(light).sum()
    tab.open(tab.file, dark=True)
    assert tab.evaluate(background) == dark
    assert tab.errors == []
