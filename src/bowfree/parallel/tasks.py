"""Execution of independent tasks: in this thread, on threads, or on an executor.

A task is a pure function of its argument, and results are sorted by the number of the task, so that
they do not depend on which worker does which task and when. Any
:class:`concurrent.futures.Executor` can be used: the standard ones, loky, dask, ``mpi4py.futures``.

A task whose worker dies is submitted again. If no worker is left, :class:`~bowfree.errors.WorkersLost`
is raised. An exception raised by a task would occur again, so it is raised at once.
"""

from __future__ import annotations

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
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from bowfree import __version__
from bowfree.errors import BowfreeError, WorkersLost
from bowfree.text_reading import truncate

if TYPE_CHECKING:
    from bowfree.parallel.budget import Budget

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
