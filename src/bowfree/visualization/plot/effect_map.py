"""A heat map of total effects: columns are causes, rows are the affected variables.

Bounds over an equivalence class are two numbers per pair: each cell is divided by its diagonal,
with the lower bound below and the upper bound above. Effects have units, and a variable in small
units has large effects. Effects are therefore drawn in standard deviations where these are known;
otherwise, if some are much larger than most, on a logarithmic color scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, SymLogNorm

from bowfree.errors import BowfreeError
from bowfree.model.fit_result import Fit
from bowfree.model.linear_sem import real_array
from bowfree.parameters import public
from bowfree.results.display import significant
from bowfree.text_reading import short_repr
from bowfree.validation import as_list
from bowfree.visualization.layout import Floats
from bowfree.visualization.plot.charts import new_axes
from bowfree.visualization.svg import printable

_MAX_WRITTEN = 12  # variables up to which numbers are written into the cells
_LETTER = 0.085  # inches per letter of a label
_MAX_LABEL = 28  # letters


@public
def effects(
    effects: Any,
    *,
    sd: Any = None,
    names: Sequence[str] | None = None,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw total effects, or their bounds over an equivalence class, as a heat map.

    Parameters
    ----------
    effects : Fit, EffectBounds, TotalEffects, AveragedEffects, BootstrapResult or array_like (d, d)
        Entry ``[i, j]`` is the effect of j on i. Bounds and intervals have a lower and an upper
        end; for averaged effects the ``mean`` is drawn. A fit is drawn in standard deviations.
    sd : Fit, SearchResult, Moments or array_like (d,), optional
        Standard deviations, or an object that has them. Effects are then drawn in standard
        deviations per standard deviation.
    names : sequence of str, optional
        The variables; by default those of `effects`.
    colorbar : bool
        Draw the color scale beside the map.

    Returns
    -------
    Axes
        Columns are causes, rows the affected variables. The lower left triangle of a cell shows the
        lower bound, the upper right triangle the upper bound.

    Examples
    --------
    >>> import bowfree as bf
    >>> fit = bf.fit(bf.parse("x -> y -> z"), cov=[[1, .5, .3], [.5, 1, .6], [.3, .6, 1]], n=100)
    >>> ax = bf.plot.effects(fit.total_effects())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['x', 'y', 'z']
    """
    if isinstance(effects, Fit):
        sd = effects if sd is None else sd
        effects = effects.total_effects()
    lower, upper = _bounds(effects)
    d = len(lower)
    if sd is not None:
        scale = _standard_deviations(sd, d)
        lower, upper = (bound * scale / scale[:, None] for bound in (lower, upper))
    labels = _labels(effects, names, d)
    off = ~np.eye(d, dtype=bool)
    values = np.concatenate([lower[off], upper[off]])
    norm = _color_scale(values)
    cell = 0.46 if d <= _MAX_WRITTEN else 0.25
    label_space = _LETTER * max(map(len, labels), default=0)
    ax = ax or new_axes(2.0 + label_space + cell * d, 0.8 + label_space + cell * d)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, d - 0.5)
    ax.set_ylim(d - 0.5, -0.5)

    square = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    corners = np.argwhere(off)[:, None, ::-1] + square
    triangles = np.concatenate([corners[:, [0, 2, 3]], corners[:, [0, 1, 2]]])
    mesh = PolyCollection(
        list(triangles),
        array=np.ma.masked_invalid(values),
        cmap="RdBu_r",
        norm=norm,
    )
    # Edges in the color of the faces hide the line between the triangles of a square.
    mesh.set_edgecolor("face")
    mesh.set_linewidth(0.8)
    ax.add_collection(mesh)
    for k in range(d + 1):
        ax.axhline(k - 0.5, color=ax.get_facecolor(), lw=1.2)
        ax.axvline(k - 0.5, color=ax.get_facecolor(), lw=1.2)
    if d <= _MAX_WRITTEN:
        _write_numbers(ax, lower, upper, norm)
    ax.set_xticks(range(d), labels, rotation=90 if label_space > cell else 0, parse_math=False)
    ax.set_yticks(range(d), labels, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    split = not np.array_equal(lower, upper, equal_nan=True)
    ax.set_xlabel("cause" + split * "\nlower left: smallest effect, upper right: largest")
    ax.set_ylabel("effect on")
    if colorbar:
        assert ax.figure is not None
        unit = "in SD" if sd is not None else "in units of the data"
        ax.figure.colorbar(mesh, ax=ax, label=f"total effect ({unit})")
    return ax


def _bounds(effects: Any) -> tuple[Floats, Floats]:
    if hasattr(effects, "lower") and hasattr(effects, "upper"):
        pair = effects.lower, effects.upper
    elif hasattr(effects, "total_effect_interval"):  # a bootstrap
        pair = tuple(effects.total_effect_interval)
    else:
        single = getattr(effects, "estimate", getattr(effects, "mean", None))
        if single is None or callable(single):  # an array has a method `mean`
            single = effects
        pair = single, single
    try:
        lower, upper = (real_array(bound) for bound in pair)
    except (TypeError, ValueError, OverflowError):
        raise BowfreeError(
            f"effects is {short_repr(effects)}: pass bounds, effects of a fit, or a matrix"
        ) from None
    if lower.ndim != 2 or lower.shape[0] != lower.shape[1] or lower.shape != upper.shape:
        raise BowfreeError(f"effects have shape {lower.shape}: expected a square matrix")
    if not len(lower):
        raise BowfreeError("effects has no variables: there is nothing to draw")
    return lower, upper


def _standard_deviations(sd: Any, d: int) -> Floats:
    covariance = getattr(getattr(sd, "moments", sd), "S", None)
    try:
        found = real_array(sd if covariance is None else np.sqrt(np.diag(covariance)))
    except (TypeError, ValueError, OverflowError):
        raise BowfreeError(
            f"sd is {short_repr(sd)}: pass {d} standard deviations, or an object that has them"
        ) from None
    if found.shape != (d,) or not (found > 0).all():
        raise BowfreeError(
            f"sd has shape {found.shape}: expected {d} standard deviations > 0, or an object that "
            "has them"
        )
    return found


def _color_scale(values: Floats) -> Normalize:
    """Return a scale that is logarithmic if some values are more than ten times the median.

    One variable in other units must not bleach all others.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not sizes.size:
        return Normalize(-1.0, 1.0)
    largest = float(sizes.max())
    if largest > 1e300:  # the colors span twice that
        raise BowfreeError(f"an effect of {largest:.3g} is too large to draw; use other units")
    if largest <= 10 * float(np.median(sizes)):
        return Normalize(-largest, largest)
    smallest = max(float(np.quantile(sizes, 0.1)), 1e-12 * largest)
    return SymLogNorm(smallest, vmin=-largest, vmax=largest)


def _labels(effects: Any, names: Sequence[str] | None, d: int) -> list[str]:
    found = names if names is not None else getattr(effects, "names", None)
    if found is None:
        return [f"x{i + 1}" for i in range(d)]
    labels = [printable(str(name)) for name in as_list("names", found, "names")]
    if len(labels) != d:
        raise BowfreeError(f"{len(labels)} names for {d} variables")
    return [x if len(x) <= _MAX_LABEL else x[: _MAX_LABEL - 1] + "…" for x in labels]


def _write_numbers(ax: Axes, lower: Floats, upper: Floats, norm: Normalize) -> None:
    for i, j in np.argwhere(~np.eye(len(lower), dtype=bool)).tolist():
        low, high = lower[i, j], upper[i, j]
        if not np.isfinite([low, high]).all() or (low == 0 == high):
            continue
        same = np.isclose(low, high, rtol=1e-6, atol=0.0)
        for value, x, y in ((low, 0, 0),) if same else ((low, -0.2, 0.24), (high, 0.2, -0.24)):
            large = abs(value) >= 1e4  # five digits do not fit into a cell
            text = f"{value:.0e}".replace("e+0", "e") if large else significant(value, 2)
            ax.text(
                j + x,
                i + y,
                text.replace("0.", ".", 1) if abs(value) < 1 else text,
                ha="center",
                va="center",
                fontsize=7.5 if same else 6,
                color="white" if abs(norm(value) - 0.5) > 0.3 else "#111",  # on dark cells
            )
