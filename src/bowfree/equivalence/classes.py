"""All BAPs that are equivalent to one: the class as a whole (section 2.4).

Three methods list members, all of the same skeleton:

- ``"exact"``: all of them, by a search over the orientations of the skeleton that builds a graph
  ancestors first and checks each constraint as soon as it can be (``cpp/equivalence/classes.hpp``);
- ``"edge-changes"``: those that a walk reaches by changing one edge at a time with the exact test.
  Up to four nodes these are all; from five nodes on some classes fall apart;
- ``"colliders"``: those with the same collider triples (Theorem "sufficient"), which may be few of
  the class, but are known without any search (``cpp/equivalence/colliders.hpp``).

A class is a product: components of the skeleton, and the free choices among the collider-invariant
graphs, vary independently. It is kept as its factors, so a class of 10^12 members is counted,
summarised and asked for membership as easily as a small one, and its members are made one by one.

With ``targets`` the class is that of the graphs that no data can tell apart, had from several
conditions with interventions (:mod:`bowfree.equivalence.targets`): a part of the class without
them.

Next: :mod:`bowfree.equivalence.empirical` for the class that data cannot tell apart,
:mod:`bowfree.equivalence.atlas` for all classes on a few nodes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.budget import Budget, Progress
from bowfree.display import Shown, Table, count, shorten
from bowfree.equivalence.decision import adjacency, algebra_seed, aligned
from bowfree.equivalence.targets import (
    OBSERVED,
    Kind,
    Targets,
    TargetSets,
    given_targets,
    targets_of,
)
from bowfree.errors import BowfreeError, GraphError
from bowfree.frames import data_frame
from bowfree.frozen import Frozen
from bowfree.graph.bit_sets import members
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import place
from bowfree.graph.pair_states import BACKWARD, BIDIRECTED, EDGES, FORWARD
from bowfree.graph.text import quote
from bowfree.model.joint_moments import JointMoments
from bowfree.options import Rng, at_least, one_of
from bowfree.pictures import svg
from bowfree.pictures.drawn import Drawn
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace

__all__ = ["ClassSummary", "EdgeSummary", "EquivalenceClass", "equivalence_class"]

Method = Literal["exact", "edge-changes", "colliders"]

STORED_MEMBERS = 1_000_000
"""Most members that a search keeps per component of the skeleton."""

_STORED_BYTES = 10**9
"""And most memory for them; a member takes a byte per edge."""


@dataclass(frozen=True, eq=False)
class Factor(Frozen):
    """Edges whose marks vary together, and the ways they do.

    `marks` is (options, edges); a mark is the state of a pair, see `bowfree.graph.pair_states`.
    """

    edges: tuple[int, ...]
    marks: npt.NDArray[np.uint8]


@dataclass(frozen=True, repr=False)
class EdgeSummary(Shown):
    """What the members of a class say about one edge of the skeleton.

    Attributes
    ----------
    a, b : str
        The ends, in node order.
    n_forward, n_backward, n_bidirected : int
        How many members have a -> b, a <- b and a <-> b.
    """

    a: str
    b: str
    n_forward: int
    n_backward: int
    n_bidirected: int

    @property
    def end_at_a(self) -> Literal["head", "tail", "circle"]:
        """The mark at a: the same in all members, or a circle."""
        return _end(self.n_backward + self.n_bidirected, self.n_forward)

    @property
    def end_at_b(self) -> Literal["head", "tail", "circle"]:
        """The mark at b: the same in all members, or a circle."""
        return _end(self.n_forward + self.n_bidirected, self.n_backward)

    @property
    def invariant(self) -> bool:
        """Whether all members have the same edge."""
        return "circle" not in (self.end_at_a, self.end_at_b)

    def turned(self) -> EdgeSummary:
        """Return the same seen from b: a and b exchanged."""
        return EdgeSummary(self.b, self.a, self.n_backward, self.n_forward, self.n_bidirected)

    def _brief(self) -> str:
        left = {"head": "<", "tail": "-", "circle": "o"}[self.end_at_a]
        right = {"head": ">", "tail": "-", "circle": "o"}[self.end_at_b]
        # `a -> b`, not `a --> b`: the language of bowfree.parse where all is known.
        line = f"{left}-{right}".replace("-->", "->").replace("<--", "<-")
        return f"{quote(self.a)} {line} {quote(self.b)}"


def _end(heads: int, tails: int) -> Literal["head", "tail", "circle"]:
    return "circle" if heads and tails else "head" if heads else "tail"


@dataclass(frozen=True, repr=False)
class ClassSummary(Shown):
    """The edges of a class, with their marks counted over the members.

    Attributes
    ----------
    n_members : int
        Number of members counted.
    complete : bool
        Whether these are all that the method looks for.
    edges : tuple of EdgeSummary
        One per edge of the skeleton, in node order.
    names : tuple of str
        The nodes.
    """

    n_members: int
    complete: bool
    edges: tuple[EdgeSummary, ...]
    names: tuple[str, ...]

    def edge(self, a: str, b: str) -> EdgeSummary:
        """Return what the members say about the edge between two nodes, seen from `a`.

        Raises
        ------
        GraphError
            A name that is unknown, or nodes that are not adjacent.

        Examples
        --------
        >>> import bowfree as bf
        >>> summary = bf.equivalence_class(bf.parse("x -> y <- z")).summary()
        >>> str(summary.edge("x", "y")), str(summary.edge("y", "x"))
        ('x o-> y', 'y <-o x')
        """
        place(a, self.names), place(b, self.names)
        for edge in self.edges:
            if (edge.a, edge.b) == (a, b):
                return edge
            if (edge.a, edge.b) == (b, a):
                return edge.turned()
        raise GraphError(f"{quote(a)} and {quote(b)} are not adjacent in any member of the class")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each edge of the skeleton.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, b; n_forward, n_backward, n_bidirected: how many members have a -> b,
            a <- b, a <-> b (as floats when they are too large for 64 bits); end_at_a, end_at_b.
        """
        # Twenty edges that vary freely already have more members than that.
        number = float if self.n_members > np.iinfo(np.int64).max else int
        counts = ("n_forward", "n_backward", "n_bidirected")
        return data_frame(
            {
                **{name: [getattr(e, name) for e in self.edges] for name in ("a", "b")},
                **{name: [number(getattr(e, name)) for e in self.edges] for name in counts},
                "end_at_a": [e.end_at_a for e in self.edges],
                "end_at_b": [e.end_at_b for e in self.edges],
            },
            backend,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        return {
            "n_members": self.n_members,
            "complete": self.complete,
            "edges": [
                {
                    "a": e.a,
                    "b": e.b,
                    "->": e.n_forward,
                    "<-": e.n_backward,
                    "<->": e.n_bidirected,
                    "end_at_a": e.end_at_a,
                    "end_at_b": e.end_at_b,
                }
                for e in self.edges
            ],
        }

    def _brief(self) -> str:
        return f"{_count(self.n_members, self.complete)}, {count(len(self.edges), 'edge')}"

    def _shown(self) -> Iterator[str | Table]:
        yield _count(self.n_members, self.complete)
        rows = [
            (
                f"{quote(e.a)}, {quote(e.b)}",
                *map(str, (e.n_forward, e.n_backward, e.n_bidirected)),
                str(e),
            )
            for e in self.edges
        ]
        yield Table(("edge", "a -> b", "a <- b", "a <-> b", "in all members"), rows, left=(0, 4))


def _count(n_members: int, complete: bool) -> str:
    some = count(n_members, "member")
    return some if complete else f"{some} found, more may exist"


@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceClass(Drawn, Frozen, Sequence[MixedGraph]):
    """Graphs with one skeleton and one model; iterable, indexable, with ``in`` and ``len``.

    Attributes
    ----------
    graph : MixedGraph
        The graph that was asked about; a member.
    method : str
        How the members were found.
    complete : bool
        Whether these are all members that the method can find; False when `limit` or `time_limit`
        ended the search.
    targets : tuple of tuple of str
        The nodes intervened on in each condition; ``((),)`` for one without.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the interventions do.

    Examples
    --------
    >>> import bowfree as bf
    >>> cls = bf.equivalence_class(bf.parse("x -> y -> z"))
    >>> len(cls), cls.complete
    (5, True)
    >>> bf.parse("x <- y -> z") in cls, bf.parse("x -> y <- z") in cls
    (True, False)
    >>> print(cls.summary())
    5 members
    edge  a -> b  a <- b  a <-> b  in all members
    x, y       1       3        1  x o-o y
    y, z       3       1        1  y o-o z
    """

    graph: MixedGraph
    method: str
    complete: bool
    _sizes: tuple[int, ...]
    _listed: tuple[Factor, ...] | None  # None: the collider-invariant graphs, made when needed
    targets: tuple[tuple[str, ...], ...] = field(default=OBSERVED, kw_only=True)
    kind: Kind = field(default="perfect", kw_only=True)

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        if self._listed is not None:
            return self._listed
        return to_factors(_core.collider_factors(*self.graph._bits()))

    @cached_property
    def _edges(self) -> list[tuple[int, int]]:
        return _skeleton_edges(self.graph)

    @property
    def size(self) -> int:
        """The number of members; as ``len``, which cannot tell numbers above ``sys.maxsize``."""
        return math.prod(self._sizes)

    def __len__(self) -> int:
        if self.size > sys.maxsize:
            raise OverflowError(f"the class has {self.size} members; ask for .size instead of len")
        return self.size

    def __iter__(self) -> Iterator[MixedGraph]:
        options = [range(size) for size in self._sizes]
        for choice in product(*options):
            yield self._member(choice)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        i = index + self.size if index < 0 else index
        if not 0 <= i < self.size:
            raise IndexError(f"index {index} in a class of {self.size} members")
        choice = []
        for size in reversed(self._sizes):
            i, digit = divmod(i, size)
            choice.append(digit)
        return self._member(choice[::-1])

    def _member(self, choice: Sequence[int]) -> MixedGraph:
        parents, spouses = list(self._fixed[0]), list(self._fixed[1])
        for factor, option in zip(self._factors, choice, strict=True):
            for e, mark in zip(factor.edges, factor.marks[option].tolist(), strict=True):
                i, j = self._edges[e]
                if mark == FORWARD:
                    parents[j] |= 1 << i
                elif mark == BACKWARD:
                    parents[i] |= 1 << j
                else:
                    spouses[i] |= 1 << j
                    spouses[j] |= 1 << i
        return self.graph._with(parents, spouses)

    @cached_property
    def _fixed(self) -> tuple[list[int], list[int]]:
        """The masks of the edges that no factor touches: those of the graph itself."""
        parents, spouses = list(self.graph._parents), list(self.graph._spouses)
        for factor in self._factors:
            for e in factor.edges:
                for i, j in (self._edges[e], self._edges[e][::-1]):
                    parents[i] &= ~(1 << j)
                    spouses[i] &= ~(1 << j)
        return parents, spouses

    @cached_property
    def _options(self) -> list[frozenset[bytes]]:
        return [frozenset(row.tobytes() for row in f.marks) for f in self._factors]

    def __contains__(self, graph: object) -> bool:
        if not isinstance(graph, MixedGraph) or not graph.is_bap():
            return False
        if set(graph.nodes) != set(self.graph.nodes):
            return False
        other = aligned(self.graph, graph)
        if adjacency(other) != adjacency(self.graph):
            return False
        marks, own = (marks_of(g, self._edges) for g in (other, self.graph))
        free = {e for factor in self._factors for e in factor.edges}
        if any(marks[e] != own[e] for e in range(len(own)) if e not in free):
            return False
        return all(
            bytes(marks[e] for e in factor.edges) in options
            for factor, options in zip(self._factors, self._options, strict=True)
        )

    def summary(self) -> ClassSummary:
        """Count the marks of each edge over all members.

        Returns
        -------
        ClassSummary
        """
        counts = np.zeros((len(self._edges), 1 + max(EDGES)), dtype=object)  # column: the mark
        for e, mark in enumerate(marks_of(self.graph, self._edges)):
            counts[e, mark] = self.size
        for factor, size in zip(self._factors, self._sizes, strict=True):
            times = self.size // max(size, 1)  # a class may be empty after permitted_by
            for column, e in enumerate(factor.edges):
                seen = np.bincount(factor.marks[:, column], minlength=counts.shape[1])
                counts[e] = [times * int(k) for k in seen]
        nodes = self.graph.nodes
        return ClassSummary(
            self.size,
            self.complete,
            tuple(
                EdgeSummary(nodes[i], nodes[j], *(int(row[mark]) for mark in EDGES))
                for (i, j), row in zip(self._edges, counts, strict=True)
            ),
            nodes,
        )

    def permitted_by(self, given: SearchSpace | Knowledge) -> EquivalenceClass:
        """Return the members that agree with knowledge, or lie in a search space; maybe none.

        Knowledge speaks of one pair at a time, so the product stays a product. Of a space count its
        knowledge and the classes ``"dag"`` and ``"bidirected"``, which leave the members with such
        edges only: see :meth:`bowfree.SearchSpace.member_masks`.

        Parameters
        ----------
        given : SearchSpace or Knowledge
            About the nodes of the class.

        Examples
        --------
        >>> import bowfree as bf
        >>> chains = bf.equivalence_class(bf.parse("x -> y -> z"))
        >>> known = bf.Knowledge(unconfounded=["x"], tiers=[["x"], ["y", "z"]])
        >>> [str(graph) for graph in chains.permitted_by(known)]
        ['x -> y -> z']
        >>> len(chains.permitted_by(bf.SearchSpace("dag")))
        3
        """
        space = given if isinstance(given, SearchSpace) else SearchSpace(knowledge=given)
        masks = space.member_masks(self.graph.nodes)
        marks = np.arange(1 + max(EDGES))
        permitted = np.array(
            [masks[i, j] >> marks & 1 for i, j in self._edges], dtype=bool
        ).reshape(-1, len(marks))  # edges x marks
        free = {e for factor in self._factors for e in factor.edges}
        own = marks_of(self.graph, self._edges)
        possible = all(permitted[e, mark] for e, mark in enumerate(own) if e not in free)
        edges = set(self._edges)
        d = len(self.graph)
        possible &= all(
            masks[i, j] & 1 for i, j in combinations(range(d), 2) if (i, j) not in edges
        )
        kept = []
        for factor in self._factors:
            rows = permitted[list(factor.edges), factor.marks].all(axis=1)
            kept.append(Factor(factor.edges, factor.marks[rows & possible]))
        sizes = tuple(len(f.marks) for f in kept)
        if not possible and not kept:
            sizes, kept = (0,), [Factor((), np.zeros((0, 0), dtype=np.uint8))]
        return EquivalenceClass(
            self.graph,
            self.method,
            self.complete,
            sizes,
            tuple(kept),
            targets=self.targets,
            kind=self.kind,
        )

    def to_svg(self, *, layout: str = "auto") -> str:
        """Return one picture of the class: circles where the members disagree about a mark.

        Parameters
        ----------
        layout : {"auto", "layered", "circle"}
            As for :meth:`MixedGraph.to_svg`; the boxes are placed as in that of ``self.graph``.
        """
        ends = {(e.a, e.b): (e.end_at_a, e.end_at_b) for e in self.summary().edges}
        caption = f"equivalence class: {_count(self.size, self.complete)}"
        return svg.class_svg(self.graph, ends, caption, layout=layout)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph, the method, conditions and summary as plain lists and numbers."""
        return {
            "graph": str(self.graph),
            "method": self.method,
            "targets": [list(names) for names in self.targets],
            "kind": self.kind,
            "summary": self.summary().to_dict(),
        }

    def _brief(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        return f"{_count(self.size, self.complete)} ({self.method}), {nodes}, {edges}"

    def _shown(self) -> Iterator[str | Table]:
        graph = shorten(str(self.graph), ".graph has all")
        yield f"{_count(self.size, self.complete)} ({self.method}) of the class of {graph}"
        conditions = Targets(self.graph.nodes, self.targets, self.kind)
        if conditions.any:
            yield conditions.words()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _picture(self) -> str:
        return self.to_svg()


def equivalence_class(
    graph: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind = "perfect",
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
    kind : {"perfect", "mechanism", "activity", "noise"}
        What an intervention does (:mod:`bowfree.equivalence.targets`): by default a target loses
        every edge with a head at it.
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
    g = graph_of(graph)
    g.check_bap()
    one_of("method", method, get_args(Method))
    conditions = given_targets(_targets_of(graph, targets), kind, g.nodes)
    if conditions.any and method != "exact":
        raise BowfreeError(
            f"method = {method!r}: with targets there is only method='exact', which finds all "
            "members"
        )
    conditions.check_seen("a class")
    limit = None if limit is None else at_least("limit", limit, 1)
    budget = Budget(time_limit=time_limit, progress=progress)
    if method == "colliders":
        sizes = tuple(_core.collider_sizes(*g._bits()))
        whole = EquivalenceClass(g, method, True, sizes, None)
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
            g, method, complete, sizes, factors, targets=conditions.sets, kind=conditions.kind
        )
    cut = whole if limit is None or whole.size <= limit else _first_members(whole, limit)
    return _within_space_of(graph, cut)


def _targets_of(given: GraphLike, targets: TargetSets | None) -> TargetSets | None:
    """Return the targets, or those of the conditions that a result was found in."""
    moments = getattr(given, "moments", None)
    if targets is None and isinstance(moments, JointMoments) and moments.targets:
        return list(dict.fromkeys(condition.targets for condition in moments.conditions))
    return targets


def class_by_components(
    graph: GraphLike,
    limit: int,
    time_limit: float | None = None,
    *,
    conditions: Targets | None = None,
) -> EquivalenceClass:
    """Return the exact class with at most `limit` members of each component of the skeleton.

    :func:`equivalence_class` limits their product. Who works component by component, as bounds of
    effects do, has no need of that. The conditions are those of the data that a result brings,
    unless others are given.
    """
    g = graph_of(graph)
    conditions = conditions or targets_of(getattr(graph, "moments", None), g.nodes)
    conditions.check_seen("a class")
    found = _core.class_factors(*g._bits(), True, 0, limit, time_limit, conditions.core)
    factors = to_factors(found)
    sizes = tuple(len(factor.marks) for factor in factors)
    complete = all(done for _, _, done in found)
    members = EquivalenceClass(
        g, "exact", complete, sizes, factors, targets=conditions.sets, kind=conditions.kind
    )
    return _within_space_of(graph, members)


def _within_space_of(given: GraphLike, members: EquivalenceClass) -> EquivalenceClass:
    """Return the members that a search left open; all of them, when a plain graph was given."""
    space = getattr(given, "space", None)
    return members.permitted_by(space) if isinstance(space, SearchSpace) else members


def stored_members(graph: MixedGraph) -> int:
    """Return how many members of a class are kept when nobody says how many."""
    return min(STORED_MEMBERS, _STORED_BYTES // max(graph.n_edges, 1))


def count_teller(budget: Budget) -> Callable[[int], None] | None:
    """Return what the core calls with the number of members found; None when nobody is told."""
    if budget.progress is None:
        return None
    return lambda found: budget.tell("members", found, found)


def class_of_marks(
    graph: MixedGraph, method: str, complete: bool, marks: npt.NDArray[np.uint8]
) -> tuple[MixedGraph, str, bool, tuple[int, ...], tuple[Factor, ...]]:
    """Return the fields of a class whose members are listed one by one, (members, edges)."""
    factor = Factor(tuple(range(marks.shape[1])), marks)
    return graph, method, complete, (len(marks),), (factor,)


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
    return EquivalenceClass(*fields, targets=whole.targets, kind=whole.kind)


def to_factors(found: Sequence[tuple[Sequence[int], Any, bool]]) -> tuple[Factor, ...]:
    return tuple(Factor(tuple(edges), np.asarray(marks)) for edges, marks, _ in found)


def _skeleton_edges(graph: MixedGraph) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, of adjacent nodes in lexicographic order."""
    return [(i, j) for i, mask in enumerate(adjacency(graph)) for j in members(mask >> i << i)]


def marks_of(graph: MixedGraph, edges: list[tuple[int, int]]) -> list[int]:
    return [
        FORWARD
        if graph._parents[j] >> i & 1
        else BACKWARD
        if graph._parents[i] >> j & 1
        else BIDIRECTED
        for i, j in edges
    ]
