"""Tables that are read in pieces, because they have more rows than fit into memory.

A stream is an iterator of tables (a generator, ``pandas.read_csv(..., chunksize=...)``, an Arrow
reader), a lazy frame of polars, a dataset of pyarrow or a data frame of dask. It is read once. A
small table is kept. Of a larger one only n, means and covariances are kept (:class:`Sums`), in
memory that does not grow. They are as exact as those of a table in memory, because

- deviations are taken from a value inside the data, so that an offset of 1e9 costs no digits;
- sums of squares are about the mean of their own block, and are merged by the identity of Chan,
  Golub and LeVeque.

Blocks have a fixed number of rows, so that the result does not depend on the size of the pieces.

References
----------
T. Chan, G. Golub, R. LeVeque, Algorithms for computing the sample variance, American Statistician
1983.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import check_scale
from bowfree.data.frames import Observations, quoted, read_observations
from bowfree.data.sample import Summary, cross_products
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph

Floats = npt.NDArray[np.float64]

# Number of cells up to which a stream is kept in memory (128 MB).
KEPT = 2**24
# Number of rows of a block, a power of two; fewer in a table with many columns (64 MB).
_BLOCK, _BLOCK_CELLS = 2**14, 2**23
_HEAD = 1000
_BATCH = 2**16  # number of rows of a piece of a lazy frame


class Sums:
    """Number, means and sums of squares of rows.

    Parameters
    ----------
    names : tuple of str
        The columns.

    Attributes
    ----------
    n, n_dropped : int
        Numbers of complete rows, and of rows with missing values, which were dropped.
    head : ndarray
        The first rows.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        d = len(names)
        self.names = names
        self.n = self.n_dropped = 0
        self.head = np.empty((0, d))
        self._base = np.zeros(d)  # a value inside the data; all means are relative to it
        self._mean = np.zeros(d)
        self._squares = np.zeros((d, d))
        self._block = np.empty((_power_of_two(min(_BLOCK, _BLOCK_CELLS // d)), d))
        self._filled = 0

    def add(self, X: Floats) -> None:
        """Add complete rows."""
        self.head = np.concatenate([self.head, X[: max(0, _HEAD - len(self.head))]])
        start = 0
        while start < len(X):
            stop = min(start + len(self._block) - self._filled, len(X))
            self._block[self._filled : self._filled + stop - start] = X[start:stop]
            self._filled += stop - start
            start = stop
            if self._filled == len(self._block):
                self._close_block()

    def _close_block(self) -> None:
        m, self._filled = self._filled, 0
        if not m:
            return
        rows = self._block[:m]
        with np.errstate(over="ignore", invalid="ignore"):  # checked in `summary`
            if not self.n:
                # An element of the column, so that the deviations of constant columns are zero.
                self._base = np.partition(rows, m // 2, axis=0)[m // 2].copy()
            rows -= self._base
            mean = rows.mean(axis=0)
            rows -= mean
            self._merge(m, mean, cross_products(rows, rows))

    def _merge(self, m: int, mean: Floats, squares: Floats) -> None:
        total = self.n + m
        shift = mean - self._mean
        self._squares += squares + np.outer(shift, shift) * (self.n * m / total)
        self._mean = self._mean + shift * (m / total)
        self.n = total

    def sealed(self) -> Sums:
        """Return the sums without the memory for further rows."""
        self._close_block()
        self._block = np.empty((0, len(self.names)))
        return self

    def merge(self, other: Sums) -> None:
        """Add the rows of other sums, after those of this one."""
        self._close_block()
        other._close_block()
        self.head = np.concatenate([self.head, other.head[: max(0, _HEAD - len(self.head))]])
        if not self.n:
            self._base = other._base
        self.n_dropped += other.n_dropped
        if other.n:
            self._merge(other.n, (other._base - self._base) + other._mean, other._squares)

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


def _power_of_two(most: int) -> int:
    """Return the largest power of two up to a number, at least 1."""
    return int(2 ** (max(1, most).bit_length() - 1))


def is_stream(data: Any) -> bool:
    """Return whether data are a stream."""
    return isinstance(data, Iterator) or _library(data) is not None


def _library(data: Any) -> str | None:
    """Return the library of a lazy frame or dataset, without importing it."""
    library = type(data).__module__.partition(".")[0]
    methods = {
        "polars": ("collect_schema", "sink_parquet"),
        "pyarrow": ("to_batches", "scanner"),
        "dask": ("to_delayed", "columns"),
    }
    if library.startswith("dask"):
        library = "dask"
    found = library in methods and all(hasattr(data, name) for name in methods[library])
    return library if found else None


def read_stream(
    data: Any,
    wanted: tuple[str, ...] | None,
    *,
    listwise: bool = False,
    rows_for: str | None = None,
) -> Observations | Sums:
    """Return the table of a stream if it is small, or else its sums.

    Parameters
    ----------
    data : iterator of tables, polars.LazyFrame, pyarrow.dataset.Dataset or dask.dataframe.DataFrame
        The stream.
    wanted : tuple of str, optional
        The columns to read; by default all.
    listwise : bool
        Drop rows with missing values; by default they raise an error if only sums are kept.
    rows_for : str, optional
        Name of an option that needs all rows at once; a large table then raises an error.
    """
    library = _library(data)
    graph = None if wanted is None else MixedGraph(wanted)
    if library == "dask":  # the workers send sums, not rows
        dask: Any = import_module("dask")
        parts = data.to_delayed()
        read, limit = dask.delayed(_read_partition), KEPT // max(1, len(parts))
        tasks = (read(part, k, graph, limit, listwise, rows_for) for k, part in enumerate(parts))
        return _combine(dask.compute(*tasks), KEPT, listwise, rows_for)
    if library == "polars":
        pieces = lazy_batches(data.select(_known(wanted, data.collect_schema().names())))
    elif library == "pyarrow":
        # Little is read ahead: the default, sixteen batches, can take several hundred megabytes.
        columns = _known(wanted, data.schema.names)
        pieces = data.to_batches(columns=columns, batch_readahead=4, fragment_readahead=1)
    else:
        pieces = data
    tables = (_read(piece, graph, f"piece {k + 1} of data") for k, piece in enumerate(pieces))
    return _combine(tables, KEPT, listwise, rows_for)


def _known(wanted: tuple[str, ...] | None, names: list[str]) -> list[str]:
    """Return the columns to read; an error about missing ones comes later."""
    return names if wanted is None else [name for name in wanted if name in names]


def lazy_batches(frame: Any) -> Iterator[Any]:
    """Yield the rows of a polars.LazyFrame in order, in data frames of limited size."""
    if hasattr(frame, "collect_batches"):
        # The default is whole row groups of Parquet files, often a million rows.
        return iter(frame.collect_batches(maintain_order=True, chunk_size=_BATCH))
    return iter([frame.collect()])


def _read(piece: Any, graph: MixedGraph | None, what: str) -> Observations:
    categories: dict[str, tuple[str, ...]] = {}
    return Observations(*read_observations(piece, graph, what, categories=categories), categories)


def _read_partition(
    frame: Any,
    k: int,
    graph: MixedGraph | None,
    limit: int,
    listwise: bool,
    rows_for: str | None,
) -> Observations | Sums:
    """Read a partition of a dask data frame, on a worker."""
    found = _combine([_read(frame, graph, f"partition {k}")], limit, listwise, rows_for)
    return found.sealed() if isinstance(found, Sums) else found


def _combine(
    pieces: Iterable[Observations | Sums], limit: int, listwise: bool, rows_for: str | None
) -> Observations | Sums:
    """Return all rows, or their sums if they have more cells than the limit."""
    kept: list[Floats] = []
    categories: dict[str, tuple[str, ...]] = {}
    names: tuple[str, ...] = ()
    sums: Sums | None = None
    n_rows = 0
    for k, piece in enumerate(pieces):
        names = names or piece.names
        if set(piece.names) != set(names):
            odd = sorted(set(piece.names) ^ set(names))
            raise DataError(f"piece {k + 1} of data has other columns than piece 1: {quoted(odd)}")
        if isinstance(piece, Observations):
            order = [piece.names.index(name) for name in names]
            X = piece.values if piece.names == names else piece.values[:, order]
            categories.update(piece.categories)
        if sums is None and (isinstance(piece, Sums) or (n_rows + len(X)) * len(names) > limit):
            _check_sums_suffice(rows_for, categories)
            sums, begun = Sums(names), 0
            for rows in kept:
                _add(sums, rows, begun, listwise)
                begun += len(rows)
            kept.clear()
        if isinstance(piece, Sums):
            assert sums is not None
            sums.merge(piece)
            n_rows += piece.n + piece.n_dropped
            continue
        if sums is None:
            kept.append(X.copy())
        else:
            _add(sums, X, n_rows, listwise)
        n_rows += len(X)
    if not names:
        raise DataError(
            "data has no pieces; an iterator can be read only once, was it read before?"
        )
    return sums or Observations(names, np.concatenate(kept), categories)


def _check_sums_suffice(rows_for: str | None, categories: dict[str, tuple[str, ...]]) -> None:
    what = rows_for or (f"ordered categories ({quoted(list(categories))})" if categories else None)
    if what is not None:
        raise DataError(
            f"{what}: needs all rows at once, but of a stream with more than {KEPT:,} cells only "
            "sums are kept; read a part of the rows into one data frame"
        )


def _add(sums: Sums, X: Floats, begun: int, listwise: bool) -> None:
    """Add the complete rows of a piece, whose first row is number `begun`."""
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
            f"{begun + int(complete.argmin())}; of so large a table only sums are kept, and rows "
            "with missing values can only be dropped (missing='listwise')"
        )
    sums.n_dropped += int(np.count_nonzero(~complete))
    sums.add(X[complete])
