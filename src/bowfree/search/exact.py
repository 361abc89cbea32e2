"""Exact search: the best graph of a space with small districts, with a proof or a bound.

A greedy search comes first; :mod:`bowfree.search.proof` then looks for a better graph until there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import NonGaussianRows
from bowfree.errors import BowfreeError, DataError, KnowledgeError, TimeIsUp
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, GraphClass, Means, Missing, Penalty, Rng, public
from bowfree.search.greedy import adapt_to_data, check_finite_n, search_moments
from bowfree.search.plan import Strategy
from bowfree.search.proof import DEFAULT_DISTRICT, MAX_DISTRICT, MAX_NODES, Proof, max_nodes
from bowfree.search.result import TOLERANCE, SearchInterrupted, SearchResult
from bowfree.search.scheduler import Setup
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.validation import check_count


@dataclass(frozen=True, eq=False, repr=False)
class ExactResult(SearchResult):
    """The result of :func:`bowfree.exact_search`: that of a search, with a proof or a bound.

    It has the attributes of a :class:`bowfree.SearchResult`, whose `runs` are those of the greedy
    search that came first, and the following.

    Attributes
    ----------
    bound : float
        No graph of the space has a score above this; equal to `score` if that is proved.
    max_parents : int or None
        Largest number of parents of a node; part of the space.
    fits, states : int
        Numbers of districts fitted and of states of the search.
    """

    bound: float = float("inf")
    max_parents: int | None = None
    fits: int = 0
    states: int = 0

    @property
    def gap(self) -> float:
        """Difference of `bound` and `score`, in units of ``n * score``."""
        return self.moments.n * (self.bound - self.score)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers."""
        own = ("bound", "gap", "max_parents", "fits", "states")
        return super().to_dict() | {name: getattr(self, name) for name in own}

    def _headline(self) -> str:
        proof = "proved best" if self.proved else f"gap {self.gap:.2f}"
        return f"{super()._headline()}, {proof}"

    def _sections(self) -> Iterator[str]:
        yield from super()._sections()
        yield f"{self.fits:,} districts fitted and {self.states:,} states visited for the bound"


