"""Bad input to graphs and SEMs: what was wrong, the value seen, the way out. One table."""

import numpy as np
import pandas as pd
import pytest

import bowfree as bf

XYZ = ["x", "y", "z"]
G = bf.parse("x -> y <-> z")
B = np.array([[0.0, 0, 0], [2, 0, 0], [0, 0, 0]])
OMEGA = np.array([[1.0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])


def changed(matrix, i, j, value):
    result = matrix.copy()
    result[i, j] = value
    return result


CASES = {
    # name: (call, error class, words of the message)
    "unknown node": (
        lambda: bf.MixedGraph(XYZ, [("x", "q")]),
        bf.errors.GraphError,
        "unknown node 'q'; nodes are: x, y, z",
    ),
    "unknown node, close name": (
        lambda: bf.MixedGraph(["pmek", "praf"], [("pmek", "Praf")]),
        bf.errors.GraphError,
        "unknown node 'Praf'; did you mean 'praf'?",
    ),
    "unknown node in a query": (lambda: G.parents("Y"), bf.errors.GraphError, "did you mean 'y'?"),
    "unknown node in a set": (lambda: G.m_separated("x", "z", ["w"]), bf.errors.GraphError, "'w'"),
    "unknown node in an edit": (
        lambda: G.add("x -> w"),
        bf.errors.GraphError,
        "unknown node 'w'; nodes are: x, y, z",
    ),
    "unknown node to relabel": (lambda: G.relabel({"w": "v"}), bf.errors.GraphError, "'w'"),
    "self-loop": (
        lambda: bf.MixedGraph(XYZ, [("y", "y")]),
        bf.errors.GraphError,
        "self-loop at y: an edge joins two different nodes; drop this edge",
    ),
    "bidirected self-loop": (
        lambda: bf.MixedGraph(XYZ, [], [("z", "z")]),
        bf.errors.GraphError,
        "self-loop at z",
    ),
    "duplicate node name": (
        lambda: bf.MixedGraph(["x", "y", "x"]),
        bf.errors.GraphError,
        "node 'x' is given twice; every node needs a name of its own",
    ),
    "duplicate by adding": (lambda: G.add(nodes=["y"]), bf.errors.GraphError, "'y' is given twice"),
    "duplicate by relabelling": (
        lambda: G.relabel({"x": "y"}),
        bf.errors.GraphError,
        "'y' is given twice",
    ),
    "name that is not a string": (
        lambda: bf.MixedGraph([1, 2]),
        bf.errors.GraphError,
        "node names are strings, but 1 is of type int; convert it with str()",
    ),
    "query that is not a string": (
        lambda: G.parents([3]),
        bf.errors.GraphError,
        "unknown node 3: node names are strings, not int",
    ),
    "query that cannot be hashed": (
        lambda: G.parents([["x"]]),
        bf.errors.GraphError,
        "unknown node ['x']: node names are strings, not list",
    ),
    "empty name": (lambda: bf.MixedGraph(["x", ""]), bf.errors.GraphError, "empty name"),
    "nodes as one string": (
        lambda: bf.MixedGraph("x -> y"),
        bf.errors.GraphError,
        "nodes is the string 'x -> y'; give a list of names",
    ),
    "edge that is no pair": (
        lambda: bf.MixedGraph(XYZ, ["xy"]),
        bf.errors.GraphError,
        "an edge is a pair of node names, such as ('x', 'y'), not 'xy'",
    ),
    "edge of three": (lambda: G.add(directed=[("x", "y", "z")]), bf.errors.GraphError, "is a pair"),
    "text without an edge": (
        lambda: G.add("x"),
        bf.errors.GraphError,
        "'x' should name edges, such as 'x -> y'; nodes go under nodes=[...]",
    ),
    "edge that is not there": (
        lambda: G.remove("y -> z"),
        bf.errors.GraphError,
        "no edge y -> z to remove: this pair has y <-> z",
    ),
    "edge between strangers": (
        lambda: G.replace("x -> z", "z -> x"),
        bf.errors.GraphError,
        "no edge x -> z to remove: this pair has no edge",
    ),
    "order with a node missing": (
        lambda: G.reorder(["x", "y", "y"]),
        bf.errors.GraphError,
        "the new order x, y, y must list each of the nodes x, y, z once",
    ),
    "overlapping sets": (
        lambda: G.m_separated("x", ["y", "x"]),
        bf.errors.GraphError,
        "['x'] in more than one of a, b and given; m-separation is about disjoint sets",
    ),
    "directed cycle": (
        lambda: bf.parse("a -> b -> c -> a, c -> d").check_bap(),
        bf.errors.GraphError,
        "graph has a directed cycle a -> b -> c -> a; drop or turn one of its edges",
    ),
    "cycle in an order": (
        lambda: bf.parse("a -> b -> a").topological_order(),
        bf.errors.GraphError,
        "directed cycle a -> b -> a",
    ),
    "cycle in treks": (
        lambda: bf.parse("a -> b -> a").treks("a", "b"),
        bf.errors.GraphError,
        "directed cycle a -> b -> a",
    ),
    "cycle in a projection": (
        lambda: bf.parse("a -> b -> a").latent_projection("a"),
        bf.errors.GraphError,
        "directed cycle a -> b -> a",
    ),
    "cycle in a SEM": (
        lambda: bf.random_sem(bf.parse("a -> b -> a")),
        bf.errors.GraphError,
        "directed cycle a -> b -> a",
    ),
    "bow": (
        lambda: bf.parse("z, x -> y <-> x").check_bap(),
        bf.errors.GraphError,
        "graph has a bow at (x, y): both x -> y and x <-> y; drop one of the two",
    ),
    "asymmetric Omega": (
        lambda: bf.LinearSEM(G, B, changed(OMEGA, 1, 2, 0.25)),
        bf.errors.DataError,
        "Omega is not symmetric: Omega[y, z] is 0.25 but Omega[z, y] is 0.5",
    ),
    "indefinite Omega": (
        lambda: bf.LinearSEM(G, B, changed(changed(OMEGA, 1, 2, 2.0), 2, 1, 2.0)),
        bf.errors.DataError,
        "Omega is not positive definite: the smallest eigenvalue of its correlations is -1; raise",
    ),
    "singular Omega": (
        lambda: bf.LinearSEM(G, B, changed(OMEGA, 0, 0, 0.0)),
        bf.errors.DataError,
        "Omega is not positive definite: the error variance of 'x' is 0; raise the error variances",
    ),
    "B of the wrong shape": (
        lambda: bf.LinearSEM(G, B[:2], OMEGA),
        bf.errors.DataError,
        "B has shape (2, 3), but the graph has 3 nodes; expected (3, 3)",
    ),
    "Omega of the wrong shape": (
        lambda: bf.LinearSEM(G, B, [1, 1, 1]),
        bf.errors.DataError,
        "Omega has shape (3,), but the graph has 3 nodes; expected (3, 3)",
    ),
    "NaN in B": (
        lambda: bf.LinearSEM(G, changed(B, 1, 0, np.nan), OMEGA),
        bf.errors.DataError,
        "B[y, x] is nan; every entry must be a finite number",
    ),
    "infinity in Omega": (
        lambda: bf.LinearSEM(G, B, changed(OMEGA, 2, 2, np.inf)),
        bf.errors.DataError,
        "Omega[z, z] is inf; every entry must be a finite number",
    ),
    "B that is not numbers": (
        lambda: bf.LinearSEM(G, [["a"]], OMEGA),
        bf.errors.DataError,
        "B must be a matrix of numbers",
    ),
    "B outside the graph": (
        lambda: bf.LinearSEM(G, B.T, OMEGA),
        bf.errors.DataError,
        "B[x, y] is 2, but y -> x is not an edge of the graph "
        "(B[i, j] is the effect of j on i; is it transposed?); set the entry to zero",
    ),
    "Omega outside the graph": (
        lambda: bf.LinearSEM(G, B, OMEGA + 0.1),
        bf.errors.DataError,
        "Omega[x, y] is 0.1, but y <-> x is not an edge",
    ),
    "labels in another order": (
        lambda: bf.LinearSEM(G, pd.DataFrame(B, columns=["z", "y", "x"]), OMEGA),
        bf.errors.DataError,
        "B has columns ['z', 'y', 'x'] but the nodes are ['x', 'y', 'z']",
    ),
    "row labels in another order": (
        lambda: bf.LinearSEM(G, pd.DataFrame(B, columns=XYZ, index=["z", "y", "x"]), OMEGA),
        bf.errors.DataError,
        "B has rows ['z', 'y', 'x'] but the nodes are ['x', 'y', 'z']",
    ),
    "no observations": (
        lambda: bf.LinearSEM(G, B, OMEGA).sample(0),
        bf.errors.DataError,
        "n must be a positive integer, the number of observations, not 0",
    ),
    "half an observation": (
        lambda: bf.LinearSEM(G, B, OMEGA).sample(2.5),
        bf.errors.DataError,
        "not 2.5",
    ),
    "unknown frame": (
        lambda: bf.LinearSEM(G, B, OMEGA).sample(2, rng=0, as_frame="excel"),
        bf.BowfreeError,
        "as_frame='excel': choose 'pandas', 'polars' or 'pyarrow'",
    ),
    "malformed text": (
        lambda: bf.parse("x -> y\ny <- -> z"),
        bf.errors.ParseError,
        "line 2, column 6: expected a node name before '->'",
    ),
    "text that is no text": (
        lambda: bf.parse(3),
        bf.errors.ParseError,
        "a graph is read from a string, not from int",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_its_own_error(name):
    call, error, words = CASES[name]
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_failed_construction_leaves_nothing_behind():
    sem = object.__new__(bf.LinearSEM)
    with pytest.raises(bf.errors.DataError):
        sem.__init__(G, B, -OMEGA)
    with pytest.raises(bf.errors.GraphError):
        G.add("x -> z", "x -> w")
    assert not G.has_edge("x -> z")
