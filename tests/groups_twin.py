"""Slow, obvious twin of fits where variables were set from outside (cpp/data/conditions.hpp).

B and Omega are shared, targets are cut off, and a general optimizer has all of it at once.
"""

import numpy as np
from scipy.optimize import minimize

import twins


def cut(B, Omega, S, target):
    """Return B and Omega of a condition: a target has no edges into it, and its own variance."""
    B, Omega = B.copy(), Omega.copy()
    B[target] = 0
    Omega[target] = 0
    Omega[:, target] = 0
    Omega[target, target] = np.diag(S)[target]
    return B, Omega


def joint_loglik(B, Omega, conditions):
    """Return the log-likelihood; `conditions` has S, n and a mask of targets for each."""
    total = 0.0
    for S, n, target in conditions:
        Sigma = twins.implied_covariance(*cut(B, Omega, S, target))
        sign, log_det = np.linalg.slogdet(2 * np.pi * Sigma)
        if sign <= 0:
            return -np.inf
        total -= n / 2 * (log_det + np.trace(np.linalg.solve(Sigma, S)))
    return total


def maximize(graph, conditions, starts=1, rng=0):
    """Return the largest log-likelihood found from several starts."""
    D, U = twins.graph_matrices(graph)
    directed, bidirected = np.argwhere(D), np.argwhere(np.triu(U, 1))
    d, rng = len(D), np.random.default_rng(rng)
    scale = np.mean([np.diag(S) for S, _, _ in conditions], axis=0)

    def unpack(theta):
        B, Omega = np.zeros((d, d)), np.diag(np.exp(theta[:d]))
        B[tuple(directed.T)] = theta[d : d + len(directed)]
        Omega[tuple(bidirected.T)] = Omega[tuple(bidirected.T[::-1])] = theta[d + len(directed) :]
        return B, Omega

    def loss(theta):
        B, Omega = unpack(theta)
        if np.linalg.eigvalsh(Omega)[0] <= 0:
            return 1e9
        return -joint_loglik(B, Omega, conditions)

    best = np.inf
    for _ in range(starts):
        theta = rng.normal(scale=0.1, size=d + len(directed) + len(bidirected))
        theta[:d] += np.log(scale)
        for _ in range(2):  # differences are rough, so it is started again where it stops
            theta = minimize(loss, theta, method="BFGS", options={"gtol": 1e-7}).x
        best = min(best, loss(theta))
    return -best
