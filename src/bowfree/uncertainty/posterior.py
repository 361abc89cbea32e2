"""How probable a graph is: the law that chains sample from and averages are taken over.

A graph G with the score s(G) and k edges has the weight ::

    exp(n s(G) / temper) * prior(k)

With ``penalty = 0.5`` the first factor is the BIC approximation of the evidence of the data for G.
The *prior* says what is thought of G before the data are seen. Two are offered:

``"density"`` (the default)
    Every number of edges is as probable as any other; given the number, every set of pairs; given
    the pairs, every kind of edge. There are vastly more graphs with many edges than with few, and
    this prior corrects for it: an edge has to earn its place against all the places it might have
    been at, so that more variables do not mean more false edges, while a dense graph is not held
    against the data that ask for one. :doc:`/results` tells how far its probabilities come true in
    simulations of sparse and of dense models.
``"flat"``
    Every graph is as probable as any other, which expects half of all pairs and more to be joined.

Both are about graphs. Equivalent graphs have the same score and number of edges, so that a class
weighs as much as all its members together; ``count="classes"`` of
:func:`bowfree.averaged_effects` lets every class count once instead.

References
----------
J. G. Scott and J. O. Berger, Bayes and empirical-Bayes multiplicity adjustment in the
variable-selection problem, Annals of Statistics 38 (2010): the prior on the number of edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError
from bowfree.space.search_space import SearchSpace
from bowfree.validation import check_choice, check_penalty, check_positive

Floats = npt.NDArray[np.float64]

Prior = Literal["density", "flat"]

KINDS = {"dag": 2, "bidirected": 1}  # of an edge, in the classes that do not have all three

LEAST_TEMPER = 1e-9  # what n times a score may be divided by


class LawOptions(TypedDict, total=False):
    """How probable a graph is.

    Attributes
    ----------
    penalty : float
        Weight of ``log n`` per node and edge in the score: 0.5, the default, is the usual BIC, 1
        the paper's.
    prior : {"density", "flat"}
        What is thought of a graph before the data are seen: every number of edges is as probable
        as any other (the default), or every graph is.
    temper : float
        Weights are raised to the power ``1 / temper``; above 1 they are flatter.
    """

    penalty: float
    prior: Prior
    temper: float


@dataclass(frozen=True)
class GraphLaw:
    """The options of :class:`LawOptions`, checked."""

    penalty: float = 0.5
    prior: Prior = "density"
    temper: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", check_penalty(self.penalty))
        check_choice("prior", self.prior, get_args(Prior))
        object.__setattr__(self, "temper", check_positive("temper", self.temper))
        if self.temper < LEAST_TEMPER:
            raise BowfreeError(
                f"temper = {self.temper:g}: must be at least {LEAST_TEMPER:g}, with which only the "
                "best graphs have a weight"
            )


def log_prior(law: GraphLaw, d: int, space: SearchSpace) -> Floats:
    """Return the logarithm of the prior for 0, 1, ..., d (d - 1) / 2 edges.

    It is 0 for no edge. For k of m pairs the prior is one over the number of graphs with so many
    edges, acyclic or not: ``1 / (binomial(m, k) * kinds ** k)``.
    """
    m = d * (d - 1) // 2
    if law.prior == "flat":
        return np.zeros(m + 1)
    k = np.arange(1, m + 1)
    graphs = np.cumsum(np.log((m - k + 1) / k)) + k * math.log(KINDS.get(space.graph_class, 3))
    return np.concatenate([[0.0], -graphs])


def log_weights(
    law: GraphLaw,
    scores: Floats,
    n_edges: npt.NDArray[np.intp],
    moments: Moments,
    space: SearchSpace,
) -> Floats:
    """Return the logarithms of the weights of graphs with these scores and numbers of edges."""
    prior = log_prior(law, len(moments.names), space)[n_edges]
    weights: Floats = (moments.n * scores + prior) / law.temper
    return weights
