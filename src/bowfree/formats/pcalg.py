"""The matrix ``amat.pag`` of the R package pcalg, for graphs without circle marks.

``M[a, b]`` is the mark at ``b`` of the edge between ``a`` and ``b``: 0 no edge, 1 circle, 2
arrowhead, 3 tail. So ``a -> b`` is ``M[a, b] = 2, M[b, a] = 3`` and ``a <-> b`` is 2 on both
sides. A circle says "unknown": such a matrix is refused, as one graph cannot stand for it. (The
matrix ``amat.cpdag`` of the same package is another format.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.formats.matrix import MatrixFormat
from bowfree.formats.partial import PAGLike, pag_of
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph

FORMAT = MatrixFormat(
    "pcalg",
    {
        (0.0, 0.0): frozenset[str](),
        (2.0, 3.0): frozenset(["->"]),
        (3.0, 2.0): frozenset(["<-"]),
        (2.0, 2.0): frozenset(["<->"]),
    },
    hint="an edge is 2 with 3 (a -> b) or 2 with 2 (a <-> b); a circle (1) leaves the mark "
    "open, so choose one graph of the class first",
)


def to_pcalg(graph: PAGLike) -> npt.NDArray[np.int64]:
    """Write a graph as pcalg's ``amat.pag``.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Without bows: the matrix has room for one edge per pair. A class is written as its PAG:
        the marks in which all graphs with the same m-separations agree.

    Returns
    -------
    ndarray of int64, shape (d, d)
        ``[a, b]`` is the mark at b: 1 circle, 2 arrowhead, 3 tail. a -> b: ``[a, b] = 2``,
        ``[b, a] = 3``.

    Raises
    ------
    GraphError
        If two nodes are joined by more than one edge.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_pcalg(g).tolist()
    [[0, 2, 0], [3, 0, 2], [0, 2, 0]]
    >>> bf.formats.to_pcalg(bf.equivalence_class(g)).tolist()
    [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    """
    pag = pag_of(graph)
    if pag is not None:
        return np.array(pag.marks, dtype=np.int64).reshape(len(pag.nodes), len(pag.nodes))
    return FORMAT.encode(graph_of(graph))


def from_pcalg(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from pcalg's ``amat.pag``; the inverse of `to_pcalg`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[a, b]`` is the mark at b: 2 arrowhead, 3 tail, 0 no edge.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is no code of the format, or a circle.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_pcalg([[0, 2], [3, 0]], nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    return FORMAT.decode(matrix, nodes)
