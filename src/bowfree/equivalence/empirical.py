"""The empirical equivalence class: graphs that the data do not tell apart (section 3.3).

Start from the graphs with the same skeleton and collider triples, which are equivalent by theorem.
From each of them change one edge at a time, and keep what scores within epsilon of the original
graph; go on from what was kept. Scores are converged maxima of the likelihood: with a score that is
off by more than epsilon the method misses members (or lets strangers in).

With a tiny epsilon and a population covariance matrix this approximates the exact class of
:func:`bowfree.equivalence_class`; a larger epsilon takes in neighboring classes, which makes
bounds on effects conservative (section 4.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.equivalence.class_members import EquivalenceClass, class_of_marks
from bowfree.equivalence.classes import count_teller, stored_members
from bowfree.errors import DataError
from bowfree.graph.graph_like import GraphLike
from bowfree.model.inputs import graph_and_moments
from bowfree.model.scoring_rule import ScoringRule
from bowfree.parallel.budget import Budget, Progress
from bowfree.validation import (
    DataOptions,
    ScoreOptions,
    check_count,
    check_nonnegative,
    split_options,
)


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalClass(EquivalenceClass):
    """The empirical class of a graph: an :class:`~bowfree.EquivalenceClass` with scores.

    Attributes
    ----------
    scores : ndarray of shape (members,)
        The score of each member, in the order of iteration; the first member is the graph itself.
    score : float
        That of the graph itself.
    epsilon : float
        How far a score may be from it.
    """

    scores: npt.NDArray[np.float64]
    score: float
    epsilon: float


class EmpiricalOptions(DataOptions, ScoreOptions, total=False):
    """All options of :func:`empirical_class` that it does not name itself."""


def empirical_class(
    graph: GraphLike,
    data: Any = None,
    *,
    epsilon: float = 1e-10,
    limit: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Unpack[EmpiricalOptions],
) -> EmpiricalClass:
    """Collect the graphs with the same skeleton whose score is within epsilon of the graph's.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    epsilon : float
        Largest difference of scores. A score is per observation.
    limit, time_limit, progress
        As for :func:`bowfree.equivalence_class`.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.validation.DataOptions`).
        ``penalty``, ``gamma``, ``smallest_effect``, ``method``, ``max_iter``
            The score (:class:`~bowfree.validation.ScoreOptions`). The penalty moves all scores alike,
            as the number of edges is fixed. ``method="ricf", max_iter=10`` is what the paper's
            program did, and misses members whose scores have not converged.

    Returns
    -------
    EmpiricalClass
        Its first member is the graph.

    Raises
    ------
    DataError
        Data that cannot be used, or a score of the graph that is not finite.
    BowfreeError
        A negative epsilon.

    Examples
    --------
    On a population covariance matrix of a chain the three chains and forks, and the two graphs with
    a bidirected edge, have the same score:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> found = bf.empirical_class(bf.parse("x -> y -> z"), cov=S, n=1000)
    >>> len(found), bf.parse("x <- y -> z") in found
    (5, True)
    >>> len(bf.empirical_class(bf.parse("x -> y -> z"), cov=S, n=1000, epsilon=0.5))
    9

    References
    ----------
    Section 3.3 of the paper.
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    limit = None if limit is None else check_count("limit", limit, 1)
    budget = Budget(time_limit=time_limit, progress=progress)
    groups = split_options("empirical_class", options, DataOptions, ScoreOptions)
    data_options, score_options = groups
    g, moments = graph_and_moments(graph, data, data_options)
    moments._require_definite("districts of other graphs may be larger")
    d = len(g)
    rule = ScoringRule(**score_options).settled(moments.n, d)
    marks, objective, own, complete = _core.empirical_class(
        moments.S,
        *g._bits(),
        epsilon,
        d * (d - 1) // 2,
        limit or stored_members(g),
        budget.time_limit,
        rule.sweeps,
        count_teller(budget),
    )
    penalty_term = 0.0
    if moments.n != math.inf:
        penalty_term = rule.weight * math.log(moments.n) / moments.n * (d + g.n_edges)

    def score(F: Any) -> Any:
        return -0.5 * (d * math.log(2 * math.pi) + F) - penalty_term

    if not math.isfinite(score(own)):
        raise DataError(
            f"the score of the graph is {score(own)} (penalty = {rule.weight}): no score can be "
            "within epsilon of it: check the penalty, and the scale of the variables"
        )
    return EmpiricalClass(
        *class_of_marks(g, "empirical", complete, marks),
        scores=score(objective),
        score=score(own),
        epsilon=float(epsilon),
    )
