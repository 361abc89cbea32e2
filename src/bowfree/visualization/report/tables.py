"""Tables of the report.

A cell has a text to show and a value to sort by; rounding the text does not change the order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bowfree.data.diagnostics import Diagnostics
from bowfree.data.missing_values import MissingSummary
from bowfree.effects.bounds_result import EffectBounds
from bowfree.effects.design_result import Design
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.targets import target_names
from bowfree.model.effect_tables import TotalEffects
from bowfree.model.fit_result import Fit
from bowfree.model.inference import normal_quantile
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import count, p_cell, p_text, significant
from bowfree.results.display import percent as short_percent
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.visualization.layout import Floats
from bowfree.visualization.report.graph_view import ARROWS, EdgeView
from bowfree.visualization.svg import printable

MAX_ROWS = 600  # of a table; more are slow to sort and too long to read
MAX_PATTERNS = 25  # of missing values; the others are counted
_ROUNDING = 1e-12  # of a standard deviation: smaller means are zero


class Cell(NamedTuple):
    """Text of a cell and the value it is sorted by; None sorts by the text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A sortable table; at most `MAX_ROWS` rows are kept."""

    name: str  # its id in the page
    columns: Sequence[tuple[str, str]]  # headings and explanations
    rows: list[list[Cell]]
    omitted: int = 0  # number of omitted rows

    @classmethod
    def cut(
        cls,
        name: str,
        columns: Sequence[tuple[str, str]],
        rows: list[list[Cell]],
        by: int | None = None,
    ) -> Table:
        """Keep the first rows, or those with the largest numbers in the column `by`."""
        order = list(range(len(rows)))
        if by is not None:
            order.sort(key=lambda k: -abs(np.nan_to_num(rows[k][by].value or 0.0)))
        kept = [rows[k] for k in sorted(order[:MAX_ROWS])]
        return cls(name, columns, kept, len(rows) - len(kept))


def name_cell(name: str) -> Cell:
    """Return a name of a variable."""
    return Cell(printable(name))


def number(value: float, digits: int = 3) -> Cell:
    """Return a number without a unit, with this many decimals."""
    value = float(value)
    if not math.isfinite(value):
        return Cell("–", math.nan)
    rounded = round(value, digits) + 0.0  # no "-0.000"
    return Cell(f"{rounded:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}", value)


def quantity(value: float) -> Cell:
    """Return a number that has a unit: four significant digits."""
    value = float(value)
    return Cell(significant(value, 4), value) if math.isfinite(value) else Cell("–", math.nan)


def integer(value: int) -> Cell:
    return Cell(str(value), float(value))


def percent(share: float) -> Cell:
    """Return a share; only none and all are 0 % and 100 %."""
    if 0 < share < 0.0005:
        return Cell("< 0.1 %", share)
    if 0.9995 <= share < 1:
        return Cell("> 99.9 %", share)
    return Cell(f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %", share)


def share_of_members(share: float) -> Cell:
    """Return a share of the equivalent graphs: "all", not "100 %", which reads as certainty."""
    return Cell("all" if share == 1 else "none" if share == 0 else percent(share).text, share)


def p_value(value: float) -> Cell:
    return Cell(p_cell(value, 3) or "–", value)


def _interval(estimate: float, se: float) -> Cell:
    """Return the normal 95 % interval, sorted by its lower end."""
    half = normal_quantile(0.95) * float(se)
    if math.isnan(half):
        return Cell("–", math.nan)
    return Cell(
        f"{significant(estimate - half)} to {significant(estimate + half)}", estimate - half
    )


# --- graph and effects ---


def edge_table(
    edges: Sequence[EdgeView],
    summary: ClassSummary,
    average: AveragedEffects | None,
    bootstrap: BootstrapResult | None,
) -> Table:
    """Return the edges with their estimates, their frequency in the class and their probability."""
    members = count(summary.n_members, "equivalent graph")
    columns = [
        ("Edge", "→ direct effect, ↔ hidden common cause"),
        ("Estimate", "effect, or covariance of the errors"),
        ("Std.Err", "standard error"),
        ("z", "estimate / standard error"),
        ("p", "two-sided"),
        ("95 % interval", "normal confidence interval"),
        ("Standardized", "effect in standard deviations, or correlation of the errors"),
        ("In equivalent graphs", f"share of {members} with this edge"),
        ("Same in all", "marks that are the same in all equivalent graphs; o where they differ"),
    ]
    if average is not None:
        columns.append(("Probability", "of this edge, averaged over all probable graphs"))
    if bootstrap is not None:
        columns.append(("Bootstrap", "share of resampled data sets with this edge"))
    rows = []
    for edge in edges:
        e = edge.estimate
        cells = [
            name_cell(edge.arrow),
            quantity(e.estimate),
            quantity(e.se),
            number(e.z, 2),
            p_value(e.p_value),
            _interval(e.estimate, e.se),
            number(e.std_all),
            share_of_members(edge.share),
            Cell(ARROWS[edge.summary.mark]),
        ]
        cells += [percent(edge.frequency(x)) for x in (average, bootstrap) if x is not None]
        rows.append(cells)
    return Table.cut("edges", columns, rows, by=6)


def edge_tip(edge: EdgeView, average: AveragedEffects | None) -> list[str]:
    """Return the lines of the box that opens over an edge."""
    e = edge.estimate
    kind = "effect" if edge.mark == "->" else "error covariance"
    share = "all" if edge.share == 1 else f"{percent(edge.share).text} of the"
    lines = [
        printable(edge.arrow),
        f"{kind} {quantity(e.estimate).text} (standard error {quantity(e.se).text})",
        f"standardized {number(e.std_all).text}, {p_text(e.p_value, 3)}",
        f"in {share} equivalent graphs",
    ]
    if edge.share < 1:
        lines.append(f"same in all: {printable(str(edge.summary))}")
    if average is not None:
        lines.append(f"probability {percent(edge.frequency(average)).text}")
    return lines


def class_table(summary: ClassSummary) -> Table:
    """Return the frequencies of the marks of each edge over the class."""
    n, share = summary.n_members, "share of the equivalent graphs"
    columns = [
        ("a", ""),
        ("b", ""),
        ("a → b", share),
        ("a ← b", share),
        ("a ↔ b", share),
        ("Same in all", "marks that are the same in all of them; o where they differ"),
    ]
    rows = [
        [
            name_cell(e.a),
            name_cell(e.b),
            *(share_of_members(k / n) for k in (e.n_forward, e.n_backward, e.n_bidirected)),
            name_cell(f"{e.a} {ARROWS[e.mark]} {e.b}"),
        ]
        for e in summary.edges
    ]
    return Table("classes", columns, rows)


def design_table(design: Design) -> Table:
    """Return the experiments with their expected results."""
    columns = [
        ("Experiment on", "the variable that is set from outside, at random"),
        ("Classes", "number of classes into which the experiment splits the equivalent graphs"),
        (
            "Resolved ends",
            "expected number of edge ends that are the same in all remaining graphs, "
            f"of {design.n_ends:g}; now {design.resolved_ends:g}",
        ),
        ("Graphs left", f"expected number of equivalent graphs; now {design.n_members:,.6g}"),
    ]
    rows = [
        [
            name_cell(", ".join(e.targets) or target_names(e.targets)),
            number(e.n_classes, 0),
            number(e.resolved_ends, 2),
            Cell(f"{e.members_left:,.4g}", e.members_left),
        ]
        for e in design.experiments
    ]
    return Table.cut("experiments", columns, rows)


def effect_table(
    effects: TotalEffects, bounds: EffectBounds, average: AveragedEffects | None
) -> Table:
    """Return total effects with their bounds over the class and their probability."""
    columns = [
        ("Cause", ""),
        ("On", ""),
        ("Total effect", "in the best graph: change of the second per unit of the first"),
        ("Std.Err", "delta method"),
        ("z", ""),
        ("p", "two-sided"),
        ("95 % interval", "in the best graph, delta method"),
        ("Lower", "smallest effect over the equivalent graphs"),
        ("Upper", "largest effect over the equivalent graphs"),
        ("Min |.|", "smallest absolute effect; if not zero, all equivalent graphs have an effect"),
        ("Non-zero in", "share of the equivalent graphs with an effect"),
    ]
    if average is not None:
        columns.append(("Probability", "of an effect, averaged over all probable graphs"))
    names = effects.names
    shown = (effects.estimate != 0) | (bounds.max_abs > bounds.zero)
    rows = []
    for i, j in np.argwhere(shown & ~np.eye(len(names), dtype=bool)).tolist():
        estimate, se = float(effects.estimate[i, j]), float(effects.se[i, j])
        cells = [
            name_cell(names[j]),
            name_cell(names[i]),
            quantity(estimate),
            quantity(se),
            number(effects.z[i, j], 2),
            p_value(float(effects.p_value[i, j])),
            _interval(estimate, se),
            *(quantity(b[i, j]) for b in (bounds.lower, bounds.upper, bounds.min_abs)),
            share_of_members(float(bounds.nonzero[i, j])),
        ]
        if average is not None:
            cells.append(percent(float(average.probability[i, j])))
        rows.append(cells)
    return Table.cut("effects", columns, rows, by=2)


# --- fit ---


def _correlations(C: Floats) -> Floats:
    sd = np.sqrt(np.diag(C))
    R: Floats = C / np.outer(sd, sd)
    return R


def residual_table(fit: Fit) -> Table:
    """Return correlations in the data and in the fitted model."""
    columns = [
        ("a", ""),
        ("b", ""),
        ("Data", "correlation in the data"),
        ("Fit", "correlation in the fitted model"),
        ("Residual", "data minus fit"),
    ]
    residual, R, names = fit.residual_correlations(), _correlations(fit.S), fit.graph.nodes
    rows = [
        [
            name_cell(names[i]),
            name_cell(names[j]),
            number(R[i, j]),
            number(R[i, j] - residual[i, j]),
            number(residual[i, j], 4),
        ]
        for i, j in zip(*np.triu_indices(len(names), 1), strict=True)
    ]
    return Table.cut("residuals", columns, rows, by=4)


def residual_map(fit: Fit) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the rows of the map: a name, and the text and color of each cell."""
    names = fit.graph.nodes
    return [
        (
            printable(name),
            [
                {
                    "text": number(value, 2).text,
                    "sign": "positive" if value > 0 else "negative",
                    # Full color at 0.1, which is a large residual correlation.
                    "strength": round(100 * min(1.0, abs(value) / 0.1)),
                    "title": printable(f"{name}, {other}: {value:.4f}"),
                }
                for other, value in zip(names, row, strict=True)
            ],
        )
        for name, row in zip(names, fit.residual_correlations().tolist(), strict=True)
    ]


