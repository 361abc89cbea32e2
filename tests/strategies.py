"""Random mixed graphs for hypothesis."""

from hypothesis import strategies as st

import bowfree as bf


@st.composite
def baps(draw, *, min_nodes=1, max_nodes=7, names=None):
    """Draw a BAP: each pair has no edge, one along a random order, or a bidirected one."""
    d = draw(st.integers(min_nodes, max_nodes))
    nodes = draw(st.permutations([f"v{i}" for i in range(d)])) if names is None else draw(names(d))
    order = draw(st.permutations(range(d)))
    directed, bidirected = [], []
    for i in range(d):
        for j in range(i):
            kind = draw(st.sampled_from(("", "directed", "bidirected")))
            edge = (nodes[order[j]], nodes[order[i]])
            if kind == "directed":
                directed.append(edge)
            elif kind == "bidirected":
                bidirected.append(edge)
    return bf.MixedGraph(nodes, directed, bidirected)


@st.composite
def mixed_graphs(draw, *, max_nodes=5):
    """Draw any mixed graph: bows and directed cycles too."""
    d = draw(st.integers(1, max_nodes))
    nodes = [f"v{i}" for i in range(d)]
    pairs = [(a, b) for a in nodes for b in nodes if a != b]
    subsets = st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([])
    bidirected = {tuple(sorted(pair)) for pair in draw(subsets)}
    return bf.MixedGraph(nodes, draw(subsets), sorted(bidirected))
