"""Models read from lavaan's syntax: the graph, labels, and parameters defined by ``:=``.

A definition such as ``indirect := a*b`` is an expression of labels, numbers and earlier
definitions, with ``+ - * / ^`` and parentheses. It is stored in postfix order (``a b *``), which a
loop evaluates without recursion. Its standard error is that of the delta method, ``sqrt(g' V g)``
with the gradient ``g`` in the labeled parameters and their covariance matrix ``V``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError, GraphError
from bowfree.formats.tokens import Token
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import describe, quote
from bowfree.model.inference import wald
from bowfree.results.display import Table, TextDisplay, count, p_text, shorten_list
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit

Floats = npt.NDArray[np.float64]
Auto = Literal["sem", "none"]


class Definition(NamedTuple):
    """One line ``name := expression``, with the tokens of the expression in postfix order."""

    name: str
    postfix: tuple[Token, ...]
    text: str

    def evaluate(self, known: Mapping[str, tuple[float, Floats]]) -> tuple[float, Floats]:
        """Return value and gradient, from those of all labels and earlier definitions."""
        width = len(next(iter(known.values()))[1]) if known else 0
        stack: list[tuple[np.float64, Floats]] = []
        with np.errstate(all="ignore"):  # the result of an invalid operation is NaN
            for token in self.postfix:
                if token.kind == "number":
                    stack.append((np.float64(token.text), np.zeros(width)))
                elif token.kind == "word":
                    value, gradient = known[token.text]
                    stack.append((np.float64(value), gradient))
                elif token.text == "negative":
                    value, gradient = stack.pop()
                    stack.append((-value, -gradient))
                else:
                    right, left = stack.pop(), stack.pop()
                    stack.append(_combine(token.text, left, right))
        value, gradient = stack.pop()
        return float(value), gradient


def _combine(
    sign: str, left: tuple[np.float64, Floats], right: tuple[np.float64, Floats]
) -> tuple[np.float64, Floats]:
    """Return value and gradient of ``left sign right``."""
    (a, da), (b, db) = left, right
    if sign == "+":
        return a + b, da + db
    if sign == "-":
        return a - b, da - db
    if sign == "*":
        return a * b, b * da + a * db
    if sign == "/":
        return a / b, da / b - a * db / b**2
    by_exponent = np.log(a) * a**b * db if db.any() else np.zeros_like(db)
    return a**b, b * a ** (b - 1) * da + by_exponent


@dataclass(frozen=True, repr=False)
class DefinedParameters(RowTable, ToDict):
    """Estimates of the parameters that a text defines by ``:=``; see ``LavaanModel.defined``.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the text: ``name``, ``expression``, ``estimate``, ``se`` (delta method),
        ``z`` and the two-sided ``p_value``.
    """

    rows: tuple[Row, ...]
    _columns: ClassVar = ("name", "expression", "estimate", "se", "z", "p_value")

    def parameter(self, name: str) -> Row:
        """Return the row of one parameter.

        Raises
        ------
        BowfreeError
            If the text does not define this parameter.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise BowfreeError(
            f"the text defines no parameter {short_repr(name)}; it has "
            f"{join_names([row.name for row in self.rows])}"
        )

    def _content(self) -> Any:
        return {"parameters": self.rows}

    def _headline(self) -> str:
        return "; ".join(map(_line, self.rows)) or "no defined parameters"

    def _sections(self) -> Iterator[str | Table]:
        if not self.rows:
            yield self._headline()
            return
        rows = []
        for row in self.rows:
            p_value = p_text(row.p_value).removeprefix("p ").removeprefix("= ")
            known = ("", "", "") if row.se != row.se else (f"{row.se:.4g}", f"{row.z:.2f}", p_value)
            expression = shorten_list(row.expression, "cut", most=40)
            rows.append((row.name, expression, f"{row.estimate:.4g}", *known))
        yield Table(("defined", ":=", "estimate", "s.e.", "z", "p"), rows, left=(0, 1))


def _line(row: Row) -> str:
    known = f" (s.e. {row.se:.4g}, {p_text(row.p_value)})" if row.se == row.se else ""
    text = shorten_list(row.expression, "cut", most=60)
    return f"{row.name} := {text}: {row.estimate:.4g}{known}"


