"""A table of numbers with named columns, and the options for reading one from a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import unusable_columns
from bowfree.data.diagnostics import odd_columns
from bowfree.data.frames import BOOLEAN, MOST_CATEGORIES, Table
from bowfree.errors import BowfreeError, DataError
from bowfree.formats.csv_text import write_line, write_name
from bowfree.text_reading import join_names, number, short_repr, similar_names
from bowfree.validation import as_list, check_count

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]
Separator = Literal["comma", "semicolon", "tab", "space"]
Decimal = Literal["point", "comma"]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_DATE = re.compile(
    r"(?:\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:\d{4}|\d{2}))(?:[ T]\d.*)?"
)
_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)? ?(?:[%°]|(?<= )[^\W\d])\S*")
_POINT_NUMBER = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_LISTED = 5  # columns with invalid cells in a message
# Strings for missing values that R, pandas, Stata and people write, in lower case.
_MISSING = frozenset({"", "na", "nan", "n/a", "null", "none", "."})


def write_table(table: Table, *, decimals: int | None = None) -> str:
    """Return a table as CSV text.

    Parameters
    ----------
    table : Table
        The table.
    decimals : int, optional
        Number of decimals; by default all digits.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> table = bf.datasets.Table(("x", "y"), np.array([[0.5, 1 / 3]]))
    >>> print(bf.datasets.write_table(table, decimals=2), end="")
    x,y
    0.50,0.33
    """
    if not isinstance(table, Table):
        raise DataError(f"table = {short_repr(table)}: must be a bowfree.datasets.Table")
    form = "{!r}"
    if decimals is not None:
        form = f"{{:.{min(check_count('decimals', decimals, 0), 300)}f}}"
    lines = [write_line(write_name(name) for name in table.names)]
    lines += [",".join(map(form.format, row)) + "\n" for row in table.X.tolist()]
    return "".join(lines)


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`bowfree.datasets.read_table`, which describes them.

    `style` is how messages write an option: ``separator=`` in Python, ``--separator`` on the
    command line.
    """

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    na: Sequence[str] = ()
    separator: Separator | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    comment: str | None = None
    sheet: str | None = None
    ordinal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    nominal: Sequence[str] = ()
    style: str = field(default="{}=", repr=False)
    labels: dict[str, Sequence[str]] = field(default_factory=dict, repr=False, compare=False)
    """Labels of the nominal columns read so far, shared by all files of a table."""

    def __post_init__(self) -> None:
        for name in ("columns", "drop", "na", "nominal"):
            if name != "columns" or self.columns is not None:
                object.__setattr__(self, name, tuple(self._strings(name, getattr(self, name))))
        for name in ("encoding", "comment", "sheet"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value or "\0" in value):
                raise DataError(f"{self.option(name)} {short_repr(value)}: must be a string")
        for name, choices in (("separator", (*SEPARATORS,)), ("decimal", ("point", "comma"))):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value in choices):
                raise DataError(
                    f"{self.option(name)} {short_repr(value)}: choose one of {', '.join(choices)}"
                )
        if not isinstance(self.ordinal, Mapping):
            raise DataError(
                f"{self.option('ordinal')} {short_repr(self.ordinal)}: must be a mapping from "
                "columns to lists of categories"
            )
        for name, labels in self.ordinal.items():
            given = [label.strip() for label in self._strings("ordinal", labels)]
            if len(set(given)) < max(2, len(given)) or "" in given:
                raise DataError(
                    f"{self.option('ordinal')} {short_repr(given)} for column {short_repr(name)}: "
                    "list two or more different categories, in their order"
                )

    def _strings(self, name: str, given: Any) -> list[str]:
        found = as_list(self.option(name), given, "strings", DataError)
        odd = given if isinstance(given, str) else [v for v in found if not isinstance(v, str)]
        if odd:
            raise DataError(f"{self.option(name)} {short_repr(odd)}: must be a list of strings")
        return found

    def option(self, name: str) -> str:
        """Return the name of an option as the user writes it."""
        return self.style.format(name)

    def choose(self, names: Sequence[str], what: str) -> list[int]:
        """Return the indices of the columns to read."""
        index = {name: k for k, name in enumerate(names)}
        for wanted in (self.columns or (), self.drop, self.ordinal, self.nominal):
            for name in wanted:
                if name not in index:
                    close = similar_names(name, names)
                    hint = f" (did you mean {close[0]!r}?)" if close else ""
                    if close and "," in close[0]:
                        hint = f" (write {close[0]!r} in double quotes, because of the comma)"
                    raise DataError(
                        f"{what} has no column {short_repr(name)}{hint}; it has {join_names(names)}"
                    )
            if len(set(wanted)) < len(wanted):
                twice = next(name for name in wanted if list(wanted).count(name) > 1)
                raise DataError(f"column {short_repr(twice)} is requested twice")
        kept = names if self.columns is None else self.columns
        chosen = [index[name] for name in kept if name not in self.drop]
        if not chosen:
            raise DataError(f"{what}: no columns are left; choose some of {join_names(names)}")
        return chosen

    def check_names(self, names: Sequence[str], what: str) -> None:
        """Raise an error if a column has no name, or two have the same."""
        unnamed = [str(k + 1) for k, name in enumerate(names) if not name]
        if unnamed:
            raise DataError(
                f"{what}: column {join_names(unnamed)} has no name; the first row has the names"
            )
        twice = [short_repr(name) for name, times in Counter(names).items() if times > 1]
        if twice:
            raise DataError(f"{what}: two columns are named {join_names(twice)}; rename one")

    def table(self, names: Sequence[str], X: Floats) -> Table:
        """Return a table with NaN in place of the numbers in `na`."""
        coded = {*self.ordinal, *self.labels}
        measured = np.array([name not in coded for name in names], dtype=bool)
        for text in self.na:
            try:
                X = np.where((number(text) == X) & measured, np.nan, X)
            except ValueError:
                continue
        labels = {
            name: words if words is BOOLEAN else tuple(words)
            for name, words in self.labels.items()
            if name in names
        }
        return Table(tuple(names), X, labels)

    def convert(
        self, name: str, cells: pl.Series, *, decimal: str = "."
    ) -> tuple[Floats, pl.Series]:
        """Return the numbers that cells of text stand for, and which cells are not valid.

        Missing values are NaN. Categories of an ordinal column become 1, 2, 3 and so on.
        """
        import polars as pl

        text = cells.cast(pl.String).str.strip_chars(' \t\n"')
        missing = text.is_null() | text.str.to_lowercase().is_in(self._missing)
        if name in self.ordinal:
            codes = {label.strip(): k + 1.0 for k, label in enumerate(self.ordinal[name])}
            values = text.replace_strict(codes, default=None, return_dtype=pl.Float64)
            return values.to_numpy(), values.is_null() & ~missing
        if name in self.nominal:
            labels = self.labels.setdefault(name, [])
            assert isinstance(labels, list)
            labels += sorted(set(text.filter(~missing).unique().to_list()) - {*labels})
            codes = {label: float(k) for k, label in enumerate(labels)}
            values = text.replace_strict(codes, default=None, return_dtype=pl.Float64)
            return values.set(missing, None).to_numpy(), pl.Series([False] * len(text))
        lower = text.str.to_lowercase()
        if (missing | lower.is_in(["true", "false"])).all() and not missing.all():
            self.labels[name] = BOOLEAN
            values = (lower == "true").cast(pl.Float64).set(missing, None)
            return values.to_numpy(), pl.Series([False] * len(text))
        if decimal == ",":
            text = text.str.replace_all(".", "?", literal=True).str.replace(",", ".", literal=True)
        values = text.cast(pl.Float64, strict=False).set(missing, None)
        overflow = values.is_infinite().fill_null(False) & ~text.str.contains("(?i)i")
        return values.to_numpy(), (values.is_null() & ~missing) | overflow

    @property
    def _missing(self) -> list[str]:
        return [*_MISSING, *(text.strip().lower() for text in self.na)]


