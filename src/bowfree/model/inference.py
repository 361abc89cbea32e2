"""Information matrices, standard errors and the delta method for a fitted BAP.

The likelihood of section 2.3 is a smooth function of the entries of B at the directed edges, of
the variances on the diagonal of Omega and of its entries at the bidirected edges. With
``W = Omega^-1``, ``A = I - B`` and ``S`` (divisor n) it is ``-n/2`` times

    F = log |Omega| + tr(W A S A^T)    (and a constant),

so the *observed* information is ``n/2`` times the Hessian of F, and the *expected* one is the same
with S replaced by Sigma. Every derivative of Sigma has rank two once it is carried over to the
errors, ``A (dSigma) A^T = u v^T + v u^T``, which is why no loop and no d x d matrix per parameter
is needed. Next: :mod:`bowfree.model.fitting`, whose methods call these functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import safe_inverse
from bowfree.graph.text import quote
from bowfree.model.effect_tables import (
    EffectMatrices,
    decimals,
    effect_frame,
    effect_pairs,
    effect_table,
    quantities,
)
from bowfree.parameters import StandardErrorKind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, p_cell, significant
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.validation import check_fraction

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int_]
Information = Literal["expected", "observed"]
#: ``("B", i, j)`` is the effect of j on i; ``("Omega", i, j)`` with i <= j an error (co)variance.
Parameter = tuple[Literal["B", "Omega"], int, int]


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors(TextDisplay, ToDict, Frozen):
    """Standard errors of the parameters of a fit.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    B : ndarray of shape (d, d)
        Entry ``[i, j]`` belongs to the effect of j on i; NaN where the graph has no edge.
    Omega : ndarray of shape (d, d)
        Variances on the diagonal, bidirected edges off it; NaN where the graph has no edge.
    parameters : tuple
        ``("B", i, j)`` or ``("Omega", i, j)`` for each row of `covariance`.
    covariance : ndarray of shape (q, q)
        Covariance matrix of the estimates: the inverse of the information matrix, or a sandwich.
    information : {"expected", "observed"}
        Which information was inverted.
    se : {"standard", "robust", "robust-huber-white", "bootstrap"}
        What they rely on.
    """

    names: tuple[str, ...]
    B: Floats
    Omega: Floats
    parameters: tuple[Parameter, ...]
    covariance: Floats
    information: Information
    se: StandardErrorKind = "standard"

    def _headline(self) -> str:
        kind = {"standard": "", "bootstrap": "bootstrap, "}.get(self.se, "robust, ")
        source = "" if self.se == "bootstrap" else f"{self.information} information"
        return f"of {count(len(self.parameters), 'parameter')}, {kind}{source}".rstrip(", ")

    def _sections(self) -> Iterator[str | Table]:
        yield f"standard errors {self._headline()}"
        labels = parameter_labels(self.names, self.parameters)
        errors = np.sqrt(np.diag(self.covariance)).tolist()
        rows = [(label, significant(se, 4)) for label, se in zip(labels, errors, strict=True)]
        yield Table(
            ("parameter", "s.e."), rows, most=MOST_ROWS, rest="more: fit.to_frame() has all"
        )


@dataclass(frozen=True, eq=False, repr=False)
class TotalEffects(EffectMatrices, Frozen):
    """Total causal effects ``E = (I - B)^-1``, with delta-method standard errors after a fit.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    estimate : ndarray of shape (d, d)
        Entry ``[i, j]`` is the total effect of j on i.
    se, z, p_value : ndarray of shape (d, d)
        Standard error, ratio of the two, and two-sided p-value. NaN where no directed path leads
        from j to i (the effect is 0 in this graph) and on the diagonal (it is 1). NaN everywhere
        for a :class:`~bowfree.LinearSEM`, whose parameters are not estimated.

    Examples
    --------
    >>> import bowfree as bf
    >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=300, ddof=0)
    >>> fit.total_effects().effect(of="x", on="y")
    <Row: of x, on y, estimate 0.500, se 0.0500, z 10.0, p_value 1.52e-23, lower 0.402, upper 0.598>
    """

    names: tuple[str, ...]
    estimate: Floats
    se: Floats
    z: Floats
    p_value: Floats

    def to_frame(self, backend: str = "pandas", *, confidence: float = 0.95) -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.
        confidence : float
            Level of the intervals.

        Returns
        -------
        data frame
            Columns of, on, estimate, se, z, p_value, lower, upper (the confidence interval).
        """
        return effect_frame(self.names, self._matrices(confidence), backend)

    def _matrices(self, confidence: float = 0.95) -> dict[str, Floats]:
        half = normal_quantile(confidence) * self.se
        ends = {"lower": self.estimate - half, "upper": self.estimate + half}
        numbers = ("estimate", "se", "z", "p_value")
        return {name: getattr(self, name) for name in numbers} | ends

    def _headline(self) -> str:
        effects = count(len(effect_pairs(self.estimate != 0)), "effect")
        return f"{effects} among {count(len(self.names), 'variable')}"

    def _sections(self) -> Iterator[str | Table]:
        pairs = effect_pairs(self.estimate != 0)
        if not pairs:
            yield "no variable has an effect on another"
            return
        columns = {"estimate": quantities(self.estimate, 4)}
        if not np.isnan(self.se).all():
            interval = self._matrices()
            columns["s.e."] = quantities(self.se, 4)
            columns["z"] = decimals(self.z, 2)
            columns["p"] = lambda i, j: p_cell(float(self.p_value[i, j]))
            columns["95 % lower"] = quantities(interval["lower"], 4)
            columns["95 % upper"] = quantities(interval["upper"], 4)
        yield effect_table("effect", self.names, pairs, columns, size=np.abs(self.estimate))


