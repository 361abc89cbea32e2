"""Random BAPs with random parameters and data, for tests with many cases."""

from __future__ import annotations

import numpy as np

import bowfree as bf
from twins import graph_matrices, implied_covariance


def random_bap(rng, d, *, density=0.5, bidirected=0.4):
    """Return a BAP whose pairs are adjacent with probability `density`."""
    names = [f"v{i}" for i in range(d)]
    order = rng.permutation(d)
    edges = {"directed": [], "bidirected": []}
    for b in range(d):
        for a in range(b):
            if rng.random() < density:
                kind = "bidirected" if rng.random() < bidirected else "directed"
                edges[kind].append((names[order[a]], names[order[b]]))
    return bf.MixedGraph(names, **edges)


def random_parameters(rng, D, U, *, smallest_variance=0.2):
    """Return B and Omega as in section 4.1: normal entries, diagonally dominant Omega.

    Section 4.1 has ``smallest_variance=0``; the default keeps away from nearly singular models.
    """
    d = len(D)
    B = np.where(D, rng.normal(size=(d, d)), 0.0)
    Omega = np.triu(np.where(U, rng.normal(size=(d, d)), 0.0), 1)
    Omega = Omega + Omega.T
    np.fill_diagonal(
        Omega, np.abs(Omega).sum(axis=1) + smallest_variance + rng.chisquare(1, size=d)
    )
    return B, Omega


def sample_covariance(rng, Sigma, n):
    """Return the covariance matrix, divisor n - 1, of n normal observations."""
    X = rng.normal(size=(n, len(Sigma))) @ np.linalg.cholesky(Sigma).T
    return np.cov(X, rowvar=False)


def random_covariance(rng, d, n):
    """Return a sample covariance matrix of variables that follow no graph in particular."""
    L = np.eye(d) + np.tril(rng.normal(scale=0.5, size=(d, d)), -1)
    return sample_covariance(rng, L @ L.T, n)


def foreign_data(rng, d, n=1000):
    """Return a dense graph, and a covariance matrix of data that follow another one.

    Its likelihood has many maxima, or none: the hardest graphs to fit.
    """
    graph, true = random_bap(rng, d, density=0.7), random_bap(rng, d)
    B, Omega = random_parameters(rng, *graph_matrices(true))
    return graph, sample_covariance(rng, implied_covariance(B, Omega), n)


def collider_data(n, *, seed=0):
    """Return n observations of x -> y <- z, y -> w with all coefficients 1, as a data frame."""
    B = [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    sem = bf.LinearSEM(bf.parse("x -> y <- z, y -> w"), B, np.eye(4))
    return sem.sample(n, rng=seed, as_frame="pandas")
