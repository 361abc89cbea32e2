"""What the page is rendered with, gathered from a result; nothing is estimated here.

The tables are in :mod:`bowfree.visualization.report.tables`, the warnings in :mod:`bowfree.visualization.report.warnings`.
"""

from __future__ import annotations

import json
import math
import platform
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from bowfree import __version__
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.effects.bounds import prompt_bounds
from bowfree.effects.design_result import Design
from bowfree.effects.experiment_design import design
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.classes import STORED_MEMBERS, class_by_components
from bowfree.errors import BowfreeError, FitWarning
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import fit_facts, fit_title
from bowfree.model.fitting import fit_quietly
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import p_text
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.result import SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.stability import StablePairs
from bowfree.visualization.report.averages import Unasked, unasked_average
from bowfree.visualization.report.cells import counted
from bowfree.visualization.report.certainty import Certainty, averaged, halved, resampled
from bowfree.visualization.report.data_checks import checkable, checks_if_rows
from bowfree.visualization.report.graph_view import graph_view
from bowfree.visualization.report.inputs import AtHand
from bowfree.visualization.report.missing_map import gap_map
from bowfree.visualization.report.score_svg import steps_svg, time_svg
from bowfree.visualization.report.tables import (
    class_table,
    condition_table,
    design_table,
    edge_rows,
    edge_table,
    edge_tip,
    effect_table,
    node_note,
    residual_map,
    residual_table,
    run_table,
    variable_table,
)
from bowfree.visualization.report.warnings import cautions, in_doubt
from bowfree.visualization.svg import printable

MAX_MEMBERS = 50_000  # of a component of the class that effects are bounded over
# A limit on the members listed, not on time, so that the report is the same on every machine: about
# four seconds at worst, whatever the number of variables.
_CLASS_WORK = 50_000_000
MAX_AVERAGED = 12  # variables, of a search whose averages are worked out unasked: seconds
_MAX_DESIGN = 5_000  # members of a component that experiments are tried on
_MAX_MAP = 40  # variables in the map of residuals


