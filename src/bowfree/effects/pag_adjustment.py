"""Adjustment in a partial ancestral graph: the sets that are valid in all graphs it represents.

The generalized adjustment criterion: every possibly directed path from x to y starts with a visible
edge x -> v, whose ends have no hidden common cause in any graph of the class; the set contains no
possible descendant of a node on such a path; and it m-separates x and y without the edges from x
to these nodes, in a maximal ancestral graph of the class with as few edges into x as possible.

References
----------
E. Perkovic, J. Textor, M. Kalisch, M. Maathuis, Complete graphical characterization and
construction of adjustment sets in Markov equivalence classes of ancestral graphs, JMLR 18 (2018).
J. Zhang, Causal reasoning with ancestral graphs, JMLR 9 (2008).
"""

from __future__ import annotations

from bowfree.errors import GraphError
from bowfree.graph.encodings import closure, members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import node_index
from bowfree.graph.pag import CIRCLE, HEAD, PAG, TAIL
from bowfree.graph.text import quote


def backdoor_graph(pag: PAG, of: str, on: str) -> tuple[MixedGraph, int, bool]:
    """Return the graph in which sets must m-separate, the allowed nodes, and whether any is valid.

    If the last is False, the effect differs between the graphs of the class: no set is valid.
    """
    x, y = node_index(of, pag.nodes), node_index(on, pag.nodes)
    if x == y:
        raise GraphError(f"of and on are both {quote(of)}; an effect is on another variable")
    marks, d = pag.marks, len(pag.nodes)
    for i, j in ((i, j) for i in range(d) for j in range(d) if marks[i][j] == TAIL):
        if marks[j][i] != HEAD:
            a, b = quote(pag.nodes[i]), quote(pag.nodes[j])
            raise GraphError(
                f"the edge between {a} and {b} has a tail but no arrowhead: PAGs with selection "
                "bias are not supported"
            )
    # steps[a]: nodes b with an edge that is a -> b in some graph of the class.
    steps = [
        sum(1 << b for b in range(d) if marks[a][b] in (CIRCLE, HEAD) and marks[b][a] != HEAD)
        for a in range(d)
    ]
    back = [sum(1 << a for a in range(d) if steps[a] >> b & 1) for b in range(d)]
    without_x = ~(1 << x)
    above = closure(back, 1 << y, within=without_x)
    first = steps[x] & above
    causal = closure(steps, first, within=without_x) & above
    forbidden = closure(steps, causal, within=without_x) | 1 << x | 1 << y
    mag = member(pag, x)
    parents = [mask & without_x if first >> v & 1 else mask for v, mask in enumerate(mag._parents)]
    amenable = all(marks[v][x] == TAIL and is_visible(pag, x, v) for v in members(first))
    return mag._with(parents, mag._spouses), (1 << d) - 1 & ~forbidden, amenable


def is_visible(pag: PAG, a: int, b: int) -> bool:
    """Return whether an edge a -> b is visible: a and b have no hidden common cause.

    There is a node that is not adjacent to b with an edge into a, or with a path of colliders into
    a that are parents of b.
    """
    marks = pag.marks
    seen, frontier = {a, b}, [a]
    while frontier:
        v = frontier.pop()
        for u in range(len(pag.nodes)):
            if u in seen or marks[u][v] != HEAD:
                continue
            if not marks[u][b]:
                return True
            if marks[v][u] == HEAD and marks[u][b] == HEAD and marks[b][u] == TAIL:
                seen.add(u)
                frontier.append(u)
    return False


def member(pag: PAG, first: int) -> MixedGraph:
    """Return a maximal ancestral graph of the class without further edges into one node.

    Edges ``o->`` become ``->``. The edges ``o-o`` form a chordal graph, which is oriented along a
    maximum cardinality search that begins at `first`: this makes no new unshielded collider.
    """
    marks, d = pag.marks, len(pag.nodes)
    near = [
        {b for b in range(d) if marks[a][b] == CIRCLE and marks[b][a] == CIRCLE} for a in range(d)
    ]
    order = [first]
    while len(order) < d:
        visited = set(order)
        rest = [v for v in range(d) if v not in visited]
        order.append(max(rest, key=lambda v: len(near[v] & visited)))
    rank = {v: k for k, v in enumerate(order)}
    parents, spouses = [0] * d, [0] * d
    for a in range(d):
        for b in range(a):
            if not marks[a][b]:
                continue
            into_a, into_b = marks[b][a] == HEAD, marks[a][b] == HEAD
            if into_a and into_b:
                spouses[a] |= 1 << b
                spouses[b] |= 1 << a
            elif into_b or (not into_a and rank[a] < rank[b]):
                parents[b] |= 1 << a
            else:
                parents[a] |= 1 << b
    return MixedGraph._from_masks(pag.nodes, parents, spouses)
