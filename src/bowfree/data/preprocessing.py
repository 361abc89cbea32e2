"""Rows become moments: what is done about gaps, ranks, ordered categories and weights.

The gate (:mod:`bowfree.data.loader`) sends here whatever has rows. What is wanted of them is a
:class:`Treatment`, checked before anything is read; :func:`moments_of_rows` then reads the table,
takes the weights from it, deals with the gaps, and asks the one who knows: plain covariances
(:mod:`bowfree.data.sample`), the likelihood of incomplete rows (:mod:`bowfree.data.missing_values`),
rank correlations (:mod:`bowfree.data.ranks`), or polychoric ones (:mod:`bowfree.data.ordinal`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import LARGEST, SMALLEST, check_scale, missing_values
from bowfree.data.frames import Observations, quoted, read_observations
from bowfree.data.missing_values import read_incomplete
from bowfree.data.moments import Moments
from bowfree.data.ordinal import read_mixed
from bowfree.data.ranks import read_ranks
from bowfree.data.sample import CompleteRows, row_slices
from bowfree.data.streaming import Sums, is_stream, read_stream
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Correlation, Missing
from bowfree.text_reading import short_repr

Floats = npt.NDArray[np.float64]

# Of the largest weight: a row with less is lost in the rounding of the others.
_SMALLEST_WEIGHT = 1e-12


@dataclass(frozen=True)
class Treatment:
    """What is to be done with rows, checked; the words are explained in :func:`bowfree.moments`."""

    missing: Missing | None = None
    correlation: Correlation = "pearson"
    ordinal: tuple[str, ...] = ()
    weights: Any = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Treatment:
        """Check the words."""
        missing, correlation = options.get("missing"), options.get("correlation", "pearson")
        if missing is not None:
            check_word("missing", missing, ("fiml", "two-stage", "listwise"))
        check_word("correlation", correlation, ("pearson", "spearman", "kendall"))
        ordinal = options.get("ordinal", ())
        if not isinstance(ordinal, list | tuple) or not all(isinstance(v, str) for v in ordinal):
            raise DataError(
                f"ordinal = {short_repr(ordinal)}: must be a list of names of columns, such as ['x']"
            )
        return cls(missing, correlation, tuple(ordinal), options.get("weights"))

    def refuse(self, where: str) -> None:
        """Raise when anything was asked for, where there are no rows that it could be done with."""
        for word in fields(self):
            value = getattr(self, word.name)
            asked = value is not None if word.name == "weights" else value != word.default
            if asked:
                raise DataError(f"{word.name} = {short_repr(value)} was given with {where}")

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


def check_word(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless a word is among those that data can be asked for with."""
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{name} = {short_repr(value)}: must be one of {', '.join(choices)}")


def moments_of_rows(
    data: Any, n: float | None, graph: MixedGraph | None, treatment: Treatment
) -> Moments:
    """Read observations in rows, or pieces of them, and make moments of them."""
    if n is not None:
        raise DataError(
            f"n = {short_repr(n)} was given with `data`: leave it out, n is the number of rows"
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
        raise DataError("there are no variables: the data have no column but the weights")
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
            raise DataError(f"weights = {short_repr(weights)}: must be numbers") from None
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
