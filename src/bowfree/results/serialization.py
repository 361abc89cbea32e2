"""Conversion of results to values that ``json.dumps(..., allow_nan=False)`` accepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np


class ToDict:
    """Mixin for dataclasses: ``to_dict`` returns their fields, or the content of ``_content``."""

    _rows_key: ClassVar[str] = "rows"  # name of the field `rows` in the dictionary

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers, ready for ``json.dumps`` (NaN becomes None)."""
        content: dict[str, Any] = to_plain(self._content())
        return content

    def _content(self) -> Any:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {self._rows_key if n == "rows" else n: getattr(self, n) for n in names}


def to_plain(value: Any) -> Any:
    """Convert to lists, dicts, strings and numbers; NaN and infinities become None.

    Arrays and tuples become lists, dataclasses dicts of fields, and other objects their ``str``.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    return str(value)
