"""The report: its numbers, its sections, and pages that are valid for any graph and any name."""

import json
import math
import re
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings

import bowfree as bf
from bowfree.results.display import significant
from bowfree.visualization.score_charts import steps_chart, time_chart
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
INDEX = {name: i for i, name in enumerate(GRAPH.nodes)}


# --- pages ---


def test_two_variables():
    fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=100, ddof=0)
    page = Page(bf.report.render(fit, title="Two", note="14 March"))
    assert [cells[0][1] for cells in page.rows("edges")] == ["x → y"]
    assert page.rows("edges")[0][7] == (str(1 / 3), "33.3 %")  # x -> y, x <- y, x <-> y
    assert "14 March" in page.text


def test_every_reference_has_a_target(page):
    assert len(page.ids) == len(set(page.ids))
    for _, found in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for", "data-table"):
            assert found.get(name) is None or found[name] in page.ids
        if found.get("href", "").startswith("#"):
            assert found["href"][1:] in page.ids


def test_nothing_is_loaded_from_elsewhere(fit):
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


def test_the_same_result_gives_the_same_bytes(fit, result):
    assert bf.report.render(fit) == bf.report.render(bf.fit(GRAPH, DATA))
    assert bf.report.render(result) == bf.report.render(result)


def test_names_are_escaped():
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


def test_large_graphs_give_small_files():
    d = 41
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
    sizes = [abs(float(cells[4][0])) for cells in page.rows("residuals")]  # without a map
    assert len(sizes) == 600
    assert sizes == sorted(sizes, reverse=True)
    assert "All pairs as a table" not in page.text
    assert f"{d * (d - 1) // 2 - 600} more rows" in " ".join(page.text)


@given(mixed_graphs(max_nodes=5, names=ODD_NAMES))
@settings(max_examples=10)
def test_any_bap_has_a_report(g):
    if len(g) and g.is_bap():
        page = Page(bf.report.render(bf.fit(g, cov=np.eye(len(g)) + 0.1, n=50)))
        assert len(page.rows("variables")) == len(g)
        edges = [x for _, x in page.elements if x.get("class", "").startswith("edge ")]
        assert len(edges) == g.n_edges


def test_bad_input(fit):
    for wrong, error, message in [
        ({"data": DATA.X[:500]}, bf.errors.DataError, "500 rows against n = 1000"),
        ({"data": np.exp(DATA.X)}, bf.errors.DataError, "not the data of the fit"),
        (
            {"equivalence_class": bf.equivalence_class(bf.parse("x -> y"))},
            bf.BowfreeError,
            "does not contain the graph",
        ),
        ({"average": 3}, bf.BowfreeError, "average is 3: must be a AveragedEffects"),
        ({"average_limit": 3}, TypeError, "did you mean 'average_time_limit'"),
    ]:
        with pytest.raises(error, match=message):
            bf.report.render(fit, **wrong)
    with pytest.raises(bf.BowfreeError, match="no report on a MixedGraph"):
        bf.report.render(GRAPH)


# --- numbers ---


def test_edges_are_those_of_the_fit_and_the_class(fit, page):
    estimates = {f"{e.a} → {e.b}": e for e in fit.estimates() if e.mark == "->"}
    estimates |= {f"{e.a} ↔ {e.b}": e for e in fit.estimates() if e.mark == "<->"}
    estimates |= {f"{e.b} ↔ {e.a}": e for e in fit.estimates() if e.mark == "<->"}
    members = list(bf.equivalence_class(GRAPH))
    rows = page.rows("edges")
    assert len(rows) == GRAPH.n_edges
    for cells in rows:
        e = estimates[cells[0][1]]
        expected = (e.estimate, e.se, e.z, e.p_value, e.lower, e.std_all)
        assert tuple(float(value) for value, _ in cells[1:7]) == expected
        assert cells[1][1] == significant(e.estimate, 4)
        a, mark, b = cells[0][1].split(" ")
        near = "children" if mark == "→" else "spouses"
        having = [g for g in members if b in getattr(g, near)(a)]
        assert float(cells[7][0]) == len(having) / len(members)
        same = len(having) == len(members)
        assert (cells[7][1] == "all", cells[8][1]) == (same, mark if same else "o→")


