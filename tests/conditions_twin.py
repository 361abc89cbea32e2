"""A slow, obvious twin of models under every kind of intervention (cpp/data/intervention_kinds.hpp).

For fits: all parameters of all conditions, intercepts among them; one likelihood; BFGS. For
decisions: matrices from the definition, and the maximum of the likelihood on them.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from field_twin import PRIME
from random_models import random_parameters
from twins import graph_matrices, implied_covariance


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
        kinds = [kind] * len(targets) if isinstance(kind, str) else kind
        edges, spouses = graph_matrices(graph)  # [i, j]: j -> i
        errors = np.tril(spouses + np.eye(len(graph), dtype=int))
        self.d, self.index, self.size, self.shared = len(graph), [], 0, {}
        for how, names in zip(kinds, targets, strict=True):
            B, Omega, c = uses(how, names, graph)
            places = [("B", i, j, B[i, j]) for i, j in zip(*np.nonzero(edges), strict=True)]
            places += [
                ("Omega", i, j, Omega[i, j]) for i, j in zip(*np.nonzero(errors), strict=True)
            ]
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

    def distributions(self, theta):
        """Return mean and covariance matrix of each condition."""
        found = []
        for e in range(len(self.index)):
            B, Omega, c = self.matrices(theta, e)
            found.append((np.linalg.solve(np.eye(self.d) - B, c), implied_covariance(B, Omega)))
        return found

    def parameters(self, B, Omega, data):
        """Return shared parameters from B and Omega, and variances of perfect targets of the data."""
        theta, shared = np.zeros(self.size), set(self.shared.values())
        for places, (_, S, _) in zip(self.index, data, strict=True):
            for what, i, j, number in places:
                theta[number] = (
                    S[i, j] if number not in shared else (B if what == "B" else Omega)[i, j]
                )
        return theta

    def random(self, rng, graph):
        """Return parameters; variances of a condition's own are larger, other own ones smaller."""
        B, Omega = random_parameters(rng, *graph_matrices(graph))
        theta, shared = np.zeros(self.size), set(self.shared.values())
        for places in self.index:
            for what, i, j, number in places:
                theta[number] = (
                    {"B": B, "Omega": Omega}[what][i, j] if what != "c" else rng.normal()
                )
        for places in self.index:
            for what, i, j, number in places:
                if number not in shared and what != "c":
                    larger = what == "Omega" and i == j
                    theta[number] *= rng.uniform(1, 2) if larger else rng.uniform(0.5, 1)
        return theta

    def sample(self, rng, theta, sizes):
        """Return (n, covariance matrix, mean) of a sample from each condition."""
        found = []
        for n, (mean, Sigma) in zip(sizes, self.distributions(theta), strict=True):
            X = rng.multivariate_normal(mean, Sigma, size=n)
            found.append((n, np.cov(X.T, ddof=0), X.mean(axis=0)))
        return found

    def loglik(self, theta, data, *, means=False):
        """Return the log-likelihood; the means of the data matter if there are intercepts."""
        return self._with_slope(theta, data, means)[0]

    def _with_slope(self, theta, data, means):
        """Return the log-likelihood and its derivatives; minus infinity where Omega is no Omega.

        In a condition with A = I - B it is that of the errors, whose covariance matrix is Omega and
        whose mean products in the data are E: -n/2 (log |2 pi Omega| + tr(Omega^-1 E)).
        """
        total, slope = 0.0, np.zeros(self.size)
        for e, (n, S, m) in enumerate(data):
            B, Omega, c = self.matrices(theta, e)
            if np.linalg.eigvalsh(Omega)[0] <= 0:
                return -np.inf, slope
            A, W = np.eye(self.d) - B, np.linalg.inv(Omega)
            shift = (A @ m - c) if means else np.zeros(self.d)
            E = A @ S @ A.T + np.outer(shift, shift)
            total -= n / 2 * (np.linalg.slogdet(2 * np.pi * Omega)[1] + np.trace(W @ E))
            by = {
                "B": n * W @ (A @ S + np.outer(shift, m)),
                "Omega": n / 2 * (W @ E @ W - W),
                "c": n * (W @ shift)[:, None],
            }
            for what, i, j, number in self.index[e]:
                slope[number] += by[what][i, j] * (2 if what == "Omega" and i != j else 1)
        return total, slope

    def fit(self, data, start, *, means=False):
        """Maximize the likelihood numerically, over all parameters at once."""
        n = sum(size for size, _, _ in data)

        def loss(theta):
            value, slope = self._with_slope(theta, data, means)
            return (-value / n, -slope / n) if np.isfinite(value) else (1e6, slope)

        best = start
        for _ in range(3):  # anew from the end, where BFGS gave up over rounding
            best = minimize(loss, best, jac=True, method="BFGS", options={"gtol": 1e-9}).x
        return best, self.loglik(best, data, means=means)

    def standard_errors(self, best, data, *, means=False, step=1e-4):
        """Return those of the curvature of the likelihood, by differences."""
        slopes = [
            self._with_slope(best + u, data, means)[1] - self._with_slope(best - u, data, means)[1]
            for u in np.eye(self.size) * step
        ]
        hessian = np.array(slopes) / (2 * step)
        return np.sqrt(np.diag(np.linalg.inv(-hessian)))


