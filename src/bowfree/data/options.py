"""From data to moments: :func:`bowfree.moments`, and its options as one object.

Every function that takes data accepts one of four forms:

- ``data``: observations in rows, as an array, a data frame, a mapping from names to columns, or a
  stream of these (:mod:`bowfree.data.streaming`);
- ``cov`` with ``n``: a covariance matrix with divisor ``n - ddof``;
- :class:`bowfree.Moments`, computed before by :func:`moments`;
- a list of :class:`bowfree.Condition`, each with its own data (:mod:`bowfree.data.conditions`).

:meth:`DataOptions.read` turns all of them into :class:`bowfree.Moments` with divisor n, which is
the matrix whose fit maximizes the likelihood of section 2.3. All input is validated here, so that
the core may assume a finite, symmetric, positive definite matrix. If there are no more observations
than variables, the matrix is singular; searches are then restricted to graphs whose districts, with
their parents, have fewer than n nodes (:meth:`bowfree.SearchSpace.fitting`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from bowfree.data.conditions import Condition, are_conditions, listed_conditions
from bowfree.data.covariance import (
    LARGEST,
    SMALLEST,
    check_constant,
    check_ddof,
    check_definite,
    check_scale,
    read_covariance,
)
from bowfree.data.frames import (
    BOOLEAN,
    Table,
    quoted,
    read_table,
    take_clusters,
    take_weights,
)
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.missing_values import drop_missing, read_incomplete
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments, Blocks, boolean_note, made_of, to_indicators
from bowfree.data.ordinal import read_mixed
from bowfree.data.ranks import read_ranks
from bowfree.data.sample import (
    CompleteRows,
    Floats,
    NonGaussianRows,
    Shrunk,
    cross_products,
    shrink,
)
from bowfree.data.streaming import Sums, is_stream, read_stream
from bowfree.errors import DataError
from bowfree.graph.identification import check_identified
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.parameters import Correlation, Errors, Means, Missing, public
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, is_number


@public
def moments(
    data: Any = None,
    *,
    graph: GraphLike | None = None,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    nominal: Sequence[str] = (),
    clusters: Any = None,
    errors: Errors = "gaussian",
) -> Moments:
    """Compute the moments of data that a Gaussian likelihood depends on.

    Every function that takes data accepts these moments in its place; several functions then share
    one computation.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, mapping of names to columns, or Moments, optional
        Observations in rows. Also an iterator of such tables, a polars.LazyFrame, a pyarrow dataset
        or a dask data frame: these are read once, and if they have more than 16 million cells only
        their moments are kept.
    graph : MixedGraph, or a result that has one, optional
        A BAP. Its nodes select and order the columns of the data by name; the columns of an array
        must be in the order of its nodes. If ``n <= d``, every district of the graph must, with its
        parents, have fewer than n nodes.

    Returns
    -------
    Moments

    Raises
    ------
    DataError
        If the data cannot be used; the message names the columns and the remedy.

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
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal,
        clusters, errors,
    )  # fmt: skip
    return options.read(data, None if graph is None else graph_of(graph), bows=True)


