"""New figures for those who bring no Axes, and text that shrinks with its picture."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox

__all__ = ["ScaledText", "new_axes"]


def new_axes(width: float, height: float) -> Axes:
    """Return the Axes of a new figure of pyplot; sizes in inches."""
    # Only here: pyplot chooses a window system, which a program with its own Axes does not want.
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


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
