"""The gate for data: what passes, in which order of columns, and what is refused."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bowfree as bf
from bowfree.model.moments import read_moments

#   a -> b <-> c
GRAPH = bf.MixedGraph(list("abc"), directed=[("a", "b")], bidirected=[("b", "c")])
X = np.random.default_rng(1).normal(size=(20, 3)) @ [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]
S = np.cov(X, rowvar=False)


def test_smallest_example():
    moments = read_moments([[0.0], [2.0]])
    assert moments.names == ("x1",)
    assert moments.n == 2
    assert_array_equal(moments.S, [[1.0]])


def test_data_and_covariance_give_the_same_moments():
    expected = read_moments(X, graph=GRAPH).S
    assert_allclose(expected, np.cov(X, rowvar=False, ddof=0), rtol=1e-13)
    assert_allclose(read_moments(cov=S, n=20, graph=GRAPH).S, expected, rtol=1e-13)
    S_n = np.cov(X, rowvar=False, ddof=0)
    assert_allclose(read_moments(cov=S_n, n=20, ddof=0, graph=GRAPH).S, expected, rtol=1e-13)


def test_a_large_mean_costs_no_digits():
    # Sums of squares would lose all of them; deviations from the mean do not.
    assert_allclose(read_moments(X + 1e6).S, read_moments(X).S, rtol=1e-8)


def test_a_population_covariance_is_taken_as_it_is():
    moments = read_moments(cov=S, n=math.inf)
    assert_array_equal(moments.S, (S + S.T) / 2)
    assert moments.n == math.inf


def test_moments_cannot_be_changed():
    moments = read_moments(X)
    with pytest.raises(ValueError, match="read-only"):
        moments.S[0, 0] = 0.0


def test_the_users_array_stays_writable_and_unchanged():
    mine = S.copy()
    read_moments(cov=mine, n=20)
    mine[0, 0] += 1


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "polars lazy": lambda columns: pl.LazyFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_are_matched_by_name(make):
    a, b, c = X.T
    frame = make({"c": c, "unused": ["text"] * 20, "a": a, "b": b})
    moments = read_moments(frame, graph=GRAPH)
    assert moments.names == ("a", "b", "c")
    assert_allclose(moments.S, read_moments(X, graph=GRAPH).S, rtol=1e-13)


def test_a_covariance_frame_is_matched_by_name_in_both_directions():
    expected = read_moments(cov=S, n=20, graph=GRAPH).S
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.arange(20.0) ** 2)
    C = frame.cov()
    shuffled = C.loc[list("dbac"), list("cdab")]
    assert_allclose(read_moments(cov=shuffled, n=20, graph=GRAPH).S, expected, rtol=1e-13)
    # Without row labels the rows are in the order of the columns.
    plain = pl.DataFrame({name: C.loc[list("cdab"), name].to_numpy() for name in "cdab"})
    assert_allclose(read_moments(cov=plain, n=20, graph=GRAPH).S, expected, rtol=1e-13)


def test_integer_columns_and_labels():
    frame = pd.DataFrame({0: [1, 2, 4], 1: [3, 1, 2]})
    moments = read_moments(frame)
    assert moments.names == ("0", "1")
    assert_allclose(moments.S, np.cov([[1, 2, 4], [3, 1, 2]], ddof=0))
    turned = frame.cov().loc[[1, 0]]
    assert_allclose(read_moments(cov=turned, n=3).S, moments.S)


def test_fewer_observations_than_variables_are_enough_for_small_districts():
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(6, 8))
    names = [f"v{i}" for i in range(8)]
    chain = bf.MixedGraph(names, directed=list(pairwise(names)))
    fit = bf.fit(chain, wide)
    assert fit.converged
    assert math.isfinite(fit.loglik)
    assert math.isnan(fit.chi2)  # there is no saturated model to compare with
    assert math.isfinite(fit.srmr)


def test_a_shrunk_covariance_is_the_way_out():
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(5, 8))
    shrunk = 0.5 * np.cov(wide, rowvar=False) + 0.5 * np.eye(8)
    assert read_moments(cov=shrunk, n=5).n == 5


def _with(row, column, value):
    bad = X.copy()
    bad[row, column] = value
    return bad


def _cov_with(i, j, value, *, symmetric=True):
    bad = S.copy()
    bad[i, j] = value
    if symmetric:
        bad[j, i] = value
    return bad


STAR = bf.MixedGraph(list("abcde"), directed=[("a", "e"), ("b", "e"), ("c", "e"), ("d", "e")])
NAMED = pd.DataFrame(X, columns=list("abc"))

BAD_INPUT = {
    "neither": ({}, "neither was given: give either `data`, or `cov` with `n`"),
    "both": ({"data": X, "cov": S, "n": 20}, "both were given"),
    "n with data": ({"data": X, "n": 20}, "n = 20 was given with `data`: leave it out"),
    "cov without n": ({"cov": S}, "`cov` needs `n`"),
    "NaN": ({"data": _with(4, 1, np.nan)}, r"infinite values in 'b' \(1 value, first in row 4\)"),
    "infinite": ({"data": _with([2, 7], 2, np.inf)}, r"'c' \(2 values, first in row 2\)"),
    "null": (
        {"data": pl.DataFrame({"a": [1, None, 3], "b": [2, 1, 5], "c": [0, 0, 1]})},
        r"'a' \(1 value, first in row 1\)",
    ),
    "masked": (
        {"data": np.ma.masked_equal(X, X[5, 0])},
        r"'a' \(1 value, first in row 5\)",
    ),
    "NaN in cov": ({"cov": _cov_with(0, 2, np.nan), "n": 20}, r"'a' \(1 entry, first in row 2\)"),
    "constant": ({"data": _with(slice(None), 1, 0.1)}, "constant column 'b'"),
    "zero variance": ({"cov": _cov_with(1, 1, 0.0), "n": 20}, "the variance of 'b' is 0"),
    "duplicated": ({"data": X[:, [0, 1, 1]]}, "duplicated columns 'b' and 'c': .* is 1, keep one"),
    "mirrored": ({"data": X[:, [0, 1, 1]] * [1, 1, -2]}, "duplicated columns 'b' and 'c': .* -1"),
    "collinear": (
        {"data": np.column_stack([X[:, 0], X[:, 1], X[:, 0] - 2 * X[:, 1]])},
        r"not positive definite \(collinear variables\): .* load on it are 'a', 'b', 'c'",
    ),
    "collinear, others innocent": (
        {"data": np.column_stack([X, X[:, 0] + X[:, 2]]), "graph": bf.MixedGraph(list("abcd"))},
        "load on it are 'a', 'c', 'd'; drop one",
    ),
    "indefinite": (
        {"cov": [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], "n": 20},
        r"indefinite matrix\): the smallest eigenvalue .* is -0.8, .* 'a', 'b', 'c'",
    ),
    "asymmetric": (
        {"cov": _cov_with(0, 1, 0.25, symmetric=False), "n": 20},
        r"not symmetric: 0.25 at \('a', 'b'\) but .* same order\?",
    ),
    "not square": ({"cov": S[:2], "n": 20}, r"shape \(2, 3\): a covariance matrix is square"),
    "frame not square": (
        {"cov": pl.DataFrame(S[:2], schema=list("abc")), "n": 20},
        r"shape \(2, 3\): a covariance matrix is square",
    ),
    "row labels": (
        {"cov": pd.DataFrame(S, index=list("abd"), columns=list("abc")), "n": 20},
        "rows and columns of cov have different labels: 'c', 'd'",
    ),
    "ddof": ({"cov": S, "n": 20, "ddof": 2}, r"ddof = 2: must be 1 \(divisor n - 1\) or 0"),
    "n = 1": ({"cov": S, "n": 1}, "n = 1: must be at least 2"),
    "one row": ({"data": X[:1]}, "n = 1: data need at least 2 rows"),
    "n not whole": ({"cov": S, "n": 20.5}, "n = 20.5: must be a whole number, or inf"),
    "n NaN": ({"cov": S, "n": math.nan}, "n = nan: must be a whole number, or inf"),
    "n <= parents": (
        {"data": np.random.default_rng(0).normal(size=(4, 5)), "graph": STAR},
        r"n = 4 observations, but the district {e} has 4 parents \(a, b, c, d\)",
    ),
    "n <= parents, cov": (
        {"cov": np.eye(5), "n": 3, "graph": STAR},
        "n = 3 observations, but the district {e} has 4 parents",
    ),
    "n <= district and parents": (
        {"data": np.random.default_rng(0).normal(size=(5, 5)), "graph": STAR},
        r"n = 5 observations of 5 variables \(the district {e} with its parents\): .* unbounded",
    ),
    "n <= d, no graph": (
        {"data": np.random.default_rng(0).normal(size=(5, 5)), "graph": None},
        "n = 5 observations of 5 variables: the covariance matrix is singular",
    ),
    "missing column": (
        {"data": NAMED.rename(columns={"b": "bb"})},
        r"no column for the graph's node 'b' \(did you mean 'bb'\?\); its columns are 'a', 'bb'",
    ),
    "too many columns": (
        {"data": np.column_stack([X, X[:, 0] ** 2])},
        "array of 4 columns and the graph has 3 nodes: pass a data frame",
    ),
    "columns named twice": (
        {"data": pd.DataFrame({"a": X[:, 0], 1: X[:, 1], "1": X[:, 2]}), "graph": None},
        "several columns named '1'",
    ),
    "text column": (
        {"data": NAMED.assign(b="text")},
        r"non-numeric column 'b' \(.*\) in data: drop it or code it as numbers",
    ),
    "boolean column": ({"data": NAMED.assign(b=True)}, r"non-numeric column 'b' \(Boolean\)"),
    "object array": ({"data": X.astype(object)}, "non-numeric .an array of object.: convert"),
    "ragged": ({"data": [[1.0, 2.0], [3.0]]}, "data is not a table"),
    "not a table": ({"data": X[:, 0]}, r"data has shape \(20,\): a table with rows and columns"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_data(arguments, message):
    with pytest.raises(bf.DataError, match=message):
        read_moments(**{"graph": GRAPH, **arguments})


BAD_GRAPHS = {
    "bow": (
        bf.MixedGraph(list("abc"), directed=[("a", "b")], bidirected=[("a", "b")]),
        r"graph has a bow at \(a, b\): both a -> b and a <-> b; drop one of the two",
    ),
    "cycle": (
        bf.MixedGraph(list("abc"), directed=[("a", "b"), ("b", "c"), ("c", "a")]),
        "directed cycle .* -> .*; drop or turn one of its edges",
    ),
}


@pytest.mark.parametrize(("graph", "message"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_graph_that_is_not_a_bap(graph, message):
    for function in (bf.fit, bf.score, bf.district_scores):
        with pytest.raises(bf.GraphError, match=message):
            function(graph, X)
