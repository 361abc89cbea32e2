"""Results that stay as they are: their arrays cannot be written to, by whatever way they came.

A frozen dataclass protects its attributes and not what is inside them. An array can be locked, but
the lock is lost on the way through :mod:`pickle` and :func:`copy.deepcopy`. :class:`Frozen` puts it
on when an object is made, and again when one comes out of a pickle or a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class Frozen:
    """Mixin for frozen dataclasses whose arrays are read-only too.

    A class with a ``__post_init__`` of its own ends it with ``super().__post_init__()``. The arrays
    are locked where they are, without a copy: do not hand in one that somebody else writes to.

    Examples
    --------
    >>> import copy
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from bowfree.results.frozen import Frozen
    >>> @dataclass(frozen=True, eq=False)
    ... class Weights(Frozen):
    ...     values: np.ndarray
    >>> weights = copy.deepcopy(Weights(np.ones(3)))
    >>> weights.values.flags.writeable
    False
    """

    def __post_init__(self) -> None:
        lock_arrays(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        lock_arrays(vars(self))


def lock_arrays(value: Any) -> None:
    """Make an array read-only, or all arrays in dicts, lists and tuples, at any depth."""
    level = [value]
    while level:  # all that lies equally deep at once: a fit has some hundred small tuples
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


# What nearly all parts of a result are.
_WITHOUT_ARRAYS = frozenset({str, int, float, bool, type(None)})
