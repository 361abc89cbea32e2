"""The gate for data: whatever the user has becomes :class:`bowfree.Moments`, or an error.

Every function that takes data takes them in one of four forms:

- ``data``: observations in rows; an array, a data frame of any kind that narwhals reads, a
  mapping from names to columns, or pieces of these, one after the other
  (:mod:`bowfree.model.streams`). ``missing`` says what to do about gaps, ``correlation`` asks for
  ranks, ``ordinal`` names columns of ordered categories, ``weights`` has sampling weights;
- ``cov`` with ``n``: a covariance matrix; ``ddof`` says its divisor ``n - ddof`` (never guessed);
- :class:`bowfree.Moments`, which :func:`moments` has made of one of these: the gate passed once,
  for several functions;
- a list of :class:`bowfree.Condition`, each of them data of its own
  (:mod:`bowfree.model.conditions`).

Columns are matched with the nodes of a graph by name. What comes out has divisor n, because that is
the matrix whose fit maximises the likelihood of section 2.3. Bad input ends here, so that the
core may assume a finite, symmetric, positive definite matrix. With no more observations than
variables it is singular, and whoever goes on considers only graphs whose districts, with their
parents, are smaller than n (:meth:`bowfree.SearchSpace.fitting`), or refuses.
Next: :mod:`bowfree.model.fitting`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.conditions import are_conditions, listed_conditions, read_conditions
from bowfree.model.covariance import (
    LARGEST,
    SMALLEST,
    check_definite,
    check_scale,
    check_semidefinite,
    missing_values,
    read_covariance,
)
from bowfree.model.joint_moments import JointMoments
from bowfree.model.missing import read_incomplete
from bowfree.model.moments import Moments
from bowfree.model.ordinal import read_mixed
from bowfree.model.ranks import read_ranks
from bowfree.model.reading import Observations, quoted, read_observations
from bowfree.model.sample import CompleteRows, Shrunk, row_slices, shrink
from bowfree.model.streams import Sums, is_stream, read_stream
from bowfree.options import Correlation, DataOptions, Means, Missing, is_number
from bowfree.text_input import shown

__all__ = ["moments", "read_moments", "read_once"]

Floats = npt.NDArray[np.float64]

# Of the largest weight: a row with less is lost in the rounding of the others.
_SMALLEST_WEIGHT = 1e-12


def moments(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    graph: GraphLike | None = None,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
) -> Moments:
    """Turn data or a covariance matrix into :class:`Moments`, or say what is wrong with it.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, mapping of names to columns, or Moments, optional
        Observations in rows. Columns of a data frame that `graph` does not have are left out.
        Also an iterator of such tables, a polars.LazyFrame, a pyarrow dataset or a dask data frame:
        pieces are read once, and of more than 16 million cells only the moments are kept.
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
    missing : {"fiml", "two-stage", "listwise"}, optional
        What to do about missing values (NaN, None, null): the default is an error. ``"fiml"`` and
        ``"two-stage"`` use all cells, by the mean and covariance matrix of largest likelihood; they
        differ in :func:`bowfree.fit`, which then maximises the likelihood of the observed cells, or
        takes that matrix for the data. ``"listwise"`` leaves out rows with gaps.
    correlation : {"pearson", "spearman", "kendall"}
        Covariances; or rank correlations, translated to those of the normal variables of which the
        columns are monotone functions (Gaussian copula).
    ordinal : sequence of str
        Columns of ordered categories; their order is that of their numbers. Ordered categoricals of
        pandas and polars need not be named. Their correlations are polychoric and polyserial.
    weights : array_like of shape (n,) or str, optional
        Sampling weights, or the column that has them.
    means : {"free", "shared"}
        Of several conditions (:class:`bowfree.Condition`): each has its own mean; or intercepts are
        shared except where an intervention acts, so that shifts of the mean speak for the graph,
        too, and batch effects with them.

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
    return read_moments(
        data,
        graph=bap,
        cov=cov,
        n=n,
        ddof=ddof,
        shrinkage=shrinkage,
        missing=missing,
        correlation=correlation,
        ordinal=ordinal,
        weights=weights,
        means=means,
    )


