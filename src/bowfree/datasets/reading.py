"""What a reader of tables is told: which columns, what is missing, how the file is written.

Nothing about a file is guessed where a guess could go wrong. What the file leaves open is asked
for, by the name of the option, in the words of where the user is: ``separator=`` in Python,
``--separator`` on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from bowfree.datasets.table import Table
from bowfree.errors import DataError
from bowfree.text_reading import join_names, number, short_repr, similar_names
from bowfree.validation import as_list

Floats = npt.NDArray[np.float64]
Decimal = Literal["point", "comma"]

# What R, pandas, Stata and people write for "not measured", in small letters.
_MISSING = frozenset({"", "na", "nan", "n/a", "null", "none", "."})

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}


class WrittenOptions(TypedDict, total=False):
    """How a file is written, where it does not show; fields of :class:`ReadOptions`."""

    separator: str | None
    decimal: Decimal | None
    encoding: str | None
    sheet: str | None
    ordinal: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; what is None is found out, or asked for.

    Attributes
    ----------
    columns : sequence of str, optional
        The columns to read, in this order. By default all.
    drop : sequence of str
        Columns to leave out.
    na : sequence of str
        Texts and numbers that stand for "not measured", besides empty cells, NA, NaN, n/a, null,
        none and a single point.
    separator : {"comma", "semicolon", "tab", "space"}, optional
        What stands between two cells.
    decimal : {"point", "comma"}, optional
        What stands before the decimals of a number.
    encoding : str, optional
        Of a text file; UTF-8, or UTF-16 with its mark, by default.
    sheet : str, optional
        Of a workbook with several sheets.
    ordinal : mapping of str to sequence of str
        The columns whose cells are words, with these words in their order; they are read as 1, 2, 3
        and so on.
    written : str
        How an option is written where the user is, with a place for its name.
    """

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    na: Sequence[str] = ()
    separator: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    sheet: str | None = None
    ordinal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    written: str = field(default="{}=", repr=False)

    def __post_init__(self) -> None:
        for name, what in (("columns", "names"), ("drop", "names"), ("na", "texts")):
            if name != "columns" or self.columns is not None:  # None: all of them
                object.__setattr__(self, name, self._texts(name, what))
        for name in ("encoding", "sheet"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or "\0" in value):
                raise DataError(f"{self.option(name)} {short_repr(value)}: must be a text")
        for name, choices in (("separator", (*SEPARATORS,)), ("decimal", ("point", "comma"))):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value in choices):
                raise DataError(
                    f"{self.option(name)} {short_repr(value)}: choose one of {', '.join(choices)}"
                )
        if not isinstance(self.ordinal, Mapping):
            raise DataError(
                f"{self.option('ordinal')} {short_repr(self.ordinal)}: give for each column the list of "
                "its words"
            )
        for name, words in self.ordinal.items():
            self._check_words(name, words)

    def _check_words(self, name: str, words: Any) -> None:
        ask = self.option("ordinal")
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise DataError(
                f"{ask} {short_repr(words)} for column {short_repr(name)}: give a list of words"
            )
        listed_words = list(words)
        odd = next((w for w in listed_words if not isinstance(w, str) or not w.strip()), None)
        if odd is not None:
            raise DataError(f"{ask} {short_repr(odd)} for column {short_repr(name)}: give words")
        if len(set(listed_words)) < max(2, len(listed_words)):
            raise DataError(
                f"{ask} column {short_repr(name)} has the words {join_names(listed_words)}: give two or "
                "more, each once, in their order"
            )

    def _texts(self, name: str, what: str) -> tuple[str, ...]:
        given = getattr(self, name)
        found = as_list(self.option(name), given, what, DataError)
        odd = [value for value in found if not isinstance(value, str)]
        if isinstance(given, str) or odd:
            seen = odd[0] if odd else given
            raise DataError(f"{self.option(name)} {short_repr(seen)}: give a list of {what}")
        return tuple(found)

    def option(self, name: str) -> str:
        """Return the name of an option as the user writes it."""
        return self.written.format(name)

    @property
    def missing(self) -> frozenset[str]:
        """All texts for "not measured", in small letters."""
        return _MISSING | {text.strip().lower() for text in self.na}

    @cached_property
    def _codes(self) -> dict[str, dict[str, float]]:
        return {
            name: {word.strip(): float(k) for k, word in enumerate(words, start=1)}
            for name, words in self.ordinal.items()
        }

    def code(self, name: str, cell: str) -> float:
        """Return the place of a word in the order of its column, NaN for a missing one.

        Raises
        ------
        ValueError
            With the end of a sentence about the cell, if it is none of the words.
        """
        codes = self._codes[name]
        found = codes.get(cell)
        if found is not None:  # before anything else: "none" may be a degree, and not missing
            return found
        if cell.lower() in self.missing:
            return float("nan")
        raise ValueError(f"is none of {join_names(list(codes))}")

    def choose(self, names: Sequence[str], what: str) -> list[int]:
        """Return the places of the columns to read, among the names that there are."""
        place = {name: k for k, name in enumerate(names)}
        for wanted in (self.columns or (), self.drop, self.ordinal):
            for name in wanted:
                if name not in place:
                    close = similar_names(name, names)
                    hint = f" (did you mean {close[0]!r}?)" if close else ""
                    raise DataError(
                        f"{what} has no column {short_repr(name)}{hint}; it has {join_names(names)}"
                    )
            if len(set(wanted)) < len(wanted):
                twice = next(name for name in wanted if list(wanted).count(name) > 1)
                raise DataError(f"column {short_repr(twice)} is asked for twice; leave one out")
        kept = names if self.columns is None else self.columns
        return [place[name] for name in kept if name not in self.drop]

    def table(self, names: Sequence[str], X: Floats) -> Table:
        """Return the columns as a table, with NaN wherever one of the numbers in `na` stands."""
        measured = np.array([name not in self.ordinal for name in names], dtype=bool)
        for text in self.na:
            try:
                value = number(text)
            except ValueError:
                continue
            X = np.where((value == X) & measured, np.nan, X)
        return Table(tuple(names), X)
