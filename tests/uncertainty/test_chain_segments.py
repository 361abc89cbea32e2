"""Chains in segments, on threads and on executors: the same samples, and none are lost."""

import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import combinations
from multiprocessing import get_context

import numpy as np
import pytest

import bowfree as bf
from bowfree.graph.encodings import states_of_graph
from bowfree.uncertainty.chain_segments import ChainSetup
from bowfree.uncertainty.posterior import GraphPosterior
from odd_executors import Backwards, Clumsy
from random_models import random_covariance
from search_cases import same_samples

S = random_covariance(np.random.default_rng(5), 5, 100)
# Both halves of the burn-in and several blocks of samples; a pool so small that it is trimmed.
OPTIONS = {"cov": S, "n": 100, "steps": 6000, "thin": 7, "keep": 40, "rng": 4}
RNG = np.random.default_rng(0)
CONDITIONS = [
    bf.Condition(dict(zip("xyz", RNG.normal(size=(3, 60)), strict=True))),
    bf.Condition(dict(zip("xyz", RNG.normal(size=(3, 40)), strict=True)), targets=["y"]),
]


def never(number):
    return False


def interrupt_at(done):
    def tell(progress):
        if progress.done >= done:
            raise KeyboardInterrupt

    return tell


def test_samples_are_the_same_on_threads_and_workers(monkeypatch):
    here = bf.structure_mcmc(**OPTIONS)
    with ThreadPoolExecutor(2) as threads:
        assert same_samples(bf.structure_mcmc(**OPTIONS, executor=threads), here)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert same_samples(bf.structure_mcmc(**OPTIONS, executor=processes), here)
    assert same_samples(bf.structure_mcmc(**OPTIONS, executor=Backwards()), here)
    clumsy = Clumsy(lambda number: number % 3 == 1)
    assert same_samples(bf.structure_mcmc(**OPTIONS, executor=clumsy), here)
    for first in (1, 10**6):  # however segments are divided into blocks
        monkeypatch.setattr("bowfree.uncertainty.chain_segments.FIRST_BLOCK", first)
        assert same_samples(bf.structure_mcmc(**OPTIONS, executor=Clumsy(never)), here)


@pytest.mark.parametrize(
    "options",
    [
        {"keep": 0},
        {"burn_in": 0, "chains": 1},
        {"prior": "flat", "temperature": 2.0, "penalty": 1.0},
        {"graph_class": "arid", "max_in_degree": 2},
        {"knowledge": bf.Knowledge(required=["x1 -> x4"], forbidden=["x2 <-> x3"])},
        {"starts": [bf.parse("x1 <-> x2 -> x3, x4, x5")], "chains": 3},
        {"cov": [[1.0]], "thin": 1},
    ],
    ids=lambda options: ", ".join(options),
)
def test_all_options_travel(options):
    options = OPTIONS | {"steps": 1500} | options
    there = bf.structure_mcmc(**options, executor=Backwards(options.get("chains", 4)))
    assert same_samples(there, bf.structure_mcmc(**options))


def test_conditions_few_rows_and_searches_travel():
    few = np.random.default_rng(1).normal(size=(5, 8))
    X = np.random.default_rng(2).normal(size=(80, 4))
    search = bf.greedy_search(X, restarts=2, rounds=0, rng=0)
    for data in (CONDITIONS, few, search):
        here, there = (
            bf.structure_mcmc(data, steps=800, rng=1, executor=executor)
            for executor in (None, Clumsy(never))
        )
        assert same_samples(here, there)


def test_progress_goes_up_to_the_end():
    reports = []
    bf.structure_mcmc(**OPTIONS, executor=Clumsy(never), progress=reports.append)
    assert {(p.what, p.planned) for p in reports} == {("steps", 7500)}
    done = [p.done for p in reports]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 7500)
    assert len(done) > 12  # four chains, three segments, the last of several blocks


def test_a_time_limit_returns_the_samples_so_far():
    long = OPTIONS | {"steps": 10**9, "burn_in": 100, "thin": 10}
    with ThreadPoolExecutor(1) as one:  # four chains and one worker
        began = time.monotonic()
        cut = bf.structure_mcmc(**long, executor=one, time_limit=1.5)
        assert time.monotonic() - began < 6
    assert not cut.complete
    assert cut.scores.shape[1] >= 4


def test_a_time_limit_does_not_wait_for_workers():
    class Asleep(Executor):
        def submit(self, task, /, *given):
            return Future()  # for ever

    began = time.monotonic()
    with pytest.raises(bf.BowfreeError, match=r"the time limit was reached before every chain had"):
        bf.structure_mcmc(**OPTIONS, executor=Asleep(), time_limit=0.2)
    assert time.monotonic() - began < 2