def test_a_mean_of_rounding_errors_is_zero():
    rows = DATA.X - DATA.X.mean(axis=0)
    rows[:, 0] += 0.5
    data = dict(zip(DATA.names, rows.T, strict=True))
    page = Page(bf.report.render(bf.fit(GRAPH, data), data=data))
    means = [cells[1][1] for cells in page.rows("variables")]
    assert means == ["0.5000", *["0"] * (len(means) - 1)]


def test_effects_and_bounds(fit, page):
    effects = fit.total_effects()
    bounds = bf.effect_bounds(bf.equivalence_class(GRAPH), DATA)
    rows = page.rows("effects")
    for cells in rows:
        j, i = INDEX[cells[0][1]], INDEX[cells[1][1]]
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
    rows = page.rows("residuals")
    assert len(rows) == 21
    for cells in rows:
        assert float(cells[4][0]) == residual[INDEX[cells[0][1]], INDEX[cells[1][1]]]
    for cells in page.rows("variables"):
        i = INDEX[cells[0][1]]
        assert float(cells[3][0]) == pytest.approx(1 - fit.Omega[i, i] / fit.Sigma[i, i])
    saved = json.loads(page.scripts[1])
    assert saved["loglik"] == fit.loglik
    assert saved["estimates"] == fit.to_dict()["estimates"]
    assert bf.parse(saved["graph"]) == GRAPH


def test_small_units_have_digits_and_p_values_one_sign():
    scale = np.diag([1e-5, 1.0, 1e4])
    cov = scale @ np.array([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]]) @ scale
    html = bf.report.render(bf.fit(bf.parse("x -> y -> z"), cov=cov, n=500))
    assert "p = <" not in html
    assert "p = 0.000" not in html
    assert "on 1 df, p &lt; 0.001" in html
    assert ">9.990e-06<" in html  # the standard deviation of x, divisor n
    population = bf.fit(bf.parse("x -> y"), cov=[[1, 0.5], [0.5, 1]], n=math.inf)
    assert Page(bf.report.render(population)).rows("edges")[0][2][1] == "–"  # no standard error


# --- searches ---


def test_report_on_a_search(result, tmp_path):
    file = result.report(tmp_path / "out.html", data=DATA, settings={"source": "greenhouse"})
    page = Page(file.read_text(encoding="utf-8"))
    assert file.stat().st_size < 200_000
    assert [float(cells[4][0]) for cells in page.rows("runs")] == [r.score for r in result.runs]
    text = " ".join(page.text)
    for part in (str(result.graph), "greenhouse", bf.__version__):
        assert part in text


def test_the_scores_of_search_and_fit_are_told_apart():
    result = bf.greedy_search(DATA.X, restarts=2, rounds=0, rng=1, holdout=0.5)
    html = bf.report.render(result, average_time_limit=1)
    assert f"<dt>Score</dt><dd>{result.score:.4f}</dd>" in html
    assert f"its score ({result.fit().score:.4f}) use the holdout sample" in html
    incomplete = DATA.X.copy()
    incomplete[np.random.default_rng(1).random(incomplete.shape) < 0.05] = np.nan
    result = bf.greedy_search(incomplete, restarts=2, rounds=0, rng=1, missing="fiml")
    assert result.fit().score == pytest.approx(result.score, rel=1e-12)


def test_knowledge_narrows_the_class():
    known = bf.Knowledge(unconfounded=["sun"])
    result = bf.greedy_search(DATA, restarts=4, rounds=0, knowledge=known, rng=1)
    members = result.equivalence_class()
    saved = json.loads(Page(bf.report.render(result)).scripts[1])
    assert saved["class"]["n_members"] == len(members)
    assert len(members) < len(bf.equivalence_class(result.graph))


