"""Score curves of a search for the report, and the range of scores to show.

The scores of starting graphs differ far more than those of the final ones. A chart of all scores
would be one steep line, so charts show only :func:`score_range`. The template of the page draws them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 510.0, 10.0, 210.0  # of the area between the axes
_MAX_CURVES = 150  # more curves cannot be distinguished

Point = tuple[float, float]


class Chart(NamedTuple):
    """A chart of 520 x 250 pixels: positions of ticks with their texts, and of points."""

    label: str
    x_label: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    curves: list[tuple[str, list[Point]]]  # class in the style sheet, and points
    dots: list[Point]


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


def _chart(
    labels: tuple[str, str],
    x: Point,
    y: Point,
    curves: Iterable[tuple[str, Iterable[Point]]],
    dots: Iterable[Point] = (),
) -> Chart:
    """Return a chart with the ranges x and y of its axes."""

    def at(point: Point) -> Point:
        return (
            round(_LEFT + (point[0] - x[0]) / (x[1] - x[0]) * (_RIGHT - _LEFT), 1),
            round(_BOTTOM - (point[1] - y[0]) / (y[1] - y[0]) * (_BOTTOM - _TOP), 1),
        )

    return Chart(
        *labels,
        [(at((value, y[0]))[0], f"{value:.10g}") for value in _ticks(*x)],
        [(at((x[0], value))[1], f"{value:.10g}") for value in _ticks(*y)],
        [(kind, list(map(at, points))) for kind, points in curves],
        list(map(at, dots)),
    )


def steps_chart(paths: Sequence[Sequence[float]]) -> Chart:
    """Draw the score of each run after each of its steps, the best run in color."""
    order = sorted(range(len(paths)), key=lambda k: (-round(max(paths[k]), 9), k))[:_MAX_CURVES]
    longest = max(1, *(len(paths[k]) - 1 for k in order))
    label = f"Score after each step of {len(order)} runs; the best is {max(paths[order[0]]):.6g}."
    chart = _chart(
        (label, "step"),
        (0, longest),
        score_range([paths[k] for k in order]),
        [("run" if k != order[0] else "best", enumerate(paths[k])) for k in reversed(order)],
    )
    return chart._replace(x_ticks=[tick for tick in chart.x_ticks if "." not in tick[1]])


def time_chart(ends: Sequence[float], seconds: Sequence[float]) -> Chart:
    """Draw the best score so far against the computing time; `ends` are the scores of the runs."""
    clock = np.cumsum(seconds).tolist()
    best = np.maximum.accumulate(ends).tolist()
    steps = [(clock[0], best[0])]
    for k in range(1, len(ends)):
        steps += [(clock[k], best[k - 1]), (clock[k], best[k])]
    return _chart(
        (f"Best score so far against computing time, {len(ends)} runs.", "seconds of computing"),
        (0, clock[-1] or 1.0),
        _widened(min(ends), max(ends), 0.06),
        [("best", steps)],
        zip(clock, ends, strict=True),
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