def condition_table(fit: JointFit) -> Table:
    """Return how well each condition fits, and where it fits worst."""
    columns = [
        ("Condition", ""),
        ("n", "observations"),
        ("Targets", "variables that were set from outside"),
        ("Chi-square", "contribution of the condition"),
        ("SRMR", "standardized root mean square residual"),
        ("Worst pair", "with the largest residual correlation"),
        ("Residual", "correlation in the data minus correlation in the fit"),
    ]
    names, rows = fit.graph.nodes, []
    for data, part in zip(fit._joint.conditions, fit.conditions, strict=True):
        varies = np.flatnonzero(data.varies)
        block = np.ix_(varies, varies)
        residual = _correlations(data.S[block]) - _correlations(part.Sigma[block])
        a, b = np.unravel_index(np.abs(residual).argmax(), residual.shape)
        worst = f"{names[varies[a]]}, {names[varies[b]]}" if len(varies) > 1 else ""
        rows.append(
            [
                name_cell(part.name),
                integer(round(part.n)),
                name_cell(", ".join(part.targets)),
                number(part.chi2, 2),
                number(part.srmr),
                name_cell(worst),
                number(residual[a, b]),
            ]
        )
    return Table.cut("conditions", columns, rows)


# --- data and search ---


def r_squared(fit: Fit, i: int) -> float:
    """Return the share of the variance of node i that its parents explain."""
    return 1 - float(fit.Omega[i, i] / fit.Sigma[i, i])


