"""From a file to its text: packed with gzip or zstd or not, in UTF-8, UTF-16 or as the user says.

A packed file may unpack to much more than it is. Whatever is in it, no more than `MOST_TIMES` its
size is unpacked once that is a lot.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bowfree import _core
from bowfree.datasets.reading import ReadOptions
from bowfree.errors import DataError, ParseError
from bowfree.parallel.budget import Budget
from bowfree.text_reading import decode, short_repr

PACKED = (".gz", ".zst")
BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # of texts that are not in UTF-8
MOST_TIMES = 1000
_A_LOT = 100_000_000
_LARGE = 30_000_000  # bytes for which threads pay


def kind_of(path: Path) -> str:
    """Return the ending that says what kind of table it is, without that of its packing."""
    return Path(path.stem if path.suffix.lower() in PACKED else path.name).suffix.lower()


def unpacked(path: Path) -> bytes:
    """Return the content of a file, unpacked if its name ends with .gz or .zst."""
    content = _content(path)
    packing = path.suffix.lower()
    if packing not in PACKED:
        return content
    most = max(_A_LOT, MOST_TIMES * len(content))
    try:
        with _opened(packing, content, path.name) as stream:
            text: bytes = stream.read(most + 1)
    except _broken() as error:
        raise DataError(f"{path.name} cannot be unpacked ({error}); is it complete?") from None
    if len(text) > most:
        raise DataError(
            f"{path.name}: more than {most:,} bytes in a file of {len(content):,}; real data are "
            "not that regular"
        )
    return text


def _content(path: Path) -> bytes:
    """Return the bytes of a file, a large one fetched by the core on all cores."""
    size = path.stat().st_size
    content = None
    if size >= _LARGE:
        content = _core.read_file(path, size, Budget(n_jobs=-1).n_threads)
    # A file that cannot be read, or shrinks meanwhile, gets Python's words for it.
    return path.read_bytes() if content is None else content


def _opened(packing: str, content: bytes, name: str) -> Any:
    """Return a stream of the unpacked content, from the first library that is there."""
    if packing == ".gz":
        return gzip.GzipFile(fileobj=io.BytesIO(content))
    try:  # Python from 3.14 on
        from compression import zstd

        return zstd.ZstdFile(io.BytesIO(content))
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content))
    except ImportError:
        pass
    try:
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd")
    except ImportError:
        raise DataError(
            f"{name}: unpacking .zst needs zstandard or pyarrow; run `pip install zstandard`, or "
            "pack it with gzip"
        ) from None


def _broken() -> tuple[type[Exception], ...]:
    """Return the errors that a file which is cut short or something else leads to."""
    found: list[type[Exception]] = [OSError, EOFError, zlib.error]
    with suppress(ImportError):
        import zstandard

        found.append(zstandard.ZstdError)
    with suppress(ImportError):
        from compression import zstd

        found.append(zstd.ZstdError)
    return tuple(found)


def as_text(content: bytes, what: str, options: ReadOptions) -> str:
    """Return the text of a file: as the user says, by its byte-order mark, or in UTF-8."""
    if options.encoding is not None:
        try:
            codec = codecs.lookup(options.encoding).name
            text = content.decode(codec)
        except LookupError:
            raise DataError(
                f"{options.option('encoding')} {short_repr(options.encoding)} is not known; such as "
                "utf-8, cp1252, utf-16"
            ) from None
        except UnicodeDecodeError as error:
            raise ParseError(
                f"{what} is not a text in {options.encoding}: found the byte "
                f"0x{content[error.start]:02x} at place {error.start + 1:,}"
            ) from None
        except UnicodeError:
            raise ParseError(f"{what} is not a text in {options.encoding}") from None
        return text.removeprefix("\ufeff")
    if content.startswith(BYTE_ORDER_MARKS):
        return as_text(content, what, replace(options, encoding="utf-16"))
    try:
        return decode(content, what)
    except ParseError as error:
        raise ParseError(
            f"{_without_place(error)}, or say how it is written with {options.option('encoding')} "
            "(Excel in Western Europe: cp1252)",
            line=error.line,
            column=error.column,
        ) from None


def _without_place(error: ParseError) -> str:
    return str(error).partition(": ")[2]
