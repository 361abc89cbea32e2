"""Where the numbers on the edges of a picture go: on their line, clear of boxes and each other.

Every label may slide along its edge and, if it must, step aside. Labels are placed one after the
other, those with the shortest edges first, since they have the least choice. Used by
:mod:`bowfree.visualization.plot` and by the report; :mod:`bowfree.visualization.routing` has the curves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bowfree.visualization.layout import Layout
from bowfree.visualization.routing import Curve, points_on

Floats = npt.NDArray[np.float64]

_ALONG = np.array([0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74, 0.2, 0.8])
_ASIDE = np.array([0.0, 9.0, -9.0, 15.0, -15.0, 22.0, -22.0, 30.0, -30.0])
_GAP = 1.5  # between labels, and between a label and a box
_HEAD = 11.0  # of an edge near its end belongs to the arrowhead
# What a place costs. Two texts on one another cannot be read, an edge under a text can: the halo
# of the text hides a short piece of it.
_OVERLAP, _CROSSING, _HEAD_HIDDEN, _AWAY, _OFF_CENTRE = 1000.0, 4.0, 60.0, 0.9, 8.0


def place_labels(curves: Sequence[Curve], layout: Layout, sizes: Floats) -> Floats:
    """Find a place for one label on each curve.

    Parameters
    ----------
    curves : sequence of Curve
        The edges, from :func:`bowfree.visualization.routing.edge_curves`.
    layout : Layout
        The boxes that they go around.
    sizes : ndarray of shape (m, 2)
        Width and height of each curve's label.

    Returns
    -------
    ndarray of shape (m, 2)
        The centers of the labels.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.routing import edge_curves
    >>> from bowfree.visualization.edge_labels import place_labels
    >>> from bowfree.visualization.layout import layered_layout
    >>> g = bf.parse("a -> b")
    >>> layout = layered_layout(g)
    >>> place_labels(edge_curves(g, layout), layout, [[20.0, 10.0]]).round().tolist()
    [[18.0, 59.0]]
    """
    sizes = np.asarray(sizes, dtype=np.float64).reshape(-1, 2)
    lines = [points_on(curve.points, np.linspace(0, 1, 41)) for curve in curves]
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    on_lines = np.vstack([np.zeros((0, 2)), *lines])
    owner = np.repeat(np.arange(len(lines)), 41)
    heads = _heads(curves)
    centers = np.zeros((len(curves), 2))
    placed: list[int] = []
    for e in np.argsort(lengths, kind="stable").tolist():
        spots, cost = _candidates(curves[e])
        cost += _OVERLAP * _overlap(spots, sizes[e], layout.centers, layout.sizes)
        cost += _OVERLAP * _overlap(spots, sizes[e], centers[placed], sizes[placed])
        cost += _CROSSING * _inside(spots, sizes[e], on_lines[owner != e])
        cost += _HEAD_HIDDEN * _inside(spots, sizes[e], heads)
        centers[e] = spots[cost.argmin()]
        placed.append(e)
    return centers


def _heads(curves: Sequence[Curve]) -> Floats:
    """Points on the arrowheads and circles at both ends of the curves."""
    points = [np.zeros((0, 2))]
    for curve in curves:
        start, control, end = curve.points
        for tip in (start, end) if curve.edge[1] == "<->" else (end,):
            back = (control - tip) / max(float(np.hypot(*(control - tip))), 1e-9)
            points.append(tip + np.outer([0.2 * _HEAD, 0.6 * _HEAD, _HEAD], back))
    return np.vstack(points)


def _candidates(curve: Curve) -> tuple[Floats, Floats]:
    """Places for a label, and what each costs by itself."""
    on_line = points_on(curve.points, _ALONG)
    start, control, end = curve.points
    tangent = np.outer(1 - _ALONG, control - start) + np.outer(_ALONG, end - control)
    normal = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    normal /= np.maximum(np.hypot(*normal.T), 1e-9)[:, None]
    spots = on_line[:, None] + _ASIDE[None, :, None] * normal[:, None]
    cost = _OFF_CENTRE * np.abs(_ALONG - 0.5)[:, None] + _AWAY * np.abs(_ASIDE)
    return spots.reshape(-1, 2), cost.ravel()


def _overlap(spots: Floats, size: Floats, centers: Floats, sizes: Floats) -> Floats:
    """How deep a label at each spot lies in the given boxes, summed."""
    reach = (size + sizes) / 2 + _GAP
    depth = (reach - np.abs(spots[:, None] - centers)).min(axis=2)
    total: Floats = np.maximum(depth, 0).sum(axis=1)
    return total


def _inside(spots: Floats, size: Floats, points: Floats) -> Floats:
    """Count the points under a label at each spot."""
    reach = size / 2 + 1
    low, high = spots.min(axis=0) - reach, spots.max(axis=0) + reach
    points = points[((points > low) & (points < high)).all(axis=1)]
    under = (np.abs(spots[:, None] - points) < reach).all(axis=2)
    count: Floats = under.sum(axis=1).astype(np.float64)
    return count
