"""The graph text of Tetrad.

::

    Graph Nodes:
    X1;X2;X3

    Graph Edges:
    1. X1 --> X2
    2. X2 <-> X3

Names are separated by ``;`` (in older files by ``,``). Edges with a circle (``o->``, ``o-o``) or
without arrowheads (``---``) belong to PAGs and are errors when a graph is read. Tetrad's edge
properties (``dd``, ``pd``, ``nl``, ``pl``) and its sections on attributes and ambiguous
triples are ignored.
"""

from __future__ import annotations

import re

from bowfree.errors import GraphError
from bowfree.formats.tokens import START, GraphBuilder, Token, refuse
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pag import CIRCLE, HEAD, PAG, TAIL
from bowfree.text_reading import check_text, short_repr, split_lines, truncate

_NAME = re.compile(r"(?:^|(?<=[;,]))[^;,]*")
_EDGE = re.compile(r"\s*[0-9]+\.\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+(?:dd|pd|nl|pl))*\s*")
_MARK = re.compile("[<o-]-[>o-]")
_MARKS = {"-->": "->", "<--": "<-", "<->": "<->"}
_CODES = {"o": CIRCLE, "<": HEAD, ">": HEAD, "-": TAIL}
_SECTIONS = ("Graph Nodes:", "Graph Edges:")
_OTHER_SECTIONS = re.compile(
    r"(Graph|Node|Edge)[\w ]*Attributes?:|Ambiguous triples|Underline triples|Dotted underline"
)


def to_tetrad(graph: MixedGraph | PAG) -> str:
    """Write a graph or a PAG as Tetrad's text."""
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


def from_tetrad(text: str) -> MixedGraph:
    """Read a graph from Tetrad's text; open directions are errors."""
    nodes, edges = _read(text)
    builder = GraphBuilder("tetrad", text)
    for name in nodes:
        builder.node(name)
    for a, mark, b in edges:
        if mark.text not in _MARKS:
            open_mark = f"edge mark {short_repr(mark.text)} leaves a direction open"
            refuse(
                "tetrad", mark, f"{open_mark}; read the PAG with read_pag, or use '-->' or '<->'"
            )
        builder.edge(a.text, _MARKS[mark.text], b.text, a)
    return builder.build()


def pag_from_tetrad(text: str) -> PAG:
    """Read a PAG from Tetrad's text."""
    nodes, edges = _read(text)
    index = {name: i for i, name in enumerate(nodes)}
    marks = [[0] * len(nodes) for _ in nodes]
    for a, mark, b in edges:
        i, j = index[a.text], index[b.text]
        if i == j or marks[i][j]:
            edge = f"{truncate(a.text)} {mark.text} {truncate(b.text)}"
            refuse("tetrad", a, f"{edge}: a pair of different nodes has one edge in a PAG")
        marks[j][i], marks[i][j] = _CODES[mark.text[0]], _CODES[mark.text[2]]
    return PAG(tuple(nodes), tuple(map(tuple, marks)))


def _read(text: str) -> tuple[dict[str, None], list[tuple[Token, Token, Token]]]:
    """Return the nodes, and the edges as tokens (a, mark, b)."""
    nodes: dict[str, None] = {}
    edges = []
    section, seen, last = "", set(), START
    for number, line in enumerate(split_lines(check_text(text, "tetrad")), start=1):
        content = line.strip()
        token = Token("line", content, number, len(line) - len(line.lstrip()) + 1)
        if not content:
            continue
        last = token._replace(column=1)
        if content in _SECTIONS:
            if content in seen:
                refuse("tetrad", token, f"there are two sections {content!r}")
            section = content
            seen.add(content)
        elif _OTHER_SECTIONS.match(content):
            section = "other"
        elif section == "Graph Nodes:":
            for found in _NAME.finditer(re.sub(r"[;,]\s*$", "", line)):
                name = found[0].strip()
                problem = "" if name else "a node name is empty"
                if re.search(r"\s", name):
                    problem = f"node name {short_repr(name)} has a space; separate by ';'"
                elif name in nodes:
                    problem = f"node {short_repr(name)} is listed twice; rename one"
                if problem:
                    refuse("tetrad", Token("name", name, number, found.start() + 1), problem)
                nodes[name] = None
        elif section == "Graph Edges:":
            edge = _EDGE.fullmatch(line)
            if edge is None:
                refuse("tetrad", token, f"expected '1. a --> b', found {short_repr(content)}")
            a, mark, b = (Token("word", edge[k], number, edge.start(k) + 1) for k in (1, 2, 3))
            if not _MARK.fullmatch(mark.text):
                problem = f"edge mark {short_repr(mark.text)} is unknown; use '-->' or '<->'"
                refuse("tetrad", mark, problem)
            for node in (a, b):
                if node.text not in nodes:
                    problem = f"node {short_repr(node.text)} is not in the list of nodes"
                    refuse("tetrad", node, problem)
            edges.append((a, mark, b))
        elif section != "other":
            refuse("tetrad", token, f"expected 'Graph Nodes:', found {short_repr(content)}")
    for heading in _SECTIONS:
        if heading not in seen:
            refuse("tetrad", last, f"the text ends without a section {heading!r}")
    return nodes, edges
