"""Every page is well formed, self-contained, and safe with any graph and any name."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings

import bowfree as bf
from graph_strategies import ODD_NAMES, mixed_graphs
from report_page import DATA, GRAPH, Page

NASTY = [
    "<script>alert(1)</script>",
    "</script><b>",
    '" onload="alert(2)',
    "a & b",
    "{{ 7*7 }}",
    "';--",
]


def test_two_variables():
    fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=100, ddof=0)
    page = Page(bf.report.render(fit, title="Two", note="14 March"))
    assert [cells[0][1] for cells in page.rows("edges")] == ["x → y"]
    assert page.rows("edges")[0][7] == (str(1 / 3), "33.3 %")  # x -> y, x <- y, x <-> y
    assert "14 March" in page.text


def test_the_page_is_well_formed_and_every_reference_has_a_target(page):
    assert len(page.ids) == len(set(page.ids))
    for _, found in page.elements:
        for name in ("aria-labeledby", "aria-describedby", "for", "data-table"):
            assert found.get(name) is None or found[name] in page.ids
        if found.get("href", "").startswith("#"):
            assert found["href"][1:] in page.ids


def test_nothing_comes_from_elsewhere(fit):
    html = bf.report.render(fit, data=DATA)
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"// [^\n]*", "", html), re.IGNORECASE)
    assert not re.search(r"url\(|@import|<link|<img|<iframe|\bsrc=|fetch\(|XMLHttp", html)
    assert "default-src 'none'" in html


def test_controls_can_be_reached_and_have_names(page):
    for tag, found in page.elements:
        if tag == "svg" and "aria-hidden" not in found:
            assert found["aria-label"]
            assert found["role"] in ("img", "group")
        if found.get("class", "").split(" ")[0] in ("edge", "node"):
            assert found["tabindex"] == "0"
            assert found["aria-label"]
    columns = sum(len(page.tables[f"table-{n}"][0]) for n in ("edges", "effects", "variables"))
    assert sum(tag == "button" for tag, _ in page.elements) > columns


def test_the_same_result_gives_the_same_bytes(fit, result):
    assert bf.report.render(fit) == bf.report.render(bf.fit(GRAPH, DATA))
    assert bf.report.render(result) == bf.report.render(result)


def test_names_stay_text():
    names = [*NASTY, "\u2028\x00", "変数"]
    g = bf.MixedGraph(names, directed=[(names[0], v) for v in names[1:5]], bidirected=[names[5:7]])
    fit = bf.fit(g, cov=np.eye(8) + 0.2, n=100)
    html = bf.report.render(fit, title=NASTY[0], note=NASTY[1], settings={NASTY[2]: NASTY[0]})
    page = Page(html)
    assert "<script>alert" not in html
    assert "<b>" not in html
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert not any("onload" in given for _, given in page.elements)
    assert page.rows("variables")[0][0][1] == NASTY[0]
    assert "{{ 7*7 }}" in page.text
    assert "alert" in json.loads(page.scripts[0])["edges"][0]["tip"][0]


def test_population_covariances_and_saturated_graphs():
    g = bf.parse("x -> y -> z <- x")
    fit = bf.fit(g, cov=[[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]], n=math.inf)
    page = Page(bf.report.render(fit))
    assert page.rows("edges")[0][2][1] == "–"  # no standard error
    Page(bf.report.render(bf.fit(bf.parse("x, y"), cov=np.eye(2), n=10)))


def test_large_graphs_stay_small_on_disk():
    d = 40
    names = [f"v{i}" for i in range(d)]
    g = bf.MixedGraph(
        names,
        directed=[(names[i], names[i + 1]) for i in range(d - 1)],
        bidirected=[(names[i], names[i + 3]) for i in range(0, d - 3, 6)],
    )
    fit = bf.fit(g, cov=bf.random_sem(g, rng=0).covariance(), n=500)
    members = bf.equivalence_class(g, method="colliders")
    html = bf.report.render(fit, equivalence_class=members)
    assert len(html.encode()) < 1_000_000
    page = Page(html)
    assert len(page.rows("residuals")) == 600
    assert f"the {d * (d - 1) // 2 - 600} smallest left out" in " ".join(page.text)


@given(mixed_graphs(max_nodes=5, names=ODD_NAMES))
@settings(max_examples=10)
def test_any_bap_has_a_report(g):
    if len(g) and g.is_bap():
        page = Page(bf.report.render(bf.fit(g, cov=np.eye(len(g)) + 0.1, n=50)))
        assert len(page.rows("variables")) == len(g)
        assert (
            sum(given.get("class", "").startswith("edge ") for _, given in page.elements)
            == g.n_edges
        )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda fit: {"data": DATA.X[:500]}, bf.errors.DataError, "500 rows against n = 1000"),
        (lambda fit: {"data": np.exp(DATA.X)}, bf.errors.DataError, "not the data of the fit"),
        (
            lambda fit: {"equivalence_class": bf.equivalence_class(bf.parse("x -> y"))},
            bf.BowfreeError,
            "does not contain the graph",
        ),
    ],
)
def test_bad_input(fit, call, error, message):
    with pytest.raises(error, match=message):
        bf.report.render(fit, **call(fit))


def test_a_graph_alone_has_no_report():
    with pytest.raises(bf.BowfreeError, match="no report on a MixedGraph: give the result"):
        bf.report.render(GRAPH)
