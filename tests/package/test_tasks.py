"""Tasks on executors: the same result for all workers, and after the loss of workers."""

import os
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import bowfree as bf
from bowfree.parallel.budget import Budget
from bowfree.parallel.tasks import run_task
from odd_executors import Backwards, Clumsy, Forgetful
from search_cases import same_search

SEM = bf.random_sem(bf.parse("x -> y <-> z, x -> w <- z"), rng=2)
X = SEM.sample(200, rng=3)
QUICK = bf.search.Strategy(restarts=1, rounds=0)


def square(k):
    return k * k


def test_a_search_is_the_same_on_threads_processes_and_clumsy_workers(tmp_path):
    expected = bf.greedy_search(X, rng=5, restarts=4)
    with ThreadPoolExecutor(2) as threads:
        assert same_search(bf.greedy_search(X, rng=5, restarts=4, executor=threads), expected)
    clumsy = Clumsy(lambda number: number % 3 == 1)
    assert same_search(bf.greedy_search(X, rng=5, restarts=4, executor=clumsy), expected)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert same_search(bf.greedy_search(X, rng=5, restarts=4, executor=processes), expected)


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


def test_an_error_in_a_piece_is_no_lost_worker():
    clumsy = Clumsy(lambda number: False)
    with pytest.raises(ZeroDivisionError):
        Budget(executor=clumsy).run(lambda k: 1 // (2 - k), range(9), what="quotients")
    assert clumsy.number <= 9


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
