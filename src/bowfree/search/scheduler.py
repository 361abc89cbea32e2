"""Execution of a plan: runs on threads of the core, or on the workers of an executor.

A run is a pure function of the moments, the options and its number. Threads of this process share
one :class:`_core.Search`, with its cache of scores and its pool. A worker elsewhere receives the
:class:`Setup`, makes its own core, and returns the run and its pool. The scheduler also observes
the time limit and Ctrl-C, reports progress, and writes the checkpoint: finished runs in a file, so
that a search can resume after it was killed, with the same result, bit for bit.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.data.nominal import split_blocks
from bowfree.data.sample import Floats, NonGaussianRows
from bowfree.errors import BowfreeError, CheckpointError
from bowfree.graph.encodings import Bits, graph_of_bits, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget, LazyTasks, run_tasks
from bowfree.search.plan import (
    CLIMB,
    RUN_KINDS,
    STREAMS_PER_ROUND,
    Plan,
    RunTask,
    Strategy,
    least_gain_for,
    patience_for,
)
from bowfree.search.result import TOLERANCE, ScoredGraph, SearchRun
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import replace_file, temporary_prefix, truncate

CHECKPOINT_FORMAT = "bowfree search checkpoint 5"
SAVE_SECONDS = 1.0  # between two writes of the checkpoint
POLL_SECONDS = 0.05  # between two checks of the time limit and Ctrl-C


Score = Callable[[tuple[str, ...], dict[str, tuple[str, ...]], tuple[tuple[str, str], ...]], float]
"""A score of one's own: a function of a district, the parents of its members, and their spouses."""


class DistrictScore:
    """Calls a score with names, and keeps its exception: the core only learns that it has failed."""

    def __init__(self, names: tuple[str, ...], function: Score) -> None:
        self.names, self.function = names, function
        self.error: BaseException | None = None

    def __call__(
        self, nodes: list[int], k: int, parents: list[list[int]], spouses: list[tuple[int, int]]
    ) -> float | None:
        named = [self.names[node] for node in nodes]
        district, pairs = tuple(named[:k]), tuple((named[a], named[b]) for a, b in spouses)
        own = (tuple(named[p] for p in above) for above in parents)
        try:
            value = float(self.function(district, dict(zip(district, own, strict=True)), pairs))
            if math.isnan(value):
                raise BowfreeError(f"score: the function returned NaN for the district {district}")
        except BaseException as error:
            self.error = self.error or error
            return None
        return value

    @contextmanager
    def errors_of(self, core: _core.Search) -> Iterator[None]:
        """Raise the exception of the function in place of the core's."""
        try:
            yield
        except RuntimeError:
            if self.error is None:
                raise
            with suppress(RuntimeError):  # threads must end before the core is deleted
                while core.busy():
                    time.sleep(0.01)
            # Otherwise the core would refer to a traceback that refers to the core.
            error, self.error = self.error, None
            raise error from None


@dataclass(frozen=True, eq=False)
class Setup:
    """The data and options of all runs of a search."""

    moments: Moments
    space: SearchSpace
    rule: ScoringRule
    strategy: Strategy
    score: DistrictScore | None = None

    @property
    def run_options(self) -> dict[str, Any]:
        """The options of every run for the core."""
        costly = isinstance(self.moments.sample, NonGaussianRows)
        return self.strategy.run_options(len(self.moments.names), self.moments.n, costly)

    @property
    def required_graph(self) -> MixedGraph:
        """The graph of the required edges."""
        return self.space.required_graph(self.moments.names)

    def core(self) -> _core.Search:
        """Return a core that executes runs."""
        columns, sizes = split_blocks(self.moments)
        return _core.Search(
            columns._core_data(self.rule.method),
            self.moments.n,
            self.rule.weight,
            self.strategy.cache_bytes,
            self.space.rules(self.moments.names),
            _core.RunOptions(**self.run_options),
            self.required_graph._bits(),
            self.rule.sweeps,
            sizes,
            self.score,
        )

    def errors_of(self, core: _core.Search) -> AbstractContextManager[None]:
        """Return a context that raises the exceptions of a score of one's own."""
        return nullcontext() if self.score is None else self.score.errors_of(core)


