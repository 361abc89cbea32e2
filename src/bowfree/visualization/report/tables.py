"""Tables of the report.

A cell has a text to show and a value to sort by; rounding the text does not change the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bowfree.data.diagnostics import Diagnostics
from bowfree.data.missing_values import MissingSummary
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments
from bowfree.effects.bounds import EffectBounds
from bowfree.effects.experiment_design import Design
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.exclusion import Exclusion
from bowfree.equivalence.mark_evidence import MarkEvidence
from bowfree.equivalence.targets import target_names
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.effect_tables import TotalEffects
from bowfree.model.fit_result import Fit
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import count, p_cell, p_text, significant
from bowfree.results.display import percent as short_percent
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.selection import StablePairs
from bowfree.visualization.layout import Floats
from bowfree.visualization.report.graph_view import ARROWS, EdgeView
from bowfree.visualization.svg import printable
from bowfree.visualization.warnings import average_warnings

MAX_ROWS = 600  # of a table; more are slow to sort and too long to read
MAX_PATTERNS = 25  # of missing values; the others are counted
MIN_SHARE = 0.05  # less probable or less frequent edges and effects are not listed
_ENDS = ("lower", "upper")
_ROUNDING = 1e-12  # of a standard deviation: smaller means are zero


class Cell(NamedTuple):
    """Text of a cell and the value it is sorted by; None sorts by the text."""

    text: str
    value: float | None = None


class Table(NamedTuple):
    """A sortable table."""

    name: str  # its id in the page
    columns: Sequence[tuple[str, str]]  # headings and explanations
    rows: list[list[Cell]]
    omitted: int  # number of omitted rows


Number = float | Floats  # a number, or an entry of a matrix
Column = tuple[str, str, Callable[[Any], Cell]]
"""Heading, explanation, and the cell of an item."""


def table(
    name: str, items: Iterable[Any], columns: Sequence[Column | None], by: int | None = None
) -> Table:
    """Return a table with a row for each item.

    At most `MAX_ROWS` rows are kept: the first ones, or those with the largest numbers in the
    column `by`.
    """
    used = [column for column in columns if column is not None]
    rows = [[cell(item) for _, _, cell in used] for item in items]
    order = list(range(len(rows)))
    if by is not None:
        order.sort(key=lambda k: -abs(np.nan_to_num(rows[k][by].value or 0.0)))
    kept = [rows[k] for k in sorted(order[:MAX_ROWS])]
    headings = [(heading, hint) for heading, hint, _ in used]
    return Table(name, headings, kept, len(rows) - len(kept))


def name_cell(name: str) -> Cell:
    """Return a name of a variable."""
    return Cell(printable(name))


def _finite(value: Number, text: Callable[[float], str]) -> Cell:
    value = float(value)
    return Cell(text(value), value) if math.isfinite(value) else Cell("–", math.nan)


def number(value: Number, digits: int = 3) -> Cell:
    """Return a number without a unit, with this many decimals."""

    def text(x: float) -> str:  # no "-0.000"
        return f"{round(x, digits) + 0.0:.{digits}f}" if abs(x) < 1e6 else f"{x:.4g}"

    return _finite(value, text)


def quantity(value: Number) -> Cell:
    """Return a number that has a unit: four significant digits."""
    return _finite(value, lambda x: significant(x, 4))


def percent(share: Number) -> Cell:
    """Return a share; only none and all are 0 % and 100 %."""
    share = float(share)
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


def _interval(low: Number, high: Number) -> Cell:
    """Return an interval, sorted by its lower end."""
    return _finite(low, lambda x: f"{significant(x)} to {significant(float(high))}")


def _entries(
    names: Sequence[str],
    columns: Sequence[tuple[str, str, Callable[[float], Cell], Floats | None]],
    ends: tuple[str, str] = ("Cause", "On"),
) -> list[Column]:
    """Return columns for pairs (i, j): the names of j and i, and entries [i, j] of matrices."""

    def entry(of: Callable[[float], Cell], matrix: Floats) -> Callable[[tuple[int, int]], Cell]:
        return lambda pair: of(float(matrix[pair]))

    return [
        (ends[0], "", lambda pair: name_cell(names[pair[1]])),
        (ends[1], "", lambda pair: name_cell(names[pair[0]])),
        *((name, hint, entry(of, x)) for name, hint, of, x in columns if x is not None),
    ]


# --- graph and effects ---


def edge_table(
    edges: Sequence[EdgeView],
    summary: ClassSummary,
    average: AveragedEffects | None,
    bootstrap: BootstrapResult | None,
    evidence: MarkEvidence | None,
) -> Table:
    """Return the edges with their estimates, their frequency in the class and their probability."""
    members = f"share of {count(summary.n_members, 'equivalent graph')} with this edge"
    standardized = "effect in standard deviations, or correlation of the errors"
    same = "marks that are the same in all equivalent graphs; o where they differ"
    probability = "of this edge, averaged over all probable graphs"
    resampled = "share of resampled data sets with this edge"
    decided = "which evidence decided the marks; log evidence relative to the best other marks"
    columns: list[Column | None] = [
        ("Edge", "→ direct effect, ↔ hidden common cause", lambda e: name_cell(e.arrow)),
        ("Estimate", "effect, or error covariance", lambda e: quantity(e.estimate.estimate)),
        ("Std.Err", "standard error", lambda e: quantity(e.estimate.se)),
        ("z", "estimate / standard error", lambda e: number(e.estimate.z, 2)),
        ("p", "two-sided", lambda e: p_value(e.estimate.p_value)),
        ("95 % interval", "normal", lambda e: _interval(e.estimate.lower, e.estimate.upper)),
        ("Standardized", standardized, lambda e: number(e.estimate.std_all)),
        ("In equivalent graphs", members, lambda e: share_of_members(e.share)),
        ("Same in all", same, lambda e: Cell(ARROWS[e.summary.mark])),
        ("Probability", probability, lambda e: percent(e.frequency(average))) if average else None,
        ("Bootstrap", resampled, lambda e: percent(e.frequency(bootstrap))) if bootstrap else None,
    ]
    if evidence is not None:
        cell = evidence.describe
        columns.append(("Decided by", decided, lambda e: Cell(cell(e.estimate.a, e.estimate.b))))
    return table("edges", edges, columns, by=6)


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
    same = "marks that are the same in all of them; o where they differ"
    columns: list[Column] = [
        ("a", "", lambda e: name_cell(e.a)),
        ("b", "", lambda e: name_cell(e.b)),
        ("a → b", share, lambda e: share_of_members(e.n_forward / n)),
        ("a ← b", share, lambda e: share_of_members(e.n_backward / n)),
        ("a ↔ b", share, lambda e: share_of_members(e.n_bidirected / n)),
        ("Same in all", same, lambda e: name_cell(f"{e.a} {ARROWS[e.mark]} {e.b}")),
    ]
    return table("classes", summary.edges, columns)


def exclusion_table(exclusion: Exclusion) -> Table | None:
    """Return the edges whose marks higher moments resolve, or None if there are none."""
    edges = [row for row in exclusion.rows if row.before != row.after]
    columns: list[Column] = [
        ("a", "", lambda e: name_cell(e.a)),
        ("b", "", lambda e: name_cell(e.b)),
        ("By covariances", "same in all equivalent graphs", lambda e: Cell(ARROWS[e.before])),
        ("By higher moments", "same in the remaining ones", lambda e: Cell(ARROWS[e.after])),
    ]
    return table("higher-moments", edges, columns) if edges else None


def design_table(design: Design) -> Table:
    """Return the experiments with their expected results."""
    classes = "number of classes into which the experiment splits the equivalent graphs"
    ends = (
        "expected number of edge ends that are the same in all remaining graphs, "
        f"of {design.n_ends:g}; now {design.resolved_ends:g}"
    )

    def on(targets: tuple[str, ...]) -> str:
        return ", ".join(targets) or target_names(targets)

    left = f"expected number of equivalent graphs; now {design.n_members:,.6g}"
    columns: list[Column] = [
        ("Experiment on", "the variable that is randomized", lambda e: name_cell(on(e.targets))),
        ("Classes", classes, lambda e: number(e.n_classes, 0)),
        ("Resolved ends", ends, lambda e: number(e.resolved_ends, 2)),
        ("Graphs left", left, lambda e: Cell(f"{e.members_left:,.4g}", e.members_left)),
    ]
    return table("experiments", design.experiments, columns)


def effect_table(
    effects: TotalEffects, bounds: EffectBounds, average: AveragedEffects | None
) -> Table:
    """Return total effects with their bounds over the class and their probability."""
    best = "in the best graph: change of the second per unit of the first"
    least = "smallest absolute effect; if not zero, all equivalent graphs have an effect"
    share = "share of the equivalent graphs with an effect"
    probability = "of an effect, averaged over all probable graphs"
    found = effects._matrices()
    columns = _entries(
        effects.names,
        [
            ("Total effect", best, quantity, effects.estimate),
            ("Std.Err", "delta method", quantity, effects.se),
            ("z", "", lambda z: number(z, 2), effects.z),
            ("p", "two-sided", p_value, effects.p_value),
            ("Lower", "smallest effect over the equivalent graphs", quantity, bounds.lower),
            ("Upper", "largest effect over the equivalent graphs", quantity, bounds.upper),
            ("Min |.|", least, quantity, bounds.min_abs),
            ("Non-zero in", share, share_of_members, bounds.nonzero),
            ("Probability", probability, percent, None if average is None else average.probability),
        ],
    )
    interval: Column
    interval = "95 % interval", "delta method", lambda p: _interval(*(found[x][p] for x in _ENDS))
    columns.insert(6, interval)
    shown = (effects.estimate != 0) | (bounds.max_abs > bounds.zero)
    pairs = np.argwhere(shown & ~np.eye(len(effects.names), dtype=bool)).tolist()
    return table("effects", map(tuple, pairs), columns, by=2)


# --- fit ---


def _correlations(C: Floats) -> Floats:
    sd = np.sqrt(np.diag(C))
    R: Floats = C / np.outer(sd, sd)
    return R


def residual_table(fit: Fit) -> Table:
    """Return correlations in the data and in the fitted model, the largest differences first."""
    residual, R, names = fit.residual_correlations(), _correlations(fit.S), fit.graph.nodes
    numbers = [
        ("Data", "correlation in the data", number, R),
        ("Fit", "correlation in the fit", number, R - residual),
        ("Residual", "data minus fit", lambda x: number(x, 4), residual),
    ]
    pairs = [(i, j) for j, i in zip(*np.triu_indices(len(names), 1), strict=True)]
    largest_first = sorted(pairs, key=lambda pair: -abs(residual[pair]))
    return table("residuals", largest_first, _entries(names, numbers, ("a", "b")))


def condition_table(fit: JointFit) -> Table:
    """Return how well each condition fits, and where it fits worst."""
    names, items = fit.graph.nodes, []
    for data, part in zip(fit._joint.conditions, fit.conditions, strict=True):
        varies = np.flatnonzero(data.varies)
        block = np.ix_(varies, varies)
        residual = _correlations(data.S[block]) - _correlations(part.Sigma[block])
        a, b = np.unravel_index(np.abs(residual).argmax(), residual.shape)
        worst = f"{names[varies[a]]}, {names[varies[b]]}" if len(varies) > 1 else ""
        items.append((part, worst, residual[a, b]))
    least = "correlation in the data minus correlation in the fit"
    columns: list[Column] = [
        ("Condition", "", lambda x: name_cell(x[0].name)),
        ("n", "observations", lambda x: number(x[0].n, 0)),
        ("Targets", "randomized variables", lambda x: name_cell(", ".join(x[0].targets))),
        ("Chi-square", "contribution of the condition", lambda x: number(x[0].chi2, 2)),
        ("SRMR", "standardized root mean square residual", lambda x: number(x[0].srmr)),
        ("Worst pair", "with the largest residual correlation", lambda x: name_cell(x[1])),
        ("Residual", least, lambda x: number(x[2])),
    ]
    return table("conditions", items, columns)


# --- data and search ---


def r_squared(fit: Fit, i: int) -> float:
    """Return the share of the variance of node i that its parents explain."""
    return 1 - float(fit.Omega[i, i] / fit.Sigma[i, i])


def node_note(fit: Fit, graph: MixedGraph, moments: Moments, name: str) -> str:
    """Return the line that opens over a node."""
    block = moments.blocks[name] if isinstance(moments, BlockMoments) else (name,)
    if len(block) > 1:
        first = f"{len(block) + 1} categories"
    else:
        first = f"R² {r_squared(fit, fit.graph._node(name)):.2f}"
    parents, spouses = len(graph.parents(name)), len(graph.spouses(name))
    return f"{first}, {count(parents, 'parent')}, {count(spouses, 'spouse')}"


def variable_table(fit: Fit, checks: Diagnostics | None) -> Table:
    """Return one row per variable."""
    names, graph = fit.graph.nodes, fit.graph
    kurtosis = "in excess of that of the normal distribution"
    columns: list[Column] = [
        ("Variable", "", lambda i: name_cell(names[i])),
        ("SD", "standard deviation", lambda i: quantity(math.sqrt(fit.moments.variances[i]))),
        ("R²", "variance explained by the parents", lambda i: number(r_squared(fit, i))),
        ("Parents", "direct causes", lambda i: number(len(graph.parents(names[i])), 0)),
        (
            "Spouses",
            "with a hidden common cause",
            lambda i: number(len(graph.spouses(names[i])), 0),
        ),
    ]
    if checks is not None:
        found = checks.variables

        def mean(i: int) -> Cell:
            centered = abs(found[i].mean) <= _ROUNDING * found[i].sd
            return quantity(0.0 if centered else found[i].mean)

        columns[1:2] = [
            ("Mean", "", mean),
            ("SD", "standard deviation", lambda i: quantity(found[i].sd)),
        ]
        columns += [
            ("Skewness", "0 for normal data", lambda i: number(found[i].skewness, 2)),
            ("Kurtosis", kurtosis, lambda i: number(found[i].kurtosis, 2)),
            ("p (skewness)", "D'Agostino's test", lambda i: p_value(found[i].p_skewness)),
            ("p (kurtosis)", "Anscombe and Glynn's test", lambda i: p_value(found[i].p_kurtosis)),
        ]
    return table("variables", range(len(names)), columns)


def missing_map(gaps: MissingSummary) -> dict[str, Any]:
    """Return the patterns of missing values, the most frequent ones first.

    A pattern has the number of its rows, their share in percent, and which values are missing.
    """
    total = sum(gaps.rows)
    patterns = sorted(zip(gaps.rows, gaps.patterns.tolist(), strict=True), key=lambda p: -p[0])
    rest = [rows for rows, _ in patterns[MAX_PATTERNS:]]
    return {
        "names": [printable(name) for name in gaps.names],
        "missing": [short_percent(missing / total) for missing in gaps.missing],
        "patterns": [(f"{n:g}", round(100 * n / total, 2), x) for n, x in patterns[:MAX_PATTERNS]],
        "omitted": f"{len(rest)} more patterns, in {sum(rest):g} rows" if rest else "",
        "test": f"chi-square {gaps.statistic:.2f} on {gaps.df} df, {p_text(gaps.p_value, 3)}",
    }


def run_table(search: SearchResult) -> Table:
    """Return the runs of the search."""
    n, best = search.moments.n, search.score
    columns: list[Column] = [
        ("Run", "", lambda x: number(x[0], 0)),
        ("Kind", "kind of run", lambda x: Cell(x[1].strategy)),
        ("Improvements", "better graphs found", lambda x: number(len(x[1].path) - 1, 0)),
        ("Start", "score of the first graph", lambda x: number(x[1].path[0], 4)),
        ("End", "score of the last graph", lambda x: number(x[1].score, 6)),
        ("Below best", "n (best score - end)", lambda x: number(n * (best - x[1].score), 2)),
        ("Seconds", "", lambda x: number(x[1].seconds, 3)),
    ]
    return table("runs", enumerate(search.runs, start=1), columns)


# --- uncertainty about the graph ---


class Part(NamedTuple):
    """A part of the section: title, introduction, warnings, and tables with their captions."""

    title: str
    text: str
    warnings: list[str]
    tables: list[tuple[Table, str]]


def average_part(average: AveragedEffects) -> Part:
    """Return the probabilities of effects and edges."""
    level = f"{100 * average.confidence:g} %"
    mean = "mean of the effect over all graphs, including those without it"
    columns = _entries(
        average.names,
        [
            ("P(effect)", "of the first on the second", percent, average.probability),
            ("P(+)", "probability of a positive effect", percent, average.positive),
            ("P(−)", "probability of a negative effect", percent, average.negative),
            ("Mean", mean, quantity, average.mean),
            ("Lower", f"end of the {level} interval", quantity, average.lower),
            ("Upper", f"end of the {level} interval", quantity, average.upper),
        ],
    )
    effects = table("averaged-effects", _frequent(average.probability), columns, by=2)
    return Part(
        "Averaged over graphs",
        f"Averages over {average.describe_graphs()}, each weighted by its probability given "
        f"the data. The {level} intervals account for the uncertainty about the graph.",
        average_warnings(average),
        [
            (effects, "Total effects, with the uncertainty about the graph"),
            (_pair_table("averaged-edges", average), "Probabilities of edges"),
        ],
    )


def bootstrap_part(bootstrap: BootstrapResult) -> Part:
    """Return the frequencies of edges and effects in resampled data."""
    level = f"{100 * bootstrap.confidence:g} %"
    lower, upper = bootstrap.total_effect_interval
    members = "share of resamples in which all equivalent graphs have an effect"
    columns = _entries(
        bootstrap.names,
        [
            ("In all members", members, percent, bootstrap.effect_frequency),
            ("Lower", f"end of the {level} interval", quantity, lower),
            ("Upper", f"end of the {level} interval", quantity, upper),
        ],
    )
    pairs = _frequent(bootstrap.effect_frequency)
    return Part(
        "Bootstrap",
        f"The search was repeated on {count(bootstrap.n_resamples, 'data set')} resampled from the "
        "rows. The tables show how often each edge and effect was found.",
        [f"Bootstrap: {note}." for note in bootstrap.notes],
        [
            (_pair_table("resampled-edges", bootstrap), "Frequencies of edges"),
            (table("resampled-effects", pairs, columns, by=2), "Frequencies of effects"),
        ],
    )


def stability_part(stability: StablePairs) -> Part:
    """Return the pairs that are adjacent in most halves of the data."""
    halves = "share of the halves of the data"
    columns = _entries(
        stability.names, [("Adjacent in", halves, percent, stability.frequency)], ("a", "b")
    )
    index = stability.names.index
    pairs = [(index(b), index(a)) for a, b in stability.pairs]
    return Part(
        "Stability selection",
        f"Pairs of variables that are adjacent in most of "
        f"{count(stability.n_halves, 'half', 'halves')} of the rows; the expected number of false "
        f"ones is at most {stability.max_false:g}.",
        [f"Stability selection: {note}." for note in stability.notes],
        [(table("stable-pairs", pairs, columns, by=2), "Stable pairs")],
    )


def _frequent(share: Floats) -> list[tuple[int, int]]:
    """Return the entries that are listed, the largest first."""
    found = [(i, j) for i, j in np.argwhere(share >= MIN_SHARE).tolist() if i != j]
    return sorted(found, key=lambda entry: -share[entry])


def _pair_table(name: str, result: AveragedEffects | BootstrapResult) -> Table:
    """Return one row for each pair of variables that is adjacent often enough."""
    directed, bidirected = result.directed, result.bidirected
    adjacent = np.minimum(directed + directed.T + bidirected, 1.0)
    columns = _entries(
        result.names,
        [
            ("Adjacent", "by an edge of any kind", percent, adjacent),
            ("a → b", "direct effect of a on b", percent, directed),
            ("a ← b", "direct effect of b on a", percent, directed.T),
            ("a ↔ b", "hidden common cause", percent, bidirected),
        ],
        ("a", "b"),
    )
    pairs = [(i, j) for j, i in _frequent(adjacent) if j < i]
    return table(name, pairs, columns, by=2)
