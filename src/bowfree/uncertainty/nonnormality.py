"""Corrections of posterior probabilities for data that are not normal.

With heavy tails, differences between log-likelihoods vary more than under normality, and weights
that take them at face value are too extreme. Satorra and Bentler's factor ``c = tr(U Gamma) / df``
is the mean of the chi-square statistic of a correct graph, relative to normal data. Graphs are
weighted as if there were ``n / c`` observations. The factor is the same for equivalent graphs. It
is 1 + kurtosis for elliptical distributions, and about 1 if the errors are independent.

It is a mean over the pairs that are not adjacent. The evidence for single edges may depend on
normality more than that; such edges are named. F. Pauli, W. Racugno, L. Ventura, Bayesian composite
marginal likelihoods, Statistica Sinica 21 (2011), have likelihoods that are raised to a power.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bowfree.data.covariance import safe_inverse
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import to_columns, with_columns
from bowfree.data.sample import Floats
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments
from bowfree.model.inference import Sandwich, observed_information
from bowfree.model.joint_fit import JointFit
from bowfree.results.rows import Row

LARGE = 2.0  # ratio of standard errors from which an edge is named


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
