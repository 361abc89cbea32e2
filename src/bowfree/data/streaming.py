"""Tables that are read in pieces, because they have more rows than fit into memory.

A stream is an iterator of tables (a generator, ``pandas.read_csv(..., chunksize=...)``, an Arrow
reader), a lazy frame of polars, a dataset of pyarrow or a data frame of dask. It is read once. A
small table is kept. Of a larger one only n, means and covariances are kept (:class:`Sums`), in
memory that does not grow. They are as exact as those of a table in memory, because

- deviations are taken from a value inside the data, so that an offset of 1e9 costs no digits;
- sums of squares are about the mean of their own block, and are merged by the identity of Chan,
  Golub and LeVeque (American Statistician 1983).

Blocks have a fixed number of rows, so that the result does not depend on the size of the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bowfree.data.covariance import check_scale
from bowfree.data.frames import Table, quoted, read_table
from bowfree.data.sample import Floats, Summary, cross_products
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph

# Number of cells up to which a stream is kept in memory (128 MB).
KEPT = 2**24
# Number of rows of a block, a power of two; fewer in a table with many columns (64 MB).
_BLOCK, _BLOCK_CELLS = 2**14, 2**23
_HEAD = 1000
_BATCH = 2**16  # number of rows of a piece of a lazy frame


class Sums:
    """Number, means and sums of squares of rows; `n_dropped` rows with missing values are left out."""

    def __init__(self, names: tuple[str, ...]) -> None:
        d = len(names)
        self.names = names
        self.n = self.n_dropped = 0
        self.head = np.empty((0, d))  # the first rows
        self._base = np.zeros(d)  # a value inside the data; all means are relative to it
        self._mean = np.zeros(d)
        self._squares = np.zeros((d, d))
        most = max(1, min(_BLOCK, _BLOCK_CELLS // d))
        self._block = np.empty((2 ** (most.bit_length() - 1), d))
        self._filled = 0

    def add(self, X: Floats) -> None:
        """Add complete rows."""
        self.head = np.concatenate([self.head, X[: max(0, _HEAD - len(self.head))]])
        while len(X):
            some = X[: len(self._block) - self._filled]
            self._block[self._filled : self._filled + len(some)] = some
            self._filled += len(some)
            X = X[len(some) :]
            if self._filled == len(self._block):
                self._close_block()

    def _close_block(self) -> None:
        m, self._filled = self._filled, 0
        if not m:
            return
        rows, total = self._block[:m], self.n + m
        with np.errstate(over="ignore", invalid="ignore"):  # checked in `summary`
            if not self.n:
                # An element of the column, so that the deviations of constant columns are zero.
                self._base = np.partition(rows, m // 2, axis=0)[m // 2].copy()
            rows -= self._base
            mean = rows.mean(axis=0)
            rows -= mean
            shift = mean - self._mean
            self._squares += cross_products(rows, rows)
            self._squares += np.outer(shift, shift) * (self.n * m / total)
            self._mean = self._mean + shift * (m / total)
        self.n = total

    def summary(self) -> Summary:
        """Return the covariance matrix with divisor n, n, and the mean."""
        self._close_block()
        if self.n < 2:
            raise DataError(f"n = {self.n}: data need at least 2 rows (observations in rows)")
        S = self._squares / self.n
        variances = S.diagonal()
        constant = [self.names[i] for i in np.flatnonzero(variances == 0)]
        if constant:
            raise DataError(
                f"constant column {quoted(constant)}: drop it, it has no variance to explain"
            )
        sd = np.sqrt(np.where(np.isfinite(variances), variances, np.inf))
        check_scale(self.names, sd, "a standard deviation of")
        return Summary(S, float(self.n), self._base + self._mean)


def is_stream(data: Any) -> bool:
    """Return whether data are an iterator, a lazy frame or a dataset."""
    return isinstance(data, Iterator) or _library(data) is not None


def _library(data: Any) -> str | None:
    """Return the library of a lazy frame or dataset, without importing it."""
    library = type(data).__module__.partition(".")[0]
    method = {"polars": "sink_parquet", "pyarrow": "scanner", "dask": "to_delayed"}.get(library)
    return library if method is not None and hasattr(data, method) else None


def _pieces(data: Any, wanted: tuple[str, ...] | None) -> Iterator[Any]:
    """Return the tables of a stream, if possible with the columns that are wanted only."""

    def known(names: list[str]) -> list[str]:  # an error about missing ones comes later
        return names if wanted is None else [name for name in wanted if name in names]

    match _library(data):
        case None:
            return iter(data)
        case "polars":
            return lazy_batches(data.select(known(data.collect_schema().names())))
        case "pyarrow":
            # Little is read ahead: the default, sixteen batches, can take several hundred megabytes.
            columns = known(data.schema.names)
            return iter(data.to_batches(columns=columns, batch_readahead=4, fragment_readahead=1))
        case _:
            return (part.compute() for part in data.to_delayed())


def lazy_batches(frame: Any) -> Iterator[Any]:
    """Yield the rows of a polars.LazyFrame in order, in data frames of limited size."""
    if hasattr(frame, "collect_batches"):
        # The default is whole row groups of Parquet files, often a million rows.
        return iter(frame.collect_batches(maintain_order=True, chunk_size=_BATCH))
    return iter([frame.collect()])


def read_stream(
    data: Any,
    wanted: tuple[str, ...] | None,
    *,
    listwise: bool = False,
    rows_for: str | None = None,
) -> Table | Sums:
    """Return the table of a stream if it is small, or else its sums.

    Only the columns `wanted` are read, by default all. With `listwise`, rows with missing values
    are dropped; otherwise they raise an error if only sums are kept. `rows_for` is an option that
    needs all rows at once, so that a large table raises an error.
    """
    graph = None if wanted is None else MixedGraph(wanted)
    kept: list[Floats] = []
    categories: dict[str, tuple[str, ...]] = {}
    names: tuple[str, ...] = ()
    sums: Sums | None = None
    n_rows = 0
    for k, piece in enumerate(_pieces(data, wanted)):
        what = f"piece {k + 1} of data"
        table = read_table(piece, graph, what)
        names = names or table.names
        odd = sorted(set(table.names) ^ set(names))
        if odd:
            raise DataError(f"{what} has other columns than piece 1: {quoted(odd)}")
        categories |= table.categories
        X = table.X if table.names == names else table._take(names).X
        n_rows += len(X)
        if sums is None:
            kept.append(X.copy())
            if n_rows * len(names) <= KEPT:
                continue
            labels = f"ordered categories ({quoted(list(categories))})" if categories else None
            if rows_for or labels:
                raise DataError(
                    f"{rows_for or labels}: needs all rows at once, but of a stream with more than "
                    f"{KEPT:,} cells only sums are kept; read a part of the rows into one data frame"
                )
            sums, before = Sums(names), 0
            for rows in kept:
                _add(sums, rows, before, listwise)
                before += len(rows)
            kept.clear()
        else:
            _add(sums, X, n_rows - len(X), listwise)
    if not names:
        raise DataError(
            "data has no pieces; an iterator can be read only once, was it read before?"
        )
    return sums or Table(names, np.concatenate(kept), categories)


def _add(sums: Sums, X: Floats, before: int, listwise: bool) -> None:
    """Add the complete rows of a piece that follows a number of rows."""
    # The sum of a piece is finite if all its cells are; one pass suffices for complete rows.
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(X.sum()):
            sums.add(X)
            return
    finite = np.isfinite(X)
    complete = finite.all(axis=1)
    if np.isinf(X).any() or not (listwise or complete.all()):
        names = [sums.names[i] for i in np.flatnonzero(~finite.all(axis=0))]
        raise DataError(
            f"missing or infinite values in {quoted(names)}, first in row "
            f"{before + int(complete.argmin())}; of so large a table only sums are kept, and rows "
            "with missing values can only be dropped (missing='listwise')"
        )
    sums.n_dropped += int(np.count_nonzero(~complete))
    sums.add(X[complete])