def parameter_index(
    parents: Sequence[Sequence[int]], spouses: Sequence[Sequence[int]]
) -> tuple[Parameter, ...]:
    """List the parameters: directed edges by child, then bidirected edges, then variances."""
    d = len(parents)
    directed: list[Parameter] = [("B", i, j) for i in range(d) for j in parents[i]]
    bidirected: list[Parameter] = [("Omega", i, j) for i in range(d) for j in spouses[i] if i < j]
    variances: list[Parameter] = [("Omega", i, i) for i in range(d)]
    return (*directed, *bidirected, *variances)


def parameter_labels(nodes: Sequence[str], parameters: Sequence[Parameter]) -> list[str]:
    """Return "x -> y", "x <-> y" or "var eps(x)" for each parameter."""
    names = [quote(name) for name in nodes]
    return [
        f"{names[j]} -> {names[i]}"
        if kind == "B"
        else f"var eps({names[i]})"
        if i == j
        else f"{names[i]} <-> {names[j]}"
        for kind, i, j in parameters
    ]


def split_parameters(
    parameters: Sequence[Parameter],
) -> tuple[int, tuple[Places, Places], tuple[Places, Places], Floats]:
    """Split what :func:`parameter_index` returned into entries of B and of Omega.

    Returns
    -------
    q_B : int
        How many are entries of B; they come first.
    i, j : pair of ndarray
        Their rows and columns.
    a, b : pair of ndarray
        Those of the entries of Omega.
    weight : ndarray
        One half for variances, which ``dOmega_ab = e_a e_b^T + e_b e_a^T`` counts twice.
    """
    q_B = sum(matrix == "B" for matrix, _, _ in parameters)
    rows, columns = np.array([(i, j) for _, i, j in parameters]).T
    a, b = rows[q_B:], columns[q_B:]
    return q_B, (rows[:q_B], columns[:q_B]), (a, b), np.where(a == b, 0.5, 1.0)


def expected_information(
    B: Floats, Omega: Floats, n: float, parameters: Sequence[Parameter]
) -> Floats:
    """Fisher information ``n/2 tr(Sigma^-1 dSigma_s Sigma^-1 dSigma_t)`` of n observations.

    Parameters
    ----------
    B, Omega : ndarray of shape (d, d)
        The point of evaluation.
    n : float
        Number of observations.
    parameters : sequence
        What :func:`parameter_index` returned.

    Returns
    -------
    ndarray of shape (q, q)
    """
    d = len(B)
    EOmega = np.linalg.solve(np.eye(d) - B, Omega)
    q = len(parameters)
    UV = np.zeros((2 * q, d))
    U, V = UV[:q], UV[q:]
    for s, (matrix, i, j) in enumerate(parameters):
        U[s, i] = 1.0
        if matrix == "B":
            V[s] = EOmega[j]  # A (e_i e_j^T Sigma) A^T = e_i (E Omega)_j.
        else:
            V[s, j] = 0.5 if i == j else 1.0
    WUV = np.linalg.solve(Omega, UV.T)
    WU, WV = WUV[:, :q], WUV[:, q:]
    UWV = U @ WV
    information: Floats = n * (UWV * UWV.T + (U @ WU) * (V @ WV))
    return information


