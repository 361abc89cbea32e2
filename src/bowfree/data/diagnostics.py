"""Diagnostics of data: normality, outlying rows, and columns that are not measurements.

The likelihood assumes normal rows. Its maximizer is a sensible estimate for other distributions,
but standard errors and tests are then wrong, and a few extreme rows can decide about edges. Each
column is tested by its observed values, all columns jointly by Mardia's skewness and kurtosis, and
rows by their Mahalanobis distances D; a row with missing values has the distance of its observed
cells, with mean and covariance matrix of maximum likelihood.

Mardia's kurtosis is the mean of D^4. For rows of k observed cells, ``D^4 - k (k + 2)`` has mean 0
and variance ``8 k (k + 2) (k + 3)``, minus ``c^T J^-1 c`` for the estimation of mean and covariance
matrix, with c its covariance with the score and J the information of one row (Yuan, Lambert and
Fouladi). For complete rows ``8 d (d + 2)`` is left, as in Mardia's test.

Mardia's skewness is the score test of the third cumulants ``kappa_abc`` in the density

    phi(z) (1 + sum of kappa_abc H_abc(z) / 6),
    H_abc = y_a y_b y_c - y_a W_bc - y_b W_ac - y_c W_ab,

with W the inverse of Sigma and ``y = W z``. The observed cells of a row have a density of the same
form. Each H has mean zero, is uncorrelated with the scores of mean and covariance matrix, and

    cov(H_abc, H_def) = sum of W_ad W_be W_cf    over the permutations of d, e, f.

For complete rows n / 6 times the sum of the squared third moments of whitened rows has a chi-square
distribution with ``d (d + 1) (d + 2) / 6`` degrees of freedom. These are limits for many rows; the
p-values use the exact means and variance of complete rows.

References
----------
K. Mardia, Measures of multivariate skewness and kurtosis with applications, Biometrika 1970;
K. Mardia, Applications of some measures of multivariate skewness and kurtosis in testing normality
and robustness studies, Sankhya B 1974;
K.-H. Yuan, P. Lambert and R. Fouladi, Mardia's multivariate kurtosis with missing data,
Multivariate Behavioral Research 2004.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import numpy as np

from bowfree.data import frames
from bowfree.data.conditions import are_conditions, listed_conditions
from bowfree.data.covariance import safe_inverse
from bowfree.data.frames import drop_call, read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows, Patterns
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows, Floats, chunks, inverse_covariance, lower_triangle
from bowfree.data.streaming import Sums
from bowfree.errors import DataError, DataWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import public
from bowfree.results.display import Table, count, p_text, significant
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import check_count

LEVEL = 0.01  # of each family of tests, after the correction of Bonferroni
MIN_ROWS = 20  # the approximations of the tests need this many rows
_SKEWED = 0.5  # skewness for which a logarithm is recommended
_MOST_WORK = 10**9  # multiplications for Mardia's skewness of incomplete rows: one or two seconds
_FEW_VALUES = 6
_ENOUGH_ROWS = 30  # in fewer rows, increasing integers or few different values are no surprise


class Mardia(NamedTuple):
    """Mardia's skewness and kurtosis, the kurtosis of normal data, and p-values."""

    skewness: float = math.nan
    kurtosis: float = math.nan
    normal_kurtosis: float = math.nan
    p_skewness: float = math.nan
    p_kurtosis: float = math.nan

    @property
    def rejected(self) -> bool:
        """Whether the variables are not jointly normal, at the 1 % level."""
        return self.p_skewness < LEVEL or self.p_kurtosis < LEVEL


