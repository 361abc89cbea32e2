"""The empirical equivalence class: graphs that the data do not tell apart (section 3.3).

Start from the graphs with the same skeleton and collider triples, which are equivalent by theorem.
From each of them change one edge at a time, and keep what scores within epsilon of the original
graph; go on from what was kept. Scores are converged maxima of the likelihood: with a score that is
off by more than epsilon the method misses members (or lets strangers in).

With a tiny epsilon and a population covariance matrix this approximates the exact class of
:func:`bowfree.equivalence_class`; a larger epsilon takes in neighbouring classes, which makes
bounds on effects conservative (section 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.equivalence.classes import (
    STORED_MEMBERS,
    EquivalenceClass,
    check_limits,
    class_of_marks,
)
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Method
from bowfree.model.fitting import sweeps_of
from bowfree.model.moments import read_moments

__all__ = ["EmpiricalClass", "empirical_class"]


@dataclass(frozen=True, eq=False)
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


def empirical_class(
    g: MixedGraph,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    epsilon: float = 1e-10,
    penalty: float = 1.0,
    method: Method = "newton",
    max_iter: int | None = None,
    limit: int | None = None,
    time_limit: float | None = None,
) -> EmpiricalClass:
    """Collect the graphs of g's skeleton whose score is within epsilon of that of g.

    Parameters
    ----------
    g : MixedGraph
        A BAP.
    data, cov, n, ddof
        The data, as for :func:`bowfree.fit`.
    epsilon : float
        Largest difference of scores. A score is per observation.
    penalty : float
        As for :func:`bowfree.score`. It moves all scores alike, as the number of edges is fixed.
    method, max_iter
        Converged scores, or those after `max_iter` sweeps of ``"ricf"``: ``max_iter=10`` is what
        the paper's program did, and misses members whose scores have not converged.
    limit, time_limit
        As for :func:`bowfree.equivalence_class`.

    Returns
    -------
    EmpiricalClass
        Its first member is g.

    Raises
    ------
    DataError
        Data that cannot be used, or a score of g that is not finite.
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
    if not epsilon >= 0:
        raise BowfreeError(f"epsilon = {epsilon!r}: must be a number of at least 0")
    check_limits(limit, time_limit)
    moments = read_moments(data, cov=cov, n=n, ddof=ddof, graph=g)
    d = len(g)
    marks, objective, own, complete = _core.empirical_class(
        moments.S,
        *g._bits(),
        epsilon,
        d * (d - 1) // 2,
        limit or STORED_MEMBERS,
        time_limit,
        sweeps_of(method, max_iter),
    )
    penalty_term = 0.0
    if moments.n != math.inf:
        penalty_term = penalty * math.log(moments.n) / moments.n * (d + g.n_edges)

    def score(F: Any) -> Any:
        return -0.5 * (d * math.log(2 * math.pi) + F) - penalty_term

    if not math.isfinite(score(own)):
        raise DataError(
            f"the score of the graph is {score(own)} (penalty = {penalty}), so no score can be "
            "within epsilon of it: check the penalty, and the scale of the variables"
        )
    return EmpiricalClass(
        *class_of_marks(g, "empirical", complete, marks),
        scores=score(objective),
        score=score(own),
        epsilon=float(epsilon),
    )