def observed_information(
    B: Floats, Omega: Floats, S: Floats, n: float, parameters: Sequence[Parameter]
) -> Floats:
    """Minus the Hessian of the log-likelihood of n observations with covariance matrix `S`.

    Parameters
    ----------
    B, Omega : ndarray of shape (d, d)
        The point of evaluation.
    S : ndarray of shape (d, d)
        Covariance matrix with divisor n.
    n : float
        Number of observations.
    parameters : sequence
        What :func:`parameter_index` returned.

    Returns
    -------
    ndarray of shape (q, q)
    """
    d = len(B)
    A = np.eye(d) - B
    W = np.asarray(np.linalg.inv(Omega), dtype=np.float64)
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


def _trace_form(M: Floats, N: Floats, a: npt.NDArray[np.int_], b: npt.NDArray[np.int_]) -> Floats:
    """tr(D_s M D_t N) for all pairs of ``D = e_a e_b^T + e_b e_a^T`` and symmetric M, N."""
    aa, ab, ba, bb = (np.ix_(x, y) for x, y in ((a, a), (a, b), (b, a), (b, b)))
    form: Floats = M[ba] * N[ab] + M[bb] * N[aa] + M[aa] * N[bb] + M[ab] * N[ba]
    return form


def normal_covariance(
    B: Floats,
    Omega: Floats,
    S: Floats,
    n: float,
    parameters: Sequence[Parameter],
    information: Information,
) -> Floats:
    """Return the covariance matrix of the estimates by normal theory: inverse information."""
    if not np.isfinite(n):  # A population matrix has no sampling error to speak of.
        return np.full((len(parameters), len(parameters)), np.nan)
    if information == "expected":
        return safe_inverse(expected_information(B, Omega, n, parameters))
    return safe_inverse(observed_information(B, Omega, S, n, parameters))


def standard_errors(
    names: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    covariance: Floats,
    information: Information,
    se: StandardErrorKind,
) -> StandardErrors:
    """Label the square roots of variances; see :meth:`bowfree.Fit.standard_errors`."""
    d = len(names)
    se_B, se_Omega = np.full((d, d), np.nan), np.full((d, d), np.nan)
    for (kind, i, j), error in zip(parameters, np.sqrt(np.diag(covariance)), strict=True):
        if kind == "B":
            se_B[i, j] = error
        else:
            se_Omega[i, j] = se_Omega[j, i] = error
    return StandardErrors(names, se_B, se_Omega, parameters, covariance, information, se)


def total_effects(B: Floats, errors: StandardErrors) -> TotalEffects:
    """Total effects and their standard errors by ``dE = E dB E`` (eq. causaleffect)."""
    d = len(B)
    E = np.linalg.inv(np.eye(d) - B)
    rows = [s for s, (kind, _, _) in enumerate(errors.parameters) if kind == "B"]
    k = [errors.parameters[s][1] for s in rows]
    l = [errors.parameters[s][2] for s in rows]
    V = errors.covariance[np.ix_(rows, rows)]
    variance = np.empty((d, d))
    for i in range(d):
        # dE_ij = sum over parameters s = (k, l) of E_ik E_lj dB_kl.
        scaled = V * np.outer(E[i, k], E[i, k])
        variance[i] = np.sum(E[l] * (scaled @ E[l]), axis=0)
    # Where the graph has no directed path the effect is an exact zero, not an estimate.
    reach = np.eye(d, dtype=bool)
    reach[k, l] = True
    for _ in range(d.bit_length()):
        reach = reach @ reach
    variance[~reach | np.eye(d, dtype=bool)] = np.nan
    effect = np.where(reach, E, 0.0)
    se = np.sqrt(np.maximum(variance, 0.0))
    z, p_value = wald(effect, se)
    return TotalEffects(errors.names, effect, se, z, p_value)


def normal_quantile(confidence: float) -> float:
    """Return how many standard errors a two-sided interval of this level reaches to each side."""
    from scipy.special import ndtri

    return float(ndtri((1 + check_fraction("confidence", confidence)) / 2))


def wald(estimate: Floats, se: Floats) -> tuple[Floats, Floats]:
    """Wald statistic ``estimate / se`` and its two-sided normal p-value; NaN where se is zero."""
    from scipy.special import ndtr

    z = np.divide(estimate, se, out=np.full_like(estimate, np.nan), where=se != 0)
    return z, 2 * ndtr(-np.abs(z))
