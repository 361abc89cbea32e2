"""Many graphs at once, as the compiled core hands them over: bits of shape (graphs, d, words).

Random graphs and the pool of a search come like this. One graph has its bits of shape (d, words).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bowfree.graph.mixed_graph import MixedGraph

Bits = npt.NDArray[np.uint64]


def graph_of_bits(names: tuple[str, ...], parents: Bits, spouses: Bits) -> MixedGraph:
    """Build one graph."""
    (graph,) = graphs_of_bits(names, parents[None], spouses[None])
    return graph


def graphs_of_bits(names: tuple[str, ...], parents: Bits, spouses: Bits) -> list[MixedGraph]:
    """Build graphs on the same nodes, which share their names.

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.graph.bit_stacks import graphs_of_bits
    >>> parents, spouses = np.zeros((2, 2, 2, 1), dtype=np.uint64)
    >>> parents[1, 1, 0] = 0b01  # the second graph, node y: parent x
    >>> [str(graph) for graph in graphs_of_bits(("x", "y"), parents, spouses)]
    ['x, y', 'x -> y']
    """
    empty = MixedGraph._from_masks(names, [0] * len(names), [0] * len(names))
    rows = zip(_masks(parents), _masks(spouses), strict=True)
    return [empty._with(*own) for own in rows]


def _masks(bits: Bits) -> list[list[int]]:
    """Return a mask for each row of each graph."""
    if bits.shape[2] == 1:
        masks: list[list[int]] = bits[:, :, 0].tolist()
        return masks

    # Graphs that come together are alike. A row like the first one's is not made again: of three
    # hundred graphs of a pool on four hundred nodes, nearly all of them.
    def numbers(rows: Bits) -> list[int]:
        width, content = 8 * rows.shape[1], rows.astype("<u8").tobytes()
        return [
            int.from_bytes(content[width * k : width * (k + 1)], "little") for k in range(len(rows))
        ]

    first = numbers(bits[0]) if len(bits) else []
    masks = [first.copy() for _ in bits]
    where = (bits != bits[:1]).any(axis=2)
    graphs, nodes = (index.tolist() for index in np.nonzero(where))
    for graph, node, mask in zip(graphs, nodes, numbers(bits[where]), strict=True):
        masks[graph][node] = mask
    return masks
