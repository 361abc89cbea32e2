"""Adjacency matrices of other packages: ggm, pcalg, causal-learn, pywhy-graphs, lingam.

The same matrix means ``i -> j`` in one package and ``j -> i`` in another. Each format is therefore
a table of codes: the edges between nodes i and j, and the entries ``(M[i, j], M[j, i])`` that stand
for them. Entries that are not in the table are an error. As text, a matrix is CSV with the names of
the nodes in the first line and the first column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.errors import GraphError, ParseError
from bowfree.formats.csv_text import CsvReader, Row, read_name, write_line, write_name
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.pag import PAG
from bowfree.model.linear_sem import real_array
from bowfree.parameters import public
from bowfree.text_reading import check_nodes, join_names, number, short_repr, truncate
from bowfree.validation import as_list, check_choice

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAGLike = GraphLike | PAG
"""A graph, a result that has one, an equivalence class, or a PAG."""


def pag_of(value: PAGLike | Any) -> PAG | None:
    """Return the PAG of an equivalence class or a PAG; None for other arguments."""
    if isinstance(value, EquivalenceClass):
        return value.graph.pag()
    return value if isinstance(value, PAG) else None


_OPEN = "is an open mark: read the PAG with read_pag, or choose one graph of the class first"


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


MatrixFormat = Literal["ggm", "pcalg", "causal-learn", "pywhy", "lingam"]

_FORMATS = {
    format.name: format
    for format in (
        _Format(
            "ggm",
            _additive(100),
            "use 1 on one side (i -> j) or 100 on both (i <-> j); code 10, an undirected line, is "
            "not an edge of a mixed graph",
        ),
        _Format(
            "pcalg",
            {"": (0, 0), "->": (2, 3), "<-": (3, 2), "<->": (2, 2)},
            f"an edge is 2 with 3 (a -> b) or 2 with 2 (a <-> b); a circle (1) {_OPEN}",
        ),
        _Format(
            "causal-learn",
            {
                "": (0, 0),
                "->": (-1, 1),
                "<-": (1, -1),
                "<->": (1, 1),
                "-> <->": (4, 5),
                "<- <->": (5, 4),
            },
            "an edge is -1 with 1 (tail, arrowhead), 1 with 1 (<->) or, for a bow, 4 with 5; a "
            f"circle (2) {_OPEN}",
        ),
        _Format(
            "pywhy",
            _additive(20),
            "use 1 on one side (i -> j) or 20 on both (i <-> j); circles (2) and undirected edges "
            "(10) are not edges of a mixed graph",
        ),
        # Effects are replaced by 1 and NaN by 2.
        _Format(
            "lingam",
            {"": (0, 0), "->": (0, 1), "<-": (1, 0), "-> <-": (1, 1), "<->": (2, 2)},
            "a pair with a hidden common cause is NaN on both sides",
        ),
    )
}
MATRIX_FORMATS: tuple[str, ...] = tuple(_FORMATS)
PAG_MARKS: dict[str, tuple[int, ...]] = {"pcalg": (0, 1, 2, 3), "causal-learn": (0, 2, 1, -1)}
"""Codes of no edge, circle, arrowhead and tail in the formats that have circles."""


class _EntryError(ParseError):
    """A pair of entries that the format does not have, with the indices of the first."""

    def __init__(
        self, format: str, names: Sequence[str], values: Floats, i: int, j: int, hint: str
    ) -> None:
        a, b = truncate(names[i]), truncate(names[j])
        found = f"entries [{a}, {b}] = {values[i, j]:g} and [{b}, {a}] = {values[j, i]:g} are"
        if i == j:
            found = f"entry [{a}, {a}] = {values[i, i]:g} on the diagonal is"
            hint = "a graph has no self-loops, set it to 0"
        super().__init__(f"{format}: {found} not an edge; {hint}")
        self.entry = (i, j)


def _encode(format: _Format, graph: MixedGraph) -> Integers:
    """Return the matrix of a graph."""
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


def _decode(format: _Format, codes: Floats, names: Sequence[str], entries: Floats) -> MixedGraph:
    """Return the graph of a matrix of codes; `entries` are what errors show."""
    marks = {pair: key.split() for key, pair in format.codes.items()}
    edges: dict[str, list[tuple[str, str]]] = {"->": [], "<-": [], "<->": []}
    for i, j in combinations_with_replacement(range(len(names)), 2):
        found = marks.get((codes[i, j], codes[j, i]))
        if found is None or (i == j and found):
            raise _EntryError(format.name, names, entries, i, j, format.hint)
        for mark in found:
            edges[mark].append((names[i], names[j]))
    return MixedGraph(names, edges["->"] + [(b, a) for a, b in edges["<-"]], edges["<->"])


@public
def to_matrix(
    graph: PAGLike, *, format: MatrixFormat, B: npt.ArrayLike | None = None
) -> npt.NDArray[Any]:
    """Return a graph as the adjacency matrix of another package.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Rows and columns follow ``graph.nodes``. "pcalg" and "causal-learn" have circles: they write
        an equivalence class as its PAG, the marks that all graphs with the same m-separations
        share. The others write the graph of the class.
    format : {"ggm", "pcalg", "causal-learn", "pywhy", "lingam"}
        - "ggm", also of greedyBAPs: ``[i, j] = 1`` is i -> j, and 100 on both sides i <-> j. Codes
          add up: a bow is 101 and 100.
        - "pcalg", its ``amat.pag``: ``[i, j]`` is the mark at j, 1 circle, 2 arrowhead, 3 tail.
          (``amat.cpdag`` is another format.)
        - "causal-learn", the ``graph`` of a ``GeneralGraph``: ``[i, j]`` is the mark at i (the
          *row*), 2 circle, 1 arrowhead, -1 tail. A bow i -> j, i <-> j is ``[j, i] = 5`` (two
          arrowheads) with ``[i, j] = 4`` (tail and arrowhead).
        - "pywhy", of ``pywhy_graphs.export.graph_to_numpy``: as "ggm", with 20 in place of 100.
        - "lingam": ``[i, j]`` is the effect of j on i, and NaN on both sides i <-> j, as in the
          results of ``RCD`` and ``BottomUpParceLiNGAM``.
    B : array_like, shape (d, d), optional
        For "lingam": effects of the directed edges, ``B[i, j]`` of j on i; by default 1.

    Returns
    -------
    ndarray of shape (d, d)
        Integers; floats for "lingam".

    Raises
    ------
    GraphError
        If the format cannot represent the graph: "pcalg" and "lingam" have no bows, and an effect
        of zero would be no edge in "lingam".

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.formats.to_matrix(g, format="ggm").tolist()
    [[0, 1, 0], [0, 0, 100], [0, 100, 0]]
    >>> bf.formats.to_matrix(g, format="lingam").tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, nan], [0.0, nan, 0.0]]
    >>> bf.formats.to_matrix(bf.equivalence_class(g), format="pcalg").tolist()
    [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    """
    check_choice("format", format, MATRIX_FORMATS)
    pag = pag_of(graph) if format in PAG_MARKS else None
    if pag is not None:
        marks = np.array(pag.marks, dtype=np.int64).reshape(len(pag.nodes), len(pag.nodes))
        return marks if format == "pcalg" else np.array(PAG_MARKS["causal-learn"])[marks.T]
    codes = _encode(_FORMATS[format], graph_of(graph))
    return codes if format != "lingam" else _with_effects(codes, graph_of(graph), B)


def _with_effects(codes: Integers, graph: MixedGraph, B: npt.ArrayLike | None) -> Floats:
    """Return lingam's matrix: effects in place of the code 1, NaN in place of 2."""
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
def from_matrix(
    matrix: Any, *, format: MatrixFormat, nodes: Sequence[str] | None = None
) -> MixedGraph:
    """Read a graph from the adjacency matrix of another package; the inverse of `to_matrix`.

    Parameters
    ----------
    matrix : array_like or data frame, shape (d, d)
        The matrix, or a ``GeneralGraph`` of causal-learn.
    format : {"ggm", "pcalg", "causal-learn", "pywhy", "lingam"}
        As for `to_matrix`.
    nodes : sequence of str, optional
        Names; by default those of the data frame's columns or the ``GeneralGraph``, or ``x1``,
        ``x2``, ...

    Raises
    ------
    ParseError
        If an entry is not a code of the format. Matrices with circles are read by
        :func:`read_pag`.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.from_matrix([[0, 100], [100, 0]], format="ggm", nodes=["x", "y"]))
    x <-> y
    """
    check_choice("format", format, MATRIX_FORMATS)
    values, names = _named_square(matrix, nodes, format)
    codes = values
    if format == "lingam":
        for i, j in np.argwhere(np.isinf(values)):
            raise _EntryError(format, names, values, i, j, "effects are finite numbers")
        codes = np.where(np.isnan(values), 2.0, values != 0)
    return _decode(_FORMATS[format], codes, names, values)


def pag_from_matrix(matrix: Any, format: str, nodes: Sequence[str] | None = None) -> PAG:
    """Return the PAG of a matrix of pcalg or causal-learn."""
    values, names = _named_square(matrix, nodes, format)
    codes = list(PAG_MARKS[format])
    hint = f"the marks circle, arrowhead and tail are {codes[1]}, {codes[2]} and {codes[3]}"
    for i, j in combinations_with_replacement(range(len(names)), 2):
        pair = values[i, j], values[j, i]
        known = set(pair) <= set(codes) and (pair[0] == 0) == (pair[1] == 0)
        if not known or (i == j and any(pair)):
            raise _EntryError(format, names, values, i, j, f"in a PAG {hint}")
    at_column = values if format == "pcalg" else values.T
    return PAG(names, tuple(tuple(map(codes.index, row)) for row in at_column.tolist()))


def _named_square(
    matrix: Any, nodes: Sequence[str] | None, format: str
) -> tuple[Floats, tuple[str, ...]]:
    """Return a square matrix as numbers, with the names of its rows and columns."""
    if hasattr(matrix, "get_node_names"):  # a GeneralGraph of causal-learn
        nodes = matrix.get_node_names() if nodes is None else nodes
        matrix = matrix.graph
    if nodes is None and hasattr(matrix, "columns"):
        nodes = [str(name) for name in _name_list(matrix.columns, format)]
        rows = [str(name) for name in getattr(matrix, "index", nodes)]
        if rows != nodes and rows != [str(i) for i in range(len(rows))]:
            raise ParseError(
                f"{format}: rows are named {join_names(rows)} but columns {join_names(nodes)}; "
                "use the same order for both"
            )
    try:
        array = np.asarray(matrix)
        strings = array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat)
        if array.dtype.kind not in "biufO" or strings:  # which NumPy would convert
            raise TypeError("found strings" if strings else f"found {array.dtype}")
        values = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParseError(
            f"{format}: the matrix does not consist of numbers: {truncate(str(error))}"
        ) from None
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ParseError(f"{format}: an adjacency matrix is square, got shape {values.shape}")
    names = tuple(f"x{i + 1}" for i in range(len(values)))
    if nodes is not None:
        names = tuple(_name_list(nodes, format))
    if len(names) != len(values):
        raise ParseError(
            f"{format}: {len(names)} node names for a matrix with {len(values)} rows; "
            "pass one name per row"
        )
    return values, names


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
    matrix = to_matrix(graph, format=format)  # type: ignore[arg-type]  # one of MATRIX_FORMATS
    for name, row in zip(names, matrix.tolist(), strict=True):
        lines.append(write_line([name, *(f"{value:.17g}" for value in row)]))
    return "".join(lines)


