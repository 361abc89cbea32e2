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
``time_limit`` makes it depend on the machine. Here is what a user calls; the numbers of runs are in
:mod:`bowfree.search.plan`, threads and clocks in :mod:`bowfree.search.conductor`, and what comes
out in :mod:`bowfree.search.result`.
"""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from bowfree import _core
from bowfree.errors import BowfreeError, DataError, GraphError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Method
from bowfree.model.fitting import sweeps_of
from bowfree.model.moments import read_moments
from bowfree.options import at_least, n_threads, one_of, positive
from bowfree.search.checkpoint import Checkpoint, data_digest
from bowfree.search.conductor import TOLERANCE, Conductor
from bowfree.search.plan import (
    StrategyName,
    dag_kicks_for,
    kicks_per_run_for,
    make_plan,
    plateau_for,
)
from bowfree.search.result import Progress, SearchInterrupted, SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.random_graphs import GraphClass, draw_seed, graph_rules, permitted_ground

__all__ = ["greedy_search"]

Direction = Literal["both", "forward", "backward", "forward-change", "backward-change"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)  # in the order of cpp/search/climb.hpp


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
        for up to thirty variables, 8 for more).
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
        Called with a :class:`~bowfree.Progress` several times a second.
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
    plan = make_plan(strategy, restarts, rounds, starts, direction, graph_class, len(moments.names))
    for graph in plan.starts:
        check_start(graph, moments.names, rules)
    default_plateau = plateau_for(len(moments.names)) if strategy == "ils" else 0
    options: dict[str, Any] = {
        "direction": one_of("direction", direction, DIRECTIONS),
        "neighbours": 0 if neighbours is None else at_least("neighbours", neighbours, 1),
        "max_steps": -1 if max_steps is None else at_least("max_steps", max_steps, 0),
        "tolerance": TOLERANCE,
        "plateau": at_least("plateau", default_plateau if plateau is None else plateau, 0),
        "dag_kicks": dag_kicks_for(len(moments.names)),
        "bap_kicks": kicks_per_run_for(len(moments.names)),
        "burn_in": len(moments.names) ** 4,
        "keep": at_least("keep", keep, 1),
        "window": positive("window", window) / moments.n,
    }
    sweeps = sweeps_of(method, max_iter)
    core = _core.Search(
        moments.S,
        moments.n,
        penalty,
        int(positive("cache_mb", cache_mb) * 2**20),
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
    conductor = Conductor(
        core=core,
        names=moments.names,
        memory=memory,
        n_threads=n_threads(n_jobs),
        deadline=time.monotonic()
        + positive("time_limit", math.inf if time_limit is None else time_limit),
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
    result = _make_result(
        conductor,
        moments=moments,
        penalty=penalty,
        knowledge=known,
        settings=settings,
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
    )
    if interrupted:
        raise SearchInterrupted(result)
    return result


def _make_result(conductor: Conductor, **given: Any) -> SearchResult:
    """Return what the conductor has, beside what the search was `given`."""
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
        complete=not conductor.stopped,
        seconds=time.monotonic() - conductor.began,
        **given,
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


def check_start(graph: MixedGraph, names: tuple[str, ...], rules: _core.Rules) -> None:
    """Raise when a search or a chain may not begin at this graph."""
    if graph.nodes != names:
        raise GraphError(
            f"start graph has the nodes {', '.join(graph.nodes)}, the data have "
            f"{', '.join(names)}; they must be the same, in the same order"
        )
    if not rules.permits(*graph._bits()):
        what = "is not a BAP" if not graph.is_bap() else "breaks the knowledge, class or limits"
        raise GraphError(f"start graph {graph} {what}; drop the edges at fault")
