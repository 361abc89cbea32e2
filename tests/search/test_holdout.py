"""Rows put aside before a search, and what may be said of the graph by them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import bowfree as bf
from bowfree.data.conditions import split_rows

QUICK = {"restarts": 2, "rounds": 0}
NAMES = ("x1", "x2", "x3", "x4")


def draw(seed, n=300):
    rng = np.random.default_rng(seed)
    truth = bf.random_bap(list(NAMES), max_in_degree=2, rng=rng)
    sem = bf.random_sem(truth, rng=rng)
    return sem, sem.sample(n, rng=rng)


@pytest.mark.parametrize(
    "table",
    [
        lambda X: X,
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X)) * 3),
        lambda X: pl.DataFrame(X, schema=list(NAMES)),
        lambda X: dict(zip(NAMES, X.T, strict=True)),
    ],
)
def test_every_row_is_on_one_side(table):
    X = np.arange(40.0).reshape(10, 4)
    kept, aside = split_rows(table(X), 0.3, np.random.default_rng(1))

    assert (len(kept.X), len(aside.X)) == (7, 3)
    assert {*kept["x1"], *aside["x1"]} == {*X[:, 0]}


def test_search_sees_one_part_and_the_fit_the_other():
    _, X = draw(0)
    result = bf.greedy_search(X, holdout=0.4, rng=1, **QUICK)
    assert (result.moments.n, result.holdout.n) == (180, 120)
    assert result.settings["holdout"] == 0.4
    fit = result.fit()
    np.testing.assert_array_equal(fit.S, result.holdout.S)
    again = bf.greedy_search(X, holdout=0.4, rng=1, n_jobs=2, **QUICK)
    np.testing.assert_array_equal(again.moments.S, result.moments.S)
    assert again.graph == result.graph
    other = bf.greedy_search(X, holdout=0.4, rng=2, **QUICK)
    assert not np.array_equal(other.moments.S, result.moments.S)


def test_fit_to_the_rows_of_the_search_warns():
    _, X = draw(0)
    result = bf.greedy_search(X, rng=1, **QUICK)
    assert result.holdout is None
    for fit in (result.fit, lambda: bf.fit(result), lambda: bf.fit(result, X)):
        with pytest.warns(bf.errors.LearnedGraphWarning, match="learned from the same rows"):
            fit()
    with pytest.warns(bf.errors.LearnedGraphWarning):
        bf.exhaustive_search(X).fit()
    _, fresh = draw(0, 500)
    assert result.fit(holdout=fresh).n == 500
    assert bf.fit(result.graph, X).n == 300  # a graph is a graph, wherever it comes from


def test_what_is_said_by_rows_put_aside_is_true():
    # Of graphs that contain the truth: p-values are uniform, intervals cover what they should, by
    # the rows put aside and not by those of the search.
    p_values, covered, total, seen = [], 0, 0, 0
    for seed in range(220):
        sem, X = draw(seed, 3000)
        result = bf.greedy_search(X, holdout=0.5, rng=seed, **QUICK)
        if not bf.is_submodel(sem.graph, result.graph):
            continue
        fit = result.fit()
        effects = fit.total_effects()
        target = bf.fit(result.graph, cov=sem.covariance(), n=np.inf, ddof=0).total_effects()
        known = np.isfinite(effects.se)
        half = 1.96 * effects.se[known]
        covered += int((np.abs(effects.estimate - target.estimate)[known] <= half).sum())
        total += int(known.sum())
        seen += 1
        if fit.df:
            p_values.append(fit.p_value)
    assert seen > 80
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert 0.92 < covered / total < 0.97


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": np.eye(4), "holdout": 1.5}, "holdout = 1.5: must be a number between 0 and 1"),
        ({"data": np.eye(4), "holdout": "half"}, "holdout = 'half'"),
        ({"cov": np.eye(4), "n": 50, "holdout": 0.5}, "holdout needs observations in rows"),
        ({"data": {"x": [1.0], "y": [1.0, 2.0]}, "holdout": 0.5}, "must have equal length"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.greedy_search(**options)
