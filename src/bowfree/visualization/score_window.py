"""Which scores of a search to look at: the part of the climbs where it is decided.

Starts differ from ends by far more than ends from each other. A picture of all scores would show
one steep line; :mod:`bowfree.visualization.plot` and :mod:`bowfree.visualization.report` show this window instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def climb_window(paths: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the range of scores to show: all ends, and the upper three quarters of the steps.

    Parameters
    ----------
    paths : sequence of sequence of float
        Scores along the runs.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from bowfree.visualization.score_window import climb_window
    >>> low, high = climb_window([[-100.0, -12.0, -11.0, -10.0], [-11.0, -10.5]])
    >>> round(low, 2), round(high, 2)
    (-11.87, -9.88)
    """
    scores = np.concatenate([np.asarray(path, dtype=np.float64) for path in paths])
    top = float(scores.max())
    low = min(float(np.quantile(scores, 0.25)), *(float(max(path)) for path in paths))
    room = 0.07 * (top - low) if apart(low, top) else 0.01 * max(1.0, abs(top))
    return low - room, top + room


def apart(low: float, high: float) -> bool:
    """Say whether two scores differ by more than rounding, which a picture should not show."""
    return high - low > 1e-6 * max(1.0, abs(high))