# --- segments -----------------------------------------------------------------------------------------


@pytest.fixture
def never_mixed(monkeypatch):
    monkeypatch.setattr("bowfree.uncertainty.chain_segments.have_mixed", lambda states: False)


def test_chains_are_extended_until_they_mix():
    # A covariance matrix on which chains without a list disagree for long.
    few = OPTIONS | {"steps": 1200, "thin": 1, "keep": 0}
    once = bf.structure_mcmc(**few)
    assert not once.mixed
    assert (once.steps, once.burn_in, once.thin) == (1200, 300, 1)
    more = bf.structure_mcmc(**few, max_steps=200_000)
    assert more.mixed
    doublings = round(np.log2(more.steps / 1200))
    assert 1 <= doublings <= 6
    assert more.steps == 1200 * 2**doublings
    assert more.thin == 2**doublings
    assert more.burn_in == 300 + 1200 * (2**doublings - 1)
    assert more.states.shape == once.states.shape
    # One doubling less would not have done.
    less = bf.structure_mcmc(**few, max_steps=more.burn_in - 300)
    assert (less.mixed, less.steps) == (False, more.steps // 2)
    with pytest.raises(bf.BowfreeError, match="max_steps"):
        bf.structure_mcmc(**few, max_steps=1199)


def test_segments_are_the_same_on_threads_and_workers(never_mixed):
    options = OPTIONS | {"steps": 1000, "max_steps": 3000}
    here = bf.structure_mcmc(**options)
    assert (here.steps, here.burn_in, here.thin) == (2000, 1250, 14)
    assert same_samples(bf.structure_mcmc(**options, n_jobs=3), here)
    reports = []
    there = bf.structure_mcmc(**options, executor=Backwards(), progress=reports.append)
    assert same_samples(there, here)
    assert (reports[0].planned, reports[-1].done, reports[-1].planned) == (1250, 3250, 3250)


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_segment_that_has_hardly_begun_does_not_count(never_mixed, where):
    options = OPTIONS | {"steps": 1000}
    first = bf.structure_mcmc(**options)
    executor = Clumsy(never) if where == "there" else None
    for at, steps in ((1400, 1000), (3000, 2000)):
        with pytest.raises(bf.errors.WorkInterrupted) as caught:
            bf.structure_mcmc(
                **options, max_steps=3000, executor=executor, progress=interrupt_at(at)
            )
        cut = caught.value.result
        assert (cut.steps, cut.complete) == (steps, False)
        if steps == 1000:
            np.testing.assert_array_equal(cut.states, first.states)
        else:
            assert 4 <= cut.states.shape[1] < first.states.shape[1]


def test_jumps_lead_to_the_heaviest_and_to_sampled_graphs():
    def listed(chains):
        sizes, edges, scores = chains.jumps()
        parts = np.split(edges, np.cumsum(sizes)[:-1])
        return {tuple(sorted(part)) for part in parts}, scores

    names = tuple(f"x{i + 1}" for i in range(5))
    setup = ChainSetup(bf.moments(cov=S, n=100), bf.SearchSpace(), GraphPosterior(), 10, 5.0, 2**20)
    made = setup.start([bf.MixedGraph(names)._bits()] * 2, seed=1)
    made.run(2000, 100, 1, None)
    codes = [
        {
            tuple(4 * k + int(state) for k, state in enumerate(row) if state)
            for row in made.record(c)[1]
        }
        for c in (0, 1)
    ]
    made.begin_segment()
    graphs, scores = listed(made)
    assert codes[0] | codes[1] <= graphs
    assert len(graphs) == len(scores) <= 10 + 40  # four times as many sampled as heaviest
    assert len(graphs) > 12
    assert all(len(made.record(c)[0]) == 0 for c in (0, 1))
    # They stay when others are sampled, up to the limit.
    made.run(1000, 500, 1, None)
    made.begin_segment()
    assert len(listed(made)[0] & graphs) > 12


def test_splices_use_all_samples():
    made = chains()
    assert made.memory().shape == (0, 3)
    made.run(60, 2, 1, None)
    noted = made.record(0)[1]
    made.begin_segment()
    np.testing.assert_array_equal(made.memory(), noted)
    # Four times ten graphs at the most: of more, every second is forgotten.
    made.run(60, 2, 1, None)
    both = np.concatenate([noted, made.record(0)[1]])
    made.begin_segment()
    np.testing.assert_array_equal(made.memory(), both[1::2])


def test_splices_connect_separate_modes():
    # y is the difference of a and b and, as well, of c and d, which have further causes in common.
    # With two parents of y, changes and exchanges of edges would have to pass through a and d, or
    # b and c, which say little about y. The two modes have probability 1/2 each.
    difference = np.array([0.5, -0.5, 0.5, -0.5])
    mix = np.array([difference, [1, 1, 1, 1], [0, 0, 2, 2]])
    cov = 1.1 * np.eye(5)
    cov[:4, :4] = mix.T @ mix + 0.05 * np.eye(4)
    cov[4, :4] = cov[:4, 4] = difference
    names = tuple("abcdy")
    known = bf.Knowledge(
        forbidden=[f"{v} -- {w}" for v, w in combinations("abcd", 2)],
        tiers=[list("abcd"), ["y"]],
        unconfounded=["y"],
    )
    space = bf.SearchSpace(max_edges=2, knowledge=known)
    setup = ChainSetup(bf.Moments(names, cov, 5000), space, GraphPosterior(), 10, 5.0, 2**20)
    by_ab, by_cd = (bf.MixedGraph(names, [(v, "y") for v in pair]) for pair in ("ab", "cd"))
    a_y, c_y = 6, 8  # among the pairs

    def joined(*known):
        made = setup.start([by_ab._bits()], seed=1)
        made.add_to_memory(np.array([states_of_graph(graph) for graph in known]))
        made.run(20_000, 1, 1, None)
        states = made.record(0)[1]
        return [float((states[:, pair] > 0).mean()) for pair in (a_y, c_y)]

    assert joined(by_ab) == [1.0, 0.0]
    one, other = joined(by_ab, by_cd)
    assert one + other == 1.0
    assert 0.4 < one < 0.6
    # Samples with other frequencies do not change the stationary distribution.
    one, other = joined(by_ab, by_cd, by_cd, by_cd)
    assert 0.4 < one < 0.6


# --- interruptions -------------------------------------------------------------------


@pytest.mark.parametrize("where", ["here", "there"])
def test_an_interrupt_has_the_samples_so_far(where):
    whole = bf.structure_mcmc(**OPTIONS)
    executor = Clumsy(never) if where == "there" else None
    with pytest.raises(bf.errors.WorkInterrupted) as caught:
        bf.structure_mcmc(**OPTIONS, executor=executor, progress=interrupt_at(5000))
    cut = caught.value.result
    assert not cut.complete
    size = cut.scores.shape[1]
    assert 100 < size < 857
    np.testing.assert_array_equal(cut.states, whole.states[:, :size])
    with pytest.raises(KeyboardInterrupt) as early:
        bf.structure_mcmc(**OPTIONS, executor=executor, progress=interrupt_at(0))
    assert type(early.value) is KeyboardInterrupt


def test_lost_workers_leave_the_samples_so_far():
    whole = bf.structure_mcmc(**OPTIONS)
    with pytest.raises(bf.errors.WorkersLost) as caught:
        bf.structure_mcmc(**OPTIONS, executor=Clumsy(lambda number: number >= 20))
    cut = caught.value.result
    assert not cut.complete
    size = cut.scores.shape[1]
    assert 4 <= size < whole.scores.shape[1]
    np.testing.assert_array_equal(cut.scores, whole.scores[:, :size])
    with pytest.raises(bf.errors.WorkersLost) as caught:
        bf.structure_mcmc(**OPTIONS, executor=Clumsy(lambda number: True))
    assert caught.value.result is None


def test_averages_of_the_samples_so_far():
    wide = random_covariance(np.random.default_rng(5), 6, 100)
    search = bf.greedy_search(cov=wide, n=100, restarts=2, rounds=0, proof=False, rng=0)
    with pytest.raises(bf.errors.WorkersLost) as caught:
        bf.averaged_effects(
            search,
            steps=2000,
            max_classes=3,
            limit=20,
            rng=1,
            executor=Clumsy(lambda number: number >= 20),
        )
    average = caught.value.result
    assert isinstance(average, bf.AveragedEffects)
    assert not average.complete
    with pytest.raises(bf.errors.WorkInterrupted) as stopped:
        bf.averaged_effects(search, steps=2000, rng=1, progress=interrupt_at(1500))
    assert isinstance(stopped.value.result, bf.AveragedEffects)


# --- the chains of the core -----------------------------------------------------------------------


def chains(d=3, n_chains=1):
    names = tuple(f"x{i + 1}" for i in range(d))
    moments = bf.moments(cov=np.eye(d), n=50)
    setup = ChainSetup(moments, bf.SearchSpace(max_edges=2), GraphPosterior(), 10, 5.0, 2**20)
    return setup.start([bf.MixedGraph(names)._bits()] * n_chains, seed=1)
