"""Enumeration of equivalence classes (sections 2.4 and 3.3).

:func:`equivalence_class` lists the BAPs that are equivalent to a graph, all with the same skeleton,
by one of three methods:

- ``"exact"``: all of them, by a search over the orientations of the skeleton that builds a graph
  ancestors first and checks each constraint as early as possible (``cpp/equivalence/classes.hpp``);
- ``"edge-changes"``: those reached by changes of single edges with the exact test. Up to four nodes
  these are all; some classes on five nodes are not connected;
- ``"colliders"``: those with the same collider triples (Theorem "sufficient"), possibly few of the
  class, without any search (``cpp/equivalence/colliders.hpp``).

:func:`empirical_class` lists the graphs that the data do not distinguish: from the graphs with the
same collider triples it repeatedly changes single edges, and keeps graphs whose score is within
epsilon of the original. With a tiny epsilon and a population covariance matrix the result
approximates the exact class; a larger epsilon includes neighboring classes, which makes bounds on
effects conservative (section 4.1).

:func:`atlas` classifies all BAPs on a few labeled nodes. Renaming nodes maps classes to classes, so
that one skeleton of each isomorphism class is examined, and counted as often as it can be labeled.
With targets, only renamings that map targets to targets are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, compress, product
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.options import DataOptions
from bowfree.equivalence.class_members import EquivalenceClass, Factor, single_factor
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import (
    OBSERVED,
    Kinds,
    Targets,
    TargetSets,
    read_targets,
    targets_of,
)
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.encodings import EDGES, masks_of_states
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.model.context import Context, context_of
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Kind, Means, Method, Missing, Penalty, Rng, public
from bowfree.results.display import count
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.validation import check_choice, check_count, check_nonnegative

ClassMethod = Literal["exact", "edge-changes", "colliders"]

STORED_MEMBERS = 1_000_000
"""Default limit of the number of members per component of the skeleton."""

_STORED_BYTES = 10**9
"""Limit of the memory of all members; a member takes a byte per edge."""


@public
def equivalence_class(
    graph: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    method: ClassMethod = "exact",
    limit: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    rng: Rng = None,
) -> EquivalenceClass:
    """Find the BAPs that are equivalent to a graph.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The class of the result of a search is restricted to its search space: members agree
        with its knowledge, and after a search over DAGs (or bidirected graphs) they are such
        graphs. An ancestral or arid search and the limits on in-degree and districts do not restrict
        the class, because equivalent BAPs beyond them fit equally well. Without any restriction:
        ``bowfree.equivalence_class(result.graph)``.
    targets, kind
        As for :func:`bowfree.equivalent`; by default those of the data of the result, or one
        observational condition. Only with ``method="exact"``.
    method : {"exact", "edge-changes", "colliders"}
        All members; those reached by changes of single edges; those with the same collider triples.
    limit : int, optional
        Largest number of members. By default 1,000,000 for each component of the skeleton, fewer
        for graphs with more than 1,000 edges: as many as fit in a gigabyte.
    progress : callable, optional
        Called with a :class:`bowfree.Progress` several times a second: members found so far.
    rng
        As for :func:`bowfree.equivalent`.

    Returns
    -------
    EquivalenceClass
        It contains the graph itself; ``complete`` is False if a limit ended the enumeration.

    Raises
    ------
    GraphError
        A directed cycle, a bow, or a target that is not a node.
    BowfreeError
        Every condition intervenes on one of two nodes, so that an edge ``<->`` between them cannot
        be detected and the class has no common skeleton.

    Examples
    --------
    All 25 BAPs with three nodes and three edges are equivalent; five have the collider triples of g:

    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z <- x")
    >>> len(bf.equivalence_class(g)), len(bf.equivalence_class(g, method="colliders"))
    (25, 5)

    With an additional experiment on y:

    >>> chain = bf.parse("x -> y -> z")
    >>> print(bf.equivalence_class(chain, targets=[(), ("y",)]).summary())
    2 members
    edge  a -> b  a <- b  a <-> b  same in all equivalent graphs
    x, y       1       0        1  x o-> y
    y, z       2       0        0  y -> z
    """
    g = graph_of(graph)
    g.check_bap()
    check_choice("method", method, get_args(ClassMethod))
    conditions = None if targets is None else read_targets(targets, kind, g.nodes)
    budget = Budget(time_limit=time_limit, progress=progress)
    return class_by_components(
        graph,
        stored_members(g) if limit is None else check_count("limit", limit, 1),
        budget.time_limit,
        conditions=conditions,
        method=method,
        first=limit,
        seed=algebra_seed(rng),
        progress=_progress(budget),
    )


def class_by_components(
    graph: GraphLike,
    limit: int,
    time_limit: float | None = None,
    *,
    conditions: Targets | None = None,
    method: ClassMethod = "exact",
    first: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> EquivalenceClass:
    """Return the class with at most `limit` members of each component of the skeleton.

    `first` limits their product. By default the conditions are those of the data of the result.
    """
    context = context_of(graph)
    g = context.graph
    conditions = conditions or targets_of(context.moments, g.nodes)
    if conditions.any and method != "exact":
        raise BowfreeError(f"method = {method!r}: targets require method='exact'")
    conditions.check_identified_skeleton("a class")
    factors, complete = None, True
    if method != "colliders":
        found = _core.class_factors(
            *g._bits(), method == "exact", seed, limit, time_limit, conditions.core, progress
        )
        factors = tuple(Factor(tuple(edges), np.asarray(marks)) for edges, marks, _ in found)
        complete = all(done for _, _, done in found)
    made = EquivalenceClass(
        g,
        method,
        complete,
        factors,
        targets=conditions.sets,
        kind=conditions.kind,
        source=context,
    )
    made = made if first is None else made._first(first)
    return made if context.space is None else made.permitted_by(context.space)


def stored_members(graph: MixedGraph) -> int:
    """Return the default limit of the number of members."""
    return min(STORED_MEMBERS, _STORED_BYTES // max(graph.n_edges, 1))


def _progress(budget: Budget) -> Callable[[int], None] | None:
    """Return the callback of the core for the number of members found, if there is one."""
    if budget.progress is None:
        return None
    return lambda found: budget.report_progress("members", found, found)


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalClass(EquivalenceClass):
    """The empirical class of a graph: an :class:`~bowfree.EquivalenceClass` with scores.

    Attributes
    ----------
    scores : ndarray of shape (members,)
        The score of each member, in the order of iteration; the first member is the graph itself.
    score : float
        Score of the graph itself.
    epsilon : float
        Largest difference of scores.
    """

    scores: npt.NDArray[np.float64]
    score: float
    epsilon: float


@public
def empirical_class(
    graph: GraphLike,
    data: Any = None,
    *,
    epsilon: float = 1e-10,
    limit: int | None = None,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EmpiricalClass:
    """Collect the graphs with the same skeleton whose score is within epsilon of the graph's.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    epsilon : float
        Largest difference of scores. A score is per observation.
    limit : int, optional
        Largest number of members; by default 1,000,000, or as many as a gigabyte holds.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge; by default that of the result, or 1, the
        paper's. It shifts all scores alike, because the number of edges is fixed.
    method : {"newton", "ricf"}
        "newton" compares maxima of the likelihood. ``method="ricf", max_iter=10`` is the paper's
        program, which misses members whose scores have not converged.

    Raises
    ------
    DataError
        Invalid data, or a score of the graph that is not finite.

    Examples
    --------
    With the population covariance matrix of a chain, the chains, the fork, and the two graphs with a
    bidirected edge have the same score:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> found = bf.empirical_class(bf.parse("x -> y -> z"), cov=S, n=1000)
    >>> len(found), bf.parse("x <- y -> z") in found
    (5, True)
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    limit = None if limit is None else check_count("limit", limit, 1)
    budget = Budget(time_limit=time_limit, progress=progress)
    context = context_of(graph)
    g = context.graph
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    moments = context.read(data, options)
    moments._require_definite("districts of other graphs may be larger")
    d = len(g)
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    rule = rule.resolve(moments.n, d)
    marks, objective, own, complete = _core.empirical_class(
        moments.S,
        *g._bits(),
        epsilon,
        d * (d - 1) // 2,
        limit or stored_members(g),
        budget.time_limit,
        rule.sweeps,
        _progress(budget),
    )
    penalty_term = 0.0
    if moments.n != math.inf:
        penalty_term = rule.weight * math.log(moments.n) / moments.n * (d + g.n_edges)

    def score(F: Any) -> Any:
        return -0.5 * (d * math.log(2 * math.pi) + F) - penalty_term

    if not math.isfinite(score(own)):
        raise DataError(
            f"the score of the graph is {score(own)} with penalty = {rule.weight}: check the "
            "penalty and the scale of the variables"
        )
    return EmpiricalClass(
        g,
        "empirical",
        complete,
        (single_factor(marks),),
        scores=score(objective),
        score=score(own),
        epsilon=float(epsilon),
        source=Context(g, moments, space=context.space, rule=rule),
    )


