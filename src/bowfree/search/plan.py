"""The plan of a search: its strategy, the runs of the first round, and those of later rounds.

:mod:`bowfree.search.greedy` describes the strategies; this module has their numbers, tuned on both
families of ``benchmarks/bench_strategies.py``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import GraphClass, complete_docstring
from bowfree.search.result import TOLERANCE, ScoredGraph, runs_agree
from bowfree.space.search_space import default_burn_in
from bowfree.validation import as_list, check_choice, check_count, check_positive

StrategyName = Literal["ils", "restart"]
Direction = Literal["both", "forward", "backward", "forward-change", "backward-change"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)  # in the order of cpp/search/climb.hpp

RANDOM_STARTS = 100  # of "restart", as in the paper
WINDOW = 10.0  # of the pool, in units of n * score
MAX_RUNS = 100_000  # in the first round; the result contains all runs
STREAMS_PER_ROUND = 1_000_000  # of random numbers, one for each run

RUN_KINDS = ("climb", "sparse", "dag-first", "kicks")  # as in cpp/search/run.hpp
CLIMB, SPARSE, DAG_FIRST, KICKS = range(4)

SPARSE_SHARE = 4  # every fourth run of the first round is a sparse one...
FEW_NODES = 12  # ...up to this many variables; beyond, such runs end in huge districts
MANY_NODES = 30  # beyond, a search omits steps whose cost grows fast with the graph

#: Kicks of a run if a score takes milliseconds. In 15 searches with non-Gaussian errors and six
#: variables, 30 kicks a run led to the same scores after 3.9 times as many fits.
COSTLY_KICKS = 2
COSTLY_RUNS = 2  # of a later round, for each end of the runs before


def first_runs_for(d: int) -> int:
    """Return the number of runs of the first round.

    The runs in a large graph all end at about the same distance from the best score; kicks then
    improve more than further runs.
    """
    return 24 if d <= MANY_NODES else max(2, min(8, 800 // d))


def order_kicks_for(d: int) -> int:
    """Return the kicks of a dag-first run among orders; -1 with few variables: none.

    On two data sets of 500 variables, 100 kicks (of 10 ms each) led to DAGs that were better by 31
    and 22 units of n times the score than 6 kicks, and 300 kicks to another 47 and 14.
    """
    if d <= FEW_NODES:
        return -1
    return 30 if d <= MANY_NODES else min(100, 50_000 // d)


def dag_kicks_for(d: int) -> int:
    """Return the kicks of a dag-first run among DAGs, if it does not search among orders."""
    return min(5_000, max(30, d**3 // 8))


def kick_runs_for(d: int) -> int:
    """Return the number of runs of every later round."""
    return 8 if d <= FEW_NODES else max(2, min(4, 800 // d))


def kicks_per_run_for(d: int) -> int:
    """Return the number of kicks in each run of a later round.

    With many variables, a kick changes one part of the graph and does not explore the plateau.
    """
    return 30 if d > MANY_NODES else min(30, max(5, 20_000 // d**3))


def plateau_for(d: int) -> int:
    """Return the number of graphs of equal score that a run visits at a local optimum.

    A run visits a plateau once. On bowfree10, 40 graphs instead of 80 missed the best score known in one
    of 36 searches in which 80 found it.
    """
    return max(10, (800 if d <= FEW_NODES else 400) // d)


def patience_for(d: int, independent: int, at_best: int) -> int:
    """Return the number of rounds in a row without a gain after which the search ends.

    If fewer than one in eight of the `independent` runs have ended at the best score, there may be
    several such optima, and the search continues for longer. (On bowfree10, one of 16 searches with
    such disagreement had stopped too early. On bowfree20, 10 rounds instead of 6 found higher scores on
    two of the five sets, for 1.9 times the time.) With more variables a round costs more.
    """
    agree = runs_agree(independent, at_best)
    if d > MANY_NODES:
        return 1 if agree else 2
    if d > FEW_NODES:
        return 2 if agree else 10
    return 3 if agree else 8


def least_gain_for(d: int, edge_cost: float) -> float:
    """Return the smallest gain of a round that counts: in a large graph, the penalty of an edge."""
    return TOLERANCE if d <= MANY_NODES else max(TOLERANCE, edge_cost)


def work_for(d: int) -> float:
    """Return the work limit of one run, in multiplications of Newton's method (3e9 a second).

    Ordinary runs need 1e7 to 2e9 with 20 variables, and 5e9 to 2e10 with 500. Only those with
    districts of a dozen nodes and more, where a step takes a hundred times as long, come near it.
    """
    return math.inf if d <= FEW_NODES else min(1e7 * d**2, max(2e10, 5e7 * d))


def work_of_search_for(d: int) -> float:
    """Return the work of all runs after which there are no further rounds.

    With many variables later rounds find little: with 1000, 1e11 took 72 CPU seconds instead of 47, for
    22 units of n times the score and F of .856 and .736 instead of .855 and .734.
    """
    return 20 * work_for(d) if d <= MANY_NODES else 4e10


@dataclass(frozen=True)
class Work:
    """Work limits in multiplications, which are the same on every machine."""

    of_run: float
    of_search: float  # after which no round starts
    shared: bool  # whether the runs of a round share what is left

    @classmethod
    def of(cls, work: float | None, d: int) -> Work:
        """Return the default limits for d variables, or those of the option `work`."""
        default = cls(work_for(d), work_of_search_for(d), shared=False)
        return default if work is None else cls(default.of_run, work, shared=True)

    def of_each(self, done: float, n_runs: int) -> float:
        """Return the limit of each of the next runs."""
        return min(self.of_run, (self.of_search - done) / n_runs) if self.shared else self.of_run


class RunTask(NamedTuple):
    """Everything that a run depends on besides the data and the options."""

    kind: int
    seed: int
    stream: int
    start: MixedGraph | None = None
    max_work: float = math.inf
    bar: float = -sys.float_info.max  # the score that neighbors need to get into the pool

    def core(self) -> _core.Task:
        """Return the task in the form of the core."""
        bits = None if self.start is None else self.start._bits()
        return _core.Task(self.kind, self.seed, self.stream, bits, self.max_work, self.bar)


@dataclass(frozen=True)
class Plan:
    """The runs of the first round, and limits of later rounds."""

    first: tuple[int, ...]  # kinds of the runs of the first round
    starts: tuple[MixedGraph, ...]  # start graphs of the first of them
    from_required: bool  # whether the run after those starts at the graph of required edges
    rounds: float  # largest number of later rounds
    work: Work
    costly: bool = False  # whether a score takes milliseconds

    def first_tasks(self, seed: int, required_graph: MixedGraph) -> list[RunTask]:
        """Return the runs of the first round."""
        starts = [*self.starts, *([required_graph] if self.from_required else [])]
        limit = self.work.of_each(0.0, len(self.first))
        return [
            RunTask(kind, seed, k, starts[k] if k < len(starts) else None, limit)
            for k, kind in enumerate(self.first)
        ]

    def kick_tasks(
        self, seed: int, number: int, ends: list[ScoredGraph], done: float, bar: float
    ) -> list[RunTask]:
        """Return the runs of a later round, after `done` work.

        Half of the runs perturb the best graph, the others the next best ends of runs.
        """
        n_runs = kick_runs_for(len(ends[0].graph.nodes))
        if self.costly:
            n_runs = min(n_runs, COSTLY_RUNS * len(ends))
        limit = self.work.of_each(done, n_runs)
        ranks = [0 if k % 2 == 0 else (k + 1) // 2 for k in range(n_runs)]
        return [
            RunTask(
                KICKS,
                seed,
                STREAMS_PER_ROUND * number + k,
                ends[min(rank, len(ends) - 1)].graph,
                limit,
                bar,
            )
            for k, rank in enumerate(ranks)
        ]


@dataclass(frozen=True)
class Strategy:
    """How a search proceeds and what it keeps; the strategy options of :func:`bowfree.greedy_search`.

    Parameters
    ----------
    name : {"ils", "restart"}
        Iterated local search, or climbs from random graphs as in the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> paper = bf.search.Strategy("restart", restarts=20)
    >>> data = bf.datasets.load_demo()
    >>> len(bf.greedy_search(data, strategy=paper, rng=1).runs)
    21
    """

    name: StrategyName = "ils"
    starts: Sequence[MixedGraph] | None = None
    restarts: int | None = None
    rounds: int | None = None
    direction: Direction = "both"
    neighbors: int | None = None
    max_steps: int | None = None
    plateau: int | None = None
    work: float | None = None
    keep: int = 300
    window: float | None = None
    cache_mb: float = 256.0

    @classmethod
    def of(cls, strategy: StrategyName | Strategy, *values: Any) -> Strategy:
        """Return a strategy with the values of its further fields that are not None."""
        names = [entry.name for entry in fields(cls)[1:]]
        changes = {k: v for k, v in zip(names, values, strict=False) if v is not None}
        if isinstance(strategy, Strategy):
            return replace(strategy, **changes)
        return cls(strategy, **changes)

    def __post_init__(self) -> None:
        check_choice("strategy", self.name, get_args(StrategyName))
        check_choice("direction", self.direction, DIRECTIONS)
        restarts = 1 if self.name == "ils" else 0
        limits = {"restarts": restarts, "rounds": 0, "neighbors": 1, "max_steps": 0, "plateau": 0}
        for name, least in {**limits, "keep": 1}.items():
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least)
        for name in ("window", "cache_mb", "work"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.starts is not None:
            object.__setattr__(self, "starts", tuple(as_list("starts", self.starts, "graphs")))
        if self.restarts is not None and self.restarts > MAX_RUNS:
            raise BowfreeError(
                f"restarts = {self.restarts}: at most {MAX_RUNS:,} runs are possible in one search; "
                "search several times with different seeds"
            )
        if self.name == "restart" and self.rounds is not None:
            raise BowfreeError("rounds is an option of strategy='ils'; omit it with 'restart'")
        if self.name == "ils" and self.direction != "both":
            raise BowfreeError(
                f"direction={self.direction!r} requires strategy='restart'; the default strategy "
                "searches in both directions"
            )

    @property
    def cache_bytes(self) -> int:
        """Memory for the scores of districts."""
        return int(min(self.cache_mb, 2**40) * 2**20)

    def for_costly_scores(self) -> Strategy:
        """Return this strategy with fewer runs by default, for scores that take milliseconds."""
        if self.name == "restart":
            return self
        restarts = 4 if self.restarts is None else self.restarts
        return replace(self, restarts=restarts, rounds=1 if self.rounds is None else self.rounds)

    def also_from(self, graph: MixedGraph) -> Strategy:
        """Return this strategy with a run from `graph` first, in place of the empty graph."""
        if self.starts is None and self.name == "restart":
            restarts = RANDOM_STARTS if self.restarts is None else self.restarts
            return replace(self, starts=(graph,), restarts=restarts)
        return replace(self, starts=(graph, *(self.starts or ())))

    def plan(self, graph_class: GraphClass, d: int, costly: bool = False) -> Plan:
        """Return the runs for d variables; fewer if scores are `costly`."""
        starts = tuple(self.starts or ())
        work = Work.of(self.work, d)
        if self.name == "restart":
            default = RANDOM_STARTS if self.starts is None else 0
            restarts = default if self.restarts is None else self.restarts
            n_runs = check_count("restarts", restarts, 0) + max(1, len(starts))
            return Plan((CLIMB,) * n_runs, starts, not starts, 0, work)
        restarts = first_runs_for(d) if self.restarts is None else self.restarts
        n_first = check_count("restarts", restarts, 1)
        kinds: list[int] = [SPARSE if graph_class == "bidirected" else DAG_FIRST] * n_first
        if d <= FEW_NODES and graph_class not in ("dag", "bidirected"):
            kinds[SPARSE_SHARE - 1 :: SPARSE_SHARE] = [SPARSE] * (n_first // SPARSE_SHARE)
        rounds = math.inf if self.rounds is None else check_count("rounds", self.rounds, 0)
        return Plan((KICKS,) * len(starts) + tuple(kinds), starts, False, rounds, work, costly)

    def run_options(self, d: int, n: float, costly: bool = False) -> dict[str, Any]:
        """Return the options of every run for the core; fewer kicks if scores are `costly`."""
        plateau = plateau_for(d) if self.name == "ils" else 0
        return {
            "direction": DIRECTIONS.index(self.direction),
            "neighbors": self.neighbors or 0,
            "max_steps": -1 if self.max_steps is None else self.max_steps,
            "tolerance": TOLERANCE,
            "plateau": plateau if self.plateau is None else self.plateau,
            "order_kicks": order_kicks_for(d),
            "dag_kicks": COSTLY_KICKS if costly else dag_kicks_for(d),
            "bap_kicks": COSTLY_KICKS if costly else kicks_per_run_for(d),
            "whole_first": d > MANY_NODES,
            "burn_in": default_burn_in(d),
            "keep": self.keep,
            "window": (WINDOW if self.window is None else self.window) / n,
        }


Strategy.__doc__ = complete_docstring(Strategy)
