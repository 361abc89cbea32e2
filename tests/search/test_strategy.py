"""What single runs do: where they end, and what the kicks are for."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.search import plan
from bowfree.search.plan import Strategy
from bowfree.search.scheduler import Setup, execute_run
from search_cases import essence, simulate


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_ends_at_the_best_graph_it_has_met(seed):
    # Half of the runs of kicks may give away half an edge's cost at each kick, so the last graph
    # of a run is often not its best.
    S, _ = simulate(seed, 5, n=200)
    result = bf.greedy_search(cov=S, n=200, restarts=2, rounds=2, rng=seed)
    assert sum(run.strategy == "kicks" for run in result.runs) == 16
    for run in result.runs:
        assert run.score == pytest.approx(run.path[-1], abs=1e-12)
        assert bf.score(run.end, cov=S, n=200) == pytest.approx(max(run.path), abs=1e-12)


@pytest.mark.parametrize("seed", [2, 4])
def test_rounds_of_kicks(seed):
    # Rounds of eight go on until three in a row bring nothing, or eight when no run of the first
    # round came that far; half of their runs start at the best graph so far, the others at the
    # next best ends.
    S, _ = simulate(seed, 6, n=300)
    result = bf.greedy_search(cov=S, n=300, restarts=2, rng=seed)
    first, later = result.runs[:2], result.runs[2:]
    assert len(later) % 8 == 0
    assert {run.strategy for run in later} == {"kicks"}
    ends = {run.score for run in first}
    gains = []
    for k in range(0, len(later), 8):
        round_ = later[k : k + 8]
        starts = [bf.score(run.start, cov=S, n=300) for run in round_]
        assert starts[::2] == pytest.approx([max(ends)] * 4, abs=1e-12)
        assert any(start < max(ends) - 1e-9 for start in starts) == (min(ends) < max(ends) - 1e-9)
        best = max(run.score for run in round_)
        gains.append(best > max(ends) + 1e-9)
        ends |= {run.score for run in round_}
    patience = 3 if max(run.score for run in first) > max(ends) - 1e-9 else 8
    assert not any(gains[-patience:])
    assert all(any(gains[k : k + patience]) for k in range(len(gains) - patience))


def test_a_plateau_is_walked():
    # The class of a chain of five nodes hangs together by single changes: a run that may visit
    # twenty graphs of equal score sees more of them than one that may visit one.
    S = 0.6 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    names = [f"x{i + 1}" for i in range(5)]
    chain = bf.MixedGraph(names, list(pairwise(names)))
    members = set(bf.equivalence_class(chain))
    options = {"cov": S, "n": 500, "strategy": "restart", "starts": [chain], "rng": 0}
    seen = []
    for plateau in (0, 20):
        result = bf.greedy_search(**options, plateau=plateau)
        assert set(result.best_graphs) <= members
        seen.append(len(result.best_graphs))
    assert seen[0] < seen[1]
    everything = bf.greedy_search(**options, plateau=1000)
    assert set(everything.best_graphs) == members


def one_run_from_the_complete_graph():
    """Six variables with equal correlations: where a run of kicks from all 15 edges gets to."""
    names = [f"x{i + 1}" for i in range(6)]
    complete = bf.MixedGraph(names, bidirected=combinations(names, 2))
    result = bf.greedy_search(
        cov=0.75 * np.eye(6) + 0.25,
        n=500,
        graph_class="bidirected",
        starts=[complete],
        restarts=1,
        rounds=0,
        keep=10_000,
        window=1e9,
        rng=0,
    )
    return complete, result


def test_dearer_edges_take_a_graph_apart():
    # Fifteen edges, each worth more than one edge's cost and less than eight. A run of kicks from
    # the complete graph gets down to one edge only by way of the raised penalty: isolating a node
    # leaves ten, random changes at least ten, and climbing at the usual cost adds edges.
    complete, result = one_run_from_the_complete_graph()
    assert result.graph == complete
    assert {0, 1, 2} <= {graph.n_edges for graph, _ in result.pool}


def test_of_many_variables_the_whole_graph_is_kicked_first(monkeypatch):
    # The same without kicks of single places: nothing but the raised penalty is left. A kick that
    # does not gain is taken back, and the plateau is walked at the end.
    monkeypatch.setattr(plan, "MANY_NODES", 4)
    monkeypatch.setattr(plan, "kicks_per_run_for", lambda d: 0)
    complete, result = one_run_from_the_complete_graph()
    assert {0, 1, 2} <= {graph.n_edges for graph, _ in result.pool}
    assert result.runs[0].end == complete
    chain = bf.MixedGraph(complete.nodes, list(pairwise(complete.nodes)))
    S = 0.6 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    setup = Setup(
        bf.moments(cov=S, n=500), bf.SearchSpace(), ScoringRule(), plan.Strategy(plateau=1000)
    )
    found = execute_run((setup, plan.RunTask(plan.KICKS, 0, 0, chain), Budget()))
    best = {graph for graph, score in found.pool if score > found.run.score - 1e-9}
    assert best == set(bf.equivalence_class(chain))


@pytest.mark.parametrize("seed", [1, 2])
def test_of_many_variables_a_round_has_to_gain_the_price_of_an_edge(monkeypatch, seed):
    monkeypatch.setattr(plan, "MANY_NODES", 12)
    monkeypatch.setattr(plan, "kicks_per_run_for", lambda d: 3)
    d, n = 14, 300
    S, _ = simulate(seed, d, n=n, max_in_degree=3)
    result = bf.greedy_search(cov=S, n=n, restarts=2, rng=seed)
    scores = [run.score for run in result.runs]
    each = plan.kick_runs_for(d)
    rounds = [scores[k : k + each] for k in range(2, len(scores), each)]
    best, gains = max(scores[:2]), []
    for ends in rounds:
        gains.append(max(ends) - best > np.log(n) / n)
        best = max(best, *ends)
    patience = 1 if max(scores[:2]) > best - 1e-9 else 2
    assert not any(gains[-patience:])
    assert all(any(gains[k : k + patience]) for k in range(len(gains) - patience))


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


def test_a_strategy_holds_the_options_of_a_search():
    S, _ = simulate(1, 4)
    options = {"restarts": 3, "rounds": 0, "plateau": 5}
    expected = bf.greedy_search(cov=S, n=100, rng=1, **options)
    given = Strategy("ils", **options)
    assert essence(bf.greedy_search(cov=S, n=100, rng=1, strategy=given)) == essence(expected)
    more = bf.greedy_search(cov=S, n=100, rng=1, strategy=given, restarts=5)
    assert len(more.runs) == 5
    assert expected.settings == {**options, "rng": 1}
    assert "restarts : int" in Strategy.__doc__


def test_one_more_start():
    # Whatever else a strategy does, it does as before.
    first, more = bf.parse("a -> b, c"), bf.parse("a, b -> c")
    plain = Strategy("restart").plan("bap", 3)
    given = Strategy("restart").also_from(first).plan("bap", 3)
    assert given.starts == (first,)
    assert given.first == plain.first
    both = Strategy("restart", (first,)).also_from(more).plan("bap", 3)
    assert (both.starts, len(both.first)) == ((more, first), 2)
    kicked = Strategy().also_from(first).plan("bap", 3)
    assert (kicked.starts, kicked.first[1:]) == ((first,), Strategy().plan("bap", 3).first)
