"""The model syntax of the R package lavaan.

::

    y ~ x + z        # y is regressed on x and z: x -> y, z -> y
    x ~~ z           # their errors are correlated: x <-> z
    x ~~ x           # a variance; names a node
    x ~~ 0*y         # fixed to zero: no edge

Only what is written is read: lavaan's ``sem()`` adds covariances of its own between some
variables unless they are fixed to zero, so `to_lavaan` writes those zeros, and the model fitted
is then the graph's. Labels (``a*x``), starting values (``start(0.5)*x``) and ``NA*`` leave an
edge an edge; so does a fixed number other than zero. Comments (``#``, ``!``), intercepts (``y ~
1``) and defined parameters (``:=``) say nothing about the graph and are passed over. Latent
variables (``=~``), several groups (``c(...)*``) and constraints are refused.
"""

from __future__ import annotations

import re

from bowfree.errors import GraphError
from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, refuse
from bowfree.graph.given import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_input import brief, number, shown

__all__ = ["from_lavaan", "to_lavaan"]

_NAME = r"(?:[^\W\d_]|\.(?![0-9]))[\w.]*"
_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKENS = re.compile(
    rf"""
    (?P<skip>\s+|[\#!][^\r\n]*)
  | (?P<number>{_NUMBER})
  | (?P<mark>~~|=~|<~|:=|==|~|[*+;|<>(),/^-])
  | (?P<string>"[^"\r\n]*")
  | (?P<word>{_NAME})
    """,
    re.VERBOSE,
)
_REFUSED = {
    "=~": "latent variables have no place in a mixed graph; use '~~' for a hidden common cause",
    "<~": "composites have no place in a mixed graph",
    "|": "thresholds of ordered variables are not supported",
    "==": "constraints between parameters are not part of a graph; drop the line",
    "<": "constraints between parameters are not part of a graph; drop the line",
    ">": "constraints between parameters are not part of a graph; drop the line",
}


def to_lavaan(graph: MixedGraph, *, fixed_zeros: bool = True) -> str:
    """Write a graph in lavaan's model syntax.

    Parameters
    ----------
    graph : MixedGraph
        Any mixed graph whose names R accepts: a letter or dot, then letters, digits, ``.``, ``_``.
    fixed_zeros : bool
        Whether to write ``x ~~ 0*y`` for every pair without a bidirected edge, so that
        ``sem(model, fixed.x = FALSE)`` fits this model and adds no covariances of its own.

    Raises
    ------
    GraphError
        If a name cannot be written in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_lavaan(bf.parse("x -> y <-> z")), end="")
    # variances
    x ~~ x
    y ~~ y
    z ~~ z
    # directed edges
    y ~ x
    # bidirected edges
    y ~~ z
    # no other covariances
    x ~~ 0*y + 0*z
    """
    graph = graph_of(graph)
    for name in graph.nodes:
        if not re.fullmatch(_NAME, name) or name == "NA":
            raise GraphError(
                f"lavaan cannot hold the variable name {shown(name)}: a letter or dot, then "
                "letters, digits, '.' or '_'; rename it with relabel"
            )
    # The variances come first: they fix the order of the nodes for the reader.
    lines = ["# variances", *(f"{name} ~~ {name}" for name in graph.nodes)]
    into: dict[str, list[str]] = {}
    for a, b in graph.directed:
        into.setdefault(b, []).append(a)
    if into:
        lines.append("# directed edges")
        lines += [f"{b} ~ {' + '.join(into[b])}" for b in graph.nodes if b in into]
    if graph.bidirected:
        lines.append("# bidirected edges")
        lines += [f"{a} ~~ {b}" for a, b in graph.bidirected]
    if fixed_zeros:
        free = {frozenset(edge) for edge in graph.bidirected}
        zeros = []
        for i, a in enumerate(graph.nodes):
            fixed = [f"0*{b}" for b in graph.nodes[i + 1 :] if frozenset((a, b)) not in free]
            if fixed:
                zeros.append(f"{a} ~~ {' + '.join(fixed)}")
        if zeros:
            lines += ["# no other covariances", *zeros]
    return "\n".join(lines) + "\n"


