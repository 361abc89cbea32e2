"""Are the data what the likelihood takes them for? Normality, and rows far from the rest.

The score is the Gaussian likelihood. Its maximizer is a sensible estimate for other laws too, but
standard errors, chi-square and p-values are then off, and a few extreme rows can decide about
edges. The checks here say when to look twice; they change nothing. Where cells are missing, columns
are tested by what is observed of them, and rows by their observed cells
(:mod:`bowfree.visualization.report.distances`); both take the gaps to be there by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.column_checks import in_python, odd_columns, sentences
from bowfree.data.frames import read_observations
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.sample import CompleteRows
from bowfree.errors import DataError
from bowfree.model.fit_result import Fit
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import p_text
from bowfree.visualization.report.distances import (
    MIN_ROWS,
    Distances,
    Mardia,
    complete_distances,
    incomplete_distances,
)

Floats = npt.NDArray[np.float64]

LEVEL = 0.01  # of each family of tests, after Bonferroni's correction
SKEWED = 0.5  # skewness above which a logarithm is worth a try


@dataclass(frozen=True)
class VariableCheck:
    """One variable: moments, and the tests of D'Agostino for skewness and Anscombe for kurtosis.

    Attributes
    ----------
    name : str
        The variable.
    mean, sd, skewness, kurtosis : float
        Moments; kurtosis is in excess of the normal law's 3. Where cells are missing, mean and sd
        are those of largest likelihood, the others those of the observed cells.
    p_skewness, p_kurtosis : float
        Two-sided p-values; NaN below 20 observed cells.
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
    mardia : Mardia
        Mardia's multivariate moments, and their p-values; NaN below 20 rows or where S is singular.
    outliers : tuple of Outlier
        The rows farthest out, farthest first; rows are counted from 1.
    n_outliers : int
        How many rows are out at the 1 % level, corrected for the number of rows.
    odd_columns : tuple of str
        A sentence about columns that look like row numbers, and one about those with few values.
    """

    variables: tuple[VariableCheck, ...]
    mardia: Mardia
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
        return self._jointly_not_normal or bool(self.not_normal)

    @property
    def _jointly_not_normal(self) -> bool:
        return self.mardia.p_skewness < LEVEL or self.mardia.p_kurtosis < LEVEL

    def warnings(self) -> list[str]:
        """Return one sentence for each thing to look at."""
        found = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in self.odd_columns]
        strange = self.not_normal
        if strange:
            most = max(self.variables, key=lambda v: max(abs(v.skewness), abs(v.kurtosis)))
            skewed = any(v.name in strange and v.skewness > SKEWED for v in self.variables)
            advice = "; a logarithm may help with skewness" if skewed else ""
            found.append(
                f"{len(strange)} of {len(self.variables)} variables are not normal "
                f"({', '.join(strange[:6])}{', …' if len(strange) > 6 else ''}); most of all "
                f"{most.name}, skewness {_two(most.skewness)}, excess kurtosis "
                f"{_two(most.kurtosis)}. Standard errors and tests assume normal data{advice}."
            )
        if self._jointly_not_normal:
            joint = self.mardia
            skewness = f"skewness {joint.skewness:.3g} ({p_text(joint.p_skewness, 3)}), "
            found.append(
                f"The variables are not jointly normal: Mardia's "
                f"{'' if math.isnan(joint.skewness) else skewness}kurtosis "
                f"{joint.kurtosis:.4g}, {joint.normal_kurtosis:.4g} for normal data "
                f"({p_text(joint.p_kurtosis, 3)})."
            )
        if self.n_outliers:
            one = self.n_outliers == 1
            rows = ", ".join(str(o.row) for o in self.outliers[: min(self.n_outliers, 6)])
            more = f" and {self.n_outliers - 6} more" if self.n_outliers > 6 else ""
            named = f": {rows}{more}" if rows else ""
            found.append(
                f"{self.n_outliers} row{'' if one else 's'} far from the rest (Mahalanobis "
                f"distance){named}. Check "
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
    >>> from bowfree.visualization.report.data_checks import check_data
    >>> data = bf.datasets.load_demo()
    >>> checks = check_data(bf.fit(bf.datasets.demo_model().graph, data), data)
    >>> checks.warnings()
    []
    """
    names, X = read_observations(data, fit.graph, "data")
    rows, distances = _rows_of_the_fit(fit, names, X)
    X = X[rows]
    tests = [_column_tests(column[np.isfinite(column)]) for column in X.T]
    if isinstance(fit.moments.sample, IncompleteRows) and fit.moments.mean is not None:
        center, sd = fit.moments.mean, np.sqrt(fit.moments.variances)
    else:
        center, sd = X.mean(axis=0), X.std(axis=0, ddof=1)
    variables = tuple(
        VariableCheck(name, float(center[k]), float(sd[k]), *tests[k])
        for k, name in enumerate(names)
    )
    farthest = np.argsort(-distances.squared, kind="stable")[:listed]
    return DataChecks(
        variables,
        distances.mardia,
        outliers=tuple(
            Outlier(int(rows[r]) + 1, float(distances.squared[r]), float(distances.p_values[r]))
            for r in farthest
        ),
        n_outliers=int((distances.p_values < LEVEL / len(X)).sum()),
        odd_columns=tuple(
            sentences(
                odd_columns(names, X),
                drop=lambda some: f"another search without {'it' if len(some) == 1 else 'them'}",
                ordinal=in_python,
            )
        ),
    )


