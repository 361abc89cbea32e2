"""Independence of errors: tests of a graph, and how far its errors are from normal.

Errors that are not joined by ``<->`` must be independent, not only uncorrelated.
:func:`independence_tests` tests this beyond covariances, and :func:`nongaussianity` measures how much
such tests can find. :mod:`bowfree.equivalence.error_pairs` has the statistic,
:mod:`bowfree.equivalence.exclusion` the tests of all members of a class.

The model is linear with independent errors. Data that do not fit it (categories, ties, dependent
rows) are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bowfree.data.joint_moments import JointMoments
from bowfree.data.nominal import BlockMoments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows
from bowfree.equivalence.error_pairs import ClassErrors, Floats
from bowfree.errors import DataError
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.text import quote_names
from bowfree.model.context import context_of
from bowfree.parameters import public
from bowfree.results.display import Table, count, p_text
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict

MIN_ROWS = 100
MAX_ROWS = 20_000  # of more rows an evenly spaced part is used
MIN_VALUES = 20  # different values of a column
MAX_TIES = 0.1  # largest share of rows with the same value
POWER = 0.8  # of a test with the number of rows that `nongaussianity` reports
CORRELATION = 0.5  # of the two variables there


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
        cells: dict[str, Cell] = {
            "errors": lambda row: quote_names((row.a, row.b)),
            "chi2(4)": "chi2:.2f",
            "p": "p_value:p",
            "p scale": "p_scale:p",
        }
        rows = sorted(self.rows, key=lambda row: row.p_value)
        yield row_table(rows, cells, rest="with larger p: to_frame() has all")


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
    g, X = read_rows(graph, data)
    errors = ClassErrors(X, g)
    index = errors.equations_of([list(members(mask)) for mask in g._parents])
    rows = []
    for i, j in combinations(range(len(g)), 2):
        if not g._spouses[i] >> j & 1:
            found = errors.test(index[i], index[j])
            rows.append(Row(a=g.nodes[i], b=g.nodes[j], **found._asdict()))
    return IndependenceTests(tuple(rows), len(X))


def read_rows(given: GraphLike, data: Any) -> tuple[MixedGraph, Floats]:
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

    @property
    def sufficient(self) -> bool:
        """Whether the rows tell the directions of effects between most of the variables."""
        needed = [row.rows_direction for row in self.rows if row.variable in self.not_normal]
        return bool(sum(rows <= self.n for rows in needed) > len(self.rows) / 2)

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
        cells: dict[str, Cell] = {
            "error of": "variable",
            "skewness": "skewness:.2f",
            "kurtosis": "kurtosis:.2f",
            "p": "p_value:p",
            "rows: direction": lambda row: _about(row.rows_direction),
            "rows: hidden cause": lambda row: _about(row.rows_hidden),
        }
        yield row_table(self.rows, cells)


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
    return measure_errors(*read_rows(graph, data))


def measure_errors(graph: MixedGraph, X: Floats) -> NonGaussianity:
    """Return the result of :func:`nongaussianity` for rows in standard deviations."""
    from scipy import stats

    errors = ClassErrors(X, graph)
    index = errors.equations_of([list(members(mask)) for mask in graph._parents])
    rows = []
    for name, k in zip(graph.nodes, index, strict=True):
        e = X @ errors.equations[k].row
        p = float(stats.normaltest(e).pvalue)
        direction = hidden = math.nan
        if p < 0.05 / len(graph):
            direction, hidden = _rows_needed(e, max(1, len(graph) * (len(graph) - 1) // 2))
        moments = {"skewness": float(stats.skew(e)), "kurtosis": float(stats.kurtosis(e))}
        needed = {"rows_direction": direction, "rows_hidden": hidden}
        rows.append(Row(variable=name, **moments, p_value=p, **needed))
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
