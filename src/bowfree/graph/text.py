"""Graphs as text and as JSON: ``parse("a -> b <-> c, isolated: d")`` and its inverse ``str(graph)``.

The language::

    x -> y <-> z             # a chain: three nodes and two edges
    z <- w, v                # commas and line ends separate; v is a node
    "blood pressure" -> y    # a name with special characters is a JSON string
    isolated: u, t           # optional: nodes without edges
    nodes: v, w, x, y, z     # optional: the order of the nodes

``str(graph)`` joins edges to chains where possible, and writes the order only if necessary:
``parse(str(g)) == g`` for every graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bowfree.errors import ParseError
from bowfree.graph.encodings import members
from bowfree.parameters import public
from bowfree.text_reading import check_nodes, check_text, line_and_column, short_repr, truncate
from bowfree.validation import check_count

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


FORMAT = "bowfree.MixedGraph"
VERSION = 1

# A name may contain single hyphens (IL-6), but not at its ends: `a->b` is an edge, and `a--b` is an
# error instead of a node "a--b".
_PLAIN = r'[^\s,#"<>-]+(?:-[^\s,#"<>-]+)*'
_PLAIN_NAME = re.compile(_PLAIN)
_TOKEN = re.compile(
    r"(?:[^\S\r\n]+|#[^\r\n]*)*+"  # blanks and comments
    rf'(?:(?P<name>{_PLAIN})|(?P<edge><->|->|<-)|(?P<comma>,)|(?P<line>\r\n?|\n)|(?P<end>\Z)|(?P<quoted>")|)'
)
_MIRROR = {"->": "<-", "<-": "->", "<->": "<->"}
_ISOLATED, _NODES = _LISTS = ("isolated:", "nodes:")

Edge = tuple[str, str, str]
"""An edge as (a, mark, b) with mark ``"->"`` or ``"<->"``."""


@public
def parse(text: str) -> MixedGraph:
    """Read a graph from text such as ``"a -> b <-> c, d"``.

    Parameters
    ----------
    text : str
        Chains of names joined by ``->``, ``<-`` or ``<->``, separated by commas or line ends. ``#``
        starts a comment. Names with spaces or other special characters are written in double quotes
        (as JSON strings). Nodes without edges are written by themselves, or after ``isolated:``.

    Returns
    -------
    MixedGraph
        Its nodes are ordered by first appearance, unless the text ends with their order, such as
        ``nodes: c, a, b``.

    Raises
    ------
    ParseError
        With line and column, if the text is malformed or has a self-loop.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("a -> b <-> c, d")
    >>> g.nodes, g.directed, g.bidirected
    (('a', 'b', 'c', 'd'), (('a', 'b'),), (('b', 'c'),))
    >>> str(g)
    'a -> b <-> c, isolated: d'
    >>> bf.parse("a -> b, nodes: c, b, a").nodes
    ('c', 'b', 'a')
    """
    from bowfree.graph.mixed_graph import MixedGraph  # which imports this module

    nodes, edges = read_statements(text)
    return MixedGraph(
        nodes,
        directed=[(a, b) for a, mark, b in edges if mark == "->"],
        bidirected=[(a, b) for a, mark, b in edges if mark == "<->"],
    )


def read_statements(text: str) -> tuple[list[str], list[Edge]]:
    """Return the names of the nodes in order, and the edges; ``b <- a`` is returned as a -> b."""
    check_text(text, "a graph")
    names: dict[str, None] = {}
    lists: dict[str, dict[str, int]] = {_ISOLATED: {}, _NODES: {}}  # names with positions
    edges: list[Edge] = []
    left: str | None = None  # the last name of the current chain
    mark: str | None = None  # an edge without its right end
    comma = True  # whether a comma would have nothing before it
    listing = ""  # the list that the position is in
    position = 0
    while True:
        kind, value, start, position = _next_token(text, position)
        if kind == "name":
            if value in _LISTS and text[start] != '"' and left is None:
                listing, comma = value, True
                continue
            if left is not None and mark is None:
                raise _error(
                    text,
                    start,
                    f"expected an edge or a comma before {truncate(quote(value))}; write a name "
                    "with spaces in double quotes",
                )
            if mark is not None and left is not None:
                if left == value:
                    raise _error(
                        text, start, f"self-loop at {truncate(quote(value))}; drop this edge"
                    )
                edges.append((value, "->", left) if mark == "<-" else (left, mark, value))
            names[value] = None
            if listing:
                lists[listing][value] = start
            left, mark, comma = value, None, False
        elif kind == "edge":
            if left is None or mark is not None:
                raise _error(text, start, f"expected a node name before {value!r}")
            if listing:
                raise _error(
                    text,
                    start,
                    f"expected a comma or a line end, found {value!r}: the "
                    f"list after {listing!r} contains names only",
                )
            mark = value
        else:
            if mark is not None:
                raise _error(text, start, f"expected a node name after {mark!r}")
            if kind == "comma" and comma:
                raise _error(text, start, "expected a node name before the comma")
            left = None
            comma = True
            listing = listing if kind == "comma" else ""
            if kind == "end":
                break
    check_nodes(len(names), "text")
    for name in lists[_ISOLATED].keys() & {end for a, _, b in edges for end in (a, b)}:
        raise _error(
            text,
            lists[_ISOLATED][name],
            f"{truncate(quote(name))} is in the list after {_ISOLATED!r} but has an edge; drop it "
            "from the list",
        )
    return list(lists[_NODES] | names), edges


def _next_token(text: str, position: int) -> tuple[str, str, int, int]:
    """Return kind, value, start and end of the next token."""
    token = _TOKEN.match(text, position)
    assert token is not None  # the pattern also matches nothing
    kind = token.lastgroup
    if kind is None:
        start = token.end()
        raise _error(
            text,
            start,
            f"unexpected {text[start]!r}; edges are '->', '<-' and '<->', and a name with special "
            'characters is written in double quotes: "special name"',
        )
    start = token.start(kind)
    if kind != "quoted":
        return kind, token[kind], start, token.end()
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _error(text, error.pos, f"bad quoted name: {error.msg}") from None
    if not value:
        raise _error(text, start, "empty name; every node needs a name")
    return "name", value, start, end


def _error(text: str, position: int, message: str) -> ParseError:
    line, column = line_and_column(text, position)
    return ParseError(message, line=line, column=column)


def quote(name: str) -> str:
    """Return a name as :func:`parse` reads it, in double quotes if necessary."""
    plain = _PLAIN_NAME.fullmatch(name) and name not in _LISTS
    return name if plain else json.dumps(name, ensure_ascii=False)


def quote_names(names: Iterable[str]) -> str:
    """Return names as a list that :func:`parse` reads."""
    return ", ".join(map(quote, names))


def quote_edge(a: str, mark: str, b: str) -> str:
    """Return an edge as text that :func:`parse` reads."""
    return f"{quote(a)} {mark} {quote(b)}"


def to_text(graph: MixedGraph) -> str:
    """Write a graph as text that :func:`parse` reads back, with the same order of nodes."""
    parts, order, isolated = _chains(graph)
    if order + isolated != list(range(len(graph))):
        parts.append(f"{_NODES} {quote_names(graph.nodes)}")
    return ", ".join(parts)


def describe(graph: MixedGraph) -> str:
    """Write a graph for display, without the order of the nodes."""
    text = ", ".join(_chains(graph)[0])
    return text if graph.n_edges else f"no edges; {text}"


def _chains(graph: MixedGraph) -> tuple[list[str], list[int], list[int]]:
    """Return the statements: chains and the list of isolated variables.

    Also return the other nodes in the order of first appearance, and the isolated ones.
    """
    names = [quote(name) for name in graph.nodes]
    chains: list[list[str]] = []
    order: list[int] = []  # nodes in the order of first appearance
    seen = 0
    last = -1  # the node at the end of the last chain
    waiting = -1  # the last node without edges to earlier nodes
    masks = zip(graph._parents, graph._spouses, graph._children(), strict=True)
    isolated = [v for v, (p, s, c) in enumerate(masks) if not p | s | c]
    for v in range(len(names)):
        edges = _marks_to_earlier(graph, v)
        if not edges:
            waiting = v if v not in isolated else waiting
            continue
        # Start with the edge that keeps the order of the nodes or continues the last chain.
        # (There are edges, so a node waits.)
        joint = last if seen >> waiting & 1 else waiting
        if len(edges) > 1:
            edges.sort(key=lambda edge: edge[0] != joint)
        for u, mark in edges:
            for w in (u, v):
                if not seen >> w & 1:
                    seen |= 1 << w
                    order.append(w)
            if last == v:
                chains[-1] += [_MIRROR[mark], names[u]]
                last = u
                continue
            if last == u:
                chains[-1] += [mark, names[v]]
            else:
                chains.append([names[u], mark, names[v]])
            last = v
    statements = [" ".join(chain) for chain in chains]
    if isolated:
        statements.append(f"{_ISOLATED} {', '.join(names[v] for v in isolated)}")
    return statements, order, isolated


def _marks_to_earlier(graph: MixedGraph, v: int) -> list[tuple[int, str]]:
    """Return (u, mark) for all edges between v and nodes u before it, ascending in u."""
    earlier = (1 << v) - 1
    parents, spouses = graph._parents[v] & earlier, graph._spouses[v] & earlier
    children = graph._children()[v] & earlier
    result = []
    for u in members(parents | spouses | children):
        if parents >> u & 1:
            result.append((u, "->"))
        if children >> u & 1:
            result.append((u, "<-"))
        if spouses >> u & 1:
            result.append((u, "<->"))
    return result


def to_dict(self: MixedGraph) -> dict[str, Any]:
    """Return the graph as lists and strings, ready for JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "nodes": list(self.nodes),
        "directed": [list(edge) for edge in self.directed],
        "bidirected": [list(edge) for edge in self.bidirected],
    }


@public
def to_json(self: MixedGraph, *, indent: int | None = None) -> str:
    """Return the graph as JSON; :meth:`MixedGraph.from_json` is the inverse.

    Parameters
    ----------
    indent : int, optional
        Spaces of indentation. By default everything is on one line.
    """
    spaces = None if indent is None else check_count("indent", indent, 0)
    return json.dumps(to_dict(self), indent=spaces, ensure_ascii=False)


def check_dict(data: Any) -> None:
    """Raise a ParseError unless an object has the keys of :func:`to_dict`."""
    if not isinstance(data, Mapping):
        raise ParseError(f"a graph is stored as a JSON object, not as {type(data).__name__}")
    if data.get("format") != FORMAT:
        raise ParseError(f"'format' is {short_repr(data.get('format'))}, expected {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ParseError(
            f"'version' is {short_repr(data.get('version'))}; this release of bowfree reads "
            f"version {VERSION}"
        )
    for key in ("nodes", "directed", "bidirected"):
        if not isinstance(data.get(key), list | tuple):
            raise ParseError(f"{key!r} is missing or not a list: {short_repr(data.get(key))}")
    check_nodes(len(data["nodes"]), "json")
