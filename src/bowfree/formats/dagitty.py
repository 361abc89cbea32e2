"""The model text of dagitty (the web tool and the R package).

::

    dag {
    x [pos="0,0"]
    y
    z
    x -> y
    y <-> z
    }

Statements need no separator; ``;`` is allowed. Edges may be chained (``x -> y <- z``) and a group
in braces stands for each of its members (``{x w} -> y``). Variables that dagitty marks as latent
are refused unless asked for: a bidirected edge is how a mixed graph says "hidden common cause",
and dropping a node silently would change the model. The types ``pdag`` and ``pag`` leave
directions open and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from bowfree.errors import GraphError
from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, quoted, refuse, unquoted
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import number, short_repr, truncate

_TOKENS = re.compile(
    r"""
    (?P<skip>\s+|//[^\r\n]*|/\*.*?\*/)
  | (?P<string>"(?:[^"\\]+|\\.)*+")
  | (?P<open>/\*|")
  | (?P<mark><->|->|<-|--|@->|<-@|@-@|@--|--@|[{}\[\];,=])
  | (?P<word>(?:[^\s"{}\[\];,=<>@-]|-(?![->@]))+)
    """,
    re.VERBOSE | re.DOTALL,
)
_EDGES = ("->", "<-", "<->")
_OPEN_EDGES = ("--", "@->", "<-@", "@-@", "@--", "--@")
_LATENT = ("latent", "unobserved", "l", "u")
_BARE = re.compile(r"[A-Za-z_.][A-Za-z_.0-9]*")

Positions = dict[str, tuple[float, float]]


def to_dagitty(
    graph: GraphLike, *, positions: Mapping[str, tuple[float, float]] | None = None
) -> str:
    """Write a graph as dagitty's model text.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.
    positions : mapping from node to (x, y), optional
        Where dagitty draws the nodes; y points down.

    Raises
    ------
    GraphError
        If a position is given for a node that the graph does not have.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_dagitty(bf.parse("x -> y <-> z"), positions={"x": (0, 1)}), end="")
    dag {
    x [pos="0,1"]
    y
    z
    x -> y
    y <-> z
    }
    """
    graph = graph_of(graph)
    if not isinstance(positions, Mapping | None):
        raise GraphError(
            f"positions is {short_repr(positions)}; give a mapping from names to (x, y)"
        )
    positions = dict(positions or {})
    for name in positions:
        if name not in graph.nodes:
            raise GraphError(
                f"a position is given for {short_repr(name)}, which is no node of the graph"
            )
    lines = ["dag {"]
    for name in graph.nodes:
        place = ""
        if name in positions:
            try:
                x, y = map(float, positions[name])
            except (TypeError, ValueError, OverflowError):
                where = short_repr(positions[name])
                raise GraphError(
                    f"the position of {short_repr(name)} is {where}, not (x, y)"
                ) from None
            place = f' [pos="{x:.17g},{y:.17g}"]'
        lines.append(_quoted(name) + place)
    lines += [f"{_quoted(a)} -> {_quoted(b)}" for a, b in graph.directed]
    lines += [f"{_quoted(a)} <-> {_quoted(b)}" for a, b in graph.bidirected]
    return "\n".join([*lines, "}"]) + "\n"


def from_dagitty(text: str, *, latent: Literal["refuse", "keep"] = "refuse") -> MixedGraph:
    """Read a graph from dagitty's model text; the inverse of `to_dagitty`.

    Parameters
    ----------
    text : str
        ``dag { ... }`` or ``mag { ... }``.
    latent : {"refuse", "keep"}
        What to do with a variable marked as latent: refuse, or keep it as a node; then
        ``graph.latent_projection`` can hide it.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or leaves a direction open.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_dagitty("dag { x -> y <-> z }") == bf.parse("x -> y <-> z")
    True
    """
    graph, _ = _read(text, latent)
    return graph


def dagitty_positions(text: str) -> Positions:
    """Read the positions of the nodes from dagitty's model text.

    Parameters
    ----------
    text : str
        ``dag { ... }`` or ``mag { ... }``.

    Returns
    -------
    dict from str to (float, float)
        For those nodes that have one.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.dagitty_positions('dag { x [pos="0,1.5"] x -> y }')
    {'x': (0.0, 1.5)}
    """
    _, positions = _read(text, "keep")
    return positions


def _read(text: str, latent: str) -> tuple[MixedGraph, Positions]:
    reader = TokenReader(text, _TOKENS, format="dagitty")
    builder = GraphBuilder("dagitty", text)
    positions: Positions = {}
    kind = reader.peek()
    if kind.text in ("pdag", "pag"):
        reader.fail(kind, "'dag' or 'mag' (a pdag or pag leaves directions open)")
    reader.expect("dag", "mag")
    if reader.peek().kind in ("word", "string"):  # the model's name
        reader.take()
    reader.expect("{")
    while not reader.accept("}"):
        if not reader.accept(";"):
            _read_statement(reader, builder, positions, latent)
    if reader.peek().kind != "end":
        reader.fail(reader.peek(), "the end of the text after '}'")
    return builder.build(), positions


def _read_statement(
    reader: TokenReader, builder: GraphBuilder, positions: Positions, latent: str
) -> None:
    start = reader.peek()
    left = _read_group(reader)
    if start.text != "{" and reader.accept("="):  # a setting of the picture: bb="0,0,1,1"
        reader.take_name()
        return
    for name in left:
        builder.node(unquoted(name))
    edges = 0
    while reader.peek().kind == "mark" and reader.peek().text in _EDGES + _OPEN_EDGES:
        mark = reader.take()
        if mark.text in _OPEN_EDGES:
            reader.fail(mark, "'->', '<-' or '<->' (this mark leaves a direction open)")
        right = _read_group(reader)
        builder.announce(len(left) * len(right), mark.line, mark.column)
        for a in left:
            for b in right:
                builder.edge(unquoted(a), mark.text, unquoted(b), mark.line, mark.column)
        left = right
        edges += 1
    for name, value in _read_attributes(reader):
        if edges == 0 and name.text == "pos":
            for node in left:
                positions[unquoted(node)] = _position(name, value)
        elif edges == 0 and name.text in _LATENT and latent == "refuse":
            refuse(
                "dagitty",
                name.line,
                name.column,
                f"variable {truncate(left[0].text)} is latent; read with latent='keep' and hide it "
                "with latent_projection, or use '<->'",
            )


def _read_group(reader: TokenReader) -> list[Token]:
    if not reader.accept("{"):
        return [reader.take_name()]
    names = []
    while not reader.accept("}"):
        names.append(reader.take_name())
        reader.accept(";", ",")
    if not names:
        reader.fail(reader.peek(), "a name in the braces before it")
    return names


def _read_attributes(reader: TokenReader) -> list[tuple[Token, Token | None]]:
    """Read ``[name, name=value, ...]`` if there is such a list."""
    attributes: list[tuple[Token, Token | None]] = []
    if reader.accept("["):
        while not reader.accept("]"):
            name = reader.take_name()
            attributes.append((name, reader.take_name() if reader.accept("=") else None))
            reader.accept(",", ";")
    return attributes


def _position(name: Token, value: Token | None) -> tuple[float, float]:
    try:
        x, y = (number(part) for part in unquoted(value or name).split(","))
    except ValueError:
        at = value or name
        refuse("dagitty", at.line, at.column, f'expected pos="x,y", found {truncate(at.text)}')
    return x, y


def _quoted(name: str) -> str:
    # The words of the language itself are only safe in quotes.
    if _BARE.fullmatch(name) and name not in ("dag", "mag", "pdag", "pag"):
        return name
    return quoted(name)
