"""The options that say how data become moments, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from bowfree.data.loader import read_moments, read_once
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Correlation, Means, Missing


@dataclass(frozen=True, eq=False)
class DataOptions:
    """How data become :class:`bowfree.Moments`; the parameters of :func:`bowfree.moments`."""

    cov: Any = None
    n: float | None = None
    ddof: int = 1
    shrinkage: float | Literal["auto"] = 0.0
    missing: Missing | None = None
    correlation: Correlation = "pearson"
    ordinal: Sequence[str] = ()
    weights: Any = None
    means: Means = "free"

    def read(self, data: Any, graph: MixedGraph | None = None) -> Moments:
        """Return the moments of the data, in the order of the graph's nodes if there is one."""
        return read_moments(data, graph=graph, **self._given())

    def read_table(self, data: Any) -> Any:
        """Return the table behind the data, without computing its moments."""
        return read_once(data, **self._given())

    @property
    def are_default(self) -> bool:
        """Whether no option was changed."""
        return not self._given()

    def refuse(self, reason: str) -> None:
        """Raise an error that names the options that were changed, if any were."""
        if not self.are_default:
            raise DataError(f"{', '.join(self._given())}: {reason}")

    def _given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, default) in values.items()
            if value is not default and not (type(value) is type(default) and value == default)
        }
