"""Display of results: one line, text, and the same as HTML.

A result describes itself once, by ``_headline`` (one line) and ``_sections`` (lines and tables).
:class:`TextDisplay` derives ``repr``, ``str`` and the display in notebooks from them. A class that
uses it is a dataclass with ``repr=False``, because its own ``repr`` would take precedence.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

MOST_ROWS = 40
"""Largest number of printed rows of a table; data frames have all rows."""

_LONGEST_REPR = 118


@dataclass(frozen=True)
class Table:
    """A table of strings."""

    headings: tuple[str, ...]  # empty for a table without headings
    rows: Sequence[tuple[str, ...]]
    left: tuple[int, ...] = (0,)  # columns that are left-aligned; the others are right-aligned
    widths: tuple[int, ...] = ()  # smallest widths of the first columns, in characters
    most: int | None = None  # largest number of rows to show
    rest: str = ""  # text after the number of omitted rows, such as "more: to_frame() has all"
    gap: int = 2  # spaces between columns

    def lines(self, width: int | None = None) -> list[str]:
        """Return the table as lines with aligned columns.

        A table that is wider than `width` is continued below, with its first column repeated.
        """
        rows = [self.headings, *self.rows[: self.most]] if self.headings else self.rows[: self.most]
        if not rows:
            return []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for k, least in enumerate(self.widths):
            widths[k] = max(widths[k], least)
        lines: list[str] = []
        for columns in _column_groups(widths, width, self.gap):
            lines += [""] * bool(lines)
            lines += [
                (" " * self.gap)
                .join(
                    row[k].ljust(widths[k]) if k in self.left else row[k].rjust(widths[k])
                    for k in columns
                )
                .rstrip()
                for row in rows
            ]
        return [*lines, *self._note()]

    def _note(self) -> list[str]:
        hidden = len(self.rows) - (len(self.rows) if self.most is None else self.most)
        return [f"... and {hidden:,} {self.rest}"] if hidden > 0 else []

    def markdown(self) -> list[str]:
        """Return the table as lines of Markdown."""
        marks = tuple(":--" if k in self.left else "--:" for k in range(len(self.headings)))
        rows = [self.headings, marks, *self.rows[: self.most]]
        lines = ["| " + " | ".join(x.replace("|", r"\|") for x in row) + " |" for row in rows]
        return [*lines, *self._note()]

    def latex(self) -> list[str]:
        """Return the table as lines of LaTeX, for the package booktabs."""
        rows = [" & ".join(map(_latex, row)) + r" \\" for row in self.rows[: self.most]]
        columns = "".join("l" if k in self.left else "r" for k in range(len(self.headings)))
        return [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_latex, self.headings)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in self._note()),
        ]

    def html(self) -> str:
        """Return the table as HTML, with escaped cells."""
        head = f"<thead>{self._html_row('th', self.headings)}</thead>" if self.headings else ""
        body = "\n".join(self._html_row("td", row) for row in self.rows[: self.most])
        notes = "".join(_paragraph(note) for note in self._note())
        return f"<table>{head}<tbody>\n{body}\n</tbody></table>{notes}"

    def apa(self) -> list[str]:
        """Return the table as HTML in the style of the American Psychological Association.

        It has horizontal rules only, symbols in italics, p-values with three decimals and without
        the zero before the point. Word processors open it.
        """
        rule = "border-top:1px solid black"
        n_columns = max(map(len, [self.headings, *self.rows]))
        sides = ["left" if k in self.left else "center" for k in range(n_columns)]

        def row(tag: str, cells: Iterable[str], style: str = "") -> str:
            written = (
                f'<{tag} style="font-weight:normal;padding:2px 8px;text-align:{side};{style}">{cell}'
                f"</{tag}>"
                for side, cell in zip(sides, cells, strict=True)
            )
            return f"<tr>{''.join(written)}</tr>"

        headings = [_APA.get(name, html.escape(name)) for name in self.headings]
        lines = [row("th", headings, rule)] if headings else []
        shown = self.rows[: self.most]
        for k, cells in enumerate(shown):
            texts = (
                _indent(cell) + _apa_cell(cell.strip(), heading in ("p", "P(>|z|)"))
                for heading, cell in zip(self.headings or [""] * n_columns, cells, strict=True)
            )
            end = "border-bottom:1px solid black" if cells is shown[-1] else ""
            lines.append(row("td", texts, end if k else f"{rule};{end}"))
        style = "border-collapse:collapse;font-family:'Times New Roman'"
        notes = [f"<p><i>Note.</i> {html.escape(note)}</p>" for note in self._note()]
        return [f'<table style="{style}">', *lines, "</table>", *(notes or ["<br>"])]

    def _html_row(self, tag: str, cells: tuple[str, ...]) -> str:
        sides = ["left" if k in self.left else "right" for k in range(len(cells))]
        written = (
            f'<{tag} style="text-align:{side}">{html.escape(cell.strip())}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"


_SYMBOLS = {
    "p": "p", "P(>|z|)": "p", "z": "z", "z-value": "z", "s.e.": "SE", "Std.Err": "SE", "n": "n",
    "df": "df", "mean": "M",
}  # fmt: skip
_APA = {name: f"<i>{symbol}</i>" for name, symbol in _SYMBOLS.items()} | {
    "chi-square": "χ<sup>2</sup>",
    "Chi-square": "χ<sup>2</sup>",
    "ci.lower": "CI <i>LL</i>",
    "ci.upper": "CI <i>UL</i>",
    "Std.all": "<i>β</i>",
}


def _indent(cell: str) -> str:
    return "&nbsp;" * (len(cell) - len(cell.lstrip()))


def _apa_cell(cell: str, is_p: bool) -> str:
    """Return a cell with real minus signs and arrows; p-values as ".012" or "< .001"."""
    if is_p and cell:
        value = float(cell.strip("< "))
        least = cell.startswith("<") or value < 0.001
        return "&lt; .001" if least else f"{value:.3f}".removeprefix("0")
    cell = re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", cell)
    for mark, arrow in (("<->", "↔"), ("->", "→"), ("<-", "←")):
        cell = cell.replace(mark, arrow)
    return html.escape(cell)


_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<->": r"$\leftrightarrow$",
    "->": r"$\rightarrow$",
    "<-": r"$\leftarrow$",
    "<": "$<$",
    ">": "$>$",
}


def _latex(cell: str) -> str:
    return re.sub(r"<->|->|<-|[&%$#_{}\\~^<>]", lambda found: _LATEX[found[0]], cell)


def _column_groups(widths: Sequence[int], width: int | None, gap: int) -> Iterator[list[int]]:
    """Yield groups of columns that fit side by side, each with the first column.

    A column that does not fit beside the first one is a group of its own.
    """
    columns, used = [0], widths[0]
    for k, needed in enumerate(widths[1:], start=1):
        alone = width is not None and widths[0] + gap + needed > width
        if alone or (width is not None and used + gap + needed > width):
            if len(columns) > 1:
                yield columns
            columns, used = [0], widths[0]
        if alone:
            yield [k]
            continue
        columns.append(k)
        used += gap + needed
    if len(columns) > 1 or len(widths) == 1:
        yield columns


def _wrapped(text: str, width: int | None) -> list[str]:
    """Break lines between words."""
    if width is None:
        return [text]
    return [
        part
        for line in text.split("\n")
        for part in wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


class Text(str):
    """A string that a console displays as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TextDisplay:
    """Base of results that are displayed on one line, as text, and as HTML."""

    __slots__ = ()

    def _headline(self) -> str:
        """Return a description on one line."""
        raise NotImplementedError

    def _sections(self) -> Iterable[str | Table]:
        """Yield the lines and tables of the text, from top to bottom."""
        yield self._headline()

    def summary(self) -> Any:
        """Return the text that ``print`` shows, or an object that has it as its ``str``."""
        return Text(self)

    def __str__(self) -> str:
        return self._text()

    def _text(self, width: int | None = None) -> str:
        """Return the text, wrapped to a width if there is one."""
        lines: list[str] = []
        above: str | Table = ""
        for part in self._sections():
            if isinstance(above, Table) and isinstance(part, Table):
                lines.append("")
            lines += _wrapped(part, width) if isinstance(part, str) else part.lines(width)
            above = part
        return "\n".join(lines)

    def __repr__(self) -> str:
        name, text = type(self).__name__, " ".join(self._headline().split())
        longest = _LONGEST_REPR - len(name) - len("<: >")
        return f"<{name}: {text if len(text) <= longest else text[: longest - 3] + '...'}>"

    def _repr_html_(self) -> str:
        return to_html(self._sections())


