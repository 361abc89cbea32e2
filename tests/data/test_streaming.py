"""Tables in pieces: the same moments, to the bit, however they are cut, in constant memory."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from numpy.testing import assert_allclose

import bowfree as bf
from bowfree.data import streaming as streams

NAMES = ["a", "b", "c"]
ROWS = np.random.default_rng(1).normal(size=(30_000, 3)) @ [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]


@pytest.fixture
def only_sums(monkeypatch):
    """Keep no rows, however few there are."""
    monkeypatch.setattr(streams, "KEPT", 100)


def cut(X, size, make=lambda part: part):
    return (make(X[k : k + size]) for k in range(0, len(X), size))


def frame(X):
    return pd.DataFrame(X, columns=NAMES)


def parquet(folder):
    for k, part in enumerate(cut(ROWS, 12_000, lambda X: pl.DataFrame(X, schema=NAMES))):
        part.write_parquet(folder / f"part{k}.parquet")
    return folder


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e12])
def test_an_offset_takes_no_digits_away(only_sums, offset):
    moved = ROWS + offset
    there = moved - offset  # exact: the rows after rounding
    expected = np.cov(there.T, ddof=0)
    assert_allclose(bf.moments(cut(moved, 1000)).S, expected, rtol=1e-12, atol=1e-15)


def test_rows_that_drift(only_sums):
    """The mean of a block is far from the first one's: only merging by means keeps the digits."""
    drifting = ROWS + np.linspace(0, 1e6, len(ROWS))[:, None]
    expected = bf.moments(drifting)
    found = bf.moments(cut(drifting, 333))
    assert_allclose(found.S, expected.S, rtol=1e-12)
    assert_allclose(found.mean, expected.mean, rtol=1e-13)


def test_cuts_do_not_matter_to_the_bit(only_sums):
    found = {bf.moments(cut(ROWS, size)).S.tobytes() for size in (97, 1000, 16_384, 30_000)}
    assert len(found) == 1


def test_every_source_gives_the_same(only_sums, tmp_path):
    expected = bf.moments(cut(ROWS, 999, frame))
    folder = parquet(tmp_path)
    table = pa.table(frame(ROWS))
    for source in (
        pl.scan_parquet(folder),
        pl.DataFrame(ROWS, schema=NAMES).lazy(),
        pa.dataset.dataset(folder),
        table.to_reader(max_chunksize=1234),
        iter(table.to_batches(max_chunksize=777)),
        cut(ROWS, 5000, lambda X: dict(zip(NAMES, X.T, strict=True))),
    ):
        found = bf.moments(source)
        assert found.names == ("a", "b", "c")
        assert found.S.tobytes() == expected.S.tobytes()
        assert found.mean.tobytes() == expected.mean.tobytes()


def test_columns_of_a_graph(only_sums, tmp_path):
    graph = bf.parse("c -> a")
    expected = bf.moments(frame(ROWS)).take(["c", "a"])
    for source in (
        pl.scan_parquet(parquet(tmp_path)),
        pa.dataset.dataset(tmp_path),
        cut(ROWS, 5000, frame),
    ):
        found = bf.moments(source, graph=graph)
        assert found.names == ("c", "a")
        assert_allclose(found.S, expected.S, rtol=1e-13)
    with pytest.raises(bf.errors.DataError, match="no column for the graph's node 'd'"):
        bf.moments(pl.scan_parquet(tmp_path), graph=bf.parse("d -> a"))


@pytest.mark.parametrize("kept", [100, 2**24])
def test_dask(kept, monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(streams, "KEPT", kept)
    data = dd.from_pandas(frame(ROWS + 1e9), npartitions=7)
    found = bf.moments(data)
    assert (found.sample is None) == (kept == 100)
    assert_allclose(found.S, np.cov((ROWS + 1e9 - 1e9).T, ddof=0), rtol=1e-10, atol=1e-12)
    assert found.S.tobytes() == bf.moments(data).S.tobytes()


def test_a_small_table_is_like_any_other():
    incomplete = frame(ROWS[:400]).mask(np.random.default_rng(1).random((400, 3)) < 0.1)
    pieces = (incomplete[k : k + 90] for k in range(0, 400, 90))
    whole, found = bf.moments(incomplete, missing="fiml"), bf.moments(pieces, missing="fiml")
    assert found.S.tobytes() == whole.S.tobytes()


def test_memory_stays_constant(only_sums):
    def peak(pieces):
        tracemalloc.start()
        bf.moments(ROWS + k for k in range(pieces))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(1)  # imports take memory once
    assert peak(40) < 1.1 * peak(4)


def test_incomplete_rows_are_dropped(only_sums):
    X = ROWS[:5000].copy()
    X[[3, 4000], [0, 1]] = np.nan
    found = bf.moments(cut(X, 100), missing="listwise")
    assert found.n == 4998
    assert found.notes == ("2 rows with missing values were dropped",)
    assert_allclose(found.S, bf.moments(X, missing="listwise").S, rtol=1e-13)
    with pytest.raises(bf.errors.DataError, match="values in 'x2', first in row 3999; of so large"):
        bf.moments(cut(np.delete(X, 3, axis=0), 100))


def test_a_search_reads_pieces_once_and_looks_at_the_first_rows(only_sums):
    data = frame(ROWS[:3000]).assign(row=np.arange(3000.0))
    with pytest.warns(bf.errors.DataWarning, match="column row looks like row numbers"):
        found = bf.greedy_search((data[k : k + 500] for k in range(0, 3000, 500)), rng=1)
    assert found.graph.nodes == ("a", "b", "c", "row")
    assert found.moments.n == 3000


@pytest.mark.parametrize(
    ("pieces", "options", "message"),
    [
        (lambda: iter([]), {}, "has no pieces"),
        (lambda: iter(["data.csv"]), {}, "piece 1 of data is the string or path"),
        (lambda: iter([frame(ROWS), frame(ROWS)[["a", "b"]]]), {}, "piece 2 of data has other"),
        (lambda: cut(ROWS, 100), {"correlation": "kendall"}, "correlation: needs all rows"),
        (lambda: cut(ROWS, 100), {"shrinkage": "auto"}, "'auto' needs complete"),
        (lambda: cut(ROWS * [1, 0, 1], 100), {}, "constant column 'x2'"),
        (lambda: cut(ROWS * [1, 1e200, 1], 100), {}, "column 'x2' has a standard deviation"),
        (lambda: cut(np.where(ROWS > 4, np.inf, ROWS), 100), {"missing": "listwise"}, "infinite"),
    ],
)
def test_bad_pieces(pieces, options, message, only_sums):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(pieces(), **options)


def test_what_needs_rows_says_so(only_sums):
    moments = bf.moments(cut(ROWS, 1000, frame))
    with pytest.raises(bf.errors.DataError, match="need the observations"):
        bf.fit(bf.parse("a -> b"), moments, se="robust")
    fit = bf.fit(bf.parse("a -> b -> c"), moments)
    with pytest.raises(bf.errors.DataError, match=r"can be read only once.*bf.moments"):
        fit.residuals(cut(ROWS, 1000, frame))
    with pytest.raises(bf.errors.DataError, match="holdout needs observations"):
        bf.greedy_search(cut(ROWS, 1000, frame), holdout=0.5)
