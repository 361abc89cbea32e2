"""What single runs do: where they end, and what the kicks are for."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from search_cases import simulate


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_ends_at_the_best_graph_it_has_met(seed):
    # Half of the runs of kicks may give away half an edge's cost at each kick, so the last graph
    # of a run is often not its best.
    S, _ = simulate(seed, 5, n=200)
    result = bf.greedy_search(cov=S, n=200, restarts=2, rounds=2, rng=seed)
    assert sum(run.strategy == "kicks" for run in result.runs) == 16
    for run in result.runs:
        assert run.score == pytest.approx(run.path[-1], abs=1e-12)
        assert bf.score(run.end, cov=S, n=200) == pytest.approx(max(run.path), abs=1e-12)


def test_dearer_edges_take_a_graph_apart():
    # Fifteen edges, each worth more than one edge's cost and less than eight. A run of kicks from
    # the complete graph gets down to one edge only by way of the raised penalty: isolating a node
    # leaves ten, random changes at least ten, and climbing at the usual cost adds edges.
    d, n = 6, 500
    S = 0.75 * np.eye(d) + 0.25
    names = [f"x{i + 1}" for i in range(d)]
    complete = bf.MixedGraph(names, bidirected=combinations(names, 2))
    result = bf.greedy_search(
        cov=S,
        n=n,
        graph_class="bidirected",
        starts=[complete],
        restarts=1,
        rounds=0,
        keep=10_000,
        window=1e9,
        rng=0,
    )
    assert result.graph == complete
    assert {0, 1, 2} <= {graph.n_edges for graph, _ in result.pool}


def test_a_reversal_takes_the_parents_along():
    # Required: p1, ..., p5 -> x. y is known from p5 - p1 - ... - p4, and from fewer of the five
    # next to nothing is known of it: only a change that makes all of them its parents pays. x -> y
    # reversed with the parents of x is such a change; without climbing (max_steps=0) nothing else
    # gets there.
    causes = [f"p{i + 1}" for i in range(5)]
    names = [*causes, "x", "y"]
    small = 0.02
    mix = np.eye(7)  # from independent sources to the variables
    mix[4] = [1, 1, 1, 1, 0.2 * small, 0, small]
    mix[5, 6] = 1
    S = pd.DataFrame(mix @ mix.T, index=names, columns=names)
    start = bf.MixedGraph(names, [*((p, "x") for p in causes), ("x", "y")])
    known = bf.Knowledge(required=[f"{p} -> x" for p in causes], tiers=[causes, ["x", "y"]])
    result = bf.greedy_search(
        cov=S,
        n=1000,
        graph_class="dag",
        knowledge=known,
        starts=[start],
        restarts=1,
        max_steps=0,
        rng=0,
    )
    assert result.graph.parents("y") == set(causes)
    assert result.graph.parents("x") == {*causes, "y"}
    for some in combinations(causes, 4):
        fewer = start.add(", ".join(f"{p} -> y" for p in some))
        assert bf.score(fewer, cov=S, n=1000) < bf.score(start, cov=S, n=1000)
