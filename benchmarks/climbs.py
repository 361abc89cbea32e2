"""Districts that a greedy search visits: the test cases for the fitting kernels.

A simple hill climb (add, remove or change one edge, move to the best neighbor) on data as in
section 4.1, from the empty graph and from random ones. Every scored district is recorded once.
"""

from __future__ import annotations

import math

import numpy as np

import bowfree as bf
from bowfree import MixedGraph, _core
from random_models import random_bap, random_parameters, sample_covariance
from twins import graph_matrices, implied_covariance


def section_41_covariance(rng, d, n, max_in_degree=2):
    """Return graph and sample covariance (divisor n) of a random sparse BAP, as in section 4.1."""
    while True:
        graph = random_bap(rng, d, density=2.5 / d)
        D, U = graph_matrices(graph)
        if (D.sum(axis=1) + U.sum(axis=1)).max() <= max_in_degree:
            break
    B, Omega = random_parameters(rng, D, U, smallest_variance=0.0)
    return graph, (n - 1) / n * sample_covariance(rng, implied_covariance(B, Omega), n)


class Climb:
    """Greedy search over BAPs with a cache of districts; kept simple, speed is not its point."""

    def __init__(self, S, n):
        self.S, self.n, self.d = S, n, len(S)
        self.cache = {}

    def district_score(self, parents, spouses, C):
        """Score the district with member mask `C`; the key is the district and its edges."""
        members = [i for i in range(self.d) if C >> i & 1]
        key = (C, *(parents[i] for i in members), *(spouses[i] for i in members))
        if key not in self.cache:
            fit = _core.fit_graph(*district_problem(self.S, parents, spouses, members))
            n_edges = sum(parents[i].bit_count() + spouses[i].bit_count() / 2 for i in members)
            likelihood = -(len(members) * math.log(2 * math.pi) + fit.objective[0]) / 2
            size = len(members) + n_edges
            self.cache[key] = likelihood - size * math.log(self.n) / self.n
        return self.cache[key]

    def score(self, parents, spouses):
        """Return the sum over districts."""
        left, total = (1 << self.d) - 1, 0.0
        while left:
            C, grown = 0, left & -left
            while grown != C:
                C = grown
                for i in range(self.d):
                    if C >> i & 1:
                        grown |= spouses[i]
            left &= ~C
            total += self.district_score(parents, spouses, C)
        return total

    def run(self, graph):
        """Climb from a graph to a local optimum; return its score."""
        state = (list(graph._parents), list(graph._spouses))
        best = self.score(*state)
        while True:
            neighbors = [(self.score(*g), g) for g in self.neighbors(*state)]
            score, state_next = max(neighbors, key=lambda item: item[0])
            if score <= best + 1e-9:
                return best
            best, state = score, state_next

    def neighbors(self, parents, spouses):
        """Yield all BAPs that differ by one edge."""
        for j in range(self.d):
            for i in range(j):
                now = (parents[j] >> i & 1, parents[i] >> j & 1, spouses[j] >> i & 1)
                for new in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)):
                    if new == now:
                        continue
                    P, Q = parents.copy(), spouses.copy()
                    for masks, a, b, on in ((P, j, i, new[0]), (P, i, j, new[1])):
                        masks[a] = masks[a] & ~(1 << b) | on << b
                    for a, b in ((i, j), (j, i)):
                        Q[a] = Q[a] & ~(1 << b) | new[2] << b
                    if (new[0] and reaches(P, j, i)) or (new[1] and reaches(P, i, j)):
                        continue
                    yield P, Q


def reaches(parents, source, target):
    """Tell whether a directed path leads from `source` to `target`."""
    seen, todo = 0, 1 << target
    while todo:
        i = (todo & -todo).bit_length() - 1
        seen |= 1 << i
        todo = (todo | parents[i]) & ~seen
    return bool(seen >> source & 1)


def district_problem(S, parents, spouses, members):
    """Return the core's arguments for one district alone: its members first, then its parents."""
    outside = 0
    for i in members:
        outside |= parents[i]
    nodes = members + [i for i in range(len(S)) if outside >> i & 1 and i not in members]
    local = {node: k for k, node in enumerate(nodes)}
    P, Q = ([0] * len(nodes) for _ in range(2))
    for i in members:
        P[local[i]] = sum(1 << local[j] for j in local if parents[i] >> j & 1)
        Q[local[i]] = sum(1 << local[j] for j in local if spouses[i] >> j & 1)
    graph = MixedGraph._from_masks(tuple(map(str, nodes)), P, Q)
    return np.ascontiguousarray(S[np.ix_(nodes, nodes)]), *graph._bits()


def districts_of_climbs(n_datasets, *, dense, d=10, n=1000, seed=0):
    """Return core arguments and size of every district met, data set by data set.

    On each data set one climb begins at the empty graph and two at random graphs: uniform ones of
    in-degree at most 2, as in the published study, or, with `dense`, graphs with 70 % of all edges,
    which is where large districts come from.
    """
    rng = np.random.default_rng(seed)
    problems = []
    for _ in range(n_datasets):
        _, S = section_41_covariance(rng, d, n)
        climb = Climb(S, n)
        names = tuple(f"v{i}" for i in range(d))
        climb.run(MixedGraph(names))
        for _ in range(2):
            climb.run(
                random_bap(rng, d, density=0.7, bidirected=0.35)
                if dense
                else bf.random_bap(d, max_in_degree=2, rng=rng)
            )
        for C, *edges in climb.cache:
            members = [i for i in range(d) if C >> i & 1]
            k = len(members)
            P, Q = [0] * d, [0] * d
            for a, i in enumerate(members):
                P[i], Q[i] = edges[a], edges[k + a]
            problems.append((k, district_problem(S, P, Q, members)))
    return problems