class InvalidCells:
    """The invalid cells of a file, collected so that one error names all of them.

    `place` returns the places of rows, such as "line 7".
    """

    def __init__(
        self, what: str, options: ReadOptions, place: Callable[[Sequence[int]], list[str]]
    ) -> None:
        self.what, self.options, self.place = what, options, place
        self.problems: list[tuple[str, str]] = []  # with their remedies
        self.columns: list[str] = []
        self.words: set[str] = set()  # columns that may be categories

    def add(self, name: str, cells: pl.Series, invalid: pl.Series) -> None:
        """Add the invalid cells of a column: the first three, their number, and a remedy."""
        rows = invalid.arg_true().to_list()
        if not rows:
            return
        first = [str(cells[row]).strip(" ") for row in rows[:3]]
        listed = ", ".join(
            f"{short_repr(cell)} in {place}"
            for cell, place in zip(first, self.place(rows[:3]), strict=True)
        )
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        ordinal, na, decimal = map(self.options.option, ("ordinal", "na", "decimal"))
        drop, kind = f"drop it (drop={[name]!r})", "not a number"
        if name in self.options.ordinal:
            kind = f"none of {join_names(self.options.ordinal[name])}"
            remedy = f"list all categories in their order ({ordinal}), or {na} for missing values"
        elif all(map(_DATE.fullmatch, first)):
            kind, remedy = "a date", f"{drop}, or replace it by a number, such as days since a date"
        elif all(map(_WITH_UNIT.fullmatch, first)):
            remedy = f"remove the unit from its values, or {drop}"
        elif _COMMA_NUMBER.fullmatch(first[0]):
            remedy = f"if it has a decimal comma, pass {decimal} comma"
        elif _POINT_NUMBER.fullmatch(first[0]):
            kind = "not a valid number"
            remedy = "check its decimal mark and its size (below 1.8e308)"
        else:
            remedy = (
                f"{drop}, list its categories in their order ({ordinal}), or name the strings for "
                f"missing values ({na})"
            )
            if 2 * len(rows) > len(cells) and cells.n_unique() <= MOST_CATEGORIES:
                self.words.add(name)
                remedy = f"for unordered categories: nominal={[name]!r}; or {remedy}"
        self.problems.append((f"column {short_repr(name)}: {listed}{more}: {kind}", remedy))
        self.columns.append(name)

    def check(self, names: Sequence[str], X: Floats, error: type[BowfreeError] = DataError) -> None:
        """Raise an error if there are any, which names the problems of the other columns as well."""
        if not self.problems:
            return
        valid = [k for k, name in enumerate(names) if name not in self.columns]
        problems, drop = unusable_columns([names[k] for k in valid], X[:, valid])
        odd = odd_columns([names[k] for k in valid], X[:, valid]).get("identifier", [])
        if odd:
            problems.append(f"column {join_names(odd)} looks like row numbers or identifiers")
        gaps = np.isnan(X[:, valid]).sum(axis=0)
        lacking = [f"{names[valid[i]]} ({gaps[i]})" for i in np.flatnonzero(gaps)]
        if lacking:
            problems.append(f"missing values in {join_names(lacking)}")
        if len(self.problems) + len(problems) == 1:
            raise error(f"{self.what}: {'; '.join(self.problems[0])}")
        # A remedy that is the same for several columns follows once, in a line that can be copied.
        lines = [
            problem if name in self.words else f"{problem}; {remedy}"
            for name, (problem, remedy) in zip(self.columns, self.problems, strict=True)
        ][:_MOST_LISTED]
        if len(self.problems) > _MOST_LISTED:
            lines.append(f"... and {len(self.problems) - _MOST_LISTED} more columns")
        lines += problems
        words = [name for name in self.columns if name in self.words]
        if words:
            ordinal = self.options.option("ordinal")
            lines.append(f"for ordered categories: list them in their order ({ordinal})")
            lines.append(f"for unordered categories: nominal={words!r}")
        columns = list(dict.fromkeys([*self.columns, *drop, *odd]))
        every = f"to drop all columns that cannot be used: drop={columns!r}"
        raise error("\n  ".join([f"{self.what}:", *lines, every]))
