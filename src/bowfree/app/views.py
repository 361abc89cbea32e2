"""What a page is shown of a fit and of what follows from it, as plain values for JSON.

Each function takes a result of the package and picks what the screen has room for; no number is
worked out here that a result does not have, but for the test of one partial correlation. Variables
are said by their places, edges in the order of ``graph.edges``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bowfree.data.moments import Moments
from bowfree.effects.bounds_result import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.comparison import Comparison
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.results.serialization import to_plain
from bowfree.search.neighbors import EdgeChanges
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult

MOST_CHANGES = 10
_EXACT = 2**53  # the largest whole numbers that JavaScript tells apart
_RARE = 0.02  # edges that are less probable are not listed


def seen_graph(graph: MixedGraph) -> list[list[Any]]:
    """Return the edges as ``[a, mark, b]``."""
    place = {name: k for k, name in enumerate(graph.nodes)}
    return [[place[a], mark, place[b]] for a, mark, b in graph.edges]


def seen_knowledge(knowledge: Knowledge, names: Sequence[str]) -> dict[str, Any]:
    """Return the knowledge with places for names."""
    place = {name: k for k, name in enumerate(names)}
    return {
        "required": [[place[a], mark, place[b]] for a, mark, b in knowledge.required],
        "forbidden": [[place[a], mark, place[b]] for a, mark, b in knowledge.forbidden],
        "tiers": [[place[name] for name in tier] for tier in knowledge.tiers],
        "unconfounded": [place[name] for name in knowledge.unconfounded],
    }


def seen_fit(fit: Fit) -> dict[str, Any]:
    """Return score, chi-square and friends, residual correlations, and what is doubtful."""
    found: dict[str, Any] = to_plain(
        {
            "score": fit.score,
            "n": fit.n,
            **{
                name: getattr(fit, name)
                for name in ("chi2", "df", "p_value", "rmsea", "cfi", "srmr", "aic", "bic")
            },
            "residuals": np.round(fit.residual_correlations(), 3),
            "doubts": _doubts(fit),
        }
    )
    return found


def _doubts(fit: Fit) -> list[str]:
    found = []
    for district in fit.certificate:
        if district.diverging:
            found.append(
                f"In {{{join_names(district.nodes)}}} a coefficient runs to infinity: there may be no "
                "finite maximum of the likelihood."
            )
        elif not district.converged:
            found.append(f"The fit of {{{join_names(district.nodes)}}} is not certified.")
    return found


def seen_edges(fit: Fit) -> list[dict[str, Any]]:
    """Return the estimates with their intervals, in the order of the edges."""
    by_edge = {estimate.edge: estimate for estimate in fit.estimates()}
    found = []
    for a, mark, b in fit.graph.edges:
        estimate = by_edge.get((a, mark, b)) or by_edge[b, mark, a]
        found.append(
            {
                "estimate": estimate.estimate,
                "se": estimate.se,
                "low": estimate.lower,
                "high": estimate.upper,
                "p_value": estimate.p_value,
                "std": estimate.std_all,
            }
        )
    rows: list[dict[str, Any]] = to_plain(found)
    return rows


def seen_changes(changes: EdgeChanges) -> list[dict[str, Any]]:
    """Return the best changes with what each would gain."""
    place = {name: k for k, name in enumerate(changes.graph.nodes)}
    best = [change for change in changes if not math.isnan(change.score)][:MOST_CHANGES]
    rows: list[dict[str, Any]] = to_plain(
        [
            {
                "a": place[change.a],
                "b": place[change.b],
                "before": change.before,
                "after": change.after,
                "score": change.score,
                "chi2": change.chi2,
                "df": change.df,
                "p_value": change.p_value,
                "same": change.equivalent,
            }
            for change in best
        ]
    )
    return rows


def seen_class(members: EquivalenceClass, known: EquivalenceClass) -> dict[str, Any]:
    """Return how many graphs fit as well, and what those within the knowledge agree on."""
    summary = known.summary()
    by_pair = {frozenset((edge.a, edge.b)): edge for edge in summary.edges}
    ends = []
    for a, _, b in known.graph.edges:
        edge = by_pair[frozenset((a, b))]
        edge = edge if edge.a == a else edge.turned()
        ends.append([edge.end_at_a, edge.end_at_b])
    return {
        "size": _whole(members.size),
        "known": _whole(known.size),
        "complete": known.complete,
        "ends": ends,
        "settled": sum("circle" not in pair for pair in ends),
    }


def _whole(number: int) -> int | str:
    """Return a count as it is, or in words where JavaScript would round it."""
    return number if number < _EXACT else f"{number:.2e}"


def seen_effect(fit: Fit, bounds: EffectBounds, of: str, on: str) -> dict[str, Any]:
    """Return the effect in the drawn graph, and its bounds over the class."""
    own, over = fit.total_effects().effect(of=of, on=on), bounds.effect(of=of, on=on)
    low, high = own.lower, own.upper
    found: dict[str, Any] = to_plain(
        {
            "estimate": own.estimate,
            "low": low,
            "high": high,
            "lower": over.lower,
            "upper": over.upper,
            "min_abs": over.min_abs,
            "nonzero": over.positive + over.negative,
            "members": _whole(bounds.n_members),
            "complete": bounds.complete,
        }
    )
    return found


def seen_separation(
    graph: MixedGraph, moments: Moments, a: str, b: str, given: tuple[str, ...]
) -> dict[str, Any]:
    """Return whether two variables are m-separated, and the partial correlation in the data.

    The test is Fisher's: with k variables given, ``sqrt(n - k - 3) atanh(r)`` is nearly normal.
    """
    separated = graph.m_separated(a, b, given)
    chosen = moments.take([a, b, *given])
    scale = np.sqrt(np.diag(chosen.S))
    P = np.linalg.inv(chosen.S / np.outer(scale, scale))
    r = float(-P[0, 1] / math.sqrt(P[0, 0] * P[1, 1]))
    freedom = chosen.n - len(given) - 3
    z = math.sqrt(freedom) * math.atanh(max(-1 + 1e-15, min(r, 1 - 1e-15))) if freedom > 0 else 0.0
    found: dict[str, Any] = to_plain(
        {
            "separated": separated,
            "r": r,
            "p_value": math.erfc(abs(z) / math.sqrt(2)) if freedom > 0 else math.nan,
        }
    )
    return found


def seen_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return how two graphs, the drawn one first, compare on the data."""
    (pair,) = comparison.pairs
    drawn, other = comparison.fits
    found: dict[str, Any] = to_plain(
        {
            "relation": pair.relation,
            "smaller": comparison.names.index(pair.a) if pair.relation == "nested" else None,
            "test": pair.test,
            "statistic": pair.statistic,
            "df": pair.df,
            "p_value": pair.p_value,
            "score": other.score - drawn.score,
            "chi2": other.chi2,
            "other_df": other.df,
            "other_p": other.p_value,
        }
    )
    return found


def seen_shares(shares: AveragedEffects | BootstrapResult) -> list[list[Any]]:
    """Return ``[a, mark, b, share]`` for all edges that are not rare, the most frequent first."""
    directed, both = shares.directed, shares.bidirected
    d = len(shares.names)
    rows: list[list[Any]] = []
    for i in range(d):
        for j in range(d):
            if i != j:
                rows.append([j, "->", i, round(float(directed[i, j]), 4)])
            if i < j:
                rows.append([i, "<->", j, round(float(both[i, j]), 4)])
    return sorted((row for row in rows if row[3] >= _RARE), key=lambda row: (-row[3], row[:3]))
