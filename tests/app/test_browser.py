"""The workbench in a real browser: editing, analyses, searches, and failures of the server."""

import json
import re
import sys
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from app_tab import Tab
from bowfree.app import front_end
from bowfree.app.saved import Origin
from bowfree.app.session import Session
from browser import find_browser

pytest.importorskip("starlette", reason="the extra `app` is not installed")
pytest.importorskip("uvicorn", reason="the extra `app` is not installed")

from app_serving import serving

ROOT = Path(__file__).parents[2]
DATA = bf.datasets.load_demo()
NAMES = tuple(DATA)
TRUTH = bf.datasets.demo_model().graph
PANELS = ("fit", "next", "class", "effect", "test", "data", "search", "compare", "files")
ARROWS = {"->": "→", "<->": "↔"}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed: the workbench is not tested in a browser")
    with Tab(path, tmp_path_factory.mktemp("browser") / "profile") as browser:
        browser.names = NAMES
        yield browser


@pytest.fixture
def clean(tab):
    """No test may leave errors in the console, or load anything from other servers."""
    tab.errors.clear()
    tab.requests.clear()
    yield
    tab.call("Page.navigate", url="about:blank")
    # The server of a test may end before the page has saved the session.
    assert [error for error in tab.errors if "ERR_CONNECTION_REFUSED" not in str(error)] == []
    own = re.compile(
        r"http://127\.0\.0\.1:\d+/[\w-]{32}/|data:|about:blank|blob:http://127\.0\.0\.1:"
    )
    assert [address for address in tab.requests if not own.match(address)] == []


def session_of(graph=None, **options):
    return Session(DATA, graph=graph, origin=Origin(name="plants.csv"), **options)


