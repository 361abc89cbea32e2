r"""Tables in text files: how they are written, and what is in them.

The first line names the columns. What stands between cells, and whether decimals follow a point or
a comma, is found out from the file, and where two answers fit, or a number could mean two things,
the user is asked:

====================  =====================================================================
separator             the one of comma, semicolon, tab, blank that is in the first line and cuts
                      the first lines into equally many cells
decimal               a comma, if numbers are written with one and none with a point; ``1,234``
                      alone could also be a thousand, and is asked about
names of the rows     the first column, if it has no name (R's ``write.csv``, pandas'
                      ``to_csv``), or if the first line has one cell less than all others (R's
                      ``write.table``) and what stands there names rows
====================  =====================================================================

Large files are handed to :mod:`bowfree.datasets.quick_reader`; whatever it does not understand
comes back here, to be read cell by cell, or refused with line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from bowfree.datasets.quick_reader import quick_values
from bowfree.datasets.reading import SEPARATORS, Floats, ReadOptions
from bowfree.datasets.table import Table
from bowfree.errors import ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name
from bowfree.text_reading import number, short_repr

_LOOKED_AT = 100  # lines that tell the separator
_FIRST_BYTES = 2**18  # of a large file, which tell how it is written
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
# What may be a whole number in groups of three digits: never 0.123, never 1.5.
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
_BOTH = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+|[+-]?\d{1,3}(?:,\d{3})+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """How a table is written: between cells, before decimals, and names of rows in front or not."""

    separator: str = ","
    decimal: str = "."
    row_names: bool = False


def parse_table(
    text: str,
    *,
    separator: str = ",",
    what: str = "table",
    columns: Sequence[str] | None = None,
) -> Table:
    r"""Read a table from text that is known to have decimal points; the first line has the names.

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
    >>> from bowfree.datasets.text_tables import parse_table
    >>> parse_table("x,y\n1,NA\n")["y"]
    array([nan])
    """
    reader = CsvReader(text, separator=separator, what=what)
    return fill(reader, reader, ReadOptions(columns=columns), Dialect(separator))


def read_text_table(text: str, what: str, kind: str, options: ReadOptions) -> Table:
    """Read a table from the text of a file, however it is written, cell by cell."""
    dialect = find_dialect(text, what, kind, options)
    reader = CsvReader(text, separator=dialect.separator, what=what)
    return fill(reader, reader, options, dialect)


def read_large_table(content: bytes, what: str, kind: str, options: ReadOptions) -> Table | None:
    """Read a large table from the bytes of a file in UTF-8; None if that takes more care.

    How it is written is found out from its first lines. If the rest is written otherwise, it is
    not made of numbers as the first lines write them, and :func:`read_text_table` has the last
    word.
    """
    try:
        if not content.isascii():
            content.decode()  # or it is no text
        end = content.rfind(b"\n", 0, _FIRST_BYTES) + 1
        if not end:  # a very long first line
            return None
        first = content[:end].decode("utf-8-sig")
        dialect = find_dialect(first, what, kind, options)
        reader = CsvReader(first, separator=dialect.separator, what=what)
        names, before = header(reader, next(iter(reader), Row(0, [])), dialect)
    except (ParseError, UnicodeDecodeError):
        return None
    if options.decimal is None and dialect.separator in ";\t" and dialect.decimal == ".":
        # A point that comes later could stand between thousands.
        seen = any(_POINT_NUMBER.fullmatch(cell) for row in reader for cell in row.cells)
        if not seen and content.find(b".", end) >= 0:
            return None
    chosen = options.choose(names, what)
    if options.ordinal:  # words, which are no business of the quick reader
        return None
    cells = [k + before for k in chosen]
    values = quick_values(content, cells, len(names) + before, dialect, options.missing)
    if values is None:
        return None
    return options.table([names[k] for k in chosen], values)


# --- how it is written ----------------------------------------------------------------------------


def find_dialect(text: str, what: str, kind: str, options: ReadOptions) -> Dialect:
    """Return how a table is written, or ask."""
    separator = (
        SEPARATORS[options.separator]
        if options.separator is not None
        else _find_separator(text, what, kind, options)
    )
    reader = CsvReader(text, separator=separator, what=what)
    head = next(iter(reader), Row(0, []))
    if head.cells and _is_data([read_name(cell) for cell in head.cells if cell]):
        reader.refuse(
            head,
            0,
            "the first line has numbers where the names of the columns should be; write a line "
            "with names above it",
        )
    decimal = (
        {"point": ".", "comma": ","}[options.decimal]
        if options.decimal is not None
        else _find_decimal(reader, separator, options)
    )
    return Dialect(separator, decimal, _has_row_names(reader))


def _first_rows(text: str, separator: str, what: str) -> list[Row]:
    """Return the first rows as this separator cuts them; none if it does not."""
    try:
        rows = list(islice(CsvReader(text, separator=separator, what=what), _LOOKED_AT))
    except ParseError:  # a quote is not closed, or closed in the middle of a cell
        return []
    return rows


def _find_separator(text: str, what: str, kind: str, options: ReadOptions) -> str:
    fitting = {}
    seen = {}
    for name, separator in SEPARATORS.items():
        rows = _first_rows(text, separator, what)
        if not rows or len(rows[0].cells) < 2:
            continue
        width = len(rows[0].cells)
        widths = {len(row.cells) for row in rows[1:]}
        # One cell less in the first line: names of rows.
        fits = len(widths) <= 1 and widths <= {width, width + 1}
        if fits:
            fitting[name] = separator
        if fits or name != "space":  # blanks are in many a name
            seen[name] = width
    if len(fitting) > 1:
        fitting.pop("space", None)
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    choices = options.option("separator")
    if fitting:
        raise ParseError(
            f"{what}: {' and '.join(fitting)} both cut its lines into equally many cells; say "
            f"which one is meant with {choices}",
            line=1,
            column=1,
        )
    if not seen:
        # One column, unless commas in its numbers say otherwise.
        cells = [row.cells[0] for row in _first_rows(text, "\t", what)[1:]]
        odd = next((cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)), None)
        if odd and all(_COMMA_NUMBER.fullmatch(cell) or _is_number(cell) for cell in cells):
            raise ParseError(
                f"{what}: the first line has one name, and {short_repr(odd)} could be one number with a "
                f"decimal comma or two cells: say {choices} and {options.option('decimal')}",
                line=1,
                column=1,
            )
        return "," if kind == ".csv" else "\t"
    # Lines of different lengths: the most likely separator, so that the error is about the line.
    usual = "comma" if kind == ".csv" else "tab"
    return SEPARATORS[usual if usual in seen else max(seen, key=lambda name: seen[name])]


def _find_decimal(reader: CsvReader, separator: str, options: ReadOptions) -> str:
    """Return the decimal mark; every cell is looked at, because one is enough to tell."""
    begin = max(reader.text.find("\n"), reader.text.find("\r"))
    commas, points = (reader.text.find(mark, begin) >= 0 for mark in ",.")
    if separator == "," and '"' not in reader.text:
        commas = False  # but between cells
    if not commas and (not points or separator == ","):
        return "."
    comma: tuple[Row, int] | None = None
    point: tuple[Row, int] | None = None
    sure: str | None = None
    for row in islice(reader, 1, None):
        for k, cell in enumerate(row.cells):
            if "," not in cell and "." not in cell:
                continue
            if _BOTH.fullmatch(cell):
                reader.refuse(
                    row,
                    k,
                    f"{short_repr(cell)} is a number with marks between thousands: save the table "
                    "without them",
                )
            if _COMMA_NUMBER.fullmatch(cell):
                comma = comma or (row, k)
                sure = sure or (None if _GROUPS.fullmatch(cell) else ",")
            elif _POINT_NUMBER.fullmatch(cell):
                point = point or (row, k)
                if not _GROUPS.fullmatch(cell):
                    sure = sure or "."
            elif _GROUPS.fullmatch(cell):  # two groups or more
                reader.refuse(
                    row,
                    k,
                    f"{short_repr(cell)} is a number with marks between thousands: save the table "
                    "without them",
                )
        if sure and not (commas and points):
            return sure
        if comma and point:
            reader.refuse(
                *max(comma, point, key=lambda place: place[0].start),
                f"{short_repr(_cell(point))} has a decimal point and {short_repr(_cell(comma))} a comma; one "
                "of them may stand between thousands: save the table without such marks",
            )
    ask = options.option("decimal")
    if comma and sure is None:
        reader.refuse(
            *comma,
            f"{short_repr(_cell(comma))} could be a number with a decimal comma or one with a mark "
            f"between thousands; say {ask} comma, or save the table without such marks",
        )
    if point and sure is None and separator in ";\t":
        reader.refuse(
            *point,
            f"{short_repr(_cell(point))} could be a number with a decimal point or one with a mark "
            f"between thousands; say {ask} point, or save the table without such marks",
        )
    return "," if comma else "."


def _cell(place: tuple[Row, int]) -> str:
    row, k = place
    return row.cells[k]


def _has_row_names(reader: CsvReader) -> bool:
    """Tell whether a first column without a heading names the rows."""
    rows = iter(reader)
    head = next(rows, None)
    if head is None:
        return False
    return _name_the_rows(len(head.cells), rows)


def _name_the_rows(width: int, rows: Iterator[Row]) -> bool:
    """Tell whether every row has one cell more than there are names, and it names the row.

    Row names are all different, and they are texts, or the numbers 1, 2, 3 and so on. A table whose
    first line lacks a name looks alike, and is refused for the number of its cells.
    """
    labels: set[str] = set()
    counted = texts = True
    for k, row in enumerate(rows, start=1):
        if len(row.cells) != width + 1:
            return False
        label = row.cells[0]
        labels.add(label)
        counted &= label == str(k)
        texts = texts and not _is_number(label)
        if not (counted or texts) or len(labels) < k:
            return False
    return bool(labels)


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


def _is_data(names: list[str]) -> bool:
    """Tell whether names are numbers; those that count, or years, may be names all the same."""
    if not all(map(_is_number, names)):
        return False
    counting = all(name.isdigit() for name in names)
    return not (counting and all(int(a) < int(b) for a, b in pairwise(names)))


# --- what is in it --------------------------------------------------------------------------------


def header(reader: CsvReader, row: Row, dialect: Dialect) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns, and in how many cells rows have names of their own."""
    unnamed = len(row.cells) > 1 and not read_name(row.cells[0])
    names: dict[str, None] = {}
    for k, cell in enumerate(row.cells):
        name = read_name(cell)
        if k == 0 and unnamed:
            continue
        if not name:
            reader.refuse(row, k, f"column {k + 1} has no name; the first line names the columns")
        if name in names:
            reader.refuse(row, k, f"two columns are named {short_repr(name)}; rename one")
        names[name] = None
    return tuple(names), 1 if unnamed or dialect.row_names else 0


