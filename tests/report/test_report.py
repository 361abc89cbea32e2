"""The one-file report: well-formed, self-contained, safe with any name, and true to the fit."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

import bowfree as bf
from bowfree.display import significant
from bowfree.report.cautions import cautions
from bowfree.report.data_checks import check_data
from bowfree.report.score_svg import steps_svg, time_svg
from browser import Browser, find_browser
from graph_strategies import ODD_NAMES, mixed_graphs

#   sun ----> leaves <---- water
#               |
#               v
#   pot --> roots <-> fruit --> sweetness
DATA = bf.datasets.load_demo()
GRAPH = bf.datasets.demo_model().graph
NASTY = [
    "<script>alert(1)</script>",
    "</script><b>",
    '" onload="alert(2)',
    "a & b",
    "{{ 7*7 }}",
    "';--",
]

VOID = {"meta", "input", "path", "rect", "circle", "line", "polyline", "br"}


class Page(HTMLParser):
    """Reads a page, insists on balanced elements, and keeps tables, texts and attributes."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.ids = [], [], []
        self.tables, self.table, self.cell = {}, None, None
        self.scripts, self.text = [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = self.tables.setdefault(given.get("id", len(self.tables)), [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th") and self.table is not None:
            self.cell = [given.get("data-value"), ""]
            self.table[-1].append(self.cell)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"
        if tag == "table":
            self.table = None
        elif tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.text.append(data)
        if self.cell is not None:
            self.cell[1] += data

    def rows(self, name):
        """Rows of a table without its heading: lists of (value or None, text)."""
        return [[tuple(cell) for cell in row] for row in self.tables[f"table-{name}"][1:]]


@pytest.fixture(scope="module")
def fit():
    return bf.fit(GRAPH, DATA)


@pytest.fixture(scope="module")
def page(fit):
    return Page(bf.report.render(fit, data=DATA))


@pytest.fixture(scope="module")
def result():
    return bf.greedy_search(DATA, restarts=6, rounds=1, rng=1)


# --- the smallest report, and what every report must be ---


def test_two_variables():
    fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=100, ddof=0)
    page = Page(bf.report.render(fit, title="Two", note="14 March"))
    assert [cells[0][1] for cells in page.rows("edges")] == ["x → y"]
    assert page.rows("edges")[0][7] == (str(1 / 3), "33.3 %")  # x -> y, x <- y, x <-> y
    assert "14 March" in page.text


def test_the_page_is_well_formed_and_every_reference_has_a_target(page):
    assert len(page.ids) == len(set(page.ids))
    for _, found in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for", "data-table"):
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


# --- the numbers are those of the result ---


def test_edges_are_those_of_the_fit(fit, page):
    rows = {cells[0][1]: cells for cells in page.rows("edges")}
    estimates = {f"{e.rhs} → {e.lhs}": e for e in fit.estimates() if e.op == "~"}
    estimates |= {f"{e.lhs} ↔ {e.rhs}": e for e in fit.estimates() if e.op == "~~"}
    assert len(rows) == GRAPH.n_edges
    for arrow, cells in rows.items():
        e = (
            estimates[arrow]
            if arrow in estimates
            else estimates[" ↔ ".join(arrow.split(" ↔ ")[::-1])]
        )
        expected = (e.estimate, e.se, e.z, e.p_value, e.ci()[0], e.std_all)
        assert tuple(float(value) for value, _ in cells[1:7]) == expected
        assert cells[1][1] == significant(e.estimate, 4)


def test_shares_are_those_of_the_class(page):
    members = list(bf.equivalence_class(GRAPH))
    for cells in page.rows("edges"):
        a, mark, b = cells[0][1].split(" ")
        near = "children" if mark == "→" else "spouses"
        having = [g for g in members if b in getattr(g, near)(a)]
        assert float(cells[7][0]) == len(having) / len(members)


def test_effects_and_bounds(fit, page):
    effects = fit.total_effects()
    bounds = bf.effect_bounds(bf.equivalence_class(GRAPH), DATA)
    index = {name: i for i, name in enumerate(GRAPH.nodes)}
    rows = page.rows("effects")
    for cells in rows:
        j, i = index[cells[0][1]], index[cells[1][1]]
        assert float(cells[2][0]) == effects.estimate[i, j]
        shown = [float(value) for value, _ in cells[7:10]]
        expected = [bounds.lower[i, j], bounds.upper[i, j], bounds.min_abs[i, j]]
        assert np.allclose(shown, expected, atol=1e-9)  # S is read back from its other divisor
    shown = (effects.estimate != 0) | (bounds.max_abs > 0)
    assert len(rows) == shown.sum() - len(GRAPH)


def test_fit_indices_residuals_and_variables(fit, page):
    text = " ".join(page.text)
    for value in (fit.chi2, fit.rmsea, fit.cfi, fit.tli, fit.srmr, fit.aic, fit.bic, fit.loglik):
        assert f"{value:.3f}" in text
    residual = fit.residual_correlations()
    index = {name: i for i, name in enumerate(GRAPH.nodes)}
    rows = page.rows("residuals")
    assert len(rows) == 21
    for cells in rows:
        i, j = index[cells[0][1]], index[cells[1][1]]
        assert float(cells[4][0]) == residual[i, j]
    for cells in page.rows("variables"):
        i = index[cells[0][1]]
        assert float(cells[3][0]) == pytest.approx(1 - fit.Omega[i, i] / fit.Sigma[i, i])


def test_saved_estimates_are_those_of_the_fit(fit, page):
    saved = json.loads(page.scripts[1])
    assert saved["loglik"] == fit.loglik
    assert saved["estimates"] == fit.to_dict()["estimates"]
    assert bf.parse(saved["graph"]) == GRAPH


def test_report_on_a_search(result, tmp_path):
    file = result.report(tmp_path / "out.html", data=DATA, settings={"source": "greenhouse"})
    page = Page(file.read_text(encoding="utf-8"))
    assert file.stat().st_size < 200_000
    assert len(page.rows("runs")) == len(result.runs)
    ends = [float(cells[4][0]) for cells in page.rows("runs")]
    assert ends == [run.score for run in result.runs]
    text = " ".join(page.text)
    assert str(result.graph) in text
    assert "greenhouse" in text
    assert result.settings == {"restarts": 6, "rounds": 1, "rng": 1}
    assert bf.__version__ in text


def test_averages_after_a_search(result):
    page = Page(bf.report.render(result))
    average = bf.averaged_effects(result, rng=0)
    rows = {(cells[0][1], cells[1][1]): cells for cells in page.rows("averaged-effects")}
    probable = np.argwhere(average.probability >= 0.05).tolist()
    assert set(rows) == {(average.names[j], average.names[i]) for i, j in probable if i != j}
    for (cause, on), cells in rows.items():
        effect = average.effect(of=cause, on=on)
        shown = [float(cell[0]) for cell in cells[2:]]
        numbers = ("probability", "positive", "negative", "mean", "lower", "upper")
        assert shown == [getattr(effect, name) for name in numbers]
    for cells in page.rows("averaged-edges"):
        a, b = cells[0][1], cells[1][1]
        edges = (f"{a} -> {b}", f"{a} <- {b}", f"{a} <-> {b}")
        assert [float(c[0]) for c in cells[3:]] == [average.edge(edge).share for edge in edges]


def test_resamples_and_halves(result):
    quick = {"restarts": 1, "rounds": 0}
    again = bf.bootstrap(DATA, n_resamples=40, search=quick, rng=0)
    pairs = bf.stability_selection(DATA, n_halves=10, max_false=2, search=quick, rng=0)
    page = Page(bf.report.render(result, bootstrap=again, stable=pairs))
    for cells in page.rows("resampled-effects"):
        effect = again.effect(of=cells[0][1], on=cells[1][1])
        assert [float(c[0]) for c in cells[2:]] == [effect.frequency, *effect.interval]
    assert [(cells[0][1], cells[1][1]) for cells in page.rows("stable-pairs")] == list(pairs.pairs)
    assert len(pairs.pairs) > 3
    other = bf.bootstrap(DATA.X[:, :3], n_resamples=40, search=quick, rng=0)
    with pytest.raises(bf.BowfreeError, match="bootstrap is about other variables"):
        bf.report.render(result, bootstrap=other)


def test_chains_that_have_not_mixed_are_said_so(result):
    rough = bf.averaged_effects(result, rng=0, steps=400)
    assert not rough.mixed
    text = " ".join(Page(bf.report.render(result, average=rough)).text)
    assert "chains behind the averaged effects have not mixed" in text


def test_the_next_experiment():
    fit = bf.fit(bf.parse("x -> y -> z"), cov=np.eye(3) + 0.5, n=50)
    html = bf.report.render(fit)
    assert "Setting <strong>y</strong> from outside" in html
    assert "3.2 would be settled on average, instead of 0 now" in html
    assert "were looked at" not in html
    # Nothing is open, or the members have different models: no section.
    settled = bf.fit(bf.parse("x, y"), cov=np.eye(2), n=50)
    assert "The next experiment" not in bf.report.render(settled)
    close = bf.empirical_class(fit)
    assert "The next experiment" not in bf.report.render(fit, members=close)


def test_knowledge_narrows_the_class():
    known = bf.Knowledge(unconfounded=["sun"])
    result = bf.greedy_search(DATA, restarts=4, rounds=0, knowledge=known, rng=1)
    members = result.equivalence_class()
    page = Page(bf.report.render(result))
    saved = json.loads(page.scripts[1])
    assert saved["class"]["n_members"] == len(members)
    assert len(members) < len(bf.equivalence_class(result.graph))


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
    html = bf.report.render(fit, members=members)
    assert len(html.encode()) < 1_000_000
    page = Page(html)
    assert len(page.rows("residuals")) == 600
    assert f"the {d * (d - 1) // 2 - 600} smallest left out" in " ".join(page.text)


# --- data ---


@pytest.mark.parametrize("d", [3, 9])  # Mardia's skewness has two ways, for few and many columns
def test_mardia_and_mahalanobis_against_the_definitions(d):
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(60, d))
    X[7] += 15
    g = bf.MixedGraph([f"x{i + 1}" for i in range(d)])
    fit = bf.fit(g, X)
    checks = check_data(fit, X)
    Z = X - X.mean(axis=0)
    G = Z @ np.linalg.inv(np.cov(X.T, ddof=0)) @ Z.T  # all products of whitened rows
    assert checks.mardia.skewness == pytest.approx((G**3).mean())
    assert checks.mardia.kurtosis == pytest.approx((np.diag(G) ** 2).mean())
    assert checks.outliers[0].row == 8
    assert checks.outliers[0].distance2 == pytest.approx(G[7, 7] * 59 / 60)
    assert checks.n_outliers == 1
    assert [v.p_skewness for v in checks.variables] == pytest.approx(stats.skewtest(X).pvalue)
    found = " ".join(checks.warnings())
    for words in (f"{d} of {d} variables are not normal", "not jointly normal", "1 row far from"):
        assert words in found
    assert "Look twice" in bf.report.render(fit, data=X)


def test_outliers_have_the_law_of_a_row_left_out():
    # A row against mean and covariance of the *other* rows: Hotelling's test of two samples, one of
    # which is the row. It has the same p-value as the row's place among all rows.
    n, d = 25, 3
    X = np.random.default_rng(4).normal(size=(n, d))
    checks = check_data(bf.fit(bf.parse("x1, x2, x3"), X), X, listed=n)
    assert sorted(outlier.row for outlier in checks.outliers) == list(range(1, n + 1))
    for outlier in checks.outliers:
        rest = np.delete(X, outlier.row - 1, axis=0)
        gap = X[outlier.row - 1] - rest.mean(axis=0)
        t2 = (n - 1) / n * gap @ np.linalg.solve(np.cov(rest.T), gap)
        p_value = stats.f.sf(t2 * (n - 1 - d) / ((n - 2) * d), d, n - 1 - d)
        assert outlier.p_value == pytest.approx(p_value, rel=1e-9)


def test_clean_data_raise_no_alarm(fit):
    rng = np.random.default_rng(0)
    g = bf.parse("x1, x2, x3")
    # At a level of 1 %, with three families of tests, about 3 of 100 clean data sets are flagged.
    alarms = 0
    for _ in range(100):
        X = rng.normal(size=(100, 3))
        alarms += bool(check_data(bf.fit(g, X), X).warnings())
    assert alarms <= 9


def test_few_rows_have_no_tests():
    X = np.random.default_rng(0).normal(size=(12, 2))
    checks = check_data(bf.fit(bf.parse("x1, x2"), X), X)
    assert math.isnan(checks.variables[0].p_skewness)
    assert checks.warnings() == []
    Page(bf.report.render(bf.fit(bf.parse("x1, x2"), X), data=X))


# --- any graph, any name, any state ---


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


def test_score_curves():
    steps = steps_svg([[-5.0], [-100.0, -4.0, -3.0]])
    assert steps.count('class="run"') == 1
    assert steps.count('class="best"') == 1
    svg = time_svg([-3.0, -2.0], [0.0, 0.0])  # a clock too coarse for the runs
    assert svg.count("<circle") == 2
    assert "nan" not in svg
    assert steps_svg([[-1.0]]).count("<polyline") == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda fit: {"data": DATA.X[:500]}, bf.DataError, "500 rows against n = 1000"),
        (lambda fit: {"data": np.exp(DATA.X)}, bf.DataError, "not the data of the fit"),
        (
            lambda fit: {"members": bf.equivalence_class(bf.parse("x -> y"))},
            bf.BowfreeError,
            "does not hold the graph",
        ),
    ],
)
def test_bad_input(fit, call, error, message):
    with pytest.raises(error, match=message):
        bf.report.render(fit, **call(fit))


