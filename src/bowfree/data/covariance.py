"""Validation of covariance matrices: finite, symmetric, positive definite, of representable size.

The core assumes all of this. Errors name the variables that are the cause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from bowfree.data.frames import drop_call, first_few, quoted, read_observations
from bowfree.data.sample import Floats, cross_products, inverse_covariance, row_slices
from bowfree.errors import DataError, FitWarning, warn
from bowfree.graph.encodings import members, union
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.structure import district_masks
from bowfree.text_reading import short_repr
from bowfree.validation import is_number

# Eigenvalues of a correlation matrix have a rounding error of about d * 1e-16; below this bound the
# residual variance of some combination of variables has no correct digit.
SINGULAR = 1e-12
# Largest differences of S[i, j] and S[j, i] due to printing (relative to the entry) and to rounding
# (relative to the standard deviations).
_PRINTING, _ROUNDING = 1e-8, 1e-12
# Coefficients of standardized columns below this are rounding.
_NEGLIGIBLE = 1e-6
# The products of covariances of values within these bounds are neither infinite nor zero: a double
# ends at 2^1024 and 2^-1022.
SMALLEST, LARGEST = 2.0**-250, 2.0**250


def check_ddof(ddof: Any) -> None:
    """Raise an error unless `ddof` is 0 or 1."""
    if not is_number(ddof) or ddof not in (0, 1):
        raise DataError(f"ddof = {short_repr(ddof)}: must be 1 (divisor n - 1) or 0 (divisor n)")


def read_covariance(
    cov: Any, n: Any, ddof: int, graph: MixedGraph | None, held: Sequence[str] = ()
) -> tuple[tuple[str, ...], Floats, float]:
    """Return the names, the covariance matrix with divisor n, and n; `held` may have variance 0."""
    if n is None:
        raise DataError("`cov` needs `n`, the number of observations (inf for a population)")
    try:
        whole = is_number(n) and (n == math.inf or n == float(int(n)))
    except (OverflowError, ValueError):
        whole = False
    if not whole:
        raise DataError(
            f"n = {short_repr(n)}: must be a whole number, or inf for a population covariance"
        )
    if n < 2:
        raise DataError(f"n = {short_repr(n)}: must be at least 2")
    names, C = read_observations(cov, graph, "cov")
    if C.shape[0] != C.shape[1]:
        raise DataError(f"cov has shape {C.shape}: a covariance matrix is square")
    if not np.isfinite(C).all():
        raise missing_values(names, C, "entry")
    variances = C.diagonal()
    if held:
        still = (variances == 0) & np.isin(names, held)
        if still.any() and np.abs(C[still]).max() > 0:
            name = names[int(still.argmax())]
            raise DataError(f"cov has covariances of {name!r}, whose variance is 0")
        variances = np.where(still, 1.0, variances)
    if not variances.min() > 0:
        i = int(variances.argmin())
        raise DataError(
            f"cov is not positive definite: the variance of {names[i]!r} is {variances[i]:g}; "
            "drop constant variables"
        )
    sd = np.sqrt(variances)
    check_scale(names, sd, "a standard deviation of")
    difference = np.abs(C - C.T)
    if difference.any():
        magnitude = np.maximum(np.abs(C), np.abs(C.T))
        excess = difference - _PRINTING * magnitude - _ROUNDING * np.outer(sd, sd)
        if excess.max() > 0:
            i, j = (int(k) for k in np.unravel_index(excess.argmax(), C.shape))
            raise DataError(
                f"cov is not symmetric: {C[i, j]:g} at ({names[i]!r}, {names[j]!r}) but {C[j, i]:g} "
                f"at ({names[j]!r}, {names[i]!r}); are rows and columns in the same order?"
            )
    size = float(n)
    to_mle = 1.0 if size == math.inf else (size - ddof) / size
    return names, (C + C.T) * (to_mle / 2), size


def missing_values(names: Sequence[str], values: Floats, what: str, use: str = "fiml") -> DataError:
    """Return the error about missing values; `use` is the option that uses all observed ones."""
    bad = ~np.isfinite(values)
    count, first = bad.sum(axis=0), bad.argmax(axis=0)
    places = [
        f"{names[i]!r} ({count[i]} {what}{'s' if count[i] > 1 else ''}, first in row {first[i]})"
        for i in map(int, np.flatnonzero(count))
    ]
    remedy = "drop or impute those observations"
    if what == "value" and not np.isinf(values).any():
        all_values = f"missing={use!r} uses all observed values, " if use else ""
        remedy = (
            f"{all_values}missing='listwise' drops incomplete rows "
            f"({int(bad.any(axis=1).sum())} of {len(values)})"
        )
    message = f"missing or infinite values in {first_few(places, ' columns')}: {remedy}"
    if what == "value":
        problems, drop = unusable_columns(names, values)
        if drop:
            message = str(_drop_error("; ".join([message, *problems]), drop))
    return DataError(message)


def check_scale(names: Sequence[str], size: Floats, what: str) -> None:
    """Raise an error if columns are too large or too small to be squared."""
    if size.min(initial=1.0) >= SMALLEST and size.max(initial=1.0) <= LARGEST:
        return
    i = int(np.flatnonzero((size < SMALLEST) | (size > LARGEST))[0])
    raise DataError(
        f"column {names[i]!r} has {what} {size[i]:.3g}: its covariances are "
        f"too {'large' if size[i] > 1 else 'small'} for floating-point numbers; rescale it (choose a "
        "unit in which it is about 1)"
    )


def check_cases(names: Sequence[str], X: Floats) -> None:
    """Raise an error if cases have values that are too large to be squared; NaN is allowed."""
    size = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    check_scale(names, np.where(size > LARGEST, size, 1.0), "values up to")


def check_definite(
    names: tuple[str, ...],
    S: Floats,
    n: float,
    graph: MixedGraph | None,
    *,
    singular: bool = False,
    from_rows: bool = False,
) -> None:
    """Raise an error if S, or for n <= d a district with its parents, is singular.

    With `singular`, S of n <= d observations may be singular, but not indefinite if there is no
    graph; products of rows, `from_rows`, never are.
    """
    R = _correlations(S)
    if n > len(names) or (graph is None and not singular):
        _check_block(names, n, R, "")
        return
    same = np.abs(R) > 1 - SINGULAR
    if np.count_nonzero(same) > len(names):
        if n == 2:
            raise DataError(
                "n = 2 observations: the correlation of any two variables is 1 or -1; more complete "
                "observations are needed"
            )
        first = same.argmax(axis=0)  # the diagonal is True
        copies = [k for k in range(len(names)) if first[k] < k]
        raise _drop_error(*_describe_redundant([(names[k], [names[first[k]]]) for k in copies]))
    if graph is None:
        if not from_rows and not _has_factor(R, -SINGULAR * len(names)):
            _check_block(names, math.inf, R, "")
        return
    # Each district with its parents is a block of S that its likelihood depends on.
    for district in district_masks(graph):
        parents = union(graph._parents, district) & ~district
        inside, outside = (
            ", ".join(graph.nodes[i] for i in members(mask)) for mask in (district, parents)
        )
        if n <= parents.bit_count():
            raise DataError(
                f"n = {n:g} observations, but the district {{{inside}}} has "
                f"{parents.bit_count()} parents ({outside}); use a graph with fewer parents"
            )
        block = list(members(district | parents))
        where = f" (the district {{{inside}}} with its parents)"
        _check_block([names[k] for k in block], n, R[np.ix_(block, block)], where)


def is_definite(S: Floats) -> bool:
    """Return whether a covariance matrix is positive definite beyond rounding errors."""
    return _has_factor(_correlations(S))


def _correlations(S: Floats) -> Floats:
    sd = np.sqrt(S.diagonal())
    R: Floats = S / sd
    R /= sd[:, None]
    return R


def _has_factor(R: Floats, smallest: float = SINGULAR) -> bool:
    """Return whether all eigenvalues of a correlation matrix exceed a number, by Cholesky."""
    smaller = R.copy()
    smaller.flat[:: len(R) + 1] -= smallest
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(smaller)
        return True
    return False


def _check_block(names: Sequence[str], n: float, R: Floats, where: str) -> None:
    """Raise an error if the correlation matrix of some variables is not positive definite."""
    if _has_factor(R):
        return
    if n <= len(names):
        raise DataError(
            f"n = {n:g} observations of {len(names)} variables{where}: the covariance "
            "matrix is singular and the likelihood unbounded; use fewer variables, or `shrinkage=`"
        )
    if not _has_factor(R, -SINGULAR * len(names)):
        eigenvalues, vectors = np.linalg.eigh(R)
        loading = np.abs(vectors[:, 0])
        loaded = [names[k] for k in map(int, np.flatnonzero(loading > 0.01 * loading.max()))]
        raise DataError(
            "covariance matrix not positive definite (indefinite matrix): the smallest eigenvalue "
            f"of the correlation matrix is {eigenvalues[0]:.3g}, and the variables that load on it "
            f"are {quoted(loaded)}; drop one of them"
        )
    raise _drop_error(*_redundant_columns(names, R))


def _redundant_columns(names: Sequence[str], R: Floats) -> tuple[str, list[str]]:
    """Return a sentence on columns that others determine, and the fewest columns to drop."""
    kept, dropped = independent_columns(R)
    weights = inverse_covariance(R[np.ix_(kept, kept)]) @ R[np.ix_(kept, dropped)]
    return _describe_redundant(
        [
            (names[k], [names[kept[i]] for i in np.flatnonzero(np.abs(w) > _NEGLIGIBLE)])
            for k, w in zip(dropped, weights.T, strict=True)
        ]
    )


def independent_columns(R: Floats) -> tuple[list[int], list[int]]:
    """Return the largest set of linearly independent columns, and the others, which to drop.

    Cholesky decomposition of a correlation matrix with pivots: each step keeps the column that is
    explained least by those before; among equals the one that is correlated least with all others.
    So the choice depends neither on units nor, except for copies, on the order of the columns.
    """
    together = (R**2).sum(axis=0).round(9)  # of copies the first is kept
    for smallest in SINGULAR * len(R) * 10.0 ** np.arange(12):
        A, rest, kept = R.copy(), np.ones(len(R)), []
        while rest.max() > smallest:
            ties = np.flatnonzero(rest > (1 - 1e-9) * rest.max())
            k = int(ties[together[ties].argmin()])
            kept.append(k)
            A -= np.outer(A[:, k], A[k]) / A[k, k]
            rest = np.where(np.isin(np.arange(len(R)), kept), 0.0, A.diagonal())
        kept.sort()
        if _has_factor(R[np.ix_(kept, kept)]):
            break
    return kept, [k for k in range(len(R)) if k not in kept]


def _describe_redundant(found: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, list[str]]:
    listed = [f"{name!r} is determined by {quoted(others)}" for name, others in found[:12]]
    more = [f"and {len(found) - 12} more"] if len(found) > 12 else []
    kind = "duplicated" if all(len(others) == 1 for _, others in found) else "collinear"
    return f"{kind} columns: {'; '.join(listed + more)}", [name for name, _ in found]


def _drop_error(problems: str, columns: Sequence[str]) -> DataError:
    them = "it" if len(columns) == 1 else "these"
    return DataError(f"{problems}; drop {them}: {drop_call(columns)}")


def unusable_columns(names: Sequence[str], X: Floats) -> tuple[list[str], list[str]]:
    """Return sentences on constant, empty, duplicated and collinear columns, and which to drop."""
    problems, drop = [], []
    low, high = (f.reduce(X, axis=0, initial=s) for f, s in ((np.fmin, np.inf), (np.fmax, -np.inf)))
    for what, found in (("constant column", low == high), ("empty column", low > high)):
        columns = [names[k] for k in map(int, np.flatnonzero(found))]
        if columns:
            problems.append(f"{what} {quoted(columns)}")
            drop += columns
    rest = np.flatnonzero(low < high)
    rows = X[:, rest]
    rows = rows[np.isfinite(rows).all(axis=1)]
    with np.errstate(all="ignore"):
        Z = (rows - rows.mean(axis=0)) / rows.std(axis=0) if len(rows) > len(rest) else rows[:0]
    if len(Z) and np.isfinite(Z).all():
        R = cross_products(Z, Z) / len(Z)
        if not _has_factor(R):
            sentence, redundant = _redundant_columns([names[k] for k in map(int, rest)], R)
            problems.append(sentence)
            drop += redundant
    return problems, drop


def check_constant(names: Sequence[str], X: Floats, held: Sequence[str] | None = None) -> None:
    """Raise an error if a column is empty, or constant and not in `held` (of a condition)."""
    constant = ~(X[0] < X[-1]) & ~(X[0] > X[-1])  # excludes most columns at once; True for NaN
    for some in row_slices(X):
        if not constant.any():
            return
        constant &= ~((X[0] < X[some]) | (X[0] > X[some])).any(axis=0)
    rest = X[:, constant]  # columns that begin with NaN may vary
    low, high = np.fmin.reduce(rest, axis=0), np.fmax.reduce(rest, axis=0)
    rest_names = np.asarray(names)[constant][~(low < high)]
    if not np.isin(rest_names, held or ()).all():
        problems, drop = unusable_columns(names, X)
        if held is not None:
            problems.append("if a column was held fixed, add it to `targets` (kind='perfect')")
        raise _drop_error("; ".join(problems), drop)


def total_effect_matrix(B: Floats) -> Floats:
    """Return (I - B)^-1, node by node: exactly zero without a path, in any units."""
    E, waiting = np.eye(len(B)), np.ones(len(B), dtype=bool)
    while waiting.any():
        added = waiting & ~(B[:, waiting] != 0).any(axis=1)
        E[added] += B[added] @ E
        waiting &= ~added
    return E


def check_pairs(names: Sequence[str], X: Floats) -> Floats:
    """Return the number of rows in which both columns of a pair are observed, at least two."""
    observed = np.isfinite(X).astype(np.float64)
    together = cross_products(observed, observed)
    apart = [f"{names[j]!r} and {names[i]!r}" for i, j in np.argwhere(np.tril(together < 2, -1))]
    if apart:
        raise DataError(
            f"{first_few(apart, ' pairs')}: observed together in fewer than two rows, so that their "
            "covariance is unknown; drop one of them"
        )
    return together


def safe_inverse(information: Floats) -> Floats:
    """Return the inverse of a positive definite matrix; units do not matter. NaN if singular."""
    with np.errstate(invalid="ignore"):
        scale = 1 / np.sqrt(information.diagonal())
    if np.isfinite(scale).all():
        units = scale[:, None] * scale
        # By Cholesky: eigenvalues would take ten times as long, and could not be interrupted.
        try:
            root = np.linalg.inv(np.linalg.cholesky(information * units))
        except np.linalg.LinAlgError:
            root = np.full_like(information, np.nan)
        inverse: Floats = root.T @ root
        # The trace is at least the inverse of the smallest eigenvalue; the largest is at least 1.
        if len(scale) * np.finfo(float).eps * inverse.trace() < 1:
            return inverse * units
    warn(
        "the information matrix is not positive definite: the parameters are not identified, or "
        "this is not a maximum of the likelihood; standard errors are NaN",
        FitWarning,
    )
    return np.full_like(information, np.nan)
