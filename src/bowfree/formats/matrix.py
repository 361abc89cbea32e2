"""What the matrix formats share: a table of codes, and a CSV text with names.

An adjacency matrix says nothing about its own direction: ``[i, j] = 1`` is ``i -> j`` in one
package and ``j -> i`` in the next. So each matrix format is a *table* from the two entries of a
pair, ``(M[i, j], M[j, i])``, to the edges between ``i`` and ``j``; a pair of entries that the table
does not have is refused. The tables are in ``ggm.py``, ``pcalg.py``, ``causal_learn.py``,
``pywhy.py`` and ``lingam.py``; what their functions repeat is documentation only, since each has a
page of its own in the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import GraphError, ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name, write_line, write_name
from bowfree.formats.tokens import refuse
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import check_nodes, join_names, number, short_repr, truncate
from bowfree.validation import as_list

# Edges of the pair (i, j), i before j: subset of {"->", "<-", "<->"}, keyed by (M[i,j], M[j,i]).
CodeTable = Mapping[tuple[float, float], frozenset[str]]


class CellError(ParseError):
    """An entry that a format does not have; carries its indices, for the reader of CSV text."""

    def __init__(self, message: str, i: int, j: int) -> None:
        super().__init__(message)
        self.cell = (i, j)


@dataclass(frozen=True)
class MatrixFormat:
    """A format whose matrix is told by a table of codes.

    Attributes
    ----------
    name : str
        The format's name, for messages.
    table : CodeTable
        Its codes.
    hint : str
        What its entries can be: the way out of an error.
    """

    name: str
    table: CodeTable
    hint: str

    def encode(self, graph: GraphLike) -> npt.NDArray[np.int64]:
        """Return the matrix of a graph, shape (d, d); rows and columns follow ``graph.nodes``."""
        graph = graph_of(graph)
        d = len(graph.nodes)
        codes = {edges: entries for entries, edges in self.table.items()}
        matrix = np.zeros((d, d), dtype=np.int64)
        for (i, j), edges in _edges_by_pair(graph).items():
            if edges not in codes:
                a, b = graph.nodes[i], graph.nodes[j]
                both = " and ".join(f"{truncate(a)} {mark} {truncate(b)}" for mark in sorted(edges))
                raise GraphError(
                    f"the {self.name} matrix has no code for {both} together; drop one of "
                    "the two, or use a format that has both (text, json, dagitty, tetrad)"
                )
            matrix[i, j], matrix[j, i] = codes[edges]
        return matrix

    def decode(self, matrix: Any, nodes: Sequence[str] | None) -> MixedGraph:
        """Return the graph of a matrix (array_like or data frame, which brings its names along)."""
        values, names = named_square(matrix, nodes, format=self.name)
        for i in range(len(names)):
            if values[i, i] != 0:
                raise CellError(
                    f"{self.name}: entry [{truncate(names[i])}, {truncate(names[i])}] on the diagonal is "
                    f"{values[i, i]:g}; a graph has no self-loops, set it to 0",
                    i,
                    i,
                )
        directed: list[tuple[str, str]] = []
        bidirected: list[tuple[str, str]] = []
        for i, j in itertools.combinations(range(len(names)), 2):
            entries = (float(values[i, j]), float(values[j, i]))
            edges = self.table.get(entries)
            a, b = names[i], names[j]
            if edges is None:
                raise CellError(
                    f"{self.name}: entries [{truncate(a)}, {truncate(b)}] = {entries[0]:g} and "
                    f"[{truncate(b)}, {truncate(a)}] = {entries[1]:g} do not name an edge; {self.hint}",
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


def additive_codes(bidirected: float) -> CodeTable:
    """Return the table of a format whose codes add up.

    ``[i, j] = 1`` is ``i -> j``, `bidirected` on both sides is ``i <-> j``; a bow has the sum.
    """
    return {
        (bidirected * two + right, bidirected * two + left): frozenset(
            ["->"] * right + ["<-"] * left + ["<->"] * two
        )
        for right in (0, 1)
        for left in (0, 1)
        for two in (0, 1)
    }


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


def named_square(
    matrix: Any, nodes: Sequence[str] | None, *, format: str
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Return a square matrix as numbers, with the names of its rows and columns."""
    if nodes is None and hasattr(matrix, "columns"):
        nodes = [str(name) for name in listed_names(matrix.columns, format)]
        # A data frame whose rows are in another order than its columns is a trap, not a graph.
        rows = [str(name) for name in getattr(matrix, "index", nodes)]
        if rows != nodes and rows != [str(i) for i in range(len(rows))]:
            raise ParseError(
                f"{format}: rows are named {join_names(rows)} but columns {join_names(nodes)}; bring both "
                "in one order"
            )
    values = _numbers(matrix, format)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ParseError(
            f"{format}: an adjacency matrix is square, this one has shape {values.shape}"
        )
    if nodes is None:
        nodes = [f"x{i + 1}" for i in range(len(values))]
    names = tuple(listed_names(nodes, format))
    if len(names) != len(values):
        raise ParseError(
            f"{format}: {len(names)} node names for a matrix with {len(values)} rows; "
            "give one name per row"
        )
    return values, names


