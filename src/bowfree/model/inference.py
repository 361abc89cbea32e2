"""Information matrices of normal theory, standard errors and bootstrap intervals.

The likelihood of section 2.3 is a smooth function of the entries of B at the directed edges, of the
variances on the diagonal of Omega and of its entries at the bidirected edges. With ``W = Omega^-1``, ``A = I - B`` and ``S`` (divisor n) it is ``-n/2`` times

    F = log |Omega| + tr(W A S A^T)    (and a constant),

so the *observed* information is ``n/2`` times the Hessian of F, and the *expected* one is the same
with S replaced by Sigma. Every derivative of Sigma has rank two after multiplication by A,
``A (dSigma) A^T = u v^T + v u^T``, so that no d x d matrix per parameter is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bowfree.data.covariance import total_effect_matrix
from bowfree.data.sample import Floats, Indices, inverse_covariance
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.parameters import Interval, StandardErrorKind
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
        return self._matrix("B")

    @property
    def Omega(self) -> Floats:
        """Variances on the diagonal, bidirected edges off it; NaN without an edge."""
        Omega = self._matrix("Omega")
        return np.fmax(Omega, Omega.T)

    def _matrix(self, wanted: Literal["B", "Omega"]) -> Floats:
        matrix = np.full((len(self.names), len(self.names)), np.nan)
        for (kind, i, j), error in zip(self.parameters, self.values, strict=True):
            if kind == wanted:
                matrix[i, j] = error
        return matrix

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
