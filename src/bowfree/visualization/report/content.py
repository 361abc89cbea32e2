"""The values that the template of the report is rendered with."""

from __future__ import annotations

import json
import math
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from bowfree import __version__
from bowfree.data.diagnostics import diagnose_if_rows, has_rows
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments, with_columns
from bowfree.data.sample import NonGaussianRows
from bowfree.effects.bounds import EffectBounds, quick_bounds
from bowfree.effects.experiment_design import design
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.classes import STORED_MEMBERS, class_by_components
from bowfree.equivalence.exclusion import higher_moments
from bowfree.errors import BowfreeError, FitWarning, TimeIsUp
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import fit_facts, fit_title
from bowfree.model.fitting import fit_quietly
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import count, p_text
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.result import SearchResult
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.selection import StablePairs
from bowfree.visualization.report import tables
from bowfree.visualization.report.graph_view import edge_views, graph_view, strongest_edges
from bowfree.visualization.score_charts import steps_chart, time_chart
from bowfree.visualization.svg import printable
from bowfree.visualization.warnings import as_sentence, describe_class, result_warnings

AVERAGE_SECONDS = 40.0  # time limit for averages that were not requested
MAX_AVERAGED = 12  # variables of a search that is averaged by default
_MAX_MEMBERS = 50_000  # of a component of the class, for bounds of effects
# A limit on the number of members, not on time, so that the report is the same on every machine:
# at most about four seconds, whatever the number of variables.
_CLASS_WORK = 50_000_000
_MAX_DESIGN = 5_000  # members of a component, for the design of experiments
_MAX_MAP = 40  # variables in the map of residuals


@dataclass(frozen=True, eq=False)
class Inputs:
    """Results that are passed to :func:`bowfree.report.render` and need not be computed again."""

    data: Any = None
    equivalence_class: EquivalenceClass | None = None
    bounds: EffectBounds | None = None
    average: AveragedEffects | None = None
    bootstrap: BootstrapResult | None = None
    stability: StablePairs | None = None
    settings: Mapping[str, Any] | None = None

    def check(self, *known: tuple[str, ...]) -> None:
        """Raise an error if an input has the wrong type, or is about other variables."""
        types: dict[str, type] = {
            "equivalence_class": EquivalenceClass,
            "bounds": EffectBounds,
            "average": AveragedEffects,
            "bootstrap": BootstrapResult,
            "stability": StablePairs,
            "settings": Mapping,
        }
        for field, kind in types.items():
            value = getattr(self, field)
            if value is not None and not isinstance(value, kind):
                raise BowfreeError(f"{field} is {short_repr(value)}: must be a {kind.__name__}")
            if getattr(value, "names", known[0]) not in known and field != "settings":
                raise BowfreeError(f"{field} is about other variables than the result")


def try_average(
    search: SearchResult, *, max_nodes: int, time_limit: float | None, **budget: Any
) -> AveragedEffects | str:
    """Average over all probable graphs within the time limit, or return why that is not possible.

    The report and ``bowfree learn`` show averages where they take seconds. Searches that ended
    early and those over more than `max_nodes` variables are not averaged. The reason is empty if
    there is nothing to average.
    """
    d = len(search.graph.nodes)
    if d < 2:
        return ""
    if not search.complete:
        return "the search was ended early"
    if d > max_nodes:
        return f"with more than {max_nodes} variables they take minutes"
    try:
        return averaged_effects(search, **{"rng": 0, **budget}, time_limit=time_limit)
    except TimeIsUp:
        return f"they take longer than {time_limit:g} s"
    except BowfreeError as error:
        return str(error)


