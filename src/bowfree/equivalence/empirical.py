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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.options import DataOptions
from bowfree.equivalence.class_members import EquivalenceClass, class_of_marks
from bowfree.equivalence.classes import count_teller, stored_members
from bowfree.errors import DataError
from bowfree.graph.graph_like import GraphLike
from bowfree.model.context import Context, context_of
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Means, Method, Missing, Penalty, public
from bowfree.validation import check_count, check_nonnegative


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


@public
def empirical_class(
    graph: GraphLike,
    data: Any = None,
    *,
    epsilon: float = 1e-10,
    limit: int | None = None,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EmpiricalClass:
    """Collect the graphs with the same skeleton whose score is within epsilon of the graph's.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    epsilon : float
        Largest difference of scores. A score is per observation.
    limit : int, optional
        Largest number of members; by default 1,000,000, or as many as a gigabyte holds.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge; by default that of the result, or 1, the
        paper's. It shifts all scores alike, because the number of edges is fixed.
    method : {"newton", "ricf"}
        "newton" compares maxima of the likelihood. ``method="ricf", max_iter=10`` is the paper's
        program, which misses members whose scores have not converged.

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
    context = context_of(graph)
    g = context.graph
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    moments = context.read(data, options)
    moments._require_definite("districts of other graphs may be larger")
    d = len(g)
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    rule = rule.resolve(moments.n, d)
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
        source=Context(g, moments, space=context.space, rule=rule),
    )
