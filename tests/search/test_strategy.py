"""What single runs do: where they end, and what the kicks are for."""

import math
from dataclasses import replace
from itertools import combinations, pairwise, permutations

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree import _core
from bowfree.search import plan
from bowfree.search.plan import Strategy, patience_for
from bowfree.search.result import LOG_ODDS, MISSED, missed_probability
from bowfree.search.scheduler import to_pool
from search_cases import essence, neighbors, simulate


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


def test_dearer_edges_take_a_graph_apart():
    # Six variables with equal correlations, and 15 edges, each worth more than one edge's cost and
    # less than eight. A run of kicks from the complete graph gets down to one edge only by way of
    # the raised penalty: isolating a node leaves ten, random changes at least ten, and climbing at
    # the usual cost adds edges.
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
    assert result.graph == complete
    assert {0, 1, 2} <= {graph.n_edges for graph, _ in result.pool}


def test_orders_respect_knowledge():
    d = 14  # with fewer variables there is no search over orders
    S, _ = simulate([d, 1], d, max_in_degree=2)
    names = [f"x{i + 1}" for i in range(d)]
    knowledge = bf.Knowledge(
        tiers=[names[7:], names[:7]],
        required=[("x14", "->", "x1"), ("x1", "->", "x2")],
        forbidden=[("x8", "->", "x9")],
    )
    space = {"graph_class": "dag", "max_in_degree": 2, "knowledge": knowledge}
    result = bf.greedy_search(cov=S, n=500, rng=1, restarts=2, rounds=0, **space)
    assert bf.SearchSpace(**space).permits(result.graph)
    assert result.graph.n_edges > 4


@pytest.mark.parametrize(
    "space",
    [
        {"max_edges": 3},
        {"graph_class": "bidirected"},
        {"knowledge": bf.Knowledge(required=[("x1", "<->", "x2")])},
    ],
)
def test_spaces_that_orders_cannot_express(space):
    # There, dag-first runs climb over DAGs by single changes.
    S, _ = simulate([5, 1], 5)
    result = bf.greedy_search(cov=S, n=500, rng=1, restarts=2, rounds=0, **space)
    assert bf.SearchSpace(**space).permits(result.graph)


@pytest.mark.parametrize("d", [14, 20, 40])
def test_a_climb_with_screening_ends_where_no_change_gains(d):
    # Beyond twelve variables most changes are excluded by bounds instead of fits. None of them gains
    # at the end of a climb.
    S, _ = simulate([d, 1], d, max_in_degree=2)
    result = bf.greedy_search(cov=S, n=1000, strategy="restart", restarts=0, rng=0)
    assert max(change.score for change in bf.edge_changes(result)) <= 1e-9


def test_a_large_search_is_the_same_for_any_number_of_threads():
    S, _ = simulate([36, 2], 36, max_in_degree=2)
    options = {"cov": S, "n": 1000, "restarts": 3, "rounds": 1, "rng": 5}
    one, two = (essence(bf.greedy_search(**options, n_jobs=n)) for n in (1, 2))
    assert one == two


# --- the pool: the best distinct graphs within the window, in whatever order they come --------------

STAY = {"strategy": "restart", "restarts": 0, "plateau": 0, "keep": 10_000, "rng": 0}


@pytest.mark.parametrize("window", [6.0, 1e9])
def test_a_local_optimum_leaves_its_neighbors_in_the_pool(window):
    S, _ = simulate(12, 4)
    ranking = dict(bf.exhaustive_search(cov=S, n=1000).ranking(np.inf))
    best = max(ranking, key=ranking.get)
    result = bf.greedy_search(cov=S, n=1000, starts=[best], window=window, **STAY)
    assert result.runs[0].end == best
    expected = {
        graph: ranking[graph]
        for graph in (best, *neighbors(best).values())
        if 1000 * (ranking[best] - ranking[graph]) <= window
    }
    assert len(expected) > 1
    assert dict(result.pool) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("keep", [20, 300])
