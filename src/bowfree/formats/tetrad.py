"""The graph text of Tetrad.

::

    Graph Nodes:
    X1;X2;X3

    Graph Edges:
    1. X1 --> X2
    2. X2 <-> X3

Node names are separated by ``;`` (older files: ``,``). Edges with a circle (``o->``, ``o-o``) or
without arrowheads (``---``) leave a direction open and are refused. Tetrad's remarks behind an
edge (``dd``, ``pd``, ``nl``, ``pl``) and its sections on attributes and ambiguous triples say
nothing about the edges and are passed over.
"""

from __future__ import annotations

import re

from bowfree.errors import GraphError
from bowfree.formats.tokens import GraphBuilder, refuse
from bowfree.graph.mixed_graph import MixedGraph

__all__ = ["from_tetrad", "to_tetrad"]

_EDGE = re.compile(r"\s*(\d+)\.\s+(\S+)\s+(\S+)\s+(\S+)((?:\s+(?:dd|pd|nl|pl))*)\s*$")
_MARKS = {"-->": "->", "<--": "<-", "<->": "<->"}
_OTHER_SECTIONS = re.compile(
    r"(Graph|Node|Edge)[\w ]*Attributes?:|Ambiguous triples|Underline triples|Dotted underline"
)


def to_tetrad(graph: MixedGraph) -> str:
    """Write a graph as Tetrad's text.

    Parameters
    ----------
    graph : MixedGraph
        Any mixed graph whose names have neither spaces nor ``;`` or ``,``.

    Raises
    ------
    GraphError
        If a name cannot be written in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_tetrad(bf.parse("x -> y, y <-> z")), end="")
    Graph Nodes:
    x;y;z
    <BLANKLINE>
    Graph Edges:
    1. x --> y
    2. y <-> z
    """
    for name in graph.nodes:
        if not name or re.search(r"[\s;,]", name):
            raise GraphError(
                f"Tetrad's text cannot hold the node name {name!r}: no spaces, ';' or ','; "
                "rename it with relabel"
            )
    edges = [f"{a} --> {b}" for a, b in graph.directed]
    edges += [f"{a} <-> {b}" for a, b in graph.bidirected]
    lines = ["Graph Nodes:", ";".join(graph.nodes), "", "Graph Edges:"]
    lines += [f"{number}. {edge}" for number, edge in enumerate(edges, start=1)]
    return "\n".join(lines) + "\n"


def from_tetrad(text: str) -> MixedGraph:
    r"""Read a graph from Tetrad's text; the inverse of `to_tetrad`.

    Parameters
    ----------
    text : str
        With the sections ``Graph Nodes:`` and ``Graph Edges:``.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or leaves a direction open.

    Examples
    --------
    >>> import bowfree as bf
    >>> text = "Graph Nodes:\nx;y;z\n\nGraph Edges:\n1. x --> y\n2. y <-> z\n"
    >>> bf.formats.from_tetrad(text) == bf.parse("x -> y, y <-> z")
    True
    """
    builder = GraphBuilder("tetrad")
    section = ""
    seen: set[str] = set()
    last = 1
    for number, line in enumerate(text.splitlines(), start=1):
        last = number
        heading = line.strip()
        if not heading:
            continue
        column = len(line) - len(line.lstrip()) + 1
        if heading in ("Graph Nodes:", "Graph Edges:"):
            if heading in seen:
                refuse("tetrad", number, column, f"section {heading!r} is given twice")
            section = heading
            seen.add(heading)
        elif _OTHER_SECTIONS.match(heading):
            section = "other"
        elif section == "Graph Nodes:":
            _read_nodes(line, number, builder)
        elif section == "Graph Edges:":
            _read_edge(line, number, builder)
        elif section != "other":
            refuse("tetrad", number, column, f"expected 'Graph Nodes:', found {heading!r}")
    for heading in ("Graph Nodes:", "Graph Edges:"):
        if heading not in seen:
            refuse("tetrad", last, 1, f"the text ends without a section {heading!r}")
    return builder.build()


def _read_nodes(line: str, number: int, builder: GraphBuilder) -> None:
    for match in re.finditer(r"[^;,]*(?:[;,]|$)", line):
        name = match.group().rstrip(";,").strip()
        column = match.start() + 1
        if not name:
            if match.end() < len(line):
                refuse("tetrad", number, column, "a node name is empty")
            continue
        if re.search(r"\s", name):
            refuse("tetrad", number, column, f"node name {name!r} has a space; separate by ';'")
        if name in builder:
            refuse("tetrad", number, column, f"node {name!r} is named twice; rename one")
        builder.node(name)


def _read_edge(line: str, number: int, builder: GraphBuilder) -> None:
    match = _EDGE.match(line)
    if match is None:
        column = len(line) - len(line.lstrip()) + 1
        refuse("tetrad", number, column, f"expected '1. a --> b', found {line.strip()!r}")
    a, mark, b = match.group(2, 3, 4)
    if mark not in _MARKS:
        refuse(
            "tetrad",
            number,
            match.start(3) + 1,
            f"edge mark {mark!r} leaves a direction open or is unknown; use '-->' or '<->'",
        )
    for group, name in ((2, a), (4, b)):
        if name not in builder:
            refuse(
                "tetrad",
                number,
                match.start(group) + 1,
                f"node {name!r} is not in the list under 'Graph Nodes:'",
            )
    builder.edge(a, _MARKS[mark], b, number, match.start(2) + 1)
