"""Random numbers, threads, time limits and progress of all computations."""

import math
import pickle
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import bowfree as bf
from bowfree.parallel.budget import Budget


def square(k: int) -> int:
    return k * k


def test_results_are_in_order_on_threads_and_processes():
    expected = [k * k for k in range(20)]
    assert Budget().run(square, range(20), what="squares") == expected
    assert Budget(n_jobs=3).run(square, range(20), what="squares") == expected
    with ThreadPoolExecutor(2) as threads:
        assert Budget(executor=threads).run(square, range(20), what="squares") == expected
    # Not forked: other libraries have threads by now, and polars warns of what they do to a fork.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        # A function that the new process can import.
        assert Budget(executor=processes).run(math.isqrt, range(5), what="roots") == [0, 1, 1, 1, 2]


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
    def nap(k: int) -> int:
        time.sleep(0.05)
        return k

    found = Budget(n_jobs=n_jobs, time_limit=0.12).run(nap, range(100), what="naps")
    assert 1 <= len(found) < 20
    assert found == sorted(found)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_task_ends_the_others(n_jobs):
    begun = []

    def fail(k: int) -> None:
        begun.append(k)
        time.sleep(0.01)
        raise RuntimeError(f"task {k}")

    with pytest.raises(RuntimeError, match=r"task [01]"):
        Budget(n_jobs=n_jobs).run(fail, range(100), what="failures")
    assert len(begun) < 100


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
