"""Rows put aside: some to learn a graph from, the others to judge it by.

Whoever looks for the best of many graphs finds one that fits these very rows better than it should.
Standard errors and tests know nothing of that, and say too much. On rows that the search has not
seen they mean what they always mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.conditions import are_conditions, listed_conditions
from bowfree.data.frames import Observations
from bowfree.errors import DataError
from bowfree.validation import check_fraction


def split_rows(data: Any, part: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return two tables of the kind given: the rows to keep, and a random `part` put aside.

    Of conditions, the same part of each.

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.data.holdout import split_rows
    >>> kept, aside = split_rows({"x": [1, 2, 3, 4]}, 0.25, np.random.default_rng(0))
    >>> len(kept["x"]), len(aside["x"])
    (3, 1)
    """
    check_fraction("holdout", part)
    if are_conditions(data):
        halves = [(c, *split_rows(c.data, part, rng)) for c in listed_conditions(data)]
        return [replace(c, data=kept) for c, kept, _ in halves], [
            replace(c, data=aside) for c, _, aside in halves
        ]
    n = _n_rows(data)
    aside = np.zeros(n, dtype=bool)
    aside[rng.permutation(n)[: round(part * n)]] = True
    return _rows(data, ~aside), _rows(data, aside)


def _n_rows(data: Any) -> int:
    if isinstance(data, Mapping):
        lengths = {np.asarray(column).shape[:1] for column in data.values()}
        if len(lengths) == 1 and (only := lengths.pop()):
            return int(only[0])
    elif hasattr(data, "__len__") or hasattr(data, "__array__"):
        return len(data) if hasattr(data, "__len__") else len(np.asarray(data))
    raise DataError(
        "holdout needs observations in rows, to put some of them aside; with a covariance matrix "
        "or moments, compute them from a part of the rows, and fit the graph to the others"
    )


def _rows(data: Any, chosen: npt.NDArray[np.bool_]) -> Any:
    import narwhals as nw

    if isinstance(data, Observations):
        return replace(data, values=data.values[chosen])
    if isinstance(data, Mapping):
        return {name: np.asarray(column)[chosen] for name, column in data.items()}
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.filter(chosen.tolist()).to_native()
    return np.asarray(data)[chosen]
