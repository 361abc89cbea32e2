"""The table of parameters of a fit, and its layout as in lavaan's ``summary()``.

Numbers are computed by :class:`bowfree.Fit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.data.sample import Floats
from bowfree.graph.text import quote
from bowfree.model.inference import (
    Information,
    edge_label,
    normal_quantile,
    parameter_edge,
    parameter_values,
    wald,
)
from bowfree.results.display import Table, TextDisplay, number, p_cell, p_text, significant, to_html
from bowfree.results.rows import Row
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit


_COLUMNS = ("Estimate", "Std.Err", "z-value", "P(>|z|)", "ci.lower", "ci.upper", "Std.all")
_LEAST_DECIMALS, _MOST_DECIMALS = 3, 12
_REST = "more: print(fit.summary()) has all"


class Estimate(Row):
    """One row of the table of parameters.

    Attributes
    ----------
    a, mark, b : str
        ``"x", "->", "y"`` is the effect of x on y, ``"x", "<->", "y"`` an error covariance, ``"x",
        "variance", "x"`` an error variance.
    estimate, se, z, p_value : float
        Estimate, standard error, their ratio, and the two-sided p-value.
    lower, upper : float
        The confidence interval.
    std_all : float
        Standardized estimate: an effect in standard deviations, an error correlation, or the
        unexplained fraction of a variance.
    """

    __slots__ = ()

    @property
    def edge(self) -> tuple[str, str, str]:
        """The parameter as a tuple (a, mark, b)."""
        return self.a, self.mark, self.b

    @property
    def label(self) -> str:
        """The parameter as text: "x -> y", "x <-> y" or "var eps(x)"."""
        return edge_label(*self.edge)

    @property
    def lavaan(self) -> tuple[str, str, str]:
        """The parameter in lavaan's notation: ``y ~ x``, ``x ~~ y`` or ``x ~~ x``."""
        return (self.b, "~", self.a) if self.mark == "->" else (self.a, "~~", self.b)

    def _headline(self) -> str:
        error = ""
        if not math.isnan(self.se):
            error = f" (s.e. {significant(self.se, 4)}, {p_text(self.p_value)})"
        return f"{self.label}: {significant(self.estimate, 4)}{error}"


def list_estimates(
    fit: Fit, se: Floats, confidence: float, which: Sequence[int] | None = None
) -> tuple[Estimate, ...]:
    """Return the rows of the table of parameters, or some of them, with these standard errors."""
    values = fit._values()
    z, p_value = wald(values, se)
    if fit.resamples is None:
        half = normal_quantile(confidence) * se
        lower, upper = values - half, values + half
    else:
        lower, upper = fit.resamples.bounds(values, confidence)
    columns = {"estimate": values, "se": se, "z": z, "p_value": p_value}
    columns |= {"lower": lower, "upper": upper, "std_all": standardized_values(fit)}
    rows = []
    for s in range(len(values)) if which is None else which:
        a, mark, b = parameter_edge(fit.graph.nodes, fit._parameters[s])
        numbers = {name: float(column[s]) for name, column in columns.items()}
        rows.append(Estimate(a=a, mark=mark, b=b, **numbers))
    return tuple(rows)


def standardized_values(fit: Fit) -> Floats:
    """Return the parameters at variances one; error covariances become correlations."""
    B, Omega = fit._standardized()
    sd = np.sqrt(np.diag(fit.Omega))
    R = fit.Omega / np.outer(sd, sd)
    np.fill_diagonal(R, np.diag(Omega))
    return parameter_values(B, R, fit._parameters)


def edge_weights(fit: Fit) -> dict[tuple[str, str, str], float]:
    """Return the standardized value of every edge, by its ends and its mark."""
    edges = [parameter_edge(fit.graph.nodes, parameter) for parameter in fit._parameters]
    values = standardized_values(fit).tolist()
    return {edge: value for edge, value in zip(edges, values, strict=True) if edge[1] != "variance"}


