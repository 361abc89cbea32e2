"""The gate for data: whatever the user has becomes names, a covariance matrix and n, or an error.

Every function that takes data takes them in one of three forms:

- ``data``: observations in rows; an array, a data frame of any kind that narwhals reads, or a
  mapping from names to columns;
- ``cov`` with ``n``: a covariance matrix; ``ddof`` says its divisor ``n - ddof`` (never guessed);
- :class:`Moments`, which :func:`moments` has made of one of these: the gate passed once, for
  several functions.

Columns are matched with the nodes of a graph by name. What comes out has divisor n, because that is
the matrix whose fit maximises the likelihood of section 2.3. Bad input ends here, so that the
core may assume a finite, symmetric, positive definite matrix. Next: :mod:`bowfree.model.fitting`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from reprlib import repr as shown
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.display import Shown, Table, count
from bowfree.errors import BowfreeError, DataError
from bowfree.frozen import Frozen, lock_arrays
from bowfree.graph.bit_sets import members, union
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.structure import district_masks
from bowfree.options import is_number

__all__ = ["Moments", "moments", "read_moments", "read_observations"]

Floats = npt.NDArray[np.float64]

# Eigenvalues of a correlation matrix carry a rounding error of about d * 1e-16; below this bound
# the residual variance of some combination of variables has no digit left that could be trusted.
_SINGULAR = 1e-12
# Difference of S[i, j] and S[j, i] that printing (relative to the entry) and rounding (relative to
# the standard deviations) may leave.
_PRINTING, _ROUNDING = 1e-8, 1e-12
# Values and standard deviations within these bounds have covariances whose products are neither
# infinite nor zero: a double ends at 2^1024 and 2^-1022.
_SMALLEST, _LARGEST = 2.0**-250, 2.0**250
# A covariance matrix of this many variables takes 800 MB; a search is lost long before.
_MOST_VARIABLES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Shown, Frozen):
    """What a Gaussian likelihood needs to know of the data; made by :func:`bowfree.moments`.

    Every function that takes data takes moments in their place. Moments made by hand are checked
    and copied.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of the rows of `S` (the graph's order when there is a graph).
    S : ndarray of shape (d, d)
        Covariance matrix with divisor n; read-only.
    n : float
        Number of observations; ``inf`` for a population covariance matrix.
    mean : ndarray of shape (d,) or None
        Means of the columns, read-only; None when a covariance matrix was given.
    """

    names: tuple[str, ...]
    S: Floats
    n: float
    mean: Floats | None = None

    def __post_init__(self) -> None:
        names: Any = self.names
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise DataError(f"names = {shown(names)}: must be a tuple of strings")
        gated = _from_covariance(self.S, self.n, 0, MixedGraph(names))
        mean = None
        if self.mean is not None:
            _, row = read_observations([self.mean], MixedGraph(gated.names), "mean")
            mean = row[0].copy()
            if not np.isfinite(mean).all():
                raise DataError(f"mean = {shown(mean)}: must be finite numbers")
        vars(self).update(vars(gated) | {"mean": mean})
        super().__post_init__()

    @classmethod
    def _gated(
        cls, names: tuple[str, ...], S: Floats, n: float, mean: Floats | None = None
    ) -> Moments:
        """Make moments of what has come through the gate, without looking at it again."""
        made = object.__new__(cls)
        vars(made).update(names=names, S=S, n=n, mean=mean)
        lock_arrays(S)
        lock_arrays(mean)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as plain lists and numbers."""
        return {
            "names": list(self.names),
            "n": self.n,
            "mean": None if self.mean is None else self.mean.tolist(),
            "S": self.S.tolist(),
        }

    def _brief(self) -> str:
        variables = count(len(self.names), "variable")
        if math.isinf(self.n):
            return f"population covariance of {variables}"
        return f"{self.n:.0f} observations of {variables}"

    def _shown(self, most: int = 12) -> Iterator[str | Table]:
        """Show means, standard deviations and correlations of the first variables."""
        yield self._brief()
        sd = np.sqrt(np.diag(self.S))[:most]
        R = self.S[:most, :most] / np.outer(sd, sd)
        names = self.names[:most]
        rows = []
        for i, name in enumerate(names):
            numbers = [sd[i]] if self.mean is None else [self.mean[i], sd[i]]
            correlations = [f"{r:.2f}" for r in R[i, :i]] + [""] * (len(names) - 1 - i)
            rows.append((name, *(f"{x:.4g}" for x in numbers), *correlations))
        mean = () if self.mean is None else ("mean",)
        yield Table(("variable", *mean, "sd", *names[:-1]), rows)
        if len(self.names) > most:
            yield f"... and {len(self.names) - most} more: `names`, `mean` and `S` have all"


def moments(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    graph: GraphLike | None = None,
    shrinkage: float | Literal["auto"] = 0.0,
) -> Moments:
    """Turn data or a covariance matrix into :class:`Moments`, or say what is wrong with it.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, mapping of names to columns, or Moments, optional
        Observations in rows. Columns of a data frame that `graph` does not have are left out.
    cov : array_like of shape (d, d) or data frame, optional
        Covariance matrix, in place of `data`.
    n : int or inf, optional
        Number of observations behind `cov`; ``inf`` for a population covariance matrix.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``.
    graph : MixedGraph, or a result that has one, optional
        The BAP to be fitted. Columns are matched with its nodes by name; a bare array has no names,
        and is taken to be in the order of its nodes. With ``n <= d`` the covariance matrix is
        singular, which is no obstacle as long as every district and its parents are fewer than n.
    shrinkage : float or "auto"
        Between 0 and 1: covariances are multiplied by ``1 - shrinkage``, variances stay. Anything
        above 0 makes a singular matrix positive definite. "auto" is Ledoit and Wolf's choice, from
        the rows.

    Returns
    -------
    Moments

    Raises
    ------
    DataError
        When the data cannot be used; it says why, where, and what to do about it.

    Examples
    --------
    >>> import bowfree as bf
    >>> m = bf.moments({"x": [1.0, 2.0, 3.0], "y": [0.0, 5.0, 1.0]})
    >>> m
    <Moments: 3 observations of 2 variables>
    >>> m.S.round(3)
    array([[0.667, 0.333],
           [0.333, 4.667]])
    >>> bf.fit(bf.parse("x -> y"), m).n
    3.0
    """
    bap = None if graph is None else graph_of(graph)
    return read_moments(data, cov=cov, n=n, ddof=ddof, graph=bap, shrinkage=shrinkage)


def read_moments(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    graph: MixedGraph | None = None,
    shrinkage: float | Literal["auto"] = 0.0,
) -> Moments:
    """Do what :func:`moments` does: its name inside the package, where ``moments`` is a variable.

    Examples
    --------
    >>> from bowfree.model.moments import read_moments
    >>> read_moments([[1.0, 0.0], [2.0, 5.0], [3.0, 1.0]]).names
    ('x1', 'x2')
    """
    if (data is None) == (cov is None):
        what = "both were given" if cov is not None else "neither was given"
        raise DataError(f"{what}: give either `data`, or `cov` with `n`")
    if not is_number(ddof) or ddof not in (0, 1):
        raise DataError(f"ddof = {shown(ddof)}: must be 1 (divisor n - 1) or 0 (divisor n)")
    if isinstance(shrinkage, str) and shrinkage == "auto":
        shrinkage = _ledoit_wolf(data, graph)
    if not is_number(shrinkage) or not 0.0 <= shrinkage <= 1.0:
        raise DataError(
            f"shrinkage = {shown(shrinkage)}: must be a number between 0 (none) and 1 (diagonal), "
            "or 'auto'"
        )
    if graph is not None:
        graph.check_bap()
    if isinstance(data, Moments):
        found = _from_moments(data, n, graph)
    elif data is not None:
        found = _from_data(data, n, graph)
    else:
        found = _from_covariance(cov, n, ddof, graph)
    if shrinkage:
        S = (1.0 - float(shrinkage)) * found.S
        np.fill_diagonal(S, np.diag(found.S))
        found = Moments._gated(found.names, S, found.n, found.mean)
    _check_definite(found, graph)
    return found


def _ledoit_wolf(data: Any, graph: MixedGraph | None) -> float:
    from bowfree.model.shrinkage import ledoit_wolf_shrinkage

    if data is None or isinstance(data, Moments):
        raise DataError("shrinkage = 'auto' needs the rows: give `data`, or a number")
    _from_data(data, None, graph)  # gaps and constants are refused there
    return ledoit_wolf_shrinkage(read_observations(data, graph, "data")[1])


# --- the three forms of input ---------------------------------------------------------------------


def _from_moments(given: Moments, n: float | None, graph: MixedGraph | None) -> Moments:
    """Take moments that have passed the gate before, in the order of the graph's nodes."""
    if n is not None:
        raise DataError(
            f"n = {shown(n)} was given with moments, which bring their own: leave it out"
        )
    if graph is None or graph.nodes == given.names:
        return given
    missing = [name for name in graph.nodes if name not in given.names]
    if missing:
        raise DataError(
            f"the graph has {_quote(missing)}, which the data have not; they have "
            f"{_quote(given.names)}"
        )
    order = [given.names.index(name) for name in graph.nodes]
    mean = None if given.mean is None else given.mean[order]
    return Moments._gated(graph.nodes, given.S[np.ix_(order, order)], given.n, mean)


def _from_data(data: Any, n: float | None, graph: MixedGraph | None) -> Moments:
    if n is not None:
        raise DataError(
            f"n = {shown(n)} was given with `data`: leave it out, n is the number of rows"
        )
    names, X = read_observations(data, graph, "data")
    if not names:
        raise DataError("there are no variables: the graph has no nodes")
    if len(X) < 2:
        raise DataError(f"n = {len(X)}: data need at least 2 rows (observations in rows)")
    low, high = X.min(axis=0), X.max(axis=0)
    lowest, highest = float(low.min()), float(high.max())  # NaN if there is one
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise _missing_values(names, X, "value")
    if (low == high).any():
        constant = [names[i] for i in np.flatnonzero(low == high)]
        raise DataError(
            f"constant column {_quote(constant)}: drop it, it has no variance to explain"
        )
    if max(-lowest, highest) > _LARGEST:  # no further: the squares would be infinite
        _check_scale(names, np.maximum(-low, high), "values up to")
    mean = X.mean(axis=0)
    deviations = X - mean
    S = deviations.T @ deviations / len(X)
    if S.diagonal().min() < _SMALLEST**2:
        _check_scale(names, np.maximum(-low, high), "values no larger than")
    return Moments._gated(names, S, float(len(X)), mean)


def _from_covariance(cov: Any, n: Any, ddof: int, graph: MixedGraph | None) -> Moments:
    if n is None:
        raise DataError("`cov` needs `n`, the number of observations (inf for a population)")
    if not is_number(n) or not (n == math.inf or n == _whole(n)):
        raise DataError(
            f"n = {shown(n)}: must be a whole number, or inf for a population covariance"
        )
    if n < 2:
        raise DataError(f"n = {shown(n)}: must be at least 2")
    names, C = read_observations(cov, graph, "cov")
    if C.shape[0] != C.shape[1]:
        raise DataError(f"cov has shape {C.shape}: a covariance matrix is square")
    if not np.isfinite(C).all():
        raise _missing_values(names, C, "entry")
    variances = np.diag(C)
    if (variances <= 0).any():
        i = int(variances.argmin())
        raise DataError(
            f"cov is not positive definite: the variance of {names[i]!r} is {variances[i]:g}; "
            "a constant variable must be dropped"
        )
    sd = np.sqrt(variances)
    _check_scale(names, sd, "a standard deviation of")
    magnitude = np.maximum(np.abs(C), np.abs(C.T))
    excess = np.abs(C - C.T) - _PRINTING * magnitude - _ROUNDING * np.outer(sd, sd)
    if excess.max() > 0:
        i, j = (int(k) for k in np.unravel_index(excess.argmax(), C.shape))
        raise DataError(
            f"cov is not symmetric: {C[i, j]:g} at ({names[i]!r}, {names[j]!r}) but {C[j, i]:g} at "
            f"({names[j]!r}, {names[i]!r}); are rows and columns in the same order?"
        )
    size = float(n)
    to_mle = 1.0 if size == math.inf else (size - ddof) / size
    return Moments._gated(names, (C + C.T) * (to_mle / 2), size)


# --- reading tables -------------------------------------------------------------------------------


def read_observations(
    table: Any, graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Names and values of the columns that are needed; for `cov` the rows are selected alike.

    The values may be the user's own array: read them, do not write to them.
    """
    if isinstance(table, str | bytes | os.PathLike):
        raise DataError(
            f"{what} is the text or path {shown(table)}: read the file first, for example with "
            "pandas.read_csv; on the command line, `bowfree learn data.csv` does"
        )
    try:
        if isinstance(table, np.ndarray | list | tuple):
            names, values = _read_array(table, graph, what)
        elif isinstance(table, Mapping):
            names, values = _read_columns(table, graph, what)
        else:
            names, values = _read_frame(table, graph, what)
    except (BowfreeError, MemoryError):
        raise
    except Exception as error:  # of whatever library the object is from
        raise DataError(
            f"{what} cannot be read as a table ({type(error).__name__}: {str(error)[:200]}); give "
            "an array, a data frame, or a mapping from names to columns"
        ) from error
    if len(names) > _MOST_VARIABLES:
        raise DataError(
            f"{what} has {len(names):,} columns, and {_MOST_VARIABLES:,} is the most there can be: "
            "select some (are the observations in rows?)"
        )
    return names, values


def _read_array(table: Any, graph: MixedGraph | None, what: str) -> tuple[tuple[str, ...], Floats]:
    try:
        values = _unmasked(table)
    except ValueError as error:
        raise DataError(f"{what} is not a table: {error}") from None
    if values.ndim == 0:
        raise DataError(
            f"{what} is of type {type(table).__name__}: an array, a data frame, or a mapping from "
            "names to columns is needed"
        )
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(
            f"{what} has shape {values.shape}: a table with rows and columns is needed"
            + (" (one column is x.reshape(-1, 1))" if values.ndim == 1 else "")
        )
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
    return names, _as_floats(values)


def _read_columns(
    table: Mapping[Any, Any], graph: MixedGraph | None, what: str
) -> tuple[tuple[str, ...], Floats]:
    """Read a mapping from names to columns; the rows of `cov` are in the order of its columns."""
    position = _positions(list(table), what)
    columns = [_unmasked(column) for column in table.values()]
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    sizes = {column.shape for column in columns}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise DataError(
            f"columns of {what} have shapes {shown(sorted(sizes))}: they must be equally long"
        )
    used = [columns[position[name]] for name in names]
    strange = {
        name: column.dtype
        for name, column in zip(names, used, strict=True)
        if column.dtype.kind not in "iuf"
    }
    _check_numeric(strange, what)
    values = np.column_stack([_as_floats(column) for column in used])
    if what == "cov" and len(values) == len(columns):
        values = values[[position[name] for name in names]]
    return names, values


def _read_frame(table: Any, graph: MixedGraph | None, what: str) -> tuple[tuple[str, ...], Floats]:
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return _read_array(table, graph, what)
    schema = frame.schema
    columns = list(frame.columns)
    position = _positions(columns, what)
    names = tuple(position) if graph is None else graph.nodes
    _check_names(names, position, what)
    used = [columns[position[name]] for name in names]
    _check_numeric(
        {str(c): dtype for c in used if not (dtype := schema[c]).is_numeric()},
        what,
    )
    values = np.empty((len(frame), len(used)))
    for k, column in enumerate(used):
        values[:, k] = frame.get_column(column).cast(nw.Float64).to_numpy()
    if what == "cov":
        values = values[_row_positions(table, position, names, len(values))]
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


def _positions(columns: Sequence[Any], what: str) -> dict[str, int]:
    """Return the place of each column by its name as text."""
    if not columns:
        raise DataError(f"{what} has no columns: a table with rows and columns is needed")
    position = {str(column): k for k, column in enumerate(columns)}
    if len(position) < len(columns):
        names = [str(column) for column in columns]
        twice = [name for name, k in position.items() if names.index(name) != k]
        raise DataError(f"{what} has several columns named {_quote(sorted(twice))}: rename them")
    if "" in position:
        raise DataError(f"column {position['']} of {what} has no name: give it one")
    return position


def _unmasked(table: Any) -> npt.NDArray[Any]:
    """Return an array, with NaN where it is masked: `asarray` would show what is behind."""
    if isinstance(table, np.ma.MaskedArray) and table.dtype.kind in "iuf":
        return np.ma.filled(_as_floats(table), np.nan)
    return np.asarray(table)


def _as_floats(values: npt.NDArray[Any]) -> Floats:
    """Return float64, and the array itself when it is; what is too large becomes infinite."""
    if values.dtype == np.float64:
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float64)


# --- checks ---------------------------------------------------------------------------------------


def _whole(n: float) -> float | None:
    """Return the whole number below n, None when there is none or it is too large for a float."""
    try:
        return float(int(n))
    except (OverflowError, ValueError):
        return None


def _check_names(names: Sequence[str], available: dict[str, int], what: str) -> None:
    missing = [name for name in names if name not in available]
    if not missing:
        return
    hints = []
    for name in missing[:12]:
        close = get_close_matches(name, available, n=1)
        hints.append(f"{name!r} (did you mean {close[0]!r}?)" if close else repr(name))
    more = f" and {len(missing) - 12} more" if len(missing) > 12 else ""
    raise DataError(
        f"{what} has no column for the graph's node {', '.join(hints)}{more}; its columns are "
        f"{_quote(list(available))}"
    )


def _check_numeric(strange: Mapping[str, Any], what: str) -> None:
    if strange:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(strange.items())[:12])
        more = f" and {len(strange) - 12} more" if len(strange) > 12 else ""
        raise DataError(
            f"non-numeric column {listed}{more} in {what}: drop it or code it as numbers"
        )


def _missing_values(names: Sequence[str], values: Floats, what: str) -> DataError:
    bad = ~np.isfinite(values)
    count, first = bad.sum(axis=0), bad.argmax(axis=0)
    places = [
        f"{names[i]!r} ({count[i]} {what}{'s' if count[i] > 1 else ''}, first in row {first[i]})"
        for i in map(int, np.flatnonzero(count))
    ]
    listed = ", ".join(places[:12]) + (
        f" and {len(places) - 12} more columns" if len(places) > 12 else ""
    )
    return DataError(f"missing or infinite values in {listed}: drop or impute those observations")


def _check_scale(names: Sequence[str], size: Floats, what: str) -> None:
    """Exclude columns that are too large or too small to be squared."""
    if ((size >= _SMALLEST) & (size <= _LARGEST)).all():
        return
    i = int(np.flatnonzero((size < _SMALLEST) | (size > _LARGEST))[0])
    raise DataError(
        f"column {names[i]!r} has {what} {size[i]:.3g}: its covariances are "
        f"{'larger' if size[i] > 1 else 'smaller'} than numbers on a computer can be; rescale it "
        "(choose a unit in which it is about 1)"
    )


def _check_definite(found: Moments, graph: MixedGraph | None) -> None:
    """Exclude a singular S, where the likelihood has no maximum."""
    names, S, n = found.names, found.S, found.n
    sd = np.sqrt(S.diagonal())
    R = S / (sd[:, None] * sd)
    same = np.abs(R) > 1 - _SINGULAR
    if np.count_nonzero(same) > len(names):
        i, j = np.argwhere(np.triu(same, 1))[0]
        raise DataError(
            f"duplicated columns {names[i]!r} and {names[j]!r}: their correlation is "
            f"{'1' if R[i, j] > 0 else '-1'}, keep one of them"
        )
    if graph is None or n > len(names):
        _check_block(found, R, range(len(names)), "")
        return
    for block, where in _families(graph, n):
        _check_block(found, R[np.ix_(block, block)], block, where)


def _check_block(found: Moments, R: Floats, block: Sequence[int], where: str) -> None:
    """Raise when the correlation matrix of some variables is not positive definite."""
    smaller = R.copy()
    smaller.flat[:: len(block) + 1] -= _SINGULAR
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(smaller)
        return
    eigenvalues, vectors = np.linalg.eigh(R)
    if found.n <= len(block):
        raise DataError(
            f"n = {found.n:g} observations of {len(block)} variables{where}: the covariance "
            "matrix is singular and the likelihood unbounded; use fewer variables, `shrinkage=` "
            "where the function has it, or pass a shrunk (positive definite) matrix as `cov`"
        )
    loading = np.abs(vectors[:, 0])
    guilty = [
        found.names[block[k]] for k in map(int, np.flatnonzero(loading > 0.01 * loading.max()))
    ]
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
