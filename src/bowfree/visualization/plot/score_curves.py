"""How the runs of a search climbed: the score after every step, and the best against time.

The y axis of the curves against steps shows the upper part of the climbs
(:func:`bowfree.visualization.score_window.climb_window`), and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr
from bowfree.validation import as_float, as_list, check_choice, is_number
from bowfree.visualization.plot.canvas import new_axes
from bowfree.visualization.score_window import climb_window

Floats = npt.NDArray[np.float64]


def scores(
    runs: Any,
    *,
    against: Literal["steps", "time"] = "steps",
    reference: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score curves of a search.

    Parameters
    ----------
    runs : SearchResult or sequence of runs
        Each run has a ``path``, the score at the start and after every step, and ``seconds``.
    against : {"steps", "time"}
        One line per run against its steps, the best one in color; or the best score so far against
        the computing time of all runs, one after the other (processor time: with several jobs the
        clock on the wall shows less).
    reference : float, optional
        A score to compare with, such as that of a known graph, as a dashed line.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace as Run
    >>> import bowfree as bf
    >>> runs = [Run(path=[-9.0, -7.0], seconds=0.1), Run(path=[-8.0, -7.5, -6.5], seconds=0.2)]
    >>> ax = bf.plot.scores(runs)
    >>> len(ax.lines), ax.get_ylabel()
    (3, 'score')
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)

    References
    ----------
    Section 3.2 of the paper.
    """
    listed = list(as_list("runs", getattr(runs, "runs", runs), "runs, or the result of a search"))
    for run in listed:
        if not (hasattr(run, "path") and hasattr(run, "seconds")):
            raise BowfreeError(f"runs holds {short_repr(run)}: give the runs of a search")
    if reference is not None and not is_number(reference):
        raise BowfreeError(f"reference = {short_repr(reference)}: must be a score")
    paths = [np.asarray(run.path, dtype=np.float64) for run in listed]
    if not paths or any(len(path) == 0 for path in paths):
        raise BowfreeError("there are no score paths to draw: the search has no runs")
    check_choice("value of against", against, ("steps", "time"))
    ax = ax or new_axes(6.0, 3.6)
    if against == "steps":
        _against_steps(ax, paths)
    else:
        _against_time(ax, paths, [float(run.seconds) for run in listed])
    if reference is not None:
        ax.axhline(as_float(reference), color="0.45", lw=1, ls="--", label="reference", zorder=1)
    ax.set_ylabel("score")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="best", frameon=False)
    return ax


def _against_steps(ax: Axes, paths: Sequence[Floats]) -> None:
    # Equivalent ends differ by rounding: the first of the best is the best, on every machine.
    top = max(float(path.max()) for path in paths)
    best = next(k for k, path in enumerate(paths) if path.max() >= top - 1e-9)
    for k, path in enumerate(paths):
        if k != best:
            ax.plot(np.arange(len(path)), path, color="0.65", lw=0.8, alpha=0.7, zorder=2)
    ends = np.array([[len(path) - 1, path[-1]] for path in paths])
    ax.plot(ends[:, 0], ends[:, 1], "o", color="0.45", ms=2.5, lw=0, zorder=3)
    label = f"best of {len(paths)} runs" if len(paths) > 1 else "the run"
    ax.plot(
        np.arange(len(paths[best])), paths[best], color="#c8102e", lw=1.8, label=label, zorder=4
    )
    low, high = climb_window([path.tolist() for path in paths])
    ax.set_ylim(low, high)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    hidden = min(float(path.min()) for path in paths)
    # Said where the axis is named: in the picture it would stand among the curves.
    ax.set_xlabel("step" if hidden >= low else f"step (lowest start, not shown: {hidden:.4g})")


def _against_time(ax: Axes, paths: Sequence[Floats], seconds: Sequence[float]) -> None:
    clock = np.cumsum(seconds)
    ends = np.array([path.max() for path in paths])
    ax.plot(clock, ends, "o", color="0.55", ms=3, lw=0, label="end of a run", zorder=2)
    best = np.maximum.accumulate(ends)
    ax.step(clock, best, where="post", color="#c8102e", lw=1.8, label="best so far", zorder=3)
    ax.set_xlim(left=0)
    ax.set_xlabel("seconds of computing")
