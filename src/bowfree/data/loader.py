"""Former names of :class:`bowfree.data.options.DataOptions`; they go with their last user."""

from __future__ import annotations

from typing import Any

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.graph.mixed_graph import MixedGraph


def read_moments(data: Any = None, *, graph: MixedGraph | None = None, **options: Any) -> Moments:
    """Return ``DataOptions(**options).read(data, graph)``."""
    return DataOptions(**options).read(data, graph)


def read_once(data: Any, **options: Any) -> Any:
    """Return ``DataOptions(**options).read_table(data)``."""
    return DataOptions(**options).read_table(data)
