"""Shares of an edge's marks, as stacked bars: over an equivalence class, or over resampled data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr
from bowfree.validation import as_float, as_list, is_number
from bowfree.visualization.plot.canvas import label_bars, new_axes

_FORWARD, _BACKWARD, _BIDIRECTED = "#2b2b2b", "#9a9a9a", "#c8102e"


def class_summary(
    summary: EquivalenceClass | ClassSummary | Any, *, ax: Axes | None = None
) -> Axes:
    """Draw which marks the edges have among the members of a class.

    Parameters
    ----------
    summary : EquivalenceClass, ClassSummary or anything with a ``summary()`` of that kind
        The class.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One bar per edge on which the members disagree, from the share of ``a -> b`` on the left
        to that of ``a <-> b`` on the right; below stands on how many others all members agree.

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("x -> y -> z")))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x – y', 'y – z']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)

    References
    ----------
    Section 2.4 of the paper.
    """
    counted = summary.summary() if isinstance(summary, EquivalenceClass) else summary
    if not isinstance(counted, ClassSummary):
        raise BowfreeError(
            f"summary is {short_repr(summary)}: give an equivalence class or its summary"
        )
    if not counted.edges:
        raise BowfreeError("the class has no edges: there is nothing to draw")
    n = counted.n_members
    rows = [
        (f"{e.a} – {e.b}", e.n_forward / n, e.n_backward / n, e.n_bidirected / n)
        for e in counted.edges
        if not e.invariant
    ]
    agreed = len(counted.edges) - len(rows)
    if not rows:
        ax = ax or new_axes(6.0, 0.9)
        ax.text(0.5, 0.5, f"all members agree on all {agreed} edges", ha="center", va="center")
        ax.set_axis_off()
        return ax
    more = "" if counted.complete else " found"
    others = f"; all agree on {agreed} other{'s' * (agreed != 1)}" if agreed else ""
    return _bars(rows, f"share of the {n:,} members{more}{others}", ax)


def bootstrap_edges(frequencies: Any, *, at_least: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw how often each edge came back in resampled data, the most frequent pair on top.

    Parameters
    ----------
    frequencies : BootstrapResult, AveragedEffects or sequence of tuple
        Matrices ``directed``, with the share of samples that have j -> i at ``[i, j]``, and
        ``bidirected``, with ``names``; or rows ``(a, b, forward, backward, bidirected)``, the
        shares of a -> b, a <- b and a <-> b.
    at_least : float
        Leave out pairs that are adjacent in a smaller share of the samples.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import bowfree as bf
    >>> rows = [("x", "y", 0.6, 0.1, 0.2), ("y", "z", 0.0, 0.0, 1.0), ("x", "z", 0.01, 0, 0)]
    >>> ax = bf.plot.bootstrap_edges(rows)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['y – z', 'x – y']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)
    """
    if not is_number(at_least):
        raise BowfreeError(f"at_least = {short_repr(at_least)}: must be a number, such as 0.05")
    at_least = as_float(at_least)
    rows = [
        (f"{a} – {b}", float(forward), float(backward), float(both))
        for a, b, forward, backward, both in frequency_rows(frequencies)
    ]
    kept = sorted((row for row in rows if sum(row[1:]) >= at_least), key=lambda r: -sum(r[1:]))
    if not kept:
        raise BowfreeError(
            f"no pair is adjacent in at least {at_least:g} of the samples: lower `at_least`"
        )
    return _bars(kept, "share of the samples", ax)


def frequency_rows(frequencies: Any) -> Sequence[tuple[str, str, float, float, float]]:
    if not all(hasattr(frequencies, word) for word in ("names", "directed", "bidirected")):
        rows = list(
            as_list("frequencies", frequencies, "rows (a, b, forward, backward, bidirected)")
        )
        for row in rows:
            if not isinstance(row, list | tuple) or [*map(is_number, row[2:])] != [True] * 3:
                raise BowfreeError(
                    f"frequencies has the row {short_repr(row)}: give (a, b, forward, backward, "
                    "bidirected), names and shares"
                )
        return rows
    names, D, Bi = frequencies.names, frequencies.directed, frequencies.bidirected
    return [
        (names[i], names[j], D[j, i], D[i, j], Bi[i, j])
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]


def _bars(rows: Sequence[tuple[str, float, float, float]], along: str, ax: Axes | None) -> Axes:
    """Draw stacked horizontal bars, the first row on top."""
    ax = ax or new_axes(6.0, 0.9 + 0.24 * len(rows))
    places = np.arange(len(rows))
    left = np.zeros(len(rows))
    kinds = (("a → b", _FORWARD), ("a ← b", _BACKWARD), ("a ↔ b", _BIDIRECTED))
    for k, (label, color) in enumerate(kinds, start=1):
        share = np.array([row[k] for row in rows], dtype=np.float64)
        ax.barh(places, share, left=left, height=0.72, color=color, label=label)
        left += share
    ax.set_xlim(0, 1)
    label_bars(ax, [row[0] for row in rows], along=along, legend_columns=3)
    return ax
