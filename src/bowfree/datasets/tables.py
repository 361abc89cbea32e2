"""Tables of numbers with named columns, from files, without a data-frame library.

The command line and the data sets that ship with bowfree must work where neither pandas nor polars
is installed. A :class:`Table` is a mapping from column names to columns, so that every function
that takes data takes it, and ``pandas.DataFrame(dict(table))`` makes a data frame of it.

`read_table` reads text however it is written (``text_tables``), packed or not (``unpacking``), and
the files of other programs where a library does it (``other_files``). `read_covariance` reads a
matrix that may have the names of its rows in the first column. ``reading`` has the options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from bowfree.datasets.other_files import OTHER_KINDS, column_of_labels, read_other
from bowfree.datasets.quick_reader import LARGE
from bowfree.datasets.reading import ReadOptions, WrittenOptions
from bowfree.datasets.table import Table
from bowfree.datasets.table import write_table as write_table
from bowfree.datasets.text_tables import (
    fill,
    find_dialect,
    header,
    read_large_table,
    read_text_table,
)
from bowfree.datasets.text_tables import parse_table as parse_table
from bowfree.datasets.unpacking import BYTE_ORDER_MARKS, PACKED, as_text, kind_of, unpacked
from bowfree.errors import DataError
from bowfree.formats.csv_text import CsvReader, Row, read_name
from bowfree.text_reading import join_names, line_and_column, short_repr, truncate
from bowfree.validation import check_path, split_options

_TEXT = (".csv", ".tsv", ".txt", ".dat")
KINDS = (*_TEXT, *OTHER_KINDS)


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] = (),
    **written: Unpack[WrittenOptions],
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : str or Path
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``), also packed (``.gz``, ``.zst``), or
        ``.parquet``, ``.feather``, ``.arrow``, ``.sav``, ``.dta``, ``.xlsx`` where a library for it
        is installed. The first line of a text has the columns' names; a first column without a name
        has those of the rows, and is left out.
    columns : sequence of str, optional
        The columns to read, in this order; the others need not be numbers. By default all.
    drop : sequence of str
        Columns to leave out.
    na : sequence of str
        Texts and numbers that stand for "not measured", such as ``"-999"``, besides empty cells,
        NA, NaN, n/a, null, none and a single point.
    **written
        ``separator`` ("comma", "semicolon", "tab", "space"), ``decimal`` ("point", "comma"),
        ``encoding``, ``sheet``: how the file is written, where it does not show;
        ``ordinal={"size": ["small", "large"]}``: words in their order, read as 1, 2 and so on
        (:class:`~bowfree.datasets.reading.ReadOptions`).

    Returns
    -------
    Table
        Missing values are NaN.

    Raises
    ------
    ParseError
        With line and column, if a cell is no number, a line has too many or too few cells, or the
        file can be read in two ways.
    DataError
        If the file's kind is not known, or a column is not there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bowfree.datasets.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.csv")
    ...     _ = path.write_text('"";"x";"y"\n"1";0,5;2\n"2";1,5;4\n')
    ...     read_table(path)["x"]
    array([0.5, 1.5])
    """
    (known,) = split_options("read_table", written, WrittenOptions)
    return read_file(Path(check_path("path", path)), ReadOptions(columns, drop, na, **known))


def read_file(path: Path, options: ReadOptions) -> Table:
    """Read a table as the options say; what :func:`read_table` does."""
    kind = kind_of(path)
    if kind in OTHER_KINDS and path.suffix.lower() not in PACKED:
        return read_other(path, kind, options)
    content = _content(path, kind)
    if len(content) < LARGE:
        return read_text_table(as_text(content, path.name, options), path.name, kind, options)
    if options.encoding is not None or content.startswith(BYTE_ORDER_MARKS):
        content = as_text(content, path.name, options).encode()
        options = replace(options, encoding=None)
    table = read_large_table(content, path.name, kind, options)
    if table is not None:
        return table
    return read_text_table(as_text(content, path.name, options), path.name, kind, options)


