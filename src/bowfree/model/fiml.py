"""Full-information maximum likelihood: a graph fitted to the observed values of incomplete rows.

With missing values (:mod:`bowfree.data.missing_values`) the likelihood does not decompose over
districts, so all parameters and the means are estimated jointly: Newton's method from the two-stage
estimates, with the exact Hessian

    -d2l = Delta^T J Delta - tr(G d2Sigma),

where J and G are information and gradient by the entries of mean and Sigma, and Delta their
derivatives by the parameters. The same matrix is the observed information of the standard errors;
the expected information is inconsistent if missingness depends on observed values. Computations are
in units in which the observed values of each column have variance one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bowfree.data.covariance import safe_inverse, total_effect_matrix
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.sample import Floats, inverse_covariance, lower_triangle
from bowfree.errors import BowfreeError
from bowfree.model.fit_indices import Approximation, discrepancy
from bowfree.model.inference import (
    Information,
    Parameter,
    baseline_model,
    implied_covariance,
    jacobian,
    normal_weight,
    parameter_matrices,
    parameter_values,
    split_parameters,
)
from bowfree.parameters import StandardErrorKind, TestKind

_MOST_STEPS = 200
# Predicted gain of log-likelihood per row below which a step is rounding.
_GAIN = 1e-15
# The same if rounding errors of the gradient keep the predicted gain from falling further.
_STALLED_GAIN = 1e-10


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters and means in standard units, with the derivatives of the likelihood there."""

    rows: IncompleteRows
    parameters: tuple[Parameter, ...]
    mu: Floats
    values: Floats

    @classmethod
    def of(
        cls,
        rows: IncompleteRows,
        mean: Floats,
        B: Floats,
        Omega: Floats,
        parameters: tuple[Parameter, ...],
    ) -> _Point:
        """Convert estimates in the units of the data."""
        values = parameter_values(B, Omega, parameters) / _units(rows.scale, parameters)
        return cls(rows, parameters, (mean - rows.center) / rows.scale, values)

    @property
    def matrices(self) -> tuple[Floats, Floats]:
        return parameter_matrices(len(self.mu), self.parameters, self.values)

    @property
    def Sigma(self) -> Floats:
        return implied_covariance(*self.matrices)

    @cached_property
    def loglik(self) -> float:
        if not np.linalg.eigvalsh(self.matrices[1])[0] > 0:
            return -math.inf
        return self.rows.patterns.loglik(self.mu, self.Sigma)

    def moved(self, step: Floats) -> _Point:
        d = len(self.mu)
        return _Point(self.rows, self.parameters, self.mu + step[:d], self.values + step[d:])

    def slopes(self) -> Floats:
        """Return the derivatives of means and entries of Sigma by means and parameters."""
        Delta = jacobian(*self.matrices, self.parameters)
        d = len(self.mu)
        joint = np.zeros((d + len(Delta), d + Delta.shape[1]))
        joint[:d, :d] = np.eye(d)
        joint[d:, d:] = Delta
        return joint

    def derivatives(self) -> tuple[Floats, Floats]:
        """Return the gradient of the log-likelihood, and minus its Hessian."""
        by_mu, G = self.rows.patterns.gradient(self.mu, self.Sigma)
        slopes, d = self.slopes(), len(self.mu)
        a, b = lower_triangle(d)
        by_entries = np.concatenate([by_mu, np.where(a == b, 1.0, 2.0) * G[a, b]])
        H = slopes.T @ self.rows.patterns.information(self.mu, self.Sigma) @ slopes
        H[d:, d:] -= curvature(*self.matrices, G, self.parameters)
        return slopes.T @ by_entries, H

    def score_products(self) -> Floats:
        """Return the sum over rows of the outer product of their scores."""
        rows, slopes = self.rows, self.slopes()
        products = rows.patterns.score_products(rows.X, self.mu, self.Sigma, rows.weights)
        meat: Floats = slopes.T @ products @ slopes
        return meat