def node_note(fit: Fit, i: int) -> str:
    """Return the line that opens over a node."""
    name = fit.graph.nodes[i]
    parents, spouses = len(fit.graph.parents(name)), len(fit.graph.spouses(name))
    return f"R² {r_squared(fit, i):.2f}, {count(parents, 'parent')}, {count(spouses, 'spouse')}"


def variable_table(fit: Fit, checks: Diagnostics | None) -> Table:
    """Return one row per variable."""
    columns = [
        ("Variable", ""),
        ("SD", "standard deviation"),
        ("R²", "share of the variance explained by the parents"),
        ("Parents", "direct causes"),
        ("Spouses", "variables with a common hidden cause"),
    ]
    if checks is not None:
        columns[1:1] = [("Mean", "")]
        columns += [
            ("Skewness", "0 for normal data"),
            ("Kurtosis", "in excess of that of the normal distribution"),
            ("p (skewness)", "D'Agostino's test"),
            ("p (kurtosis)", "Anscombe and Glynn's test"),
        ]
    rows = []
    for i, name in enumerate(fit.graph.nodes):
        cells = [
            name_cell(name),
            quantity(math.sqrt(fit.moments.variances[i])),
            number(r_squared(fit, i)),
            integer(len(fit.graph.parents(name))),
            integer(len(fit.graph.spouses(name))),
        ]
        if checks is not None:
            check = checks.variables[i]
            centered = abs(check.mean) <= _ROUNDING * check.sd
            cells[1:2] = [quantity(0.0 if centered else check.mean), quantity(check.sd)]
            cells += [number(check.skewness, 2), number(check.kurtosis, 2)]
            cells += [p_value(check.p_skewness), p_value(check.p_kurtosis)]
        rows.append(cells)
    return Table("variables", columns, rows)


