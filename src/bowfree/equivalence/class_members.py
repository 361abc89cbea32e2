"""The members of an equivalence class, stored as a product.

Connected components of the skeleton, and the free choices among the collider-invariant graphs, vary
independently. A class is therefore stored as its factors: one of 10^12 members is counted,
summarized and tested for membership as easily as a small one, and its members are generated one by
one. Quantities that concern one component, such as effects, are computed component by component.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.equivalence.class_summary import ClassSummary, EdgeSummary, member_count
from bowfree.equivalence.decision import adjacency, aligned
from bowfree.equivalence.targets import OBSERVED, Kinds, Targets
from bowfree.graph.encodings import (
    EDGES,
    States,
    closure,
    masks_of_states,
    members,
    singletons,
    states_of_graph,
)
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import describe
from bowfree.model.context import Context
from bowfree.results.display import Table, count, shorten_list
from bowfree.results.frozen import Frozen
from bowfree.results.graph_display import GraphDisplay
from bowfree.results.serialization import ToDict
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace

_BATCH = 512  # members per call of the core


@dataclass(frozen=True, eq=False)
class Factor(Frozen):
    """Edges whose marks vary together; `marks` has a row of pair states for each option."""

    edges: tuple[int, ...]
    marks: States


@dataclass(frozen=True, eq=False)
class Orientations:
    """The orientations of some edges: the product of factors, whose edges are indices of `pairs`."""

    graph: MixedGraph
    pairs: list[tuple[int, int]]
    own: States  # of the graph itself
    factors: Sequence[Factor]

    @property
    def size(self) -> int:
        """Number of orientations."""
        return math.prod(len(factor.marks) for factor in self.factors)

    def marks(self, index: npt.NDArray[np.intp]) -> States:
        """Return the orientations with these numbers, shape (numbers, pairs)."""
        marks = np.tile(self.own, (len(index), 1))
        for factor in reversed(self.factors):
            index, option = np.divmod(index, len(factor.marks))
            marks[:, list(factor.edges)] = factor.marks[option]
        return marks

    def batches(self, limit: int | None = None) -> Iterator[States]:
        """Yield all orientations, or the first `limit`, in batches."""
        size = self.size if limit is None else min(self.size, limit)
        start = 0
        while start < size:
            index = np.arange(start, min(start + batch_size(start), size))
            start += len(index)
            yield self.marks(index)

    def graphs(self, limit: int | None = None) -> Iterator[MixedGraph]:
        """Yield the graphs of these orientations, without other edges."""
        for marks in self.batches(limit):
            yield from map(self._graph, marks.tolist())

    def graph_at(self, index: int) -> MixedGraph:
        """Return the graph with this number, which may exceed 64 bits."""
        marks = self.own.tolist()
        for factor in reversed(self.factors):
            index, option = divmod(index, len(factor.marks))
            for e, mark in zip(factor.edges, factor.marks[option].tolist(), strict=True):
                marks[e] = mark
        return self._graph(marks)

    def _graph(self, marks: list[int]) -> MixedGraph:
        return self.graph._with(*masks_of_states(len(self.graph), marks, self.pairs))


def batch_size(seen: int) -> int:
    """Return the number of members of the next batch; the first one has a single member."""
    return _BATCH if seen else 1


@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceClass(GraphDisplay, ToDict, Frozen, Sequence[MixedGraph]):
    """Graphs with one skeleton and one model; iterable, indexable, with ``in`` and ``len``.

    Attributes
    ----------
    graph : MixedGraph
        The graph whose class it is; a member.
    method : str
        Method of the enumeration.
    complete : bool
        Whether these are all members that the method can find; False if `limit` or `time_limit`
        ended the enumeration.
    targets : tuple of tuple of str
        The nodes intervened on in each condition; ``((),)`` is one observational condition.
    kind : {"perfect", "mechanism", "activity", "noise"} or tuple of them
        Kind of the interventions; one for each condition if they differ.
    source : Context or None
        Data, search space and scoring rule of the result that the class was made from.

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
    edge  a -> b  a <- b  a <-> b  same in all equivalent graphs
    x, y       1       3        1  x o-o y
    y, z       3       1        1  y o-o z
    """

    graph: MixedGraph
    method: str
    complete: bool
    _listed: tuple[Factor, ...] | None  # None: the collider-invariant graphs, computed on demand
    targets: tuple[tuple[str, ...], ...] = field(default=OBSERVED, kw_only=True)
    kind: Kinds = field(default="perfect", kw_only=True)
    source: Context | None = field(default=None, kw_only=True, repr=False)

    def _context(self) -> Context:
        return replace(self.source, graph=self.graph) if self.source else Context(self.graph)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        if self._listed is not None:
            return tuple(len(factor.marks) for factor in self._listed)
        return tuple(_core.collider_sizes(*self.graph._bits()))

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        if self._listed is not None:
            return self._listed
        found = _core.collider_factors(*self.graph._bits())
        return tuple(Factor(tuple(edges), np.asarray(marks)) for edges, marks, _ in found)

    @cached_property
    def _edges(self) -> list[tuple[int, int]]:
        """The adjacent pairs (i, j), i < j, in lexicographic order."""
        neighbors = adjacency(self.graph)
        return [(i, j) for i, mask in enumerate(neighbors) for j in members(mask >> i << i)]

    @property
    def size(self) -> int:
        """Number of members; unlike ``len`` it may exceed ``sys.maxsize``."""
        return math.prod(self._sizes)

    def __len__(self) -> int:
        if self.size > sys.maxsize:
            raise OverflowError(f"the class has {self.size} members; use .size instead of len")
        return self.size

    @cached_property
    def _orientations(self) -> Orientations:
        own = states_of_graph(self.graph, self._edges)
        return Orientations(self.graph, self._edges, own, self._factors)

    def __iter__(self) -> Iterator[MixedGraph]:
        return self._orientations.graphs()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        i = index + self.size if index < 0 else index
        if not 0 <= i < self.size:
            raise IndexError(f"index {index} in a class of {self.size} members")
        return self._orientations.graph_at(i)

    @cached_property
    def _options(self) -> list[frozenset[bytes]]:
        return [frozenset(row.tobytes() for row in f.marks) for f in self._factors]

    @cached_property
    def _fixed(self) -> list[int]:
        """The edges that are in no factor."""
        free = {e for factor in self._factors for e in factor.edges}
        return [e for e in range(len(self._edges)) if e not in free]

    def __contains__(self, graph: object) -> bool:
        if not isinstance(graph, MixedGraph) or not graph.is_bap():
            return False
        if set(graph.nodes) != set(self.graph.nodes):
            return False
        other = aligned(self.graph, graph)
        if adjacency(other) != adjacency(self.graph):
            return False
        marks = states_of_graph(other, self._edges)
        own = self._orientations.own
        return all(marks[e] == own[e] for e in self._fixed) and all(
            marks[list(factor.edges)].tobytes() in options
            for factor, options in zip(self._factors, self._options, strict=True)
        )

    def summary(self) -> ClassSummary:
        """Count the marks of each edge over all members."""
        counts = np.zeros((len(self._edges), 1 + max(EDGES)), dtype=object)  # column: the mark
        for e, mark in enumerate(self._orientations.own):
            counts[e, mark] = self.size
        for factor, size in zip(self._factors, self._sizes, strict=True):
            times = self.size // max(size, 1)  # a class may be empty, see permitted_by
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
        """Return the members that agree with knowledge or a search space; possibly none.

        The knowledge of a space is used, and the classes ``"dag"`` and ``"bidirected"``, but not its
        limits: see :meth:`bowfree.SearchSpace.member_masks`.

        Parameters
        ----------
        given : SearchSpace or Knowledge
            About the nodes of the class.

        Examples
        --------
        >>> import bowfree as bf
        >>> chains = bf.equivalence_class(bf.parse("x -> y -> z"))
        >>> len(chains.permitted_by(bf.SearchSpace("dag")))
        3
        """
        space = given if isinstance(given, SearchSpace) else SearchSpace(knowledge=given)
        masks = space.member_masks(self.graph.nodes)
        marks = np.arange(1 + max(EDGES))
        permitted = np.array(
            [masks[i, j] >> marks & 1 for i, j in self._edges], dtype=bool
        ).reshape(-1, len(marks))  # edges x marks
        own, edges = self._orientations.own, set(self._edges)
        possible = all(permitted[e, own[e]] for e in self._fixed) and all(
            masks[pair] & 1 for pair in combinations(range(len(self.graph)), 2) if pair not in edges
        )
        kept = []
        for factor in self._factors:
            rows = permitted[list(factor.edges), factor.marks].all(axis=1)
            kept.append(Factor(factor.edges, factor.marks[rows & possible]))
        if not possible and not kept:
            kept = [Factor((), np.zeros((0, 0), dtype=np.uint8))]
        return self._with(tuple(kept))

    def _with(
        self, factors: tuple[Factor, ...], *, complete: bool | None = None
    ) -> EquivalenceClass:
        """Return a class with other factors."""
        return EquivalenceClass(
            self.graph,
            self.method,
            self.complete if complete is None else complete,
            factors,
            targets=self.targets,
            kind=self.kind,
            source=self.source,
        )

    def _first(self, limit: int) -> EquivalenceClass:
        """Return the class of the first `limit` members, one of which is the graph itself."""
        if self.size <= limit:
            return self
        own = self._orientations.own
        marks = self._orientations.marks(np.arange(limit))
        if not (marks == own).all(axis=1).any():
            marks[-1] = own
        return self._with((single_factor(marks),), complete=False)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the edges of the skeleton as a data frame, as ``summary().to_frame()``."""
        return self.summary().to_frame(backend)

    def to_svg(self, *, layout: str = "auto") -> str:
        """Return a picture of the class as SVG, with circles at marks that differ among members.

        The layout is as for :meth:`MixedGraph.to_svg`.
        """
        ends = {(e.a, e.b): (e.end_at_a, e.end_at_b) for e in self.summary().edges}
        caption = f"equivalence class: {member_count(self.size, self.complete)}"
        from bowfree.visualization import svg

        return svg.class_svg(self.graph, ends, caption, layout=layout)

    def _content(self) -> Any:
        content = {name: getattr(self, name) for name in ("graph", "method", "targets", "kind")}
        return content | {"summary": self.summary().to_dict()}

    def _headline(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        return f"{member_count(self.size, self.complete)} ({self.method}), {nodes}, {edges}"

    def _sections(self) -> Iterator[str | Table]:
        graph = shorten_list(describe(self.graph), ".graph has all")
        yield f"{member_count(self.size, self.complete)} ({self.method}) of the class of {graph}"
        conditions = Targets(self.graph.nodes, self.targets, self.kind)
        if conditions.any:
            yield conditions.describe()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _picture(self) -> str:
        return self.to_svg()


def single_factor(marks: States) -> Factor:
    """Return one factor for members that are listed one by one, shape (members, edges)."""
    return Factor(tuple(range(marks.shape[1])), marks)


def class_components(whole: EquivalenceClass) -> Iterator[Orientations]:
    """Yield the orientations of each connected component of the skeleton.

    A factor of several components (an empirical class is one factor) joins them.
    """
    near, edges = adjacency(whole.graph), whole._edges
    for factor in whole._factors:
        joined = singletons(v for e in factor.edges for v in edges[e])
        for v in members(joined):
            near[v] |= joined
    rest = singletons(i for i, _ in edges)
    while rest:
        nodes = closure(near, rest & -rest)
        rest &= ~nodes
        own = [e for e, (i, _) in enumerate(edges) if nodes >> i & 1]
        column = {e: k for k, e in enumerate(own)}
        factors = [
            Factor(tuple(column[e] for e in factor.edges), factor.marks)
            for factor in whole._factors
            if factor.edges and factor.edges[0] in column
        ]
        marks = whole._orientations.own[own]
        yield Orientations(whole.graph, [edges[e] for e in own], marks, factors)
