"""The matrix ``graph`` of causal-learn's ``GeneralGraph``.

``M[a, b]`` is the mark at ``a`` of the edge between ``a`` and ``b`` (note: at the *row*): -1
tail, 1 arrowhead. So ``i -> j`` is ``M[j, i] = 1, M[i, j] = -1`` and ``i <-> j`` is 1 on both
sides. A bow has codes of its own: ``i -> j`` with ``i <-> j`` is ``M[j, i] = 5`` (two
arrowheads), ``M[i, j] = 4`` (tail and arrowhead). A circle (2) says "unknown" and is refused.
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
    "causal-learn",
    {
        (0.0, 0.0): frozenset[str](),
        (-1.0, 1.0): frozenset(["->"]),
        (1.0, -1.0): frozenset(["<-"]),
        (1.0, 1.0): frozenset(["<->"]),
        (4.0, 5.0): frozenset(["->", "<->"]),
        (5.0, 4.0): frozenset(["<-", "<->"]),
    },
    hint="an edge is -1 with 1 (tail, arrowhead), 1 with 1 (<->) or, for a bow, 4 with 5; a "
    "circle (2) leaves the mark open, so choose one graph of the class first",
)


def to_causal_learn(graph: PAGLike) -> npt.NDArray[np.int64]:
    """Write a graph as the matrix of causal-learn.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Rows and columns follow ``graph.nodes``. A class is written as its PAG: the marks in which
        all graphs with the same m-separations agree.

    Returns
    -------
    ndarray of int64, shape (d, d)
        ``[a, b]`` is the mark at a: -1 tail, 1 arrowhead, 2 circle. i -> j: ``[j, i] = 1, [i, j] =
        -1``.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_causal_learn(g).tolist()
    [[0, -1, 0], [1, 0, 1], [0, 1, 0]]
    >>> bf.formats.to_causal_learn(bf.equivalence_class(g)).tolist()
    [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    """
    pag = pag_of(graph)
    if pag is not None:
        codes = np.array([0, 2, 1, -1])  # of none, circle, arrowhead, tail
        marks = np.array(pag.marks, dtype=np.int64).reshape(len(pag.nodes), len(pag.nodes))
        return codes[marks.T]
    return FORMAT.encode(graph_of(graph))


def from_causal_learn(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the matrix of causal-learn; the inverse of `to_causal_learn`.

    For a ``GeneralGraph`` ``g`` of causal-learn this is
    ``from_causal_learn(g.graph, g.get_node_names())``.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[a, b]`` is the mark at a: -1 tail, 1 arrowhead, 0 no edge.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is no code of the format, or a circle.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_causal_learn([[0, -1], [1, 0]], nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    return FORMAT.decode(matrix, nodes)
