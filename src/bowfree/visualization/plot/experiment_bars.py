"""What the next experiment would settle, as bars: one for each experiment."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from bowfree.effects.design_result import Design
from bowfree.equivalence.targets import said
from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr
from bowfree.validation import check_count
from bowfree.visualization.plot.canvas import label_bars, new_axes

_NOW, _GAIN = "#9a9a9a", "#2b2b2b"


def design(result: Design, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw how many ends of edges each experiment is expected to settle, the best on top.

    Parameters
    ----------
    result : Design
        What :func:`bowfree.design` returned.
    most : int
        Draw so many experiments.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One bar per experiment: the ends settled now, and in dark what the experiment adds. Beside
        it stands the expected number of members left.

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.design(bf.design(bf.parse("x -> y -> z")))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['y', 'x', 'z']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)
    """
    if not isinstance(result, Design):
        raise BowfreeError(f"result is {short_repr(result)}: give what bowfree.design returned")
    experiments = result.experiments[: check_count("most", most, 1)]
    ax = ax or new_axes(6.0, 1.1 + 0.26 * len(experiments))
    places = np.arange(len(experiments))
    gains = [e.settled_ends - result.settled_ends for e in experiments]
    ax.barh(places, result.settled_ends, height=0.72, color=_NOW, label="settled now")
    ax.barh(
        places, gains, left=result.settled_ends, height=0.72, color=_GAIN, label="by the experiment"
    )
    for place, experiment in zip(places, experiments, strict=True):
        ax.annotate(
            f"{experiment.members_left:,.4g} left",
            (experiment.settled_ends, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_xlim(0, max(result.n_ends, 1) * 1.15)
    now = f"{result.n_members:,.4g} members now"
    label_bars(
        ax,
        [said(e.targets) for e in experiments],
        along=f"expected number of settled ends, of {result.n_ends:g}; {now}",
        legend_columns=2,
    )
    return ax
