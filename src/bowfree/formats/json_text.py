"""bowfree's own JSON, versioned.

::

    {"format": "bowfree.MixedGraph", "version": 1,
     "nodes": ["x", "y", "z"], "directed": [["x", "y"]], "bidirected": [["y", "z"]]}

A pair ``["x", "y"]`` under ``directed`` is ``x -> y``. The same text as `MixedGraph.to_json`,
here under the names that all formats have.
"""

from __future__ import annotations

from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph


def to_json(graph: GraphLike) -> str:
    """Write a graph as bowfree's JSON.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Examples
    --------
    >>> import json
    >>> import bowfree as bf
    >>> json.loads(bf.formats.to_json(bf.parse("x -> y")))["directed"]
    [['x', 'y']]
    """
    return graph_of(graph).to_json(indent=2) + "\n"


def from_json(text: str) -> MixedGraph:
    """Read a graph from bowfree's JSON; the inverse of `to_json`.

    Parameters
    ----------
    text : str
        The JSON object.

    Raises
    ------
    ParseError
        If the text is not JSON (with line and column), or not a graph in a version that is known.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.from_json(bf.formats.to_json(g)) == g
    True
    """
    return MixedGraph.from_json(text)
