"""Graphs for tests: all small BAPs, and hypothesis strategies for larger ones."""

from functools import cache
from itertools import combinations, product

from hypothesis import strategies as st

from bowfree import MixedGraph

ODD_NAMES = (
    "x",
    "y2",
    "IL-6",
    "blood pressure",
    'say "hi"',
    "a,b",
    "#1",
    "->",
    "é",
    "tab\t",
    "<&>",
    "bell\x07",
)


@cache
def all_baps(d: int) -> tuple[MixedGraph, ...]:
    """Every BAP on d nodes: of the 4 ** (d choose 2) graphs without bows, the acyclic ones."""
    nodes = tuple("abcdef"[:d])
    pairs = list(combinations(range(d), 2))
    graphs = []
    for marks in product(range(4), repeat=len(pairs)):
        parents, spouses = [0] * d, [0] * d
        for (i, j), mark in zip(pairs, marks, strict=True):
            if mark == 1:
                parents[j] |= 1 << i
            elif mark == 2:
                parents[i] |= 1 << j
            elif mark == 3:
                spouses[i] |= 1 << j
                spouses[j] |= 1 << i
        graphs.append(MixedGraph._from_masks(nodes, parents, spouses))
    return tuple(graph for graph in graphs if graph.is_acyclic())


@st.composite
def mixed_graphs(
    draw: st.DrawFn,
    max_nodes: int = 6,
    acyclic: bool = False,
    bow_free: bool = False,
    names: tuple[str, ...] = ("a", "b", "c", "d", "e", "f", "g", "h"),
) -> MixedGraph:
    """Draw a mixed graph; cyclic and with bows unless told otherwise."""
    nodes = draw(st.permutations(names))[: draw(st.integers(0, max_nodes))]
    order = draw(st.permutations(nodes))
    directed, bidirected = [], []
    for a, b in combinations(order, 2):
        # Without "<-" every directed edge follows the drawn order.
        kinds = ["", "->", "<->"]
        if not acyclic:
            kinds += ["<-", "-><-"]
        if not bow_free:
            kinds += ["-><->"]
        kind = draw(st.sampled_from(kinds))
        if kind.startswith("->"):
            directed.append((a, b))
        if kind.endswith("<-"):
            directed.append((b, a))
        if kind.endswith("<->"):
            bidirected.append((a, b))
    return MixedGraph(nodes, directed, bidirected)


def baps(max_nodes: int = 6) -> st.SearchStrategy[MixedGraph]:
    """Bow-free acyclic graphs."""
    return mixed_graphs(max_nodes, acyclic=True, bow_free=True)


def admgs(max_nodes: int = 6) -> st.SearchStrategy[MixedGraph]:
    """Acyclic graphs, with bows."""
    return mixed_graphs(max_nodes, acyclic=True)
