"""Prediction of one experimental condition from the others.

Each condition is left out in turn. A graph is learned from the others, or given, and fitted to
them; its predictions for the condition left out are compared with the data of that condition, and
with a forecast without a graph: the covariance matrix of the other conditions together.

Parameters that an intervention changes cannot be predicted: the variance of a variable that is set,
the new coefficients of a mechanism, a new error variance. Therefore the variables are taken in an
order of the graph, each given those before it, and only those count whose distribution depends on
shared parameters. The distribution of v depends on its district D among v and the variables before
it, and on rows D of B and Omega:

    x -> t -> y,  t <-> z,  noise at t       order x, z, t, y:  x, z given x, and y given x, z, t
                                             are predicted, t is not

Targets that were set come first. Otherwise variables that are predicted come before others, as far
as the graph permits.

If a target was set, its total effect on another variable is the slope of a regression, because
nothing else affects both; predicted total effects are compared with these slopes.

Used by ``study_sachs_joint.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import bowfree as bf
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.model.context import ScoringRule
from bowfree.model.fitting import fit_moments
from bowfree.model.joint_fit import condition_model, cut_graph
from bowfree.parallel.budget import Budget
from bowfree.results.rows import Row
from bowfree.results.serialization import ToDict
from bowfree.uncertainty.repeated_searches import RepeatedSearch

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LeftOutConditions(ToDict):
    """How well each condition is predicted by the others.

    Attributes
    ----------
    conditions : tuple of Row
        One for each condition that could be left out: ``name``, ``n``, ``targets``, ``graph``
        (learned from the others), ``predicted`` (the variables that can be predicted, in their
        order) and three log-likelihoods per observation of these variables: ``loglik`` under the
        fit to the others, ``loglik_pooled`` under their common covariance matrix, and
        ``loglik_own`` under the condition's own covariance matrix, which no forecast exceeds.
    effects : tuple of Row
        Total effects of targets that were set: ``condition``, ``of``, ``on``, ``predicted``,
        ``measured`` (the slope of the regression) and ``se`` (its standard error).
    skipped : tuple of str
        Conditions that cannot be predicted from the others.
    complete : bool
        False if time was up before all were done.
    """

    conditions: tuple[Row, ...]
    effects: tuple[Row, ...]
    skipped: tuple[str, ...]
    complete: bool

    @property
    def gain(self) -> float:
        """Mean gain in log-likelihood per observation over the forecast without a graph."""
        total = sum(c.n for c in self.conditions)
        gains = [c.n * (c.loglik - c.loglik_pooled) for c in self.conditions]
        return math.fsum(gains) / total if total else math.nan


def leave_out_conditions(
    data: Any,
    graph: bf.MixedGraph | None = None,
    *,
    penalty: float = 1.0,
    strategy: Any = "ils",
    rng: Any = None,
    time_limit: float | None = None,
) -> LeftOutConditions:
    """Predict each of at least three conditions from the others, and compare with its data.

    Without a graph, one is learned from the other conditions each time.
    """
    budget = Budget(rng, time_limit=time_limit)
    search = RepeatedSearch.of(bf.SearchSpace(), ScoringRule(penalty), strategy)
    moments = bf.moments(data, graph=graph)
    if not isinstance(moments, JointMoments) or len(moments.conditions) < 3:
        raise bf.errors.DataError("at least three conditions are needed")
    found: list[Row] = []
    effects: list[Row] = []
    skipped: list[str] = []
    seeds = budget.generator().integers(0, 2**63, size=len(moments.conditions)).tolist()
    for k, condition in enumerate(moments.conditions):
        if budget.expired:
            break
        others = JointMoments([c for c in moments.conditions if c is not condition])
        try:
            others._check(graph)
        except bf.errors.DataError:
            skipped.append(condition.name)
            continue
        best = graph
        if best is None:
            learned = search.search(others, budget.for_task(np.random.default_rng(seeds[k])))
            if not learned.complete:
                break
            best = learned.graph
        fit = fit_moments(best, others, search.rule)
        row = _compare(condition, others, best, fit.B, fit.Omega)
        if not row.predicted:
            skipped.append(condition.name)
            continue
        found.append(row)
        effects += _effects(condition, fit.B)
    complete = len(found) + len(skipped) == len(moments.conditions)
    return LeftOutConditions(tuple(found), tuple(effects), tuple(skipped), complete)


def _compare(
    condition: ConditionMoments,
    others: JointMoments,
    graph: bf.MixedGraph,
    B: Floats,
    Omega: Floats,
) -> Row:
    here = cut_graph(graph, condition)
    order, predicted = _prediction_order(here, condition)
    numbers = [graph.nodes.index(name) for name in order]
    block = np.ix_(numbers, numbers)
    model = condition_model(condition, B, Omega, ())
    local = [here.nodes.index(name) for name in order]
    counts = np.array([name in predicted for name in order])
    S = condition.S[block]
    return Row(
        name=condition.name,
        n=condition.n,
        targets=condition.targets,
        graph=graph,
        predicted=predicted,
        loglik=_log_density(model.Sigma()[np.ix_(local, local)], S, counts),
        loglik_pooled=_log_density(others._pooled[block], S, counts),
        loglik_own=_log_density(S, S, counts) if condition.n > len(order) else math.nan,
    )


def _prediction_order(
    here: bf.MixedGraph, condition: ConditionMoments
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return an order of the graph, and the variables that are predicted given those before."""
    at = {name: i for i, name in enumerate(condition.names)}
    changed = {
        v
        for v in here.nodes
        for entry in (("Omega", at[v], at[v]), *(("B", at[v], at[p]) for p in here.parents(v)))
        if condition._use(entry) == "own"
    }
    set_first = condition.targets if condition.kind == "perfect" else ()
    order = [v for v in here.nodes if v in set_first]
    predicted: list[str] = []
    rest = [v for v in here.nodes if v not in order]
    while rest:
        ready = [v for v in rest if here.parents(v) <= set(order)]
        possible = [v for v in ready if not changed & _district(here.subgraph([*order, v]), v)]
        order.append((possible or ready)[0])
        predicted += possible[:1]
        rest.remove(order[-1])
    return tuple(order), tuple(predicted)


