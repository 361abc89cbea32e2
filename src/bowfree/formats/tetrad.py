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
from bowfree.formats.partial import PAGLike, pag_of
from bowfree.formats.tokens import GraphBuilder, refuse
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import check_text, short_repr, split_lines

_NUMBER = re.compile(r"[0-9]+\.")
_REMARKS = {"dd", "pd", "nl", "pl"}
_MARKS = {"-->": "->", "<--": "<-", "<->": "<->"}
_OTHER_SECTIONS = re.compile(
    r"(Graph|Node|Edge)[\w ]*Attributes?:|Ambiguous triples|Underline triples|Dotted underline"
)


def to_tetrad(graph: PAGLike) -> str:
    """Write a graph as Tetrad's text.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Any mixed graph whose names have neither spaces nor ``;`` or ``,``. A class is written as
        its PAG, with ``o->`` and ``o-o``.

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
    pag = pag_of(graph)
    graph = graph_of(graph) if pag is None else pag
    for name in graph.nodes:
        if not name or re.search(r"[\s;,]", name):
            raise GraphError(
                f"Tetrad's text cannot hold the node name {short_repr(name)}: no spaces, ';' or ','; "
                "rename it with relabel"
            )
    edges = [f"{a} {'-->' if mark == '->' else mark} {b}" for a, mark, b in graph.edges]
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
    text = check_text(text, "tetrad")
    builder = GraphBuilder("tetrad", text)
    section = ""
    seen: set[str] = set()
    last = 1
    for number, line in enumerate(split_lines(text), start=1):
        heading = line.strip()
        if not heading:
            continue
        last = number
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
            refuse(
                "tetrad", number, column, f"expected 'Graph Nodes:', found {short_repr(heading)}"
            )
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
            refuse(
                "tetrad",
                number,
                column,
                f"node name {short_repr(name)} has a space; separate by ';'",
            )
        if name in builder:
            refuse("tetrad", number, column, f"node {short_repr(name)} is named twice; rename one")
        builder.node(name)


def _read_edge(line: str, number: int, builder: GraphBuilder) -> None:
    words = [(match.group(), match.start() + 1) for match in re.finditer(r"\S+", line)]
    if (
        len(words) < 4
        or not _NUMBER.fullmatch(words[0][0])
        or not {word for word, _ in words[4:]} <= _REMARKS
    ):
        found = short_repr(line.strip())
        refuse("tetrad", number, words[0][1], f"expected '1. a --> b', found {found}")
    _, (a, column), (mark, mark_column), (b, b_column) = words[:4]
    if mark not in _MARKS:
        refuse(
            "tetrad",
            number,
            mark_column,
            f"edge mark {short_repr(mark)} leaves a direction open or is unknown; use '-->' or '<->'",
        )
    for name, at in ((a, column), (b, b_column)):
        if name not in builder:
            refuse(
                "tetrad",
                number,
                at,
                f"node {short_repr(name)} is not in the list under 'Graph Nodes:'",
            )
    builder.edge(a, _MARKS[mark], b, number, column)
