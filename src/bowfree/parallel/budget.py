"""The resources of a computation: random numbers, threads or workers, time, and progress reports.

Every function that may take long has the parameters ``rng``, ``n_jobs``, ``executor``,
``time_limit`` and ``progress``. :class:`Budget` validates them once. :meth:`Budget.run` executes
independent tasks, such as the resamples of a bootstrap: in this thread, on threads, or on any
:class:`concurrent.futures.Executor` (the standard ones, loky, dask, ``mpi4py.futures``).

A task is a pure function of its argument, and results are sorted by the number of the task, so that
they do not depend on which worker does which task and when. A task whose worker dies is submitted
again. If no worker is left, :class:`~bowfree.errors.WorkersLost` is raised. An exception raised by a
task would occur again, so it is raised at once.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pickle import PicklingError
from typing import Any
from weakref import WeakSet

import numpy as np

from bowfree import __version__
from bowfree.errors import BowfreeError, WorkersLost, WorkInterrupted
from bowfree.text_reading import short_repr, truncate
from bowfree.validation import check_count, check_positive, is_number


@dataclass(frozen=True)
class Progress:
    """The argument of a progress callback.

    Attributes
    ----------
    what : str
        What is counted: "runs", "resamples", "folds", ...
    done, planned : int
        Number of finished tasks, and of all tasks known to be needed; more may be added later.
    seconds : float
        Time since the start.
    seconds_left : float or None
        Estimated time for the planned tasks, None before the first has finished.
    best_score : float or None
        In a search, the best score of a finished run.
    """

    what: str
    done: int
    planned: int
    seconds: float
    seconds_left: float | None
    best_score: float | None = None


# In a thread that runs tasks: the event that cancels the computation they belong to.
_CANCELLED: ContextVar[threading.Event | None] = ContextVar("_CANCELLED", default=None)


def _cancelled() -> threading.Event:
    return _CANCELLED.get() or threading.Event()


@dataclass(frozen=True)
class Budget:
    """Random numbers, threads or workers, and time of a computation; its clock starts here."""

    rng: int | np.random.Generator | None = None
    n_jobs: int | None = None
    time_limit: float | None = None
    progress: Callable[[Progress], None] | None = None
    executor: Executor | None = None
    cancelled: threading.Event = field(default_factory=_cancelled, repr=False)
    began: float = field(default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        if self.n_jobs is not None and not (is_number(self.n_jobs) and self.n_jobs == -1):
            object.__setattr__(self, "n_jobs", check_count("n_jobs", self.n_jobs, 1))
        if self.time_limit is not None:
            object.__setattr__(self, "time_limit", check_positive("time_limit", self.time_limit))
        if self.progress is not None and not callable(self.progress):
            raise BowfreeError(f"progress must be callable, got {short_repr(self.progress)}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise BowfreeError(
                f"executor must be a concurrent.futures.Executor, got {short_repr(self.executor)}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process gets the random numbers and the remaining time.
        return type(self), (self.rng, None, self.seconds_left)

    def for_task(self, rng: int | np.random.Generator) -> Budget:
        """Return the budget of one task: its own random numbers, one thread."""
        return Budget(rng, None, self.seconds_left, cancelled=self.cancelled)

    def bind_to_thread(self) -> None:
        """Cancel all further computations of this thread together with this one."""
        _CANCELLED.set(self.cancelled)

    def with_share(self, share: float) -> Budget:
        """Return this budget with a share of the remaining time."""
        left = self.seconds_left
        return replace(
            self, time_limit=None if left is None else share * left, began=time.monotonic()
        )

    def generator(self) -> np.random.Generator:
        """Return the random number generator."""
        return random_generator(self.rng)

    def seed(self) -> int:
        """Draw a 64-bit seed for the random streams of the core."""
        return int(self.generator().integers(0, 2**64, dtype=np.uint64))

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        if self.n_jobs is None:
            return 1
        if self.n_jobs > 0:
            return self.n_jobs
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, a small positive number at least; None without a limit."""
        if self.time_limit is None or math.isinf(self.time_limit):
            return None
        return max(1e-3, self.time_limit - self.seconds)

    @property
    def expired(self) -> bool:
        """Whether the time limit has passed or the computation was cancelled."""
        late = self.time_limit is not None and self.seconds > self.time_limit
        return late or self.cancelled.is_set()

    def report_progress(
        self, what: str, done: int, planned: int, best_score: float | None = None
    ) -> None:
        """Call the progress callback."""
        if self.progress is not None:
            left = self.seconds / done * (planned - done) if done else None
            self.progress(Progress(what, done, planned, self.seconds, left, best_score))

    def run(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        what: str,
        gather: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Run independent tasks; return their results in order, combined by `gather`.

        If the budget expires, tasks that have not started are omitted, and those that return None,
        because they were cut short. An exception in a task ends the computation and is raised.
        After Ctrl-C, or if all workers are lost, the exception has the combined results so far in
        its attribute ``result``.
        """
        results: dict[int, Any] = {}

        def combined() -> Any:
            done = [results[k] for k in sorted(results) if results[k] is not None]
            if gather is None:
                return done
            if not done:
                raise BowfreeError(
                    f"time_limit = {self.time_limit}: no {what} finished in time; raise the limit"
                )
            return gather(done)

        def partial_result() -> Any:
            if gather is None or not results:
                return None
            try:
                return combined()
            except BowfreeError:  # too few results
                return None

        self.report_progress(what, 0, len(tasks))
        try:
            for k, result in run_tasks(function, tasks, self):
                results[k] = result
                self.report_progress(what, len(results), len(tasks))
        except WorkersLost as error:
            error.result = partial_result()
            raise
        except KeyboardInterrupt as stop:
            # The result of a search inside a task is dropped.
            found = partial_result()
            raise KeyboardInterrupt if found is None else WorkInterrupted(found) from stop
        return combined()


def random_generator(rng: Any) -> np.random.Generator:
    """Return the generator of a user's `rng`."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise BowfreeError(
            f"rng = {short_repr(rng)}: give a whole number >= 0, a numpy.random.Generator, or None"
        ) from error


