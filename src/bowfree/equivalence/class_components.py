"""A class taken apart: its members component by component, some thousands at a time.

Edges of different connected components of the skeleton vary independently. What is asked of each
member, its effects or what an experiment would say, is a question about one component, and a class
of 10^12 members takes no more than its components do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from bowfree.equivalence.class_members import EquivalenceClass, Factor

_BATCH = 512  # members per call of the core


def class_components(members: EquivalenceClass) -> Iterator[tuple[list[int], list[Factor]]]:
    """Yield the edges of each connected component, with the factors that vary them.

    Factors of several components (an empirical class is one factor) bring these together.
    """
    part = list(range(len(members.graph)))  # union-find: a part's nodes point to its smallest

    def root(v: int) -> int:
        while part[v] != v:
            v = part[v]
        return v

    def join(nodes: Iterable[int]) -> None:
        roots = sorted({root(v) for v in nodes})
        for other in roots[1:]:
            part[other] = roots[0]

    edges = members._edges
    for pair in edges:
        join(pair)
    for factor in members._factors:
        join(v for e in factor.edges for v in edges[e])
    for home in sorted({root(i) for i, _ in edges}):
        own = [e for e, (i, _) in enumerate(edges) if root(i) == home]
        factors = [f for f in members._factors if f.edges and root(edges[f.edges[0]][0]) == home]
        yield own, factors


def count_options(factors: list[Factor]) -> int:
    """Return how many members the factors make."""
    return math.prod(len(factor.marks) for factor in factors)


def batch_size(seen: int) -> int:
    """Return the number of members for the next call; the first comes alone, whatever the time."""
    return _BATCH if seen else 1


def member_batches(
    edges: list[int], own: npt.NDArray[np.uint8], factors: list[Factor], size: int
) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the marks, (members, edges), of the first `size` combinations of the options."""
    column = {e: k for k, e in enumerate(edges)}
    start = 0
    while start < size:
        index = np.arange(start, min(start + batch_size(start), size))
        start += len(index)
        marks = np.tile(own, (len(index), 1))
        for factor in reversed(factors):
            index, digit = np.divmod(index, len(factor.marks))
            marks[:, [column[e] for e in factor.edges]] = factor.marks[digit]
        yield marks
