"""Tables of any kind: names and numbers of the columns that are needed, or an error.

Arrays, data frames of any kind that narwhals reads, and mappings from names to columns. Ordered
categories become the numbers 0, 1, 2, ...; they are the only columns without numbers that are
understood, because only there is the order declared.

Next: :mod:`bowfree.data.loader`, which makes moments of what is read here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError, DataError, DataWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import short_repr, similar_names

Floats = npt.NDArray[np.float64]

# A covariance matrix of this many variables takes 800 MB; a search is lost long before.
_MOST_VARIABLES = 10_000
# Floating-point numbers hold all integers up to here.
_LARGEST_INTEGER = 2**53


@dataclass(frozen=True, eq=False)
class Observations:
    """A table that has been read: for whoever looks at the same one twice.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values : ndarray of shape (n, d)
        Observations in rows; ordered categories as numbers.
    categories : dict
        The labels of those, by column.
    """

    names: tuple[str, ...]
    values: Floats
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)


def read_observations(
    table: Any,
    graph: MixedGraph | None,
    what: str,
    *,
    categories: dict[str, tuple[str, ...]] | None = None,
) -> tuple[tuple[str, ...], Floats]:
    """Names and values of the columns that are needed; for `cov` the rows are selected alike.

    The values may be the user's own array: read them, do not write to them. Columns of ordered
    categories are refused, unless there is a dictionary for `categories`: it is told those of
    every such column, whose values are their numbers.
    """
    if isinstance(table, str | bytes | os.PathLike):
        raise DataError(
            f"{what} is the text or path {short_repr(table)}: read the file first, for example with "
            "pandas.read_csv; on the command line, `bowfree learn data.csv` does"
        )
    if isinstance(table, Iterator):
        raise DataError(
            f"{what} comes in pieces that can be read only once: make moments of them first, "
            "`bf.moments(pieces)`, and give these"
        )
    try:
        if isinstance(table, Observations):
            names, values = _reselect(table, graph, what)
            if categories is not None:
                categories.update(table.categories)
        elif isinstance(table, np.ndarray | list | tuple):
            names, values = _read_array(table, graph, what)
        elif isinstance(table, Mapping):
            names, values = _read_columns(table, graph, what)
        else:
            names, values = _read_frame(table, graph, what, categories)
    except (BowfreeError, MemoryError):
        raise
    except Exception as error:  # of whatever library the object is from
        raise DataError(
            f"{what} cannot be read as a table ({type(error).__name__}: {str(error)[:200]}); give "
            "an array, a data frame, or a mapping from names to columns"
        ) from error
    if len(names) > _MOST_VARIABLES:
        raise DataError(
            f"{what} has {len(names):,} columns, and {_MOST_VARIABLES:,} is the most there can be: "
            "select some (are the observations in rows?)"
        )
    return names, values


def _reselect(
    table: Observations, graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    if graph is None or graph.nodes == table.names:
        return table.names, table.values
    position = {name: k for k, name in enumerate(table.names)}
    _check_names(graph.nodes, position, what)
    return graph.nodes, table.values[:, [position[name] for name in graph.nodes]]


def _read_array(table: Any, graph: MixedGraph | None, what: str) -> tuple[tuple[str, ...], Floats]:
    try:
        values = _unmasked(table)
    except ValueError as error:
        raise DataError(f"{what} is not a table: {error}") from None
    if values.ndim == 0:
        raise DataError(
            f"{what} is of type {type(table).__name__}: an array, a data frame, or a mapping from "
            "names to columns is needed"
        )
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(
            f"{what} has shape {values.shape}: a table with rows and columns is needed"
            + (" (one column is x.reshape(-1, 1))" if values.ndim == 1 else "")
        )
    if values.dtype.kind not in "iuf":
        raise DataError(
            f"{what} is non-numeric (an array of {values.dtype}): convert it with astype(float), "
            "or pass a data frame so that the column at fault can be named"
        )
    d = values.shape[1]
    if graph is None:
        names = tuple(f"x{i + 1}" for i in range(d))
    elif len(graph.nodes) == d:
        names = graph.nodes
    else:
        raise DataError(
            f"{what} is an array of {d} columns and the graph has {len(graph.nodes)} nodes: pass a "
            "data frame, whose columns are matched by name, or select the columns"
        )
    return names, _as_floats(values, what)


def _read_columns(
    table: Mapping[Any, Any], graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Read a mapping from names to columns; the rows of `cov` are in the order of its columns."""
    position = _positions(list(table), what)
    columns = [_unmasked(column) for column in table.values()]
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    sizes = {column.shape for column in columns}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise DataError(
            f"columns of {what} have shapes {short_repr(sorted(sizes))}: they must be equally long"
        )
    used = [columns[position[name]] for name in names]
    strange = {
        name: column.dtype
        for name, column in zip(names, used, strict=True)
        if column.dtype.kind not in "iuf"
    }
    _check_numeric(strange, what)
    values = np.column_stack(
        [_as_floats(column, f"column {name!r}") for name, column in zip(names, used, strict=True)]
    )
    if what == "cov" and len(values) == len(columns):
        values = values[[position[name] for name in names]]
    return names, values


