"""Mardia's skewness of rows, complete or with gaps, and whether normal data are that skew.

For complete rows it is the sum of the squared third moments of whitened rows, and n / 6 of it has a
chi-square law with ``d (d + 1) (d + 2) / 6`` degrees of freedom. That is the score test of the
third cumulants ``kappa_abc`` in the density

    phi(z) (1 + sum of kappa_abc H_abc(z) / 6),
    H_abc = y_a y_b y_c - y_a W_bc - y_b W_ac - y_c W_ab,

with W the inverse of Sigma and ``y = W z``, and the test is at hand where cells are missing, too.
The observed cells of such a density have the same density with their own cumulants, so that a row
scores by the H of its observed block, and only in triples that it has. Each H has mean zero and is
uncorrelated with the scores of mean and covariance matrix, so that nothing is lost to their
estimation; the covariance of two is the sum over the six ways of matching their indices,

    cov(H_abc, H_def) = sum of W_ad W_be W_cf    over the orders of d, e, f.

References
----------
K. Mardia, Measures of multivariate skewness and kurtosis with applications, Biometrika 1970.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.data.missing_values import Patterns
from bowfree.data.sample import chunks

Floats = npt.NDArray[np.float64]

MOST_WORK = 10**9  # multiplications that a report may spend on this: a second or two
MIN_TOGETHER = 20  # rows that must have three variables for their third moment to be tested


class Skewness(NamedTuple):
    """Mardia's skewness and its p-value; NaN if unknown."""

    value: float = math.nan
    p_value: float = math.nan


def complete_skewness(Z: Floats) -> Skewness:
    """Look at whitened rows."""
    n, d = Z.shape
    # The mean of the cubed products over all pairs of rows is the squared norm of the third
    # moments: n^2 d operations by the first, n d^3 by the second, and never an n x n matrix.
    if n < d * d:
        value = sum(float(((Z[k : k + 256] @ Z.T) ** 3).sum()) for k in range(0, n, 256)) / n**2
    else:
        value = sum(float((((Z * Z[:, [a]]).T @ Z / n) ** 2).sum()) for a in range(d))
    return _tested(value, n, d * (d + 1) * (d + 2) // 6)


def incomplete_skewness(patterns: Patterns, W: Floats, y: Floats) -> Skewness:
    """Look at rows with gaps; of triples that hardly any rows have, nothing is asked.

    Parameters
    ----------
    patterns : Patterns
        The rows by pattern, each counted once.
    W : ndarray of shape (P, d, d)
        Inverses of the observed blocks of Sigma, zero elsewhere.
    y : ndarray of shape (n, d)
        Each row's deviations from the mean times the W of its pattern.
    """
    n, d = y.shape
    triples = np.array(list(combinations_with_replacement(range(d), 3)), dtype=np.intp)
    a, b, c = (triples[:, k] for k in range(3))
    has = patterns.observed[:, a] & patterns.observed[:, b] & patterns.observed[:, c]
    tested = patterns.count @ has >= MIN_TOGETHER
    has, a, b, c = has[:, tested], a[tested], b[tested], c[tested]
    if not len(a) or 12 * (has.sum(axis=1, dtype=np.float64) ** 2).sum() > MOST_WORK:
        return Skewness()
    score = np.zeros(len(a))
    for some in chunks(n):
        score += np.einsum("ni,ni,ni->i", y[some][:, a], y[some][:, b], y[some][:, c])
    sums = np.zeros((len(W), d))
    np.add.at(sums, patterns.row_pattern, y)
    for i, j, k in ((a, b, c), (b, a, c), (c, a, b)):
        score -= np.einsum("pi,pi->i", sums[:, i], W[:, j, k])
    V = np.zeros((len(a), len(a)))
    for count, precision, there in zip(patterns.count, W, has, strict=True):
        asked = np.flatnonzero(there)
        block = sum(
            precision[np.ix_(a[asked], i[asked])]
            * precision[np.ix_(b[asked], j[asked])]
            * precision[np.ix_(c[asked], k[asked])]
            for i, j, k in permutations((a, b, c))
        )
        V[np.ix_(asked, asked)] += count * block
    statistic = float(score @ np.linalg.solve(V, score))
    return _tested(6 * statistic / n, n, len(a))


def _tested(value: float, n: int, df: int) -> Skewness:
    from scipy.special import chdtrc

    return Skewness(value, float(chdtrc(df, n * value / 6)))
