"""The graph text of Tetrad.

::

    Graph Nodes:
    X1;X2;X3

    Graph Edges:
    1. X1 --> X2
    2. X2 <-> X3

Names are separated by ``;`` (in older files by ``,``). Edges with a circle (``o->``, ``o-o``) or
without arrowheads (``---``) have an open direction and are errors when a graph is read. Tetrad's
edge properties (``dd``, ``pd``, ``nl``, ``pl``) and its sections on attributes and ambiguous
triples are ignored.
"""

from __future__ import annotations

import re

from bowfree.errors import GraphError
from bowfree.formats.matrices import PAGLike, pag_of
from bowfree.formats.tokens import GraphBuilder, Token, refuse
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import public
from bowfree.text_reading import check_text, short_repr, split_lines

_NUMBER = re.compile(r"[0-9]+\.")
_PROPERTIES = {"dd", "pd", "nl", "pl"}
_MARKS = {"-->": "->", "<--": "<-", "<->": "<->"}
_SECTIONS = ("Graph Nodes:", "Graph Edges:")
_OTHER_SECTIONS = re.compile(
    r"(Graph|Node|Edge)[\w ]*Attributes?:|Ambiguous triples|Underline triples|Dotted underline"
)


@public
def to_tetrad(graph: PAGLike) -> str:
    """Write a graph as Tetrad's text.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Any mixed graph whose names have no spaces, ``;`` or ``,``. A class is written as its PAG,
        with ``o->`` and ``o-o``.

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
        if re.search(r"[\s;,]", name):
            raise GraphError(
                f"Tetrad does not support the node name {short_repr(name)} with spaces, ';' or "
                "','; rename it with relabel"
            )
    lines = ["Graph Nodes:", ";".join(graph.nodes), "", "Graph Edges:"]
    for k, (a, mark, b) in enumerate(graph.edges, start=1):
        lines.append(f"{k}. {a} {'-->' if mark == '->' else mark} {b}")
    return "\n".join(lines) + "\n"


@public
def from_tetrad(text: str) -> MixedGraph:
    r"""Read a graph from Tetrad's text; the inverse of `to_tetrad`.

    Parameters
    ----------
    text : str
        Text with the sections ``Graph Nodes:`` and ``Graph Edges:``.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or a direction is open.

    Examples
    --------
    >>> import bowfree as bf
    >>> text = "Graph Nodes:\nx;y;z\n\nGraph Edges:\n1. x --> y\n2. y <-> z\n"
    >>> bf.formats.from_tetrad(text) == bf.parse("x -> y, y <-> z")
    True
    """
    builder = GraphBuilder("tetrad", check_text(text, "tetrad"))
    section = ""
    seen: set[str] = set()
    last = Token("line", "", 1, 1)
    for number, line in enumerate(split_lines(text), start=1):
        content = line.strip()
        if not content:
            continue
        token = Token("line", content, number, len(line) - len(line.lstrip()) + 1)
        last = token._replace(column=1)
        if content in _SECTIONS:
            if content in seen:
                refuse("tetrad", token, f"there are two sections {content!r}")
            section = content
            seen.add(content)
        elif _OTHER_SECTIONS.match(content):
            section = "other"
        elif section == "Graph Nodes:":
            _read_nodes(line, number, builder)
        elif section == "Graph Edges:":
            _read_edge(line, token, builder)
        elif section != "other":
            refuse("tetrad", token, f"expected 'Graph Nodes:', found {short_repr(content)}")
    for heading in _SECTIONS:
        if heading not in seen:
            refuse("tetrad", last, f"the text ends without a section {heading!r}")
    return builder.build()


def _read_nodes(line: str, number: int, builder: GraphBuilder) -> None:
    for match in re.finditer(r"[^;,]*(?:[;,]|$)", line):
        name = match.group().rstrip(";,").strip()
        token = Token("name", name, number, match.start() + 1)
        if not name:
            if match.end() < len(line):
                refuse("tetrad", token, "a node name is empty")
            continue
        if re.search(r"\s", name):
            refuse("tetrad", token, f"node name {short_repr(name)} has a space; separate by ';'")
        if name in builder:
            refuse("tetrad", token, f"node {short_repr(name)} is listed twice; rename one")
        builder.node(name)


def _read_edge(line: str, at: Token, builder: GraphBuilder) -> None:
    words = [
        Token("word", match.group(), at.line, match.start() + 1)
        for match in re.finditer(r"\S+", line)
    ]
    if (
        len(words) < 4
        or not _NUMBER.fullmatch(words[0].text)
        or not {word.text for word in words[4:]} <= _PROPERTIES
    ):
        refuse("tetrad", at, f"expected '1. a --> b', found {short_repr(at.text)}")
    a, mark, b = words[1:4]
    if mark.text not in _MARKS:
        refuse(
            "tetrad",
            mark,
            f"edge mark {short_repr(mark.text)} is unknown or leaves a direction open; use '-->' "
            "or '<->'",
        )
    for node in (a, b):
        if node.text not in builder:
            name = short_repr(node.text)
            refuse("tetrad", node, f"node {name} is not in the list under 'Graph Nodes:'")
    builder.edge(a.text, _MARKS[mark.text], b.text, a)
