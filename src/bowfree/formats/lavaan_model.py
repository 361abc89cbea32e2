"""Models read from lavaan's syntax: the graph, labels, and parameters defined by ``:=``.

A definition such as ``indirect := a*b`` is an expression of labels, numbers and earlier
definitions, with ``+ - * / ^`` and parentheses. Its standard error is that of the delta method,
``sqrt(g' V g)`` with the gradient ``g`` in the labeled parameters and their covariance matrix
``V``. After a bootstrap it is evaluated in every sample instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError, GraphError
from bowfree.formats.tokens import Token
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import describe, quote
from bowfree.model.constraints import Constraints
from bowfree.model.context import Context
from bowfree.model.fit_summary import standardized_values
from bowfree.model.inference import Parameter, normal_quantile, parameter_index, wald
from bowfree.results.display import (
    Table,
    TextDisplay,
    count,
    number,
    p_cell,
    p_text,
    shorten_list,
    significant,
)
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit
    from bowfree.model.resampling import BootstrapFit

Floats = npt.NDArray[np.float64]
Auto = Literal["sem", "none"]


Expression: TypeAlias = "Token | tuple[str, Expression] | tuple[str, Expression, Expression]"
"""An operand, or the sign of an operator with its operands."""


def operands(expression: Expression) -> Iterator[Token]:
    """Yield the labels and numbers of an expression, from left to right."""
    if isinstance(expression, Token):
        yield expression
    else:
        for part in expression[1:]:
            yield from operands(part)


class Definition(NamedTuple):
    """One line ``name := expression``."""

    name: str
    expression: Expression
    text: str

    def evaluate(
        self, known: Mapping[str, tuple[float, Floats]], width: int
    ) -> tuple[float, Floats]:
        """Return value and gradient of length `width`, from those of all earlier names."""

        def evaluated(expression: Expression) -> tuple[np.float64, Floats]:
            if isinstance(expression, Token):
                if expression.kind == "number":
                    return np.float64(expression.text), np.zeros(width)
                value, gradient = known[expression.text]
                return np.float64(value), gradient
            a, da = evaluated(expression[1])
            if len(expression) == 2:
                return -a, -da
            b, db = evaluated(expression[2])
            match expression[0]:
                case "+":
                    return a + b, da + db
                case "-":
                    return a - b, da - db
                case "*":
                    return a * b, b * da + a * db
                case "/":
                    return a / b, da / b - a * db / b**2
            by_exponent = np.log(a) * a**b * db if db.any() else np.zeros_like(db)
            return a**b, b * a ** (b - 1) * da + by_exponent

        with np.errstate(all="ignore"):  # the result of an invalid operation is NaN
            value, gradient = evaluated(self.expression)
        return float(value), gradient


@dataclass(frozen=True, repr=False)
class DefinedParameters(RowTable, ToDict):
    """Estimates of the parameters that a model defines by ``:=``; see ``LavaanModel.defined``.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the text: ``name``, ``expression``, ``estimate``, ``se``, ``z``, the
        two-sided ``p_value``, ``lower`` and ``upper`` (the confidence interval), and ``std_all``,
        the same expression of standardized parameters.
    confidence : float
        Level of the intervals.
    interval : str
        Kind of bootstrap intervals; "delta method" for others.
    """

    rows: tuple[Row, ...]
    confidence: float = 0.95
    interval: str = "delta method"
    _columns: ClassVar = (
        *("name", "expression", "estimate", "se", "z", "p_value"),
        *("lower", "upper", "std_all"),
    )

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
        own = {"confidence": self.confidence, "interval": self.interval}
        return {"parameters": self.rows, **own}

    def _headline(self) -> str:
        return "; ".join(map(_line, self.rows)) or "no defined parameters"

    def _sections(self) -> Iterator[str | Table]:
        if not self.rows:
            yield self._headline()
            return
        rows = []
        for row in self.rows:
            known = [""] * 5
            if row.se == row.se:
                ends = (significant(end, 4) for end in (row.lower, row.upper))
                known = [significant(row.se, 4), number(row.z, 2), p_cell(row.p_value), *ends]
            expression = shorten_list(row.expression, "cut", most=40)
            rows.append((row.name, expression, significant(row.estimate, 4), *known))
        ends = (f"{100 * self.confidence:g} % {end}" for end in ("lower", "upper"))
        yield Table(("defined", ":=", "estimate", "s.e.", "z", "p", *ends), rows, left=(0, 1))
        yield f"intervals: {self.interval}"


def _line(row: Row) -> str:
    known = f" (s.e. {significant(row.se, 4)}, {p_text(row.p_value)})" if row.se == row.se else ""
    text = shorten_list(row.expression, "cut", most=60)
    return f"{row.name} := {text}: {significant(row.estimate, 4)}{known}"


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
    equal : tuple of pairs of (lhs, op, rhs)
        Parameters with the same label.
    fixed : mapping from (lhs, op, rhs) to float
        Parameters with a given value other than zero.

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
    equal: tuple[tuple[tuple[str, str, str], tuple[str, str, str]], ...] = ()
    fixed: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    @property
    def df(self) -> int:
        """Degrees of freedom of the model: d (d + 1) / 2 minus the number of free parameters."""
        d, n_free = len(self.graph), len(self.graph) + self.graph.n_edges
        constraints = self._context().constraints
        if constraints is not None:
            graph = self.graph
            n_free = constraints.matrices(
                parameter_index(
                    [list(members(mask)) for mask in graph._parents],
                    [list(members(mask)) for mask in graph._spouses],
                )
            )[0].shape[1]
        return d * (d + 1) // 2 - n_free

    def _context(self) -> Context:
        fixed = tuple((self._parameter(at), value) for at, value in self.fixed.items())
        equal = tuple(tuple(self._parameter(at) for at in pair) for pair in self.equal)
        found = Constraints(equal, fixed) if equal or fixed else None
        return Context(self.graph, constraints=found)

    def _parameter(self, at: tuple[str, str, str]) -> Parameter:
        i, j = self.graph._node(at[0]), self.graph._node(at[2])
        return ("B", i, j) if at[1] == "~" else ("Omega", min(i, j), max(i, j))

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

    def defined(
        self, fit: Fit | BootstrapFit, *, confidence: float | None = None
    ) -> DefinedParameters:
        """Return estimates of the parameters that the text defines by ``:=``.

        Parameters
        ----------
        fit : Fit or BootstrapFit
            A fit of this model.
        confidence : float, optional
            Level of the intervals; by default that of the bootstrap, or 0.95.

        Returns
        -------
        DefinedParameters
            With delta-method standard errors and normal intervals, or those of the bootstrap after
            ``fit(se="bootstrap")`` and :func:`bowfree.bootstrap_fit`; NaN if the fit has none.

        Raises
        ------
        GraphError
            If the fit belongs to another graph.

        Examples
        --------
        >>> import bowfree as bf
        >>> model = bf.formats.read_lavaan("m ~ a*x; y ~ b*m; indirect := a*b")
        >>> S = [[1.0, 0.5, 0.3], [0.5, 1.0, 0.6], [0.3, 0.6, 1.0]]
        >>> fit = bf.fit(model, bf.Moments(("x", "m", "y"), S, 200))
        >>> row = model.defined(fit).parameter("indirect")
        >>> round(row.estimate, 3), round(row.lower, 3), round(row.upper, 3)
        (0.3, 0.209, 0.391)
        """
        from bowfree.model.resampling import BootstrapFit

        level = 0.95 if confidence is None else confidence
        if isinstance(fit, BootstrapFit):
            level = fit.confidence if confidence is None else confidence
            fit = fit.fit
        if fit.graph != self.graph:
            raise GraphError("the fit belongs to another graph than this text; fit the model")
        values, gradients = self._evaluate(fit, fit._values())
        errors = fit.standard_errors()
        if fit.resamples is None:
            se = np.sqrt(np.einsum("ij,jk,ik->i", gradients, errors.covariance, gradients))
            se[~gradients.any(axis=1)] = np.nan
            half = normal_quantile(level) * se
            lower, upper, interval = values - half, values + half, "delta method"
        else:
            plain = fit
            draws = fit.resamples.map(
                lambda draws: np.array([self._evaluate(plain, draw)[0] for draw in draws])
            )
            se, (lower, upper) = draws.se(), draws.bounds(values, level)
            interval = f"bootstrap, {draws.interval}"
        columns = {
            "estimate": values,
            "se": se,
            **dict(zip(("z", "p_value"), wald(values, se), strict=True)),
            "lower": lower,
            "upper": upper,
            "std_all": self._evaluate(fit, standardized_values(fit))[0],
        }
        rows = tuple(
            Row(
                name=definition.name,
                expression=definition.text,
                **{name: float(column[k]) for name, column in columns.items()},
            )
            for k, definition in enumerate(self.definitions)
        )
        return DefinedParameters(rows, level, interval)

    def _evaluate(self, fit: Fit, values: Floats) -> tuple[Floats, Floats]:
        """Return values and gradients of all definitions at given parameters of the fit."""
        unit = np.eye(len(values))
        known: dict[str, tuple[float, Floats]] = {}
        for name, (a, op, b) in self.labels.items():
            if op != "~1":
                k = fit._parameters.index(self._parameter((a, op, b)))
                known[name] = float(values[k]), unit[k]
        for definition in self.definitions:
            known[definition.name] = definition.evaluate(known, len(values))
        found = [known[definition.name] for definition in self.definitions]
        gradients = np.array([gradient for _, gradient in found]).reshape(-1, len(values))
        return np.array([value for value, _ in found]), gradients

    def _content(self) -> Any:
        return {
            "graph": self.graph.to_dict(),
            "auto": self.auto,
            "not_written": self.not_written,
            "labels": dict(self.labels),
            "equal": self.equal,
            "fixed": [[*at, value] for at, value in self.fixed.items()],
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
