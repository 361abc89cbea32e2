"""The observations behind moments, and the precision with which they determine S.

A likelihood needs S and n. Standard errors and tests that do not rely on normal, complete data
also need ``Gamma``, the covariance matrix of the entries of ``sqrt(n) S``, which is estimated from
the observations: complete rows (here), rows with missing values
(:mod:`bowfree.data.missing_values`), ranks (:mod:`bowfree.data.ranks`) or ordered categories
(:mod:`bowfree.data.ordinal`).

The entries of a symmetric matrix are in the order of :func:`numpy.tril_indices`: ``S[0, 0]``,
``S[1, 0]``, ``S[1, 1]``, ``S[2, 0]``, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.results.frozen import Frozen

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

# Rows whose products are formed at a time: 4096 rows of 20 variables take 7 MB.
_CHUNK = 4096
# Cells that are read or written in one call: 8 MB, some hundredths of a second.
_CELLS = 2**20
# If a mean exceeds _FAR times the largest deviation in the first rows, the mean of a million rows is
# rounded so much that S loses digits.
_FAR, _FIRST_ROWS = 1e4, 64


class Summary(NamedTuple):
    """S, the (effective) sample size, and the mean."""

    S: Floats
    n: float
    mean: Floats | None


class Sample(Frozen):
    """Observations of some kind, with the columns in the order of the moments."""

    @property
    def n_rows(self) -> int:
        """Number of rows, the n that `gamma` and the tests of a fit refer to."""
        raise NotImplementedError

    @property
    def plain(self) -> bool:
        """Whether the rows are complete and unweighted, so that normal theory needs S and n only."""
        return False

    def gamma(self) -> Floats:
        """Return the asymptotic covariance matrix of ``sqrt(n_rows) S``, without normality."""
        raise NotImplementedError

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, Sample]:
        """Return the observations of some variables; `taken` has their block of S and mean."""
        raise NotImplementedError

    def redrawn(self, rows: Indices) -> tuple[Floats, Sample]:
        """Return S of a sample that consists of these rows, and the sample."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return a short description, such as "300 observations"."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CompleteRows(Sample):
    """Complete rows."""

    deviations: Floats  # values minus the (weighted) mean of their column
    weights: Floats | None = None  # sampling weights with mean one
    clusters: Indices | None = None  # number of the cluster of each row; rows may be dependent

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> tuple[CompleteRows, Floats]:
        """Return the rows, and their mean."""
        mean = X.sum(axis=0) / len(X) if weights is None else np.average(X, axis=0, weights=weights)
        deviations = np.empty_like(X)
        for rows in row_slices(X):
            np.subtract(X[rows], mean, out=deviations[rows])
        # Far from zero the mean is rounded; the mean of the deviations corrects it. One row usually
        # shows that this is not necessary.
        if _is_far(mean, np.abs(deviations[0])) and _is_far(
            mean, np.abs(deviations[:_FIRST_ROWS]).max(axis=0)
        ):
            rest = np.average(deviations, axis=0, weights=weights)
            for rows in row_slices(X):
                deviations[rows] -= rest
            mean = mean + rest
        return cls(deviations, weights), mean

    @property
    def n_rows(self) -> int:
        return len(self.deviations)

    @property
    def plain(self) -> bool:
        return self.weights is None and self.clusters is None

    def covariance(self) -> Floats:
        """Return the covariance matrix with divisor n."""
        rows = self.deviations
        weighted = rows if self.weights is None else rows * self.weights[:, None]
        return cross_products(weighted, rows) / self.n_rows

    def table(self, names: Sequence[str], mean: Floats | None) -> dict[str, Floats]:
        """Return the original rows, by column."""
        X = self.deviations if mean is None else self.deviations + mean
        return dict(zip(names, X.T, strict=True))

    def gamma(self, fixed: Sequence[int] = ()) -> Floats:
        """Return the asymptotic covariance matrix of the entries of S, given the columns `fixed`.

        Fourth moments; with weights w, the mean of w^2 (z z^T - S)(z z^T - S)^T. Given some columns,
        the products of predictions from these columns are subtracted, as in lavaan (``fixed.x``).
        """
        i, j = lower_triangle(self.deviations.shape[1])
        S, given = self.covariance(), list(fixed)
        slopes = inverse_covariance(S[np.ix_(given, given)]) @ S[given]
        s = (S - slopes.T @ S[given])[i, j]
        total = np.zeros((len(i), len(i)))
        sums = np.zeros((0 if self.clusters is None else self.clusters.max() + 1, len(i)))
        for chunk in chunks(self.n_rows):
            X = self.deviations[chunk]
            products = X[:, i] * X[:, j] - s
            if given:
                predicted = X[:, given] @ slopes
                products -= predicted[:, i] * predicted[:, j]
            if self.weights is not None:
                products *= self.weights[chunk, None]
            if self.clusters is None:
                total += cross_products(products, products)
            else:
                np.add.at(sums, self.clusters[chunk], products)
        return total / self.n_rows if self.clusters is None else self._between(sums)

    def mean_gamma(self) -> Floats:
        """Return the asymptotic covariance matrix of the mean, given the clusters."""
        assert self.clusters is not None
        sums = np.zeros((self.clusters.max() + 1, self.deviations.shape[1]))
        weight = 1.0 if self.weights is None else self.weights[:, None]
        np.add.at(sums, self.clusters, self.deviations * weight)
        return self._between(sums)

    def _between(self, sums: Floats) -> Floats:
        """Return the covariance matrix of the sums over clusters, per row of the data."""
        return cross_products(sums, sums) / self.n_rows * (len(sums) / (len(sums) - 1))

    def design_effect(self) -> float:
        """Return the ratio of the variances of correlations with and without the clusters.

        It is the mean over pairs, and at least 1. For clusters of m rows and two variables with
        intraclass correlations r and s that are independent of each other, it is 1 + (m - 1) r s.
        """
        X, d = self.deviations, self.deviations.shape[1]
        if self.clusters is None or d < 2:
            return 1.0
        order = np.argsort(self.clusters, kind="stable")
        starts = np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
        weights = np.ones((len(X), 1)) if self.weights is None else self.weights[order, None]
        Z = X[order] / np.sqrt(np.diag(self.covariance()))
        ratios = []
        for j in range(1, d):
            product = Z[:, :j] * Z[:, j:][:, :1]
            r = (weights * product).mean(axis=0)
            influence = weights * (product - r * (Z[:, :j] ** 2 + Z[:, [j]] ** 2) / 2)
            between = (np.add.reduceat(influence, starts, axis=0) ** 2).sum(axis=0)
            ratios.append(between / (influence**2).sum(axis=0))
        n_clusters = len(starts)
        return float(max(1.0, np.concatenate(ratios).mean() * n_clusters / (n_clusters - 1)))

    def effective_n(self) -> float:
        """Return Kish's effective sample size, divided by the design effect of the clusters."""
        n = float(self.n_rows)
        if self.plain:
            return max(2.0, n)
        if self.weights is not None:
            n = float(np.round(n * n / np.sum(self.weights**2)))
        return float(max(2.0, np.round(n / self.design_effect())))

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, CompleteRows]:
        rows = replace(self, deviations=self.deviations[:, list(order)])
        return taken if self.clusters is None else taken._replace(n=rows.effective_n()), rows

    def redrawn(self, rows: Indices) -> tuple[Floats, CompleteRows]:
        X = self.deviations[rows]
        weights = rescaled(self.weights, rows)
        drawn = type(self)(X - np.average(X, axis=0, weights=weights), weights)
        return drawn.covariance(), drawn

    def describe(self) -> str:
        groups = "" if self.clusters is None else f" in {self.clusters.max() + 1} clusters"
        return f"{self.n_rows} {'' if self.weights is None else 'weighted '}observations{groups}"


