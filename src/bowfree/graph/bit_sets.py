"""Sets of nodes as Python integers: bit ``i`` set means that node ``i`` is in the set.

A :class:`~bowfree.MixedGraph` keeps one mask of parents and one of spouses per node. Unions and
intersections are then single machine operations per 30 nodes, whatever the number of edges, which
is what keeps the graph algorithms of this package short. ``masks`` below is always a sequence with
one mask per node. The compiled core holds the same picture as uint64 words
(``cpp/graph/graph.hpp``).
"""

from collections.abc import Iterable, Iterator, Sequence


def members(mask: int) -> Iterator[int]:
    """Yield the nodes of a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def singletons(nodes: Iterable[int]) -> int:
    """Return the set that holds the given nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def union(masks: Sequence[int], nodes: int) -> int:
    """Return the union of ``masks[v]`` over the nodes v of a set."""
    result = 0
    for v in members(nodes):
        result |= masks[v]
    return result


def closure(masks: Sequence[int], start: int, *, within: int = -1) -> int:
    """Return all that is reached from ``start`` by steps v -> masks[v], staying inside ``within``.

    Every node enters the frontier once, so this is a breadth-first search. ``start`` is part of the
    result (as far as it lies within).
    """
    reached = frontier = start & within
    while frontier:
        frontier = union(masks, frontier) & within & ~reached
        reached |= frontier
    return reached


def transpose(masks: Sequence[int]) -> list[int]:
    """Turn parents into children and back: bit j of ``masks[i]`` becomes bit i of the j-th."""
    result = [0] * len(masks)
    for i, mask in enumerate(masks):
        bit = 1 << i
        for j in members(mask):
            result[j] |= bit
    return result
