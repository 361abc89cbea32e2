"""The tables of the page, and what its graph says when pointed at; nothing is estimated here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.bounds_result import EffectBounds
from bowfree.effects.design_result import Design
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.targets import said
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.estimate import Estimate
from bowfree.model.fit_result import Fit
from bowfree.model.inference import TotalEffects, normal_quantile
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import p_text, significant
from bowfree.search.result import SearchResult
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.visualization.report.cells import (
    MAX_ROWS,
    Cell,
    Table,
    count,
    cut_rows,
    number,
    p_value,
    percent,
    quantity,
)
from bowfree.visualization.report.data_checks import DataChecks
from bowfree.visualization.report.graph_view import EdgeRow, class_edges
from bowfree.visualization.svg import printable

Floats = npt.NDArray[np.float64]

_ARROWS = {"->": "→", "<-": "←", "<->": "↔", "o->": "o→", "<-o": "←o", "o-o": "o–o"}
_ROUNDING = 1e-12  # of a standard deviation: a mean that is no more is zero


def edge_rows(fit: Fit, estimates: Sequence[Estimate], summary: ClassSummary) -> list[EdgeRow]:
    """Join the estimates with what the class says of each edge."""
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


def edge_table(
    graph: MixedGraph,
    rows: Sequence[EdgeRow],
    summary: ClassSummary,
    bootstrap: BootstrapResult | None,
) -> Table:
    """Return the edges with their estimates."""
    columns = [
        ("Edge", "→ direct effect, ↔ hidden common cause"),
        ("Estimate", "effect, or covariance of the errors"),
        ("Std.Err", "standard error"),
        ("z", "estimate / standard error"),
        ("p", "two-sided"),
        ("95 % interval", "normal confidence interval"),
        ("Standardized", "effect in standard deviations, or correlation of the errors"),
        ("In class", f"share of the {summary.n_members:,} equivalent graphs with this very edge"),
        ("Known", "the marks that all equivalent graphs agree on; o: they differ"),
    ]
    if bootstrap is not None:
        columns.append(("Bootstrap", "share of resampled data sets with this very edge"))
    table = []
    for row in rows:
        cells = [
            Cell(printable(row.arrow)),
            quantity(row.weight),
            quantity(row.se),
            number(row.z, 2),
            p_value(row.p_value),
            _interval(row.weight, row.se),
            number(row.std),
            percent(row.share),
            Cell(printable(_marks(row))),
        ]
        if bootstrap is not None:
            shares = bootstrap.directed if row.mark == "->" else bootstrap.bidirected
            cells.append(percent(float(shares[graph._node(row.b), graph._node(row.a)])))
        table.append(cells)
    return Table("edges", tuple(columns), *cut_rows(table, 6))


def _marks(row: EdgeRow) -> str:
    """Return what all members agree on without the names, which stand in front of the row."""
    mark = row.in_class.removeprefix(f"{quote(row.a)} ").removesuffix(f" {quote(row.b)}")
    return _ARROWS[mark]


def _interval(estimate: float, se: float) -> Cell:
    """Return the normal interval at 95 %, which is sorted by its lower end."""
    half = normal_quantile(0.95) * float(se)
    low, high = estimate - half, estimate + half
    if math.isnan(half):
        return number(low)
    return Cell(f"{significant(low)} to {significant(high)}", low)


def class_table(summary: ClassSummary) -> Table:
    """Return the edges with their marks counted over the class."""
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
            percent(e.n_forward / n),
            percent(e.n_backward / n),
            percent(e.n_bidirected / n),
            Cell(printable(f"{e.a} {_ARROWS[e.mark]} {e.b}")),
        ]
        for e in summary.edges
    ]
    return Table("classes", columns, rows)


def design_table(design: Design) -> Table:
    """Return the experiments with what they would settle."""
    columns = (
        ("Experiment on", "the variable that is set from outside, at random"),
        ("Classes", "into how many the equivalent graphs would fall"),
        ("Settled ends", f"expected, of {design.n_ends:g}; now {design.settled_ends:g}"),
        ("Graphs left", f"expected number of equivalent graphs; now {design.n_members:,.6g}"),
    )
    rows = [
        [
            Cell(printable(", ".join(e.targets) or said(e.targets))),
            number(e.n_classes, 0),
            number(e.settled_ends, 2),
            Cell(f"{e.members_left:,.4g}", e.members_left),
        ]
        for e in design.experiments
    ]
    return Table("experiments", columns, rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS))


def effect_table(effects: TotalEffects, bounds: EffectBounds) -> Table:
    """Return total effects with their bounds over the class."""
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
        ("Min |.|", "smallest absolute effect: not zero means that all graphs see one"),
        ("Non-zero in", "share of the equivalent graphs that see an effect"),
    ]
    shown = (effects.estimate != 0) | (bounds.max_abs > bounds.zero)
    names = effects.names
    rows = []
    for i, j in np.argwhere(shown).tolist():
        if i == j:
            continue
        p = float(effects.p_value[i, j])
        cells = [
            Cell(printable(names[j])),
            Cell(printable(names[i])),
            quantity(effects.estimate[i, j]),
            quantity(effects.se[i, j]),
            number(effects.z[i, j], 2),
            p_value(p),
            _interval(float(effects.estimate[i, j]), float(effects.se[i, j])),
            quantity(bounds.lower[i, j]),
            quantity(bounds.upper[i, j]),
            quantity(bounds.min_abs[i, j]),
            percent(float(bounds.nonzero[i, j])),
        ]
        rows.append(cells)
    return Table("effects", tuple(columns), *cut_rows(rows, 2))


def _correlations(C: Floats) -> Floats:
    sd = np.sqrt(np.diag(C))
    R: Floats = C / np.outer(sd, sd)
    return R


def residual_table(fit: Fit) -> Table:
    """Return correlations in the data and in the fit."""
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
            number(R[i, j]),
            number(R[i, j] - residual[i, j]),
            number(residual[i, j], 4),
        ]
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    rows, left_out = cut_rows(rows, 4)
    return Table("residuals", columns, rows, left_out)


def residual_map(fit: Fit) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows of the map: a name, and for each cell its value and how strong its color is."""
    residual = fit.residual_correlations()
    return [
        (
            printable(name),
            [
                {
                    "text": f"{round(value, 2) + 0.0:.2f}",  # no "-0.00"
                    "sign": "positive" if value > 0 else "negative",
                    # A residual correlation of 0.1 is bad news: it has the full color.
                    "strength": round(100 * min(1.0, abs(value) / 0.1)),
                    "title": printable(f"{name}, {other}: {value:.4f}"),
                }
                for other, value in zip(fit.graph.nodes, row, strict=True)
            ],
        )
        for name, row in zip(fit.graph.nodes, residual.tolist(), strict=True)
    ]


