"""The panels in a browser: class, effect, data, tests, search and files."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import bowfree as bf
from app_serving import serving
from app_session import (
    ARROWS,
    DATA,
    FRUIT,
    LEAVES,
    LOOSE,
    NAMES,
    PANELS,
    SUN,
    SWEETNESS,
    TRUTH,
    ask,
    choose,
    opened,
    session_of,
)
from bowfree.app.session import Session

pytestmark = pytest.mark.usefixtures("clean")


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
        strip = server.session.analyses["effect"]["strip"]
        assert tab.count(".strip .bar") == len({round(x, 2) for x in strip})
        tab.click_on(f"{tab.each('.strip .bar')}.at(-1)")
        tab.until(f"{tab.one('.page')}.innerText.includes('the effect is')")
        tab.open_panel("fit")
        assert tab.count(".edge.causal, .box.exposure") == 0
        assert sorted(tab.edges()) == sorted(f"{a} → {b}" for a, b in graph.directed)


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


def test_pictures_and_implications(tab, tmp_path):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server)
        tab.until(f"{tab.one('.numbers')}.innerText.includes('8')")
        tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.press_button("Files")
        for kind in ("SVG", "PNG"):
            tab.press_button(kind)
        files = [tmp_path / "graph.svg", tmp_path / "graph.png"]
        tab.until_written(*files)
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


def recorded(tmp_path, graph):
    """Write a page that answers from a recording; return the file and the session."""
    with opened(graph) as session:
        session.answer({"do": "effect", "of": LEAVES, "on": SWEETNESS})
        session.wait()
        file = tmp_path / "workbench.html"
        file.write_text(ask(session, "share")["file"], encoding="utf-8")
        return file, session


def test_a_shared_page_answers_without_a_server(tab, tmp_path):
    file, session = recorded(tmp_path, TRUTH)
    tab.open(file, width=1280, height=800)
    tab.until(tab.one(".box"))
    tab.until_edges(*(f"{a} {ARROWS[mark]} {b}" for a, mark, b in TRUTH.edges))
    tab.open_panel("class")
    members = bf.equivalence_class(TRUTH)
    tab.evaluate(f"{tab.one('[data-field=member]')}.focus()")
    tab.press("End")
    last = f"Graph {len(members)} of {len(members)}"
    tab.until(f"{tab.one('.page')}.innerText.includes('{last}')")
    tab.open_panel("effect")
    for of, on in ((LEAVES, SWEETNESS), (SUN, FRUIT)):
        choose(tab, "[data-field=effect-of]", str(of))
        choose(tab, "[data-field=effect-on]", str(on))
        effect = session.fit.total_effects().effect(of=NAMES[of], on=NAMES[on])
        shown = f"{effect.estimate:.3g}".replace("-", "−")
        tab.until(f"{tab.one('.facts')}?.innerText.includes('{shown}')")
    choose(tab, "[aria-label='Marks at the ends of edges']", "pag")
    tab.until(tab.one(".edge.varying"))
    choose(tab, "[aria-label='Marks at the ends of edges']", "graph")
    tab.drag("sun", "fruit")
    tab.until_visible(".callout")
    assert 'pip install "bowfree[app]"' in tab.text(".callout")
    for panel in PANELS:
        tab.open_panel(panel)
    assert tab.requests == [file.as_uri()] or tab.requests == [file.as_uri(), "data:,"]


def test_an_answer_may_arrive_after_the_end_of_its_job(tab, paused):
    with serving(session_of()) as server:
        tab.visit(server)
        tab.call("Fetch.enable", patterns=[{"urlPattern": "*/do", "requestStage": "Response"}])
        tab.press_button("Find a graph")
        tab.until(tab.one(".found"))
        assert paused
        tab.call("Fetch.disable")  # now the answer to "Find a graph" arrives
        tab.until("document.querySelectorAll('.current .edge').length === 6")
        server.session.wait()
        tab.until(f"!{tab.button('Start search')}.disabled && !{tab.one('progress')}")


def test_the_last_question_wins(tab, paused):
    with serving(session_of(TRUTH)) as server:
        tab.visit(server)
        server.session.wait()
        tab.open_panel("class")
        tab.until(tab.one("[data-field=member]"))
        tab.call("Fetch.enable", patterns=[{"urlPattern": "*/do", "requestStage": "Response"}])
        slide = f"{tab.one('[data-field=member]')}.dispatchEvent(new Event('input'))"
        for number in (1, 2):
            tab.evaluate(f"{tab.one('[data-field=member]')}.value = {number}")
            tab.evaluate(slide)
        while len(paused) < 2:
            tab.evaluate("0")
        first, second = paused
        tab.call("Fetch.continueRequest", requestId=second)
        tab.until(f"{tab.one('.page')}.innerText.includes('Graph 3 of')")
        tab.call("Fetch.continueRequest", requestId=first)
        tab.call("Fetch.disable")
        tab.evaluate(
            "fetch('./do', {method: 'POST', body: '{}'}).then(() => { window.later = 1; })"
        )
        tab.until("window.later")
        assert "Graph 3 of" in tab.text(".page")
        # Numbers of an effect that is no longer selected are not shown under the names of another.
        server.session.answer({"do": "effect", "of": SUN, "on": FRUIT})
        server.session.wait()
        tab.open_panel("effect")
        choose(tab, "[data-field=effect-of]", str(LEAVES))
        choose(tab, "[data-field=effect-on]", str(SWEETNESS))
        tab.until(tab.one(".facts"))
        message = server.session.effect_message("sun", "fruit")
        before = tab.text(".facts")
        server.session.broadcast(message)
        server.session.broadcast({"kind": "job_ended", "number": 1, "job": "x", "text": "end"})
        tab.until("document.querySelector('[role=status]').innerText === 'x: end'")
        assert tab.text(".facts") == before


def test_save_load_and_an_invalid_file(tab, tmp_path):
    with serving(session_of(bf.parse("sun -> leaves"))) as server:
        tab.visit(server)
        tab.press_button("Files")
        bad = tmp_path / "bad.json"
        tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.press_button("Share")
        good = tmp_path / "workbench.html"
        tab.until_written(good)
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
