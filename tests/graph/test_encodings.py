"""Masks, bits and pair states of graphs."""

import numpy as np
import pytest
from hypothesis import given

import bowfree as bf
from bowfree.graph.encodings import graph_of_states, graphs_of_bits, states_of_graph
from graph_strategies import baps


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
