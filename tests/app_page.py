"""Data and helpers for tests of the page of the workbench."""

import json

import bowfree as bf
from bowfree.app.saved import Origin
from bowfree.app.session import Session

DATA = bf.datasets.load_demo()


NAMES = tuple(DATA)


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


def session_of(graph=None, **options):
    return Session(DATA, graph=graph, origin=Origin(name="plants.csv"), **options)


def choose(tab, field, value):
    """Choose an option of a select element."""
    tab.evaluate(f"{tab.one(field)}.value = {json.dumps(value)}")
    tab.evaluate(f"{tab.one(field)}.dispatchEvent(new Event('change'))")
