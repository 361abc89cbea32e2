"""Tables in memory: names and values of the columns that are needed.

A table is an array, a data frame of any library that narwhals supports, or a mapping from names to
columns. True and False are 1 and 0. Ordered categoricals, and columns declared as nominal, are read
as the numbers 0, 1, 2 and so on; other columns without numbers raise an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.sample import Bools, Floats
from bowfree.errors import BowfreeError, DataError, DataWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import short_repr, similar_names

_Read = tuple[tuple[str, ...], Floats]

# The covariance matrix of this many variables takes 800 MB; a search would never end.
_MOST_VARIABLES = 10_000
BOOLEAN = ("False", "True")
"""The labels of columns of True and False; recognized by identity."""
MOST_CATEGORIES = 50  # of a nominal column
# Floating-point numbers represent all integers up to here.
_LARGEST_INTEGER = 2**53


@dataclass(frozen=True, eq=False)
class Observations:
    """A table that has been read; ordered categories are numbers, with their labels by column.

    `clusters` are the labels of the rows, if these are in clusters.
    """

    names: tuple[str, ...]
    values: Floats
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: npt.NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(self.values)


def read_observations(
    table: Any,
    graph: MixedGraph | None,
    what: str,
    *,
    categories: dict[str, tuple[str, ...]] | None = None,
    nominal: Sequence[str] = (),
) -> _Read:
    """Return names and values of the columns for the nodes of a graph, or of all columns.

    The values may be the user's own array and must not be changed. If `what` is "cov", rows are
    selected as well. Ordered categories are refused, unless `categories` is a dictionary, which
    receives the labels by column, also those of booleans and of columns of text that are `nominal`.
    """
    if isinstance(table, str | bytes | os.PathLike):
        raise DataError(
            f"{what} is the string or path {short_repr(table)}: read the file first, for example with "
            "bowfree.datasets.read_table"
        )
    if isinstance(table, Iterator):
        raise DataError(
            f"{what} is an iterator, which can be read only once: compute its moments first, "
            "`bf.moments(pieces)`, and pass these"
        )
    try:
        if isinstance(table, Observations):
            names, values = _select(table, graph, what)
            if categories is not None:
                categories.update(table.categories)
        elif isinstance(table, np.ndarray | list | tuple):
            names, values = _read_array(table, graph, what)
        elif isinstance(table, Mapping):
            names, values = _read_columns(table, graph, what, categories, nominal)
        else:
            names, values = _read_frame(table, graph, what, categories, nominal)
    except (BowfreeError, MemoryError):
        raise
    except Exception as error:  # raised by the library that the object is from
        raise DataError(
            f"{what} cannot be read as a table ({type(error).__name__}: {str(error)[:200]}); pass "
            "an array, a data frame, or a mapping from names to columns"
        ) from error
    if len(names) > _MOST_VARIABLES:
        raise DataError(
            f"{what} has {len(names):,} columns, at most {_MOST_VARIABLES:,} are allowed: select "
            "some (are the observations in rows?)"
        )
    return names, values


def _select(table: Observations, graph: MixedGraph | None, what: str) -> _Read:
    if graph is None or graph.nodes == table.names:
        return table.names, table.values
    position = {name: k for k, name in enumerate(table.names)}
    _check_names(graph.nodes, position, what)
    return graph.nodes, table.values[:, [position[name] for name in graph.nodes]]


def _read_array(table: Any, graph: MixedGraph | None, what: str) -> _Read:
    try:
        values = _unmasked(table)
    except ValueError as error:
        raise DataError(f"{what} is not a table: {error}") from None
    if values.ndim == 0:
        raise DataError(
            f"{what} is of type {type(table).__name__}: pass an array, a data frame, or a mapping "
            "from names to columns"
        )
    if values.ndim != 2 or values.shape[1] == 0:
        hint = " (for one column, x.reshape(-1, 1))" if values.ndim == 1 else ""
        raise DataError(f"{what} has shape {values.shape}: pass a table of rows and columns{hint}")
    if values.dtype.kind not in "iufb":
        raise DataError(
            f"{what} is non-numeric (an array of {values.dtype}): convert it with astype(float), "
            "or pass a data frame, so that the message can name the column"
        )
    d = values.shape[1]
    if graph is not None and len(graph.nodes) != d:
        raise DataError(
            f"{what} is an array of {d} columns and the graph has {len(graph.nodes)} nodes: pass a "
            "data frame, whose columns are matched by name, or select the columns"
        )
    names = tuple(f"x{i + 1}" for i in range(d)) if graph is None else graph.nodes
    return names, _as_floats(values, what)


def _read_columns(
    table: Mapping[Any, Any],
    graph: MixedGraph | None,
    what: str,
    categories: dict[str, tuple[str, ...]] | None,
    nominal: Sequence[str],
) -> _Read:
    """Read a mapping from names to columns; the rows of `cov` are in the order of its columns."""
    position = _positions(list(table), what)
    columns = [_unmasked(column) for column in table.values()]
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    sizes = {column.shape for column in columns}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise DataError(
            f"columns of {what} have shapes {short_repr(sorted(sizes))}: they must have equal length"
        )
    used = {name: columns[position[name]] for name in names}
    labels: dict[str, tuple[str, ...]] = dict(getattr(table, "categories", {}))
    strange: dict[str, Any] = {}
    for name, column in used.items():
        if column.dtype.kind == "b":
            labels[name] = BOOLEAN
        elif column.dtype.kind in "iu":
            used[name] = _as_floats(column, f"column {name!r}")
        elif column.dtype.kind != "f" and name in nominal:
            used[name], labels[name] = to_codes(column.tolist())
        elif column.dtype.kind != "f":
            strange[name] = column.dtype
    if categories is not None:
        categories.update(labels)
    _check_numeric(strange, what)
    values = _as_floats(np.column_stack(list(used.values())), what)
    if what == "cov" and len(values) == len(columns):
        values = values[[position[name] for name in names]]
    return names, values


def _read_frame(
    table: Any,
    graph: MixedGraph | None,
    what: str,
    categories: dict[str, tuple[str, ...]] | None,
    nominal: Sequence[str],
) -> _Read:
    import narwhals as nw

    if type(table).__name__ == "RecordBatch" and type(table).__module__.startswith("pyarrow"):
        import pyarrow

        table = pyarrow.Table.from_batches([table])
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return _read_array(table, graph, what)
    schema, columns = frame.schema, list(frame.columns)
    position = _positions(columns, what)
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    used = [columns[position[name]] for name in names]
    labels_of = {} if categories is None else categories
    words = {c for c in used if str(c) in nominal and not schema[c].is_numeric()}
    ordered = set() if categories is None else {c for c in used if isinstance(schema[c], nw.Enum)}
    strange = {
        str(c): schema[c]
        for c in used
        if c not in ordered | words and not (schema[c].is_numeric() or schema[c] == nw.Boolean)
    }
    many = [
        str(c)
        for c in used
        if str(c) in strange
        and (schema[c].is_temporal() or frame.get_column(c).n_unique() > MOST_CATEGORIES)
    ]
    _check_numeric(strange, what, many)
    values = np.empty((len(frame), len(used)))
    for k, column in enumerate(used):
        series, dtype = frame.get_column(column), schema[column]
        if column in words:
            values[:, k], labels_of[str(column)] = to_codes(series.to_list())
        elif column in ordered and isinstance(dtype, nw.Enum):
            labels = dtype.categories
            number = {label: float(i) for i, label in enumerate(labels)}
            values[:, k] = [number.get(label, np.nan) for label in series.to_list()]
            labels_of[str(column)] = tuple(map(str, labels))
        else:
            if dtype == nw.Boolean:
                labels_of[str(column)] = BOOLEAN
            if dtype.is_integer() and len(series) > series.null_count():
                warn_of_rounding(int(series.min()), int(series.max()), f"column {column!r}")
            values[:, k] = series.cast(nw.Float64).to_numpy()
    if what == "cov":
        values = values[_row_positions(table, position, names, len(values))]
    return names, values


def to_codes(values: Sequence[Any]) -> tuple[Floats, tuple[str, ...]]:
    """Return words as 0, 1, 2 and so on in the order of their labels, and the labels.

    None and NaN are missing values.
    """
    words = [None if v is None or v != v else str(v) for v in values]
    labels = tuple(sorted({word for word in words if word is not None}))
    number = {label: float(i) for i, label in enumerate(labels)}
    return np.array([np.nan if word is None else number[word] for word in words]), labels


def _row_positions(
    table: Any, position: dict[str, int], names: Sequence[str], n_rows: int
) -> list[int]:
    """Return the rows of a covariance data frame, by their labels or in the order of its columns."""
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
    """Return the index of each column by its name as a string."""
    if not columns:
        raise DataError(f"{what} has no columns: pass a table of rows and columns")
    position = {str(column): k for k, column in enumerate(columns)}
    if len(position) < len(columns):
        names = [str(column) for column in columns]
        twice = [name for name, k in position.items() if names.index(name) != k]
        raise DataError(f"{what} has several columns named {quoted(sorted(twice))}: rename them")
    if "" in position:
        raise DataError(f"column {position['']} of {what} has no name: rename it")
    return position


def _unmasked(table: Any) -> npt.NDArray[Any]:
    """Return an array with NaN in place of masked values, which `asarray` would reveal."""
    if isinstance(table, np.ma.MaskedArray) and table.dtype.kind in "iuf":
        return np.ma.filled(_as_floats(table, "the masked array"), np.nan)
    return np.asarray(table)


def _as_floats(values: npt.NDArray[Any], what: str) -> Floats:
    """Return an array as float64, without a copy if it is; too large numbers become infinite."""
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
        hint = f" (did you mean {short_repr(close[0])}?)" if close else ""
        hints.append(short_repr(name) + hint)
    more = f" and {len(missing) - 12} more" if len(missing) > 12 else ""
    raise DataError(
        f"{what} has no column for the graph's node {', '.join(hints)}{more}; its columns are "
        f"{quoted(list(available))}"
    )


def _check_numeric(strange: Mapping[str, Any], what: str, many: Sequence[str] = ()) -> None:
    """Raise an error if a column is not numeric; those with `many` values are not categories."""
    if strange:
        listed = ", ".join(
            f"{name!r} ({str(dtype).partition('(')[0]})"
            for name, dtype in list(strange.items())[:12]
        )
        more = f" and {len(strange) - 12} more" if len(strange) > 12 else ""
        few = [name for name in strange if name not in many]
        categories = f"for unordered categories pass nominal={few!r}; " if few else ""
        raise DataError(
            f"non-numeric column {listed}{more} in {what}: {categories}to drop "
            f"{'it' if len(strange) == 1 else 'all of them'}: {drop_call(list(strange))}; or code them "
            "as numbers; ordered categories are accepted as ordered categoricals of a data frame"
        )


def quoted(names: Sequence[str]) -> str:
    """Return the first dozen names in quotation marks, and the number of the others."""
    listed = ", ".join(short_repr(name) for name in names[:12])
    return listed + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def drop_call(names: Sequence[str]) -> str:
    """Return the call that drops columns; the command line turns it into its own option."""
    return f"data.drop(columns={list(names)!r})"


def split_table(data: Any, part: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return two tables of the given type: the rows to keep, and a random `part` as holdout.

    Clusters are not divided.
    """
    units = np.arange(_n_rows(data))
    if isinstance(data, Observations) and data.clusters is not None:
        units = np.unique(data.clusters, return_inverse=True)[1]
    n = int(units.max(initial=-1)) + 1
    aside = np.isin(units, rng.permutation(n)[: round(part * n)])
    return _filter(data, ~aside), _filter(data, aside)


