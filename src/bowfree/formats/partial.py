"""PAGs in the formats that have circles: pcalg, causal-learn, Tetrad.

What is given as an equivalence class is written as its PAG: the marks in which all graphs with the
same m-separations agree (:mod:`bowfree.graph.pag`). Formats without circles write the graph that
the class was asked about.
"""

from __future__ import annotations

from typing import Any

from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.pag import PAG

PAGLike = GraphLike | PAG
"""What these formats take: a graph, a result that has one, a class, a PAG."""


def pag_of(given: PAGLike | Any) -> PAG | None:
    """Return the PAG that is to be written, or None for what is written as a graph."""
    if isinstance(given, EquivalenceClass):
        return given.graph.pag()
    return given if isinstance(given, PAG) else None
