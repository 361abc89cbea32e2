"""Exclusion of equivalent graphs by tests of the independence of their errors.

Equivalent graphs have the same covariances, but errors that are not joined by ``<->`` must also be
independent (:mod:`bowfree.equivalence.independence`), and with non-Gaussian errors that fails in most
members of a class but the true one. :func:`exclude_members` tests all members. The tests only reject:
with Gaussian errors all members remain. If every member is rejected, or errors share their scale, as
in a multivariate t distribution, nothing is excluded and the result says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bowfree.data.sample import NonGaussianRows
from bowfree.equivalence.class_members import (
    EquivalenceClass,
    Factor,
    Orientations,
    class_components,
)
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.error_pairs import ClassErrors, Floats, fits_curve
from bowfree.equivalence.independence import MAX_ROWS, NonGaussianity, measure_errors, read_rows
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD
from bowfree.graph.mixed_graph import GraphLike
from bowfree.graph.text import quote_edge, quote_names
from bowfree.parallel.budget import Budget
from bowfree.parameters import public
from bowfree.results.display import Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names
from bowfree.validation import check_count, check_fraction

LIMIT = 10_000
"""Default of `limit`."""

_WORK = 5e6  # of `higher_moments`: rows times members of a component
_MAX_NODES = 60
_SCALE = 0.1  # level of the check of a common scale, relative to that of the tests


@dataclass(frozen=True, eq=False, repr=False)
class Exclusion(RowTable, ToDict, Frozen):
    """The members of a class that higher moments do not exclude; see :func:`bowfree.exclude_members`.

    Attributes
    ----------
    members : EquivalenceClass
        The remaining members; :func:`bowfree.effect_bounds`, ``summary`` and ``to_svg`` work on them.
    before : EquivalenceClass
        All members.
    level : float
        Largest probability that the true graph is excluded.
    nongaussianity : NonGaussianity
        How far the errors of the graph are from normal.
    reason : str
        Why nothing was excluded although tests rejected; empty otherwise.
    warnings : tuple of str
        Other explanations of what was excluded, and members that were not tested.
    rows : tuple of Row
        For each edge ``a``, ``b``: the marks that all members share (``before``), and all remaining
        ones (``after``).
    """

    members: EquivalenceClass
    before: EquivalenceClass
    level: float
    nongaussianity: NonGaussianity
    reason: str = ""
    warnings: tuple[str, ...] = ()
    _columns = ("a", "b", "before", "after")

    @property
    def rows(self) -> Sequence[Row]:
        """The edges, with their marks before and after."""
        pairs = zip(self.before.summary().edges, self.members.summary().edges, strict=True)
        return tuple(Row(a=x.a, b=x.b, before=x.mark, after=y.mark) for x, y in pairs)

    @property
    def n_excluded(self) -> int:
        """Number of members that were excluded."""
        return self.before.size - self.members.size

    @property
    def resolved(self) -> list[str]:
        """The edges with a mark that all remaining members share, but not all members."""
        return [
            quote_edge(r.a, r.after, r.b)
            for r in (self.rows if self.n_excluded else ())
            if r.before != r.after
        ]

    def sentences(self) -> list[str]:
        """Return the result in sentences."""
        size = count(self.before.size, "equivalent graph")
        found = f"higher moments exclude {self.n_excluded:,} of {size} at level {self.level:g}"
        if self.resolved:
            found += f"; the same in all others: {join_names(self.resolved)}"
        if self.reason:
            found = f"higher moments exclude nothing: {self.reason}"
        return [found, *self.warnings]

    def _content(self) -> Any:
        return {
            "n_members": self.before.size,
            "n_excluded": self.n_excluded,
            "level": self.level,
            "reason": self.reason,
            "warnings": self.warnings,
            "edges": self.rows,
            "nongaussianity": self.nongaussianity.to_dict(),
        }

    def _headline(self) -> str:
        return f"{self.n_excluded:,} of {count(self.before.size, 'member')} excluded, level {self.level:g}"

    def _sections(self) -> Iterator[str | Table]:
        yield from self.sentences()
        cells: dict[str, Cell] = {
            "edge": lambda row: quote_names((row.a, row.b)),
            "in all members": "before",
            "in all remaining ones": "after",
        }
        yield row_table(self.rows, cells, left=(0, 1, 2))


@public
def exclude_members(
    graphs: EquivalenceClass | GraphLike,
    data: Any = None,
    *,
    level: float = 0.05,
    limit: int = LIMIT,
    time_limit: float | None = None,
) -> Exclusion:
    """Exclude the members of an equivalence class whose errors are not independent.

    A member is excluded if a pair of errors without ``<->`` is dependent (see
    :func:`bowfree.independence_tests`). If the true graph is a member, it is excluded with a
    probability of at most `level`. Nothing is excluded if the errors do not differ from normal, or
    if the model does not fit: every member is rejected, or every arrow among three or more variables
    is, and what remains implies nothing that could be tested or a nonlinear effect fits as well.

    Parameters
    ----------
    graphs : EquivalenceClass, MixedGraph, or a result that has one
        The class, or a graph that stands for its class. A result brings its data.
    data : array_like of shape (n, d) or data frame, optional
        As for :func:`bowfree.independence_tests`.
    level : float
        Largest probability that the true graph is excluded.
    limit : int
        Largest number of members of a connected component of the skeleton. Components with more
        members are not tested.
    time_limit : float, optional
        Seconds after which the remaining members are kept without a test.

    Returns
    -------
    Exclusion

    Raises
    ------
    DataError
        As for :func:`bowfree.independence_tests`.

    Notes
    -----
    The level is divided by the number of pairs. It is not divided by the number of members, because
    the rejection of the true graph is a single event. An edge ``<->`` implies nothing about the
    errors that it joins and is never excluded for itself: ``x -> y`` becomes ``x o-> y``, unless
    other edges decide. Linear effects are assumed: a nonlinear effect
    without a hidden common cause can leave only ``<->``, and `warnings` names such edges. Two
    variables that are connected with no other leave nothing to check that with, and `warnings` says so.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> e = np.random.default_rng(1).exponential(size=(1000, 3))
    >>> x = e[:, 0]
    >>> y = x + e[:, 1]
    >>> data = {"x": x, "y": y, "z": y + e[:, 2]}
    >>> found = bf.exclude_members(bf.parse("x <- y -> z"), data)
    >>> found.n_excluded, found.before.size, str(found.members[0])
    (3, 5, 'x -> y -> z')
    >>> found.resolved
    ['x o-> y', 'y -> z']

    References
    ----------
    Y. S. Wang and M. Drton, Causal discovery with unobserved confounding and non-Gaussian data, JMLR
    24 (2023).
    """
    level = check_fraction("level", level)
    check_count("limit", limit, 1)
    budget = Budget(time_limit=time_limit)
    graph, X = read_rows(graphs, data)
    before = graphs if isinstance(graphs, EquivalenceClass) else class_by_components(graphs, limit)
    if before.method == "empirical":
        raise BowfreeError(
            "graphs is an empirical class, whose members need not be equivalent; pass "
            "bowfree.equivalence_class(graph)"
        )
    measured = measure_errors(graph, X)
    if not measured.not_normal:
        return Exclusion(before, before, level, measured)
    components, warnings = [], []
    for part in class_components(before):
        if part.size > limit:
            names = join_names([graph.nodes[v] for v in sorted({v for p in part.pairs for v in p})])
            warnings.append(
                f"the {part.size:,} equivalent graphs of {names} were not tested: they exceed "
                f"limit = {limit:,}"
            )
        elif part.size > 1:
            components.append(_Component(part, X))
    n_pairs = sum(component.n_pairs for component in components)
    tested: dict[tuple[int, ...], Any] = {}  # edges -> marks of the remaining members
    for component in components:
        marks, reason = component.exclude(level / n_pairs, budget)
        if reason:
            return Exclusion(before, before, level, measured, reason, tuple(warnings))
        tested[tuple(before._edges.index(pair) for pair in component.part.pairs)] = marks
        warnings += component.other_explanations(marks, level)
        if len(component.names) == 2 and len(marks) < component.part.size:
            warnings.append(
                f"{join_names(component.names)}: two variables leave nothing to check the model with; "
                "nonlinear effects and unequal error variances also exclude arrows"
            )
    if budget.expired:
        warnings.append("the time limit was reached; members that were not tested are kept")
    others = [f for f in before._factors if not any(set(f.edges) & set(edges) for edges in tested)]
    left = before._with((*others, *(Factor(edges, marks) for edges, marks in tested.items())))
    return Exclusion(left, before, level, measured, "", tuple(warnings))


def higher_moments(members: EquivalenceClass) -> tuple[Exclusion | None, list[str]]:
    """Exclude members within a few seconds; return the result, if any, and sentences on it.

    The work is limited by the number of members, so that the result is the same on every machine.
    """
    if members.size < 2 or len(members.graph) > _MAX_NODES:
        return None, []
    moments = members._context().moments
    limit = 0 if moments is None else int(_WORK / max(1, min(moments.n_rows, MAX_ROWS)))
    try:
        found = exclude_members(members, limit=max(50, min(limit, 1000)))
    except BowfreeError as error:
        return None, [f"higher moments were not used: {error}"]
    hint = found.nongaussianity.hint()
    if not hint:
        return found, ["no error differs from normal, so that higher moments exclude no graph"]
    sentences = [*found.sentences(), hint]
    assert moments is not None
    used = isinstance(moments.sample, NonGaussianRows)
    if not used and not found.reason and found.members.size > 1 and found.nongaussianity.sufficient:
        sentences.append("a search with errors='nongaussian' may tell more of these graphs apart")
    return found, sentences


class _Component:
    """The members of a connected component of a class, with their errors."""

    def __init__(self, part: Orientations, X: Floats) -> None:
        self.part = part
        nodes = sorted({v for pair in part.pairs for v in pair})
        position = {v: k for k, v in enumerate(nodes)}
        self.names = [part.graph.nodes[v] for v in nodes]
        self.pairs = [(position[i], position[j]) for i, j in part.pairs]
        self.marks = np.vstack([*part.batches()])
        graph = part.graph.subgraph(self.names)
        self.errors = ClassErrors(np.ascontiguousarray(X[:, nodes]), graph)
        size = len(nodes) * (len(nodes) - 1) // 2
        self.n_pairs = size - int((self.marks == BIDIRECTED).sum(axis=1).min())

    def exclude(self, level: float, budget: Budget) -> tuple[Any, str]:
        """Return the marks of the remaining members, and why none should be excluded, if so."""
        kept, regular = np.ones(len(self.marks), dtype=bool), False
        adjacent = set(self.pairs)
        # Adjacent pairs first: they reject most members.
        pairs = sorted(combinations(range(len(self.names)), 2), key=lambda p: p not in adjacent)
        for k, row in enumerate(self.marks.tolist()):
            if budget.expired:
                return self.marks[kept], ""
            state = dict(zip(self.pairs, row, strict=True))
            index = self._equations(state)
            same_scale = False
            for i, j in pairs:
                if state.get((i, j)) == BIDIRECTED:
                    continue
                found = self.errors.test(index[i], index[j])
                if found.p_value < level:
                    kept[k] = False
                    break
                same_scale |= found.p_scale < _SCALE * level
            else:
                regular |= not same_scale
        names = self.names
        if not kept.any():
            return self.marks, (
                f"the errors of {join_names(names)} are dependent in every equivalent graph (effects are not "
                "linear, rows are dependent, or the graph is wrong)"
            )
        left = self.marks[kept]
        only_hidden = len(names) > 2 and (left == BIDIRECTED).all() and not kept.all()
        # A complete graph of <-> implies nothing, so the model has not passed any test.
        untested = len(pairs) == len(adjacent)
        if only_hidden and (untested or self.other_explanations(left, level)):
            return self.marks, (
                f"every direct effect among {join_names(names)} is rejected (nonlinear effects, "
                "unequal error variances or dependent rows are likelier than hidden common causes "
                "of all of them)"
            )
        if not regular:
            return self.marks, (
                f"the errors of {join_names(names)} share their scale in every remaining graph (error variances "
                "vary together, as in a multivariate t distribution)"
            )
        return left, ""

    def _equations(self, state: dict[tuple[int, int], int]) -> list[int]:
        parents: list[list[int]] = [[] for _ in self.names]
        for (i, j), mark in state.items():
            if mark == FORWARD:
                parents[j].append(i)
            elif mark == BACKWARD:
                parents[i].append(j)
        return self.errors.equations_of(parents)

    def other_explanations(self, left: Any, level: float) -> list[str]:
        """Name nonlinear effects that fit as well as hidden common causes that tests have left."""
        index = self._equations(dict(zip(self.pairs, left[0].tolist(), strict=True)))
        found = []
        for e, (i, j) in enumerate(self.pairs):
            if (left[:, e] == BIDIRECTED).all() and (self.marks[:, e] != BIDIRECTED).any():
                x, y = self.errors.error(index[i]), self.errors.error(index[j])
                curves = ((i, j, fits_curve(x, y, level)), (j, i, fits_curve(y, x, level)))
                found += [
                    f"{self.names[i]} <-> {self.names[j]}: a nonlinear effect of {self.names[a]} on "
                    f"{self.names[b]} without a hidden common cause fits as well"
                    for a, b, fits in curves
                    if fits
                ]
        return found
