"""From data to moments: input of every type, the order of columns, and errors."""

import json
import math
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf_shrinkage

import bowfree as bf
from bowfree.data import sample
from hostile import OBJECTS

#   a -> b <-> c
GRAPH = bf.MixedGraph(list("abc"), directed=[("a", "b")], bidirected=[("b", "c")])
X = np.random.default_rng(1).normal(size=(20, 3)) @ [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]
S = np.cov(X, rowvar=False)


def test_smallest_example():
    moments = bf.moments([[0.0], [2.0]])
    assert moments.names == ("x1",)
    assert moments.n == 2
    assert_array_equal(moments.S, [[1.0]])


def test_data_and_covariance_give_the_same_moments():
    expected = bf.moments(X, graph=GRAPH).S
    assert_allclose(expected, np.cov(X, rowvar=False, ddof=0), rtol=1e-13)
    assert_allclose(bf.moments(cov=S, n=20, graph=GRAPH).S, expected, rtol=1e-13)
    S_n = np.cov(X, rowvar=False, ddof=0)
    assert_allclose(bf.moments(cov=S_n, n=20, ddof=0, graph=GRAPH).S, expected, rtol=1e-13)


@pytest.mark.parametrize("far", [0.0, 1e9])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_table_is_gone_through_in_parts(far, order, weighted, monkeypatch):
    rng = np.random.default_rng(3)
    X = np.asarray(rng.normal(size=(101, 4)) + far, order=order)
    weights = rng.uniform(0.5, 2.0, size=101) if weighted else None
    whole = bf.moments(X, weights=weights)
    monkeypatch.setattr(sample, "_CELLS", 40)
    found = bf.moments(X, weights=weights)
    np.testing.assert_array_equal(found.S, whole.S)
    np.testing.assert_array_equal(found.mean, whole.mean)


@pytest.mark.parametrize("row", [0, 57, 100])
def test_missing_values_and_constant_columns_are_seen_in_every_part(row, monkeypatch):
    monkeypatch.setattr(sample, "_CELLS", 40)
    X = np.random.default_rng(3).normal(size=(101, 4))
    X[:, 2] = 7.0
    with pytest.raises(bf.errors.DataError, match="constant column 'x3'"):
        bf.moments(X)
    X[row, 2] = 8.0
    assert bf.moments(X).n == 101
    X[row, 1] = np.nan
    with pytest.raises(bf.errors.DataError, match=f"row {row}"):
        bf.moments(X)


def test_the_users_arrays_stay_writable_and_unchanged():
    for give in (
        lambda mine: bf.moments(mine, graph=GRAPH),
        lambda mine: bf.moments(cov=mine.T @ mine, n=20),
        lambda mine: bf.moments({"a": mine[:, 0], "b": mine[:, 1]}),
        lambda mine: bf.Moments(GRAPH.nodes, mine.T @ mine, 20, mine[0]),
    ):
        mine = X.copy()
        moments = give(mine)
        before = moments.S.copy()
        assert_array_equal(mine, X)
        mine[...] = 0.0
        assert_array_equal(moments.S, before)


def test_means_follow_the_order_of_the_graph():
    turned = bf.moments(bf.moments(X, graph=GRAPH), graph=GRAPH.reorder(["c", "a", "b"]))
    assert_array_equal(turned.mean, X.mean(axis=0)[[2, 0, 1]])


def test_moments_as_text():
    moments = bf.moments({"a": [1.0, 2.0, 3.0], "<b>": [0.0, 5.0, 1.0]})
    assert repr(moments) == "<Moments: 3 observations of 2 variables>"
    assert "<b>          2    2.16  0.19" in str(moments)
    assert "&lt;b&gt;" in moments._repr_html_()
    population = bf.moments(cov=np.eye(14), n=math.inf)
    assert str(population).startswith("population covariance of 14 variables\n")
    assert "... and 2 more" in str(population)
    assert "mean" not in str(population).splitlines()[1]
    plain = json.loads(json.dumps(moments.to_dict()))
    assert (plain["names"], plain["n"], plain["mean"]) == (["a", "<b>"], 3, [2.0, 2.0])


