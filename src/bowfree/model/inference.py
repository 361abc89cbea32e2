"""Information matrices, sandwiches, standard errors and bootstrap intervals.

The likelihood of section 2.3 is a smooth function of the entries of B at the directed edges, of the
variances on the diagonal of Omega and of its entries at the bidirected edges. With ``W = Omega^-1``,
``A = I - B`` and ``S`` (divisor n) it is ``-n/2`` times

    F = log |Omega| + tr(W A S A^T)    (and a constant),

so the *observed* information is ``n/2`` times the Hessian of F, and the *expected* one is the same
with S replaced by Sigma. Every derivative of Sigma has rank two after multiplication by A,
``A (dSigma) A^T = u v^T + v u^T``, so that no d x d matrix per parameter is needed.

**Data that are not normal.** Estimates are functions of S, and ``Gamma`` (:class:`bowfree.Moments`)
is the asymptotic covariance matrix of the entries of S. With ``Delta`` the derivatives of the
entries of Sigma by the parameters, ``V`` the weight matrix of the normal likelihood (the inverse of
Gamma of normal data) and ``J`` the information matrix of one observation, expected or observed, the
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bowfree.data.covariance import safe_inverse, total_effect_matrix
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.sample import (
    CompleteRows,
    Floats,
    Indices,
    inverse_covariance,
    lower_triangle,
    normal_gamma,
)
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.fit_indices import Approximation, discrepancy
from bowfree.parameters import Interval, StandardErrorKind, TestKind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, significant
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.validation import check_fraction

Information = Literal["expected", "observed"]
#: ``("B", i, j)`` is the effect of j on i; ``("Omega", i, j)`` with i <= j an error (co)variance.
Parameter = tuple[Literal["B", "Omega"], int, int]


# --- parameters ---


def parameter_index(
    parents: Sequence[Sequence[int]], spouses: Sequence[Sequence[int]]
) -> tuple[Parameter, ...]:
    """List the parameters: directed edges by child, then bidirected edges, then variances."""
    d = len(parents)
    directed: list[Parameter] = [("B", i, j) for i in range(d) for j in parents[i]]
    bidirected: list[Parameter] = [("Omega", i, j) for i in range(d) for j in spouses[i] if i < j]
    variances: list[Parameter] = [("Omega", i, i) for i in range(d)]
    return (*directed, *bidirected, *variances)


def parameter_values(B: Floats, Omega: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return the entries of B and Omega as one vector."""
    return np.array([(B if kind == "B" else Omega)[i, j] for kind, i, j in parameters])


def parameter_matrices(
    d: int, parameters: Sequence[Parameter], values: Floats, fill: float = 0.0
) -> tuple[Floats, Floats]:
    """Return B and Omega that have these values of the parameters, and `fill` elsewhere."""
    q_B, directed, (a, b), _ = split_parameters(parameters)
    B, Omega = np.full((d, d), fill), np.full((d, d), fill)
    B[directed] = values[:q_B]
    Omega[a, b] = Omega[b, a] = values[q_B:]
    return B, Omega


def implied_covariance(B: Floats, Omega: Floats) -> Floats:
    """Return ``(I - B)^-1 Omega (I - B)^-T``, exactly symmetric."""
    E = total_effect_matrix(B)
    Sigma = E @ Omega @ E.T
    return Sigma / 2 + Sigma.T / 2  # rounding leaves the product slightly asymmetric


def parameter_edge(names: Sequence[str], parameter: Parameter) -> tuple[str, str, str]:
    """Return a parameter as ("x", "->", "y"), ("x", "<->", "y") or ("x", "variance", "x")."""
    kind, i, j = parameter
    if kind == "B":
        return names[j], "->", names[i]
    return names[i], "variance" if i == j else "<->", names[j]


def edge_label(a: str, mark: str, b: str) -> str:
    """Return "x -> y", "x <-> y", or "var eps(x)" for the mark "variance"."""
    return f"var eps({quote(a)})" if mark == "variance" else f"{quote(a)} {mark} {quote(b)}"