def gather(
    result: SearchResult | ExhaustiveResult | Fit, given: AtHand, average_time_limit: float | None
) -> dict[str, Any]:
    """Return all that the template needs; averages that are not at hand have a time limit."""
    if not isinstance(result, Fit | SearchResult | ExhaustiveResult):
        raise BowfreeError(
            f"no report on a {type(result).__name__}: give the result of a search, or fit a graph "
            "and give the Fit"
        )
    search = result if isinstance(result, SearchResult) else None
    fit = result if isinstance(result, Fit) else fit_quietly(result)
    graph = fit.graph
    runs = () if search is None else search.runs
    space = SearchSpace() if isinstance(result, Fit) else result.space
    given.check_variables(graph)
    if given.equivalence_class is None:
        members = class_by_components(result, min(STORED_MEMBERS, _CLASS_WORK // len(graph) ** 2))
    else:
        members = given.equivalence_class.permitted_by(space)
    if graph not in members:
        raise BowfreeError("equivalence_class does not contain the graph of the result")
    summary = members.summary()
    with warnings.catch_warnings():
        # What these warn of stands among the cautions of the page.
        warnings.simplefilter("ignore", FitWarning)
        bounds = given.bounds
        if bounds is None:
            bounds = prompt_bounds(members, fit.moments, MAX_MEMBERS)
        estimates = fit.estimates()
        effects = fit.total_effects()
    found = Unasked(given.average)
    if given.average is None and search is not None:
        found = unasked_average(
            search, most_nodes=MAX_AVERAGED, rng=0, time_limit=average_time_limit
        )
    certainty = _certainty(found.average, given.bootstrap, given.stability)
    edges = edge_rows(fit, estimates, summary)
    tried = _experiments(members, summary)
    checks = checks_if_rows(fit, given.data, None if search is None else search.holdout)
    set_by_hand = isinstance(fit.moments, JointMoments) and bool(fit.moments.targets)
    notes = [node_note(fit, i) for i in range(len(graph))]
    view = graph_view(graph, edges, [edge_tip(row) for row in edges], notes)
    return {
        "fit": fit,
        "n": "population" if math.isinf(fit.n) else f"{fit.n:.0f}",
        "graph": graph,
        "view": view,
        "view_json": _script_json(view.script),
        "state": fit_title(fit),
        "facts": fit_facts(fit),
        "cautions": [
            *cautions(fit, estimates, summary, search=search, bounds=bounds, checks=checks),
            *(doubt for part in certainty for doubt in part.doubts),
        ],
        "certainty": certainty,
        "averaged": found.average is not None,
        "not_averaged": found.why_not,
        "in_doubt": in_doubt(fit, search),
        "class_size": f"{summary.n_members:,}" + ("" if summary.complete else " or more"),
        "class_summary": summary,
        "undecided": [edge for edge in summary.edges if not edge.invariant],
        "p_value": p_text(fit.p_value, 3),
        "n_variables": counted(len(graph), "variable"),
        "n_causes": counted(graph.n_directed, "direct effect"),
        "n_confounders": counted(graph.n_bidirected, "hidden common cause"),
        "n_invariant": sum(edge.invariant for edge in summary.edges),
        "n_known_ends": sum(
            (edge.end_at_a != "circle") + (edge.end_at_b != "circle") for edge in summary.edges
        ),
        "class_noun": {"dag": "DAG", "bidirected": "bidirected graph"}.get(
            space.graph_class, "graph"
        ),
        "by_knowledge": space.knowledge != Knowledge(),
        "checks": checks,
        "unchecked": _unchecked(fit),
        "gaps": None if fit.moments.gaps is None else gap_map(fit.moments.gaps),
        "variables": variable_table(fit, checks),
        "edges": edge_table(graph, edges, summary, given.bootstrap),
        "classes": class_table(summary),
        "design": tried,
        "experiments": None if tried is None else design_table(tried),
        "effects": effect_table(effects, bounds),
        "bounds": bounds,
        "conditions": condition_table(fit) if isinstance(fit, JointFit) else None,
        "sharing": str(fit.sharing_test()) if isinstance(fit, JointFit) else None,
        # With targets there is no one matrix: the conditions say where each fits worst.
        "residuals": None if set_by_hand else residual_table(fit),
        "residual_map": None if set_by_hand or len(graph) > _MAX_MAP else residual_map(fit),
        "runs": run_table(search) if search is not None else None,
        "steps_svg": Markup(steps_svg([run.path for run in runs])) if runs else None,
        "time_svg": Markup(time_svg([max(r.path) for r in runs], [r.seconds for r in runs]))
        if runs
        else None,
        "search": search,
        "settings": _settings(fit, search, given.settings),
        "versions": _versions(),
        "download": _script_json(_download(fit, summary)),
    }


def _certainty(
    average: AveragedEffects | None,
    bootstrap: BootstrapResult | None,
    stable: StablePairs | None,
) -> list[Certainty]:
    """Return what is known beyond the best graph."""
    parts = []
    if average is not None:
        parts.append(averaged(average))
    if bootstrap is not None:
        parts.append(resampled(bootstrap))
    if stable is not None:
        parts.append(halved(stable))
    return parts


def _experiments(members: EquivalenceClass, summary: ClassSummary) -> Design | None:
    """Return what experiments would tell, if something is open that they could."""
    if members.method == "empirical" or all(edge.invariant for edge in summary.edges):
        return None
    return design(members, limit=_MAX_DESIGN)


def _unchecked(fit: Fit) -> str:
    """Say why normality and outliers have not been looked at, where they have not."""
    why = "Only the covariance matrix was given"
    if isinstance(fit, JointFit):
        why = "The data are those of several conditions"
    if fit.moments.sample is not None:
        why = "The rows were not given to the report"
        if not checkable(fit.moments):
            why = f"The data are {fit.moments.sample.says()}"
    return f"{why}, so normality and outliers have not been looked at."


def _settings(
    fit: Fit, search: SearchResult | None, given: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    listed: dict[str, Any] = {
        "graph": str(fit.graph),
        "n": "inf" if math.isinf(fit.n) else f"{fit.n:.0f}",
        "penalty": f"{fit.penalty:g}",
        "method of the fit": fit.method,
    }
    if search is not None:
        kinds = [run.strategy for run in search.runs]
        listed["runs"] = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        listed["score of the search"] = repr(float(search.score))
        listed["graphs in the pool"] = len(search.pool)
        knowledge = {k: v for k, v in search.space.knowledge.to_dict().items() if v}
        listed["knowledge"] = json.dumps(knowledge, ensure_ascii=False) if knowledge else "none"
        listed |= search.settings
    rows = fit.moments.sample
    if rows is not None and not rows.plain:
        listed["data"] = rows.says()
    if isinstance(rows, IncompleteRows):
        listed["missing"] = rows.approach
    if (fit.se, fit.test) != ("standard", "standard"):
        listed["standard errors, test"] = f"{fit.se}, {fit.test}"
    listed |= given or {}
    return [
        (str(name), "default" if value is None else printable(str(value)))
        for name, value in listed.items()
    ]


def _versions() -> list[tuple[str, str]]:
    from importlib.metadata import version

    packages = [(name, version(name)) for name in ("numpy", "scipy")]
    return [
        ("bowfree", __version__),
        ("Python", platform.python_version()),
        *packages,
        ("platform", f"{platform.system()} {platform.machine()}"),
    ]


def _download(fit: Fit, summary: ClassSummary) -> dict[str, Any]:
    """Return the fit as JSON, without the matrices: the table of estimates has their entries."""
    content = fit.to_dict()
    del content["B"], content["Omega"]
    content["graph"] = str(fit.graph)
    content["class"] = summary.to_dict()
    return content


def _script_json(content: Mapping[str, Any] | Iterable[Any]) -> Markup:
    """Write JSON for a script element, where no name can end the element or open a comment."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