LARGEST = 5
_COUNTS = ("orbit", "n_baps", "n_classes", "largest_class", "n_split")


@dataclass(frozen=True, repr=False)
class Atlas(RowTable, ToDict):
    """All labeled BAPs on d nodes by skeleton and class.

    Attributes
    ----------
    d : int
        Number of nodes; they are called x1, x2, ...
    rows : tuple of Row
        One for each unlabeled skeleton, by number of edges: ``skeleton`` (the edges of one labeled
        skeleton), ``orbit`` (number of labeled skeletons), ``n_baps``, ``n_classes``,
        ``largest_class`` and ``n_split`` (classes that single-edge changes do not connect), all per
        labeled skeleton, and ``split_example`` (a member of such a class, or None).
    targets : tuple of tuple of str
        The nodes intervened on in each condition; ``((),)`` is one observational condition.
    kind : {"perfect", "mechanism", "activity", "noise"} or tuple of them
        Kind of the interventions; one for each condition if they differ.
    """

    d: int
    rows: tuple[Row, ...]
    targets: tuple[tuple[str, ...], ...] = field(default=OBSERVED, kw_only=True)
    kind: Kinds = field(default="perfect", kw_only=True)

    @property
    def n_baps(self) -> int:
        """The number of labeled BAPs."""
        return sum(entry.orbit * entry.n_baps for entry in self.rows)

    @property
    def n_classes(self) -> int:
        """The number of exact equivalence classes."""
        return sum(entry.orbit * entry.n_classes for entry in self.rows)

    @property
    def n_split(self) -> int:
        """The number of classes that single-edge changes do not connect."""
        return sum(entry.orbit * entry.n_split for entry in self.rows)

    def classes(self) -> Iterator[EquivalenceClass]:
        """Yield all classes, one labeled skeleton after the other; 87,219 for d = 5."""
        empty = MixedGraph(_node_names(self.d))
        pairs = list(combinations(range(self.d), 2))
        for present in product((False, True), repeat=len(pairs)):
            edges = list(compress(pairs, present))
            seen: set[MixedGraph] = set()
            for marks in product(EDGES, repeat=len(edges)):
                graph = empty._with(*masks_of_states(self.d, marks, edges))
                if graph in seen or not graph.is_acyclic():
                    continue
                found = equivalence_class(graph, targets=self.targets, kind=self.kind)
                seen.update(found)
                yield found

    def _headline(self) -> str:
        return (
            f"{count(self.n_baps, 'BAP')} on {count(self.d, 'labeled node')} in "
            f"{count(self.n_classes, 'class', 'classes')}"
        )

    def _sections(self) -> Iterator[str]:
        yield (
            f"{self._headline()} ({count(len(self.rows), 'skeleton')} up to renaming; "
            f"{self.n_split} classes not connected by single-edge changes)"
        )
        conditions = Targets(_node_names(self.d), self.targets, self.kind)
        if conditions.any:
            yield conditions.describe()

    def _content(self) -> Any:
        totals = {name: getattr(self, name) for name in ("d", "n_baps", "n_classes", "n_split")}
        conditions = {"targets": self.targets, "kind": self.kind}
        return {**totals, **conditions, "skeletons": self.rows}


