"""Modules of a dense graph: groups of nodes with many edges inside and few between.

A graph of two hundred nodes drawn in rows is a ball of wool. Drawn module by module it is a dozen
small graphs, and what goes on between them can be pale. :func:`modules` finds the groups by greedy
moves that raise the modularity (the method of Blondel and others, here without chance: nodes in
their order, ties to the first), and :func:`module_layout` gives each a block of its own.
:mod:`bowfree.visualization.plot` and the report draw them.

References
----------
V. D. Blondel, J.-L. Guillaume, R. Lambiotte and E. Lefebvre, Fast unfolding of communities in large
networks, Journal of Statistical Mechanics (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bowfree.visualization.layout import Layout, circle_layout, layered_layout, on_shelves

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph


Floats = npt.NDArray[np.float64]
Region = tuple[float, float, float, float]

REGION_MARGIN = 16.0
"""Between the boxes of a module and the border of its region."""

_BLOCK_GAP = 2 * REGION_MARGIN + 44.0  # between boxes of two modules
_LEAST_GAIN = 1e-12  # of modularity; smaller ones are rounding errors, and could go on for ever


def modules(
    graph: MixedGraph, strengths: Sequence[float] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Return groups of nodes with many edges inside and few between, by their places.

    Every group is connected, and they come in causal order of their nodes on average. Nodes without
    edges are in none. With `strengths` >= 0, in the order of ``graph.edges``, a strong edge counts
    more than a weak one.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.modules import modules
    >>> g = bf.parse("a -> b -> c, a -> c, c -> d, d -> e -> f, d -> f, g")
    >>> modules(g)
    ((0, 1, 2), (3, 4, 5))
    """
    weights = _adjacency(graph, strengths)
    label = np.arange(len(graph))  # the group of each node
    between = weights  # of groups; inner edges count on the diagonal, twice
    while True:
        moved = _moved(between)
        label = moved[label]
        if len(moved) == moved.max(initial=-1) + 1:
            break
        member = np.eye(int(moved.max()) + 1)[moved]
        between = member.T @ between @ member
    groups = [np.flatnonzero(label == k).tolist() for k in range(int(label.max(initial=-1)) + 1)]
    whole = [part for group in groups for part in _connected(group, weights) if len(part) > 1]
    place = _places(graph)
    whole.sort(key=lambda part: (float(place[part].mean()), part))
    return tuple(tuple(part) for part in whole)


def _adjacency(graph: MixedGraph, strengths: Sequence[float] | None) -> Floats:
    """Return a symmetric matrix with what the edges between two nodes count."""
    weights = np.zeros((len(graph), len(graph)))
    for (a, _, b), strength in zip(graph.edges, strengths or [1.0] * graph.n_edges, strict=True):
        # Not zero: an edge of no strength still connects.
        weights[graph._node(a), graph._node(b)] += max(strength, 1e-3)
        weights[graph._node(b), graph._node(a)] += max(strength, 1e-3)
    return weights


def _moved(weights: Floats) -> npt.NDArray[np.intp]:
    """Move nodes between groups while that raises the modularity; return the groups, numbered.

    With k_v the degree of v and 2m the sum of all of them, v gains by moving to a group G what it
    has of edges there less what chance would give: sum of w_vu over u in G, minus k_v k(G) / 2m.
    """
    d = len(weights)
    degree = weights.sum(axis=0)
    total = float(degree.sum())
    group, reach = np.arange(d), degree.copy()
    while total:
        before = group.copy()
        for v in range(d):
            own = group[v]
            reach[own] -= degree[v]
            row = weights[v].copy()
            row[v] = 0.0  # goes along
            gain = np.bincount(group, row, minlength=d) - degree[v] * reach / total
            best = int(np.argmax(gain))
            if gain[best] <= gain[own] + _LEAST_GAIN * total:
                best = own
            group[v] = best
            reach[best] += degree[v]
        if (group == before).all():
            break
    return np.unique(group, return_inverse=True)[1]


def _connected(group: list[int], weights: Floats) -> list[list[int]]:
    """Split a group where its own edges do not hold it together."""
    left, parts = set(group), []
    while left:
        part, stack = set(), [min(left)]
        while stack:
            v = stack.pop()
            if v in left:
                left.remove(v)
                part.add(v)
                stack.extend(u for u in left if weights[v, u])
        parts.append(sorted(part))
    return parts


def _places(graph: MixedGraph) -> Floats:
    """Return where each node stands in a causal order; a graph with a cycle has none."""
    place = np.zeros(len(graph))
    order = graph.topological_order() if graph.is_acyclic() else graph.nodes
    place[[graph._node(name) for name in order]] = np.arange(len(graph))
    return place


def module_layout(graph: MixedGraph, groups: Sequence[Sequence[int]]) -> Layout:
    """Lay every module out by itself, and set the blocks on shelves; lone nodes are the last."""
    centers, sizes = np.zeros((len(graph), 2)), np.zeros((len(graph), 2))
    lone = sorted(set(range(len(graph))).difference(*groups))
    blocks = [*map(list, groups), *([lone] if lone else [])]
    for group in blocks:
        block = graph.subgraph([graph.nodes[v] for v in group])
        rows = block.n_directed and block.is_acyclic()
        placed = layered_layout(block) if rows or not block.n_edges else circle_layout(block)
        places = [graph._node(name) for name in block.nodes]
        centers[places], sizes[places] = placed.centers, placed.sizes
    on_shelves(blocks, centers, sizes, (_BLOCK_GAP, _BLOCK_GAP))
    return Layout(centers, sizes)


def module_regions(placed: Layout, groups: Sequence[Sequence[int]]) -> list[Region]:
    """Return a rectangle around each module: left, top, width, height."""
    found = []
    for group in groups:
        chosen = list(group)
        low = (placed.centers[chosen] - placed.sizes[chosen] / 2).min(axis=0) - REGION_MARGIN
        high = (placed.centers[chosen] + placed.sizes[chosen] / 2).max(axis=0) + REGION_MARGIN
        left, top, width, height = (float(x) for x in (*low, *(high - low)))
        found.append((left, top, width, height))
    return found
