"""Results as plain values for the page.

Variables are given by index, edges in the order of ``graph.edges``. No number is computed here that
a result does not have, except for the test of a partial correlation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from bowfree.data.frames import read_observations
from bowfree.data.moments import Moments
from bowfree.effects.adjustment import Question, adjustment_sets, instruments
from bowfree.effects.bounds import EffectBounds, member_effects
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.comparison import Comparison
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.results.serialization import to_plain
from bowfree.search.neighbors import EdgeChanges
from bowfree.space.knowledge import Knowledge
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.visualization.report.graph_view import estimates_by_edge
from bowfree.visualization.warnings import fit_warnings

View = dict[str, Any]

MAX_CHANGES = 10
MAX_MEMBERS = 300  # equivalent graphs that can be shown one after the other
MAX_POINTS = 1500  # of a scatter plot
MAX_PATHS = 1000  # biasing paths that are looked for
_LARGEST_INTEGER = 2**53  # that JavaScript represents exactly
_MIN_SHARE = 0.02  # less frequent edges are not listed


def graph_view(graph: MixedGraph) -> list[list[Any]]:
    """Return the edges as ``[a, mark, b]``."""
    index = {name: k for k, name in enumerate(graph.nodes)}
    return [[index[a], mark, index[b]] for a, mark, b in graph.edges]


def knowledge_view(knowledge: Knowledge, names: Sequence[str]) -> View:
    """Return the knowledge with indices in place of names."""
    index = {name: k for k, name in enumerate(names)}
    return {
        "required": [[index[a], mark, index[b]] for a, mark, b in knowledge.required],
        "forbidden": [[index[a], mark, index[b]] for a, mark, b in knowledge.forbidden],
        "tiers": [[index[name] for name in tier] for tier in knowledge.tiers],
        "unconfounded": [index[name] for name in knowledge.unconfounded],
    }


def fit_view(fit: Fit) -> tuple[View, list[View]]:
    """Return the fit indices, residual correlations and warnings, and the estimates by edge."""
    estimates = fit.estimates()
    view = {name: getattr(fit, name) for name in ("score", "n", "srmr", "aic", "bic")}
    test = fit.valid_test
    view.update({name: getattr(test, name) for name in ("chi2", "df", "p_value", "rmsea", "cfi")})
    view["test"] = test.name
    residuals = np.round(fit.residual_correlations(), 3)
    view["warnings"] = fit_warnings(fit, estimates)
    by_edge = estimates_by_edge(estimates)
    edges = []
    for edge in fit.graph.edges:
        row = by_edge[edge]
        interval = {"low": row.lower, "high": row.upper, "p_value": row.p_value}
        edges.append(
            {"estimate": row.estimate, "se": row.se, **interval, "standardized": row.std_all}
        )
    # Directly: `to_plain` would take most of the time of an edit of a large graph.
    finite = residuals.astype(object)
    finite[~np.isfinite(residuals)] = None
    return to_plain(view) | {"residuals": finite.tolist()}, to_plain(edges)


def changes_view(changes: EdgeChanges) -> list[View]:
    """Return the best changes and their gains."""
    index = {name: k for k, name in enumerate(changes.graph.nodes)}
    best = [change for change in changes if not math.isnan(change.score)][:MAX_CHANGES]
    names = ("before", "after", "score", "chi2", "df", "p_value", "equivalent")
    rows: list[View] = to_plain(
        [
            {"a": index[change.a], "b": index[change.b]}
            | {name: getattr(change, name) for name in names}
            for change in best
        ]
    )
    return rows


def class_view(members: EquivalenceClass, permitted: EquivalenceClass) -> View:
    """Return the size of the class, and the ends that are the same in all permitted members."""
    summary = permitted.summary()
    edges = [summary.edge(a, b) for a, _, b in permitted.graph.edges]
    return {
        "size": _count(members.size),
        "permitted": _count(permitted.size),
        "complete": permitted.complete,
        "shown": min(len(permitted) if permitted.size < 2**31 else MAX_MEMBERS, MAX_MEMBERS),
        "ends": [[edge.end_at_a, edge.end_at_b] for edge in edges],
        "n_same": sum(edge.invariant for edge in edges),
        "pag": _pag_view(permitted.graph),
    }


def _pag_view(graph: MixedGraph) -> View:
    """Return the pairs of the partial ancestral graph, in the order of edges, and their ends."""
    pag, index = graph.pag(), {name: k for k, name in enumerate(graph.nodes)}
    pairs = [(a, b) for a, _, b in pag.edges]
    own = {frozenset((a, b)): (a, mark, b) for a, mark, b in graph.edges}
    edges = [own.get(frozenset(pair), (pair[0], "->", pair[1])) for pair in pairs]
    return {
        "edges": [[index[a], mark, index[b]] for a, mark, b in edges],
        "ends": [[pag.mark_at(a, b), pag.mark_at(b, a)] for a, _, b in edges],
    }


def _count(number: int) -> int | str:
    """Return a count, as a string where JavaScript would round it."""
    return number if number < _LARGEST_INTEGER else f"{number:.2e}"


def effect_view(
    fit: Fit, members: EquivalenceClass, bounds: EffectBounds, of: str, on: str
) -> View:
    """Return a total effect in the current graph and in the class, its paths, and how to estimate it.

    Edges on causal and on biasing paths are given by index. Adjustment sets are those of the
    current graph; `everywhere` says whether they are valid in the members that can be shown.
    """
    own, over = fit.total_effects().effect(of=of, on=on), bounds.effect(of=of, on=on)
    graph, question = fit.graph, Question(fit.graph, of, on)
    below, above = {of, *graph.descendants(of)}, {on, *graph.ancestors(on)}
    treks = list(islice(question.backdoor.treks(of, on, simple=True), MAX_PATHS + 1))
    biasing = {frozenset((a, b)) for trek in treks for a, _, b in trek.edges}
    shown = list(islice(members, MAX_MEMBERS))
    questions = [Question(member, of, on) for member in shown]
    index = {name: k for k, name in enumerate(graph.nodes)}
    edges = list(enumerate(graph.edges))

    def is_valid(names: tuple[str, ...]) -> bool:
        mask = graph._mask(names)
        return all(not mask & ~each.allowed and each.adjusts(names) for each in questions)

    sets = adjustment_sets(graph, of=of, on=on, limit=MAX_CHANGES)
    found = instruments(graph, of=of, on=on, limit=MAX_CHANGES)
    view: View = to_plain(
        {
            "causal": [k for k, (a, m, b) in edges if m == "->" and a in below and b in above],
            "biasing": [k for k, (a, _, b) in edges if frozenset((a, b)) in biasing],
            "all_paths": len(treks) <= MAX_PATHS,
            "adjustment": [
                {
                    "names": [index[name] for name in row.adjust_for],
                    "optimal": row.optimal,
                    "everywhere": is_valid(row.adjust_for),
                }
                for row in sets.rows
            ],
            "instruments": [
                [index[row.instrument], [index[name] for name in row.given]]
                for row in found.rows[:MAX_CHANGES]
            ],
            "strip": list(member_effects(shown, fit.moments, of=of, on=on)),
            "estimate": own.estimate,
            "low": own.lower,
            "high": own.upper,
            "lower": over.lower,
            "upper": over.upper,
            "nonzero": over.positive + over.negative,
            "members": _count(bounds.n_members),
            "complete": bounds.complete,
        }
    )
    return view


def separation_view(
    graph: MixedGraph, moments: Moments, a: str, b: str, given: tuple[str, ...]
) -> View:
    """Return whether two variables are m-separated, and their partial correlation in the data.

    The test is Fisher's: given k variables, ``sqrt(n - k - 3) atanh(r)`` is approximately normal.
    """
    separated = graph.m_separated(a, b, given)
    chosen = moments.take([a, b, *given])
    scale = np.sqrt(np.diag(chosen.S))
    P = np.linalg.inv(chosen.S / np.outer(scale, scale))
    r = float(-P[0, 1] / math.sqrt(P[0, 0] * P[1, 1]))
    p_value, df = math.nan, chosen.n - len(given) - 3
    if df > 0:
        z = math.sqrt(df) * math.atanh(max(-1 + 1e-15, min(r, 1 - 1e-15)))
        p_value = math.erfc(abs(z) / math.sqrt(2))
    view: View = to_plain({"separated": separated, "r": r, "p_value": p_value})
    return view


def data_view(fit: Fit, rows: Any, a: str, b: str | None) -> View:
    """Return a histogram of a variable, or the points behind an edge between two.

    For ``a -> b`` these are a, and b without the effects of its other causes; for ``a <-> b`` and
    for pairs without an edge, the residuals of both.
    """
    _, X = read_observations(rows, MixedGraph(fit.moments.names), "data")
    X = X[np.isfinite(X).all(axis=1)]
    index = {name: k for k, name in enumerate(fit.moments.names)}
    i = index[a]
    if b is None:
        counts, edges = np.histogram(X[:, i], bins="auto" if len(X) < 10_000 else 60)
        facts = {"mean": X[:, i].mean(), "sd": X[:, i].std(ddof=1), "n": len(X)}
        view: View = to_plain({"counts": counts.tolist(), "edges": edges.tolist(), **facts})
        return view
    j, kind = index[b], "residuals"
    residuals = (X - X.mean(axis=0)) @ (np.eye(len(index)) - fit.B).T
    x, y, slope = residuals[:, i], residuals[:, j], None
    if b in fit.graph.children(a):
        kind, slope = "partial", float(fit.B[j, i])
        x = X[:, i] - X[:, i].mean()
        y = y + slope * x
    step = -(-len(X) // MAX_POINTS)  # equally spaced rows
    points = np.round(np.column_stack([x, y])[::step], 6).tolist()
    r = float(np.corrcoef(x, y)[0, 1])
    return {"kind": kind, "slope": slope, "r": r, "n": len(X), "points": points}


def comparison_view(comparison: Comparison) -> View:
    """Return the comparison of two graphs, the current one first."""
    (pair,) = comparison.pairs
    current, other = comparison.fits
    view: View = to_plain(
        {
            "relation": pair.relation,
            "smaller": comparison.names.index(pair.a) if pair.relation == "nested" else None,
            "test": pair.test,
            "statistic": pair.statistic,
            "df": pair.df,
            "p_value": pair.p_value,
            "score": other.score - current.score,
            "chi2": other.valid_test.chi2,
            "other_df": other.df,
            "other_p": other.valid_test.p_value,
        }
    )
    return view


def shares_view(result: AveragedEffects | BootstrapResult) -> list[list[Any]]:
    """Return ``[a, mark, b, share]`` for all edges that are not rare, the most frequent first."""
    directed, bidirected = result.directed, result.bidirected
    rows: list[list[Any]] = []
    for i, j in np.ndindex(directed.shape):
        if i != j:
            rows.append([j, "->", i, round(float(directed[i, j]), 4)])
        if i < j:
            rows.append([i, "<->", j, round(float(bidirected[i, j]), 4)])
    return sorted((row for row in rows if row[3] >= _MIN_SHARE), key=lambda r: (-r[3], r[:3]))