@public
def atlas(
    d: int,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Atlas:
    """Classify all labeled BAPs on d nodes into exact equivalence classes.

    Parameters
    ----------
    d : int
        Number of nodes, 1 to 5. They are called x1, x2, ...
    targets, kind, rng
        As for :func:`bowfree.equivalence_class`.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.equivalence.atlas(3))  # doctest: +ELLIPSIS
    62 BAPs on 3 labeled nodes in 11 classes (4 skeletons up to renaming; 0 classes ...)

    An experiment on one node distinguishes more of them:

    >>> bf.equivalence.atlas(3, targets=[(), ("x1",)]).n_classes
    26
    """
    d = check_count("d", d, 1)
    if d > LARGEST:
        raise BowfreeError(
            f"d = {d}: there are too many BAPs to classify; d is at most {LARGEST}, and "
            "equivalence_class lists the class of one graph"
        )
    names = _node_names(d)
    conditions = read_targets(targets, kind, names)
    conditions.check_identified_skeleton("an atlas")
    given, empty = conditions.core, MixedGraph(names)
    entries = []
    for row in _core.atlas(d, algebra_seed(rng), Budget(n_jobs=n_jobs).n_threads, given):
        edges, *counts, example = row
        entries.append(
            Row(
                skeleton=tuple((names[i], names[j]) for i, j in edges),
                **dict(zip(_COUNTS, counts, strict=True)),
                split_example=empty._with(*masks_of_states(d, example, edges)) if example else None,
            )
        )
    return Atlas(d, tuple(entries), targets=conditions.sets, kind=conditions.kind)


def _node_names(d: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(d))