@dataclass(frozen=True, eq=False)
class DataOptions:
    """The options of :func:`bowfree.moments`, which describes them; validated on construction."""

    cov: Any = None
    n: float | None = None
    ddof: int = 1
    shrinkage: float | Literal["auto"] = 0.0
    missing: Missing | None = None
    correlation: Correlation = "pearson"
    ordinal: Sequence[str] = ()
    weights: Any = None
    means: Means = "free"
    nominal: Sequence[str] = ()
    clusters: Any = None
    errors: Errors = "gaussian"

    def __post_init__(self) -> None:
        ddof, shrinkage, ordinal = self.ddof, self.shrinkage, self.ordinal
        check_ddof(ddof)
        auto = isinstance(shrinkage, str) and shrinkage == "auto"
        if not auto and not (is_number(shrinkage) and 0.0 <= shrinkage <= 1.0):
            raise DataError(
                f"shrinkage = {short_repr(shrinkage)}: must be a number between 0 (none) and 1 "
                "(diagonal), or 'auto'"
            )
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None or name != "missing":
                check_choice(name, value, choices, DataError)
        for name, given in {"ordinal": ordinal, "nominal": self.nominal}.items():
            if not isinstance(given, list | tuple) or not all(isinstance(v, str) for v in given):
                raise DataError(
                    f"{name} = {short_repr(given)}: must be a list of column names, such as ['x']"
                )
        both = [name for name in self.nominal if name in ordinal]
        if both:
            raise DataError(f"column {quoted(both)} is both in `ordinal` and in `nominal`")
        vars(self).update(ddof=int(ddof), ordinal=tuple(ordinal), nominal=tuple(self.nominal))
        if not auto:
            vars(self).update(shrinkage=float(shrinkage))

    def refuse(self, reason: str, *options: str) -> None:
        """Raise an error if any of the options (by default all) was changed, naming the first."""
        for name, value in self.changed.items():
            if not options or name in options:
                raise DataError(f"{name} = {short_repr(value)}: {reason}")

    @cached_property
    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        own = vars(self)
        return {
            name: own[name]
            for name, default in _DEFAULTS
            if own[name] is not default and (default is None or own[name] != default)
        }

    def read(
        self, data: Any = None, graph: MixedGraph | None = None, *, bows: bool = False
    ) -> Moments:
        """Return the moments of the data, in the order of the graph's nodes if there is one.

        With `bows`, the graph may have bows whose parameters are identified.
        """
        if graph is not None and not graph.nodes:
            raise DataError("the graph has no nodes; pass one with the variables of the data")
        if isinstance(data, JointMoments) or are_conditions(data):
            return self._read_conditions(data, graph, bows)
        self.refuse("applies to several conditions only; omit it", "means")
        if (data is None) == (self.cov is None):
            what = "both were given" if data is not None else "neither was given"
            raise DataError(f"{what}: pass either `data`, or `cov` with `n`")
        if graph is not None:
            check_identified(graph) if bows else graph.check_bap()
        rows = ("missing", "correlation", "ordinal", "weights", "nominal", "clusters", "errors")
        if isinstance(data, Moments):
            reason = "cannot be combined with moments; pass it where the moments are computed"
            self.refuse(reason, "n", *rows)
            found: Moments = _reorder(data, graph)
        elif data is not None:
            self.refuse("cannot be combined with `data`; omit it, n is the number of rows", "n")
            found = self._read_rows(data, graph)
        else:
            self.refuse("needs observations in rows, not a covariance matrix", *rows)
            found = Moments._unchecked(*read_covariance(self.cov, self.n, self.ddof, graph))
        if self.errors == "nongaussian":
            what = "cannot be combined with errors='nongaussian', which needs complete, unweighted "
            self.refuse(f"{what}rows of numbers; omit it", *rows[:-1], "shrinkage")
        if isinstance(found, BlockMoments):
            what = "cannot be combined with nominal variables of three or more categories; omit it"
            self.refuse(what, "shrinkage")
            found.columns._require_definite("nominal variables need more rows than columns")
            return found
        shrinkage = _ledoit_wolf(found) if self.shrinkage == "auto" else self.shrinkage
        if shrinkage:
            factor = 1.0 - float(shrinkage)
            sample = None if found.sample is None else Shrunk(found.sample, factor)
            found = Moments._unchecked(
                found.names, shrink(found.S, factor), found.n, found.mean, sample, found.notes
            )
        if self.errors == "nongaussian":
            return _with_nongaussian_errors(found)
        n, d = found._n_distinct, len(found.names)
        if not found.definite or (graph is not None and n <= d):
            from_rows = isinstance(found.sample, CompleteRows)
            check_definite(found.names, found.S, n, graph, singular=True, from_rows=from_rows)
        return found

    def read_table(self, data: Any) -> Any:
        """Return a table that can be read several times: streams become a Table or Sums."""
        if data is None or isinstance(data, Moments) or are_conditions(data):
            return data
        if is_stream(data):
            data = self._read_stream(data, None)
        if isinstance(data, Sums):
            return data
        data, labels = take_clusters(data, self.clusters)
        return replace(read_table(data, None, "data", nominal=self.nominal), clusters=labels)

    def _read_stream(self, data: Any, graph: MixedGraph | None) -> Table | Sums:
        wanted = None if graph is None else graph.nodes
        if wanted is not None and isinstance(self.weights, str) and self.weights not in wanted:
            wanted = (*wanted, self.weights)
        needing = ("correlation", "ordinal", "weights", "nominal", "clusters", "errors")
        rows_for = next((k for k in needing if k in self.changed), None)
        return read_stream(data, wanted, listwise=self.missing == "listwise", rows_for=rows_for)

    def _read_conditions(self, data: Any, graph: MixedGraph | None, bows: bool) -> Moments:
        """Read several conditions; a single one without targets is ordinary data."""
        given = () if isinstance(data, JointMoments) else listed_conditions(data)
        if len(given) == 1 and given[0].targets == ():
            only = given[0]
            own = {} if only.cov is None else {"cov": only.cov, "n": only.n, "ddof": only.ddof}
            return replace(self, means="free", **own).read(only.data, graph, bows=bows)
        listwise = bool(given) and self.missing == "listwise"
        allowed = ("means", "missing") if listwise else ("means",)
        self.refuse(
            "cannot be combined with several conditions; each must have rows of numbers "
            "(missing='listwise' drops incomplete ones), or its own `cov`, `n` and `ddof`",
            *(field.name for field in fields(self) if field.name not in allowed),
        )
        if graph is not None:
            check_identified(graph) if bows else graph.check_bap()
        if given:
            return self._read_each(given, graph)
        if self.means not in ("free", data.means):
            data = JointMoments(data.conditions, means=self.means, notes=data.notes)
        joint: JointMoments = _reorder(data, graph)
        joint._check(graph)
        return joint

    def _read_each(self, given: Sequence[Condition], graph: MixedGraph | None) -> JointMoments:
        """Return the moments of several conditions, or of one with targets."""
        if any(condition.unknown for condition in given):
            raise DataError(
                "targets='learn' can be used in greedy_search only; the moments of its result have "
                "the targets that it found"
            )
        names = [c.name if c.name is not None else str(k + 1) for k, c in enumerate(given)]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise DataError(f"two conditions are named {quoted(twice)}: rename one")
        found: list[ConditionMoments] = []
        notes: list[str] = []
        for name, condition in zip(names, given, strict=True):
            try:
                read, own = self._read_one(condition, name, graph)
            except DataError as error:
                raise DataError(f"condition {name!r}: {error}") from None
            notes += [f"condition {name!r}: {note}" for note in own]
            first = found[0] if found else read
            odd = sorted(set(read.names) ^ set(first.names))
            if odd:
                raise DataError(
                    f"conditions {first.name!r} and {name!r} have different columns "
                    f"({quoted(odd)}): select the same columns"
                )
            found.append(read._take([read.names.index(v) for v in first.names]))
        moments = JointMoments(found, means=self.means, notes=tuple(notes))
        moments._check(graph)
        return moments

    def _read_one(
        self, condition: Condition, name: str, graph: MixedGraph | None
    ) -> tuple[ConditionMoments, tuple[str, ...]]:
        """Return the moments of a condition, whose perfect targets may be constant, and notes."""
        data, held = condition.data, condition.known if condition.kind == "perfect" else ()
        if condition.cov is not None:
            cov = (condition.cov, condition.n, condition.ddof)
            moments = Moments._unchecked(*read_covariance(*cov, graph, held))
        elif isinstance(data, JointMoments):
            raise DataError("its data are several conditions: pass these in place of it")
        elif isinstance(data, Moments):
            moments = _reorder(data, graph)
        else:
            moments = self._read_rows(data, graph, held)
        unknown = [name for name in condition.known if name not in moments.names]
        if unknown:
            raise DataError(
                f"targets: no variable {quoted(unknown)}; there are {quoted(moments.names)}"
            )
        if not moments.plain or moments.n == math.inf:
            raise DataError(
                f"n = {moments.n:g}: several conditions need complete unweighted rows of numbers, "
                "or their covariance matrix and number of observations"
            )
        S, rows = moments.S, None
        if isinstance(moments.sample, CompleteRows):
            rows = moments.sample.deviations
            still = np.array([name in held for name in moments.names])
            if still.any():  # without the rounding error of the mean
                still &= (rows == rows[0]).all(axis=0)
                S, rows = np.where(still | still[:, None], 0.0, S), np.where(still, 0.0, rows)
        numbers = (moments.names, moments.n, S, condition.known, moments.mean, rows)
        return ConditionMoments(name, *numbers, condition.kind), moments.notes

    def _read_rows(
        self, data: Any, graph: MixedGraph | None, held: Sequence[str] | None = None
    ) -> Moments:
        """Compute the moments of observations in rows.

        These may be rows of one of several conditions, whose columns `held` may be constant.
        """
        if is_stream(data):
            data = self._read_stream(data, graph)
        if isinstance(data, Sums):
            note = f"{data.n_dropped} rows with missing values were dropped"
            return Moments._unchecked(
                data.names, *data.summary(), None, (note,) * bool(data.n_dropped)
            )
        data, labels = take_clusters(data, self.clusters, graph)
        table = replace(read_table(data, graph, "data", nominal=self.nominal), clusters=labels)
        table, weights = take_weights(table, data, self.weights)
        names, n, categories = table.names, len(table.X), table.categories
        if not names:
            raise DataError("there are no variables: the only column of the data is the weights")
        if n < 2:
            raise DataError(f"n = {n}: data need at least 2 rows (observations in rows)")
        for option, given in {"ordinal": self.ordinal, "nominal": self.nominal}.items():
            unknown = [name for name in given if name not in names]
            if unknown and (option == "ordinal" or graph is None):
                raise DataError(f"{option}: no column {quoted(unknown)}; there are {quoted(names)}")
        if labels is not None and len(labels) != n:
            raise DataError(
                f"clusters has {len(labels)} labels: must be one label for each of the {n} rows"
            )
        labeled = {name for name, words in categories.items() if words is not BOOLEAN}
        categorical = {*self.ordinal, *labeled} - {*self.nominal}
        ordered = {name: categories.get(name) for name in names if name in categorical}
        use = "" if held is not None else "pairwise" if ordered else "fiml"
        table, weights, notes = drop_missing(
            table, weights, self.missing, self.correlation, bool(ordered), use
        )
        notes += boolean_note(names, categories)
        blocks: Blocks = {}
        if self.nominal:
            blocks, table, more = to_indicators(table, self.nominal)
            notes += more
            if len(table.names) > len(names) and (ordered or self.correlation != "pearson"):
                raise DataError(
                    "nominal variables of three or more categories cannot be combined with ordered "
                    "categories or rank correlations, which assume a normal variable behind every "
                    "column; list the ordered ones in `nominal`, too, or omit `correlation`"
                )
        return made_of(self._moments(table, weights, ordered, notes, held), blocks)

    def _moments(
        self,
        table: Table,
        weights: Floats | None,
        ordered: Mapping[str, tuple[str, ...] | None],
        notes: tuple[str, ...],
        held: Sequence[str] | None,
    ) -> Moments:
        """Compute the moments of columns of numbers, of which some are `ordered` categories."""
        names, X, clusters = table.names, table.X, table.clusters
        numbers = not ordered and self.correlation == "pearson"
        if clusters is not None and not (numbers and np.isfinite(X).all()):
            raise DataError(
                "clusters require complete rows of numbers: drop rows with missing values "
                "(missing='listwise'), and omit ranks and ordered categories"
            )
        if self.missing in ("fiml", "two-stage") and np.isnan(X).any():
            taken, rows, more = read_incomplete(names, X, self.missing, weights)
            return Moments._unchecked(names, *taken, rows, notes + more)
        check_constant(names, X, held)
        if not numbers:
            if weights is not None:
                what = "ordered categories" if ordered else f"correlation={self.correlation!r}"
                raise DataError(f"weights cannot be combined with {what}")
            if self.correlation == "pearson":
                taken, mixed, more = read_mixed(names, X, ordered)
                return Moments._unchecked(names, *taken, mixed, notes + more)
            if ordered:
                raise DataError(
                    f"correlation = {self.correlation!r} cannot be combined with ordered categories "
                    f"({quoted(list(ordered))}), whose correlations are polychoric; omit it"
                )
            taken, ranked, more = read_ranks(names, X, self.correlation)
            return Moments._unchecked(names, *taken, ranked, notes + more)
        with np.errstate(over="ignore", invalid="ignore"):  # checked in the next lines
            complete, mean = CompleteRows.of(X, weights)
            S = complete.covariance()
        fixed = np.isin(names, held or ())
        if not (S.diagonal()[~fixed].min(initial=1.0) >= SMALLEST**2 and S.max() <= LARGEST**2):
            size = np.abs(X).max(axis=0)  # or S has NaN
            check_scale(names, np.where(fixed, np.maximum(size, 1.0), size), "values up to")
        if clusters is not None:
            found, codes = np.unique(clusters, return_inverse=True)
            if len(found) < 2:
                raise DataError("clusters has one label only: at least two clusters are needed")
            complete = replace(complete, clusters=np.asarray(codes, dtype=np.intp))
            effect = complete.design_effect()
            notes += (
                f"{complete.describe()}: the design effect is {effect:.2f}, so that scores count "
                f"{complete.effective_n():.0f} observations",
            )
        return Moments._unchecked(names, S, complete.effective_n(), mean, complete, notes)


