"""Immutable results: read-only arrays, also after pickling and copying.

A frozen dataclass protects its attributes but not the contents of arrays. An array can be made
read-only, but :mod:`pickle` and :func:`copy.deepcopy` lose the flag; :class:`Frozen` sets it when an
object is created, unpickled or copied.
"""

from __future__ import annotations

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
    found: list[Any] = [content]
    for value in found:  # grows; this is faster than recursion for hundreds of small tuples
        if type(value) in _WITHOUT_ARRAYS:
            continue
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif isinstance(value, (tuple, list)):
            found += value
        elif isinstance(value, dict):
            found += value.values()
    return content


_WITHOUT_ARRAYS = frozenset({str, int, float, bool, type(None)})
