"""Constraints of a BAP on the covariance matrix: one equation per non-adjacent pair of nodes.

If the pair {a, b} can be m-separated, it is a vanishing partial correlation. Otherwise it is a
*Verma-type* equation: the errors

    eps_v = v - sum over parents p of B[v, p] p

of a and b are uncorrelated, where B is not a regression but solves, parents first, the linear
equations "eps_v is uncorrelated with eps_p for every parent p". Near the identity matrix these
equations define exactly the model, because each is the only one that involves its covariance to
first order. Tests of single equations show where a graph misfits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.separation import minimal_separator
from bowfree.graph.text import quote, quote_names
from bowfree.model.context import context_of
from bowfree.model.fitting import choose_inference
from bowfree.parameters import Correlation, Means, Missing, public
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, p_text, significant
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr

Kind = Literal["partial correlation", "Verma"]


@dataclass(frozen=True, repr=False)
class Constraint(TextDisplay, ToDict):
    """The equation of one non-adjacent pair.

    Attributes
    ----------
    graph : MixedGraph
        The BAP that imposes it.
    a, b : str
        The pair, in node order.
    kind : {"partial correlation", "Verma"}
        Whether it is an m-separation.
    given : tuple of str
        A smallest separating set; empty for the Verma type.
    """

    graph: MixedGraph
    a: str
    b: str
    kind: Kind
    given: tuple[str, ...]

    @property
    def text(self) -> str:
        """The equation as text."""
        if self.kind == "partial correlation":
            behind = f" | {quote_names(self.given)}" if self.given else ""
            return f"corr({quote(self.a)}, {quote(self.b)}{behind}) = 0"
        return (
            f"cov({_error_name(self.graph, self.a)}, {_error_name(self.graph, self.b)}) = 0 "
            "(Verma type: no m-separation)"
        )

    def value(self, S: npt.ArrayLike) -> float:
        """Evaluate the left-hand side, a correlation, at a covariance matrix in node order."""
        moments = DataOptions(cov=S, n=math.inf).read(graph=self.graph)
        return float(self._correlation(moments.S))

    def _correlation(self, S: npt.NDArray[Any]) -> Any:
        """Evaluate it at a real or complex matrix, without conjugation (see `_gradient`)."""
        pair = [self.graph._node(self.a), self.graph._node(self.b)]
        scale = 1 / np.sqrt(np.diag(S).real)  # rounding errors must not depend on units
        S = S * np.outer(scale, scale)
        if self.kind == "partial correlation":
            C = [self.graph._node(v) for v in self.given]
            E = S[np.ix_(pair, pair)]
            if C:
                E = E - S[np.ix_(pair, C)] @ np.linalg.solve(S[np.ix_(C, C)], S[np.ix_(C, pair)])
        else:
            A = error_rows(self.graph, S, {self.a, self.b})[pair]
            E = A @ S @ A.T
        return E[0, 1] / np.sqrt(E[0, 0] * E[1, 1])

    def _headline(self) -> str:
        return self.text


def _error_name(graph: MixedGraph, v: str) -> str:
    parents = sorted(graph.parents(v), key=graph._node)
    return quote(v) + "".join(f" - B[{quote(v)}, {quote(p)}] {quote(p)}" for p in parents)


def error_rows(graph: MixedGraph, S: npt.NDArray[Any], nodes: set[str]) -> npt.NDArray[Any]:
    """Return the rows of I - B that belong to S, for ancestors of some nodes; others are zero."""
    needed = graph.ancestors(nodes)
    A = np.zeros_like(S)
    for name in graph.topological_order():
        if name not in needed:
            continue
        # The combination of v and its parents that is uncorrelated with the errors of the parents.
        v = graph._node(name)
        P = sorted(graph._node(p) for p in graph.parents(name))
        A[v, v] = 1.0
        if P:
            moments = A[P] @ S
            A[v, P] = -np.linalg.solve(moments[:, P], moments[:, v])
    return A


@public
def constraints(graph: GraphLike) -> tuple[Constraint, ...]:
    """List the equations that a BAP imposes on the covariance matrix, one per non-adjacent pair.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP.

    Examples
    --------
    Figure 1 (b) of the paper has one conditional independence and one Verma-type equation:

    >>> import bowfree as bf
    >>> for equation in bf.constraints(bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")):
    ...     print(equation)
    corr(x1, x3 | x2) = 0
    cov(x1, x4 - B[x4, x3] x3) = 0 (Verma type: no m-separation)
    """
    g = graph_of(graph)
    g.check_bap()
    found = []
    for a, b in combinations(g.nodes, 2):
        if not g.adjacent(a, b):
            given = minimal_separator(g, a, b)
            kind: Kind = "Verma" if given is None else "partial correlation"
            found.append(Constraint(g, a, b, kind, given or ()))
    return tuple(found)


@dataclass(frozen=True, repr=False)
class ConstraintTests(RowTable, ToDict):
    """Tests of all equations of a graph; iterable, with ``len``.

    Attributes
    ----------
    rows : tuple of Row
        One for each equation, in the order of :func:`bowfree.constraints`: ``a``, ``b`` (the pair),
        ``kind``, ``given`` (the separating set), ``equation`` (its text), ``value`` (the left-hand
        side on the data, as a correlation), ``statistic`` (approximately standard normal if the
        equation holds) and ``p_value`` (two-sided).
    n : float
        Number of observations.
    """

    rows: tuple[Row, ...]
    n: float
    _columns = ("a", "b", "kind", "given", "equation", "value", "statistic", "p_value")

    def _headline(self) -> str:
        smallest = min((row.p_value for row in self.rows), default=1.0)
        tests = count(len(self.rows), "equation")
        return f"{tests} tested, n = {self.n:g}, smallest {p_text(smallest)}"

    def _sections(self) -> Iterator[str | Table]:
        if not self.rows:
            yield "the graph imposes no equation: there is nothing to test"
            return
        rows = self.rows
        if len(rows) > MOST_ROWS:
            rows = tuple(sorted(rows, key=lambda row: row.p_value))
        cells: dict[str, Cell] = {
            "value": lambda row: significant(row.value, 4),
            "z": "statistic:.2f",
            "p": "p_value:p",
            f"constraint (n = {self.n:g})": "equation",
        }
        yield row_table(rows, cells, left=(3,), rest="with larger p: to_frame() has all")


@public
def constraint_tests(
    graph: GraphLike,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    se: Literal["standard", "robust"] | None = None,
) -> ConstraintTests:
    """Test each equation that a BAP imposes on the covariance matrix.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data.
    se : {"standard", "robust"}, optional
        Rely on normal theory, or on the fourth moments of the data. By default "standard" for
        complete unweighted rows and "robust" otherwise.

    Returns
    -------
    ConstraintTests
        The p-values are not corrected for the number of equations.

    Notes
    -----
    Partial correlations r given k nodes are tested by Fisher's z, sqrt(n - k - 3) atanh(r).
    Verma-type error correlations r are functions of the sample covariances, with asymptotic variance
    (2/n) tr(G S G S) under normality, where G is the gradient (delta method, on the scale of
    atanh r). Robust tests have the variance g^T Gamma g / n for both, with g the gradient by the
    entries of S.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.3], [0.5, 1.0, 0.4], [0.3, 0.4, 1.0]]
    >>> print(bf.constraint_tests(bf.parse("x -> y -> z"), cov=S, n=200))
     value     z       p  constraint (n = 200)
    0.1260  1.77  0.0762  corr(x, z | y) = 0
    """
    context = context_of(graph)
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    moments = context.read(data, options)
    if moments.n == math.inf:
        raise DataError(
            "n = inf: a population covariance matrix leaves nothing to test; pass a finite n, or "
            "evaluate constraint.value(S)"
        )
    chosen, _ = choose_inference(moments, se, None, full_information=False)
    if chosen not in ("standard", "robust"):
        raise BowfreeError(f"se = {short_repr(se)}: must be 'standard' or 'robust'")
    rows = []
    for one in constraints(context.graph):
        r = float(one._correlation(moments.S))
        z = _z_statistic(one, r, moments, robust=chosen == "robust")
        about = {"a": one.a, "b": one.b, "kind": one.kind, "given": one.given, "equation": one.text}
        p_value = math.erfc(abs(z) / math.sqrt(2))
        rows.append(Row(**about, value=r, statistic=z, p_value=p_value))
    return ConstraintTests(tuple(rows), moments.n_rows)


def _z_statistic(constraint: Constraint, r: float, moments: Moments, robust: bool) -> float:
    """Return the z-statistic of an equation, under normality or by the fourth moments."""
    n, S = moments.n_rows, moments.S
    if constraint.kind == "partial correlation" and not robust:
        freedom = n - len(constraint.given) - 3
        if freedom <= 0:
            raise DataError(
                f"n = {n:g} observations are too few to test {constraint.text}: "
                f"more than {len(constraint.given) + 3} are needed"
            )
        return math.sqrt(freedom) * math.atanh(r)
    G = _gradient(constraint, S)
    if robust:
        i, j = np.tril_indices(len(S))
        slope = np.where(i == j, 1.0, 2.0) * G[i, j]
        variance = float(slope @ moments.Gamma @ slope) / n
    else:
        variance = 2.0 / n * float(np.trace(G @ S @ G @ S))
    return math.atanh(r) * (1 - r * r) / math.sqrt(variance)


def _gradient(constraint: Constraint, S: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Differentiate the correlation by complex steps, which are exact for rational functions."""
    graph = constraint.graph
    involved = sorted(
        map(graph._node, graph.ancestors((constraint.a, constraint.b, *constraint.given)))
    )
    scale = np.sqrt(np.diag(S))
    G = np.zeros_like(S)
    for i, j in combinations_with_replacement(involved, 2):
        step = 1e-20 * scale[i] * scale[j]
        moved = S.astype(np.complex128)
        moved[[i, j], [j, i]] += 1j * step
        slope = constraint._correlation(moved).imag / step
        # tr(G dS) counts an off-diagonal entry twice.
        G[i, j] = G[j, i] = slope if i == j else slope / 2
    return G
