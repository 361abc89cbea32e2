"""What repeated searches on parts of the data share: rows, options, and several at a time.

Used by :mod:`bowfree.uncertainty.bootstrap` and :mod:`bowfree.uncertainty.penalty_choice`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError, DataError
from bowfree.model.moments import read_moments, read_observations
from bowfree.options import at_least

__all__ = ["columns_of", "in_parallel", "read_rows", "search_options"]

Floats = npt.NDArray[np.float64]


def read_rows(data: Any) -> tuple[tuple[str, ...], Floats]:
    """Return names and observations, after the checks that every function makes."""
    if data is None:
        raise DataError("data are missing: resampling needs observations, not a covariance matrix")
    read_moments(data)
    return read_observations(data, None, "data")


def columns_of(names: tuple[str, ...], X: Floats) -> dict[str, Floats]:
    """Return observations as a mapping, which carries their names."""
    return dict(zip(names, X.T, strict=True))


def search_options(search: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of the search, unless they are ours to set."""
    options = {} if search is None else dict(search)
    ours = sorted(set(options) & {"data", "cov", "n", "rng", "n_jobs", "checkpoint", "progress"})
    if ours:
        raise BowfreeError(f"search may not set {ours[0]!r}: every resample has its own")
    return options


def in_parallel(task: Callable[[Any], Any], items: Sequence[Any], n_jobs: int) -> list[Any]:
    """Do the task for every item, in the order of the items."""
    if n_jobs == 1:
        return [task(item) for item in items]
    if n_jobs != -1:
        at_least("n_jobs", n_jobs, 1)
    from joblib import Parallel, delayed

    # The core releases the interpreter while it searches, so threads do; a parallel_config of the
    # caller (loky, dask, ray) has precedence over this hint.
    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(task)(item) for item in items)
    return list(found)
