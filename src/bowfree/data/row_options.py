"""Options of rows: weights, labels of clusters, missing values, and what is estimated from rows.

:mod:`bowfree.data.options` calls these functions while it reads a table.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import missing_values
from bowfree.data.frames import Observations, quoted, read_observations, take_column
from bowfree.data.moments import Moments
from bowfree.data.sample import (
    CompleteRows,
    Floats,
    NonGaussianRows,
    cross_products,
    rescaled,
    row_slices,
)
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Correlation, Missing
from bowfree.text_reading import short_repr

# A row whose weight is smaller than this fraction of the largest one is lost in rounding.
_SMALLEST_WEIGHT = 1e-12
# A continuous variable has more distinct values than this share of the rows.
MOST_TIES = 0.25


def take_weights(
    names: tuple[str, ...], X: Floats, data: Any, weights: Any
) -> tuple[tuple[str, ...], Floats, Floats | None]:
    """Return names and values of the variables, and the weights scaled to mean one."""
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
                warnings.simplefilter("error")  # complex numbers must not lose their second part
                w = np.asarray(weights, dtype=np.float64)
        except Exception:  # raised by the library that the object is from
            raise DataError(f"weights = {short_repr(weights)}: must be numbers") from None
    if w.shape != (len(X),):
        raise DataError(
            f"weights has shape {w.shape}: must be one weight for each of {len(X)} rows"
        )
    if not (np.isfinite(w).all() and (w > 0).all()):
        k = int(np.flatnonzero(~(np.isfinite(w) & (w > 0)))[0])
        raise DataError(
            f"weights has {w[k]:g} in row {k}: must be positive numbers; drop such rows"
        )
    w = w / w.max()
    if w.min() < _SMALLEST_WEIGHT:
        raise DataError(
            f"weights differ by a factor of more than {1 / _SMALLEST_WEIGHT:g}; drop the rows with "
            "the smallest weights"
        )
    return names, X, w / w.mean()


def take_clusters(
    data: Any, clusters: Any, graph: MixedGraph | None = None
) -> tuple[Any, npt.NDArray[np.str_] | None]:
    """Return the data without the column of clusters, and the labels of the rows.

    A column that is a node of the graph stays.
    """
    labels: Any = clusters
    if labels is None:
        return data, None
    if isinstance(data, Observations) and data.clusters is not None:
        return data, data.clusters
    if isinstance(labels, str):
        rest, labels = take_column(data, labels)
        data = data if graph is not None and clusters in graph.nodes else rest
    try:
        cells = np.asarray(labels, dtype=object)
        words = np.array([str(label) for label in cells.tolist()] if cells.ndim == 1 else [])
    except Exception:  # raised by the library that the object is from
        cells = words = np.zeros(())
    if cells.ndim != 1:
        raise DataError(f"clusters = {short_repr(labels)}: must be one label for each row")
    if np.isin(words, ("None", "nan", "NaT", "<NA>")).any():
        raise DataError("clusters has missing labels: drop these rows, or give each its own label")
    return data, words


def cluster_codes(labels: npt.NDArray[np.str_]) -> npt.NDArray[np.intp]:
    """Return the number of the cluster of each row."""
    found, codes = np.unique(labels, return_inverse=True)
    if len(found) < 2:
        raise DataError("clusters has one label only: at least two clusters are needed")
    return np.asarray(codes, dtype=np.intp)


def drop_missing(
    names: tuple[str, ...],
    X: Floats,
    weights: Floats | None,
    missing: Missing | None,
    correlation: Correlation,
    ordered: bool,
    use: str,
) -> tuple[Floats, Floats | None, tuple[str, ...]]:
    """Raise an error on missing values, drop their rows, or leave them for the likelihood."""
    # The sum of a slice is finite if all its cells are; one pass suffices for complete data.
    with np.errstate(invalid="ignore", over="ignore"):
        finite = all(
            math.isfinite(float(X[rows].sum())) or np.isfinite(X[rows]).all()
            for rows in row_slices(X)
        )
    if finite:
        return X, weights, ()
    numbers = correlation == "pearson" and not ordered
    if np.isinf(X).any() or missing is None:
        raise missing_values(names, X, "value", use if numbers or ordered else "")
    if missing == "listwise":
        keep = np.isfinite(X).all(axis=1)
        kept, total = int(keep.sum()), len(X)
        if kept < 2:
            raise DataError(
                f"missing='listwise': only {kept} of {total} rows are complete; use "
                "missing='fiml', or drop the columns with most missing values"
            )
        note = f"{total - kept} of {total} rows with missing values were dropped"
        return X[keep], rescaled(weights, keep), (note,)
    if missing == "pairwise" and ordered:
        some = np.isfinite(X).any(axis=1)
        if weights is not None or some.all():  # weights are refused later
            return X, weights, ()
        empty = len(X) - np.count_nonzero(some)
        return X[some], None, (f"{empty} rows without observed values were dropped",)
    if missing == "pairwise":
        raise DataError(
            "missing = 'pairwise' is for ordered categories; use missing='fiml' for numbers, "
            "missing='listwise' for ranks"
        )
    if not numbers:
        what = "ordered categories" if ordered else f"correlation={correlation!r}"
        raise DataError(
            f"missing={missing!r} cannot be combined with {what}; use "
            f"missing={'pairwise' if ordered else 'listwise'!r}"
        )
    return X, weights, ()


def ledoit_wolf(found: Moments) -> float:
    """Return the shrinkage of Ledoit and Wolf, for correlations."""
    rows = found.sample
    if not isinstance(rows, CompleteRows) or not rows.plain:
        raise DataError(
            "shrinkage = 'auto' needs complete unweighted rows of numbers; pass such `data`, or a "
            "number"
        )
    # Of correlations, whose shrinkage toward the identity leaves the variances unchanged; as in
    # scikit-learn, but with sums in a fixed order.
    Z = rows.deviations / rows.deviations.std(axis=0)
    n, d = Z.shape
    squares = float((cross_products(Z, Z) ** 2).sum()) / n**2
    distance = squares - d  # the squared norm of R - I
    error = (float(((Z**2).sum(axis=1) ** 2).sum()) / n - squares) / n
    return min(error, distance) / distance if distance > 0 else 0.0


def with_nongaussian_errors(found: Moments) -> Moments:
    """Return moments whose scores use the rows beyond their covariances."""
    found._require_definite("non-Gaussian errors need more rows than variables")
    rows = found.sample
    if not isinstance(rows, CompleteRows):
        raise DataError(
            "errors='nongaussian' needs complete rows, which this table is too large for"
        )
    tied = [
        name
        for name, column in zip(found.names, rows.deviations.T, strict=True)
        if len(np.unique(column)) < MOST_TIES * len(column)
    ]
    if tied:
        raise DataError(
            f"column {quoted(tied)} has many equal values: errors='nongaussian' needs continuous "
            "variables; use errors='gaussian', or drop the column"
        )
    sample = NonGaussianRows(rows.deviations)
    return Moments._unchecked(found.names, found.S, found.n, found.mean, sample, found.notes)
