"""The mixed graph as a value: construction, relatives, equality, immutability."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given

import bowfree as bf
from bowfree.graph.encodings import graph_of_states, graphs_of_bits, states_of_graph
from graph_strategies import baps, mixed_graphs

#       a
#      / \
#     v   v
#     b<->c -> d     e
G = bf.MixedGraph(
    ["a", "b", "c", "d", "e"],
    directed=[("c", "d"), ("a", "c"), ("a", "b")],
    bidirected=[("c", "b")],
)


def test_edges_come_in_canonical_order():
    assert G.nodes == ("a", "b", "c", "d", "e")
    assert G.directed == (("a", "b"), ("a", "c"), ("c", "d"))
    assert G.bidirected == (("b", "c"),)
    assert G.edges[-1] == ("b", "<->", "c")
    assert (G.n_edges, G.n_directed, G.n_bidirected) == (4, 3, 1)


def test_relatives_of_a_node_and_of_a_set():
    assert G.parents("c") == {"a"}
    assert G.parents(["c", "d"]) == {"a", "c"}  # pa(S) can meet S
    assert G.children("a") == {"b", "c"}
    assert G.spouses("b") == {"c"}
    assert G.neighbors("c") == {"a", "b", "d"}
    assert G.ancestors("d") == {"a", "c", "d"}  # a set is among its own ancestors
    assert G.descendants("a") == {"a", "b", "c", "d"}
    assert G.ancestors([]) == frozenset()
    assert [G.in_degree(v) for v in G] == [0, 2, 2, 1, 0]
    assert G.adjacent("c", "b")
    assert G.adjacent("d", "c")
    assert not G.adjacent("b", "d")


def test_equal_graphs_are_interchangeable():
    same = bf.MixedGraph(G.nodes, reversed(G.directed), [("b", "c"), ("c", "b")])
    assert same == G
    assert hash(same) == hash(G)
    assert len({same, G}) == 1
    assert bf.MixedGraph(G.nodes) != G
    assert G.reorder(list("edcba")) != G  # node order is that of the matrices
    assert G != "a -> b"


def test_subgraph_relation():
    part = G.subgraph(["a", "b"])
    assert part <= G
    assert part < G
    assert G <= G
    assert not G < G
    assert not part >= G
    # One more node or one more edge makes a graph larger, and nothing else does.
    assert bf.parse("a -> b") < bf.parse("a -> b, c")
    assert bf.parse("a -> b, c") < bf.parse("a -> b -> c")
    assert not bf.parse("a -> b") < bf.parse("b, a -> b")
    assert not bf.parse("b -> a") <= G
    with pytest.raises(TypeError):
        assert G <= 3


@pytest.mark.parametrize("name", ["nodes", "_parents", "anything"])
def test_nothing_can_be_set_or_deleted(name):
    before = str(G)
    with pytest.raises(AttributeError, match="immutable"):
        setattr(G, name, ())
    with pytest.raises(AttributeError, match="immutable"):
        delattr(G, name)
    assert str(G) == before


def test_numpy_strings_become_plain_ones():
    g = bf.MixedGraph(np.array(["x", "y"]), [(np.str_("x"), "y")])
    assert [type(name) for name in g.nodes] == [str, str]
    assert g == bf.parse("x -> y")


@given(mixed_graphs())
def test_copies_are_equal(g):
    for other in (pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g)):
        assert other == g
        assert hash(other) == hash(g)
        assert other.directed == g.directed
    assert bf.MixedGraph(g.nodes, g.directed, g.bidirected) == g


@given(mixed_graphs())
def test_relatives_agree_with_adjacency_matrices(g):
    d, names = len(g), np.array(g.nodes)
    D, S = (
        np.array([[(a, mark, b) in g.edges for b in g.nodes] for a in g.nodes], bool).reshape(d, d)
        for mark in ("->", "<->")
    )
    S = S | S.T
    reach = np.linalg.matrix_power(np.eye(d) + D, d) > 0 if d else D
    for i, v in enumerate(g.nodes):
        assert g.parents(v) == set(names[D[:, i] > 0])
        assert g.children(v) == set(names[D[i] > 0])
        assert g.spouses(v) == set(names[S[i] > 0])
        assert g.ancestors(v) == set(names[reach[:, i]])
        assert g.descendants(v) == set(names[reach[i]])
        assert g.in_degree(v) == D[:, i].sum() + S[i].sum()


@pytest.mark.parametrize("d", [0, 1, 3, 64, 65, 130])
@pytest.mark.parametrize("similar", [True, False])
def test_many_graphs_from_bits(d, similar):
    rng = np.random.default_rng(d)
    names = tuple(f"x{i}" for i in range(d))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    def some(share):
        return [pair for pair in pairs if rng.random() < share]

    base = some(0.1)
    graphs = [
        bf.MixedGraph(names, directed=sorted({*base, *some(0.01)} if similar else some(0.2)))
        for _ in range(5)
    ]
    graphs.append(bf.MixedGraph(names, bidirected=base))
    parents, spouses = (np.array(bits) for bits in zip(*(g._bits() for g in graphs), strict=True))
    assert graphs_of_bits(names, parents, spouses) == graphs
    assert graphs_of_bits(names, parents[:0], spouses[:0]) == []


@given(baps())
def test_states_and_back(g):
    assert graph_of_states(g.nodes, states_of_graph(g)) == g