@dataclass(frozen=True, repr=False)
class Diagnostics(RowTable, ToDict):
    """Results of :func:`bowfree.data.diagnose`; ``to_frame()`` has one row for each variable.

    Attributes
    ----------
    variables : tuple of Row
        For each variable `name`, `mean`, `sd`, `skewness`, `kurtosis` (in excess of that of the
        normal distribution), and the p-values `p_skewness` (test of D'Agostino) and `p_kurtosis`
        (test of Anscombe and Glynn), NaN below 20 observed values. If values are missing, `mean`
        and `sd` are estimates of maximum likelihood.
    mardia : Mardia
        Mardia's `skewness` and `kurtosis`, the `normal_kurtosis` of normal data, and the p-values
        `p_skewness` and `p_kurtosis`; NaN below 20 rows or if the covariance matrix is singular.
    outliers : tuple of Row
        The rows with the largest Mahalanobis distances: `row` (counted from 1), the squared
        distance `distance2`, and its `p_value`.
    n_outliers : int
        Number of rows that are outliers at the 1 % level, corrected for the number of rows.
    odd_columns : tuple of str
        Messages on columns that look like row numbers or categories.
    """

    variables: tuple[Row, ...]
    mardia: Mardia
    outliers: tuple[Row, ...]
    n_outliers: int
    odd_columns: tuple[str, ...] = ()

    @property
    def rows(self) -> Sequence[Row]:
        """The variables."""
        return self.variables

    @property
    def not_normal(self) -> list[str]:
        """The variables that are not normal, at the 1 % level corrected for their number."""
        level = LEVEL / (2 * len(self.variables))
        return [v.name for v in self.variables if v.p_skewness < level or v.p_kurtosis < level]

    @property
    def rejects_normality(self) -> bool:
        """Whether a variable is not normal, or all variables are not jointly normal."""
        return self.mardia.rejected or bool(self.not_normal)

    def warnings(self) -> list[str]:
        """Return one sentence for each problem."""
        found = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in self.odd_columns]
        names = self.not_normal
        if names:
            most = max(self.variables, key=lambda v: max(abs(v.skewness), abs(v.kurtosis)))
            skewed = any(v.name in names and v.skewness > _SKEWED for v in self.variables)
            advice = "; a logarithm may help with skewness" if skewed else ""
            found.append(
                f"{len(names)} of {len(self.variables)} variables are not normal "
                f"({', '.join(names[:6])}{', …' if len(names) > 6 else ''}); most of all "
                f"{most.name}, skewness {round(most.skewness, 2) + 0.0:.2f}, excess kurtosis "
                f"{round(most.kurtosis, 2) + 0.0:.2f}. Standard errors and tests assume normal data{advice}."
            )
        joint = self.mardia
        if joint.rejected:
            why = []
            if joint.p_skewness < LEVEL:
                why.append(f"skewness {joint.skewness:.3g} ({p_text(joint.p_skewness, 3)})")
            if joint.p_kurtosis < LEVEL:
                normal = f"{joint.normal_kurtosis:.4g} for normal data"
                tail = p_text(joint.p_kurtosis, 3)
                why.append(f"kurtosis {joint.kurtosis:.4g}, {normal} ({tail})")
            found.append(f"The variables are not jointly normal: Mardia's {', '.join(why)}.")
        if self.n_outliers:
            rows = ", ".join(str(o.row) for o in self.outliers[: min(self.n_outliers, 6)])
            more = f" and {self.n_outliers - 6} more" if self.n_outliers > 6 else ""
            found.append(
                f"{count(self.n_outliers, 'row')} far from the rest (Mahalanobis distance)"
                f"{f': {rows}{more}' if rows else ''}. Check "
                f"{'it' if self.n_outliers == 1 else 'them'}: single rows can decide about edges."
            )
        return found

    def _headline(self) -> str:
        n = len(self.not_normal)
        return (
            f"{count(len(self.variables), 'variable')}, {n} not normal; "
            f"{count(self.n_outliers, 'outlier')}"
        )

    def _sections(self) -> Iterator[str | Table]:
        names = ("mean", "sd", "skewness", "kurtosis", "p_skewness", "p_kurtosis")
        rows = [(v.name, *(significant(getattr(v, name)) for name in names)) for v in self]
        yield Table(("variable", *names), rows)
        yield from self.warnings()


