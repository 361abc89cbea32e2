"""What the report says of data that are not complete, not normal, or not numbers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bowfree as bf
from bowfree.equivalence.classes import equivalence_class
from bowfree.visualization.report.data_checks import check_data, checks_if_rows
from bowfree.visualization.report.missing_map import gap_map
from bowfree.visualization.report.warnings import cautions

GRAPH = bf.parse("a -> b -> c")
NORMAL = bf.random_sem(GRAPH, rng=1).sample(400, rng=1, as_frame="pandas")


def said(fit, checks=None):
    summary = equivalence_class(fit.graph).summary()
    return " ".join(cautions(fit, fit.estimates(), summary, checks=checks))


def test_robust_numbers_are_offered_where_normality_is_rejected():
    skew = np.exp(NORMAL)
    fit = bf.fit(GRAPH, skew)
    text = said(fit, check_data(fit, skew))
    robust = bf.fit(GRAPH, skew, se="robust-huber-white", test="yuan-bentler")
    assert "Without the assumption of normality" in text
    assert f"chi-square {robust.chi2_scaled:.2f} in place of {fit.chi2:.2f}" in text
    assert "Without the assumption" not in said(robust, check_data(robust, skew))


def test_normal_data_need_no_offer():
    fit = bf.fit(GRAPH, NORMAL)
    assert "Without the assumption" not in said(fit, check_data(fit, NORMAL))


def test_gaps_and_notes():
    gappy = NORMAL.assign(b=NORMAL["b"].where(NORMAL["a"] < 0))
    text = said(bf.fit(GRAPH, gappy, missing="fiml"))
    assert "of the cells are missing, in 2 patterns; Little's test" in text
    assert "The fit and the bounds of effects are those of all observed cells." in text
    codes = pd.DataFrame(np.digitize(NORMAL / NORMAL.std(), [-1, 1]), columns=NORMAL.columns)
    text = said(bf.fit(GRAPH, codes, ordinal=["a"]))
    assert "Ordered categories: 'a'; their variances are set to one." in text


@pytest.mark.parametrize("missing", ["fiml", "two-stage"])
def test_a_report_on_rows_with_gaps(missing):
    gappy = NORMAL.mask(np.random.default_rng(1).random(NORMAL.shape) < 0.1)
    fit = bf.fit(GRAPH, gappy, missing=missing)
    page = bf.report.render(fit, data=gappy)
    assert "of the cells are missing" in page


def with_gaps(data, share=0.1):
    return data.mask(np.random.default_rng(1).random(data.shape) < share)


def test_robust_numbers_are_offered_where_cells_are_missing_too():
    gappy = with_gaps(np.exp(NORMAL))
    fit = bf.fit(GRAPH, gappy, missing="fiml")
    robust = bf.fit(GRAPH, gappy, missing="fiml", se="robust-huber-white", test="yuan-bentler")
    text = said(fit, check_data(fit, gappy))
    assert "The variables are not jointly normal: Mardia's skewness" in text
    assert f"chi-square {robust.chi2_scaled:.2f} in place of {fit.chi2:.2f}" in text
    assert f"in place of {fit.chi2:.2f}" in bf.report.render(fit, data=gappy)
    # Two stages are robust unasked.
    two = bf.fit(GRAPH, gappy, missing="two-stage")
    assert "Without the assumption" not in said(two, check_data(two, gappy))


@pytest.mark.parametrize("missing", ["fiml", "two-stage"])
def test_normal_rows_with_gaps_raise_no_alarm(missing):
    gappy = with_gaps(NORMAL, 0.25)
    fit = bf.fit(GRAPH, gappy, missing=missing)
    checks = check_data(fit, gappy)
    assert checks.warnings() == []
    assert_allclose([v.mean for v in checks.variables], fit.moments.mean)
    assert_allclose([v.sd**2 for v in checks.variables], np.diag(fit.S))
    assert "have not been looked at" not in bf.report.render(fit, data=gappy)


def test_a_row_far_out_is_found_by_its_observed_cells():
    gappy = with_gaps(NORMAL)
    gappy.loc[3] = np.nan
    gappy.loc[5] = [9.0, np.nan, -9.0]
    fit = bf.fit(GRAPH, gappy, missing="fiml")
    assert fit.n == np.isfinite(gappy).any(axis=1).sum() < 400
    checks = check_data(fit, gappy)
    assert checks.outliers[0].row == 6
    assert checks.n_outliers == 1


def test_other_gaps_than_those_of_the_fit_are_refused():
    gappy = with_gaps(NORMAL)
    fit = bf.fit(GRAPH, gappy, missing="fiml")
    with pytest.raises(bf.errors.DataError, match="not the data of the fit"):
        check_data(fit, gappy.iloc[::-1].reset_index(drop=True))
    with pytest.raises(bf.errors.DataError, match="399 rows against n = 399, variance of 'a'"):
        check_data(fit, 2 * gappy)


def test_weighted_rows_with_gaps_are_not_checked():
    gappy = with_gaps(NORMAL)
    fit = bf.fit(GRAPH, gappy, missing="fiml", weights=np.linspace(0.5, 1.5, len(gappy)))
    assert "normality and outliers have not been looked at" in bf.report.render(fit, data=gappy)


def test_a_scaled_test_is_the_one_that_rejects():
    wrong = bf.parse("a, b, c")
    fit = bf.fit(wrong, NORMAL, test="satorra-bentler")
    assert fit.p_value_scaled < 0.01
    assert "The chi-square test rejects the graph (p < 0.001)" in said(fit)


def test_a_picture_of_the_patterns_and_littles_test():
    a = NORMAL["a"]
    gappy = NORMAL.assign(b=NORMAL["b"].where(a < 0), c=NORMAL["c"].where(a < a.quantile(0.9)))
    fit = bf.fit(GRAPH, gappy, missing="fiml")
    gaps = fit.moments.gaps
    drawn = gap_map(gaps)
    assert drawn.names == ["a", "b", "c"]
    assert [cells for _, _, cells in drawn.patterns] == sorted(
        gaps.patterns.tolist(), key=lambda p: -gaps.rows[gaps.patterns.tolist().index(p)]
    )
    assert sum(float(rows) for rows, _, _ in drawn.patterns) == 400
    page = bf.report.render(fit)
    table = page[page.index('<table class="map gaps">') :].partition("</table>")[0]
    assert table.count('class="gap"') == 3
    assert table.count('class="there"') == 6
    assert f"chi-square {gaps.statistic:.2f} on {gaps.df} df, p &lt; 0.001" in page
    assert "have not been looked at" in page  # by a report that has not been given the rows
    assert "map gaps" not in bf.report.render(bf.fit(GRAPH, NORMAL))


def test_rare_patterns_are_counted_and_not_drawn():
    X = np.random.default_rng(1).normal(size=(500, 8))
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    drawn = gap_map(bf.moments(X, missing="fiml").gaps)
    assert len(drawn.patterns) == 25
    shown = sum(float(rows) for rows, _, _ in drawn.patterns)
    assert drawn.left_out.endswith(f"more patterns, of {500 - shown:g} rows")


def test_rows_left_out_are_left_out_of_the_checks():
    """Rows are numbered as in the data that were given."""
    gappy = NORMAL.copy()
    gappy.loc[0, "a"] = np.nan
    gappy.loc[5] = [30.0, -30.0, 30.0]
    fit = bf.fit(GRAPH, gappy, missing="listwise")
    checks = check_data(fit, gappy)
    assert checks.outliers[0].row == 6
    assert "1 of 400 rows with missing values were dropped" in bf.report.render(fit, data=gappy)


def test_rows_put_aside_are_looked_at_and_outliers_among_them_counted():
    # Two outliers; the fit goes by half of the rows, and which ones nobody can say.
    data = pd.concat([NORMAL, NORMAL.iloc[:2] + 40], ignore_index=True)
    result = bf.greedy_search(data, holdout=0.5, restarts=2, rounds=0, rng=4)
    checks = checks_if_rows(result.fit(), data, result.holdout)
    assert checks.n_outliers in (1, 2)
    assert checks.outliers == ()
    assert any("far from the rest (Mahalanobis distance). Check" in s for s in checks.warnings())
    assert f"{checks.n_outliers} row" in bf.report.render(result, data=data)
    assert checks_if_rows(result.fit(), None, result.holdout) is None
