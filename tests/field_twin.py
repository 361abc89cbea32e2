"""The exact test of equivalence in plain Python integers and fractions: the core's slow twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bowfree import MixedGraph

PRIME = 2**61 - 1


class Residue:
    """An element of the field of 2^61 - 1 elements, as slow and as plain as can be."""

    def __init__(self, value):
        self.value = int(value) % PRIME

    def __add__(self, other):
        return Residue(self.value + other.value)

    def __sub__(self, other):
        return Residue(self.value - other.value)

    def __mul__(self, other):
        return Residue(self.value * other.value)

    def __truediv__(self, other):
        return Residue(self.value * pow(other.value, -1, PRIME))

    def __bool__(self):
        return self.value != 0


def solve(M, y, number):
    """Solve M x = y by Gauss-Jordan elimination; None when M is singular."""
    k = len(M)
    rows = [[*M[i], y[i]] for i in range(k)]
    for c in range(k):
        pivot = next((i for i in range(c, k) if rows[i][c]), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for i in range(k):
            if i != c:
                rows[i] = [x - rows[i][c] * z for x, z in zip(rows[i], rows[c], strict=True)]
    return [row[k] for row in rows]


def parameters(graph, Sigma, number=Residue):
    """Return I - B and all error covariances that the BAP finds in Sigma; None when singular."""
    d = len(graph)
    S = [[number(int(x)) if number is Residue else x for x in row] for row in Sigma]
    zero, one = number(0), number(1)

    def dot(x, y):
        return sum((a * b for a, b in zip(x, y, strict=True)), start=zero)

    A = {}
    for name in graph.topological_order():
        v = graph.nodes.index(name)
        P = sorted(graph.nodes.index(p) for p in graph.parents(name))
        R = {p: [dot(A[p], [S[i][w] for i in range(d)]) for w in range(d)] for p in P}
        x = solve([[R[p][q] for q in P] for p in P], [R[p][v] for p in P], number)
        if x is None:
            return None
        row = [zero] * d
        row[v] = one
        for p, coefficient in zip(P, x, strict=True):
            row[p] = zero - coefficient
        A[v] = row
    errors = [
        [dot(A[v], [dot(A[w], [S[i][j] for i in range(d)]) for j in range(d)]) for w in range(d)]
        for v in range(d)
    ]
    return A, errors


def produces(graph, Sigma, number=Residue):
    """Tell whether the BAP can produce Sigma; None when a system is singular."""
    found = parameters(graph, Sigma, number)
    if found is None:
        return None
    return not any(
        found[1][v][w]
        for v in range(len(graph))
        for w in range(v)
        if not graph.adjacent(graph.nodes[v], graph.nodes[w])
    )


def produces_under(graph, slots, Sigma):
    """Tell whether the BAP can produce the matrices of several conditions; None when singular.

    `slots` are the `index` of `conditions_twin.ConditionModel`: parameters with one number must
    agree.
    """
    known = {}
    nodes = graph.nodes
    for here, matrix in zip(slots, Sigma, strict=True):
        cut = MixedGraph(
            nodes,
            directed=[(nodes[j], nodes[i]) for where, i, j, _ in here if where == "B"],
            bidirected=[
                (nodes[i], nodes[j]) for where, i, j, _ in here if where == "Omega" and i != j
            ],
        )
        if (answer := produces(cut, matrix)) is not True:
            return answer
        A, errors = parameters(cut, matrix)
        for where, i, j, number in here:
            value = A[i][j].value if where == "B" else errors[i][j].value
            if known.setdefault(number, value) != value:
                return False
    return True


def rational_covariance(graph, rng, largest=30):
    """Return Sigma of the acyclic graph at random whole parameters, as fractions."""
    d = len(graph)
    index = graph.nodes.index

    def draw(least, most):
        return Fraction(int(rng.integers(least, most)))

    # E = (I - B)^-1 row by row, parents first.
    E, Omega = np.eye(d, dtype=int) * Fraction(1), np.zeros((d, d), dtype=int) * Fraction(1)
    for name in graph.topological_order():
        for parent in sorted(graph.parents(name)):
            E[index(name)] += draw(1, largest) * E[index(parent)]
    for a, b in graph.bidirected:
        Omega[index(a), index(b)] = Omega[index(b), index(a)] = draw(1, largest)
    for i in range(d):
        Omega[i, i] = draw(50, 50 + largest)
    return (E @ Omega @ E.T).tolist()
