"""The numbers of the report, gathered from a result; nothing is estimated here.

`gather` returns what the template is rendered with. A cell of a table is a `Cell`: the text to show
and the value to sort by, so that sorting does not depend on rounding.
"""

from __future__ import annotations

import json
import math
import platform
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from bowfree import __version__
from bowfree.effects.bounds import effect_bounds
from bowfree.effects.effect_bounds import EffectBounds
from bowfree.equivalence.classes import (
    STORED_MEMBERS,
    ClassSummary,
    EquivalenceClass,
    class_by_components,
)
from bowfree.errors import BowfreeError, FitWarning
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Estimate, Fit
from bowfree.model.fit_summary import fit_facts, fit_title
from bowfree.model.inference import TotalEffects
from bowfree.pictures.svg import printable
from bowfree.report.data_checks import DataChecks, check_data
from bowfree.report.graph_view import EdgeRow, class_edges, graph_view
from bowfree.report.score_svg import steps_svg, time_svg
from bowfree.search.result import SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace

__all__ = ["Cell", "Table", "gather"]

Floats = npt.NDArray[np.float64]

MAX_ROWS = 600  # of one table: a page with more is slow to sort and too long to read
MAX_MEMBERS = 50_000  # of a component of the class that effects are bounded over
# A limit on the members listed, not on time, so that the report is the same on every machine: about
# ten seconds at worst, whatever the number of variables.
_CLASS_WORK = 100_000_000
_MAX_MAP = 40  # variables in the map of residuals


