"""Budgets and tasks: seeds, time limits, progress; the same result whatever workers do."""

import math
import os
import pickle
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import bowfree as bf
from bowfree.parallel.budget import Budget, run_task
from odd_executors import Backwards, Clumsy, Forgetful
from search_cases import same_search

SEM = bf.random_sem(bf.parse("x -> y <-> z, x -> w <- z"), rng=2)
X = SEM.sample(200, rng=3)
QUICK = bf.search.Strategy(restarts=1, rounds=0)


def square(k):
    return k * k


def test_a_search_is_the_same_on_processes_and_clumsy_workers():
    expected = bf.greedy_search(X, rng=5, restarts=4)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        for executor in (processes, Clumsy(lambda number: number % 3 == 1)):
            assert same_search(bf.greedy_search(X, rng=5, restarts=4, executor=executor), expected)


def test_tasks_of_a_lost_scheduler_are_done_again():
    back = Forgetful("running")
    assert Budget(executor=back).run(square, range(5), what="squares") == [0, 1, 4, 9, 16]


def test_a_result_that_dask_mistakes_for_an_error():
    # As distributed.cfexecutor does when a worker dies the moment after it has sent its result.
    class Confused(Clumsy):
        def submit(self, task, /, *given):
            future = super().submit(task, *given)
            if self.number != 2:
                return future
            confused = Future()
            try:
                _kind, _error, _trace = future.result()
            except TypeError as failed:
                confused.set_exception(failed)
            return confused

    confused = Confused(lambda number: False)
    assert Budget(executor=confused).run(square, range(3), what="squares") == [0, 1, 4]


def test_a_scheduler_that_does_not_come_back():
    # The last futures stay pending forever.
    for looks in (5, 0):
        with pytest.raises(bf.errors.WorkersLost, match=r"is closed\) after 0 of 5 tasks"):
            Budget(executor=Forgetful("closed", looks=looks)).run(square, range(5), what="squares")


def test_a_task_that_kills_every_worker_ends_the_computation():
    seen = []

    def lose(number):
        seen.append(number)
        return number >= 2

    with pytest.raises(bf.errors.WorkersLost, match=r"gone\) after 2 of 5 tasks") as caught:
        Budget(executor=Clumsy(lose)).run(square, range(5), what="squares", gather=sum)
    assert caught.value.result == 0 + 1
    assert len(seen) < 30


def test_an_error_has_the_result_of_a_search(tmp_path):
    file = tmp_path / "search.ckpt"
    broken = Clumsy(lambda number: number >= 3)
    with pytest.raises(bf.errors.WorkersLost) as caught:
        bf.greedy_search(X, rng=5, restarts=6, executor=broken, checkpoint=file)
    result = caught.value.result
    assert len(result.runs) == 3
    assert not result.complete
    resumed = bf.greedy_search(X, rng=5, restarts=6, checkpoint=file)
    assert same_search(resumed, bf.greedy_search(X, rng=5, restarts=6))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_has_the_result_of_a_bootstrap(n_jobs):
    def interrupt(progress):
        if progress.done == 45:
            raise KeyboardInterrupt

    quick = {"strategy": QUICK, "n_resamples": 60, "rng": 0}
    with pytest.raises(bf.errors.WorkInterrupted) as caught:
        bf.bootstrap(X, **quick, n_jobs=n_jobs, progress=interrupt)
    result = caught.value.result
    assert (result.n_resamples, result.complete) == (45, False)
    whole = bf.bootstrap(X, **quick).graphs
    assert result.graphs == whole[:45] if n_jobs == 1 else set(result.graphs) <= set(whole)


def test_an_interrupt_before_the_first_result():
    def stopped(k):
        raise bf.search.SearchInterrupted(None)  # from inside a task; its result is dropped

    with pytest.raises(KeyboardInterrupt) as caught:
        Budget().run(stopped, range(3), what="tasks", gather=sum)
    assert type(caught.value) is KeyboardInterrupt


def test_the_order_of_arrival_does_not_matter():
    found, expected = (
        bf.bootstrap(X, n_resamples=40, strategy=QUICK, rng=0, executor=executor)
        for executor in (Backwards(), None)
    )
    assert found.graphs == expected.graphs


def test_a_closed_executor():
    with ThreadPoolExecutor(1) as closed:
        pass
    with pytest.raises(
        bf.errors.WorkersLost, match=r"no worker left .*after shutdown.* after 0 of"
    ) as caught:
        bf.greedy_search(X, rng=0, executor=closed)
    assert caught.value.result is None