def read_moments(
    data: Any = None, *, graph: MixedGraph | None = None, **options: Unpack[DataOptions]
) -> Moments:
    """Do what :func:`moments` does: its name inside the package, where ``moments`` is a variable.

    Examples
    --------
    >>> from bowfree.model.gate import read_moments
    >>> read_moments([[1.0, 0.0], [2.0, 5.0], [3.0, 1.0]]).names
    ('x1', 'x2')
    """
    means = options.pop("means", "free")
    _check_word("means", means, get_args(Means))
    if isinstance(data, JointMoments) or are_conditions(data):
        return _from_conditions(data, graph, options, means)
    if means != "free":
        raise DataError(f"means = {means!r} is for several conditions: leave it out")
    cov, n, ddof = options.get("cov"), options.get("n"), options.get("ddof", 1)
    if (data is None) == (cov is None):
        what = "both were given" if cov is not None else "neither was given"
        raise DataError(f"{what}: give either `data`, or `cov` with `n`")
    if not is_number(ddof) or ddof not in (0, 1):
        raise DataError(f"ddof = {shown(ddof)}: must be 1 (divisor n - 1) or 0 (divisor n)")
    shrinkage = options.get("shrinkage", 0.0)
    chosen = is_number(shrinkage) and 0.0 <= shrinkage <= 1.0
    if not chosen and not (isinstance(shrinkage, str) and shrinkage == "auto"):
        raise DataError(
            f"shrinkage = {shown(shrinkage)}: must be a number between 0 (none) and 1 (diagonal), "
            "or 'auto'"
        )
    treatment = Treatment.of(options)
    if graph is not None:
        graph.check_bap()
    if isinstance(data, Moments):
        treatment.refuse("moments, which are made already: use it where they are made")
        found = _from_moments(data, n, graph)
    elif data is not None:
        found = _from_data(data, n, graph, treatment)
    else:
        treatment.refuse("a covariance matrix: it is about rows, give them as `data`")
        found = Moments._gated(*read_covariance(cov, n, ddof, graph))
    if shrinkage == "auto":
        shrinkage = _ledoit_wolf(found)
    if shrinkage:
        factor = 1.0 - float(shrinkage)
        sample = None if found.sample is None else Shrunk(found.sample, factor)
        found = Moments._gated(
            found.names, shrink(found.S, factor), found.n, found.mean, sample, found.notes
        )
    if graph is None and found.n <= len(found.names):
        check_semidefinite(found.names, found.S, found.n)
    else:
        check_definite(found.names, found.S, found.n, graph)
    return found


def read_once(data: Any, **options: Unpack[DataOptions]) -> Any:
    """Return data that can be given to the gate and looked at besides: read, but not judged.

    Examples
    --------
    >>> from bowfree.model.gate import read_moments, read_once
    >>> table = read_once({"x": value} for value in ([1.0, 2.0], [4.0]))
    >>> len(table), read_moments(table).n
    (3, 3.0)
    """
    if data is None or isinstance(data, Moments) or are_conditions(data):
        return data
    if is_stream(data):
        return Treatment.of(options).read_stream(data, None)
    categories: dict[str, tuple[str, ...]] = {}
    names, values = read_observations(data, None, "data", categories=categories)
    return Observations(names, values, categories)


def _from_conditions(
    data: Any, graph: MixedGraph | None, options: Mapping[str, Any], means: Means
) -> Moments:
    """Read several conditions; one without targets is data like any other."""
    if not isinstance(data, JointMoments):
        given = listed_conditions(data)
        if len(given) == 1 and given[0].targets == ():
            only = given[0]
            own = {} if only.cov is None else {"cov": only.cov, "n": only.n, "ddof": only.ddof}
            return read_moments(only.data, graph=graph, **{**options, **own})
    unsaid = {"ddof": 1, "shrinkage": 0.0, "correlation": "pearson", "ordinal": ()}
    for word, value in options.items():
        if value is not None and (word in ("cov", "weights") or value != unsaid.get(word)):
            raise DataError(
                f"{word} = {shown(value)} was given with several conditions: each of them "
                "brings complete rows of numbers, or its own `cov`, `n` and `ddof`"
            )
    if graph is not None:
        graph.check_bap()
    if not isinstance(data, JointMoments):
        return read_conditions(given, graph, means)
    if means != "free" and data.means != means:
        data = JointMoments(data.conditions, means=means)
    found = _from_moments(data, None, graph)
    assert isinstance(found, JointMoments)
    found._check(graph)
    return found


def _ledoit_wolf(found: Moments) -> float:
    from bowfree.model.shrinkage import ledoit_wolf_shrinkage

    rows = found.sample
    if not isinstance(rows, CompleteRows) or not rows.plain:
        raise DataError(
            "shrinkage = 'auto' needs complete rows of numbers, each counted once: give such "
            "`data`, or a number"
        )
    return ledoit_wolf_shrinkage(rows.deviations)


