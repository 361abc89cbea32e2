"""What the report says of data that are not complete, not normal, or not numbers."""

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree.equivalence.classes import equivalence_class
from bowfree.report.cautions import cautions
from bowfree.report.data_checks import check_data

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
    codes = pd.DataFrame(np.digitize(NORMAL / NORMAL.std(), [-1, 1]), columns=NORMAL.columns)
    text = said(bf.fit(GRAPH, codes, ordinal=["a"]))
    assert "Ordered categories: 'a'; their variances are set to one." in text


@pytest.mark.parametrize("missing", ["fiml", "two-stage"])
def test_a_report_on_rows_with_gaps(missing):
    gappy = NORMAL.mask(np.random.default_rng(1).random(NORMAL.shape) < 0.1)
    fit = bf.fit(GRAPH, gappy, missing=missing)
    page = bf.report.render(fit, data=gappy)
    assert "of the cells are missing" in page


def test_a_scaled_test_is_the_one_that_rejects():
    wrong = bf.parse("a, b, c")
    fit = bf.fit(wrong, NORMAL, test="satorra-bentler")
    assert fit.p_value_scaled < 0.01
    assert "The chi-square test rejects the graph (p < 0.001)" in said(fit)
