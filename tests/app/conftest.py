"""Fixtures: a browser, and a session."""

import re

import pytest

from app_session import NAMES, opened
from app_tab import Tab
from browser import find_browser


@pytest.fixture(scope="session")
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
        r"http://127\.0\.0\.1:\d+/[\w-]{32}/|data:|about:blank|file:|blob:http://127\.0\.0\.1:"
    )
    assert [address for address in tab.requests if not own.match(address)] == []


@pytest.fixture
def paused(tab, monkeypatch):
    """Return the list of answers that the browser holds back."""
    found, note = [], tab._note

    def watch(event):
        if event.get("method") == "Fetch.requestPaused":
            found.append(event["params"]["requestId"])
        note(event)

    monkeypatch.setattr(tab, "_note", watch)
    return found


@pytest.fixture
def session():
    with opened() as found:
        yield found
