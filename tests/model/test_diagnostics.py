"""Modification indices against lavaan and refits; predictions and residuals against definitions."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.model import diagnostics
from graph_strategies import baps
from twins import derivatives, implied_covariance, parameter_matrices

# x -> y -> z: x -> z and x <-> z could be added
#  and nothing else: y -> x, z -> y, z -> x are cycles, x <-> y and y <-> z bows
CHAIN = bf.parse("x -> y -> z")
S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]


def test_smallest_example():
    found = bf.fit(CHAIN, cov=S, n=200).modification_indices()
    assert [(e.a, e.mark, e.b) for e in found] == [("x", "->", "z"), ("x", "<->", "z")]
    assert set(found.cycles) == {("y", "->", "x"), ("z", "->", "y"), ("z", "->", "x")}
    assert set(found.bows) == {("x", "<->", "y"), ("y", "<->", "z")}
    # y is held fixed in a regression on x and y, whose slope of x follows by hand
    assert found.edge("x -> z").expected_change == pytest.approx((0.4 - 0.6 * 0.5) / 0.75)


def test_words_for_edges_that_are_not_tested():
    found = bf.fit(CHAIN, cov=S, n=200).modification_indices()
    assert found.edge("z <-> x") == found.edge("x", "<->", "z")
    for edge, problem in [
        ("x -> y", "is in the graph"),
        ("y <-> x", "would make a bow"),
        ("z -> x", "would make a cycle"),
        ("x -> q", "unknown node 'q'"),
    ]:
        with pytest.raises(bf.errors.GraphError, match=problem):
            found.edge(edge)


def test_many_candidates_are_the_same_in_parts(monkeypatch):
    graph = bf.parse("a -> b -> c -> d, a <-> d, e, f")
    data = bf.random_sem(graph, rng=1).sample(100, rng=2)
    at_once = bf.fit(graph, data).modification_indices()
    monkeypatch.setattr(diagnostics, "_BATCH", 3)
    assert len(at_once) > 2 * 3
    for one, other in zip(at_once, bf.fit(graph, data).modification_indices(), strict=True):
        assert (one.a, one.mark, one.b) == (other.a, other.mark, other.b)
        assert one.index == pytest.approx(other.index, rel=1e-12)


def test_close_to_the_refit_when_little_changes():
    """For a small misfit the index is the fall of chi-square, and the change the new estimate."""
    graph = bf.parse("a -> b -> c <-> d, a -> d")
    data = bf.random_sem(graph, rng=4).sample(20_000, rng=5, as_frame="pandas")
    fit = bf.fit(graph, data)
    for e in fit.modification_indices():
        refit = bf.fit(graph.add(f"{e.a} {e.mark} {e.b}"), data)
        assert fit.chi2 - refit.chi2 == pytest.approx(e.index, rel=0.05, abs=0.02)
        assert refit.edge(e.a, e.mark, e.b).estimate == pytest.approx(
            e.expected_change, rel=0.05, abs=0.01
        )


def test_population_has_changes_but_no_test():
    found = bf.fit(CHAIN, cov=S, n=math.inf).modification_indices()
    assert all(math.isnan(e.index) and math.isnan(e.p_value) for e in found)
    assert found.edge("x -> z").expected_change == pytest.approx(0.4 / 3)


def test_full_information_has_the_information_of_its_patterns():
    # A twin: numerical derivatives of the likelihood of the observed values, and of its expectation.
    truth = bf.random_sem(bf.parse("x -> y -> z <-> w"), rng=3)
    X = truth.sample(300, rng=4)
    X[::3, 1], X[::4, 3], X[::7, 0] = np.nan, np.nan, np.nan
    graph = bf.parse("x -> y -> z, w")
    X = X[:, [truth.graph.nodes.index(name) for name in graph.nodes]]
    fit = bf.fit(graph, dict(zip(graph.nodes, X.T, strict=True)), missing="fiml")
    free = fit._parameters
    for row in fit.modification_indices():
        i, j = graph.nodes.index(row.a), graph.nodes.index(row.b)
        parameters = [*free, ("B", j, i) if row.mark == "->" else ("Omega", i, j)]

        at = np.append(fit._values(), 0.0)
        slopes = derivatives(
            lambda t, p=parameters: implied_covariance(*parameter_matrices(p, t)), at, 1e-5
        )
        gradient, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
        for x in X:
            seen = ~np.isnan(x)
            block = np.ix_(seen, seen)
            W, z = np.linalg.inv(fit.Sigma[block]), (x - fit.mean)[seen]
            D = [W @ slope[block] for slope in slopes]
            gradient += [(z @ d @ W @ z - np.trace(d)) / 2 for d in D]
            information += [[np.trace(d @ e) / 2 for e in D] for d in D]
        net = 1 / np.linalg.inv(information)[-1, -1]
        assert row.index == pytest.approx(gradient[-1] ** 2 / net, rel=1e-4)
        assert row.expected_change == pytest.approx(gradient[-1] / net, rel=1e-4)


# x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
MODEL = bf.LinearSEM(
    GRAPH, [[0, 0, 0], [0.8, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
)
DATA = MODEL.sample(300, rng=1, as_frame="pandas").add([10.0, -5.0, 3.0])


def test_one_arrow_is_a_regression():
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
def test_predictions_and_residuals_by_definition(graph, seed):
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
