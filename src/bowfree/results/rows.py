"""Rows of tables: one small record type for all results, and results that are lists of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bowfree.results.display import TextDisplay, significant
from bowfree.results.frames import data_frame
from bowfree.results.serialization import to_plain


class Row(TextDisplay):
    """One row of a table: values by name, read as attributes.

    Its names are those of the columns of the data frame that the result makes with ``to_frame()``.

    Examples
    --------
    >>> from bowfree.results.rows import Row
    >>> row = Row(of="x", on="y", estimate=0.5)
    >>> row.estimate, row.to_dict()
    (0.5, {'of': 'x', 'on': 'y', 'estimate': 0.5})
    >>> row
    <Row: of x, on y, estimate 0.500>
    """

    __slots__ = ("_values",)

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", values)

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
    return str(value)


class RowTable(TextDisplay):
    """Base of results that consist of rows: iterable, with ``len``, indexing and ``to_frame``."""

    if TYPE_CHECKING:

        @property
        def rows(self) -> Sequence[Row]:
            """The rows, in the order of the table."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame, one row for each entry.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.
        """
        columns = self.rows[0].to_dict() if self.rows else {}
        return data_frame(
            {name: [row._values[name] for row in self.rows] for name in columns}, backend
        )
