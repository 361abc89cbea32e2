"""The DOT language of Graphviz, as far as a mixed graph needs it.

::

    digraph {
      "x"; "y"; "z";
      "x" -> "y";
      "y" -> "z" [dir=both, style=dashed, color=red];
    }

A bidirected edge is an edge with ``dir=both``; style and color only make it look as in the
paper. ``dir=back`` turns an edge round. Chains (``a -> b -> c``), node and graph attributes are
read; what would make a direction a guess (undirected graphs, ``dir=none``, defaults for ``dir``,
arrowheads changed by hand) and subgraphs and ports are refused.
"""

from __future__ import annotations

import itertools
import re

from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, quoted, refuse, unquoted
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph

_TOKENS = re.compile(
    r"""
    (?P<skip>\s+|//[^\r\n]*|\#[^\r\n]*|/\*.*?\*/)
  | (?P<string>"(?:[^"\\]+|\\.)*+")
  | (?P<open>/\*|")
  | (?P<mark>->|--|[{}\[\];,=:])
  | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*
            |-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIONS = {"forward": "->", "back": "<-", "both": "<->"}


def to_dot(graph: GraphLike) -> str:
    """Write a graph in the DOT language.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_dot(bf.parse("x -> y, y <-> z")), end="")
    digraph {
      "x";
      "y";
      "z";
      "x" -> "y";
      "y" -> "z" [dir=both, style=dashed, color=red];
    }
    """
    graph = graph_of(graph)
    lines = [f"  {quoted(name)};" for name in graph.nodes]
    lines += [f"  {quoted(a)} -> {quoted(b)};" for a, b in graph.directed]
    lines += [
        f"  {quoted(a)} -> {quoted(b)} [dir=both, style=dashed, color=red];"
        for a, b in graph.bidirected
    ]
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


def from_dot(text: str) -> MixedGraph:
    """Read a graph from the DOT language; the inverse of `to_dot`.

    Parameters
    ----------
    text : str
        One ``digraph``.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or leaves a direction open.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_dot("digraph { x -> y; y -> z [dir=both] }") == bf.parse("x -> y <-> z")
    True
    """
    reader = TokenReader(text, _TOKENS, format="dot")
    builder = GraphBuilder("dot", text)
    reader.accept("strict")
    reader.expect("digraph")
    if reader.peek().kind in ("word", "string"):
        reader.take()
    reader.expect("{")
    while not reader.accept("}"):
        _read_statement(reader, builder)
        reader.accept(";")
    if reader.peek().kind != "end":
        reader.fail(reader.peek(), "the end of the text after '}'")
    return builder.build()


def _read_statement(reader: TokenReader, builder: GraphBuilder) -> None:
    first = reader.peek()
    if reader.accept("graph", "node", "edge"):
        attributes = _read_attributes(reader)
        if first.text == "edge":
            for name in ("dir", "arrowhead", "arrowtail"):
                if name in attributes:
                    token = attributes[name]
                    refuse(
                        "dot",
                        token.line,
                        token.column,
                        f"a default for {name!r} hides the edges' direction; write it at each edge",
                    )
        return
    if first.kind == "word" and first.text == "subgraph":
        reader.fail(first, "a node or an edge (subgraphs are not read)")
    chain = [reader.take_name()]
    if reader.accept("="):  # an attribute of the graph: rankdir = LR
        reader.take_name()
        return
    while reader.accept("->"):
        chain.append(reader.take_name())
    attributes = _read_attributes(reader)
    if len(chain) == 1:
        builder.node(unquoted(chain[0]))
        return
    mark = "->"
    if "dir" in attributes:
        token = attributes["dir"]
        direction = unquoted(token)
        if direction not in _DIRECTIONS:
            reader.fail(token, "dir=forward, dir=back or dir=both")
        mark = _DIRECTIONS[direction]
    for name in ("arrowhead", "arrowtail"):
        if name in attributes and unquoted(attributes[name]) != "normal":
            reader.fail(attributes[name], f"{name}=normal (other marks make the edge ambiguous)")
    for a, b in itertools.pairwise(chain):
        builder.edge(unquoted(a), mark, unquoted(b), a.line, a.column)


def _read_attributes(reader: TokenReader) -> dict[str, Token]:
    """Read any number of lists ``[name=value, ...]``; the last value of a name counts."""
    attributes: dict[str, Token] = {}
    while reader.accept("["):
        while not reader.accept("]"):
            name = reader.take_name()
            reader.expect("=")
            attributes[unquoted(name)] = reader.take_name()
            reader.accept(",", ";")
    return attributes
