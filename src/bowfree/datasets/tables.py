"""Tables of numbers with named columns, from files, without a data-frame library.

The command line and the data sets that ship with bowfree must work where neither pandas nor
polars is installed. A `Table` is a mapping from column names to columns, so that every function
that takes data takes it, and ``pandas.DataFrame(dict(table))`` makes a data frame of it.
`read_table` reads CSV and TSV itself; Parquet needs pyarrow. `read_covariance` reads a matrix that
may have the names of its rows in the first column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError, ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name, write_line, write_name
from bowfree.text_input import brief, close_names, listed, number, read_text, shown

__all__ = ["Table", "parse_table", "read_covariance", "read_table", "write_table"]

Floats = npt.NDArray[np.float64]

# What R, pandas, Stata and people write for "not measured".
_MISSING = {"", "na", "nan", "n/a", "null", "none", "."}


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, Floats]):
    """Numbers with named columns.

    Attributes
    ----------
    names : tuple of str
        The columns, in their order.
    X : ndarray of shape (n, d)
        Observations in rows.

    Examples
    --------
    >>> from bowfree.datasets.tables import Table
    >>> import numpy as np
    >>> table = Table(("x", "y"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> table["y"]
    array([2., 4.])
    """

    names: tuple[str, ...]
    X: Floats

    def __getitem__(self, name: str) -> Floats:
        try:
            return self.X[:, self.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Table of {len(self.X)} rows: {', '.join(self.names)}>"


def read_table(path: str | Path, *, columns: Sequence[str] | None = None) -> Table:
    r"""Read a table from a file: ``.csv``, ``.tsv``, ``.txt`` (tab-separated) or ``.parquet``.

    Parameters
    ----------
    path : str or Path
        The first line of a text file has the columns' names.
    columns : sequence of str, optional
        The columns to read, in this order; the others need not be numbers. By default all.

    Returns
    -------
    Table
        Missing values are NaN.

    Raises
    ------
    ParseError
        With line and column, if a cell is no number or a line has too many or too few cells.
    DataError
        If the file's kind is not known.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bowfree.datasets.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.csv")
    ...     _ = path.write_text("x,y\n1,2\n3,4\n")
    ...     read_table(path)
    <Table of 2 rows: x, y>
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, columns)
    text, separator = _read_text(path)
    return parse_table(text, separator=separator, what=path.name, columns=columns)


def read_covariance(path: str | Path, *, columns: Sequence[str] | None = None) -> Table:
    r"""Read a covariance matrix; its rows may have names in the first column, in any order.

    Parameters
    ----------
    path : str or Path
        A text file as for `read_table`, with as many rows as named columns. Rows without names are
        in the order of the columns.
    columns : sequence of str, optional
        The variables to keep, in this order. By default all.

    Returns
    -------
    Table
        Rows in the order of the columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bowfree.datasets.tables import read_covariance
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cov.csv")
    ...     _ = path.write_text(",x,y\ny,0.5,2\nx,1,0.5\n")
    ...     read_covariance(path).X
    array([[1. , 0.5],
           [0.5, 2. ]])
    """
    path = Path(path)
    text, separator = _read_text(path)
    reader = CsvReader(text, separator=separator, what=path.name)
    rows = list(reader)
    # One more column than rows: the first one has the names of the rows.
    first = 1 if rows and len(rows) == len(rows[0].cells) else 0
    labels = [read_name(row.cells[0]) for row in rows[1:]]
    table = _fill(reader, rows, None, first=first)
    d = len(table.names)
    if len(table.X) != d:
        raise DataError(
            f"{path.name}: {len(table.X)} rows and {d} columns; a covariance matrix is square"
        )
    place = {name: k for k, name in enumerate(labels if first else table.names)}
    if place.keys() != set(table.names):
        odd = sorted(place.keys() ^ set(table.names))
        raise DataError(f"{path.name}: rows and columns have different names: {listed(odd)}")
    chosen = _chosen(columns, table.names, path.name)
    names = tuple(table.names[k] for k in chosen)
    return Table(names, table.X[np.ix_([place[name] for name in names], chosen)])


def _read_text(path: Path) -> tuple[str, str]:
    """Return the text of a file, and what stands between two of its cells."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".tsv", ".txt"):
        raise DataError(f"{path.name}: unknown kind of table; use .csv, .tsv, .txt or .parquet")
    return read_text(path), "," if kind == ".csv" else "\t"


def parse_table(
    text: str,
    *,
    separator: str = ",",
    what: str = "table",
    columns: Sequence[str] | None = None,
) -> Table:
    r"""Read a table from text; the first line has the names.

    Parameters
    ----------
    text : str
        The table.
    separator : str
        What stands between two cells.
    what : str
        What to call the text in messages.
    columns : sequence of str, optional
        The columns to read, in this order; the others need not be numbers. By default all.

    Examples
    --------
    >>> from bowfree.datasets.tables import parse_table
    >>> parse_table("x,y\n1,NA\n")["y"]
    array([nan])
    """
    reader = CsvReader(text, separator=separator, what=what)
    return _fill(reader, reader, columns)


def _fill(
    reader: CsvReader, rows: Iterable[Row], columns: Sequence[str] | None, *, first: int = 0
) -> Table:
    """Make a table of the cells from column `first` on; the first row has the names."""
    names: tuple[str, ...] | None = None
    chosen: list[int] = []
    values: list[list[float]] = []
    for row in rows:
        if names is None:
            names = _header(reader, row, first)
            chosen = _chosen(columns, names, reader.what)
            continue
        if len(row.cells) != len(names) + first:
            reader.refuse(
                row,
                0,
                f"expected {len(names) + first} cells, as many as names, found {len(row.cells)}",
            )
        values.append([_number(reader, row, k + first, names[k]) for k in chosen])
    if names is None:
        raise ParseError(f"{reader.what}: the table is empty", line=1, column=1)
    X = np.array(values, dtype=np.float64).reshape(len(values), len(chosen))
    return Table(tuple(names[k] for k in chosen), X)


def write_table(table: Table, *, decimals: int | None = None) -> str:
    """Write a table as CSV text, by default with all digits.

    Parameters
    ----------
    table : Table
        What to write.
    decimals : int, optional
        Number of digits behind the point.

    Examples
    --------
    >>> from bowfree.datasets.tables import Table, write_table
    >>> import numpy as np
    >>> print(write_table(Table(("x", "y"), np.array([[0.5, 1 / 3]])), decimals=2), end="")
    x,y
    0.50,0.33
    """
    form = "{!r}" if decimals is None else f"{{:.{decimals}f}}"
    lines = [write_line(write_name(name) for name in table.names)]
    lines += [",".join(map(form.format, row)) + "\n" for row in table.X.tolist()]
    return "".join(lines)


def _header(reader: CsvReader, row: Row, first: int) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for k, cell in enumerate(row.cells[first:], start=first):
        name = read_name(cell)
        if not name:
            reader.refuse(row, k, f"column {k + 1} has no name; the first line names the columns")
        if name in names:
            reader.refuse(row, k, f"two columns are named {shown(name)}; rename one")
        names[name] = None
    return tuple(names)


def _chosen(columns: Sequence[str] | None, names: Sequence[str], what: str) -> list[int]:
    """Return the positions of the columns asked for."""
    if columns is None:
        return list(range(len(names)))
    place = {name: k for k, name in enumerate(names)}
    chosen: dict[str, int] = {}
    for name in columns:
        if name not in place:
            close = close_names(name, names)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise DataError(f"{what} has no column {shown(name)}{hint}; it has {listed(names)}")
        if name in chosen:
            raise DataError(f"column {shown(name)} is asked for twice; leave one out")
        chosen[name] = place[name]
    return list(chosen.values())


def _number(reader: CsvReader, row: Row, k: int, name: str) -> float:
    cell = row.cells[k]
    if cell.lower() in _MISSING:
        return float("nan")
    try:
        return number(cell)
    except ValueError as error:
        reader.refuse(
            row,
            k,
            f"{shown(cell)} in column {shown(name)} {error}; drop that column or code it as "
            "numbers",
        )


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path.name}: reading Parquet needs pyarrow; run `pip install pyarrow`, or give a CSV"
        ) from error
    content = path.read_bytes()
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        names = tuple(file.schema_arrow.names)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as Parquet: {brief(str(error))}") from None
    twice = sorted({name for name, count in Counter(names).items() if count > 1})
    if twice:
        raise DataError(f"{path.name}: two columns are named {shown(twice[0])}; rename one")
    chosen = tuple(names[k] for k in _chosen(columns, names, path.name))
    _check_cells(file.metadata.num_rows * len(chosen), len(content), path.name)
    for name in chosen:
        kind = file.schema_arrow.field(name).type
        if not any(is_kind(kind) for is_kind in _numeric_kinds(pyarrow.types)):
            raise DataError(
                f"{path.name}: column {shown(name)} ({brief(str(kind))}) is not made of numbers; "
                "drop it or code it as numbers"
            )
    try:
        frame = file.read(columns=list(chosen))
        values = [np.asarray(frame[name].to_numpy(), dtype=np.float64) for name in chosen]
    except (pyarrow.ArrowException, OSError, TypeError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as Parquet: {brief(str(error))}") from None
    return Table(chosen, np.column_stack(values) if values else np.empty((0, 0)))


def _numeric_kinds(types: Any) -> tuple[Callable[[Any], bool], ...]:
    """Return what tells a column of numbers: texts such as "1_000" are none."""
    return (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )


def _check_cells(count: int, size: int, what: str) -> None:
    """Refuse a small file that unpacks to a table which fills the memory."""
    if count > max(10_000_000, 100 * size):
        raise DataError(
            f"{what}: {count:,} cells in a file of {size:,} bytes; real data are not that regular"
        )
