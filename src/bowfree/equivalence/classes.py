"""All BAPs that are equivalent to one: the class as a whole (section 2.4).

Three methods list members, all of the same skeleton:

- ``"exact"``: all of them, by a search over the orientations of the skeleton that builds a graph
  ancestors first and checks each constraint as soon as it can be (``cpp/equivalence/classes.hpp``);
- ``"edge-changes"``: those that a walk reaches by changing one edge at a time with the exact test.
  Up to four nodes these are all; from five nodes on some classes fall apart;
- ``"colliders"``: those with the same collider triples (Theorem "sufficient"), which may be few of
  the class, but are known without any search (``cpp/equivalence/colliders.hpp``).

With ``targets`` the class is that of the graphs that no data can tell apart, had from several
conditions with interventions (:mod:`bowfree.equivalence.targets`): a part of the class without
them.

Next: :mod:`bowfree.equivalence.class_members` for how they are kept,
:mod:`bowfree.equivalence.empirical` for the class that data cannot tell apart,
:mod:`bowfree.equivalence.atlas` for all classes on a few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from bowfree import _core
from bowfree.equivalence.class_members import (
    EquivalenceClass,
    class_of_marks,
    marks_of,
    to_factors,
)
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import (
    Kind,
    Targets,
    TargetSets,
    given_targets,
    targets_of,
)
from bowfree.errors import BowfreeError
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import context_of
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Rng, public
from bowfree.validation import check_choice, check_count

Method = Literal["exact", "edge-changes", "colliders"]

STORED_MEMBERS = 1_000_000
"""Most members that a search keeps per component of the skeleton."""

_STORED_BYTES = 10**9
"""And most memory for them; a member takes a byte per edge."""


@public
def equivalence_class(
    graph: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    method: Method = "exact",
    limit: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    rng: Rng = None,
) -> EquivalenceClass:
    """Find the BAPs that are equivalent to a graph.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search stands for its best graph *within its search space*: what the
        search took for granted holds for the members, too. So they keep to its knowledge, and after
        a search over DAGs (or bidirected graphs) they are such graphs. An ancestral or arid search
        and the limits on in-degree and districts do not narrow the class: these say where it was
        worth looking, and equivalent BAPs outside fit as well. All BAPs, whatever was taken for
        granted: ``bowfree.equivalence_class(result.graph)``.
    targets : sequence of sets of str, optional
        The nodes intervened on in each condition under which data could be had, ``()`` for none:
        ``[(), ("x",)]`` means undisturbed, and with x intervened on. By default those of the data
        that the graph was learned from or fitted to, or one condition without targets. Only with
        ``method="exact"``.
    kind : {"perfect", "mechanism", "activity", "noise"} or sequence of them
        What an intervention does (:mod:`bowfree.equivalence.targets`): by default a target loses
        every edge with a head at it. A sequence has one for each condition.
    method : {"exact", "edge-changes", "colliders"}
        All members; those within reach of single-edge changes; those with the same collider
        triples.
    limit : int, optional
        At most this many members. Without it a search keeps up to 1,000,000 members per component
        of the skeleton, fewer for graphs of more than 1,000 edges: as many as a gigabyte holds.
    time_limit : float, optional
        Seconds after which the search ends with what it has found.
    progress : callable, optional
        Called with a :class:`bowfree.Progress` several times a second: members found so far.
    rng : int or numpy.random.Generator, optional
        As for :func:`bowfree.equivalent`.

    Returns
    -------
    EquivalenceClass
        Holds the graph itself in any case; ``complete`` tells whether a limit cut it short.

    Raises
    ------
    GraphError
        When it has a directed cycle or a bow, or a target is none of its nodes.
    BowfreeError
        Conditions that never show a pair of nodes undisturbed: graphs with and without an edge
        ``<->`` there would be equivalent, and no skeleton holds them all.

    Examples
    --------
    All 25 BAPs with three nodes and three edges are equivalent, five have g's collider triples:

    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z <- x")
    >>> len(bf.equivalence_class(g)), len(bf.equivalence_class(g, method="colliders"))
    (25, 5)

    Thirty separate edges, each of which can be drawn in three ways:

    >>> many = bf.MixedGraph([f"v{i}" for i in range(60)],
    ...                      directed=[(f"v{2 * i}", f"v{2 * i + 1}") for i in range(30)])
    >>> bf.equivalence_class(many).size == 3**30
    True

    What is still open when y was set by hand, too:

    >>> chain = bf.parse("x -> y -> z")
    >>> print(bf.equivalence_class(chain, targets=[(), ("y",)]).summary())
    2 members
    edge  a -> b  a <- b  a <-> b  in all members
    x, y       1       0        1  x o-> y
    y, z       2       0        0  y -> z

    References
    ----------
    Section 2.4 of the paper, Theorem "sufficient" for ``"colliders"``.
    """
    context = context_of(graph)
    g = context.graph
    g.check_bap()
    check_choice("method", method, get_args(Method))
    conditions = (
        targets_of(context.moments, g.nodes)
        if targets is None
        else given_targets(targets, kind, g.nodes)
    )
    if conditions.any and method != "exact":
        raise BowfreeError(
            f"method = {method!r}: with targets there is only method='exact', which finds all "
            "members"
        )
    conditions.check_seen("a class")
    limit = None if limit is None else check_count("limit", limit, 1)
    budget = Budget(time_limit=time_limit, progress=progress)
    if method == "colliders":
        sizes = tuple(_core.collider_sizes(*g._bits()))
        whole = EquivalenceClass(g, method, True, sizes, None, source=context)
    else:
        found = _core.class_factors(
            *g._bits(),
            method == "exact",
            algebra_seed(rng),
            limit or stored_members(g),
            budget.time_limit,
            conditions.core,
            count_teller(budget),
        )
        factors = to_factors(found)
        complete = all(done for _, _, done in found)
        sizes = tuple(len(f.marks) for f in factors)
        whole = EquivalenceClass(
            g,
            method,
            complete,
            sizes,
            factors,
            targets=conditions.sets,
            kind=conditions.kind,
            source=context,
        )
    cut = whole if limit is None or whole.size <= limit else _first_members(whole, limit)
    return cut if context.space is None else cut.permitted_by(context.space)


def class_by_components(
    graph: GraphLike,
    limit: int,
    time_limit: float | None = None,
    *,
    conditions: Targets | None = None,
) -> EquivalenceClass:
    """Return the exact class with at most `limit` members of each component of the skeleton.

    :func:`equivalence_class` limits their product instead. By default the conditions are those of
    the data of the result.
    """
    context = context_of(graph)
    g = context.graph
    conditions = conditions or targets_of(context.moments, g.nodes)
    conditions.check_seen("a class")
    listed = _core.class_factors(*g._bits(), True, 0, limit, time_limit, conditions.core)
    factors = to_factors(listed)
    sizes = tuple(len(factor.marks) for factor in factors)
    complete = all(done for _, _, done in listed)
    found = EquivalenceClass(
        g,
        "exact",
        complete,
        sizes,
        factors,
        targets=conditions.sets,
        kind=conditions.kind,
        source=context,
    )
    return found if context.space is None else found.permitted_by(context.space)


def stored_members(graph: MixedGraph) -> int:
    """Return how many members of a class are kept when nobody says how many."""
    return min(STORED_MEMBERS, _STORED_BYTES // max(graph.n_edges, 1))


def count_teller(budget: Budget) -> Callable[[int], None] | None:
    """Return what the core calls with the number of members found; None when nobody is told."""
    if budget.progress is None:
        return None
    return lambda found: budget.report_progress("members", found, found)


def _first_members(whole: EquivalenceClass, limit: int) -> EquivalenceClass:
    """Return a class of the first `limit` members, and of the graph itself."""
    own = marks_of(whole.graph, whole._edges)
    marks = np.tile(np.array(own, dtype=np.uint8), (limit, 1))
    index = np.arange(limit)
    for factor in reversed(whole._factors):
        index, digit = np.divmod(index, len(factor.marks))
        marks[:, list(factor.edges)] = factor.marks[digit]
    if not (marks == own).all(axis=1).any():
        marks[-1] = own
    fields = class_of_marks(whole.graph, whole.method, False, marks)
    return EquivalenceClass(*fields, targets=whole.targets, kind=whole.kind, source=whole.source)
