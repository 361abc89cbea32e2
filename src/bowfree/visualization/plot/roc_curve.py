"""Receiver operating characteristics: how well a number separates true effects from none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr
from bowfree.validation import as_list
from bowfree.visualization.plot.canvas import new_axes

Floats = npt.NDArray[np.float64]

# Okabe and Ito's colors: told apart by the color-blind, and in print.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def roc(curves: Any, *, ax: Axes | None = None) -> Axes:
    """Draw ROC curves, with the area under each in the legend.

    Parameters
    ----------
    curves : mapping, or one curve
        By name: a pair ``(false_positive_rate, true_positive_rate)`` or a curve with ``fpr`` and
        ``tpr``, or a list of them (one per simulation), which is drawn thin with its vertical mean
        on top. The rates rise from (0, 0) to (1, 1).
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.roc({"minimal effect": ([0, 0.2, 1], [0, 0.8, 1])})
    >>> ax.get_legend().get_texts()[0].get_text()
    'minimal effect (AUC 0.80)'
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)

    References
    ----------
    Section 4.2 of the paper, figure of the simulation study.
    """
    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    if not named:
        raise BowfreeError("there is no curve to draw")
    read = {name: _bundle(name, given) for name, given in named.items()}
    ax = ax or new_axes(4.4, 4.4)
    ax.plot([0, 1], [0, 1], color="0.7", lw=1, ls="--", zorder=1)
    for k, (name, bundle) in enumerate(read.items()):
        color = _COLOURS[k % len(_COLOURS)]
        areas = [float(np.diff(x) @ (y[1:] + y[:-1]) / 2) for x, y in bundle]
        label = f"{name} (AUC {np.mean(areas):.2f})".strip()
        if len(bundle) > 1:
            for x, y in bundle:
                ax.plot(x, y, color=color, lw=0.5, alpha=min(0.5, 6 / len(bundle)), zorder=2)
            grid = np.linspace(0, 1, 201)
            mean = np.mean([_height(x, y, grid) for x, y in bundle], axis=0)
            # The mean curve starts where all do, also when every curve leaves (0, 0) vertically.
            line = np.concatenate([[0.0], grid]), np.concatenate([[0.0], mean])
        else:
            line = bundle[0]
        ax.plot(*line, color=color, lw=2, label=label, zorder=3)
    ax.set_aspect("equal")
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", frameon=False)
    return ax


def _bundle(name: str, given: Any) -> list[tuple[Floats, Floats]]:
    """Read one pair of rates, or a list of pairs."""
    single = hasattr(given, "fpr") or _is_pair(given)
    pairs = [given] if single else as_list("curves", given, "pairs of rates")
    bundle = []
    for pair in ((p.fpr, p.tpr) if hasattr(p, "fpr") else p for p in pairs):
        if not _is_pair(pair):
            raise BowfreeError(
                f"ROC curve {short_repr(name)}: expected a pair (false positive rate, true positive "
                f"rate) of equal length, or a list of pairs, found {short_repr(pair)}"
            )
        try:
            x, y = (np.asarray(rate, dtype=np.float64) for rate in pair)
        except (TypeError, ValueError, OverflowError):
            raise BowfreeError(
                f"ROC curve {short_repr(name)}: rates are numbers, found {short_repr(pair)}"
            ) from None
        ends = x[0] == y[0] == 0 and x[-1] == y[-1] == 1
        if not ends or (np.diff(x) < 0).any() or (np.diff(y) < 0).any():
            raise BowfreeError(
                f"ROC curve {short_repr(name)}: both rates must rise from 0 to 1, "
                f"found {x[0]:g} … {x[-1]:g} and {y[0]:g} … {y[-1]:g}"
            )
        bundle.append((x, y))
    if not bundle:
        raise BowfreeError(f"ROC curve {short_repr(name)}: the list of curves is empty")
    return bundle


def _is_pair(given: Any) -> bool:
    if not isinstance(given, tuple | list | np.ndarray):
        return False
    try:
        shapes = [np.shape(rate) for rate in given]
    except (TypeError, ValueError):  # an array of no dimension; rows of different lengths
        return False
    return len(shapes) == 2 and len(shapes[0]) == 1 and shapes[0] == shapes[1] >= (2,)


def _height(x: Floats, y: Floats, grid: Floats) -> Floats:
    """Return the curve at the grid, the upper end where it is vertical."""
    last = np.searchsorted(x, grid, side="right") - 1
    following = np.minimum(last + 1, len(x) - 1)
    step = np.where(x[following] > x[last], x[following] - x[last], 1.0)
    height: Floats = y[last] + (grid - x[last]) / step * (y[following] - y[last])
    return height
