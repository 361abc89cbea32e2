"""Decisions under interventions by brute force: a twin of cpp/equivalence/interventions.hpp.

Matrices from the definition, and the maximum of the likelihood by a general-purpose optimizer.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from field_twin import PRIME


def slots(graph, conditions):
    """Return for each condition where the numbers of a parameter vector go, and its length.

    A condition is (kind, targets). Of each its entries [(matrix, row, column, number)], matrix "B"
    or "Omega"; a shared parameter has the same number everywhere.
    """
    index = {name: i for i, name in enumerate(graph.nodes)}
    entries = [("B", index[b], index[a]) for a, b in graph.directed]
    entries += [("Omega", index[a], index[b]) for a, b in graph.bidirected]
    entries += [("Omega", i, i) for i in range(len(graph))]
    numbers: dict = {}
    found = []
    for e, (kind, names) in enumerate(conditions):
        targets = {index[name] for name in names}
        here = []
        for matrix, i, j in entries:
            touched = i in targets or j in targets
            if kind == "perfect":
                heads = {i} if matrix == "B" else {i, j}
                if heads & targets and i != j:
                    continue
                own = i == j and i in targets
            elif kind == "mechanism":
                own = i in targets if matrix == "B" else touched
            elif kind == "activity":
                own = matrix == "B" and j in targets
            else:
                own = matrix == "Omega" and i == j and i in targets
            key = (matrix, i, j, e if own else None)
            here.append((matrix, i, j, numbers.setdefault(key, len(numbers))))
        found.append(here)
    return found, len(numbers)


def matrices(d, here, theta):
    """Return B and Omega of one condition."""
    B, Omega = np.zeros((d, d)), np.zeros((d, d))
    for matrix, i, j, number in here:
        if matrix == "B":
            B[i, j] = theta[number]
        else:
            Omega[i, j] = Omega[j, i] = theta[number]
    return B, Omega


def random_matrices(graph, conditions, rng):
    """Return B and Omega of each condition at random, Omega being diagonally dominant."""
    d = len(graph)
    where, size = slots(graph, conditions)
    theta = rng.uniform(0.4, 0.9, size) * rng.choice([-1, 1], size)
    for here in where:
        for matrix, i, j, number in here:
            if matrix == "Omega":
                theta[number] = rng.uniform(1, 2) if i == j else 0.9 * theta[number] / d
    return [matrices(d, here, theta) for here in where]


def population(graph, conditions, rng):
    """Return Sigma of each condition at random parameters."""
    Sigma = []
    for B, Omega in random_matrices(graph, conditions, rng):
        E = np.linalg.inv(np.eye(len(B)) - B)
        Sigma.append(E @ Omega @ E.T)
    return Sigma


def field_population(graph, conditions, rng):
    """Return Sigma of each condition at random parameters modulo ``PRIME``, as lists of lists."""
    d = len(graph)
    where, size = slots(graph, conditions)
    theta = [int(x) for x in rng.integers(1, PRIME, size)]
    found = []
    for here in where:
        B, Omega, E = (np.zeros((d, d), dtype=object) for _ in range(3))
        for matrix, i, j, number in here:
            if matrix == "B":
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
    where, _ = slots(h, conditions)
    shared = rng.normal(size=len(g))
    found = {}
    for (B, Omega), here, (kind, names) in zip(
        random_matrices(g, conditions, rng), where, conditions, strict=True
    ):
        own = np.array([v in names and kind in ("perfect", "mechanism") for v in g.nodes])
        E = np.linalg.inv(np.eye(len(g)) - B)
        Sigma, mean = E @ Omega @ E.T, E @ np.where(own, rng.normal(size=len(g)), shared)
        A = np.eye(len(h))
        for v in map(h.nodes.index, h.topological_order()):
            P = [j for matrix, i, j, _ in here if matrix == "B" and i == v]
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
    d = len(graph)
    where, size = slots(graph, conditions)
    saturated = sum(np.linalg.slogdet(S)[1] + d for S in Sigma)

    def objective(theta):
        value, gradient = -saturated, np.zeros(size)
        for here, S in zip(where, Sigma, strict=True):
            B, Omega = matrices(d, here, theta)
            if np.linalg.eigvalsh(Omega)[0] < 1e-6:
                return 1e3, np.zeros(size)
            A = np.eye(d) - B
            W = np.linalg.inv(Omega)
            C = A @ S @ A.T
            value += np.linalg.slogdet(Omega)[1] + np.trace(W @ C)
            dB = -2 * W @ A @ S
            dOmega = W - W @ C @ W
            for matrix, i, j, number in here:
                if matrix == "B":
                    gradient[number] += dB[i, j]
                else:
                    gradient[number] += dOmega[i, j] * (1 if i == j else 2)
        return value, gradient

    best = np.inf
    for start in range(n_starts):
        theta = np.zeros(size) if start == 0 else rng.uniform(-0.5, 0.5, size)
        for here in where:
            for matrix, i, j, number in here:
                if matrix == "Omega":
                    theta[number] = 1.5 if i == j else theta[number] / d
        found = minimize(objective, theta, jac=True, method="BFGS", options={"gtol": 1e-7})
        best = min(best, found.fun)
        if best < enough:
            break
    return best