@dataclass(frozen=True, repr=False)
class FitSummary(TextDisplay, ToDict):
    """The tables of a fit, laid out as in lavaan; ``print`` shows all of them.

    Attributes
    ----------
    title : str
        Method and convergence of the fit.
    facts : tuple of (str, str)
        Label and value of log-likelihood, fit indices and so on.
    regressions, covariances, variances : tuple of Estimate
        The parameters.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    regressions: tuple[Estimate, ...]
    covariances: tuple[Estimate, ...]
    variances: tuple[Estimate, ...]

    def _content(self) -> Any:
        return {**vars(self), "facts": dict(self.facts)}

    def _headline(self) -> str:
        return self.title

    def _sections(self) -> Iterator[str | Table]:
        yield from text_parts(self)

    def _repr_html_(self) -> str:
        return to_html(html_parts(self))


def summarize(fit: Fit, information: Information | None) -> FitSummary:
    """Return the summary of a fit."""
    rows = fit.estimates(information=information)
    tables = (tuple(row for row in rows if row.mark == mark) for mark in ("->", "<->", "variance"))
    return FitSummary(fit_title(fit), tuple(fit_facts(fit)), *tables)


def text_parts(summary: FitSummary, most: int | None = None) -> Iterator[str | Table]:
    """Yield the lines and tables of a summary, each table cut after `most` rows."""
    yield summary.title
    yield ""
    yield Table((), [(f"  {label}", value) for label, value in summary.facts], widths=(0, 18))
    tables = _tables(summary)
    # One width for all tables, so that their numbers are aligned; with short names, 80 in all.
    names = [name for _, rows in tables for row in rows for name in (row.a, row.b)]
    widths = (max(10, *map(len, names)) + 5, *[8] * len(_COLUMNS))
    for heading, estimates in tables:
        rows: list[tuple[str, ...]] = []
        previous = None
        for e in estimates[:most]:
            left, operator, right = e.lavaan
            variance = left == right
            if not variance and left != previous:
                rows.append((f"  {left} {operator}", *[""] * len(_COLUMNS)))
                previous = left
            rows.append((f"  {right}" if variance else f"    {right}", *_cells(e)))
        yield ""
        yield f"{heading}:"
        yield Table(("", *_COLUMNS), rows, widths=widths, gap=1)
        if most is not None and len(estimates) > most:
            yield f"... and {len(estimates) - most:,} {_REST}"


def html_parts(summary: FitSummary, most: int | None = None) -> Iterator[str | Table]:
    """Yield the same for HTML, where each row has its whole formula."""
    yield summary.title
    yield Table((), summary.facts)
    for heading, estimates in _tables(summary):
        rows = [
            (f"{quote(e.lavaan[0])} {e.lavaan[1]} {quote(e.lavaan[2])}", *_cells(e))
            for e in estimates
        ]
        yield Table((heading, *_COLUMNS), rows, most=most, rest=_REST)


def _tables(summary: FitSummary) -> list[tuple[str, tuple[Estimate, ...]]]:
    names = ("regressions", "covariances", "variances")
    return [(name.title(), getattr(summary, name)) for name in names if getattr(summary, name)]


def fit_title(fit: Fit) -> str:
    """Return method and convergence of a fit as text."""
    state = {
        "converged": f"converged after {fit.n_iter} iterations" if fit.n_iter else "closed form",
        "certified after rounding": "CERTIFIED AFTER ROUNDING of the data, "
        f"{fit.n_iter} iterations",
    }.get(fit.state, f"NOT CERTIFIED after {fit.n_iter} iterations")
    if fit.diverging:
        state = "NO FINITE MAXIMUM FOUND"
    if fit.error_estimates is not None:
        return f"Fit of a path diagram with non-Gaussian errors: {state}"
    kind = "Full-information maximum" if fit.full_information else "Maximum"
    return f"{kind} likelihood fit of a path diagram ({fit.method}): {state}"


def fit_facts(fit: Fit) -> list[tuple[str, str]]:
    """Return label and value of what a summary shows above its tables, if available."""
    population = not math.isfinite(fit.n)
    rows = fit.moments.sample
    of_covariances = "" if fit.error_estimates is None else " of covariances"
    optima = max(district.n_optima for district in fit.certificate)
    facts = [
        ("Observations", "population" if population else f"{fit.n:.0f}"),
        ("Data", "" if rows is None or rows.plain else rows.describe()),
        ("Free parameters", str(fit.n_parameters)),
        ("Districts", "" if fit.full_information else str(len(fit.certificate))),
        ("Local maxima found (worst district)", str(optima) if optima > 1 else ""),
        (
            f"Log-likelihood{of_covariances}" + (" per observation" if population else ""),
            number(fit.loglik),
        ),
        (f"Score (penalty {fit.penalty:g})", number(fit.score, 6)),
        ("AIC", number(fit.aic)),
        ("BIC", number(fit.bic)),
        *fit.indices.facts(),
        *(() if fit.scaled is None else fit.scaled.facts()),
        ("Standard errors", "" if fit.se == "standard" else fit.se),
        ("Intervals", "" if fit.resamples is None else fit.resamples.interval),
    ]
    return [(label, value) for label, value in facts if value]


def _cells(row: Estimate) -> tuple[str, ...]:
    """Return the numbers of a row with three decimals, or more if they are small.

    The standard error, or without one the estimate, keeps two digits that are not zero.
    """
    size, digits = abs(row.estimate) if math.isnan(row.se) else row.se, _LEAST_DECIMALS
    if 0 < size < math.inf:
        digits = min(max(digits, 1 - math.floor(math.log10(size))), _MOST_DECIMALS)
    estimate, se, lower, upper = (
        number(row[name], digits) for name in ("estimate", "se", "lower", "upper")
    )
    z, p_value, std_all = number(row.z), p_cell(row.p_value, 3), number(row.std_all)
    return estimate, se, z, p_value, lower, upper, std_all