def read_covariance(
    path: str | Path, *, columns: Sequence[str] | None = None, **written: Unpack[WrittenOptions]
) -> Table:
    r"""Read a covariance matrix; its rows may have names in the first column, in any order.

    Parameters
    ----------
    path : str or Path
        A text file as for `read_table`, with as many rows as named columns. Rows without names are
        in the order of the columns.
    columns : sequence of str, optional
        The variables to keep, in this order. By default all.
    **written
        As for `read_table`.

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
    (known,) = split_options("read_covariance", written, WrittenOptions)
    return read_matrix(Path(check_path("path", path)), ReadOptions(columns, **known))


def read_matrix(path: Path, options: ReadOptions) -> Table:
    """Read a covariance matrix as the options say; what :func:`read_covariance` does."""
    kind, what = kind_of(path), path.name
    text = _text(path, kind, options)
    dialect = find_dialect(text, what, kind, options)
    reader = CsvReader(text, separator=dialect.separator, what=what)
    head, *rows = list(reader) or [Row(0, [])]
    # One more column than rows: the first one has the names of the rows, whatever it is called.
    labeled = dialect.row_names or len(head.cells) == len(rows) + 1
    if labeled and not dialect.row_names:
        head = Row(head.start, ["", *head.cells[1:]])
    labels = [read_name(row.cells[0]) for row in rows]
    given = [head, *rows] if head.cells else []
    table = fill(reader, given, replace(options, columns=None, drop=()), dialect)
    d = len(table.names)
    if len(table.X) != d:
        raise DataError(
            f"{what}: {len(table.X)} rows and {d} columns; a covariance matrix is square"
        )
    position = {name: k for k, name in enumerate(labels if labeled else table.names)}
    if position.keys() != set(table.names):
        odd = sorted(position.keys() ^ set(table.names))
        raise DataError(f"{what}: rows and columns have different names: {join_names(odd)}")
    chosen = options.choose(table.names, what)
    names = tuple(table.names[k] for k in chosen)
    return Table(names, table.X[np.ix_([position[name] for name in names], chosen)])


def read_labels(path: Path, column: str, options: ReadOptions) -> list[str]:
    """Return the cells of one column of a file as they are written, row by row."""
    kind = kind_of(path)
    if kind in OTHER_KINDS and path.suffix.lower() not in PACKED:
        if kind in (".parquet", ".feather", ".arrow"):
            return column_of_labels(path, kind, column)
        raise DataError(
            f"{path.name}: names of conditions are read from texts such as .csv, and from "
            ".parquet, .feather and .arrow; write it as one of these"
        )
    text = _text(path, kind, options)
    dialect = find_dialect(text, path.name, kind, options)
    rows = iter(CsvReader(text, separator=dialect.separator, what=path.name))
    names, first = header(
        CsvReader(text, separator=dialect.separator, what=path.name), next(rows), dialect
    )
    if column not in names:
        raise DataError(
            f"{path.name}: no column {short_repr(column)}; there are {join_names(names)}"
        )
    k = names.index(column) + first
    return [row.cells[k].strip() if k < len(row.cells) else "" for row in rows]


def row_places(path: Path, options: ReadOptions, rows: Sequence[int]) -> list[str]:
    """Return where some rows of the table are: "line 12" of a text, "row 12" of other files.

    Both are counted from 1 as the file does: in texts and on the sheets of a workbook the names
    stand in the first. A row of a text may have several lines, of which it is the first.
    """
    kind = kind_of(path)
    if kind in OTHER_KINDS and path.suffix.lower() not in PACKED:
        named = kind == ".xlsx"
        return [f"row {row + 1 + named}" for row in rows]
    text = _text(path, kind, options)
    dialect = find_dialect(text, path.name, kind, options)
    starts = [row.start for row in CsvReader(text, separator=dialect.separator, what=path.name)]
    return [f"line {line_and_column(text, starts[row + 1])[0]}" for row in rows]


def _text(path: Path, kind: str, options: ReadOptions) -> str:
    return as_text(_content(path, kind), path.name, options)


def _content(path: Path, kind: str) -> bytes:
    if kind not in _TEXT:
        raise DataError(
            f"{truncate(path.name)}: unknown kind of table; use {', '.join(KINDS[:-1])} or "
            f"{KINDS[-1]}, the first {len(_TEXT)} also with {' or '.join(PACKED)} behind"
        )
    return unpacked(path)