def split_parameters(
    parameters: Sequence[Parameter],
) -> tuple[int, tuple[Indices, Indices], tuple[Indices, Indices], Floats]:
    """Split the parameters into entries of B, which come first, and of Omega.

    Returns the number of entries of B, their rows and columns, those of the entries of Omega, and
    a weight of one half for variances, which ``dOmega_ab = e_a e_b^T + e_b e_a^T`` counts twice.
    """
    q_B = sum(matrix == "B" for matrix, _, _ in parameters)
    rows, columns = np.array([(i, j) for _, i, j in parameters]).T
    a, b = rows[q_B:], columns[q_B:]
    return q_B, (rows[:q_B], columns[:q_B]), (a, b), np.where(a == b, 0.5, 1.0)


def exogenous_nodes(graph: MixedGraph) -> tuple[int, ...]:
    """Return the variables that are exogenous covariates for lavaan's ``sem()``.

    They have children and no parents, covary freely with each other, and have no covariance with
    the error of another variable. ``sem()`` adds the covariances among them. If a text must write
    or fix one of these covariances, both variables are ordinary ones; therefore the set is empty
    unless all covariances among them are free.
    """
    causes = 0
    for parents in graph._parents:
        causes |= parents
    found = {i for i in members(causes) if not graph._parents[i]}
    while outside := {i for i in found if not found.issuperset(members(graph._spouses[i]))}:
        found -= outside
    complete = all(graph._spouses[i].bit_count() == len(found) - 1 for i in found)
    return tuple(sorted(found)) if complete else ()


def baseline_model(S: Floats, exogenous: Sequence[int]) -> tuple[Floats, tuple[Parameter, ...]]:
    """Return Sigma and parameters of the baseline model, which keeps exogenous covariances."""
    Sigma = np.diag(np.diag(S))
    block = np.ix_(exogenous, exogenous)
    Sigma[block] = S[block]
    spouses = [[j for j in exogenous if i in exogenous and j != i] for i in range(len(S))]
    return Sigma, parameter_index([()] * len(S), spouses)


# --- normal theory ---


def expected_information(
    B: Floats, Omega: Floats, n: float, parameters: Sequence[Parameter]
) -> Floats:
    """Return the Fisher information ``n/2 tr(Sigma^-1 dSigma_s Sigma^-1 dSigma_t)``."""
    return n * information_of(score_products(B, Omega), parameters)


def score_products(B: Floats, Omega: Floats) -> Floats:
    """Return the matrix with the blocks Sigma, E, E^T and W, the inverse of Omega."""
    d, E = len(B), total_effect_matrix(B)
    M = np.empty((2 * d, 2 * d))
    M[:d, :d], M[:d, d:], M[d:, :d], M[d:, d:] = E @ Omega @ E.T, E, E.T, inverse_covariance(Omega)
    return M


def information_of(
    M: Floats, parameters: Sequence[Parameter], others: Sequence[Parameter] | None = None
) -> Floats:
    """Return the information per observation of parameters, or between them and `others`.

    A parameter (matrix, i, j) has u = e_i, and v = Omega E^T e_j for an effect or e_j for a
    covariance (half of it for a variance). The products of u and v with W are entries of M, the
    matrix of :func:`score_products`, so that no system is solved.
    """
    d = len(M) // 2

    def places(parameters: Sequence[Parameter]) -> tuple[Indices, Indices, Floats]:
        u = np.array([d + i for _, i, _ in parameters], dtype=np.intp)
        v = np.array([j if kind == "B" else d + j for kind, _, j in parameters], dtype=np.intp)
        return u, v, np.where(u == v, 0.5, 1.0)

    u, v, half = places(parameters)
    x, y, weight = (u, v, half) if others is None else places(others)
    X, Y = M[:, x], M[:, y] * weight
    information: Floats = Y[u] * X[v] + X[u] * Y[v]
    information *= half[:, None]
    return information


def observed_information(
    B: Floats, Omega: Floats, S: Floats, n: float, parameters: Sequence[Parameter]
) -> Floats:
    """Return minus the Hessian of the log-likelihood of n observations with covariance matrix S."""
    d = len(B)
    A = np.eye(d) - B
    W = inverse_covariance(Omega)
    WAS: Floats = W @ A @ S
    WEW: Floats = WAS @ A.T @ W
    q_B, (i, j), (a, b), weight = split_parameters(parameters)
    H = np.empty((len(parameters), len(parameters)))
    H[:q_B, :q_B] = 2 * W[np.ix_(i, i)] * S[np.ix_(j, j)]
    # d/dOmega of dF/dB_ij = -2 (W A S)_ij, by dW = -W dOmega W.
    mixed = W[i][:, a] * WAS[b][:, j].T + W[i][:, b] * WAS[a][:, j].T
    H[:q_B, q_B:] = 2 * mixed * weight
    H[q_B:, :q_B] = H[:q_B, q_B:].T
    H[q_B:, q_B:] = (
        _trace_form(W, WEW, a, b) + _trace_form(WEW, W, a, b) - _trace_form(W, W, a, b)
    ) * np.outer(weight, weight)
    return n / 2 * H


