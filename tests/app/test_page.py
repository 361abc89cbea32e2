"""The page as a whole: accessibility, layout, connection, widget, and the tour of the docs."""

import json
import re
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from app_serving import serving
from app_session import DATA, NAMES, PANELS, TRUTH, session_of
from bowfree.app import front_end
from bowfree.app.saved import Origin
from bowfree.app.session import Session

ROOT = Path(__file__).parents[2]


def test_the_session_survives_the_end_of_the_server(tab, tmp_path):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.evaluate("localStorage.clear()")
        tab.drag("sun", "leaves")
        tab.until_edges("sun → leaves")
        tab.until("Object.keys(localStorage).length")
        port = server.port
    tab.until("!document.querySelector('.lost').hidden")
    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    tab.press_button("Files")
    tab.press_button("Save")
    file = tmp_path / "workbench.json"
    tab.until_written(file)
    with serving(session_of(), port=port) as server:
        assert "error" not in server.session.answer({"do": "load", "text": file.read_text("utf-8")})
        assert server.session.drawing.mark("sun", "leaves") == "->"
    with serving(session_of(), port=port) as server:  # the same origin: the browser has kept it
        tab.visit(server)
        tab.press_button("Restore the last session")
        tab.until_edges("sun → leaves")
    tab.call("Page.navigate", url="about:blank")


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 400)])
def test_axe_finds_nothing(tab, dark, width):
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    with serving(session_of(TRUTH)) as server:
        tab.visit(server, width=width, height=800, dark=dark)
        server.session.answer({"do": "effect", "of": 0, "on": 4})
        server.session.wait()
        tab.evaluate(f"{script}; 0")
        for panel in PANELS:
            tab.open_panel(panel)
            tab.evaluate("window.found = null; axe.run().then((r) => { window.found = r; }); 0")
            tab.until("window.found")
            assert tab.evaluate("found.passes.length") > 10
            summary = "found.violations.map((v) => [v.impact, v.id, v.nodes[0].html])"
            assert tab.evaluate(summary) == [], panel


@pytest.mark.usefixtures("clean")
def test_a_reload_and_a_second_tab_show_the_same_session(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.drag("sun", "leaves")
        tab.until_edges("sun → leaves")
        tab.press_button("✥ move")
        x, y = tab.place("pot")
        for kind, (u, v) in {"Moved": (x, y), "Pressed": (x, y), "Dragged": (x + 40, y + 30),
                             "Released": (x + 40, y + 30)}.items():  # fmt: skip
            tab.mouse(kind, u, v)
        box = f"document.querySelectorAll('.box')[{NAMES.index('pot')}]"
        transform = f"{box}.getAttribute('transform')"
        moved = tab.evaluate(transform)
        tab.until(tab.one(".box"))
        server.session.answer({"do": "hello"})  # after the message of the move
        tab.visit(server)
        tab.until_edges("sun → leaves")
        assert tab.evaluate(transform) == moved
        with tab.another_tab() as first:
            tab.visit(server)
            tab.until_edges("sun → leaves")
            tab.drag("water", "leaves")
            tab.until_edges("sun → leaves", "water → leaves")
            tab.session = first
            tab.until_edges("sun → leaves", "water → leaves")


def test_the_page_reconnects_to_the_server(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        port, token = server.port, server.token
        assert tab.evaluate("document.querySelector('.lost').hidden")
    tab.until("!document.querySelector('.lost').hidden")
    assert "does not answer" in tab.text(".lost")
    tab.drag("sun", "leaves")
    assert tab.edges() == []
    with serving(session_of(bf.parse("sun -> leaves")), port=port, token=token):
        tab.until("document.querySelector('.lost').hidden", seconds=60)
        tab.until_edges("sun → leaves")
        tab.call("Page.navigate", url="about:blank")


@pytest.mark.usefixtures("clean")
def test_names_are_not_markup(tab):
    names = ["<img src=x onerror=alert(1)>", "</text><script>alert(2)</script>", '"&quot;',
             "a -> b", "x" * 300, "\u202eabc\u0000"]  # fmt: skip
    rng = np.random.default_rng(0)
    data = dict(zip(names, rng.normal(size=(6, 60)), strict=True))
    graph = bf.MixedGraph(names, list(pairwise(names)))
    with serving(Session(data, graph=graph, origin=Origin(name=names[0]))) as server:
        tab.visit(server)
        for panel in PANELS:
            tab.open_panel(panel)
        assert tab.text("h1") == names[0]
        assert tab.evaluate("document.images.length") == 0
        assert tab.count(".bf-workbench script") == 0
        assert tab.count(".current .edge") == 5
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


BOXES = """(pan, zoom, boxes) => { const p = pan.getBoundingClientRect();
  const z = zoom.getBoundingClientRect();
  return boxes.map((b) => b.getBoundingClientRect()).every((r) =>
    r.left >= p.left - 1 && r.right <= p.right + 1 && r.top >= p.top - 1 && r.bottom <= p.bottom + 1
    && (r.bottom <= z.top || r.right <= z.left)); }"""


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    ("width", "d", "dark"), [(1400, 5, True), (400, 5, False), (1400, 60, False), (400, 60, True)]
)
def test_layout_of_the_page(tab, width, d, dark):
    graph = bf.random_bap(d, max_in_degree=2, rng=d)
    names = [f"variable {k}" for k in range(d)]
    rows = bf.random_sem(graph, rng=d).sample(300, rng=d)
    data = dict(zip(names, rows.T, strict=True))
    relabeled = graph.relabel(dict(zip(graph.nodes, names, strict=True)))
    with serving(Session(data, graph=relabeled)) as server:
        tab.visit(server, width=width, height=900, dark=dark)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        # All tabs are visible, no line break separates a number from its sign, names are readable.
        tabs = tab.one(".tabs")
        assert tab.evaluate(f"{tabs}.scrollWidth <= {tabs}.clientWidth")
        assert tab.evaluate(f"{tab.each('.together')}.every(x => x.getClientRects().length < 2)")
        assert tab.evaluate(f"{tab.one('.box text')}.getBoundingClientRect().height") >= 11
        color = tab.evaluate(f"getComputedStyle({tab.one('.bf-workbench')}).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", color))) < 200) == dark
        # All boxes fit into the canvas, and none is under the zoom buttons.
        tab.evaluate(f"{tab.button('Fit')}.click()")
        pan, zoom, boxes = tab.one(".pan"), tab.one(".zoom"), tab.each(".current .box")
        assert tab.evaluate(f"({BOXES})({pan}, {zoom}, {boxes})")


