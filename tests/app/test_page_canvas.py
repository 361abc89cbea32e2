"""The canvas in a browser: drawing, menus, keys, touch, zoom, and what can be read."""

import re

import pytest
from sklearn.datasets import load_wine

import bowfree as bf
from app_serving import serving
from app_session import DATA, LOOSE, PANELS, TRUTH, session_of
from bowfree.app.session import Session

pytestmark = pytest.mark.usefixtures("clean")


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


def test_zoom_is_kept_when_a_variable_is_moved(tab):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server, width=1280, height=800)
        width = "document.querySelector('.current .box rect').getBoundingClientRect().width"
        tab.press_button("+")
        before = tab.evaluate(width)
        server.session.answer({"do": "position", "node": 5, "x": 90, "y": 40})
        tab.until("document.querySelectorAll('.box')[5].getAttribute('transform').includes('90.0')")
        assert tab.evaluate(width) == pytest.approx(before, rel=1e-3)  # browsers round lengths
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


def test_a_reload_shows_the_same_picture_and_the_window_holds_the_page(tab):
    wine = load_wine(as_frame=True).data
    graph = bf.greedy_search(wine, rng=0).graph
    with serving(Session(wine)) as server:
        tab.visit(server, width=1280, height=800)
        server.session.answer({"do": "read", "format": "text", "text": str(graph)})
        server.session.wait()
        lines = f"{tab.each('.current .line')}.map(e => e.getAttribute('d')).sort()"
        tab.until(f"{lines}.length === {graph.n_edges}")
        tab.until(f"{tab.one('.warning-line')}.innerText.includes('warning')")
        before = tab.evaluate(lines)
        tab.visit(server, width=1280, height=800)
        assert tab.evaluate(lines) == before
        bottom = f"{tab.one('.zoom')}.getBoundingClientRect().bottom"
        for panel in PANELS:
            tab.open_panel(panel)
            assert tab.evaluate(f"{bottom} < innerHeight && {tab.one('.tabs')}.offsetHeight < 50")
            assert tab.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_suggestions_are_taken_by_a_click(tab):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.until(tab.one(".ghost"))
        text = tab.evaluate(f"{tab.one('.ghost')}.getAttribute('aria-label')")
        tab.evaluate(
            f"{tab.one('.ghost .touch')}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
        )
        tab.until_edges(re.search(r"add (.*), score", text)[1])
        assert server.session.state["chosen_on_data"]
        tab.until(f"{tab.one('.warning-line')}.innerText.includes('warning')")


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
