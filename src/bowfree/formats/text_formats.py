"""Read and write graphs as text in a named format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from bowfree.errors import BowfreeError
from bowfree.formats.dot import from_dagitty, from_dot, to_dagitty, to_dot
from bowfree.formats.exports import from_caugi, to_caugi, to_graphml, to_mermaid
from bowfree.formats.lavaan import from_lavaan, to_lavaan
from bowfree.formats.matrices import (
    MATRIX_FORMATS,
    PAG_MARKS,
    PAGLike,
    pag_from_matrix,
    pag_of,
    read_matrix,
    write_matrix,
)
from bowfree.formats.tetrad import from_tetrad, pag_from_tetrad, to_tetrad
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.graph.pag import PAG
from bowfree.graph.text import parse
from bowfree.parameters import public
from bowfree.text_reading import check_text, short_repr


class _TextFormat(NamedTuple):
    write: Callable[[Any], str]
    read: Callable[[str], MixedGraph] | None = None
    read_pag: Callable[[str], PAG] | None = None  # of a format that can represent PAGs


_FORMATS = {
    "text": _TextFormat(lambda graph: f"{graph}\n", parse),
    "json": _TextFormat(lambda graph: graph.to_json(indent=2) + "\n", MixedGraph.from_json),
    "tetrad": _TextFormat(to_tetrad, from_tetrad, pag_from_tetrad),
    "dagitty": _TextFormat(to_dagitty, from_dagitty),
    "lavaan": _TextFormat(to_lavaan, from_lavaan),
    "dot": _TextFormat(to_dot, from_dot),
    "caugi": _TextFormat(to_caugi, from_caugi),
}
_FORMATS |= {
    name: _TextFormat(
        partial(write_matrix, format=name),
        partial(read_matrix, format=name),
        partial(read_matrix, format=name, convert=pag_from_matrix) if name in PAG_MARKS else None,
    )
    for name in MATRIX_FORMATS
}

FORMATS = tuple(_FORMATS)
"""The formats that `read` reads; `write` writes these and `EXPORTS`."""

_FORMATS["mermaid"] = _TextFormat(to_mermaid)
_FORMATS["graphml"] = _TextFormat(to_graphml)
EXPORTS = ("mermaid", "graphml")
"""Formats that `write` writes in addition to `FORMATS`."""


@public
def read(text: str, *, format: str) -> MixedGraph:
    r"""Read a graph from text in a named format.

    Parameters
    ----------
    text : str
        The graph. For a matrix format this is CSV with the names of the nodes in the first line
        and, if that line starts with an empty cell, in the first column.
    format : str
        One of `FORMATS`.

    Raises
    ------
    ParseError
        With line and column, if the text is not in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.formats.read("x,y\n0,1\n0,0\n", format="ggm") == bf.parse("x -> y")
    True
    """
    reader = _find(format, FORMATS).read
    assert reader is not None
    return reader(check_text(text, format))


@public
def read_pag(source: Any, *, format: str, nodes: Sequence[str] | None = None) -> PAG:
    """Read a partial ancestral graph, with circles, from a result of another package.

    Parameters
    ----------
    source : str, array_like, data frame or GeneralGraph
        For "tetrad" its text; for "pcalg" the matrix ``amat.pag`` and for "causal-learn" that of a
        ``GeneralGraph``, as an array or as CSV text; or the ``GeneralGraph`` itself.
    format : {"tetrad", "pcalg", "causal-learn"}
        The convention, see :func:`to_matrix`.
    nodes : sequence of str, optional
        Names of the rows of an array, as for :func:`from_matrix`.

    Raises
    ------
    ParseError
        If the source is not of this form, with line and column in a text.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.read_pag([[0, 2, 0], [1, 0, 1], [0, 2, 0]], format="pcalg"))
    x1 o-> x2, x3 o-> x2
    """
    chosen = _find(format, [name for name, each in _FORMATS.items() if each.read_pag])
    if format in PAG_MARKS and not isinstance(source, str):
        return pag_from_matrix(source, format, nodes)
    assert chosen.read_pag is not None
    return chosen.read_pag(check_text(source, format))


@public
def write(graph: PAGLike, *, format: str) -> str:
    """Write a graph as text in a named format; `read` is the inverse.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Some formats do not support bows or some names. A class is written as its PAG in the formats
        that have circles (``pcalg``, ``causal-learn``, ``tetrad``), and otherwise as its ``graph``.
    format : str
        One of `FORMATS`, or "mermaid" or "graphml", which are not read.

    Raises
    ------
    GraphError
        If the graph cannot be written in this format.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.formats.write(bf.parse("x -> y"), format="ggm"), end="")
    ,x,y
    x,0,1
    y,0,0
    """
    chosen, pag = _find(format, tuple(_FORMATS)), pag_of(graph)
    return chosen.write(pag if chosen.read_pag and pag is not None else graph_of(graph))


def _find(format: object, known: Sequence[str]) -> _TextFormat:
    if not isinstance(format, str) or format not in known:
        raise BowfreeError(f"unknown format {short_repr(format)}; known are {', '.join(known)}")
    return _FORMATS[format]
