"""The model syntax of the R package lavaan.

::

    y ~ x + z        # y is regressed on x and z: x -> y, z -> y
    x ~~ z           # correlated errors: x <-> z
    x ~~ x           # a variance; declares a node
    x ~~ 0*y         # fixed to zero: no edge
    y ~ a*x          # a label, for definitions; parameters with the same label are equal
    y ~ 0.5*x        # fixed to a value
    a == b           # the same as equal labels; a == 0.5 fixes a parameter
    twice := 2*a     # a defined parameter

A model is read as by lavaan's ``sem(..., fixed.x = FALSE)``, which adds covariances unless they are
fixed to zero:

- among the exogenous variables, which appear on the right of ``~`` and never on the left, except
  those whose variance, covariance or intercept is written;
- among the outcomes, which appear on the left of ``~`` and never on the right.

Such pairs have no directed edge, so no bow results. ``auto="none"`` adds nothing. `to_lavaan`
writes the zeros, so that both settings give the same graph.

Starting values (``start(0.5)*x``), ``NA*`` and labels leave a parameter free; a variable with both
has two terms, ``a*x + start(0.5)*x``. Equal and fixed parameters are part of the model and not of the
graph: :func:`bowfree.fit` uses them. ``equal(...)``, bounds, latent variables (``=~``), groups
(``c(...)*``), fixed intercepts and other constraints are errors. Comments (``#``, ``!``) and free
intercepts (``y ~ 1``) are ignored.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from bowfree.errors import GraphError
from bowfree.formats.lavaan_model import Auto, Definition, Expression, LavaanModel, operands
from bowfree.formats.tokens import START, GraphBuilder, Token, TokenReader
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.parameters import public
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
_CONSTRAINT = "inequalities are not supported: drop the line"
_UNSUPPORTED = {
    "=~": "latent variables are not part of a mixed graph; use '~~' for a hidden common cause",
    "<~": "composites are not part of a mixed graph",
    "|": "thresholds of ordered variables are not supported",
    "<": _CONSTRAINT,
    ">": _CONSTRAINT,
}
_UNSUPPORTED_MODIFIERS = {
    "equal": "is not supported; give both parameters the same label",
    "lower": "bounds a parameter, which is not supported; leave it out",
    "upper": "bounds a parameter, which is not supported; leave it out",
    "c": "is for several groups; write one model without groups",
}
# Precedence of operators, and of the minus in front of a term, as in R: -a^2 is -(a^2).
_PRECEDENCE, _NEGATIVE = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}, 3


@public
def to_lavaan(graph: GraphLike) -> str:
    """Write a graph in lavaan's model syntax.

    A term ``x ~~ 0*y`` for every pair without a bidirected edge makes sure that
    ``sem(model, fixed.x = FALSE)`` adds no covariances.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph whose names are names of R: a letter or dot, then letters, digits, ``.``,
        ``_``.

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
                f"lavaan does not support the variable name {short_repr(name)}: a name is a letter "
                "or dot, then letters, digits, '.' or '_'; rename it with relabel"
            )
    # The variances are first: they determine the order of the nodes.
    sections = {"variances": [f"{name} ~~ {name}" for name in graph.nodes]}
    parents: dict[str, list[str]] = {}
    for a, b in graph.directed:
        parents.setdefault(b, []).append(a)
    sections["directed edges"] = [
        f"{b} ~ {' + '.join(parents[b])}" for b in graph.nodes if b in parents
    ]
    sections["bidirected edges"] = [f"{a} ~~ {b}" for a, b in graph.bidirected]
    zeros: dict[str, list[str]] = {}
    free = {frozenset(edge) for edge in graph.bidirected}
    for a, b in combinations(graph.nodes, 2):
        if frozenset((a, b)) not in free:
            zeros.setdefault(a, []).append(f"0*{b}")
    sections["no other covariances"] = [f"{a} ~~ {' + '.join(bs)}" for a, bs in zeros.items()]
    lines = [f"# {title}\n" + "\n".join(lines) for title, lines in sections.items() if lines]
    return "\n".join(lines or ["# variances"]) + "\n"


