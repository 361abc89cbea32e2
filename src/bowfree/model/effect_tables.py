"""Matrices of effects as tables with names: entry ``[i, j]`` becomes the row "j on i".

Total effects of one graph, their bounds over several, averages and resamples all come as matrices
of shape (d, d). Here is how they are listed, for reading and as data frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.graph.text import quote
from bowfree.results.display import MOST_ROWS, Table, number, significant
from bowfree.results.frames import data_frame

Floats = npt.NDArray[np.float64]
Column = Callable[[int, int], str]
"""The text of a cell, by row and column of the matrix."""


def effect_pairs(there: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (i, j) wherever ``there[i, j]`` off the diagonal, cause after cause."""
    d = len(there)
    return [(i, j) for j in range(d) for i in range(d) if i != j and there[i, j]]


def decimals(matrix: Floats, digits: int) -> Column:
    """Return a column with the numbers of a matrix; nothing where they are NaN."""
    return lambda i, j: number(float(matrix[i, j]), digits)


def quantities(matrix: Floats, digits: int) -> Column:
    """Return a column of numbers with units: where these are small, digits that say something."""
    noise = 1e-10 * float(np.nanmax(np.abs(matrix), initial=0.0))

    def shown(i: int, j: int) -> str:
        value = float(matrix[i, j])
        small = noise < abs(value) < 10.0 ** (1 - digits)
        return significant(value) if small else number(value, digits)

    return shown


def effect_table(
    heading: str,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    columns: Mapping[str, Column],
    *,
    size: Floats,
) -> Table:
    """Return a table with one row for each pair (i, j); when there are many, the largest first.

    Parameters
    ----------
    heading : str
        Over the column that names the pairs.
    names : sequence of str
        The variables.
    pairs : sequence of (int, int)
        Rows and columns of the entries to show.
    columns : mapping from str to function
        Heading of a column, and the text of its cell for entry (i, j).
    size : ndarray of shape (d, d)
        What tells which effects are large.
    """
    if len(pairs) > MOST_ROWS:
        pairs = sorted(pairs, key=lambda pair: -size[pair])
    rows = [
        (
            f"{quote(names[j])} on {quote(names[i])}",
            *(written(i, j) for written in columns.values()),
        )
        for i, j in pairs
    ]
    return Table((heading, *columns), rows, most=MOST_ROWS, rest="smaller ones: to_frame() has all")


def effect_frame(names: Sequence[str], matrices: Mapping[str, Floats], backend: str) -> Any:
    """Return a data frame: cause, effect, one column for each matrix; a row per ordered pair."""
    d = len(names)
    pairs = effect_pairs(np.ones((d, d), dtype=bool))
    effect, cause = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return data_frame(
        {
            "cause": [names[j] for j in cause],
            "effect": [names[i] for i in effect],
            **{name: matrix[effect, cause] for name, matrix in matrices.items()},
        },
        backend,
    )
