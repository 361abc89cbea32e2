"""Immutable results: read-only arrays, also after pickling and copying.

A frozen dataclass protects its attributes but not the contents of arrays. An array can be made
read-only, but :mod:`pickle` and :func:`copy.deepcopy` lose the flag; :class:`Frozen` sets it when an
object is created, unpickled or copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Frozen:
    """Mixin for frozen dataclasses whose arrays are read-only, too.

    A class with its own ``__post_init__`` ends it with ``super().__post_init__()``. Arrays are not
    copied, so do not pass one that is written to elsewhere.
    """

    def __post_init__(self) -> None:
        lock_arrays(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        lock_arrays(vars(self))


def lock_arrays(content: T) -> T:
    """Make an array read-only, or all arrays in dicts, lists and tuples, and return them."""
    level: list[Any] = [content]
    while level:  # level by level, which is faster than recursion for hundreds of small tuples
        containers: list[Iterable[Any]] = []
        for value in level:
            if isinstance(value, (list, tuple)):
                containers.append(value)
            elif isinstance(value, np.ndarray):
                value.flags.writeable = False
            elif isinstance(value, dict):
                containers.append(value.values())
        level = [
            inner
            for container in containers
            for inner in container
            if type(inner) not in _WITHOUT_ARRAYS
        ]
    return content


_WITHOUT_ARRAYS = frozenset({str, int, float, bool, type(None)})