def test_neighbors_that_cannot_stay_in_the_pool_are_not_computed(keep, monkeypatch):
    S, _ = simulate(21, 7)
    result = bf.greedy_search(cov=S, n=1000, rng=3, keep=keep, proof=False)
    assert len(result.pool) == keep
    kick_tasks = plan.Plan.kick_tasks
    monkeypatch.setattr(
        plan.Plan,
        "kick_tasks",
        lambda *args: [task._replace(bar=-math.inf) for task in kick_tasks(*args)],
    )
    all_neighbors = bf.greedy_search(cov=S, n=1000, rng=3, keep=keep, proof=False)
    assert all_neighbors.pool == result.pool
    assert [run.end for run in all_neighbors.runs] == [run.end for run in result.runs]

    def count(result):
        return sum(run.candidates for run in result.runs)

    assert count(result) < count(all_neighbors)


def kept(offers, *, keep=10, window=4.0):
    """Offer (graph, score) one after the other to the core's pool; return the graphs it keeps."""
    options = Strategy().run_options(3, 50) | {"keep": keep, "window": window}
    empty = bf.parse("x, y, z")
    rules = bf.SearchSpace().rules(empty.nodes)
    core = _core.Search(
        np.eye(3), 50.0, 1.0, 2**16, rules, _core.RunOptions(**options), empty._bits()
    )
    for text, score in offers:
        core.offer(*bf.parse(text)._bits(), score)
    return {str(graph) for graph, _ in to_pool(empty.nodes, core.pool())}


@pytest.mark.parametrize("offers", [*permutations([("x -> y, z", -5.0), ("x -> y, z", -3.0)])])
def test_the_larger_of_two_scores_stays(offers):
    # The score of a graph as a neighbor differs by rounding from that of a visit. Which of the two
    # comes first depends on the threads, so it must not decide who is inside the window.
    assert kept([*offers, ("x, y, z", 0.0)]) == {"x -> y, isolated: z", "isolated: x, y, z"}
    assert kept([*offers, ("x, y, z", 2.0)]) == {"isolated: x, y, z"}


def test_the_best_stay_when_there_are_too_many():
    texts = [str(graph) for graph in bf.equivalence_class(bf.parse("x -> y -> z <- x"))]
    assert len(texts) == 25
    ranked = [(text, -0.1 * k) for k, text in enumerate(texts)]
    for offers in (ranked, ranked[::-1], ranked[1::2] + ranked[::2]):
        assert kept(offers, keep=3) == {text for text, _ in ranked[:3]}


# --- a bound on the work of one run: what it cuts off, that it cuts at the same place, and says so


D = 14


@pytest.fixture
def little_work(monkeypatch):
    """Let a run do a hundredth of what it needs here."""
    monkeypatch.setattr(plan, "work_for", lambda d: 1e5)


def search(**options):
    S, _ = simulate(3, D, max_in_degree=3)
    return bf.greedy_search(cov=S, n=1000, rng=1, restarts=4, rounds=1, **options)


def test_a_run_that_has_done_its_work_ends_with_the_best_it_has_met(little_work, monkeypatch):
    monkeypatch.setattr(plan, "work_of_search_for", lambda d: 1e5)  # no work is left for kicks
    found = search()
    cut = [run for run in found.runs if run.hit_work_limit]
    assert len(cut) > 1
    assert found.complete
    for run in cut:
        assert run.complete
        assert run.score == pytest.approx(bf.score(run.end, cov=found.moments.S, n=1000, ddof=0))
        assert run.score >= max(run.path) - 1e-9
        assert "ended at its work limit" in repr(run)
    assert "the search ended at its work limit" in found.notes
    assert {run.strategy for run in found.runs} == {"dag-first"}
    assert f"{len(cut)} of {len(found.runs)} runs ended at their work limit" in str(found)


