"""Diagnostics of a fit: modification indices, and predictions and residuals of single rows.

**Modification indices** are score tests of edges that could be added, without a refit. For a
parameter that the graph fixes at zero, let g be the gradient of the log-likelihood at the fit, c its
information, I the information of the free parameters and k that between the two. Then

    index = g^2 / (c - k I^-1 k^T),    expected change = g / (c - k I^-1 k^T),

as in lavaan's ``modindices`` (expected information; with missing values, that of the patterns in the
data). The index approximates the decrease of chi-square if the edge were added;
:func:`bowfree.edge_changes` computes the exact one. Edges that would create a bow or a directed
cycle are skipped, and listed as such.

**Predictions** use the joint normal distribution with the means of the data and the fitted
``Sigma``:

    E[x_t | x_o] = mean_t + Sigma_to Sigma_oo^-1 (x_o - mean_o),

whatever the directions of the edges; a prediction is not an intervention
(:func:`bowfree.intervene`). The **residuals** of a row are its errors ``eps = (I - B) (x - mean)``,
and its distance ``(x - mean)^T Sigma^-1 (x - mean)`` has a chi-square distribution with d degrees of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bowfree.data.covariance import check_cases
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.sample import Bools, Floats, Indices, inverse_covariance
from bowfree.errors import DataError, GraphError
from bowfree.graph.encodings import closure
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup, node_index
from bowfree.graph.text import quote
from bowfree.model.fiml import FullInformation
from bowfree.model.inference import (
    Parameter,
    edge_label,
    information_of,
    parameter_edge,
    score_products,
)
from bowfree.results.display import (
    MOST_ROWS,
    Table,
    TextDisplay,
    count,
    number,
    significant,
)
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable, data_frame, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names
from bowfree.validation import as_list

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit

Edge = tuple[str, str, str]

# Candidates whose information is computed at once: some megabytes of numbers.
_BATCH = 1000
# A smaller fraction of a candidate's information, net of the free parameters, is rounding.
_ROUNDING = 1e-10


# --- modification indices ---


@dataclass(frozen=True, repr=False)
class ModificationIndices(RowTable, ToDict, EdgeLookup[Row]):
    """Score tests of all edges that could be added; iterable, with ``len``, largest first.

    Attributes
    ----------
    rows : tuple of Row
        One for each edge: ``a``, ``mark``, ``b``, ``index`` (the approximate decrease of
        chi-square; NaN for ``n = inf`` and without information about the edge), ``p_value``,
        ``expected_change`` (approximate value of the parameter), ``std_all`` (the same in standard
        deviations of the variables, or as a correlation of the errors).
    bows, cycles : tuple of (str, str, str)
        Edges that were skipped because they would create a bow or a directed cycle.
    names : tuple of str
        The variables.
    n : float
        Number of observations.
    """

    rows: tuple[Row, ...]
    bows: tuple[Edge, ...]
    cycles: tuple[Edge, ...]
    names: tuple[str, ...]
    n: float
    _columns: ClassVar = ("a", "mark", "b", "index", "p_value", "expected_change", "std_all")
    _cells: ClassVar = {
        "edge": lambda row: edge_label(row.a, row.mark, row.b),
        "index": "index:.3f",
        "p": "p_value:p",
        "expected change": lambda row: significant(row.expected_change, 4),
        "std. all": "std_all:.3f",
    }

    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Row:
        edge = (self.names[i], mark, self.names[j])
        wanted = {edge, edge[::-1]} if mark == "<->" else {edge}
        for row in self.rows:
            if (row.a, row.mark, row.b) in wanted:
                return row
        for what, skipped in (("a bow", self.bows), ("a cycle", self.cycles)):
            if wanted & set(skipped):
                raise GraphError(
                    f"{edge_label(*edge)} would make {what}, and was skipped; remove an edge first"
                )
        raise GraphError(f"{edge_label(*edge)} is in the graph: fit.edge(...) has its estimate")

    def _headline(self) -> str:
        best = ""
        if self.rows and not math.isnan(self.rows[0].index):
            first = self.rows[0]
            best = f", largest for {edge_label(first.a, first.mark, first.b)}"
        return f"{count(len(self), 'edge')} that could be added{best}"

    def _sections(self) -> Iterator[str | Table]:
        if self.rows:
            yield row_table(self.rows, self._cells, rest="smaller ones: to_frame() has all")
        else:
            yield "no edge can be added"
        skipped = [
            f"{len(edges)} would make a {what}"
            for what, edges in (("bow", self.bows), ("cycle", self.cycles))
            if edges
        ]
        if skipped:
            yield f"skipped: {', '.join(skipped)}"


def modification_indices(fit: Fit) -> ModificationIndices:
    """Test every edge that could be added; see :meth:`bowfree.Fit.modification_indices`."""
    from scipy.special import chdtrc

    names = fit.graph.nodes
    legal, bows, cycles = _absent_edges(fit)
    gradient, information = _efficient_scores(fit, legal)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = gradient / information
        index = fit.n * gradient * change if math.isfinite(fit.n) else np.full(len(legal), np.nan)
    p_values = chdtrc(1, index)
    # Equivalent additions have indices that differ by rounding only; NaN comes last.
    order = np.argsort(-index.round(6), kind="stable")
    sd, sd_errors = np.sqrt(np.diag(fit.Sigma)), np.sqrt(np.diag(fit.Omega))
    effect, i, j = _places(legal)
    std_all = change / np.where(effect, sd[i] / sd[j], sd_errors[i] * sd_errors[j])
    numbers = np.stack([index, p_values, change, std_all], axis=1)[order].tolist()
    edges, with_bow, with_cycle = (
        tuple([parameter_edge(names, p) for p in kind])
        for kind in ([legal[s] for s in order.tolist()], bows, cycles)
    )
    rows = [
        Row(a=a, mark=mark, b=b, index=index, p_value=p, expected_change=change, std_all=std)
        for (a, mark, b), (index, p, change, std) in zip(edges, numbers, strict=True)
    ]
    return ModificationIndices(tuple(rows), with_bow, with_cycle, names, fit.n)


def _places(parameters: Sequence[Parameter]) -> tuple[Bools, Indices, Indices]:
    """Return which parameters are effects, and their rows and columns."""
    kinds, i, j = zip(*parameters, strict=True) if parameters else ((), (), ())
    effect = np.array([kind == "B" for kind in kinds], dtype=bool)
    return effect, np.array(i, dtype=np.intp), np.array(j, dtype=np.intp)


def _absent_edges(fit: Fit) -> tuple[list[Parameter], list[Parameter], list[Parameter]]:
    """Return the parameters that could be freed, and those that would make a bow or a cycle."""
    graph, d = fit.graph, len(fit.graph)
    parents, spouses = graph._parents, graph._spouses
    below = [closure(graph._children(), 1 << i) for i in range(d)]
    legal: list[Parameter] = []
    bows: list[Parameter] = []
    cycles: list[Parameter] = []
    for j, i in permutations(range(d), 2):
        if not parents[i] >> j & 1:
            # The effect of j on i makes a cycle if i is an ancestor of j.
            joined = bows if spouses[i] >> j & 1 else legal
            (cycles if below[i] >> j & 1 else joined).append(("B", i, j))
    for i, j in combinations(range(d), 2):
        if not spouses[i] >> j & 1:
            joined = bows if parents[i] >> j & 1 or parents[j] >> i & 1 else legal
            joined.append(("Omega", i, j))
    return legal, bows, cycles


def _efficient_scores(fit: Fit, candidates: list[Parameter]) -> tuple[Floats, Floats]:
    """Return gradient and information per row, net of the free parameters; NaN if none."""
    variation, q = fit._variation, len(fit._parameters)
    if isinstance(variation, FullInformation):
        slope, J = variation.expected_scores((*fit._parameters, *candidates))
        unit = 1 / np.sqrt(np.diag(J))
        J *= np.outer(unit, unit)
        explained = np.sum(J[q:, :q] * np.linalg.solve(J[:q, :q], J[:q, q:]).T, axis=1)
        return slope[q:], np.where(1 - explained > _ROUNDING, 1 - explained, np.nan) / unit[q:] ** 2
    d, M = len(fit.B), score_products(fit.B, fit.Omega)
    A, E, W = np.eye(d) - fit.B, M[:d, d:], M[d:, d:]
    WAS = W @ A @ fit.S
    effect, i, j = _places(candidates)
    gradient = np.where(effect, WAS[i, j], (WAS @ A.T @ W - W)[i, j])
    own = np.where(effect, E[j, i], W[j, i]) ** 2
    own += W[i, i] * np.where(effect, M[j, j], W[j, j])
    known = information_of(M, fit._parameters)
    scale = 1 / np.sqrt(np.diag(known))
    try:
        root = np.linalg.cholesky(known * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return gradient, np.full(len(candidates), np.nan)
    from scipy.linalg import solve_triangular

    left = np.empty(len(candidates))
    for start in range(0, len(candidates), _BATCH):
        some = slice(start, start + _BATCH)
        shared = information_of(M, candidates[some], fit._parameters)
        shared = solve_triangular(root, (scale * shared).T, lower=True, overwrite_b=True)
        left[some] = own[some] - np.einsum("st,st->t", shared, shared)
    left[~(left > _ROUNDING * own)] = np.nan
    return gradient, left


# --- predictions and residuals ---


class _Columns:
    """Mixin: ``result[name]`` is the column of a variable."""

    names: tuple[str, ...]
    values: Floats

    def __getitem__(self, name: str) -> Floats:
        column: Floats = self.values[:, node_index(name, self.names)]
        return column

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(TextDisplay, ToDict, _Columns, Frozen):
    """Conditional expectations of some variables, row by row.

    Attributes
    ----------
    names : tuple of str
        The variables that are predicted.
    given : tuple of str
        The variables that they are predicted from.
    values : ndarray of shape (rows, predicted)
        The expectations.
    sd : ndarray of shape (predicted,)
        Standard deviation around the prediction, the same for all rows, if the parameters are
        correct.
    r2 : ndarray of shape (predicted,)
        Fraction of the (fitted) variance that is predicted.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]
    values: Floats
    sd: Floats
    r2: Floats

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame of "pandas", "polars" or "pyarrow", one column per prediction."""
        return data_frame(dict(zip(self.names, self.values.T, strict=True)), backend)

    def _headline(self) -> str:
        return (
            f"{count(len(self), 'row')}, {count(len(self.names), 'variable')} from "
            f"{join_names(self.given)}"
        )

    def _sections(self) -> Iterator[str | Table]:
        yield f"predicted: {self._headline()}"
        rows = [
            (quote(name), significant(self.sd[k], 4), number(self.r2[k]))
            for k, name in enumerate(self.names)
        ]
        yield Table(("variable", "s.d.", "R squared"), rows, most=MOST_ROWS, rest="more")


@dataclass(frozen=True, eq=False, repr=False)
class CaseResiduals(TextDisplay, ToDict, _Columns, Frozen):
    """The errors of rows under a fitted model, and their distances from its mean.

    Attributes
    ----------
    names : tuple of str
        The variables.
    values : ndarray of shape (rows, d)
        Errors ``eps = (I - B) (x - mean)``: the part that the parents do not explain.
    standardized : ndarray of shape (rows, d)
        The errors divided by their fitted standard deviations.
    distance : ndarray of shape (rows,)
        Squared Mahalanobis distance from the mean.
    p_value : ndarray of shape (rows,)
        Probability of a larger distance, under normality.
    """

    names: tuple[str, ...]
    values: Floats
    standardized: Floats
    distance: Floats
    p_value: Floats

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with the errors, and ``mahalanobis`` and ``p_value``.

        If a variable has one of these names, an underscore is prepended.
        """
        columns = dict(zip(self.names, self.values.T, strict=True))
        for name, values in (("mahalanobis", self.distance), ("p_value", self.p_value)):
            while name in columns:
                name = f"_{name}"
            columns[name] = values
        return data_frame(columns, backend)

    def _headline(self) -> str:
        return f"{count(len(self), 'row')} of {count(len(self.names), 'variable')}"

    def _sections(self, most: int = 10) -> Iterator[str | Table]:
        yield f"residuals of {self._headline()}; largest distances:"
        rows = []
        for case in np.argsort(-self.distance, kind="stable")[:most].tolist():
            k = int(np.abs(self.standardized[case]).argmax())
            rows.append(
                (
                    str(case),
                    number(self.distance[case], 2),
                    f"{self.p_value[case]:.2g}",
                    f"{quote(self.names[k])} ({self.standardized[case, k]:+.2f} sd)",
                )
            )
        yield Table(("row", "distance", "p", "largest error"), rows, left=(0, 3))


