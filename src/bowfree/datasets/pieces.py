"""Tables in several files: a folder, or ``folder/*.parquet``, read one piece after the other.

Parquet files come in batches of rows, all others file by file, so that the memory needed does not
grow with their number. What is made of the pieces is the business of
:mod:`bowfree.data.streaming`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bowfree.datasets.other_files import arrow_values, numeric_columns, read_errors
from bowfree.datasets.reading import ReadOptions
from bowfree.datasets.table import Table
from bowfree.datasets.tables import KINDS, read_file
from bowfree.datasets.unpacking import kind_of
from bowfree.errors import DataError
from bowfree.text_reading import join_names

_BATCH = 2**17  # rows of a Parquet file that are read at a time


class Piece(NamedTuple):
    """Rows of a file: which, the number of the first one (from 0), and what they hold."""

    path: Path
    begun: int
    table: Table


def data_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files that are given, with folders opened; they must be of one kind.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bowfree.datasets.pieces import data_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "notes.md"):
    ...         _ = pathlib.Path(folder, name).write_text("x")
    ...     [path.name for path in data_files([pathlib.Path(folder)])]
    ['a.csv', 'b.csv']
    """
    files: list[Path] = []
    for path in given:
        if not path.is_dir():
            files.append(path)
            continue
        inside = [p for p in sorted(path.iterdir()) if p.is_file() and kind_of(p) in KINDS]
        if not inside:
            raise DataError(f"{path} has no table in it: {', '.join(KINDS)}")
        files += inside
    kinds = sorted({kind_of(path) for path in files})
    if len(kinds) > 1:
        raise DataError(f"files of different kinds ({join_names(kinds)}): give those of one table")
    return tuple(files)


def read_pieces(paths: Sequence[Path], options: ReadOptions) -> Iterator[Piece]:
    """Read files one after the other; all must have the columns that the first one has."""
    names: tuple[str, ...] | None = None
    for path in paths:
        for piece in _pieces_of(path, options):
            names = names or piece.table.names
            if set(piece.table.names) != set(names):
                odd = sorted(set(piece.table.names) ^ set(names))
                raise DataError(
                    f"{path.name} has other columns than {paths[0].name}: {join_names(odd)}; choose "
                    f"those that all files have with {options.option('columns')}"
                )
            yield piece


def _pieces_of(path: Path, options: ReadOptions) -> Iterator[Piece]:
    if kind_of(path) == ".parquet" and path.suffix.lower() == ".parquet" and find_spec("pyarrow"):
        yield from _batches(path, options)
    else:
        yield Piece(path, 0, read_file(path, options))


def _batches(path: Path, options: ReadOptions) -> Iterator[Piece]:
    import pyarrow.parquet

    begun = 0
    with read_errors(path), pyarrow.parquet.ParquetFile(path) as file:
        chosen = numeric_columns(file.schema_arrow, path, options)
        for batch in file.iter_batches(_BATCH, columns=chosen):
            X = np.empty((batch.num_rows, len(chosen)))
            for k, name in enumerate(chosen):
                X[:, k] = arrow_values(name, batch.column(name), path, options, begun)
            yield Piece(path, begun, options.table(chosen, X))
            begun += batch.num_rows
