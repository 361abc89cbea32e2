"""Masks, bits and pair states of graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from bowfree.graph.encodings import (
    closure,
    graph_of_bits,
    graph_of_states,
    graphs_of_bits,
    members,
    states_of_graph,
    transpose,
    union,
)
from graph_strategies import baps, mixed_graphs


def test_closure_stays_within():
    chain = [0b0010, 0b0100, 0b1000, 0]  # 0 -> 1 -> 2 -> 3
    assert closure(chain, 0b0001) == 0b1111
    assert closure(chain, 0b0001, within=0b1011) == 0b0011
    assert closure(chain, 0b0001, within=0b1110) == 0


@given(st.lists(st.integers(0, 2**7 - 1), min_size=7, max_size=7), st.integers(0, 2**7 - 1))
def test_transpose_and_union_agree_with_sets(masks, nodes):
    sets = [set(members(mask)) for mask in masks]
    assert [set(members(m)) for m in transpose(masks)] == [
        {i for i in range(7) if j in sets[i]} for j in range(7)
    ]
    assert set(members(union(masks, nodes))) == set().union(*(sets[v] for v in members(nodes)))


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


@given(mixed_graphs())
def test_bits_and_back(g):
    assert graph_of_bits(g.nodes, *g._bits()) == g


@given(baps())
def test_states_and_back(g):
    assert graph_of_states(g.nodes, states_of_graph(g)) == g
