"""The page in Firefox: drawing, touch, search, class, effect, pictures, and the shared page."""

import pytest

from app_serving import serving
from app_session import LOOSE, NAMES, PANELS, choose, session_of

pytest.importorskip("websocket", reason="websocket-client is not installed")

from firefox import FirefoxTab, find_firefox


@pytest.fixture
def firefox(tmp_path):
    path = find_firefox()
    if path is None:
        pytest.skip("no Firefox is installed: the workbench is tested in Chromium only")
    with FirefoxTab(path, tmp_path / "profile") as tab:
        tab.names, tab.patience = NAMES, 90
        yield tab


def test_the_page_in_firefox(firefox):
    tab = firefox
    with serving(session_of()) as server:
        tab.visit(server, width=1280, height=800)
        tab.drag("sun", "leaves")
        tab.until_edges("sun → leaves")
        tab.touch(tab.place("fruit"), tab.place("sweetness"))
        tab.until_edges("sun → leaves", "fruit → sweetness")
        tab.press_button("↶ Undo")
        tab.until_edges("sun → leaves")
        tab.press_button("↶ Undo")
        tab.until_edges()
        tab.press_button("Find a graph")
        tab.until("document.querySelectorAll('.current .edge').length === 6")
        server.session.wait()
        tab.open_panel("class")
        tab.until(tab.one("[data-field=member]"))
        tab.evaluate(f"{tab.one('[data-field=member]')}.focus()")
        tab.press("End")
        tab.until(f"{tab.one('.page')}.innerText.includes('Graph 8 of 8')")
        tab.open_panel("effect")
        choose(tab, "[data-field=effect-of]", str(NAMES.index("leaves")))
        choose(tab, "[data-field=effect-on]", str(NAMES.index("sweetness")))
        tab.until(tab.one(".edge.causal"))
        assert tab.evaluate(LOOSE) == 0
        bottom = f"{tab.one('.zoom')}.getBoundingClientRect().bottom"
        assert tab.evaluate(f"{bottom} < innerHeight")
        tab.open_panel("files")
        for kind in ("SVG", "PNG", "Share"):
            tab.press_button(kind)
        names = ("graph.svg", "graph.png", "workbench.html")
        tab.until_written(*(tab.folder / name for name in names))
        for panel in PANELS:
            tab.open_panel(panel)
    tab.open(tab.folder / "workbench.html", width=1280, height=800)
    tab.until("document.querySelectorAll('.current .edge').length === 6")
    assert tab.errors == []