def read_matrix(text: str, format: str, convert: Callable[..., Any] = from_matrix) -> Any:
    """Read a graph from CSV, with or without the column of row names."""
    reader = CsvReader(text, what=format)
    header, *rows = [*reader] or [Row([], 1, "")]
    if not header.cells:
        reader.refuse(header, 0, "the text is empty; expected a header with the names of the nodes")
    first = 1 if header.cells[0] == "" else 0
    names = [read_name(cell) for cell in header.cells[first:]]
    check_nodes(len(names), format)
    seen: set[str] = set()
    for k, name in enumerate(names, start=first):
        if name in seen:
            reader.refuse(header, k, f"node {short_repr(name)} is listed twice; rename one")
        seen.add(name)
    if len(rows) != len(names):
        problem = f"expected {len(names)} rows, one per node, found {len(rows)}"
        reader.refuse(rows[-1] if rows else header, 0, problem)
    values = np.zeros((len(names), len(names)))
    for i, row in enumerate(rows):
        cells = row.cells
        if len(cells) != len(names) + first:
            problem = f"expected {len(names) + first} cells, found {len(cells)}"
            reader.refuse(row, len(cells) - 1, problem)
        if first and read_name(cells[0]) != names[i]:
            found, column = short_repr(read_name(cells[0])), short_repr(names[i])
            order = f"row {i + 1} is named {found} but column {i + 1} {column}"
            reader.refuse(row, 0, f"{order}; use the same order for both")
        for k, cell in enumerate(cells[first:]):
            try:
                values[i, k] = number(cell)
            except ValueError as error:
                reader.refuse(row, k + first, f"{short_repr(cell)} {error}")
    try:
        return convert(values, format=format, nodes=names)
    except _EntryError as error:
        i, j = error.entry
        reader.refuse(rows[i], j + first, str(error).removeprefix(f"{format}: "))
