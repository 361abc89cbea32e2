"""The parameters of a fit as a table: every line by name, and all of them as a data frame.

A line is an :class:`~bowfree.model.estimate.Estimate`: the value, its standard error, the test
against zero, and the value in standard deviations. lavaan's users ask for the whole table,
everybody else for the line of an edge. :class:`bowfree.Fit` has a method for each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.errors import GraphError
from bowfree.graph.names import parse_edge
from bowfree.graph.text import quote
from bowfree.model import inference
from bowfree.model.estimate import Estimate
from bowfree.results.frames import data_frame

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit


def list_estimates(fit: Fit, errors: inference.StandardErrors) -> tuple[Estimate, ...]:
    """List regressions, covariances and variances, with the given standard errors."""
    names, values = fit.graph.nodes, fit._values()
    standardized = standardized_values(fit)
    se = np.sqrt(np.diag(errors.covariance))
    z, p_value = inference.wald(values, se)
    table = []
    for s, (kind, i, j) in enumerate(errors.parameters):
        numbers = (float(x) for x in (values[s], se[s], z[s], p_value[s], standardized[s]))
        table.append(Estimate(names[i], "~" if kind == "B" else "~~", names[j], *numbers))
    return tuple(table)


def standardized_values(fit: Fit) -> list[float]:
    """List the parameters in units in which every variable has variance one.

    An effect is in standard deviations, a variance the share that is unexplained, and an error
    covariance becomes the correlation of the errors.
    """
    B, Omega = fit._standardized()
    sd_errors = np.sqrt(np.diag(fit.Omega))
    return [
        float(
            B[i, j]
            if kind == "B"
            else Omega[i, i]
            if i == j
            else fit.Omega[i, j] / (sd_errors[i] * sd_errors[j])
        )
        for kind, i, j in fit._parameters
    ]


def edge_weights(fit: Fit) -> dict[tuple[str, str, str], float]:
    """Return the standardized value of every edge, by its ends and its mark.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.model.parameter_table import edge_weights
    >>> fit = bf.fit(bf.parse("x -> y"), cov=[[4.0, 50.0], [50.0, 2500.0]], n=100)
    >>> {edge: round(weight, 3) for edge, weight in edge_weights(fit).items()}
    {('x', '->', 'y'): 0.5}
    """
    names = fit.graph.nodes
    return {
        (names[j], "->", names[i]) if kind == "B" else (names[i], "<->", names[j]): value
        for (kind, i, j), value in zip(fit._parameters, standardized_values(fit), strict=True)
        if kind == "B" or i != j
    }


def estimate_of_edge(fit: Fit, a: str, mark: str | None, b: str | None) -> Estimate:
    """Find the line of an edge, said in one word or in three."""
    nodes = fit.graph.nodes
    i, kind, j = parse_edge(nodes, a, mark, b)
    x, y = nodes[i], nodes[j]
    said = {(x, kind, y), (y, kind, x)} if kind == "<->" else {(x, kind, y)}
    for estimate in fit.estimates():
        if estimate.edge in said:
            return estimate
    seen = str(fit.graph.subgraph([x, y])) if fit.graph.adjacent(x, y) else "no edge"
    raise GraphError(f"the graph has no edge {quote(x)} {kind} {quote(y)}: this pair has {seen}")


def estimates_frame(estimates: Sequence[Estimate], backend: str, confidence: float) -> Any:
    """Make a data frame of the lines, with confidence intervals."""
    intervals = [e.ci(confidence) for e in estimates]
    numbers = ("estimate", "se", "z", "p_value")
    return data_frame(
        {
            **{end: [e.edge[k] for e in estimates] for k, end in enumerate(("a", "mark", "b"))},
            **{name: [getattr(e, name) for e in estimates] for name in numbers},
            "lower": [low for low, _ in intervals],
            "upper": [high for _, high in intervals],
            "std_all": [e.std_all for e in estimates],
        },
        backend,
    )