def test_a_report_on_an_exhaustive_search_keeps_to_its_space(tmp_path):
    S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    baps, dags = (
        bf.exhaustive_search(cov=S, n=400, graph_class=kind).report(tmp_path / f"{kind}.html")
        for kind in ("bap", "dag")
    )
    assert "5 graphs" in baps.read_text(encoding="utf-8")
    assert "3 DAGs" in dags.read_text(encoding="utf-8")


def test_a_graph_alone_has_no_report():
    with pytest.raises(bf.BowfreeError, match="no report on a MixedGraph: give the result"):
        bf.report.render(GRAPH)


# --- in a browser ---


@pytest.fixture(scope="module")
def tab(result, tmp_path_factory):
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed: the report is not tried in a browser")
    folder = tmp_path_factory.mktemp("browser")
    file = result.report(folder / "out.html", data=DATA)
    with Browser(path, folder / "profile") as browser:
        browser.open(file)
        browser.file = file
        yield browser


def middle(tab, selector):
    """Return the middle of an element in the window, after scrolling to it."""
    return tab.evaluate(
        f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
        e.scrollIntoView({{block: "center", behavior: "instant"}});
        const r = e.getBoundingClientRect();
        return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; }})()"""
    )


def click(tab, selector):
    x, y = middle(tab, selector)
    for kind in ("Moved", "Pressed", "Released"):
        tab.mouse(kind, x, y)


def test_the_page_loads_without_errors_or_network(tab):
    assert tab.evaluate("document.readyState") == "complete"
    assert tab.errors == []
    assert tab.requests == [tab.file.as_uri()]


def test_hover_shows_weight_error_and_share(tab, result):
    assert tab.evaluate("document.getElementById('tip').hidden") is True
    k = 0
    x, y = tab.evaluate(
        f"""(() => {{ const line = document.querySelectorAll(".edge .line")[{k}];
        line.scrollIntoView({{block: "center", behavior: "instant"}});
        const p = line.getPointAtLength(0.25 * line.getTotalLength());
        const q = p.matrixTransform(line.getScreenCTM()); return [q.x, q.y]; }})()"""
    )
    tab.mouse("Moved", x, y)
    tip = tab.evaluate("document.getElementById('tip').innerText")
    fit = result.fit()
    a, mark, b = result.graph.edges[k]
    i, j = (result.graph.nodes.index(v) for v in (b, a))
    value, errors = (fit.B, fit.standard_errors().B) if mark == "->" else (
        fit.Omega, fit.standard_errors().Omega
    )  # fmt: skip
    numbers = f"{significant(value[i, j], 4)} (standard error {significant(errors[i, j], 4)})"
    assert numbers in tip
    assert "% of the equivalent graphs" in tip
    tab.mouse("Moved", 1, 1)
    assert tab.evaluate("document.getElementById('tip').hidden") is True


def visible(tab, kind):
    return tab.evaluate(
        f"[...document.querySelectorAll('.edge.{kind}')]"
        ".filter(e => getComputedStyle(e).display !== 'none').length"
    )


def test_toggles_and_slider_hide_edges(tab, result):
    g = result.graph
    assert (visible(tab, "directed"), visible(tab, "bidirected")) == (g.n_directed, g.n_bidirected)
    click(tab, "#show-directed")
    assert (visible(tab, "directed"), visible(tab, "bidirected")) == (0, g.n_bidirected)
    assert tab.evaluate("document.getElementById('shown').textContent").startswith(
        f"{g.n_bidirected} of {g.n_edges} "
    )
    click(tab, "#show-directed")
    tab.evaluate(
        "(() => { const s = document.getElementById('strength'); s.value = 0.6;"
        "s.dispatchEvent(new Event('input')); })()"
    )
    strong = sum(abs(e.std_all) >= 0.6 for e in result.fit().estimates() if e.lhs != e.rhs)
    assert 0 < strong < g.n_edges
    assert visible(tab, "directed") + visible(tab, "bidirected") == strong
    click(tab, "#restore")
    assert visible(tab, "directed") == g.n_directed


def picture_width(tab):
    return tab.evaluate("document.getElementById('picture').getBoundingClientRect().width")


def test_the_picture_can_be_made_larger_and_whole(tab):
    whole = picture_width(tab)
    click(tab, "#larger")
    assert picture_width(tab) == pytest.approx(1.25 * whole, abs=2)
    click(tab, "#smaller")
    assert picture_width(tab) == pytest.approx(whole, abs=2)


def test_names_can_be_read_on_a_telephone(tab):
    tab.open(tab.file, width=400, height=800)
    height = tab.evaluate("document.querySelector('.node text').getBoundingClientRect().height")
    assert height >= 11
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    click(tab, "#whole")
    assert picture_width(tab) <= 400
    tab.open(tab.file)


def test_only_what_is_around_a_variable(tab, result):
    tab.evaluate(
        "(() => { const s = document.getElementById('around'); s.value = '0';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    name = result.graph.nodes[0]
    shown = tab.evaluate("document.querySelectorAll('.node:not(.gone)').length")
    assert shown == 1 + len(result.graph.neighbours(name))
    click(tab, "#restore")
    assert tab.evaluate("document.querySelectorAll('.node.gone').length") == 0


def test_a_large_graph_is_shown_in_modules(tab, tmp_path):
    d, size = 40, 10
    names = [f"v{i}" for i in range(d)]
    pairs = [(i, j) for i in range(d) for j in (i + 1, i + 2, i + 3) if j < d]
    inside = [(names[i], names[j]) for i, j in pairs if i // size == j // size]
    bridges = [(names[i], names[i + 1]) for i in range(size - 1, d - 1, size)]
    graph = bf.MixedGraph(names, inside + bridges)
    B = np.zeros((d, d))
    for i, j in pairs:
        B[j, i] = 0.4 * graph.adjacent(names[i], names[j])
    sem = bf.LinearSEM(graph, B, np.eye(d))
    fit = bf.fit(graph, cov=sem.covariance(), n=500)
    members = bf.equivalence_class(graph, method="colliders")

    def choose(control, value):
        tab.evaluate(
            f"(() => {{ const c = document.getElementById('{control}'); c.value = '{value}';"
            " c.dispatchEvent(new Event('input')); })()"
        )

    def count(selector):
        return tab.evaluate(f"document.querySelectorAll('{selector}').length")

    tab.open(bf.report.write(tmp_path / "large.html", fit, members=members))
    try:
        assert tab.evaluate("document.getElementById('layout').value") == "modules"
        assert count(".region") == 4
        assert count(".edge.between") == len(bridges)
        choose("strength", "0")
        choose("around", "module 1")
        assert count(".node:not(.gone)") == size + 2  # and the ends of two bridges
        choose("layout", "layered")
        assert (count(".region"), count(".edge.between")) == (0, 0)
        assert tab.errors == []
    finally:
        tab.open(tab.file)


def test_nodes_move_with_pointer_and_keys(tab):
    place = "document.querySelector('.node').getAttribute('transform')"
    lines = "[...document.querySelectorAll('.edge .line')].map(e => e.getAttribute('d')).join()"
    home, drawn = tab.evaluate(place), tab.evaluate(lines)
    x, y = middle(tab, ".node")
    tab.mouse("Moved", x, y)
    tab.mouse("Pressed", x, y)
    tab.mouse("Dragged", x + 30, y + 20)
    tab.mouse("Released", x + 30, y + 20)
    moved = tab.evaluate(place)
    assert moved != home
    assert tab.evaluate(lines) != drawn
    tab.evaluate("document.querySelector('.node').focus()")
    tab.press("ArrowDown")
    assert tab.evaluate(place) != moved
    click(tab, "#restore")
    assert tab.evaluate(place) == home


def test_a_click_on_a_heading_sorts(tab):
    values = (
        "[...document.querySelectorAll('#table-edges tbody tr')]"
        ".map(r => Number(r.cells[1].dataset.value))"
    )
    heading = "#table-edges thead th:nth-child(2)"
    click(tab, f"{heading} button")
    found = tab.evaluate(values)
    assert found == sorted(found, reverse=True)
    assert tab.evaluate(f"document.querySelector('{heading}').ariaSort") == "descending"
    click(tab, f"{heading} button")
    assert tab.evaluate(values) == sorted(found)


def test_class_marks_are_drawn(tab, result):
    circles = "document.querySelectorAll('.edge circle[visibility=visible]').length"
    assert tab.evaluate(circles) == 0
    click(tab, "#show-marks")
    summary = bf.equivalence_class(result.graph).summary()
    expected = sum((e.end_at_a == "circle") + (e.end_at_b == "circle") for e in summary.edges)
    assert tab.evaluate(circles) == expected > 0
    click(tab, "#restore")


def test_dark_and_light(tab):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(ground)
    click(tab, "#theme")
    dark = tab.evaluate(ground)
    assert (
        sum(map(int, re.findall(r"\d+", dark)))
        < 150
        < 600
        < sum(map(int, re.findall(r"\d+", light)))
    )
    tab.open(tab.file, dark=True)
    assert tab.evaluate(ground) == dark
    assert tab.errors == []


def test_the_script_draws_what_python_drew(tab):
    lines = "[...document.querySelectorAll('.edge .line')].map(e => e.getAttribute('d'))"
    tab.open(tab.file)
    drawn = tab.evaluate(lines)
    click(tab, "#restore")
    again = tab.evaluate(lines)
    numbers = [np.array(re.findall(r"-?[\d.]+", d), dtype=float) for d in drawn]
    redrawn = [np.array(re.findall(r"-?[\d.]+", d), dtype=float) for d in again]
    # Both cut curves at boxes on grids of their own: two units at most.
    assert max(np.abs(a - b).max() for a, b in zip(numbers, redrawn, strict=True)) < 2


def test_cautions_after_a_search():
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    result = bf.greedy_search(cov=S, n=400, rng=0)
    fit, summary = result.fit(), result.equivalence_class().summary()

    def sentences(search, fitted=fit):
        return " ".join(cautions(fitted, fitted.estimates(), summary, search=search))

    assert "chosen on the same data" in sentences(result)
    assert "runs reached" not in sentences(result)
    assert "chosen on the same data" not in sentences(None)
    lonely = [replace(run, score=run.score - 1.0) for run in result.runs[1:]]
    few = replace(result, runs=(result.runs[0], *lonely), complete=False)
    assert f"Only 1 of {len(few.runs)} runs reached the best score" in sentences(few)
    assert "ended early" in sentences(few)


@pytest.mark.parametrize(("n", "words"), [(20_000, "see the residual"), (10**7, "negligible")])
def test_a_rejection_with_many_observations_is_put_into_proportion(n, words):
    misfit = 0.1 if n < 10**6 else 0.003
    S = np.array([[1.0, 0.5, 0.25 + misfit], [0.5, 1.0, 0.5], [0.25 + misfit, 0.5, 1.0]])
    fit = bf.fit(bf.parse("x -> y -> z"), cov=S, n=n)
    summary = bf.equivalence_class(fit).summary()
    (found,) = cautions(fit, fit.estimates(), summary)
    assert "rejects the graph (p < 0.001)" in found
    assert words in found


def test_small_units_have_digits_and_p_values_one_sign():
    graph = bf.parse("x -> y -> z")
    scale = np.diag([1e-5, 1.0, 1e4])
    cov = scale @ np.array([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]]) @ scale
    html = bf.report.render(bf.fit(graph, cov=cov, n=500))
    assert "p = <" not in html
    assert "p = 0.000" not in html
    assert "on 1 df, p &lt; 0.001" in html
    assert ">9.990e-06<" in html  # the standard deviation of x, divisor n
    assert "A district is" in html


def test_bars_are_for_undecided_edges():
    html = bf.report.render(bf.fit(bf.parse("a <-> b <-> c <-> d <-> a"), cov=np.eye(4), n=50))
    assert 'class="bars"' not in html
    assert "agree on 4 of 4 edges" in html


def test_dense_graphs_begin_with_their_strongest_edges():
    names = [f"v{i}" for i in range(12)]
    graph = bf.MixedGraph(names, [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    sem = bf.random_sem(graph, rng=1).standardized()
    fit = bf.fit(graph, cov=sem.covariance(), n=300)
    least = float(re.search(r'id="strength"[^>]* value="([0-9.]+)"', bf.report.render(fit))[1])
    strengths = [abs(e.std_all) for e in fit.estimates() if e.lhs != e.rhs]
    assert 30 <= sum(s >= least for s in strengths) <= 40


# --- several conditions ---


def conditions_of(rng):
    x, y, z = rng.normal(size=(3, 200))
    watched = {"x": x, "y": 0.8 * x + y, "z": 0.7 * (0.8 * x + y) + z}
    x, y, z = rng.normal(size=(3, 150))
    return [
        bf.Condition(watched, name="watched"),
        bf.Condition({"x": x, "y": y + 5, "z": 0.7 * y + z}, targets=["y"], name="y <set>"),
    ]


def test_conditions_with_targets():
    data = conditions_of(np.random.default_rng(2))
    result = bf.greedy_search(data, rng=1)
    html = bf.report.render(result, data=data)
    page = Page(html)
    fit = bf.fit(result.graph, data)
    rows = [[text for _, text in row] for row in page.rows("conditions")]
    assert [row[:3] for row in rows] == [["watched", "200", ""], ["y <set>", "150", "y"]]
    assert rows[0][3] == f"{fit.conditions[0].chi2:.2f}"
    part = bf.moments(data).conditions[1]
    R = np.corrcoef(part.deviations.T) - _correlation(fit.conditions[1].Sigma)
    assert float(rows[1][6].replace("−", "-")) == pytest.approx(_largest(R), abs=6e-4)
    assert "residuals" not in page.ids  # there is no one matrix to take them from
    assert str(fit.sharing_test()) in " ".join(page.text)
    assert "The data are those of several conditions" in " ".join(page.text)
    members = bf.equivalence_class(result)
    assert members.targets == ((), ("y",))
    bounds = bf.effect_bounds(members, data)
    assert f"{bounds.effect(of='y', on='z').lower:.3f}" in html
    assert bf.report.render(result, data=data) == html


def test_batches_have_conditions_and_residuals():
    data = [bf.Condition(c.data, name=c.name) for c in conditions_of(np.random.default_rng(2))]
    page = Page(bf.report.render(bf.fit(bf.parse("x -> y -> z"), data)))
    assert {"conditions", "residuals"} <= set(page.ids)
    assert len(page.rows("conditions")) == 2


def _correlation(S):
    sd = np.sqrt(np.diag(S))
    return S / np.outer(sd, sd)


def _largest(R):
    return R.flat[np.abs(R).argmax()]
