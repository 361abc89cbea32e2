"""Read and write graphs as text in a named format, and bowfree's own JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from bowfree.errors import BowfreeError
from bowfree.formats.dagitty import from_dagitty, to_dagitty
from bowfree.formats.dot import from_dot, to_dot
from bowfree.formats.lavaan import from_lavaan, to_lavaan
from bowfree.formats.matrices import MATRIX_FORMATS, PAGLike, pag_of, read_matrix, write_matrix
from bowfree.formats.tetrad import from_tetrad, to_tetrad
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import parse
from bowfree.parameters import public
from bowfree.text_reading import check_text, short_repr


@public
def to_json(graph: GraphLike) -> str:
    """Return a graph as bowfree's JSON, as :meth:`MixedGraph.to_json`.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Any mixed graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> text = bf.formats.to_json(bf.parse("x -> y"))
    >>> bf.formats.from_json(text) == bf.parse("x -> y")
    True
    """
    return graph_of(graph).to_json(indent=2) + "\n"


@public
def from_json(text: str) -> MixedGraph:
    """Read a graph from bowfree's JSON; the inverse of `to_json`.

    Parameters
    ----------
    text : str
        The JSON object.

    Raises
    ------
    ParseError
        If the text is not JSON (with line and column) or not a graph of a known version.
    """
    return MixedGraph.from_json(text)


class _TextFormat(NamedTuple):
    read: Callable[[str], MixedGraph]
    write: Callable[[Any], str]
    circles: bool = False  # whether it can represent a PAG


_FORMATS = {
    "text": _TextFormat(parse, lambda graph: f"{graph}\n"),
    "json": _TextFormat(from_json, to_json),
    "tetrad": _TextFormat(from_tetrad, to_tetrad, circles=True),
    "dagitty": _TextFormat(from_dagitty, to_dagitty),
    "lavaan": _TextFormat(from_lavaan, to_lavaan),
    "dot": _TextFormat(from_dot, to_dot),
}
_FORMATS |= {
    name: _TextFormat(
        partial(read_matrix, format=name),
        partial(write_matrix, format=name),
        circles=name in ("pcalg", "causal-learn"),
    )
    for name in MATRIX_FORMATS
}

FORMATS = tuple(_FORMATS)
"""The formats of `read` and `write`."""


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
    return _find(format).read(check_text(text, format))


@public
def write(graph: PAGLike, *, format: str) -> str:
    """Write a graph as text in a named format; `read` is the inverse.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Some formats do not support bows or some names. A class is written as its PAG in the formats
        that have circles (``pcalg``, ``causal-learn``, ``tetrad``), and otherwise as its ``graph``.
    format : str
        One of `FORMATS`.

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
    chosen, pag = _find(format), pag_of(graph)
    return chosen.write(pag if chosen.circles and pag is not None else graph_of(graph))


def _find(format: object) -> _TextFormat:
    if not isinstance(format, str) or format not in FORMATS:
        raise BowfreeError(f"unknown format {short_repr(format)}; known are {', '.join(FORMATS)}")
    return _FORMATS[format]