@pytest.mark.usefixtures("clean")
def test_draw_undo_and_redo(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.drag("sun", "leaves")
        tab.until_edges("sun → leaves")
        tab.press_button("↔ hidden cause")
        tab.drag("fruit", "roots")
        tab.until_edges("sun → leaves", "fruit ↔ roots")
        fit = bf.fit(server.session.drawing.graph, DATA)
        assert f"{fit.score:.4f}".replace("-", "−") in tab.text(".numbers")
        assert "fruit <-> roots added" in tab.text("[role=status]")
        tab.press_button("↶ Undo")
        tab.until_edges("sun → leaves")
        tab.evaluate("document.querySelector('.current .box').focus()")
        tab.press("z", control=True)
        tab.until_edges()
        tab.press("y", control=True)
        tab.until_edges("sun → leaves")


@pytest.mark.usefixtures("clean")
def test_impossible_edits_are_explained_on_the_canvas(tab):
    with serving(session_of(bf.parse("sun -> leaves -> fruit"))) as server:
        tab.visit(server)
        tab.drag("fruit", "sun")
        tab.until_visible(".callout")
        assert "would close the cycle" in tab.text(".callout")
        assert tab.count(".edge.highlighted") == 2
        tab.press_button("Close")
        assert tab.count(".edge.highlighted") == 0
        tab.press_button("↔ hidden cause")
        tab.drag("sun", "leaves")
        tab.until_visible(".callout")
        assert "would be a bow" in tab.text(".callout")
        tab.press_button("Change it to sun ↔ leaves")
        tab.until_edges("sun ↔ leaves", "leaves → fruit")
        assert tab.evaluate("document.querySelector('.callout').hidden")


@pytest.mark.usefixtures("clean")
def test_the_menu_of_an_edge(tab):
    with serving(session_of(bf.parse("sun -> leaves"))) as server:
        tab.visit(server)

        def choose(text):
            x, y = tab.evaluate(
                f"(() => {{ const line = {tab.one('.edge .line')};"
                "const p = line.getPointAtLength(0.2 * line.getTotalLength())"
                ".matrixTransform(line.getScreenCTM()); return [p.x, p.y]; })()"
            )
            tab.click(x, y)
            tab.until_visible(".menu")
            item = f"{tab.each('.menu button')}.find(b => b.textContent.startsWith('{text}'))"
            tab.evaluate(f"{item}.click()")

        choose("Reverse")
        tab.until_edges("leaves → sun")
        choose("Change to ↔")
        tab.until_edges("sun ↔ leaves")
        choose("Lock")
        tab.until(tab.one(".edge.locked"))
        choose("Delete")
        tab.until_visible(".callout")
        assert "is locked" in tab.text(".callout")
        choose("Unlock")
        tab.until(f"!{tab.one('.edge.locked')}")
        choose("Forbid")
        tab.until(tab.one(".rules .rule"))
        assert server.session.drawing.knowledge.forbidden == (("sun", "<->", "leaves"),)
        tab.until_edges()


@pytest.mark.usefixtures("clean")
def test_keyboard(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        focus = "document.activeElement.getAttribute('aria-label')"
        tab.evaluate("document.querySelector('.current .box').focus()")
        assert tab.evaluate(focus).startswith("sun:")
        tab.press("Enter")
        assert "an edge starts here" in tab.evaluate(focus)
        tab.press("ArrowDown")
        other = tab.evaluate(focus).split(":")[0]
        assert other != "sun"
        tab.press("Enter")
        tab.until_edges(f"sun → {other}")
        tab.evaluate("document.querySelector('.current .edge').focus()")
        tab.press("c")
        tab.until_edges(f"sun ↔ {other}")
        assert tab.evaluate(focus).startswith("sun ↔")  # the changed edge keeps the focus
        tab.press("t")
        tab.until_edges(f"{other} → sun")
        tab.press("l")
        tab.until(tab.one(".edge.locked"))
        tab.press("l")
        tab.until(f"!{tab.one('.edge.locked')}")
        tab.press("Delete")
        tab.until_edges()
        tab.press("2")
        checked = "document.querySelector('.modes [aria-checked=true]').dataset.mode"
        assert tab.evaluate(checked) == "<->"
        tab.evaluate("document.querySelector('.current .box').focus()")
        tab.press(" ")
        assert tab.evaluate("document.activeElement.getAttribute('role')") == "menuitem"
        tab.press("Escape")
        assert tab.evaluate(focus).startswith("sun:")
        tab.evaluate("document.querySelector('[role=tab][aria-selected=true]').focus()")
        tab.press("ArrowRight")
        assert tab.evaluate("document.activeElement.textContent") == "Next"
        # The Tab key stops once at the variables, and once at the tabs.
        assert tab.count('.box[tabindex="0"]') == 1
        assert tab.count('[role=tab][tabindex="0"]') == 1


@pytest.mark.usefixtures("clean")
def test_an_edge_of_the_menu_is_ended_by_a_click(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.click(*tab.place("sun"))
        tab.press_button("Start an edge here")
        tab.click(*tab.place("leaves"))
        tab.until_edges("sun → leaves")
        # The four modes are one stop of the Tab key; arrow keys choose among them.
        assert tab.count(".modes [tabindex='0']") == 1
        tab.evaluate("document.querySelector('.modes [aria-checked=true]').focus()")
        tab.press("ArrowRight")
        assert tab.evaluate("document.activeElement.dataset.mode") == "<->"
        assert tab.evaluate("document.activeElement.ariaChecked") == "true"


@pytest.mark.usefixtures("clean")
def test_an_edge_is_drawn_by_touch(tab):
    with serving(session_of()) as server:
        tab.visit(server, width=400, height=800)
        tab.call("Emulation.setTouchEmulationEnabled", enabled=True)
        tab.place("leaves")
        (x, y), (u, v) = tab.place("sun"), tab.place("leaves")
        steps = [(x + (u - x) * k / 8, y + (v - y) * k / 8) for k in range(9)]
        for k, (a, b) in enumerate(steps):
            kind = "touchMove" if k else "touchStart"
            tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": a, "y": b}])
        tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        tab.until_edges("sun → leaves")
        tab.call("Emulation.setTouchEmulationEnabled", enabled=False)


@pytest.mark.usefixtures("clean")
def test_zoom_is_kept_when_a_variable_is_moved(tab):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server, width=1280, height=800)
        width = "document.querySelector('.current .box rect').getBoundingClientRect().width"
        tab.press_button("+")
        before = tab.evaluate(width)
        server.session.answer({"do": "position", "node": 5, "x": 90, "y": 40})
        tab.until("document.querySelectorAll('.box')[5].getAttribute('transform').includes('90.0')")
        assert tab.evaluate(width) == pytest.approx(before)
        assert tab.evaluate(LOOSE) == 0
        server.session.answer({"do": "arrange", "how": "circle"})
        tab.until(
            "!document.querySelectorAll('.box')[5].getAttribute('transform').includes('90.0')"
        )
        server.session.answer({"do": "effect", "of": 0, "on": 1})
        server.session.wait()
        assert tab.evaluate(LOOSE) == 0
        tab.press_button("+")
        before = tab.evaluate(width)
        # The status line is above the fold; the wheel zooms at the pointer.
        assert (
            tab.evaluate("document.querySelector('.status').getBoundingClientRect().bottom") < 800
        )
        x, y = tab.place("fruit")
        tab.call(
            "Input.dispatchMouseEvent",
            type="mouseWheel",
            x=x,
            y=y,
            deltaX=0,
            deltaY=-200,
            modifiers=2,
        )
        tab.until(f"{width} > {before} * 1.2")


@pytest.mark.usefixtures("clean")
def test_suggestions_are_taken_by_a_click(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.until(tab.one(".ghost"))
        text = tab.evaluate(f"{tab.one('.ghost')}.getAttribute('aria-label')")
        tab.evaluate(
            f"{tab.one('.ghost .touch')}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
        )
        tab.until_edges(re.search(r"add (.*), score", text)[1])
        assert server.session.current.state["chosen_on_data"]
        tab.until(f"{tab.one('.warning-line')}.innerText.includes('warning')")


LOOSE = """[...document.querySelectorAll('.current .edge')].filter((edge) => {
  const line = edge.querySelector('.line'), m = line.getScreenCTM();
  const ends = [0, line.getTotalLength()].map((s) => line.getPointAtLength(s).matrixTransform(m));
  return edge.dataset.pair.split(',').some((v) => {
    const r = document.querySelectorAll('.current .box rect')[v].getBoundingClientRect();
    return !ends.some((p) => p.x > r.left - 16 && p.x < r.right + 16 && p.y > r.top - 16
      && p.y < r.bottom + 16); });
}).length"""


@pytest.mark.usefixtures("clean")
def test_find_a_graph_and_walk_through_its_class(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.evaluate("localStorage.clear()")
        tab.press_button("Find a graph")
        tab.until("document.querySelectorAll('.current .edge').length === 6")
        best = bf.greedy_search(DATA, rng=0)  # as `bowfree learn`
        assert server.session.fit.score == pytest.approx(best.score, rel=1e-12)
        # All edges start at their boxes, also after the new arrangement and later messages.
        tab.until("document.querySelector('.weight')?.textContent.includes('%')")
        assert tab.evaluate(LOOSE) == 0
        tab.until(tab.one(".found"))
        text = tab.text(".found")
        assert f"{best.confidence.at_best} of {best.confidence.runs}" in text
        tab.open_panel("class")
        tab.until(tab.one("[data-field=member]"))
        members = bf.equivalence_class(server.session.drawing.graph)
        lines = f"{tab.each('.current .edge .line')}.map(e => e.getAttribute('d'))"
        tab.evaluate(f"{tab.one('[data-field=member]')}.focus()")
        tab.press("End")
        tab.until(
            f"{tab.one('.page')}.innerText.includes('Graph {len(members)} of {len(members)}')"
        )
        last = members[-1]
        expected = {f"{a} {ARROWS[mark]} {b}" for a, mark, b in last.edges}
        mirrored = {f"{b} ↔ {a}" for a, mark, b in last.edges if mark == "<->"}
        assert set(tab.edges()) <= expected | mirrored
        assert len(tab.evaluate(lines)) == 6
        assert server.session.drawing.graph != last  # only shown
        tab.press_button("Use this graph")
        tab.until(f"!{tab.one('.page')}.innerText.includes('Use this graph')")
        assert server.session.drawing.graph == last


@pytest.mark.usefixtures("clean")
def test_exposure_and_outcome(tab):
    graph = bf.parse("sun -> leaves -> fruit -> sweetness, sun -> fruit, pot -> roots")
    with serving(session_of(graph)) as server:
        tab.visit(server, width=1280, height=800)
        tab.press_button("? ask")
        tab.click(*tab.place("leaves"))
        tab.click(*tab.place("sweetness"))
        tab.until(tab.one(".edge.causal"))
        kinds = {
            kind: tab.evaluate(f"{tab.each(f'.edge.{kind}')}.map(e => e.ariaLabel.split(',')[0])")
            for kind in ("causal", "biasing", "aside")
        }
        assert kinds == {
            "causal": ["leaves → fruit", "fruit → sweetness"],
            "biasing": ["sun → leaves", "sun → fruit"],
            "aside": ["pot → roots"],
        }
        for role, name in {"exposure": "leaves", "outcome": "sweetness"}.items():
            assert tab.evaluate(f"{tab.one(f'.box.{role} text')}.textContent") == name
        page = tab.text(".page")
        assert "Adjust for\nsun" in page
        effect = server.session.fit.total_effects().effect(of="leaves", on="sweetness")
        assert f"{effect.estimate:.3g}".replace("-", "−") in page
        # A click on the strip shows an equivalent graph with this effect.
        strip = server.session.current.analyses["effect"]["strip"]
        assert tab.count(".strip .bar") == len({round(x, 2) for x in strip})
        tab.click_on(f"{tab.each('.strip .bar')}.at(-1)")
        tab.until(f"{tab.one('.page')}.innerText.includes('the effect is')")
        tab.open_panel("fit")
        assert tab.count(".edge.causal, .box.exposure") == 0
        assert sorted(tab.edges()) == sorted(f"{a} → {b}" for a, b in graph.directed)


def choose(tab, field, value):
    """Choose an option of a select element."""
    tab.evaluate(f"{tab.one(field)}.value = {json.dumps(value)}")
    tab.evaluate(f"{tab.one(field)}.dispatchEvent(new Event('change'))")


@pytest.mark.usefixtures("clean")
def test_data_and_the_pag(tab):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server, width=1280, height=800)
        server.session.wait()
        tab.evaluate(f"{tab.one('.current .edge')}.focus()")
        tab.press("d")
        tab.until(tab.one(".chart .slope"))
        assert tab.count(".chart .point") == 1000
        choose(tab, "[data-field=data-b]", "")
        tab.until(tab.one(".chart .bar"))
        choose(tab, "[aria-label='Marks at the ends of edges']", "pag")
        circles = sum(mark.count("o") for _, mark, _ in TRUTH.pag().edges)
        tab.until(
            f"{tab.each('.mark')}.filter(c => c.checkVisibility({{visibilityProperty: true}})).length === {circles}"
        )
        # Edges of the PAG cannot be edited.
        tab.evaluate(f"{tab.one('.current .edge')}.focus()")
        tab.press("Delete")
        choose(tab, "[aria-label='Marks at the ends of edges']", "graph")
        assert len(tab.edges()) == TRUTH.n_edges


@pytest.mark.usefixtures("clean")
def test_pictures_and_implications(tab, tmp_path):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server)
        tab.until(f"{tab.one('.numbers')}.innerText.includes('8')")
        tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.press_button("Files")
        for kind in ("SVG", "PNG"):
            tab.press_button(kind)
        end = time.monotonic() + 20
        files = [tmp_path / "graph.svg", tmp_path / "graph.png"]
        while not all(file.exists() and file.stat().st_size for file in files):
            assert time.monotonic() < end
            time.sleep(0.1)
        text = files[0].read_text(encoding="utf-8")
        root = ET.fromstring(text)
        written = " ".join(root.itertext())
        assert f"{server.session.fit.score:.4f}".replace("-", "−") in written
        assert "1000 observations" in written
        assert "graphs fit all data equally well" in written
        assert all(name in written for name in NAMES)
        assert files[1].read_bytes().startswith(b"\x89PNG")
        tab.press_button("Test")
        tab.until(tab.one(".verdict"))
        tab.press_button("List all testable implications")
        tests = bf.constraint_tests(TRUTH, DATA)
        tab.until(f"{tab.one('.page')}.innerText.includes('{len(tests)} equations')")
        assert tab.count(".page tbody tr") == len(tests)


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
    end = time.monotonic() + 20
    while not (file := tmp_path / "workbench.json").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    with serving(session_of(), port=port) as server:
        assert "error" not in server.session.answer({"do": "load", "text": file.read_text("utf-8")})
        assert server.session.drawing.mark("sun", "leaves") == "->"
    with serving(session_of(), port=port) as server:  # the same origin: the browser has kept it
        tab.visit(server)
        tab.press_button("Restore the last session")
        tab.until_edges("sun → leaves")
    tab.call("Page.navigate", url="about:blank")


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("d", [7, 40])
def test_no_edge_is_behind_a_box_and_text_can_be_read(tab, d):
    graph = TRUTH if d == 7 else bf.random_bap(d, max_in_degree=2, rng=d)
    data = DATA if d == 7 else bf.random_sem(graph, rng=d).sample(300, rng=d)
    with serving(Session(data, graph=graph)) as server:
        tab.visit(server, width=1280, height=800)
        hidden = """(() => { const boxes = [...document.querySelectorAll('.current .box')];
          return [...document.querySelectorAll('.current .edge')].filter((edge) => {
            const [a, b] = edge.dataset.pair.split(',').map(Number), line = edge.querySelector('.line');
            const n = Math.ceil(line.getTotalLength() / 4), m = line.getScreenCTM();
            for (let k = 0; k <= n; k++) {
              const p = line.getPointAtLength(k * 4).matrixTransform(m);
              if (boxes.some((box, v) => { if (v === a || v === b) return false;
                const r = box.querySelector('rect').getBoundingClientRect();
                return p.x > r.left + 6 && p.x < r.right - 6 && p.y > r.top && p.y < r.bottom; })) return true;
            } return false; }).length; })()"""
        assert tab.evaluate(hidden) == 0
        if d >= 40:  # a click into the map moves the view
            top = f"{tab.one('.pan')}.scrollTop"
            before = tab.evaluate(top)
            x, y, bottom = tab.evaluate(
                f"(r => [(r.left + r.right) / 2, r.top, r.bottom])({tab.one('.overview')}.getBoundingClientRect())"
            )
            tab.click(x, (y + 3 * bottom) / 4)
            tab.until(f"{top} > {before} + 100")
        small = """[...document.querySelectorAll('.bf-workbench *')].filter((e) =>
          e.checkVisibility() && [...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim())
        ).map((e) => [e.textContent, parseFloat(getComputedStyle(e).fontSize)
          * (e.ownerSVGElement ? e.getScreenCTM().a : 1)]).filter(([, size]) => size > 0 && size < 11)"""
        assert tab.evaluate(small) == []


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
def test_all_controls_have_accessible_names(tab):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server)
        for panel in PANELS:
            tab.open_panel(panel)
            nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
            roles = {"button", "radio", "checkbox", "combobox", "spinbutton", "tab", "textbox"}
            nameless = [
                node["role"]["value"]
                for node in nodes
                if not node.get("ignored")
                and node.get("role", {}).get("value") in roles
                and not node.get("name", {}).get("value")
            ]
            assert nameless == [], panel
        assert tab.count("h1") == 1


@pytest.mark.usefixtures("clean")
def test_a_search_can_be_stopped_and_the_graph_edited_meanwhile(tab):
    rng = np.random.default_rng(7)
    mixing = rng.normal(size=(18, 18)) / 4 + np.eye(18)
    with serving(Session(rng.normal(size=(400, 18)) @ mixing)) as server:
        tab.visit(server)
        tab.press_button("Search")
        tab.press_button("Start search")
        tab.until(tab.one("progress"))
        server.session.answer({"do": "draw", "a": 0, "mark": "->", "b": 1})  # another page
        tab.until_edges("x1 → x2")
        assert tab.evaluate("Boolean(document.querySelector('progress'))")
        tab.press_button("Stop")
        tab.until(tab.one(".candidates"))
        assert "ended early" in tab.text("[role=status]")
        tab.press_button("Next ›")
        tab.until(tab.one(".other .edge"))
        assert tab.count(".edge.only, .edge.differs") > 0
        tab.press_button("Use it")
        tab.until(f"!{tab.one('.other')}")
        best = server.session.answer({"do": "hello"})["hello"]["candidates"]["graphs"][0]["graph"]
        tab.until(f"document.querySelectorAll('.current .edge').length === {len(best)}")


@pytest.mark.usefixtures("clean")
def test_an_answer_may_arrive_after_the_end_of_its_job(tab, monkeypatch):
    paused = []
    note = tab._note

    def watch(event):
        if event.get("method") == "Fetch.requestPaused":
            paused.append(event["params"]["requestId"])
        note(event)

    monkeypatch.setattr(tab, "_note", watch)
    with serving(session_of(TRUTH)) as server:
        tab.visit(server)
        tab.open_panel("search")
        tab.call("Fetch.enable", patterns=[{"urlPattern": "*/do", "requestStage": "Response"}])
        tab.press_button("Start search")
        tab.until(
            "document.querySelector('[role=status]').innerText.includes('search: best score')"
        )
        assert paused
        tab.call("Fetch.disable")  # now the answer to "Start search" arrives
        server.session.wait()
        tab.until("document.querySelector('[role=status]').innerText.includes('average')")
        tab.until(f"!{tab.button('Start search')}.disabled")
        assert tab.count("progress") == 0


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


@pytest.mark.usefixtures("clean")
def test_save_load_and_an_invalid_file(tab, tmp_path):
    with serving(session_of(bf.parse("sun -> leaves"))) as server:
        tab.visit(server)
        tab.press_button("Files")
        bad = tmp_path / "bad.json"
        tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.press_button("Share")
        end, good = time.monotonic() + 20, tmp_path / "workbench.html"
        while not good.exists():
            assert time.monotonic() < end
            time.sleep(0.1)
        assert "<svg" in good.read_text(encoding="utf-8")
        bad.write_text('{"kind": "bowfree workbench", "version": 1, "names": "<b>"}')

        def choose(file):
            document = tab.call("DOM.getDocument")["root"]["nodeId"]
            field = tab.call("DOM.querySelector", nodeId=document, selector="input[type=file]")[
                "nodeId"
            ]
            tab.call("DOM.setFileInputFiles", nodeId=field, files=[str(file)])

        server.session.answer({"do": "change", "a": 0, "mark": "", "b": 1})
        tab.until_edges()
        choose(bad)
        tab.until_visible(".callout")
        assert "must be a list of strings" in tab.text(".callout")
        choose(good)
        tab.until_edges("sun → leaves")
        tab.press_button("Python code")
        tab.until("document.querySelector('[data-field=text]').value.includes('import bowfree')")


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


# --- in a notebook ---


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


# --- the tour of the documentation ---

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
