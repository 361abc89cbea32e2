"""Graphs as text and as JSON: ``parse("a -> b <-> c, d")`` and back.

The language has nodes, three edges and two separators::

    x -> y <-> z      # a chain is three nodes and two edges
    z <- w, v         # commas and line ends separate; a lone name is a node without edges here
    "blood pressure" -> y

Nodes are numbered in order of first appearance. A name with characters outside the plain ones is
written as a JSON string, in double quotes. ``str(g)`` writes chains where edges meet, and names a
node by itself only where its place in the order needs it: ``parse(str(g)) == g`` for every graph,
with cycles and bows too. The function itself is in :mod:`bowfree.graph.text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bowfree.errors import ParseError
from bowfree.graph.encodings import members
from bowfree.text_reading import check_nodes, check_text, line_and_column, short_repr, truncate
from bowfree.validation import check_count

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


FORMAT = "bowfree.MixedGraph"
VERSION = 1

# Hyphens are welcome inside a name (IL-6) but only one at a time and not at its ends, so that
# `a->b` is an edge and `a--b` is an error instead of a node called "a--b".
_PLAIN = r'[^\s,#"<>-]+(?:-[^\s,#"<>-]+)*'
_TOKEN = re.compile(rf"(?P<edge><->|->|<-)|(?P<name>{_PLAIN})|(?P<comma>,)|(?P<line>\r\n?|\n)")
_BLANK = re.compile(r"(?:[^\S\r\n]+|#[^\r\n]*)*+")
_MIRROR = {"->": "<-", "<-": "->", "<->": "<->"}

Edge = tuple[str, str, str]
"""An edge as (a, mark, b) with mark ``"->"`` or ``"<->"``."""


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
    from bowfree.graph.mixed_graph import MixedGraph  # which uses this module

    nodes, edges = read_statements(text)
    return MixedGraph(
        nodes,
        directed=[(a, b) for a, mark, b in edges if mark == "->"],
        bidirected=[(a, b) for a, mark, b in edges if mark == "<->"],
    )


def read_statements(text: str) -> tuple[list[str], list[Edge]]:
    """Return the names in order of first appearance, and the edges; ``<-`` comes back turned."""
    check_text(text, "a graph")
    names: dict[str, None] = {}
    edges: list[Edge] = []
    left: str | None = None  # the name that the current chain has reached
    mark: str | None = None  # the edge that waits for its right end
    comma = True  # nothing stands before this point that a comma could end
    position = 0
    while True:
        start = _BLANK.match(text, position).end()  # type: ignore[union-attr]  # matches ""
        kind, value, position = _next_token(text, start)
        if kind == "name":
            if left is not None and mark is None:
                raise _error(
                    text,
                    start,
                    f"expected an edge or a comma before {truncate(quote(value))}; a name of several "
                    "words stands in double quotes",
                )
            if mark is not None and left is not None:
                if left == value:
                    raise _error(
                        text, start, f"self-loop at {truncate(quote(value))}; drop this edge"
                    )
                edges.append((value, "->", left) if mark == "<-" else (left, mark, value))
            names[value] = None
            left, mark, comma = value, None, False
        elif kind == "edge":
            if left is None or mark is not None:
                raise _error(text, start, f"expected a node name before {value!r}")
            mark = value
        else:
            if mark is not None:
                raise _error(text, start, f"expected a node name after {mark!r}")
            if kind == "comma" and comma:
                raise _error(text, start, "expected a node name before the comma")
            left = None
            comma = True
            if kind == "end":
                check_nodes(len(names), "text")
                return list(names), edges


def _next_token(text: str, start: int) -> tuple[str, str, int]:
    """Return kind, value and end of the token that starts here."""
    if start == len(text):
        return "end", "", start
    if text[start] == '"':
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise _error(text, error.pos, f"bad quoted name: {error.msg}") from None
        if not value:
            raise _error(text, start, "empty name; every node needs one")
        return "name", value, end
    token = _TOKEN.match(text, start)
    if token is None:
        raise _error(
            text,
            start,
            f"unexpected {text[start]!r}; edges are '->', '<-' and '<->', and a name with odd "
            'characters stands in double quotes: "odd name"',
        )
    return str(token.lastgroup), token.group(), token.end()


def _error(text: str, position: int, message: str) -> ParseError:
    line, column = line_and_column(text, position)
    return ParseError(message, line=line, column=column)


def quote(name: str) -> str:
    """Write one name so that :func:`parse` reads it back."""
    return name if re.fullmatch(_PLAIN, name) else json.dumps(name, ensure_ascii=False)


def to_text(graph: MixedGraph) -> str:
    """Write a graph so that :func:`parse` gives it back, with its node order.

    Node by node, the edges to earlier nodes are written, joined to chains where they meet. A node
    without such an edge is held back: it needs no mention of its own if the next edge starts there.
    """
    nodes = graph.nodes
    chains: list[list[str]] = []
    last = -1  # the node at which the last chain ends; -1: it cannot be continued
    held: list[int] = []
    for v in range(len(nodes)):
        backward = _marks_to_earlier(graph, v)
        if not backward:
            held.append(v)
            continue
        # First the edge that continues what was last written.
        joint = held[-1] if held else last
        for u, mark in sorted(backward, key=lambda edge: edge[0] != joint):
            if held:
                chains += [[quote(nodes[w])] for w in held[: -1 if held[-1] == u else None]]
                held, last = [], -1
            if last == u:
                chains[-1] += [mark, quote(nodes[v])]
                last = v
            elif last == v:
                chains[-1] += [_MIRROR[mark], quote(nodes[u])]
                last = u
            else:
                chains.append([quote(nodes[u]), mark, quote(nodes[v])])
                last = v
    chains += [[quote(nodes[w])] for w in held]
    return ", ".join(" ".join(chain) for chain in chains)


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


def to_dict(graph: MixedGraph) -> dict[str, Any]:
    """Return the graph as plain lists and strings, ready for JSON.

    Examples
    --------
    >>> import bowfree as bf
    >>> d = bf.parse("a -> b <-> c").to_dict()
    >>> d["nodes"], d["directed"], d["bidirected"]
    (['a', 'b', 'c'], [['a', 'b']], [['b', 'c']])
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "nodes": list(graph.nodes),
        "directed": [list(edge) for edge in graph.directed],
        "bidirected": [list(edge) for edge in graph.bidirected],
    }