@public
def diagnose(data: Any, moments: Moments | None = None, *, n_outliers: int = 10) -> Diagnostics:
    """Test data for normality, and find outlying rows and columns that are not measurements.

    Parameters
    ----------
    data : array_like of shape (n, d) or data frame
        Observations in rows; values may be missing.
    moments : Moments, optional
        The moments of these data, which select the columns and rows. By default they are computed
        with ``missing="fiml"``.
    n_outliers : int
        Number of rows to list, those with the largest distances.

    Returns
    -------
    Diagnostics

    Raises
    ------
    DataError
        If the data are not those of the moments.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.data.diagnose(bf.datasets.load_demo())
    <Diagnostics: 7 variables, 0 not normal; 0 outliers>
    """
    if moments is None:
        moments = DataOptions(missing="fiml").read(data)
    check_count("n_outliers", n_outliers, 0)
    if not isinstance(moments, Moments):
        raise DataError(f"moments = {short_repr(moments)}: must be Moments, made by bf.moments")
    names, X = read_observations(data, MixedGraph(moments.names), "data")
    sample, observed = moments.sample, np.isfinite(X)
    incomplete = isinstance(sample, IncompleteRows)
    # The rows that were fitted: those with an observed value, or the complete ones.
    rows = np.flatnonzero(observed.any(axis=1) if incomplete else observed.all(axis=1))
    X, observed = X[rows], observed[rows]
    _check_same(moments, names, X)
    distances = _distances(sample if isinstance(sample, IncompleteRows) else X - X.mean(axis=0))
    if incomplete and moments.mean is not None:
        center, sd = moments.mean, np.sqrt(moments.variances)
    else:
        center, sd = X.mean(axis=0), X.std(axis=0, ddof=1)
    variables = [
        Row(name=name, mean=float(center[k]), sd=float(sd[k]), **_tests(X[observed[:, k], k]))
        for k, name in enumerate(names)
    ]
    squared, p_values = distances.squared.tolist(), distances.p_values.tolist()
    outliers = [
        Row(row=int(rows[r]) + 1, distance2=squared[r], p_value=p_values[r])
        for r in np.argsort(-distances.squared, kind="stable")[:n_outliers]
    ]
    n_far = int((distances.p_values < LEVEL / len(X)).sum())
    odd = tuple(describe_odd_columns(odd_columns(names, X)))
    return Diagnostics(tuple(variables), distances.mardia, tuple(outliers), n_far, odd)


def diagnose_if_rows(
    moments: Moments, data: Any, holdout: Moments | None = None
) -> Diagnostics | None:
    """Return the diagnostics of the data of a fit, or None if there are no rows of one table.

    With a holdout sample, a fit uses this sample. Which rows of `data` it consists of is unknown,
    so that outliers are counted and not listed.
    """
    if data is None or isinstance(data, Moments) or isinstance(moments, JointMoments):
        return None
    if holdout is None:
        return diagnose(data, moments) if has_rows(moments) else None
    rows = holdout.sample
    if not (isinstance(rows, CompleteRows) and rows.plain):
        return None
    return replace(diagnose(rows.table(holdout.names, holdout.mean), moments), outliers=())


def has_rows(moments: Moments) -> bool:
    """Return whether moments are those of unweighted rows of numbers."""
    rows = moments.sample
    return moments.plain or (isinstance(rows, IncompleteRows) and rows.weights is None)


def _check_same(moments: Moments, names: tuple[str, ...], X: Floats) -> None:
    """Raise an error if the rows are not those of the moments."""
    if not len(X):
        raise DataError("data have no rows; pass the data of the fit")
    with np.errstate(over="ignore", invalid="ignore"):  # other data may overflow
        variances = np.nanmean((X - np.nanmean(X, axis=0)) ** 2, axis=0)
    sample, expected, same = moments.sample, np.diag(moments.S), len(X) == moments.n_rows
    if isinstance(sample, IncompleteRows):
        expected = sample.scale**2
        same = same and np.array_equal(np.isfinite(X), np.isfinite(sample.X))
    if not same or not np.allclose(variances, expected, rtol=1e-6, atol=0):
        raise DataError(
            f"these are not the data of the fit: {len(X)} rows against n = {moments.n_rows:g}, "
            f"variance of {names[0]!r} {variances[0]:.6g} against {expected[0]:.6g}; pass the data "
            "as they were fitted (transformed, if they were)"
        )


def _tests(x: Floats) -> dict[str, float]:
    """Return skewness, kurtosis and their p-values for the observed values of a column."""
    from scipy import stats

    enough = len(x) >= MIN_ROWS
    return {
        "skewness": float(stats.skew(x)),
        "kurtosis": float(stats.kurtosis(x)),
        "p_skewness": float(stats.skewtest(x).pvalue) if enough else math.nan,
        "p_kurtosis": float(stats.kurtosistest(x).pvalue) if enough else math.nan,
    }


# --- distances ------------------------------------------------------------------------------------


class Distances(NamedTuple):
    """Squared Mahalanobis distances of rows, their p-values, and Mardia's moments."""

    squared: Floats
    p_values: Floats
    mardia: Mardia


