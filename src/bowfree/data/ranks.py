"""Rank correlations, which are invariant under monotone transformations.

If the columns are increasing functions of jointly normal variables (a Gaussian copula), ranks
identify the correlations of these variables: ``2 sin(pi rho / 6)`` for Spearman's rho,
``sin(pi tau / 2)`` for Kendall's tau. The resulting matrix need not be positive definite; it is
then replaced by the nearest correlation matrix, with a note.

Up to terms of order 1/n, both coefficients are means over rows of an influence function; ``Gamma``
is the covariance matrix of the influences. Ties are treated by midranks (Spearman) and tau-b
(Kendall).

References
----------
H. Liu, F. Han, M. Yuan, J. Lafferty and L. Wasserman, High-dimensional semiparametric Gaussian
copula graphical models, Annals of Statistics 2012; N. Higham, Computing the nearest correlation
matrix, IMA Journal of Numerical Analysis 2002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.frames import quoted
from bowfree.data.sample import Floats, Indices, Sample, Summary, cross_products, lower_triangle

Ranks = npt.NDArray[np.int32]

# Smallest eigenvalue of a correlation matrix that has been made positive definite.
_SMALLEST_EIGENVALUE = 1e-4
# If a normal variable is cut into this many equally frequent values, the ties change Spearman's
# correlation by about one percent.
_FEW_VALUES = 10


class CorrelatedRows(Sample):
    """Rows of which correlations are estimated, with an influence of each row."""

    @cached_property
    def estimates(self) -> tuple[Floats, Floats]:
        """The correlations in the lower triangle, row by row, and the influences (n, pairs)."""
        raise NotImplementedError

    def correlations(self) -> Floats:
        """Return the correlation matrix, which need not be positive definite."""
        r = self.estimates[0]
        d = round((1 + np.sqrt(1 + 8 * len(r))) / 2)
        R = np.eye(d)
        i, j = np.tril_indices(d, -1)
        R[i, j] = R[j, i] = r
        return R

    def effective_n(self) -> float:
        """Return the number of normal rows with equally precise correlations, on average."""
        r, influence = self.estimates
        if not len(r):
            return float(self.n_rows)
        share = (1 - r**2) ** 2 / np.maximum((influence**2).mean(axis=0), 1e-300)
        return float(max(2.0, np.round(self.n_rows * min(share.mean(), 1.0))))


@dataclass(frozen=True, eq=False)
class RankedRows(CorrelatedRows):
    """The ranks of complete rows."""

    ranks: Ranks  # dense ranks of each column from 0: equal values have equal ranks
    coefficient: Literal["spearman", "kendall"]

    @classmethod
    def of(cls, X: Floats, coefficient: Literal["spearman", "kendall"]) -> RankedRows:
        """Rank the columns."""
        columns = [np.unique(column, return_inverse=True)[1] for column in X.T]
        return cls(np.ascontiguousarray(np.stack(columns).T, dtype=np.int32), coefficient)

    @property
    def n_rows(self) -> int:
        return len(self.ranks)

    @cached_property
    def estimates(self) -> tuple[Floats, Floats]:
        return _kendall(self.ranks) if self.coefficient == "kendall" else _spearman(self.ranks)

    def gamma(self) -> Floats:
        # The variances are constant, so their entries are zero.
        influence = self.estimates[1]
        i, j = lower_triangle(self.ranks.shape[1])
        G = np.zeros((len(i), len(i)))
        G[np.ix_(i != j, i != j)] = cross_products(influence, influence) / self.n_rows
        return G

    def take(self, order: Sequence[int], taken: Summary) -> tuple[Summary, RankedRows]:
        return taken, RankedRows(np.ascontiguousarray(self.ranks[:, list(order)]), self.coefficient)

    def redrawn(self, rows: Indices) -> tuple[Floats, RankedRows]:
        drawn = RankedRows.of(self.ranks[rows].astype(np.float64), self.coefficient)
        return nearest_correlation(drawn.correlations())[0], drawn

    def describe(self) -> str:
        return f"{self.coefficient.capitalize()} correlations of {self.n_rows} rows"


def read_ranks(
    names: tuple[str, ...], X: Floats, coefficient: Literal["spearman", "kendall"]
) -> tuple[Summary, RankedRows, tuple[str, ...]]:
    """Return the correlations, the ranks and notes."""
    rows = RankedRows.of(X, coefficient)
    R, repaired = nearest_correlation(rows.correlations())
    n_values = rows.ranks.max(axis=0) + 1
    few = [name for k, name in enumerate(names) if n_values[k] < min(_FEW_VALUES, len(X))]
    note = f"{quoted(few)} has few different values; for ordered categories use `ordinal`"
    return Summary(R, rows.effective_n(), None), rows, (note,) * bool(few) + repaired


def nearest_correlation(R: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return the nearest positive definite correlation matrix, and a note if it is not the same.

    Alternating projections with Dykstra's correction (Higham 2002) onto the matrices with
    eigenvalues of at least 1e-4, and onto those with a unit diagonal.
    """
    R = np.ascontiguousarray(R)
    shifted = R - _SMALLEST_EIGENVALUE * np.eye(len(R))
    if _core.solve_definite(shifted, np.zeros(len(R))) is not None:
        return R, ()
    eigenvalues, V = _core.eigen_decomposition(R)
    smallest = float(eigenvalues.min())
    Y, correction = R.copy(), np.zeros_like(R)
    for _ in range(1000):
        shifted = Y - correction
        # Nearly diagonal in the basis of the step before, so that few rotations are needed.
        eigenvalues, turn = _core.eigen_decomposition(cross_products(V, cross_products(shifted, V)))
        V = cross_products(V.T, turn)
        X = cross_products((V * np.maximum(eigenvalues, _SMALLEST_EIGENVALUE)).T, V.T)
        correction = X - shifted
        Y = X.copy()
        np.fill_diagonal(Y, 1.0)
        if np.abs(Y - X).max() < 1e-9:
            break
    note = (
        f"the correlations were not positive definite (smallest eigenvalue {smallest:.2g}) and were "
        f"replaced by the nearest correlation matrix, changed by up to {np.abs(Y - R).max():.2g}"
    )
    return (Y + Y.T) / 2, (note,)


