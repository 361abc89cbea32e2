"""A model read from lavaan's text: the graph, and what the text says beyond it.

Made by :func:`bowfree.formats.read_lavaan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bowfree.errors import GraphError
from bowfree.formats.lavaan_definitions import (
    DefinedParameter,
    DefinedParameters,
    Definition,
)
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.inference import wald
from bowfree.results.display import Table, TextDisplay, count, shorten_list
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit


Auto = Literal["sem", "none"]


@dataclass(frozen=True, repr=False)
class LavaanModel(TextDisplay, ToDict):
    """What a lavaan text says; can be given wherever a graph is wanted.

    Attributes
    ----------
    graph : MixedGraph
        The model.
    auto : {"sem", "none"}
        How the text was read.
    not_written : tuple of (str, str)
        The pairs whose covariance lavaan's ``sem()`` adds to what is written; in the graph when
        `auto` is "sem".
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
        """Degrees of freedom of the model: d (d + 1) / 2 minus d minus the number of edges."""
        d = len(self.graph)
        return d * (d - 1) // 2 - self.graph.n_edges

    @property
    def note(self) -> str:
        """A sentence on the covariances that are not written; empty when there are none."""
        if not self.not_written:
            return ""
        pairs = ", ".join(f"{quote(a)} <-> {quote(b)}" for a, b in self.not_written)
        added, some = len(self.not_written), count(len(self.not_written), "covariance")
        what = (
            f"{some} that the text does not write ({shorten_list(pairs, 'not_written', most=200)})"
        )
        them = "it" if added == 1 else "them"
        if self.auto == "sem":
            return f"sem() adds {what}: df = {self.df}, and {self.df + added} without {them}"
        return f"sem() would add {what}: df = {self.df}, and {self.df - added} with {them}"

    def defined(self, fit: Fit) -> DefinedParameters:
        """Return what the lines ``name := expression`` come to.

        Parameters
        ----------
        fit : Fit
            Of this model.

        Returns
        -------
        DefinedParameters
            With delta-method standard errors; NaN where the fit has none.

        Raises
        ------
        GraphError
            The fit is of another graph.
        """
        if fit.graph != self.graph:
            raise GraphError("the fit is of another graph than this text's; fit the model itself")
        known = self._labeled(fit)
        names = list(known)
        covariance = self._covariance(fit, names)
        found = []
        for definition in self.definitions:
            value, gradient = definition.evaluate(known)
            known[definition.name] = value, gradient
            variance = gradient @ covariance @ gradient if gradient.any() else np.nan
            se = np.sqrt(variance)
            z, p_value = wald(np.array(value), se)
            found.append(
                DefinedParameter(
                    definition.name, definition.text, value, float(se), float(z), float(p_value)
                )
            )
        return DefinedParameters(tuple(found))

    def _labeled(self, fit: Fit) -> dict[str, tuple[float, Any]]:
        """Return the value of each labeled parameter, with its gradient: a unit vector."""
        labels = {name: at for name, at in self.labels.items() if at[1] != "~1"}
        found: dict[str, tuple[float, Any]] = {}
        for k, (name, (a, op, b)) in enumerate(labels.items()):
            i, j = self.graph._node(a), self.graph._node(b)
            value = (fit.B if op == "~" else fit.Omega)[i, j]
            found[name] = float(value), np.eye(len(labels))[k]
        return found

    def _covariance(self, fit: Fit, names: list[str]) -> Any:
        """Return the covariance matrix of the estimates that have these labels."""
        errors = fit.standard_errors()
        places = {parameter: s for s, parameter in enumerate(errors.parameters)}
        rows = []
        for name in names:
            a, op, b = self.labels[name]
            i, j = self.graph._node(a), self.graph._node(b)
            at = ("B", i, j) if op == "~" else ("Omega", min(i, j), max(i, j))
            rows.append(places[at])  # type: ignore[index]  # "B" or "Omega", as there
        return errors.covariance[np.ix_(rows, rows)]

    def _content(self) -> Any:
        return {
            "graph": self.graph.to_dict(),
            "auto": self.auto,
            "not_written": self.not_written,
            "labels": dict(self.labels),
            "definitions": {each.name: each.text for each in self.definitions},
        }

    def _headline(self) -> str:
        return f"{shorten_list(str(self.graph), 'graph', most=70)}, {count(self.df, 'degree')} of freedom"

    def _sections(self) -> Iterator[str | Table]:
        yield shorten_list(str(self.graph), "model.graph has all")
        yield f"{count(self.df, 'degree')} of freedom"
        if self.note:
            yield self.note
        if self.labels:
            rows = [(name, *where) for name, where in self.labels.items()]
            yield Table(("label", "", "", ""), rows, left=(0, 1, 2, 3))
        for definition in self.definitions:
            yield f"{definition.name} := {definition.text}"