def curvature(B: Floats, Omega: Floats, G: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return ``tr(G d2Sigma)`` for each pair of parameters.

    With ``E = (I-B)^-1`` and directions D of B and H of Omega, from ``dSigma = E D Sigma + Sigma
    D^T E^T + E H E^T``: half of it is ``tr(G E D' E D Sigma) + tr(G E D E D' Sigma) +
    tr(G E D Sigma D'^T E^T)`` for two effects, ``tr(G E D E H E^T)`` for an effect and an entry of
    Omega, and nothing for two entries of Omega, in which Sigma is linear.
    """
    E = total_effect_matrix(B)
    Sigma = E @ Omega @ E.T
    SGE, EGE = Sigma @ G @ E, E.T @ G @ E
    q_B, (i, j), (a, b), counted = split_parameters(parameters)
    C = np.zeros((len(parameters), len(parameters)))
    # For D = e_i e_j^T and D' = e_k e_l^T the first trace is (Sigma G E)_jk E_li.
    crossed = SGE[np.ix_(j, i)] * E[np.ix_(j, i)].T
    C[:q_B, :q_B] = 2 * (crossed + crossed.T + EGE[np.ix_(i, i)] * Sigma[np.ix_(j, j)])
    mixed = E[np.ix_(j, a)] * EGE[np.ix_(i, b)] + E[np.ix_(j, b)] * EGE[np.ix_(i, a)]
    C[:q_B, q_B:] = 2 * mixed * counted
    C[q_B:, :q_B] = C[:q_B, q_B:].T
    return C


def maximize(
    rows: IncompleteRows, B: Floats, Omega: Floats, parameters: tuple[Parameter, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Maximize the likelihood from the two-stage estimates.

    Returns B, Omega and mean in the units of the data, and the numbers of the certificate, which
    are per row and in standard units. It converged if the gradient is zero and the Hessian negative
    definite, up to rounding.
    """
    start = _Point.of(rows, rows.moments()[0], B, Omega, parameters)
    point, converged, decrement, gradient, n_iter = _climb(start)
    total, d, scale = rows.patterns.total, len(rows.scale), rows.scale
    fitted_B, fitted_Omega = point.matrices
    sd = np.sqrt(np.diag(fitted_Omega))
    cells = rows.patterns.count @ rows.patterns.observed
    loglik = point.loglik - float(cells @ np.log(scale))
    estimates = {
        "B": fitted_B * np.outer(scale, 1 / scale),
        "Omega": fitted_Omega * np.outer(scale, scale),
        "mean": rows.center + point.mu * scale,
    }
    return estimates, {
        "objective": -2 * loglik / rows.n_rows - d * math.log(2 * math.pi),
        "converged": converged,
        "decrement": decrement / total,
        "gradient_norm": float(np.abs(gradient[d:]).max()) / total,
        "smallest_eigenvalue": float(np.linalg.eigvalsh(fitted_Omega / np.outer(sd, sd))[0]),
        "n_iter": n_iter,
    }


def _climb(point: _Point) -> tuple[_Point, bool, float, Floats, int]:
    """Return the maximum, whether it is certified, its decrement and gradient, and the steps."""
    total = point.rows.patterns.total
    previous = math.inf
    for n_iter in range(1, _MOST_STEPS + 1):
        gradient, H = point.derivatives()
        step, decrement, definite = _ascent(gradient, H)
        small = decrement <= _STALLED_GAIN * total
        if decrement <= _GAIN * total or (small and decrement > previous / 2):
            return point, definite, decrement, gradient, n_iter
        slope = float(gradient @ step)
        for k in range(40):
            ahead = point.moved(0.5**k * step)
            if ahead.loglik >= point.loglik + 1e-4 * 0.5**k * slope:
                break
        else:  # only rounding is left
            return point, definite and small, decrement, gradient, n_iter
        point, previous = ahead, decrement
    return point, False, decrement, gradient, n_iter


def _units(scale: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return the standard unit of each parameter in the units of the data."""
    return np.array(
        [scale[i] / scale[j] if m == "B" else scale[i] * scale[j] for m, i, j in parameters]
    )


def _ascent(gradient: Floats, H: Floats) -> tuple[Floats, float, bool]:
    """Return an ascent step, its predicted gain, and whether H is positive definite."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), np.finfo(float).tiny))
    eigenvalues, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    least = 1e-10 * eigenvalues[-1]
    bent = np.maximum(np.abs(eigenvalues), least)  # leave a saddle point along its own directions
    along = vectors.T @ (scale * gradient)
    step = scale * (vectors @ (along / bent))
    return step, float(along @ (along / bent)) / 2, bool(eigenvalues[0] > least)


@dataclass(frozen=True, eq=False)
class FullInformation:
    """Sampling variation of full-information estimates and their chi-square statistic."""

    B: Floats
    Omega: Floats
    mean: Floats
    rows: IncompleteRows
    parameters: tuple[Parameter, ...]
    exogenous: tuple[int, ...]  # the variables whose covariances the baseline model keeps

    @cached_property
    def _graph(self) -> _Point:
        return _Point.of(self.rows, self.mean, self.B, self.Omega, self.parameters)

    @cached_property
    def _baseline(self) -> _Point:
        first = self.rows.saturated
        Omega, parameters = baseline_model(first.Sigma, self.exogenous)
        values = parameter_values(Omega, Omega, parameters)
        return _climb(_Point(self.rows, parameters, first.mean, values))[0]

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the inverse observed information, or Huber and White's sandwich around it."""
        if information == "expected":
            raise BowfreeError(
                "information = 'expected' is inconsistent if values are missing at random: omit "
                "it, and missing='fiml' uses the observed information"
            )
        _, H = self._graph.derivatives()
        V = safe_inverse(H)
        if se != "standard":
            V = V @ self._graph.score_products() @ V
        d = len(self.mean)
        units = _units(self.rows.scale, self.parameters)
        covariance: Floats = V[d:, d:] * np.outer(units, units)
        return covariance

    def expected_scores(self, parameters: Sequence[Parameter]) -> tuple[Floats, Floats]:
        """Return gradient and expected information of free or absent parameters, per row.

        The information is that of the same patterns of missing values, as in lavaan's
        ``modindices``.
        """
        point, patterns, d = self._graph, self.rows.patterns, len(self.mean)
        mu, Sigma, observed = point.mu, point.Sigma, patterns.observed
        scatter = Sigma * observed[:, :, None] * observed[:, None]
        J = replace(patterns, mean=mu * observed, scatter=scatter).information(mu, Sigma)[d:, d:]
        _, G = patterns.gradient(mu, Sigma)
        a, b = lower_triangle(d)
        slopes = jacobian(*point.matrices, parameters) / _units(self.rows.scale, parameters)
        gradient = np.where(a == b, 1.0, 2.0) * G[a, b] @ slopes
        return gradient / patterns.total, slopes.T @ J @ slopes / patterns.total

    def mean_residuals(self) -> Floats:
        """Return the means of the saturated model minus those of the graph."""
        residuals: Floats = (self.rows.saturated.mean - self._graph.mu) * self.rows.scale
        return residuals

    def misfit(self) -> tuple[float, float]:
        """Return twice the difference of log-likelihood to the saturated model, per row."""
        best, total = self.rows.saturated.loglik, self.rows.patterns.total
        lost = best - self._graph.loglik, best - self._baseline.loglik
        return 2 * max(lost[0], 0.0) / total, 2 * max(lost[1], 0.0) / total

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Return Yuan and Bentler's traces: saturated minus graph, saturated minus baseline."""
        found, patterns = self.rows.saturated, self.rows.patterns
        J = safe_inverse(patterns.information(found.mean, found.Sigma))
        most = float(np.sum(J * self._saturated_products()))
        graph, baseline = (
            float(np.sum(safe_inverse(point.derivatives()[1]) * point.score_products()))
            for point in (self._graph, self._baseline)
        )
        return most - graph, most - baseline

    def _saturated_products(self) -> Floats:
        """Return the sum over rows of the outer product of their scores in the saturated model."""
        rows, found = self.rows, self.rows.saturated
        return rows.patterns.score_products(rows.X, found.mean, found.Sigma, rows.weights)

    def approximation(self, test: TestKind) -> Approximation:
        """Return distances from the saturated mean and Sigma as if rows were complete.

        Chi-square is weighted by the observed information, while RMSEA and CFI should be those of
        complete data (Zhang and Savalei, New computations for RMSEA and CFI following FIML and TS
        estimation with missing data, Psychological Methods 2023). The residuals are ``(I - P)(s -
        sigma)`` with P the projection of the full-information estimates on Delta.
        """
        found, patterns, n = self.rows.saturated, self.rows.patterns, self.rows.n_rows
        A = patterns.information(found.mean, found.Sigma) / n
        Gamma = safe_inverse(A)
        if test != "standard":
            Gamma = Gamma @ self._saturated_products() @ Gamma / n
        d = len(found.mean)
        W = np.zeros_like(A)
        W[:d, :d] = inverse_covariance(found.Sigma)
        W[d:, d:] = normal_weight(found.Sigma)
        misfit, expected = [], []
        for point in (self._graph, self._baseline):
            Delta, z = point.slopes(), found.mean - point.mu
            P = Delta @ safe_inverse(Delta.T @ A @ Delta) @ Delta.T @ A
            rest = np.eye(len(A)) - P
            expected.append(float(np.sum((rest.T @ W @ rest) * Gamma)))
            F = discrepancy(found.Sigma, point.Sigma)
            misfit.append(F + float(z @ inverse_covariance(point.Sigma) @ z))
        return Approximation((misfit[0], misfit[1]), (expected[0], expected[1]))
