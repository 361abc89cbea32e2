"""Carrying out a plan: others do the runs, this waits, collects and keeps score.

The others are threads of the core or, with an executor, workers anywhere.

The conductor answers to the clock, to Ctrl-C and to whoever wants to see progress, and writes the
checkpoint. What it does in between does not change a result: every run is a pure function of the
data, the options and its number. Next: :mod:`bowfree.search.result`.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bowfree.errors import CheckpointError
from bowfree.parallel.budget import Budget
from bowfree.parallel.tasks import run_tasks
from bowfree.search.checkpoint import Checkpoint
from bowfree.search.plan import (
    Plan,
    Task,
    least_gain_for,
    patience_for,
)
from bowfree.search.result import TOLERANCE, ScoredGraph, SearchRun
from bowfree.search.runs import Setup, read_run, run_elsewhere, scored

SAVE_EVERY = 1.0  # seconds between two writes of the checkpoint
NAP = 0.05  # seconds between two looks at the clock and at Ctrl-C


@dataclass
class Conductor:
    """Launches runs, waits for them, and answers to clock, user and checkpoint meanwhile."""

    setup: Setup
    memory: Checkpoint
    budget: Budget

    def __post_init__(self) -> None:
        self.core = self.setup.core()
        self.names = self.setup.moments.names
        n, weight = self.setup.moments.n, self.setup.rule.weight
        self.least_gain = least_gain_for(len(self.names), weight * math.log(n) / n)
        self.saved = time.monotonic()
        self.stopped = False
        self.hit_work_limit = False
        self.planned = 0
        self.runs: dict[tuple[int, int], SearchRun] = {}
        self.batch: list[tuple[int, int, Task]] = []  # (round, index) of the runs under way
        self.unsaved = False
        if self.memory.path:
            self.memory.check_permitted(lambda graph: self.core.permits(*graph._bits()))
            self.memory.remove_remains()
            self.memory.save()  # a folder that cannot be written to shows before the search begins

        for graph, score in self.memory.pool:
            self.core.offer(*graph._bits(), score)

    def conduct(self, plan: Plan) -> None:
        """Do the first round, then rounds of kicks until they bring nothing or time is up."""
        self.do_round(0, plan.first_tasks(self.memory.seed, self.setup.ground))
        number, without_gain = 0, 0
        while not self.stopped and number < plan.rounds and without_gain < self.patience():
            done = self.work()
            if plan.work.is_over(done):
                self.hit_work_limit = True
                break
            number += 1
            ends = self.best_ends()
            tasks = plan.kick_tasks(self.memory.seed, number, ends, done)
            self.do_round(number, tasks)
            gained = self.best_ends()[0].score > ends[0].score + self.least_gain
            without_gain = 0 if gained else without_gain + 1
        self.save(at_once=True)

    def do_round(self, number: int, tasks: list[Task]) -> None:
        """Do the tasks that the checkpoint does not hold yet."""
        self.planned += len(tasks)
        done = {key: run for key, run in self.memory.runs.items() if key[0] == number}
        self.runs |= done
        self.batch = [(number, k, task) for k, task in enumerate(tasks) if (number, k) not in done]
        if not self.batch:
            return
        if self.budget.executor is not None:
            self.do_elsewhere()
        else:
            self.do_here()
        if not self.runs:  # the time was up at once: the core sees to it that there is a graph
            self.batch = self.batch[:1]
            self.do_here()

    def do_here(self) -> None:
        """Have the batch done by threads of the core."""
        tasks = [task.core() for _, _, task in self.batch]
        self.core.launch(tasks, min(self.budget.n_threads, len(tasks)))
        while self.core.busy():
            self.collect()
            if self.budget.expired:
                self.stop()
            self.report()

    def do_elsewhere(self) -> None:
        """Have the batch done by the workers of an executor."""
        setup = replace(self.setup, moments=self.setup.moments.without_rows())
        pieces = _Pieces(setup, [task for _, _, task in self.batch], self.budget)
        self.report()
        for index, found in run_tasks(run_elsewhere, pieces, self.budget):
            if found is not None:
                for graph, score in found.pool:
                    parents, spouses = graph._bits()
                    self.core.offer(parents, spouses, score, found.run.complete)
                self.keep(index, found.run)
            self.save(at_once=False)
            self.report()
        if self.budget.expired:
            self.stopped = True

    def collect(self) -> None:
        """Wait a moment for a run to end; Python sees Ctrl-C in between."""
        left = self.budget.seconds_left
        nap = NAP if left is None or self.stopped else min(NAP, left)
        for found in self.core.collect(nap):
            index = found["index"]
            self.keep(index, read_run(self.names, self.batch[index][2].kind, found))
        self.save(at_once=False)

    def keep(self, index: int, run: SearchRun) -> None:
        """Note a run of the batch; only one that is complete is kept for later."""
        number, k, _ = self.batch[index]
        self.runs[number, k] = run
        if run.complete:
            self.memory.runs[number, k] = run

    def stop(self) -> None:
        """Tell the runs of this process to end where they are."""
        self.stopped = True
        self.core.stop()

    def halt(self) -> None:
        """After Ctrl-C: end all runs and collect what they have."""
        self.stop()
        while self.core.busy():
            self.collect()
        self.save(at_once=True)

    def save(self, *, at_once: bool) -> None:
        """Write the checkpoint, if there is one and the last writing was not just now."""
        now = time.monotonic()
        if not self.memory.path or not (at_once or now > self.saved + SAVE_EVERY):
            return
        self.memory.pool = self.finished_pool()
        try:
            self.memory.save()
            self.unsaved = False
        except CheckpointError as error:
            # The search is worth more than its checkpoint: it goes on, and the next writing may
            # find more room.
            if not self.unsaved:
                warnings.warn(f"{error}; the search goes on", RuntimeWarning, stacklevel=2)
            self.unsaved = True
        self.saved = now

    def report(self) -> None:
        """Tell whoever wants to know how far the search is."""
        best = max((run.score for run in self.runs.values()), default=None)
        self.budget.report_progress("runs", len(self.runs), self.planned, best)

    def work(self) -> float:
        """Return the work behind all runs so far, which is the same for everybody."""
        return math.fsum(run.work for run in self.runs.values())

    def patience(self) -> int:
        """Return how many rounds in a row may bring no gain, as things stand."""
        best = max(run.score for run in self.runs.values())
        first = [run for (number, _), run in self.runs.items() if number == 0]
        agreeing = sum(run.score >= best - TOLERANCE for run in first)
        return patience_for(len(self.names), len(first), agreeing)

    def best_ends(self) -> list[ScoredGraph]:
        """Return the ends of runs, best first, one for each score."""
        ends: list[ScoredGraph] = []
        for run in sorted(self.runs.items(), key=lambda item: (-item[1].score, item[0])):
            if not ends or run[1].score < ends[-1].score - TOLERANCE:
                ends.append(ScoredGraph(run[1].end, run[1].score))
        return ends

    def pool(self) -> list[ScoredGraph]:
        """Return the best graphs met so far, best first."""
        return scored(self.names, self.core.pool())

    def finished_pool(self) -> list[ScoredGraph]:
        """Return those met by finished runs, with the (rounded) scores that they are ranked by."""
        return scored(self.names, self.core.ranked_pool())


@dataclass(frozen=True, eq=False)
class _Pieces(Sequence[tuple[Setup, Task, Budget]]):
    """The runs of a batch as pieces of work, made when they are asked for: the clock is running."""

    setup: Setup
    tasks: list[Task]
    budget: Budget

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, k: Any) -> Any:
        return self.setup, self.tasks[k], self.budget.for_task(0)
