"""The model syntax of the R package lavaan.

::

    y ~ x + z        # y is regressed on x and z: x -> y, z -> y
    x ~~ z           # their errors are correlated: x <-> z
    x ~~ x           # a variance; names a node
    x ~~ 0*y         # fixed to zero: no edge
    y ~ a*x          # a label, for a definition
    twice := 2*a     # a defined parameter

The text means what it means to lavaan's ``sem(..., fixed.x = FALSE)``, which adds covariances that
are not written, unless they are fixed to zero:

- among the exogenous variables: those to the right of ``~`` and never to the left of it. One whose
  variance, covariance or intercept is written is left as it is written;
- among the outcomes: those to the left of ``~`` and never to the right of it.

Neither pair can have a directed edge, so no bow comes of it. ``auto="none"`` reads what is written
and nothing else. `to_lavaan` writes the zeros, so that its text is read alike by everybody.

Starting values (``start(0.5)*x``) and ``NA*`` leave a parameter free; labels do, too, as long as
each belongs to one parameter. A variable with both has two terms, ``a*x + start(0.5)*x``.
Parameters are free or zero here, so a number other than zero, a label given twice, ``equal(...)``,
bounds, latent variables (``=~``), several groups (``c(...)*``), fixed intercepts and constraints
are refused with their place. Comments (``#``, ``!``) and free intercepts (``y ~ 1``) say nothing
about the graph. What ``:=`` defines is told in :mod:`bowfree.formats.lavaan_definitions`.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from bowfree.errors import GraphError
from bowfree.formats.lavaan_definitions import Definition, read_expression
from bowfree.formats.lavaan_model import Auto, LavaanModel
from bowfree.formats.tokens import GraphBuilder, Token, TokenReader, refuse
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import number, short_repr, truncate
from bowfree.validation import check_choice

_NAME = r"(?:[^\W\d_]|\.(?![0-9]))[\w.]*"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKENS = re.compile(
    rf"""
    (?P<skip>\s+|[\#!][^\r\n]*)
  | (?P<number>{_NUMBER})
  | (?P<mark>~~|=~|<~|:=|==|~|[*+;|<>(),/^-])
  | (?P<string>"[^"\r\n]*"|'[^'\r\n]*')
  | (?P<word>{_NAME})
    """,
    re.VERBOSE,
)
_REFUSED = {
    "=~": "latent variables have no place in a mixed graph; use '~~' for a hidden common cause",
    "<~": "composites have no place in a mixed graph",
    "|": "thresholds of ordered variables are not supported",
    "==": "constraints between parameters have no place here: parameters are free; drop the line",
    "<": "constraints between parameters have no place here: parameters are free; drop the line",
    ">": "constraints between parameters have no place here: parameters are free; drop the line",
}
_REFUSED_MODIFIERS = {
    "equal": "makes two parameters equal, and parameters are free here; leave it out",
    "lower": "bounds a parameter, and parameters are free here; leave it out",
    "upper": "bounds a parameter, and parameters are free here; leave it out",
    "c": "is for several groups; write one model without groups",
}


def to_lavaan(graph: GraphLike, *, fixed_zeros: bool = True) -> str:
    """Write a graph in lavaan's model syntax.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph whose names R accepts: a letter or dot, then letters, digits, ``.``, ``_``.
    fixed_zeros : bool
        Whether to write ``x ~~ 0*y`` for every pair without a bidirected edge, so that
        ``sem(model, fixed.x = FALSE)`` fits this model and adds no covariances of its own. Without
        them a remark in the text says how many it would add.

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
                f"lavaan cannot hold the variable name {short_repr(name)}: a letter or dot, then "
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
    text = "\n".join(lines) + "\n"
    if not fixed_zeros and (note := read_lavaan(text, auto="none").note):
        return f"# {note}\n{text}"
    return text


def from_lavaan(text: str, *, auto: Auto = "sem") -> MixedGraph:
    """Read a graph from lavaan's model syntax; the inverse of `to_lavaan`.

    Parameters
    ----------
    text : str
        Regressions ``y ~ x``, covariances ``x ~~ z``, variances ``x ~~ x``.
    auto : {"sem", "none"}
        Whether covariances are added as lavaan's ``sem()`` adds them: among exogenous variables,
        and among the errors of variables that predict nothing. "none" reads what is written only.

    Returns
    -------
    MixedGraph
        Nodes in the order of their first appearance. Labels and definitions are checked and left
        out; `read_lavaan` keeps them.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or has parts that no graph holds.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.from_lavaan("y ~ x; y ~~ z  # hidden cause") == bf.parse("y <- x, y <-> z")
    True
    >>> print(bf.formats.from_lavaan("y ~ x + z"))
    y <- x <-> z -> y
    >>> print(bf.formats.from_lavaan("y ~ x + z", auto="none"))
    y <- x, y <- z
    """
    return read_lavaan(text, auto=auto).graph


def read_lavaan(text: str, *, auto: Auto = "sem") -> LavaanModel:
    """Read a model from lavaan's syntax, with its labels and definitions.

    Parameters
    ----------
    text : str
        As for `from_lavaan`.
    auto : {"sem", "none"}
        As for `from_lavaan`.

    Returns
    -------
    LavaanModel
        Wherever a graph is wanted it can be given: ``bf.fit(model, data)``.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or has parts that no graph holds.

    Examples
    --------
    >>> import bowfree as bf
    >>> model = bf.formats.read_lavaan("m ~ a*x; y ~ b*m; indirect := a*b")
    >>> cov = [[1.25, 0.5, 0.625], [0.5, 1.0, 0.25], [0.625, 0.25, 1.5]]
    >>> fit = bf.fit(model, cov=cov, n=100, ddof=0)
    >>> print(model.defined(fit).parameter("indirect"))
    indirect := a*b: 0.25 (s.e. 0.06982, p = 0.0003)
    """
    check_choice("auto", auto, ("sem", "none"))
    reading = _Reading(text)
    return reading.model(auto)


class _Reading:
    """A text being read: edges, zeros, labels, definitions, and who stands on which side."""

    def __init__(self, text: str) -> None:
        self.reader = TokenReader(text, _TOKENS, format="lavaan")
        self.builder = GraphBuilder("lavaan", text)
        self.zeros: set[tuple[str, frozenset[str] | tuple[str, str]]] = set()
        self.labels: dict[str, tuple[str, str, str]] = {}
        self.lines: dict[str, int] = {}  # of the labels
        self.definitions: list[Definition] = []
        # Dicts as ordered sets. The last one has those with a written (co)variance or intercept.
        self.predicted: dict[str, None] = {}
        self.predicting: dict[str, None] = {}
        self.written: set[str] = set()
        while self.reader.peek().kind != "end":
            if not self.reader.accept(";"):
                self._formula()
        self._check_definitions()

    def model(self, auto: Auto) -> LavaanModel:
        """Return what was read."""
        added = self._added()
        if auto == "sem":
            for a, b in added:
                self.builder.edge(a, "<->", b, 1, 1)
        return LavaanModel(
            self.builder.build(), auto, tuple(added), dict(self.labels), tuple(self.definitions)
        )

    def _added(self) -> list[tuple[str, str]]:
        """Return the pairs whose covariance ``sem()`` adds."""
        groups = (
            [v for v in self.predicted if v not in self.predicting],
            [v for v in self.predicting if v not in self.predicted and v not in self.written],
        )
        self.builder.announce(sum(len(group) ** 2 // 2 for group in groups), 1, 1)
        return [
            (a, b)
            for group in groups
            for a, b in combinations(group, 2)
            if not self.builder.has(a, "<->", b) and ("<->", frozenset((a, b))) not in self.zeros
        ]

    def _formula(self) -> None:
        reader = self.reader
        left = [_read_variable(reader)]
        while reader.accept("+"):
            left.append(_read_variable(reader))
        operator = reader.peek()
        if operator.text in _REFUSED and operator.kind == "mark":
            refuse("lavaan", operator.line, operator.column, _REFUSED[operator.text])
        if len(left) == 1 and reader.accept(":="):
            self._define(left[0])
            return
        reader.expect("~", "~~")
        terms = [_read_term(reader)]
        while reader.accept("+"):
            terms.append(_read_term(reader))
        terms = _joined(terms)
        self.builder.announce(len(left) * len(terms), operator.line, operator.column)
        for name in left:
            self.builder.node(name.text)
            for term in terms:
                if term.variable.kind == "number":
                    self._intercept(name, operator, term)
                else:
                    self._parameter(name, operator, term)

    def _intercept(self, left: Token, operator: Token, term: _Term) -> None:
        """Pass over a free intercept: means are no part of the graph."""
        token = term.variable
        if operator.text != "~" or token.text not in ("0", "1"):
            self.reader.fail(token, "a variable")
        if token.text == "0" or term.value is not None:
            refuse(
                "lavaan",
                token.line,
                token.column,
                f"this fixes the intercept of {truncate(left.text)}; the means are free here, so "
                "leave it out",
            )
        self.written.add(left.text)
        self._label(term, (left.text, "~1", ""))

    def _parameter(self, left: Token, operator: Token, term: _Term) -> None:
        """Add one edge, unless it is a variance or fixed to zero."""
        a, b, right = left.text, term.variable.text, term.variable
        self.builder.node(b)
        self._label(term, (a, operator.text, b))
        if operator.text == "~":
            self.predicted.setdefault(a)
            self.predicting.setdefault(b)
        else:
            self.written |= {a, b}
        if term.value is not None and term.value != 0:
            without = "" if a == b else f", or 0*{truncate(b)} to leave it out"
            refuse(
                "lavaan",
                right.line,
                right.column,
                f"{truncate(a)} {operator.text} {truncate(b)} is fixed to {term.value:g}, and parameters "
                f"are free or zero here; write start({term.value:g})*{truncate(b)} to have it "
                f"estimated{without}",
            )
        if operator.text == "~~" and a == b:
            if term.value == 0:
                refuse(
                    "lavaan",
                    right.line,
                    right.column,
                    f"the variance of {truncate(a)} is fixed to zero; every error of a mixed graph "
                    "has variance: drop the number",
                )
            return
        mark = "<->" if operator.text == "~~" else "<-"
        key = (mark, frozenset((a, b)) if mark == "<->" else (a, b))
        if term.value == 0:
            self.zeros.add(key)
            if not self.builder.has(a, mark, b):
                return
        elif key not in self.zeros:
            self.builder.edge(a, mark, b, right.line, right.column)
            return
        refuse(
            "lavaan",
            right.line,
            right.column,
            f"{truncate(a)} {operator.text} {truncate(b)} is both free and fixed to zero; drop one of "
            "the two",
        )

    def _label(self, term: _Term, parameter: tuple[str, str, str]) -> None:
        if term.label is None:
            return
        name = term.label.text.strip("\"'")
        if name in self.labels:
            one, other = (
                f"{truncate(a)} {op.rstrip('1')} {truncate(b) or 1}"
                for a, op, b in (self.labels[name], parameter)
            )
            refuse(
                "lavaan",
                term.label.line,
                term.label.column,
                f"label {short_repr(name)} makes {one} (line {self.lines[name]}) and {other} equal, and "
                "parameters are free here; use two labels",
            )
        self.labels[name] = parameter
        self.lines[name] = term.label.line

    def _define(self, name: Token) -> None:
        if any(definition.name == name.text for definition in self.definitions):
            refuse("lavaan", name.line, name.column, f"{short_repr(name.text)} is defined twice")
        self.definitions.append(Definition(name.text, *read_expression(self.reader)))

    def _check_definitions(self) -> None:
        """See that every word in a definition is a label, from anywhere, or defined before it."""
        known = set(self.labels)
        for definition in self.definitions:
            for token in definition.postfix:
                if token.kind == "word" and token.text not in known:
                    refuse(
                        "lavaan",
                        token.line,
                        token.column,
                        f"{short_repr(token.text)} is no label and not defined before; label a "
                        f"parameter with it, as in y ~ {truncate(token.text)}*x",
                    )
                if self.labels.get(token.text, ("", "", ""))[1] == "~1":
                    refuse(
                        "lavaan",
                        token.line,
                        token.column,
                        f"{short_repr(token.text)} is the label of an intercept; means are no part of "
                        "the model",
                    )
            known.add(definition.name)


class _Term(NamedTuple):
    """A variable (or the 1 of an intercept) with what is written in front of it."""

    variable: Token
    value: float | None  # the number that the parameter is fixed to
    label: Token | None
    modified: bool  # whether anything is written in front


def _joined(terms: list[_Term]) -> list[_Term]:
    """Join the terms of a variable that has a label in one and a starting value in another.

    Other terms of the same variable contradict each other and are left to be refused.
    """
    joined: dict[str, _Term] = {}
    apart: list[_Term] = []
    for term in terms:
        first = joined.setdefault(term.variable.text, term)
        if first is term:
            continue
        free = first.value is None and term.value is None
        if free and (first.modified or term.modified) and not (first.label and term.label):
            label = first.label or term.label
            joined[term.variable.text] = _Term(first.variable, None, label, True)
        else:
            apart.append(term)
    return [*joined.values(), *apart]


def _read_variable(reader: TokenReader) -> Token:
    token = reader.peek()
    if token.kind != "word":
        reader.fail(token, "a variable")
    return reader.take()


def _read_term(reader: TokenReader) -> _Term:
    """Read ``x``, ``modifier*x`` or an intercept."""
    value: float | None = None
    label: Token | None = None
    token = first = reader.peek()
    if token.kind == "word" and reader.peek(1).text == "(":
        label = _read_call(reader)
        reader.expect("*")
    elif token.text == "-" or (token.kind in ("number", "word", "string") and _starred(reader)):
        sign = -1.0 if reader.accept("-") else 1.0
        token = reader.take()
        if token.kind == "number":
            value = sign * _number(token)
        elif token.text != "NA":
            label = token
        reader.expect("*")
    variable = reader.peek()
    if variable.kind not in ("word", "number"):
        reader.fail(variable, "a variable")
    return _Term(reader.take(), value, label, variable is not first)


def _starred(reader: TokenReader) -> bool:
    return reader.peek(1).text == "*"


def _number(token: Token) -> float:
    try:
        return number(token.text)
    except ValueError as error:
        refuse("lavaan", token.line, token.column, f"{short_repr(token.text)} {error}")


def _read_call(reader: TokenReader) -> Token | None:
    """Read ``start(0.5)`` or ``label("a")``, and return the label."""
    name = reader.take()
    if name.text not in ("start", "label"):
        why = _REFUSED_MODIFIERS.get(name.text, "is not supported; start(...) and label(...) are")
        refuse("lavaan", name.line, name.column, f"modifier {truncate(name.text)}(...) {why}")
    reader.expect("(")
    negative = name.text == "start" and reader.accept("-")
    argument = reader.take()
    if argument.kind not in (("number",) if negative else ("number", "string", "word")):
        reader.fail(argument, "a number or a label")
    reader.expect(")")
    return argument if name.text == "label" else None
