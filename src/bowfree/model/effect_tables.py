"""Results that consist of matrices of effects, as tables with names.

Total effects, their bounds, averages and bootstrap intervals are matrices of shape (d, d) in which
entry ``[i, j]`` belongs to the effect of j on i. :class:`EffectMatrices` gives such results
``effect(of=, on=)`` and ``to_frame()``; :func:`effect_table` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, number, significant
from bowfree.results.frames import data_frame
from bowfree.results.rows import Row
from bowfree.results.serialization import ToDict

Floats = npt.NDArray[np.float64]
Column = Callable[[int, int], str]
"""Returns the text of a cell for entry ``[i, j]`` of a matrix."""


class EffectMatrices(TextDisplay, ToDict):
    """Base of results with ``names`` and matrices whose entry ``[i, j]`` is the effect of j on i.

    A subclass lists the attributes that are columns of its table in ``_columns``, or overrides
    :meth:`_matrices` where a column is computed.
    """

    names: tuple[str, ...]
    _columns: ClassVar[tuple[str, ...]] = ()

    def _matrices(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the matrices by the names of their columns."""
        return {name: getattr(self, name) for name in self._columns}

    def effect(self, *, of: str, on: str) -> Row:
        """Return the row of the table that belongs to the effect of one variable on another.

        Raises
        ------
        GraphError
            A name that is not a variable.
        """
        entry = node_index(on, self.names), node_index(of, self.names)
        return Row(of=of, on=on, **{k: m[entry].item() for k, m in self._matrices().items()})

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.

        Returns
        -------
        data frame
            Columns ``of`` (the cause), ``on`` (the variable it acts on) and those of
            :meth:`effect`.
        """
        return effect_frame(self.names, self._matrices(), backend)


def effect_frame(
    names: Sequence[str], matrices: Mapping[str, npt.NDArray[Any]], backend: str
) -> Any:
    """Return a data frame with columns of, on, and one for each matrix; a row per ordered pair."""
    d = len(names)
    pairs = effect_pairs(np.ones((d, d), dtype=bool))
    on, of = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    columns = {name: matrix[on, of] for name, matrix in matrices.items()}
    return data_frame(
        {"of": [names[j] for j in of], "on": [names[i] for i in on], **columns}, backend
    )


def effect_pairs(present: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return all (i, j), i != j, with ``present[i, j]``, sorted by the cause j."""
    d = len(present)
    return [(i, j) for j in range(d) for i in range(d) if i != j and present[i, j]]


def decimals(matrix: Floats, digits: int) -> Column:
    """Return a column of numbers with a fixed number of decimals; empty where they are NaN."""
    return lambda i, j: number(float(matrix[i, j]), digits)


def quantities(matrix: Floats, digits: int) -> Column:
    """Return a column of numbers that have units; small ones keep three significant digits."""
    noise = 1e-10 * float(np.nanmax(np.abs(matrix), initial=0.0))

    def cell(i: int, j: int) -> str:
        value = float(matrix[i, j])
        small = noise < abs(value) < 10.0 ** (1 - digits)
        return significant(value) if small else number(value, digits)

    return cell


def effect_table(
    heading: str,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    columns: Mapping[str, Column],
    *,
    size: Floats,
) -> Table:
    """Return a table with a row "j on i" for each pair (i, j).

    Long tables are sorted by `size`, a matrix of shape (d, d), and cut.
    """
    if len(pairs) > MOST_ROWS:
        pairs = sorted(pairs, key=lambda pair: -size[pair])
    rows = [
        (
            f"{quote(names[j])} on {quote(names[i])}",
            *(cell(i, j) for cell in columns.values()),
        )
        for i, j in pairs
    ]
    return Table((heading, *columns), rows, most=MOST_ROWS, rest="smaller ones: to_frame() has all")
