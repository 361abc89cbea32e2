"""What a search does in which order: the runs of the first round, and those of later ones.

:mod:`bowfree.search.greedy` says what the strategies are for; here are their numbers. A plan knows
nothing of threads or clocks: :mod:`bowfree.search.conductor` carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.options import at_least
from bowfree.search.result import ScoredGraph
from bowfree.space.random_graphs import GraphClass

__all__ = ["KICKS", "RUN_KINDS", "Plan", "StrategyName", "make_plan"]

StrategyName = Literal["ils", "restart"]

RUN_KINDS = ("climb", "sparse", "dag-first", "kicks")  # as in cpp/search/strategy.hpp
CLIMB, SPARSE, DAG_FIRST, KICKS = range(4)

# The default strategy, tuned on both families of benchmarks/bench_strategies.py. A kick on 20 nodes
# costs a hundred times as much as one on 10, so there are fewer, while kicks on DAGs cost next to
# nothing and make the start of all the rest.
SPARSE_SHARE = 4  # every fourth run of the first round is a sparse one...
SPARSE_NODES = 12  # ...up to so many variables; beyond, such runs end in huge districts


def first_runs_for(d: int) -> int:
    """Return the number of runs of the first round."""
    return 24 if d <= 30 else 8


def dag_kicks_for(d: int) -> int:
    """Return the number of kicks of a dag-first run while it is among DAGs."""
    return min(5_000, max(30, d**3 // 8))


def kick_runs_for(d: int) -> int:
    """Return the number of runs of every later round."""
    return 8 if d <= SPARSE_NODES else 4


def kicks_per_run_for(d: int) -> int:
    """Return the number of kicks of each of these."""
    return min(30, max(5, 20_000 // d**3))


def patience_for(d: int) -> int:
    """Return how many rounds in a row may bring no gain."""
    return 3 if d <= SPARSE_NODES else 1


def plateau_for(d: int) -> int:
    """Return how many graphs of equal score are visited at a local optimum."""
    return max(10, 400 // d)


@dataclass(frozen=True)
class Plan:
    """How many runs of which kind, in the first round and in later ones."""

    first: tuple[int, ...]  # kinds of the runs of the first round
    starts: tuple[MixedGraph, ...]  # where the first of them begin
    from_ground: bool  # whether the run after those begins at the required edges
    rounds: float  # of kicks

    def first_tasks(self, seed: int, ground: MixedGraph) -> list[_core.Task]:
        """Return the runs of the first round; `ground` has the required edges only."""
        begin = [*self.starts, *([ground] if self.from_ground else [])]
        return [
            _core.Task(kind, seed, k, begin[k]._bits() if k < len(begin) else None)
            for k, kind in enumerate(self.first)
        ]

    def kick_tasks(self, seed: int, number: int, ends: list[ScoredGraph]) -> list[_core.Task]:
        """Half of the runs kick the best graph, the others the next best ends."""
        tasks = []
        for k in range(kick_runs_for(len(ends[0].graph.nodes))):
            rank = 0 if k % 2 == 0 else (k + 1) // 2
            start = ends[min(rank, len(ends) - 1)].graph
            tasks.append(_core.Task(KICKS, seed, 1_000_000 * number + k, start._bits()))
        return tasks


def make_plan(
    strategy: str,
    restarts: int | None,
    rounds: int | None,
    starts: Sequence[MixedGraph] | None,
    direction: str,
    graph_class: GraphClass,
    d: int,
) -> Plan:
    """Return the plan of a strategy, its options checked."""
    begin = () if starts is None else tuple(starts)
    if strategy == "restart":
        if rounds is not None:
            raise BowfreeError("rounds belongs to strategy='ils'; leave it out with 'restart'")
        random = (100 if starts is None else 0) if restarts is None else restarts
        n_random = at_least("restarts", random, 0)
        n_given = len(begin) if begin else 1
        return Plan((CLIMB,) * (n_given + n_random), begin, not begin, 0)
    if strategy != "ils":
        raise BowfreeError(f"unknown strategy {strategy!r}; choose 'ils' or 'restart'")
    if direction != "both":
        raise BowfreeError(
            f"direction={direction!r} needs strategy='restart': the default strategy goes both ways"
        )
    n_first = at_least("restarts", first_runs_for(d) if restarts is None else restarts, 1)
    if graph_class == "bidirected":
        kinds = (SPARSE,) * n_first
    else:
        mixed = d <= SPARSE_NODES and graph_class != "dag"
        kinds = tuple(
            SPARSE if mixed and k % SPARSE_SHARE == SPARSE_SHARE - 1 else DAG_FIRST
            for k in range(n_first)
        )
    limit = math.inf if rounds is None else at_least("rounds", rounds, 0)
    return Plan((KICKS,) * len(begin) + kinds, begin, False, limit)
