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
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph

FORMAT = MatrixFormat(
    "pywhy",
    additive_codes(20.0),
    hint="use 1 on one side (i -> j) or 20 on both (i <-> j); circles (2) and undirected edges "
    "(10) are no edges of a mixed graph",
)


def to_pywhy(graph: GraphLike) -> npt.NDArray[np.int64]:
    """Write a graph as the array of pywhy-graphs: as :func:`to_ggm`, with 20 in place of 100.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.to_pywhy(bf.parse("x -> y <-> z")).tolist()
    [[0, 1, 0], [0, 0, 20], [0, 20, 0]]
    """
    return FORMAT.encode(graph)


def from_pywhy(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the array of pywhy-graphs: as :func:`from_ggm`, with 20 in place of 100.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_pywhy([[0, 20], [20, 0]], nodes=["x", "y"]) == bf.parse("x <-> y")
    True
    """
    return FORMAT.decode(matrix, nodes)
