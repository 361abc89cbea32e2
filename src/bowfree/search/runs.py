"""One run of a search: what it is given, and what comes back, on this machine or another.

A run is a pure function of the moments, the options and its task. Threads of this process share
one :class:`_core.Search`, with its memory of scores and its pool. A worker elsewhere is sent the
:class:`Setup`, makes a core of its own, and sends back the run and the graphs that it met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.graph.encodings import Bits, graph_of_bits, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.search.plan import RUN_KINDS, Strategy, Task
from bowfree.search.result import ScoredGraph, SearchRun
from bowfree.space.search_space import SearchSpace


@dataclass(frozen=True, eq=False)
class Setup:
    """What every run of a search is given."""

    moments: Moments
    space: SearchSpace
    rule: ScoringRule
    strategy: Strategy

    @property
    def run_options(self) -> dict[str, Any]:
        """How a run climbs, for the core."""
        return self.strategy.run_options(len(self.moments.names), self.moments.n)

    @property
    def ground(self) -> MixedGraph:
        """The graph with the required edges only."""
        return self.space.required_graph(self.moments.names)

    def core(self) -> _core.Search:
        """Return a core that does runs."""
        return _core.Search(
            self.moments._core_data(self.rule.method),
            self.moments.n,
            self.rule.weight,
            self.strategy.cache_bytes,
            self.space.rules(self.moments.names),
            _core.RunOptions(**self.run_options),
            self.ground._bits(),
            self.rule.sweeps,
        )


class RunElsewhere(NamedTuple):
    """What a worker sends back: the run, and the graphs of its pool as they are ranked."""

    run: SearchRun
    pool: list[ScoredGraph]


def run_elsewhere(piece: tuple[Setup, Task, Budget]) -> RunElsewhere | None:
    """Do one run by itself; None when the time was up before there was anything."""
    setup, task, budget = piece
    core, names = setup.core(), setup.moments.names
    core.launch([task.core()], 1)
    runs = []
    while core.busy():
        runs += [read_run(names, task.kind, found) for found in core.collect(0.05)]
        if budget.expired:
            core.stop()
    if not runs:
        return None
    (run,) = runs
    return RunElsewhere(run, scored(names, core.ranked_pool() if run.complete else core.pool()))


def read_run(names: tuple[str, ...], kind: int, found: dict[str, Any]) -> SearchRun:
    """Read a run as the core describes it."""
    return SearchRun(
        strategy=RUN_KINDS[kind],
        start=graph_of_bits(names, *found["start"]),
        end=graph_of_bits(names, *found["end"]),
        score=found["score"],
        path=tuple(found["path"].tolist()),
        complete=found["complete"],
        hit_work_limit=found["exhausted"],
        seconds=found["seconds"],
        work=found["work"],
        fits=found["fits"],
        cache_hits=found["cache_hits"],
        candidates=found["candidates"],
    )


def scored(names: tuple[str, ...], found: tuple[Bits, Bits, list[float]]) -> list[ScoredGraph]:
    """Read a pool as the core describes it: bits of shape (graphs, d, words), and scores."""
    parents, spouses, scores = found
    graphs = graphs_of_bits(names, parents, spouses)
    return [ScoredGraph(*pair) for pair in zip(graphs, scores, strict=True)]