def predict(fit: Fit, data: Any, of: str | Sequence[str] | None) -> Prediction:
    """Predict variables from others; see :meth:`bowfree.Fit.predict`."""
    mean = _mean(fit, "predict")
    names = fit.graph.nodes
    wanted = None
    if of is not None:
        said = [of] if isinstance(of, str) else as_list("of", of, "names of variables")
        wanted = tuple(names[node_index(name, names)] for name in said)
    there = _column_names(data)
    if there is None and wanted is None:
        raise DataError(
            "an array has no column names: specify the variables to predict, as in of='y', and "
            "pass all others in node order; or pass a data frame"
        )
    # An array contains all variables that are not predicted.
    given = tuple(name for name in names if name not in (wanted or ()) and name in (there or names))
    if wanted is None:
        wanted = tuple(name for name in names if name not in given)
        if not wanted:
            raise DataError("data contain all variables: specify those to predict, as in of='y'")
    if not given:
        raise DataError(
            f"data contain none of the variables to predict from: the graph has {join_names(names)}"
        )
    targets = [names.index(name) for name in wanted]
    _, X = read_observations(data, MixedGraph(given), "data")
    check_cases(given, X)
    known = [names.index(name) for name in given]
    Sigma = fit.Sigma
    slopes = inverse_covariance(Sigma[np.ix_(known, known)]) @ Sigma[np.ix_(known, targets)]
    variance = np.diag(Sigma)[targets]
    rest = variance - np.sum(Sigma[np.ix_(known, targets)] * slopes, axis=0)
    values = mean[targets] + (X - mean[known]) @ slopes
    return Prediction(
        wanted, given, values, np.sqrt(np.maximum(rest, 0.0)), 1 - np.maximum(rest, 0.0) / variance
    )