def from_lavaan(text: str) -> MixedGraph:
    """Read a graph from lavaan's model syntax; the inverse of `to_lavaan`.

    Parameters
    ----------
    text : str
        Regressions ``y ~ x``, covariances ``x ~~ z``, variances ``x ~~ x``.

    Returns
    -------
    MixedGraph
        Nodes in the order of their first appearance; only edges that are written and not fixed to
        zero.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or has parts that no graph holds.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_lavaan("y ~ x; y ~~ z  # hidden cause") == bf.parse("y <- x, y <-> z")
    True
    """
    reader = TokenReader(text, _TOKENS, format="lavaan")
    builder = GraphBuilder("lavaan", text)
    zeros: set[tuple[str, frozenset[str] | tuple[str, str]]] = set()
    while reader.peek().kind != "end":
        if not reader.accept(";"):
            _read_formula(reader, builder, zeros)
    return builder.build()


def _read_formula(
    reader: TokenReader,
    builder: GraphBuilder,
    zeros: set[tuple[str, frozenset[str] | tuple[str, str]]],
) -> None:
    left = [_read_variable(reader)]
    while reader.accept("+"):
        left.append(_read_variable(reader))
    operator = reader.peek()
    if operator.text in _REFUSED and operator.kind == "mark":
        refuse("lavaan", operator.line, operator.column, _REFUSED[operator.text])
    if reader.accept(":="):
        while reader.peek().line == operator.line and reader.peek().kind != "end":
            reader.take()
        return
    reader.expect("~", "~~")
    terms = [_read_term(reader)]
    while reader.accept("+"):
        terms.append(_read_term(reader))
    builder.announce(len(left) * len(terms), operator.line, operator.column)
    for name in left:
        builder.node(name.text)
        for value, variable in terms:
            if variable.kind == "number":
                if operator.text == "~" and variable.text in ("0", "1"):
                    continue  # an intercept: means are no part of the graph
                reader.fail(variable, "a variable")
            _add(builder, zeros, name, operator, value, variable)


def _add(
    builder: GraphBuilder,
    zeros: set[tuple[str, frozenset[str] | tuple[str, str]]],
    left: Token,
    operator: Token,
    value: float | None,
    right: Token,
) -> None:
    """Add one edge, unless it is a variance or fixed to zero."""
    a, b = left.text, right.text
    builder.node(b)
    if operator.text == "~~" and a == b:
        if value == 0:
            refuse(
                "lavaan",
                right.line,
                right.column,
                f"the variance of {brief(a)} is fixed to zero; every error of a mixed graph "
                "has variance",
            )
        return
    mark = "<->" if operator.text == "~~" else "<-"
    key = (mark, frozenset((a, b)) if mark == "<->" else (a, b))
    if value == 0:
        zeros.add(key)
        if not builder.has(a, mark, b):
            return
    elif key not in zeros:
        builder.edge(a, mark, b, right.line, right.column)
        return
    refuse(
        "lavaan",
        right.line,
        right.column,
        f"{brief(a)} {operator.text} {brief(b)} is both free and fixed to zero; drop one of "
        "the two",
    )


def _read_variable(reader: TokenReader) -> Token:
    token = reader.peek()
    if token.kind != "word":
        reader.fail(token, "a variable")
    return reader.take()


def _read_term(reader: TokenReader) -> tuple[float | None, Token]:
    """Read ``x``, ``modifier*x`` or an intercept; the number is that of a fixing modifier."""
    token = reader.peek()
    value: float | None = None
    starred = reader.peek(1).text == "*"
    if token.kind == "word" and reader.peek(1).text == "(":
        _read_call(reader)
        reader.expect("*")
    elif token.kind in ("number", "word", "string") and starred:
        value = _fixed_value(token)
        reader.take()
        reader.take()
    variable = reader.peek()
    if variable.kind not in ("word", "number"):
        reader.fail(variable, "a variable")
    return value, reader.take()


def _fixed_value(token: Token) -> float | None:
    if token.kind != "number":
        return None
    try:
        return number(token.text)
    except ValueError as error:
        refuse("lavaan", token.line, token.column, f"{shown(token.text)} {error}")


def _read_call(reader: TokenReader) -> None:
    """Read ``start(0.5)`` or ``label("a")``: neither changes whether there is an edge."""
    name = reader.take()
    if name.text not in ("start", "label"):
        refuse(
            "lavaan",
            name.line,
            name.column,
            f"modifier {brief(name.text)}(...) is not supported; write one model without groups",
        )
    reader.expect("(")
    argument = reader.take()
    if argument.kind not in ("number", "string", "word"):
        reader.fail(argument, "a number or a label")
    reader.expect(")")