def test_report_on_an_exhaustive_search_uses_its_space(tmp_path):
    S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    for kind, expected in (("bap", "5 equivalent graphs"), ("dag", "3 equivalent DAGs")):
        found = bf.exhaustive_search(cov=S, n=400, graph_class=kind)
        assert expected in found.report(tmp_path / "page.html").read_text(encoding="utf-8")


def test_averages_after_a_search(result):
    page = Page(bf.report.render(result))
    average = bf.averaged_effects(result, rng=0)
    rows = {(cells[0][1], cells[1][1]): cells for cells in page.rows("averaged-effects")}
    probable = np.argwhere(average.probability >= 0.05).tolist()
    assert set(rows) == {(average.names[j], average.names[i]) for i, j in probable if i != j}
    for (cause, on), cells in rows.items():
        effect = average.effect(of=cause, on=on)
        numbers = ("probability", "positive", "negative", "mean", "lower", "upper")
        assert [float(c[0]) for c in cells[2:]] == [getattr(effect, name) for name in numbers]
    for cells in page.rows("averaged-edges"):
        a, b = cells[0][1], cells[1][1]
        edges = (f"{a} -> {b}", f"{a} <- {b}", f"{a} <-> {b}")
        assert [float(c[0]) for c in cells[3:]] == [
            average.edge(edge).probability for edge in edges
        ]
    # The probabilities are also in the tables of edges and effects.
    for cells in page.rows("edges"):
        edge = cells[0][1].replace("→", "->").replace("↔", "<->")
        assert float(cells[9][0]) == average.edge(edge).probability
    for cells in page.rows("effects"):
        effect = average.effect(of=cells[0][1], on=cells[1][1])
        assert float(cells[11][0]) == effect.probability


def test_bootstrap_and_stability(result):
    quick = {"restarts": 1, "rounds": 0}
    again = bf.bootstrap(DATA, n_resamples=40, strategy=bf.search.Strategy(**quick), rng=0)
    pairs = bf.stability_selection(
        DATA, n_halves=10, max_false=2, strategy=bf.search.Strategy(**quick), rng=0
    )
    page = Page(bf.report.render(result, bootstrap=again, stability=pairs))
    for cells in page.rows("resampled-effects"):
        effect = again.effect(of=cells[0][1], on=cells[1][1])
        assert [float(c[0]) for c in cells[2:]] == [effect.frequency, effect.lower, effect.upper]
    assert [(cells[0][1], cells[1][1]) for cells in page.rows("stable-pairs")] == list(pairs.pairs)
    assert len(pairs.pairs) > 3
    other = bf.bootstrap(DATA.X[:, :3], n_resamples=40, strategy=bf.search.Strategy(**quick), rng=0)
    with pytest.raises(bf.BowfreeError, match="bootstrap is about other variables"):
        bf.report.render(result, bootstrap=other)


# --- sections ---


def test_next_experiment():
    fit = bf.fit(bf.parse("x -> y -> z"), cov=np.eye(3) + 0.5, n=50)
    html = bf.report.render(fit)
    assert "experiment on <strong>y</strong>" in html
    assert "3.2 of 4 edge ends" in html
    # All ends are the same, or the members have different models: no section.
    assert "Next experiment" not in bf.report.render(bf.fit(bf.parse("x, y"), cov=np.eye(2), n=50))
    close = bf.empirical_class(fit)
    assert "Next experiment" not in bf.report.render(fit, equivalence_class=close)


def test_bars_show_edges_that_differ():
    single = bf.report.render(bf.fit(bf.parse("a <-> b <-> c <-> d <-> a"), cov=np.eye(4), n=50))
    assert 'class="bars"' not in single
    assert "no other graph is equivalent" in single.lower()
    half = bf.report.render(bf.fit(bf.parse("a -> c <- b, c -> d"), cov=np.eye(4), n=50))
    assert half.count('class="pair"') == 2
    assert "1 of 3 edges" in half


