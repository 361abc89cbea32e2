"""Rows with missing values: their normal likelihood, their moments, and tests of them.

Rows that lack the same cells have the same likelihood function, which depends on their number,
mean and second moments only (:class:`Patterns`). With W the inverse of the observed block of Sigma
(zero elsewhere), z the deviation of the mean of a pattern from mu, and T its second moments about
mu,

    l = -1/2 sum over patterns of m (k log 2 pi + log |Sigma_oo| + tr(W T)),

for a pattern of m rows with k observed cells each. The saturated mean and covariance matrix are
found by EM, followed by Newton steps; derivatives are with respect to mu and to the entries of
Sigma in the lower triangle. All patterns are processed at once, as stacks of d x d matrices.

The estimates are consistent if missingness depends on observed values only ("missing at random").
``Gamma`` is a sandwich with the observed information; the expected information would be
inconsistent. :func:`bowfree.fit` uses the saturated covariance matrix as data
(``missing="two-stage"``), or maximizes the likelihood of the observed cells (``missing="fiml"``,
:mod:`bowfree.model.fiml`).

References
----------
R. Little and D. Rubin, Statistical Analysis with Missing Data, 3rd ed. 2019, chapter 11;
V. Savalei and P. Bentler, A two-stage approach to missing data, Structural Equation Modeling 2009;
R. Little, A test of missing completely at random for multivariate data with missing values,
JASA 1988.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from bowfree import _core
from bowfree.data import frames
from bowfree.data.covariance import (
    LARGEST,
    check_constant,
    check_pairs,
    check_scale,
    missing_values,
    safe_inverse,
)
from bowfree.data.sample import (
    Bools,
    Floats,
    Indices,
    Sample,
    Summary,
    chunks,
    cross_products,
    inverse_covariance,
    lower_triangle,
    rescaled,
    row_slices,
)
from bowfree.errors import DataError
from bowfree.graph.text import quote
from bowfree.parameters import Correlation, Missing
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
from bowfree.results.rows import data_frame
from bowfree.results.serialization import ToDict

# Largest number of entries of a stack of d x d matrices: 64 MB.
_STACK = 2**23
# Newton steps need matrices of d^4 / 4 entries: 40 MB for 67 variables. Beyond that, EM alone.
_MOST_FOR_NEWTON = 60
# EM steps before the first Newton step, which bring any start into its region of convergence.
_EM_FIRST = 5
_MOST_STEPS = 10_000
# Gain of log-likelihood per row at which iterations stop: predicted (Newton), or seen (EM alone).
_NEWTON_GAIN, _EM_GAIN = 1e-15, 1e-11


@dataclass(frozen=True, eq=False)
class Patterns:
    """Rows with missing values by pattern; all entries of missing cells are zero."""

    observed: Bools  # the observed cells, (P, d)
    count: Floats  # number of rows of each pattern, or sum of their weights
    mean: Floats  # (P, d)
    scatter: Floats  # covariance matrices with divisor `count`, (P, d, d)
    row_pattern: Indices  # the pattern of each row

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> Patterns:
        """Group rows by pattern, the most complete pattern first."""
        present = np.isfinite(X)
        packed = np.packbits(present, axis=1)
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
        _, first, row_pattern = np.unique(keys, return_index=True, return_inverse=True)
        observed = present[first]
        order = np.lexsort((*(~observed).T[::-1], -observed.sum(axis=1)))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        observed, row_pattern = observed[order], place[row_pattern]
        P, d = observed.shape
        w = np.ones(len(X)) if weights is None else weights
        count = np.bincount(row_pattern, weights=w, minlength=P).astype(np.float64)
        mean, scatter = np.zeros((P, d)), np.zeros((P, d, d))
        filled = np.where(present, X, 0.0)
        for p, rows in enumerate(_rows_by_pattern(row_pattern, P)):
            share = w[rows, None] / count[p]
            mean[p] = (share * filled[rows]).sum(axis=0)
            deviations = (filled[rows] - mean[p]) * observed[p]
            scatter[p] = cross_products(deviations * share, deviations)
        return cls(observed, count, mean, scatter, row_pattern)

    @property
    def total(self) -> float:
        """Number of rows, or sum of their weights."""
        return float(self.count.sum())

    def precisions(self, Sigma: Floats) -> Floats:
        """Return the inverse of the observed block of each pattern, shape (P, d, d)."""
        mu = np.zeros(len(Sigma))
        return np.concatenate([part.W for part in self._parts(mu, Sigma)])

    def loglik(self, mu: Floats, Sigma: Floats) -> float:
        """Return the log-likelihood; minus infinity if Sigma is not positive definite."""
        total = 0.0
        for part in self._parts(mu, Sigma):
            constant = part.cells * math.log(2 * math.pi)
            total -= float(np.sum(part.m * (constant + part.log_det + part.trace))) / 2
        return total

    def gradient(self, mu: Floats, Sigma: Floats) -> tuple[Floats, Floats]:
        """Return the derivative with respect to mu, and G with ``dl = tr(G dSigma)``."""
        by_mu, G = np.zeros_like(mu), np.zeros_like(Sigma)
        for part in self._parts(mu, Sigma):
            by_mu += (part.m[:, None] * part.Wz).sum(axis=0)
            G += (part.m[:, None, None] * (part.WTW - part.W)).sum(axis=0) / 2
        return by_mu, G

    def information(self, mu: Floats, Sigma: Floats) -> Floats:
        """Return minus the Hessian with respect to (mu, lower triangle of Sigma).

        For directions H and K of Sigma a pattern contributes ``m/2 tr(H W K (2 W T W - W))``; for K
        and mu, ``m W K W z``; for mu, ``m W``. The first is summed over patterns as one product of
        stacks, of the lower triangles only.
        """
        d = len(mu)
        a, b = lower_triangle(d)
        at = np.empty((d, d), dtype=np.intp)  # the place of each entry in the triangle
        at[a, b] = at[b, a] = np.arange(len(a))
        by_mu, mixed = np.zeros((d, d)), np.zeros((len(a), d))
        outer = np.zeros((len(a), len(a)))
        for part in self._parts(mu, Sigma):
            weighted = part.W * part.m[:, None, None]
            by_mu += weighted.sum(axis=0)
            mixed += cross_products(weighted[:, a, b], part.Wz)
            outer += cross_products(weighted[:, a, b], (2 * part.WTW - part.W)[:, a, b])
        counted = np.where(a == b, 0.5, 1.0)
        rows = np.arange(d)[:, None]
        by_both = (mixed[at[rows, a], b] + mixed[at[rows, b], a]) * counted
        aa, ab, ba, bb = at[a[:, None], a], at[a[:, None], b], at[b[:, None], a], at[b[:, None], b]
        form = outer[ba, ba.T] + outer[bb, aa.T] + outer[aa, bb.T] + outer[ab, ab.T]
        by_Sigma = form / 2 * counted * counted[:, None]
        return np.block([[by_mu, by_both], [by_both.T, (by_Sigma + by_Sigma.T) / 2]])

    def score_products(
        self, X: Floats, mu: Floats, Sigma: Floats, weights: Floats | None = None
    ) -> Floats:
        """Return the sum over rows of the outer products of their scores."""
        d = len(mu)
        a, b = lower_triangle(d)
        counted = np.where(a == b, 0.5, 1.0)
        total = np.zeros((d + len(a), d + len(a)))
        W = self.precisions(Sigma)
        entries = W[:, a, b]
        _, u = self.deviations(X, mu, W)
        for some in chunks(len(X)):
            by_Sigma = (u[some][:, a] * u[some][:, b] - entries[self.row_pattern[some]]) * counted
            scores = np.hstack([u[some], by_Sigma])
            if weights is not None:
                scores *= weights[some, None]
            total += cross_products(scores, scores)
        return total

    def deviations(self, X: Floats, mu: Floats, W: Floats) -> tuple[Floats, Floats]:
        """Return the deviations of rows from mu, zero for missing cells, and their products with W."""
        z = np.where(np.isfinite(X), X - mu, 0.0)
        u = np.empty_like(z)
        for rows, precision in zip(_rows_by_pattern(self.row_pattern, len(W)), W, strict=True):
            u[rows] = z[rows] @ precision
        return z, u

    def em_step(self, mu: Floats, Sigma: Floats) -> tuple[Floats, Floats]:
        """Replace missing cells by their expectations, and return mean and covariance matrix.

        In terms of the derivatives g and G: ``mu + Sigma g / n`` and ``Sigma + 2 Sigma G Sigma / n``,
        about the new mean.
        """
        by_mu, G = self.gradient(mu, Sigma)
        shift = cross_products(Sigma, by_mu[:, None])[:, 0] / self.total
        moved = cross_products(Sigma, cross_products(G, Sigma)) * (2 / self.total)
        return mu + shift, Sigma + (moved + moved.T) / 2 - np.outer(shift, shift)

    def _parts(self, mu: Floats, Sigma: Floats) -> Iterator[_Part]:
        P, d = self.observed.shape
        size = max(1, _STACK // d**2)
        for start in range(0, P, size):
            some = slice(start, start + size)
            observed = self.observed[some]
            z = (self.mean[some] - mu) * observed
            terms = _core.pattern_terms(
                np.ascontiguousarray(Sigma), observed.view(np.uint8), z, self.scatter[some]
            )
            yield _Part(self.count[some], observed.sum(axis=1).astype(np.float64), *terms)


class _Part(NamedTuple):
    """A slice of patterns: m, k, W, W T W, W z, ``log |Sigma_oo|`` and ``tr(W T)``."""

    m: Floats
    cells: Floats
    W: Floats
    WTW: Floats
    Wz: Floats
    log_det: Floats
    trace: Floats


def _rows_by_pattern(row_pattern: Indices, n_patterns: int) -> list[Indices]:
    order = np.argsort(row_pattern, kind="stable")
    ends = np.searchsorted(row_pattern[order], np.arange(1, n_patterns))
    return np.split(order, ends)


@dataclass(frozen=True, eq=False)
class Saturated:
    """The maximum of the likelihood without a graph, and the number of EM and Newton steps."""

    mean: Floats
    Sigma: Floats
    loglik: float
    n_iter: int
    converged: bool


def saturated(patterns: Patterns) -> Saturated:
    """Return the saturated mean and covariance matrix."""
    share = patterns.count[:, None] * patterns.observed
    weight = share.sum(axis=0)
    mu = (share * patterns.mean).sum(axis=0) / weight
    z = (patterns.mean - mu) * patterns.observed
    squares = patterns.scatter.diagonal(axis1=1, axis2=2) + z**2
    Sigma = np.diag((share * squares).sum(axis=0) / weight)
    value = patterns.loglik(mu, Sigma)
    newton = len(mu) <= _MOST_FOR_NEWTON
    for step in range(_MOST_STEPS):
        if newton and step >= _EM_FIRST:
            ahead = _newton_step(patterns, mu, Sigma, value)
            if ahead is not None:
                mu, Sigma, value, predicted = ahead
                if predicted <= _NEWTON_GAIN * patterns.total:
                    return Saturated(mu, Sigma, value, step + 1, True)
                continue
        mu, Sigma = patterns.em_step(mu, Sigma)
        before, value = value, patterns.loglik(mu, Sigma)
        if not math.isfinite(value):
            return Saturated(mu, Sigma, value, step + 1, False)
        if not newton and value - before <= _EM_GAIN * patterns.total:
            return Saturated(mu, Sigma, value, step + 1, True)
    return Saturated(mu, Sigma, value, _MOST_STEPS, False)


def _newton_step(
    patterns: Patterns, mu: Floats, Sigma: Floats, value: float
) -> tuple[Floats, Floats, float, float] | None:
    """Return the next point, its log-likelihood and the predicted gain; None if the step fails."""
    d = len(mu)
    a, b = lower_triangle(d)
    by_mu, G = patterns.gradient(mu, Sigma)
    gradient = np.concatenate([by_mu, np.where(a == b, 1.0, 2.0) * G[a, b]])
    J = patterns.information(mu, Sigma)
    scale = np.sqrt(np.abs(np.diag(J)))
    scaled = _core.solve_definite(J / scale / scale[:, None], gradient / scale)
    if scaled is None:
        return None
    step = scaled / scale
    predicted = float(np.sum(gradient * step)) / 2
    change = np.zeros_like(Sigma)
    change[a, b] = change[b, a] = step[d:]
    noise = 1e-14 * abs(value)  # rounding error of the log-likelihood
    reached = patterns.loglik(mu + step[:d], Sigma + change)
    if reached < value - noise:
        return None
    return mu + step[:d], Sigma + change, reached, predicted


@dataclass(frozen=True, eq=False)
class IncompleteRows(Sample):
    """Rows with missing values, standardized by mean and sd of the observed cells of a column."""

    X: Floats  # NaN for missing cells
    center: Floats
    scale: Floats
    approach: Literal["fiml", "two-stage"]  # how graphs are fitted
    weights: Floats | None = None  # sampling weights with mean one

    @classmethod
    def of(
        cls, values: Floats, approach: Literal["fiml", "two-stage"], weights: Floats | None = None
    ) -> IncompleteRows:
        """Standardize the columns by their observed cells."""
        center, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        return cls((values - center) / scale, center, scale, approach, weights)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @cached_property
    def patterns(self) -> Patterns:
        """The standardized rows by pattern."""
        return Patterns.of(self.X, self.weights)

    @cached_property
    def saturated(self) -> Saturated:
        """The maximum of the likelihood without a graph, in standardized units."""
        return saturated(self.patterns)

    def moments(self) -> tuple[Floats, Floats]:
        """Return mean and covariance matrix, in the units of the data."""
        found = self.saturated
        S = found.Sigma * self.scale * self.scale[:, None]
        return self.center + found.mean * self.scale, S

    def gamma(self) -> Floats:
        found, d = self.saturated, self.X.shape[1]
        J = safe_inverse(self.patterns.information(found.mean, found.Sigma))
        meat = self.patterns.score_products(self.X, found.mean, found.Sigma, self.weights)
        a, b = lower_triangle(d)
        unit = self.scale[a] * self.scale[b]
        G: Floats = (J @ meat @ J)[d:, d:] * self.n_rows * unit * unit[:, None]
        return G

    def effective_n(self) -> float:
        """Return the number of rows in which a pair is observed, averaged over pairs."""
        observed = np.isfinite(self.X).astype(np.float64)
        together = cross_products(observed, observed)
        pairs = together[np.tril_indices(len(together), -1)] if len(together) > 1 else together
        return float(np.round(pairs.mean()))

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, IncompleteRows]:
        some = list(order)
        X, weights = self.X[:, some], self.weights
        if len(some) < self.X.shape[1]:
            there = np.isfinite(X).any(axis=1)
            X = X[there]
            weights = rescaled(weights, there)
        rows = IncompleteRows(X, self.center[some], self.scale[some], self.approach, weights)
        if len(some) == self.X.shape[1]:
            return taken, rows
        mean, S = rows.moments()
        return Summary(S, rows.effective_n(), mean), rows

    def redrawn(self, rows: Indices) -> tuple[Floats, IncompleteRows]:
        drawn = replace(self, X=self.X[rows], weights=rescaled(self.weights, rows))
        return drawn.moments()[1], drawn

    def describe(self) -> str:
        return f"{self.n_rows} rows with {percent(np.isnan(self.X).mean())} of values missing"


def drop_missing(
    table: frames.Table,
    weights: Floats | None,
    missing: Missing | None,
    correlation: Correlation,
    ordered: bool,
    use: str,
) -> tuple[frames.Table, Floats | None, tuple[str, ...]]:
    """Raise an error on missing values, drop their rows, or leave them for the likelihood.

    `use` is the value of `missing` that an error recommends.
    """
    X = table.X
    # The sum of a slice is finite if all its cells are; one pass suffices for complete data.
    with np.errstate(invalid="ignore", over="ignore"):
        finite = all(
            math.isfinite(float(X[rows].sum())) or np.isfinite(X[rows]).all()
            for rows in row_slices(X)
        )
    if finite:
        return table, weights, ()
    numbers = correlation == "pearson" and not ordered
    if np.isinf(X).any() or missing is None:
        raise missing_values(table.names, X, "value", use if numbers or ordered else "")
    if missing == "listwise":
        keep = np.isfinite(X).all(axis=1)
        kept, total = int(keep.sum()), len(X)
        if kept < 2:
            raise DataError(
                f"missing='listwise': only {kept} of {total} rows are complete; use "
                "missing='fiml', or drop the columns with most missing values"
            )
        note = f"{total - kept} of {total} rows with missing values were dropped"
        return table._rows(keep), rescaled(weights, keep), (note,)
    if (missing == "pairwise") != ordered or not (numbers or ordered):
        best = "pairwise" if ordered else "fiml" if numbers else "listwise"
        what = "ordered categories" if ordered else "numbers" if numbers else "ranks"
        raise DataError(f"missing={missing!r} cannot be combined with {what}; use missing={best!r}")
    if missing == "pairwise" and weights is None:  # weights are refused later
        some = np.isfinite(X).any(axis=1)
        empty = len(X) - np.count_nonzero(some)
        note = f"{empty} rows without observed values were dropped"
        return table._rows(some), None, (note,) * bool(empty)
    return table, weights, ()


def read_incomplete(
    names: tuple[str, ...],
    values: Floats,
    approach: Literal["fiml", "two-stage"],
    weights: Floats | None,
) -> tuple[Summary, IncompleteRows, tuple[str, ...]]:
    """Return the moments, the rows and notes; raise an error if the rows do not suffice."""
    check_constant(names, values)
    some = np.isfinite(values).any(axis=1)
    notes: tuple[str, ...] = ()
    if not some.all():
        notes = (f"{count(int((~some).sum()), 'row')} without observed values dropped",)
        values, weights = values[some], rescaled(weights, some)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    if max(-float(low.min()), float(high.max())) > LARGEST:
        check_scale(names, np.maximum(-low, high), "values up to")
    rows = IncompleteRows.of(values, approach, weights)
    together = check_pairs(names, values)
    found = rows.saturated
    if not found.converged:
        pairs = together + np.triu(np.full_like(together, np.inf))
        fewest = np.unravel_index(np.argmin(pairs), pairs.shape)
        raise DataError(
            "no maximum of the likelihood of the observed values was found: too many missing values "
            f"for {len(values)} rows ({names[fewest[1]]!r} and {names[fewest[0]]!r} are observed "
            f"together in {together[fewest]:.0f} of them); use fewer variables, or "
            "missing='listwise'"
        )
    mean, S = rows.moments()
    return Summary(S, rows.effective_n(), mean), rows, notes


@dataclass(frozen=True, eq=False, repr=False)
class MissingSummary(TextDisplay, ToDict, Frozen):
    """Patterns of missing values, and a test of missingness completely at random.

    Attributes
    ----------
    names : tuple of str
        The variables.
    missing : tuple of int
        Number of missing values of each variable.
    patterns : ndarray of bool, shape (P, d)
        True where a value is missing; the most complete patterns come first.
    rows : tuple of float
        Number of rows (sum of weights) of each pattern.
    statistic, df, p_value : float, int, float
        Little's test that values are missing completely at random, which compares the means of the
        patterns. A small p-value means that dropping incomplete rows would bias the results. No
        test can tell whether missingness depends on the missing values themselves.
    """

    names: tuple[str, ...]
    missing: tuple[int, ...]
    patterns: Bools
    rows: tuple[float, ...]
    statistic: float
    df: int
    p_value: float

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the patterns as a data frame of "pandas", "polars" or "pyarrow"."""
        missing = dict(zip(self.names, self.patterns.T, strict=True))
        return data_frame({"rows": list(self.rows), **missing}, backend)

    def _headline(self) -> str:
        test = f"Little's test {self.statistic:.2f} on {self.df} df, {p_text(self.p_value)}"
        return f"{count(len(self.rows), 'pattern')} of {sum(self.rows):.0f} rows; {test}"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        names = [quote(name) for name in self.names]
        rows = []
        for size, pattern in zip(self.rows, self.patterns, strict=True):
            missing = ", ".join(names[k] for k in np.flatnonzero(pattern))
            rows.append((f"{size:g}", shorten_list(missing or "none", "more", most=100)))
        yield Table(("rows", "missing"), rows, left=(1,), most=MOST_ROWS, rest="more patterns")


def summarize_missing(names: tuple[str, ...], sample: IncompleteRows) -> MissingSummary:
    """Return the patterns of missing values, and Little's test."""
    from scipy.special import chdtrc

    found, patterns = sample.saturated, sample.patterns
    statistic = 0.0
    for observed, rows, mean in zip(patterns.observed, patterns.count, patterns.mean, strict=True):
        z = (mean - found.mean)[observed]
        block = found.Sigma[np.ix_(observed, observed)]
        statistic += float(rows * (z @ inverse_covariance(block) @ z))
    df = int(patterns.observed.sum()) - len(names)
    missing, rows = np.isnan(sample.X).sum(axis=0).tolist(), patterns.count.tolist()
    p_value = float(chdtrc(df, statistic)) if df else math.nan
    counts = (tuple(missing), ~patterns.observed, tuple(rows))
    return MissingSummary(names, *counts, statistic, df, p_value)
