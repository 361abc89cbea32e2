"""Data and helpers for tests of sessions and of the page of the workbench."""

import contextlib
import io
import json

import bowfree as bf
from bowfree.app.saved import Origin
from bowfree.app.session import Session

DATA = bf.datasets.load_demo()
NAMES = tuple(DATA)
SUN, LEAVES, WATER, FRUIT, SWEETNESS, POT, ROOTS = range(7)
TRUTH = bf.datasets.demo_model().graph
PANELS = ("fit", "next", "class", "effect", "test", "data", "search", "compare", "files")
ARROWS = {"->": "→", "<->": "↔"}
LOOSE = """[...document.querySelectorAll('.current .edge')].filter((edge) => {
  const line = edge.querySelector('.line'), m = line.getScreenCTM();
  const ends = [0, line.getTotalLength()].map((s) => line.getPointAtLength(s).matrixTransform(m));
  return edge.dataset.pair.split(',').some((v) => {
    const r = document.querySelectorAll('.current .box rect')[v].getBoundingClientRect();
    return !ends.some((p) => p.x > r.left - 16 && p.x < r.right + 16 && p.y > r.top - 16
      && p.y < r.bottom + 16); });
}).length"""


@contextlib.contextmanager
def opened(graph=None, data=DATA, **options):
    """Open a session and close it at the end of the block."""
    found = Session(data, graph=bf.parse(graph) if isinstance(graph, str) else graph, **options)
    try:
        yield found
    finally:
        found.close()


def ask(session, message, **fields):
    """Send a message, and return the answer, which must not be an error."""
    answer = session.answer({"do": message, **fields})
    assert "error" not in answer, answer["error"]
    return answer


def hello(session):
    return session.answer({"do": "hello"})["hello"]


def refused(session, message, **fields):
    """Send an impossible message, after which nothing has changed; return the error."""
    before = session.drawing
    answer = session.answer({"do": message, **fields})
    assert session.drawing == before
    assert "internal error" not in answer["error"]
    return answer["error"]


def listen(session):
    messages = []
    session.listen(messages.append)
    return messages


def run_code(session, **space):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(ask(session, "code")["file"].replace("data = ...", "pass"), space)
    return space


def session_of(graph=None, **options):
    return Session(DATA, graph=graph, origin=Origin(name="plants.csv"), **options)


def choose(tab, field, value):
    """Choose an option of a select element."""
    tab.evaluate(f"{tab.one(field)}.value = {json.dumps(value)}")
    tab.evaluate(f"{tab.one(field)}.dispatchEvent(new Event('change'))")
