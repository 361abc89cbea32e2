"""What a search does in which order: the runs of the first round, and those of later ones.

:mod:`bowfree.search.greedy` says what the strategies are for; here are their numbers. A plan knows
nothing of threads or clocks: :mod:`bowfree.search.scheduler` carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import GraphClass, complete_docstring
from bowfree.search.confidence import runs_agree
from bowfree.search.result import TOLERANCE, ScoredGraph
from bowfree.space.random_graphs import default_burn_in
from bowfree.validation import as_list, check_choice, check_count, check_positive

StrategyName = Literal["ils", "restart"]
Direction = Literal["both", "forward", "backward", "forward-change", "backward-change"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)  # in the order of cpp/search/climb.hpp

RANDOM_STARTS = 100  # of "restart", as in the paper
WINDOW = 10.0  # of the pool, in units of n * score
MOST_RUNS = 100_000  # of a first round; every one is kept in the result

RUN_KINDS = ("climb", "sparse", "dag-first", "kicks")  # as in cpp/search/run.hpp
CLIMB, SPARSE, DAG_FIRST, KICKS = range(4)

# The default strategy, tuned on both families of benchmarks/bench_strategies.py. A kick on 20 nodes
# costs a hundred times as much as one on 10, so there are fewer, while kicks on orders cost next to
# nothing and make the start of all the rest.
SPARSE_SHARE = 4  # every fourth run of the first round is a sparse one...
SPARSE_NODES = 12  # ...up to this many variables; beyond, such runs end in huge districts
MANY_NODES = 30  # beyond these a search spares itself what costs more the larger the graph is


def first_runs_for(d: int) -> int:
    """Return the number of runs of the first round.

    Of a large graph every run gets some places right and others wrong, so that all end about
    equally far from the best; kicks mend more than another run finds.
    """
    return 24 if d <= MANY_NODES else max(2, min(8, 800 // d))


def order_kicks_for(d: int) -> int:
    """Return the kicks of a dag-first run among orders; -1 with few variables: it is not there.

    A kick goes over all places of all variables, and the trees that remember parents grow by it:
    10 ms with 500 variables. On two sets of that size 100 kicks led to DAGs that were better by 31
    and 22 than 6 kicks had, in units of n times the score, and 300 to another 47 and 14.
    """
    if d <= SPARSE_NODES:
        return -1
    return 30 if d <= MANY_NODES else min(100, 50_000 // d)


def dag_kicks_for(d: int) -> int:
    """Return the kicks of a dag-first run among DAGs, where it is not among orders."""
    return min(5_000, max(30, d**3 // 8))


def kick_runs_for(d: int) -> int:
    """Return the number of runs of every later round."""
    if d <= SPARSE_NODES:
        return 8
    return max(2, min(4, 800 // d))


def kicks_per_run_for(d: int) -> int:
    """Return the number of kicks of each of these.

    With many variables they are kicks of single places, each without a walk over the plateau.
    """
    return 30 if d > MANY_NODES else min(30, max(5, 20_000 // d**3))


def patience_for(d: int, first: int, agreeing: int) -> int:
    """Return how many rounds in a row may bring no gain.

    Of the `first` runs, which are independent of each other, `agreeing` have ended at the best
    score. Where fewer than one in eight did, what the kicks have found may be one of several such
    places, and it is worth looking longer. (On the ten sets of bowfree10, with three seeds each,
    fewer agreed in 16 of 30 searches, and one of these had stopped too early.) With more variables
    a round costs more: on sixteen sets of 14 to 30 variables, two and six rounds found higher
    scores than one and two in five, and lower ones in none.
    """
    if d > MANY_NODES:
        return 1 if runs_agree(first, agreeing) else 2
    if d > SPARSE_NODES:
        return 2 if runs_agree(first, agreeing) else 6
    return 3 if runs_agree(first, agreeing) else 8


def least_gain_for(d: int, edge_cost: float) -> float:
    """Return what a round has to gain to count as one that gained.

    In a large graph there is always a place where something can be mended, for less than the price
    of an edge at last; that would go on for as many rounds as there are places.
    """
    return TOLERANCE if d <= MANY_NODES else max(TOLERANCE, edge_cost)


def work_for(d: int) -> float:
    """Return the most work of one run, in multiplications by Newton's method; a second has 3e9.

    Few runs come near it: those that are caught among districts of a dozen nodes and more, where a
    step takes a hundred times as long as elsewhere. With 20 variables ordinary runs have 1e7 to
    2e9, with 500 variables 5e9 to 2e10. With few variables there is no bound.
    """
    return math.inf if d <= SPARSE_NODES else min(1e7 * d**2, max(2e10, 5e7 * d))


def work_of_search_for(d: int) -> float:
    """Return the work of all runs after which there are no more rounds of kicks.

    With many variables this is half a minute: what rounds find after the first is little.
    """
    return 20 * work_for(d) if d <= MANY_NODES else 1e11


@dataclass(frozen=True)
class Work:
    """How much a search may do, in multiplications; counted, so that all machines end alike."""

    of_run: float  # at most
    of_search: float  # after which no round begins
    shared: bool  # whether the runs of a round may do no more together than is left

    @classmethod
    def of(cls, given: float | None, d: int) -> Work:
        """Return the usual bounds for d variables, or those of a search that may do so much."""
        usual = cls(work_for(d), work_of_search_for(d), shared=False)
        return usual if given is None else cls(usual.of_run, given, shared=True)

    def of_each(self, done: float, n_runs: int) -> float:
        """Return what each of the next runs may do."""
        return min(self.of_run, (self.of_search - done) / n_runs) if self.shared else self.of_run

    def is_over(self, done: float) -> bool:
        """Whether nothing is left for another round."""
        return done > self.of_search


def plateau_for(d: int) -> int:
    """Return how many graphs of equal score are visited at a local optimum."""
    return max(10, 400 // d)


class Task(NamedTuple):
    """One run: all that it depends on, besides the data and the options."""

    kind: int
    seed: int
    stream: int
    start: MixedGraph | None = None
    most_work: float = math.inf

    def core(self) -> _core.Task:
        """Return it as the core wants it."""
        bits = None if self.start is None else self.start._bits()
        return _core.Task(self.kind, self.seed, self.stream, bits, self.most_work)


@dataclass(frozen=True)
class Plan:
    """How many runs of which kind, in the first round and in later ones."""

    first: tuple[int, ...]  # kinds of the runs of the first round
    starts: tuple[MixedGraph, ...]  # where the first of them begin
    from_ground: bool  # whether the run after those begins at the required edges
    rounds: float  # of kicks
    work: Work

    def first_tasks(self, seed: int, ground: MixedGraph) -> list[Task]:
        """Return the runs of the first round; `ground` has the required edges only."""
        begin = [*self.starts, *([ground] if self.from_ground else [])]
        each = self.work.of_each(0.0, len(self.first))
        return [
            Task(kind, seed, k, begin[k] if k < len(begin) else None, each)
            for k, kind in enumerate(self.first)
        ]

    def kick_tasks(
        self, seed: int, number: int, ends: list[ScoredGraph], done: float
    ) -> list[Task]:
        """Half of the runs kick the best graph, the others the next best ends.

        `done` is the work of all rounds before this one.
        """
        tasks = []
        n_runs = kick_runs_for(len(ends[0].graph.nodes))
        each = self.work.of_each(done, n_runs)
        for k in range(n_runs):
            rank = 0 if k % 2 == 0 else (k + 1) // 2
            start = ends[min(rank, len(ends) - 1)].graph
            tasks.append(Task(KICKS, seed, 1_000_000 * number + k, start, each))
        return tasks


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
    def of(cls, strategy: StrategyName | Strategy, **changes: Any) -> Strategy:
        """Return a strategy with single fields changed. A change to None is ignored."""
        changes = {name: value for name, value in changes.items() if value is not None}
        if isinstance(strategy, Strategy):
            return replace(strategy, **changes)
        return cls(strategy, **changes)

    def __post_init__(self) -> None:
        check_choice("strategy", self.name, get_args(StrategyName))
        check_choice("direction", self.direction, DIRECTIONS)
        for name, least in (("neighbors", 1), ("max_steps", 0), ("plateau", 0), ("keep", 1)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least)
        for name in ("window", "cache_mb", "work"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.starts is not None:
            object.__setattr__(self, "starts", tuple(as_list("starts", self.starts, "graphs")))
        if isinstance(self.restarts, int) and self.restarts > MOST_RUNS:
            raise BowfreeError(
                f"restarts = {self.restarts}: at most {MOST_RUNS:,} runs are possible in one search; "
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
        """Memory for known district scores."""
        return int(min(self.cache_mb, 2**40) * 2**20)

    def also_from(self, graph: MixedGraph) -> Strategy:
        """Return the same strategy with a run from this graph first; in place of the empty one."""
        if self.starts is None and self.name == "restart":
            restarts = RANDOM_STARTS if self.restarts is None else self.restarts
            return replace(self, starts=(graph,), restarts=restarts)
        return replace(self, starts=(graph, *(self.starts or ())))

    def plan(self, graph_class: GraphClass, d: int) -> Plan:
        """Return the runs for d variables."""
        begin = () if self.starts is None else tuple(self.starts)
        work = Work.of(self.work, d)
        if self.name == "restart":
            default = RANDOM_STARTS if self.starts is None else 0
            n_random = check_count(
                "restarts", default if self.restarts is None else self.restarts, 0
            )
            n_given = len(begin) if begin else 1
            return Plan((CLIMB,) * (n_given + n_random), begin, not begin, 0, work)
        default = first_runs_for(d)
        n_first = check_count("restarts", default if self.restarts is None else self.restarts, 1)
        if graph_class == "bidirected":
            kinds = (SPARSE,) * n_first
        else:
            mixed = d <= SPARSE_NODES and graph_class != "dag"
            kinds = tuple(
                SPARSE if mixed and k % SPARSE_SHARE == SPARSE_SHARE - 1 else DAG_FIRST
                for k in range(n_first)
            )
        rounds = math.inf if self.rounds is None else check_count("rounds", self.rounds, 0)
        return Plan((KICKS,) * len(begin) + kinds, begin, False, rounds, work)

    def run_options(self, d: int, n: float) -> dict[str, Any]:
        """Return what every run is told, for the core."""
        plateau = self.plateau
        if plateau is None:
            plateau = plateau_for(d) if self.name == "ils" else 0
        return {
            "direction": DIRECTIONS.index(self.direction),
            "neighbors": self.neighbors or 0,
            "max_steps": -1 if self.max_steps is None else self.max_steps,
            "tolerance": TOLERANCE,
            "plateau": plateau,
            "order_kicks": order_kicks_for(d),
            "dag_kicks": dag_kicks_for(d),
            "bap_kicks": kicks_per_run_for(d),
            "whole_first": d > MANY_NODES,
            "burn_in": default_burn_in(d),
            "keep": self.keep,
            "window": (WINDOW if self.window is None else self.window) / n,
        }


Strategy.__doc__ = complete_docstring(Strategy)