def checks_if_rows(fit: Fit, data: Any, aside: Moments | None = None) -> DataChecks | None:
    """Return the checks, or None where there are no rows of one table to look at.

    Parameters
    ----------
    fit : Fit
        What the rows were fitted by.
    data : array_like, data frame, Moments or None
        What was searched on.
    aside : Moments, optional
        The rows that were put aside then: the fit goes by these. Which rows of `data` they are is
        not known, so that outliers are counted and not named.
    """
    if data is None or isinstance(data, Moments) or isinstance(fit, JointFit):
        return None
    if aside is None:
        return check_data(fit, data) if checkable(fit.moments) else None
    rows = aside.sample
    if not (isinstance(rows, CompleteRows) and rows.plain):
        return None
    return replace(check_data(fit, rows.table(aside.names, aside.mean)), outliers=())


def checkable(moments: Moments) -> bool:
    """Tell whether there are rows of numbers behind the moments, each counted once."""
    rows = moments.sample
    return moments.plain or (isinstance(rows, IncompleteRows) and rows.weights is None)


def _rows_of_the_fit(
    fit: Fit, names: tuple[str, ...], X: Floats
) -> tuple[npt.NDArray[np.intp], Distances]:
    """Return the places of the rows that were fitted, and their distances; other data are refused.

    Those are the rows that ``missing="listwise"`` has left, or with gaps those that have a value.
    """
    sample, observed = fit.moments.sample, np.isfinite(X)
    gaps = isinstance(sample, IncompleteRows)
    rows = np.flatnonzero(observed.any(axis=1) if gaps else observed.all(axis=1))
    X, observed = X[rows], observed[rows]
    n = len(X)
    if n == 0:
        raise DataError("data have no rows; give the data of the fit")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not the fit's data
        deviations = X - np.nanmean(X, axis=0)
        variances = np.nanmean(deviations**2, axis=0)
    expected = sample.scale**2 if isinstance(sample, IncompleteRows) else np.diag(fit.S)
    if (
        n != fit.n
        or not np.allclose(variances, expected, rtol=1e-6)
        or (isinstance(sample, IncompleteRows) and (observed != np.isfinite(sample.X)).any())
    ):
        raise DataError(
            f"these are not the data of the fit: {n} rows against n = {fit.n:g}, variance of "
            f"{names[0]!r} {variances[0]:.6g} against {expected[0]:.6g}; give the data as they "
            "were fitted (transformed, if they were)"
        )
    if isinstance(sample, IncompleteRows):
        return rows, incomplete_distances(sample)
    return rows, complete_distances(deviations)


def _column_tests(x: Floats) -> tuple[float, float, float, float]:
    """Return skewness, kurtosis and their p-values for the observed cells of a column."""
    from scipy import stats

    p = (math.nan, math.nan)
    if len(x) >= MIN_ROWS:
        p = float(stats.skewtest(x).pvalue), float(stats.kurtosistest(x).pvalue)
    return float(stats.skew(x)), float(stats.kurtosis(x)), *p


def _two(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # no "-0.00"