def fill(reader: CsvReader, rows: Iterable[Row], options: ReadOptions, dialect: Dialect) -> Table:
    """Make a table of rows, cell by cell; the first row has the names."""
    names: tuple[str, ...] | None = None
    first, chosen = 0, []
    missing = options.missing
    values: list[list[float]] = []
    for row in rows:
        if names is None:
            names, first = header(reader, row, dialect)
            chosen = options.choose(names, reader.what)
            continue
        if len(row.cells) != len(names) + first:
            reader.refuse(
                row,
                0,
                f"expected {len(names) + first} cells, as many as names, found {len(row.cells)}",
            )
        values.append(
            [
                _word(reader, row, k + first, names[k], options)
                if names[k] in options.ordinal
                else float("nan")
                if row.cells[k + first].lower() in missing
                else _number(reader, row, k + first, names[k], options, dialect)
                for k in chosen
            ]
        )
    if names is None:
        raise ParseError(f"{reader.what}: the table is empty", line=1, column=1)
    X: Floats = np.array(values, dtype=np.float64).reshape(len(values), len(chosen))
    return options.table([names[k] for k in chosen], X)


def _word(reader: CsvReader, row: Row, k: int, name: str, options: ReadOptions) -> float:
    try:
        return options.code(name, row.cells[k].strip())
    except ValueError as error:
        ordinal, na = options.option("ordinal"), options.option("na")
        reader.refuse(
            row,
            k,
            f"{short_repr(row.cells[k])} in column {short_repr(name)} {error}; name all words in their order "
            f"({ordinal}), or say that it means a missing value ({na})",
        )


def _number(
    reader: CsvReader, row: Row, k: int, name: str, options: ReadOptions, dialect: Dialect
) -> float:
    cell = row.cells[k]
    try:
        if dialect.decimal == ",":
            if "." in cell:
                raise ValueError("is not a number with a decimal comma")
            return number(cell.replace(",", "."))
        return number(cell)
    except ValueError as error:
        words = ("drop", "na", "decimal", "ordinal")
        drop, na, decimal, ordinal = (options.option(word) for word in words)
        hint = (
            f"if it has a decimal comma, say {decimal} comma"
            if dialect.decimal == "." and _COMMA_NUMBER.fullmatch(cell)
            else f"drop that column ({drop}), code it as numbers, or give the order of its words "
            f"({ordinal}); if it means a missing value, say so ({na})"
        )
        reader.refuse(row, k, f"{short_repr(cell)} in column {short_repr(name)} {error}; {hint}")