# A continuous variable has more distinct values than this share of the rows.
_MOST_TIES = 0.25
_CHOICES = {
    "missing": get_args(Missing),
    "correlation": get_args(Correlation),
    "means": get_args(Means),
    "errors": get_args(Errors),
}
_DEFAULTS = tuple((field.name, field.default) for field in fields(DataOptions))


def _reorder(given: Any, graph: MixedGraph | None) -> Any:
    """Return moments in the order of the graph's nodes."""
    if graph is None or graph.nodes == given.names:
        return given
    missing = [name for name in graph.nodes if name not in given.names]
    if missing:
        raise DataError(
            f"the moments have no variable for the graph's node {quoted(missing)}; they have "
            f"{quoted(given.names)}"
        )
    return given.take(graph.nodes)


def _ledoit_wolf(found: Moments) -> float:
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


def _with_nongaussian_errors(found: Moments) -> Moments:
    """Return moments whose scores use the rows beyond their covariances."""
    found._require_definite("non-Gaussian errors need more rows than variables")
    rows = found.sample
    if not isinstance(rows, CompleteRows):
        raise DataError(
            "errors='nongaussian' needs complete rows, which this table is too large for"
        )
    distinct = zip(found.names, map(np.unique, rows.deviations.T), strict=True)
    tied = [name for name, values in distinct if len(values) < _MOST_TIES * rows.n_rows]
    if tied:
        raise DataError(
            f"column {quoted(tied)} has many equal values: errors='nongaussian' needs continuous "
            "variables; use errors='gaussian', or drop the column"
        )
    sample = NonGaussianRows(rows.deviations)
    return Moments._unchecked(found.names, found.S, found.n, found.mean, sample, found.notes)
