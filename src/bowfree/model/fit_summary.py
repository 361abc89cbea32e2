"""How a fit is shown: text as lavaan's ``summary()``, and the same tables as HTML.

Nothing is computed here; numbers come from :class:`bowfree.Fit`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bowfree.model.inference import Information

if TYPE_CHECKING:
    from bowfree.model.fit_result import Estimate, Fit

__all__ = ["html_summary", "text_summary"]

_HEADINGS = ("Regressions", "Covariances", "Variances")
_COLUMNS = ("Estimate", "Std.Err", "z-value", "P(>|z|)", "Std.all")


def text_summary(fit: Fit, information: Information) -> str:
    """Return the header, the fit indices, and one table each for ``~``, ``~~`` and variances."""
    facts = fit_facts(fit)
    width = max(len(label) for label, _ in facts)
    lines = [fit_title(fit), ""]
    lines += [f"  {label:<{width}}  {value:>18}" for label, value in facts]
    tables = _tables(fit, information)
    names = [row.rhs for rows in tables for row in rows] + [row.lhs for row in tables[0]]
    width = max(max(len(name) for name in names), 10) + 6
    for heading, rows in zip(_HEADINGS, tables, strict=True):
        if not rows:
            continue
        columns = "".join(f"{column:>10}" for column in _COLUMNS)
        lines += ["", f"{heading}:", f"{'':{width}}{columns}"]
        previous = None
        for row in rows:
            if heading != "Variances" and row.lhs != previous:
                lines.append(f"  {row.lhs} {row.op}")
                previous = row.lhs
            indent = 4 if heading != "Variances" else 2
            cells = "".join(f"{cell:>10}" for cell in _cells(row))
            lines.append(f"{'':{indent}}{row.rhs:<{width - indent}}{cells}")
    return "\n".join(lines)


def html_summary(fit: Fit) -> str:
    """Return the same content as tables for a notebook."""
    from jinja2 import Template

    tables = [
        (heading, [(f"{row.lhs} {row.op} {row.rhs}", _cells(row)) for row in rows])
        for heading, rows in zip(_HEADINGS, _tables(fit, "expected"), strict=True)
        if rows
    ]
    html: str = Template(_HTML, autoescape=True, trim_blocks=True).render(
        title=fit_title(fit), facts=fit_facts(fit), columns=_COLUMNS, tables=tables
    )
    return html


def fit_title(fit: Fit) -> str:
    if fit.diverging:
        state = "NO FINITE MAXIMUM FOUND"
    elif fit.n_iter == 0:
        state = "closed form"
    elif fit.converged:
        state = f"converged after {fit.n_iter} iterations"
    else:
        state = f"NOT CERTIFIED after {fit.n_iter} iterations"
    return f"Maximum likelihood fit of a bow-free path diagram ({fit.method}): {state}"


def fit_facts(fit: Fit) -> list[tuple[str, str]]:
    """Return label and value of what stands above the tables; what is not available is left out."""
    population = not math.isfinite(fit.n)
    indices = fit.indices
    interval = f"{indices.rmsea_lower:.3f} – {indices.rmsea_upper:.3f}"
    optima = max(district.n_optima for district in fit.certificate)
    facts = [
        ("Observations", "population" if population else f"{fit.n:.0f}"),
        ("Free parameters", str(fit.n_parameters)),
        ("Districts", str(len(fit.certificate))),
        ("Local maxima met (worst district)", str(optima) if optima > 1 else ""),
        ("Log-likelihood" + (" per observation" if population else ""), _number(fit.loglik)),
        (f"Score (penalty {fit.penalty:g})", _number(fit.score, 6)),
        ("AIC", _number(fit.aic)),
        ("BIC", _number(fit.bic)),
        ("Chi-square", _number(fit.chi2)),
        ("Degrees of freedom", str(fit.df)),
        ("P-value (chi-square)", _number(fit.p_value)),
        ("CFI", _number(fit.cfi)),
        ("TLI", _number(fit.tli)),
        ("RMSEA", _number(fit.rmsea)),
        ("RMSEA 90 % interval", "" if math.isnan(indices.rmsea_lower) else interval),
        ("P-value (RMSEA <= 0.05)", _number(indices.rmsea_p_close)),
        ("SRMR", _number(fit.srmr)),
    ]
    return [(label, value) for label, value in facts if value]


def _tables(
    fit: Fit, information: Information
) -> tuple[list[Estimate], list[Estimate], list[Estimate]]:
    estimates = fit.estimates(information=information)
    return (
        [row for row in estimates if row.op == "~"],
        [row for row in estimates if row.op == "~~" and row.lhs != row.rhs],
        [row for row in estimates if row.op == "~~" and row.lhs == row.rhs],
    )


def _cells(row: Estimate) -> list[str]:
    numbers = (row.estimate, row.se, row.z, row.p_value, row.std_all)
    return [_number(number) for number in numbers]


def _number(value: float, digits: int = 3) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


_HTML = """\
<div class="bowfree-fit">
<p><b>{{ title }}</b></p>
<table>
{% for label, value in facts %}
<tr><td style="text-align:left">{{ label }}</td><td>{{ value }}</td></tr>
{% endfor %}
</table>
{% for heading, rows in tables %}
<table>
<thead><tr><th style="text-align:left">{{ heading }}</th>
{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr></thead>
<tbody>
{% for name, cells in rows %}
<tr><td style="text-align:left"><code>{{ name }}</code></td>
{% for cell in cells %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
</div>
"""
