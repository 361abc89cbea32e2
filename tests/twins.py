"""Slow, obvious NumPy twins of the fitting kernels: what the compiled core is compared with.

``ricf`` is the algorithm of Drton, Eichler and Richardson (2009) as the paper uses it, written as
it is described there: the whole graph at once, one matrix inverse for every node and sweep.
"""

from __future__ import annotations

import numpy as np


def graph_matrices(graph):
    """Return 0/1 matrices ``D[i, j] = 1`` for ``j -> i`` and ``U[i, j] = 1`` for ``i <-> j``."""
    d = len(graph.nodes)
    parents, spouses = graph._bits()
    word, bit = np.divmod(np.arange(d), 64)
    D = (parents[:, word] >> bit.astype(np.uint64)) & np.uint64(1)
    U = (spouses[:, word] >> bit.astype(np.uint64)) & np.uint64(1)
    return D.astype(int), U.astype(int)


def districts(graph):
    """Return the bidirected-connected components, each ascending, ordered by smallest node."""
    _, U = graph_matrices(graph)
    reach = np.linalg.matrix_power(U + np.eye(len(U), dtype=int), len(U)) > 0
    return sorted({tuple(np.flatnonzero(row).tolist()) for row in reach})


def ricf(S, D, U, *, max_iter, tol, start=None):
    """Run RICF on the whole graph; return B, Omega and the number of sweeps (-1: not converged)."""
    d = len(S)
    B, Omega = (np.zeros((d, d)), np.diag(np.diag(S))) if start is None else map(np.copy, start)
    for sweep in range(1, max_iter + 1):
        B_old, Omega_old = B.copy(), Omega.copy()
        for v in range(d):
            P, Q = np.flatnonzero(D[v]), np.flatnonzero(U[v])
            if len(P) + len(Q) == 0:
                continue
            rest = np.delete(np.arange(d), v)
            W = np.linalg.inv(Omega[np.ix_(rest, rest)])
            # Every regressor is a linear form in X: the parents, and the pseudo-variables
            # Z = (Omega_{-v,-v})^-1 eps_{-v} of the spouses.
            pseudo = np.zeros((d, d))
            pseudo[rest] = W @ (np.eye(d) - B)[rest]
            forms = np.vstack([np.eye(d)[P], pseudo[Q]])
            moments = forms @ S
            coefficients = np.linalg.solve(moments @ forms.T, moments[:, v])
            B[v, P] = coefficients[: len(P)]
            Omega[v, Q] = Omega[Q, v] = coefficients[len(P) :]
            residual = S[v, v] - coefficients @ moments[:, v]
            Omega[v, v] = residual + Omega[v, rest] @ W @ Omega[rest, v]
        if np.abs(B - B_old).sum() + np.abs(Omega - Omega_old).sum() < tol:
            return B, Omega, sweep
    return B, Omega, -1


def implied_covariance(B, Omega):
    """Sigma = (I-B)^-1 Omega (I-B)^-T, the paper's phi."""
    E = np.linalg.inv(np.eye(len(B)) - B)
    return E @ Omega @ E.T


def parameter_matrices(parameters, values):
    """Return B and Omega that have the values of parameters ("B" or "Omega", i, j)."""
    d = 1 + max(i for _, i, _ in parameters)
    B, Omega = np.zeros((d, d)), np.zeros((d, d))
    for (matrix, i, j), value in zip(parameters, values, strict=True):
        if matrix == "B":
            B[i, j] = value
        else:
            Omega[i, j] = Omega[j, i] = value
    return B, Omega


def derivatives(function, at, step):
    """Return central differences of a function, one row for each argument."""
    steps = step * np.eye(len(at))
    return np.array([(function(at + h) - function(at - h)) / (2 * step) for h in steps])


def log_likelihood(Sigma, S, n):
    """Evaluate the log-likelihood of a covariance matrix ``S`` with divisor n."""
    sign, logdet = np.linalg.slogdet(2 * np.pi * Sigma)
    assert sign > 0
    return -n / 2 * (logdet + np.trace(np.linalg.solve(Sigma, S)))


MATRICES = ("lower", "upper", "min_abs", "max_abs", "mean", "mean_abs", "positive", "negative")


def extremes(effects, zero=1e-8):
    """Return bounds, means and signs over matrices of effects."""
    E = np.array(effects)
    size = np.abs(E)
    ends = (E.min(axis=0), E.max(axis=0), size.min(axis=0), size.max(axis=0))
    signs = ((zero < E).mean(axis=0), (-zero > E).mean(axis=0))
    return dict(zip(MATRICES, (*ends, E.mean(axis=0), size.mean(axis=0), *signs), strict=True))
