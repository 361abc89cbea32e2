"""Gains that are no numbers never win: neither a tie in a climb nor a step of a chain.

Input validation excludes them. Here the core gets a penalty that is not a number, so
that no graph has a score and none can be better than another.
"""

import numpy as np
import pytest

from bowfree import _core
from bowfree.graph.encodings import graph_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.search.plan import Strategy
from search_cases import simulate

D = 5
NAMES = tuple(f"x{i + 1}" for i in range(D))
NO_KNOWLEDGE = np.zeros((0, 0), dtype=np.uint8)


def rules():
    return _core.Rules(0, -1, -1, -1, NO_KNOWLEDGE)


@pytest.mark.parametrize("kind", [0, 2, 3])  # climb, dag-first, kicks
def test_a_run_stays_where_it_is(kind):
    S, _ = simulate(3, D)
    start = MixedGraph(NAMES, directed=[("x1", "x2"), ("x2", "x3")])
    options = _core.RunOptions(**Strategy(plateau=20, keep=50).run_options(D, 500))
    search = _core.Search(S, 500.0, np.nan, 2**24, rules(), options, start._bits())
    search.launch([_core.Task(kind, 0, stream, start._bits()) for stream in range(4)], 1)
    runs = []
    while search.busy():
        runs += search.collect(0.1)
    assert len(runs) == 4
    assert all(graph_of_bits(NAMES, *run["end"]) == start for run in runs)
    assert search.pool()[2] == []


def test_a_chain_stays_where_it_is():
    S, _ = simulate(3, D)
    chains = _core.StructureChains(
        S,
        500.0,
        np.nan,
        2**24,
        rules(),
        [MixedGraph(NAMES)._bits()],
        temperature=1.0,
        log_prior=[],
        keep=20,
        window=1.0,
        seed=0,
    )
    chains.begin_segment()
    assert chains.run(3_000, 1, 1, None)
    (found,) = chains.samples()
    assert found["accepted"] == 0
    assert (found["states"] == 0).all()
    assert len(chains.pool()["scores"]) == 0