def test_whoever_did_the_work(little_work):
    results = [search(n_jobs=k, cache_mb=mb) for k, mb in ((1, 256), (2, 256), (1, 1e-9))]
    assert any(run.hit_work_limit for run in results[0].runs)
    assert {run.strategy for run in results[0].runs} == {"dag-first", "kicks"}
    assert essence(results[0]) == essence(results[1]) == essence(results[2])


def test_a_search_may_be_told_how_much_it_may_do():
    whole = search()
    done = sum(run.work for run in whole.runs)
    enough = search(work=3 * max(8 * run.work for run in whole.runs))
    assert essence(enough) == essence(whole)
    cut = [
        search(work=done / 2, n_jobs=k, cache_mb=mb) for k, mb in ((1, 256), (2, 256), (1, 1e-9))
    ]
    assert essence(cut[0]) == essence(cut[1]) == essence(cut[2])
    assert any(run.hit_work_limit for run in cut[0].runs)
    assert any("work limit" in note for note in cut[0].notes)
    # No run goes further than the fit that ends it.
    largest = max(run.work for run in whole.runs)
    assert sum(run.work for run in cut[0].runs) < done / 2 + 0.1 * len(cut[0].runs) * largest


def test_what_is_left_is_shared_out():
    work = plan.Work.of(1000.0, 30)
    assert work.of_each(0.0, 4) == 250
    assert work.of_each(600.0, 4) == 100
    usual = plan.Work.of(None, 30)
    assert usual.of_each(0.0, 4) == usual.of_each(1e10, 24) == plan.work_for(30)
    assert plan.Work.of(np.inf, 30).of_each(1e12, 3) == plan.work_for(30)


# --- the probability that a search has missed a better graph --------------------------------------


@pytest.fixture(scope="module")
def result():
    return bf.greedy_search(bf.datasets.load_demo(), rng=1)


def with_runs(result, ends, *, start=0.0, kind="climb"):
    return [replace(result.runs[0], path=(start,), score=end, strategy=kind) for end in ends]


@pytest.mark.parametrize(
    ("n_best", "n_others", "agree"), [(3, 21, True), (2, 22, False), (0, 5, False), (0, 0, False)]
)
def test_one_independent_run_in_eight(result, n_best, n_others, agree):
    runs = with_runs(result, [1.0] * n_best + [0.5] * n_others)
    found = replace(result, runs=tuple(runs), score=1.0).confidence
    assert (found.independent, found.independent_at_best) == (n_best + n_others, n_best)
    assert found.runs_agree is found.reliable is agree
    assert ("a better graph may exist" in str(found)) is not agree
    assert found.missed == MISSED[agree]
    # The search continues for longer if its runs disagree.
    assert patience_for(10, n_best + n_others, n_best) == (3 if agree else 8)


def test_more_variables_than_twelve():
    def missed(n_edges, n_best):
        return missed_probability(24, n_best, n_best, n_nodes=30, n_edges=n_edges)

    twin = 1 / (1 + math.exp(-(LOG_ODDS[0] + LOG_ODDS[1] * 1.5 + LOG_ODDS[2] * math.log(5))))
    assert missed(45, 4) == pytest.approx(twin)
    # Misses are more likely in denser graphs and if fewer runs reach the best score.
    assert missed(15, 24) < missed(45, 24) < missed(45, 0) < missed(90, 0) < missed(155, 0)


def test_confidence_of_a_search(result):
    assert result.confidence.independent == 24 < result.confidence.runs == len(result.runs)
    assert result.confidence.reliable
    assert result.to_dict()["confidence"]["at_best"] == result.confidence.at_best
    early = bf.greedy_search(bf.datasets.load_demo(), restarts=300, rng=1, time_limit=0.02)
    assert math.isnan(early.confidence.missed)
    assert not early.confidence.reliable
    assert "simulations" not in str(early)
    dense = bf.random_sem(bf.random_bap(14, max_in_degree=3, rng=3), rng=3).sample(300, rng=3)
    many = bf.greedy_search(dense, rng=1, restarts=4, rounds=1)
    assert 0.1 < many.confidence.missed < 1
    assert "a better graph may exist" in str(many)
