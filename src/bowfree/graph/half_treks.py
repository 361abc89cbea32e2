"""The half-trek criterion: which equations determine the coefficients into a node.

A half-trek from y to w is ``y -> ... -> w`` or ``y <-> t -> ... -> w``; y = w is one, too. If the
parents of v are reached from as many nodes Y by half-treks that share no node on their right sides,
if Y has neither v nor a spouse of v, and if the coefficients into all members of Y that v reaches
by half-treks are known already, then the coefficients into v solve a linear system in the
covariances: one equation for each y,

    sum over parents p of  B[v, p] * row(y)[p]  =  row(y)[v],

where ``row(y)`` is row y of ``(I - B) Sigma`` if v reaches y by a half-trek, and else row y of
``Sigma``. Whether there is such a set Y is a question of maximal flow::

    source => left(y) => right(y), right(spouse of y)      the first step of a half-trek
              right(u) => right(child of u)                the others; one half-trek through each
              right(parent of v) => sink

In a graph without bows Y = parents of v always does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bowfree.graph.bit_sets import closure, members

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


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
    >>> from bowfree.graph.half_treks import half_trek_equations
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
