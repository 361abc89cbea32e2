"""Graphs of the R package SEMID, as R code that makes them.

``L[i, j] = 1`` is ``i -> j`` and ``O[i, j] = O[j, i] = 1`` is ``i <-> j``. SEMID's graphs have
numbers for nodes; the names stay in a vector beside them.
"""

from __future__ import annotations

import json

from bowfree.graph.graph_like import GraphLike, graph_of


def to_semid(graph: GraphLike) -> str:
    """Write a graph as R code that makes a ``MixedGraph`` of SEMID.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Returns
    -------
    str
        R code; ``semID(graph)`` is then SEMID's counterpart of ``graph.identified()`` here.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_semid(bf.parse("x -> y <-> z")), end="")
    library(SEMID)
    nodes <- c("x", "y", "z")
    L <- matrix(c(
      0, 1, 0,
      0, 0, 0,
      0, 0, 0), nrow = 3, byrow = TRUE)
    O <- matrix(c(
      0, 0, 0,
      0, 0, 1,
      0, 1, 0), nrow = 3, byrow = TRUE)
    graph <- MixedGraph(L, O)
    """
    graph = graph_of(graph)
    d = len(graph)
    L, O = ([[0] * d for _ in range(d)] for _ in "LO")
    for a, b in graph.directed:
        L[graph._node(a)][graph._node(b)] = 1
    for a, b in graph.bidirected:
        i, j = graph._node(a), graph._node(b)
        O[i][j] = O[j][i] = 1
    # A string of JSON is one of R, too: the same quotes and escapes, line ends included.
    names = ", ".join(json.dumps(name, ensure_ascii=False) for name in graph.nodes)
    lines = ["library(SEMID)", f"nodes <- c({names})"]
    for name, matrix in (("L", L), ("O", O)):
        rows = ",\n".join("  " + ", ".join(map(str, row)) for row in matrix)
        lines.append(f"{name} <- matrix(c(\n{rows}), nrow = {d}, byrow = TRUE)")
    return "\n".join([*lines, "graph <- MixedGraph(L, O)"]) + "\n"
