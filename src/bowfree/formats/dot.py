"""The DOT language of Graphviz and the model text of dagitty, as far as mixed graphs need them.

::

    digraph {                        dag {
      "x"; "y"; "z";                   x y z
      "x" -> "y";                      x -> y
      "y" -> "z" [dir=both];           y <-> z
    }                                }

Both are lists of nodes, settings and chains of edges, with attributes in brackets. A group in
braces stands for each of its members (``{x w} -> y``).

- DOT: a bidirected edge has ``dir=both``, and ``dir=back`` reverses an edge. Undirected graphs,
  ``dir=none``, defaults for ``dir`` and other arrowheads would make the direction a guess: they are
  errors, and so are subgraphs and ports.
- dagitty: a latent variable is an error unless ``latent="keep"``, because a mixed graph represents
  hidden common causes by bidirected edges, and dropping the node would change the model. The types
  ``pdag`` and ``pag`` have open directions and are errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Literal

from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, quoted, unquoted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import public
from bowfree.text_reading import truncate
from bowfree.validation import check_choice


def _tokens(comment: str, marks: str, word: str) -> re.Pattern[str]:
    pattern = rf"""
        (?P<skip>\s+|{comment}|/\*.*?\*/)
      | (?P<string>"(?:[^"\\]+|\\.)*+")
      | (?P<open>/\*|")
      | (?P<mark>{marks}|[{{}}\[\];,=])
      | (?P<word>{word})"""
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


_LETTER = r"A-Za-z_\x80-\U0010ffff"
_DOT = _tokens(
    r"(?://|\#)[^\r\n]*",
    "->|--|:",
    rf"[{_LETTER}][{_LETTER}0-9]*|-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)",
)
_DAGITTY = _tokens(
    r"//[^\r\n]*",
    "<->|->|<-|--|@->|<-@|@-@|@--|--@",
    r'(?:[^\s"{}\[\];,=<>@-]|-(?![->@]))+',
)
_DIRECTIONS = {"forward": "->", "back": "<-", "both": "<->"}
_EDGES = ("->", "<-", "<->")
_OPEN_EDGES = ("--", "@->", "<-@", "@-@", "@--", "--@")
_LATENT = ("latent", "unobserved", "l", "u")
_BARE = re.compile(r"(?!(?:dag|mag|pdag|pag)$)[A-Za-z_.][A-Za-z_.0-9]*")


def to_dot(graph: MixedGraph) -> str:
    """Write a graph in the DOT language."""
    both = " [dir=both, style=dashed, color=red]"
    lines = [f"  {quoted(name)};" for name in graph.nodes]
    lines += [
        f"  {quoted(a)} -> {quoted(b)}{both if mark == '<->' else ''};"
        for a, mark, b in graph.edges
    ]
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


def to_dagitty(graph: MixedGraph) -> str:
    """Write a graph as dagitty's model text."""
    names = {name: name if _BARE.fullmatch(name) else quoted(name) for name in graph.nodes}
    edges = [f"{names[a]} {mark} {names[b]}" for a, mark, b in graph.edges]
    return "\n".join(["dag {", *names.values(), *edges, "}"]) + "\n"


def from_dot(text: str) -> MixedGraph:
    """Read a graph from the DOT language: one ``digraph``."""
    reader = TokenReader(text, _DOT, format="dot")
    reader.accept("strict")
    reader.expect("digraph")
    return _read_body(reader, text, _read_dot)


@public
def from_dagitty(text: str, *, latent: Literal["refuse", "keep"] = "refuse") -> MixedGraph:
    """Read a graph from dagitty's model text.

    Parameters
    ----------
    text : str
        ``dag { ... }`` or ``mag { ... }``.
    latent : {"refuse", "keep"}
        Whether a latent variable is an error or becomes a node, which ``graph.latent_projection``
        can hide.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or a direction is open.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_dagitty("dag { x -> y <-> z }") == bf.parse("x -> y <-> z")
    True
    """
    check_choice("latent", latent, ("refuse", "keep"))
    reader = TokenReader(text, _DAGITTY, format="dagitty")
    if reader.peek().text in ("pdag", "pag"):
        reader.fail(reader.peek(), "'dag' or 'mag' (a pdag or pag has open directions)")
    reader.expect("dag", "mag")
    return _read_body(reader, text, partial(_read_dagitty, latent=latent))


def _read_body(
    reader: TokenReader, text: str, statement: Callable[[TokenReader, GraphBuilder], None]
) -> MixedGraph:
    """Read an optional name and the statements in braces."""
    builder = GraphBuilder(reader.format, text)
    if reader.peek().kind in ("word", "string"):
        reader.take()
    reader.expect("{")
    while not reader.accept("}"):
        if not reader.accept(";"):
            statement(reader, builder)
    reader.expect_end()
    return builder.build()


def _read_dot(reader: TokenReader, builder: GraphBuilder) -> None:
    first = reader.peek()
    arrowheads = ("arrowhead", "arrowtail")
    if reader.accept("graph", "node", "edge"):
        attributes = _read_attributes(reader)
        for name in ("dir", *arrowheads):
            if first.text == "edge" and name in attributes:
                reader.refuse(
                    attributes[name],
                    f"a default for {name!r} hides the direction of edges; write it at each edge",
                )
        return
    if first.kind == "word" and first.text == "subgraph":
        reader.fail(first, "a node or an edge (subgraphs are not supported)")
    groups, edges, attributes = _read_chain(reader, builder)
    direction = unquoted(attributes["dir"]) if "dir" in attributes else "forward"
    if edges and direction not in _DIRECTIONS:
        reader.fail(attributes["dir"], "dir=forward, dir=back or dir=both")
    for name in arrowheads:
        if edges and name in attributes and unquoted(attributes[name]) != "normal":
            reader.fail(attributes[name], f"{name}=normal (other marks are ambiguous)")
    for (left, right), at in zip(pairwise(groups), edges, strict=True):
        _add_edges(builder, left, _DIRECTIONS[direction], right, at)


def _read_dagitty(reader: TokenReader, builder: GraphBuilder, *, latent: str) -> None:
    groups, edges, attributes = _read_chain(reader, builder)
    for (left, right), at in zip(pairwise(groups), edges, strict=True):
        if at.text in _OPEN_EDGES:
            reader.fail(at, "'->', '<-' or '<->' (this mark has an open direction)")
        _add_edges(builder, left, at.text, right, at)
    hidden = [token for name, token in attributes.items() if name in _LATENT]
    if hidden and not edges and latent == "refuse":
        reader.refuse(
            hidden[0],
            f"variable {truncate(groups[0][0])} is latent; read with latent='keep' and hide it with "
            "latent_projection, or use '<->'",
        )


def _read_chain(
    reader: TokenReader, builder: GraphBuilder
) -> tuple[list[list[str]], list[Token], dict[str, Token]]:
    """Read a node, a setting or a chain: groups of nodes, edges between them, and attributes."""
    grouped = reader.peek().text == "{"
    groups, edges = [_read_group(reader)], []
    if not grouped and reader.accept("="):  # a setting: rankdir=LR, bb="0,0,1,1"
        reader.take_name()
        return [], [], {}
    while edge := reader.accept(*_EDGES, *(_OPEN_EDGES if reader.format == "dagitty" else ())):
        edges.append(edge)
        groups.append(_read_group(reader))
    for name in (name for group in groups for name in group):
        builder.node(name)
    return groups, edges, _read_attributes(reader)


def _read_group(reader: TokenReader) -> list[str]:
    if not reader.accept("{"):
        return [unquoted(reader.take_name())]
    names = []
    while not reader.accept("}"):
        names.append(unquoted(reader.take_name()))
        reader.accept(";", ",")
    if not names:
        reader.fail(reader.peek(), "a name in the braces before it")
    return names


def _read_attributes(reader: TokenReader) -> dict[str, Token]:
    """Read lists ``[name=value, name, ...]``; the last value of a name counts."""
    attributes: dict[str, Token] = {}
    while reader.accept("["):
        while not reader.accept("]"):
            name = reader.take_name()
            attributes[unquoted(name)] = reader.take_name() if reader.accept("=") else name
            reader.accept(",", ";")
    return attributes


def _add_edges(
    builder: GraphBuilder, left: list[str], mark: str, right: list[str], at: Token
) -> None:
    builder.reserve(len(left) * len(right), at)
    for a in left:
        for b in right:
            builder.edge(a, mark, b, at)
