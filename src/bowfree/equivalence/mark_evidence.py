"""Which evidence decided each mark of a learned graph: covariances, knowledge or non-Gaussianity.

Equivalent graphs have the same covariances. A mark that all of them share was decided by covariances;
one that only those share that knowledge permits, by knowledge. What is left is decided by the
distribution of the errors, if the score uses it (``errors="nongaussian"``), or by nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.sample import NonGaussianRows
from bowfree.equivalence.class_members import Orientations, class_components
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.targets import targets_of
from bowfree.graph.encodings import BACKWARD, FORWARD, MARKS, bits_of_states, index_pairs
from bowfree.graph.text import quote_edge
from bowfree.model.context import Context
from bowfree.model.fitting import score_graphs
from bowfree.results.display import Table, count
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict

COVARIANCES, KNOWLEDGE, NONGAUSSIAN = "covariances", "knowledge", "non-Gaussianity"

_MAX_MEMBERS = 10_000  # of a component that are enumerated
_MAX_SCORED = 300  # those that differ least from the graph


@dataclass(frozen=True, eq=False, repr=False)
class MarkEvidence(RowTable, ToDict):
    """The evidence for the marks of a graph; made by ``SearchResult.mark_evidence()``.

    Attributes
    ----------
    rows : tuple of Row
        For each edge ``a``, ``mark``, ``b``: ``evidence`` ("covariances", "knowledge",
        "non-Gaussianity", or empty if equivalent graphs differ and nothing distinguishes them);
        ``difference``, the log evidence of the graph minus that of the best equivalent graph with
        another mark between a and b, which is ``alternative``. They are NaN and empty unless
        non-Gaussianity decided and such a graph was compared.
    complete : bool
        False if a class was too large to compare all of its members.
    """

    rows: tuple[Row, ...]
    complete: bool = True
    _columns = ("a", "mark", "b", "evidence", "difference", "alternative")

    def describe(self, a: str, b: str) -> str:
        """Return the evidence for the edge between two nodes, with the difference if there is one."""
        row = next(row for row in self.rows if {row.a, row.b} == {a, b})
        difference = "" if math.isnan(row.difference) else f" ({row.difference:.1f})"
        return f"{row.evidence or 'nothing'}{difference}"

    @property
    def kinds(self) -> list[str]:
        """The evidence for each edge."""
        return [row.evidence for row in self.rows]

    def _headline(self) -> str:
        kinds = self.kinds
        parts = [f"{kinds.count(kind)} by {kind}" for kind in dict.fromkeys(kinds) if kind] + [
            f"{kinds.count('')} open"
        ] * ("" in kinds)
        return f"{count(len(kinds), 'mark')}: {', '.join(parts)}" if kinds else "no edges"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline() + (
            "" if self.complete else "; not all equivalent graphs were compared"
        )
        cells: dict[str, Cell] = {
            "edge": lambda r: quote_edge(r.a, r.mark, r.b),
            "decided by": lambda r: self.describe(r.a, r.b),
            "best alternative": lambda r: r.alternative and quote_edge(r.a, r.alternative, r.b),
        }
        yield row_table(self.rows, cells, left=(0, 1, 2))


def mark_evidence(context: Context) -> MarkEvidence:
    """Return the evidence for the marks of a graph, whose context has data."""
    graph, moments = context.graph, context.moments
    assert moments is not None
    whole = class_by_components(graph, _MAX_MEMBERS, conditions=targets_of(moments, graph.nodes))
    permitted = whole if context.space is None else whole.permitted_by(context.space)
    complete = whole.complete
    compared: dict[tuple[int, int], tuple[float, int]] = {}
    otherwise = NONGAUSSIAN if isinstance(moments.sample, NonGaussianRows) else ""
    if otherwise:
        for part in class_components(permitted):
            differences, all_compared = _compare(part, moments)
            compared |= differences
            complete &= all_compared
    rows = []
    edges = zip(whole.summary().edges, permitted.summary().edges, permitted._edges, strict=True)
    for before, after, (i, j) in edges:
        evidence = KNOWLEDGE if after.invariant else otherwise
        evidence = COVARIANCES if before.invariant else evidence
        difference, other = compared.get((i, j), (math.nan, 0))
        if graph._parents[i] >> j & 1:
            i, j, other = j, i, {FORWARD: BACKWARD, BACKWARD: FORWARD}.get(other, other)
        mark = "<->" if graph._spouses[i] >> j & 1 else "->"
        edge = {"a": graph.nodes[i], "mark": mark, "b": graph.nodes[j]}
        rows.append(Row(**edge, evidence=evidence, difference=difference, alternative=MARKS[other]))
    return MarkEvidence(tuple(rows), complete)


def _compare(
    part: Orientations, moments: Moments
) -> tuple[dict[tuple[int, int], tuple[float, int]], bool]:
    """Compare the scores of the members of a component, those first that differ least.

    Return for each pair with different marks the difference of log evidence to the best member with
    another mark, and this mark; and whether all members were compared.
    """
    marks = np.vstack([*part.batches(_MAX_MEMBERS)])
    distance = (marks != part.own).sum(axis=1)
    order = np.argsort(distance, kind="stable")
    marks = np.vstack([part.own, marks[order[distance[order] > 0]]])[:_MAX_SCORED]
    if len(marks) < 2:
        return {}, True
    d = len(part.graph)
    column = {pair: k for k, pair in enumerate(index_pairs(d))}
    states = np.zeros((len(marks), len(column)), dtype=np.uint8)
    states[:, [column[pair] for pair in part.pairs]] = marks
    values = moments.n * score_graphs(moments, 0.0, *bits_of_states(d, states))
    found = {}
    for pair, own, options in zip(part.pairs, part.own, marks.T, strict=True):
        others = np.flatnonzero(options != own)
        if len(others):
            best = others[np.argmax(values[others])]
            found[pair] = float(values[0] - values[best]), int(options[best])
    return found, len(marks) == part.size
