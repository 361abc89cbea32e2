"""Many graphs at once, against one graph at a time."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.graph.encodings import graphs_of_bits


@pytest.mark.parametrize("d", [0, 1, 3, 64, 65, 130])
@pytest.mark.parametrize("alike", [True, False])
def test_graphs_are_those_of_their_bits(d, alike):
    rng = np.random.default_rng(d)
    names = tuple(f"x{i}" for i in range(d))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    def some(share):
        return [pair for pair in pairs if rng.random() < share]

    base = some(0.1)
    graphs = [
        bf.MixedGraph(names, directed=sorted({*base, *some(0.01)} if alike else some(0.2)))
        for _ in range(5)
    ]
    graphs.append(bf.MixedGraph(names, bidirected=base))
    parents, spouses = (np.array(bits) for bits in zip(*(g._bits() for g in graphs), strict=True))
    assert graphs_of_bits(names, parents, spouses) == graphs
    assert graphs_of_bits(names, parents[:0], spouses[:0]) == []
