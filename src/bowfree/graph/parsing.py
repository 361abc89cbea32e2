"""``parse("a -> b <-> c, d")``: a graph from text.

The language, and the way back, are told in :mod:`bowfree.graph.text`. This function stands apart
because it makes a :class:`~bowfree.MixedGraph`, which itself needs the rest of that module.
"""

from __future__ import annotations

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import read_statements


def parse(text: str) -> MixedGraph:
    """Read a graph from text such as ``"a -> b <-> c, d"``.

    Parameters
    ----------
    text : str
        Chains of names joined by ``->``, ``<-`` or ``<->``, separated by commas or line ends.
        ``#`` starts a comment. Names with blanks or other odd characters stand in double quotes
        (a JSON string).

    Returns
    -------
    MixedGraph
        Its nodes are in order of first appearance.

    Raises
    ------
    ParseError
        With line and column, when the text is malformed or has a self-loop.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("a -> b <-> c, d")
    >>> g.nodes, g.directed, g.bidirected
    (('a', 'b', 'c', 'd'), (('a', 'b'),), (('b', 'c'),))
    >>> str(g)
    'a -> b <-> c, d'

    References
    ----------
    Section 2.1 of the paper (mixed graphs).
    """
    nodes, edges = read_statements(text)
    return MixedGraph(
        nodes,
        directed=[(a, b) for a, mark, b in edges if mark == "->"],
        bidirected=[(a, b) for a, mark, b in edges if mark == "<->"],
    )
