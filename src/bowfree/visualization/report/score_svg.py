"""Score curves as SVG without colors: the page's style sheet gives them, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from bowfree.visualization.score_window import apart, climb_window

_WIDTH, _HEIGHT = 520.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 10.0, 10.0, 40.0
_SHOWN = 150  # more curves are not told apart, and fill the page


class _Plane:
    """From scores and steps (or seconds) to places in the picture."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = x, y

    def at(self, x: float, y: float) -> tuple[float, float]:
        share_x = (x - self.x[0]) / (self.x[1] - self.x[0])
        share_y = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            _LEFT + share_x * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - share_y * (_HEIGHT - _TOP - _BOTTOM),
        )

    def line(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in points)

    def axes(self, x_label: str, y_label: str, *, steps: bool = False) -> list[str]:
        def whole(value: float) -> bool:
            return not steps or value == round(value)

        lines = []
        for value in _ticks(*self.y):
            _, y = self.at(self.x[0], value)
            lines.append(
                f'<line class="grid" x1="{_LEFT:.0f}" x2="{_WIDTH - _RIGHT:.0f}" y1="{y:.1f}" '
                f'y2="{y:.1f}"/><text class="tick" x="{_LEFT - 6:.0f}" y="{y:.1f}" dy="0.32em" '
                f'text-anchor="end">{value:.10g}</text>'
            )
        for value in filter(whole, _ticks(*self.x)):
            x, _ = self.at(value, self.y[0])
            lines.append(
                f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16:.0f}" '
                f'text-anchor="middle">{value:.10g}</text>'
            )
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        lines.append(
            f'<text class="axis" x="{middle:.0f}" y="{_HEIGHT - 6:.0f}" text-anchor="middle">'
            f'{escape(x_label)}</text><text class="axis" transform="translate(12,'
            f'{(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_label)}</text>"
        )
        return lines


def steps_svg(paths: Sequence[Sequence[float]]) -> str:
    """Draw the score of every run after each of its steps, the best run in color.

    Parameters
    ----------
    paths : sequence of sequence of float
        Scores along the runs; the worst curves beyond 150 are left out.

    Examples
    --------
    >>> from bowfree.visualization.report.score_svg import steps_svg
    >>> steps_svg([[-3.0, -2.0], [-4.0, -2.5, -1.5]]).count("<polyline")
    2
    """
    # Equivalent ends differ by rounding: the first of the best is the best, on every machine.
    order = sorted(range(len(paths)), key=lambda k: (-round(max(paths[k]), 9), k))[:_SHOWN]
    top = max(paths[order[0]])
    longest = max(1, *(len(paths[k]) - 1 for k in order))
    plane = _Plane((0, longest), climb_window([paths[k] for k in order]))
    curves = []
    for rank, k in reversed(list(enumerate(order))):
        kind = "best" if rank == 0 else "run"
        points = plane.line(list(enumerate(paths[k])))
        curves.append(f'<polyline class="{kind}" points="{points}"/>')
    lines = [*plane.axes("step", "score", steps=True), *_clipped(curves)]
    return _figure(lines, f"Score against steps for {len(order)} runs; the best reaches {top:.6g}.")


def time_svg(ends: Sequence[float], seconds: Sequence[float]) -> str:
    """Draw the best score so far against the computing time of the runs, one after the other.

    Parameters
    ----------
    ends : sequence of float
        Best score of each run.
    seconds : sequence of float
        Time of each run.

    Examples
    --------
    >>> from bowfree.visualization.report.score_svg import time_svg
    >>> time_svg([-3.0, -2.0, -2.5], [0.1, 0.2, 0.1]).count("<circle")
    3
    """
    clock, best = 0.0, -math.inf
    steps: list[tuple[float, float]] = []
    dots: list[tuple[float, float]] = []
    for end, duration in zip(ends, seconds, strict=True):
        clock += duration
        if steps:
            steps.append((clock, best))
        best = max(best, end)
        steps.append((clock, best))
        dots.append((clock, end))
    plane = _Plane((0, clock or 1.0), _window(min(ends), max(ends)))
    lines = plane.axes("seconds of computing", "score")
    for x, y in dots:
        place = plane.at(x, y)
        lines.append(f'<circle class="end" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="2.5"/>')
    lines.append(f'<polyline class="best" points="{plane.line(steps)}"/>')
    return _figure(lines, f"Best score so far against time, over {len(ends)} runs.")


def _clipped(curves: Sequence[str]) -> list[str]:
    """Keep curves inside the axes: an inner picture shows nothing outside of itself."""
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    box = f"{_LEFT:.0f} {_TOP:.0f} {width:.0f} {height:.0f}"
    place = f'x="{_LEFT:.0f}" y="{_TOP:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return [f'<svg {place} viewBox="{box}" aria-hidden="true">', *curves, "</svg>"]


def _figure(lines: Sequence[str], label: str) -> str:
    clip = (
        f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" '
        f'aria-label="{escape(label)}">'
    )
    return "\n".join([clip, *lines, "</svg>"])


def _window(low: float, high: float) -> tuple[float, float]:
    room = 0.06 * (high - low) if apart(low, high) else 0.01 * max(1.0, abs(high))
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, about five of them, inside an interval."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(k * step, digits) for k in range(first, last + 1)]