def _read_frame(
    table: Any,
    graph: MixedGraph | None,
    what: str,
    categories: dict[str, tuple[str, ...]] | None,
) -> tuple[tuple[str, ...], Floats]:
    import narwhals as nw

    if type(table).__name__ == "RecordBatch" and type(table).__module__.startswith("pyarrow"):
        import pyarrow

        table = pyarrow.Table.from_batches([table])
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return _read_array(table, graph, what)
    schema = frame.schema
    columns = list(frame.columns)
    position = _positions(columns, what)
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    used = [columns[position[name]] for name in names]
    ordered = {c: dtype for c in used if isinstance(dtype := schema[c], nw.Enum)}
    if categories is None:
        ordered = {}
    _check_numeric(
        {str(c): dtype for c in used if c not in ordered and not (dtype := schema[c]).is_numeric()},
        what,
    )
    values = np.empty((len(frame), len(used)))
    for k, column in enumerate(used):
        series = frame.get_column(column)
        if column in ordered and categories is not None:
            labels = ordered[column].categories
            number = {label: float(i) for i, label in enumerate(labels)}
            values[:, k] = [number.get(label, np.nan) for label in series.to_list()]
            categories[str(column)] = tuple(map(str, labels))
        else:
            if schema[column].is_integer() and len(series) > series.null_count():
                warn_of_rounding(int(series.min()), int(series.max()), f"column {column!r}")
            values[:, k] = series.cast(nw.Float64).to_numpy()
    if what == "cov":
        values = values[_row_positions(table, position, names, len(values))]
    return names, values


def _row_positions(
    table: Any, position: dict[str, int], names: Sequence[str], n_rows: int
) -> list[int]:
    """Rows of a covariance data frame: by their labels where it has some, else as its columns."""
    if n_rows != len(position):
        raise DataError(f"cov has shape {(n_rows, len(position))}: a covariance matrix is square")
    labels = list(getattr(table, "index", range(n_rows)))
    rows = {str(label): k for k, label in enumerate(labels)}
    if set(rows) != set(position):
        if labels != list(range(n_rows)):
            odd = sorted(set(rows) ^ set(position))
            raise DataError(f"rows and columns of cov have different labels: {quoted(odd)}")
        rows = position
    return [rows[name] for name in names]


def _positions(columns: Sequence[Any], what: str) -> dict[str, int]:
    """Return the place of each column by its name as text."""
    if not columns:
        raise DataError(f"{what} has no columns: a table with rows and columns is needed")
    position = {str(column): k for k, column in enumerate(columns)}
    if len(position) < len(columns):
        names = [str(column) for column in columns]
        twice = [name for name, k in position.items() if names.index(name) != k]
        raise DataError(f"{what} has several columns named {quoted(sorted(twice))}: rename them")
    if "" in position:
        raise DataError(f"column {position['']} of {what} has no name: give it one")
    return position


def _unmasked(table: Any) -> npt.NDArray[Any]:
    """Return an array, with NaN where it is masked: `asarray` would show what is behind."""
    if isinstance(table, np.ma.MaskedArray) and table.dtype.kind in "iuf":
        return np.ma.filled(_as_floats(table, "the masked array"), np.nan)
    return np.asarray(table)


def _as_floats(values: npt.NDArray[Any], what: str) -> Floats:
    """Return an array as float64, without a copy if it is; large numbers become infinite."""
    if values.dtype == np.float64:
        return values
    if values.dtype.kind in "iu" and values.size:
        warn_of_rounding(int(values.min()), int(values.max()), what)
    with np.errstate(over="ignore"):
        return values.astype(np.float64)


def warn_of_rounding(smallest: int, largest: int, what: str) -> None:
    """Warn of integers that are rounded when they become floating-point numbers."""
    if max(-smallest, largest) > _LARGEST_INTEGER:
        warn(
            f"{what} has integers beyond 2**53, such as {max(-smallest, largest)}, which are rounded "
            "to floating-point numbers; subtract an offset, or drop identifiers",
            DataWarning,
        )


def _check_names(names: Sequence[str], available: dict[str, int], what: str) -> None:
    missing = [name for name in names if name not in available]
    if not missing:
        return
    hints = []
    for name in missing[:12]:
        close = similar_names(name, available)
        hints.append(
            f"{short_repr(name)} (did you mean {short_repr(close[0])}?)"
            if close
            else short_repr(name)
        )
    more = f" and {len(missing) - 12} more" if len(missing) > 12 else ""
    raise DataError(
        f"{what} has no column for the graph's node {', '.join(hints)}{more}; its columns are "
        f"{quoted(list(available))}"
    )


def _check_numeric(strange: Mapping[str, Any], what: str) -> None:
    if strange:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(strange.items())[:12])
        more = f" and {len(strange) - 12} more" if len(strange) > 12 else ""
        raise DataError(
            f"non-numeric column {listed}{more} in {what}: drop it or code it as numbers; "
            "categories that have an order are understood as ordered categoricals of a data frame"
        )


def quoted(names: Sequence[str]) -> str:
    """Return the first dozen names, in quotation marks, and how many there are besides."""
    listed = ", ".join(short_repr(name) for name in names[:12])
    return listed + (f" and {len(names) - 12} more" if len(names) > 12 else "")