def residuals(fit: Fit, data: Any) -> CaseResiduals:
    """Return the errors of rows; see :meth:`bowfree.Fit.residuals`."""
    from scipy.special import chdtrc

    mean = _mean(fit, "residuals")
    _, X = read_observations(data, fit.graph, "data")
    check_cases(fit.graph.nodes, X)
    slopes = np.eye(len(fit.B)) - fit.B
    gaps = np.isnan(X)
    errors = np.where(gaps, 0.0, X - mean) @ slopes.T
    # The error of a variable is defined if it and its parents are observed.
    errors[gaps.astype(np.float64) @ (slopes != 0).T > 0] = np.nan
    # Sigma^-1 = (I - B)^T Omega^-1 (I - B), so the distance of x is that of its errors.
    distance = np.sum(errors * (errors @ inverse_covariance(fit.Omega)), axis=1)
    return CaseResiduals(
        fit.graph.nodes,
        errors,
        errors / np.sqrt(np.diag(fit.Omega)),
        distance,
        np.asarray(chdtrc(len(fit.B), distance), dtype=np.float64),
    )


def _mean(fit: Fit, method: str) -> Floats:
    if fit.mean is None or isinstance(fit.moments, JointMoments):
        why = (
            "each condition has its own: fit one condition"
            if isinstance(fit.moments, JointMoments)
            else "a covariance matrix has none: fit the data themselves, or bowfree.Moments with a mean"
        )
        raise DataError(f"{method} requires the means of the variables, and {why}")
    return fit.mean


def _column_names(data: Any) -> set[str] | None:
    """Return the column names of a table; None for an array."""
    if isinstance(data, Mapping):
        return set(map(str, data))
    columns = getattr(data, "column_names", getattr(data, "columns", None))
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return None
    return set(map(str, columns))
