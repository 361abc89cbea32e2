"""The state of a pair of nodes in a graph without bows: no edge, ``->``, ``<-`` or ``<->``.

The numbers are those of the compiled core (``cpp/graph/edge.hpp``): bit 0 is an arrowhead at the
second node of the pair, bit 1 one at the first. A graph on d nodes is then a row of d (d - 1) / 2
states, which is how searches and chains hand over many graphs at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bowfree.graph.mixed_graph import MixedGraph

NONE, FORWARD, BACKWARD, BIDIRECTED = range(4)
EDGES = (FORWARD, BACKWARD, BIDIRECTED)
MARKS = {NONE: "", FORWARD: "->", BACKWARD: "<-", BIDIRECTED: "<->"}

States = npt.NDArray[np.uint8]


def index_pairs(d: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, in the core's order: (0,1), (0,2), (1,2), (0,3), ..."""
    return [(i, j) for j in range(d) for i in range(j)]


def states_of_graph(graph: MixedGraph) -> States:
    """Return the state of every pair, in the order of :func:`index_pairs`."""
    states = np.zeros(len(graph) * (len(graph) - 1) // 2, dtype=np.uint8)
    for k, (i, j) in enumerate(index_pairs(len(graph))):
        if graph._spouses[i] >> j & 1:
            states[k] = BIDIRECTED
        elif graph._parents[j] >> i & 1:
            states[k] = FORWARD
        elif graph._parents[i] >> j & 1:
            states[k] = BACKWARD
    return states


def graph_of_states(names: tuple[str, ...], states: States) -> MixedGraph:
    """Build the graph whose pairs have these states, in the order of :func:`index_pairs`."""
    parents, spouses = [0] * len(names), [0] * len(names)
    for (i, j), state in zip(index_pairs(len(names)), states.tolist(), strict=True):
        if state == FORWARD:
            parents[j] |= 1 << i
        elif state == BACKWARD:
            parents[i] |= 1 << j
        elif state != NONE:
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
    return MixedGraph._from_masks(names, parents, spouses)