def _trace_form(M: Floats, N: Floats, a: Indices, b: Indices) -> Floats:
    """Return tr(D_s M D_t N) for all pairs of ``D = e_a e_b^T + e_b e_a^T``; M, N symmetric."""
    aa, ab, ba, bb = (np.ix_(x, y) for x, y in ((a, a), (a, b), (b, a), (b, b)))
    form: Floats = M[ba] * N[ab] + M[bb] * N[aa] + M[aa] * N[bb] + M[ab] * N[ba]
    return form


# --- sandwiches ---


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
            return self._sandwich(se).covariance(information) / self.n
        model = self.B, self.Omega
        if information == "expected":
            J = expected_information(*model, self.n, self.parameters)
        else:
            J = observed_information(*model, self.moments.S, self.n, self.parameters)
        if self.K is None:
            return safe_inverse(J)
        covariance: Floats = self.K @ safe_inverse(self.K.T @ J @ self.K) @ self.K.T
        return covariance

    def _sandwich(
        self, kind: StandardErrorKind | TestKind, *, of_baseline: bool = False
    ) -> Sandwich:
        # As in lavaan, two-stage estimates are weighted by the result of the first stage, and
        # sandwiches of the scores of single rows are never conditional.
        rows, S, Gamma = self.moments.sample, self.moments.S, self.moments.Gamma
        if self.fixed and kind in ("robust", "satorra-bentler"):
            assert isinstance(rows, CompleteRows)
            Gamma = rows.gamma(self.fixed)
        means = None
        if isinstance(rows, CompleteRows) and rows.clusters is not None:
            means = rows.mean_gamma()
        B, Omega, Sigma, parameters, K = self.B, self.Omega, self.Sigma, self.parameters, self.K
        if of_baseline:
            Sigma, parameters = baseline_model(S, self.exogenous)
            B, Omega, K = 0 * Sigma, Sigma, None
        weight_at = S if isinstance(rows, IncompleteRows) else Sigma
        return Sandwich(B, Omega, S, Gamma, parameters, weight_at, means, K)

    def misfit(self) -> tuple[float, float]:
        """Return the discrepancies of Sigma and of the baseline model from S."""
        S = self.moments.S
        return discrepancy(S, self.Sigma), discrepancy(S, baseline_model(S, self.exogenous)[0])

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Return the means of both chi-square statistics, if the models hold."""
        graph, baseline = self._sandwich(test), self._sandwich(test, of_baseline=True)
        return graph.expected_chi2(test), baseline.expected_chi2(test)

    def approximation(self, test: TestKind) -> Approximation:
        """Return the same distances as the test."""
        return Approximation(self.misfit(), self.expected_chi2(test))


# --- standard errors ---


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors(TextDisplay, ToDict, Frozen):
    """Standard errors of the parameters of a fit.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    parameters : tuple
        ``("B", i, j)`` or ``("Omega", i, j)`` for each row of `covariance`.
    covariance : ndarray of shape (q, q)
        Covariance matrix of the estimates: the inverse of the information matrix, or a sandwich.
    information : {"expected", "observed"}
        The information matrix that was inverted.
    se : {"standard", "robust", "robust-huber-white", "bootstrap"}
        Kind of the standard errors.
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    covariance: Floats
    information: Information
    se: StandardErrorKind = "standard"

    @property
    def values(self) -> Floats:
        """The standard errors in the order of `parameters`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def B(self) -> Floats:
        """Entry ``[i, j]`` belongs to the effect of j on i; NaN without an edge."""
        return self._matrices()[0]

    @property
    def Omega(self) -> Floats:
        """Variances on the diagonal, bidirected edges off it; NaN without an edge."""
        return self._matrices()[1]

    def _matrices(self) -> tuple[Floats, Floats]:
        return parameter_matrices(len(self.names), self.parameters, self.values, np.nan)

    def _content(self) -> Any:
        return {**vars(self), "B": self.B, "Omega": self.Omega}

    def _headline(self) -> str:
        kind = {"standard": "", "bootstrap": "bootstrap, "}.get(self.se, "robust, ")
        source = "" if self.se == "bootstrap" else f"{self.information} information"
        return f"of {count(len(self.parameters), 'parameter')}, {kind}{source}".rstrip(", ")

    def _sections(self) -> Iterator[str | Table]:
        yield f"standard errors {self._headline()}"
        rows = [
            (edge_label(*parameter_edge(self.names, parameter)), significant(se, 4))
            for parameter, se in zip(self.parameters, self.values.tolist(), strict=True)
        ]
        rest = "more: fit.to_frame() has all"
        yield Table(("parameter", "s.e."), rows, most=MOST_ROWS, rest=rest)


@dataclass(frozen=True, eq=False, repr=False)
class Resamples(Frozen):
    """Estimates on bootstrap samples, and their intervals.

    Attributes
    ----------
    draws : ndarray of shape (samples, q)
        The estimates on each sample.
    interval : {"percentile", "bias-corrected", "bca", "normal"}
        Kind of the intervals: quantiles; quantiles at levels that are shifted by the fraction of
        draws below the estimate (lavaan's "bca.simple"), for "bca" also by the skewness of the
        jackknife; or the estimate minus its bias, plus and minus a multiple of the standard error.
    jackknife : ndarray of shape (groups, q) or None
        For "bca": the estimates without one group of rows each.

    References
    ----------
    B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 14.
    """

    draws: Floats
    interval: Interval
    jackknife: Floats | None = None

    def map(self, function: Callable[[Floats], Floats]) -> Resamples:
        """Return the draws of functions of the parameters; (samples, q) -> (samples, k)."""
        jackknife = None if self.jackknife is None else function(self.jackknife)
        return Resamples(function(self.draws), self.interval, jackknife)

    def se(self) -> Floats:
        """Return the standard deviations of the draws; NaN for a single draw."""
        if len(self.draws) < 2:
            return np.full(self.draws.shape[1], np.nan)
        return np.asarray(self.draws.std(axis=0, ddof=1), dtype=np.float64)

    def covariance(self) -> Floats:
        """Return the covariance matrix of the draws; NaN for a single draw."""
        q = self.draws.shape[1]
        if len(self.draws) < 2:
            return np.full((q, q), np.nan)
        return np.cov(self.draws, rowvar=False).reshape(q, q)

    def bounds(self, estimate: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of intervals."""
        from scipy.special import ndtr, ndtri

        z = normal_quantile(confidence)
        if self.interval == "normal":
            center, half = 2 * estimate - self.draws.mean(axis=0), z * self.se()
            return center - half, center + half
        levels = np.array([[(1 - confidence) / 2], [(1 + confidence) / 2]])
        if self.interval != "percentile":
            # At most all but half a sample, because an infinite shift would leave no interval.
            edge = 0.5 / len(self.draws)
            shift = ndtri(np.clip(np.mean(self.draws < estimate, axis=0), edge, 1 - edge))
            ends = shift + ndtri(levels)
            levels = ndtr(shift + ends / (1 - self._acceleration() * ends))
        levels = np.broadcast_to(levels, (2, len(estimate)))
        pairs = zip(self.draws.T, levels.T, strict=True)
        found = np.array([np.quantile(*pair) for pair in pairs]).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _acceleration(self) -> Floats | float:
        if self.jackknife is None:
            return 0.0
        deviations = self.jackknife.mean(axis=0) - self.jackknife
        spread = 6 * np.sum(deviations**2, axis=0) ** 1.5
        cubes = np.sum(deviations**3, axis=0)
        skewness: Floats = np.divide(cubes, spread, out=np.zeros_like(spread), where=spread > 0)
        return skewness


def normal_quantile(confidence: float) -> float:
    """Return the half-width of a two-sided interval of this level, in standard errors."""
    from scipy.special import ndtri

    return float(ndtri((1 + check_fraction("confidence", confidence)) / 2))


def wald(estimate: Floats, se: Floats) -> tuple[Floats, Floats]:
    """Return ``estimate / se`` and its two-sided normal p-value; NaN where se is zero."""
    from scipy.special import ndtr

    z = np.divide(estimate, se, out=np.full_like(estimate, np.nan), where=se != 0)
    return z, 2 * ndtr(-np.abs(z))