def test_dense_graphs_show_their_strongest_edges_first():
    names = [f"v{i}" for i in range(12)]
    graph = bf.MixedGraph(names, [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    sem = bf.random_sem(graph, rng=1).standardized()
    fit = bf.fit(graph, cov=sem.covariance(), n=300)
    least = float(re.search(r'id="strength"[^>]* value="([0-9.]+)"', bf.report.render(fit))[1])
    strengths = [abs(e.std_all) for e in fit.estimates() if e.mark != "variance"]
    assert 30 <= sum(s >= least for s in strengths) <= 40


def conditions_of(rng):
    x, y, z = rng.normal(size=(3, 200))
    observed = {"x": x, "y": 0.8 * x + y, "z": 0.7 * (0.8 * x + y) + z}
    x, y, z = rng.normal(size=(3, 150))
    return [
        bf.Condition(observed, name="observed"),
        bf.Condition({"x": x, "y": y + 5, "z": 0.7 * y + z}, targets=["y"], name="y <set>"),
    ]


def test_conditions_with_targets():
    data = conditions_of(np.random.default_rng(2))
    result = bf.greedy_search(data, rng=1)
    html = bf.report.render(result, data=data)
    page = Page(html)
    fit = bf.fit(result.graph, data)
    rows = [[text for _, text in row] for row in page.rows("conditions")]
    assert [row[:3] for row in rows] == [["observed", "200", ""], ["y <set>", "150", "y"]]
    assert rows[0][3] == f"{fit.conditions[0].chi2:.2f}"
    Sigma = fit.conditions[1].Sigma
    sd = np.sqrt(np.diag(Sigma))
    R = np.corrcoef(bf.moments(data).conditions[1].deviations.T) - Sigma / np.outer(sd, sd)
    assert float(rows[1][6]) == pytest.approx(R.flat[np.abs(R).argmax()], abs=6e-4)
    assert "residuals" not in page.ids  # there is no single covariance matrix
    assert str(fit.sharing_test()) in " ".join(page.text)
    bounds = bf.effect_bounds(bf.equivalence_class(result), data)
    assert f"{bounds.effect(of='y', on='z').lower:.3f}" in html
    batches = [bf.Condition(c.data, name=c.name) for c in data]
    page = Page(bf.report.render(bf.fit(bf.parse("x -> y -> z"), batches)))
    assert {"conditions", "residuals"} <= set(page.ids)


def rgb(color):
    return np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def contrast(one, other):
    def luminance(color):
        light = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        return light @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_numbers_on_color_can_be_read():
    folder = resources.files("bowfree.visualization.report")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"--(\w+): light-dark\(([^)]*)\)", style))
    for theme in (0, 1):
        ink, *mapped = (
            rgb(colors[name].split(", ")[theme]) for name in ("ink", "positive", "negative")
        )
        assert all(contrast(color, ink) >= 4.5 for color in mapped)  # required by WCAG


def test_score_charts():
    steps = steps_chart([[-5.0], [-100.0, -4.0, -3.0]])
    assert [kind for kind, _ in steps.curves] == ["run", "best"]
    chart = time_chart([-3.0, -2.0], [0.0, 0.0])  # a clock too coarse for the runs
    assert len(chart.dots) == 2
    assert np.isfinite(chart.dots).all()
    assert [text for _, text in steps_chart([[-2.0, -1.0]]).x_ticks] == ["0", "1"]
    # Ends that differ by rounding are one score, and ticks have few digits.
    equal = [-8.849174088000001, -8.849174088]
    for chart in (time_chart(equal, [1.0, 1.0]), steps_chart([[equal[0]], [equal[1]]])):
        assert max(len(text) for _, text in chart.y_ticks) <= 6
