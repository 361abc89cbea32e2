"""What a function may spend: random numbers, threads or machines, time; and who is told meanwhile.

The same words mean the same thing on everything that can take long: ``rng``, ``n_jobs``,
``executor``, ``time_limit``, ``progress`` (:class:`bowfree.validation.BudgetOptions` explains them).
:class:`Budget` checks them once and hands them on. Work that falls into independent pieces, such as
the resamples of a bootstrap, is done by :meth:`Budget.run`, on threads or elsewhere
(:mod:`bowfree.parallel.tasks`).
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
from bowfree.parallel.tasks import finished
from bowfree.text_reading import short_repr
from bowfree.validation import check_count, check_positive, is_number


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told.

    Attributes
    ----------
    what : str
        What is counted: "runs", "resamples", "folds", ...
    done, planned : int
        How many are finished, and how many are known to be needed (there may be more later).
    seconds : float
        Time since the work began.
    seconds_left : float or None
        Estimate for what is planned, None before the first piece has ended.
    best_score : float or None
        Of a search: the best score of a finished run.
    """

    what: str
    done: int
    planned: int
    seconds: float
    seconds_left: float | None
    best_score: float | None = None


# Of a thread that does pieces of some work: set when that work is to end.
_ENCLOSING: ContextVar[threading.Event | None] = ContextVar("_ENCLOSING", default=None)


def _cancelled() -> threading.Event:
    return _ENCLOSING.get() or threading.Event()


@dataclass(frozen=True)
class Budget:
    """The options of :class:`bowfree.validation.BudgetOptions`, checked; the clock starts here."""

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
        # To another process go the random numbers and the time that is left; clock, threads and
        # whoever is told stay here.
        return type(self), (self.rng, None, self.seconds_left)

    def piece(self, rng: int | np.random.Generator) -> Budget:
        """Return the budget of one piece of this work: other random numbers, one thread."""
        return Budget(rng, None, self.seconds_left, cancelled=self.cancelled)

    def enclose(self) -> None:
        """Let everything that this thread does from now on end when this work is cancelled."""
        _ENCLOSING.set(self.cancelled)

    def part(self, share: float) -> Budget:
        """Return a budget like this one with a share of the time that is left."""
        left = self.seconds_left
        return replace(
            self, time_limit=None if left is None else share * left, began=time.monotonic()
        )

    # --- randomness ---

    def generator(self) -> np.random.Generator:
        """Return the random numbers that everything else grows from."""
        return random_generator(self.rng)

    def seed(self) -> int:
        """Draw the 64-bit seed that the core's streams grow from."""
        return int(self.generator().integers(0, 2**64, dtype=np.uint64))

    # --- threads ---

    @property
    def n_threads(self) -> int:
        """The number of threads that `n_jobs` stands for."""
        if self.n_jobs is None:
            return 1
        return _n_cores() if self.n_jobs == -1 else self.n_jobs

    # --- time ---

    @property
    def seconds(self) -> float:
        """Seconds since the clock was started."""
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, at least a little; None without one."""
        if self.time_limit is None or math.isinf(self.time_limit):
            return None
        return max(1e-3, self.time_limit - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up, or the work was cancelled."""
        late = self.time_limit is not None and self.seconds > self.time_limit
        return late or self.cancelled.is_set()

    # --- progress ---

    def tell(self, what: str, done: int, planned: int, best_score: float | None = None) -> None:
        """Tell whoever wants to know how far the work is."""
        if self.progress is not None:
            left = self.seconds / done * (planned - done) if done else None
            self.progress(Progress(what, done, planned, self.seconds, left, best_score))

    # --- pieces ---

    def run(
        self,
        task: Callable[[Any], Any],
        pieces: Sequence[Any],
        *,
        what: str,
        gather: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Do the task for every piece; gather the results, in the order of the pieces.

        When the time is up, pieces that have not begun are left out: the list then has the results
        of those that were done, in the order of their numbers. An exception in a piece ends the
        work and is raised. Ctrl-C cancels what has not begun and comes through; with `gather`, what
        there is of results goes with it, and with the error when all workers are lost.
        """
        found: dict[int, Any] = {}

        def gathered() -> Any:
            done = [found[k] for k in sorted(found)]
            return done if gather is None else gather(done)

        self.tell(what, 0, len(pieces))
        try:
            for k, result in finished(task, pieces, self):
                found[k] = result
                self.tell(what, len(found), len(pieces))
        except WorkersLost as error:
            if found:
                error.result = gathered()
            raise
        except KeyboardInterrupt as stop:
            # A search inside a piece brings its own result along, which is nobody's here.
            if gather is None or not found:
                raise KeyboardInterrupt from stop
            try:
                result = gathered()
            except BowfreeError:  # too little for a result
                raise KeyboardInterrupt from stop
            raise WorkInterrupted(result) from stop
        return gathered()


def random_generator(rng: Any) -> np.random.Generator:
    """Return the random numbers that a user's `rng` stands for."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise BowfreeError(
            f"rng = {short_repr(rng)}: give a whole number >= 0, a numpy.random.Generator, or None"
        ) from error


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
