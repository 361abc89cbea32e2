"""Adjacency matrices of other packages: ggm, pcalg, causal-learn, pywhy-graphs, lingam.

The same matrix means ``i -> j`` in one package and ``j -> i`` in another. Each format is therefore
a table of codes: the edges between nodes i and j, and the entries ``(M[i, j], M[j, i])`` that stand
for them. Entries that are not in the table are an error. As text, a matrix is CSV with the names of
the nodes in the first line and the first column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.errors import GraphError, ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name, write_line, write_name
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pag import PAG
from bowfree.model.linear_sem import real_array
from bowfree.parameters import public
from bowfree.text_reading import check_nodes, join_names, number, short_repr, truncate
from bowfree.validation import as_list

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAGLike = GraphLike | PAG
"""A graph, a result that has one, an equivalence class, or a PAG."""


def pag_of(value: PAGLike | Any) -> PAG | None:
    """Return the PAG of an equivalence class or a PAG; None for other arguments."""
    if isinstance(value, EquivalenceClass):
        return value.graph.pag()
    return value if isinstance(value, PAG) else None


class _Format(NamedTuple):
    name: str
    codes: Mapping[str, tuple[int, int]]  # by marks of the pair (i, j), as "->" or "-> <->"
    hint: str  # the entries of an edge, for errors


def _additive(code: int) -> dict[str, tuple[int, int]]:
    """Return codes that add up: ``[i, j] = 1`` is i -> j, `code` on both sides i <-> j."""
    single = {"->": (1, 0), "<-": (0, 1), "<->": (code, code)}
    sets = [marks for k in range(4) for marks in combinations(single, k)]
    return {
        " ".join(marks): (sum(single[m][0] for m in marks), sum(single[m][1] for m in marks))
        for marks in sets
    }


_GGM = _Format(
    "ggm",
    _additive(100),
    "use 1 on one side (i -> j) or 100 on both (i <-> j); code 10, an undirected line, is not an "
    "edge of a mixed graph",
)
_PYWHY = _Format(
    "pywhy",
    _additive(20),
    "use 1 on one side (i -> j) or 20 on both (i <-> j); circles (2) and undirected edges (10) are "
    "not edges of a mixed graph",
)
_PCALG = _Format(
    "pcalg",
    {"": (0, 0), "->": (2, 3), "<-": (3, 2), "<->": (2, 2)},
    "an edge is 2 with 3 (a -> b) or 2 with 2 (a <-> b); a circle (1) is an open mark, so choose "
    "one graph of the class first",
)
_CAUSAL_LEARN = _Format(
    "causal-learn",
    {"": (0, 0), "->": (-1, 1), "<-": (1, -1), "<->": (1, 1), "-> <->": (4, 5), "<- <->": (5, 4)},
    "an edge is -1 with 1 (tail, arrowhead), 1 with 1 (<->) or, for a bow, 4 with 5; a circle (2) "
    "is an open mark, so choose one graph of the class first",
)
# Effects are replaced by 1 and NaN by 2.
_LINGAM = _Format(
    "lingam",
    {"": (0, 0), "->": (0, 1), "<-": (1, 0), "-> <-": (1, 1), "<->": (2, 2)},
    "a pair with a hidden common cause is NaN on both sides",
)


class _EntryError(ParseError):
    """A pair of entries that the format does not have, with the indices of the first."""

    def __init__(self, message: str, i: int, j: int) -> None:
        super().__init__(message)
        self.entry = (i, j)


def _encode(format: _Format, graph: GraphLike) -> Integers:
    """Return the matrix of a graph."""
    graph = graph_of(graph)
    marks: dict[tuple[int, int], list[str]] = {}
    for a, mark, b in graph.edges:  # directed edges first, so that the marks of a pair are sorted
        i, j = graph._node(a), graph._node(b)
        marks.setdefault((min(i, j), max(i, j)), []).append("<-" if i > j else mark)
    matrix = np.zeros((len(graph), len(graph)), dtype=np.int64)
    for (i, j), found in marks.items():
        key = " ".join(sorted(found, key=("->", "<-", "<->").index))
        if key not in format.codes:
            a, b = truncate(graph.nodes[i]), truncate(graph.nodes[j])
            raise GraphError(
                f"the {format.name} matrix has no code for "
                f"{' and '.join(f'{a} {mark} {b}' for mark in key.split())} together; drop one of "
                "the two, or use a format that has both (text, json, dagitty, tetrad)"
            )
        matrix[i, j], matrix[j, i] = format.codes[key]
    return matrix


def _decode(
    format: _Format, values: Floats, names: Sequence[str], entries: Floats | None = None
) -> MixedGraph:
    """Return the graph of a matrix of codes; `entries` are what errors show in place of codes."""
    marks = {codes: key.split() for key, codes in format.codes.items()}
    entries = values if entries is None else entries
    edges: dict[str, list[tuple[str, str]]] = {"->": [], "<-": [], "<->": []}
    for i, a in enumerate(names):
        if values[i, i] != 0:
            raise _EntryError(
                f"{format.name}: entry [{truncate(a)}, {truncate(a)}] on the diagonal is "
                f"{entries[i, i]:g}; a graph has no self-loops, set it to 0",
                i,
                i,
            )
        for j in range(i + 1, len(names)):
            b = names[j]
            found = marks.get((values[i, j], values[j, i]))
            if found is None:
                raise _EntryError(
                    f"{format.name}: entries [{truncate(a)}, {truncate(b)}] = {entries[i, j]:g} "
                    f"and [{truncate(b)}, {truncate(a)}] = {entries[j, i]:g} are not an edge; "
                    f"{format.hint}",
                    i,
                    j,
                )
            for mark in found:
                edges[mark].append((a, b))
    return MixedGraph(names, edges["->"] + [(b, a) for a, b in edges["<-"]], edges["<->"])


@public
def to_ggm(graph: GraphLike) -> Integers:
    """Return a graph as the matrix of the R packages ggm and greedyBAPs.

    ``[i, j] = 1`` is i -> j, and 100 on both sides i <-> j. Codes add up: a bow is 101 and 100.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Rows and columns follow ``graph.nodes``.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.to_ggm(bf.parse("x -> y <-> z")).tolist()
    [[0, 1, 0], [0, 0, 100], [0, 100, 0]]
    """
    return _encode(_GGM, graph)


@public
def from_ggm(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the matrix of ggm and greedyBAPs; the inverse of `to_ggm`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j] = 1``: i -> j; 100 on both sides: i <-> j.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns, or ``x1``, ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is not a code of the format.
    """
    return _decode(_GGM, *_named_square(matrix, nodes, "ggm"))


