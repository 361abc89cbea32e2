"""The adjacency matrix of the R packages ggm and greedyBAPs.

``M[i, j] = 1`` is ``i -> j``; ``M[i, j] = M[j, i] = 100`` is ``i <-> j``. Codes add up, so a bow
``i -> j`` with ``i <-> j`` is 101 and 100. The line ``i - j`` of ggm (code 10) is no edge of a
mixed graph here and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.formats.matrix import MatrixFormat, additive_codes
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph

FORMAT = MatrixFormat(
    "ggm",
    additive_codes(100.0),
    hint="use 1 on one side (i -> j) or 100 on both (i <-> j); code 10, an undirected line, "
    "is no edge of a mixed graph",
)


def to_ggm(graph: GraphLike) -> npt.NDArray[np.int64]:
    """Write a graph as the matrix of ggm and greedyBAPs.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Rows and columns follow ``graph.nodes``.

    Returns
    -------
    ndarray of int64, shape (d, d)
        ``[i, j] = 1``: i -> j; 100 on both sides: i <-> j.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_ggm(g).tolist()
    [[0, 1, 0], [0, 0, 100], [0, 100, 0]]
    """
    return FORMAT.encode(graph)


def from_ggm(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the matrix of ggm and greedyBAPs; the inverse of `to_ggm`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j] = 1``: i -> j; 100 on both sides: i <-> j.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is no code of the format; nothing is guessed.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_ggm([[0, 1], [0, 0]], nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    return FORMAT.decode(matrix, nodes)
