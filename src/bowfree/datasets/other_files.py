"""Tables in the files of other programs, where a library that the user has reads them.

=====================  ===========================================================
``.parquet``           pyarrow, or polars
``.feather, .arrow``   pyarrow, or polars
``.sav`` (SPSS)        pyreadstat
``.dta`` (Stata)       pyreadstat, or pandas
``.xlsx`` (Excel)      openpyxl
=====================  ===========================================================

Value labels of SPSS and Stata are left aside: the codes are the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bowfree.datasets.reading import Floats, ReadOptions
from bowfree.datasets.table import Table
from bowfree.datasets.unpacking import kind_of
from bowfree.errors import DataError
from bowfree.text_reading import join_names, number, short_repr, truncate


def read_other(path: Path, kind: str, options: ReadOptions) -> Table:
    """Read a file of one of the `OTHER_KINDS`."""
    missing = []
    for library, read in OTHER_KINDS[kind]:
        try:
            import_module(library)
        except ImportError:
            missing.append(library)
            continue
        with read_errors(path):
            return read(path, options)
    raise DataError(
        f"{path.name}: reading {kind} needs {' or '.join(missing)}; run `pip install {missing[0]}`,"
        " or give a CSV"
    )


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Make our error of whatever the library that reads a file raises."""
    try:
        yield
    except (DataError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise DataError(
            f"{path.name} cannot be read as a {kind_of(path)} file: {truncate(str(error))}"
        ) from None


# --- columns of numbers ---------------------------------------------------------------------------


def _of_frame(frame: Any, path: Path, options: ReadOptions) -> Table:
    """Return the columns asked for of a data frame that narwhals understands."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    names = _distinct([str(name) for name in table.columns], path)
    columns = [table.get_column(names[k]) for k in options.choose(names, path.name)]
    X = np.empty((len(table), len(columns)))
    for k, column in enumerate(columns):
        if column.name in options.ordinal:
            X[:, k] = _codes(column.name, column.to_list(), path, options)
            continue
        if not (column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Unknown)):
            _refuse_text(path, column.name, f"({truncate(str(column.dtype))})", options)
        X[:, k] = column.cast(nw.Float64).to_numpy()
    return options.table([column.name for column in columns], X)


def _codes(
    name: str, values: Sequence[Any], path: Path, options: ReadOptions, begun: int = 0
) -> Floats:
    """Return the places of words in the order of their column; `begun` rows came before."""
    X = np.empty(len(values))
    for row, value in enumerate(values):
        X[row] = _code(name, value, path, begun + row + 2, options)
    return X


def _code(name: str, value: Any, path: Path, line: int, options: ReadOptions) -> float:
    text = "" if value is None else str(value).strip()
    try:
        return options.code(name, text)
    except ValueError as error:
        ordinal, na = options.option("ordinal"), options.option("na")
        raise DataError(
            f"{path.name}, row {line}: {short_repr(text)} in column {short_repr(name)} {error}; name all "
            f"words in their order ({ordinal}), or say that it means a missing value ({na})"
        ) from None


def _distinct(names: Sequence[str], path: Path) -> list[str]:
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        raise DataError(f"{path.name}: two columns are named {short_repr(twice[0])}; rename one")
    return list(names)


def _refuse_text(path: Path, name: str, seen: str, options: ReadOptions) -> None:
    raise DataError(
        f"{path.name}: column {short_repr(name)} {seen} is not made of numbers; drop it "
        f"({options.option('drop')}), code it as numbers, or give the order of its words "
        f"({options.option('ordinal')})"
    )


# --- Parquet and Feather --------------------------------------------------------------------------


def _parquet_by_pyarrow(path: Path, options: ReadOptions) -> Table:
    import pyarrow
    import pyarrow.parquet

    content = path.read_bytes()
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
    chosen = numeric_columns(file.schema_arrow, path, options)
    _check_cells(file.metadata.num_rows * len(chosen), len(content), path.name)
    frame = file.read(columns=chosen)
    X = np.empty((frame.num_rows, len(chosen)))
    for k, name in enumerate(chosen):
        X[:, k] = arrow_values(name, frame[name], path, options)
    return options.table(chosen, X)


def arrow_values(
    name: str, column: Any, path: Path, options: ReadOptions, begun: int = 0
) -> Floats:
    """Return a column of an Arrow table as numbers; `begun` rows of the file came before."""
    if name in options.ordinal:
        return _codes(name, column.to_pylist(), path, options, begun)
    return np.asarray(np.asarray(column), dtype=np.float64)


def numeric_columns(schema: Any, path: Path, options: ReadOptions) -> list[str]:
    """Return the columns to read of an Arrow schema; all must be made of numbers, or in order."""
    import pyarrow

    names = _distinct(schema.names, path)
    chosen = [names[k] for k in options.choose(names, path.name)]
    for name in chosen:
        kind = schema.field(name).type
        if name not in options.ordinal and not any(
            is_kind(kind) for is_kind in _numeric_kinds(pyarrow.types)
        ):
            _refuse_text(path, name, f"({truncate(str(kind))})", options)
    return chosen


def _feather_by_pyarrow(path: Path, options: ReadOptions) -> Table:
    from pyarrow import feather

    return _of_frame(feather.read_table(path, memory_map=False), path, options)


def _by_polars(function: str) -> Callable[[Path, ReadOptions], Table]:
    def read(path: Path, options: ReadOptions) -> Table:
        import polars as pl

        return _of_frame(getattr(pl, function)(path), path, options)

    return read


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


# --- SPSS and Stata -------------------------------------------------------------------------------


def column_of_labels(path: Path, kind: str, column: str) -> list[str]:
    """Return one column of a Parquet or Feather file as texts, empty for gaps."""
    readers: dict[str, Callable[[], Any]] = {
        "pyarrow": lambda: _arrow_column(path, kind, column),
        "polars": lambda: _polars_column(path, kind, column),
    }
    for library, read in readers.items():
        try:
            import_module(library)
        except ImportError:
            continue
        with read_errors(path):
            return ["" if value is None else str(value) for value in read()]
    raise DataError(
        f"{path.name}: reading {kind} needs pyarrow or polars; run `pip install pyarrow`, or give "
        "a CSV"
    )


def _arrow_column(path: Path, kind: str, column: str) -> list[Any]:
    import pyarrow.feather
    import pyarrow.parquet

    read: Any = pyarrow.parquet if kind == ".parquet" else pyarrow.feather
    names = (
        pyarrow.parquet.read_schema(path).names
        if kind == ".parquet"
        else pyarrow.feather.read_table(path).column_names
    )
    _check_column(path, column, names)
    values: list[Any] = read.read_table(path, columns=[column]).column(column).to_pylist()
    return values


def _polars_column(path: Path, kind: str, column: str) -> list[Any]:
    import polars

    frame = polars.read_parquet(path) if kind == ".parquet" else polars.read_ipc(path)
    _check_column(path, column, frame.columns)
    values: list[Any] = frame[column].to_list()
    return values


def _check_column(path: Path, column: str, names: Sequence[str]) -> None:
    if column not in names:
        raise DataError(
            f"{path.name}: no column {short_repr(column)}; there are {join_names(names)}"
        )


def _by_pyreadstat(function: str) -> Callable[[Path, ReadOptions], Table]:
    def read(path: Path, options: ReadOptions) -> Table:
        import pyreadstat

        columns, _ = getattr(pyreadstat, function)(str(path), output_format="dict")
        names = list(columns)
        chosen = [names[k] for k in options.choose(names, path.name)]
        read = [_stat_values(name, columns[name], path, options) for name in chosen]
        return options.table(chosen, np.array(read).reshape(len(chosen), -1).T)

    return read


def _stat_values(name: str, values: Sequence[Any], path: Path, options: ReadOptions) -> Floats:
    if name in options.ordinal:
        return _codes(name, values, path, options)
    odd = next((v for v in values if v is not None and not _is_real(v)), None)
    if odd is not None:
        _refuse_text(path, name, f"with {short_repr(odd)}", options)
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _stata_by_pandas(path: Path, options: ReadOptions) -> Table:
    import pandas as pd

    return _of_frame(pd.read_stata(path, convert_categoricals=False), path, options)


# --- Excel ----------------------------------------------------------------------------------------


def _by_openpyxl(path: Path, options: ReadOptions) -> Table:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        rows = _sheet(book, path, options).iter_rows(values_only=True)
        head: tuple[Any, ...] = next(rows, ())
        width = max((k + 1 for k, cell in enumerate(head) if cell not in (None, "")), default=0)
        if not width:
            raise DataError(f"{path.name}: row 1 is empty; it names the columns")
        first = 1 if head[0] in (None, "") else 0  # names of the rows
        for k, cell in enumerate(head[first:width], start=first):
            if cell in (None, ""):
                raise DataError(
                    f"{path.name}: column {k + 1} has no name in row 1, which names the columns"
                )
        names = _distinct([str(cell).strip() for cell in head[first:width]], path)
        chosen = options.choose(names, path.name)
        values = []
        for line, row in enumerate(rows, start=2):
            if all(cell in (None, "") for cell in row):
                continue
            if any(cell not in (None, "") for cell in row[width:]):
                raise DataError(
                    f"{path.name}: row {line} has more cells than row 1 has names ({width})"
                )
            cells = [row[k + first] if k + first < len(row) else None for k in chosen]
            values.append(
                [
                    _cell_value(path, line, names[k], cell, options)
                    for k, cell in zip(chosen, cells, strict=True)
                ]
            )
    finally:
        book.close()
    X: Floats = np.array(values, dtype=np.float64).reshape(len(values), len(chosen))
    return options.table([names[k] for k in chosen], X)


def _sheet(book: Any, path: Path, options: ReadOptions) -> Any:
    sheets = book.sheetnames
    ask = options.option("sheet")
    if options.sheet is not None:
        if options.sheet not in sheets:
            raise DataError(
                f"{ask} {path.name} has no sheet {short_repr(options.sheet)}; it has {join_names(sheets)}"
            )
        return book[options.sheet]
    if len(sheets) > 1:
        raise DataError(
            f"{path.name} has the sheets {join_names(sheets)}; say which one with {ask}"
        )
    return book[sheets[0]]


def _cell_value(path: Path, line: int, name: str, cell: Any, options: ReadOptions) -> float:
    if name in options.ordinal:
        return _code(name, cell, path, line, options)
    if isinstance(cell, int | float):
        return float(cell)
    text = "" if cell is None else str(cell).strip()
    if text.lower() in options.missing:
        return float("nan")
    try:
        return number(text)
    except ValueError as error:
        drop, na, ordinal = (options.option(word) for word in ("drop", "na", "ordinal"))
        raise DataError(
            f"{path.name}, row {line}: {short_repr(text)} in column {short_repr(name)} {error}; drop that "
            f"column ({drop}), code it as numbers, or give the order of its words ({ordinal}); if "
            f"it means a missing value, say so ({na})"
        ) from None


OTHER_KINDS: dict[str, tuple[tuple[str, Callable[[Path, ReadOptions], Table]], ...]] = {
    ".parquet": (("pyarrow", _parquet_by_pyarrow), ("polars", _by_polars("read_parquet"))),
    ".feather": (("pyarrow", _feather_by_pyarrow), ("polars", _by_polars("read_ipc"))),
    ".arrow": (("pyarrow", _feather_by_pyarrow), ("polars", _by_polars("read_ipc"))),
    ".sav": (("pyreadstat", _by_pyreadstat("read_sav")),),
    ".dta": (("pyreadstat", _by_pyreadstat("read_dta")), ("pandas", _stata_by_pandas)),
    ".xlsx": (("openpyxl", _by_openpyxl),),
}
