"""What every reader of text and files shares: bytes, numbers, sizes, and what an error repeats.

A file may come from anywhere. Whatever is in it, a reader takes time in proportion to its length
and either understands it or says in one short sentence why not. The rules for that stand here once:

- bytes are UTF-8 (`decode`, `read_text`), JSON is neither bottomless nor endless (`load_json`);
- a number is written in ASCII digits, without underscores (`number`, `whole_number`), although
  Python's ``float`` takes more than that;
- a few characters do not make a graph that fills the memory (`check_nodes`);
- an error repeats at most `SHOWN` characters of what it found (`shown`, `brief`, `listed`).

The readers are :mod:`bowfree.graph.text`, the files in :mod:`bowfree.formats`,
:mod:`bowfree.datasets.tables` and :class:`bowfree.Knowledge`.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from bowfree.errors import ParseError

SHOWN = 80
"""The most characters of a value that an error repeats."""

MOST_NODES = 10_000
"""The most nodes of a graph that is read from text.

A graph keeps one bit per pair of nodes, so memory grows with the square of a number that costs a
text a few characters. At this size it is 25 MB.
"""

_MOST_DIGITS = 1_000  # of an integer in JSON; Python itself refuses to read more than 4,300
_LINE_END = re.compile(r"\r\n?|\n")


def decode(content: bytes, what: str) -> str:
    """Return the text of a file in UTF-8, without its byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = line_and_column(error.object[: error.start].decode("utf-8", "replace"), None)
        raise ParseError(
            f"{what} is not a text in UTF-8: found the byte 0x{error.object[error.start]:02x}; "
            "save it as UTF-8",
            line=line,
            column=column,
        ) from None


def read_text(path: Path) -> str:
    """Return the text of a file; line ends stay as they are."""
    return decode(path.read_bytes(), path.name)


def check_text(text: object, what: str) -> str:
    """Return what was given if it is a text."""
    if not isinstance(text, str):
        raise ParseError(f"{what} is read from a string, not from {type(text).__name__}")
    return text


def load_json(text: str | bytes) -> Any:
    """Decode JSON; whatever is wrong with it becomes a ParseError."""
    if isinstance(text, bytes | bytearray):
        text = decode(text, "JSON")
    try:
        return json.loads(check_text(text, "JSON"), parse_int=_json_integer)
    except json.JSONDecodeError as error:
        line, column = line_and_column(text, error.pos)
        raise ParseError(f"not JSON: {error.msg}", line=line, column=column) from None
    except RecursionError:
        raise ParseError("JSON is nested too deeply; a graph needs four levels") from None


def _json_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ParseError(f"JSON has a number of {len(digits):,} digits; the most is {_MOST_DIGITS}")
    return int(digits)


def number(text: str) -> float:
    """Return the number that a text is; blanks around it are allowed.

    Raises
    ------
    ValueError
        The message is the end of a sentence about the text: ``is not a number``, or that it is too
        large. ``inf`` and ``nan`` are numbers here.
    """
    # float() also takes 1_000 and the digits of other scripts.
    if not text.isascii() or "_" in text:
        raise ValueError("is not a number")
    try:
        value = float(text)
    except ValueError:
        raise ValueError("is not a number") from None
    if math.isinf(value) and "i" not in text.lower():
        raise ValueError("is too large for a number; the limit is 1.8e308")
    return value


def whole_number(text: str) -> int:
    """Return the natural number that a text is; raises ValueError as `number` does."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError("is not a number from 0 on")
    if len(text) > 18:
        raise ValueError("is too large for a count")
    return int(text)


def check_nodes(count: int, what: str, *, line: int | None = None, column: int = 1) -> None:
    """Refuse a graph that is larger than any text should make it."""
    if count > MOST_NODES:
        raise ParseError(
            f"{what}: {count:,} nodes; a graph that is read from text has at most "
            f"{MOST_NODES:,} nodes, so make a larger one with MixedGraph",
            line=line,
            column=column,
        )


def split_lines(text: str) -> list[str]:
    r"""Cut a text at ``\n``, ``\r\n`` and ``\r``, unlike `str.splitlines` at nothing else."""
    return _LINE_END.split(text)


def line_and_column(text: str, position: int | None) -> tuple[int, int]:
    """Return line and column of a position, both counted from 1; None is the end of the text."""
    before = text[:position]
    ends = [match.end() for match in _LINE_END.finditer(before)]
    return len(ends) + 1, len(before) - (ends[-1] if ends else 0) + 1


class _Short(reprlib.Repr):
    """Python's `repr`, cut short inside lists and texts, and for numbers of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, SHOWN, SHOWN

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 256 else f"<integer of {x.bit_length():,} bits>"


_SHORT = _Short()


def short_repr(value: object) -> str:
    """Return the `repr` of a value for an error, at most `SHOWN` characters of it."""
    if isinstance(value, str):
        more = f"... ({len(value):,} characters)" if len(value) > SHOWN else ""
        return repr(value[:SHOWN]) + more
    text = _SHORT.repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def truncate(text: str) -> str:
    """Return a text for an error without quotes, at most `SHOWN` characters of it."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def join_names(names: Collection[str]) -> str:
    """Return the first names of many for an error."""
    first = ", ".join(truncate(name) for name in islice(names, 10))
    return first if len(names) <= 10 else f"{first}, ... ({len(names):,} in all)"


def similar_names(name: str, names: Iterable[str], *, n: int = 1) -> list[str]:
    """Return the known names that were perhaps meant, ignoring case.

    Long names are passed over: comparing two takes time in proportion to the product of their
    lengths.
    """
    from difflib import get_close_matches  # rarely needed, and not free to import

    if len(name) > SHOWN:
        return []
    folded = {known.casefold(): known for known in names if len(known) <= SHOWN}
    return [folded[close] for close in get_close_matches(name.casefold(), folded, n=n)]
