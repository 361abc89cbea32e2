"""The gate for data: whatever the user has becomes names, a covariance matrix and n, or an error.

Every function that takes data takes them in one of two forms, and hands them to
:func:`read_moments`:

- ``data``: observations in rows; an array, a data frame of any kind that narwhals reads, or a
  mapping from names to columns;
- ``cov`` with ``n``: a covariance matrix; ``ddof`` says its divisor ``n - ddof`` (never guessed).

Columns are matched with the nodes of a graph by name. What comes out has divisor n, because that is
the matrix whose fit maximises the likelihood of section 2.3. Bad input ends here, so that the
core may assume a finite, symmetric, positive definite matrix. Next: :mod:`bowfree.model.fitting`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError
from bowfree.graph.bit_sets import members, union
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.structure import district_masks

__all__ = ["Moments", "read_moments"]

Floats = npt.NDArray[np.float64]

# Eigenvalues of a correlation matrix carry a rounding error of about d * 1e-16; below this bound
# the residual variance of some combination of variables has no digit left that could be trusted.
_SINGULAR = 1e-12
# Relative difference of S[i, j] and S[j, i] that printing and rounding may leave.
_ASYMMETRY = 1e-8


@dataclass(frozen=True, eq=False)
class Moments:
    """What a Gaussian likelihood needs to know of the data.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of the rows of `S` (the graph's order when there is a graph).
    S : ndarray of shape (d, d)
        Covariance matrix with divisor n; read-only.
    n : float
        Number of observations; ``inf`` for a population covariance matrix.
    """

    names: tuple[str, ...]
    S: Floats
    n: float


def read_moments(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    graph: MixedGraph | None = None,
    shrinkage: float = 0.0,
) -> Moments:
    """Turn data or a covariance matrix into :class:`Moments`, or say what is wrong with it.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows. Columns of a data frame that `graph` does not have are left out.
    cov : array_like of shape (d, d) or data frame, optional
        Covariance matrix, in place of `data`.
    n : int or inf, optional
        Number of observations behind `cov`; ``inf`` for a population covariance matrix.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``.
    graph : MixedGraph, optional
        The BAP to be fitted. Columns are matched with its nodes by name; a bare array has no names,
        and is taken to be in the order of its nodes. With ``n <= d`` the covariance matrix is
        singular, which is no obstacle as long as every district and its parents are fewer than n.
    shrinkage : float
        Between 0 and 1: covariances are multiplied by ``1 - shrinkage``, variances stay. Anything
        above 0 makes a singular matrix positive definite.

    Returns
    -------
    Moments

    Examples
    --------
    >>> from bowfree.model.moments import read_moments
    >>> read_moments([[1.0, 0.0], [2.0, 5.0], [3.0, 1.0]]).S.round(3)
    array([[0.667, 0.333],
           [0.333, 4.667]])
    """
    if (data is None) == (cov is None):
        what = "both were given" if cov is not None else "neither was given"
        raise DataError(f"{what}: give either `data`, or `cov` with `n`")
    if graph is not None:
        graph.check_bap()
    if isinstance(data, Moments):
        moments = _from_moments(data, n, graph)
    elif data is not None:
        moments = _from_data(data, n, graph)
    else:
        moments = _from_covariance(cov, n, ddof, graph)
    moments = _shrink(moments, shrinkage)
    _check_definite(moments, graph)
    moments.S.flags.writeable = False
    return moments


# --- the two forms of input -----------------------------------------------------------------------


def _from_moments(moments: Moments, n: float | None, graph: MixedGraph | None) -> Moments:
    """Take moments that have passed the gate before, in the order of the graph's nodes."""
    if n is not None:
        raise DataError(f"n = {n} was given with moments, which bring their own: leave it out")
    if graph is None or graph.nodes == moments.names:
        return Moments(moments.names, moments.S.copy(), moments.n)
    missing = [name for name in graph.nodes if name not in moments.names]
    if missing:
        raise DataError(
            f"the graph has {_quote(missing)}, which the data have not; they have "
            f"{_quote(moments.names)}"
        )
    order = [moments.names.index(name) for name in graph.nodes]
    return Moments(graph.nodes, moments.S[np.ix_(order, order)], moments.n)


def _from_data(data: Any, n: float | None, graph: MixedGraph | None) -> Moments:
    if n is not None:
        raise DataError(f"n = {n} was given with `data`: leave it out, n is the number of rows")
    names, X = read_observations(data, graph, "data")
    if len(X) < 2:
        raise DataError(f"n = {len(X)}: data need at least 2 rows (observations in rows)")
    _check_finite(names, X, "value")
    constant = [name for name, x in zip(names, X.T, strict=True) if x.min() == x.max()]
    if constant:
        raise DataError(
            f"constant column {_quote(constant)}: drop it, it has no variance to explain"
        )
    deviations = X - X.mean(axis=0)
    return Moments(names, deviations.T @ deviations / len(X), float(len(X)))


def _from_covariance(cov: Any, n: float | None, ddof: int, graph: MixedGraph | None) -> Moments:
    if ddof not in (0, 1):
        raise DataError(f"ddof = {ddof!r}: must be 1 (divisor n - 1) or 0 (divisor n)")
    if n is None:
        raise DataError("`cov` needs `n`, the number of observations (inf for a population)")
    if isinstance(n, bool) or math.isnan(n) or (math.isfinite(n) and n != int(n)):
        raise DataError(f"n = {n!r}: must be a whole number, or inf for a population covariance")
    if n < 2:
        raise DataError(f"n = {n}: must be at least 2")
    names, C = read_observations(cov, graph, "cov")
    if C.shape[0] != C.shape[1]:
        raise DataError(f"cov has shape {C.shape}: a covariance matrix is square")
    _check_finite(names, C, "entry")
    variances = np.diag(C)
    if (variances <= 0).any():
        i = int(variances.argmin())
        raise DataError(
            f"cov is not positive definite: the variance of {names[i]!r} is {variances[i]:g}; "
            "a constant variable must be dropped"
        )
    asymmetry = np.abs(C - C.T) / np.sqrt(np.outer(variances, variances))
    if asymmetry.max() > _ASYMMETRY:
        i, j = (int(k) for k in np.unravel_index(asymmetry.argmax(), C.shape))
        raise DataError(
            f"cov is not symmetric: {C[i, j]:g} at ({names[i]!r}, {names[j]!r}) but {C[j, i]:g} at "
            f"({names[j]!r}, {names[i]!r}); are rows and columns in the same order?"
        )
    to_mle = 1.0 if n == math.inf else (n - ddof) / n
    return Moments(names, (C + C.T) * (to_mle / 2), float(n))


def _shrink(moments: Moments, shrinkage: float) -> Moments:
    if not 0.0 <= shrinkage <= 1.0:
        raise DataError(f"shrinkage = {shrinkage!r}: must be between 0 (none) and 1 (diagonal)")
    if shrinkage == 0.0:
        return moments
    S = (1.0 - shrinkage) * moments.S
    np.fill_diagonal(S, np.diag(moments.S))
    return Moments(moments.names, S, moments.n)


# --- reading tables -------------------------------------------------------------------------------


def read_observations(
    table: Any, graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Names and values of the columns that are needed; for `cov` the rows are selected alike."""
    if isinstance(table, np.ndarray | list | tuple):
        return _read_array(table, graph, what)
    if isinstance(table, Mapping):
        return _read_columns(table, graph, what)
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return _read_array(table, graph, what)
    columns = list(frame.columns)
    position = {str(column): k for k, column in enumerate(columns)}
    if len(position) < len(columns):
        twice = sorted({str(c) for c in columns if [str(b) for b in columns].count(str(c)) > 1})
        raise DataError(f"{what} has several columns named {_quote(twice)}: rename them")
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    used = [columns[position[name]] for name in names]
    strange = {c: dtype for c in used if not (dtype := frame.schema[c]).is_numeric()}
    if strange:
        listed = ", ".join(f"{str(c)!r} ({dtype})" for c, dtype in strange.items())
        raise DataError(f"non-numeric column {listed} in {what}: drop it or code it as numbers")
    values = np.empty((len(frame), len(used)))
    for k, column in enumerate(used):
        values[:, k] = frame.get_column(column).cast(nw.Float64).to_numpy()
    if what == "cov":
        values = values[_row_positions(table, position, names, len(values))]
    return names, values


def _read_columns(
    table: Mapping[Any, Any], graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Read a mapping from names to columns; the rows of `cov` are in the order of its columns."""
    columns = {str(name): np.asarray(column) for name, column in table.items()}
    position = {name: k for k, name in enumerate(columns)}
    names = tuple(columns) if graph is None else graph.nodes
    _check_names(names, position, what)
    sizes = {column.shape for column in columns.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise DataError(f"columns of {what} have shapes {sorted(sizes)}: they must be equally long")
    strange = [name for name in names if columns[name].dtype.kind not in "iuf"]
    if strange:
        raise DataError(
            f"non-numeric column {_quote(strange)} in {what}: drop it or code it as numbers"
        )
    values = np.column_stack([columns[name].astype(np.float64) for name in names])
    if what == "cov" and len(values) == len(columns):
        values = values[[position[name] for name in names]]
    return names, values


def _row_positions(
    table: Any, position: dict[str, int], names: Sequence[str], n_rows: int
) -> list[int]:
    """Rows of a covariance data frame: by their labels where it has some, else as its columns."""
    if n_rows != len(position):
        raise DataError(f"cov has shape {(n_rows, len(position))}: a covariance matrix is square")
    labels = list(getattr(table, "index", range(n_rows)))
    rows = {str(label): k for k, label in enumerate(labels)}
    if set(rows) != set(position):
        if labels != list(range(n_rows)):
            odd = sorted(set(rows) ^ set(position))
            raise DataError(f"rows and columns of cov have different labels: {_quote(odd)}")
        rows = position
    return [rows[name] for name in names]


def _read_array(table: Any, graph: MixedGraph | None, what: str) -> tuple[tuple[str, ...], Floats]:
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(np.float64), np.nan)  # asarray would show the masked
    try:
        values = np.asarray(table)
    except ValueError as error:
        raise DataError(f"{what} is not a table: {error}") from None
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(f"{what} has shape {values.shape}: a table with rows and columns is needed")
    if values.dtype.kind not in "iuf":
        raise DataError(
            f"{what} is non-numeric (an array of {values.dtype}): convert it with astype(float), "
            "or pass a data frame so that the column at fault can be named"
        )
    d = values.shape[1]
    if graph is None:
        names = tuple(f"x{i + 1}" for i in range(d))
    elif len(graph.nodes) == d:
        names = graph.nodes
    else:
        raise DataError(
            f"{what} is an array of {d} columns and the graph has {len(graph.nodes)} nodes: pass a "
            "data frame, whose columns are matched by name, or select the columns"
        )
    return names, values.astype(np.float64)


# --- checks ---------------------------------------------------------------------------------------


def _check_names(names: Sequence[str], available: dict[str, int], what: str) -> None:
    missing = [name for name in names if name not in available]
    if not missing:
        return
    hints = []
    for name in missing:
        close = get_close_matches(name, available, n=1)
        hints.append(f"{name!r} (did you mean {close[0]!r}?)" if close else repr(name))
    raise DataError(
        f"{what} has no column for the graph's node {', '.join(hints)}; its columns are "
        f"{_quote(list(available))}"
    )


def _check_finite(names: Sequence[str], values: Floats, what: str) -> None:
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    places = [
        f"{name!r} ({count} {what}{'s' if count > 1 else ''}, first in row {int(column.argmax())})"
        for name, column in zip(names, bad.T, strict=True)
        if (count := int(column.sum()))
    ]
    raise DataError(
        f"missing or infinite values in {', '.join(places)}: drop or impute those observations"
    )


def _check_definite(moments: Moments, graph: MixedGraph | None) -> None:
    """Exclude a singular S, where the likelihood has no maximum."""
    names, S, n = moments.names, moments.S, moments.n
    sd = np.sqrt(np.diag(S))
    R = S / np.outer(sd, sd)
    i, j = (int(k) for k in np.unravel_index(np.abs(np.triu(R, 1)).argmax(), R.shape))
    if i != j and abs(R[i, j]) > 1 - _SINGULAR:
        raise DataError(
            f"duplicated columns {names[i]!r} and {names[j]!r}: their correlation is "
            f"{'1' if R[i, j] > 0 else '-1'}, keep one of them"
        )
    if graph is None or n > len(names):
        blocks = [(list(range(len(names))), "")]
    else:
        blocks = _families(graph, n)
    for block, where in blocks:
        _check_block(moments, R, block, where)


def _check_block(moments: Moments, R: Floats, block: list[int], where: str) -> None:
    R_block = R[np.ix_(block, block)]
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(R_block - _SINGULAR * np.eye(len(block)))
        return
    eigenvalues, vectors = np.linalg.eigh(R_block)
    if moments.n <= len(block):
        raise DataError(
            f"n = {moments.n:g} observations of {len(block)} variables{where}: the covariance "
            "matrix is singular and the likelihood unbounded; use fewer variables, `shrinkage=` "
            "where the function has it, or pass a shrunk (positive definite) matrix as `cov`"
        )
    loading = np.abs(vectors[:, 0])
    guilty = [moments.names[block[k]] for k in np.flatnonzero(loading > 0.01 * loading.max())]
    kind = "collinear variables" if abs(eigenvalues[0]) <= _SINGULAR else "indefinite matrix"
    raise DataError(
        f"covariance matrix not positive definite ({kind}): the smallest eigenvalue of the "
        f"correlation matrix is {eigenvalues[0]:.3g}, and the variables that load on it are "
        f"{_quote(guilty)}; drop one of them"
    )


def _families(graph: MixedGraph, n: float) -> list[tuple[list[int], str]]:
    """Return every district with its parents: the blocks of S that its likelihood depends on."""
    families = []
    for district in district_masks(graph):
        parents = union(graph._parents, district) & ~district
        inside, outside = (
            ", ".join(graph.nodes[i] for i in members(mask)) for mask in (district, parents)
        )
        if n <= parents.bit_count():
            raise DataError(
                f"n = {n:g} observations, but the district {{{inside}}} has "
                f"{parents.bit_count()} parents ({outside}): more observations, fewer parents"
            )
        block = list(members(district | parents))
        families.append((block, f" (the district {{{inside}}} with its parents)"))
    return families


def _quote(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:12])
    return listed + (f" and {len(names) - 12} more" if len(names) > 12 else "")