def _distances(rows: Floats | IncompleteRows) -> Distances:
    """Return the distances of incomplete rows, or of the deviations of complete ones."""
    from scipy import stats

    if isinstance(rows, IncompleteRows):
        found, patterns = rows.saturated, rows.patterns
        n, d = rows.X.shape
        W = patterns.precisions(found.Sigma)
        z, y = patterns.deviations(rows.X, found.mean, W)
        squared = np.einsum("ri,ri->r", y, z)
        cells = patterns.observed.sum(axis=1).astype(np.float64)
        p_values = stats.chi2.sf(squared, cells[patterns.row_pattern])
        if n < MIN_ROWS:
            return Distances(squared, p_values, Mardia())
        share = patterns.count / patterns.total
        # The score of Sigma is (W z z^T W - W) / 2, and E[D^4 z z^T] = (k + 2) (k + 4) Sigma.
        a, b = lower_triangle(d)
        c = np.zeros(d + len(a))
        c[d:] = np.where(a == b, 2.0, 4.0) * np.tensordot(share * (cells + 2), W, 1)[a, b]
        J = patterns.information(found.mean, found.Sigma) / patterns.total
        variance = share @ (8 * cells * (cells + 2) * (cells + 3)) - c @ safe_inverse(J) @ c
        normal = float(share @ (cells * (cells + 2)))
        skewness, df = _incomplete_skewness(patterns, W, y)
    else:
        n, d = rows.shape
        X = rows / np.sqrt(np.mean(rows**2, axis=0))
        R = X.T @ X / n
        if n <= d + 1 or np.linalg.cond(R) > 1e12:
            return Distances(np.empty(0), np.empty(0), Mardia())
        whitened = np.asarray(np.linalg.solve(np.linalg.cholesky(R), X.T).T, np.float64)
        squared = (whitened**2).sum(axis=1)
        # With mean and covariance matrix of the same rows, D^2 / n has a beta distribution.
        p_values = stats.beta.sf(squared / (n - 1), d / 2, (n - d - 1) / 2)
        if n < MIN_ROWS:
            return Distances(squared * (n - 1) / n, p_values, Mardia())
        normal, variance = float(d * (d + 2)), 8.0 * d * (d + 2)
        skewness, df = _complete_skewness(whitened), d * (d + 1) * (d + 2) // 6
    kurtosis = float((squared**2).mean())
    # Exact means and variance for complete normal rows (Mardia 1974), which limits are far from if
    # there are many variables; for incomplete rows an approximation.
    normal *= (n - 1) / (n + 1)
    variance *= n * (n - 3) * (n - d - 1) * (n - d + 1) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    factor = (d + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (d + 1) - 6))
    z_score = (kurtosis - normal) / math.sqrt(variance / n) if variance > 0 else math.nan
    mardia = Mardia(
        skewness,
        kurtosis,
        normal,
        float(stats.chi2.sf(factor * n * skewness / 6, df)),
        float(2 * stats.norm.sf(abs(z_score))),
    )
    if not isinstance(rows, IncompleteRows):
        squared = squared * (n - 1) / n  # with the unbiased covariance matrix
    return Distances(squared, p_values, mardia)


def _complete_skewness(Z: Floats) -> float:
    """Return Mardia's skewness of whitened rows."""
    n, d = len(Z), Z.shape[1]
    # The mean of the cubed products of all pairs of rows is the squared norm of the third moments:
    # n^2 d operations or n d^3, without an n x n matrix.
    if n < d * d:
        return sum(float(((Z[k : k + 256] @ Z.T) ** 3).sum()) for k in range(0, n, 256)) / n**2
    return sum(float((((Z * Z[:, [a]]).T @ Z / n) ** 2).sum()) for a in range(d))


def _incomplete_skewness(patterns: Patterns, W: Floats, y: Floats) -> tuple[float, int]:
    """Return the score statistic of third cumulants as a skewness, and its degrees of freedom.

    Triples of variables that are observed together in few rows are omitted; NaN if there are too
    many triples.
    """
    n, d = y.shape
    triples = np.array(list(combinations_with_replacement(range(d), 3)), dtype=np.intp)
    a, b, c = triples.T
    has = patterns.observed[:, a] & patterns.observed[:, b] & patterns.observed[:, c]
    tested = patterns.count @ has >= MIN_ROWS
    has, a, b, c = has[:, tested], a[tested], b[tested], c[tested]
    if not len(a) or 12 * (has.sum(axis=1, dtype=np.float64) ** 2).sum() > _MOST_WORK:
        return math.nan, 1
    score = np.zeros(len(a))
    for some in chunks(n):
        score += np.einsum("ni,ni,ni->i", y[some][:, a], y[some][:, b], y[some][:, c])
    sums = np.zeros((len(W), d))
    np.add.at(sums, patterns.row_pattern, y)
    for i, j, k in ((a, b, c), (b, a, c), (c, a, b)):
        score -= np.einsum("pi,pi->i", sums[:, i], W[:, j, k])
    V = np.zeros((len(a), len(a)))
    for number, precision, there in zip(patterns.count, W, has, strict=True):
        s = np.flatnonzero(there)
        V[np.ix_(s, s)] += number * sum(
            precision[np.ix_(a[s], i[s])]
            * precision[np.ix_(b[s], j[s])]
            * precision[np.ix_(c[s], k[s])]
            for i, j, k in permutations((a, b, c))
        )
    return 6 * float(score @ inverse_covariance(V) @ score) / n, len(a)


