"""Identification: which parameters of a linear model on a graph are determined by the covariances.

A parameter of ``Sigma = (I - B)^-1 Omega (I - B)^-T`` is *identified* if almost every Sigma of the
model leaves it one value. In a graph without bows all are. For graphs with bows there are two tests:

- The half-trek criterion is sufficient: it expresses parameters as rational functions of Sigma.
- The rank of the derivative of Sigma is necessary: a parameter that can change while Sigma stays
  the same, at a random point, has infinitely many values for almost every Sigma. Written in B alone
  the condition is that ``((I - B) Sigma (I - B)^T)[i, j]`` stays zero for all pairs i, j without
  ``<->``. Ranks are computed modulo a prime, so there is no rounding.

A parameter that passes the second test but not the first is *undecided*.

**The half-trek criterion.** A half-trek from y to w is ``y -> ... -> w`` or ``y <-> t -> ... -> w``,
or y = w. Let Y be a set of as many nodes as v has parents, without v and its spouses. Suppose that
there are half-treks from Y to the parents of v that share no node on their right sides, and that
the coefficients into all members of Y that v reaches by half-treks are known. Then the coefficients
into v solve a linear system with one equation for each y in Y,

    sum over parents p of  B[v, p] * row(y)[p]  =  row(y)[v],

where ``row(y)`` is row y of ``(I - B) Sigma`` if v reaches y by a half-trek, and row y of ``Sigma``
otherwise. The set Y is found as a maximal flow::

    source => left(y) => right(y), right(spouse of y)      the first step of a half-trek
              right(u) => right(child of u)                further steps; capacity 1 at each node
              right(parent of v) => sink

See theorem 1 and section 6 of R. Foygel, J. Draisma, M. Drton, Half-trek criterion for generic
identifiability of linear structural equation models, Annals of Statistics 40 (2012).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from bowfree.errors import GraphError
from bowfree.graph.encodings import closure, members
from bowfree.graph.names import EdgeLookup
from bowfree.graph.structure import bows, check_acyclic, is_bow_free
from bowfree.graph.text import quote, quote_edge, quote_names
from bowfree.results.display import count
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


_PRIME = 2**61 - 1  # the probability of a wrong rank is about the number of parameters over this
_SEED = 20120601  # of the random point; arbitrary but fixed

_VERDICTS = ("identified", "not identified", "undecided")


@dataclass(frozen=True, repr=False)
class Identification(RowTable, ToDict, EdgeLookup[Row]):
    """Verdicts on the parameters of a graph; returned by :meth:`MixedGraph.identified`.

    Attributes
    ----------
    graph : MixedGraph
        The graph.
    rows : tuple of Row
        One row for each edge, directed edges first: ``a``, ``mark``, ``b``; the ``verdict``
        ("identified": one value for almost every covariance matrix of the model, "not identified":
        infinitely many, "undecided": finitely many, perhaps one); and ``by``, for an identified
        coefficient the nodes whose covariances with a and b form its equations.
    """

    graph: MixedGraph
    rows: tuple[Row, ...]
    _columns: ClassVar = ("a", "mark", "b", "verdict", "by")
    _cells: ClassVar = {
        "edge": lambda row: quote_edge(row.a, row.mark, row.b),
        "verdict": "verdict",
        "by": lambda row: quote_names(row.by),
    }
    _left: ClassVar = (0, 1, 2)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes of the graph."""
        return self.graph.nodes

    @property
    def complete(self) -> bool:
        """Whether every parameter is identified."""
        return all(row.verdict == "identified" for row in self.rows)

    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Row:
        a, b = self.names[i], self.names[j]
        edges = [(a, mark, b), (b, mark, a)] if mark == "<->" else [(a, mark, b)]
        for row in self.rows:
            if (row.a, row.mark, row.b) in edges:
                return row
        raise GraphError(f"the graph has no edge {quote_edge(a, mark, b)}")

    def _content(self) -> Any:
        return {"graph": self.graph.to_dict(), "complete": self.complete, "edges": self.rows}

    def _headline(self) -> str:
        if self.complete:
            return f"all of {count(len(self.rows), 'edge')} identified"
        found = [row.verdict for row in self.rows]
        return ", ".join(f"{found.count(name)} {name}" for name in _VERDICTS if name in found)


def identified(self: MixedGraph) -> Identification:
    """Determine which parameters of the linear model are identified by the covariances.

    Identification is *generic*: it holds for almost every parameter, but not, for example, for an
    instrument without effect. The graph must be acyclic; bows are allowed.

    Examples
    --------
    An instrument z, and the same graph without it:

    >>> import bowfree as bf
    >>> print(bf.parse("z -> x -> y <-> x").identified())
    all of 3 edges identified
    edge     verdict     by
    z -> x   identified  z
    x -> y   identified  z
    x <-> y  identified
    >>> bf.parse("x -> y <-> x").identified().edge("x -> y").verdict
    'not identified'
    """
    check_acyclic(self)
    sources = {equations.node: equations.sources for equations in half_trek_equations(self)}
    free = set() if len(sources) == len(self) else _free_edges(self)
    rows = []
    for a, mark, b in self.edges:
        i, j = self._node(a), self._node(b)
        by: tuple[str, ...] = ()
        verdict = "undecided"
        if j in sources and (mark == "->" or i in sources):
            verdict = "identified"
            by = tuple(self.nodes[y] for y in sources[j]) if mark == "->" else ()
        elif (i, mark, j) in free:
            verdict = "not identified"
        rows.append(Row(a=a, mark=mark, b=b, verdict=verdict, by=by))
    return Identification(self, tuple(rows))