@public
def from_lavaan(text: str, *, auto: Auto = "sem") -> MixedGraph:
    """Read a graph from lavaan's model syntax; the inverse of `to_lavaan`.

    Parameters
    ----------
    text : str
        Regressions ``y ~ x``, covariances ``x ~~ z``, variances ``x ~~ x``.
    auto : {"sem", "none"}
        "sem" adds covariances as lavaan's ``sem()`` does: among exogenous variables, and among the
        errors of variables that predict nothing. "none" adds nothing.

    Returns
    -------
    MixedGraph
        Nodes in the order of their first appearance. `read_lavaan` also returns labels, equal and
        fixed parameters, and definitions.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or has parts that a graph cannot
        represent.

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


@public
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
        Functions accept it in place of a graph: ``bf.fit(model, data)``.

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or has parts that a graph cannot
        represent.

    Examples
    --------
    >>> import bowfree as bf
    >>> model = bf.formats.read_lavaan("m ~ a*x; y ~ b*m; indirect := a*b")
    >>> cov = [[1.25, 0.5, 0.625], [0.5, 1.0, 0.25], [0.625, 0.25, 1.5]]
    >>> fit = bf.fit(model, cov=cov, n=100, ddof=0)
    >>> model.defined(fit).parameter("indirect").estimate
    0.25
    """
    check_choice("auto", auto, ("sem", "none"))
    return _Reading(text).model(auto)


class _Term(NamedTuple):
    """A variable, or the 1 of an intercept, with its modifier."""

    variable: Token
    value: float | None  # the number to which the parameter is fixed
    label: Token | None
    modified: bool  # whether there is a modifier


