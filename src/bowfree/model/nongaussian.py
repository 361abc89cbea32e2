"""Estimates that use the distribution of the errors: ``fit(errors="nongaussian")``.

Errors that are not joined by ``<->`` are independent, so that functions of them are uncorrelated. The
normal likelihood uses ``E[e_a e_b] = 0``. If psi_a is minus the derivative of the log density of e_a,

    E[e_a e_b] = E[e_a psi_b(e_b)] = E[psi_a(e_a) e_b] = 0    for all a, b that are not joined.

For independent errors the score of the likelihood, ``sum_r psi_i(e_ri) x_rj`` for ``B[i, j]``, is a
combination of these, because x_j is a sum of errors. The estimates solve ``G^T W^-1 m(B) = 0``, with
m the means of all these products, W their covariance matrix and G the derivatives of m: the best
combination (the generalized method of moments). They are asymptotically as efficient as the maximum
of the likelihood for independent errors, at least as efficient as estimates by covariances for all
graphs, and, unlike the maximum of a likelihood with a model of the dependence, consistent whatever
the joint distribution of errors that are joined.

The densities are those of the score (cpp/model/error_margin.hpp). That they are estimated has no
effect of first order, because the means of the products are zero for any function psi. Of second
order, an estimated density is too steep at the observations that it was estimated from; the slopes
in G are corrected for that, without which intervals are too narrow.

Errors in different districts are independent, so that W and G are made of products of means within
districts: for singletons, only moments of one error are estimated. Within a district, W is estimated
from the products themselves, and gives little weight to products that are large in some row; in
standard errors each row counts as if W had been estimated without it. Omega maximizes the normal
likelihood, given B.

References
----------
L. P. Hansen, Large sample properties of generalized method of moments estimators, Econometrica 50
(1982); P. J. Bickel et al., Efficient and Adaptive Estimation for Semiparametric Models, 1993.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bowfree import _core
from bowfree.data.covariance import safe_inverse, total_effect_matrix
from bowfree.data.sample import CompleteRows, Floats, Indices, cross_products
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.inference import Parameter, case_scores, information_of, score_products
from bowfree.results.frozen import Frozen

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit

# Densities are estimated at the residuals of the fit by covariances, and again at new ones.
_DENSITIES = 4
# Steps in standard deviations of errors: of the solution; times 1 / sqrt(n), before densities are
# estimated again; a change of a coefficient that leads to another solution.
_TOLERANCE, _NEAR, _FAR = 1e-9, 0.01, 1.0
_MAX_STEPS = 30  # with the same derivatives
_NORMAL = 1e-3  # Fisher information of the location of a density, beyond one, that is not used
_LEAST_EIGENVALUE = 0.01  # of the correlations of products
_MOST_LEVERAGE = 0.8


@dataclass(frozen=True, eq=False)
class ErrorEstimates(Frozen):
    """Estimates that use the distribution of the errors.

    Attributes
    ----------
    by_covariances : Fit
        The fit by covariances, which has the likelihood and the tests.
    covariance : ndarray of shape (q, q)
        Covariance matrix of the estimates, a sandwich.
    n_iter : int
        Number of evaluations.
    """

    by_covariances: Fit
    covariance: Floats
    n_iter: int


def fit_errors(start: Fit) -> Fit | None:
    """Improve a fit by covariances; None if the iterations do not converge."""
    rows = start.moments.sample
    assert isinstance(rows, CompleteRows)
    scale = np.sqrt(np.diag(start.S))
    X = rows.deviations / scale
    products = _Products(start.graph, X)
    B, n_iter = start.B * np.outer(1 / scale, scale), 0
    for left in reversed(range(_DENSITIES)):
        equations = products.at(B)
        found = equations.solve(B, _NEAR / math.sqrt(len(X)) if left else _TOLERANCE)
        if found is None:
            return None
        B, n_iter = found[0], n_iter + found[1]
    errors = X @ (np.eye(len(B)) - B).T
    no_edges = np.zeros_like(start.graph._bits()[0])
    cov = cross_products(errors, errors) / len(X)
    Omega = _core.fit_graph(cov, no_edges, start.graph._bits()[1]).Omega
    influence = _influence(equations, B, Omega, X, start._parameters)
    units = np.array(
        [scale[i] / scale[j] if m == "B" else scale[i] * scale[j] for m, i, j in start._parameters]
    )
    covariance = cross_products(influence, influence) / len(X) ** 2 * np.outer(units, units)
    estimates = {"B": B * np.outer(scale, 1 / scale), "Omega": Omega * np.outer(scale, scale)}
    for matrix in estimates.values():
        matrix.flags.writeable = False
    return replace(start, **estimates, error_estimates=ErrorEstimates(start, covariance, n_iter))


def _influence(
    equations: _Equations, B: Floats, Omega: Floats, X: Floats, parameters: tuple[Parameter, ...]
) -> Floats:
    """Return the influence of each row on each parameter, shape (n, q); B comes first."""
    q = len(equations.products.arrows)
    of_B = equations.influence(B)
    own = case_scores(B, Omega, X, parameters[q:])
    J = information_of(score_products(B, Omega), parameters[q:], parameters)
    of_Omega = (own - of_B @ J[:, :q].T) @ safe_inverse(J[:, q:])
    return np.hstack([of_B, of_Omega])


@dataclass(frozen=True, eq=False)
class _Products:
    """The pairs of errors that are not joined, and the rows in standard deviations."""

    graph: MixedGraph
    X: Floats

    @cached_property
    def arrows(self) -> list[tuple[int, int]]:
        """The entries of B, in the order of the parameters."""
        bits = self.graph._parents
        return [(i, j) for i in range(len(bits)) for j in range(len(bits)) if bits[i] >> j & 1]

    @cached_property
    def district(self) -> Indices:
        """The first member of the district of each variable."""
        found = np.arange(len(self.graph))
        for names in self.graph.districts():
            members = [self.graph._node(name) for name in names]
            found[members] = min(members)
        return found

    @cached_property
    def blocks(self) -> list[list[tuple[int, int]]]:
        """The pairs that are not joined, by the districts of their first and second members."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        spouses, C = self.graph._spouses, self.district
        for b in range(len(C)):
            for a in range(b):
                if not spouses[a] >> b & 1:
                    pair = (a, b) if C[a] <= C[b] else (b, a)
                    found.setdefault((int(C[pair[0]]), int(C[pair[1]])), []).append(pair)
        return list(found.values())

    def residuals(self, B: Floats) -> Floats:
        """Return the errors, one variable in each row."""
        errors: Floats = self.X.T - B @ self.X.T
        return errors

    def at(self, B: Floats) -> _Equations:
        """Return the equations with densities and weights estimated at B."""
        errors = self.residuals(B)
        sd = np.sqrt(np.mean(errors**2, axis=1))
        points, psi, slopes, _ = _core.error_scores(np.ascontiguousarray(errors.T))
        errors /= sd[:, None]
        # psi without its linear part, at variance one: zero for a normal density.
        h = np.array([np.interp(e, points, own) for e, own in zip(errors, psi, strict=True)])
        # The mean slope and the mean square of the score of a density estimate the same number, and
        # the slope is too large for densities with an edge, which splines blur.
        slopes = np.minimum(slopes, np.mean(h**2, axis=1))
        shift, tilt = h.mean(axis=1), np.mean(h * errors, axis=1)
        h = h - shift[:, None] - tilt[:, None] * errors
        spread = np.mean(h**2, axis=1)
        used = spread > _NORMAL
        size = np.where(used, np.sqrt(spread), 1.0)
        psi = (psi - shift[:, None] - tilt[:, None] * points) / size[:, None]
        return _Equations(self, B, sd, points, psi, used, (slopes - tilt) / size)


