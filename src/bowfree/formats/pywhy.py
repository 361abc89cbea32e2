"""The array of pywhy-graphs (``pywhy_graphs.export.graph_to_numpy``).

``M[i, j] = 1`` is ``i -> j``; ``M[i, j] = M[j, i] = 20`` is ``i <-> j``. Codes add up, so a bow
``i -> j`` with ``i <-> j`` is 21 and 20. Undirected edges (10) and circles (2) are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.formats.matrix import MatrixFormat, additive_codes
from bowfree.graph.given import GraphLike
from bowfree.graph.mixed_graph import MixedGraph

__all__ = ["from_pywhy", "to_pywhy"]

FORMAT = MatrixFormat(
    "pywhy",
    additive_codes(20.0),
    hint="use 1 on one side (i -> j) or 20 on both (i <-> j); circles (2) and undirected edges "
    "(10) are no edges of a mixed graph",
)


def to_pywhy(graph: GraphLike) -> npt.NDArray[np.int64]:
    """Write a graph as the array of pywhy-graphs.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Rows and columns follow ``graph.nodes``.

    Returns
    -------
    ndarray of int64, shape (d, d)
        ``[i, j] = 1``: i -> j; 20 on both sides: i <-> j.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_pywhy(g).tolist()
    [[0, 1, 0], [0, 0, 20], [0, 20, 0]]
    """
    return FORMAT.encode(graph)


def from_pywhy(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the array of pywhy-graphs; the inverse of `to_pywhy`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j] = 1``: i -> j; 20 on both sides: i <-> j.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is no code of the format; nothing is guessed.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_pywhy([[0, 1], [0, 0]], nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    return FORMAT.decode(matrix, nodes)
