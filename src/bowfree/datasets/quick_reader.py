"""Large tables of numbers, read by a library that does it on all cores.

Only what such a library and our own reader understand alike comes here: one line for each row,
numbers, words for "missing", cells in quotes or not. The first of polars, pyarrow and NumPy that is
installed reads the bytes of the file as they are. Whatever one of them finds odd is not refused
here but read again cell by cell, where the error has a line and a column.

polars takes quotes as we do. pyarrow forgives a quote that is not closed, and NumPy knows none:
for these the quotes are taken off first, if they stand around cells and nowhere else.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bowfree.datasets.text_tables import Dialect

__all__ = ["LARGE", "quick_values"]

Floats = npt.NDArray[np.float64]

LARGE = 2_000_000
"""Bytes from which on loading a library pays."""


def quick_values(
    content: bytes, chosen: list[int], width: int, dialect: Dialect, missing: Collection[str]
) -> Floats | None:
    """Return some columns of a table, or None if it takes a more careful reader.

    Parameters
    ----------
    content : bytes
        The table in UTF-8; its first line is passed over.
    chosen : list of int
        The columns to return.
    width : int
        Number of cells in every line.
    dialect : Dialect
        How it is written.
    missing : collection of str
        Texts that stand for "not measured", in small letters.
    """
    end = content.find(b"\n")
    if end < 0 or content.count(b'"', 0, end) % 2:  # the first line goes on in the second
        return None
    if b"\r" in content and content.count(b"\r") != content.count(b"\r\n"):
        return None
    if dialect.separator == " ":
        return None  # several blanks in a row mean something else to each of them
    if dialect.separator == dialect.decimal:
        return None  # told apart by quotes alone
    for read in (_by_polars, _by_pyarrow, _by_numpy):
        try:
            values = read(content, end + 1, chosen, width, dialect, _spellings(missing))
        except ImportError:
            continue
        # An infinite value may be a number that is too large: the careful reader knows.
        return None if values is None or np.isinf(values).any() else values
    return None


def _spellings(missing: Collection[str]) -> list[str]:
    """Return the texts in small and capital letters; other mixtures go to the careful reader."""
    return sorted({way(text) for text in missing for way in (str, str.upper, str.title)} | {"NaN"})


def _bare(content: bytes, begin: int, separator: str) -> bytes | None:
    """Return the lines from `begin` on without quotes, or None if a quote does more than enclose.

    Every other quote opens a cell, and those between close it; nothing that ends a cell, and no
    blank at either end, may stand inside.
    """
    if content.find(b'"', begin) < 0:
        return content[begin:]
    letters = np.frombuffer(content, dtype=np.uint8)[begin:]
    quotes = np.flatnonzero(letters == ord('"'))
    if len(quotes) % 2:
        return None
    opened, closed = quotes[::2], quotes[1::2]
    ends = np.isin(letters, np.frombuffer(f"{separator}\r\n".encode(), dtype=np.uint8))
    before = ends[opened - 1] | (opened == 0)
    after = ends[np.minimum(closed + 1, len(letters) - 1)] | (closed + 1 == len(letters))
    if not (before.all() and after.all()):
        return None
    blank = (letters[opened + 1] == ord(" ")) | (letters[closed - 1] == ord(" "))
    passed = np.cumsum(ends, dtype=np.int64)
    if blank.any() or (passed[opened] != passed[closed]).any():
        return None
    return content[begin:].replace(b'"', b"")


def _by_polars(
    content: bytes,
    begin: int,
    chosen: list[int],
    width: int,
    dialect: Dialect,
    missing: list[str],
) -> Floats | None:
    import polars as pl

    # The last column is read in any case: polars fills up lines that are too short, and there it
    # shows.
    needed = sorted({*chosen, width - 1})
    kinds = {f"c{k}": pl.Float64 if k in chosen else pl.String for k in range(width)}
    quoted = content.find(b'"', begin) >= 0
    frame = None
    # Most tables have no words for "missing", and looking for them in every cell takes time.
    for words in (None, missing):
        try:
            frame = pl.read_csv(
                content,
                has_header=False,
                skip_lines=1,
                columns=needed,
                schema=kinds,
                separator=dialect.separator,
                decimal_comma=dialect.decimal == ",",
                null_values=words,
                quote_char='"' if quoted else None,
            )
            break
        except (pl.exceptions.PolarsError, OverflowError):
            continue
    if frame is None or frame.width != len(needed):
        return None
    if frame[f"c{width - 1}"].null_count():
        plain = _bare(content, begin, dialect.separator)
        cuts = -1 if plain is None else plain.count(dialect.separator.encode())
        if cuts != frame.height * (width - 1):
            return None
    part = frame.select(f"c{k}" for k in chosen)
    return np.asarray(part.to_numpy(), dtype=np.float64)


def _by_pyarrow(
    content: bytes,
    begin: int,
    chosen: list[int],
    width: int,
    dialect: Dialect,
    missing: list[str],
) -> Floats | None:
    import pyarrow
    from pyarrow import csv

    plain = _bare(content, begin, dialect.separator)
    if plain is None:
        return None
    names = [f"c{k}" for k in range(width)]
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(plain),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter=dialect.separator, quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={names[k]: pyarrow.float64() for k in chosen},
                include_columns=[names[k] for k in chosen],
                null_values=missing,
                decimal_point=dialect.decimal,
            ),
        )
    except (pyarrow.ArrowException, ValueError):
        return None
    values = np.empty((table.num_rows, len(chosen)))
    for k in range(len(chosen)):
        values[:, k] = table.column(k).to_numpy()
    return values


def _by_numpy(
    content: bytes,
    begin: int,
    chosen: list[int],
    width: int,
    dialect: Dialect,
    missing: list[str],
) -> Floats | None:
    plain = _bare(content, begin, dialect.separator)
    if plain is None:
        return None
    if dialect.decimal == ",":
        if b"." in plain or dialect.separator == ",":
            return None
        plain = plain.replace(b",", b".")
    try:
        rows = np.loadtxt(
            io.BytesIO(plain), delimiter=dialect.separator, comments=None, ndmin=2, dtype=float
        )
    except ValueError:  # words, or lines of different lengths
        return None
    if rows.shape[1] != width:
        return None
    values: Floats = rows[:, chosen]
    return values
