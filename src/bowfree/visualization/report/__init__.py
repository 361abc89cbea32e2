"""A report in one HTML file: data, graph, equivalence class, effects, fit, search, settings.

``result.report("out.html")`` writes it, and :func:`render` returns it. The file needs no network and
no other file, has a light and a dark theme, and can be printed. The same result gives the same
file, byte for byte: it contains no date unless `note` does.

:mod:`~bowfree.visualization.report.content` collects the variables of the template ``page.html``;
:mod:`~bowfree.visualization.report.tables` and :mod:`~bowfree.visualization.report.graph_view` are its
parts. The template escapes the names of
variables, and the script writes text, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowfree.effects.bounds import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.model.fit_result import Fit
from bowfree.parameters import public
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.selection import StablePairs
from bowfree.visualization.report.content import AVERAGE_SECONDS, Inputs, report_content
from bowfree.visualization.svg import curves_script

__all__ = ["render"]

TITLE = "Causal graph with hidden confounders"


@public
def render(
    result: SearchResult | ExhaustiveResult | Fit,
    *,
    data: Any = None,
    equivalence_class: EquivalenceClass | None = None,
    bounds: EffectBounds | None = None,
    average: AveragedEffects | None = None,
    bootstrap: BootstrapResult | None = None,
    stability: StablePairs | None = None,
    settings: Mapping[str, Any] | None = None,
    average_time_limit: float | None = AVERAGE_SECONDS,
    title: str = TITLE,
    note: str = "",
) -> str:
    """Return the report as an HTML string.

    Parameters
    ----------
    result : SearchResult, ExhaustiveResult or Fit
        The result to report on.
    data : array_like of shape (n, d) or data frame, optional
        The rows, for checks of normality and outliers; a result contains only their moments.

    Returns
    -------
    str

    Examples
    --------
    >>> import bowfree as bf
    >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1, 0.5], [0.5, 1]], n=100)
    >>> "<h1>Two variables</h1>" in bf.report.render(fit, title="Two variables")
    True
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bowfree.visualization.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    compact = {"allow_nan": False, "ensure_ascii": False, "separators": (",", ":")}
    environment.policies["json.dumps_kwargs"] = compact
    inputs = Inputs(data, equivalence_class, bounds, average, bootstrap, stability, settings)
    folder = Path(__file__).parent
    html: str = environment.get_template("page.html").render(
        **report_content(result, inputs, average_time_limit),
        title=str(title),
        note=str(note),
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=curves_script() + (folder / "script.js").read_text(encoding="utf-8"),
    )
    return html
