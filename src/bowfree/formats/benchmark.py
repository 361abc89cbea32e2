"""The graph files of the public bow-free benchmark (Dash, Gonçalves and Gao, AISTATS 2025).

::

    n_nodes n_directed n_bidirected
    3 1 1
    directed
    0 1
    bidirected
    1 2

Nodes are numbers from 0; ``0 1`` under ``directed`` is ``0 -> 1``. The numbers of edges in the
second line have to agree with the lists. The file has no names: they come in beside it, by
default ``0``, ``1``, ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bowfree.formats.matrix import listed_names
from bowfree.formats.tokens import GraphBuilder, refuse
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import check_nodes, check_text, short_repr, split_lines, whole_number

_HEADER = "n_nodes n_directed n_bidirected"


def to_benchmark(graph: GraphLike) -> str:
    """Write a graph as a file of the benchmark; node names are lost, their order is kept.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.to_benchmark(bf.parse("x -> y, y <-> z")), end="")
    n_nodes n_directed n_bidirected
    3 1 1
    directed
    0 1
    bidirected
    1 2
    """
    graph = graph_of(graph)
    index = {name: i for i, name in enumerate(graph.nodes)}
    directed = sorted((index[a], index[b]) for a, b in graph.directed)
    bidirected = sorted(
        (min(index[a], index[b]), max(index[a], index[b])) for a, b in graph.bidirected
    )
    lines = [_HEADER, f"{len(index)} {len(directed)} {len(bidirected)}", "directed"]
    lines += [f"{i} {j}" for i, j in directed]
    lines.append("bidirected")
    lines += [f"{i} {j}" for i, j in bidirected]
    return "\n".join(lines) + "\n"


def from_benchmark(text: str, nodes: Sequence[str] | None = None) -> MixedGraph:
    r"""Read a graph file of the benchmark; the inverse of `to_benchmark`.

    Parameters
    ----------
    text : str
        The whole file.
    nodes : sequence of str, optional
        Names for the numbers; by default the numbers themselves, ``"0"``, ``"1"``, ...

    Raises
    ------
    ParseError
        With line and column, if the text is not of this form or its numbers disagree.

    Examples
    --------
    >>> import bowfree as bf
    >>> text = "n_nodes n_directed n_bidirected\n2 1 0\ndirected\n0 1\nbidirected\n"
    >>> bf.formats.from_benchmark(text, nodes=["x", "y"]) == bf.parse("x -> y")
    True
    """
    numbered = enumerate(split_lines(check_text(text, "benchmark")), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    end = (lines[-1][0] if lines else 1, "")
    lines.reverse()

    def next_line() -> tuple[int, str]:
        return lines.pop() if lines else end

    number, line = next_line()
    if line.split() != _HEADER.split():
        refuse(
            "benchmark",
            number,
            1,
            f"expected the header {_HEADER!r}, found {short_repr(line.strip())}",
        )
    number, line = next_line()
    (d, _), (n_directed, _), (n_bidirected, _) = _numbers(line, number, count=3)
    check_nodes(d, "benchmark", line=number)
    names = [str(i) for i in range(d)] if nodes is None else listed_names(nodes, "benchmark")
    if len(names) != d:
        refuse("benchmark", number, 1, f"the graph has {d} nodes but {len(names)} names are given")
    builder = GraphBuilder("benchmark", text)
    for heading, count, mark in (
        ("directed", n_directed, "->"),
        ("bidirected", n_bidirected, "<->"),
    ):
        number, line = next_line()
        if line.strip() != heading:
            refuse(
                "benchmark",
                number,
                1,
                f"expected the line {heading!r}, found {short_repr(line.strip())}; line 2 announces "
                f"{n_directed} directed and {n_bidirected} bidirected edges",
            )
        for _ in range(count):
            number, line = next_line()
            (i, column), (j, column_j) = _numbers(line, number, count=2)
            for node, at in ((i, column), (j, column_j)):
                if node >= d:
                    refuse("benchmark", number, at, f"node {node} of a graph with {d} nodes")
            builder.edge(names[i], mark, names[j], number, column)
    if lines:
        number, line = next_line()
        refuse(
            "benchmark",
            number,
            1,
            f"expected the end of the file, found {short_repr(line.strip())}",
        )
    return builder.build(names)


def _numbers(line: str, number: int, *, count: int) -> list[tuple[int, int]]:
    """Read this many natural numbers from a line, each with its column."""
    words = [(match.group(), match.start() + 1) for match in re.finditer(r"\S+", line)]
    if len(words) != count:
        refuse(
            "benchmark", number, 1, f"expected {count} numbers, found {short_repr(line.strip())}"
        )
    numbers = []
    for word, column in words:
        try:
            numbers.append((whole_number(word), column))
        except ValueError as error:
            refuse("benchmark", number, column, f"{short_repr(word)} {error}")
    return numbers