def condition_table(fit: JointFit) -> Table:
    """Return one row per condition: how the fit does there, and where it does worst."""
    columns = (
        ("Condition", ""),
        ("n", "observations"),
        ("Targets", "variables that were set from outside"),
        ("Chi-square", "the condition's part of it"),
        ("SRMR", "standardized root mean square residual"),
        ("Worst pair", "with the largest residual correlation"),
        ("Residual", "its correlation in the data minus that of the fit"),
    )
    names, rows = fit.graph.nodes, []
    for of_data, part in zip(fit._joint.conditions, fit.conditions, strict=True):
        varies = np.flatnonzero(of_data.varies)
        block = np.ix_(varies, varies)
        residual = _correlations(of_data.S[block]) - _correlations(part.Sigma[block])
        a, b = np.unravel_index(np.abs(residual).argmax(), residual.shape)
        worst = f"{names[varies[a]]}, {names[varies[b]]}" if len(varies) > 1 else ""
        rows.append(
            [
                Cell(printable(part.name)),
                count(round(part.n)),
                Cell(printable(", ".join(part.targets))),
                number(part.chi2, 2),
                number(part.srmr),
                Cell(printable(worst)),
                number(float(residual[a, b])),
            ]
        )
    left_out = max(0, len(rows) - MAX_ROWS)
    return Table("conditions", columns, rows[:MAX_ROWS], left_out)


def variable_table(fit: Fit, checks: DataChecks | None) -> Table:
    """Return one row per variable."""
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
            quantity(math.sqrt(fit.moments.variances[i])),
            number(r_squared(fit, i)),
            count(len(fit.graph.parents(name))),
            count(len(fit.graph.spouses(name))),
        ]
        if checks is not None:
            check = checks.variables[i]
            centered = abs(check.mean) <= _ROUNDING * check.sd
            cells[1:2] = [quantity(0.0 if centered else check.mean), quantity(check.sd)]
            cells += [number(check.skewness, 2), number(check.kurtosis, 2)]
            cells += [p_value(p) for p in (check.p_skewness, check.p_kurtosis)]
        rows.append(cells)
    return Table("variables", tuple(columns), rows)


def run_table(search: SearchResult) -> Table:
    """Return the runs of the search."""
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
            count(k),
            Cell(run.strategy),
            count(len(run.path) - 1),
            number(run.path[0], 4),
            number(run.score, 6),
            number(n * (search.score - run.score), 2),
            number(run.seconds, 3),
        ]
        for k, run in enumerate(search.runs, start=1)
    ]
    left_out = max(0, len(rows) - MAX_ROWS)
    return Table("runs", columns, rows[:MAX_ROWS], left_out)


def r_squared(fit: Fit, i: int) -> float:
    """Return the share of the variance of node i that its parents explain."""
    return 1 - float(fit.Omega[i, i] / fit.Sigma[i, i])


def edge_tip(row: EdgeRow) -> list[str]:
    """Return the lines of the box that opens over an edge."""
    kind = "effect" if row.mark == "->" else "error covariance"
    return [
        printable(row.arrow),
        f"{kind} {quantity(row.weight).text} (standard error {quantity(row.se).text})",
        f"standardized {number(row.std).text}, {p_text(row.p_value, 3)}",
        f"in {percent(row.share).text} of the equivalent graphs",
        f"all agree on: {printable(row.in_class)}",
    ]


def node_note(fit: Fit, i: int) -> str:
    """Return the line that opens over a node."""
    name = fit.graph.nodes[i]
    parents, spouses = len(fit.graph.parents(name)), len(fit.graph.spouses(name))
    return (
        f"R² {r_squared(fit, i):.2f}, {parents} parent{'s' * (parents != 1)}, "
        f"{spouses} spouse{'s' * (spouses != 1)}"
    )
