"""The resources of a computation: random numbers, threads or workers, time, and progress reports.

Every function that may take long has the parameters ``rng``, ``n_jobs``, ``executor``,
``time_limit`` and ``progress``. :class:`Budget` validates them once. :meth:`Budget.run` executes
independent tasks, such as the resamples of a bootstrap (:mod:`bowfree.parallel.tasks`).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bowfree.errors import BowfreeError, WorkersLost, WorkInterrupted
from bowfree.parallel.tasks import run_tasks
from bowfree.text_reading import short_repr
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
