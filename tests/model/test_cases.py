"""Predictions and residuals of single cases: against regressions, and against the definitions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import baps

# x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
MODEL = bf.LinearSEM(
    GRAPH, [[0, 0, 0], [0.8, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
)
DATA = MODEL.sample(300, rng=1, as_frame="pandas").add([10.0, -5.0, 3.0])


def test_smallest_example():
    """One arrow: the prediction is the regression line, and the residual what is left of it."""
    fit = bf.fit(bf.parse("x -> y"), DATA[["x", "y"]])
    slope, intercept = np.polyfit(DATA["x"], DATA["y"], 1)
    predicted = fit.predict({"x": [9.0, 12.0]})
    np.testing.assert_allclose(predicted["y"], [intercept + slope * 9, intercept + slope * 12])
    left = fit.residuals(DATA)
    np.testing.assert_allclose(left["y"], DATA["y"] - intercept - slope * DATA["x"], atol=1e-12)
    np.testing.assert_allclose(left["x"], DATA["x"] - DATA["x"].mean(), atol=1e-12)
    assert predicted.sd[0] == pytest.approx(left["y"].std())


@given(baps(max_nodes=5).filter(lambda g: len(g) > 1), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_definitions(graph, seed):
    X = bf.random_sem(graph, rng=seed).sample(50, rng=seed)
    fit = bf.fit(graph, X)
    deviations = X - X.mean(axis=0)
    found = fit.residuals(X)
    np.testing.assert_allclose(
        found.values, [(np.eye(len(graph)) - fit.B) @ row for row in deviations], atol=1e-9
    )
    distance = [row @ np.linalg.inv(fit.Sigma) @ row for row in deviations]
    np.testing.assert_allclose(found.distance, distance, rtol=1e-6)
    # At the maximum of the likelihood tr(Sigma^-1 S) = d, so distances are d on average.
    assert found.distance.mean() == pytest.approx(len(graph), rel=1e-5)
    first = graph.nodes[0]
    slopes = np.linalg.solve(fit.Sigma[1:, 1:], fit.Sigma[1:, 0])
    predicted = fit.predict(X[:, 1:], of=first)
    np.testing.assert_allclose(predicted[first], X[:, 0].mean() + deviations[:, 1:] @ slopes)


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, lambda c: pl.DataFrame(c).to_arrow()]
)
def test_tables_of_any_kind(make):
    fit = bf.fit(GRAPH, DATA)
    table = make({"note": [1.0, 2.0], "z": [3.0, 4.0], "x": [10.0, 11.0]})
    predicted = fit.predict(table)
    assert (predicted.names, predicted.given) == (("y",), ("x", "z"))
    np.testing.assert_allclose(
        predicted["y"], fit.predict([[10.0, 3.0], [11.0, 4.0]], of=["y"])["y"]
    )
    assert predicted.to_frame("polars")["y"].to_list() == predicted["y"].tolist()


def test_outlier_is_shown_first():
    data = DATA.copy()
    data.loc[17, "y"] += 20.0
    left = bf.fit(GRAPH, data).residuals(data)
    assert left.distance.argmax() == 17
    assert left.p_value[17] < 1e-10
    assert "17" in str(left).splitlines()[2]
    assert "y (+" in str(left).splitlines()[2]
    assert list(left.to_frame()) == ["x", "y", "z", "mahalanobis", "p_value"]
    odd = bf.fit(bf.parse("p_value -> y"), data.rename(columns={"x": "p_value"}))
    assert list(odd.residuals(data.rename(columns={"x": "p_value"})).to_frame())[-1] == "_p_value"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda fit: fit.predict([[1.0, 2.0]]), "an array has no column names"),
        (lambda fit: fit.predict(DATA), "data contain all variables"),
        (lambda fit: fit.predict({"note": [1.0]}), "none of the variables to predict from"),
        (lambda fit: fit.predict(DATA, of="q"), "unknown node 'q'"),
        (lambda fit: fit.predict(DATA, of="y")["z"], "unknown node 'z'"),
        (lambda fit: fit.residuals(DATA[["x"]]), "no column for the graph's node 'y'"),
    ],
)
def test_questions_that_cannot_be_answered(call, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        call(bf.fit(GRAPH, DATA))


def test_a_covariance_matrix_has_no_means():
    fit = bf.fit(GRAPH, cov=DATA.cov(), n=300)
    for call in (fit.residuals, fit.predict):
        with pytest.raises(bf.errors.DataError, match="a covariance matrix has none"):
            call(DATA)
    with_mean = bf.Moments(
        ("x", "y", "z"), DATA.cov(ddof=0).to_numpy(), 300, DATA.mean().to_numpy()
    )
    np.testing.assert_allclose(
        bf.fit(GRAPH, with_mean).residuals(DATA).values, bf.fit(GRAPH, DATA).residuals(DATA).values
    )


@pytest.mark.parametrize("missing", ["fiml", "two-stage"])
def test_a_fit_to_incomplete_rows_predicts_by_its_own_means(missing):
    """Cells of y are missing where x is large, so that the mean of those that are there is off."""
    incomplete = DATA.assign(y=DATA["y"].where(DATA["x"] < 10.5))
    saturated = bf.fit(bf.parse("x -> y -> z <- x"), incomplete, missing=missing)
    moments = bf.moments(incomplete, missing=missing)
    np.testing.assert_allclose(saturated.mean, moments.mean, rtol=1e-6)
    slopes = np.linalg.solve(moments.S[np.ix_([0, 2], [0, 2])], moments.S[[0, 2], 1])
    line = moments.mean[1] + (DATA[["x", "z"]] - moments.mean[[0, 2]]) @ slopes
    np.testing.assert_allclose(saturated.predict(DATA, of="y")["y"], line, rtol=1e-5)
    left = saturated.residuals(incomplete)
    assert np.isnan(left["y"][incomplete["y"].isna()]).all()
    np.testing.assert_allclose(left["x"], DATA["x"] - moments.mean[0], atol=1e-6)