def take_column(data: Any, name: str) -> tuple[Any, list[Any]]:
    """Return a table without one of its columns, and the values of this column."""
    import narwhals as nw

    if isinstance(data, Observations) and name in data.names:
        kept = [k for k, own in enumerate(data.names) if own != name]
        rest = replace(data, names=tuple(data.names[k] for k in kept), values=data.values[:, kept])
        return rest, data.values[:, data.names.index(name)].tolist()
    if isinstance(data, Mapping) and name in data:
        others = {own: column for own, column in data.items() if own != name}
        return others, list(np.asarray(data[name]).tolist())
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame) and name in frame.columns:
        return frame.drop(name).to_native(), frame.get_column(name).to_list()
    columns = [str(column) for column in getattr(frame, "columns", ())]
    known = f"; the columns are {quoted(columns)}" if columns else ""
    raise DataError(f"data have no column {short_repr(name)} of clusters{known}")


def _n_rows(data: Any) -> int:
    if isinstance(data, Mapping):
        lengths = {np.asarray(column).shape[:1] for column in data.values()}
        if len(lengths) == 1 and (only := lengths.pop()):
            return int(only[0])
    elif hasattr(data, "__len__") or hasattr(data, "__array__"):
        return len(data) if hasattr(data, "__len__") else len(np.asarray(data))
    raise DataError(
        "holdout needs observations in rows; for a covariance matrix or moments, compute them from "
        "a part of the rows, and fit the graph to the others"
    )


def _filter(data: Any, chosen: Bools) -> Any:
    import narwhals as nw

    if isinstance(data, Observations):
        labels = None if data.clusters is None else data.clusters[chosen]
        return replace(data, values=data.values[chosen], clusters=labels)
    if isinstance(data, Mapping):
        return {name: np.asarray(column)[chosen] for name, column in data.items()}
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.filter(chosen.tolist()).to_native()
    return np.asarray(data)[chosen]
