"""A table of numbers with named columns, which needs no data-frame library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowfree.formats.csv_text import write_line, write_name

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, Floats]):
    """Numbers with named columns.

    Attributes
    ----------
    names : tuple of str
        The columns, in their order.
    X : ndarray of shape (n, d)
        Observations in rows.

    Examples
    --------
    >>> from bowfree.datasets.table import Table
    >>> import numpy as np
    >>> table = Table(("x", "y"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> table["y"]
    array([2., 4.])
    """

    names: tuple[str, ...]
    X: Floats

    def __getitem__(self, name: str) -> Floats:
        try:
            return self.X[:, self.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Table of {len(self.X)} rows: {', '.join(self.names)}>"


def write_table(table: Table, *, decimals: int | None = None) -> str:
    """Write a table as CSV text, by default with all digits.

    Parameters
    ----------
    table : Table
        What to write.
    decimals : int, optional
        Number of digits behind the point.

    Examples
    --------
    >>> from bowfree.datasets.table import Table, write_table
    >>> import numpy as np
    >>> print(write_table(Table(("x", "y"), np.array([[0.5, 1 / 3]])), decimals=2), end="")
    x,y
    0.50,0.33
    """
    form = "{!r}" if decimals is None else f"{{:.{decimals}f}}"
    lines = [write_line(write_name(name) for name in table.names)]
    lines += [",".join(map(form.format, row)) + "\n" for row in table.X.tolist()]
    return "".join(lines)