@dataclass(frozen=True)
class MissingMap:
    """Patterns of missing values, the most frequent ones first."""

    names: list[str]
    missing: list[str]  # share of missing values of each variable
    patterns: list[tuple[str, float, list[bool]]]  # rows, percent of all, which values are missing
    omitted: str  # number of the other patterns, and of their rows
    test: str  # Little's test


def missing_map(gaps: MissingSummary) -> MissingMap:
    """Return the patterns of missing values."""
    total = sum(gaps.rows)
    order = sorted(range(len(gaps.rows)), key=lambda k: (-gaps.rows[k], k))
    rest = order[MAX_PATTERNS:]
    rows = sum(gaps.rows[k] for k in rest)
    return MissingMap(
        [printable(name) for name in gaps.names],
        [short_percent(missing / total) for missing in gaps.missing],
        [
            (f"{gaps.rows[k]:g}", round(100 * gaps.rows[k] / total, 2), gaps.patterns[k].tolist())
            for k in order[:MAX_PATTERNS]
        ],
        f"{len(rest)} more patterns, in {rows:g} rows" if rest else "",
        f"chi-square {gaps.statistic:.2f} on {gaps.df} df, {p_text(gaps.p_value, 3)}",
    )


def run_table(search: SearchResult) -> Table:
    """Return the runs of the search."""
    columns = [
        ("Run", ""),
        ("Kind", "kind of run"),
        ("Improvements", "number of times a better graph was found"),
        ("Start", "score of the first graph"),
        ("End", "score of the last graph"),
        ("Below best", "n (best score - end)"),
        ("Seconds", ""),
    ]
    rows = [
        [
            integer(k),
            Cell(run.strategy),
            integer(len(run.path) - 1),
            number(run.path[0], 4),
            number(run.score, 6),
            number(search.moments.n * (search.score - run.score), 2),
            number(run.seconds, 3),
        ]
        for k, run in enumerate(search.runs, start=1)
    ]
    return Table.cut("runs", columns, rows)