# --- columns that are not measurements ------------------------------------------------------------


def odd_columns(names: Sequence[str], X: Floats) -> dict[str, list[str]]:
    """Return the columns that look like an "identifier", have "few values", or are "constant".

    Those that look like identifiers of "clusters" are integers, equal in consecutive rows only.
    """
    found: dict[str, list[str]] = {}
    for name, column in zip(names, X.T, strict=True):
        kind = _oddity(column[~np.isnan(column)])
        if kind:
            found.setdefault(kind, []).append(name)
    return found


def _oddity(column: Floats) -> str:
    """Return the kind of a column, empty for measurements; identifiers increase, or are 1 to n."""
    if len(column) and column.min() == column.max():
        return "constant"
    if len(column) < _ENOUGH_ROWS:
        return ""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = bool((column == np.round(column)).all())
        if whole:
            span = column.max() - column.min()
            numbers = span == len(column) - 1 and len(np.unique(column)) == len(column)
            if numbers or (np.diff(column) > 0).all():
                return "identifier"
    # The first rows identify most columns of measurements, without sorting all rows.
    if all(len(np.unique(some)) <= _FEW_VALUES for some in (column[:1000], column)):
        return "few values"
    n_runs = np.count_nonzero(np.diff(column)) + 1  # of equal values in consecutive rows
    runs = whole and 2 * n_runs <= len(column) and len(np.unique(column)) == n_runs
    return "clusters" if runs else ""


def describe_odd_columns(odd: Mapping[str, Sequence[str]]) -> list[str]:
    """Return messages about `odd_columns`; the command line puts its options into them."""
    found = []
    for kind, what, advice in (
        ("identifier", "like row numbers or identifiers, and the model is for measurements", ""),
        (
            "few values",
            f"like categories (at most {_FEW_VALUES} different values), and the model is for "
            "measurements",
            "for ordered categories: ordinal={0!r}; for binary or unordered ones: nominal={0!r}; ",
        ),
        (
            "clusters",
            "like an identifier of clusters (equal in consecutive rows only)",
            "if these rows belong together, pass clusters={0[0]!r}; ",
        ),
    ):
        if names := list(odd.get(kind, ())):
            column, it = ("column", "it") if len(names) == 1 else ("columns", "them")
            look = f"look{'s' if len(names) == 1 else ''}"
            found.append(
                f"{column} {join_names(names)} {look} {what}; {advice.format(names)}to drop {it}: "
                f"{drop_call(names)}"
            )
    return found


def warn_about_columns(data: Any, *, declared: Sequence[str] = (), clusters: bool = False) -> None:
    """Warn of identifiers and categories in a table (of a stream, in its first rows)."""
    tables: list[tuple[Sequence[str], Floats, Collection[str]]] = []
    if are_conditions(data):
        for condition in listed_conditions(data):
            if condition.data is not None and not isinstance(condition.data, Moments):
                names, X = read_observations(condition.data, None, "data")
                tables.append((names, X, condition.known))
    elif isinstance(data, frames.Table):
        tables.append((data.names, data.X, data.categories))
    elif isinstance(data, Sums):
        tables.append((data.names, data.head, ()))
    found: dict[str, list[str]] = {}
    for columns, X, others in tables:
        numeric = [k for k, name in enumerate(columns) if name not in {*others, *declared}]
        for kind, odd in odd_columns([columns[k] for k in numeric], X[:, numeric]).items():
            found[kind] = list(dict.fromkeys([*found.get(kind, []), *odd]))
    if clusters:
        found.pop("clusters", None)
    for sentence in describe_odd_columns(found):
        warn(sentence, DataWarning)