@public
def exact_search(
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
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    max_parents: int | None = 3,
    penalty: Penalty = 1.0,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    start: MixedGraph | SearchResult | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ExactResult:
    """Find the graph with the best score among graphs with small districts, and prove it.

    A greedy search comes first. The time of the proof depends on the data. With 10 variables of a
    public benchmark and 3 parents it took about a second for districts of at most 2 nodes and less
    than a minute for 3; DAGs of 20 variables take a second.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows, of at most 20 variables; 15, 12, 10, 10 or 9 with districts of at most
        2, 3, 4, 5 or 6 nodes.
    max_district : int, optional
        Largest number of nodes in a district, at most 6; overrides that of `space`. By default 2,
        and 1 for DAGs.
    max_parents : int or None
        Largest number of parents of a node, spouses not counted; None for no limit.
    start : MixedGraph or SearchResult, optional
        A graph, or the result of a search: its graphs are the first to be improved or proved, in
        place of those of a greedy search. If no data are given, those of the result are used, with
        its penalty and its space.

    Returns
    -------
    ExactResult
        If the time limit ended the search, ``proved`` is False, and ``gap`` tells by how much
        another graph may be better.

    Raises
    ------
    SearchInterrupted
        On Ctrl-C, a :class:`KeyboardInterrupt` with the best graph so far and its bound in its
        ``result``.

    References
    ----------
    K. Rantanen, A. Hyttinen, M. Järvisalo (2021). Maximal ancestral graph structure learning via
    exact search. *UAI 37*. C. Yuan, B. Malone (2013). Learning optimal Bayesian networks: a
    shortest path perspective. *JAIR 48*.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    >>> result = bf.exact_search(cov=S, n=500, rng=1)
    >>> str(result.graph), result.proved, result.gap
    ('x1 -> x2 <- x3', True, 0.0)
    """
    budget = Budget(rng, n_jobs, time_limit, progress)
    rule = ScoringRule(penalty, "newton", None, gamma, smallest_effect)
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    if isinstance(start, SearchResult) and data is None and cov is None:
        data, rule = start.moments, start.rule
        space = start.space if space is None else space
    moments = options.read(data)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    largest, max_parents = _check_size(moments, within, max_parents)
    if isinstance(moments.sample, NonGaussianRows):
        raise BowfreeError("errors = 'nongaussian': a proof requires scores of covariances")
    if rule.method != "newton":
        raise BowfreeError(f"method = {rule.method!r}: a proof requires converged fits, 'newton'")
    within = replace(within, max_district=largest)
    within, rule, notes = adapt_to_data(moments, within, rule)
    setup = Setup(moments, within, rule, Strategy())
    greedy = _greedy(setup, start, max_parents, budget)
    proof = Proof(setup, max_parents, budget)
    core = setup.core()
    starts = [setup.required_graph, *([start] if isinstance(start, MixedGraph) else [])]
    if greedy is not None:
        starts += [*greedy.best_graphs, *(entry.graph for entry in greedy.pool)]
    for graph in starts:
        if proof.permits(graph):
            proof.improve(graph, core.score(*graph._bits()))
    proof.run()
    if proof.graph is None:
        raise KnowledgeError(
            f"a variable has more than {max_parents} required parents; raise max_parents"
        )
    pool = [entry for entry in greedy.pool if proof.permits(entry.graph)] if greedy else []
    best = [entry.graph for entry in pool if entry.score >= proof.score - TOLERANCE]
    if proof.graph not in best:
        best.insert(0, proof.graph)
    best.sort(key=lambda graph: (graph.n_bidirected, graph._parents, graph._spouses))
    score = core.score(*best[0]._bits())
    bound = score if proof.proved else max(score, proof.bound)
    if not proof.proved:
        gap = moments.n * (bound - score)
        notes.append(f"at most {gap:.2f} units of n * score below the best of {proof.considered}")
    result = ExactResult(
        graph=best[0],
        score=score,
        runs=greedy.runs if greedy else (),
        best_graphs=tuple(best),
        pool=tuple(pool),
        moments=moments,
        space=within,
        rule=rule,
        complete=proof.proved,
        seconds=budget.seconds,
        holdout=greedy.holdout if greedy else None,
        notes=tuple(notes),
        proved=proof.proved,
        proof=f"proved best among {proof.considered}" if proof.proved else "",
        bound=bound,
        max_parents=max_parents,
        fits=proof.fits,
        states=proof.states,
    )
    if proof.interrupted:
        raise SearchInterrupted(result)
    return result


def _check_size(
    moments: Moments, space: SearchSpace, max_parents: int | None
) -> tuple[int, int | None]:
    """Return the largest district and the largest number of parents."""
    check_finite_n(moments)
    d = len(moments.names)
    if d > MAX_NODES:
        raise DataError(
            f"{d} variables are too many for an exact search; choose at most {MAX_NODES} variables, "
            "or use greedy_search"
        )
    if not moments.definite:
        raise DataError(
            f"n = {moments.n:g} observations of {d} variables: an exact search requires more "
            "observations than variables; pass `shrinkage=`, or use greedy_search"
        )
    if max_parents is not None:
        max_parents = check_count("max_parents", max_parents, 0)
    largest = DEFAULT_DISTRICT if space.max_district is None else space.max_district
    if space.graph_class == "dag":
        largest = 1
    largest = min(largest, d)
    if largest > MAX_DISTRICT:
        raise BowfreeError(
            f"max_district = {largest}: an exact search requires at most {MAX_DISTRICT}"
        )
    if d > max_nodes(largest):
        raise BowfreeError(
            f"max_district = {largest}: an exact search with such districts requires at most "
            f"{max_nodes(largest)} variables, not {d}; choose a smaller district or fewer variables"
        )
    if largest > 1 and isinstance(moments, JointMoments):
        raise BowfreeError(
            "several conditions: an exact search requires graph_class='dag' or max_district=1"
        )
    return largest, max_parents


def _greedy(
    setup: Setup, start: MixedGraph | SearchResult | None, max_parents: int | None, budget: Budget
) -> SearchResult | None:
    """Return the greedy search to begin with, which may be the start; None after a single graph."""
    if isinstance(start, SearchResult):
        return start
    if start is not None:
        setup.space.check_start(start, setup.moments.names)
        return None
    space = setup.space
    if max_parents is not None and space.max_in_degree is None and max_parents < 3:
        space = replace(space, max_in_degree=max_parents + 1)
    share = budget.with_share(0.25)
    try:
        return search_moments(setup.moments, space, setup.rule, setup.strategy, share)
    except TimeIsUp:
        return None
