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

With ``errors="nongaussian"`` the evidence beyond covariances is raised to the power 0.7. The model
of hidden causes (typical distributions, pair by pair) is an approximation, and the power was chosen
on simulated data (:doc:`/evidence/independence`). With errors that are not normal, coefficients are
determined more precisely than by covariances, so that a spurious edge loses less than ``0.5 log n`` by
BIC's approximation suggests; each edge costs up to ``0.35 log n`` more, in proportion to the mean
probability that a variable is not normal.

Data that are not normal
------------------------
With heavy tails, differences between log-likelihoods vary more than under normality, and weights
that take them at face value are too extreme. Satorra and Bentler's factor ``c = tr(U Gamma) / df``
is the mean of the chi-square statistic of a correct graph, relative to normal data. Graphs are
weighted as if there were ``n / c`` observations. The factor is the same for equivalent graphs. It
is 1 + kurtosis for elliptical distributions, and about 1 if the errors are independent. It is a
mean over the pairs that are not adjacent. The evidence for single edges may depend on normality
more than that; such edges are named.

References
----------
J. G. Scott and J. O. Berger, Bayes and empirical-Bayes multiplicity adjustment in the
variable-selection problem, Annals of Statistics 38 (2010), for the prior of the number of edges.
F. Pauli, W. Racugno, L. Ventura, Bayesian composite marginal likelihoods, Statistica Sinica 21
(2011), for likelihoods that are raised to a power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import safe_inverse
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import to_columns, with_columns
from bowfree.data.sample import Floats, NonGaussianRows
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments
from bowfree.model.inference import Sandwich, observed_information
from bowfree.model.joint_fit import JointFit
from bowfree.results.rows import Row
from bowfree.space.search_space import SearchSpace
from bowfree.validation import check_choice, check_penalty, check_positive

Prior = Literal["density", "flat"]

EVIDENCE_POWER = 0.7
EDGE_PENALTY = 0.35  # beyond 0.5, if no variable is normal
EDGE_KINDS = {"dag": 2, "bidirected": 1}  # number of kinds, where it is not three
MIN_TEMPERATURE = 1e-9
LARGE = 2.0  # ratio of standard errors from which an edge is named


def with_tempered_errors(moments: Moments) -> Moments:
    """Return the moments whose scores become probabilities: see the end of the module's text."""
    if not isinstance(moments.sample, NonGaussianRows):
        return moments
    sample = replace(moments.sample, power=EVIDENCE_POWER)
    return Moments._unchecked(
        moments.names, moments.S, moments.n, moments.mean, sample, moments.notes
    )


def _log_cost_of_an_edge(moments: Moments) -> float:
    """Return the penalty of an edge for what non-normal errors add to its evidence."""
    rows = moments.sample
    if not isinstance(rows, NonGaussianRows):
        return 0.0
    normal = _core.error_scores(np.ascontiguousarray(rows.deviations))[3]
    return float(EDGE_PENALTY * np.mean(1 - normal) * math.log(moments.n))


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

    def log_prior(self, moments: Moments, space: SearchSpace) -> Floats:
        """Return the logarithm of the prior for 0, 1, ..., m = d (d - 1) / 2 edges; 0 for no edge.

        The density prior of a graph with k edges is one over the number of graphs with k edges,
        acyclic or not: ``1 / (binomial(m, k) * kinds ** k)``. Edges between variables that are not
        normal have a further factor: see the end of the module's text.
        """
        d = len(moments.names)
        m = d * (d - 1) // 2
        prior: Floats = -_log_cost_of_an_edge(moments) * np.arange(m + 1.0)
        if self.prior != "flat":
            k = np.arange(1, m + 1)
            kinds = EDGE_KINDS.get(space.graph_class, 3)
            prior[1:] -= np.cumsum(np.log((m - k + 1) / k)) + k * math.log(kinds)
        return prior

    def log_weights(
        self, scores: Floats, n_edges: npt.NDArray[np.intp], moments: Moments, space: SearchSpace
    ) -> Floats:
        """Return the log weights of graphs with these scores and numbers of edges."""
        prior = self.log_prior(moments, space)[n_edges]
        weights: Floats = (moments.n * scores + prior) / self.temperature
        return weights


def with_scaled_size(moments: Moments, graph: MixedGraph) -> tuple[Moments, float, tuple[Row, ...]]:
    """Return the moments with the size n / c, the factor c of a well fitting graph, and odd edges.

    The factor is never below 1: light tails do not make evidence stronger.
    """
    if isinstance(moments, JointMoments):
        joint = fit_moments(graph, moments)
        assert isinstance(joint, JointFit)
        chi2, robust, normal = joint._variation.robust()
        scaling = _scaling(chi2, joint.df)
        parts = [replace(part, n=part.n / scaling) for part in moments.conditions]
        return moments._like(parts), scaling, _odd_edges(joint, robust, normal, scaling)
    graph, columns = to_columns(graph, moments)
    fit = fit_covariances(graph, columns)
    sandwich = sandwich_of(fit, columns)
    scaling = _scaling(sandwich.expected_chi2("satorra-bentler"), fit.indices.df)
    n = float(max(2, round(columns.n / scaling)))
    scaled = Moments._unchecked(
        columns.names, columns.S, n, columns.mean, columns.sample, columns.notes
    )
    normal = safe_inverse(observed_information(fit.B, fit.Omega, fit.S, 1.0, fit._parameters))
    edges = _odd_edges(fit, sandwich.covariance("observed"), normal, scaling)
    return with_columns(moments, scaled), scaling, edges


def fit_covariances(graph: MixedGraph, moments: Moments) -> Fit:
    """Fit a graph to a covariance matrix, however it was computed."""
    fit = fit_moments(graph, Moments._unchecked(moments.names, moments.S, moments.n))
    assert isinstance(fit, Fit)
    return fit


def sandwich_of(fit: Fit, moments: Moments) -> Sandwich:
    """Return the sandwich of such a fit, for one of the ``n`` observations."""
    size = moments.n / moments.n_rows  # Gamma refers to the number of rows
    return Sandwich(fit.B, fit.Omega, fit.S, moments.Gamma * size, fit._parameters, fit.Sigma)


def _scaling(chi2: float, df: int) -> float:
    mean = chi2 / df if df else 1.0
    return max(1.0, mean) if np.isfinite(mean) else 1.0


def _odd_edges(fit: Fit, robust: Floats, normal: Floats, scaling: float) -> tuple[Row, ...]:
    """Return the edges whose robust standard error exceeds twice the scaled one of normal theory.

    Rows have a, mark, b and ``ratio``, of the robust to the unscaled standard error.
    """
    found = []
    pairs = zip(fit._parameters, np.diag(robust), np.diag(normal), strict=True)
    for (kind, i, j), above, below in pairs:
        if i != j and below > 0 and above > LARGE**2 * scaling * below:
            a, mark, b = (j, "->", i) if kind == "B" else (i, "<->", j)
            names = fit.graph.nodes
            ratio = float(np.sqrt(above / below))
            found.append(Row(a=names[a], mark=mark, b=names[b], ratio=ratio))
    return tuple(sorted(found, key=lambda row: -row.ratio))
