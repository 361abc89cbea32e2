"""Contours of the effect that remains under a hidden cause."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from bowfree.effects.sensitivity import Sensitivity, _adjusted
from bowfree.errors import BowfreeError
from bowfree.parameters import public
from bowfree.text_reading import short_repr
from bowfree.visualization.plot.charts import new_axes
from bowfree.visualization.svg import printable


@public
def sensitivity(result: Sensitivity, *, ax: Axes | None = None) -> Axes:
    """Draw contours of the effect that remains under a hidden cause of exposure and outcome.

    Parameters
    ----------
    result : Sensitivity
        Result of :func:`bowfree.effects.sensitivity`.

    Returns
    -------
    Axes
        The partial R^2 of the hidden cause with the exposure and with the outcome. The effect is
        zero on the red line, whose diagonal point is the robustness value. Points are hidden causes
        as strong as an observed variable.

    Examples
    --------
    >>> import bowfree as bf
    >>> cov = [[1.0, 0.3, 0.4], [0.3, 1.0, 0.5], [0.4, 0.5, 1.0]]
    >>> fit = bf.fit(bf.parse("w -> x -> y <- w"), cov=cov, n=500)
    >>> ax = bf.plot.sensitivity(bf.effects.sensitivity(fit, of="x", on="y"))
    >>> ax.get_xlabel()
    'partial R² of the hidden cause with x'
    """
    if not isinstance(result, Sensitivity):
        raise BowfreeError(
            f"result is {short_repr(result)}: pass the result of bowfree.effects.sensitivity"
        )
    ax = ax or new_axes(5.0, 4.4)
    points = [row for row in result.rows if row.r2_exposure < 1]
    largest = [max(row.r2_exposure, row.r2_outcome) for row in points]
    top = min(max([1.5 * result.robustness_value, *(1.2 * r2 for r2 in largest), 0.05]), 0.98)
    grid = np.linspace(0, top, 80)
    scale = result.se * np.sqrt(result.df)
    left = np.array([[_adjusted(result.estimate, scale, x, y) for x in grid] for y in grid])
    if result.estimate:
        lines = ax.contour(grid, grid, left, levels=9, colors="0.55", linewidths=0.8)
        ax.clabel(lines, fontsize="small", fmt="%.3g")
        ax.contour(grid, grid, left, levels=[0.0], colors="#d00000", linewidths=1.8)
    for row in points:
        ax.plot(row.r2_exposure, row.r2_outcome, "o", color="black", ms=4)
        label = f"{printable(row.variable)} ({row.estimate:.3g})"
        ax.annotate(
            label,
            (row.r2_exposure, row.r2_outcome),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize="small",
            parse_math=False,
        )
    for axis, name in (("x", result.of), ("y", result.on)):
        text = f"partial R² of the hidden cause with {printable(name)}"
        getattr(ax, f"set_{axis}label")(text, parse_math=False)
    ax.set_title(
        f"effect {result.estimate:.3g}, robustness value {result.robustness_value:.3f}",
        fontsize="medium",
    )
    return ax