def _district(graph: bf.MixedGraph, node: str) -> set[str]:
    return next(set(district) for district in graph.districts() if node in district)


def _log_density(Sigma: Floats, S: Floats, counts: npt.NDArray[np.bool_]) -> float:
    """Return the mean log-density of some variables, each given all before it; NaN if singular."""
    try:
        L = np.linalg.cholesky(Sigma)
    except np.linalg.LinAlgError:
        return math.nan
    left = np.linalg.solve(L, np.linalg.solve(L, S).T)
    each = np.log(2 * np.pi) + 2 * np.log(np.diag(L)) + np.diag(left)
    return float(-each[counts].sum() / 2)


def _effects(condition: ConditionMoments, B: Floats) -> Iterator[Row]:
    """Yield the total effects of targets that were set and vary, and their regression slopes."""
    T = np.flatnonzero(condition.is_target & condition.varies)
    if condition.kind != "perfect" or not len(T) or condition.n <= len(T) + 1:
        return
    blocked = B.copy()
    blocked[condition.is_target] = 0.0  # an effect through another target ends there
    total = np.linalg.inv(np.eye(len(B)) - blocked)
    inverse = np.linalg.inv(condition.S[np.ix_(T, T)])
    for i in np.flatnonzero(~condition.is_target):
        slopes = inverse @ condition.S[T, i]
        left = condition.S[i, i] - slopes @ condition.S[T, i]
        errors = np.sqrt(np.diag(inverse) * left / (condition.n - len(T) - 1))
        for t, slope, error in zip(T, slopes.tolist(), errors.tolist(), strict=True):
            of, on, predicted = condition.names[t], condition.names[i], float(total[i, t])
            yield Row(
                condition=condition.name,
                of=of,
                on=on,
                predicted=predicted,
                measured=slope,
                se=error,
            )
