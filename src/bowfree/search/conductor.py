"""Carrying out a plan: threads of the core do the runs, this waits, collects and keeps score.

The conductor answers to the clock, to Ctrl-C and to whoever wants to see progress, and writes the
checkpoint. What it does in between does not change a result: every run is a pure function of the
data, the options and its number. Next: :mod:`bowfree.search.result`.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from bowfree import _core
from bowfree.budget import Budget
from bowfree.errors import CheckpointError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.search.checkpoint import Checkpoint
from bowfree.search.plan import KICKS, RUN_KINDS, TOLERANCE, Plan, patience_for
from bowfree.search.result import ScoredGraph, SearchRun

__all__ = ["Conductor"]

SAVE_EVERY = 1.0  # seconds between two writes of the checkpoint


@dataclass
class Conductor:
    """Launches runs, waits for them, and answers to clock, user and checkpoint meanwhile."""

    core: _core.Search
    names: tuple[str, ...]
    memory: Checkpoint
    budget: Budget

    def __post_init__(self) -> None:
        self.saved = time.monotonic()
        self.stopped = False
        self.planned = 0
        self.runs: dict[tuple[int, int], SearchRun] = {}
        self.batch: list[tuple[int, int, int]] = []  # (round, index, kind) of the runs under way
        self.unsaved = False
        if self.memory.path:
            self.memory.check_permitted(lambda graph: self.core.permits(*graph._bits()))
            self.memory.remove_remains()
            self.memory.save()  # a folder that cannot be written to shows before the search begins

    def conduct(self, plan: Plan, ground: MixedGraph) -> None:
        """Do the first round, then rounds of kicks until they bring nothing or time is up."""
        self.do_round(0, plan.first_tasks(self.memory.seed, ground), plan.first)
        number, without_gain = 0, 0
        while not self.stopped and number < plan.rounds and without_gain < self.patience():
            number += 1
            ends = self.best_ends()
            tasks = plan.kick_tasks(self.memory.seed, number, ends)
            self.do_round(number, tasks, (KICKS,) * len(tasks))
            gained = self.best_ends()[0].score > ends[0].score + TOLERANCE
            without_gain = 0 if gained else without_gain + 1
        self.save(at_once=True)

    def do_round(self, number: int, tasks: list[_core.Task], kinds: tuple[int, ...]) -> None:
        """Do the tasks that the checkpoint does not hold yet."""
        self.planned += len(tasks)
        done = {key: run for key, run in self.memory.runs.items() if key[0] == number}
        self.runs |= done
        missing = [k for k in range(len(tasks)) if (number, k) not in done]
        if not missing:
            return
        self.batch = [(number, k, kinds[k]) for k in missing]
        self.core.launch([tasks[k] for k in missing], min(self.budget.n_threads, len(missing)))
        while self.core.busy():
            self.collect()
            if self.budget.over and not self.stopped:
                self.stopped = True
                self.core.stop()
            self.report()

    def collect(self) -> None:
        """Wait up to a tenth of a second for a run to end; Python sees Ctrl-C in between."""
        for found in self.core.collect(0.1):
            number, k, kind = self.batch[found["index"]]
            run = _read_run(self.names, RUN_KINDS[kind], found)
            self.runs[number, k] = run
            if run.complete:
                self.memory.runs[number, k] = run
        self.save(at_once=False)

    def halt(self) -> None:
        """After Ctrl-C: end all runs and collect what they have."""
        self.stopped = True
        self.core.stop()
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
        self.budget.tell("runs", len(self.runs), self.planned, best)

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
        return self._scored(self.core.pool())

    def finished_pool(self) -> list[ScoredGraph]:
        """Return those met by finished runs, with the (rounded) scores that they are ranked by."""
        return self._scored(self.core.ranked_pool())

    def _scored(self, found: list[tuple[Any, float]]) -> list[ScoredGraph]:
        return [
            ScoredGraph(MixedGraph._from_bits(self.names, *bits), score) for bits, score in found
        ]


def _read_run(names: tuple[str, ...], strategy: str, found: dict[str, Any]) -> SearchRun:
    return SearchRun(
        strategy=strategy,
        start=MixedGraph._from_bits(names, *found["start"]),
        end=MixedGraph._from_bits(names, *found["end"]),
        score=found["score"],
        path=tuple(found["path"].tolist()),
        complete=found["complete"],
        seconds=found["seconds"],
        fits=found["fits"],
        cache_hits=found["cache_hits"],
        candidates=found["candidates"],
    )
