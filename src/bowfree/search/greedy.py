"""Greedy search for the best-scoring graph (section 3 of the paper).

Two graphs are neighbors when one edge is added, deleted, reversed or changed in type. A climb goes
to the best neighbor until none is better. ``strategy="restart"`` climbs from the empty graph and
from uniform random graphs, as the paper does. The default, ``strategy="ils"``, reaches the same
scores in a small part of the time:

1. *dag-first* runs: a search over orders of the variables, each with the best parents for every
   variable among those before it, finds a DAG (up to twelve variables, iterated local search over
   DAGs does); then bidirected edges are let in, the run climbs, and walks over the plateau of
   neighbors with equal score (equivalent graphs) as long as that leads to better ones;
2. *sparse* runs: the same climb and walk from small random graphs, for weakly connected data;
3. rounds of *kicks*: the best graphs so far are disturbed and improved again, until a number of
   rounds in a row has brought nothing.

Every run is a pure function of the data, the options and its own number. So the result is the same,
bit for bit, for every ``n_jobs``, every size of the cache and whatever was searched before; only a
``time_limit`` makes it depend on the machine. Here is what a user calls; the numbers of runs are in
:mod:`bowfree.search.plan`, threads and clocks in :mod:`bowfree.search.scheduler`, and what comes
out in :mod:`bowfree.search.result`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from bowfree.data.column_checks import warn_about_columns
from bowfree.data.conditions import known_targets
from bowfree.data.holdout import split_rows
from bowfree.data.joint_moments import JointMoments
from bowfree.data.loader import read_moments, read_once
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, DataError, WorkersLost
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.scoring_rule import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.search.checkpoint import Checkpoint, data_digest
from bowfree.search.plan import TOLERANCE, Strategy, StrategyName, StrategyOptions
from bowfree.search.result import SearchInterrupted, SearchResult
from bowfree.search.runs import Setup
from bowfree.search.scheduler import Conductor
from bowfree.search.targets import learn_targets
from bowfree.space.search_space import SearchSpace
from bowfree.validation import (
    BudgetOptions,
    DataOptions,
    ScoreOptions,
    SpaceOptions,
    check_path,
    split_options,
)


class SearchOptions(
    DataOptions, SpaceOptions, ScoreOptions, StrategyOptions, BudgetOptions, total=False
):
    """All options of :func:`greedy_search` that it does not name itself."""


def greedy_search(
    data: Any = None,
    *,
    space: SearchSpace | None = None,
    strategy: StrategyName = "ils",
    starts: Sequence[MixedGraph] | None = None,
    holdout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Search for the graph with the best penalized likelihood.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    space : SearchSpace, optional
        The graphs to search among, such as ``other_result.space``; by default all BAPs.
    strategy : {"ils", "restart"}
        ``"restart"`` is the paper's: one climb from the empty graph, `restarts` climbs from uniform
        random graphs. ``"ils"`` is described at the top of this module.
    starts : sequence of MixedGraph, optional
        Graphs to start from. With ``"restart"`` they take the place of the empty graph, and
        `restarts` is then 0 unless given; with ``"ils"`` they are kicked in the first round.
    holdout : float, optional
        The share of the rows, such as 0.5, to put aside by chance before the search. The best graph
        is fitted to these (:meth:`SearchResult.fit`), so that its standard errors and tests mean
        what they say.
    checkpoint : path, optional
        A file that finished runs are kept in; if it exists, the search goes on from there.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.validation.DataOptions`).
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.validation.SpaceOptions`).
        ``penalty``, ``gamma``, ``smallest_effect``, ``method``, ``max_iter``
            The score (:class:`~bowfree.validation.ScoreOptions`). ``penalty=1``, the default, is the
            paper's, 0.5 the usual BIC, ``"ebic"`` the extended one, for many variables;
            ``smallest_effect``, for very many observations, is a floor below it.
        ``restarts``, ``rounds``, ``direction``, ``neighbors``, ``max_steps``, ``plateau``, \
``work``, ``keep``, ``window``, ``cache_mb``
            How to go about it (:class:`~bowfree.search.plan.StrategyOptions`).
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`).

    Returns
    -------
    SearchResult
        With no more observations than variables, ``n <= d``, the search keeps to graphs whose
        districts are smaller than n, their parents included, and ``notes`` has the limits.

    Raises
    ------
    SearchInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` with the best so far in its ``result``.
    WorkersLost
        When all workers of the executor are gone; with the best so far in its ``result``.

    Warns
    -----
    DataWarning
        When a column looks like row numbers, or has few values.

    References
    ----------
    Section 3 of the paper. The search over orders is that of B. Andrews, J. Ramsey, R.
    Sanchez-Romero, J. Camchong, E. Kummerfeld (2023). Fast scalable and accurate discovery of DAGs
    using the best order score search and grow-shrink trees. *NeurIPS 36*.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    >>> result = bf.greedy_search(cov=S, n=500, rng=1)
    >>> result.graph.n_edges, round(result.score, 4)
    (2, -3.9694)
    """
    groups = split_options(
        "greedy_search",
        options,
        DataOptions,
        SpaceOptions,
        ScoreOptions,
        StrategyOptions,
        BudgetOptions,
    )
    data_options, space_options, score_options, strategy_options, budget_options = groups
    budget = Budget(**budget_options)
    climbs = Strategy(strategy, starts, **strategy_options)
    data, unknown = known_targets(data)
    if unknown and (holdout is not None or checkpoint is not None):
        word = "checkpoint" if holdout is None else "holdout"
        raise BowfreeError(f"{word} is for known targets: leave it out with targets='learn'")
    table, aside = read_once(data, **data_options), None
    used = table
    if holdout is not None:
        used, rest = split_rows(table, holdout, budget.generator().spawn(1)[0])
        aside = read_moments(rest, **data_options)
    moments = read_moments(used, **data_options)
    warn_about_columns(table, declared=data_options.get("ordinal", ()))
    within = SearchSpace.of(space, **space_options)
    rule = ScoringRule(**score_options).settled(moments.n, len(moments.names))
    settings = _settings(
        {"strategy": strategy, "starts": climbs.starts, "holdout": holdout} | options
    )
    if unknown and isinstance(moments, JointMoments):

        def search(data: Moments, part: Budget, start: MixedGraph | None) -> SearchResult:
            from_there = climbs if start is None else climbs.also_from(start)
            return search_moments(data, within, rule, from_there, part, settings=settings)

        setup = Setup(moments, *settle(moments, within, rule)[:2], climbs)
        result, targets = learn_targets(setup, moments, unknown, search, budget)
        return dataclasses.replace(result, targets=targets, seconds=budget.seconds)
    return search_moments(
        moments,
        within,
        rule,
        climbs,
        budget,
        checkpoint=checkpoint,
        settings=settings,
        holdout=aside,
    )


