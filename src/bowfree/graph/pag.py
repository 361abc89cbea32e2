"""Partial ancestral graphs (PAGs): the marks that all MAGs with the same m-separations share.

Such MAGs have the same adjacencies. The mark at an end of an edge is an arrowhead ``>`` if all MAGs
have an arrowhead there (the node is not an ancestor of the other), a tail ``-`` if all have a tail
(it is an ancestor), and a circle ``o`` otherwise.

The marks are found by Zhang's orientation rules, applied to a known MAG instead of tests of
independence: unshielded colliders, then R1 to R4 until nothing changes, then R8 to R10 for the
tails. R5 to R7 concern selection bias, which these graphs do not have. ``*`` is any mark::

    R1   a *-> b o-* c, a and c not adjacent             =>  b -> c
    R2   a -> b *-> c or a *-> b -> c, and a *-o c       =>  a *-> c
    R3   a *-> b <-* c, a *-o e o-* c, a and c not
         adjacent, and e *-o b                           =>  e *-> b
    R4   discriminating path from t over a and b to c    =>  b -> c, or a <-> b <-> c
    R8   a -> b -> c, and a o-> c                        =>  a -> c
    R9   a o-> c, and an uncovered, possibly directed
         path a, b, ..., c with b and c not adjacent     =>  a -> c
    R10  a o-> c, and two such paths to parents of c
         whose second nodes are not adjacent             =>  a -> c

A path is uncovered if nodes two steps apart are not adjacent, and possibly directed if no mark on
it contradicts its direction.

Linear models can determine more than m-separations: :func:`bowfree.equivalence_class` returns the
BAPs with the same *model*, and a mark that is a circle here may be the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from bowfree.errors import GraphError
from bowfree.graph.names import node_index
from bowfree.graph.text import quote, quote_edge
from bowfree.results.display import TextDisplay, count, shorten_list
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


# The codes of pcalg's amat.pag.
NONE, CIRCLE, HEAD, TAIL = range(4)

_LEFT = {CIRCLE: "o", HEAD: "<", TAIL: "-"}
_RIGHT = {CIRCLE: "o", HEAD: ">", TAIL: "-"}
_END: dict[int, Literal["circle", "head", "tail"]] = {CIRCLE: "circle", HEAD: "head", TAIL: "tail"}


@dataclass(frozen=True, repr=False)
class PAG(TextDisplay, ToDict):
    """A partial ancestral graph; returned by :meth:`MixedGraph.pag`.

    Attributes
    ----------
    nodes : tuple of str
        The names of the nodes.
    marks : tuple of tuple of int
        ``marks[a][b]`` is the mark at b of the edge between a and b: 0 no edge, 1 circle,
        2 arrowhead, 3 tail, as in pcalg's ``amat.pag``.

    Examples
    --------
    >>> import bowfree as bf
    >>> pag = bf.parse("w -> x -> z, y -> x").pag()
    >>> print(pag)
    w o-> x, x -> z, y o-> x
    >>> pag.mark_at("x", "w"), pag.mark_at("w", "x")
    ('head', 'circle')
    """

    nodes: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]

    @property
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """The edges as (a, mark, b) with mark ``"->"``, ``"<->"``, ``"o->"`` or ``"o-o"``."""
        found = []
        for i, j in combinations(range(len(self.nodes)), 2):
            if self.marks[i][j] == NONE:
                continue
            if self.marks[j][i] == HEAD and self.marks[i][j] != HEAD:
                i, j = j, i
            mark = f"{_LEFT[self.marks[j][i]]}-{_RIGHT[self.marks[i][j]]}"
            found.append((self.nodes[i], mark.replace("-->", "->"), self.nodes[j]))
        return tuple(found)

    def mark_at(self, end: str, other: str) -> Literal["circle", "head", "tail"]:
        """Return the mark at `end` of the edge between two adjacent nodes."""
        code = self.marks[node_index(other, self.nodes)][node_index(end, self.nodes)]
        if code == NONE:
            raise GraphError(f"{quote(end)} and {quote(other)} are not adjacent in the PAG")
        return _END[code]

    def _content(self) -> Any:
        return {"nodes": self.nodes, "edges": self.edges}

    def _headline(self) -> str:
        return f"{count(len(self.nodes), 'node')}, {count(len(self.edges), 'edge')}: {self}"

    def _sections(self) -> Iterator[str]:
        edges = self.edges
        joined = {end for a, _, b in edges for end in (a, b)}
        parts = [quote_edge(*edge) for edge in edges]
        parts += [quote(name) for name in self.nodes if name not in joined]
        yield shorten_list(", ".join(parts), "edges has all")


def pag(self: MixedGraph) -> PAG:
    """Return the partial ancestral graph: the marks that all MAGs of the class share.

    Every MAG with the same m-separations has its arrowheads and tails; at a circle, some MAGs have
    an arrowhead and some a tail. Raises a GraphError if the graph has a directed cycle.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.parse("x1 -> x2 -> x3 -> x4, x2 <-> x4").pag())
    x1 o-o x2, x1 o-> x4, x2 o-o x3, x2 o-> x4, x3 o-> x4

    References
    ----------
    J. Zhang, On the completeness of orientation rules for causal discovery in the presence of
    latent confounders and selection bias, Artificial Intelligence 172 (2008).
    """
    pag = _Orientation(self.mag())
    pag.orient_unshielded_colliders()
    while any([pag.apply_r1_r3(), pag.apply_r2(), pag.apply_r4()]):
        pass
    while any([pag.apply_r8(), pag.apply_r9_r10()]):
        pass
    return PAG(self.nodes, tuple(map(tuple, pag.marks)))


class _Orientation:
    """A PAG during orientation; methods apply rules and return whether a mark changed."""

    def __init__(self, mag: MixedGraph) -> None:
        d, heads = len(mag), [p | s for p, s in zip(mag._parents, mag._spouses, strict=True)]
        self.true = [
            [HEAD if heads[j] >> i & 1 else TAIL * (heads[i] >> j & 1) for j in range(d)]
            for i in range(d)
        ]
        self.marks = [[CIRCLE if mark else NONE for mark in row] for row in self.true]
        self.near = [[b for b in range(d) if row[b]] for row in self.true]

    def _put(self, a: int, b: int, mark: int) -> bool:
        """Replace a circle at b by the mark; return whether there was one."""
        if self.marks[a][b] != CIRCLE:
            return False
        self.marks[a][b] = mark
        return True

    def _nonadjacent_neighbors(self, middle: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of neighbors of a node that are not adjacent to each other."""
        for a, c in combinations(self.near[middle], 2):
            if not self.marks[a][c]:
                yield a, c

    def orient_unshielded_colliders(self) -> None:
        for b in range(len(self.marks)):
            for a, c in self._nonadjacent_neighbors(b):
                if self.true[a][b] == HEAD and self.true[c][b] == HEAD:
                    self.marks[a][b] = self.marks[c][b] = HEAD

    def apply_r1_r3(self) -> bool:
        marks, changed = self.marks, False
        for b in range(len(marks)):
            for pair in self._nonadjacent_neighbors(b):
                for a, c in (pair, pair[::-1]):
                    if marks[a][b] == HEAD and marks[c][b] == CIRCLE:
                        marks[c][b] = TAIL
                        self._put(b, c, HEAD)
                        changed = True
                a, c = pair
                if marks[a][b] == HEAD and marks[c][b] == HEAD:
                    for e in self.near[b]:
                        if marks[e][b] == CIRCLE and marks[a][e] == marks[c][e] == CIRCLE:
                            marks[e][b] = HEAD
                            changed = True
        return changed

    def apply_r2(self) -> bool:
        marks, changed = self.marks, False
        for b in range(len(marks)):
            for a in self.near[b]:
                for c in self.near[b]:
                    if (
                        marks[a][c] == CIRCLE
                        and marks[a][b] == HEAD
                        and marks[b][c] == HEAD
                        and TAIL in (marks[b][a], marks[c][b])
                    ):
                        marks[a][c] = HEAD
                        changed = True
        return changed

    def apply_r4(self) -> bool:
        """Apply R4: all MAGs agree whether b is a collider on a discriminating path."""
        changed = False
        for b in range(len(self.marks)):
            for c in self.near[b]:
                if self.marks[c][b] != CIRCLE:
                    continue
                a = self._discriminated_by(b, c)
                if a is None:
                    continue
                changed = True
                if self.true[c][b] == TAIL:
                    self.marks[c][b] = TAIL
                    self._put(b, c, HEAD)
                else:
                    self.marks[c][b] = HEAD
                    for x, y in ((b, c), (a, b), (b, a)):
                        self._put(x, y, HEAD)
        return changed

    def _discriminated_by(self, b: int, c: int) -> int | None:
        """Return the node before b on a discriminating path ``t, ..., a, b, c``, or None.

        Nodes between t and b are colliders on the path and parents of c; t and c are not adjacent.
        """
        marks = self.marks
        for a in self.near[b]:
            if not (marks[b][a] == HEAD and self._directed(a, c)):
                continue
            seen, frontier = {a, b, c}, [a]
            while frontier:
                x = frontier.pop()
                for y in self.near[x]:
                    if y in seen or marks[y][x] != HEAD:
                        continue
                    if not marks[y][c]:
                        return a
                    if marks[x][y] == HEAD and self._directed(y, c):
                        seen.add(y)
                        frontier.append(y)
        return None

    def apply_r8(self) -> bool:
        changed = False
        for a, c in self._circle_arrows():
            for b in self.near[a]:
                if self._directed(a, b) and self._directed(b, c):
                    changed |= self._put(c, a, TAIL)
        return changed

    def apply_r9_r10(self) -> bool:
        changed = False
        for a, c in self._circle_arrows():
            firsts = [b for b in self.near[a] if b != c and self._possible(a, b)]
            reached = {b: self._reach(a, b) for b in firsts}
            causes = {b for b in self.near[c] if self._directed(b, c)}
            leading = [b for b, nodes in reached.items() if nodes & causes]
            if any(c in nodes and not self.marks[b][c] for b, nodes in reached.items()) or any(
                not self.marks[b][e] for b, e in combinations(leading, 2)
            ):
                changed |= self._put(c, a, TAIL)
        return changed

    def _circle_arrows(self) -> list[tuple[int, int]]:
        """Return all (a, c) with ``a o-> c``."""
        return [
            (a, c)
            for a in range(len(self.marks))
            for c in self.near[a]
            if self.marks[a][c] == HEAD and self.marks[c][a] == CIRCLE
        ]

    def _directed(self, a: int, b: int) -> bool:
        return self.marks[a][b] == HEAD and self.marks[b][a] == TAIL

    def _possible(self, a: int, b: int) -> bool:
        """Return whether the edge may be a -> b."""
        return self.marks[b][a] in (CIRCLE, TAIL) and self.marks[a][b] in (CIRCLE, HEAD)

    def _reach(self, a: int, b: int) -> set[int]:
        """Return the nodes that uncovered possibly directed walks starting ``a, b`` reach.

        If a -> b in a MAG of the class, every step of such a walk is directed as well, because no
        node on it is an unshielded collider. So the walk is a path, as R9 and R10 require.
        """
        seen, frontier = {(a, b)}, [(a, b)]
        while frontier:
            x, y = frontier.pop()
            for z in self.near[y]:
                if z != x and not self.marks[x][z] and self._possible(y, z) and (y, z) not in seen:
                    seen.add((y, z))
                    frontier.append((y, z))
        return {y for _, y in seen}
