"""Scores that are no numbers never win: neither a tie in a climb nor a step of a chain.

The gate lets no such data in. Here the core is given a covariance matrix with one entry missing, so
that every graph in which x1 and x2 meet has no score.
"""

import numpy as np
import pytest

from bowfree import _core
from bowfree.graph.mixed_graph import MixedGraph
from search_cases import simulate

D = 5
NAMES = tuple(f"x{i + 1}" for i in range(D))
NO_KNOWLEDGE = np.zeros((0, 0), dtype=np.uint8)


def broken_covariance():
    S, _ = simulate(3, D)
    S[0, 1] = S[1, 0] = np.nan
    return S


def rules():
    return _core.Rules(0, -1, -1, -1, NO_KNOWLEDGE)


@pytest.mark.parametrize("kind", [0, 2, 3])  # climb, dag-first, kicks
def test_a_run_stays_where_scores_are_numbers(kind):
    empty = MixedGraph(NAMES)
    options = _core.RunOptions(
        direction=0,
        neighbours=0,
        max_steps=-1,
        tolerance=1e-9,
        plateau=20,
        dag_kicks=30,
        bap_kicks=5,
        burn_in=0,
        keep=50,
        window=1.0,
    )
    search = _core.Search(broken_covariance(), 500.0, 1.0, 2**24, rules(), options, empty._bits())
    search.launch([_core.Task(kind, 0, stream, empty._bits()) for stream in range(4)], 1)
    runs = []
    while search.busy():
        runs += search.collect(0.1)
    assert len(runs) == 4
    for run in runs:
        assert np.isfinite(run["score"])
        assert np.isfinite(run["path"]).all()
        assert not MixedGraph._from_bits(NAMES, *run["end"]).adjacent("x1", "x2")
    assert all(np.isfinite(score) for _, score in search.pool())


def test_a_chain_stays_where_scores_are_numbers():
    found = _core.structure_chains(
        broken_covariance(),
        500.0,
        1.0,
        2**24,
        rules(),
        [MixedGraph(NAMES)._bits()],
        steps=3_000,
        burn_in=0,
        thin=1,
        temper=1.0,
        keep=20,
        window=1.0,
        one_per_class=True,
        seed=0,
        n_threads=1,
    )
    assert np.isfinite(found["chains"][0]["scores"]).all()
    assert np.isfinite(found["pool_scores"]).all()
    assert (found["chains"][0]["states"][:, 0] == 0).all()  # the pair (x1, x2)
