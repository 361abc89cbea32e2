"""The adjacency matrix of the Python package lingam.

``B[i, j]`` is the effect of ``j`` on ``i``, so a non-zero entry is ``j -> i``: the same direction
as bowfree's own ``B``, and the opposite of ggm's matrix. A pair with a hidden common cause is NaN
on both sides (``RCD``; also ``BottomUpParceLiNGAM`` where it finds no order). There is no room for
a bow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import GraphError
from bowfree.formats.matrix import CellError, named_square
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.linear_sem import real_array
from bowfree.text_reading import short_repr


def to_lingam(graph: GraphLike, *, B: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
    """Write a graph as the adjacency matrix of lingam.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Without bows: NaN leaves no room for an effect.
    B : array_like, shape (d, d), optional
        Effects to write at the directed edges, ``B[i, j]`` of j on i; by default 1. An effect of
        exactly zero cannot be told from a missing edge and is refused.

    Returns
    -------
    ndarray of float64, shape (d, d)
        ``[i, j]`` non-zero: j -> i; NaN on both sides: i <-> j.

    Raises
    ------
    GraphError
        If the graph has a bow, or an edge the weight zero.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_lingam(g).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, nan], [0.0, nan, 0.0]]
    """
    graph = graph_of(graph)
    d = len(graph.nodes)
    try:
        weights = np.ones((d, d)) if B is None else real_array(B)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"B must be a matrix of numbers, not {short_repr(B)}") from None
    if weights.shape != (d, d):
        raise GraphError(f"B has shape {weights.shape} but the graph has {d} nodes")
    index = {name: i for i, name in enumerate(graph.nodes)}
    matrix = np.zeros((d, d))
    for a, b in graph.directed:
        weight = weights[index[b], index[a]]
        if weight == 0 or not np.isfinite(weight):
            raise GraphError(
                f"the lingam matrix cannot hold the weight {weight:g} of {a} -> {b}: zero reads as "
                "no edge, NaN as <->; drop the edge or give another weight"
            )
        matrix[index[b], index[a]] = weight
    for a, b in graph.bidirected:
        i, j = index[a], index[b]
        if matrix[i, j] != 0 or matrix[j, i] != 0:
            raise GraphError(
                f"the lingam matrix has no code for a bow at ({a}, {b}); drop one of the two edges"
            )
        matrix[i, j] = matrix[j, i] = np.nan
    return matrix


def from_lingam(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the adjacency matrix of lingam; the inverse of `to_lingam`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j]`` non-zero: j -> i; NaN on both sides: i <-> j.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If NaN stands on one side of a pair only, or an entry is infinite.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_lingam([[0, 0], [0.7, 0]], nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    values, names = named_square(matrix, nodes, format="lingam")
    missing = np.isnan(values)
    directed: list[tuple[str, str]] = []
    bidirected: list[tuple[str, str]] = []
    for i, b in enumerate(names):
        for j, a in enumerate(names):
            entry = f"lingam: entry [{b}, {a}] = {values[i, j]:g}"
            if i == j and values[i, i] != 0:
                raise CellError(f"{entry} is on the diagonal; set it to 0", i, i)
            if np.isinf(values[i, j]):
                raise CellError(f"{entry} is no effect; use a finite number", i, j)
            if missing[i, j] != missing[j, i]:
                raise CellError(
                    f"{entry} but [{a}, {b}] = {values[j, i]:g}; a pair with a hidden common cause "
                    "is NaN on both sides",
                    i,
                    j,
                )
            if missing[i, j]:
                if i < j:
                    bidirected.append((b, a))
            elif values[i, j] != 0:
                directed.append((a, b))
    return MixedGraph(names, directed, bidirected)