@dataclass(frozen=True, repr=False)
class LavaanModel(TextDisplay, ToDict):
    """A model read from lavaan's syntax; functions accept it in place of a graph.

    Attributes
    ----------
    graph : MixedGraph
        The model.
    auto : {"sem", "none"}
        How the text was read.
    not_written : tuple of (str, str)
        The pairs whose covariance lavaan's ``sem()`` adds; in the graph if `auto` is "sem".
    labels : mapping from str to (lhs, op, rhs)
        The labeled parameters: ``("y", "~", "x")`` is the effect of x on y.
    definitions : tuple
        The lines ``name := expression``.

    Examples
    --------
    >>> import bowfree as bf
    >>> model = bf.formats.read_lavaan("y ~ x1 + x2")
    >>> print(model.note)
    sem() adds 1 covariance that the text does not write (x1 <-> x2): df = 0, and 1 without it
    """

    graph: MixedGraph
    auto: Auto
    not_written: tuple[tuple[str, str], ...]
    labels: Mapping[str, tuple[str, str, str]]
    definitions: tuple[Definition, ...]

    @property
    def df(self) -> int:
        """Degrees of freedom of the model: d (d - 1) / 2 minus the number of edges."""
        d = len(self.graph)
        return d * (d - 1) // 2 - self.graph.n_edges

    @property
    def note(self) -> str:
        """A sentence on the covariances that are not written; empty if there are none."""
        if not self.not_written:
            return ""
        pairs = ", ".join(f"{quote(a)} <-> {quote(b)}" for a, b in self.not_written)
        added, pairs = len(self.not_written), shorten_list(pairs, "not_written", most=200)
        what = f"{count(added, 'covariance')} that the text does not write ({pairs})"
        them = "it" if added == 1 else "them"
        if self.auto == "sem":
            return f"sem() adds {what}: df = {self.df}, and {self.df + added} without {them}"
        return f"sem() would add {what}: df = {self.df}, and {self.df - added} with {them}"

    def defined(self, fit: Fit) -> DefinedParameters:
        """Return estimates of the parameters that the text defines by ``:=``.

        Parameters
        ----------
        fit : Fit
            A fit of this model.

        Returns
        -------
        DefinedParameters
            With delta-method standard errors; NaN if the fit has none.

        Raises
        ------
        GraphError
            If the fit belongs to another graph.
        """
        if fit.graph != self.graph:
            raise GraphError("the fit belongs to another graph than this text; fit the model")
        labels = {name: at for name, at in self.labels.items() if at[1] != "~1"}
        known: dict[str, tuple[float, Floats]] = {}
        for k, (name, (a, op, b)) in enumerate(labels.items()):
            i, j = self.graph._node(a), self.graph._node(b)
            value = (fit.B if op == "~" else fit.Omega)[i, j]
            known[name] = float(value), np.eye(len(labels))[k]
        covariance = self._covariance(fit, list(labels.values()))
        rows = []
        for definition in self.definitions:
            value, gradient = definition.evaluate(known)
            known[definition.name] = value, gradient
            variance = gradient @ covariance @ gradient if gradient.any() else np.nan
            se = np.sqrt(variance)
            z, p_value = wald(np.array(value), se)
            rows.append(
                Row(
                    name=definition.name,
                    expression=definition.text,
                    estimate=value,
                    se=float(se),
                    z=float(z),
                    p_value=float(p_value),
                )
            )
        return DefinedParameters(tuple(rows))

    def _covariance(self, fit: Fit, labeled: list[tuple[str, str, str]]) -> Floats:
        """Return the covariance matrix of the estimates of labeled parameters."""
        errors = fit.standard_errors()
        index = {parameter: k for k, parameter in enumerate(errors.parameters)}
        found = []
        for a, op, b in labeled:
            i, j = self.graph._node(a), self.graph._node(b)
            at = ("B", i, j) if op == "~" else ("Omega", min(i, j), max(i, j))
            found.append(index[at])  # type: ignore[index]  # "B" or "Omega"
        return errors.covariance[np.ix_(found, found)]

    def _content(self) -> Any:
        return {
            "graph": self.graph.to_dict(),
            "auto": self.auto,
            "not_written": self.not_written,
            "labels": dict(self.labels),
            "definitions": {each.name: each.text for each in self.definitions},
        }

    def _headline(self) -> str:
        graph = shorten_list(describe(self.graph), "graph", most=70)
        return f"{graph}, {count(self.df, 'degree')} of freedom"

    def _sections(self) -> Iterator[str | Table]:
        yield shorten_list(describe(self.graph), "model.graph has all")
        yield f"{count(self.df, 'degree')} of freedom"
        if self.note:
            yield self.note
        if self.labels:
            rows = [(name, *where) for name, where in self.labels.items()]
            yield Table(("label", "", "", ""), rows, left=(0, 1, 2, 3))
        for definition in self.definitions:
            yield f"{definition.name} := {definition.text}"
