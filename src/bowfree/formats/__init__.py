"""Graphs in the formats of other packages, in and out.

One file per format; each states its convention at the top, because the same matrix means ``i ->
j`` in one package and ``j -> i`` in another. The format is always named, never guessed from the
content:

==================  =====================================================================
``text``            ``x -> y <-> z``, what `bowfree.parse` reads and ``str(graph)`` writes
``json``            bowfree's own, versioned
``tetrad``          ``Graph Nodes:`` and ``Graph Edges:`` with ``-->`` and ``<->``
``dagitty``         ``dag { x -> y y <-> z }``
``lavaan``          ``y ~ x``, ``y ~~ z``
``dot``             Graphviz, ``dir=both`` for bidirected edges
``benchmark``       the files of the bow-free benchmark: numbers instead of names
``ggm``             matrix, ``[i, j] = 1``: i -> j, 100 on both sides: i <-> j (also greedyBAPs)
``pcalg``           matrix ``amat.pag``, mark at the column: 2 arrowhead, 3 tail
``causal-learn``    matrix, mark at the row: 1 arrowhead, -1 tail
``pywhy``           matrix, ``[i, j] = 1``: i -> j, 20 on both sides: i <-> j
``lingam``          matrix, ``[i, j]``: effect of j on i, NaN on both sides: i <-> j
==================  =====================================================================

`read` and `write` work on text (matrices as CSV with names); the functions ``to_x`` and
``from_x`` on the objects themselves. networkx graphs and edge lists have no text: `to_networkx`,
`to_edge_lists`. To the graphs of DoWhy, y0, ananke, pgmpy and SEMID there is one way only:
`to_dowhy`, `to_y0`, `to_ananke`, `to_pgmpy`, `to_semid`. Bad input raises `bowfree.errors.ParseError` with
line and column, and nothing partial is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bowfree.errors import BowfreeError
from bowfree.formats.ananke import to_ananke
from bowfree.formats.benchmark import from_benchmark, to_benchmark
from bowfree.formats.causal_learn import from_causal_learn, to_causal_learn
from bowfree.formats.dagitty import dagitty_positions, from_dagitty, to_dagitty
from bowfree.formats.dot import from_dot, to_dot
from bowfree.formats.dowhy import to_dowhy
from bowfree.formats.ggm import from_ggm, to_ggm
from bowfree.formats.json_text import from_json, to_json
from bowfree.formats.lavaan import from_lavaan, read_lavaan, to_lavaan
from bowfree.formats.lavaan_definitions import DefinedParameter, DefinedParameters
from bowfree.formats.lavaan_model import LavaanModel
from bowfree.formats.lingam import from_lingam, to_lingam
from bowfree.formats.matrix import read_csv, write_csv
from bowfree.formats.networkx import (
    from_edge_lists,
    from_networkx,
    to_edge_lists,
    to_networkx,
)
from bowfree.formats.partial import PAGLike, pag_of
from bowfree.formats.pcalg import from_pcalg, to_pcalg
from bowfree.formats.pgmpy import to_pgmpy
from bowfree.formats.pywhy import from_pywhy, to_pywhy
from bowfree.formats.semid import to_semid
from bowfree.formats.tetrad import from_tetrad, to_tetrad
from bowfree.formats.y0 import to_y0
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import parse
from bowfree.text_reading import check_text, short_repr

__all__ = [
    "FORMATS",
    "DefinedParameter",
    "DefinedParameters",
    "LavaanModel",
    "dagitty_positions",
    "from_benchmark",
    "from_causal_learn",
    "from_dagitty",
    "from_dot",
    "from_edge_lists",
    "from_ggm",
    "from_json",
    "from_lavaan",
    "from_lingam",
    "from_networkx",
    "from_pcalg",
    "from_pywhy",
    "from_tetrad",
    "read",
    "read_lavaan",
    "to_ananke",
    "to_benchmark",
    "to_causal_learn",
    "to_dagitty",
    "to_dot",
    "to_dowhy",
    "to_edge_lists",
    "to_ggm",
    "to_json",
    "to_lavaan",
    "to_lingam",
    "to_networkx",
    "to_pcalg",
    "to_pgmpy",
    "to_pywhy",
    "to_semid",
    "to_tetrad",
    "to_y0",
    "write",
]


class _TextFormat(NamedTuple):
    read: Callable[[str], MixedGraph]
    write: Callable[[Any], str]
    circles: bool = False  # whether it can hold a PAG


def _as_csv(
    name: str,
    from_matrix: Callable[..., MixedGraph],
    to_matrix: Callable[..., Any],
    *,
    circles: bool = False,
) -> _TextFormat:
    """Make a text format of a matrix format: CSV with the nodes' names."""
    return _TextFormat(
        lambda text: read_csv(text, from_matrix, format=name),
        lambda graph: write_csv(graph.nodes, to_matrix(graph)),
        circles,
    )


_FORMATS = {
    "text": _TextFormat(parse, lambda graph: f"{graph}\n"),
    "json": _TextFormat(from_json, to_json),
    "tetrad": _TextFormat(from_tetrad, to_tetrad, circles=True),
    "dagitty": _TextFormat(from_dagitty, to_dagitty),
    "lavaan": _TextFormat(from_lavaan, to_lavaan),
    "dot": _TextFormat(from_dot, to_dot),
    "benchmark": _TextFormat(from_benchmark, to_benchmark),
    "ggm": _as_csv("ggm", from_ggm, to_ggm),
    "pcalg": _as_csv("pcalg", from_pcalg, to_pcalg, circles=True),
    "causal-learn": _as_csv("causal-learn", from_causal_learn, to_causal_learn, circles=True),
    "pywhy": _as_csv("pywhy", from_pywhy, to_pywhy),
    "lingam": _as_csv("lingam", from_lingam, to_lingam),
}

FORMATS = tuple(_FORMATS)
"""The names that `read` and `write` know."""


def read(text: str, *, format: str) -> MixedGraph:
    r"""Read a graph from text in a named format.

    Parameters
    ----------
    text : str
        The graph; for a matrix format a CSV text with the nodes' names in the first line (and, if
        that line starts with an empty cell, in the first column).
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
    return _named(format).read(check_text(text, format))


def write(graph: PAGLike, *, format: str) -> str:
    """Write a graph as text in a named format; `read` reads it back.

    Parameters
    ----------
    graph : MixedGraph, a result that has one, EquivalenceClass or PAG
        Any mixed graph; some formats have no room for bows or for some names and say so. A class
        is written as its PAG where the format has circles (``pcalg``, ``causal-learn``,
        ``tetrad``), and else as the graph that it was asked about.
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
    chosen, pag = _named(format), pag_of(graph)
    return chosen.write(pag if chosen.circles and pag is not None else graph_of(graph))


def _named(format: object) -> _TextFormat:
    if not isinstance(format, str) or format not in FORMATS:
        raise BowfreeError(f"unknown format {short_repr(format)}; known are {', '.join(FORMATS)}")
    return _FORMATS[format]
