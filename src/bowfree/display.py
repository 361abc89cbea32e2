"""How results show themselves: one line, a text, and the same text as HTML.

A result says once what it has to show, as lines and tables, in ``_shown``, and what it is in a few
words, in ``_brief``. :class:`Shown` makes of this what ``repr``, ``print`` and a notebook ask for.
A class that uses it is a dataclass with ``repr=False``; otherwise its own ``repr`` comes first.

Next: :mod:`bowfree.frames`, which makes data frames of results.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "MOST_ROWS",
    "Shown",
    "Table",
    "count",
    "html_page",
    "number",
    "p_text",
    "percent",
    "shorten",
    "significant",
]

MOST_ROWS = 40
"""Rows of a table that grows with the number of pairs; more are read as a data frame."""

_LONGEST_REPR = 118


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    headings : tuple of str
        One for each column; empty for a table without a heading.
    rows : sequence of tuple of str
        The cells.
    left : tuple of int
        Columns that are set to the left; numbers are set to the right.
    widths : tuple of int
        Smallest widths of the first columns, in characters.
    most : int or None
        Rows to show.
    rest : str
        What to say after the number of the others, such as "more: to_frame() has all".
    """

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left: tuple[int, ...] = (0,)
    widths: tuple[int, ...] = ()
    most: int | None = None
    rest: str = ""

    def lines(self) -> list[str]:
        """Return the table as lines with aligned columns."""
        rows = [self.headings, *self.rows[: self.most]] if self.headings else self.rows[: self.most]
        if not rows:
            return []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        widths = [max(*pair) for pair in zip(widths, self._least(len(widths)), strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if k in self.left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return [*lines, *self._note()]

    def _least(self, columns: int) -> list[int]:
        return [*self.widths, *[0] * (columns - len(self.widths))]

    def _note(self) -> list[str]:
        hidden = len(self.rows) - (len(self.rows) if self.most is None else self.most)
        return [f"... and {hidden:,} {self.rest}"] if hidden > 0 else []

    def html(self) -> str:
        """Return the table as HTML; whatever a name contains, it is shown and not obeyed."""
        head = f"<thead>{self._html_row('th', self.headings)}</thead>" if self.headings else ""
        body = "\n".join(self._html_row("td", row) for row in self.rows[: self.most])
        notes = "".join(_paragraph(note) for note in self._note())
        return f"<table>{head}<tbody>\n{body}\n</tbody></table>{notes}"

    def _html_row(self, tag: str, cells: tuple[str, ...]) -> str:
        # Notebooks set cells to the right; the side is said for pages that do not.
        side = ["left" if k in self.left else "right" for k in range(len(cells))]
        written = (
            f'<{tag} style="text-align:{where}">{html.escape(cell.strip())}</{tag}>'
            for where, cell in zip(side, cells, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"


class Shown:
    """What can be shown on one line, as text, and as HTML."""

    __slots__ = ()

    def _brief(self) -> str:
        """Say on one line what this is."""
        raise NotImplementedError

    def _shown(self) -> Iterable[str | Table]:
        """Yield what is shown, from top to bottom: lines and tables."""
        yield self._brief()

    def __str__(self) -> str:
        lines = []
        for part in self._shown():
            lines += [part] if isinstance(part, str) else part.lines()
        return "\n".join(lines)

    def __repr__(self) -> str:
        name, brief = type(self).__name__, " ".join(self._brief().split())
        room = _LONGEST_REPR - len(name) - len("<: >")
        return f"<{name}: {brief if len(brief) <= room else brief[: room - 3] + '...'}>"

    def _repr_html_(self) -> str:
        return html_page(self._shown())


def html_page(parts: Iterable[str | Table]) -> str:
    """Return lines and tables as HTML."""
    written = [_paragraph(part) if isinstance(part, str) else part.html() for part in parts]
    return "\n".join(['<div class="bowfree">', *written, "</div>"])


def _paragraph(line: str) -> str:
    return f'<p style="margin:0.3em 0">{html.escape(line)}</p>' if line else ""


def shorten(text: str, rest: str, *, most: int = 400) -> str:
    """Return the text, cut at a comma when it is long, with a word on where the rest is.

    Examples
    --------
    >>> from bowfree.display import shorten
    >>> shorten("a -> b, c -> d, e -> f", "result.graph has all", most=18)
    'a -> b, c -> d, ... (result.graph has all)'
    """
    if len(text) <= most:
        return text
    kept = text[:most].rpartition(", ")[0] or text[:most]
    return f"{kept}, ... ({rest})"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return "1 member", "2 members", "1,000 classes".

    Examples
    --------
    >>> from bowfree.display import count
    >>> count(1, "member"), count(1000, "class", "classes")
    ('1 member', '1,000 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share in percent; "100 %" and "0 %" are all and none, and nothing less.

    Examples
    --------
    >>> from bowfree.display import percent
    >>> percent(0.5), percent(0.999), percent(1.0)
    ('50 %', '>99 %', '100 %')
    """
    if 0.0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1.0 else f"{100 * share:.0f} %"


def p_text(p_value: float) -> str:
    """Return "p = 0.0123", or "p < 0.0001"."""
    return f"p = {p_value:.4f}" if p_value >= 0.0001 else "p < 0.0001"


def number(value: float, digits: int = 3) -> str:
    """Return a number with this many decimals; nothing for NaN, which says "not available"."""
    return "" if value != value else f"{value:.{digits}f}"


def significant(value: float, digits: int = 3) -> str:
    """Return a number with this many significant digits, whatever its unit; nothing for NaN.

    Examples
    --------
    >>> from bowfree.display import significant
    >>> significant(242.88), significant(0.5), significant(-0.0032104), significant(2e-9)
    ('243', '0.500', '-0.00321', '2.00e-09')
    """
    if value != value:
        return ""
    if value == 0 or math.isinf(value):
        return f"{value + 0.0:g}"  # no "-0"
    # Rounded first: 9.996 has one digit before the point more than it seems.
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])
    if not -5 <= exponent <= 6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - exponent)}f}"
