"""Encodings of graphs: bit masks (Python integers), bits (arrays of words), and pair states.

- A :class:`~bowfree.MixedGraph` stores one *mask* of parents and one of spouses for each node: bit
  ``j`` of ``parents[i]`` is the edge j -> i. Set operations are then single operations on integers.
- The compiled core stores the same *bits* as uint64 words (``cpp/graph/graph.hpp``), in arrays of
  shape (d, words), or (graphs, d, words) for many graphs.
- In a graph without bows each pair of nodes has one of four *states*: no edge, ``->``, ``<-`` or
  ``<->``. Bit 0 is an arrowhead at the second node of the pair, bit 1 one at the first
  (``cpp/graph/edge.hpp``). A graph on d nodes is then a row of d (d - 1) / 2 states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bowfree.graph.mixed_graph import MixedGraph

Bits = npt.NDArray[np.uint64]
States = npt.NDArray[np.uint8]

NONE, FORWARD, BACKWARD, BIDIRECTED = range(4)
EDGES = (FORWARD, BACKWARD, BIDIRECTED)
MARKS = {NONE: "", FORWARD: "->", BACKWARD: "<-", BIDIRECTED: "<->"}


# --- masks; a sequence `masks` has one mask for each node ---


def members(mask: int) -> Iterator[int]:
    """Yield the nodes of a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def singletons(nodes: Iterable[int]) -> int:
    """Return the mask of some nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def union(masks: Sequence[int], nodes: int) -> int:
    """Return the union of ``masks[v]`` over the nodes v of a set."""
    result = 0
    while nodes:  # faster than a loop over `members`
        low = nodes & -nodes
        result |= masks[low.bit_length() - 1]
        nodes ^= low
    return result


def closure(masks: Sequence[int], start: int, *, within: int = -1) -> int:
    """Return the nodes reachable from ``start`` by steps v -> masks[v] inside ``within``."""
    reached = frontier = start & within
    while frontier:
        frontier = union(masks, frontier) & within & ~reached
        reached |= frontier
    return reached


def transpose(masks: Sequence[int]) -> list[int]:
    """Return children from parents, or parents from children."""
    result = [0] * len(masks)
    for i, mask in enumerate(masks):
        bit = 1 << i
        for j in members(mask):
            result[j] |= bit
    return result


# --- bits ---


def graph_of_bits(names: tuple[str, ...], parents: Bits, spouses: Bits) -> MixedGraph:
    """Return the graph with these bits, arrays of shape (d, words)."""
    (graph,) = graphs_of_bits(names, parents[None], spouses[None])
    return graph


def graphs_of_bits(names: tuple[str, ...], parents: Bits, spouses: Bits) -> list[MixedGraph]:
    """Return the graphs with these bits, arrays of shape (graphs, d, words)."""
    from bowfree.graph.mixed_graph import MixedGraph

    empty = MixedGraph._from_masks(names, [0] * len(names), [0] * len(names))
    rows = zip(_masks(parents), _masks(spouses), strict=True)
    return [empty._with(*own) for own in rows]


def _masks(bits: Bits) -> list[list[int]]:
    """Return a mask for each row of each graph."""
    if bits.shape[2] == 1:
        masks: list[list[int]] = bits[:, :, 0].tolist()
        return masks

    def integers(rows: Bits) -> list[int]:
        width, content = 8 * rows.shape[1], rows.astype("<u8").tobytes()
        return [
            int.from_bytes(content[width * k : width * (k + 1)], "little") for k in range(len(rows))
        ]

    # The graphs of a pool are similar: convert only the rows that differ from those of the first.
    first = integers(bits[0]) if len(bits) else []
    masks = [first.copy() for _ in bits]
    where = (bits != bits[:1]).any(axis=2)
    graphs, nodes = (index.tolist() for index in np.nonzero(where))
    for graph, node, mask in zip(graphs, nodes, integers(bits[where]), strict=True):
        masks[graph][node] = mask
    return masks


# --- states of pairs ---


def index_pairs(d: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, in the core's order: (0,1), (0,2), (1,2), (0,3), ..."""
    return [(i, j) for j in range(d) for i in range(j)]


def states_of_graph(graph: MixedGraph, pairs: Sequence[tuple[int, int]] | None = None) -> States:
    """Return the state of each of these pairs, or of all pairs in order; that of a bow is ``<->``."""
    parents, spouses = graph._parents, graph._spouses
    states = [
        BIDIRECTED
        if spouses[i] >> j & 1
        else FORWARD
        if parents[j] >> i & 1
        else BACKWARD * (parents[i] >> j & 1)
        for i, j in (index_pairs(len(graph)) if pairs is None else pairs)
    ]
    return np.array(states, dtype=np.uint8)


def graph_of_states(names: tuple[str, ...], states: States) -> MixedGraph:
    """Return the graph whose pairs have these states, in the order of :func:`index_pairs`."""
    from bowfree.graph.mixed_graph import MixedGraph

    masks = masks_of_states(len(names), states.tolist(), index_pairs(len(names)))
    return MixedGraph._from_masks(names, *masks)


def masks_of_states(
    d: int, states: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Return the masks of parents and spouses of a graph in which these pairs have these states."""
    parents, spouses = [0] * d, [0] * d
    for (i, j), state in zip(pairs, states, strict=True):
        if state == FORWARD:
            parents[j] |= 1 << i
        elif state == BACKWARD:
            parents[i] |= 1 << j
        elif state == BIDIRECTED:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return parents, spouses


def bits_of_states(d: int, states: States) -> tuple[Bits, Bits]:
    """Return parents and spouses, each (graphs, d, words), of graphs given by rows of states."""
    i, j = np.array(index_pairs(d), dtype=np.intp).reshape(-1, 2).T
    width = 64 * -(-d // 64)
    parents, spouses = np.zeros((2, len(states), d, width), dtype=bool)
    parents[:, j, i] = states == FORWARD
    parents[:, i, j] = states == BACKWARD
    spouses[:, i, j] = spouses[:, j, i] = states == BIDIRECTED
    packed = (np.packbits(bits, axis=2, bitorder="little") for bits in (parents, spouses))
    first, second = (bytes_.view("<u8").astype(np.uint64) for bytes_ in packed)
    return first, second
