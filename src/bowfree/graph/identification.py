"""What covariances determine: which parameters of a linear model on a graph are identified.

``Sigma = (I - B)^-1 Omega (I - B)^-T`` has d (d + 1) / 2 entries, and the graph says where B and
Omega vanish. A parameter is *identified* when almost every Sigma of the model leaves it one value.
Without bows all are. For a graph with bows two tests are made here:

- the half-trek criterion (:mod:`bowfree.graph.identification`) is sufficient: what it solves is a
  rational function of Sigma;
- the rank of the derivative of Sigma is necessary: a parameter that can move while Sigma stays,
  at a random point, takes infinitely many values for almost every Sigma. Written in B alone the
  condition is that ``((I - B) Sigma (I - B)^T)[i, j]`` stays zero for all pairs i, j without
  ``<->``. Ranks are computed modulo a prime, at a random point, so there is no rounding.

What passes the second test and not the first has finitely many values (and perhaps one): it is
left *undecided*.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bowfree.errors import GraphError
from bowfree.graph.encodings import closure, members
from bowfree.graph.names import parse_edge
from bowfree.graph.structure import check_acyclic
from bowfree.graph.text import quote
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


_PRIME = 2**61 - 1  # a wrong rank has a chance of about the number of parameters over this
_SEED = 20120601  # any: the point is random, but the same for everybody

Verdict = Literal["identified", "not identified", "undecided"]


@dataclass(frozen=True, repr=False)
class EdgeIdentification(TextDisplay, ToDict):
    """Whether the parameter of one edge is determined by the covariances.

    Attributes
    ----------
    a, mark, b : str
        The edge, with mark ``"->"`` (an effect) or ``"<->"`` (an error covariance).
    verdict : {"identified", "not identified", "undecided"}
        One value for almost every covariance matrix of the model; infinitely many; finitely many,
        perhaps one.
    by : tuple of str
        For an effect that is identified: the nodes whose covariances with a and b make up the
        equations that it solves.
    """

    a: str
    mark: Literal["->", "<->"]
    b: str
    verdict: Verdict
    by: tuple[str, ...]

    def _headline(self) -> str:
        by = f" by {', '.join(map(quote, self.by))}" if self.by else ""
        return f"{quote(self.a)} {self.mark} {quote(self.b)}: {self.verdict}{by}"


@dataclass(frozen=True, repr=False)
class Identification(TextDisplay):
    """Which parameters the covariances determine; made by :meth:`MixedGraph.identified`.

    Attributes
    ----------
    graph : MixedGraph
        The graph.
    edges : tuple of EdgeIdentification
        One for each edge, directed ones first.
    """

    graph: MixedGraph
    edges: tuple[EdgeIdentification, ...]

    @property
    def complete(self) -> bool:
        """Whether every parameter is identified."""
        return all(edge.verdict == "identified" for edge in self.edges)

    def edge(self, a: str, mark: str | None = None, b: str | None = None) -> EdgeIdentification:
        """Return the verdict on one edge: ``edge("x", "->", "y")`` or ``edge("x -> y")``.

        Raises
        ------
        GraphError
            A name or an edge that the graph does not have.
        """
        nodes = self.graph.nodes
        i, kind, j = parse_edge(nodes, a, mark, b)
        ends = {(nodes[i], nodes[j])} | ({(nodes[j], nodes[i])} if kind == "<->" else set())
        for edge in self.edges:
            if edge.mark == kind and (edge.a, edge.b) in ends:
                return edge
        raise GraphError(f"the graph has no edge {quote(nodes[i])} {kind} {quote(nodes[j])}")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each edge.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, mark, b, verdict.
        """
        names = ("a", "mark", "b", "verdict")
        return data_frame({name: [getattr(e, name) for e in self.edges] for name in names}, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and texts, ready for ``json.dumps``."""
        return {
            "graph": self.graph.to_dict(),
            "complete": self.complete,
            "edges": [
                {"a": e.a, "mark": e.mark, "b": e.b, "verdict": e.verdict, "by": list(e.by)}
                for e in self.edges
            ],
        }

    def _headline(self) -> str:
        if self.complete:
            return f"all of {count(len(self.edges), 'edge')} identified"
        verdicts = [edge.verdict for edge in self.edges]
        return ", ".join(
            f"{verdicts.count(verdict)} {verdict}"
            for verdict in ("identified", "not identified", "undecided")
            if verdict in verdicts
        )

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        rows = [
            (f"{quote(e.a)} {e.mark} {quote(e.b)}", e.verdict, ", ".join(map(quote, e.by)))
            for e in self.edges
        ]
        yield Table(
            ("edge", "verdict", "by"),
            rows,
            left=(0, 1, 2),
            most=MOST_ROWS,
            rest="more: to_frame() has all",
        )


class Equations(NamedTuple):
    """The equations for the coefficients into one node.

    Attributes
    ----------
    node : int
        The child.
    sources : tuple of int
        Y: one node for each equation.
    reached : int
        The set of those of them whose row is one of ``(I - B) Sigma``.
    """

    node: int
    sources: tuple[int, ...]
    reached: int


def half_trek_equations(graph: MixedGraph) -> list[Equations]:
    """Return equations for all nodes that the criterion solves, in an order to solve them in.

    Nodes without parents come first, with no equation.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.graph.identification import half_trek_equations
    >>> [e.node for e in half_trek_equations(bf.parse("z -> x -> y <-> x"))]
    [0, 1, 2]
    >>> [e.node for e in half_trek_equations(bf.parse("x -> y <-> x"))]
    [0]

    References
    ----------
    R. Foygel, J. Draisma, M. Drton, Half-trek criterion for generic identifiability of linear
    structural equation models, Annals of Statistics 40 (2012), Theorem 1 and section 6.
    """
    d = len(graph)
    children = graph._children()
    everybody = (1 << d) - 1
    found: list[Equations] = []
    solved = 0
    waiting = list(range(d))
    while True:
        left = []
        for v in waiting:
            near = 1 << v | graph._spouses[v]
            reached = closure(children, near)
            allowed = everybody & ~near & (solved | ~reached)
            sources = _sources(graph, v, allowed)
            if sources is None:
                left.append(v)
            else:
                found.append(Equations(v, sources, reached))
                solved |= 1 << v
        if len(left) == len(waiting):
            return found
        waiting = left


def _sources(graph: MixedGraph, v: int, allowed: int) -> tuple[int, ...] | None:
    """Return nodes with half-treks to all parents of v, without a common right node; or None."""
    d, parents, children = len(graph), graph._parents[v], graph._children()
    # The network with unit capacities: where a unit of flow can still go from each of its nodes.
    # A right node is split into its entrance and its exit, so that one half-trek passes.
    entrance, exit_, source, sink = d, 2 * d, 3 * d, 3 * d + 1
    open_: list[dict[int, None]] = [{} for _ in range(3 * d + 2)]  # dicts: in a fixed order
    for y in [*members(allowed & parents), *members(allowed & ~parents)]:
        open_[source][y] = None  # parents first, as they reach themselves
        open_[y].update((entrance + t, None) for t in members(1 << y | graph._spouses[y]))
    for u in range(d):
        open_[entrance + u][exit_ + u] = None
        open_[exit_ + u].update((entrance + w, None) for w in members(children[u]))
        if parents >> u & 1:
            open_[exit_ + u][sink] = None
    for _ in range(parents.bit_count()):
        came: dict[int, int] = {source: source}
        frontier = [source]
        while frontier and sink not in came:
            u = frontier.pop(0)
            for w in open_[u]:
                if w not in came:
                    came[w] = u
                    frontier.append(w)
        if sink not in came:
            return None
        w = sink
        while w != source:
            u = came[w]
            del open_[u][w]
            open_[w][u] = None
            w = u
    return tuple(y for y in members(allowed) if source in open_[y])


def identified(graph: MixedGraph) -> Identification:
    """Tell which parameters of the linear model are determined by the covariances.

    Returns
    -------
    Identification
        A verdict for each edge; bows are allowed.

    Raises
    ------
    GraphError
        When the graph has a directed cycle.

    Notes
    -----
    The answers are about almost every parameter (*generic* identifiability): on a set of measure
    zero, such as an instrument without effect, an identified parameter need not be.

    Examples
    --------
    An instrument z, and the same without it:

    >>> import bowfree as bf
    >>> print(bf.parse("z -> x -> y <-> x").identified())
    all of 3 edges identified
    edge     verdict     by
    z -> x   identified  z
    x -> y   identified  z
    x <-> y  identified
    >>> bf.parse("x -> y <-> x").identified().edge("x -> y").verdict
    'not identified'

    References
    ----------
    R. Foygel, J. Draisma, M. Drton, Half-trek criterion for generic identifiability of linear
    structural equation models, Annals of Statistics 40 (2012).
    """
    check_acyclic(graph)
    equations = {each.node: each.sources for each in half_trek_equations(graph)}
    open_ = set() if len(equations) == len(graph) else _moving(graph)
    verdicts: list[EdgeIdentification] = []
    for a, mark, b in graph.edges:
        i, j = graph._node(a), graph._node(b)
        by: tuple[str, ...] = ()
        verdict: Verdict = "undecided"
        if j in equations and (mark == "->" or i in equations):
            verdict = "identified"
            by = tuple(graph.nodes[y] for y in equations[j]) if mark == "->" else ()
        elif (i, mark, j) in open_:
            verdict = "not identified"
        kind: Literal["->", "<->"] = "->" if mark == "->" else "<->"
        verdicts.append(EdgeIdentification(a, kind, b, verdict, by))
    return Identification(graph, tuple(verdicts))


def _moving(graph: MixedGraph) -> set[tuple[int, str, int]]:
    """Return the edges whose parameter can move while Sigma stays, at a random point mod p."""
    d, p = len(graph), _PRIME
    draw = random.Random(_SEED)
    arrows = [(j, i) for i in range(d) for j in members(graph._parents[i])]
    B = {(i, j): draw.randrange(1, p) for j, i in arrows}
    Omega = [[0] * d for _ in range(d)]
    for i in range(d):
        Omega[i][i] = draw.randrange(1, p)
        for j in members(graph._spouses[i] >> i << i):
            Omega[i][j] = Omega[j][i] = draw.randrange(1, p)
    # E Omega = (I - B)^-1 Omega, parents before children.
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

    basis = _Span(p)
    for i, j in combinations(range(d), 2):
        if not graph._spouses[i] >> j & 1:
            basis.add(row(i, j))
    moving = {
        (tail, "->", head)
        for k, (tail, head) in enumerate(arrows)
        if not basis.has([int(k == other) for other in range(len(arrows))])
    }
    for i in range(d):
        for j in members(graph._spouses[i] >> i << i):
            if not basis.has(row(i, j)):
                moving.add((i, "<->", j))
    return moving


class _Span:
    """The vectors modulo p that are combinations of some others."""

    def __init__(self, p: int) -> None:
        self._p = p
        self._rows: dict[int, list[int]] = {}  # by the place of its first entry, which is 1

    def add(self, vector: Sequence[int]) -> None:
        """Make the vector one of them."""
        rest = self._rest(vector)
        first = next((k for k, x in enumerate(rest) if x), None)
        if first is not None:
            inverse = pow(rest[first], -1, self._p)
            self._rows[first] = [x * inverse % self._p for x in rest]

    def has(self, vector: Sequence[int]) -> bool:
        """Tell whether the vector is a combination of those added."""
        return not any(self._rest(vector))

    def _rest(self, vector: Sequence[int]) -> list[int]:
        rest = list(vector)
        for first in sorted(self._rows):
            factor = rest[first]
            if factor:
                row = self._rows[first]
                rest = [(x - factor * y) % self._p for x, y in zip(rest, row, strict=True)]
        return rest
