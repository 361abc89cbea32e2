"""The model text of dagitty (the web tool and the R package).

::

    dag {
    x [pos="0,0"]
    y
    z
    x -> y
    y <-> z
    }

Statements need no separator; ``;`` is allowed. Edges can be chained (``x -> y <- z``), and a group
in braces stands for each of its members (``{x w} -> y``). A variable that is marked as latent is an
error unless ``latent="keep"``: a mixed graph represents hidden common causes by bidirected edges,
and dropping the node would change the model. The types ``pdag`` and ``pag`` have open directions
and are errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from bowfree.errors import GraphError
from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, quoted, unquoted
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.parameters import public
from bowfree.text_reading import number, short_repr, truncate
from bowfree.validation import check_choice

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
_BARE = re.compile(r"(?!(?:dag|mag|pdag|pag)$)[A-Za-z_.][A-Za-z_.0-9]*")

Positions = dict[str, tuple[float, float]]


@public
def to_dagitty(
    graph: GraphLike, *, positions: Mapping[str, tuple[float, float]] | None = None
) -> str:
    """Write a graph as dagitty's model text.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.
    positions : mapping from node to (x, y), optional
        Positions of nodes in dagitty's drawing; y points down.

    Raises
    ------
    GraphError
        If `positions` has a node that the graph does not have.

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
            f"positions is {short_repr(positions)}; pass a mapping from names to (x, y)"
        )
    lines = {name: _quoted(name) for name in graph.nodes}
    for name, position in (positions or {}).items():
        if name not in lines:
            raise GraphError(f"positions has {short_repr(name)}, which is not a node of the graph")
        try:
            x, y = map(float, position)
        except (TypeError, ValueError, OverflowError):
            where = short_repr(position)
            raise GraphError(f"the position of {short_repr(name)} is {where}, not (x, y)") from None
        lines[name] += f' [pos="{x:.17g},{y:.17g}"]'
    edges = [f"{_quoted(a)} {mark} {_quoted(b)}" for a, mark, b in graph.edges]
    return "\n".join(["dag {", *lines.values(), *edges, "}"]) + "\n"


@public
def from_dagitty(text: str, *, latent: Literal["refuse", "keep"] = "refuse") -> MixedGraph:
    """Read a graph from dagitty's model text; the inverse of `to_dagitty`.

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
    return _read(text, latent)[0]


@public
def dagitty_positions(text: str) -> Positions:
    """Read the positions of the nodes from dagitty's model text.

    Parameters
    ----------
    text : str
        ``dag { ... }`` or ``mag { ... }``.

    Returns
    -------
    dict from str to (float, float)
        Only nodes that have a position.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.dagitty_positions('dag { x [pos="0,1.5"] x -> y }')
    {'x': (0.0, 1.5)}
    """
    return _read(text, "keep")[1]


def _read(text: str, latent: str) -> tuple[MixedGraph, Positions]:
    reader = TokenReader(text, _TOKENS, format="dagitty")
    builder = GraphBuilder("dagitty", text)
    positions: Positions = {}
    if reader.peek().text in ("pdag", "pag"):
        reader.fail(reader.peek(), "'dag' or 'mag' (a pdag or pag has open directions)")
    reader.expect("dag", "mag")
    if reader.peek().kind in ("word", "string"):  # the name of the model
        reader.take()
    reader.expect("{")
    while not reader.accept("}"):
        if not reader.accept(";"):
            _read_statement(reader, builder, positions, latent)
    reader.expect_end()
    return builder.build(), positions


def _read_statement(
    reader: TokenReader, builder: GraphBuilder, positions: Positions, latent: str
) -> None:
    start = reader.peek()
    left = _read_group(reader)
    if start.text != "{" and reader.accept("="):  # a setting of the drawing: bb="0,0,1,1"
        reader.take_name()
        return
    for name in left:
        builder.node(unquoted(name))
    is_edge = False
    while reader.peek().kind == "mark" and reader.peek().text in _EDGES + _OPEN_EDGES:
        mark = reader.take()
        if mark.text in _OPEN_EDGES:
            reader.fail(mark, "'->', '<-' or '<->' (this mark has an open direction)")
        right = _read_group(reader)
        builder.reserve(len(left) * len(right), mark)
        for a in left:
            for b in right:
                builder.edge(unquoted(a), mark.text, unquoted(b), mark)
        left, is_edge = right, True
    for name, value in _read_attributes(reader):
        if is_edge:
            continue
        if name.text == "pos":
            positions |= dict.fromkeys(map(unquoted, left), _position(reader, value or name))
        elif name.text in _LATENT and latent == "refuse":
            reader.refuse(
                name,
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
    """Read an optional list ``[name, name=value, ...]``."""
    attributes: list[tuple[Token, Token | None]] = []
    if reader.accept("["):
        while not reader.accept("]"):
            name = reader.take_name()
            attributes.append((name, reader.take_name() if reader.accept("=") else None))
            reader.accept(",", ";")
    return attributes


def _position(reader: TokenReader, value: Token) -> tuple[float, float]:
    try:
        x, y = (number(part) for part in unquoted(value).split(","))
    except ValueError:
        reader.refuse(value, f'expected pos="x,y", found {truncate(value.text)}')
    return x, y


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)
