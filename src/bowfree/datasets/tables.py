"""Tables of numbers with named columns, from files, without a data-frame library.

The command line and the data sets that ship with bowfree must work where neither pandas nor
polars is installed. A `Table` is a mapping from column names to columns, so that every function
that takes data takes it, and ``pandas.DataFrame(dict(table))`` makes a data frame of it.
`read_table` reads CSV and TSV itself; Parquet needs pyarrow. `read_covariance` reads a matrix that
may have the names of its rows in the first column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError, ParseError

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
    lines = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    labels: list[str] | None = None
    # One more column than rows: the first one has the names of the rows.
    if lines and len(lines) == len(lines[0]):
        labels = [row[0].strip() for row in lines[1:]]
        rest = io.StringIO()
        csv.writer(rest, delimiter=separator, lineterminator="\n").writerows(r[1:] for r in lines)
        text = rest.getvalue()
    table = parse_table(text, separator=separator, what=path.name)
    d = len(table.names)
    if len(table.X) != d:
        raise DataError(
            f"{path.name}: {len(table.X)} rows and {d} columns; a covariance matrix is square"
        )
    rows = list(range(d))
    if labels is not None:
        if sorted(labels) != sorted(table.names):
            odd = sorted(set(labels) ^ set(table.names))
            raise DataError(f"{path.name}: rows and columns have different names: {', '.join(odd)}")
        rows = [labels.index(name) for name in table.names]
    chosen = _chosen(columns, table.names, path.name)
    return Table(
        tuple(table.names[k] for k in chosen), table.X[np.ix_([rows[k] for k in chosen], chosen)]
    )


def _read_text(path: Path) -> tuple[str, str]:
    """Return the text of a file, and what stands between two of its cells."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".tsv", ".txt"):
        raise DataError(f"{path.name}: unknown kind of table; use .csv, .tsv, .txt or .parquet")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not a text in UTF-8: {error.reason}") from error
    return text, "," if kind == ".csv" else "\t"


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
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    names: tuple[str, ...] = ()
    chosen: list[int] = []
    rows: list[list[float]] = []
    for cells in reader:
        line = reader.line_num
        if not cells:
            continue
        if not names:
            names = _header(cells, line, what)
            chosen = _chosen(columns, names, what)
            continue
        if len(cells) != len(names):
            raise ParseError(
                f"{what}: expected {len(names)} cells, as many as names, found {len(cells)}",
                line=line,
                column=1,
            )
        rows.append([_number(cells, k, names, line, what) for k in chosen])
    if not names:
        raise ParseError(f"{what}: the table is empty", line=1, column=1)
    X = np.array(rows, dtype=np.float64).reshape(len(rows), len(chosen))
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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.names)
    form = "{!r}" if decimals is None else f"{{:.{decimals}f}}"
    writer.writerows([form.format(value) for value in row] for row in table.X.tolist())
    return text.getvalue()


def _header(cells: list[str], line: int, what: str) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    for k, name in enumerate(names):
        if not name:
            raise ParseError(
                f"{what}: column {k + 1} has no name; the first line names the columns",
                line=line,
                column=_place(cells, k),
            )
        if name in names[:k]:
            raise ParseError(
                f"{what}: two columns are named {name!r}; rename one",
                line=line,
                column=_place(cells, k),
            )
    return names


def _chosen(columns: Sequence[str] | None, names: Sequence[str], what: str) -> list[int]:
    """Return the positions of the columns asked for."""
    if columns is None:
        return list(range(len(names)))
    for k, name in enumerate(columns):
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise DataError(f"{what} has no column {name!r}{hint}; it has {', '.join(names)}")
        if name in columns[:k]:
            raise DataError(f"column {name!r} is asked for twice; leave one out")
    return [list(names).index(name) for name in columns]


def _number(cells: list[str], k: int, names: tuple[str, ...], line: int, what: str) -> float:
    cell = cells[k].strip()
    if cell.lower() in _MISSING:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        raise ParseError(
            f"{what}: {cell!r} in column {names[k]!r} is not a number; drop that column or code it "
            "as numbers",
            line=line,
            column=_place(cells, k),
        ) from None


def _place(cells: list[str], k: int) -> int:
    """Return the character at which cell k starts, as long as no cell before it is quoted."""
    return sum(len(cell) + 1 for cell in cells[:k]) + 1


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Table:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path.name}: reading Parquet needs pyarrow; run `pip install pyarrow`, or give a CSV"
        ) from error
    frame = pyarrow.parquet.read_table(path)
    names = tuple(frame.column_names)
    chosen = tuple(names[k] for k in _chosen(columns, names, path.name))
    values = []
    for name in chosen:
        try:
            values.append(np.asarray(frame[name].to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):
            raise DataError(
                f"{path.name}: column {name!r} ({frame[name].type}) is not made of numbers; drop "
                "it or code it as numbers"
            ) from None
    return Table(chosen, np.column_stack(values))
