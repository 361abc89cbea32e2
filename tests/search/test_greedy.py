"""Greedy search: it climbs as the paper says, ends in local optima, and always ends the same.

The smallest search has two variables: no edge, or one of three equivalent ones.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bowfree as bf
from bowfree.data.conditions import split_rows
from bowfree.parallel.budget import Progress
from ctrl_c import pressed
from random_models import random_covariance
from reference_cases import graph_of, load
from search_cases import essence, neighbors, read_bench, simulate

REFERENCE = load("greedy.json")["cases"]
BENCH = Path(__file__).parents[3] / "shared" / "bench"

# DESIGN, external benchmark: loglik - log(n)/2 (2 d + #edges) of the published integer program.
INTEGER_PROGRAM = [
    -17741.6, -17508.5, -17871.2, -19055.6, -17881.6,
    -18584.9, -17789.5, -18964.8, -17562.1, -17627.9,
]  # fmt: skip


def assert_local_optimum(graph, S, n, **options):
    here = bf.score(graph, cov=S, n=n)
    for other in neighbors(graph).values():
        if options.get("graph_class", "bap") == "dag" and not other.is_dag():
            continue
        assert bf.score(other, cov=S, n=n) < here + 1e-8


# --- smallest -------------------------------------------------------------------------------------


def test_two_variables():
    dependent = bf.greedy_search(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, rng=0)
    assert {str(g) for g in dependent.best_graphs} == {"x1 -> x2", "x1 <- x2", "x1 <-> x2"}
    assert not dependent.graph.bidirected  # of equals, the one with the fewest bidirected edges
    independent = bf.greedy_search(cov=[[1.0, 0.01], [0.01, 1.0]], n=100, rng=0)
    assert independent.graph == bf.MixedGraph(["x1", "x2"])


# --- identities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ils", "restart"])
def test_scores_are_those_of_the_graphs(strategy):
    S, _ = simulate(1, 6)
    result = bf.greedy_search(cov=S, n=1000, strategy=strategy, restarts=6, rng=1)
    assert result.score == pytest.approx(bf.score(result.graph, cov=S, n=1000), abs=1e-12)
    assert result.fit().score == pytest.approx(result.score, abs=1e-12)
    for run in result.runs:
        assert run.complete
        assert run.score == pytest.approx(bf.score(run.end, cov=S, n=1000), abs=1e-12)
        assert all(a < b for a, b in zip(run.path, run.path[1:], strict=False))
        assert result.score >= run.path[-1] - 1e-9
    assert len({graph for graph, _ in result.pool}) == len(result.pool)
    scores = [score for _, score in result.pool]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= scores[0] - 10.0 / 1000
    for graph, score in result.pool[::40]:
        assert score == pytest.approx(bf.score(graph, cov=S, n=1000), abs=1e-12)


# --- against the slow twin and the references -----------------------------------------------------


ADMITTED = {
    "both": lambda before, after: True,
    "forward": lambda before, after: before <= after,
    "backward": lambda before, after: after <= before,
    "forward-change": lambda before, after: before.n_edges <= after.n_edges,
    "backward-change": lambda before, after: after.n_edges <= before.n_edges,
}


@pytest.mark.parametrize("direction", ADMITTED)
@pytest.mark.parametrize("start", ["empty", "random"])
def test_direction(direction, start):
    """Follow the climb step by step beside one that scores all neighbors by brute force."""
    S, truth = simulate(5, 5)
    graph = bf.MixedGraph(truth.nodes) if start == "empty" else bf.random_bap(5, rng=1)
    options = {"cov": S, "n": 1000, "strategy": "restart", "direction": direction, "rng": 0}
    n_steps = 0
    while True:
        # Steps are taken one at a time: among ties the twin could not know which one was drawn.
        (run,) = bf.greedy_search(**options, starts=[graph], max_steps=1).runs
        around = {
            other: bf.score(other, cov=S, n=1000)
            for other in neighbors(graph).values()
            if ADMITTED[direction](graph, other)
        }
        best = max(around.values(), default=-math.inf)
        if run.end == graph:
            assert best < run.score + 2e-9
            break
        assert around[run.end] == pytest.approx(best, abs=2e-9)
        graph, n_steps = run.end, n_steps + 1
    assert (n_steps > 0) == (start == "random" or not direction.startswith("backward"))


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "restart", "restarts": 3},
        {"strategy": "restart", "restarts": 2, "neighbors": 4},
        {"strategy": "ils", "restarts": 4, "rounds": 1},
        {"strategy": "ils", "restarts": 4, "rounds": 1, "graph_class": "dag"},
    ],
)
def test_ends_are_local_optima_by_brute_force(options):
    S, _ = simulate(6, 5)
    result = bf.greedy_search(cov=S, n=1000, rng=6, **options)
    for end in {run.end for run in result.runs}:
        assert_local_optimum(end, S, 1000, **options)


def test_reference_runs_of_greedybaps():
    """From R's starts: at least R's score in 90 % of the runs, and the best is never below R's.

    R goes on as long as a step gains 1e-12, so that rounding errors walk it over plateaus of equal
    score, and rounding breaks its ties. Here the walk is a plateau walk and ties are broken at random;
    each start is run ten times.
    """
    reached, total, repeats = 0, 0, 10
    for case in REFERENCE:
        n, d = case["n"], case["d"]
        # R evaluates at the fit to S, not to S_n: lower by the same amount for every graph.
        r = (n - 1) / n
        shift = d / 2 * (r - 1 - math.log(r))
        starts = [graph_of(run["start"], d) for run in case["runs"]]
        names = starts[0].nodes
        S = dict(zip(names, np.array(case["S"]), strict=True))
        result = bf.greedy_search(
            cov=S, n=n, strategy="restart", starts=starts * repeats, plateau=50, rng=0
        )
        ours = np.reshape([run.score for run in result.runs], (repeats, -1)).max(axis=0)
        theirs = [run["score"] + shift for run in case["runs"]]
        reached += sum(a >= b - 1e-7 for a, b in zip(ours, theirs, strict=True))
        total += len(ours)
        assert max(ours) >= max(theirs) - 1e-8
        for run in result.runs[:1]:
            assert_local_optimum(run.end, S, n)
    assert reached >= 0.9 * total


@pytest.mark.parametrize("seed", range(10))
def test_global_optimum_on_four_variables(seed):
    """200 data sets are in benchmarks/bench_search.py; here are ten."""
    S, _ = simulate([4, seed], 4)
    best = bf.exhaustive_search(cov=S, n=1000)
    for options in ({}, {"strategy": "restart", "restarts": 100}):
        result = bf.greedy_search(cov=S, n=1000, rng=seed, **options)
        assert result.score == pytest.approx(best.score, abs=1e-9)
        assert set(result.best_graphs) <= set(best.best_graphs)


def bench_or_skip(name, k):
    found = read_bench(BENCH / name, k)
    if found is None:
        pytest.skip(f"the external benchmark {name} is not here")
    return found


@pytest.mark.parametrize("k", [2, 4])
def test_external_benchmark_of_ten_variables(k):
    """All ten sets are in benchmarks/bench_search.py."""
    X, _ = bench_or_skip("bowfree10", k)
    result = bf.greedy_search(X, penalty=0.5, rng=0)
    n, d = X.shape
    published = n * result.score - math.log(n) / 2 * d  # they count every node twice
    assert published >= INTEGER_PROGRAM[k] - 0.05  # printed with one decimal


# --- the same result, always ----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ils", "restart"])
def test_same_rng_same_result(strategy):
    S, _ = simulate(7, 6, max_in_degree=2)
    options = {"cov": S, "n": 1000, "strategy": strategy, "restarts": 4, "rng": 5}
    first = essence(bf.greedy_search(**options))
    for more in ({"n_jobs": 2}, {"n_jobs": 3, "cache_mb": 0.05}, {"cache_mb": 1e-6}):
        assert essence(bf.greedy_search(**options, **more)) == first
    assert essence(bf.greedy_search(**(options | {"rng": 6}))) != first


def test_several_threads_in_one_run():
    """Threads compute scores ahead; with a tiny cache this is in vain, but changes nothing."""
    rng = np.random.default_rng(1)
    X, hidden = rng.normal(size=(300, 20)), rng.normal(size=(300, 10))
    X += hidden @ (rng.normal(size=(10, 20)) * (rng.random((10, 20)) < 0.3))
    options = {"restarts": 1, "rounds": 0, "rng": 1}
    one = bf.greedy_search(X, **options)
    for more in ({"n_jobs": 2}, {"n_jobs": 4, "cache_mb": 0.01}):
        assert essence(bf.greedy_search(X, **options, **more)) == essence(one)
    ahead = bf.greedy_search(X, **options, n_jobs=4)
    assert sum(run.fits for run in ahead.runs) < 0.9 * sum(run.fits for run in one.runs)


def test_more_than_one_word():
    """70 variables, of which three have to do with each other."""
    S = np.eye(70)
    S[66, 1] = S[1, 66] = S[66, 68] = S[68, 66] = 0.5
    result = bf.greedy_search(cov=S, n=500, strategy="restart", restarts=0, rng=0)
    assert result.graph.skeleton() == {frozenset({"x67", "x2"}), frozenset({"x67", "x69"})}


# --- limits ---------------------------------------------------------------------------------------


@given(
    graph_class=st.sampled_from(["bap", "dag", "bidirected", "ancestral", "arid"]),
    max_in_degree=st.none() | st.integers(0, 3),
    max_district=st.none() | st.integers(1, 4),
    strategy=st.sampled_from(["ils", "restart"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15)
def test_no_graph_of_the_search_breaks_a_limit(
    graph_class, max_in_degree, max_district, strategy, seed
):
    S, _ = simulate(seed, 5)
    result = bf.greedy_search(
        cov=S,
        n=1000,
        strategy=strategy,
        restarts=2,
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
        rng=seed,
    )
    met = {graph for graph, _ in result.pool} | {run.end for run in result.runs}
    for graph in met | {run.start for run in result.runs}:
        assert graph.is_bap()
        assert graph_class != "dag" or graph.is_dag()
        assert graph_class != "bidirected" or not graph.directed
        assert graph_class != "ancestral" or graph.is_ancestral()
        assert graph_class != "arid" or graph.is_arid()
        if max_in_degree is not None:
            assert max(map(graph.in_degree, graph.nodes)) <= max_in_degree
        if max_district is not None:
            assert max(map(len, graph.districts())) <= max_district


def test_knowledge_holds_everywhere():
    S, _ = simulate(8, 6, max_in_degree=2)
    known = bf.Knowledge(
        required=["x1 -> x4", "x2 <-> x3"],
        forbidden=["x5 -- x6", "x1 -> x2"],
        tiers=[["x1", "x2"], ["x3", "x4"]],
        unconfounded=["x6"],
    )
    for strategy in ("ils", "restart"):
        result = bf.greedy_search(
            cov=S, n=1000, knowledge=known, strategy=strategy, restarts=8, rng=1
        )
        assert all(known.permits(graph) for graph, _ in result.pool)
        assert all(known.permits(run.start) and known.permits(run.end) for run in result.runs)
        assert all(known.permits(graph) for graph in result.equivalence_class())


@pytest.mark.parametrize("graph_class", ["bap", "dag", "bidirected", "ancestral"])
def test_class_of_the_result_is_what_the_search_left_open(graph_class):
    S = random_covariance(np.random.default_rng(3), 4, 200)
    known = bf.Knowledge(forbidden=["x1 -> x2"])
    result = bf.greedy_search(
        cov=S,
        n=200,
        graph_class=graph_class,
        knowledge=known,
        max_in_degree=2,
        max_district=3,
        restarts=4,
        rounds=0,
        rng=0,
    )
    assert result.space == bf.SearchSpace(graph_class, 2, 3, knowledge=known)
    assert result.to_dict()["space"]["graph_class"] == graph_class
    unwanted = {"dag": "n_bidirected", "bidirected": "n_directed"}.get(graph_class)
    expected = {
        graph
        for graph in bf.equivalence_class(result.graph)
        if known.permits(graph) and not (unwanted and getattr(graph, unwanted))
    }
    members = result.equivalence_class()
    assert members.complete
    assert set(members) == expected
    bounds = bf.effect_bounds(result)
    assert bounds.n_members == len(expected)


def test_shrinkage_makes_a_singular_matrix_definite():
    X = np.random.default_rng(0).normal(size=(5, 8))
    result = bf.greedy_search(X, shrinkage=0.3, rng=0)
    S = np.cov(X.T, ddof=0)
    shrunk = 0.7 * S + 0.3 * np.diag(np.diag(S))
    assert result.score == pytest.approx(bf.score(result.graph, cov=shrunk, n=5, ddof=0), abs=1e-10)


# --- time, interrupts, progress -------------------------------------------------------------------


def long_search(**options):
    """Return the options of a search that would take minutes."""
    S, _ = simulate(9, 12)
    return {"cov": S, "n": 1000, "strategy": "restart", "restarts": 5_000, "rng": 0} | options


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # see tests/ctrl_c.py
def test_ctrl_c_keeps_the_best_so_far():
    with pressed(0.3) as times, pytest.raises(bf.search.SearchInterrupted) as caught:
        bf.greedy_search(**long_search(n_jobs=2))
    assert time.monotonic() - times[-1] < 1.2
    result = caught.value.result
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not result.complete
    assert result.graph.is_bap()


def test_progress_is_reported():
    seen = []
    S, _ = simulate(10, 6)
    result = bf.greedy_search(cov=S, n=1000, restarts=6, rounds=1, rng=0, progress=seen.append)
    assert all(isinstance(report, Progress) for report in seen)
    assert seen[-1].done == seen[-1].planned == len(result.runs)
    assert seen[-1].best_score == max(run.score for run in result.runs)


def test_summary_and_frame():
    rows = bf.random_sem(bf.parse("x -> y <- z, y <-> w"), rng=1).sample(400, rng=2)
    result = bf.greedy_search(rows, holdout=0.5, restarts=4, rounds=0, rng=3)
    frame, fit = result.to_frame(), result.fit()
    assert list(frame.columns) == ["a", "mark", "b", "estimate", "in_best_graphs"]
    assert [tuple(edge) for edge in frame[["a", "mark", "b"]].to_numpy()] == list(
        result.graph.edges
    )
    for row in result.summary():
        assert row.estimate == pytest.approx(fit.edge(row.a, row.mark, row.b).estimate)
        share = np.mean([(row.a, row.mark, row.b) in g.edges for g in result.best_graphs])
        assert row.in_best_graphs == pytest.approx(share)
    assert str(result) in str(result.summary())
    assert bf.exhaustive_search(rows).to_frame("polars").width == 5


# --- bad input ------------------------------------------------------------------------------------

S3 = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]]
GOOD = {"cov": S3, "n": 100}
ROWS = dict.fromkeys(GOOD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": np.eye(3), "cov": None, "n": None, "max_in_degree": 2}, "n = 3 observations do"),
        ({"cov": np.ones((2, 2)), "n": 50}, "duplicated columns"),
        ({"cov": [[1, 1, 2], [1, 2, 3], [2, 3, 5]], "n": 50}, "collinear columns"),
        ({"n": math.inf}, "give the n that the penalty"),
        ({"data": np.eye(4), "holdout": 1.5, **ROWS}, "must be a number between 0 and 1"),
        ({"data": np.eye(4), "holdout": "half", **ROWS}, "holdout = 'half'"),
        ({"holdout": 0.5}, "holdout needs observations in rows"),
        ({"data": {"x": [1.0], "y": [1.0, 2.0]}, "holdout": 0.5, **ROWS}, "equal length"),
        ({"restarts": 10**7}, "at most 100,000 runs"),
        ({"strategy": "restart", "rounds": 3}, "rounds is an option of strategy='ils'"),
        ({"direction": "forward"}, "requires strategy='restart'"),
        ({"starts": [bf.parse("a -> b")]}, "start graph has the nodes a, b"),
        (
            {"starts": [bf.MixedGraph(["x1", "x2", "x3"], [("x1", "x2")], [("x1", "x2")])]},
            "is not a BAP",
        ),
        (
            {"starts": [bf.MixedGraph(["x1", "x2", "x3"], [("x1", "x2")])], "max_in_degree": 0},
            "the knowledge, class or limits",
        ),
        ({"knowledge": bf.Knowledge(required=["x1 -> x2"]), "max_in_degree": 0}, "required edges"),
        (
            {"knowledge": bf.Knowledge(required=["x1 <-> x2"]), "graph_class": "dag"},
            "not possible among DAGs",
        ),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.greedy_search(**(GOOD | options))


@pytest.mark.parametrize(
    ("where", "fault"),
    [("scheduler.to_run", MemoryError), ("greedy.SearchResult", KeyboardInterrupt)],
)
def test_finished_runs_are_kept(where, fault, monkeypatch):
    """Memory may end in the middle, and Ctrl-C may arrive after the last run."""
    module, name = where.split(".")
    target = importlib.import_module(f"bowfree.search.{module}")
    function, calls = getattr(target, name), []

    def fail_once(*args, **kwargs):
        calls.append(0)
        if len(calls) == (5 if fault is MemoryError else 1):
            raise fault
        return function(*args, **kwargs)

    data = bf.datasets.load_demo()
    whole = bf.greedy_search(data, restarts=8, rounds=0, rng=1)
    monkeypatch.setattr(target, name, fail_once)
    with pytest.raises(fault) as stop:
        bf.greedy_search(data, restarts=8, rounds=0, rng=1)
    result = stop.value.result
    assert isinstance(result, bf.SearchResult)
    assert len(result.runs) >= 4
    if fault is KeyboardInterrupt:
        assert result.score == whole.score


MODEL = bf.datasets.demo_model()
DATA = MODEL.sample(400, rng=1, as_frame="pandas")
MOMENTS = bf.moments(DATA)


def penalized_likelihood(district, parents, spouses):
    """Compute the default score, by fits of one district."""
    outside = sorted({p for own in parents.values() for p in own} - {*district})
    arrows = [(p, v) for v, own in parents.items() for p in own]
    graph = bf.MixedGraph((*district, *outside), arrows, spouses)
    rows = bf.model.district_scores(graph, MOMENTS)
    return next(row.score for row in rows if set(row.district) == {*district})


def test_the_default_score_gives_the_default_search():
    """The same best score, and every score is that of its graph."""
    names = ["sun", "leaves", "roots", "fruit"]
    seen = []

    def score(district, parents, spouses):
        seen.append((district, tuple(sorted(parents.items())), spouses))
        return penalized_likelihood(district, parents, spouses)

    found = bf.greedy_search(DATA[names], score=score, restarts=2, rounds=1, rng=1)
    usual = bf.greedy_search(DATA[names], rng=1)
    assert found.score == pytest.approx(usual.score, abs=1e-7)
    assert found.score == pytest.approx(bf.score(found.graph, DATA[names]), abs=1e-7)
    assert len(set(seen)) == len(seen)  # cached
    assert "score" in found.notes[0]


def sparse(district, parents, spouses):
    """Prefer the arrow b -> a and nothing else."""
    value = -0.1 * (sum(map(len, parents.values())) + len(spouses))
    return value + (1.0 if "b" in parents.get("a", ()) else 0.0)


def test_any_function_and_any_number_of_threads():
    data = dict(zip("abc", np.random.default_rng(1).normal(size=(3, 50)), strict=True))
    found = [bf.greedy_search(data, score=sparse, restarts=2, n_jobs=k, rng=1) for k in (1, 2)]
    assert found[0].graph == found[1].graph == bf.parse("b -> a, isolated: c, nodes: a, b, c")
    assert found[0].score == pytest.approx(0.9)
    assert found[0].pool == found[1].pool


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_the_function_is_raised(n_jobs):
    def broken(district, parents, spouses):
        if len(spouses) > 0:
            raise LookupError("no such district")
        return 0.0

    before = threading.active_count()
    with pytest.raises(LookupError, match="no such district"):
        bf.greedy_search(DATA, score=broken, n_jobs=n_jobs, restarts=2, rng=1)
    assert threading.active_count() == before


def test_bad_scores():
    with pytest.raises(bf.BowfreeError, match="returned NaN"):
        bf.greedy_search(DATA, score=lambda *_: math.nan, restarts=1, rng=1)
    with pytest.raises(bf.BowfreeError, match="must be a function"):
        bf.greedy_search(DATA, score=0.5)


QUICK = {"restarts": 2, "rounds": 0}
NAMES = ("x1", "x2", "x3", "x4")


def draw(seed, n=300):
    rng = np.random.default_rng(seed)
    truth = bf.random_bap(list(NAMES), max_in_degree=2, rng=rng)
    sem = bf.random_sem(truth, rng=rng)
    return sem, sem.sample(n, rng=rng)


@pytest.mark.parametrize(
    "table",
    [
        lambda X: X,
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X)) * 3),
        lambda X: pl.DataFrame(X, schema=list(NAMES)),
        lambda X: dict(zip(NAMES, X.T, strict=True)),
    ],
)
def test_every_row_is_on_one_side(table):
    X = np.arange(40.0).reshape(10, 4)
    kept, aside = split_rows(table(X), 0.3, np.random.default_rng(1))

    assert (len(kept.X), len(aside.X)) == (7, 3)
    assert {*kept["x1"], *aside["x1"]} == {*X[:, 0]}


def test_search_sees_one_part_and_the_fit_the_other():
    _, X = draw(0)
    result = bf.greedy_search(X, holdout=0.4, rng=1, **QUICK)
    assert (result.moments.n, result.holdout.n) == (180, 120)
    assert result.settings["holdout"] == 0.4
    fit = result.fit()
    np.testing.assert_array_equal(fit.S, result.holdout.S)
    again = bf.greedy_search(X, holdout=0.4, rng=1, n_jobs=2, **QUICK)
    np.testing.assert_array_equal(again.moments.S, result.moments.S)
    assert again.graph == result.graph
    other = bf.greedy_search(X, holdout=0.4, rng=2, **QUICK)
    assert not np.array_equal(other.moments.S, result.moments.S)


def test_fit_to_the_rows_of_the_search_warns():
    _, X = draw(0)
    result = bf.greedy_search(X, rng=1, **QUICK)
    assert result.holdout is None
    for fit in (result.fit, lambda: bf.fit(result), lambda: bf.fit(result, X)):
        with pytest.warns(bf.errors.LearnedGraphWarning, match="learned from the same rows"):
            fit()
    with pytest.warns(bf.errors.LearnedGraphWarning):
        bf.exhaustive_search(X).fit()
    _, fresh = draw(0, 500)
    assert result.fit(holdout=fresh).n == 500
    assert bf.fit(result.graph, X).n == 300  # a graph is a graph, wherever it comes from


def test_what_is_said_by_rows_put_aside_is_true():
    # Of graphs that contain the truth: p-values are uniform, intervals cover what they should, by
    # the rows put aside and not by those of the search.
    p_values, covered, total, seen = [], 0, 0, 0
    for seed in range(220):
        sem, X = draw(seed, 3000)
        result = bf.greedy_search(X, holdout=0.5, rng=seed, **QUICK)
        if not bf.is_submodel(sem.graph, result.graph):
            continue
        fit = result.fit()
        effects = fit.total_effects()
        target = bf.fit(result.graph, cov=sem.covariance(), n=np.inf, ddof=0).total_effects()
        known = np.isfinite(effects.se)
        half = 1.96 * effects.se[known]
        covered += int((np.abs(effects.estimate - target.estimate)[known] <= half).sum())
        total += int(known.sum())
        seen += 1
        if fit.df:
            p_values.append(fit.p_value)
    assert seen > 80
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert 0.92 < covered / total < 0.97