@pytest.mark.usefixtures("clean")
def test_the_widget_is_the_same_page(tab, tmp_path):
    pytest.importorskip("anywidget", reason="the extra `notebook` is not installed")
    widget = bf.workbench(DATA, graph=bf.parse("sun -> leaves"))
    sent = []
    widget.send = sent.append  # in place of the channel of a notebook
    page = tmp_path / "cell.html"
    page.write_text(
        f"<!DOCTYPE html><meta charset=utf-8><style>{widget._css}</style><div id=cell></div>"
        f"<script type=module>{front_end.module().replace('export default', 'const widget =')}\n"
        "window.out = []; let hear; window.deliver = (m) => hear(m);"
        "const model = { send: (m) => out.push(m), on: (_, f) => { hear = f; } };"
        "widget.render({ model, el: document.getElementById('cell') });</script>",
        encoding="utf-8",
    )

    def exchange():
        """Exchange messages, as a kernel would."""
        for message in tab.evaluate("out.splice(0)"):
            widget._handle_custom_msg(message, [])
        while sent:
            tab.evaluate(f"deliver({json.dumps(sent.pop(0))})")

    widget.session._listeners.clear()
    widget.session.listen(sent.append)
    tab.open(page)
    end = time.monotonic() + 30
    while not tab.count(".current .edge"):
        assert time.monotonic() < end
        exchange()
        time.sleep(0.05)
    tab.drag("fruit", "sweetness")
    while len(tab.edges()) < 2:
        assert time.monotonic() < end
        exchange()
        time.sleep(0.05)
    assert widget.graph == bf.MixedGraph(NAMES, [("sun", "leaves"), ("fruit", "sweetness")])
    assert widget.knowledge == bf.Knowledge()
    widget.close()
    tab.requests.clear()  # the page of the test itself


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(bf.BowfreeError, match=r'pip install "bowfree\[notebook\]"'):
        bf.workbench(DATA)


STEP = re.compile(
    r"[Dd]rag from \*\*(?P<a>\w+)\*\* to \*\*(?P<b>\w+)\*\*|[Pp]ress \*\*(?P<button>[^*]+)\*\*"
    r"|[Oo]pen \*\*(?P<panel>\w+)\*\*|[Cc]hoose \*\*(?P<name>\w+)\*\* for \*\*(?P<field>\w+)\*\*"
    r"|see “(?P<seen>[^”]+)”"
)


@pytest.mark.usefixtures("clean")
def test_the_tour_of_the_documentation(tab):
    text = (ROOT / "docs" / "workbench.md").read_text(encoding="utf-8")
    tour = " ".join(text.split("## Two minutes")[1].split("\n## ")[0].split())
    steps = list(STEP.finditer(tour))
    assert len(steps) > 20
    with serving(session_of()) as server:
        tab.visit(server, width=1400)
        for step in steps:
            found = {name: value for name, value in step.groupdict().items() if value}
            if "a" in found:
                tab.drag(found["a"], found["b"])
            elif "button" in found:
                tab.press_button(found["button"])
            elif "panel" in found:
                tab.open_panel(found["panel"].lower())
            elif "name" in found:
                field = f"document.querySelector('[data-field=effect-{found['field']}]')"
                tab.evaluate(f"{field}.value = '{NAMES.index(found['name'])}'")
                tab.evaluate(f"{field}.dispatchEvent(new Event('change'))")
            else:
                seen = json.dumps(found["seen"])
                tab.until(f"document.querySelector('.bf-workbench').innerText.includes({seen})")
        assert server.session.drawing.graph == TRUTH
