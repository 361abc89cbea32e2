"""Large tables of plain numbers, read by a library that does it on all cores.

Only what such a library and our own reader understand alike comes here: one line for each row, no
quotes below the first line, numbers and words for "missing". The first of polars, pyarrow and
NumPy that is installed reads it. Whatever one of them finds odd is not refused here but read again
cell by cell, where the error has a line and a column.
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
"""Characters from which on loading a library pays."""


def quick_values(
    text: str, chosen: list[int], width: int, dialect: Dialect, missing: Collection[str]
) -> Floats | None:
    """Return some columns of a table, or None if it takes a more careful reader.

    Parameters
    ----------
    text : str
        The table; its first line is passed over.
    chosen : list of int
        The columns to return.
    width : int
        Number of cells in every line.
    dialect : Dialect
        How it is written.
    missing : collection of str
        Texts that stand for "not measured", in small letters.
    """
    end = text.find("\n")
    if end < 0 or text.find('"', end) >= 0 or (text.find('"', 0, end) >= 0 and not _one_line(text)):
        return None
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return None
    if dialect.separator == " ":
        return None  # several blanks in a row mean something else to each of them
    content = text[end + 1 :].encode()
    for read in (_by_polars, _by_pyarrow, _by_numpy):
        try:
            values = read(content, chosen, width, dialect, _spellings(missing))
        except ImportError:
            continue
        # An infinite value may be a number that is too large: the careful reader knows.
        return None if values is None or np.isinf(values).any() else values
    return None


def _one_line(text: str) -> bool:
    """Tell whether the quotes of the first line are closed in it."""
    return text.partition("\n")[0].count('"') % 2 == 0


def _spellings(missing: Collection[str]) -> list[str]:
    """Return the texts in small and capital letters; other mixtures go to the careful reader."""
    return sorted({way(text) for text in missing for way in (str, str.upper, str.title)} | {"NaN"})


def _by_polars(
    content: bytes, chosen: list[int], width: int, dialect: Dialect, missing: list[str]
) -> Floats | None:
    import polars as pl

    # The last column is read in any case: polars fills up lines that are too short, and there it
    # shows.
    needed = sorted({*chosen, width - 1})
    names = [f"c{k}" for k in range(width)]
    kinds = {f"c{k}": pl.Float64 if k in chosen else pl.String for k in range(width)}
    try:
        frame = pl.read_csv(
            content,
            has_header=False,
            columns=needed,
            schema=kinds,
            separator=dialect.separator,
            decimal_comma=dialect.decimal == ",",
            null_values=missing,
            quote_char=None,
        )
    except (pl.exceptions.PolarsError, OverflowError):
        return None
    if frame.width != len(needed):
        return None
    if frame[names[width - 1]].null_count():
        cuts = content.count(dialect.separator.encode())
        if cuts != frame.height * (width - 1):
            return None
    part = frame.select(names[k] for k in chosen)
    return np.asarray(part.to_numpy(), dtype=np.float64)


def _by_pyarrow(
    content: bytes, chosen: list[int], width: int, dialect: Dialect, missing: list[str]
) -> Floats | None:
    import pyarrow
    from pyarrow import csv

    names = [f"c{k}" for k in range(width)]
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(content),
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
    content: bytes, chosen: list[int], width: int, dialect: Dialect, missing: list[str]
) -> Floats | None:
    if dialect.decimal != ".":
        return None
    try:
        rows = np.loadtxt(
            io.BytesIO(content), delimiter=dialect.separator, comments=None, ndmin=2, dtype=float
        )
    except ValueError:  # words, or lines of different lengths
        return None
    if rows.shape[1] != width:
        return None
    values: Floats = rows[:, chosen]
    return values
