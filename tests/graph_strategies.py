"""Graphs for tests: all small BAPs, and hypothesis strategies for larger ones."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product

from hypothesis import strategies as st

from bowfree import MixedGraph
from bowfree.graph.encodings import masks_of_states

ODD_NAMES = (
    "x", "y2", "IL-6", "blood pressure", 'say "hi"', "a,b", "#1", "->", "é", "tab\t", "<&>", "bell\x07"
)  # fmt: skip


def orientations(
    nodes: Sequence[str], pairs: Sequence[tuple[str, str]], *, absent: bool = False
) -> Iterator[MixedGraph]:
    """Yield the acyclic graphs in which each of these pairs has an edge of each kind, or none."""
    nodes = tuple(nodes)
    places = [(nodes.index(a), nodes.index(b)) for a, b in pairs]
    empty = MixedGraph(nodes)
    for states in product(range(0 if absent else 1, 4), repeat=len(pairs)):
        graph = empty._with(*masks_of_states(len(nodes), states, places))
        if graph.is_acyclic():
            yield graph


@cache
def all_baps(d: int) -> tuple[MixedGraph, ...]:
    """Return every BAP on d nodes."""
    nodes = "abcdef"[:d]
    return tuple(orientations(nodes, list(combinations(nodes, 2)), absent=True))


def separations(graph: MixedGraph) -> set[tuple[str, str, tuple[str, ...]]]:
    """Return all m-separations (a, b, C) of two nodes, by brute force."""
    return {
        (a, b, C)
        for a, b in combinations(graph.nodes, 2)
        for size in range(len(graph) - 1)
        for C in combinations([v for v in graph.nodes if v not in (a, b)], size)
        if graph.m_separated(a, b, C)
    }


@st.composite
def mixed_graphs(
    draw: st.DrawFn,
    max_nodes: int = 6,
    acyclic: bool = False,
    bow_free: bool = False,
    names: tuple[str, ...] = ("a", "b", "c", "d", "e", "f", "g", "h"),
) -> MixedGraph:
    """Draw a mixed graph; cyclic and with bows by default."""
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