def to_json(graph: MixedGraph, *, indent: int | None = None) -> str:
    """Return the graph as a JSON text; :meth:`MixedGraph.from_json` reads it back.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("a -> b <-> c")
    >>> bf.MixedGraph.from_json(g.to_json()) == g
    True
    """
    wide = None if indent is None else check_count("indent", indent, 0)
    return json.dumps(to_dict(graph), indent=wide, ensure_ascii=False)


def dict_parts(data: Any) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """Check the dictionary of :func:`to_dict` and return nodes, directed and bidirected edges."""
    if not isinstance(data, Mapping):
        raise ParseError(f"a graph is stored as a JSON object, not as {type(data).__name__}")
    if data.get("format") != FORMAT:
        raise ParseError(f"'format' is {short_repr(data.get('format'))}, expected {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ParseError(
            f"'version' is {short_repr(data.get('version'))}; this release of bowfree reads version "
            f"{VERSION}"
        )
    for key in ("nodes", "directed", "bidirected"):
        if not isinstance(data.get(key), list | tuple):
            raise ParseError(f"{key!r} is missing or not a list: {short_repr(data.get(key))}")
    check_nodes(len(data["nodes"]), "json")
    return list(data["nodes"]), _pairs(data["directed"]), _pairs(data["bidirected"])


def _pairs(edges: Iterable[Any]) -> list[tuple[str, str]]:
    result = []
    for edge in edges:
        if not (isinstance(edge, list | tuple) and len(edge) == 2):
            raise ParseError(f"an edge is stored as a list of two names, not as {short_repr(edge)}")
        result.append((edge[0], edge[1]))
    return result
