"""The members of an equivalence class, kept as a product.

Components of the skeleton, and the free choices among the collider-invariant graphs, vary
independently. So a class is kept as its factors: one of 10^12 members is counted, summarized and
asked for membership as easily as a small one, and its members are made one by one.

Next: :mod:`bowfree.equivalence.classes`, which finds them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.equivalence.class_summary import ClassSummary, EdgeSummary, member_count
from bowfree.equivalence.decision import adjacency, aligned
from bowfree.equivalence.targets import OBSERVED, Kinds, Targets
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, EDGES, FORWARD, members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import Context
from bowfree.results.display import Table, count, shorten_list
from bowfree.results.frozen import Frozen
from bowfree.results.graph_display import GraphDisplay
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace


@dataclass(frozen=True, eq=False)
class Factor(Frozen):
    """Edges whose marks vary together, and the ways they do.

    `marks` is (options, edges); a mark is the state of a pair, see `bowfree.graph.encodings`.
    """

    edges: tuple[int, ...]
    marks: npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceClass(GraphDisplay, Frozen, Sequence[MixedGraph]):
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
    kind : {"perfect", "mechanism", "activity", "noise"} or tuple of them
        What the interventions do; one for each condition where they differ.
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
    kind: Kinds = field(default="perfect", kw_only=True)
    source: Context | None = field(default=None, kw_only=True, repr=False)

    def _context(self) -> Context:
        return replace(self.source, graph=self.graph) if self.source else Context(self.graph)

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
            source=self.source,
        )

    def to_svg(self, *, layout: str = "auto") -> str:
        """Return one picture of the class: circles where the members disagree about a mark.

        Parameters
        ----------
        layout : {"auto", "layered", "circle"}
            As for :meth:`MixedGraph.to_svg`; the boxes are placed as in that of ``self.graph``.
        """
        ends = {(e.a, e.b): (e.end_at_a, e.end_at_b) for e in self.summary().edges}
        caption = f"equivalence class: {member_count(self.size, self.complete)}"
        from bowfree.visualization import svg

        return svg.class_svg(self.graph, ends, caption, layout=layout)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph, the method, conditions and summary as plain lists and numbers."""
        return {
            "graph": str(self.graph),
            "method": self.method,
            "targets": [list(names) for names in self.targets],
            "kind": self.kind if isinstance(self.kind, str) else list(self.kind),
            "summary": self.summary().to_dict(),
        }

    def _headline(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        return f"{member_count(self.size, self.complete)} ({self.method}), {nodes}, {edges}"

    def _sections(self) -> Iterator[str | Table]:
        graph = shorten_list(str(self.graph), ".graph has all")
        yield f"{member_count(self.size, self.complete)} ({self.method}) of the class of {graph}"
        conditions = Targets(self.graph.nodes, self.targets, self.kind)
        if conditions.any:
            yield conditions.words()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _picture(self) -> str:
        return self.to_svg()


def class_of_marks(
    graph: MixedGraph, method: str, complete: bool, marks: npt.NDArray[np.uint8]
) -> tuple[MixedGraph, str, bool, tuple[int, ...], tuple[Factor, ...]]:
    """Return the fields of a class whose members are listed one by one, (members, edges)."""
    factor = Factor(tuple(range(marks.shape[1])), marks)
    return graph, method, complete, (len(marks),), (factor,)


def to_factors(found: Sequence[tuple[Sequence[int], Any, bool]]) -> tuple[Factor, ...]:
    """Read what the core has found: edges, their marks in each option, whether these are all."""
    return tuple(Factor(tuple(edges), np.asarray(marks)) for edges, marks, _ in found)


def _skeleton_edges(graph: MixedGraph) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, of adjacent nodes in lexicographic order."""
    return [(i, j) for i, mask in enumerate(adjacency(graph)) for j in members(mask >> i << i)]


def marks_of(graph: MixedGraph, edges: list[tuple[int, int]]) -> list[int]:
    """Return the state of each pair of adjacent nodes."""
    return [
        FORWARD
        if graph._parents[j] >> i & 1
        else BACKWARD
        if graph._parents[i] >> j & 1
        else BIDIRECTED
        for i, j in edges
    ]
