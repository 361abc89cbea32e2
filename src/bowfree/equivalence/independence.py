"""Higher moments: which equivalent graphs non-Gaussian data exclude.

Equivalent graphs have the same covariances, but errors that are not joined by ``<->`` must also be
independent, and with non-Gaussian errors that fails in most members of a class but the true one.
:func:`independence_tests` tests a graph, :func:`exclude_members` all members of a class, and
:func:`nongaussianity` measures how much there is to learn. The tests only reject: with Gaussian
errors all members remain. :mod:`bowfree.equivalence.error_pairs` has the statistic.

The model behind it is linear with independent errors. Data that do not fit it (categories, ties,
dependent rows) are refused; if every member is rejected, or errors share their scale, as in a
multivariate t distribution, nothing is excluded and the result says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bowfree.data.joint_moments import JointMoments
from bowfree.data.nominal import BlockMoments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows
from bowfree.equivalence.class_members import (
    EquivalenceClass,
    Factor,
    Orientations,
    class_components,
)
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.error_pairs import ClassErrors, Floats, fits_curve
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD, members
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.text import quote
from bowfree.model.context import context_of
from bowfree.parallel.budget import Budget
from bowfree.parameters import public
from bowfree.results.display import MOST_ROWS, Table, count, p_cell, p_text
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names
from bowfree.validation import check_count, check_fraction

LIMIT = 10_000
"""Default of `limit`."""

MIN_ROWS = 100
MAX_ROWS = 20_000  # of more rows an evenly spaced part is used
MIN_VALUES = 20  # different values of a column
MAX_TIES = 0.1  # largest share of rows with the same value
POWER = 0.8  # of a test with the number of rows that `nongaussianity` reports
CORRELATION = 0.5  # of the two variables there
_WORK = 5e6  # of `higher_moments`: rows times members of a component
_MAX_NODES = 60
_SCALE = 0.1  # level of the check of a common scale, relative to that of the tests


# --- one graph ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class IndependenceTests(RowTable, ToDict):
    """Tests of the independence of errors; made by :func:`bowfree.independence_tests`.

    Attributes
    ----------
    rows : tuple of Row
        For each pair ``a``, ``b`` without ``a <-> b``: ``chi2`` (approximately chi-square with
        4 degrees of freedom), ``p_value``, and ``p_scale`` (of the test that the absolute values of
        the two errors are uncorrelated).
    n : int
        Number of rows used.
    """

    rows: tuple[Row, ...]
    n: int
    _columns = ("a", "b", "chi2", "p_value", "p_scale")

    @property
    def p_value(self) -> float:
        """p-value of the graph: the smallest one, corrected for the number of pairs."""
        return min(1.0, len(self.rows) * min((row.p_value for row in self.rows), default=1.0))

    def _headline(self) -> str:
        return f"{count(len(self.rows), 'pair')}, n = {self.n}, {p_text(self.p_value)}"

    def _sections(self) -> Iterator[str | Table]:
        if not self.rows:
            yield "all errors may be dependent: there is nothing to test"
            return
        yield f"independence of errors without <->: {p_text(self.p_value)} for the graph"
        rows = sorted(self.rows, key=lambda row: row.p_value)
        cells = [
            (
                f"{quote(r.a)}, {quote(r.b)}",
                f"{r.chi2:.2f}",
                p_cell(r.p_value),
                p_cell(r.p_scale),
            )
            for r in rows
        ]
        rest = "with larger p: to_frame() has all"
        yield Table(("errors", "chi2(4)", "p", "p scale"), cells, most=MOST_ROWS, rest=rest)


@public
def independence_tests(graph: GraphLike, data: Any = None) -> IndependenceTests:
    """Test whether the errors of a graph that are not joined by ``<->`` are independent.

    The tests use functions of the errors beyond their covariances, and account for the estimation of
    the coefficients.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    data : array_like of shape (n, d) or data frame, optional
        Complete rows of measurements, at least 100.

    Returns
    -------
    IndependenceTests

    Raises
    ------
    DataError
        Data that the tests are not valid for: missing values, weights, clusters, conditions, ranks,
        categories, a covariance matrix, columns with many ties, or too few rows.

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> e = np.random.default_rng(1).exponential(size=(500, 2))
    >>> data = {"x": e[:, 0], "y": e[:, 0] + e[:, 1]}
    >>> bf.independence_tests(bf.parse("x -> y"), data).p_value > 0.05
    True
    >>> bf.independence_tests(bf.parse("x <- y"), data).p_value < 1e-6
    True

    References
    ----------
    Y. S. Wang and M. Drton, Causal discovery with unobserved confounding and non-Gaussian data, JMLR
    24 (2023).
    """
    g, X = _read(graph, data)
    errors = ClassErrors(X, g)
    index = errors.equations_of([list(members(mask)) for mask in g._parents])
    rows = []
    for i, j in combinations(range(len(g)), 2):
        if not g._spouses[i] >> j & 1:
            found = errors.test(index[i], index[j])
            rows.append(Row(a=g.nodes[i], b=g.nodes[j], **found._asdict()))
    return IndependenceTests(tuple(rows), len(X))


def _read(given: GraphLike, data: Any) -> tuple[MixedGraph, Floats]:
    """Return the graph and the rows, in standard deviations from the mean, or refuse the data."""
    context = context_of(given)
    context.graph.check_bap()
    if data is None and context.moments is None:
        raise DataError("independence of errors is tested on rows: pass data")
    moments = context.read(data, DataOptions())
    sample = moments.sample
    kinds = {JointMoments: "several conditions", BlockMoments: "nominal variables"}
    what = next((text for kind, text in kinds.items() if isinstance(moments, kind)), "")
    if what or not isinstance(sample, CompleteRows) or not sample.plain:
        what = what or ("a covariance matrix" if sample is None else sample.describe())
        raise DataError(
            "independence of errors is tested on complete, unweighted, independent rows of "
            f"measurements; these data are {what}"
        )
    moments._require_definite("independence of errors is tested")
    X = sample.deviations[:: math.ceil(sample.n_rows / MAX_ROWS)]
    if len(X) < MIN_ROWS:
        raise DataError(f"{len(X)} rows are too few to test independence: {MIN_ROWS} are needed")
    for name, column in zip(moments.names, X.T, strict=True):
        _, counts = np.unique(column, return_counts=True)
        if len(counts) < MIN_VALUES or counts.max() > MAX_TIES * len(X):
            raise DataError(
                f"column {name!r} has {len(counts)} different values, the most frequent one in "
                f"{100 * counts.max() / len(X):.0f} % of the rows; independence of errors is tested "
                "for continuous measurements, not for categories, counts or censored values"
            )
    X = X - X.mean(axis=0)
    return context.graph, X / np.sqrt(np.mean(X * X, axis=0))


# --- how much there is to learn -------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class NonGaussianity(RowTable, ToDict):
    """How far errors are from normal; made by :func:`bowfree.nongaussianity`.

    Attributes
    ----------
    rows : tuple of Row
        For each ``variable``: ``skewness`` and excess ``kurtosis`` of its error, ``p_value`` of the
        test of normality by D'Agostino and Pearson; and the approximate number of rows that
        distinguish the direction of an effect between two variables with such errors
        (``rows_direction``), or an effect from a hidden common cause (``rows_hidden``), NaN for
        errors that do not differ from normal.
    n : int
        Number of rows used.
    """

    rows: tuple[Row, ...]
    n: int

    @property
    def not_normal(self) -> list[str]:
        """The variables whose errors are not normal, at the 5 % level corrected for their number."""
        return [row.variable for row in self.rows if row.p_value < 0.05 / len(self.rows)]

    def hint(self) -> str:
        """Return one sentence on what the rows suffice for; empty if all errors look normal."""
        if not self.not_normal:
            return ""
        errors = f"errors of {len(self.not_normal)} of {count(len(self.rows), 'variable')}"
        direction, hidden = (
            np.nanmedian([row[name] for row in self.rows])
            for name in ("rows_direction", "rows_hidden")
        )
        return (
            f"{errors} are not normal: about {_about(direction)} rows tell the directions of effects "
            f"between them, {_about(hidden)} tell an effect from a hidden common cause "
            f"(n = {self.n:,})"
        )

    def _headline(self) -> str:
        return f"{len(self.not_normal)} of {count(len(self.rows), 'error')} not normal"

    def _sections(self) -> Iterator[str | Table]:
        yield self.hint() or "no error differs from normal: higher moments exclude nothing"
        names = ("skewness", "kurtosis", "p", "rows: direction", "rows: hidden cause")
        cells = [
            (
                r.variable,
                f"{r.skewness:.2f}",
                f"{r.kurtosis:.2f}",
                p_cell(r.p_value),
                _about(r.rows_direction),
                _about(r.rows_hidden),
            )
            for r in self.rows
        ]
        yield Table(("error of", *names), cells, most=MOST_ROWS, rest="more: to_frame() has all")


def _about(rows: float) -> str:
    """Return a number of rows with one or two digits; empty for NaN."""
    if not math.isfinite(rows):
        return ""
    unit = 10 ** max(0, math.floor(math.log10(max(rows, 1))) - 1)
    return "1,000,000 or more" if rows > 1e6 else f"{math.ceil(rows / unit) * unit:,}"


@public
def nongaussianity(graph: GraphLike, data: Any = None) -> NonGaussianity:
    """Measure how far the errors of a graph are from normal, and how many rows that requires.

    The numbers of rows are those with which a test at the 5 % level, corrected for all pairs of
    variables, rejects with probability 0.8, for two variables with correlation 0.5 whose errors and
    hidden cause have the distribution of this error.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    data : array_like of shape (n, d) or data frame, optional
        As for :func:`bowfree.independence_tests`.

    Returns
    -------
    NonGaussianity

    Examples
    --------
    >>> import bowfree as bf
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.exponential(size=500)
    >>> found = bf.nongaussianity(bf.parse("x -> y"), {"x": x, "y": x + rng.normal(size=500)})
    >>> found.not_normal, bool(found[0].rows_direction < 100)
    (['x'], True)
    """
    return _nongaussianity(*_read(graph, data))


def _nongaussianity(graph: MixedGraph, X: Floats) -> NonGaussianity:
    from scipy import stats

    errors = ClassErrors(X, graph)
    index = errors.equations_of([list(members(mask)) for mask in graph._parents])
    rows = []
    for name, k in zip(graph.nodes, index, strict=True):
        e = X @ errors.equations[k].row
        p = float(stats.normaltest(e).pvalue)
        needed = (math.nan, math.nan)
        if p < 0.05 / len(graph):
            needed = _rows_needed(e, max(1, len(graph) * (len(graph) - 1) // 2))
        moments = {"skewness": float(stats.skew(e)), "kurtosis": float(stats.kurtosis(e))}
        rows.append(
            Row(
                variable=name, **moments, p_value=p, rows_direction=needed[0], rows_hidden=needed[1]
            )
        )
    return NonGaussianity(tuple(rows), len(X))


def _rows_needed(error: Floats, pairs: int) -> tuple[float, float]:
    """Return the rows needed for direction and hidden cause, if errors have this distribution.

    The statistic grows in proportion to the rows. It is computed for the product distribution of
    the quantiles of the error.
    """
    from scipy.special import chdtri, chndtrinc

    least = float(chndtrinc(chdtri(4, 0.05 / pairs), 4, 1 - POWER))
    graph, r = MixedGraph(["x", "y"], directed=[("y", "x")]), CORRELATION
    needed = []
    for hidden, size in ((False, 48), (True, 16)):
        q = np.quantile(error, (np.arange(size) + 0.5) / size)
        a, b, *h = (grid.ravel() for grid in np.meshgrid(*[q] * (2 + hidden), indexing="ij"))
        if hidden:
            x, y = (math.sqrt(r) * h[0] + math.sqrt(1 - r) * e for e in (a, b))
        else:
            x, y = a, r * a + math.sqrt(1 - r * r) * b
        X = np.column_stack([x, y])
        X = X - X.mean(axis=0)
        errors = ClassErrors(X / np.sqrt(np.mean(X * X, axis=0)), graph)
        statistic = errors.test(*errors.equations_of([[1], []])).chi2
        needed.append(least * len(X) / max(statistic, 1e-9))
    return needed[0], needed[1]


# --- classes --------------------------------------------------------------------------------------


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
            f"{quote(r.a)} {r.after} {quote(r.b)}"
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
            "edges": [row.to_dict() for row in self.rows],
            "nongaussianity": self.nongaussianity.to_dict(),
        }

    def _headline(self) -> str:
        return f"{self.n_excluded:,} of {count(self.before.size, 'member')} excluded, level {self.level:g}"

    def _sections(self) -> Iterator[str | Table]:
        yield from self.sentences()
        cells = [(f"{quote(r.a)}, {quote(r.b)}", r.before, r.after) for r in self.rows]
        headings = ("edge", "in all members", "in all remaining ones")
        yield Table(
            headings, cells, left=(0, 1, 2), most=MOST_ROWS, rest="more: to_frame() has all"
        )


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
    if the model does not fit: every member is rejected, or every arrow among three or more variables.

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
    without a hidden common cause can leave only ``<->``, and `warnings` names such edges.

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
    graph, X = _read(graphs, data)
    before = graphs if isinstance(graphs, EquivalenceClass) else class_by_components(graphs, limit)
    if before.method == "empirical":
        raise BowfreeError(
            "graphs is an empirical class, whose members need not be equivalent; pass "
            "bowfree.equivalence_class(graph)"
        )
    measured = _nongaussianity(graph, X)
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
    return found, [*found.sentences(), hint]


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
        if len(names) > 2 and (left == BIDIRECTED).all() and not kept.all():
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
