"""Panels with one column for each wave, such as ``x_1, x_2, x_3``: effects over time.

The wave of a column is the number at the end of its name, after ``_`` or ``.`` and perhaps the
letter t or w. :meth:`bowfree.Knowledge.from_waves` derives tiers from it; the functions here make
effects equal over waves, and list total effects by lag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import GraphLike, graph_of
from bowfree.graph.text import quote
from bowfree.model.fit_result import Fit
from bowfree.parameters import public
from bowfree.results.display import count
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.space.knowledge import wave_of


@public
def equal_over_waves(graph: GraphLike) -> list[list[str]]:
    """Return the edges that should be equal over waves: same variables, same lag, same mark.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A graph with waves of variables as nodes.

    Returns
    -------
    list of list of str
        For ``fit(graph, data, equal=...)``. Bidirected edges and variances stay free.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.effects.equal_over_waves(bf.parse("x_1 -> x_2 -> x_3, x_1 -> y_2, x_2 -> y_3"))
    [['x_1 -> x_2', 'x_2 -> x_3'], ['x_1 -> y_2', 'x_2 -> y_3']]
    """
    groups: dict[tuple[str, str, int], list[str]] = {}
    for a, b in graph_of(graph).directed:
        (one, early), (other, late) = wave_of(a), wave_of(b)
        if early is not None and late is not None:
            edge = f"{quote(a)} -> {quote(b)}"
            groups.setdefault((one, other, late - early), []).append(edge)
    return [edges for edges in groups.values() if len(edges) > 1]


@dataclass(frozen=True, repr=False)
class LaggedEffects(RowTable, ToDict):
    """Total effects by lag; iterable, with ``len``.

    Attributes
    ----------
    rows : tuple of Row
        ``of`` and ``on`` (variables without their wave), ``lag``, ``wave`` (of the effect), and
        ``estimate``, ``se``, ``lower``, ``upper`` of the total effect.
    """

    rows: tuple[Row, ...]
    _columns: ClassVar = ("of", "on", "lag", "wave", "estimate", "se", "lower", "upper")
    _cells: ClassVar = {name if name != "se" else "s.e.": name for name in _columns}
    _rows_key: ClassVar = "effects"

    def _headline(self) -> str:
        return count(len(self.rows), "effect")


@public
def lagged_effects(fit: Fit) -> LaggedEffects:
    """Return the total effects of a fit by variables and lag.

    Parameters
    ----------
    fit : Fit
        A fit of a graph with waves of variables as nodes.

    Returns
    -------
    LaggedEffects
        Effects without a directed path are left out. With effects that are equal over waves
        (:func:`equal_over_waves`), rows of the same lag differ only where paths begin before the
        first wave.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.3], [0.5, 1.0, 0.5], [0.3, 0.5, 1.0]]
    >>> graph = bf.parse("x_1 -> x_2 -> x_3")
    >>> fit = bf.fit(graph, bf.Moments(graph.nodes, S, 200), equal=bf.effects.equal_over_waves(graph))
    >>> [(row.lag, row.wave, round(row.estimate, 2)) for row in bf.effects.lagged_effects(fit)]
    [(1, 2, 0.5), (1, 3, 0.5), (2, 3, 0.25)]
    """
    if not isinstance(fit, Fit):
        raise BowfreeError(f"fit is of type {type(fit).__name__}: pass the result of bf.fit")
    effects = fit.total_effects()
    rows = []
    for a in fit.graph.nodes:
        for b in sorted(fit.graph.descendants(a) - {a}):
            (one, early), (other, late) = wave_of(a), wave_of(b)
            if early is None or late is None:
                continue
            found = effects.effect(of=a, on=b)
            numbers = {key: found[key] for key in ("estimate", "se", "lower", "upper")}
            rows.append(Row(of=one, on=other, lag=late - early, wave=late, **numbers))
    rows.sort(key=lambda row: (row.of, row.on, row.lag, row.wave))
    return LaggedEffects(tuple(rows))
