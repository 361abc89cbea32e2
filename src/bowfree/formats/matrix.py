"""What the matrix formats share: a table of codes, and a CSV text with names.

An adjacency matrix says nothing about its own direction: ``[i, j] = 1`` is ``i -> j`` in one
package and ``j -> i`` in the next. So each matrix format is a *table* from the two entries of a
pair, ``(M[i, j], M[j, i])``, to the edges between ``i`` and ``j``; a pair of entries that the table
does not have is refused. The tables are in ``ggm.py``, ``pcalg.py``, ``causal_learn.py``,
``pywhy.py`` and ``lingam.py``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import GraphError, ParseError
from bowfree.formats.tokens import refuse
from bowfree.graph.mixed_graph import MixedGraph

__all__ = [
    "CellError",
    "CodeTable",
    "decode_pairs",
    "encode_pairs",
    "named_square",
    "read_csv",
    "write_csv",
]

# Edges of the pair (i, j), i before j: subset of {"->", "<-", "<->"}, keyed by (M[i,j], M[j,i]).
CodeTable = Mapping[tuple[float, float], frozenset[str]]


class CellError(ParseError):
    """An entry that a format does not have; carries its indices, for the reader of CSV text."""

    def __init__(self, message: str, i: int, j: int) -> None:
        super().__init__(message)
        self.cell = (i, j)


def encode_pairs(graph: MixedGraph, table: CodeTable, *, format: str) -> npt.NDArray[np.int64]:
    """Write a graph as a matrix.

    Parameters
    ----------
    graph : MixedGraph
        Rows and columns follow ``graph.nodes``.
    table : CodeTable
        The codes of the format.
    format : str
        Its name, for messages.

    Returns
    -------
    ndarray of int64, shape (d, d)
    """
    d = len(graph.nodes)
    codes = {edges: entries for entries, edges in table.items()}
    matrix = np.zeros((d, d), dtype=np.int64)
    for (i, j), edges in _edges_by_pair(graph).items():
        if edges not in codes:
            a, b = graph.nodes[i], graph.nodes[j]
            both = " and ".join(f"{a} {mark} {b}" for mark in sorted(edges))
            raise GraphError(
                f"the {format} matrix has no code for {both} together; drop one of the two, or use "
                "a format that has both (text, json, dagitty, tetrad)"
            )
        matrix[i, j], matrix[j, i] = codes[edges]
    return matrix


def _edges_by_pair(graph: MixedGraph) -> dict[tuple[int, int], frozenset[str]]:
    index = {name: i for i, name in enumerate(graph.nodes)}
    marks: dict[tuple[int, int], set[str]] = {}
    for a, b in graph.directed:
        i, j = index[a], index[b]
        marks.setdefault((min(i, j), max(i, j)), set()).add("->" if i < j else "<-")
    for a, b in graph.bidirected:
        i, j = index[a], index[b]
        marks.setdefault((min(i, j), max(i, j)), set()).add("<->")
    return {pair: frozenset(edges) for pair, edges in marks.items()}


def decode_pairs(
    matrix: Any, nodes: Sequence[str] | None, table: CodeTable, *, format: str, hint: str
) -> MixedGraph:
    """Read a graph from a matrix.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        The entries; a data frame brings its column names along.
    nodes : sequence of str or None
        Names of the rows and columns; by default those of the data frame, or ``x1``, ``x2``, ...
    table : CodeTable
        The codes of the format.
    format : str
        Its name, for messages.
    hint : str
        What the format's entries can be: the way out of an error.
    """
    values, names = named_square(matrix, nodes, format=format)
    for i in range(len(names)):
        if values[i, i] != 0:
            raise CellError(
                f"{format}: entry [{names[i]}, {names[i]}] on the diagonal is {values[i, i]:g}; "
                "a graph has no self-loops, set it to 0",
                i,
                i,
            )
    directed: list[tuple[str, str]] = []
    bidirected: list[tuple[str, str]] = []
    for i, j in itertools.combinations(range(len(names)), 2):
        entries = (float(values[i, j]), float(values[j, i]))
        edges = table.get(entries)
        a, b = names[i], names[j]
        if edges is None:
            raise CellError(
                f"{format}: entries [{a}, {b}] = {entries[0]:g} and [{b}, {a}] = {entries[1]:g} "
                f"do not name an edge; {hint}",
                i,
                j,
            )
        if "->" in edges:
            directed.append((a, b))
        if "<-" in edges:
            directed.append((b, a))
        if "<->" in edges:
            bidirected.append((a, b))
    return MixedGraph(names, directed, bidirected)


def named_square(
    matrix: Any, nodes: Sequence[str] | None, *, format: str
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Return a square matrix as numbers, with the names of its rows and columns."""
    if nodes is None and hasattr(matrix, "columns"):
        nodes = [str(name) for name in matrix.columns]
        # A data frame whose rows are in another order than its columns is a trap, not a graph.
        rows = [str(name) for name in getattr(matrix, "index", nodes)]
        if rows != nodes and rows != [str(i) for i in range(len(rows))]:
            raise ParseError(
                f"{format}: rows are named {rows} but columns {nodes}; bring both in one order"
            )
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParseError(f"{format}: the matrix is not made of numbers: {error}") from error
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ParseError(
            f"{format}: an adjacency matrix is square, this one has shape {values.shape}"
        )
    names = tuple(nodes) if nodes is not None else tuple(f"x{i + 1}" for i in range(len(values)))
    if len(names) != len(values):
        raise ParseError(
            f"{format}: {len(names)} node names for a matrix with {len(values)} rows; "
            "give one name per row"
        )
    return values, names