@dataclass(frozen=True)
class Treatment:
    """What is to be done with rows, checked; the words are explained in :func:`moments`."""

    missing: Missing | None = None
    correlation: Correlation = "pearson"
    ordinal: tuple[str, ...] = ()
    weights: Any = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Treatment:
        """Check the words."""
        missing, correlation = options.get("missing"), options.get("correlation", "pearson")
        if missing is not None:
            _check_word("missing", missing, ("fiml", "two-stage", "listwise"))
        _check_word("correlation", correlation, ("pearson", "spearman", "kendall"))
        ordinal = options.get("ordinal", ())
        if not isinstance(ordinal, list | tuple) or not all(isinstance(v, str) for v in ordinal):
            raise DataError(
                f"ordinal = {shown(ordinal)}: must be a list of names of columns, such as ['x']"
            )
        return cls(missing, correlation, tuple(ordinal), options.get("weights"))

    def refuse(self, where: str) -> None:
        """Raise when anything was asked for, where there are no rows that it could be done with."""
        for word in fields(self):
            value = getattr(self, word.name)
            asked = value is not None if word.name == "weights" else value != word.default
            if asked:
                raise DataError(f"{word.name} = {shown(value)} was given with {where}")

    def read_stream(self, data: Any, graph: MixedGraph | None) -> Observations | Sums:
        """Read a table that comes in pieces, with the columns that are needed."""
        wanted = None if graph is None else graph.nodes
        asked = {
            f"correlation={self.correlation!r}": self.correlation != "pearson",
            "ordinal=[...]": bool(self.ordinal),
            "weights=...": self.weights is not None,
        }
        if wanted is not None and isinstance(self.weights, str) and self.weights not in wanted:
            wanted = (*wanted, self.weights)
        return read_stream(
            data,
            wanted,
            listwise=self.missing == "listwise",
            rows_for=next((word for word, given in asked.items() if given), None),
        )


def _check_word(name: str, value: object, choices: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{name} = {shown(value)}: must be one of {', '.join(choices)}")


# --- the forms of input ---------------------------------------------------------------------


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
            f"the graph has {quoted(missing)}, which the data have not; they have "
            f"{quoted(given.names)}"
        )
    return given.take(graph.nodes)


def _from_data(
    data: Any, n: float | None, graph: MixedGraph | None, treatment: Treatment
) -> Moments:
    if n is not None:
        raise DataError(
            f"n = {shown(n)} was given with `data`: leave it out, n is the number of rows"
        )
    if is_stream(data):
        data = treatment.read_stream(data, graph)
    if isinstance(data, Sums):
        note = f"{data.left_out} rows have gaps and are left out"
        return Moments._gated(data.names, *data.summary(), None, (note,) * bool(data.left_out))
    categories: dict[str, tuple[str, ...]] = {}
    names, X = read_observations(data, graph, "data", categories=categories)
    names, X, weights = _take_weights(names, X, data, treatment.weights)
    if not names:
        raise DataError("there are no variables: the graph has no nodes")
    if len(X) < 2:
        raise DataError(f"n = {len(X)}: data need at least 2 rows (observations in rows)")
    declared = _declared(names, categories, treatment.ordinal)
    X, weights, notes = _complete(names, X, weights, declared, treatment)
    if treatment.missing in ("fiml", "two-stage") and np.isnan(X).any():
        taken, rows, more = read_incomplete(names, X, treatment.missing, weights)
        return Moments._gated(names, *taken, rows, notes + more)
    constant = X[0] == X[-1]  # which tells most columns from constant ones at a glance
    for some in row_slices(X):
        if not constant.any():
            break
        constant &= (X[0] == X[some]).all(axis=0)
    if constant.any():
        named = [names[k] for k in np.flatnonzero(constant)]
        raise DataError(f"constant column {quoted(named)}: drop it, it has no variance to explain")
    if declared or treatment.correlation != "pearson":
        return _from_order(names, X, weights, declared, treatment, notes)
    with np.errstate(over="ignore", invalid="ignore"):  # looked at in the next lines
        complete, mean = CompleteRows.of(X, weights)
        S = complete.covariance()
    variances = S.diagonal()
    if not (variances.min() >= SMALLEST**2 and variances.max() <= LARGEST**2):  # nor NaN
        check_scale(names, np.abs(X).max(axis=0), "values up to")
    return Moments._gated(names, S, _worth(len(X), weights), mean, complete, notes)


