"""One run of a search, in this process or on another machine.

A run is a pure function of the moments, the options and its task. Threads of this process share one
:class:`_core.Search`, with its cache of scores and its pool. A worker elsewhere receives the
:class:`Setup`, makes its own core, and returns the run and its pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments
from bowfree.graph.encodings import Bits, graph_of_bits, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.search.plan import RUN_KINDS, RunTask, Strategy
from bowfree.search.result import ScoredGraph, SearchRun
from bowfree.space.search_space import SearchSpace


@dataclass(frozen=True, eq=False)
class Setup:
    """The data and options of all runs of a search."""

    moments: Moments
    space: SearchSpace
    rule: ScoringRule
    strategy: Strategy

    @property
    def run_options(self) -> dict[str, Any]:
        """The options of every run for the core."""
        return self.strategy.run_options(len(self.moments.names), self.moments.n)

    @property
    def required_graph(self) -> MixedGraph:
        """The graph of the required edges."""
        return self.space.required_graph(self.moments.names)

    def core(self) -> _core.Search:
        """Return a core that executes runs."""
        moments = self.moments
        blocks = moments if isinstance(moments, BlockMoments) else None
        moments = moments if blocks is None else blocks.columns
        return _core.Search(
            moments._core_data(self.rule.method),
            self.moments.n,
            self.rule.weight,
            self.strategy.cache_bytes,
            self.space.rules(self.moments.names),
            _core.RunOptions(**self.run_options),
            self.required_graph._bits(),
            self.rule.sweeps,
            [] if blocks is None else blocks.sizes,
        )


class FinishedRun(NamedTuple):
    """A run of a worker, and its pool with the scores by which it is ranked."""

    run: SearchRun
    pool: list[ScoredGraph]


def execute_run(task: tuple[Setup, RunTask, Budget]) -> FinishedRun | None:
    """Execute one run by itself; return None if the budget expired before it had a graph."""
    setup, run_task, budget = task
    core, names = setup.core(), setup.moments.names
    core.launch([run_task.core()], 1)
    runs = []
    while core.busy():
        runs += [to_run(names, run_task.kind, found) for found in core.collect(0.05)]
        if budget.expired:
            core.stop()
    if not runs:
        return None
    (run,) = runs
    return FinishedRun(run, to_pool(names, core.ranked_pool() if run.complete else core.pool()))


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


def to_pool(names: tuple[str, ...], found: tuple[Bits, Bits, list[float]]) -> list[ScoredGraph]:
    """Convert a pool from the form of the core: bits of shape (graphs, d, words), and scores."""
    parents, spouses, scores = found
    graphs = graphs_of_bits(names, parents, spouses)
    return [ScoredGraph(*pair) for pair in zip(graphs, scores, strict=True)]
