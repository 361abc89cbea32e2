"""How a fit is shown: as lavaan's ``summary()``, in text and in HTML.

Nothing is computed here; numbers come from :class:`bowfree.Fit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bowfree.graph.text import quote
from bowfree.model.inference import Information
from bowfree.results.display import Table, TextDisplay, number, p_cell, to_html
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.model.estimate import Estimate
    from bowfree.model.fit_result import Fit


_COLUMNS = ("Estimate", "Std.Err", "z-value", "P(>|z|)", "ci.lower", "ci.upper", "Std.all")
_LEAST_DECIMALS, _MOST_DECIMALS = 3, 12
_REST = "more: print(fit.summary()) has all"


@dataclass(frozen=True, repr=False)
class FitSummary(TextDisplay, ToDict):
    """The tables of a fit, laid out as a lavaan user expects them; ``print`` shows all of it.

    Attributes
    ----------
    title : str
        How the fit was made, and how it ended.
    facts : tuple of (str, str)
        Label and value of what stands above the tables: likelihood, fit indices.
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
    """Gather what :meth:`bowfree.Fit.summary` returns."""
    estimates = fit.estimates(information=information)
    return FitSummary(
        fit_title(fit),
        tuple(fit_facts(fit)),
        tuple(e for e in estimates if e.op == "~"),
        tuple(e for e in estimates if e.op == "~~" and e.lhs != e.rhs),
        tuple(e for e in estimates if e.op == "~~" and e.lhs == e.rhs),
    )


def text_parts(summary: FitSummary, most: int | None = None) -> Iterator[str | Table]:
    """Yield the lines and tables of a summary, each table cut after `most` rows."""
    yield summary.title
    yield ""
    yield Table((), [(f"  {label}", value) for label, value in summary.facts], widths=(0, 18))
    tables = _tables(summary)
    # One width for all tables, so that their numbers stand below each other.
    names = [name for _, estimates in tables for e in estimates for name in (e.lhs, e.rhs)]
    widths = (max(10, *map(len, names)) + 6, *[8] * len(_COLUMNS))
    for heading, estimates in tables:
        rows: list[tuple[str, ...]] = []
        previous = None
        for e in estimates[:most]:
            if heading == "Variances":
                rows.append((f"  {e.rhs}", *_cells(e)))
                continue
            if e.lhs != previous:
                rows.append((f"  {e.lhs} {e.op}", *[""] * len(_COLUMNS)))
                previous = e.lhs
            rows.append((f"    {e.rhs}", *_cells(e)))
        yield ""
        yield f"{heading}:"
        yield Table(("", *_COLUMNS), rows, widths=widths)
        if most is not None and len(estimates) > most:
            yield f"... and {len(estimates) - most:,} {_REST}"


def html_parts(summary: FitSummary, most: int | None = None) -> Iterator[str | Table]:
    """Yield the same for a page, which does not indent: every row has its whole formula."""
    yield summary.title
    yield Table((), summary.facts)
    for heading, estimates in _tables(summary):
        rows = [(f"{quote(e.lhs)} {e.op} {quote(e.rhs)}", *_cells(e)) for e in estimates]
        yield Table((heading, *_COLUMNS), rows, most=most, rest=_REST)


def _tables(summary: FitSummary) -> list[tuple[str, tuple[Estimate, ...]]]:
    tables = [
        ("Regressions", summary.regressions),
        ("Covariances", summary.covariances),
        ("Variances", summary.variances),
    ]
    return [(heading, estimates) for heading, estimates in tables if estimates]


def fit_title(fit: Fit) -> str:
    """Say how the fit was made, and how it ended."""
    if fit.diverging:
        state = "NO FINITE MAXIMUM FOUND"
    elif fit.n_iter == 0:
        state = "closed form"
    elif fit.converged:
        state = f"converged after {fit.n_iter} iterations"
    else:
        state = f"NOT CERTIFIED after {fit.n_iter} iterations"
    kind = "Full-information maximum" if fit.full_information else "Maximum"
    return f"{kind} likelihood fit of a bow-free path diagram ({fit.method}): {state}"


def fit_facts(fit: Fit) -> list[tuple[str, str]]:
    """Return label and value of what stands above the tables; what is not available is left out."""
    population = not math.isfinite(fit.n)
    rows = fit.moments.sample
    optima = max(district.n_optima for district in fit.certificate)
    facts = [
        ("Observations", "population" if population else f"{fit.n:.0f}"),
        ("Data", "" if rows is None or rows.plain else rows.says()),
        ("Free parameters", str(fit.n_parameters)),
        ("Districts", "" if fit.full_information else str(len(fit.certificate))),
        ("Local maxima met (worst district)", str(optima) if optima > 1 else ""),
        ("Log-likelihood" + (" per observation" if population else ""), number(fit.loglik)),
        (f"Score (penalty {fit.penalty:g})", number(fit.score, 6)),
        ("AIC", number(fit.aic)),
        ("BIC", number(fit.bic)),
        *fit.indices.facts(),
        *(() if fit.scaled is None else fit.scaled.facts()),
        ("Standard errors", "" if fit.se == "standard" else fit.se),
    ]
    return [(label, value) for label, value in facts if value]


def _cells(estimate: Estimate) -> tuple[str, ...]:
    digits = _decimals(estimate)
    return (
        *(number(value, digits) for value in (estimate.estimate, estimate.se)),
        number(estimate.z),
        p_cell(estimate.p_value, 3),
        *(number(value, digits) for value in estimate.ci()),
        number(estimate.std_all),
    )


def _decimals(estimate: Estimate) -> int:
    """Return the decimals of a row: three, or more where the unit of its numbers is small.

    The standard error, or without one the estimate, keeps two digits that are not zero.
    """
    size = abs(estimate.estimate) if math.isnan(estimate.se) else estimate.se
    if not 0 < size < math.inf:
        return _LEAST_DECIMALS
    return min(max(_LEAST_DECIMALS, 1 - math.floor(math.log10(size))), _MOST_DECIMALS)
