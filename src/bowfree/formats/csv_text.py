r"""CSV text: cells with line and column, and names that no spreadsheet runs as a formula.

A cell is bare or in double quotes. Spaces around a bare cell are ignored; a quoted cell is read as
it is, including line ends, with ``""`` for a quote. Lines end with ``\n``, ``\r\n`` or ``\r``.

Spreadsheets run a cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula. A name that
starts like this, or with a tab or line end, is therefore written with an apostrophe in front, which
spreadsheets treat as "this is text" and `read_name` removes. A name that starts with apostrophes
and then like a formula gets one more, so that different names are written differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn

from bowfree.errors import ParseError
from bowfree.text_reading import check_text, line_and_column

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
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
    """The cells of a row, and the position in the text where it starts."""

    start: int
    cells: list[str]


class CsvReader:
    """The rows of a CSV text, without empty lines.

    Parameters
    ----------
    text : str
        The text.
    separator : str
        The character between two cells.
    what : str
        Name of the text in messages.
    """

    def __init__(self, text: str, *, separator: str = ",", what: str) -> None:
        self.text = check_text(text, what)
        self._separator = separator
        self.what = what
        blank = {"\t": " ", " ": "\t"}.get(separator, "[ \t]")
        mark = re.escape(separator)
        # Possessive quantifiers (`*+`): a match takes linear time.
        self._cell = re.compile(
            rf'{blank}*+(?:"([^"]*+(?:""[^"]*+)*+)"{blank}*+|(?!")([^{mark}\r\n]*+))'
            rf"({mark}|\r\n?|\n|\Z)"
        )

    def __iter__(self) -> Iterator[Row]:
        position = 0
        while position < len(self.text):
            start = position
            line = _LINE.match(self.text, start)
            assert line is not None  # it matches the empty string
            content, position = line.group(1), line.end()
            if '"' in content:  # the row may continue in the next line
                found = list(self._cells(start))
                position = found[-1].end()
                yield Row(start, [_content(cell) for cell in found])
            elif content.strip() or self._separator in content:
                yield Row(start, [cell.strip() for cell in content.split(self._separator)])

    def _cells(self, position: int) -> Iterator[re.Match[str]]:
        """Yield the matches of all cells of the row that starts here."""
        while True:
            cell = self._cell.match(self.text, position)
            if cell is None:
                self._refuse_at(position, "a quoted cell is not closed, or text follows it")
            yield cell
            position = cell.end()
            if cell.group(3) != self._separator:
                return

    def refuse(self, row: Row, k: int, problem: str) -> NoReturn:
        """Raise a ParseError at cell k of a row."""
        cells = list(self._cells(row.start))
        self._refuse_at(cells[min(k, len(cells) - 1)].start(), problem)

    def _refuse_at(self, position: int, problem: str) -> NoReturn:
        line, column = line_and_column(self.text, position)
        raise ParseError(f"{self.what}: {problem}", line=line, column=column)


def _content(cell: re.Match[str]) -> str:
    quoted, bare, _ = cell.groups()
    return bare.strip() if quoted is None else quoted.replace('""', '"')