class Cell(NamedTuple):
    """Text of a cell and the value it is sorted by; text sorts as text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A sortable table.

    Attributes
    ----------
    name : str
        Its id in the page.
    columns : tuple of tuple
        Heading and explanation of each column.
    rows : list of list of Cell
        The cells.
    left_out : int
        Rows that were cut off.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: list[list[Cell]]
    left_out: int = 0


def gather(
    result: SearchResult | Fit,
    *,
    data: Any = None,
    members: EquivalenceClass | None = None,
    bounds: EffectBounds | None = None,
    bootstrap: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all that the template needs; the parameters are those of :func:`render`."""
    if not isinstance(result, Fit | SearchResult):
        raise BowfreeError(
            f"no report on a {type(result).__name__}: give a SearchResult, or fit a graph and give "
            "the Fit"
        )
    search = None if isinstance(result, Fit) else result
    fit = result if isinstance(result, Fit) else result.fit()
    graph = fit.graph
    runs = () if search is None else search.runs
    space = SearchSpace() if search is None else search.space
    if members is None:
        members = class_by_components(result, min(STORED_MEMBERS, _CLASS_WORK // len(graph) ** 2))
    elif search is not None:
        members = members.permitted_by(space)
    if graph not in members:
        raise BowfreeError("the class given as `members` does not hold the graph of the result")
    summary = members.summary()
    with warnings.catch_warnings():
        # What these warn of stands among the cautions of the page.
        warnings.simplefilter("ignore", FitWarning)
        if bounds is None:
            bounds = effect_bounds(members, cov=fit.S, n=fit.n, ddof=0, limit=MAX_MEMBERS)
        estimates = fit.estimates()
        effects = fit.total_effects()
    edges = _edge_rows(fit, estimates, summary)
    checks = None if data is None else check_data(fit, data)
    notes = [_node_note(fit, i) for i in range(len(graph))]
    view = graph_view(graph, edges, [_edge_tip(row) for row in edges], notes)
    return {
        "fit": fit,
        "n": "population" if math.isinf(fit.n) else f"{fit.n:.0f}",
        "graph": graph,
        "view": view,
        "view_json": _script_json(view.script),
        "state": fit_title(fit),
        "facts": fit_facts(fit),
        "cautions": _cautions(
            fit, estimates, summary, bounds, checks, search is None or search.complete
        ),
        "class_size": f"{summary.n_members:,}" + ("" if summary.complete else " or more"),
        "class_summary": summary,
        "n_causes": _counted(graph.n_directed, "direct effect"),
        "n_confounders": _counted(graph.n_bidirected, "hidden common cause"),
        "n_invariant": sum(edge.invariant for edge in summary.edges),
        "n_known_ends": sum(
            (edge.end_at_a != "circle") + (edge.end_at_b != "circle") for edge in summary.edges
        ),
        "class_noun": {"dag": "DAG", "bidirected": "bidirected graph"}.get(
            space.graph_class, "graph"
        ),
        "by_knowledge": space.knowledge != Knowledge(),
        "checks": checks,
        "variables": _variable_table(fit, checks),
        "edges": _edge_table(graph, edges, summary, bootstrap),
        "classes": _class_table(summary),
        "effects": _effect_table(effects, bounds),
        "bounds": bounds,
        "residuals": _residual_table(fit),
        "residual_map": _residual_map(fit) if len(graph) <= _MAX_MAP else None,
        "runs": _run_table(search) if search is not None else None,
        "steps_svg": Markup(steps_svg([run.path for run in runs])) if runs else None,
        "time_svg": Markup(time_svg([max(r.path) for r in runs], [r.seconds for r in runs]))
        if runs
        else None,
        "search": search,
        "settings": _settings(fit, search, settings),
        "versions": _versions(),
        "download": _script_json(_download(fit, summary)),
    }


# --- cautions -------------------------------------------------------------------------------------


def _cautions(
    fit: Fit,
    estimates: Sequence[Estimate],
    summary: ClassSummary,
    bounds: EffectBounds,
    checks: DataChecks | None,
    complete: bool,
) -> list[str]:
    found = []
    for district in fit.certificate:
        where = f"District {{{', '.join(district.nodes)}}}"
        if district.diverging:
            found.append(f"{where}: a coefficient runs to infinity; there is no finite maximum.")
        elif not district.converged:
            found.append(f"{where}: the fit is not certified to be a maximum of the likelihood.")
        if district.n_optima > 1:
            found.append(f"{where}: the likelihood has {district.n_optima} local maxima.")
    if not complete:
        found.append("The search was ended early: a longer one may find a better graph.")
    if not summary.complete:
        found.append(
            "The equivalence class is larger than what was listed; shares and bounds are over the "
            "members listed, which are not a fair sample of all."
        )
    if summary.complete and not bounds.complete:
        found.append("Bounds of effects are over a part of the class; the true ones may be wider.")
    if bounds.n_uncertified:
        found.append(
            f"{bounds.n_uncertified} of {bounds.n_fits} fits behind the bounds of effects are not "
            "certified to be a maximum of the likelihood."
        )
    if math.isfinite(fit.n) and any(math.isnan(row.se) for row in estimates):
        found.append(
            "There are no standard errors: the information matrix is singular at the estimate, "
            "some parameters are not determined by the data."
        )
    if math.isfinite(fit.n) and fit.n < 5 * fit.n_parameters:
        found.append(
            f"{fit.n:.0f} observations for {fit.n_parameters} parameters: standard errors and "
            "tests are rough below five observations per parameter."
        )
    if math.isfinite(fit.p_value) and fit.p_value < 0.01:
        found.append(
            f"The chi-square test rejects the graph (p = {_p(fit.p_value)}): see the residual "
            "correlations for where it does not fit."
        )
    return found + ([] if checks is None else checks.warnings())


# --- tables ---------------------------------------------------------------------------------------


def _edge_rows(fit: Fit, estimates: Sequence[Estimate], summary: ClassSummary) -> list[EdgeRow]:
    known = class_edges(fit.graph, summary)
    by_edge = {}
    for row in estimates:
        if row.op == "~":
            by_edge[row.rhs, "->", row.lhs] = row
        elif row.lhs != row.rhs:
            by_edge[row.lhs, "<->", row.rhs] = by_edge[row.rhs, "<->", row.lhs] = row
    rows = []
    for a, mark, b in fit.graph.edges:
        e = by_edge[a, mark, b]
        share, in_class, ends = known[a, mark, b]
        numbers = (e.estimate, e.se, e.z, e.p_value, e.std_all)
        rows.append(EdgeRow(a, mark, b, *numbers, share, in_class, ends))
    return rows


def _edge_table(
    graph: MixedGraph, rows: Sequence[EdgeRow], summary: ClassSummary, bootstrap: Any
) -> Table:
    columns = [
        ("Edge", "→ direct effect, ↔ hidden common cause"),
        ("Estimate", "effect, or covariance of the errors"),
        ("Std.Err", "standard error"),
        ("z", "estimate / standard error"),
        ("p", "two-sided"),
        ("Standardised", "effect in standard deviations, or correlation of the errors"),
        ("In class", f"share of the {summary.n_members:,} equivalent graphs with this very edge"),
        ("Known", "what all equivalent graphs agree on; o: they differ"),
    ]
    if bootstrap is not None:
        columns.append(("Bootstrap", "share of resampled data sets with this very edge"))
        if tuple(bootstrap.names) != graph.nodes:
            raise BowfreeError("the bootstrap is about other variables than the result")
    table = []
    for row in rows:
        cells = [
            Cell(printable(row.arrow)),
            _number(row.weight),
            _number(row.se),
            _number(row.z, 2),
            Cell(_p(row.p_value), row.p_value),
            _number(row.std),
            _percent(row.share),
            Cell(printable(row.in_class)),
        ]
        if bootstrap is not None:
            shares = bootstrap.directed if row.mark == "->" else bootstrap.bidirected
            cells.append(_percent(float(shares[graph._node(row.b), graph._node(row.a)])))
        table.append(cells)
    return Table("edges", tuple(columns), *_cut(table, 5))


def _class_table(summary: ClassSummary) -> Table:
    n = summary.n_members
    columns = (
        ("a", ""),
        ("b", ""),
        ("a → b", "share of the equivalent graphs"),
        ("a ← b", "share of the equivalent graphs"),
        ("a ↔ b", "share of the equivalent graphs"),
        ("Known", "what all of them agree on; o: they differ"),
    )
    rows = [
        [
            Cell(printable(e.a)),
            Cell(printable(e.b)),
            _percent(e.n_forward / n),
            _percent(e.n_backward / n),
            _percent(e.n_bidirected / n),
            Cell(printable(str(e))),
        ]
        for e in summary.edges
    ]
    return Table("classes", columns, rows)


def _effect_table(effects: TotalEffects, bounds: EffectBounds) -> Table:
    columns = [
        ("Cause", ""),
        ("On", ""),
        ("Total effect", "in the best graph: change of the second per unit of the first"),
        ("Std.Err", "delta method"),
        ("z", ""),
        ("p", "two-sided"),
        ("Lower", "smallest effect over the equivalent graphs"),
        ("Upper", "largest effect over the equivalent graphs"),
        ("Min |.|", "smallest absolute effect: not zero means that all graphs see one"),
        ("Non-zero in", "share of the equivalent graphs that see an effect"),
    ]
    shown = (effects.effect != 0) | (bounds.max_abs > bounds.zero)
    names = effects.names
    rows = []
    for i, j in np.argwhere(shown).tolist():
        if i == j:
            continue
        p = float(effects.p_value[i, j])
        cells = [
            Cell(printable(names[j])),
            Cell(printable(names[i])),
            _number(effects.effect[i, j]),
            _number(effects.se[i, j]),
            _number(effects.z[i, j], 2),
            Cell(_p(p), p),
            _number(bounds.lower[i, j]),
            _number(bounds.upper[i, j]),
            _number(bounds.min_abs[i, j]),
            _percent(float(bounds.nonzero[i, j])),
        ]
        rows.append(cells)
    return Table("effects", tuple(columns), *_cut(rows, 2))


def _correlations(C: Floats) -> Floats:
    sd = np.sqrt(np.diag(C))
    R: Floats = C / np.outer(sd, sd)
    return R


def _residual_table(fit: Fit) -> Table:
    columns = (
        ("a", ""),
        ("b", ""),
        ("Data", "correlation in the data"),
        ("Fit", "correlation in the fitted model"),
        ("Residual", "data minus fit"),
    )
    residual = fit.residual_correlations()
    R = _correlations(fit.S)
    names = fit.graph.nodes
    rows = [
        [
            Cell(printable(names[i])),
            Cell(printable(names[j])),
            _number(R[i, j]),
            _number(R[i, j] - residual[i, j]),
            _number(residual[i, j], 4),
        ]
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    rows, left_out = _cut(rows, 4)
    return Table("residuals", columns, rows, left_out)


def _residual_map(fit: Fit) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows of the map: a name, and for each cell its value and how strong its colour is."""
    residual = fit.residual_correlations()
    return [
        (
            printable(name),
            [
                {
                    "text": f"{round(value, 2) + 0.0:.2f}",  # no "-0.00"
                    "sign": "positive" if value > 0 else "negative",
                    # A residual correlation of 0.1 is bad news: it has the full colour.
                    "strength": round(100 * min(1.0, abs(value) / 0.1)),
                    "title": printable(f"{name}, {other}: {value:.4f}"),
                }
                for other, value in zip(fit.graph.nodes, row, strict=True)
            ],
        )
        for name, row in zip(fit.graph.nodes, residual.tolist(), strict=True)
    ]


def _variable_table(fit: Fit, checks: DataChecks | None) -> Table:
    columns = [
        ("Variable", ""),
        ("SD", "standard deviation"),
        ("R²", "share of the variance that the graph explains by other variables"),
        ("Parents", "direct causes"),
        ("Spouses", "variables with a hidden cause in common"),
    ]
    if checks is not None:
        columns[1:1] = [("Mean", "")]
        columns += [
            ("Skewness", "0 for normal data"),
            ("Kurtosis", "in excess of the normal law's"),
            ("p (skewness)", "D'Agostino's test"),
            ("p (kurtosis)", "Anscombe and Glynn's test"),
        ]
    rows = []
    for i, name in enumerate(fit.graph.nodes):
        cells = [
            Cell(printable(name)),
            _number(math.sqrt(fit.S[i, i])),
            _number(_r_squared(fit, i)),
            _count(len(fit.graph.parents(name))),
            _count(len(fit.graph.spouses(name))),
        ]
        if checks is not None:
            check = checks.variables[i]
            cells[1:2] = [_number(check.mean), _number(check.sd)]
            cells += [_number(check.skewness, 2), _number(check.kurtosis, 2)]
            cells += [Cell(_p(p), p) for p in (check.p_skewness, check.p_kurtosis)]
        rows.append(cells)
    return Table("variables", tuple(columns), rows)


def _run_table(search: SearchResult) -> Table:
    columns = (
        ("Run", ""),
        ("Kind", "what the run did"),
        ("Improvements", "how often it found a better graph"),
        ("Start", "score of the first graph"),
        ("End", "score of the last"),
        ("Below best", "n (best score - end)"),
        ("Seconds", ""),
    )
    n = search.moments.n
    rows = [
        [
            _count(k),
            Cell(run.strategy),
            _count(len(run.path) - 1),
            _number(run.path[0], 4),
            _number(run.score, 6),
            _number(n * (search.score - run.score), 2),
            _number(run.seconds, 3),
        ]
        for k, run in enumerate(search.runs, start=1)
    ]
    left_out = max(0, len(rows) - MAX_ROWS)
    return Table("runs", columns, rows[:MAX_ROWS], left_out)


def _cut(rows: list[list[Cell]], column: int) -> tuple[list[list[Cell]], int]:
    """Keep the rows with the largest numbers in a column, in their order."""
    if len(rows) <= MAX_ROWS:
        return rows, 0

    def size(k: int) -> float:
        value = rows[k][column].value
        return 0.0 if value is None or math.isnan(value) else abs(value)

    kept = sorted(sorted(range(len(rows)), key=lambda k: -size(k))[:MAX_ROWS])
    return [rows[k] for k in kept], len(rows) - MAX_ROWS


# --- text of numbers ------------------------------------------------------------------------------


def _number(value: float, digits: int = 3) -> Cell:
    value = float(value)
    if not math.isfinite(value):
        return Cell("–", math.nan)
    rounded = round(value, digits) + 0.0  # no "-0.000"
    if value and abs(value) < 0.5 * 10**-digits:
        return Cell(f"{value:.1e}", value)
    return Cell(f"{rounded:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}", value)


def _count(value: int) -> Cell:
    return Cell(str(value), float(value))


def _percent(share: float) -> Cell:
    return Cell(f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %", share)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _r_squared(fit: Fit, i: int) -> float:
    return 1 - float(fit.Omega[i, i] / fit.Sigma[i, i])


def _edge_tip(row: EdgeRow) -> list[str]:
    kind = "effect" if row.mark == "->" else "error covariance"
    return [
        printable(row.arrow),
        f"{kind} {_number(row.weight).text} (standard error {_number(row.se).text})",
        f"standardised {_number(row.std).text}, p {_p(row.p_value)}",
        f"in {_percent(row.share).text} of the equivalent graphs",
        f"all agree on: {printable(row.in_class)}",
    ]


def _node_note(fit: Fit, i: int) -> str:
    name = fit.graph.nodes[i]
    parents, spouses = len(fit.graph.parents(name)), len(fit.graph.spouses(name))
    return (
        f"R² {_r_squared(fit, i):.2f}, {parents} parent{'s' * (parents != 1)}, "
        f"{spouses} spouse{'s' * (spouses != 1)}"
    )


# --- how to repeat it -----------------------------------------------------------------------------


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
        listed["score"] = repr(float(search.score))
        listed["graphs in the pool"] = len(search.pool)
        knowledge = {k: v for k, v in search.space.knowledge.to_dict().items() if v}
        listed["knowledge"] = json.dumps(knowledge, ensure_ascii=False) if knowledge else "none"
        listed |= search.settings
    listed |= given or {}
    return [(str(name), printable(str(value))) for name, value in listed.items()]


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
