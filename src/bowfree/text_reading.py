"""Shared functions of all readers of text and files: bytes, numbers, limits, and error messages.

:func:`replace_file` writes all files of results.

A file may contain anything. A reader takes time proportional to its length and returns its content
or raises an error with a short message:

- files are UTF-8 (`decode`, `read_text`), and the depth and numbers of JSON are limited
  (`load_json`);
- a number has ASCII digits and no underscores (`number`), although Python's ``float`` accepts more;
- a short text cannot create a graph that fills the memory (`check_nodes`);
- a message repeats at most `MAX_SHOWN` characters of a value (`short_repr`, `truncate`,
  `join_names`).
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
import secrets
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from bowfree.errors import ParseError

MAX_SHOWN = 80
"""Largest number of characters of a value in a message."""

MAX_NODES = 10_000
"""Largest number of nodes of a graph that is read from text.

A graph stores one bit for each pair of nodes: 25 MB at this size.
"""

_MAX_DIGITS = 1_000  # of an integer in JSON; Python itself reads at most 4,300
_LINE_END = re.compile(r"\r\n?|\n")


def decode(content: bytes, what: str) -> str:
    """Return the text of a file in UTF-8, without its byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = line_and_column(error.object[: error.start].decode("utf-8", "replace"), None)
        raise ParseError(
            f"{what} is not UTF-8 text: found the byte 0x{error.object[error.start]:02x}; save it "
            "as UTF-8",
            line=line,
            column=column,
        ) from None


def read_text(path: Path) -> str:
    """Return the text of a file, with its line ends unchanged."""
    return decode(path.read_bytes(), path.name)


def temporary_prefix(path: str | os.PathLike[str]) -> str:
    """Return how the names of the temporary files of :func:`replace_file` begin."""
    return f".{os.path.basename(path)[:50]}."


def replace_file(path: str | os.PathLike[str], content: bytes, *, permissions: int = 0o666) -> None:
    """Write a file in one step: if this fails, an old file is unchanged, and there is no new one.

    The content is written to a temporary file in the same folder, which then gets the name. Devices
    and pipes are written to.
    """
    path = os.fspath(path)
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(0, "it is a folder", path)
        if not stat.S_ISREG(mode):
            Path(path).write_bytes(content)
            return
    folder = os.path.dirname(path) or os.curdir
    temporary = os.path.join(folder, f"{temporary_prefix(path)}{secrets.token_hex(8)}.tmp")
    try:
        # A new file, so that no link is followed; `replace` also replaces a link.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with open(os.open(temporary, flags, permissions), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename, error.filename2 = path, None
        raise


def check_text(text: object, what: str) -> str:
    """Return the argument, or raise a ParseError if it is not a string."""
    if not isinstance(text, str):
        raise ParseError(f"{what} is read from a string, not from {type(text).__name__}")
    return text


def load_json(text: str | bytes) -> Any:
    """Return decoded JSON, or raise a ParseError."""
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
    if len(digits) > _MAX_DIGITS:
        raise ParseError(f"JSON has a number of {len(digits):,} digits; the limit is {_MAX_DIGITS}")
    return int(digits)


def number(text: str) -> float:
    """Return a string as a number; spaces around it are allowed.

    Raises
    ------
    ValueError
        The message is the end of a sentence about the text: ``is not a number``, or that it is too
        large. ``inf`` and ``nan`` are numbers here.
    """
    # float() also accepts 1_000 and the digits of other scripts.
    if not text.isascii() or "_" in text:
        raise ValueError("is not a number")
    try:
        value = float(text)
    except ValueError:
        raise ValueError("is not a number") from None
    if math.isinf(value) and "i" not in text.lower():
        raise ValueError("is too large for a number; the limit is 1.8e308")
    return value


def check_nodes(count: int, what: str, *, line: int | None = None, column: int = 1) -> None:
    """Raise a ParseError if a graph has too many nodes."""
    if count > MAX_NODES:
        raise ParseError(
            f"{what}: {count:,} nodes; a graph that is read from text has at most {MAX_NODES:,} "
            "nodes, so create a larger one with MixedGraph",
            line=line,
            column=column,
        )


def split_lines(text: str) -> list[str]:
    r"""Split a string at ``\n``, ``\r\n`` and ``\r`` (`str.splitlines` splits at more)."""
    return _LINE_END.split(text)


def line_and_column(text: str, position: int | None) -> tuple[int, int]:
    """Return line and column of a position, both counted from 1; None is the end of the text."""
    before = text[:position]
    ends = [match.end() for match in _LINE_END.finditer(before)]
    return len(ends) + 1, len(before) - (ends[-1] if ends else 0) + 1


class _ShortRepr(reprlib.Repr):
    """Python's `repr`, shortened inside lists and strings, and for large integers."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, MAX_SHOWN, MAX_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 256 else f"<integer of {x.bit_length():,} bits>"


_SHORT_REPR = _ShortRepr()


def short_repr(value: object) -> str:
    """Return the `repr` of a value for a message, shortened to `MAX_SHOWN` characters."""
    if isinstance(value, str):
        more = f"... ({len(value):,} characters)" if len(value) > MAX_SHOWN else ""
        return repr(value[:MAX_SHOWN]) + more
    text = _SHORT_REPR.repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def truncate(text: str) -> str:
    """Return a string for a message, without quotes, shortened to `MAX_SHOWN` characters."""
    cut = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def join_names(names: Collection[str]) -> str:
    """Return names for a message, separated by commas; at most ten of them."""
    first = ", ".join(truncate(name) for name in islice(names, 10))
    return first if len(names) <= 10 else f"{first}, ... ({len(names):,} in all)"


def similar_names(name: str, names: Iterable[str], *, n: int = 1) -> list[str]:
    """Return the names that are most similar to an unknown one, ignoring case.

    Long names are skipped, because comparing two names takes time proportional to the product of
    their lengths.
    """
    from difflib import get_close_matches  # rarely needed, and slow to import

    if len(name) > MAX_SHOWN:
        return []
    folded = {known.casefold(): known for known in names if len(known) <= MAX_SHOWN}
    return [folded[close] for close in get_close_matches(name.casefold(), folded, n=n)]
