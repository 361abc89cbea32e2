"""Rows and data frames: one record type for all results, and the base of results that are tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bowfree.errors import BowfreeError
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, p_cell, significant
from bowfree.results.serialization import to_plain
from bowfree.text_reading import short_repr

LIBRARIES = ("pandas", "polars", "pyarrow")

Cell = str | Callable[[Any], str]
"""How a cell of a printed table follows from a row: a column, perhaps with a format, or a function.

The formats are those of Python, as in "chi2:.2f", and "p" for p-values. NaN is printed as nothing.
"""


class Row(TextDisplay, Mapping[str, Any]):
    """One row of a table: a mapping whose values are also attributes.

    Its keys are the columns of the data frame that the result returns from ``to_frame()``.

    Examples
    --------
    >>> from bowfree.results.rows import Row
    >>> row = Row(of="x", on="y", estimate=0.5)
    >>> row.estimate, row["on"], dict(row)
    (0.5, 'y', {'of': 'x', 'on': 'y', 'estimate': 0.5})
    >>> row
    <Row: of x, on y, estimate 0.500>
    """

    __slots__ = ("_values",)

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values") if name != "_values" else {}
        if name not in values:
            raise AttributeError(f"the row has no {name!r}; it has {', '.join(values)}")
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"rows of a result cannot be changed (tried to set {name!r})")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self._values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "_values", state)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, ready for ``json.dumps`` (NaN becomes None)."""
        plain: dict[str, Any] = to_plain(self._values)
        return plain

    def _headline(self) -> str:
        return ", ".join(f"{name} {_cell(value)}" for name, value in self._values.items())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return significant(value) or "NaN"
    if isinstance(value, np.ndarray):
        return f"of shape {value.shape}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def row_table(
    rows: Sequence[Any],
    cells: Mapping[str, Cell],
    *,
    left: tuple[int, ...] = (0,),
    most: int | None = MOST_ROWS,
    rest: str = "more: to_frame() has all",
) -> Table:
    """Return a table of rows for display, from the cells by heading."""
    text = [tuple(_formatted(row, cell) for cell in cells.values()) for row in rows]
    return Table(tuple(cells), text, left=left, most=most, rest=rest)


def _formatted(row: Any, cell: Cell) -> str:
    if not isinstance(cell, str):
        return cell(row)
    name, _, form = cell.partition(":")
    value = row[name]
    if value != value:
        return ""
    if form:
        return p_cell(value) if form == "p" else format(value, form)
    return significant(value) if isinstance(value, float) else str(value)


class RowTable(TextDisplay):
    """Base of results that consist of rows: iterable, with ``len``, indexing and ``to_frame``.

    A subclass has an attribute or property ``rows``. It lists the columns in ``_columns`` if there
    may be no row, and the cells of the printed table in ``_cells``.
    """

    if TYPE_CHECKING:

        @property
        def rows(self) -> Sequence[Row]: ...

    _columns: ClassVar[tuple[str, ...]] = ()
    _cells: ClassVar[Mapping[str, Cell]] = {}
    _left: ClassVar[tuple[int, ...]] = (0,)  # columns of the printed table that are left-aligned

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        if self._cells and self.rows:
            yield row_table(self.rows, self._cells, left=self._left)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame ("pandas", "polars" or "pyarrow") with one row for each entry."""
        rows = self.rows
        columns = {
            name: [row[name] for row in rows] for name in (rows[0] if rows else self._columns)
        }
        for name, values in columns.items():
            if values and isinstance(values[0], tuple):  # several names in one cell
                columns[name] = [", ".join(map(str, value)) for value in values]
        return data_frame(columns, backend)


def data_frame(
    columns: Mapping[str, Any], backend: object = "pandas", *, option: str = "backend"
) -> Any:
    """Return a data frame of a library, which is loaded on demand.

    `option` is the name of the parameter `backend` in messages.
    """
    import narwhals as nw

    if not isinstance(backend, str) or backend not in LIBRARIES:
        *others, last = map(repr, LIBRARIES)
        raise BowfreeError(f"{option}={short_repr(backend)}: choose {', '.join(others)} or {last}")
    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError as error:
        raise BowfreeError(
            f"{option}={backend!r}, but {backend} is not installed: `pip install {backend}`, or "
            f"choose another of {', '.join(LIBRARIES)}"
        ) from error
