"""Tables that come in pieces: more rows than fit into memory.

Moments are sums, so that the number of rows is no limit. What comes in pieces is read once: an
iterator of tables (a generator, ``pandas.read_csv(..., chunksize=...)``, an Arrow reader), a lazy
frame of polars, a dataset of pyarrow (a folder of Parquet files), a data frame of dask, whose
workers send sums and no rows.

A table that turns out to be small is kept, and is then like any other. Of a larger one only n,
means and covariances are kept (:class:`Sums`), in memory that does not grow. Two things make them
as exact as those of a table in memory:

- deviations are from a value inside the data (the median of the first block), so that an offset
  of 1e9 takes no digits away;
- sums of squares are about the mean of their own block, and are merged by the identity of Chan,
  Golub and LeVeque, which adds what the difference of the means brings.

Blocks have a fixed number of rows, however the pieces are cut: the same rows in the same order
give the same bits.

References
----------
T. Chan, G. Golub, R. LeVeque, Algorithms for computing the sample variance, American Statistician
1983.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import check_scale
from bowfree.data.frames import Observations, quoted, read_observations
from bowfree.data.sample import Summary
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph

Floats = npt.NDArray[np.float64]

# Cells up to which a table that comes in pieces is kept: 128 MB.
KEPT = 2**24
# Rows of a block, a power of two; fewer in a table with many columns (64 MB).
_BLOCK, _BLOCK_CELLS = 2**14, 2**23
# Work of one product of matrices that OpenBLAS does on one thread. Those who read the pieces have
# the other cores busy, and threads that wait for each other at every block take longer than one.
_ONE_THREAD = 2**18
_HEAD = 1000
_CHUNK = 2**16  # rows of a piece, where we may say so


class Sums:
    """Number, means and sums of squares of rows, added block by block.

    Parameters
    ----------
    names : tuple of str
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.data.streaming import Sums
    >>> sums = Sums(("x",))
    >>> for part in ([[1e9 + 1], [1e9 + 2]], [[1e9 + 3]]):
    ...     sums.add(np.array(part))
    >>> S, n, mean = sums.summary()
    >>> S.round(6).tolist(), n, mean.tolist()
    ([[0.666667]], 3.0, [1000000002.0])
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        d = len(names)
        self.names = names
        self.n = 0
        self.n_dropped = 0  # rows with missing values
        self.head = np.empty((0, d))  # the first rows, to see what columns look like
        self._base = np.zeros(d)  # a value inside the data, which all means are counted from
        self._mean = np.zeros(d)
        self._squares = np.zeros((d, d))
        self._block = np.empty((_power_of_two(min(_BLOCK, _BLOCK_CELLS // d)), d))
        self._filled = 0

    def add(self, X: Floats) -> None:
        """Add rows without gaps."""
        size = len(self._block)
        start = 0
        if len(self.head) < _HEAD:
            self.head = np.concatenate([self.head, X[: _HEAD - len(self.head)]])
        while start < len(X):
            taken = min(size - self._filled, len(X) - start)
            self._block[self._filled : self._filled + taken] = X[start : start + taken]
            self._filled += taken
            start += taken
            if self._filled == size:
                self._close_block()

    def _close_block(self) -> None:
        m, self._filled = self._filled, 0
        if not m:
            return
        rows = self._block[:m]
        with np.errstate(over="ignore", invalid="ignore"):  # too large to be squared: see summary
            if not self.n:
                # An element and no mean of two: deviations of a constant column are exactly zero.
                self._base = np.partition(rows, m // 2, axis=0)[m // 2].copy()
            rows -= self._base
            mean = rows.mean(axis=0)
            rows -= mean
            self._block[m:] = 0.0
            self._merge(m, mean, _products(self._block))

    def _merge(self, m: int, mean: Floats, squares: Floats) -> None:
        total = self.n + m
        apart = mean - self._mean
        self._squares += squares + np.outer(apart, apart) * (self.n * m / total)
        self._mean = self._mean + apart * (m / total)
        self.n = total

    def sealed(self) -> Sums:
        """Return the sums without room for more rows: light to send around."""
        self._close_block()
        self._block = np.empty((0, len(self.names)))
        return self

    def merge(self, other: Sums) -> None:
        """Add the rows of other sums, behind one's own."""
        self._close_block()
        other._close_block()
        if len(self.head) < _HEAD:
            self.head = np.concatenate([self.head, other.head])
        if not self.n:
            self._base = other._base
        self.n_dropped += other.n_dropped
        if other.n:
            self._merge(other.n, (other._base - self._base) + other._mean, other._squares)

    def summary(self) -> Summary:
        """Return the covariance matrix with divisor n, n, and the mean; or say what is wrong."""
        self._close_block()
        if self.n < 2:
            raise DataError(f"n = {self.n}: data need at least 2 rows (observations in rows)")
        S = self._squares / self.n
        variances = S.diagonal()
        if (variances == 0).any():
            constant = [self.names[i] for i in np.flatnonzero(variances == 0)]
            raise DataError(
                f"constant column {quoted(constant)}: drop it, it has no variance to explain"
            )
        sd = np.sqrt(np.where(np.isfinite(variances), variances, np.inf))
        check_scale(self.names, sd, "a standard deviation of")
        return Summary(S, float(self.n), self._base + self._mean)


def _products(rows: Floats) -> Floats:
    """Return ``rows.T @ rows``, in parts that one thread works on if the columns are few."""
    size, d = rows.shape
    part = _power_of_two(_ONE_THREAD // d**2)
    if not 64 <= part < size:
        return np.asarray(rows.T @ rows, dtype=np.float64)
    parts = rows.reshape(-1, part, d)
    return np.asarray((parts.transpose(0, 2, 1) @ parts).sum(axis=0), dtype=np.float64)


def _power_of_two(most: int) -> int:
    """Return the largest power of two up to a number, and 1 below that."""
    return int(2 ** (max(1, most).bit_length() - 1))


def is_stream(data: Any) -> bool:
    """Tell whether a table comes in pieces that are read once."""
    return isinstance(data, Iterator) or _kind(data) is not None


def _kind(data: Any) -> str | None:
    """Return the library that hands out the pieces, without importing any."""
    module = type(data).__module__
    if module.startswith("polars.") and type(data).__name__ == "LazyFrame":
        return "polars"
    if module.startswith("pyarrow.") and hasattr(data, "to_batches") and hasattr(data, "scanner"):
        return "pyarrow"
    if module.startswith("dask") and hasattr(data, "to_delayed") and hasattr(data, "columns"):
        return "dask"
    return None


def read_stream(
    data: Any,
    wanted: tuple[str, ...] | None,
    *,
    listwise: bool = False,
    rows_for: str | None = None,
) -> Observations | Sums:
    """Read all pieces: return the table if it is small, or else its sums.

    Parameters
    ----------
    data : iterator of tables, polars.LazyFrame, pyarrow.dataset.Dataset or dask.dataframe.DataFrame
        The pieces.
    wanted : tuple of str, optional
        The columns to read; by default all.
    listwise : bool
        Leave out rows with gaps, which are refused otherwise where only sums are kept.
    rows_for : str, optional
        What has been asked for that needs all rows at once; a large table is then refused.
    """
    if _kind(data) == "dask":
        return _read_dask(data, wanted, listwise, rows_for)
    graph = None if wanted is None else MixedGraph(wanted)
    kept: list[Floats] = []
    categories: dict[str, tuple[str, ...]] = {}
    names: tuple[str, ...] | None = None
    sums: Sums | None = None
    n_rows = n_cells = 0
    for k, piece in enumerate(_pieces(data, wanted)):
        what = f"piece {k + 1} of data"
        found, X = read_observations(piece, graph, what, categories=categories)
        names = names or found
        X = _in_order(names, found, X, what)
        if sums is None and n_cells + X.size > KEPT:
            _refuse_rows(rows_for, categories)
            sums, begun = Sums(names), 0
            for before in kept:
                _add(sums, before, begun, listwise)
                begun += len(before)
            kept.clear()
        if sums is None:
            kept.append(X.copy())
        else:
            _add(sums, X, n_rows, listwise)
        n_rows, n_cells = n_rows + len(X), n_cells + X.size
    if names is None:
        raise DataError("data has no pieces at all: an iterator is read once, was it read before?")
    return sums or Observations(names, np.concatenate(kept), categories)


def _read_dask(
    data: Any, wanted: tuple[str, ...] | None, listwise: bool, rows_for: str | None
) -> Observations | Sums:
    """Let the workers add up their partitions, and put the sums together in order."""
    dask: Any = import_module("dask")
    parts = data.to_delayed()
    read = dask.delayed(_read_partition)
    most = KEPT // max(1, len(parts))
    found = dask.compute(
        *(read(part, k, wanted, most, listwise, rows_for) for k, part in enumerate(parts))
    )
    names = found[0].names
    if all(isinstance(part, Observations) for part in found):
        categories = {name: labels for part in found for name, labels in part.categories.items()}
        return Observations(names, np.concatenate([part.values for part in found]), categories)
    total = Sums(names)
    for part in found:
        if isinstance(part, Sums):
            total.merge(part)
        else:
            _add(total, part.values, 0, listwise)
    return total


def _read_partition(
    frame: Any,
    k: int,
    wanted: tuple[str, ...] | None,
    most: int,
    listwise: bool,
    rows_for: str | None,
) -> Observations | Sums:
    """Return a partition if it is small, or else its sums."""
    categories: dict[str, tuple[str, ...]] = {}
    graph = None if wanted is None else MixedGraph(wanted)
    names, X = read_observations(frame, graph, f"partition {k}", categories=categories)
    if X.size <= most:
        return Observations(names, X, categories)
    _refuse_rows(rows_for, categories)
    sums = Sums(names)
    _add(sums, X, 0, listwise)
    return sums.sealed()


def _refuse_rows(rows_for: str | None, categories: dict[str, tuple[str, ...]]) -> None:
    what = rows_for or (f"ordered categories ({quoted(list(categories))})" if categories else None)
    if what is not None:
        raise DataError(
            f"{what} needs all rows at once, and of a table in pieces with more than {KEPT:,} "
            "cells only sums are kept: read a part of the rows into one data frame"
        )


def _add(sums: Sums, X: Floats, begun: int, listwise: bool) -> None:
    """Add a piece, whose first row is number `begun`, without its gaps."""
    # One pass over complete rows, which is what most are: a sum is finite if all of it is.
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(X.sum()):
            sums.add(X)
            return
    finite = np.isfinite(X)
    complete = finite.all(axis=1)
    if np.isinf(X).any() or not (listwise or complete.all()):
        at_fault = [sums.names[i] for i in np.flatnonzero(~finite.all(axis=0))]
        raise DataError(
            f"missing or infinite values in {quoted(at_fault)}, first in row "
            f"{begun + int(complete.argmin())}: of so large a table only sums are kept, and rows "
            "with gaps can only be left out (missing: listwise)"
        )
    sums.n_dropped += int(np.count_nonzero(~complete))
    sums.add(X[complete])


def _in_order(names: tuple[str, ...], found: tuple[str, ...], X: Floats, what: str) -> Floats:
    if found == names:
        return X
    if set(found) != set(names) or len(found) != len(names):
        odd = sorted(set(found) ^ set(names))
        raise DataError(f"{what} has other columns than the first piece: {quoted(odd)}")
    return X[:, [found.index(name) for name in names]]


# --- where pieces come from -----------------------------------------------------------------------


def _pieces(data: Any, wanted: tuple[str, ...] | None) -> Iterator[Any]:
    """Return tables that `read_observations` understands, one after the other."""
    kind = _kind(data)
    if kind == "polars":
        return _of_polars(data, wanted)
    if kind == "pyarrow":
        # Little read ahead: sixteen batches, as is usual there, take several hundred megabytes.
        columns = _known(wanted, data.schema.names)
        ahead = {"batch_readahead": 4, "fragment_readahead": 1}
        return _of_pyarrow(data.to_batches(columns=columns, **ahead))
    return _of_pyarrow(data)


def _known(wanted: tuple[str, ...] | None, names: list[str]) -> list[str] | None:
    """Return the columns to read; those that are not there are missed later, by name."""
    return None if wanted is None else [name for name in wanted if name in names]


def _of_polars(data: Any, wanted: tuple[str, ...] | None) -> Iterator[Any]:
    columns = _known(wanted, data.collect_schema().names())
    return lazy_batches(data if columns is None else data.select(columns))


def lazy_batches(frame: Any) -> Iterator[Any]:
    """Yield the rows of a polars.LazyFrame in order, in data frames of limited size."""
    if hasattr(frame, "collect_batches"):
        # The default is whole row groups of Parquet files, often a million rows.
        return iter(frame.collect_batches(maintain_order=True, chunk_size=_CHUNK))
    return iter([frame.collect()])


def _of_pyarrow(pieces: Iterator[Any]) -> Iterator[Any]:
    """Make tables of record batches, which are columns without the methods of a table."""
    for piece in pieces:
        if type(piece).__module__.startswith("pyarrow") and type(piece).__name__ == "RecordBatch":
            import pyarrow

            yield pyarrow.Table.from_batches([piece])
        else:
            yield piece