_CELL = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"|([^,"]*?))[ \t]*(,|$)')


def write_csv(nodes: Sequence[str], matrix: npt.NDArray[Any]) -> str:
    """Write a matrix with its names: a header line, then one line per row, name first."""
    if not nodes:
        raise GraphError("a graph without nodes cannot be written as a matrix; use text or json")
    broken = [name for name in nodes if "\n" in name or "\r" in name]
    if broken:
        raise GraphError(f"a CSV header cannot hold the line break in {broken[0]!r}; rename it")
    lines = [",".join(["", *map(_quoted, nodes)])]
    lines += [
        ",".join([_quoted(name), *(format(value, ".17g") for value in row.tolist())])
        for name, row in zip(nodes, matrix, strict=True)
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    bare = name == name.strip() and name and not set(',"') & set(name)
    return name if bare else '"' + name.replace('"', '""') + '"'


def read_csv(
    text: str,
    decode: Callable[[npt.NDArray[np.float64], Sequence[str]], MixedGraph],
    *,
    format: str,
) -> MixedGraph:
    """Read what `write_csv` wrote; the column of row names may be missing."""
    rows = [
        (number, _cells(line, number, format))
        # str.splitlines also splits at characters that a name may have, such as U+2028
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1)
        if line.strip()
    ]
    if not rows:
        refuse(format, 1, 1, "the text is empty; expected a header line with the nodes' names")
    header_line, header = rows.pop(0)
    first = 1 if header[0][0] == "" else 0
    names = [name for name, _ in header[first:]]
    for k, (name, column) in enumerate(header[first:]):
        if name in names[:k]:
            refuse(format, header_line, column, f"node {name!r} is named twice; rename one")
    if len(rows) != len(names):
        line = rows[-1][0] if rows else header_line
        refuse(
            format, line, 1, f"expected {len(names)} rows, one per node, but there are {len(rows)}"
        )
    values = np.empty((len(names), len(names)))
    for i, (line, cells) in enumerate(rows):
        if len(cells) != len(names) + first:
            refuse(
                format,
                line,
                cells[-1][1],
                f"expected {len(names) + first} cells, found {len(cells)}",
            )
        if first and cells[0][0] != names[i]:
            refuse(
                format,
                line,
                cells[0][1],
                f"row {i + 1} is named {cells[0][0]!r} but column {i + 1} {names[i]!r}; "
                "bring both in one order",
            )
        for j, (cell, column) in enumerate(cells[first:]):
            try:
                values[i, j] = float(cell)
            except ValueError:
                refuse(format, line, column, f"{cell!r} is not a number")
    try:
        return decode(values, names)
    except CellError as error:
        i, j = error.cell
        line, cells = rows[i]
        column = cells[j + first][1]
        raise ParseError(str(error), line=line, column=column) from None


def _cells(line: str, number: int, format: str) -> list[tuple[str, int]]:
    """Cut a line at its commas; each cell with the column where it starts."""
    cells: list[tuple[str, int]] = []
    position = 0
    while True:
        match = _CELL.match(line, position)
        if match is None:
            refuse(format, number, position + 1, "a quoted cell is not closed, or text follows it")
        quoted, bare, end = match.groups()
        cell = bare if quoted is None else quoted.replace('""', '"')
        cells.append((cell, position + 1))
        position = match.end()
        if end != ",":
            return cells
