"""Rows with gaps: their moments, how precise they are, and what the gaps look like.

The mean and covariance matrix are those of largest likelihood given the cells that are there
(:mod:`bowfree.data.missing_patterns`), which is right whenever the gaps depend on observed values only
("missing at random"). ``Gamma`` is a sandwich of the observed information of this first stage; the
expected information would be inconsistent then. :func:`bowfree.fit` takes the matrix for the data
(``missing="two-stage"``) or maximizes the likelihood of the cells itself (``missing="fiml"``,
:mod:`bowfree.model.fiml`).

References
----------
V. Savalei and P. Bentler, A two-stage approach to missing data, Structural Equation Modeling 2009;
R. Little, A test of missing completely at random for multivariate data with missing values,
JASA 1988.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import LARGEST, check_scale, safe_inverse
from bowfree.data.frames import quoted
from bowfree.data.missing_patterns import Patterns, Saturated, saturated
from bowfree.data.sample import Summary, lower_triangle
from bowfree.errors import DataError
from bowfree.graph.text import quote
from bowfree.results.display import (
    MOST_ROWS,
    Table,
    TextDisplay,
    count,
    p_text,
    percent,
    shorten_list,
)
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class IncompleteRows(Frozen):
    """Rows with gaps.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Deviations from the means of the observed cells in units of their standard deviations, NaN
        where a cell is missing: in these the likelihood is of the same shape for all tables.
    center, scale : ndarray of shape (d,)
        Those means and standard deviations.
    approach : {"fiml", "two-stage"}
        How graphs are fitted.
    weights : ndarray of shape (n,) or None
        Sampling weights with mean one.
    """

    X: Floats
    center: Floats
    scale: Floats
    approach: Literal["fiml", "two-stage"]
    weights: Floats | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        approach: Literal["fiml", "two-stage"],
        weights: Floats | None = None,
    ) -> IncompleteRows:
        """Standardize the columns by what is observed of them."""
        center, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        return cls((values - center) / scale, center, scale, approach, weights)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def plain(self) -> bool:
        """False: S does not vary like that of complete rows."""
        return False

    @cached_property
    def patterns(self) -> Patterns:
        """The rows by pattern, in standard units."""
        return Patterns.of(self.X, self.weights)

    @cached_property
    def saturated(self) -> Saturated:
        """The maximum without a graph, in standard units."""
        return saturated(self.patterns)

    def moments(self) -> tuple[Floats, Floats]:
        """Return mean and covariance matrix, in the units of the data."""
        found = self.saturated
        S = found.Sigma * self.scale * self.scale[:, None]
        return self.center + found.mean * self.scale, S

    def gamma(self) -> Floats:
        """Return the sandwich of the first stage: observed information around scores."""
        found, d = self.saturated, self.X.shape[1]
        J = safe_inverse(self.patterns.information(found.mean, found.Sigma))
        meat = self.patterns.score_products(self.X, found.mean, found.Sigma, self.weights)
        a, b = lower_triangle(d)
        unit = self.scale[a] * self.scale[b]
        G: Floats = (J @ meat @ J)[d:, d:] * self.n_rows * unit * unit[:, None]
        return G

    def pairs(self) -> Floats:
        """Return for each pair of variables the number of rows that have both."""
        observed = np.isfinite(self.X).astype(np.float64)
        together: Floats = observed.T @ observed
        return together

    def effective_n(self) -> float:
        """Return the number of rows that have a pair of variables, on average over the pairs."""
        together = self.pairs()
        d = len(together)
        if d == 1:
            return float(together[0, 0])
        return float(np.round(together[np.tril_indices(d, -1)].mean()))

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, IncompleteRows]:
        """Return the same rows of some of the variables, their gaps filled by these alone."""
        some = list(order)
        X, weights = self.X[:, some], self.weights
        if len(some) < self.X.shape[1]:
            there = np.isfinite(X).any(axis=1)
            X = X[there]
            weights = None if weights is None else weights[there] / weights[there].mean()
        rows = IncompleteRows(X, self.center[some], self.scale[some], self.approach, weights)
        if len(some) == self.X.shape[1]:
            return taken, rows
        mean, S = rows.moments()
        return Summary(S, rows.effective_n(), mean), rows

    def redrawn(self, rows: Indices) -> tuple[Floats, IncompleteRows]:
        """Return S of these rows, and the rows."""
        weights = None if self.weights is None else self.weights[rows]
        if weights is not None:
            weights = weights / weights.mean()
        drawn = IncompleteRows(self.X[rows], self.center, self.scale, self.approach, weights)
        return drawn.moments()[1], drawn

    def says(self) -> str:
        """Tell the number of rows, and how much of them is missing."""
        return f"{self.n_rows} rows with {percent(np.isnan(self.X).mean())} of cells missing"


def read_incomplete(
    names: tuple[str, ...],
    values: Floats,
    approach: Literal["fiml", "two-stage"],
    weights: Floats | None,
) -> tuple[Summary, IncompleteRows, tuple[str, ...]]:
    """Return the moments, the rows and what there is to say; or say what is wrong."""
    there = np.isfinite(values)
    empty = [names[i] for i in np.flatnonzero(~there.any(axis=0))]
    if empty:
        one = len(empty) == 1
        raise DataError(
            f"column{'' if one else 's'} {quoted(empty)} {'has' if one else 'have'} no value at "
            f"all: drop {'it' if one else 'them'}"
        )
    some = there.any(axis=1)
    notes: tuple[str, ...] = ()
    if not some.all():
        dropped = int((~some).sum())
        verb = "is" if dropped == 1 else "are"
        notes = (f"{count(dropped, 'row')} without any value {verb} left out",)
        values, there = values[some], there[some]
        weights = None if weights is None else weights[some] / weights[some].mean()
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    constant = [names[i] for i in np.flatnonzero(low == high)]
    if constant:
        raise DataError(
            f"constant column {quoted(constant)} (where it is observed): drop it, it has no "
            "variance to explain"
        )
    if max(-float(low.min()), float(high.max())) > LARGEST:
        check_scale(names, np.maximum(-low, high), "values up to")
    rows = IncompleteRows.of(values, approach, weights)
    together = rows.pairs()
    apart = np.argwhere(np.tril(together < 2, -1))
    if len(apart):
        listed = ", ".join(f"{names[j]!r} and {names[i]!r}" for i, j in apart[:12])
        more = f" and {len(apart) - 12} more pairs" if len(apart) > 12 else ""
        raise DataError(
            f"{listed}{more}: fewer than two rows have both, so that nothing is known about their "
            "covariance; drop one of them"
        )
    found = rows.saturated
    if not found.converged:
        pairs = together + np.triu(np.full_like(together, np.inf))
        fewest = np.unravel_index(np.argmin(pairs), pairs.shape)
        raise DataError(
            "the likelihood of the observed cells has no maximum that could be found: too many "
            f"gaps for {len(values)} rows (only {together[fewest]:.0f} of them have both "
            f"{names[fewest[1]]!r} and {names[fewest[0]]!r}); use fewer variables, or leave out "
            "the rows with gaps"
        )
    mean, S = rows.moments()
    return Summary(S, rows.effective_n(), mean), rows, notes


@dataclass(frozen=True, eq=False, repr=False)
class Gaps(TextDisplay, ToDict, Frozen):
    """What is missing in a table, and whether the gaps depend on its values; ``print`` it.

    Attributes
    ----------
    names : tuple of str
        The variables.
    missing : tuple of int
        Number of missing cells of each.
    patterns : ndarray of bool, shape (P, d)
        True where a pattern lacks the cell; the most complete patterns come first.
    rows : tuple of float
        Number of rows (sum of weights) of each pattern.
    statistic, df, p_value : float, int, float
        Little's test that cells are missing completely at random: the means of the patterns differ
        no more than chance has it. A small p-value says that leaving out rows would distort means;
        that gaps do not depend on the missing values themselves, no test can say.
    """

    names: tuple[str, ...]
    missing: tuple[int, ...]
    patterns: npt.NDArray[np.bool_]
    rows: tuple[float, ...]
    statistic: float
    df: int
    p_value: float

    def _headline(self) -> str:
        test = f"Little's test {self.statistic:.2f} on {self.df} df, {p_text(self.p_value)}"
        return f"{count(len(self.rows), 'pattern')} of {sum(self.rows):.0f} rows; {test}"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        names = [quote(name) for name in self.names]
        rows = []
        for size, pattern in zip(self.rows, self.patterns, strict=True):
            lacking = ", ".join(name for name, gap in zip(names, pattern, strict=True) if gap)
            rows.append((f"{size:g}", shorten_list(lacking or "nothing", "more", most=100)))
        yield Table(("rows", "lack"), rows, left=(1,), most=MOST_ROWS, rest="more patterns")


def describe_gaps(names: tuple[str, ...], sample: IncompleteRows) -> Gaps:
    """Describe rows, and test them."""
    from scipy.special import chdtrc

    found, patterns = sample.saturated, sample.patterns
    statistic = 0.0
    for observed, rows, mean in zip(patterns.observed, patterns.count, patterns.mean, strict=True):
        z = (mean - found.mean)[observed]
        block = found.Sigma[np.ix_(observed, observed)]
        statistic += float(rows * (z @ np.linalg.solve(block, z)))
    df = int(patterns.observed.sum()) - len(names)
    return Gaps(
        names,
        tuple(int(k) for k in np.isnan(sample.X).sum(axis=0)),
        ~patterns.observed,
        tuple(float(k) for k in patterns.count),
        statistic,
        df,
        float(chdtrc(df, statistic)) if df else float("nan"),
    )
