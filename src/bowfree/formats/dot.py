"""The DOT language of Graphviz, as far as mixed graphs need it.

::

    digraph {
      "x"; "y"; "z";
      "x" -> "y";
      "y" -> "z" [dir=both, style=dashed, color=red];
    }

A bidirected edge has ``dir=both``; style and color have no meaning. ``dir=back`` reverses an edge.
Chains (``a -> b -> c``), node and graph attributes are read. Undirected graphs, ``dir=none``,
defaults for ``dir`` and other arrowheads would make the direction a guess: they are errors, and so
are subgraphs and ports.
"""

from __future__ import annotations

import itertools
import re

from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, quoted, unquoted
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


def to_dot(graph: MixedGraph) -> str:
    """Write a graph in the DOT language."""
    lines = [f"  {quoted(name)};" for name in graph.nodes]
    lines += [f"  {quoted(a)} -> {quoted(b)};" for a, b in graph.directed]
    lines += [
        f"  {quoted(a)} -> {quoted(b)} [dir=both, style=dashed, color=red];"
        for a, b in graph.bidirected
    ]
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


def from_dot(text: str) -> MixedGraph:
    """Read a graph from the DOT language: one ``digraph``."""
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
    reader.expect_end()
    return builder.build()


def _read_statement(reader: TokenReader, builder: GraphBuilder) -> None:
    first = reader.peek()
    if reader.accept("graph", "node", "edge"):
        attributes = _read_attributes(reader)
        for name in ("dir", "arrowhead", "arrowtail"):
            if first.text == "edge" and name in attributes:
                reader.refuse(
                    attributes[name],
                    f"a default for {name!r} hides the direction of edges; write it at each edge",
                )
        return
    if first.kind == "word" and first.text == "subgraph":
        reader.fail(first, "a node or an edge (subgraphs are not supported)")
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
        direction = unquoted(attributes["dir"])
        if direction not in _DIRECTIONS:
            reader.fail(attributes["dir"], "dir=forward, dir=back or dir=both")
        mark = _DIRECTIONS[direction]
    for name in ("arrowhead", "arrowtail"):
        if name in attributes and unquoted(attributes[name]) != "normal":
            reader.fail(attributes[name], f"{name}=normal (other marks are ambiguous)")
    for a, b in itertools.pairwise(chain):
        builder.edge(unquoted(a), mark, unquoted(b), a)


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