def _from_order(
    names: tuple[str, ...],
    X: Floats,
    weights: Floats | None,
    declared: Mapping[str, tuple[str, ...] | None],
    treatment: Treatment,
    notes: tuple[str, ...],
) -> Moments:
    """Make moments of categories, or of ranks."""
    if weights is not None:
        what = "ordered categories" if declared else "ranks"
        raise DataError(f"weights are for covariances of numbers: they were given with {what}")
    if treatment.correlation == "pearson":
        taken, mixed, more = read_mixed(names, X, declared)
        return Moments._gated(names, *taken, mixed, notes + more)
    if declared:
        raise DataError(
            f"correlation = {treatment.correlation!r} was given with ordered categories "
            f"({quoted(list(declared))}), whose correlations are polychoric: leave it out"
        )
    taken, ranked, more = read_ranks(names, X, treatment.correlation)
    return Moments._gated(names, *taken, ranked, notes + more)


def _complete(
    names: tuple[str, ...],
    X: Floats,
    weights: Floats | None,
    declared: Mapping[str, tuple[str, ...] | None],
    treatment: Treatment,
) -> tuple[Floats, Floats | None, tuple[str, ...]]:
    """Refuse gaps, or leave out rows, or leave gaps to those who can deal with them."""
    # One pass over complete data, which is what most data are: the sum is not finite if a cell is.
    with np.errstate(invalid="ignore", over="ignore"):
        finite = all(
            math.isfinite(float(X[rows].sum())) or np.isfinite(X[rows]).all()
            for rows in row_slices(X)
        )
    if finite:
        return X, weights, ()
    if np.isinf(X).any() or treatment.missing is None:
        in_order = treatment.correlation != "pearson" or bool(declared)
        raise missing_values(names, X, "value", in_order=in_order)
    if treatment.missing == "listwise":
        keep = np.isfinite(X).all(axis=1)
        if keep.sum() < 2:
            raise DataError(
                f"{int(keep.sum())} of {len(X)} rows are complete: missing='listwise' leaves "
                "nothing; use missing='fiml', or drop the columns with most gaps"
            )
        note = f"{len(X) - int(keep.sum())} of {len(X)} rows have gaps and are left out"
        weights = None if weights is None else weights[keep] / weights[keep].mean()
        return X[keep], weights, (note,)
    if treatment.correlation != "pearson" or declared:
        what = "ordered categories" if declared else f"correlation={treatment.correlation!r}"
        raise DataError(
            f"missing={treatment.missing!r} is for covariances of numbers: with {what} use "
            "missing='listwise'"
        )
    return X, weights, ()


def _take_weights(
    names: tuple[str, ...], X: Floats, data: Any, weights: Any
) -> tuple[tuple[str, ...], Floats, Floats | None]:
    """Return the variables, and the weights with mean one."""
    if weights is None:
        return names, X, None
    if isinstance(weights, str):
        if weights in names:
            keep = [k for k, name in enumerate(names) if name != weights]
            w = X[:, names.index(weights)]
            names, X = tuple(names[k] for k in keep), X[:, keep]
        else:  # a column that the graph does not have
            w = read_observations(data, MixedGraph([weights]), "data")[1][:, 0]
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # imaginary parts are not dropped
                w = np.asarray(weights, dtype=np.float64)
        except Exception:  # of whatever library the object is from
            raise DataError(f"weights = {shown(weights)}: must be numbers") from None
    if w.shape != (len(X),):
        raise DataError(
            f"weights has shape {w.shape}: one weight for each of the {len(X)} rows is needed"
        )
    if not (np.isfinite(w).all() and (w > 0).all()):
        k = int(np.flatnonzero(~(np.isfinite(w) & (w > 0)))[0])
        raise DataError(
            f"weights has {w[k]:g} in row {k}: must be positive numbers; leave out rows that do "
            "not count"
        )
    w = w / w.max()
    if w.min() < _SMALLEST_WEIGHT:
        raise DataError(
            f"weights differ by a factor of more than {1 / _SMALLEST_WEIGHT:g}: leave out rows "
            "that do not count"
        )
    return names, X, w / w.mean()


def _worth(n: int, weights: Floats | None) -> float:
    """Return Kish's effective sample size: n divided by one plus the variance of the weights."""
    if weights is None:
        return float(n)
    return float(max(2.0, np.round(n * n / np.sum(weights**2))))


def _declared(
    names: tuple[str, ...],
    categories: Mapping[str, tuple[str, ...]],
    ordinal: Sequence[str],
) -> dict[str, tuple[str, ...] | None]:
    """Return the columns of ordered categories, with their labels where they have some."""
    unknown = [name for name in ordinal if name not in names]
    if unknown:
        raise DataError(f"ordinal has {quoted(unknown)}, which is no column: {quoted(names)}")
    return {name: categories.get(name) for name in names if name in {*ordinal, *categories}}
