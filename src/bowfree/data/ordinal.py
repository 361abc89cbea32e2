"""Ordered categories: polychoric and polyserial correlations.

A column of ordered categories is modeled as a standard normal variable cut at thresholds. The first
step estimates thresholds from the proportions of the categories, and means and variances of numeric
columns. The second step maximizes the likelihood of each correlation given these: polychoric for
two columns of categories, polyserial for one, Pearson for none.

The influence of a row on a correlation is its score, minus the effect of its influence on the first
step, divided by the information. ``Gamma`` is the covariance matrix of the influences, so that
standard errors account for both steps.

With missing values ("pairwise"), the first step uses all observed values of a column, the second
all rows in which both columns are observed, as in lavaan; a row has influence zero on a step that
does not use it.

Columns become categories only if a data frame declares them as ordered, or the user names them.

The core computes probabilities of the bivariate normal distribution (cpp/data/binormal.hpp), for
many points at once, and with the same bits on processors with different vector instructions, unlike
NumPy's exponential function.

References
----------
U. Olsson, Maximum likelihood estimation of the polychoric correlation coefficient, Psychometrika
1979; B. Muthén, A general structural equation model with dichotomous, ordered categorical, and
continuous latent variable indicators, Psychometrika 1984; Z. Drezner and G. Wesolowsky, On the
computation of the bivariate normal integral, Journal of Statistical Computation and Simulation
1990; A. Genz, Numerical computation of rectangular bivariate and trivariate normal and t
probabilities, Statistics and Computing 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bowfree import _core
from bowfree.data.covariance import check_constant, check_pairs
from bowfree.data.frames import quoted
from bowfree.data.ranks import CorrelatedRows, nearest_correlation, stack_pairs
from bowfree.data.sample import Bools, Floats, Indices, Summary, cross_products, lower_triangle
from bowfree.errors import DataError
from bowfree.results.display import count, percent

# Columns with more values are numeric; contingency tables of them would be mostly empty.
_MOST_CATEGORIES = 50
# Largest correlation; beyond it, both columns order the rows in the same way.
_LARGEST = 0.9999
_STEPS = 60


@dataclass(frozen=True, eq=False)
class _Column:
    """A column after the first step."""

    values: Floats  # standardized if numeric
    codes: Indices  # indices of the categories, -1 if missing; empty for a numeric column
    thresholds: Floats  # including both infinities; empty for a numeric column
    sd: float
    present: Bools

    @classmethod
    def of(cls, values: Floats, *, ordinal: bool) -> _Column:
        present = ~np.isnan(values)
        observed = values[present]
        if not ordinal:
            mean, sd = float(observed.mean()), float(observed.std())
            none = np.empty(0, dtype=np.intp)
            return cls((values - mean) / sd, none, np.empty(0), sd, present)
        from scipy.special import ndtri

        codes = np.full(len(values), -1)
        _, codes[present] = np.unique(observed, return_inverse=True)
        below = np.cumsum(np.bincount(codes[present]))[:-1] / len(observed)
        return cls(values, codes, np.array([-np.inf, *ndtri(below), np.inf]), 1.0, present)

    @property
    def ordinal(self) -> bool:
        return len(self.thresholds) > 0

    @cached_property
    def first_step(self) -> Floats:
        """The influence of each row on thresholds, or on mean and logarithm of the sd."""
        if self.ordinal:
            inner = self.thresholds[1:-1]
            below = self.codes[:, None] <= np.arange(len(inner))
            influence = (below - below[self.present].mean(axis=0)) / _phi(inner)
        else:
            influence = np.stack([self.values, (self.values**2 - 1) / 2], axis=1)
        return _spread(influence[self.present], self.present)


def _spread(influence: Floats, rows: Bools) -> Floats:
    """Return the influences of some rows on their mean as those of all rows, 0 for the others."""
    if rows.all():
        return influence
    spread = np.zeros((len(rows), *influence.shape[1:]))
    spread[rows] = influence / rows.mean()
    return spread


@dataclass(frozen=True, eq=False)
class MixedRows(CorrelatedRows):
    """Rows with columns of ordered categories."""

    X: Floats  # numbers for categories, NaN for missing values
    ordinal: tuple[bool, ...]  # which columns are ordered categories

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @cached_property
    def columns(self) -> tuple[_Column, ...]:
        """The columns, after the first step."""
        both = zip(self.X.T, self.ordinal, strict=True)
        return tuple(_Column.of(x, ordinal=ordinal) for x, ordinal in both)

    @cached_property
    def estimates(self) -> tuple[Floats, Floats]:
        columns = self.columns
        pairs = [correlation(columns[i], columns[j]) for i in range(len(columns)) for j in range(i)]
        return stack_pairs(pairs, self.n_rows)

    def covariance(self) -> tuple[Floats, tuple[str, ...]]:
        """Return the covariance matrix, with variance one for categories, and notes."""
        R, notes = nearest_correlation(self.correlations())
        sd = np.array([column.sd for column in self.columns])
        return R * sd * sd[:, None], notes

    def gamma(self) -> Floats:
        # S_ij = s_i s_j r_ij depends on the standard deviations, too.
        i, j = lower_triangle(len(self.ordinal))
        r, influence = np.ones(len(i)), np.zeros((self.n_rows, len(i)))
        r[i != j], influence[:, i != j] = self.estimates
        sd = np.array([column.sd for column in self.columns])
        of_sd = np.zeros_like(self.X)
        for k, column in enumerate(self.columns):
            if not column.ordinal:
                of_sd[:, k] = column.first_step[:, 1]
        influence = sd[i] * sd[j] * (influence + r * (of_sd[:, i] + of_sd[:, j]))
        return cross_products(influence, influence) / self.n_rows

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, MixedRows]:
        some = list(order)
        return taken, replace(self, X=self.X[:, some], ordinal=tuple(self.ordinal[k] for k in some))

    def redrawn(self, rows: Indices) -> tuple[Floats, MixedRows]:
        drawn = replace(self, X=self.X[rows])
        return drawn.covariance()[0], drawn

    def describe(self) -> str:
        missing = np.isnan(self.X).mean()
        gaps = f" and {percent(missing)} of values missing" if missing else ""
        return f"{self.n_rows} rows with {count(sum(self.ordinal), 'ordinal column')}{gaps}"


def read_mixed(
    names: tuple[str, ...], X: Floats, declared: Mapping[str, tuple[str, ...] | None]
) -> tuple[Summary, MixedRows, tuple[str, ...]]:
    """Return the moments, the rows and notes; X may have missing values."""
    check_constant(names, X)
    values = {
        name: np.unique(column[~np.isnan(column)]) for name, column in zip(names, X.T, strict=True)
    }
    many = [name for name in declared if len(values[name]) > _MOST_CATEGORIES]
    if many:
        raise DataError(
            f"ordinal column {quoted(many)} has more than {_MOST_CATEGORIES} values: merge categories, "
            "or omit it from `ordinal` to treat it as numeric"
        )
    check_pairs(names, X)
    # A copy, because the array may be the user's own.
    rows = MixedRows(X.copy(), tuple(name in declared for name in names))
    S, repaired = rows.covariance()
    note = f"ordered categories: {quoted(list(declared))}; their variances are set to one"
    unused = []
    for name, labels in declared.items():
        there = set(values[name].astype(int))
        absent = [label for k, label in enumerate(labels or ()) if k not in there]
        if absent:
            unused.append(f"{name!r} has no rows of category {quoted(absent)}")
    i, j = np.tril_indices(len(names), -1)
    at_end = [
        f"{names[i[k]]!r} and {names[j[k]]!r}"
        for k in np.flatnonzero(np.abs(rows.estimates[0]) > _LARGEST - 1e-6)
    ]
    if at_end:
        raise DataError(
            f"{', '.join(at_end[:12])}: their polychoric correlation is 1 or -1, because both order "
            "(nearly) all rows in the same way; drop one of them, or merge categories"
        )
    return Summary(S, rows.effective_n(), None), rows, (note, *unused, *repaired)


def correlation(a: _Column, b: _Column) -> tuple[float, Floats]:
    """Return the correlation of two columns, and the influence of each row on it."""
    if a.ordinal and b.ordinal:
        return _polychoric(a, b)
    if a.ordinal or b.ordinal:
        return _polyserial(b, a) if a.ordinal else _polyserial(a, b)
    return _pearson(a, b)


def _pearson(a: _Column, b: _Column) -> tuple[float, Floats]:
    """Maximize the likelihood given means and standard deviations, which may be of other rows."""
    both = a.present & b.present
    x, y = a.values[both], b.values[both]
    xy, squares = float(np.mean(x * y)), float(np.mean(x**2 + y**2))
    if both.all():
        return xy, x * y - xy / 2 * (x**2 + y**2)

    def score_and_information(r: float) -> tuple[float, float]:
        rest = 1 - r * r
        score = r * rest + (1 + r * r) * xy - r * squares
        return score / rest**2, (1 + r * r) / rest**2

    r = _maximum(score_and_information)
    rest = 1 - r * r
    score = r * rest + (1 + r * r) * x * y - r * (x**2 + y**2)
    influence = _spread(score, both) + r * rest * (a.first_step[:, 1] + b.first_step[:, 1])
    return r, influence / (1 + r * r)


def _polychoric(a: _Column, b: _Column) -> tuple[float, Floats]:
    """Maximize the likelihood of a contingency table; rows in a cell have the same influence."""
    from scipy.special import ndtr

    both = a.present & b.present
    cells = a.codes[both], b.codes[both]
    h, k = a.thresholds[:, None], b.thresholds[None]
    table = np.zeros((len(h) - 1, k.shape[1] - 1))
    np.add.at(table, cells, 1.0)
    if table.shape == (2, 2) and (table == 0).sum() == 1:
        # The usual correction for a 2 x 2 table: 0.5 in the empty cell, with the same margins.
        on_diagonal = table[0, 0] == 0 or table[1, 1] == 0
        table += np.where(np.eye(2) == on_diagonal, 0.5, -0.5)
    share = table / len(cells[0])

    def cells_at(r: float) -> tuple[Floats, Floats]:
        """Return the probabilities of the cells, and their derivatives by r."""
        P = np.maximum(_rectangles(binormal_cdf(h, k, r)), 1e-300)
        return P, _rectangles(binormal_density(h, k, r))

    def score_and_information(r: float) -> tuple[float, float]:
        P, slope = cells_at(r)
        return float(np.sum(share * slope / P)), float(np.sum(slope**2 / P))

    r = _maximum(score_and_information)
    P, slope = cells_at(r)
    ratio, information = slope / P, np.sum(slope**2 / P)
    influence = _spread(ratio[cells], both)
    for column, other, by_cell in ((a, b, ratio), (b, a, ratio.T)):
        # A threshold moves probability between the categories below and above it.
        inner = column.thresholds[1:-1, None]
        bounds = (other.thresholds[None] - r * inner) / np.sqrt(1 - r * r)
        by_threshold = _phi(inner) * np.diff(ndtr(bounds))
        mixed = np.sum((by_cell[:-1] - by_cell[1:]) * by_threshold, axis=1)
        influence = influence - (column.first_step * mixed).sum(axis=1)
    return r, influence / information


def _polyserial(a: _Column, b: _Column) -> tuple[float, Floats]:
    """Maximize the likelihood of categories given numbers."""
    from scipy.special import ndtr

    both = a.present & b.present
    z, codes = a.values[both], b.codes[both]
    upper, lower = b.thresholds[codes + 1], b.thresholds[codes]
    # The density at infinity is zero, so any finite factor will do.
    inner_upper, inner_lower = (np.where(np.isfinite(t), t, 0.0) for t in (upper, lower))

    def parts(r: float) -> tuple[Floats, Floats, Floats]:
        """Return the score, and the densities at the ends of the category over its probability."""
        c = np.sqrt(1 - r * r)
        high, low = (upper - r * z) / c, (lower - r * z) / c
        # In the upper tail use the lower one, where differences keep their digits.
        P = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        P = np.maximum(P, 1e-300)
        f_high, f_low = _phi(high), _phi(low)
        by_r = (f_high * (r * inner_upper - z) - f_low * (r * inner_lower - z)) / (c * c * c)
        return by_r / P, f_high / P, f_low / P

    def score_and_information(r: float) -> tuple[float, float]:
        score = parts(r)[0]
        return float(np.mean(score)), float(np.mean(score**2))

    r = _maximum(score_and_information)
    score, f_high, f_low = parts(r)
    c = np.sqrt(1 - r * r)
    by_z = -r / c * (f_high - f_low)
    # The first step: mean and standard deviation of z, thresholds of the categories.
    mixed = np.array([np.mean(score * -by_z), np.mean(score * -by_z * z)])
    influence = _spread(score, both) - (a.first_step * mixed).sum(axis=1)
    gains = np.zeros(len(b.thresholds))
    np.add.at(gains, codes + 1, score * f_high / c)
    np.add.at(gains, codes, -score * f_low / c)
    influence = influence - (b.first_step * (gains[1:-1] / len(z))).sum(axis=1)
    return r, influence / np.mean(score**2)


def _maximum(score_and_information: Callable[[float], tuple[float, float]]) -> float:
    """Return the zero of the score, by Fisher scoring with bisection as a safeguard."""
    low, high, r = -_LARGEST, _LARGEST, 0.0
    for _ in range(_STEPS):
        score, information = score_and_information(r)
        low, high = (r, high) if score > 0 else (low, r)
        ahead = r + (score / information if information > 0 else np.inf)
        if not low < ahead < high:
            ahead = (low + high) / 2
        if abs(ahead - r) < 1e-12:
            return ahead
        r = ahead
    return r


def _phi(x: Floats) -> Floats:
    """Return the density of the standard normal distribution, 0 at infinity."""
    return _core.normal_density(np.ascontiguousarray(x).ravel()).reshape(x.shape)


def binormal_cdf(h: Floats, k: Floats, r: float) -> Floats:
    """Return P(X < h, Y < k) of standard normals with correlation r; points may be infinite."""
    from scipy.special import ndtr

    P: Floats = ndtr(h) * ndtr(k) + _at_points(_core.binormal_dependence, h, k, r)
    return P


def binormal_density(h: Floats, k: Floats, r: float) -> Floats:
    """Return the density at (h, k), 0 at infinite points."""
    return _at_points(_core.binormal_density, h, k, r)


def _at_points(function: Callable[..., Floats], h: Floats, k: Floats, r: float) -> Floats:
    h, k = np.broadcast_arrays(np.asarray(h, dtype=np.float64), np.asarray(k, dtype=np.float64))
    return function(h.ravel(), k.ravel(), r).reshape(h.shape)


def _rectangles(corners: Floats) -> Floats:
    """Return the probabilities of the cells of a grid, from those of its corners."""
    inside: Floats = np.diff(np.diff(corners, axis=0), axis=1)
    return inside
