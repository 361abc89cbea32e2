"""What lavaan's ``:=`` defines: ``indirect := a*b``, with its value and standard error.

A definition is an expression of labels, numbers and earlier definitions, with ``+ - * / ^`` and
parentheses. It is kept in postfix order (``a b *``), which a loop can read and evaluate: a text of
ten thousand parentheses is no reason to run out of stack. Its standard error is that of the delta
method, ``sqrt(g' V g)`` with the gradient ``g`` in the labeled parameters and their covariance
matrix ``V``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError
from bowfree.formats.tokens import Token, TokenReader, refuse
from bowfree.results.display import Table, TextDisplay, p_text, shorten_list
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, number, short_repr, truncate

Floats = npt.NDArray[np.float64]

# How tightly each sign binds; "negative" is the minus in front of a term, as in R: -a^2 is -(a^2).
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "^": 4}


class Definition(NamedTuple):
    """One line ``name := expression``; the expression's tokens in postfix order."""

    name: str
    postfix: tuple[Token, ...]
    text: str

    def evaluate(self, known: Mapping[str, tuple[float, Floats]]) -> tuple[float, Floats]:
        """Return value and gradient, from those of all labels and earlier definitions."""
        width = len(next(iter(known.values()))[1]) if known else 0
        stack: list[tuple[np.float64, Floats]] = []
        with np.errstate(all="ignore"):  # log of a negative number: the result is NaN and says so
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
                    stack.append(_combined(token.text, left, right))
        value, gradient = stack.pop()
        return float(value), gradient


def _combined(
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


def read_expression(reader: TokenReader) -> tuple[tuple[Token, ...], str]:
    """Read an expression up to where no sign follows: its tokens in postfix order, and its text."""
    output: list[Token] = []
    waiting: list[Token] = []
    text = ""
    depth = 0
    while True:
        token = reader.take()
        if token.text in ("(", "-"):  # in front of an operand, which has to follow
            waiting.append(token._replace(text="negative") if token.text == "-" else token)
            depth += token.text == "("
            text += token.text
            continue
        _check_operand(reader, token)
        output.append(token)
        text += token.text
        while depth and reader.accept(")"):
            while waiting[-1].text != "(":
                output.append(waiting.pop())
            waiting.pop()
            depth -= 1
            text += ")"
        sign = reader.peek()
        if sign.kind != "mark" or sign.text not in _STRENGTH:
            break
        least = _STRENGTH[sign.text] + (sign.text == "^")  # a^b^c is a^(b^c)
        while waiting and waiting[-1].text != "(" and _STRENGTH[waiting[-1].text] >= least:
            output.append(waiting.pop())
        waiting.append(reader.take())
        text += f" {sign.text} " if sign.text in ("+", "-") else sign.text
    for token in reversed(waiting):
        if token.text == "(":
            refuse("lavaan", token.line, token.column, "this parenthesis is not closed")
        output.append(token)
    return tuple(output), text


def _check_operand(reader: TokenReader, token: Token) -> None:
    """Refuse what is neither a label nor a number."""
    if token.kind not in ("number", "word"):
        reader.fail(token, "a label or a number")
    if token.kind == "number":
        try:
            number(token.text)
        except ValueError as error:
            refuse("lavaan", token.line, token.column, f"{short_repr(token.text)} {error}")
    elif reader.peek().text == "(":
        refuse(
            "lavaan",
            token.line,
            token.column,
            f"the function {truncate(token.text)}(...) is not supported in a definition; use "
            "+, -, *, / and ^",
        )


@dataclass(frozen=True, repr=False)
class DefinedParameter(TextDisplay, ToDict):
    """One line ``name := expression``, evaluated at a fit.

    Attributes
    ----------
    name, expression : str
        As written.
    estimate, se, z, p_value : float
        Value, standard error (delta method), their ratio, and the two-sided p-value.
    """

    name: str
    expression: str
    estimate: float
    se: float
    z: float
    p_value: float

    def _headline(self) -> str:
        known = f" (s.e. {self.se:.4g}, {p_text(self.p_value)})" if self.se == self.se else ""
        text = shorten_list(self.expression, "cut", most=60)
        return f"{self.name} := {text}: {self.estimate:.4g}{known}"


@dataclass(frozen=True, repr=False)
class DefinedParameters(TextDisplay, ToDict):
    """What the lines with ``:=`` of a lavaan text come to; made by ``LavaanModel.defined``.

    Attributes
    ----------
    parameters : tuple of DefinedParameter
        In the order of the text.
    """

    parameters: tuple[DefinedParameter, ...]

    def parameter(self, name: str) -> DefinedParameter:
        """Return what one line defined.

        Raises
        ------
        BowfreeError
            The text defines no such parameter.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = [parameter.name for parameter in self.parameters]
        raise BowfreeError(
            f"the text defines no parameter {short_repr(name)}; it has {join_names(known)}"
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each definition.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns name, expression, estimate, se, z, p_value.
        """
        names = ("name", "expression", "estimate", "se", "z", "p_value")
        return data_frame(
            {name: [getattr(p, name) for p in self.parameters] for name in names}, backend
        )

    def _headline(self) -> str:
        return "; ".join(parameter._headline() for parameter in self.parameters) or "none defined"

    def _sections(self) -> Iterator[str | Table]:
        if not self.parameters:
            yield "the text defines no parameters"
            return
        rows = [
            (
                p.name,
                shorten_list(p.expression, "cut", most=40),
                f"{p.estimate:.4g}",
                *(("", "", "") if p.se != p.se else (f"{p.se:.4g}", f"{p.z:.2f}", _p(p.p_value))),
            )
            for p in self.parameters
        ]
        yield Table(("defined", ":=", "estimate", "s.e.", "z", "p"), rows, left=(0, 1))


def _p(p_value: float) -> str:
    return p_text(p_value).removeprefix("p ").removeprefix("= ")
