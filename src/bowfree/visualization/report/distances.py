"""How far rows are from the mean, and whether they are as far as rows of normal data are.

Mardia's kurtosis is the mean of the fourth power of the Mahalanobis distance, ``d (d + 2)`` for d
normal variables; his skewness is in :mod:`bowfree.visualization.report.skewness`. A row with gaps has the
distance of its observed cells, with mean and covariance matrix of largest likelihood. The kurtosis
is then compared with the mean of ``k (k + 2)`` for rows of k observed cells (Yuan,
Lambert and Fouladi): of one row ``D^4 - k (k + 2)`` has variance ``8 k (k + 2) (k + 3)``, and what
its covariance c with the score explains, ``c^T J^-1 c`` with J the information of one row, is lost
to the estimation of mean and covariance matrix. For complete rows ``8 d (d + 2)`` is left, which is
Mardia's.

References
----------
K. Mardia, Measures of multivariate skewness and kurtosis with applications, Biometrika 1970;
K.-H. Yuan, P. Lambert and R. Fouladi, Mardia's multivariate kurtosis with missing data,
Multivariate Behavioral Research 2004.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import safe_inverse
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.sample import lower_triangle
from bowfree.visualization.report.skewness import complete_skewness, incomplete_skewness

Floats = npt.NDArray[np.float64]

MIN_ROWS = 20  # below, the approximations behind the tests do not hold


class Mardia(NamedTuple):
    """Mardia's moments, what normal data have for the kurtosis, and p-values; NaN if unknown."""

    skewness: float = math.nan
    kurtosis: float = math.nan
    normal_kurtosis: float = math.nan
    p_skewness: float = math.nan
    p_kurtosis: float = math.nan


class Distances(NamedTuple):
    """Squared Mahalanobis distances of rows, their tail probabilities, and Mardia's moments."""

    squared: Floats
    p_values: Floats
    mardia: Mardia


def complete_distances(deviations: Floats) -> Distances:
    """Look at rows without gaps, given as deviations from their mean.

    Where their covariance matrix is singular there are no distances.
    """
    from scipy import stats

    n, d = deviations.shape
    S = deviations.T @ deviations / n
    if n <= d + 1 or np.linalg.cond(S) > 1e12:
        return Distances(np.empty(0), np.empty(0), Mardia())
    whitened = np.asarray(np.linalg.solve(np.linalg.cholesky(S), deviations.T).T, np.float64)
    squared = (whitened**2).sum(axis=1)
    # With mean and covariance estimated from the same rows, D^2 / n has a beta law.
    p_values = stats.beta.sf(squared / (n - 1), d / 2, (n - d - 1) / 2)
    mardia = _mardia(whitened, squared) if n >= MIN_ROWS else Mardia()
    return Distances(squared * (n - 1) / n, p_values, mardia)


def _mardia(Z: Floats, squared: Floats) -> Mardia:
    """Return both moments of whitened rows."""
    n, d = Z.shape
    skewness = complete_skewness(Z)
    kurtosis, normal = float((squared**2).mean()), float(d * (d + 2))
    p_kurtosis = _tails(kurtosis - normal, 8 * normal / n)
    return Mardia(skewness.value, kurtosis, normal, skewness.p_value, p_kurtosis)


def incomplete_distances(rows: IncompleteRows) -> Distances:
    """Look at rows with gaps: each at its observed cells."""
    from scipy.special import chdtrc

    found, patterns, n = rows.saturated, rows.patterns, rows.n_rows
    W = patterns.precisions(found.Sigma)
    z = np.where(np.isfinite(rows.X), rows.X - found.mean, 0.0)
    y = np.empty_like(z)
    for p, precision in enumerate(W):
        some = np.flatnonzero(patterns.row_pattern == p)
        y[some] = z[some] @ precision
    squared = np.asarray(np.einsum("ri,ri->r", y, z))
    cells = patterns.observed.sum(axis=1).astype(np.float64)
    p_values = chdtrc(cells[patterns.row_pattern], squared)
    if n < MIN_ROWS:
        return Distances(squared, p_values, Mardia())
    share = patterns.count / patterns.total
    kurtosis, normal = float((squared**2).mean()), float(share @ (cells * (cells + 2)))
    # The score by Sigma is (W z z^T W - W) / 2, and E[D^4 z z^T] = (k + 2) (k + 4) Sigma.
    d = len(found.mean)
    a, b = lower_triangle(d)
    c = np.zeros(d + len(a))
    c[d:] = np.where(a == b, 2.0, 4.0) * np.tensordot(share * (cells + 2), W, 1)[a, b]
    J = patterns.information(found.mean, found.Sigma) / patterns.total
    variance = float(share @ (8 * cells * (cells + 2) * (cells + 3)) - c @ safe_inverse(J) @ c)
    skewness = incomplete_skewness(patterns, W, y)
    p_kurtosis = _tails(kurtosis - normal, variance / n)
    return Distances(
        squared, p_values, Mardia(skewness.value, kurtosis, normal, skewness.p_value, p_kurtosis)
    )


def _tails(excess: float, variance: float) -> float:
    """Return the two-sided p-value of a normal variable with mean zero; NaN without a variance."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(excess) / math.sqrt(variance))) if variance > 0 else math.nan
