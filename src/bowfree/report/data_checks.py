"""Are the data what the likelihood takes them for? Normality, and rows far from the rest.

The score is the Gaussian likelihood. Its maximiser is a sensible estimate for other laws too, but
standard errors, chi-square and p-values are then off, and a few extreme rows can decide about
edges. The checks here say when to look twice; they change nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError
from bowfree.model.column_checks import odd_columns, sentences
from bowfree.model.fit_result import Fit
from bowfree.model.reading import read_observations

__all__ = ["DataChecks", "Outlier", "VariableCheck", "check_data"]

Floats = npt.NDArray[np.float64]

LEVEL = 0.01  # of each family of tests, after Bonferroni's correction
_MIN_ROWS = 20  # below, the approximations behind the tests do not hold


@dataclass(frozen=True)
class VariableCheck:
    """One variable: moments, and the tests of D'Agostino for skewness and Anscombe for kurtosis.

    Attributes
    ----------
    name : str
        The variable.
    mean, sd, skewness, kurtosis : float
        Moments; kurtosis is in excess of the normal law's 3.
    p_skewness, p_kurtosis : float
        Two-sided p-values; NaN below 20 rows.
    """

    name: str
    mean: float
    sd: float
    skewness: float
    kurtosis: float
    p_skewness: float
    p_kurtosis: float


@dataclass(frozen=True)
class Outlier:
    """A row with its squared Mahalanobis distance from the mean and the tail probability of it."""

    row: int
    distance2: float
    p_value: float


@dataclass(frozen=True)
class DataChecks:
    """What the raw data look like.

    Attributes
    ----------
    variables : tuple of VariableCheck
        In node order.
    mardia_skewness, mardia_kurtosis : float
        Mardia's multivariate moments; ``d (d + 2)`` is the normal law's kurtosis.
    p_mardia_skewness, p_mardia_kurtosis : float
        Their p-values; NaN below 20 rows or where S is singular.
    outliers : tuple of Outlier
        The rows farthest out, farthest first; rows are counted from 1.
    n_outliers : int
        How many rows are out at the 1 % level, corrected for the number of rows.
    odd_columns : tuple of str
        A sentence about columns that look like row numbers, and one about those with few values.
    """

    variables: tuple[VariableCheck, ...]
    mardia_skewness: float
    mardia_kurtosis: float
    p_mardia_skewness: float
    p_mardia_kurtosis: float
    outliers: tuple[Outlier, ...]
    n_outliers: int
    odd_columns: tuple[str, ...] = ()

    @property
    def not_normal(self) -> list[str]:
        """The variables that are not normal, at the 1 % level corrected for their number."""
        level = LEVEL / (2 * len(self.variables))
        return [v.name for v in self.variables if v.p_skewness < level or v.p_kurtosis < level]

    @property
    def rejects_normality(self) -> bool:
        """Whether any variable, or all together, are not normal."""
        jointly = min(self.p_mardia_skewness, self.p_mardia_kurtosis) < LEVEL
        return jointly or bool(self.not_normal)

    def warnings(self) -> list[str]:
        """Return one sentence for each thing to look at."""
        found = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in self.odd_columns]
        strange = self.not_normal
        if strange:
            most = max(self.variables, key=lambda v: max(abs(v.skewness), abs(v.kurtosis)))
            found.append(
                f"{len(strange)} of {len(self.variables)} variables are not normal "
                f"({', '.join(strange[:6])}{', …' if len(strange) > 6 else ''}); most of all "
                f"{most.name}, skewness {most.skewness:.2f}, excess kurtosis {most.kurtosis:.2f}. "
                "Standard errors and tests assume normal data; a logarithm may help with skewness."
            )
        if min(self.p_mardia_skewness, self.p_mardia_kurtosis) < LEVEL:
            found.append(
                "The variables are not jointly normal: Mardia's skewness "
                f"{self.mardia_skewness:.3g} (p {_p(self.p_mardia_skewness)}), kurtosis "
                f"{self.mardia_kurtosis:.4g} (p {_p(self.p_mardia_kurtosis)})."
            )
        if self.n_outliers:
            one = self.n_outliers == 1
            rows = ", ".join(str(o.row) for o in self.outliers[: min(self.n_outliers, 6)])
            found.append(
                f"{self.n_outliers} row{'' if one else 's'} far from the rest (Mahalanobis "
                f"distance): {rows}{', …' if self.n_outliers > 6 else ''}. Check "
                f"{'it' if one else 'them'}: single rows can decide about edges."
            )
        return found


def check_data(fit: Fit, data: Any, *, listed: int = 10) -> DataChecks:
    """Check raw data for normality and outliers.

    Parameters
    ----------
    fit : Fit
        A fit to these data; columns are matched with its nodes.
    data : array_like of shape (n, d) or data frame
        Observations in rows.
    listed : int
        How many of the farthest rows to keep.

    Returns
    -------
    DataChecks

    Raises
    ------
    DataError
        When the data have another number of rows or other variances than those of the fit.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.report.data_checks import check_data
    >>> data = bf.datasets.load_demo()
    >>> checks = check_data(bf.fit(bf.datasets.demo_model().graph, data), data)
    >>> checks.warnings()
    []
    """
    from scipy import stats

    names, X = read_observations(data, fit.graph, "data")
    rows = np.flatnonzero(~np.isnan(X).any(axis=1))  # those that `missing="listwise"` has left
    X = X[rows]
    n, d = X.shape
    if n == 0:
        raise DataError("data have no rows; give the data of the fit")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not the fit's data
        deviations = X - X.mean(axis=0)
        variances = (deviations**2).mean(axis=0)
    if n != fit.n or not np.allclose(variances, np.diag(fit.S), rtol=1e-6):
        raise DataError(
            f"these are not the data of the fit: {n} rows against n = {fit.n:g}, variance of "
            f"{names[0]!r} {variances[0]:.6g} against {fit.S[0, 0]:.6g}; give the data as they "
            "were fitted (transformed, if they were)"
        )
    enough = n >= _MIN_ROWS
    skewness, kurtosis = stats.skew(X, axis=0), stats.kurtosis(X, axis=0)
    unknown = np.full(d, math.nan)
    p_skewness = stats.skewtest(X, axis=0).pvalue if enough else unknown
    p_kurtosis = stats.kurtosistest(X, axis=0).pvalue if enough else unknown
    columns = (X.mean(axis=0), X.std(axis=0, ddof=1), skewness, kurtosis, p_skewness, p_kurtosis)
    variables = tuple(
        VariableCheck(name, *(float(column[k]) for column in columns))
        for k, name in enumerate(names)
    )
    odd = tuple(sentences(odd_columns(names, X), drop="another search without it"))
    S = deviations.T @ deviations / n
    if n <= d + 1 or np.linalg.cond(S) > 1e12:
        nothing = (math.nan,) * 4
        return DataChecks(variables, *nothing, outliers=(), n_outliers=0, odd_columns=odd)
    whitened = np.linalg.solve(np.linalg.cholesky(S), deviations.T).T
    distance2 = (whitened**2).sum(axis=1)
    mardia = _mardia(whitened, distance2) if enough else (math.nan,) * 4
    # With mean and covariance estimated from the same rows, D^2 / n has a beta law.
    p_values = stats.beta.sf(distance2 / (n - 1), d / 2, (n - d - 1) / 2)
    farthest = np.argsort(-distance2, kind="stable")[:listed]
    return DataChecks(
        variables,
        *mardia,
        outliers=tuple(
            Outlier(int(rows[r]) + 1, float(distance2[r] * (n - 1) / n), float(p_values[r]))
            for r in farthest
        ),
        n_outliers=int((p_values < LEVEL / n).sum()),
        odd_columns=odd,
    )


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _mardia(Z: Floats, distance2: Floats) -> tuple[float, float, float, float]:
    """Mardia's skewness and kurtosis of whitened rows, with p-values."""
    from scipy.special import chdtrc, ndtr

    n, d = Z.shape
    # The mean of the cubed products over all pairs of rows is the squared norm of the third
    # moments: n^2 d operations by the first, n d^3 by the second, and never an n x n matrix.
    if n < d * d:
        skewness = sum(float(((Z[k : k + 256] @ Z.T) ** 3).sum()) for k in range(0, n, 256)) / n**2
    else:
        skewness = sum(float((((Z * Z[:, [a]]).T @ Z / n) ** 2).sum()) for a in range(d))
    kurtosis = float((distance2**2).mean())
    p_skewness = float(chdtrc(d * (d + 1) * (d + 2) / 6, n * skewness / 6))
    z = (kurtosis - d * (d + 2)) / math.sqrt(8 * d * (d + 2) / n)
    return skewness, kurtosis, p_skewness, float(2 * ndtr(-abs(z)))
