"""The numbers on the page are those of the fit, the class and the search."""

import json

import numpy as np
import pytest

import bowfree as bf
from bowfree.results.display import significant
from report_page import DATA, GRAPH, Page


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
        assert cells[8][1] == (mark if len(having) == len(members) else "o→")


def test_a_mean_that_is_rounding_is_shown_as_zero():
    rows = DATA.X - DATA.X.mean(axis=0)
    rows[:, 0] += 0.5
    data = dict(zip(DATA.names, rows.T, strict=True))
    page = Page(bf.report.render(bf.fit(GRAPH, data), data=data))
    means = [cells[1][1] for cells in page.rows("variables")]
    assert means == ["0.5000", *["0"] * (len(means) - 1)]


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


def test_small_units_have_digits_and_p_values_one_sign():
    graph = bf.parse("x -> y -> z")
    scale = np.diag([1e-5, 1.0, 1e4])
    cov = scale @ np.array([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]]) @ scale
    html = bf.report.render(bf.fit(graph, cov=cov, n=500))
    assert "p = <" not in html
    assert "p = 0.000" not in html
    assert "<dt>P-value (chi-square)</dt><dd>&lt; 0.001</dd>" in html
    assert "on 1 df, p &lt; 0.001" in html
    assert ">9.990e-06<" in html  # the standard deviation of x, divisor n
    assert "A district is" in html


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


def test_knowledge_narrows_the_class():
    known = bf.Knowledge(unconfounded=["sun"])
    result = bf.greedy_search(DATA, restarts=4, rounds=0, knowledge=known, rng=1)
    members = result.equivalence_class()
    page = Page(bf.report.render(result))
    saved = json.loads(page.scripts[1])
    assert saved["class"]["n_members"] == len(members)
    assert len(members) < len(bf.equivalence_class(result.graph))


def test_a_report_on_an_exhaustive_search_keeps_to_its_space(tmp_path):
    S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    baps, dags = (
        bf.exhaustive_search(cov=S, n=400, graph_class=kind).report(tmp_path / f"{kind}.html")
        for kind in ("bap", "dag")
    )
    assert "5 graphs" in baps.read_text(encoding="utf-8")
    assert "3 DAGs" in dags.read_text(encoding="utf-8")


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
    page = Page(bf.report.render(result, bootstrap=again, stability=pairs))
    for cells in page.rows("resampled-effects"):
        effect = again.effect(of=cells[0][1], on=cells[1][1])
        assert [float(c[0]) for c in cells[2:]] == [effect.frequency, *effect.interval]
    assert [(cells[0][1], cells[1][1]) for cells in page.rows("stable-pairs")] == list(pairs.pairs)
    assert len(pairs.pairs) > 3
    other = bf.bootstrap(DATA.X[:, :3], n_resamples=40, search=quick, rng=0)
    with pytest.raises(bf.BowfreeError, match="bootstrap is about other variables"):
        bf.report.render(result, bootstrap=other)
