"""New figures for those who bring no Axes, rows of bars, and text that shrinks with its picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bowfree.visualization.svg import printable


def new_axes(width: float, height: float) -> Axes:
    """Return the Axes of a new figure of pyplot; sizes in inches."""
    # Only here: pyplot chooses a window system, which a program with its own Axes does not want.
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def label_bars(ax: Axes, names: Sequence[str], *, along: str, legend_columns: int) -> None:
    """Write names beside horizontal bars at 0, 1, ..., what is drawn below, the legend above."""
    # As they are, without mathematics between dollar signs.
    ax.set_yticks(range(len(names)), [printable(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    # From the right: names of variables leave little room on the left.
    ax.set_xlabel(along, loc="right")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=legend_columns,
        frameon=False,
        borderaxespad=0.2,
        handlelength=1.2,
    )


class ScaledText(Text):
    """Text whose height is given in data units, so that it fits its box at any size of figure.

    Parameters
    ----------
    height : float
        Font size, in units of the y axis.
    """

    def __init__(self, x: float, y: float, text: str, *, height: float, **properties: Any) -> None:
        super().__init__(x, y, text, parse_math=False, **properties)
        self._height = height

    def _rescale(self) -> None:
        if self.axes is None or self.axes.figure is None:
            return
        (_, low), (_, high) = self.axes.transData.transform([(0, 0), (0, self._height)])
        points = abs(high - low) * 72 / self.axes.figure.dpi
        # Setting a size marks the text as changed; without this check it would be so forever.
        if abs(points - float(self.get_fontsize())) > 1e-6:
            self.set_fontsize(points)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the text at the size that the picture has now."""
        self._rescale()
        super().draw(renderer)

    def get_window_extent(
        self, renderer: RendererBase | None = None, dpi: float | None = None
    ) -> Bbox:
        """Return the box of the text on the screen, at the size that the picture has now."""
        self._rescale()
        return super().get_window_extent(renderer, dpi)