@dataclass(frozen=True, eq=False)
class NonGaussianRows(CompleteRows):
    """Complete rows that scores use beyond their covariances: errors may be non-Gaussian."""

    power: float = 1.0  # to which scores raise the evidence beyond covariances

    def describe(self) -> str:
        return f"{super().describe()}, non-Gaussian errors"


@dataclass(frozen=True, eq=False)
class Shrunk(Sample):
    """Observations whose covariances were multiplied by a factor below one."""

    sample: Sample
    factor: float

    @property
    def n_rows(self) -> int:
        return self.sample.n_rows

    @property
    def plain(self) -> bool:
        return self.sample.plain

    def gamma(self) -> Floats:
        G = self.sample.gamma()
        i, j = lower_triangle(int(np.sqrt(2 * len(G))))
        scale = np.where(i == j, 1.0, self.factor)
        return G * scale * scale[:, None]

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, Shrunk]:
        _, sample = self.sample.take(order, taken)
        return taken, Shrunk(sample, self.factor)

    def redrawn(self, rows: Indices) -> tuple[Floats, Shrunk]:
        S, sample = self.sample.redrawn(rows)
        return shrink(S, self.factor), Shrunk(sample, self.factor)

    def describe(self) -> str:
        return f"{self.sample.describe()}, covariances multiplied by {self.factor:g}"


def rescaled(weights: Floats | None, rows: Any) -> Floats | None:
    """Return the weights of some rows, with mean one."""
    return None if weights is None else weights[rows] / weights[rows].mean()


def _is_far(mean: Floats, spread: Floats) -> bool:
    return bool((np.abs(mean) > _FAR * spread).any())


def shrink(S: Floats, factor: float) -> Floats:
    """Multiply all covariances by a factor; variances stay."""
    shrunk = factor * S
    np.fill_diagonal(shrunk, np.diag(S))
    return shrunk


def row_slices(X: Floats) -> Iterator[slice]:
    """Yield slices of rows that are small enough for Ctrl-C to be heard in between."""
    some = max(1, _CELLS // X.shape[1])
    for start in range(0, len(X), some):
        yield slice(start, start + some)


def chunks(n: int) -> Iterator[slice]:
    """Yield slices that cover n rows, a few thousand at a time."""
    for start in range(0, n, _CHUNK):
        yield slice(start, start + _CHUNK)


def cross_products(X: Floats, Y: Floats) -> Floats:
    """Return ``X.T @ Y`` with the same bits on every processor, on which searches depend."""
    return _core.cross_products(np.ascontiguousarray(X), np.ascontiguousarray(Y))


def lower_triangle(d: int) -> tuple[Indices, Indices]:
    """Return the row and column of each entry of the lower triangle, row by row."""
    return np.tril_indices(d)


def inverse_covariance(S: Floats) -> Floats:
    """Return the inverse by that of the correlations, whose rounding errors have no units."""
    scale = 1 / np.sqrt(S.diagonal())
    units = scale[:, None] * scale
    inverse: Floats = np.linalg.inv(S * units) * units
    return inverse


def normal_gamma(S: Floats) -> Floats:
    """Return Gamma of complete normal data: ``S_ik S_jl + S_il S_jk`` for entries ij and kl."""
    i, j = lower_triangle(len(S))
    G: Floats = S[np.ix_(i, i)] * S[np.ix_(j, j)] + S[np.ix_(i, j)] * S[np.ix_(j, i)]
    return G
