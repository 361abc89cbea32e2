"""A slow, obvious twin of fits to several conditions: all parameters, one likelihood, BFGS."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from random_models import random_parameters
from twins import graph_matrices


def uses(kind, targets, graph):
    """Return what B, Omega and the intercepts are in a condition: shared, "own" or "absent"."""
    d = len(graph)
    B, Omega, c = (np.full(shape, "shared", dtype=object) for shape in ((d, d), (d, d), d))
    for name in targets:
        t = graph.nodes.index(name)
        if kind == "perfect":
            B[t] = "absent"
            Omega[t] = Omega[:, t] = "absent"
        elif kind == "mechanism":
            B[t] = Omega[t] = Omega[:, t] = "own"
        elif kind == "activity":
            B[:, t] = "own"
        if kind != "activity":
            Omega[t, t] = "own"
        if kind in ("perfect", "mechanism"):
            c[t] = "own"
    return B, Omega, c


class ConditionModel:
    """All conditions of a graph: which numbers there are, and the matrices that they make."""

    def __init__(self, graph, kind, targets, *, means=False):
        edges, spouses = graph_matrices(graph)  # [i, j]: j -> i
        errors = np.tril(spouses + np.eye(len(graph), dtype=int))
        self.d, self.index, self.size, self.shared = len(graph), [], 0, {}
        for names in targets:
            B, Omega, c = uses(kind, names, graph)
            places = [("B", i, j, B[i, j]) for i, j in zip(*np.nonzero(edges), strict=True)]
            places += [("O", i, j, Omega[i, j]) for i, j in zip(*np.nonzero(errors), strict=True)]
            places += [("c", i, 0, c[i]) for i in range(self.d)] if means else []
            self.index.append(
                [
                    (what, i, j, self._number(what, i, j, use))
                    for what, i, j, use in places
                    if use != "absent"
                ]
            )

    def _number(self, what, i, j, use):
        if use == "shared" and (what, i, j) in self.shared:
            return self.shared[what, i, j]
        if use == "shared":
            self.shared[what, i, j] = self.size
        self.size += 1
        return self.size - 1

    def matrices(self, theta, e):
        """Return B, Omega and the intercepts in a condition."""
        B, Omega, c = np.zeros((self.d, self.d)), np.zeros((self.d, self.d)), np.zeros(self.d)
        for what, i, j, number in self.index[e]:
            if what == "B":
                B[i, j] = theta[number]
            elif what == "c":
                c[i] = theta[number]
            else:
                Omega[i, j] = Omega[j, i] = theta[number]
        return B, Omega, c

    def laws(self, theta):
        """Return mean and covariance matrix of each condition."""
        found = []
        for e in range(len(self.index)):
            B, Omega, c = self.matrices(theta, e)
            E = np.linalg.inv(np.eye(self.d) - B)
            found.append((E @ c, E @ Omega @ E.T))
        return found

    def random(self, rng, graph):
        """Return parameters; variances of a condition's own are larger, other own ones smaller."""
        B, Omega = random_parameters(rng, *graph_matrices(graph))
        theta, shared = np.zeros(self.size), set(self.shared.values())
        for places in self.index:
            for what, i, j, number in places:
                theta[number] = {"B": B, "O": Omega}[what][i, j] if what != "c" else rng.normal()
        for places in self.index:
            for what, i, j, number in places:
                if number not in shared and what != "c":
                    larger = what == "O" and i == j
                    theta[number] *= rng.uniform(1, 2) if larger else rng.uniform(0.5, 1)
        return theta

    def sample(self, rng, theta, sizes):
        """Return (n, covariance matrix, mean) of a sample from each condition."""
        found = []
        for n, (mean, Sigma) in zip(sizes, self.laws(theta), strict=True):
            X = rng.multivariate_normal(mean, Sigma, size=n)
            found.append((n, np.cov(X.T, ddof=0), X.mean(axis=0)))
        return found

    def loglik(self, theta, data, *, means=False):
        """Return the log-likelihood; the means of the data matter if there are intercepts."""
        total = 0.0
        for e, (n, S, m) in enumerate(data):
            B, Omega, c = self.matrices(theta, e)
            try:
                L = np.linalg.cholesky(Omega)
            except np.linalg.LinAlgError:
                return -np.inf
            A = np.eye(self.d) - B
            shift = (A @ m - c) if means else np.zeros(self.d)
            W = np.linalg.solve(L, np.column_stack([A, shift]))
            spread = np.sum((W[:, :-1] @ S) * W[:, :-1]) + W[:, -1] @ W[:, -1]
            log_det = 2 * np.log(np.diag(L)).sum()
            total -= n / 2 * (self.d * np.log(2 * np.pi) + log_det + spread)
        return total

    def fit(self, data, start, *, means=False):
        """Maximise the likelihood numerically, over all parameters at once."""
        n = sum(size for size, _, _ in data)

        def loss(theta):
            value = -self.loglik(theta, data, means=means) / n
            return value if np.isfinite(value) else 1e6

        best = start
        for _ in range(3):  # anew from the end: BFGS forgets what its numerical slopes blur
            best = minimize(loss, best, method="BFGS", options={"gtol": 1e-9}).x
        return best, self.loglik(best, data, means=means)

    def standard_errors(self, best, data, *, means=False, step=1e-4):
        """Return those of the curvature of the likelihood, by differences."""
        unit = np.eye(self.size) * step

        def slope(at):
            values = [
                self.loglik(at + u, data, means=means) - self.loglik(at - u, data, means=means)
                for u in unit
            ]
            return np.array(values) / (2 * step)

        hessian = np.array([(slope(best + u) - slope(best - u)) / (2 * step) for u in unit])
        return np.sqrt(np.diag(np.linalg.inv(-hessian)))