def report_content(
    result: SearchResult | ExhaustiveResult | Fit, inputs: Inputs, average_time_limit: float | None
) -> dict[str, Any]:
    """Return the variables of the template."""
    if not isinstance(result, Fit | SearchResult | ExhaustiveResult):
        raise BowfreeError(
            f"no report on a {type(result).__name__}: pass the result of a search, or the Fit of a "
            "graph"
        )
    search = result if isinstance(result, SearchResult) else None
    fit = result if isinstance(result, Fit) else fit_quietly(result)
    graph, moments = fit.graph, fit.moments
    if not isinstance(result, Fit):
        graph, moments = result.graph, with_columns(result.moments, fit.moments)
    inputs.check(graph.nodes, fit.graph.nodes)
    space = SearchSpace() if isinstance(result, Fit) else result.space
    if inputs.equivalence_class is None:
        members = class_by_components(result, min(STORED_MEMBERS, _CLASS_WORK // len(graph) ** 2))
    else:
        members = inputs.equivalence_class.permitted_by(space)
    if graph not in members:
        raise BowfreeError("equivalence_class does not contain the graph of the result")
    summary = members.summary()
    with warnings.catch_warnings():
        # These are among the warnings of the page.
        warnings.simplefilter("ignore", FitWarning)
        bounds = inputs.bounds
        if bounds is None:
            bounds = quick_bounds(members, moments, _MAX_MEMBERS)
        estimates = fit.estimates()
        effects = fit.total_effects()
    attempt: AveragedEffects | str = inputs.average or ""
    if inputs.average is None and search is not None:
        attempt = try_average(search, max_nodes=MAX_AVERAGED, time_limit=average_time_limit)
    average = None if isinstance(attempt, str) else attempt
    parts = [
        *([] if average is None else [tables.average_part(average)]),
        *([] if inputs.bootstrap is None else [tables.bootstrap_part(inputs.bootstrap)]),
        *([] if inputs.stability is None else [tables.stability_part(inputs.stability)]),
    ]
    checks = None
    if not isinstance(moments, BlockMoments):
        holdout = None if search is None else search.holdout
        checks = diagnose_if_rows(moments, inputs.data, holdout)
    edges = edge_views(fit.graph, estimates, summary, moments)
    drawn = strongest_edges(graph, edges)
    view = graph_view(
        graph,
        [edge.between_nodes() for edge in drawn],
        [tables.edge_tip(edge, average) for edge in drawn],
        [tables.node_note(fit, graph, moments, name) for name in graph.nodes],
    )
    exclusion, sentences = higher_moments(members)
    evidence = None
    if search is not None and isinstance(search.moments.sample, NonGaussianRows):
        evidence = search.mark_evidence()
    varying = [edge for edge in summary.edges if not edge.invariant]
    plan = None
    if varying and members.method != "empirical":
        plan = design(members, limit=_MAX_DESIGN)
    # With interventions there is no single covariance matrix to take residuals from.
    has_targets = isinstance(fit.moments, JointMoments) and bool(fit.moments.targets)
    runs = () if search is None else search.runs
    return {
        "count": count,
        "p_text": p_text,
        "fit": fit,
        "n": "population" if math.isinf(fit.n) else f"{fit.n:.0f} observations",
        "graph": graph,
        "graph_title": "Graph" if isinstance(result, Fit) else "Best graph",
        "view": view,
        "columns": [printable(name) for name in fit.graph.nodes],
        "score": fit.score if isinstance(result, Fit) else result.score,
        "caption": _caption(fit, result, summary),
        "other_score": "" if isinstance(result, Fit) else _other_score(result, fit),
        "fit_title": fit_title(fit),
        "facts": fit_facts(fit),
        "warnings": [
            *result_warnings(fit, estimates, summary, search=search, bounds=bounds, checks=checks),
            *(warning for part in parts for warning in part.warnings),
        ],
        "uncertainty": parts,
        "averaged": average is not None,
        "not_averaged": attempt if average is None else "",
        "class_size": f"{summary.n_members:,}" + ("" if summary.complete else " or more"),
        "class_sentence": as_sentence(describe_class(members, space, moments)),
        "class_summary": summary,
        "higher_moments": list(map(as_sentence, sentences)),
        "remaining": None if exclusion is None else tables.exclusion_table(exclusion),
        "varying": varying,
        "checks": checks,
        "unchecked": _reason_unchecked(fit, moments),
        "missing": None
        if fit.moments.missing_values is None
        else tables.missing_map(fit.moments.missing_values),
        "variables": tables.variable_table(fit, checks),
        "edges": tables.edge_table(edges, summary, average, inputs.bootstrap, evidence),
        "classes": tables.class_table(summary),
        "design": plan,
        "experiments": None if plan is None else tables.design_table(plan),
        "effects": tables.effect_table(effects, bounds, average),
        "bounds": bounds,
        "conditions": tables.condition_table(fit) if isinstance(fit, JointFit) else None,
        "sharing": str(fit.sharing_test()) if isinstance(fit, JointFit) else None,
        "residuals": None if has_targets else tables.residual_table(fit),
        "residual_map": None
        if has_targets or len(fit.graph) > _MAX_MAP
        else fit.residual_correlations().tolist(),
        "runs": None if search is None else tables.run_table(search),
        "charts": [
            steps_chart([run.path for run in runs]),
            time_chart([max(run.path) for run in runs], [run.seconds for run in runs]),
        ]
        if runs
        else [],
        "search": search,
        "settings": _settings(fit, search, inputs.settings),
        "versions": [
            ("bowfree", __version__),
            ("Python", platform.python_version()),
            ("numpy", version("numpy")),
            ("scipy", version("scipy")),
            ("platform", f"{platform.system()} {platform.machine()}"),
        ],
        "download": _download(fit, summary),
    }


def _reason_unchecked(fit: Fit, moments: Moments) -> str:
    """Return why normality and outliers were not checked, where they were not."""
    reason = "Only a covariance matrix was passed"
    if isinstance(fit, JointFit):
        reason = "The data consist of several conditions"
    if fit.moments.sample is not None:
        reason = "The rows were not passed to the report"
        if not has_rows(fit.moments):
            reason = f"The data are {fit.moments.sample.describe()}"
    if isinstance(moments, BlockMoments):
        reason = "Some variables are nominal"
    return f"{reason}, so normality and outliers were not checked."


def _caption(fit: Fit, result: SearchResult | ExhaustiveResult | Fit, summary: ClassSummary) -> str:
    """Return score, number of observations, test and caveats, for the picture of the graph."""
    score = fit.score if isinstance(result, Fit) else result.score
    n = "population" if math.isinf(fit.n) else f"n = {fit.n:,.0f}"
    test = "" if math.isnan(fit.valid_test.p_value) else f"; {fit.valid_test}"
    more = "" if summary.complete else " or more"
    found = [f"{n}; score {score:.4f} (penalty {fit.penalty:g}){test}."]
    if summary.n_members > 1:
        alike = "have these covariances" if fit.error_estimates else "fit all data equally well"
        found.append(f"{summary.n_members:,}{more} graphs {alike}.")
    if isinstance(result, SearchResult) and result.proof:
        found.append(as_sentence(result.proof))
    if isinstance(result, SearchResult) and result.holdout is None:
        found.append("The graph was chosen on the same data.")
    return " ".join(found)


def _other_score(result: SearchResult | ExhaustiveResult, fit: Fit) -> str:
    """Return why the score of the fit differs from that of the search, where it does."""
    if abs(result.score - fit.score) < 1e-9 * abs(fit.score):
        return ""
    return (
        f"The fit and its score ({fit.score:.4f}) use the holdout sample; the search, and the score "
        f"at the top ({result.score:.4f}), use the other observations."
    )


def _settings(
    fit: Fit, search: SearchResult | None, more: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    settings: dict[str, Any] = {
        "graph": str(fit.graph),
        "n": "inf" if math.isinf(fit.n) else f"{fit.n:.0f}",
        "penalty": f"{fit.penalty:g}",
        "method of the fit": fit.method,
    }
    if search is not None:
        kinds = [run.strategy for run in search.runs]
        settings["runs"] = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        settings["score of the search"] = repr(float(search.score))
        settings["graphs in the pool"] = len(search.pool)
        knowledge = {k: v for k, v in search.space.knowledge.to_dict().items() if v}
        settings["knowledge"] = json.dumps(knowledge, ensure_ascii=False) if knowledge else "none"
        settings |= search.settings
    rows = fit.moments.sample
    if rows is not None and not rows.plain:
        settings["data"] = rows.describe()
    if isinstance(rows, IncompleteRows):
        settings["missing"] = rows.approach
    if (fit.se, fit.test) != ("standard", "standard"):
        settings["standard errors, test"] = f"{fit.se}, {fit.test}"
    settings |= more or {}
    return [
        (str(name), "default" if value is None else printable(str(value)))
        for name, value in settings.items()
    ]


def _download(fit: Fit, summary: ClassSummary) -> dict[str, Any]:
    """Return the fit as JSON without its matrices, whose entries are in the table of estimates."""
    content = fit.to_dict()
    del content["B"], content["Omega"]
    return content | {"graph": str(fit.graph), "class": summary.to_dict()}