@dataclass(frozen=True, eq=False)
class _Equations:
    """The equations ``L m(B) = 0`` with given densities and weights."""

    products: _Products
    B: Floats  # where the densities were estimated
    sd: Floats  # of the errors there
    points: Floats
    psi: Floats  # (d, points), without its linear part
    used: Floats  # whether psi is not zero
    slopes: Floats  # means of the derivatives of psi

    def functions(self, B: Floats) -> tuple[Floats, Floats]:
        """Return the errors and psi of them, shape (2, d, n), and their slopes."""
        errors = self.products.residuals(B) / self.sd[:, None]
        h = np.array([errors, errors])
        steps = np.diff(self.psi, axis=1) / np.diff(self.points)
        cell = np.clip(np.searchsorted(self.points, errors) - 1, 0, steps.shape[1] - 1)
        slopes = np.ones_like(h)
        for v, own in enumerate(cell):
            slopes[1, v] = steps[v, own]
            h[1, v] = self.psi[v, own] + slopes[1, v] * (errors[v] - self.points[own])
            raw = slopes[1, v].mean()
            slopes[1, v] *= self.slopes[v] / raw if raw else 0.0
        return h, slopes / self.sd[:, None]

    @cached_property
    def _terms(self) -> list[list[tuple[int, int, int, int]]]:
        """The products of function i of error a and function j of error b, by block."""
        kinds = ((0, 0), (0, 1), (1, 0))
        return [
            [
                (a, i, b, j)
                for a, b in pairs
                for i, j in kinds
                if (not i or self.used[a]) and (not j or self.used[b])
            ]
            for pairs in self.products.blocks
        ]

    @cached_property
    def _weights(self) -> tuple[list[tuple[Floats, Floats]], Floats]:
        """L and the leverage of each row by block, and the derivatives of ``L m`` by the coefficients.

        With the covariance matrix W of rows F, leverage ``f^T W^-1 f / n`` means that without the row f,
        ``W^-1 f`` would be larger by the factor ``1 / (1 - leverage)``.
        """
        h, slopes = self.functions(self.B)
        C, arrows = self.products.district, self.products.arrows
        n, d, q = h.shape[2], h.shape[1], len(arrows)
        stacked = h.reshape(2 * d, n)
        P = stacked @ stacked.T / n
        T, errors = total_effect_matrix(self.B), h[0] * self.sd[:, None]
        found, A = [], np.zeros((q, q))
        for terms in self._terms:
            a, i, b, j = np.array(terms).T
            first, second = i * d + a, j * d + b
            W = P[np.ix_(first, first)] * P[np.ix_(second, second)]
            same = C[a[0]] == C[b[0]]
            if same:
                # Many products of few rows: toward the covariances of independent pairs.
                F = stacked[first] * stacked[second]
                share = len(terms) / (len(terms) + n)
                W = (1 - share) * (F @ F.T / n) + share * W
            G = np.zeros((len(terms), q))
            for c, (w, p) in enumerate(arrows):
                for x, kind, y, other in ((a, i, b, second), (b, j, a, first)):
                    for r in np.flatnonzero(x == w):
                        inside = np.flatnonzero(C[y[r]] == C)
                        if same:
                            part = T[p, inside] @ errors[inside]
                            G[r, c] -= np.mean(slopes[kind[r], w] * part * stacked[other[r]])
                        else:
                            mean = slopes[kind[r], w].mean()
                            G[r, c] -= mean * (T[p, inside] * self.sd[inside]) @ P[inside, other[r]]
            scale = 1 / np.sqrt(np.diag(W))
            values, vectors = np.linalg.eigh(W * np.outer(scale, scale))
            half = (vectors / np.sqrt(np.maximum(values, _LEAST_EIGENVALUE))).T * scale
            leverage = np.sum((half @ F) ** 2, axis=0) / n if same else np.zeros(n)
            L = (half @ G).T @ half
            found.append((L, np.minimum(leverage, _MOST_LEVERAGE)))
            A += L @ G
        return found, A

    def values(self, B: Floats, apart: bool = False) -> Floats:
        """Return L times the products, by row, shape (q, n); `apart`: with W from the other rows."""
        h, _ = self.functions(B)
        total = np.zeros((len(self.products.arrows), h.shape[2]))
        for terms, (L, leverage) in zip(self._terms, self._weights[0], strict=True):
            a, i, b, j = np.array(terms).T
            own = L @ (h[i, a] * h[j, b])
            total += own / (1 - leverage) if apart else own
        return total

    def solve(self, B: Floats, tolerance: float) -> tuple[Floats, int] | None:
        """Return the solution and the number of evaluations; None if there is none near B."""
        from scipy.optimize import root

        rows, columns = np.array(self.products.arrows, dtype=np.intp).reshape(-1, 2).T
        A = self._weights[1]
        if not len(A):
            return B, 0
        if np.linalg.matrix_rank(A) < len(A):
            return None
        unit = self.sd[rows]  # of coefficients of standardized variables

        def matrix(x: Floats) -> Floats:
            moved = B.copy()
            moved[rows, columns] += x * unit
            return moved

        def steps(x: Floats) -> Floats:
            found: Floats = np.linalg.solve(A, self.values(matrix(x)).mean(axis=1)) / unit
            return found

        # The derivatives vary little near the solution, unless there are few rows.
        x = np.zeros(len(A))
        for n_steps in range(1, _MAX_STEPS + 1):
            step = steps(x)
            x = x - step
            if not np.max(np.abs(x)) < _FAR:
                break
            if np.max(np.abs(step)) < tolerance:
                return matrix(x), n_steps
        found = root(steps, np.zeros(len(A)), method="hybr", options={"xtol": tolerance})
        near = np.max(np.abs(steps(found.x))) < 1e3 * tolerance and np.max(np.abs(found.x)) < _FAR
        return (matrix(found.x), n_steps + int(found.nfev)) if near else None

    def influence(self, B: Floats) -> Floats:
        """Return the influence of each row on the coefficients, shape (n, q)."""
        values = self.values(B, apart=True)
        found: Floats = -np.linalg.solve(
            self._weights[1], values - values.mean(axis=1, keepdims=True)
        ).T
        return found