MAX_SUBMITTED = 1024  # largest number of unfinished tasks on an executor
MAX_ATTEMPTS = 4  # for a task whose workers die: the task itself may kill them
POLL_SECONDS = 0.1
LATE_SECONDS = 0.2  # after the time limit, for results that are about to arrive
NO_WORKER_SECONDS = 8.0  # a dask worker may be restarted by its nanny

# Names of dask's exceptions for a lost worker or scheduler, so that dask need not be imported.
_LOST = {"KilledWorker", "FutureCancelledError", "FuturesCancelledError", "CommClosedError"}

# Clients of dask whose cluster has had a worker; others may still be waiting for machines.
_HAD_WORKERS: WeakSet[Any] = WeakSet()


@dataclass(frozen=True, eq=False)
class LazyTasks(Sequence[Any]):
    """Tasks that are created on demand, by a function of their number."""

    size: int
    create: Callable[[int], Any]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, k: Any) -> Any:
        return self.create(k)


def run_tasks(
    function: Callable[[Any], Any], tasks: Sequence[Any], budget: Budget
) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) for every task as it finishes.

    If the budget expires, tasks that have not started are skipped. Raises WorkersLost.
    """
    if budget.executor is not None:
        yield from _Submission(budget.executor, function, tasks, budget).run()
    elif budget.n_threads == 1:
        for k in range(len(tasks)):
            if budget.expired:
                return
            yield k, function(tasks[k])
    else:
        # Threads suffice: the compiled core releases the global interpreter lock.
        with ThreadPoolExecutor(budget.n_threads, initializer=budget.bind_to_thread) as threads:
            yield from _Submission(threads, function, tasks, budget).run()


@dataclass(frozen=True)
class TaskResult:
    """The result of a task, in an object that cannot be unpacked.

    If a worker dies after it has sent a result, dask's executor mistakes the result for an error, a
    tuple of three, and fails to unpack it. Its message then identifies this case.
    """

    value: Any


def run_task(version: str, function: Callable[[Any], Any], task: Any) -> TaskResult:
    """Run a task on a worker; `version` is that of the process that has submitted it."""
    if version != __version__:
        raise BowfreeError(
            f"a worker has bowfree {__version__}, but the process that submits tasks has "
            f"{version}: install the same version on all machines"
        )
    return TaskResult(function(task))


class _Submission:
    """Tasks that are submitted to an executor, collected, and submitted again if a worker dies."""

    def __init__(
        self,
        executor: Executor,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        budget: Budget,
    ) -> None:
        self.executor, self.function, self.tasks, self.budget = executor, function, tasks, budget
        self.submitted: dict[Future[Any], int] = {}
        self.lost: Counter[int] = Counter()  # how often the worker of a task has died
        self.again: list[int] = []  # tasks to submit again
        self.n_started = self.n_done = 0
        self.client: Any = getattr(executor, "_client", None)  # of dask
        self.last_worker, self.last_look = time.monotonic(), 0.0

    def run(self) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) as tasks finish."""
        try:
            while self.submitted or self.again or (self.remaining and not self.budget.expired):
                self.submit()
                self.check_workers()
                expired = self.budget.expired
                if not self.submitted:
                    time.sleep(POLL_SECONDS)
                timeout = LATE_SECONDS if expired else POLL_SECONDS
                ready, _ = wait(self.submitted, timeout=timeout, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield from self.collect(future, expired)
                if expired:
                    self.again.clear()
                    for future in self.submitted:
                        future.cancel()
                    if self.budget.executor is not None and not ready:
                        return  # tasks that still run elsewhere are abandoned
        except _NoWorkerLeft as end:
            # Results that have arrived by now are not lost with the workers.
            for future in [future for future in self.submitted if _has_result(future)]:
                yield from self.collect(future, expired=False)
            reason = truncate(": ".join(filter(None, (type(end.error).__name__, str(end.error)))))
            raise WorkersLost(
                f"the executor has no worker left ({reason}) after {self.n_done} of "
                f"{len(self.tasks)} tasks; start workers and try again"
            ) from end.error
        finally:
            # After an error or Ctrl-C, tasks in this process see the event.
            if self.submitted:
                self.budget.cancelled.set()
            for future in self.submitted:
                future.cancel()

    @property
    def remaining(self) -> int:
        return len(self.tasks) - self.n_started

    def submit(self) -> None:
        """Submit tasks up to the limit; a task is created only when it is submitted."""
        while (
            self.connected()
            and len(self.submitted) < MAX_SUBMITTED
            and (self.again or self.remaining)
            and not self.budget.expired
        ):
            if self.again:
                k = self.again.pop()
            else:
                k = self.n_started
                self.n_started += 1
            task = self.tasks[k]
            try:
                future = self.executor.submit(run_task, __version__, self.function, task)
            except Exception as error:  # shut down, broken, disconnected: executors differ
                raise _NoWorkerLeft(error) from error
            self.submitted[future] = k

    def collect(self, future: Future[Any], expired: bool) -> Iterator[tuple[int, Any]]:
        """Yield the result of a future that is done, or schedule its task again."""
        k = self.submitted.pop(future)
        if future.cancelled() and expired:
            return
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            self.n_done += 1
            yield k, future.result().value
        elif not _is_loss(error):
            raise _explained(error)
        else:
            self.lost[k] += 1
            if self.lost[k] == MAX_ATTEMPTS:
                raise _NoWorkerLeft(error) from error
            self.again.append(k)

    def connected(self) -> bool:
        """Return whether tasks can be submitted.

        If the scheduler of a dask cluster dies, futures may stay pending forever: their tasks are
        submitted again if the scheduler returns.
        """
        status = str(getattr(self.client, "status", "running"))
        if status == "closed":
            raise _NoWorkerLeft(ConnectionError("the connection to the scheduler is closed"))
        if status == "connecting":
            for future in [future for future in self.submitted if not future.done()]:
                future.cancel()
                self.again.append(self.submitted.pop(future))
        return status not in ("connecting", "closing")

    def check_workers(self) -> None:
        """Raise an error if all workers of a dask cluster have died and none has come back."""
        now, info = time.monotonic(), getattr(self.client, "scheduler_info", None)
        if info is None or now < self.last_look + 1.0 or str(self.client.status) != "running":
            return
        self.last_look = now
        if info().get("workers"):
            _HAD_WORKERS.add(self.client)
            self.last_worker = now
        elif self.client in _HAD_WORKERS and now > self.last_worker + NO_WORKER_SECONDS:
            raise _NoWorkerLeft(ConnectionError("all workers of the dask cluster have died"))


class _NoWorkerLeft(Exception):
    """No further task can be executed, because of an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _is_loss(error: BaseException) -> bool:
    return (
        isinstance(error, BrokenExecutor | CancelledError)
        or type(error).__name__ in _LOST
        or (isinstance(error, TypeError) and f"non-iterable {TaskResult.__name__}" in str(error))
    )


def _explained(error: BaseException) -> BaseException:
    """Return a clear error for a failure to send a task to a worker; other errors as they are."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and (cause.name or "").startswith("bowfree"):
            return BowfreeError(
                f"a worker cannot import {cause.name}: install bowfree {__version__} on all "
                "machines with workers"
            )
        if isinstance(cause, PicklingError):
            return BowfreeError(f"the executor cannot send a task: {truncate(str(cause))}")
        cause = cause.__cause__ or cause.__context__
    return error
