"""Tables from files: :func:`read_table`, covariance matrices, and one table in several files.

=====================  ================================================================
Extension              Reader
=====================  ================================================================
.csv .tsv .txt .dat    polars; also compressed (``.gz``, ``.zst``)
.parquet               polars
.feather .arrow        polars
.xlsx (Excel)          polars with fastexcel or openpyxl
.sav .zsav (SPSS)      pyreadstat
.sas7bdat .xpt (SAS)   pyreadstat
.dta (Stata)           pyreadstat or pandas
=====================  ================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from bowfree.data.frames import BOOLEAN, Table, warn_of_rounding
from bowfree.data.streaming import lazy_batches
from bowfree.datasets.tables import Decimal, Floats, InvalidCells, ReadOptions, Separator
from bowfree.datasets.text_files import COMPRESSED, TextTable, read_content
from bowfree.errors import DataError
from bowfree.parameters import public
from bowfree.text_reading import join_names, short_repr, truncate
from bowfree.validation import check_path

if TYPE_CHECKING:
    import polars as pl

_TEXT = (".csv", ".tsv", ".txt", ".dat")


@public
def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] = (),
    separator: Separator | None = None,
    decimal: Decimal | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    sheet: str | None = None,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    nominal: Sequence[str] = (),
) -> Table:
    r"""Read a table of numbers from a file.

    Parameters
    ----------
    path : str or Path
        A text file (``.csv``, ``.tsv``, ``.txt``, ``.dat``; also ``.gz`` and ``.zst``), or
        ``.parquet``, ``.feather``, ``.arrow``, ``.xlsx``, ``.sav``, ``.zsav``, ``.dta``,
        ``.sas7bdat``, ``.xpt`` (the last six need ``pip install "bowfree[files]"``). The first line
        of a text file has the names of the columns. A first column without a name is taken for row
        names and dropped.
    columns : sequence of str, optional
        The columns to read, in this order; others need not be numbers. By default all.
    drop : sequence of str
        Columns to drop.
    na : sequence of str
        Strings and numbers that stand for missing values, such as "-999", besides empty cells, NA,
        NaN, n/a, null, none and a single point.
    separator : {"comma", "semicolon", "tab", "space"}, optional
        Separator of the cells of a text file; detected by default.
    decimal : {"point", "comma"}, optional
        Decimal mark of a text file; detected by default.
    encoding : str, optional
        Encoding of a text file, such as "cp1252". By default UTF-8, or UTF-16 if the file has a
        byte-order mark.
    comment : str, optional
        Lines of a text file that begin with this string are skipped. By default only lines before
        the header that begin with "#".
    sheet : str, optional
        Sheet of a workbook; required if it has several.
    ordinal : mapping of str to sequence of str, optional
        Ordered categories of columns, such as ``{"size": ["small", "large"]}``; they are read as 1,
        2, 3 and so on.
    nominal : sequence of str
        Columns of unordered categories, which are read as 0, 1, 2 and so on; the labels are in
        ``categories`` of the table. True and False are read as 1 and 0 without it.

    Returns
    -------
    Table
        Missing values are NaN.

    Raises
    ------
    ParseError
        If cells of a text file are not numbers, lines have too few or too many cells, or the file
        is ambiguous. The message lists all such cells, and the option that helps.
    DataError
        If the file has no such column, is of unknown kind, or needs a library that is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bowfree as bf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.csv")
    ...     _ = path.write_text('"";"x";"y"\n"1";0,5;2\n"2";1,5;4\n')
    ...     bf.datasets.read_table(path)["x"]
    array([0.5, 1.5])
    """
    options = ReadOptions(
        columns,
        drop,
        na,
        separator,
        decimal,
        encoding,
        comment,
        sheet,
        {} if ordinal is None else ordinal,
        nominal,
    )
    return read_file(Path(check_path("path", path)), options)


@public
def read_covariance(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    separator: Separator | None = None,
    decimal: Decimal | None = None,
    encoding: str | None = None,
    comment: str | None = None,
) -> Table:
    r"""Read a covariance matrix from a text file.

    Parameters
    ----------
    path : str or Path
        A text file as for `read_table`. Its rows are in the order of the columns, or have names in
        the first column, in any order.
    columns : sequence of str, optional
        The variables to keep, in this order. By default all.
    separator, decimal, encoding, comment
        As for `read_table`.

    Returns
    -------
    Table
        Rows in the order of the columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bowfree as bf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cov.csv")
    ...     _ = path.write_text(",x,y\ny,0.5,2\nx,1,0.5\n")
    ...     bf.datasets.read_covariance(path).X
    array([[1. , 0.5],
           [0.5, 2. ]])
    """
    options = ReadOptions(columns, (), (), separator, decimal, encoding, comment)
    return read_matrix(Path(check_path("path", path)), options)


def read_file(path: Path, options: ReadOptions) -> Table:
    """Read a table; :func:`read_table` with the options as one object."""
    table = _open(path, options)
    chosen = options.choose(table.names, path.name)
    return options.table([table.names[k] for k in chosen], table.numbers(chosen))


def read_matrix(path: Path, options: ReadOptions) -> Table:
    """Read a covariance matrix; :func:`read_covariance` with the options as one object."""
    table = _open(path, options)
    if not isinstance(table, TextTable):
        raise DataError(f"{path.name}: a covariance matrix must be in a text file, such as .csv")
    names = table.names
    labels = list(names)
    if table.has_labels:
        labels = table.labels()
    elif len(table.column(names[0])) == len(names) - 1:  # row names in a column that has a name
        labels, names = table.column(names[0]), names[1:]
    X = table.numbers([table.names.index(name) for name in names])
    if len(X) != len(names):
        raise DataError(
            f"{path.name}: {len(X)} rows and {len(names)} columns; a covariance matrix is square"
        )
    if sorted(labels) != sorted(names):
        odd = sorted({*labels} ^ {*names}) or labels
        raise DataError(f"{path.name}: rows and columns have different names: {join_names(odd)}")
    chosen = options.choose(names, path.name)
    rows = [labels.index(names[k]) for k in chosen]
    return Table(tuple(names[k] for k in chosen), X[np.ix_(rows, chosen)])


def read_labels(path: Path, column: str, options: ReadOptions) -> list[str]:
    """Return the cells of one column as strings, empty ones for missing values."""
    table = _open(path, replace(options, columns=None, drop=()))
    if column not in table.names:
        raise DataError(
            f"{path.name}: no column {short_repr(column)}; there are {join_names(table.names)}"
        )
    return table.column(column)


def row_places(path: Path, options: ReadOptions, rows: Sequence[int]) -> list[str]:
    """Return the places of rows as the file counts them, such as "line 12" or "row 12"."""
    return _open(path, options).places(rows)


def _kind(path: Path) -> str:
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


def _open(path: Path, options: ReadOptions) -> TextTable | FrameTable:
    kind = _kind(path)
    if kind in _TEXT:
        return TextTable(read_content(path, options), path.name, kind, options)
    if kind not in _READERS or path.suffix.lower() in COMPRESSED:
        raise DataError(
            f"{truncate(path.name)}: unknown kind of table; use {', '.join((*_TEXT, *_READERS))}, "
            f"the first {len(_TEXT)} also with {' or '.join(COMPRESSED)}"
        )
    libraries, read = _READERS[kind]
    found = [library for library in libraries if find_spec(library)]
    if not found:
        raise DataError(
            f"{path.name}: reading {kind} needs {' or '.join(libraries)}; run `pip install "
            '"bowfree[files]"`, or save the table as .csv'
        )
    with _library_errors(path):
        return FrameTable(read(path, options, found[0]), path, options)


# --- files of other programs ----------------------------------------------------------------------


class FrameTable:
    """A table that a library has read, with the methods of :class:`TextTable`.

    The first row of the frame is row `begun` of the file.
    """

    def __init__(self, frame: pl.DataFrame, path: Path, options: ReadOptions, begun: int = 0):
        self.path, self.options = path, options
        self.names = tuple(frame.columns)
        self._excel = _kind(path) == ".xlsx"
        self._rows: Sequence[int] = range(begun + 1, begun + 1 + len(frame))
        if self._excel:  # whose first row has the names, and others may be empty
            filled = [k for k, row in enumerate(frame.iter_rows()) if any(row)]
            frame, self._rows = frame[filled], [k + 2 for k in filled]
        self.frame = frame

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return the places of rows, such as "row 7"."""
        return [f"row {self._rows[row]}" for row in rows]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column as strings, empty ones for missing values."""
        return ["" if value is None else str(value) for value in self.frame[name].to_list()]

    def numbers(self, chosen: Sequence[int]) -> Floats:
        """Return some columns as numbers; an error names all cells that are not."""
        import polars as pl

        X = np.empty((len(self.frame), len(chosen)))
        invalid = InvalidCells(self.path.name, self.options, self.places)
        for j, name in enumerate(self.names[k] for k in chosen):
            cells = self.frame[name]
            if self._excel or name in {*self.options.ordinal, *self.options.nominal}:
                X[:, j], bad = self.options.convert(name, cells)
                invalid.add(name, cells, bad)
            elif cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null):
                if cells.dtype.is_integer() and len(cells) > cells.null_count():
                    low, high = cast(int, cells.min()), cast(int, cells.max())
                    warn_of_rounding(low, high, f"column {name!r} of {self.path.name}")
                X[:, j] = cells.cast(pl.Float64).to_numpy()
                if cells.dtype == pl.Boolean:
                    self.options.labels[name] = BOOLEAN
            else:
                invalid.add(name, cells, cells.is_not_null())
        invalid.check([self.names[k] for k in chosen], X)
        return X


@contextmanager
def _library_errors(path: Path) -> Iterator[None]:
    """Turn the errors of the library that reads a file into a DataError."""
    try:
        yield
    except (DataError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except BaseException as error:  # polars panics on some damaged files
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DataError(
            f"{path.name} cannot be read as a {_kind(path)} file: {truncate(str(error))}"
        ) from None


def _read_polars(path: Path, options: ReadOptions, library: str) -> pl.DataFrame:
    import polars as pl

    scan = pl.scan_parquet if _kind(path) == ".parquet" else pl.scan_ipc
    return _selected(scan(path), options).collect()


def _selected(lazy: pl.LazyFrame, options: ReadOptions) -> pl.LazyFrame:
    names = lazy.collect_schema().names()
    if options.columns is None or not set(options.columns) <= set(names):
        return lazy
    wanted = {*options.columns, *options.drop, *options.ordinal, *options.nominal}
    return lazy.select([name for name in names if name in wanted])


def _read_statistics(path: Path, options: ReadOptions, library: str) -> pl.DataFrame:
    """Read a file of SPSS, SAS or Stata; value labels are ignored."""
    import polars as pl

    if library == "pandas":
        import pandas as pd

        stata = pd.read_stata(path, convert_categoricals=False)
        return pl.DataFrame({name: stata[name].to_list() for name in stata}, strict=False)
    import pyreadstat

    kind = {".zsav": "sav", ".xpt": "xport"}.get(_kind(path), _kind(path)[1:])
    read = getattr(pyreadstat, f"read_{kind}")
    return pl.DataFrame(read(str(path), output_format="dict")[0], strict=False)


def _read_excel(path: Path, options: ReadOptions, library: str) -> pl.DataFrame:
    import polars as pl

    read: Any = partial(
        pl.read_excel, path, engine="calamine" if library == "fastexcel" else library,
        has_header=False, infer_schema_length=0, drop_empty_rows=False, raise_if_empty=False,
    )  # fmt: skip
    sheets = read(sheet_id=0)
    if options.sheet is None and len(sheets) > 1:
        raise DataError(
            f"{path.name} has several sheets: {join_names(sheets)}; pass {options.option('sheet')}"
        )
    name = options.sheet or next(iter(sheets))
    if name not in sheets:
        raise DataError(
            f"{path.name} has no sheet {short_repr(name)}; its sheets are {join_names(sheets)}"
        )
    # Read again: polars reads a header in all sheets but the first.
    cells = read(sheet_name=name).rows()
    head = [str(cell or "").strip() for cell in cells[0]] if cells else []
    while head and not head[-1]:
        head.pop()
    first = 1 if head and not head[0] else 0  # row names
    options.check_names(head[first:], path.name)
    for k, row in enumerate(cells):
        if any(row[len(head) :]):
            raise DataError(f"{path.name}: row {k + 1} has more cells than row 1 has names")
    columns = {name: [row[first + k] for row in cells[1:]] for k, name in enumerate(head[first:])}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


_Reader = Callable[[Path, ReadOptions, str], "pl.DataFrame"]
_READERS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    ".parquet": (("polars",), _read_polars),
    ".feather": (("polars",), _read_polars),
    ".arrow": (("polars",), _read_polars),
    ".xlsx": (("fastexcel", "openpyxl"), _read_excel),
    ".sav": (("pyreadstat",), _read_statistics),
    ".zsav": (("pyreadstat",), _read_statistics),
    ".sas7bdat": (("pyreadstat",), _read_statistics),
    ".xpt": (("pyreadstat",), _read_statistics),
    ".dta": (("pyreadstat", "pandas"), _read_statistics),
}


# --- one table in several files -------------------------------------------------------------------


class Piece(NamedTuple):
    """Rows of a file: its path, the index of the first row, and the table."""

    path: Path
    begun: int
    table: Table


def data_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files of a table, with folders expanded; they must be of one kind."""
    kinds = (*_TEXT, *_READERS)
    files: list[Path] = []
    for path in given:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [p for p in inside if p is path or (p.is_file() and _kind(p) in kinds)]
        if not found:
            raise DataError(f"the folder {path} has no tables ({', '.join(kinds)})")
        files += found
    if len({_kind(path) for path in files}) > 1:
        listed = join_names(sorted({_kind(path) for path in files}))
        raise DataError(f"files of different kinds ({listed}): pass the files of one table")
    return tuple(files)


def read_pieces(paths: Sequence[Path], options: ReadOptions) -> Iterator[Piece]:
    """Read files one after the other, Parquet files in batches; all must have the same columns."""
    first: Table | None = None
    for path in paths:
        for piece in _pieces_of(path, options):
            first = first or piece.table
            if set(piece.table.names) != set(first.names):
                odd = sorted(set(piece.table.names) ^ set(first.names))
                raise DataError(
                    f"{path.name} and {paths[0].name} have different columns ({join_names(odd)}); "
                    f"select those that all files have with {options.option('columns')}"
                )
            yield piece


def _pieces_of(path: Path, options: ReadOptions) -> Iterator[Piece]:
    if path.suffix.lower() != ".parquet":
        yield Piece(path, 0, read_file(path, options))
        return
    import polars as pl

    begun = 0
    with _library_errors(path):
        for batch in lazy_batches(_selected(pl.scan_parquet(path), options)):
            table = FrameTable(batch, path, options, begun)
            chosen = options.choose(table.names, path.name)
            names = [table.names[k] for k in chosen]
            yield Piece(path, begun, options.table(names, table.numbers(chosen)))
            begun += len(batch)
