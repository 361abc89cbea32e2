"""Score curves of a search as SVG for the report, and the range of scores to show.

The scores of starting graphs differ far more than those of the final ones. A chart of all scores
would be one steep line, so charts show only :func:`score_range`. Colors come from the style sheet
of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

_WIDTH, _HEIGHT = 520.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 510.0, 10.0, 210.0  # of the area between the axes
_MAX_CURVES = 150  # more curves cannot be distinguished


def score_range(paths: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the range of scores to show: all ends, and the upper three quarters of the steps."""
    scores = np.concatenate([np.asarray(path, dtype=np.float64) for path in paths])
    low = min(float(np.quantile(scores, 0.25)), *(float(max(path)) for path in paths))
    return _widened(low, float(scores.max()), 0.07)


def _widened(low: float, high: float, share: float) -> tuple[float, float]:
    """Return the interval with a margin; scores that differ by rounding only are one."""
    differ = high - low > 1e-6 * max(1.0, abs(high))
    margin = share * (high - low) if differ else 0.01 * max(1.0, abs(high))
    return low - margin, high + margin


def best_path(paths: Sequence[Sequence[float]]) -> int:
    """Return the index of the first best run; ends that differ by rounding are equal."""
    return max(range(len(paths)), key=lambda k: (round(float(max(paths[k])), 9), -k))


@dataclass(frozen=True)
class _Axes:
    """Ranges of the two axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point in the drawing."""
        return (
            _LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (_RIGHT - _LEFT),
            _BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (_BOTTOM - _TOP),
        )

    def curve(self, points: Sequence[tuple[float, float]], kind: str) -> str:
        line = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in points)
        return f'<polyline class="{kind}" points="{line}"/>'

    def chart(self, label: str, x_label: str, content: Sequence[str], *, whole: bool) -> str:
        """Return the chart; ticks of the x axis are whole numbers if `whole`."""
        lines = [
            f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" '
            f'aria-label="{escape(label)}">'
        ]
        for value in _ticks(*self.y):
            _, y = self.at(self.x[0], value)
            lines.append(
                f'<line class="grid" x1="{_LEFT:.0f}" x2="{_RIGHT:.0f}" y1="{y:.1f}" '
                f'y2="{y:.1f}"/><text class="tick" x="{_LEFT - 6:.0f}" y="{y:.1f}" dy="0.32em" '
                f'text-anchor="end">{value:.10g}</text>'
            )
        for value in _ticks(*self.x):
            x, _ = self.at(value, self.y[0])
            if not whole or value == round(value):
                lines.append(
                    f'<text class="tick" x="{x:.1f}" y="{_BOTTOM + 16:.0f}" '
                    f'text-anchor="middle">{value:.10g}</text>'
                )
        lines.append(
            f'<text class="axis" x="{(_LEFT + _RIGHT) / 2:.0f}" y="{_HEIGHT - 6:.0f}" '
            f'text-anchor="middle">{escape(x_label)}</text><text class="axis" '
            f'transform="translate(12,{(_TOP + _BOTTOM) / 2:.0f}) rotate(-90)" '
            'text-anchor="middle">score</text>'
        )
        # An inner SVG element clips the curves at the axes.
        width, height = _RIGHT - _LEFT, _BOTTOM - _TOP
        area = f"{_LEFT:.0f} {_TOP:.0f} {width:.0f} {height:.0f}"
        place = f'x="{_LEFT:.0f}" y="{_TOP:.0f}" width="{width:.0f}" height="{height:.0f}"'
        inner = f'<svg {place} viewBox="{area}" aria-hidden="true">'
        return "\n".join([*lines, inner, *content, "</svg>", "</svg>"])


def steps_svg(paths: Sequence[Sequence[float]]) -> str:
    """Draw the score of each run after each of its steps, the best run in color."""
    order = sorted(range(len(paths)), key=lambda k: (-round(max(paths[k]), 9), k))[:_MAX_CURVES]
    longest = max(1, *(len(paths[k]) - 1 for k in order))
    axes = _Axes((0, longest), score_range([paths[k] for k in order]))
    curves = [
        axes.curve(list(enumerate(paths[k])), "run" if rank else "best")
        for rank, k in reversed(list(enumerate(order)))
    ]
    label = f"Score after each step of {len(order)} runs; the best is {max(paths[order[0]]):.6g}."
    return axes.chart(label, "step", curves, whole=True)


def time_svg(ends: Sequence[float], seconds: Sequence[float]) -> str:
    """Draw the best score so far against the computing time; `ends` are the scores of the runs."""
    clock = np.cumsum(seconds)
    best = np.maximum.accumulate(ends)
    steps = [(clock[0], best[0])]
    for k in range(1, len(ends)):
        steps += [(clock[k], best[k - 1]), (clock[k], best[k])]
    axes = _Axes((0, float(clock[-1]) or 1.0), _widened(min(ends), max(ends), 0.06))
    dots = [
        '<circle class="end" cx="{:.1f}" cy="{:.1f}" r="2.5"/>'.format(*axes.at(x, y))
        for x, y in zip(clock, ends, strict=True)
    ]
    label = f"Best score so far against computing time, {len(ends)} runs."
    return axes.chart(
        label, "seconds of computing", [*dots, axes.curve(steps, "best")], whole=False
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers in an interval."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(k * step, digits) for k in range(first, last + 1)]
