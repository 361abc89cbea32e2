"""CSV text: cells with line and column, and names that no spreadsheet runs as a formula.

Spaces around a bare cell are ignored; a cell in double quotes is read as it is. Spreadsheets run a
cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula. A name that starts like this, or
with a tab or line end, is therefore written with an apostrophe in front, which spreadsheets treat as
"this is text" and `read_name` removes. A name that starts with apostrophes and then like a formula
gets one more, so that different names are written differently.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import chain
from typing import NamedTuple, NoReturn

from bowfree.errors import ParseError
from bowfree.text_reading import check_text

# Full-width signs count as well: some spreadsheets convert them to the plain ones.
_FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠\t\r\n]")


def write_name(name: str) -> str:
    """Return a name as text that no spreadsheet runs as a formula; `read_name` is the inverse."""
    return f"'{name}" if _FORMULA.match(name) else name


def read_name(cell: str) -> str:
    """Return the name that `write_name` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


def write_line(cells: Iterable[str]) -> str:
    """Write one line, with quotes where a cell needs them."""
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    bare = cell == cell.strip() and not set(',"\r\n') & set(cell)
    return cell if bare else '"' + cell.replace('"', '""') + '"'


class Row(NamedTuple):
    """The cells of a row, the number of the line where it starts, and this line."""

    cells: list[str]
    number: int
    line: str


class CsvReader:
    """The rows of a CSV text, without empty lines; `what` is its name in messages."""

    def __init__(self, text: str, *, separator: str = ",", what: str) -> None:
        self._text, self._separator, self._what = check_text(text, what), separator, what

    def __iter__(self) -> Iterator[Row]:
        separator, number = self._separator, 1
        lines = StringIO(self._text, newline="")
        for line in lines:
            n_lines, cells = 1, [cell.strip() for cell in line.split(separator)]
            if '"' in line:  # the row may continue in the next lines
                skip = separator != " "
                reader = csv.reader(
                    chain([line], lines), delimiter=separator, skipinitialspace=skip, strict=True
                )
                try:
                    cells = next(reader)
                except csv.Error:
                    quoted = [k for k, cell in enumerate(cells) if cell.startswith('"')]
                    problem = "a quoted cell is not closed, or text follows it"
                    self.refuse(Row(cells, number, line), max(quoted, default=0), problem)
                n_lines = reader.line_num
            if len(cells) > 1 or any(cells):
                yield Row(cells, number, line)
            number += n_lines

    def refuse(self, row: Row, k: int, problem: str) -> NoReturn:
        """Raise a ParseError at cell k of a row."""
        before = row.line.split(self._separator)[: min(k, len(row.cells) - 1)]
        column = sum(len(cell) + 1 for cell in before) + 1
        raise ParseError(f"{self._what}: {problem}", line=row.number, column=column)