@pytest.mark.parametrize("scale", [1e-70, 1e-20, 1e20, 1e70])
def test_units_do_not_matter(scale):
    """Columns in units far apart: the same correlations, and no warning from numpy."""
    moments = bf.moments(X * [1.0, scale, 1.0])
    sd = np.sqrt(np.diag(moments.S))
    assert_allclose(moments.S / np.outer(sd, sd), np.corrcoef(X.T), rtol=1e-12)


@pytest.mark.parametrize("n", [20, 20.0, np.int32(20), np.float32(20), Fraction(20)])
def test_numbers_of_any_type(n):
    for ddof in (1, np.int8(1), 1.0):
        moments = bf.moments(cov=S, n=n, ddof=ddof, shrinkage=np.float32(0.0))
        assert type(moments.n) is float
        assert_array_equal(moments.S, bf.moments(cov=S, n=20).S)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int8, np.uint64])
def test_arrays_of_any_type(dtype):
    table = np.round(10 * X + 50).astype(dtype)
    expected = np.cov(np.round(10 * X + 50), rowvar=False, ddof=0)
    assert_allclose(bf.moments(table).S, expected, rtol=1e-12)
    assert_allclose(bf.moments({"a": table[:, 0]}).S, expected[:1, :1], rtol=1e-12)


def test_rounding_leaves_a_matrix_symmetric_enough():
    printed = np.array([[1.0, 0.123456789012], [0.123456789, 1.0]])
    noisy = np.array([[1.0, 3e-17], [-2e-17, 1.0]])
    for C in (printed, noisy):
        S_ = bf.moments(cov=C, n=20).S
        assert S_[0, 1] == S_[1, 0]


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
    moments = bf.moments(frame, graph=GRAPH)
    assert moments.names == ("a", "b", "c")
    assert_allclose(moments.S, bf.moments(X, graph=GRAPH).S, rtol=1e-13)


