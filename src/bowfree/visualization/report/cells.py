"""Cells and tables of the page: the text to show, and the value to sort by.

Numbers are rounded for the reader only; sorting does not depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bowfree.results.display import p_cell, significant

MAX_ROWS = 600  # of one table: a page with more is slow to sort and too long to read


class Cell(NamedTuple):
    """Text of a cell and the value it is sorted by; text sorts as text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A sortable table.

    Attributes
    ----------
    name : str
        Its id in the page.
    columns : tuple of tuple
        Heading and explanation of each column.
    rows : list of list of Cell
        The cells.
    left_out : int
        Rows that were cut off.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: list[list[Cell]]
    left_out: int = 0


def cut_rows(rows: list[list[Cell]], column: int) -> tuple[list[list[Cell]], int]:
    """Keep the rows with the largest numbers in a column, in their order."""
    if len(rows) <= MAX_ROWS:
        return rows, 0

    def size(k: int) -> float:
        value = rows[k][column].value
        return 0.0 if value is None or math.isnan(value) else abs(value)

    kept = sorted(sorted(range(len(rows)), key=lambda k: -size(k))[:MAX_ROWS])
    return [rows[k] for k in kept], len(rows) - MAX_ROWS


def number(value: float, digits: int = 3) -> Cell:
    """Return a number without a unit, to so many decimals."""
    value = float(value)
    if not math.isfinite(value):
        return Cell("–", math.nan)
    rounded = round(value, digits) + 0.0  # no "-0.000"
    return Cell(f"{rounded:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}", value)


def quantity(value: float) -> Cell:
    """Return a number that has a unit, which may be a small one: four significant digits."""
    value = float(value)
    return Cell(significant(value, 4), value) if math.isfinite(value) else Cell("–", math.nan)


def count(value: int) -> Cell:
    return Cell(str(value), float(value))


def percent(share: float) -> Cell:
    """Return a share; what is nearly nothing or nearly all is not rounded to it."""
    if share in (0, 1):
        return Cell(f"{100 * share:.0f} %", share)
    if not 0.0005 <= share < 0.9995:
        return Cell("< 0.1 %" if share < 0.5 else "> 99.9 %", share)
    return Cell(f"{100 * share:.1f} %", share)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def p_value(value: float) -> Cell:
    return Cell(p_cell(value, 3) or "–", value)
