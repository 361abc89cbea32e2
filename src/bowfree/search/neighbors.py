"""The neighbors of a graph: every graph that differs from it in one edge, refitted.

This is one step of a greedy search. Score tests (:meth:`bowfree.Fit.modification_indices`)
approximate the result for added edges only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.options import DataOptions
from bowfree.data.sample import NonGaussianRows
from bowfree.equivalence.decision import equivalent
from bowfree.equivalence.targets import targets_of
from bowfree.errors import GraphError
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    FORWARD,
    MARKS,
    NONE,
    index_pairs,
    states_of_graph,
)
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.names import node_index, parse_edge
from bowfree.graph.text import describe, quote
from bowfree.model.certificates import warn_if_doubtful
from bowfree.model.context import context_of
from bowfree.model.fitting import choose_inference, fit_moments
from bowfree.parameters import Correlation, GraphClass, Means, Method, Missing, Penalty, public
from bowfree.results.display import MOST_ROWS, Table, count, number, p_cell, shorten_list
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace

# Log-likelihoods this close may be equal: equivalence is decided exactly.
_MAYBE_EQUAL = 1e-6


@dataclass(frozen=True, repr=False)
class EdgeChanges(RowTable, ToDict):
    """All graphs that differ from a graph in one edge, the best score first.

    Attributes
    ----------
    graph : MixedGraph
        The original graph.
    rows : tuple of Row
        One row for each change, sorted by the gain in score:

        - ``change``: description, such as "add x -> y" or "x -> y becomes x <-> y";
        - ``a``, ``before``, ``after``, ``b``: the pair of variables, and its edge in both graphs,
          one of "", "->", "<-", "<->";
        - ``loglik``, ``chi2``, ``score``, ``aic``, ``bic``: differences, the changed graph minus
          the original one. An improvement raises `loglik` and `score` and lowers the others. NaN if
          the changed graph cannot be fitted to the data;
        - ``df``: difference of the degrees of freedom, -1 for an added edge, 1 for a removed edge,
          otherwise 0; larger if an edge has parameters of its own in some conditions;
        - ``p_value``: of the likelihood-ratio test, for an added or removed edge; small if the edge
          is needed. Where normal theory does not hold (ranks, categories, missing values, weights,
          clusters), chi-square is first divided by the ratio of the robust to the usual variance of
          the edge. NaN for other changes, which are not nested;
        - ``equivalent``: whether the changed graph is equivalent to the original one.
    loglik, chi2, score, bic : float
        Values of the original graph.
    n : float
        Number of observations.
    penalty : float
        Weight of ``log n`` for each edge in the score.
    """

    graph: MixedGraph
    rows: tuple[Row, ...]
    loglik: float
    chi2: float
    score: float
    bic: float
    n: float
    penalty: float

    def pair(self, a: str, b: str) -> tuple[Row, ...]:
        """Return the changes of one pair of variables, the best first."""
        ends = {self.graph.nodes[node_index(name, self.graph.nodes)] for name in (a, b)}
        return tuple(row for row in self.rows if {row.a, row.b} == ends)

    def to(self, a: str, mark: str | None = None, b: str | None = None) -> Row:
        """Return the change that gives a pair of variables this edge.

        Parameters
        ----------
        a, mark, b : str
            ``.to("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``; or the edge as one
            string, ``.to("x -> y")``.
        """
        nodes = self.graph.nodes
        i, kind, j = parse_edge(nodes, a, mark, b)
        x, y = nodes[i], nodes[j]
        forward, backward = (kind, kind) if kind == "<->" else ("->", "<-")
        for row in self.pair(x, y):
            if row.after == (forward if row.a == x else backward):
                return row
        exists = self.graph.has_edge(f"{quote(x)} {kind} {quote(y)}")
        reason = "is already in the graph" if exists else "is not possible in this search space"
        raise GraphError(f"{quote(x)} {kind} {quote(y)} {reason}")

    def without(self, a: str, b: str) -> Row:
        """Return the change that removes the edge between two variables."""
        for row in self.pair(a, b):
            if not row.after:
                return row
        raise GraphError(f"there is no edge between {quote(a)} and {quote(b)} to remove")

    def _headline(self) -> str:
        better = sum(row.score > 0 and not row.equivalent for row in self.rows)
        some = f"{better} with a better score" if better else "none with a better score"
        return f"{count(len(self), 'single change')} of {describe(self.graph)}, {some}"

    def _sections(self) -> Iterator[str | Table]:
        if not self.rows:
            yield "no single change is possible"
            return
        graph = shorten_list(describe(self.graph), "changes.graph has all")
        yield f"differences from {graph} (score {self.score:.6f}, n = {self.n:g})"
        cells = [
            (
                row.change,
                number(row.chi2),
                f"{row.df:+d}" if row.df else "0",
                p_cell(row.p_value),
                number(row.bic),
                number(row.score, 6),
                "equivalent" if row.equivalent else "",
            )
            for row in self.rows
        ]
        headings = ("change", "chi-square", "df", "p", "BIC", "score", "")
        rest = "with lower scores: to_frame() has all"
        yield Table(headings, cells, left=(0, 6), most=MOST_ROWS, rest=rest)


@public
def edge_changes(
    graph: GraphLike,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
) -> EdgeChanges:
    """Refit every graph that differs in one edge, and compare it with the original graph.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search provides its data, its space and its penalty.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge in the score. By default that of the result, or 1
        for a graph.

    Notes
    -----
    A change affects one or two districts (section 3.1 of the paper). Only these are fitted, each
    once and from one start, as in the search. If the likelihood has several maxima,
    :func:`bowfree.fit` of the changed graph with more ``n_starts`` may find a higher one.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]
    >>> changes = bf.edge_changes(bf.parse("x -> y -> z"), cov=S, n=200)
    >>> changes[0].change, changes[0].equivalent
    ('x -> y becomes x <- y', True)
    >>> added = changes.to("x -> z")
    >>> round(added.chi2, 3), round(added.score, 6)
    (-4.211, -0.015965)
    """
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    context = context_of(graph)
    bap, moments = context.graph, context.read(data, options)
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    rule = rule.resolve(moments.n, len(bap))
    space = context.space if space is None else space
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    within.check_start(bap, bap.nodes)
    fit = fit_moments(bap, moments, rule)
    score, fit = fit.score, replace(fit, n=moments.n_rows)
    warn_if_doubtful(fit.certificate)
    # By covariances, as the fit: chi-square statistics need likelihoods, not evidence.
    by_covariances = isinstance(moments.sample, NonGaussianRows)
    core_data = (
        np.ascontiguousarray(moments.S) if by_covariances else moments._core_data(rule.method)
    )
    moves, gains = _core.edge_changes(core_data, *bap._bits(), within.rules(bap.nodes), rule.sweeps)
    n = moments.n_rows  # as in bf.fit; only scores have an effective sample size
    finite = math.isfinite(n)
    logliks = np.where(np.isfinite(gains), gains, np.nan) * (n if finite else 1.0)
    price = rule.weight * math.log(moments.n) / moments.n if finite else 0.0
    states = dict(zip(index_pairs(len(bap)), states_of_graph(bap).tolist(), strict=True))

    from scipy.special import chdtrc

    robust, _ = choose_inference(moments, None, None, full_information=False)

    def variance_factor(edge: str, removed: bool) -> float:
        """Return the mean of the likelihood-ratio statistic of an edge that is not needed."""
        if moments.sample is None or robust == "standard":
            return 1.0
        larger = fit if removed else fit_moments(bap.add(edge), moments, rule, n=n)
        usual, valid = (replace(larger, se=se).edge(edge).se for se in ("standard", robust))
        return float((valid / usual) ** 2)

    B, Omega = np.zeros((2, len(bap), len(bap)), dtype=int)  # parameters of single conditions
    if isinstance(moments, JointMoments):
        B, Omega = moments._own

    def n_parameters(state: int, i: int, j: int) -> int:
        own = {FORWARD: B[j, i], BACKWARD: B[i, j], BIDIRECTED: Omega[i, j]}
        return 0 if state == NONE else 1 + int(own[state])

    conditions = targets_of(moments, moments.names)
    rows = []
    for (i, j, state), loglik in zip(moves.tolist(), logliks.tolist(), strict=True):
        now, a, b = states[i, j], bap.nodes[i], bap.nodes[j]
        before, after = (f"{quote(a)} {MARKS[mark]} {quote(b)}" for mark in (now, state))
        more = n_parameters(state, i, j) - n_parameters(now, i, j)
        same = (
            more == 0
            and abs(loglik) < _MAYBE_EQUAL
            and equivalent(
                bap,
                bap.replace(before, after),
                targets=conditions.sets,
                kind=conditions.kind,
                rng=0,
            )
        )
        if same:
            loglik = 0.0  # up to rounding
        chi2 = -2 * loglik + 0.0 if finite else math.nan
        nested, p_value = NONE in (state, now), math.nan
        if nested:
            factor = variance_factor(before if state == NONE else after, state == NONE)
            p_value = float(chdtrc(abs(more), abs(chi2) / factor))
        change = f"add {after}" if now == NONE else f"{before} becomes {after}"
        rows.append(
            Row(
                change=f"remove {before}" if state == NONE else change,
                a=a,
                before=MARKS[now],
                after=MARKS[state],
                b=b,
                loglik=loglik,
                chi2=chi2,
                df=-more,
                p_value=p_value,
                score=loglik / n - price * more if finite else loglik,
                aic=chi2 + 2 * more,
                bic=chi2 + math.log(n) * more if finite else math.nan,
                equivalent=same,
            )
        )
    # Equally good changes stay in the order of their pairs, whatever the last bits of a score are.
    rows.sort(key=lambda row: math.inf if math.isnan(row.score) else -round(row.score, 10))
    return EdgeChanges(bap, tuple(rows), fit.loglik, fit.chi2, score, fit.bic, n, rule.weight)
