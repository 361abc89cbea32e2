"""Bad input to graphs and SEMs: the message has the fact, the value seen and the remedy."""

import numpy as np
import pandas as pd
import pytest

import bowfree as bf

XYZ = ["x", "y", "z"]
G = bf.parse("x -> y <-> z")
B = np.array([[0.0, 0, 0], [2, 0, 0], [0, 0, 0]])
OMEGA = np.array([[1.0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
CYCLE = bf.parse("a -> b -> a")


def changed(matrix, i, j, value):
    result = matrix.copy()
    result[i, j] = value
    return result


# name: (call, words of the message)
CASES = {
    "unknown node": (lambda: bf.MixedGraph(XYZ, [("x", "q")]), "'q'; nodes are: x, y, z"),
    "close name": (lambda: bf.MixedGraph(["praf"], [("praf", "Praf")]), "did you mean 'praf'?"),
    "unknown node in a query": (lambda: G.parents("Y"), "did you mean 'y'?"),
    "self-loop": (lambda: bf.MixedGraph(XYZ, [("y", "y")]), "self-loop at y"),
    "duplicate name": (lambda: bf.MixedGraph(["x", "y", "x"]), "node 'x' is listed twice"),
    "name that is a number": (lambda: bf.MixedGraph([1, 2]), "1 is of type int; convert it with"),
    "number in a query": (lambda: G.parents([3]), "node names are strings, not int"),
    "empty name": (lambda: bf.MixedGraph(["x", ""]), "empty name"),
    "nodes as one string": (lambda: bf.MixedGraph("x -> y"), "the string 'x -> y'; give a list"),
    "edge that is not a pair": (lambda: bf.MixedGraph(XYZ, ["xy"]), "a pair of node names"),
    "text without an edge": (lambda: G.add("x"), "'x' should contain edges only"),
    "wrong edge to remove": (lambda: G.remove("y -> z"), "y -> z to remove: this pair has y <-> z"),
    "order with a node missing": (lambda: G.reorder(["x", "y", "y"]), "each of the nodes x, y, z"),
    "overlapping sets": (lambda: G.m_separated("x", ["y", "x"]), "['x'] in more than one of a, b"),
    "cycle": (lambda: bf.parse("a -> b -> c -> a, c -> d").check_bap(), "cycle a -> b -> c -> a;"),
    "cycle in treks": (lambda: CYCLE.treks("a", "b"), "directed cycle a -> b -> a"),
    "bow": (lambda: bf.parse("z, x -> y <-> x").check_bap(), "graph has a bow at (x, y)"),
    "text that is a number": (lambda: bf.parse(3), "a graph is read from a string, not from int"),
    "asymmetric Omega": (
        lambda: bf.LinearSEM(G, B, changed(OMEGA, 1, 2, 0.25)),
        "Omega is not symmetric: Omega[y, z] is 0.25 but Omega[z, y] is 0.5",
    ),
    "indefinite Omega": (
        lambda: bf.LinearSEM(G, B, changed(changed(OMEGA, 1, 2, 2.0), 2, 1, 2.0)),
        "Omega is not positive definite: the smallest eigenvalue of its correlations is -1",
    ),
    "singular Omega": (
        lambda: bf.LinearSEM(G, B, changed(OMEGA, 0, 0, 0.0)),
        "Omega is not positive definite: the variance of x is 0",
    ),
    "shape of B": (lambda: bf.LinearSEM(G, B[:2], OMEGA), "B has shape (2, 3)"),
    "NaN in B": (lambda: bf.LinearSEM(G, changed(B, 1, 0, np.nan), OMEGA), "B[y, x] is nan"),
    "B of strings": (lambda: bf.LinearSEM(G, [["a"]], OMEGA), "B must be a matrix of numbers"),
    "B outside the graph": (lambda: bf.LinearSEM(G, B.T, OMEGA), "is it transposed?"),
    "Omega outside the graph": (
        lambda: bf.LinearSEM(G, B, OMEGA + 0.1),
        "Omega[x, y] is 0.1, but y <-> x is not an edge",
    ),
    "columns in another order": (
        lambda: bf.LinearSEM(G, pd.DataFrame(B, columns=["z", "y", "x"]), OMEGA),
        "B has columns ['z', 'y', 'x'] but the nodes are ['x', 'y', 'z']",
    ),
    "no observations": (lambda: bf.LinearSEM(G, B, OMEGA).sample(0), "got 0"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name):
    call, words = CASES[name]
    with pytest.raises(bf.BowfreeError) as caught:
        call()
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)