def _kendall(ranks: Ranks) -> tuple[Floats, Floats]:
    """Return the correlations from Kendall's tau-b, and their influences.

    With h the mean of ``sign(x - x') sign(y - y')`` over pairs of rows and t those of the squared
    signs, tau is ``h / sqrt(t_x t_y)``. Each is a U-statistic, on which the influence of a row is
    twice the deviation of its own mean.
    """
    n, d = ranks.shape
    columns = [np.ascontiguousarray(column) for column in ranks.T]
    untied = [(n - np.bincount(column)[column]) / (n - 1) for column in columns]
    pairs = []
    for i in range(d):
        for j in range(i):
            h = _core.concordance(columns[i], columns[j]) / (n - 1)
            ti, tj = untied[i], untied[j]
            scale = np.sqrt(ti.mean() * tj.mean())
            tau = h.mean() / scale
            share = (h - h.mean()) / scale
            share -= tau / 2 * ((ti / ti.mean() - 1) + (tj / tj.mean() - 1))
            slope = math.pi / 2 * math.cos(math.pi / 2 * tau)
            pairs.append((math.sin(math.pi / 2 * tau), slope * 2 * share))
    return stack_pairs(pairs, n)


def _spearman(ranks: Ranks) -> tuple[Floats, Floats]:
    """Return the correlations from Spearman's rho, and their influences.

    It is the correlation of the distribution functions F and G at the rows. A row contributes to
    the covariance of F and G by its own product, and by its effect on F and G at the others.
    """
    n, d = ranks.shape
    counts = [np.bincount(column) for column in ranks.T]
    grades = [(np.cumsum(c) - c / 2)[x] / n - 0.5 for c, x in zip(counts, ranks.T, strict=True)]

    def moved(i: int, j: int) -> Floats:
        """Return the effect of each row, by the grades of i in larger rows, on the product with j."""
        sums = np.bincount(ranks[:, i], weights=grades[j], minlength=len(counts[i]))
        after = sums.sum() - np.cumsum(sums)
        return np.asarray((after + sums / 2)[ranks[:, i]] / n, dtype=np.float64)

    def share(i: int, j: int) -> Floats:
        own = grades[i] * grades[j] + moved(i, j) + moved(j, i)
        return np.asarray(own - own.mean(), dtype=np.float64)

    variance = [float(np.mean(g * g)) for g in grades]
    shares = [share(i, i) / variance[i] for i in range(d)]
    pairs = []
    for i in range(d):
        for j in range(i):
            scale = np.sqrt(variance[i] * variance[j])
            rho = float(np.mean(grades[i] * grades[j])) / scale
            deviation = share(i, j) / scale - rho / 2 * (shares[i] + shares[j])
            slope = math.pi / 3 * math.cos(math.pi / 6 * rho)
            pairs.append((2 * math.sin(math.pi / 6 * rho), slope * deviation))
    return stack_pairs(pairs, n)


def stack_pairs(pairs: Sequence[tuple[float, Floats]], n: int) -> tuple[Floats, Floats]:
    """Return the correlations of all pairs of columns, and the influences of n rows on them."""
    if not pairs:
        return np.empty(0), np.empty((n, 0))
    return np.array([r for r, _ in pairs]), np.stack([influence for _, influence in pairs], axis=1)
