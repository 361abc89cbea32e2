"""Tables as text: the columns aligned, the first to the left and the others to the right."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table_lines"]


def table_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows with their columns aligned, the first to the left."""
    width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])]) for row in rows
    ]
