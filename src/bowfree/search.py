"""Greedy search for the best-scoring graph (section 3 of the paper).

Two graphs are neighbours when one edge is added, deleted, reversed or changed in type. A climb goes
to the best neighbour until none is better. ``strategy="restart"`` climbs from the empty graph and
from uniform random graphs, as the paper does. The default, ``strategy="ils"``, reaches the same
scores in a small part of the time:

1. *dag-first* runs: iterated local search over DAGs, which are cheap to score, settles an order of
   the variables; then bidirected edges are let in, the run climbs, and walks over the plateau of
   neighbours with equal score (equivalent graphs) as long as that leads to better ones;
2. *sparse* runs: the same climb and walk from small random graphs, for weakly connected data;
3. rounds of *kicks*: the best graphs so far are disturbed and improved again, until a number of
   rounds in a row has brought nothing.

Every run is a pure function of the data, the options and its own number. So the result is the same,
bit for bit, for every ``n_jobs``, every size of the cache and whatever was searched before; only a
``time_limit`` makes it depend on the machine. The runs are done by threads of the compiled core;
this module plans them, waits, and collects. Next: :mod:`bowfree.search_result`.
"""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bowfree import _core
from bowfree.checkpoint import Checkpoint, data_digest
from bowfree.data import Moments, read_moments
from bowfree.errors import BowfreeError, DataError, GraphError
from bowfree.fit import Method, sweeps_of
from bowfree.graph import MixedGraph
from bowfree.knowledge import Knowledge
from bowfree.random_graphs import GraphClass, at_least, draw_seed, graph_rules, permitted_ground
from bowfree.search_result import (
    Progress,
    ScoredGraph,
    SearchInterrupted,
    SearchResult,
    SearchRun,
)

__all__ = ["greedy_search"]

Direction = Literal["both", "forward", "backward", "forward-change", "backward-change"]
StrategyName = Literal["ils", "restart"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)  # in the order of cpp/climb.hpp
RUN_KINDS = ("climb", "sparse", "dag-first", "kicks")  # as in cpp/strategy.hpp
CLIMB, SPARSE, DAG_FIRST, KICKS = range(4)

# Scores closer than this are equal: equivalent graphs differ by rounding only.
TOLERANCE = 1e-9

# The default strategy, tuned on both families of benchmarks/bench_strategies.py. A kick on 20 nodes
# costs a hundred times as much as one on 10, so there are fewer, while kicks on DAGs cost next to
# nothing and make the start of all the rest.
SPARSE_SHARE = 4  # every fourth run of the first round is a sparse one...
SPARSE_NODES = 12  # ...up to so many variables; beyond, such runs end in huge districts
SAVE_EVERY = 1.0  # seconds between two writes of the checkpoint


def _first_runs(d: int) -> int:
    return 24 if d <= SPARSE_NODES else 8