@public
def to_pywhy(graph: GraphLike) -> Integers:
    """Return a graph as the array of ``pywhy_graphs.export.graph_to_numpy``.

    ``[i, j] = 1`` is i -> j, and 20 on both sides i <-> j. Codes add up: a bow is 21 and 20.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Rows and columns follow ``graph.nodes``.
    """
    return _encode(_PYWHY, graph)


@public
def from_pywhy(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the array of pywhy-graphs; the inverse of `to_pywhy`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j] = 1``: i -> j; 20 on both sides: i <-> j.
    nodes : sequence of str, optional
        As for `from_ggm`.
    """
    return _decode(_PYWHY, *_named_square(matrix, nodes, "pywhy"))


@public
def to_pcalg(graph: PAGLike) -> Integers:
    """Return a graph as the matrix ``amat.pag`` of the R package pcalg.

    ``[a, b]`` is the mark at b: 0 no edge, 1 circle, 2 arrowhead, 3 tail. So a -> b is ``[a, b] =
    2`` with ``[b, a] = 3``, and a <-> b is 2 on both sides. (``amat.cpdag`` is another format.)

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Rows and columns follow ``graph.nodes``. A class is written as its PAG: the marks that all
        graphs with the same m-separations share.

    Raises
    ------
    GraphError
        If the graph has a bow or a cycle of two nodes: a pair has one edge in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_pcalg(g).tolist()
    [[0, 2, 0], [3, 0, 2], [0, 2, 0]]
    >>> bf.formats.to_pcalg(bf.equivalence_class(g)).tolist()
    [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    """
    pag = pag_of(graph)
    return _encode(_PCALG, graph) if pag is None else _marks(pag)  # type: ignore[arg-type]


@public
def from_pcalg(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from pcalg's ``amat.pag``; the inverse of `to_pcalg`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[a, b]`` is the mark at b: 2 arrowhead, 3 tail, 0 no edge.
    nodes : sequence of str, optional
        As for `from_ggm`.
    """
    return _decode(_PCALG, *_named_square(matrix, nodes, "pcalg"))


@public
def to_causal_learn(graph: PAGLike) -> Integers:
    """Return a graph as the matrix ``graph`` of causal-learn's ``GeneralGraph``.

    ``[a, b]`` is the mark at a (the *row*): -1 tail, 1 arrowhead, 2 circle. So i -> j is ``[j, i] =
    1`` with ``[i, j] = -1``, and i <-> j is 1 on both sides. A bow i -> j, i <-> j is ``[j, i] = 5``
    (two arrowheads) with ``[i, j] = 4`` (tail and arrowhead).

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Rows and columns follow ``graph.nodes``. A class is written as its PAG: the marks that all
        graphs with the same m-separations share.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_causal_learn(g).tolist()
    [[0, -1, 0], [1, 0, 1], [0, 1, 0]]
    >>> bf.formats.to_causal_learn(bf.equivalence_class(g)).tolist()
    [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    """
    pag = pag_of(graph)
    if pag is None:
        return _encode(_CAUSAL_LEARN, graph)  # type: ignore[arg-type]
    return np.array([0, 2, 1, -1])[_marks(pag).T]  # of none, circle, arrowhead, tail


@public
def from_causal_learn(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the matrix of causal-learn; the inverse of `to_causal_learn`.

    For a ``GeneralGraph`` g this is ``from_causal_learn(g.graph, g.get_node_names())``.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[a, b]`` is the mark at a: -1 tail, 1 arrowhead, 0 no edge.
    nodes : sequence of str, optional
        As for `from_ggm`.
    """
    return _decode(_CAUSAL_LEARN, *_named_square(matrix, nodes, "causal-learn"))


def _marks(pag: PAG) -> Integers:
    return np.array(pag.marks, dtype=np.int64).reshape(len(pag.nodes), len(pag.nodes))


@public
def to_lingam(graph: GraphLike, *, B: npt.ArrayLike | None = None) -> Floats:
    """Return a graph as the adjacency matrix of the Python package lingam.

    ``[i, j]`` is the effect of j on i, so a nonzero entry is j -> i. NaN on both sides is i <-> j,
    as in the results of ``RCD`` and ``BottomUpParceLiNGAM``.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Rows and columns follow ``graph.nodes``.
    B : array_like, shape (d, d), optional
        Effects of the directed edges, ``B[i, j]`` of j on i; by default 1.

    Raises
    ------
    GraphError
        If the graph has a bow, or an edge has the effect zero, which would be no edge.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.to_lingam(bf.parse("x -> y <-> z")).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, nan], [0.0, nan, 0.0]]
    """
    graph = graph_of(graph)
    codes = _encode(_LINGAM, graph)
    try:
        effects = np.ones(codes.shape) if B is None else real_array(B)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"B must be a matrix of numbers, not {short_repr(B)}") from None
    if effects.shape != codes.shape:
        raise GraphError(f"B has shape {effects.shape} but the graph has {len(graph)} nodes")
    for i, j in np.argwhere((codes == 1) & ((effects == 0) | ~np.isfinite(effects))):
        raise GraphError(
            f"the lingam matrix cannot contain the effect {effects[i, j]:g} of "
            f"{graph.nodes[j]} -> {graph.nodes[i]}: zero is no edge, NaN is <->; drop the edge or "
            "pass another value"
        )
    return np.where(codes == 2, np.nan, np.where(codes == 1, effects, 0.0))


@public
def from_lingam(matrix: Any, nodes: Sequence[str] | None = None) -> MixedGraph:
    """Read a graph from the adjacency matrix of lingam; the inverse of `to_lingam`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        ``[i, j]`` nonzero: j -> i; NaN on both sides: i <-> j.
    nodes : sequence of str, optional
        As for `from_ggm`.

    Raises
    ------
    ParseError
        If NaN is on one side of a pair only, or an entry is infinite.
    """
    values, names = _named_square(matrix, nodes, "lingam")
    for i, j in np.argwhere(np.isinf(values)):
        raise _EntryError(
            f"lingam: entry [{truncate(names[i])}, {truncate(names[j])}] = {values[i, j]:g} is not "
            "an effect; use a finite number",
            i,
            j,
        )
    codes = np.where(np.isnan(values), 2.0, values != 0)
    return _decode(_LINGAM, codes, names, entries=values)


MATRIX_FORMATS: dict[str, tuple[Callable[..., MixedGraph], Callable[..., Any]]] = {
    "ggm": (from_ggm, to_ggm),
    "pcalg": (from_pcalg, to_pcalg),
    "causal-learn": (from_causal_learn, to_causal_learn),
    "pywhy": (from_pywhy, to_pywhy),
    "lingam": (from_lingam, to_lingam),
}


def _named_square(
    matrix: Any, nodes: Sequence[str] | None, format: str
) -> tuple[Floats, tuple[str, ...]]:
    """Return a square matrix as numbers, with the names of its rows and columns."""
    if nodes is None and hasattr(matrix, "columns"):
        nodes = [str(name) for name in _name_list(matrix.columns, format)]
        rows = [str(name) for name in getattr(matrix, "index", nodes)]
        if rows != nodes and rows != [str(i) for i in range(len(rows))]:
            raise ParseError(
                f"{format}: rows are named {join_names(rows)} but columns {join_names(nodes)}; "
                "use the same order for both"
            )
    values = _numbers(matrix, format)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ParseError(f"{format}: an adjacency matrix is square, got shape {values.shape}")
    if nodes is None:
        nodes = [f"x{i + 1}" for i in range(len(values))]
    names = tuple(_name_list(nodes, format))
    if len(names) != len(values):
        raise ParseError(
            f"{format}: {len(names)} node names for a matrix with {len(values)} rows; "
            "pass one name per row"
        )
    return values, names


def _numbers(matrix: Any, format: str) -> Floats:
    """Return a matrix as floats; strings are errors, although NumPy would convert them."""
    try:
        array = np.asarray(matrix)
        strings = array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat)
        if array.dtype.kind not in "biufO" or strings:
            raise TypeError("found strings" if strings else f"found {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParseError(
            f"{format}: the matrix does not consist of numbers: {truncate(str(error))}"
        ) from None


def _name_list(nodes: Any, format: str) -> list[Any]:
    names = [] if isinstance(nodes, str) else as_list("nodes", nodes, "names", ParseError)
    if isinstance(nodes, str) or not all(isinstance(name, str) for name in names):
        raise ParseError(
            f"{format}: node names are a list such as ['x', 'y'], not {short_repr(nodes)}"
        )
    return names


def write_matrix(graph: PAGLike, format: str) -> str:
    """Write a graph as CSV: a header with the names, then one line per row, name first."""
    nodes = graph.nodes if isinstance(graph, PAG) else graph_of(graph).nodes
    if not nodes:
        raise GraphError("a graph without nodes cannot be written as a matrix; use text or json")
    names = [write_name(name) for name in nodes]
    lines = [write_line(["", *names])]
    to_matrix = MATRIX_FORMATS[format][1]
    for name, row in zip(names, to_matrix(graph).tolist(), strict=True):
        lines.append(write_line([name, *(f"{value:.17g}" for value in row)]))
    return "".join(lines)


def read_matrix(text: str, format: str) -> MixedGraph:
    """Read a graph from CSV, with or without the column of row names."""
    reader = CsvReader(text, what=format)
    rows = list(reader)
    if not rows:
        raise ParseError(
            f"{format}: the text is empty; expected a header with the names of the nodes",
            line=1,
            column=1,
        )
    header = rows.pop(0)
    first = 1 if header.cells[0] == "" else 0
    names = [read_name(cell) for cell in header.cells[first:]]
    check_nodes(len(names), format)
    seen: set[str] = set()
    for k, name in enumerate(names, start=first):
        if name in seen:
            reader.refuse(header, k, f"node {short_repr(name)} is listed twice; rename one")
        seen.add(name)
    if len(rows) != len(names):
        last = rows[-1] if rows else header
        reader.refuse(last, 0, f"expected {len(names)} rows, one per node, found {len(rows)}")
    values = [_read_row(reader, row, names, i=i, first=first) for i, row in enumerate(rows)]
    try:
        return MATRIX_FORMATS[format][0](np.array(values), names)
    except _EntryError as error:
        i, j = error.entry
        reader.refuse(rows[i], j + first, str(error).removeprefix(f"{format}: "))


def _read_row(
    reader: CsvReader, row: Row, names: Sequence[str], *, i: int, first: int
) -> list[float]:
    """Return the numbers of row i, which may start with its name."""
    cells = row.cells
    if len(cells) != len(names) + first:
        expected = len(names) + first
        reader.refuse(row, len(cells) - 1, f"expected {expected} cells, found {len(cells)}")
    if first and read_name(cells[0]) != names[i]:
        name = short_repr(read_name(cells[0]))
        reader.refuse(
            row,
            0,
            f"row {i + 1} is named {name} but column {i + 1} {short_repr(names[i])}; use the same "
            "order for both",
        )
    values = []
    for k, cell in enumerate(cells[first:], start=first):
        try:
            values.append(number(cell))
        except ValueError as error:
            reader.refuse(row, k, f"{short_repr(cell)} {error}")
    return values