# --- decisions; a condition is (kind, targets) ---


def model_of(graph, conditions):
    """Return the model of a graph under conditions."""
    kinds, targets = zip(*conditions, strict=True)
    return ConditionModel(graph, kinds, targets)


def random_matrices(graph, conditions, rng):
    """Return B and Omega of each condition at random, Omega being diagonally dominant."""
    model = model_of(graph, conditions)
    theta = rng.uniform(0.4, 0.9, model.size) * rng.choice([-1, 1], model.size)
    for places in model.index:
        for what, i, j, number in places:
            if what == "Omega":
                theta[number] = rng.uniform(1, 2) if i == j else 0.9 * theta[number] / model.d
    return [model.matrices(theta, e)[:2] for e in range(len(conditions))]


def population(graph, conditions, rng):
    """Return Sigma of each condition at random parameters."""
    return [implied_covariance(*pair) for pair in random_matrices(graph, conditions, rng)]


def field_population(graph, conditions, rng):
    """Return Sigma of each condition at random parameters modulo ``PRIME``, as lists of lists."""
    model, d = model_of(graph, conditions), len(graph)
    theta = [int(x) for x in rng.integers(1, PRIME, model.size)]
    found = []
    for places in model.index:
        B, Omega, E = (np.zeros((d, d), dtype=object) for _ in range(3))
        for what, i, j, number in places:
            if what == "B":
                B[i, j] = theta[number]
            else:
                Omega[i, j] = Omega[j, i] = theta[number]
        for v in map(graph.nodes.index, graph.topological_order()):
            E[v, v] = 1
            E[v] = (E[v] + B[v] @ E) % PRIME
        found.append((E @ Omega @ E.T % PRIME).tolist())
    return found


def intercepts_agree(g, h, conditions, rng):
    """Tell whether h finds the same intercepts in all conditions of g that share them.

    A variable that was set, or has a mechanism of its own, has its own. The coefficients of h are
    those that its graph finds in Sigma of a condition, node by node.
    """
    shared = rng.normal(size=len(g))
    found = {}
    for (B, Omega), places, (kind, names) in zip(
        random_matrices(g, conditions, rng), model_of(h, conditions).index, conditions, strict=True
    ):
        own = np.array([v in names and kind in ("perfect", "mechanism") for v in g.nodes])
        mean = np.linalg.solve(np.eye(len(g)) - B, np.where(own, rng.normal(size=len(g)), shared))
        Sigma, A = implied_covariance(B, Omega), np.eye(len(h))
        for v in map(h.nodes.index, h.topological_order()):
            P = [j for what, i, j, _ in places if what == "B" and i == v]
            R = A[P] @ Sigma
            A[v, P] = -np.linalg.solve(R[:, P], R[:, v])
        for v in np.flatnonzero(~own):
            if abs(found.setdefault(v, A[v] @ mean) - A[v] @ mean) > 1e-8:
                return False
    return True


def lack_of_fit(graph, conditions, Sigma, rng, n_starts=3, enough=1e-11):
    """Return how far the best parameters of the graph stay below the saturated log-likelihood.

    Zero says that the graph can produce all the matrices. Every start is a chance to find that;
    the search ends with the first that does.
    """
    model, best = model_of(graph, conditions), np.inf
    data = [(1, S, np.zeros(model.d)) for S in Sigma]
    saturated = sum(np.linalg.slogdet(2 * np.pi * S)[1] + model.d for S in Sigma)
    for start in range(n_starts):
        theta = np.zeros(model.size) if start == 0 else rng.uniform(-0.5, 0.5, model.size)
        for places in model.index:
            for what, i, j, number in places:
                if what == "Omega":
                    theta[number] = 1.5 if i == j else theta[number] / model.d
        best = min(best, -2 * model.fit(data, theta)[1] - saturated)
        if best < enough:
            break
    return best