def test_another_version_on_a_worker_is_refused():
    with pytest.raises(bf.BowfreeError, match=rf"bowfree {bf.__version__}, .* 0\.0\.9: install"):
        run_task("0.0.9", square, 3)
    assert run_task(bf.__version__, square, 3).value == 9


def test_a_worker_without_the_package():
    def missing(k):
        raise ModuleNotFoundError("No module named 'bowfree'", name="bowfree")

    with pytest.raises(bf.BowfreeError, match="a worker cannot import bowfree: install bowfree"):
        Budget(executor=Clumsy(lambda number: False)).run(missing, range(2), what="tasks")


def test_a_time_limit_does_not_wait_for_workers():
    class Asleep(Executor):
        def submit(self, task, /, *given):
            return Future()  # for ever

    began = time.monotonic()
    result = bf.greedy_search(X, rng=0, executor=Asleep(), time_limit=0.2)
    assert time.monotonic() - began < 1.5
    assert not result.complete
    assert np.isfinite(result.score)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_process():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        victim = processes.submit(os.getpid).result()
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(bf.errors.WorkersLost, match="BrokenProcessPool"):
            bf.greedy_search(X, rng=0, executor=processes)


class Unmade(list):
    def __getitem__(self, k):
        raise bf.errors.DataError("too few distinct rows")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_while_a_task_is_made_arrives_as_it_is(n_jobs):
    with pytest.raises(bf.errors.DataError, match="too few distinct rows"):
        Budget(n_jobs=n_jobs).run(square, Unmade([1, 2]), what="squares")


def test_results_are_in_order_on_threads_and_processes():
    expected = [math.isqrt(k) for k in range(20)]
    # Not forked: other libraries have threads by now, and polars warns of what they do to a fork.
    processes = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with ThreadPoolExecutor(2) as threads, processes:
        for options in ({}, {"n_jobs": 3}, {"executor": threads}, {"executor": processes}):
            assert Budget(**options).run(math.isqrt, range(20), what="roots") == expected


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_every_task(n_jobs):
    seen = []
    Budget(n_jobs=n_jobs, progress=seen.append).run(square, range(4), what="squares")
    assert [p.done for p in seen] == [0, 1, 2, 3, 4]
    assert {(p.what, p.planned) for p in seen} == {("squares", 4)}
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0.0


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_no_task_starts_after_the_time_limit(n_jobs):
    def nap(k):
        time.sleep(0.05)
        return k

    found = Budget(n_jobs=n_jobs, time_limit=0.12).run(nap, range(100), what="naps")
    assert 1 <= len(found) < 20
    assert found == sorted(found)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_task_ends_the_others(n_jobs):
    begun = []

    def fail(k):
        begun.append(k)
        time.sleep(0.01)
        raise RuntimeError(f"task {k}")

    with pytest.raises(RuntimeError, match=r"task \d"):
        Budget(n_jobs=n_jobs).run(fail, range(100), what="failures")
    assert len(begun) < 100
    with pytest.raises(RuntimeError):  # no lost worker
        Budget(executor=Clumsy(lambda number: False)).run(fail, range(9), what="failures")
    assert len(begun) < 110


def test_a_task_shares_time_limit_and_cancellation():
    whole = Budget(1, time_limit=100.0)
    task = whole.for_task(7)
    assert task.rng == 7
    assert 99.0 < task.seconds_left <= 100.0
    whole.cancelled.set()
    assert task.expired


def test_a_budget_travels_with_the_time_that_is_left():
    far = pickle.loads(pickle.dumps(Budget(5, 4, 50.0, progress=print)))
    assert (far.rng, far.n_jobs, far.progress) == (5, None, None)
    assert 49.0 < far.seconds_left <= 50.0
    assert pickle.loads(pickle.dumps(Budget())).time_limit is None


def test_same_rng_same_seed():
    assert Budget(3).seed() == Budget(3).seed() != Budget(4).seed()
    stream = np.random.default_rng(3)
    assert Budget(stream).seed() == Budget(3).seed() != Budget(stream).seed()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1, got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be a whole number of at least 1, got 1.5"),
        ({"time_limit": 0}, "time_limit must be positive, got 0"),
        ({"time_limit": "1 h"}, "time_limit must be positive, got '1 h'"),
        ({"progress": 3}, "progress must be callable, got 3"),
        ({"executor": 3}, "executor must be a concurrent.futures.Executor, got 3"),
        ({"rng": "abc"}, "rng = 'abc': give a whole number >= 0"),
        ({"rng": -1}, "rng = -1: give a whole number >= 0"),
    ],
)
def test_bad_budgets(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        Budget(**options).seed()