def to_html(parts: Iterable[str | Table]) -> str:
    """Return lines and tables as HTML."""
    written = [_paragraph(part) if isinstance(part, str) else part.html() for part in parts]
    return "\n".join(['<div class="bowfree">', *written, "</div>"])


def _paragraph(line: str) -> str:
    return f'<p style="margin:0.3em 0">{html.escape(line)}</p>' if line else ""


def shorten_list(text: str, rest: str, *, most: int = 400) -> str:
    """Return the text, cut at a comma if it is long, followed by `rest` in parentheses."""
    if len(text) <= most:
        return text
    kept = text[:most].rpartition(", ")[0] or text[:most]
    return f"{kept}, ... ({rest})"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return "1 member", "2 members", "1,000 classes"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share as "50 %"; "100 %" and "0 %" are exact, otherwise ">99 %" or "<1 %"."""
    if 0.0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1.0 else f"{100 * share:.0f} %"


def p_cell(p_value: float, digits: int = 4) -> str:
    """Return a p-value as "0.0123" or "< 0.0001"; empty for NaN."""
    least = 10.0**-digits
    return f"< {least:.{digits}f}" if p_value < least else number(p_value, digits)


def p_text(p_value: float, digits: int = 4) -> str:
    """Return "p = 0.0123" or "p < 0.0001"."""
    cell = p_cell(p_value, digits)
    return f"p {cell}" if cell.startswith("<") else f"p = {cell or '–'}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals; empty for NaN."""
    return "" if value != value else f"{value:.{digits}f}"


def significant(value: float, digits: int = 3) -> str:
    """Return a number with this many significant digits; empty for NaN.

    Examples
    --------
    >>> from bowfree.results.display import significant
    >>> significant(242.88), significant(0.5), significant(-0.0032104), significant(2e-9)
    ('243', '0.500', '-0.00321', '2.00e-09')
    """
    if value != value:
        return ""
    if value == 0 or math.isinf(value):
        return f"{value + 0.0:g}"  # no "-0"
    # Rounding first, because 9.996 has two digits before the point when rounded.
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])
    if not -5 <= exponent <= 6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - exponent)}f}"