class _Reading:
    """A model during reading: edges, zeros, labels, definitions, and the sides of variables."""

    def __init__(self, text: str) -> None:
        self.reader = TokenReader(text, _TOKENS, format="lavaan")
        self.builder = GraphBuilder("lavaan", text)
        self.zeros: set[tuple[str, frozenset[str] | tuple[str, str]]] = set()
        self.labels: dict[str, tuple[str, str, str]] = {}
        self.equal: list[tuple[tuple[str, str, str], tuple[str, str, str]]] = []
        self.fixed: dict[tuple[str, str, str], float] = {}
        self.constraints: list[tuple[Token, Token, float]] = []  # label, other label or a number
        self.definitions: list[Definition] = []
        self.outcomes: dict[str, None] = {}  # on the left of ~; dicts serve as ordered sets
        self.predictors: dict[str, None] = {}  # on the right of ~
        self.written: set[str] = set()  # with a written variance, covariance or intercept
        while self.reader.peek().kind != "end":
            if not self.reader.accept(";"):
                self._read_formula()
        self._check_definitions()
        self._read_constraints()

    def model(self, auto: Auto) -> LavaanModel:
        added = self._added()
        if auto == "sem":
            for a, b in added:
                self.builder.edge(a, "<->", b, START)
        return LavaanModel(
            self.builder.build(),
            auto,
            tuple(added),
            dict(self.labels),
            tuple(self.definitions),
            tuple(self.equal),
            dict(self.fixed),
        )

    def _added(self) -> list[tuple[str, str]]:
        """Return the pairs whose covariance ``sem()`` adds."""
        groups = (
            [v for v in self.outcomes if v not in self.predictors],
            [v for v in self.predictors if v not in self.outcomes and v not in self.written],
        )
        self.builder.reserve(sum(len(group) ** 2 // 2 for group in groups), START)
        return [
            (a, b)
            for group in groups
            for a, b in combinations(group, 2)
            if not self.builder.has(a, "<->", b) and ("<->", frozenset((a, b))) not in self.zeros
        ]

    def _read_formula(self) -> None:
        reader = self.reader
        left = [self._read_variable()]
        while reader.accept("+"):
            left.append(self._read_variable())
        operator = reader.peek()
        if operator.text in _UNSUPPORTED and operator.kind == "mark":
            reader.refuse(operator, _UNSUPPORTED[operator.text])
        if len(left) == 1 and reader.accept(":="):
            self._define(left[0])
            return
        if len(left) == 1 and reader.accept("=="):
            negative = reader.accept("-")
            right = reader.take()
            if right.kind not in ("number", "word") or (negative and right.kind == "word"):
                reader.fail(right, "a label or a number")
            if reader.peek().text in _PRECEDENCE:
                reader.refuse(reader.peek(), "constraints are 'a == b' or 'a == 0.5'")
            value = self._number(right) if right.kind == "number" else 0.0
            self.constraints.append((left[0], right, -value if negative else value))
            return
        reader.expect("~", "~~")
        terms = [self._read_term()]
        while reader.accept("+"):
            terms.append(self._read_term())
        terms = _merge_terms(terms)
        self.builder.reserve(len(left) * len(terms), operator)
        for name in left:
            self.builder.node(name.text)
            for term in terms:
                if term.variable.kind == "number":
                    self._add_intercept(name, operator, term)
                else:
                    self._add_parameter(name, operator, term)

    def _read_variable(self) -> Token:
        if self.reader.peek().kind != "word":
            self.reader.fail(self.reader.peek(), "a variable")
        return self.reader.take()

    def _read_term(self) -> _Term:
        """Read ``x``, ``modifier*x`` or an intercept."""
        reader = self.reader
        value: float | None = None
        label: Token | None = None
        token = first = reader.peek()
        starred = token.kind in ("number", "word", "string") and reader.peek(1).text == "*"
        if token.kind == "word" and reader.peek(1).text == "(":
            label = self._read_call()
            reader.expect("*")
        elif token.text == "-" or starred:
            sign = -1.0 if reader.accept("-") else 1.0
            token = reader.take()
            if token.kind == "number":
                value = sign * self._number(token)
            elif token.text != "NA":
                label = token
            reader.expect("*")
        variable = reader.peek()
        if variable.kind not in ("word", "number"):
            reader.fail(variable, "a variable")
        return _Term(reader.take(), value, label, variable is not first)

    def _read_call(self) -> Token | None:
        """Read ``start(0.5)`` or ``label("a")``; return the label."""
        reader = self.reader
        name = reader.take()
        if name.text not in ("start", "label"):
            problem = _UNSUPPORTED_MODIFIERS.get(
                name.text, "is not supported; start(...) and label(...) are"
            )
            reader.refuse(name, f"modifier {truncate(name.text)}(...) {problem}")
        reader.expect("(")
        negative = name.text == "start" and reader.accept("-")
        argument = reader.take()
        if argument.kind not in (("number",) if negative else ("number", "string", "word")):
            reader.fail(argument, "a number or a label")
        reader.expect(")")
        return argument if name.text == "label" else None

    def _number(self, token: Token) -> float:
        try:
            return number(token.text)
        except ValueError as error:
            self.reader.refuse(token, f"{short_repr(token.text)} {error}")

    def _add_intercept(self, left: Token, operator: Token, term: _Term) -> None:
        """Ignore a free intercept: means are not part of the graph."""
        token = term.variable
        if operator.text != "~" or token.text not in ("0", "1"):
            self.reader.fail(token, "a variable")
        if token.text == "0" or term.value is not None:
            self.reader.refuse(
                token,
                f"this fixes the intercept of {truncate(left.text)}, but means are free here; "
                "leave it out",
            )
        self.written.add(left.text)
        self._add_label(term, (left.text, "~1", ""))

    def _add_parameter(self, left: Token, operator: Token, term: _Term) -> None:
        """Add one edge, unless it is a variance or fixed to zero."""
        a, b, right = left.text, term.variable.text, term.variable
        self.builder.node(b)
        self._add_label(term, (a, operator.text, b))
        if operator.text == "~":
            self.outcomes.setdefault(a)
            self.predictors.setdefault(b)
        else:
            self.written |= {a, b}
        if term.value is not None and term.value != 0:
            self.fixed[a, operator.text, b] = term.value
        if operator.text == "~~" and a == b:
            if term.value == 0:
                self.reader.refuse(
                    right,
                    f"the variance of {truncate(a)} is fixed to zero, but all errors of a mixed "
                    "graph have variance; drop the number",
                )
            return
        mark = "<->" if operator.text == "~~" else "<-"
        key = (mark, frozenset((a, b)) if mark == "<->" else (a, b))
        if term.value == 0:
            self.zeros.add(key)
            if not self.builder.has(a, mark, b):
                return
        elif key not in self.zeros:
            self.builder.edge(a, mark, b, right)
            return
        self.reader.refuse(
            right,
            f"{truncate(a)} {operator.text} {truncate(b)} is both free and fixed to zero; drop one "
            "of the two",
        )

    def _add_label(self, term: _Term, parameter: tuple[str, str, str]) -> None:
        if term.label is None:
            return
        name = term.label.text.strip("\"'")
        if name not in self.labels:
            self.labels[name] = parameter
        elif "~1" in (parameter[1], self.labels[name][1]):
            self.reader.refuse(
                term.label, f"label {short_repr(name)} constrains an intercept; means are free here"
            )
        else:
            self.equal.append((self.labels[name], parameter))

    def _read_constraints(self) -> None:
        """Turn ``a == b`` and ``a == 0.5`` into equal and fixed parameters."""
        for label, other, value in self.constraints:
            for token in (label, other):
                known = self.labels.get(token.text)
                if token.kind == "word" and (known is None or known[1] == "~1"):
                    self.reader.refuse(token, f"{short_repr(token.text)} labels no parameter")
            if other.kind == "word":
                self.equal.append((self.labels[label.text], self.labels[other.text]))
            elif value == 0 and self.labels[label.text][0] == self.labels[label.text][2]:
                self.reader.refuse(other, "this fixes a variance to zero")
            else:
                self.fixed[self.labels[label.text]] = value

    def _define(self, name: Token) -> None:
        if any(definition.name == name.text for definition in self.definitions):
            self.reader.refuse(name, f"{short_repr(name.text)} is defined twice")
        try:
            self.definitions.append(Definition(name.text, *self._read_expression()))
        except RecursionError:
            self.reader.refuse(name, "its expression is nested too deeply")

    def _read_expression(self, least: int = 1) -> tuple[Expression, str]:
        """Read operands joined by operators of at least this precedence; return also the text."""
        reader, first = self.reader, self.reader.take()
        found: Expression = first
        text = first.text
        if text == "-":
            operand, inner = self._read_expression(_NEGATIVE)
            found, text = ("-", operand), f"-{inner}"
        elif text == "(":
            found, inner = self._read_expression()
            if not reader.accept(")"):
                reader.refuse(first, "this parenthesis is not closed")
            text = f"({inner})"
        elif first.kind not in ("number", "word"):
            reader.fail(first, "a label or a number")
        elif first.kind == "number":
            self._number(first)
        elif reader.peek().text == "(":
            problem = "is not supported in a definition; use +, -, *, / and ^"
            reader.refuse(first, f"the function {truncate(text)}(...) {problem}")
        while reader.peek().kind == "mark" and _PRECEDENCE.get(reader.peek().text, 0) >= least:
            sign = reader.take().text
            # a^b^c is a^(b^c)
            right, inner = self._read_expression(_PRECEDENCE[sign] + (sign != "^"))
            found = (sign, found, right)
            text += f" {sign} {inner}" if sign in "+-" else f"{sign}{inner}"
        return found, text

    def _check_definitions(self) -> None:
        """Check that every word of a definition is a label, or defined before."""
        known = set(self.labels)
        for definition in self.definitions:
            for token in operands(definition.expression):
                name = short_repr(token.text)
                if token.kind == "word" and token.text not in known:
                    self.reader.refuse(
                        token,
                        f"{name} is not a label and not defined before; label a parameter with it, "
                        f"as in y ~ {truncate(token.text)}*x",
                    )
                if self.labels.get(token.text, ("", "", ""))[1] == "~1":
                    self.reader.refuse(
                        token, f"{name} labels an intercept; means are not part of the model"
                    )
            known.add(definition.name)


def _merge_terms(terms: list[_Term]) -> list[_Term]:
    """Merge the terms of a variable that has a label in one and a starting value in another.

    Other repeated terms stay and are refused later.
    """
    merged: dict[str, _Term] = {}
    repeated: list[_Term] = []
    for term in terms:
        first = merged.setdefault(term.variable.text, term)
        if first is term:
            continue
        free = first.value is None and term.value is None
        if free and (first.modified or term.modified) and not (first.label and term.label):
            label = first.label or term.label
            merged[term.variable.text] = _Term(first.variable, None, label, True)
        else:
            repeated.append(term)
    return [*merged.values(), *repeated]
