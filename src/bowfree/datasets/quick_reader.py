"""Large tables of numbers, read by the core on all cores.

Only what cannot be misunderstood is read at once: one line for each row, numbers, words for
"missing", cells in quotes or not, names of rows that count them. Whatever is odd is not refused
here but read again cell by cell (:mod:`bowfree.datasets.text_tables`), where the error has a line
and a column.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.parallel.budget import Budget

if TYPE_CHECKING:
    from bowfree.datasets.text_tables import Dialect


Floats = npt.NDArray[np.float64]

LARGE = 200_000
"""Bytes from which on reading twice what turns out to be odd is worth the risk."""


def quick_values(
    content: bytes, chosen: list[int], width: int, dialect: Dialect, missing: Collection[str]
) -> Floats | None:
    """Return some columns of a table, or None if it takes a more careful reader.

    Parameters
    ----------
    content : bytes
        The table in UTF-8; its first line is passed over.
    chosen : list of int
        The columns to return.
    width : int
        Number of cells in every line.
    dialect : Dialect
        How it is written.
    missing : collection of str
        Texts that stand for "not measured", in small letters.
    """
    end = content.find(b"\n")
    first = content[: end + 1]
    if not first or not chosen or first.count(b'"') % 2:  # the first line goes on in the second
        return None
    if b"\r" in first[:-2]:  # or ends before
        return None
    values: Floats | None = _core.read_numbers(
        np.frombuffer(content, dtype=np.uint8),
        end + 1,
        separator=dialect.separator,
        decimal=dialect.decimal,
        width=width,
        chosen=chosen,
        missing=sorted(text for text in missing if text.isascii()),
        numbered=dialect.row_names,
        n_threads=Budget(n_jobs=-1).n_threads,
    )
    return values
