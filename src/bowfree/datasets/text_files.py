r"""Tables in text files: how they are written, and the cells that they contain.

The separator, the decimal mark and the presence of row names are detected. Where two answers fit,
an error names the option to pass:

=============  ===========================================================================
separator      comma, semicolon, tab or space, whichever cuts the first lines into equally many
               cells; ``sep=;`` in the first line (Excel)
decimal        a comma, if numbers are written with one and none with a point; ``1,234`` alone
               is ambiguous, because it could be a thousand
row names      the first column, if it has no name (``write.csv`` of R, ``to_csv`` of pandas), or
               if the first line has one cell less than all others (``write.table`` of R) and the
               cells are unique strings or count the rows
=============  ===========================================================================

polars parses the cells. It fills short rows with nulls, so the separators are counted as well.
:class:`~bowfree.formats.csv_text.CsvReader` reads the first lines, and finds the places of errors.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.datasets.tables import SEPARATORS, Floats, InvalidCells, ReadOptions
from bowfree.errors import DataError, ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name
from bowfree.results.display import count
from bowfree.text_reading import decode, number, short_repr

if TYPE_CHECKING:
    import polars as pl

COMPRESSED = (".gz", ".zst")
_LARGEST_RATIO, _LARGE = 1000, 100_000_000  # of decompressed files, against decompression bombs
_FIRST_LINES = 100
_NUMBER = r"^\s*[+-]?\d*%s\d+(?:[eE][+-]?\d+)?\s*$"
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}%s\d{3}\s*$"  # or three decimals: ambiguous
_GROUPED = (
    r"^\s*[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,})\s*$"
)


def read_content(path: Path, options: ReadOptions) -> bytes:
    """Return the content of a file, decompressed, in UTF-8, with all lines ending in a newline."""
    content = _utf8(_decompress(path), path.name, options)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def _decompress(path: Path) -> bytes:
    content = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        return content
    largest = max(_LARGE, _LARGEST_RATIO * len(content))
    try:
        if suffix == ".zst":
            import zstandard

            # Unlike a stream reader, this raises an error if the file is cut off.
            found: bytes = zstandard.ZstdDecompressor().decompress(content, max_output_size=largest)
        else:
            found = gzip.GzipFile(fileobj=io.BytesIO(content)).read(largest + 1)
    except ImportError:
        raise DataError(
            f'{path.name}: reading .zst needs zstandard; run `pip install "bowfree[files]"`'
        ) from None
    except Exception as error:  # of one of these libraries
        raise DataError(f"{path.name} cannot be decompressed ({error}); is it complete?") from None
    if len(found) > largest:
        raise DataError(f"{path.name}: more than {largest:,} bytes in a file of {len(content):,}")
    return found


def _utf8(content: bytes, what: str, options: ReadOptions) -> bytes:
    """Return a file without its byte-order mark, in UTF-8; an error names bytes that are wrong."""
    encoding = options.encoding
    if encoding is None and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if encoding is None:
        try:
            if not content.isascii():
                decode(content, what)
        except ParseError as error:
            message = str(error).partition(": ")[2]
            option = options.option("encoding")
            raise ParseError(
                f"{message}, or pass {option} (cp1252 for Excel in Western Europe)",
                line=error.line,
                column=error.column,
            ) from None
        return content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except LookupError:
        raise DataError(
            f"{options.option('encoding')} {short_repr(encoding)} is unknown; examples are utf-8, "
            "cp1252, utf-16"
        ) from None
    except UnicodeError as error:
        raise ParseError(f"{what} is not encoded in {encoding}: {error}") from None


class TextTable:
    """A table in text: the content of a file (`read_content`), its name and its extension.

    `names` are the columns; if `has_labels`, a column of row names is before them.
    """

    def __init__(self, content: bytes, what: str, kind: str, options: ReadOptions) -> None:
        self.what, self.options = what, options
        self.decimal = "."
        self._content, self.separator, comment = self._blank_out_preamble(content)
        end = 0
        for _ in range(2 * _FIRST_LINES):
            end = self._content.find(b"\n", end) + 1 or len(self._content)
        self._head = self._content[:end].decode()
        if options.separator is not None:
            self.separator = SEPARATORS[options.separator]
        elif self.separator == "":
            self.separator = self._find_separator(kind)
        if self.separator == " ":
            self._content = _single_spaces(self._content.decode()).encode()
            self._head = _single_spaces(self._head)
        rows = iter(self._reader(self._head))
        head, second = next(rows, None), next(rows, None)
        if head is None:
            raise ParseError(f"{what}: the table is empty", line=1, column=1)
        lines = self._content.split(b"\n", 0 if second is None else second.number - 1)
        self._body = b"" if second is None else lines[-1]
        if options.comment is None and len(head.cells) - 1 == comment.count(self.separator) > 0:
            raise self._error(
                f"{short_repr(comment)} begins with # and could be the header; pass "
                f"{options.option('comment')} # if it is a comment, or else delete the #"
            )
        cells = [read_name(cell) for cell in head.cells]
        if _are_data([cell for cell in cells if cell]):
            raise self._error(
                "the first line has numbers in place of column names; add a line with names"
            )
        unnamed = len(cells) > 1 and not cells[0]
        self.names = tuple(cells[1:] if unnamed else cells)
        options.check_names(self.names, what)
        self.has_labels = unnamed or self._has_labels(len(cells))
        self._width = len(self.names) + self.has_labels
        if self._width == 1 or b"\n\n" in self._body[:10_000]:
            self._drop_blank_lines()
        self.decimal = (
            {"point": ".", "comma": ","}[options.decimal]
            if options.decimal is not None
            else self._find_decimal()
        )

    def _blank_out_preamble(self, content: bytes) -> tuple[bytes, str, str]:
        """Blank out comments and ``sep=``, so that line numbers stay.

        Returns the content, the separator (or nothing), and the last comment before the header.
        """
        separator = comment = ""
        if self.options.comment is not None:
            prefix = re.escape(self.options.comment.encode())
            content = re.sub(rb"(?m)^%s.*$" % prefix, b"", content)
        lead = re.match(rb"(?:[ \t]*\n|#[^\n]*\n)*", content)
        if lead is not None and b"#" in lead[0]:
            comment = lead[0].decode().rstrip().rpartition("\n")[2]
            content = b"\n" * lead[0].count(b"\n") + content[lead.end() :]
        excel = re.match(rb"(\s*)sep=([!-~\t])[ \t]*(?=\n)", content, re.IGNORECASE)
        if excel is not None:
            separator = excel[2].decode()
            content = excel[1] + content[excel.end() :]
        return content, separator, comment

    @cached_property
    def _text(self) -> str:
        return self._content.decode()

    def _reader(self, text: str | None = None, separator: str | None = None) -> CsvReader:
        return CsvReader(
            self._text if text is None else text,
            separator=separator or self.separator,
            what=self.what,
        )

    def _error(self, message: str) -> ParseError:
        return ParseError(f"{self.what}: {message}")

    # --- how it is written ------------------------------------------------------------------------

    def _first_rows(self, separator: str) -> list[Row]:
        """Return the first rows as this separator cuts them, up to a quote that is not closed."""
        text = _single_spaces(self._head) if separator == " " else self._head
        rows = []
        with suppress(ParseError):
            for row in islice(self._reader(text, separator), _FIRST_LINES):
                rows.append(row)
        return rows

    def _find_separator(self, kind: str) -> str:
        fitting, widths = {}, {}
        for name, separator in SEPARATORS.items():
            rows = self._first_rows(separator)
            if not rows or len(rows[0].cells) < 2:
                continue
            width, others = len(rows[0].cells), {len(row.cells) for row in rows[1:]}
            # Row names have no name: one cell less in the first line.
            if len(others) <= 1 and others <= {width, width + 1}:
                fitting[name] = separator
            elif name != "space":  # which names contain
                widths[name] = width
        if len(fitting) > 1:
            fitting.pop("space", None)
        if len(fitting) == 1:
            return next(iter(fitting.values()))
        option = self.options.option("separator")
        if fitting:
            raise self._error(
                f"{' and '.join(fitting)} both cut its lines into equally many cells; pass {option}"
            )
        usual = "comma" if kind == ".csv" else "tab"
        if widths:  # lines of different lengths, which the error names
            return SEPARATORS[usual if usual in widths else max(widths, key=lambda k: widths[k])]
        if self._head.count('"') % 2:
            raise self._error("a quoted cell is not closed")
        return SEPARATORS[usual]

    def _find_decimal(self) -> str:
        """Return the decimal mark, from the first rows if these decide."""
        import polars as pl

        quoted = self.separator != "," or b'"' in self._body
        if not (b"," in self._body and quoted) and (
            b"." not in self._body or self.separator not in ";\t"
        ):
            return "."
        option = self.options.option("decimal")
        mark, found = ".", pl.Series()
        for n_rows in (1000, None):
            columns = self._parse(range(self._width), pl.String, n_rows)
            cells = pl.concat([column.alias("") for column in columns]).drop_nulls()
            cells = cells.filter(cells.str.contains("[.,]"))
            grouped = cells.filter(cells.str.contains(_GROUPED))
            if len(grouped):
                raise self._error(
                    f"{short_repr(grouped[0])} has separators between thousands; save the table "
                    "without them"
                )
            points, commas = (cells.filter(cells.str.contains(_NUMBER % m)) for m in (r"\.", ","))
            if len(points) and len(commas):
                raise self._error(
                    f"{short_repr(points[0])} has a decimal point and {short_repr(commas[0])} a "
                    f"comma; if one of them separates thousands, save the table without it, or else "
                    f"pass {option}"
                )
            mark, found = (",", commas) if len(commas) else (".", points)
            sure = ~found.str.contains(_THOUSANDS % re.escape(mark))
            ambiguous = len(found) and (mark == "," or self.separator in ";\t")
            if sure.any() or (n_rows is None and not ambiguous):
                return mark
        name = "comma" if mark == "," else "point"
        raise self._error(
            f"{short_repr(found[0])} could be a number with a decimal {name} or with a separator "
            f"between thousands; pass {option} {name}, or save the table without such separators"
        )

    def _has_labels(self, width: int) -> bool:
        """Return whether all rows have one cell more than there are names, and it names the row."""
        rows = self._first_rows(self.separator)[1:]
        if not rows or any(len(row.cells) != width + 1 for row in rows):
            return False
        self._width = width + 1
        labels = self.labels()
        counted = labels == [str(k + 1) for k in range(len(labels))]
        unique = all(labels) and len(set(labels)) == len(labels)
        return counted or (unique and not any(_is_number(label) for label in labels))

    # --- its content ------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """Return the row names."""
        return self._strings(0)

    def column(self, name: str) -> list[str]:
        """Return the cells of a column as strings, empty ones for missing values."""
        return self._strings(self.names.index(name) + self.has_labels)

    def _strings(self, k: int) -> list[str]:
        import polars as pl

        (cells,) = self._parse([k], pl.String)
        return [read_name(cell) for cell in cells.fill_null("").str.strip_chars().to_list()]

    def numbers(self, chosen: Sequence[int]) -> Floats:
        """Return some columns as numbers; an error names all cells that are not."""
        import polars as pl

        places = [k + self.has_labels for k in chosen]
        # In two steps: numbers at once, and cells that are not numbers as strings.
        odd = list(range(len(chosen)))
        X = np.empty((0, len(chosen)))
        if self.decimal == "." or b"." not in self._body:
            columns = self._parse(places, pl.Float64)
            X = pl.DataFrame(columns).to_numpy(order="c", writable=True)
            infinite: Any = np.isinf(X).any(axis=0)
            odd = [
                j
                for j, column in enumerate(columns)
                if infinite[j]
                or column.null_count()
                or self.names[chosen[j]] in {*self.options.ordinal, *self.options.nominal}
            ]
        strings = self._parse([places[j] for j in odd], pl.String)
        if len(odd) == len(chosen) > 0:
            X = np.empty((len(strings[0]), len(chosen)))
        invalid = InvalidCells(self.what, self.options, self.places)
        for j, cells in zip(odd, strings, strict=True):
            name = self.names[chosen[j]]
            X[:, j], bad = self.options.convert(name, cells, decimal=self.decimal)
            invalid.add(name, cells, bad)
        invalid.check([self.names[k] for k in chosen], X, ParseError)
        return X

    def _parse(
        self, columns: Sequence[int], dtype: Any, n_rows: int | None = None
    ) -> list[pl.Series]:
        """Return some columns as polars parses them; raise an error if rows differ in length."""
        import polars as pl

        if not columns:
            return []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                frame = pl.read_csv(
                    self._body,
                    has_header=False,
                    columns=list(columns),
                    schema={str(k): dtype for k in range(self._width)},
                    separator=self.separator,
                    decimal_comma=self.decimal == "," and self.separator != ",",
                    ignore_errors=True,
                    n_rows=n_rows,
                )
            except pl.exceptions.PolarsError as error:
                self._check_rows()
                raise self._error(f"polars cannot read it: {error}") from None
        if n_rows is None:
            bare = re.sub(b'"[^"]*"', b"", self._body) if b'"' in self._body else self._body
            separators = np.count_nonzero(np.frombuffer(bare, np.uint8) == ord(self.separator))
            if caught or separators != len(frame) * (self._width - 1):
                if self._drop_blank_lines():
                    return self._parse(columns, dtype)
                self._check_rows(len(frame))
        return [frame[str(k)] for k in columns]

    def _drop_blank_lines(self) -> bool:
        space = rb"[ \v\f]" if self.separator == "\t" else rb"[ \t\v\f]"
        self._body, dropped = re.subn(rb"(?m)^%s*\n" % space, b"", self._body)
        return dropped > 0

    def _check_rows(self, n_rows: int | None = None) -> None:
        """Raise an error that lists the rows with too few or too many cells."""
        rows = list(self._reader())[1:]
        odd = [k for k, row in enumerate(rows) if len(row.cells) != self._width]
        if odd:
            listed = ", ".join(
                f"{len(rows[k].cells)} in {place}"
                for k, place in zip(odd[:10], self.places(odd[:10]), strict=True)
            )
            more = f" and {len(odd) - 10} more lines" if len(odd) > 10 else ""
            raise self._error(
                f"expected {count(self._width, 'cell')} in each line, found {listed}{more}"
            )
        if n_rows not in (None, len(rows)):
            raise self._error("quotation marks or blank lines are ambiguous; remove them")

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return the places of rows, such as "line 7"; a row that has several lines begins there."""
        numbers = [row.number for row in islice(self._reader(), max(rows) + 2)]
        return [f"line {numbers[row + 1]}" for row in rows]


def _single_spaces(text: str) -> str:
    return re.sub(r"(?m)^ +| +$", "", re.sub(r" {2,}", " ", text))


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


def _are_data(names: Sequence[str]) -> bool:
    """Return whether names are numbers; increasing natural numbers, such as years, are names."""
    if not names or not all(map(_is_number, names)):
        return False
    natural = all(name.isdigit() for name in names)
    return not (natural and all(int(a) < int(b) for a, b in pairwise(names)))
