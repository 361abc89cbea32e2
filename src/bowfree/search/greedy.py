"""Greedy search for the best-scoring graph (section 3 of the paper).

Two graphs are neighbors if one edge is added, deleted, reversed or changed in type. A climb moves to
the best neighbor until none is better. ``strategy="restart"`` climbs from the empty graph and from
uniform random graphs, as in the paper. The default, ``strategy="ils"`` (iterated local search),
reaches the same scores in a fraction of the time:

1. *dag-first* runs: a search over orders of the variables, with the best parents of every variable
   among those before it, finds a DAG (up to twelve variables, iterated local search over DAGs does
   so). Then bidirected edges are permitted: the run climbs, and explores the plateau of neighbors
   with equal score (equivalent graphs) for better ones;
2. *sparse* runs: the same from small random graphs, for weakly connected data;
3. rounds of *kicks*: the best graphs are perturbed and improved again, until several rounds in a
   row have no gain;
4. a proof that no graph is better, where that takes about a second (:mod:`bowfree.search.proof`). If
   it finds a better graph, a last run climbs from there.

Every run is a pure function of the data, the options and its number, so that the result is the
same, bit for bit, for every ``n_jobs``, executor and cache size. Only a ``time_limit`` makes it
depend on the machine.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal

from bowfree.data.conditions import known_targets, split_rows
from bowfree.data.diagnostics import warn_about_columns
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import NonGaussianRows
from bowfree.errors import BowfreeError, DataError, WorkersLost
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import (
    Correlation,
    Errors,
    GraphClass,
    Means,
    Method,
    Missing,
    Penalty,
    Rng,
    public,
)
from bowfree.search.plan import Direction, Strategy, StrategyName
from bowfree.search.proof import Proved, prove
from bowfree.search.result import TOLERANCE, SearchInterrupted, SearchResult
from bowfree.search.scheduler import (
    Checkpoint,
    DistrictScore,
    Scheduler,
    Score,
    Setup,
    data_digest,
    to_pool,
)
from bowfree.search.targets import learn_targets
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace, bow_error
from bowfree.text_reading import short_repr
from bowfree.validation import check_path

#: Observations per variable below which the paper's penalty admits many false edges: in
#: simulations (20 and 40 variables, as many edges) .33 and .26 of the edges at 2, .28 and .18 at 3,
#: .16 and .14 at 5, with ebic .25 and .11, .16 and .11, .17 and .07.
FEW_ROWS = 3
_MOST_IDENTIFIED = 100  # graphs whose identification is decided for a note


@public
def greedy_search(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    nominal: Sequence[str] = (),
    clusters: Any = None,
    errors: Errors = "gaussian",
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty = 1.0,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    strategy: StrategyName | Strategy = "ils",
    starts: Sequence[MixedGraph] | None = None,
    restarts: int | None = None,
    rounds: int | None = None,
    direction: Direction | None = None,
    neighbors: int | None = None,
    max_steps: int | None = None,
    plateau: int | None = None,
    work: float | None = None,
    keep: int | None = None,
    window: float | None = None,
    cache_mb: float | None = None,
    holdout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    score: Score | None = None,
    proof: bool = True,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Search for the graph with the best penalized likelihood.

    Parameters
    ----------
    holdout : float, optional
        Fraction of the rows to set aside at random before the search. :meth:`SearchResult.fit` fits
        the best graph to these rows, so that its standard errors and tests are valid.
    checkpoint : path, optional
        File in which finished runs are saved. If it exists, the search resumes from it.
    score : callable, optional
        A score of your own, in place of the penalized likelihood: ``score(district, parents,
        spouses)`` returns a number, the higher the better, and the score of a graph is the sum over
        its districts. `district` is a tuple of names, `parents` a dictionary from each of these to a
        tuple of names, `spouses` a tuple of pairs. The function includes its penalty. Its values are
        cached; threads call it one at a time.
    proof : bool
        End with a proof that no graph has a better score, where that takes about a second: for up to
        5 variables, DAGs of up to 20, and districts of at most 2 nodes up to about 10 variables.
        In larger spaces of 6 to about 12 variables the proof is about the graphs with at most 3
        parents of a node and 2 nodes in a district (3 with 6 variables). ``result.proof`` tells
        what is proved. It requires scores of covariances and strategy "ils".

    Returns
    -------
    SearchResult
        With no more observations than variables, ``n <= d``, the search is limited to graphs whose
        districts, including their parents, have fewer than n nodes; see its ``notes``.

    Raises
    ------
    SearchInterrupted
        On Ctrl-C, a :class:`KeyboardInterrupt` with the best graph so far in its ``result``.
    WorkersLost, MemoryError
        If the executor has no worker left, or memory is full; ``result`` has the best graph so far.

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
    if not isinstance(proof, bool):
        raise BowfreeError(f"proof must be True or False, got {short_repr(proof)}")
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    climbs = (direction, neighbors, max_steps, plateau, work)
    chosen = Strategy.of(strategy, starts, restarts, rounds, *climbs, keep, window, cache_mb)
    within = SearchSpace.of(
        space, graph_class, max_in_degree, max_district, max_edges, knowledge, bows=True
    )
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    settings = _settings(chosen, rule, budget, holdout)
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal,
        clusters, errors,
    )  # fmt: skip
    if score is not None and not callable(score):
        raise BowfreeError(f"score = {short_repr(score)}: must be a function of a district")
    data, unknown = known_targets(data)
    for name, value in (("score", score), ("holdout", holdout), ("checkpoint", checkpoint)):
        if unknown and value is not None:
            raise BowfreeError(f"{name} requires known targets: omit it with targets='learn'")
    used = table = options.read_table(data)
    aside = None
    if holdout is not None:
        used, rest = split_rows(table, holdout, budget.generator().spawn(1)[0])
        aside = options.read(rest)
    moments = options.read(used)
    warn_about_columns(table, declared=[*ordinal, *nominal], clusters=clusters is not None)
    rule = rule.resolve(moments.n, len(moments.names))
    if unknown and isinstance(moments, JointMoments):

        def search(data: Moments, part: Budget, start: MixedGraph | None) -> SearchResult:
            own = chosen if start is None else chosen.also_from(start)
            return search_moments(data, within, rule, own, part, settings=settings)

        setup = Setup(moments, *adapt_to_data(moments, within, rule)[:2], chosen)
        result, targets = learn_targets(setup, moments, unknown, search, budget)
        return dataclasses.replace(result, targets=targets, seconds=budget.seconds)
    return search_moments(
        moments,
        within,
        rule,
        chosen,
        budget,
        checkpoint=checkpoint,
        settings=settings,
        holdout=aside,
        score=score,
        proof=proof,
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
    score: Score | None = None,
    proof: bool = False,
) -> SearchResult:
    """Search on moments, after :func:`greedy_search` has read the data."""
    check_finite_n(moments)
    costly = isinstance(moments.sample, NonGaussianRows)
    if costly:
        strategy = strategy.for_costly_scores()
    names = moments.names
    space, rule, notes = adapt_to_data(moments, space, rule)
    own = None if score is None else DistrictScore(names, score)
    setup = Setup(moments, space, rule, strategy, own)
    if own is not None:
        name = getattr(score, "__name__", type(score).__name__)
        notes = [f"scores are those of {name}; fits and averages use the normal likelihood"]
    bows = space.knowledge.bows
    if bows and (
        isinstance(moments, JointMoments)
        or isinstance(moments.sample, NonGaussianRows)
        or rule.method == "ricf"
    ):
        raise bow_error(
            space.knowledge,
            "only searches of one table with errors='gaussian' and method='newton'",
        )
    plan = strategy.plan(space.graph_class, len(names), costly)
    for graph in plan.starts:
        space.check_start(graph, names)
    saved = Checkpoint(
        path="" if checkpoint is None else check_path("checkpoint", checkpoint),
        seed=budget.seed(),
        fingerprint={
            "data": data_digest(moments),
            "options": repr((rule, plan, setup.run_options, *(() if own is None else notes))),
            "space": repr(space),
        },
    )
    if checkpoint is not None and os.path.exists(checkpoint):
        saved.load(names, any_seed=budget.rng is None)
    scheduler = Scheduler(setup, saved, budget)
    error: KeyboardInterrupt | WorkersLost | MemoryError | None = None
    proved = Proved()
    try:
        with setup.errors_of(scheduler.core):
            scheduler.execute(plan)
        if proof and not bows and strategy.name == "ils" and not scheduler.stopped:
            proved = prove(setup, scheduler.best_ends()[0].score, budget)
            if proved.better is not None:
                scheduler.climb_from(proved.better)
    except (KeyboardInterrupt, WorkersLost, MemoryError) as stop:
        error = stop
        scheduler.interrupt()
        if not scheduler.runs:
            raise

    def gather() -> SearchResult:
        said = list(notes)
        at_limit = sum(run.hit_work_limit for run in scheduler.runs.values())
        if at_limit:
            said.append(
                f"{at_limit} of {len(scheduler.runs)} runs ended at their work limit; max_district "
                "prevents large districts, which need the most work"
            )
        if scheduler.hit_work_limit:
            said.append("the search ended at its work limit")
        pool = to_pool(names, scheduler.core.pool())
        best = [graph for graph, score in pool if score >= pool[0].score - TOLERANCE]
        # Independent of the last bit of a score: fewest bidirected edges, then by encoding.
        best.sort(key=lambda graph: (graph.n_bidirected, graph._parents, graph._spouses))
        said += [_describe_bow(bow, best) for bow in bows]
        return SearchResult(
            graph=best[0],
            score=next(score for graph, score in pool if graph == best[0]),
            runs=tuple(run for _, run in sorted(scheduler.runs.items())),
            best_graphs=tuple(best),
            pool=tuple(pool),
            moments=moments,
            space=space,
            rule=rule,
            complete=not scheduler.stopped,
            seconds=budget.seconds,
            settings=settings or {},
            holdout=holdout,
            notes=tuple(said),
            proved=proved.whole,
            proof=proved.statement,
        )

    try:
        result = gather()
    except KeyboardInterrupt as stop:  # nothing is lost in these last lines either
        error, result = error or stop, gather()
    if isinstance(error, WorkersLost | MemoryError):
        error.result = result  # type: ignore[union-attr]
        raise error
    if error is not None:
        raise SearchInterrupted(result)
    return result


def adapt_to_data(
    moments: Moments, space: SearchSpace, rule: ScoringRule
) -> tuple[SearchSpace, ScoringRule, list[str]]:
    """Return the space and the rule for these moments, with notes on what was derived from them."""
    n, d, notes = moments.n, len(moments.names), []
    rule = rule.resolve(n, d)
    if rule.origin:
        notes.append(f"penalty {rule.weight:.4g} is {rule.origin}")
    if not moments.definite:
        distinct = moments._n_distinct
        space = space.with_default_limits(n, distinct)
        among = "" if distinct == n else f" ({distinct:g} distinct rows)"
        notes.append(
            f"n = {n:g} observations{among} of {d} variables: the search was limited to "
            f"{space.describe_limits()}, so that every district with its parents has fewer than n "
            "variables"
        )
    extended = ScoringRule("ebic").resolve(n, d).weight
    if n < FEW_ROWS * d and rule.weight < extended:
        notes.append(
            f"with penalty {rule.weight:.4g} and only {n / d:.2g} observations per variable, many "
            f"edges are likely to be due to chance; penalty='ebic' ({extended:.4g} here) gives fewer "
            "edges and takes less time"
        )
    return space, rule, notes


def _describe_bow(bow: tuple[str, str], best: Sequence[MixedGraph]) -> str:
    """Return a note on whether the effect of a required bow is identified."""
    x, y = map(quote, bow)
    looked = best[:_MOST_IDENTIFIED]
    found = [graph.identified().edge(f"{x} -> {y}").verdict for graph in looked]
    least = "" if len(looked) == len(best) else "at least "
    note = (
        f"{x} -> {y}, with {x} <-> {y} required, is identified in {least}"
        f"{found.count('identified')} of {len(best)} graphs with the best score (best_graphs)"
    )
    return note if len(best) == 1 else note + ", which may differ in its instruments and estimate"


def check_finite_n(moments: Moments) -> None:
    """Raise an error for a population covariance matrix."""
    if moments.n == float("inf"):
        raise DataError(
            "n = inf: without a penalty the complete graph is the best; give the n that the penalty "
            "should be computed with"
        )


def _settings(
    strategy: Strategy, rule: ScoringRule, budget: Budget, holdout: float | None
) -> dict[str, Any]:
    """Return the options that differ from their defaults, as strings and numbers."""
    chosen: dict[str, Any] = {
        field.name: getattr(group, field.name)
        for group in (strategy, rule, budget)
        for field in dataclasses.fields(group)
        if field.init
        and field.name not in ("rng", "progress", "executor", "cancelled", "began")
        and getattr(group, field.name) != field.default
    }
    if "name" in chosen:
        chosen["strategy"] = chosen.pop("name")
    if "starts" in chosen:
        chosen["starts"] = f"{len(chosen['starts'])} graphs"
    if budget.rng is not None:
        chosen["rng"] = budget.rng if isinstance(budget.rng, int) else "a generator"
    return chosen if holdout is None else chosen | {"holdout": holdout}
