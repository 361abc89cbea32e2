"""Studies within a budget: any executor, a time limit, Ctrl-C; complete simulations only."""

import signal
import time

import pytest

import bowfree as bf
from bowfree.parallel.budget import Budget
from bowfree.studies import causal_effect_study
from bowfree.studies.runner import processor_seconds, simulate
from odd_executors import Backwards

SMALL = {"d": 4, "n": 200, "strategy": "ils", "restarts": 4, "rng": 3}


def slow(seconds, budget):
    time.sleep(seconds)
    return seconds


def test_a_simulation_that_is_cut_short_does_not_count():
    # The second starts in time and ends too late; the third does not start.
    found = simulate(slow, [0.01, 0.6, 0.02], Budget(time_limit=0.4), what="naps", gather=list)
    assert found == [0.01]


def test_nothing_finished_in_time():
    with pytest.raises(bf.BowfreeError, match=r"time_limit = 0.1: no naps finished in time"):
        simulate(slow, [0.3], Budget(time_limit=0.1), what="naps", gather=list)


def test_the_same_study_on_an_executor():
    here = causal_effect_study(4, **SMALL)
    assert here.complete
    there = causal_effect_study(4, **SMALL, executor=Backwards(size=2))
    assert [s.found for s in there.simulations] == [s.found for s in here.simulations]
    assert there.aucs.tolist() == here.aucs.tolist()


def test_an_error_ends_the_computations_of_all_threads():
    # The chains have their own budget and would take hours.
    data = bf.random_sem(bf.random_bap(5, rng=1), rng=1).sample(100, rng=1)
    began = time.monotonic()

    def task(number, budget):
        if number == 0:
            time.sleep(0.3)
            raise OSError("of the task")
        return bf.structure_mcmc(data, steps=10**9, rng=1)

    with pytest.raises(OSError, match="of the task"):
        simulate(task, [0, 1], Budget(n_jobs=2), what="chains", gather=list)
    assert time.monotonic() - began < 20


def test_processor_time_includes_the_runs_of_a_search():
    data = bf.random_sem(bf.random_bap(8, rng=1), rng=1).sample(200, rng=1)
    began = time.thread_time()
    result = bf.greedy_search(data, rng=1, proof=False)
    assert processor_seconds(began, result) >= sum(run.seconds for run in result.runs) > 0
    row = causal_effect_study(1, **SMALL).simulations[0]
    assert row.cpu_seconds > 0.5 * row.search_seconds


def test_a_study_that_was_ended_by_a_time_limit():
    found = causal_effect_study(3000, **SMALL, time_limit=1.5)
    assert not found.complete
    assert 0 < len(found.simulations) < 3000
    assert f"of {len(found.simulations)} " in found.table()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_was_finished(n_jobs):
    times = []

    def press(progress):
        if progress.done == 2:
            times.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(bf.errors.WorkInterrupted) as stop:
        causal_effect_study(3000, **SMALL, n_jobs=n_jobs, progress=press)
    assert time.monotonic() - times[-1] < 2
    assert 2 <= len(stop.value.result.simulations) < 3000
    assert not stop.value.result.complete
