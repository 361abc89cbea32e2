"""A fit, a page and a search of the demo for all tests of the report."""

import pytest

import bowfree as bf
from report_page import DATA, GRAPH, Page


@pytest.fixture(scope="session")
def fit():
    return bf.fit(GRAPH, DATA)


@pytest.fixture(scope="session")
def page(fit):
    return Page(bf.report.render(fit, data=DATA))


@pytest.fixture(scope="session")
def result():
    return bf.greedy_search(DATA, restarts=6, rounds=1, rng=1)