def execute_run(
    task: tuple[Setup, RunTask, Budget],
) -> tuple[SearchRun, list[ScoredGraph]] | None:
    """Execute one run by itself; return None if the budget expired before it had a graph.

    The pool of the run has the scores by which it is ranked.
    """
    setup, run_task, budget = task
    core, names = setup.core(), setup.moments.names
    core.launch([run_task.core()], 1)
    runs = []
    with setup.errors_of(core):
        while core.busy():
            runs += [to_run(names, run_task.kind, found) for found in core.collect(0.05)]
            if budget.expired:
                core.stop()
    if not runs:
        return None
    (run,) = runs
    return run, to_pool(names, core.ranked_pool() if run.complete else core.pool())


def to_run(names: tuple[str, ...], kind: int, found: dict[str, Any]) -> SearchRun:
    """Convert a run from the form of the core."""
    same = ("score", "complete", "seconds", "work", "fits", "cache_hits", "candidates")
    return SearchRun(
        strategy=RUN_KINDS[kind],
        start=graph_of_bits(names, *found["start"]),
        end=graph_of_bits(names, *found["end"]),
        path=tuple(found["path"].tolist()),
        hit_work_limit=found["hit_work_limit"],
        **{name: found[name] for name in same},
    )


def to_pool(names: tuple[str, ...], found: tuple[Bits, Bits, Floats]) -> list[ScoredGraph]:
    """Convert a pool from the form of the core: bits of shape (graphs, d, words), and scores."""
    parents, spouses, scores = found
    graphs = graphs_of_bits(names, parents, spouses)
    return list(map(ScoredGraph, graphs, scores.tolist()))


@dataclass
class Checkpoint:
    """Finished runs by (round, index), and their pool with the scores by which it is ranked.

    The file has a line with the format and a digest, and one with the content as JSON. A file of
    other data, options or versions, or a damaged one, is refused and not changed.
    """

    path: str  # empty for none
    seed: int
    fingerprint: dict[str, str]  # a digest of the data, and the options of the search
    runs: dict[tuple[int, int], SearchRun] = field(default_factory=dict)
    pool: list[ScoredGraph] = field(default_factory=list)
    bars: list[float] = field(default_factory=list)  # `RunTask.bar` in rounds 1, 2, ...

    def save(self) -> None:
        """Write the file; if this fails, the old file is unchanged."""
        content = {
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "runs": [[*key, vars(run)] for key, run in sorted(self.runs.items())],
            "pool": self.pool,
            "bars": self.bars,
        }
        body = json.dumps(content, default=lambda graph: [graph._parents, graph._spouses])
        try:
            replace_file(self.path, f"{_header(body)}\n{body}".encode(), permissions=0o600)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {truncate(self.path)} cannot be written "
                f"({error.strerror or error}): free some space, or choose another path"
            ) from error

    def load(self, nodes: tuple[str, ...], *, any_seed: bool) -> None:
        """Read the file, unless it belongs to another search; with `any_seed` also its seed."""
        try:
            text = Path(self.path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {truncate(self.path)} cannot be read "
                f"({error.strerror or error}): choose another path"
            ) from error
        header, _, body = text.partition("\n")
        if header != _header(body):
            raise CheckpointError(
                f"{truncate(self.path)} is not a complete checkpoint of this version (truncated, "
                "damaged, or another kind of file): delete it, or choose another path"
            )
        content = json.loads(body)
        for name, value in self.fingerprint.items():
            found = content["fingerprint"][name]
            if found != value:
                raise CheckpointError(
                    f"{self.path} belongs to another search: its {name} is {found}, here it is "
                    f"{value}; choose another path"
                )
        if not any_seed and content["seed"] != self.seed:
            raise CheckpointError(
                f"{self.path} belongs to a search with another rng; pass the same one, or rng=None "
                "to use the one in the file"
            )

        def graph(masks: list[list[int]]) -> MixedGraph:
            return MixedGraph._from_masks(nodes, *masks)

        self.seed = content["seed"]
        for number, k, run in content["runs"]:
            ends = {name: graph(run[name]) for name in ("start", "end")}
            self.runs[number, k] = SearchRun(**run | ends | {"path": tuple(run["path"])})
        self.pool = [ScoredGraph(graph(masks), score) for masks, score in content["pool"]]
        self.bars = content["bars"]

    def remove_temporary_files(self) -> None:
        """Remove temporary files of a search that was killed while it wrote this checkpoint."""
        folder = os.path.dirname(self.path)
        pattern = glob.escape(os.path.join(folder, temporary_prefix(self.path))) + "*.tmp"
        for path in glob.glob(pattern, include_hidden=True):
            with suppress(OSError):
                os.unlink(path)


