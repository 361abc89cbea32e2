"""The sandwich: standard errors and tests for data that are not normal.

Estimates are functions of S, and ``Gamma`` (:class:`bowfree.Moments`) is the asymptotic covariance
matrix of the entries of S. With ``Delta`` the derivatives of the entries of
Sigma by the parameters, ``V`` the weight matrix of the normal likelihood (the inverse of Gamma of
normal data) and ``J`` the information matrix of one observation, expected or observed, the
estimates have the covariance matrix

    J^-1 (Delta^T V Gamma V Delta) J^-1 / n,

"bread" around "meat". For complete normal data the meat is J and the sandwich its inverse. The
chi-square statistic is a mixture of df chi-squares; dividing it by the mean of the weights corrects
its mean. Satorra and Bentler use ``tr(U Gamma) / df`` with ``U = V - V Delta (Delta^T V Delta)^-1
Delta^T V``. Yuan and Bentler (as in Mplus) use the difference of ``tr(J^-1 meat)`` between the
saturated model and the graph, with observed information.

References
----------
A. Satorra and P. Bentler, Corrections to test statistics and standard errors in covariance
structure analysis, 1994; K.-H. Yuan and P. Bentler, Three likelihood-based methods for mean and
covariance structure analysis with nonnormal missing data, Sociological Methodology 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bowfree.data.covariance import safe_inverse, total_effect_matrix
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.sample import (
    CompleteRows,
    Floats,
    inverse_covariance,
    lower_triangle,
    normal_gamma,
)
from bowfree.model.fit_indices import Approximation, discrepancy
from bowfree.model.inference import (
    Information,
    Parameter,
    baseline_model,
    expected_information,
    observed_information,
)
from bowfree.parameters import StandardErrorKind, TestKind


def jacobian(B: Floats, Omega: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return the derivatives of the entries of Sigma (rows) by the parameters (columns).

    With ``E = (I-B)^-1``: ``dSigma = E dB Sigma + Sigma dB^T E^T + E dOmega E^T``.
    """
    E = total_effect_matrix(B)
    Sigma = E @ Omega @ E.T
    r, c = lower_triangle(len(B))
    columns = []
    for matrix, i, j in parameters:
        other = Sigma[j] if matrix == "B" else E[:, j]
        slope = E[r, i] * other[c] + E[c, i] * other[r]
        columns.append(slope / 2 if matrix == "Omega" and i == j else slope)
    return np.stack(columns, axis=1)


def normal_weight(Sigma: Floats) -> Floats:
    """Return V, the inverse of :func:`~bowfree.data.sample.normal_gamma` at Sigma."""
    i, j = lower_triangle(len(Sigma))
    counted = np.where(i == j, 0.5, 1.0)  # a variance appears once in Sigma, a covariance twice
    return normal_gamma(inverse_covariance(Sigma)) * counted * counted[:, None]