def search_moments(
    moments: Moments,
    space: SearchSpace,
    rule: ScoringRule,
    strategy: Strategy,
    budget: Budget,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    holdout: Moments | None = None,
) -> SearchResult:
    """Search on moments that have passed the gate; what :func:`greedy_search` does."""
    check_finite_n(moments)
    names = moments.names
    space, rule, notes = settle(moments, space, rule)
    setup = Setup(moments, space, rule, strategy)
    plan = strategy.plan(space.graph_class, len(names))
    for graph in plan.starts:
        space.check_start(graph, names)
    memory = Checkpoint(
        path="" if checkpoint is None else check_path("checkpoint", checkpoint),
        seed=budget.seed(),
        fingerprint={
            "data": data_digest(moments),
            "options": repr((rule, plan, setup.run_options)),
            "space": repr(space),
        },
    )
    if checkpoint is not None and os.path.exists(checkpoint):
        memory.load(names, any_seed=budget.rng is None)
    conductor = Conductor(setup, memory, budget)
    cut: KeyboardInterrupt | WorkersLost | None = None
    try:
        conductor.conduct(plan)
    except (KeyboardInterrupt, WorkersLost) as error:
        cut = error
        conductor.halt()
        if not conductor.runs:
            raise  # so early that there is nothing to keep
    result = _make_result(
        conductor,
        moments=moments,
        space=space,
        rule=rule,
        settings=settings or {},
        holdout=holdout,
        notes=notes,
    )
    if isinstance(cut, WorkersLost):
        cut.result = result
        raise cut
    if cut is not None:
        raise SearchInterrupted(result)
    return result


def settle(
    moments: Moments, space: SearchSpace, rule: ScoringRule
) -> tuple[SearchSpace, ScoringRule, tuple[str, ...]]:
    """Return the space and the rule as these moments want them, and what is to be said of it."""
    n, d, notes = moments.n, len(moments.names), []
    rule = rule.settled(n, d)
    if rule.origin:
        notes.append(f"penalty {rule.weight:.4g} is {rule.origin}")
    if not moments.definite:
        space = space.with_default_limits(n)
        notes.append(
            f"n = {n:g} observations of {d} variables: only {space.describe_limits()} were "
            "considered, whose districts with their parents are smaller than n"
        )
        extended = ScoringRule("ebic").settled(n, d).weight
        if rule.weight < extended:
            notes.append(
                f"at penalty {rule.weight:.4g} and with so many variables some edges are there by "
                f"chance, and the search is slower for them; penalty='ebic' is {extended:.4g} here"
            )
    return space, rule, tuple(notes)


def check_finite_n(moments: Moments) -> None:
    """Refuse a population: the penalty needs a number of observations."""
    if moments.n == float("inf"):
        raise DataError(
            "n = inf: without a penalty no graph beats the complete one; give the n that the "
            "penalty should be worked out with"
        )


def _make_result(conductor: Conductor, **given: Any) -> SearchResult:
    """Return what the conductor has, beside what the search was `given`."""
    pool = conductor.pool()
    best = [graph for graph, score in pool if score >= pool[0].score - TOLERANCE]
    # A rule that does not hang on the last bit of a score: fewest bidirected edges, then by masks.
    best.sort(key=lambda graph: (graph.n_bidirected, graph._parents, graph._spouses))
    score = next(score for graph, score in pool if graph == best[0])
    exhausted = sum(run.exhausted for run in conductor.runs.values())
    if exhausted:
        given["notes"] += (
            f"{exhausted} of {len(conductor.runs)} runs ended when the work set aside for one run "
            "was done: they had come among very large districts, which `max_district` avoids",
        )
    if conductor.exhausted:
        given["notes"] += (
            "there were no more rounds of kicks because the work set aside for a search was done",
        )
    return SearchResult(
        graph=best[0],
        score=score,
        runs=tuple(run for _, run in sorted(conductor.runs.items())),
        best_graphs=tuple(best),
        pool=tuple(pool),
        complete=not conductor.stopped,
        seconds=conductor.budget.seconds,
        **given,
    )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the caller chose, as text or numbers; data, space and callbacks stand apart."""
    apart = {*DataOptions.__annotations__, *SpaceOptions.__annotations__, "progress", "executor"}
    chosen = {name: value for name, value in given.items() if name not in apart}
    if chosen["strategy"] == "ils":
        del chosen["strategy"]
    if chosen["holdout"] is None:
        del chosen["holdout"]
    starts = chosen.pop("starts")
    if starts is not None:
        chosen["starts"] = f"{len(starts)} graphs"
    if not isinstance(chosen.get("rng", 0), int):
        chosen["rng"] = "a generator"
    return chosen
