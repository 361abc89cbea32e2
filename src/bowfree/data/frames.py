"""Tables in memory: names and values of the columns that are needed, weights and clusters of rows.

A table is an array, a data frame of any library that narwhals supports, or a mapping from names to
columns. True and False are 1 and 0. Ordered categoricals, and columns declared as nominal, are read
as the numbers 0, 1, 2 and so on; other columns without numbers raise an error.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.sample import Floats
from bowfree.errors import BowfreeError, DataError, DataWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import short_repr, similar_names

# The covariance matrix of this many variables takes 800 MB; a search would never end.
_MOST_VARIABLES = 10_000
BOOLEAN = ("False", "True")
"""The labels of columns of True and False; recognized by identity."""
MOST_CATEGORIES = 50  # of a nominal column
# Floating-point numbers represent all integers up to here.
_LARGEST_INTEGER = 2**53
# A row whose weight is smaller than this fraction of the largest one is lost in rounding.
_SMALLEST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, Floats]):
    """A mapping from column names to columns of numbers, which every function takes as data.

    ``pandas.DataFrame(dict(table))`` makes a data frame of it.

    Attributes
    ----------
    names : tuple of str
        The columns, in their order.
    X : ndarray of shape (n, d)
        Observations in rows; missing values are NaN.
    categories : dict of str to tuple of str
        Labels of nominal columns, whose values are 0, 1, 2 and so on, and of True and False.
    clusters : ndarray of str, optional
        Labels of the rows, if these are in clusters.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> table = bf.datasets.Table(("x", "y"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> table["y"]
    array([2., 4.])
    """

    names: tuple[str, ...]
    X: Floats
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: npt.NDArray[np.str_] | None = None

    def __getitem__(self, name: str) -> Floats:
        if name not in self.names:
            raise KeyError(name)
        return self.X[:, self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Table of {len(self.X)} rows: {', '.join(self.names)}>"

    def _take(self, names: Sequence[str]) -> Table:
        """Return the table with some of the columns, in the given order."""
        chosen = [self.names.index(name) for name in names]
        labels = {name: words for name, words in self.categories.items() if name in names}
        return Table(tuple(names), np.ascontiguousarray(self.X[:, chosen]), labels, self.clusters)

    def _rows(self, chosen: Any) -> Table:
        """Return the table with some of the rows."""
        clusters = None if self.clusters is None else self.clusters[chosen]
        return replace(self, X=self.X[chosen], clusters=clusters)


def read_observations(
    table: Any, graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Return names and values of the columns as `read_table` does; ordered categories are refused."""
    found = read_table(table, graph, what, ordered=False)
    return found.names, found.X


def read_table(
    table: Any,
    graph: MixedGraph | None,
    what: str,
    *,
    nominal: Sequence[str] = (),
    ordered: bool = True,
) -> Table:
    """Return the columns for the nodes of a graph, or all columns.

    The values may be the user's own array and must not be changed. If `what` is "cov", rows are
    selected as well. The labels of ordered categories, of booleans and of columns of text that are
    `nominal` are in ``categories``.
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
        if isinstance(table, np.ndarray | list | tuple):
            found = _read_array(table, graph, what)
        elif isinstance(table, Mapping):
            found = _read_columns(table, graph, what, nominal)
        else:
            found = _read_frame(table, graph, what, nominal, ordered)
    except (BowfreeError, MemoryError):
        raise
    except Exception as error:  # raised by the library that the object is from
        raise DataError(
            f"{what} cannot be read as a table ({type(error).__name__}: {str(error)[:200]}); pass "
            "an array, a data frame, or a mapping from names to columns"
        ) from error
    if len(found.names) > _MOST_VARIABLES:
        raise DataError(
            f"{what} has {len(found.names):,} columns, at most {_MOST_VARIABLES:,} are allowed: "
            "select some (are the observations in rows?)"
        )
    return found


def _read_array(table: Any, graph: MixedGraph | None, what: str) -> Table:
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
    return Table(names, _as_floats(values, what))


def _read_columns(
    table: Mapping[Any, Any], graph: MixedGraph | None, what: str, nominal: Sequence[str]
) -> Table:
    """Read a mapping from names to columns; the rows of `cov` are in the order of its columns."""
    position = _positions(list(table), what)
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    if isinstance(table, Table) and what != "cov":
        return table if names == table.names else table._take(names)
    columns = [_unmasked(column) for column in table.values()]
    sizes = {column.shape for column in columns}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise DataError(
            f"columns of {what} have shapes {short_repr(sorted(sizes))}: they must have equal length"
        )
    used = {name: columns[position[name]] for name in names}
    labels: dict[str, tuple[str, ...]] = {}
    strange: dict[str, Any] = {}
    for name, column in used.items():
        if column.dtype.kind == "b":
            labels[name] = BOOLEAN
        elif column.dtype.kind in "iu":
            used[name] = _as_floats(column, f"column {name!r}")
        elif column.dtype.kind != "f" and name in nominal:
            used[name], labels[name] = _to_codes(column.tolist())
        elif column.dtype.kind != "f":
            strange[name] = column.dtype
    _check_numeric(strange, what)
    values = _as_floats(np.column_stack(list(used.values())), what)
    if what == "cov" and len(values) == len(columns):
        values = values[[position[name] for name in names]]
    return Table(names, values, labels)


def _data_frame(table: Any) -> Any:
    """Return a data frame of narwhals, or another object unchanged."""
    import narwhals as nw

    if type(table).__name__ == "RecordBatch" and type(table).__module__.startswith("pyarrow"):
        import pyarrow

        table = pyarrow.Table.from_batches([table])
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError("several columns have the same name: rename them") from error
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _read_frame(
    table: Any, graph: MixedGraph | None, what: str, nominal: Sequence[str], ordered: bool
) -> Table:
    import narwhals as nw

    frame = _data_frame(table)
    if not isinstance(frame, nw.DataFrame):
        return _read_array(table, graph, what)
    schema, columns = frame.schema, list(frame.columns)
    position = _positions(columns, what)
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    values = np.empty((len(frame), len(names)))
    labels: dict[str, tuple[str, ...]] = {}
    strange: dict[str, Any] = {}
    for k, name in enumerate(names):
        column = columns[position[name]]
        series, dtype = frame.get_column(column), schema[column]
        if dtype.is_numeric() or dtype == nw.Boolean:
            if dtype == nw.Boolean:
                labels[name] = BOOLEAN
            elif dtype.is_integer() and len(series) > series.null_count():
                warn_of_rounding(int(series.min()), int(series.max()), f"column {column!r}")
            values[:, k] = series.cast(nw.Float64).to_numpy()
        elif name in nominal:
            values[:, k], labels[name] = _to_codes(series.to_list())
        elif ordered and isinstance(dtype, nw.Enum):
            number = {label: float(i) for i, label in enumerate(dtype.categories)}
            values[:, k] = [number.get(label, np.nan) for label in series.to_list()]
            labels[name] = tuple(map(str, dtype.categories))
        else:
            strange[name] = dtype
    _check_numeric(strange, what)
    if what == "cov":
        values = values[_row_positions(table, position, names, len(values))]
    return Table(names, values, labels)


def _to_codes(values: Sequence[Any]) -> tuple[Floats, tuple[str, ...]]:
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
    names = [str(column) for column in columns]
    position = {name: k for k, name in enumerate(names)}
    if len(position) < len(columns):
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
    if missing:
        close = similar_names(missing[0], available)
        hint = f" (did you mean {short_repr(close[0])}?)" if close else ""
        raise DataError(
            f"{what} has no column for the graph's node {quoted(missing)}{hint}; its columns are "
            f"{quoted(list(available))}"
        )


def _check_numeric(strange: Mapping[str, Any], what: str) -> None:
    """Raise an error if columns are not numeric; those that are not dates may be categories."""
    if strange:
        listed = [f"{name!r} ({str(kind).partition('(')[0]})" for name, kind in strange.items()]
        words = [n for n, kind in strange.items() if not re.match("(?i)date|time|dur", str(kind))]
        categories = f"for unordered categories pass nominal={words!r}; " if words else ""
        raise DataError(
            f"non-numeric column {first_few(listed)} in {what}: {categories}to drop "
            f"{'it' if len(strange) == 1 else 'all of them'}: {drop_call(list(strange))}; or code them "
            "as numbers; ordered categories are accepted as ordered categoricals of a data frame"
        )


def first_few(items: Sequence[str], what: str = "") -> str:
    """Return the first dozen items, and the number of the others, as "... and 3 more `what`"."""
    more = f" and {len(items) - 12} more{what}" if len(items) > 12 else ""
    return ", ".join(items[:12]) + more


def quoted(names: Sequence[str]) -> str:
    """Return the first dozen names in quotation marks, and the number of the others."""
    return first_few([short_repr(name) for name in names])


def drop_call(names: Sequence[str]) -> str:
    """Return the call that drops columns; the command line turns it into its own option."""
    return f"data.drop(columns={list(names)!r})"


# --- rows: clusters, weights, parts ---------------------------------------------------------------


def take_column(data: Any, name: Any, what: str) -> tuple[Any, list[Any]]:
    """Return a table without one of its columns, and the values of this column."""
    import narwhals as nw

    columns: Any = data
    if not isinstance(data, Mapping):
        frame = _data_frame(data)
        if not isinstance(frame, nw.DataFrame):
            raise DataError(
                f"{what} = {short_repr(name)}: needs a data frame or a mapping from names to "
                f"columns, not {type(data).__name__}"
            )
        # By index, because a name may be any object.
        columns = {own: frame[:, k].to_numpy() for k, own in enumerate(frame.columns)}
    if not isinstance(name, str) or name not in columns:
        raise DataError(
            f"{what} = {short_repr(name)}: the data have no such column, only "
            f"{quoted(list(columns))}"
        )
    others = [own for own in columns if own != name]
    rest = columns._take(others) if isinstance(columns, Table) else {k: columns[k] for k in others}
    return rest, np.asarray(columns[name]).tolist()


def take_clusters(
    data: Any, clusters: Any, graph: MixedGraph | None = None
) -> tuple[Any, npt.NDArray[np.str_] | None]:
    """Return the data without the column of clusters, and the labels of the rows.

    A column that is a node of the graph stays.
    """
    labels: Any = clusters
    if labels is None:
        return data, None
    if isinstance(data, Table) and data.clusters is not None:
        return data, data.clusters
    if isinstance(labels, str):
        rest, labels = take_column(data, labels, "clusters")
        data = data if graph is not None and clusters in graph.nodes else rest
    try:
        cells = np.asarray(labels, dtype=object)
        words = np.array([str(label) for label in cells.tolist()] if cells.ndim == 1 else [])
    except Exception:  # raised by the library that the object is from
        cells = words = np.zeros(())
    if cells.ndim != 1:
        raise DataError(f"clusters = {short_repr(labels)}: must be one label for each row")
    if np.isin(words, ("None", "nan", "NaT", "<NA>")).any():
        raise DataError("clusters has missing labels: drop these rows, or give each its own label")
    return data, words


def take_weights(table: Table, data: Any, weights: Any) -> tuple[Table, Floats | None]:
    """Return the table without the column of weights, and the weights scaled to mean one."""
    if weights is None:
        return table, None
    if isinstance(weights, str):
        if weights in table.names:
            keep = [k for k, name in enumerate(table.names) if name != weights]
            w, names = table[weights], tuple(table.names[k] for k in keep)
            table = replace(table, names=names, X=table.X[:, keep])
        else:  # a column that the graph does not have
            w = read_observations(data, MixedGraph([weights]), "data")[1][:, 0]
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # complex numbers must not lose their second part
                w = np.asarray(weights, dtype=np.float64)
        except Exception:  # raised by the library that the object is from
            raise DataError(f"weights = {short_repr(weights)}: must be numbers") from None
    if w.shape != (len(table.X),):
        raise DataError(
            f"weights has shape {w.shape}: must be one weight for each of {len(table.X)} rows"
        )
    if not (np.isfinite(w).all() and (w > 0).all()):
        k = int(np.flatnonzero(~(np.isfinite(w) & (w > 0)))[0])
        raise DataError(
            f"weights has {w[k]:g} in row {k}: must be positive numbers; drop such rows"
        )
    w = w / w.max()
    if w.min() < _SMALLEST_WEIGHT:
        raise DataError(
            f"weights differ by a factor of more than {1 / _SMALLEST_WEIGHT:g}; drop the rows with "
            "the smallest weights"
        )
    return table, w / w.mean()


def split_table(data: Any, part: float, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return two tables: the rows to keep, and a random `part` as holdout.

    Clusters are not divided.
    """
    if not (hasattr(data, "__len__") or hasattr(data, "__array__")):
        raise DataError(
            "holdout needs observations in rows; for a covariance matrix or moments, compute them "
            "from a part of the rows, and fit the graph to the others"
        )
    table = read_table(data, None, "data")
    units = np.arange(len(table.X))
    if table.clusters is not None:
        units = np.unique(table.clusters, return_inverse=True)[1]
    n = int(units.max(initial=-1)) + 1
    aside = np.isin(units, rng.permutation(n)[: round(part * n)])
    return table._rows(~aside), table._rows(aside)
