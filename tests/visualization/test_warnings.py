"""Warnings of the report and the command line, and the section on data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree.data.diagnostics import diagnose, diagnose_if_rows
from bowfree.visualization.report.tables import missing_map
from bowfree.visualization.warnings import result_warnings
from report_page import Page

GRAPH = bf.parse("a -> b -> c")
NORMAL = bf.random_sem(GRAPH, rng=1).sample(400, rng=1, as_frame="pandas")


def warnings_of(fit, **more):
    summary = bf.equivalence_class(fit.graph).summary()
    return " ".join(result_warnings(fit, fit.estimates(), summary, **more))


# --- search and fit ---


def test_warnings_after_a_search():
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    result = bf.greedy_search(cov=S, n=400, rng=0)
    fit = result.fit()
    assert "chosen on the same data" in warnings_of(fit, search=result)
    assert "independent runs" not in warnings_of(fit, search=result)
    assert "chosen on the same data" not in warnings_of(fit)
    lower = [replace(run, score=run.score - 1.0) for run in result.runs[1:]]
    few = replace(result, runs=(result.runs[0], *lower), complete=False, proved=False)
    assert "1 of the 24 independent runs" in warnings_of(fit, search=few)
    assert "ended early" in warnings_of(fit, search=few)
    finished = replace(few, complete=True)
    assert "in simulations, 5 %" in warnings_of(fit, search=finished)


@pytest.mark.parametrize(
    ("n", "expected"), [(20_000, "residual correlations"), (10**7, "negligible")]
)
def test_rejection_with_many_observations(n, expected):
    misfit = 0.1 if n < 10**6 else 0.003
    S = np.array([[1.0, 0.5, 0.25 + misfit], [0.5, 1.0, 0.5], [0.25 + misfit, 0.5, 1.0]])
    fit = bf.fit(bf.parse("x -> y -> z"), cov=S, n=n)
    found = warnings_of(fit)
    assert "rejects the graph (p < 0.001)" in found
    assert expected in found


def test_the_scaled_test_decides():
    fit = bf.fit(bf.parse("a, b, c"), NORMAL, test="satorra-bentler")
    assert fit.p_value_scaled < 0.01
    assert "rejects the graph (p < 0.001)" in warnings_of(fit)


def test_chains_that_have_not_mixed(result):
    rough = bf.averaged_effects(result, rng=0, steps=400, max_steps=400)
    assert not rough.mixed
    assert "have not mixed" in " ".join(Page(bf.report.render(result, average=rough)).text)


# --- data ---


def with_missing(data, share=0.1):
    return data.mask(np.random.default_rng(1).random(data.shape) < share)


@pytest.mark.parametrize("missing", [None, "fiml"])
def test_robust_numbers_are_shown_if_normality_is_rejected(missing):
    data = np.exp(NORMAL) if missing is None else with_missing(np.exp(NORMAL))
    fit = bf.fit(GRAPH, data, missing=missing)
    robust = bf.fit(GRAPH, data, missing=missing, se="robust-huber-white", test="yuan-bentler")
    text = warnings_of(fit, checks=diagnose(data, fit.moments))
    assert f"{robust.chi2_scaled:.2f} in place of {fit.chi2:.2f}" in text
    assert f"in place of {fit.chi2:.2f}" in bf.report.render(fit, data=data)
    assert "in place of" not in warnings_of(robust, checks=diagnose(data, robust.moments))


def test_normal_data_give_no_robust_numbers():
    fit = bf.fit(GRAPH, NORMAL)
    assert "in place of" not in warnings_of(fit, checks=diagnose(NORMAL, fit.moments))


def test_missing_values_and_notes():
    incomplete = NORMAL.assign(b=NORMAL["b"].where(NORMAL["a"] < 0))
    text = warnings_of(bf.fit(GRAPH, incomplete, missing="fiml"))
    assert "of the values are missing, in 2 patterns; Little's test" in text
    assert "use all observed values" in text
    codes = pd.DataFrame(np.digitize(NORMAL / NORMAL.std(), [-1, 1]), columns=NORMAL.columns)
    assert "rdered categories: 'a'" in warnings_of(bf.fit(GRAPH, codes, ordinal=["a"]))


@pytest.mark.parametrize("missing", ["fiml", "two-stage"])
def test_normal_rows_with_missing_values_give_no_warning(missing):
    incomplete = with_missing(NORMAL, 0.25)
    fit = bf.fit(GRAPH, incomplete, missing=missing)
    checks = diagnose(incomplete, fit.moments)
    assert checks.warnings() == []
    np.testing.assert_allclose([v.mean for v in checks.variables], fit.moments.mean)
    np.testing.assert_allclose([v.sd**2 for v in checks.variables], np.diag(fit.S))
    assert "were not checked" not in bf.report.render(fit, data=incomplete)


def test_weighted_rows_with_missing_values_are_not_checked():
    incomplete = with_missing(NORMAL)
    fit = bf.fit(GRAPH, incomplete, missing="fiml", weights=np.linspace(0.5, 1.5, len(incomplete)))
    assert "were not checked" in bf.report.render(fit, data=incomplete)


def test_outliers_are_found_by_their_observed_values():
    incomplete = with_missing(NORMAL)
    incomplete.loc[3] = np.nan
    incomplete.loc[5] = [9.0, np.nan, -9.0]
    fit = bf.fit(GRAPH, incomplete, missing="fiml")
    assert fit.n == np.isfinite(incomplete).any(axis=1).sum() < 400
    checks = diagnose(incomplete, fit.moments)
    assert (checks.outliers[0].row, checks.n_outliers) == (6, 1)


def test_rows_dropped_listwise_are_not_checked():
    """Rows are numbered as in the original data."""
    incomplete = NORMAL.copy()
    incomplete.loc[0, "a"] = np.nan
    incomplete.loc[5] = [30.0, -30.0, 30.0]
    fit = bf.fit(GRAPH, incomplete, missing="listwise")
    assert diagnose(incomplete, fit.moments).outliers[0].row == 6


def test_outliers_in_a_holdout_sample_are_counted():
    # The fit uses half of the rows, and which ones is not known.
    data = pd.concat([NORMAL, NORMAL.iloc[:2] + 40], ignore_index=True)
    result = bf.greedy_search(data, holdout=0.5, restarts=2, rounds=0, rng=4)
    checks = diagnose_if_rows(result.fit().moments, data, result.holdout)
    assert checks.n_outliers in (1, 2)
    assert checks.outliers == ()
    assert f"{checks.n_outliers} row" in bf.report.render(result, data=data)
    assert diagnose_if_rows(result.fit().moments, None, result.holdout) is None


def test_map_of_missing_values():
    a = NORMAL["a"]
    incomplete = NORMAL.assign(b=NORMAL["b"].where(a < 0), c=NORMAL["c"].where(a < a.quantile(0.9)))
    fit = bf.fit(GRAPH, incomplete, missing="fiml")
    missing = fit.moments.missing_values
    found = missing_map(missing)
    assert found["names"] == ["a", "b", "c"]
    assert [cells for _, _, cells in found["patterns"]] == sorted(
        missing.patterns.tolist(), key=lambda p: -missing.rows[missing.patterns.tolist().index(p)]
    )
    assert sum(float(rows) for rows, _, _ in found["patterns"]) == 400
    page = bf.report.render(fit)
    table = page[page.index('<table class="map missing">') :].partition("</table>")[0]
    assert (table.count('class="absent"'), table.count('class="present"')) == (3, 6)
    assert f"chi-square {missing.statistic:.2f} on {missing.df} df, p &lt; 0.001" in page
    assert "were not checked" in page  # the rows were not passed
    assert "map missing" not in bf.report.render(bf.fit(GRAPH, NORMAL))


def test_rare_patterns_are_counted():
    X = np.random.default_rng(1).normal(size=(500, 8))
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    found = missing_map(bf.moments(X, missing="fiml").missing_values)
    assert len(found["patterns"]) == 25
    assert (
        f"{500 - sum(float(rows) for rows, _, _ in found['patterns']):g} rows" in found["omitted"]
    )