def _header(body: str) -> str:
    return f"{CHECKPOINT_FORMAT} {hashlib.sha256(body.encode()).hexdigest()}"


def data_digest(moments: Moments) -> str:
    """Return a digest of the names, n, and all numbers that the likelihood depends on."""
    digest = hashlib.sha256(repr((moments.names, moments.n)).encode("utf-8", "surrogatepass"))
    for numbers in moments._numbers():
        digest.update(numbers.tobytes())
    return digest.hexdigest()[:32]


@dataclass
class Scheduler:
    """Executes the runs of a plan and collects them by (round, index)."""

    setup: Setup
    checkpoint: Checkpoint
    budget: Budget

    def __post_init__(self) -> None:
        self.core = self.setup.core()
        self.names = self.setup.moments.names
        self.runs: dict[tuple[int, int], SearchRun] = {}
        self.batch: list[tuple[int, int, RunTask]] = []  # (round, index) of the runs in progress
        self.planned = 0
        self.n_rounds = 0
        self.stopped = False
        self.hit_work_limit = False
        self.saved, self.save_failed = time.monotonic(), False
        if self.checkpoint.path:
            self.checkpoint.remove_temporary_files()
            self.checkpoint.save()  # a path that cannot be written is reported before the search
        for graph, score in self.checkpoint.pool:
            self.core.offer(*graph._bits(), score)

    def execute(self, plan: Plan) -> None:
        """Execute the first round, then rounds of kicks until there is no gain or no time."""
        n, weight, d = self.setup.moments.n, self.setup.rule.weight, len(self.names)
        least_gain = least_gain_for(d, weight * math.log(n) / n)
        self.execute_round(0, plan.first_tasks(self.checkpoint.seed, self.setup.required_graph))
        number, without_gain = 0, 0
        while not self.stopped and number < plan.rounds and without_gain < self.patience():
            done = math.fsum(run.work for run in self.runs.values())
            if done > plan.work.of_search:
                self.hit_work_limit = True
                break
            number += 1
            ends, bars = self.best_ends(), self.checkpoint.bars
            if len(bars) < number:
                bars.append(self.core.least_in_pool() - TOLERANCE)
            tasks = plan.kick_tasks(self.checkpoint.seed, number, ends, done, bars[number - 1])
            self.execute_round(number, tasks)
            gained = self.best_ends()[0].score > ends[0].score + least_gain
            without_gain = 0 if gained else without_gain + 1
        self.save()

    def climb_from(self, graph: MixedGraph) -> None:
        """Execute a last round, one run from a graph that is better than those found."""
        number = self.n_rounds
        self.execute_round(
            number, [RunTask(CLIMB, self.checkpoint.seed, STREAMS_PER_ROUND * number, graph)]
        )
        self.save()

    def execute_round(self, number: int, tasks: list[RunTask]) -> None:
        """Execute the tasks that are not in the checkpoint."""
        self.planned += len(tasks)
        self.n_rounds = number + 1
        done = {key: run for key, run in self.checkpoint.runs.items() if key[0] == number}
        self.runs |= done
        self.batch = [(number, k, task) for k, task in enumerate(tasks) if (number, k) not in done]
        if not self.batch:
            return
        if self.budget.executor is not None:
            self.execute_on_executor()
        else:
            self.execute_on_threads()
        if not self.runs:  # no time at all: the core returns at least the start of a run
            self.batch = self.batch[:1]
            self.execute_on_threads()

    def execute_on_threads(self) -> None:
        tasks = [task.core() for _, _, task in self.batch]
        self.core.launch(tasks, self.budget.n_threads)
        while self.core.busy():
            self.collect()
            if self.budget.expired:
                self.stop()
            self.report_progress()

    def execute_on_executor(self) -> None:
        setup = replace(self.setup, moments=self.setup.moments.without_rows())
        batch = self.batch
        tasks = LazyTasks(len(batch), lambda k: (setup, batch[k][2], self.budget.for_task(0)))
        self.report_progress()
        for index, finished in run_tasks(execute_run, tasks, self.budget):
            if finished is not None:
                run, pool = finished
                for graph, score in pool:
                    parents, spouses = graph._bits()
                    self.core.offer(parents, spouses, score, run.complete)
                self.add(index, run)
            self.save_sometimes()
            self.report_progress()
        if self.budget.expired:
            self.stop()

    def collect(self) -> None:
        """Wait a moment for runs to end."""
        left = self.budget.seconds_left
        seconds = POLL_SECONDS if left is None or self.stopped else min(POLL_SECONDS, left)
        for found in self.core.collect(seconds):
            index = found["index"]
            self.add(index, to_run(self.names, self.batch[index][2].kind, found))
        self.save_sometimes()

    def add(self, index: int, run: SearchRun) -> None:
        """Add a run of the batch; only a complete one goes into the checkpoint."""
        number, k, _ = self.batch[index]
        self.runs[number, k] = run
        if run.complete:
            self.checkpoint.runs[number, k] = run

    def stop(self) -> None:
        """End the runs of this process."""
        self.stopped = True
        self.core.stop()

    def interrupt(self) -> None:
        """End all runs after Ctrl-C, and collect what they have."""
        self.stop()
        while self.core.busy():
            self.collect()
        self.save()

    def save_sometimes(self) -> None:
        """Write the checkpoint unless the last write was a moment ago."""
        if time.monotonic() > self.saved + SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, if there is one."""
        if not self.checkpoint.path:
            return
        # The graphs of finished runs, with the rounded scores by which they are ranked.
        self.checkpoint.pool = to_pool(self.names, self.core.ranked_pool())
        try:
            self.checkpoint.save()
            self.save_failed = False
        except CheckpointError as error:
            # The search continues; the next write may succeed.
            if not self.save_failed:
                warnings.warn(f"{error}; the search continues", RuntimeWarning, stacklevel=2)
            self.save_failed = True
        self.saved = time.monotonic()

    def report_progress(self) -> None:
        best = max((run.score for run in self.runs.values()), default=None)
        self.budget.report_progress("runs", len(self.runs), self.planned, best)

    def patience(self) -> int:
        """Return the number of rounds in a row without a gain after which the search ends."""
        best = max(run.score for run in self.runs.values())
        first = [run for (number, _), run in self.runs.items() if number == 0]
        at_best = sum(run.score >= best - TOLERANCE for run in first)
        return patience_for(len(self.names), len(first), at_best)

    def best_ends(self) -> list[ScoredGraph]:
        """Return the ends of runs, best first, one for each score."""
        ends: dict[float, tuple[tuple[int, int], SearchRun]] = {}
        best = math.inf
        for number, run in sorted(self.runs.items(), key=lambda item: -item[1].score):
            if run.score < best - TOLERANCE:
                best = run.score
            # Among equal scores the first run counts, whatever their rounding errors.
            ends[best] = min(ends.get(best, (number, run)), (number, run), key=lambda end: end[0])
        return [ScoredGraph(run.end, run.score) for _, run in ends.values()]
