"""Distances between a learned graph and the true one, or between two partial ancestral graphs.

An edge is described by the marks at its two ends: an arrowhead, a tail, or a circle, which is not a
statement. A pair of nodes with a bow has two marks at one of its ends.
"""

from __future__ import annotations

from bowfree.errors import GraphError
from bowfree.graph.mixed_graph import GraphLike, graph_of
from bowfree.graph.pag import PAG
from bowfree.parameters import public
from bowfree.results.rows import Row

_MARKS = {"<": "arrowhead", ">": "arrowhead", "-": "tail", "o": "circle"}
End = tuple[str, str, str]
"""The mark of an edge, at the first of two nodes."""


def _ends(graph: GraphLike | PAG) -> set[End]:
    """Return (a, b, mark) for both ends of all edges."""
    edges = graph.edges if isinstance(graph, PAG) else graph_of(graph).edges
    ends = set()
    for a, mark, b in edges:
        left, right = ("-", ">") if mark == "->" else (mark[0], mark[-1])
        ends |= {(a, b, _MARKS[left]), (b, a, _MARKS[right])}
    return ends


def _compared(estimate: GraphLike | PAG, truth: GraphLike | PAG) -> tuple[set[End], set[End]]:
    nodes = [
        set(each.nodes if isinstance(each, PAG) else graph_of(each).nodes)
        for each in (estimate, truth)
    ]
    if nodes[0] != nodes[1]:
        raise GraphError(
            f"the graphs have different nodes: {sorted(nodes[0] ^ nodes[1])} in one of them only"
        )
    return _ends(estimate), _ends(truth)


@public
def shd(estimate: GraphLike | PAG, truth: GraphLike | PAG) -> int:
    """Return the structural Hamming distance: the number of pairs of nodes whose edges differ.

    Parameters
    ----------
    estimate, truth : MixedGraph, PAG, or a result that has a graph
        Graphs on the same nodes. Pass the PAGs ``graph.pag()`` to compare what m-separations
        determine.

    Examples
    --------
    >>> import bowfree as bf
    >>> g, h = bf.parse("x -> y <-> z"), bf.parse("x <- y, z, y <-> z")
    >>> bf.graph.shd(g, h), bf.graph.shd(bf.parse("x -> y").pag(), bf.parse("x <- y").pag())
    (1, 0)
    """
    return len(
        {frozenset(end[:2]) for end in set.symmetric_difference(*_compared(estimate, truth))}
    )


@public
def accuracy(estimate: GraphLike | PAG, truth: GraphLike | PAG) -> Row:
    """Return precision, recall and F of adjacencies, arrowheads and tails.

    Parameters
    ----------
    estimate, truth : MixedGraph, PAG, or a result that has a graph
        Graphs on the same nodes.

    Returns
    -------
    Row
        ``adjacency_precision``, ``adjacency_recall``, ``adjacency_f``, the same of ``arrowhead``
        and ``tail``, and ``shd``. Precision is the fraction of the estimated adjacencies or marks
        that are true, recall the fraction of the true ones that are estimated, F their harmonic
        mean; NaN if there are none. A circle is neither arrowhead nor tail.

    Examples
    --------
    >>> import bowfree as bf
    >>> found = bf.graph.accuracy(bf.parse("x -> y -> z, w"), bf.parse("x -> y <-> z -> w"))
    >>> found.adjacency_precision, round(found.adjacency_recall, 2), found.arrowhead_precision
    (1.0, 0.67, 1.0)
    >>> found.arrowhead_recall, found.tail_precision, found.shd
    (0.5, 0.5, 2)
    """
    both = _compared(estimate, truth)
    values: dict[str, float] = {}
    for what in ("adjacency", "arrowhead", "tail"):
        one, two = (
            {
                frozenset(end[:2]) if what == "adjacency" else end
                for end in ends
                if what in ("adjacency", end[2])
            }
            for ends in both
        )
        hits = len(one & two)
        values[f"{what}_precision"] = hits / len(one) if one else float("nan")
        values[f"{what}_recall"] = hits / len(two) if two else float("nan")
        values[f"{what}_f"] = 2 * hits / (len(one) + len(two)) if one or two else float("nan")
    return Row(**values, shd=shd(estimate, truth))