def _numbers(matrix: Any, format: str) -> npt.NDArray[np.float64]:
    """Return a matrix as numbers; a text is no number, although NumPy would make one of it."""
    try:
        given = np.asarray(matrix)
        texts = given.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in given.flat)
        if given.dtype.kind not in "biufO" or texts:
            raise TypeError("found text" if texts else f"found {given.dtype}")
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParseError(
            f"{format}: the matrix is not made of numbers: {truncate(str(error))}"
        ) from None


def listed_names(nodes: Any, format: str) -> list[Any]:
    """Return the names that a user gave for the nodes of a graph, or raise."""
    names = [] if isinstance(nodes, str) else as_list("nodes", nodes, "names", ParseError)
    listed = list(names)
    if isinstance(nodes, str) or not all(isinstance(name, str) for name in listed):
        raise ParseError(
            f"{format}: node names are a list such as ['x', 'y'], not {short_repr(nodes)}"
        )
    return listed


def write_csv(nodes: Sequence[str], matrix: npt.NDArray[Any]) -> str:
    """Write a matrix with its names: a header line, then one line per row, name first."""
    if not nodes:
        raise GraphError("a graph without nodes cannot be written as a matrix; use text or json")
    names = [write_name(name) for name in nodes]
    lines = [write_line(["", *names])]
    for name, row in zip(names, matrix.tolist(), strict=True):
        lines.append(write_line([name, *(format(value, ".17g") for value in row)]))
    return "".join(lines)


def read_csv(
    text: str,
    decode: Callable[[npt.NDArray[np.float64], Sequence[str]], MixedGraph],
    *,
    format: str,
) -> MixedGraph:
    """Read what `write_csv` wrote; the column of row names may be missing."""
    reader = CsvReader(text, what=format)
    rows = list(reader)
    if not rows:
        refuse(format, 1, 1, "the text is empty; expected a header line with the nodes' names")
    header = rows.pop(0)
    first = 1 if header.cells[0] == "" else 0
    names = [read_name(cell) for cell in header.cells[first:]]
    check_nodes(len(names), format)
    seen: set[str] = set()
    for k, name in enumerate(names, start=first):
        if name in seen:
            reader.refuse(header, k, f"node {short_repr(name)} is named twice; rename one")
        seen.add(name)
    if len(rows) != len(names):
        last = rows[-1] if rows else header
        reader.refuse(
            last, 0, f"expected {len(names)} rows, one per node, but there are {len(rows)}"
        )
    values = [_read_row(reader, row, names, i=i, first=first) for i, row in enumerate(rows)]
    try:
        return decode(np.array(values), names)
    except CellError as error:
        i, j = error.cell
        reader.refuse(rows[i], j + first, str(error).removeprefix(f"{format}: "))


def _read_row(
    reader: CsvReader, row: Row, names: Sequence[str], *, i: int, first: int
) -> list[float]:
    """Return the numbers of row i, which may begin with its name."""
    if len(row.cells) != len(names) + first:
        reader.refuse(
            row,
            len(row.cells) - 1,
            f"expected {len(names) + first} cells, found {len(row.cells)}",
        )
    if first and read_name(row.cells[0]) != names[i]:
        reader.refuse(
            row,
            0,
            f"row {i + 1} is named {short_repr(read_name(row.cells[0]))} but column {i + 1} "
            f"{short_repr(names[i])}; bring both in one order",
        )
    values = []
    for k, cell in enumerate(row.cells[first:], start=first):
        try:
            values.append(number(cell))
        except ValueError as error:
            reader.refuse(row, k, f"{short_repr(cell)} {error}")
    return values
