"""How the chains run: in segments, on threads of the core or as tasks of an executor.

Chains run in *segments*: the two halves of the burn-in, then one whose samples count, and, as long
as the chains have not mixed and `max_steps` allows it, another one that is twice as long. The lists
of graphs that proposals jump to and splice from are renewed between segments only. A worker
receives the state of a chain (graph, random numbers, counters) and these lists, runs a *block* of
steps with a cache of its own, and returns the new state and the record of the chain.

Segments are divided into *slices*, which are the same wherever a chain runs: at the beginning of
a slice the score of the graph is computed anew, so rounding errors do not depend on the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.data.nominal import split_blocks
from bowfree.data.sample import Floats
from bowfree.errors import WorkersLost
from bowfree.graph.encodings import States
from bowfree.parallel.budget import Budget, LazyTasks, run_tasks
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.posterior import GraphPosterior
from bowfree.uncertainty.structure_samples import have_mixed

SLICES = 50  # per run without extensions; progress is reported after each
MAX_SLICE = 5000  # steps
FIRST_BLOCK = 5  # slices; each further block of a segment is twice as long,
MAX_BLOCK = 80  # up to this, because every block starts with an empty cache of scores


@dataclass(frozen=True, eq=False)
class ChainSetup:
    """Settings that all chains share."""

    moments: Moments
    space: SearchSpace
    posterior: GraphPosterior
    keep: int
    window: float
    cache_bytes: int

    def start(self, graphs: Sequence[Any], seed: int) -> _core.StructureChains:
        """Return chains of the core that start at these graphs."""
        names = self.moments.names
        columns, sizes = split_blocks(self.moments)
        return _core.StructureChains(
            columns._core_data(),
            self.moments.n,
            self.posterior.penalty,
            self.cache_bytes,
            self.space.rules(names),
            graphs,
            temperature=self.posterior.temperature,
            log_prior=self.posterior.log_prior(self.moments, self.space).tolist(),
            keep=self.keep,
            window=self.window,
            seed=seed,
            sizes=sizes,
        )


class Segment(NamedTuple):
    """Steps during which the graphs to jump to and to splice from stay the same."""

    steps: int
    thin: int
    slice: int  # steps
    burn_in: bool = False

    def slices(self) -> Iterator[int]:
        """Yield the number of steps of each slice."""
        for begin in range(0, self.steps, self.slice):
            yield min(self.slice, self.steps - begin)

    def blocks(self, first: int) -> Iterator[Segment]:
        """Yield the parts that workers run in one task; the first has `first` slices."""
        begin, size = 0, first * self.slice
        while begin < self.steps:
            yield self._replace(steps=min(size, self.steps - begin))
            begin, size = begin + size, min(2 * size, max(first, MAX_BLOCK) * self.slice)


def plan_segments(burn_in: int, steps: int, thin: int, max_steps: int) -> Iterator[Segment]:
    """Yield the two halves of the burn-in, and the segments to run until the chains have mixed.

    Each of the latter is twice as long as the one before and has as many samples; together they
    have at most `max_steps` steps.
    """
    # Renewing the lists in the middle of the burn-in lets the first jumps reach regions that the
    # chains would not have found by themselves.
    half = burn_in // 2
    size = min(-(-(burn_in + steps) // SLICES), MAX_SLICE)
    yield Segment(half, thin, size, burn_in=True)
    yield Segment(burn_in - half, thin, size, burn_in=True)
    done = 0
    while done == 0 or done + steps <= max_steps:
        yield Segment(steps, thin, size)
        done, steps, thin = done + steps, 2 * steps, 2 * thin


@dataclass(frozen=True, eq=False)
class SegmentSamples:
    """Samples of a segment, the same number from every chain."""

    segment: Segment
    before: int  # steps of each chain before the segment
    scores: Floats
    states: States
    acceptance: Floats

    @property
    def n_steps(self) -> int:
        """Steps of each chain that the samples are taken from."""
        return int(self.scores.shape[1]) * self.segment.thin


class ChainOutcome(NamedTuple):
    """Samples of the last usable segment, and the reason why chains ended early, if they did."""

    samples: SegmentSamples | None
    complete: bool
    interruption: KeyboardInterrupt | WorkersLost | None


def run_chains(
    chains: _core.StructureChains,
    n_chains: int,
    segments: Iterable[Segment],
    budget: Budget,
    setup: ChainSetup,
    planned: int,
) -> ChainOutcome:
    """Run segment after segment until the chains have mixed, time is up or workers are lost.

    The samples are those of the last segment or, if it was cut short, of the previous one if that
    is longer. The number of segments depends on the samples, not on the clock, unless time is up.
    """
    steps = _StepCounter(budget, n_chains, planned)
    kept: SegmentSamples | None = None
    current, done, complete = None, 0, False
    interruption: KeyboardInterrupt | WorkersLost | None = None
    try:
        for segment in segments:
            if kept is not None and have_mixed(kept.states):
                break
            if current is not None:
                complete = chains.begin_segment(budget.seconds_left)
                if not complete:
                    break
                done += current.steps
            current, complete = segment, False
            steps.planned = max(steps.planned, done + segment.steps)
            if budget.executor is None:
                complete = _run_locally(chains, segment, budget, steps)
            else:
                complete = _run_on_workers(chains, segment, budget, setup, steps)
            kept = _longer_samples(kept, chains, segment, done)
            if not complete:
                break
    except (KeyboardInterrupt, WorkersLost) as error:
        interruption = error
        if current is not None:
            kept = _longer_samples(kept, chains, current, done)
    return ChainOutcome(kept, complete and interruption is None, interruption)


def _longer_samples(
    kept: SegmentSamples | None, chains: _core.StructureChains, segment: Segment, before: int
) -> SegmentSamples | None:
    """Return the samples of a segment, or those of the previous one if they cover more steps."""
    if segment.burn_in:
        return None
    found = chains.samples()
    size = min(len(chain["scores"]) for chain in found)
    if size < 4:
        return kept
    latest = SegmentSamples(
        segment,
        before,
        np.stack([chain["scores"][:size] for chain in found]),
        np.stack([chain["states"][:size] for chain in found]),
        np.array([chain["accepted"] / chain["steps"] for chain in found]),
    )
    return kept if kept is not None and kept.n_steps > latest.n_steps else latest


class _StepCounter:
    """Reports progress in steps per chain."""

    def __init__(self, budget: Budget, n_chains: int, planned: int):
        self.budget, self.n_chains = budget, n_chains
        self.planned, self.done = planned, 0
        self.add(0)

    def add(self, steps: int) -> None:
        """Count steps, summed over the chains."""
        self.done += steps
        self.budget.report_progress("steps", self.done // self.n_chains, self.planned)


def _run_locally(
    chains: _core.StructureChains, segment: Segment, budget: Budget, steps: _StepCounter | None
) -> bool:
    """Run a segment on threads of the core; return False if time was up before its end."""
    for size in segment.slices():
        seconds = budget.seconds_left
        if budget.expired or not chains.run(size, segment.thin, budget.n_threads, seconds):
            return False
        if steps is not None:
            steps.add(steps.n_chains * size)
    return True


def _run_on_workers(
    chains: _core.StructureChains,
    segment: Segment,
    budget: Budget,
    setup: ChainSetup,
    steps: _StepCounter,
) -> bool:
    """Run a segment as tasks of an executor; return False if time was up before its end."""
    lists = chains.jumps(), chains.memory()
    setup = replace(setup, moments=setup.moments.without_rows())
    # All chains finish a block before any begins the next, so none is far ahead when time is up.
    # Blocks that are running then may be lost; with a time limit, the first ones are short.
    first = FIRST_BLOCK if segment.burn_in or budget.time_limit is None else 1
    for block in segment.blocks(first):
        complete = 0

        def task(chain: int, block: Segment = block) -> BlockTask:
            return setup, chains.state(chain), lists, block, budget.for_task(0)

        tasks = LazyTasks(steps.n_chains, task)  # their time limits depend on the clock
        for chain, (state, record, done) in run_tasks(run_block, tasks, budget):
            chains.restore(chain, state, record)
            if done:
                complete += 1
                steps.add(block.steps)
        if complete < steps.n_chains:
            return False
    return True


# The setup, the state of a chain, the graphs to jump to and to splice from, the steps, the budget.
BlockTask = tuple[ChainSetup, Any, tuple[Any, Any], Segment, Budget]


def run_block(task: BlockTask) -> tuple[Any, Any, bool]:
    """Run one block of one chain on a worker; return its state and record, and if time sufficed."""
    setup, state, (jumps, memory), block, budget = task
    graph, *_ = state
    chains = setup.start([graph], seed=0)
    chains.restore(0, state)
    chains.set_jumps(jumps)
    chains.add_to_memory(memory)
    complete = _run_locally(chains, block, budget, None)
    return chains.state(0), chains.record(0), complete
