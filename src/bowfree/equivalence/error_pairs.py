"""Tests of the independence of two errors, for all members of an equivalence class at once.

**Errors.** All members of a class have the same fitted covariance matrix Sigma, and their errors are
functions of it. With ``a_i`` row i of ``I - B``, the coefficients of a node solve the equations
``a_p Sigma a_i^T = 0`` of its parents p (Brito and Pearl), so that an error depends on the directed
edges among the ancestors only. Members share most of their errors, which are computed once
(:class:`ClassErrors`).

**Statistic.** If two errors u, v (of variance one) are independent, the means of ``f(u) g(v)`` are
zero for centered functions f, g. One factor is ``tanh``, nearly linear; the other is
``log(1 + u^2)`` or ``u / (1 + u^2)`` minus the multiple of tanh that makes it uncorrelated with u:
four means in all. Bounded or slowly growing functions keep the sums close to normal for skewed and
heavy-tailed errors. The covariance matrix of the means is a product of those of f and g, plus the
influence of each row on the estimated coefficients. A second version of it is the empirical
covariance matrix, which is also valid for errors that are dependent by a common scale, such as those
of a multivariate t; the smaller statistic of both counts.

**Refinement.** The influence functions linearize the means in the coefficients, and skewed errors
make that inaccurate for a few hundred rows. A small p-value is therefore computed again at the
coefficients that are most compatible with both, the estimates and the means: the minimum over the
coefficients ``theta`` of the joint quadratic form of ``means(theta)`` and ``theta - estimate``. It is
at most that of the true coefficients. A small correction for heavy tails of the influence remains.

References
----------
C. Brito and J. Pearl, A new identification condition for recursive models with correlated errors,
Structural Equation Modeling 9 (2002); Y. S. Wang and M. Drton, Causal discovery with unobserved
confounding and non-Gaussian data, JMLR 24 (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import safe_inverse, total_effect_matrix
from bowfree.data.moments import Moments
from bowfree.data.sample import cross_products, inverse_covariance
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fitting import fit_moments
from bowfree.model.inference import expected_information

Floats = npt.NDArray[np.float64]

# The functions of both errors in each mean; the last one is that of the common scale.
_FIRST, _SECOND = [0, 0, 1, 2, 1], [1, 2, 0, 0, 1]
FREEDOM = 4  # degrees of freedom: the means without the last one
_REFINED = 0.1  # p-values below are refined
_STEPS = 2  # of Gauss and Newton
_TAILS = 0.2  # small-sample correction: share of the excess kurtosis of the influence per row
_CACHE_BYTES = 3e8


class Functions(NamedTuple):
    """Centered functions of an error, (3, n), their derivatives, and their covariance matrix."""

    values: Floats
    slopes: Floats
    covariance: Floats


def functions_of(error: Floats) -> Functions:
    """Return the functions of an error and their derivatives by the error."""
    s = np.sqrt(np.mean(error * error))
    u = error / s
    t, v = np.tanh(u), 1 + u * u
    dt = 1 - t * t
    values, slopes = [t], [dt]
    for f, df in ((np.log(v), 2 * u / v), (u / v, (2 - v) / v**2)):
        k = np.mean(f * u) / np.mean(t * u)
        values.append(f - k * t)
        slopes.append(df - k * dt)
    F = np.stack(values)
    F -= F.mean(axis=1, keepdims=True)
    return Functions(F, np.stack(slopes) / s, F @ F.T / len(u))


@dataclass(frozen=True, eq=False)
class Equation:
    """The equation of a node: its coefficients as functions of Sigma.

    `row` is a row of ``I - B``; `gradient[k]` is the matrix G with ``d B_ik = tr(G dSigma)``, of
    shape (parents, d, d).
    """

    parents: tuple[int, ...]
    row: Floats
    gradient: Floats


class Error(NamedTuple):
    """An error, the parents (q, n), and the influence of each row on their coefficients (q, n)."""

    values: Floats
    parents: Floats
    influence: Floats
    functions: Functions


class PairTest(NamedTuple):
    """Chi-square and p-value of the independence of two errors, and p-value of a common scale."""

    chi2: float
    p_value: float
    p_scale: float


class ClassErrors:
    """The errors of the members of the class of a graph, computed from rows of variance one."""

    def __init__(self, X: Floats, graph: MixedGraph) -> None:
        n = len(X)
        fit = fit_moments(graph, Moments._unchecked(graph.nodes, cross_products(X, X) / n, n))
        self.X, self.Sigma = X, fit.Sigma
        E, W = total_effect_matrix(fit.B), inverse_covariance(fit.Sigma)
        slopes = []
        for matrix, i, j in fit._parameters:
            half = np.outer(E[:, i], fit.Sigma[j] if matrix == "B" else E[:, j])
            slopes.append(half / 2 if matrix == "Omega" and i == j else half)
        half = np.stack(slopes)
        self._slopes = half + half.transpose(0, 2, 1)  # of Sigma, by the parameters
        self._scores = W @ self._slopes @ W / 2
        self._bread = safe_inverse(expected_information(fit.B, fit.Omega, 1.0, fit._parameters))
        self.equations: list[Equation] = []
        self._index: dict[tuple[float, ...], int] = {}
        self._known: dict[tuple[int, ...], int] = {}
        kept = max(2, int(_CACHE_BYTES / X.nbytes * X.shape[1] / 12))
        self.error = lru_cache(maxsize=kept)(self._error)
        self.test = lru_cache(maxsize=None)(self._test)

    def equations_of(self, parents: Sequence[Sequence[int]]) -> list[int]:
        """Return the indices of the equations of a member, given the parents of each node."""
        found: dict[int, int] = {}

        def index(i: int) -> int:
            if i not in found:
                key = (i, *(index(p) for p in parents[i]))
                if key not in self._known:
                    self._known[key] = self._add(i, tuple(parents[i]), key[1:])
                found[i] = self._known[key]
            return found[i]

        return [index(i) for i in range(len(parents))]

    def _add(self, i: int, parents: tuple[int, ...], known: tuple[int, ...]) -> int:
        """Return the index of an equation, given those of the parents."""
        row = np.eye(len(self.Sigma))[i]
        if parents:
            A = np.array([self.equations[p].row for p in known]) @ self.Sigma
            row[list(parents)] = -np.linalg.solve(A[:, parents], A[:, i])
        # Different edges among the ancestors often imply the same coefficients.
        key = (i, *(float(f"{x:.8g}") for x in row))
        if key not in self._index:
            gradient = np.zeros((len(parents), *self.Sigma.shape))
            right = self.Sigma @ row
            for k, p in enumerate(known):
                other = self.equations[p]
                gradient[k] = (np.outer(other.row, row) + np.outer(row, other.row)) / 2
                gradient[k] -= np.tensordot(right[list(other.parents)], other.gradient, 1)
            if parents:
                gradient = np.tensordot(np.linalg.inv(A[:, parents]), gradient, 1)
            self._index[key] = len(self.equations)
            self.equations.append(Equation(parents, row, gradient))
        return self._index[key]

    def _error(self, index: int) -> Error:
        X, equation = self.X, self.equations[index]
        error = X @ equation.row
        influence = np.empty((len(equation.parents), len(X)))
        for k, G in enumerate(equation.gradient):
            slope = np.tensordot(self._slopes, G, 2)  # of the coefficient, by the parameters
            M = np.tensordot(self._bread @ slope, self._scores, 1)
            influence[k] = ((X @ M) * X).sum(axis=1) - np.sum(M * self.Sigma)
        return Error(error, X.T[list(equation.parents)], influence, functions_of(error))

    def _test(self, first: int, second: int) -> PairTest:
        return test_pair(self.error(first), self.error(second))


def test_pair(x: Error, y: Error) -> PairTest:
    """Test the independence of two errors."""
    from scipy.special import chdtrc

    n, k = len(x.values), FREEDOM
    m, D, V_null = _means(x.functions, y.functions, x.parents, y.parents)
    influence = np.vstack([x.influence, y.influence])
    mean = m.mean(axis=1)
    V, C, A = rows = m @ m.T / n, m @ influence.T / n, influence @ influence.T / n
    # Under independence the covariances of the products are V_null. The influence is regressed on
    # the products, and the covariances of the explained part are replaced as well.
    G = np.linalg.solve(V, C).T
    null = V_null, V_null @ G.T, A + G @ (V_null - V) @ G.T
    p_scale = float(chdtrc(1, n * mean[k] ** 2 / _with_influence(*null, D)[k, k]))
    T = np.inf
    for V, C, A in (null, rows):
        V_all = _with_influence(V, C, A, D)[:k, :k]
        T = min(T, float(n * mean[:k] @ np.linalg.solve(V_all, mean[:k])))
        if chdtrc(k, T) > _REFINED:
            break
        if len(A):
            T = min(T, _refined(x, y, mean[:k], D[:k], V[:k, :k], C[:k], A))
    T /= 1 + _TAILS * _kurtosis(influence) / n
    return PairTest(T, float(chdtrc(k, T)), p_scale)


def _kurtosis(influence: Floats) -> float:
    """Return the largest excess kurtosis of the influence on a coefficient."""
    squares = influence**2
    second, fourth = np.mean(squares, axis=1), np.mean(squares**2, axis=1)
    return float(max(0.0, *(fourth / second**2 - 3))) if len(influence) else 0.0


def fits_curve(x: Error, y: Error, level: float) -> bool:
    """Return whether y may be a nonlinear function of x plus an independent error."""
    from scipy.special import chdtrc

    basis = np.vstack([x.values, x.functions.values])
    residual = y.values - np.linalg.lstsq(basis.T, y.values, rcond=None)[0] @ basis
    none = np.empty((0, len(residual)))
    m, _, V = _means(x.functions, functions_of(residual), none, none)
    mean, k = m.mean(axis=1)[:FREEDOM], FREEDOM
    return bool(chdtrc(k, len(residual) * mean @ np.linalg.solve(V[:k, :k], mean)) >= level)


def _means(f: Functions, g: Functions, X: Floats, Y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the products (5, n), the slopes of their means, and their covariances if independent."""
    n = f.values.shape[1]
    a, b = f.values[_FIRST], g.values[_SECOND]
    D = -np.hstack([(f.slopes[_FIRST] * b) @ X.T, (a * g.slopes[_SECOND]) @ Y.T]) / n
    V = f.covariance[np.ix_(_FIRST, _FIRST)] * g.covariance[np.ix_(_SECOND, _SECOND)]
    return a * b, D, V


def _with_influence(V: Floats, C: Floats, A: Floats, D: Floats) -> Floats:
    """Return the covariance matrix of the means at the estimated coefficients."""
    cross = C @ D.T
    total: Floats = V + cross + cross.T + D @ A @ D.T
    return total


def _refined(x: Error, y: Error, mean: Floats, D: Floats, V: Floats, C: Floats, A: Floats) -> float:
    """Return the smallest statistic over a few steps towards the most compatible coefficients."""
    n, k, q = len(x.values), len(V), len(x.parents)
    weight = np.linalg.inv(np.block([[V, C], [C.T, A]]))
    step, best = np.zeros(len(A)), np.inf
    for _ in range(_STEPS):
        V_all = _with_influence(V, C, A, D)
        step = -(C.T + A @ D.T) @ np.linalg.solve(V_all, mean - D @ step)
        f = functions_of(x.values - step[:q] @ x.parents)
        g = functions_of(y.values - step[q:] @ y.parents)
        m, D, _ = _means(f, g, x.parents, y.parents)
        mean, D = m.mean(axis=1)[:k], D[:k]
        z = np.concatenate([mean, -step])
        best = min(best, float(n * z @ weight @ z))
    return best