def _dag_kicks(d: int) -> int:
    return min(5_000, max(30, d**3 // 8))


def _kick_runs(d: int) -> int:
    """Return the number of runs of every later round."""
    return 8 if d <= SPARSE_NODES else 4


def _kicks_per_run(d: int) -> int:
    return min(30, max(5, 20_000 // d**3))


def _patience(d: int) -> int:
    """Return how many rounds in a row may bring no gain."""
    return 3 if d <= SPARSE_NODES else 1


def _plateau(d: int) -> int:
    return max(10, 400 // d)


def greedy_search(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    strategy: StrategyName = "ils",
    restarts: int | None = None,
    rounds: int | None = None,
    starts: Sequence[MixedGraph] | None = None,
    penalty: float = 1.0,
    method: Method = "newton",
    max_iter: int | None = None,
    graph_class: GraphClass = "bap",
    max_in_degree: int | None = None,
    max_district: int | None = None,
    knowledge: Knowledge | None = None,
    direction: Direction = "both",
    neighbours: int | None = None,
    max_steps: int | None = None,
    plateau: int | None = None,
    shrinkage: float = 0.0,
    keep: int = 300,
    window: float = 10.0,
    n_jobs: int = 1,
    cache_mb: float = 256.0,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    rng: int | np.random.Generator | None = None,
) -> SearchResult:
    """Search for the graph with the best penalised likelihood.

    Parameters
    ----------
    data, cov, n, ddof
        The data, as for :func:`bowfree.fit`.
    strategy : {"ils", "restart"}
        ``"restart"`` is the paper's: one climb from the empty graph, `restarts` climbs from uniform
        random graphs. ``"ils"`` is described at the top of this module.
    restarts : int, optional
        Number of random starts (``"restart"``: 100), or of runs in the first round (``"ils"``: 24
        for up to twelve variables, 8 for more).
    rounds : int, optional
        Largest number of rounds of kicks of ``"ils"``; by default until three rounds in a row (one,
        beyond twelve variables) have brought nothing.
    starts : sequence of MixedGraph, optional
        Graphs to start from. With ``"restart"`` they take the place of the empty graph, and
        `restarts` is then 0 unless given; with ``"ils"`` they are kicked in the first round.
    penalty : float
        Weight of ``log n`` per node and edge: 1 is the paper's, 0.5 the usual BIC.
    method, max_iter
        Converged scores, or those after `max_iter` sweeps of ``"ricf"``; ``max_iter=10`` is the
        paper's program. The score of the result is of the same kind.
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}
        Where to search; every step stays inside.
    max_in_degree, max_district : int, optional
        Largest number of arrowheads at a node; largest number of nodes in a district. They hold
        for every graph of the search.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers, unconfounded variables.
    direction : {"both", "forward", "backward", "forward-change", "backward-change"}
        Which steps a climb of ``"restart"`` may make: all; additions only, as the paper defines
        forward search; deletions only; additions and changes of an edge's kind, which the authors'
        R program calls forward; deletions and changes, its backward.
    neighbours : int, optional
        Look at so many random neighbours at a time and take the best of the first lot that has a
        better one. By default all.
    max_steps : int, optional
        Longest climb.
    plateau : int, optional
        At a local optimum, visit up to so many graphs of equal score, and climb on from one that
        has a better neighbour. By default ``400 / d`` with ``"ils"``, and 0 with ``"restart"``, as
        in the paper.
    shrinkage : float
        Search on ``(1 - shrinkage) S + shrinkage diag(S)``; the way out when n <= d.
    keep, window : int, float
        The pool keeps so many of the best graphs, within so many units of ``n * score``.
    n_jobs : int
        Threads; -1 for all cores.
    cache_mb : float
        Memory for known district scores, in megabytes.
    time_limit : float, optional
        Seconds after which the search ends with the best so far. Only with it the result depends
        on the machine.
    progress : callable, optional
        Called with a :class:`~bowfree.search_result.Progress` several times a second.
    checkpoint : path, optional
        A file that finished runs are kept in; if it exists, the search goes on from there.
    rng : int or numpy.random.Generator, optional
        Anything :func:`numpy.random.default_rng` takes.

    Returns
    -------
    SearchResult

    Raises
    ------
    SearchInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` with the best so far in its ``result``.

    References
    ----------
    Section 3 of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    >>> result = bf.greedy_search(cov=S, n=500, rng=1)
    >>> result.graph.n_edges, round(result.score, 4)
    (2, -3.9694)
    """
    settings = _changed_options(locals())
    moments = read_moments(data, cov=cov, n=n, ddof=ddof, shrinkage=shrinkage)
    if not math.isfinite(moments.n):
        raise DataError(
            "n = inf: without a penalty no graph beats the complete one; give the n that the "
            "penalty should be worked out with"
        )
    if not (math.isfinite(penalty) and penalty >= 0):
        raise BowfreeError(f"penalty must be a finite number >= 0, got {penalty!r}")
    known = Knowledge() if knowledge is None else knowledge
    rules = graph_rules(
        len(moments.names),
        graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
        knowledge=None if knowledge is None else known.masks(moments.names),
    )
    ground = permitted_ground(known, moments.names, rules, graph_class)
    plan = _make_plan(
        strategy, restarts, rounds, starts, direction, graph_class, len(moments.names)
    )
    for graph in plan.starts:
        _check_start(graph, moments.names, rules)
    default_plateau = _plateau(len(moments.names)) if strategy == "ils" else 0
    options: dict[str, Any] = {
        "direction": _choice("direction", direction, DIRECTIONS),
        "neighbours": 0 if neighbours is None else at_least("neighbours", neighbours, 1),
        "max_steps": -1 if max_steps is None else at_least("max_steps", max_steps, 0),
        "tolerance": TOLERANCE,
        "plateau": at_least("plateau", default_plateau if plateau is None else plateau, 0),
        "dag_kicks": _dag_kicks(len(moments.names)),
        "bap_kicks": _kicks_per_run(len(moments.names)),
        "burn_in": len(moments.names) ** 4,
        "keep": at_least("keep", keep, 1),
        "window": _positive("window", window) / moments.n,
    }
    sweeps = sweeps_of(method, max_iter)
    core = _core.Search(
        moments.S,
        moments.n,
        penalty,
        int(_positive("cache_mb", cache_mb) * 2**20),
        rules,
        _core.RunOptions(**options),
        ground._bits(),
        sweeps,
    )
    memory = Checkpoint(
        path="" if checkpoint is None else os.fspath(checkpoint),
        seed=draw_seed(rng),
        fingerprint={
            "data": data_digest(moments),
            "options": repr(
                (penalty, sweeps, graph_class, max_in_degree, max_district, plan, options)
            ),
            "knowledge": repr(known),
        },
    )
    if checkpoint is not None and os.path.exists(checkpoint):
        memory.load(moments.names, any_seed=rng is None)
        for graph, score in memory.pool:
            core.offer(*graph._bits(), score)
    conductor = _Conductor(
        core=core,
        names=moments.names,
        memory=memory,
        n_threads=_n_threads(n_jobs),
        deadline=time.monotonic()
        + _positive("time_limit", math.inf if time_limit is None else time_limit),
        progress=progress,
    )
    interrupted = False
    try:
        conductor.conduct(plan, ground)
    except KeyboardInterrupt:
        interrupted = True
        conductor.halt()
        if not conductor.runs:
            raise  # so early that there is nothing to keep
    result = replace(
        _make_result(conductor, moments, penalty, known, settings),
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
    )
    if interrupted:
        raise SearchInterrupted(result)
    return result


# --- the plan -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """How many runs of which kind, in the first round and in later ones."""

    first: tuple[int, ...]  # kinds of the runs of the first round
    starts: tuple[MixedGraph, ...]  # where the first of them begin
    from_ground: bool  # whether the run after those begins at the required edges
    rounds: float  # of kicks

    def first_tasks(self, seed: int, ground: MixedGraph) -> list[_core.Task]:
        begin = [*self.starts, *([ground] if self.from_ground else [])]
        return [
            _core.Task(kind, seed, k, begin[k]._bits() if k < len(begin) else None)
            for k, kind in enumerate(self.first)
        ]

    def kick_tasks(self, seed: int, number: int, ends: list[ScoredGraph]) -> list[_core.Task]:
        """Half of the runs kick the best graph, the others the next best ends.

        Where kicks are dear, all of them go to the best.
        """
        tasks = []
        d = len(ends[0].graph.nodes)
        dear = d > SPARSE_NODES
        for k in range(_kick_runs(d)):
            rank = 0 if k % 2 == 0 or dear else (k + 1) // 2
            start = ends[min(rank, len(ends) - 1)].graph
            tasks.append(_core.Task(KICKS, seed, 1_000_000 * number + k, start._bits()))
        return tasks


def _make_plan(
    strategy: str,
    restarts: int | None,
    rounds: int | None,
    starts: Sequence[MixedGraph] | None,
    direction: str,
    graph_class: GraphClass,
    d: int,
) -> _Plan:
    begin = () if starts is None else tuple(starts)
    if strategy == "restart":
        if rounds is not None:
            raise BowfreeError("rounds belongs to strategy='ils'; leave it out with 'restart'")
        random = (100 if starts is None else 0) if restarts is None else restarts
        n_random = at_least("restarts", random, 0)
        n_given = len(begin) if begin else 1
        return _Plan((CLIMB,) * (n_given + n_random), begin, not begin, 0)
    if strategy != "ils":
        raise BowfreeError(f"unknown strategy {strategy!r}; choose 'ils' or 'restart'")
    if direction != "both":
        raise BowfreeError(
            f"direction={direction!r} needs strategy='restart': the default strategy goes both ways"
        )
    n_first = at_least("restarts", _first_runs(d) if restarts is None else restarts, 1)
    if graph_class == "bidirected":
        kinds = (SPARSE,) * n_first
    else:
        mixed = d <= SPARSE_NODES and graph_class != "dag"
        kinds = tuple(
            SPARSE if mixed and k % SPARSE_SHARE == SPARSE_SHARE - 1 else DAG_FIRST
            for k in range(n_first)
        )
    limit = math.inf if rounds is None else at_least("rounds", rounds, 0)
    return _Plan((KICKS,) * len(begin) + kinds, begin, False, limit)


# --- conducting it --------------------------------------------------------------------------------


@dataclass
class _Conductor:
    """Launches runs, waits for them, and answers to clock, user and checkpoint meanwhile."""

    core: _core.Search
    names: tuple[str, ...]
    memory: Checkpoint
    n_threads: int
    deadline: float
    progress: Callable[[Progress], None] | None

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.saved = self.began
        self.stopped = False
        self.planned = 0
        self.runs: dict[tuple[int, int], SearchRun] = {}
        self.batch: list[tuple[int, int, int]] = []  # (round, index, kind) of the runs under way

    def conduct(self, plan: _Plan, ground: MixedGraph) -> None:
        self.do_round(0, plan.first_tasks(self.memory.seed, ground), plan.first)
        number, without_gain = 0, 0
        while (
            not self.stopped and number < plan.rounds and without_gain < _patience(len(self.names))
        ):
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
        self.core.launch([tasks[k] for k in missing], min(self.n_threads, len(missing)))
        while self.core.busy():
            self.collect()
            if time.monotonic() > self.deadline and not self.stopped:
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
        now = time.monotonic()
        if not self.memory.path or not (at_once or now > self.saved + SAVE_EVERY):
            return
        # A stopped run's graphs are in the pool too. They do no harm: the run will meet them again
        # when it is repeated.
        self.memory.pool = self.pool()
        self.memory.save()
        self.saved = now

    def report(self) -> None:
        if self.progress is None:
            return
        seconds = time.monotonic() - self.began
        done = len(self.runs)
        left = seconds / done * (self.planned - done) if done else None
        best = max((run.score for run in self.runs.values()), default=-math.inf)
        self.progress(Progress(done, self.planned, best, seconds, left))

    def best_ends(self) -> list[ScoredGraph]:
        """Return the ends of runs, best first, one for each score."""
        ends: list[ScoredGraph] = []
        for run in sorted(self.runs.items(), key=lambda item: (-item[1].score, item[0])):
            if not ends or run[1].score < ends[-1].score - TOLERANCE:
                ends.append(ScoredGraph(run[1].end, run[1].score))
        return ends

    def pool(self) -> list[ScoredGraph]:
        return [
            ScoredGraph(MixedGraph._from_bits(self.names, *bits), score)
            for bits, score in self.core.pool()
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


def _make_result(
    conductor: _Conductor,
    moments: Moments,
    penalty: float,
    knowledge: Knowledge,
    settings: dict[str, Any],
) -> SearchResult:
    pool = conductor.pool()
    best = [graph for graph, score in pool if score >= pool[0].score - TOLERANCE]
    # A rule that does not hang on the last bit of a score: fewest bidirected edges, then by masks.
    best.sort(key=lambda graph: (graph.n_bidirected, graph._parents, graph._spouses))
    score = next(score for graph, score in pool if graph == best[0])
    return SearchResult(
        graph=best[0],
        score=score,
        runs=tuple(run for _, run in sorted(conductor.runs.items())),
        best_graphs=tuple(best),
        pool=tuple(pool),
        moments=moments,
        penalty=penalty,
        knowledge=knowledge,
        complete=not conductor.stopped,
        seconds=time.monotonic() - conductor.began,
        settings=settings,
    )


def _changed_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the caller chose, as text or numbers; data and callbacks are not options."""
    apart = ("data", "cov", "n", "ddof", "knowledge", "progress", "checkpoint")
    options = inspect.signature(greedy_search).parameters
    changed = {}
    for name, value in given.items():
        if name in apart or value is options[name].default:
            continue
        if name == "starts":
            value = f"{len(value)} graphs"
        elif name == "rng" and not isinstance(value, int):
            value = "a generator"
        changed[name] = value
    return changed


# --- checks ---------------------------------------------------------------------------------------


def _check_start(graph: MixedGraph, names: tuple[str, ...], rules: _core.Rules) -> None:
    if graph.nodes != names:
        raise GraphError(
            f"start graph has the nodes {', '.join(graph.nodes)}, the data have "
            f"{', '.join(names)}; they must be the same, in the same order"
        )
    if not rules.permits(*graph._bits()):
        what = "is not a BAP" if not graph.is_bap() else "breaks the knowledge, class or limits"
        raise GraphError(f"start graph {graph} {what}; drop the edges at fault")


def _choice(name: str, value: str, choices: Sequence[str]) -> int:
    if value not in choices:
        raise BowfreeError(f"unknown {name} {value!r}; choose one of {', '.join(choices)}")
    return choices.index(value)


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise BowfreeError(f"{name} must be positive, got {value!r}")
    return value


def _n_threads(n_jobs: int) -> int:
    if n_jobs == -1:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    return at_least("n_jobs", n_jobs, 1)
