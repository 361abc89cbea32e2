"""The posterior distribution of the graph, which chains sample and averages are taken over.

A graph G with score s(G) and k edges has the weight ::

    (exp(n s(G)) * prior(k)) ** (1 / temperature)

With ``penalty=0.5`` the first factor is the BIC approximation of the marginal likelihood of G. This
is the default whatever the penalty of the search was: a larger penalty makes the single best graph
more reliable, but only 0.5 turns scores into probabilities. There are two priors:

``"density"`` (the default)
    All numbers of edges have the same probability; given their number, all sets of pairs; given the
    pairs, all kinds of edges. The number of false edges therefore does not grow with the number of
    variables. :doc:`/evidence/calibration` compares probabilities with frequencies.
``"flat"``
    All graphs have the same probability. More than half of all pairs are then expected to be
    adjacent.

Both are priors of graphs. Equivalent graphs have the same score and number of edges, so the
probability of a class is proportional to its number of members; with ``count="classes"`` of
:func:`bowfree.averaged_effects` each class counts once.

With ``errors="nongaussian"`` the evidence beyond covariances is raised to the power 0.5. The model
of hidden causes (typical distributions, pair by pair) is an approximation, and the power was chosen
on simulated data (:doc:`/evidence/independence`).

References
----------
J. G. Scott and J. O. Berger, Bayes and empirical-Bayes multiplicity adjustment in the
variable-selection problem, Annals of Statistics 38 (2010), for the prior of the number of edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.data.sample import NonGaussianRows
from bowfree.errors import BowfreeError
from bowfree.space.search_space import SearchSpace
from bowfree.validation import check_choice, check_penalty, check_positive

Floats = npt.NDArray[np.float64]
Prior = Literal["density", "flat"]

EVIDENCE_POWER = 0.5
EDGE_KINDS = {"dag": 2, "bidirected": 1}  # number of kinds, where it is not three
MIN_TEMPERATURE = 1e-9


def with_tempered_errors(moments: Moments) -> Moments:
    """Return the moments whose scores become probabilities: see the end of the module's text."""
    if not isinstance(moments.sample, NonGaussianRows):
        return moments
    sample = replace(moments.sample, power=EVIDENCE_POWER)
    return Moments._unchecked(
        moments.names, moments.S, moments.n, moments.mean, sample, moments.notes
    )


@dataclass(frozen=True)
class GraphPosterior:
    """Posterior distribution of the graph.

    Parameters
    ----------
    penalty : float
        Weight of ``log n`` for each node and edge in the score; 0.5 is the usual BIC.
    prior : {"density", "flat"}
        Prior distribution of the graph.
    temperature : float
        Weights are raised to the power ``1 / temperature``.
    """

    penalty: float = 0.5
    prior: Prior = "density"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", check_penalty(self.penalty))
        check_choice("prior", self.prior, get_args(Prior))
        object.__setattr__(self, "temperature", check_positive("temperature", self.temperature))
        if self.temperature < MIN_TEMPERATURE:
            raise BowfreeError(
                f"temperature = {self.temperature:g}: must be at least {MIN_TEMPERATURE:g}"
            )

    def log_prior(self, d: int, space: SearchSpace) -> Floats:
        """Return the logarithm of the prior for 0, 1, ..., m = d (d - 1) / 2 edges; 0 for no edge.

        The density prior of a graph with k edges is one over the number of graphs with k edges,
        acyclic or not: ``1 / (binomial(m, k) * kinds ** k)``.
        """
        m = d * (d - 1) // 2
        if self.prior == "flat":
            return np.zeros(m + 1)
        k = np.arange(1, m + 1)
        kinds = EDGE_KINDS.get(space.graph_class, 3)
        graphs = np.cumsum(np.log((m - k + 1) / k)) + k * math.log(kinds)
        return np.concatenate([[0.0], -graphs])

    def log_weights(
        self, scores: Floats, n_edges: npt.NDArray[np.intp], moments: Moments, space: SearchSpace
    ) -> Floats:
        """Return the log weights of graphs with these scores and numbers of edges."""
        prior = self.log_prior(len(moments.names), space)[n_edges]
        weights: Floats = (moments.n * scores + prior) / self.temperature
        return weights
