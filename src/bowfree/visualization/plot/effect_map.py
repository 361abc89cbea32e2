"""A heat map of total effects: columns are causes, rows are what they act on.

Bounds over an equivalence class are two numbers per pair. Each cell is cut along its diagonal: the
lower bound below, the upper bound above. A cell of one color is an effect that all members agree
on; a pale triangle says that some member sees no effect.

Effects have units, the effect's per unit of the cause, and one variable in small units has effects
that outshine all others. So effects are drawn in standard deviations where these are known, and
where they are not, the scale of colors ends at what is usual in the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize

from bowfree.errors import BowfreeError
from bowfree.model.fit_result import Fit
from bowfree.model.parameter_matrices import real_array
from bowfree.results.display import significant
from bowfree.text_reading import short_repr
from bowfree.validation import as_list
from bowfree.visualization.plot.canvas import new_axes
from bowfree.visualization.svg import printable

Floats = npt.NDArray[np.float64]

_WRITTEN = 12  # numbers are written into the cells up to this many variables
_LETTER = 0.085  # inches that a letter of a label takes
_LONGEST = 28  # letters of a label


def effects(
    effects: Any,
    *,
    sd: Any = None,
    names: Sequence[str] | None = None,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw total effects, or their bounds over a class, as a heat map.

    Parameters
    ----------
    effects : Fit, EffectBounds, TotalEffects, AveragedEffects, BootstrapResult or array_like (d, d)
        Entry ``[i, j]`` is the effect of j on i. Bounds and intervals have a lower and an upper
        end; of an average its ``mean`` is drawn. A fit has standard deviations and is drawn in
        their units.
    sd : Fit, SearchResult, Moments or array_like (d,), optional
        Standard deviations, or what has them, for effects that do not: an effect is then drawn in
        standard deviations per standard deviation.
    names : sequence of str, optional
        The variables, where `effects` does not know them.
    colorbar : bool
        Draw the scale beside the map.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Columns are causes, rows what they act on. The lower left triangle of a cell has the color
        of the lower bound, the upper right one that of the upper bound.

    Examples
    --------
    >>> import bowfree as bf
    >>> fit = bf.fit(bf.parse("x -> y -> z"), cov=[[1, .5, .3], [.5, 1, .6], [.3, .6, 1]], n=100)
    >>> ax = bf.plot.effects(fit.total_effects())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['x', 'y', 'z']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(ax.figure)
    """
    if isinstance(effects, Fit):
        sd = effects if sd is None else sd
        effects = effects.total_effects()
    lower, upper = _bounds(effects)
    d = len(lower)
    if sd is not None:
        scale = _deviations(sd, d)
        lower, upper = (bound * scale / scale[:, None] for bound in (lower, upper))
    labels = [_shortened(label) for label in _names(effects, names, d)]
    off = ~np.eye(d, dtype=bool)
    top, beyond = _largest(np.concatenate([lower[off], upper[off]]))
    if top > 1e300:  # the colors span twice that
        raise BowfreeError(f"an effect of {top:.3g} is too large to be drawn; use other units")
    cell = 0.46 if d <= _WRITTEN else 0.25
    room = _LETTER * max(map(len, labels), default=0)
    ax = ax or new_axes(2.0 + room + cell * d, 0.8 + room + cell * d)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, d - 0.5)
    ax.set_ylim(d - 0.5, -0.5)

    cells = np.argwhere(off)
    corners = cells[:, None, ::-1] + np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    triangles = np.concatenate([corners[:, [0, 2, 3]], corners[:, [0, 1, 2]]])
    values = np.concatenate([lower[off], upper[off]])
    mesh = PolyCollection(
        list(triangles),
        array=np.ma.masked_invalid(values),
        cmap="RdBu_r",
        norm=Normalize(-top, top),
    )
    # Edges in the color of the faces: without them, a thin line of the ground shows between two
    # triangles that are meant to be one square.
    mesh.set_edgecolor("face")
    mesh.set_linewidth(0.8)
    ax.add_collection(mesh)
    for k in range(d + 1):
        ax.axhline(k - 0.5, color=ax.get_facecolor(), lw=1.2)
        ax.axvline(k - 0.5, color=ax.get_facecolor(), lw=1.2)
    if d <= _WRITTEN:
        _write_numbers(ax, lower, upper, top)
    ax.set_xticks(range(d), labels, rotation=90 if room > cell else 0, parse_math=False)
    ax.set_yticks(range(d), labels, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    split = not np.array_equal(lower, upper, equal_nan=True)
    ax.set_xlabel("cause" + split * "\nlower left: smallest effect, upper right: largest")
    ax.set_ylabel("effect on")
    if colorbar:
        assert ax.figure is not None
        ax.figure.colorbar(
            mesh,
            ax=ax,
            extend="both" if beyond else "neither",
            label="total effect" + (" (in SD)" if sd is not None else ""),
        )
    return ax


def _bounds(effects: Any) -> tuple[Floats, Floats]:
    if hasattr(effects, "lower") and hasattr(effects, "upper"):
        pair = effects.lower, effects.upper
    elif hasattr(effects, "total_effect_interval"):  # a bootstrap
        pair = tuple(effects.total_effect_interval)
    else:
        single = getattr(effects, "estimate", getattr(effects, "mean", None))
        if single is None or callable(single):  # an array has a method of that name
            single = effects
        pair = single, single
    try:
        lower, upper = (real_array(bound) for bound in pair)
    except (TypeError, ValueError, OverflowError):
        raise BowfreeError(
            f"effects is {short_repr(effects)}: give bounds, effects of a fit, or a matrix"
        ) from None
    if lower.ndim != 2 or lower.shape[0] != lower.shape[1] or lower.shape != upper.shape:
        raise BowfreeError(f"effects have shape {lower.shape}: expected a square matrix")
    if not len(lower):
        raise BowfreeError("effects are of no variables: there is nothing to draw")
    return lower, upper


def _deviations(sd: Any, d: int) -> Floats:
    """Return standard deviations, given as such or as what has a covariance matrix."""
    covariance = getattr(getattr(sd, "moments", sd), "S", None)
    try:
        found = real_array(sd if covariance is None else np.sqrt(np.diag(covariance)))
    except (TypeError, ValueError, OverflowError):
        raise BowfreeError(
            f"sd is {short_repr(sd)}: give {d} standard deviations, or what has them"
        ) from None
    if found.shape != (d,) or not (found > 0).all():
        raise BowfreeError(
            f"sd has shape {found.shape}: expected {d} standard deviations > 0, or what has them"
        )
    return found


def _largest(values: Floats) -> tuple[float, bool]:
    """Return where the scale of colors ends, and whether effects go beyond.

    At ten times the median: one variable in other units must not bleach all the others.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not sizes.size:
        return 1.0, False
    largest = float(sizes.max())
    # Of shares, since sums of what is nearly as large as a number can be have no value.
    usual = 10 * largest * float(np.median(sizes / largest))
    return min(largest, usual), largest > usual


def _shortened(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _names(effects: Any, names: Sequence[str] | None, d: int) -> list[str]:
    found = names if names is not None else getattr(effects, "names", None)
    listed = (
        [f"x{i + 1}" for i in range(d)]
        if found is None
        else [printable(str(x)) for x in as_list("names", found, "names")]
    )
    if len(listed) != d:
        raise BowfreeError(f"{len(listed)} names for {d} variables")
    return listed


def _short(value: float) -> str:
    """Two significant digits, without the zero before the point: cells are small."""
    text = significant(value, 2)
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _write_numbers(ax: Axes, lower: Floats, upper: Floats, top: float) -> None:
    for i, j in np.argwhere(~np.eye(len(lower), dtype=bool)).tolist():
        low, high = lower[i, j], upper[i, j]
        if not np.isfinite([low, high]).all() or (low == 0 == high):
            continue
        agreed = np.isclose(low, high, rtol=1e-6, atol=1e-9)
        # The ground of a strong effect is dark.
        for value, x, y in (
            ((low, -0.2, 0.24), (high, 0.2, -0.24)) if not agreed else ((low, 0, 0),)
        ):
            ax.text(
                j + x,
                i + y,
                _short(value),
                ha="center",
                va="center",
                fontsize=6 if not agreed else 7.5,
                color="white" if abs(value) > 0.6 * top else "#111",
            )