def test_a_covariance_frame_is_matched_by_name_in_both_directions():
    expected = bf.moments(cov=S, n=20, graph=GRAPH).S
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.arange(20.0) ** 2)
    C = frame.cov()
    shuffled = C.loc[list("dbac"), list("cdab")]
    assert_allclose(bf.moments(cov=shuffled, n=20, graph=GRAPH).S, expected, rtol=1e-13)
    # Without row labels the rows are in the order of the columns.
    plain = pl.DataFrame({name: C.loc[list("cdab"), name].to_numpy() for name in "cdab"})
    assert_allclose(bf.moments(cov=plain, n=20, graph=GRAPH).S, expected, rtol=1e-13)


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
    "neither": ({}, "neither was given: pass either `data`, or `cov` with `n`"),
    "n with data": ({"data": X, "n": 20}, "n = 20: cannot be combined with `data`; omit it"),
    "cov without n": ({"cov": S}, "`cov` needs `n`"),
    "masked": ({"data": np.ma.masked_equal(X, X[5, 0])}, r"'a' \(1 value, first in row 5\)"),
    "NaN in cov": ({"cov": _cov_with(0, 2, np.nan), "n": 20}, r"'a' \(1 entry, first in row 2\)"),
    "constant": ({"data": _with(slice(None), 1, 0.1)}, "constant column 'b'"),
    "duplicated": ({"data": X[:, [0, 1, 1]]}, "duplicated columns: 'c' is determined by 'b'"),
    "collinear": (
        {"data": np.column_stack([X[:, 0], X[:, 1], X[:, 0] - 2 * X[:, 1]])},
        r"collinear columns: '.' is determined by '.', '.'; drop it: data.drop\(columns=\['.'\]\)",
    ),
    "indefinite": (
        {"cov": [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], "n": 20},
        r"indefinite matrix\): the smallest eigenvalue .* is -0.8, .* 'a', 'b', 'c'",
    ),
    "asymmetric": (
        {"cov": _cov_with(0, 1, 0.25, symmetric=False), "n": 20},
        r"not symmetric: 0.25 at \('a', 'b'\) but .* same order\?",
    ),
    "row labels": (
        {"cov": pd.DataFrame(S, index=list("abd"), columns=list("abc")), "n": 20},
        "rows and columns of cov have different labels: 'c', 'd'",
    ),
    "ddof": ({"cov": S, "n": 20, "ddof": 2}, r"ddof = 2: must be 1 \(divisor n - 1\) or 0"),
    "n not whole": ({"cov": S, "n": 20.5}, "n = 20.5: must be a whole number, or inf"),
    "n <= parents": (
        {"data": np.random.default_rng(0).normal(size=(4, 5)), "graph": STAR},
        r"n = 4 observations, but the district {e} has 4 parents \(a, b, c, d\)",
    ),
    "n <= district and parents": (
        {"data": np.random.default_rng(0).normal(size=(5, 5)), "graph": STAR},
        r"n = 5 observations of 5 variables \(the district {e} with its parents\): .* unbounded",
    ),
    "missing column": ({"data": NAMED.rename(columns={"b": "bb"})}, r"did you mean 'bb'\?"),
    "too many columns": ({"data": np.column_stack([X, X[:, 0] ** 2])}, "the graph has 3 nodes"),
    "text column": ({"data": NAMED.assign(b="text")}, r"non-numeric column 'b' \(.*\) in data"),
    "text and dates": (
        {"data": NAMED.assign(b="text", c=pd.Timestamp("2020-01-01"))},
        r"'c' \(Datetime\) in data: for unordered categories pass nominal=\['b'\]; to drop all",
    ),
    "cov times 1e306": ({"cov": S * 1e306, "n": 20}, r"'a' has a standard deviation of .*e\+15"),
    "frame with a name twice": (
        {"data": pd.DataFrame(X, columns=["a", "b", "b"]), "graph": None},
        "several columns",
    ),
    "path": ({"data": Path("data.csv")}, "string or path .*data.csv.*: read the file first"),
    "complex": ({"data": X + 1j}, "non-numeric .an array of complex128"),
    "columns of unequal length": (
        {"data": {"a": [1, 2], "b": [1, 2, 3]}, "graph": None},
        r"columns of data have shapes \[\(2,\), \(3,\)\]: they must have equal length",
    ),
    "too wide": ({"data": np.zeros((2, 10_001)), "graph": None}, "10,001 columns.*select some"),
    "n with moments": ({"data": bf.moments(X, graph=GRAPH), "n": 9}, "n = 9: cannot be combined"),
    "automatic shrinkage": ({"cov": S, "n": 20, "shrinkage": "auto"}, "'auto' needs complete"),
    "ragged": ({"data": [[1.0, 2.0], [3.0]]}, "data is not a table"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_data(arguments, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(**{"graph": GRAPH, **arguments})


def test_the_fewest_columns_to_drop_whatever_their_units_and_order():
    rng = np.random.default_rng(5)
    parts = rng.normal(size=(60, 5))
    total, difference = parts.sum(axis=1), parts[:, 0] - parts[:, 1]
    columns = {f"p{k}": column for k, column in enumerate(parts.T)}
    columns |= {"total": total * 1e6, "difference": difference * 1e-3}

    def to_drop(names):
        with pytest.raises(bf.errors.DataError, match="collinear columns") as error:
            bf.moments({name: columns[name] for name in names})
        return set(re.search(r"columns=\[(.*)\]", str(error.value))[1].split(", "))

    dropped = [to_drop(rng.permutation(list(columns))) for _ in range(10)]
    assert all(found == dropped[0] for found in dropped)
    assert len(dropped[0]) == 2
    kept = {name: c for name, c in columns.items() if repr(name) not in dropped[0]}
    assert bf.moments(kept).definite


@pytest.mark.parametrize("repeats", [1, 4])
def test_repeated_rows_count_once(repeats):
    """Eight distinct rows of ten variables: singular, and the limits of a search are those of n = 8."""
    rows = np.tile(np.random.default_rng(1).normal(size=(8, 10)), (repeats, 1))
    moments = bf.moments(rows)
    assert moments.n == 8 * repeats
    assert not moments.definite
    found = bf.greedy_search(rows, rng=1, restarts=1, rounds=0)
    for district in found.graph.districts():
        assert len({*district}.union(*map(found.graph.parents, district))) < 8
    chain = bf.MixedGraph(moments.names, directed=list(pairwise(moments.names)))
    fit = bf.fit(chain, rows)
    assert fit.converged
    assert math.isnan(fit.chi2)  # there is no saturated model to compare with
    assert math.isfinite(fit.srmr)


BAD_MOMENTS = {
    "names": ((5, S, 20), "names = 5: must be a tuple of strings"),
    "name twice": ((["a", "a", "b"], S, 20), "node 'a' is listed twice"),
    "size": (("ab", S, 20), "names"),
    "not symmetric": ((list("abc"), np.triu(S), 20), "not symmetric"),
    "NaN": ((list("abc"), _cov_with(0, 0, np.nan), 20), "missing or infinite values in 'a'"),
    "n": ((list("abc"), S, "20"), "n = '20': must be a whole number"),
    "mean": ((list("abc"), S, 20, [1, 2]), "mean is an array of 2 columns"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_MOMENTS.values(), ids=BAD_MOMENTS)
def test_bad_moments_by_hand(arguments, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.Moments(*arguments)


TABLES = st.builds(  # which can be data, in all units that there are
    lambda seed, size, power: np.random.default_rng(seed).normal(size=size) * 10.0**power,
    st.integers(0, 9),
    st.tuples(st.integers(1, 6), st.integers(1, 3)),
    st.integers(-320, 306),
)
NUMERIC = st.sampled_from([0, 1, 2, 0.5, 10, math.inf, math.nan]) | OBJECTS
MATRICES = TABLES.map(lambda X: X.T @ X if abs(X).max() < 1e150 else X)


@settings(max_examples=100)
@given(
    st.fixed_dictionaries({"data": OBJECTS | TABLES}, optional={"shrinkage": NUMERIC})
    | st.fixed_dictionaries({"cov": OBJECTS | MATRICES, "n": NUMERIC}, optional={"ddof": NUMERIC})
)
def test_anything_ends_in_moments_or_in_our_own_error(arguments):
    try:
        moments = bf.moments(**arguments)
    except bf.BowfreeError:
        return
    R = moments.S / np.sqrt(np.outer(np.diag(moments.S), np.diag(moments.S)))
    assert np.isfinite(moments.S).all()
    assert np.linalg.eigvalsh(R)[0] > (0 if moments.definite else -1e-11)
    assert moments.definite or moments.n <= len(R)
    assert moments.n >= 2


@pytest.mark.parametrize("weights", [None, np.linspace(1, 2, 50_000)])
def test_an_offset_takes_no_digits_away(weights):
    rows = np.random.default_rng(1).normal(size=(50_000, 3))
    moved = rows + 1e9
    near = bf.moments(moved - 1e9, weights=weights)  # exact: the rows after rounding
    far = bf.moments(moved, weights=weights)
    assert_allclose(far.S, near.S, rtol=1e-13, atol=1e-15)
    assert_allclose(far.mean, near.mean + 1e9, rtol=1e-15)


# --- shrinkage ---


@pytest.mark.parametrize(("n", "d"), [(10, 3), (20, 40), (200, 5)])
def test_automatic_shrinkage_is_that_of_ledoit_and_wolf(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** rng.integers(-3, 4, d)
    amount = ledoit_wolf_shrinkage((X - X.mean(axis=0)) / X.std(axis=0))
    chosen = bf.moments(X, shrinkage="auto")
    assert_allclose(chosen.S, bf.moments(X, shrinkage=amount).S, rtol=1e-12)