def check_identified(graph: MixedGraph) -> None:
    """Raise a GraphError that names a cycle, or bows whose parameters are not identified."""
    check_acyclic(graph)
    if is_bow_free(graph):
        return
    free = [row for row in graph.identified() if row.verdict == "not identified"]
    if free:
        edges = join_names([quote_edge(row.a, row.mark, row.b) for row in free])
        x, y = map(quote, bows(graph)[0])
        raise GraphError(
            f"the covariances do not determine {edges}, because the graph has both {x} -> {y} and "
            f"{x} <-> {y}; drop one of the two, or add an instrument: a cause of {x} that is "
            f"connected with {y} through {x} only"
        )


class Equations(NamedTuple):
    """The equations for the coefficients into one node."""

    node: int
    sources: tuple[int, ...]  # Y: one node for each equation
    reached: int  # mask of nodes; for sources in it the equation uses a row of (I - B) Sigma


def half_trek_equations(graph: MixedGraph) -> list[Equations]:
    """Return equations for all nodes that the criterion solves, in an order to solve them."""
    d = len(graph)
    children = graph._children()
    found: list[Equations] = []
    solved = 0
    waiting = list(range(d))
    while True:
        unsolved = []
        for v in waiting:
            near = 1 << v | graph._spouses[v]
            reached = closure(children, near)
            allowed = ((1 << d) - 1) & ~near & (solved | ~reached)
            sources = _sources(graph, v, allowed)
            if sources is None:
                unsolved.append(v)
            else:
                found.append(Equations(v, sources, reached))
                solved |= 1 << v
        if len(unsolved) == len(waiting):
            return found
        waiting = unsolved


def _sources(graph: MixedGraph, v: int, allowed: int) -> tuple[int, ...] | None:
    """Return Y, by augmenting paths in the flow network of the module's docstring, or None."""
    d, parents, children = len(graph), graph._parents[v], graph._children()
    # A right node is split into entrance and exit, so that its capacity is 1. `residual` has the
    # successors of each node in the residual network; dicts serve as ordered sets.
    entrance, exit_, source, sink = d, 2 * d, 3 * d, 3 * d + 1
    residual: list[dict[int, None]] = [{} for _ in range(3 * d + 2)]
    for y in [*members(allowed & parents), *members(allowed & ~parents)]:
        residual[source][y] = None  # parents first: they reach themselves
        residual[y].update((entrance + t, None) for t in members(1 << y | graph._spouses[y]))
    for u in range(d):
        residual[entrance + u][exit_ + u] = None
        residual[exit_ + u].update((entrance + w, None) for w in members(children[u]))
        if parents >> u & 1:
            residual[exit_ + u][sink] = None
    for _ in range(parents.bit_count()):
        previous: dict[int, int] = {source: source}
        queue = [source]
        while queue and sink not in previous:
            u = queue.pop(0)
            for w in residual[u]:
                if w not in previous:
                    previous[w] = u
                    queue.append(w)
        if sink not in previous:
            return None
        w = sink
        while w != source:
            u = previous[w]
            del residual[u][w]
            residual[w][u] = None
            w = u
    return tuple(y for y in members(allowed) if source in residual[y])


def _free_edges(graph: MixedGraph) -> set[tuple[int, str, int]]:
    """Return the edges whose parameter can change while Sigma stays, at a random point mod p."""
    d, p = len(graph), _PRIME
    draw = random.Random(_SEED)
    arrows = [(j, i) for i in range(d) for j in members(graph._parents[i])]
    B = {(i, j): draw.randrange(1, p) for j, i in arrows}
    Omega = [[0] * d for _ in range(d)]
    for i in range(d):
        Omega[i][i] = draw.randrange(1, p)
        for j in members(graph._spouses[i] >> i << i):
            Omega[i][j] = Omega[j][i] = draw.randrange(1, p)
    # G = (I - B)^-1 Omega, parents before children.
    G = [row[:] for row in Omega]
    for name in graph.topological_order():
        i = graph._node(name)
        for j in members(graph._parents[i]):
            G[i] = [(x + B[i, j] * y) % p for x, y in zip(G[i], G[j], strict=True)]

    def row(i: int, j: int) -> list[int]:
        """Return minus the derivative of ((I - B) Sigma (I - B)^T)[i, j] by the entries of B."""
        return [
            ((G[tail][j] if head == i else 0) + (G[tail][i] if head == j else 0)) % p
            for tail, head in arrows
        ]

    # The span of the rows that stay zero in echelon form, by the index of the first entry, a 1.
    span: dict[int, list[int]] = {}

    def reduce(vector: list[int]) -> list[int]:
        for first in sorted(span):
            if factor := vector[first]:
                vector = [(x - factor * y) % p for x, y in zip(vector, span[first], strict=True)]
        return vector

    for i, j in combinations(range(d), 2):
        if not graph._spouses[i] >> j & 1:
            rest = reduce(row(i, j))
            first = next((k for k, x in enumerate(rest) if x), None)
            if first is not None:
                inverse = pow(rest[first], -1, p)
                span[first] = [x * inverse % p for x in rest]
    free = {
        (tail, "->", head)
        for k, (tail, head) in enumerate(arrows)
        if any(reduce([int(k == other) for other in range(len(arrows))]))
    }
    return free | {
        (i, "<->", j)
        for i in range(d)
        for j in members(graph._spouses[i] >> i << i)
        if any(reduce(row(i, j)))
    }