def case_scores(B: Floats, Omega: Floats, X: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return the gradient of the log-likelihood of every row, shape (n, q).

    With errors ``e = (I - B) x`` and ``g = Omega^-1 e`` it is ``g_i x_j`` for ``B[i, j]``, and
    ``g_i g_j - Omega^-1[i, j]`` for ``Omega[i, j]``, half of it for a variance.
    """
    W = inverse_covariance(Omega)
    g = X @ (np.eye(len(B)) - B).T @ W
    columns = [
        g[:, i] * X[:, j]
        if kind == "B"
        else (g[:, i] * g[:, j] - W[i, j]) * (0.5 if i == j else 1.0)
        for kind, i, j in parameters
    ]
    return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class Sandwich:
    """The sandwich of estimates from a covariance matrix S with asymptotic covariances Gamma.

    V is evaluated at `weight_at`: Sigma or S. Both are consistent if the graph is correct.
    """

    B: Floats
    Omega: Floats
    S: Floats
    Gamma: Floats
    parameters: tuple[Parameter, ...]
    weight_at: Floats
    mean_Gamma: Floats | None = None  # of the mean, if it is not S
    K: Floats | None = None  # derivatives by free parameters, if some are equal or fixed

    @cached_property
    def _Delta(self) -> Floats:
        Delta = jacobian(self.B, self.Omega, self.parameters)
        return Delta if self.K is None else Delta @ self.K

    @cached_property
    def _V(self) -> Floats:
        return normal_weight(self.weight_at)

    def _bread(self, information: Information) -> Floats:
        """Return the inverse of the information matrix of one observation."""
        if information == "expected":
            return safe_inverse(self._Delta.T @ self._V @ self._Delta)
        J = observed_information(self.B, self.Omega, self.S, 1.0, self.parameters)
        return safe_inverse(J if self.K is None else self.K.T @ J @ self.K)

    def covariance(self, information: Information) -> Floats:
        """Return the covariance matrix of ``sqrt(n)`` times the estimates, shape (q, q).

        With observed information the sandwich is valid for misspecified graphs, too: it is the
        delta method for the estimates as functions of S.
        """
        slope = self._V @ self._Delta @ self._bread(information)
        covariance: Floats = slope.T @ self.Gamma @ slope
        # The variance of a rank or of a category is fixed at one. It has no error, and rounding
        # should not look like a very small one.
        usual = slope.T**2 @ np.diag(normal_gamma(self.S))
        fixed = np.diag(covariance) <= np.finfo(float).eps * usual
        covariance[fixed], covariance[:, fixed] = 0.0, 0.0
        return covariance if self.K is None else self.K @ covariance @ self.K.T

    def expected_chi2(self, test: TestKind) -> float:
        """Return the mean of the chi-square statistic if the graph is correct."""
        VD = self._V @ self._Delta
        meat = VD.T @ self.Gamma @ VD
        if test == "satorra-bentler":
            return float(np.sum(self._V * self.Gamma) - np.sum(self._bread("expected") * meat))
        saturated = np.sum(normal_weight(self.S) * self.Gamma)
        if self.mean_Gamma is not None:
            # Free means: their traces cancel for independent rows, but not for clusters.
            W = inverse_covariance(self.S) - inverse_covariance(self.weight_at)
            saturated += np.sum(W * self.mean_Gamma)
        return float(saturated - np.sum(self._bread("observed") * meat))


@dataclass(frozen=True, eq=False)
class MomentVariation:
    """Variation of estimates that are functions of the covariance matrix S."""

    B: Floats
    Omega: Floats
    Sigma: Floats
    moments: Moments
    n: float
    parameters: tuple[Parameter, ...]
    exogenous: tuple[int, ...]  # the variables whose covariances the baseline model keeps
    fixed: tuple[int, ...]  # the variables that inference is conditional on
    K: Floats | None = None  # derivatives by free parameters, if some are equal or fixed

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the inverse information, or the sandwich."""
        q = len(self.parameters)
        if not math.isfinite(self.n):  # a population matrix has no sampling error
            return np.full((q, q), np.nan)
        if se != "standard":
            return self._graph(se).covariance(information) / self.n
        model = self.B, self.Omega
        if information == "expected":
            J = expected_information(*model, self.n, self.parameters)
        else:
            J = observed_information(*model, self.moments.S, self.n, self.parameters)
        if self.K is None:
            return safe_inverse(J)
        covariance: Floats = self.K @ safe_inverse(self.K.T @ J @ self.K) @ self.K.T
        return covariance

    def _graph(self, kind: StandardErrorKind | TestKind) -> Sandwich:
        found = self._sandwich(self.B, self.Omega, self.Sigma, self.parameters, kind)
        return replace(found, K=self.K)

    def _sandwich(
        self,
        B: Floats,
        Omega: Floats,
        Sigma: Floats,
        parameters: tuple[Parameter, ...],
        kind: StandardErrorKind | TestKind,
    ) -> Sandwich:
        # As in lavaan, two-stage estimates are weighted by the result of the first stage, and
        # sandwiches of the scores of single rows are never conditional.
        rows, S, Gamma = self.moments.sample, self.moments.S, self.moments.Gamma
        if self.fixed and kind in ("robust", "satorra-bentler"):
            assert isinstance(rows, CompleteRows)
            Gamma = rows.gamma(self.fixed)
        two_stage = isinstance(rows, IncompleteRows)
        means = None
        if isinstance(rows, CompleteRows) and rows.clusters is not None:
            means = rows.mean_gamma()
        return Sandwich(B, Omega, S, Gamma, parameters, S if two_stage else Sigma, means)

    def misfit(self) -> tuple[float, float]:
        """Return the discrepancies of Sigma and of the baseline model from S."""
        S = self.moments.S
        return discrepancy(S, self.Sigma), discrepancy(S, baseline_model(S, self.exogenous)[0])

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Return the means of both chi-square statistics, if the models hold."""
        Omega, parameters = baseline_model(self.moments.S, self.exogenous)
        baseline = self._sandwich(0 * Omega, Omega, Omega, parameters, test)
        return self._graph(test).expected_chi2(test), baseline.expected_chi2(test)

    def approximation(self, test: TestKind) -> Approximation:
        """Return the same distances as the test."""
        return Approximation(self.misfit(), self.expected_chi2(test))
