"""What a BAP claims about covariances: one equation per pair of nodes it does not join.

A BAP with m edges on d nodes has d + m parameters, and as many equations on the covariance matrix
as there are non-adjacent pairs. For a pair {a, b} that can be m-separated the equation is a
vanishing partial correlation. Other pairs have a *Verma-type* equation: the errors

    eps_v = v - sum over parents p of B[v, p] p

of a and b are uncorrelated, where B is not a regression but solves, parents first, the linear
equations "eps_v is uncorrelated with eps_p for every parent p". Near the identity matrix these
equations cut out exactly the model, as each is the only one that involves its covariance to first
order.

The equations can be tested on data one by one, which tells where a graph misfits; the likelihood
ratio test of :func:`bowfree.fit` judges the graph as a whole.
"""

# ruff: noqa: PT028  (test_constraints is no test of pytest)

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from bowfree.data.loader import read_moments
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.separation import minimal_separator
from bowfree.graph.text import quote
from bowfree.model.inputs import graph_and_moments
from bowfree.model.variation import choose_inference
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, p_cell, p_text
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.validation import DataOptions, split_options

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
        """The equation as readable text."""
        if self.kind == "partial correlation":
            behind = f" | {', '.join(map(quote, self.given))}" if self.given else ""
            return f"corr({quote(self.a)}, {quote(self.b)}{behind}) = 0"
        return (
            f"cov({_error_name(self.graph, self.a)}, {_error_name(self.graph, self.b)}) = 0 "
            "(Verma type: no m-separation)"
        )

    def value(self, S: npt.ArrayLike) -> float:
        """Evaluate the left-hand side, as a correlation, on a covariance matrix in node order."""
        moments = read_moments(cov=S, n=math.inf, graph=self.graph)
        return float(self._correlation(moments.S))

    def _correlation(self, S: npt.NDArray[Any]) -> Any:
        """Real or complex: differentiated by complex steps below, so nothing is conjugated."""
        i, j = self.graph._node(self.a), self.graph._node(self.b)
        if self.kind == "partial correlation":
            C = [self.graph._node(v) for v in self.given]
            pair = [i, j]
            E = S[np.ix_(pair, pair)]
            if C:
                E = E - S[np.ix_(pair, C)] @ np.linalg.solve(S[np.ix_(C, C)], S[np.ix_(C, pair)])
        else:
            A = error_rows(self.graph, S, {self.a, self.b})[[i, j]]
            E = A @ S @ A.T
        return E[0, 1] / np.sqrt(E[0, 0] * E[1, 1])

    def _headline(self) -> str:
        return self.text


def _error_name(graph: MixedGraph, v: str) -> str:
    parents = sorted(graph.parents(v), key=graph._node)
    return quote(v) + "".join(f" - B[{quote(v)}, {quote(p)}] {quote(p)}" for p in parents)


def error_rows(graph: MixedGraph, S: npt.NDArray[Any], nodes: set[str]) -> npt.NDArray[Any]:
    """Return I - B as the BAP would have it on S, for the ancestors of some nodes; else zero rows.

    Row v is the combination of v and its parents that is uncorrelated with the errors of the
    parents: the computation of the exact test (``cpp/equivalence/decision.cpp``) in floating
    point.
    """
    needed = graph.ancestors(nodes)
    A = np.zeros_like(S)
    for name in graph.topological_order():
        if name not in needed:
            continue
        v = graph._node(name)
        P = sorted(graph._node(p) for p in graph.parents(name))
        A[v, v] = 1.0
        if P:
            moments = A[P] @ S
            A[v, P] = -np.linalg.solve(moments[:, P], moments[:, v])
    return A


def constraints(graph: GraphLike) -> tuple[Constraint, ...]:
    """List the equations that a BAP imposes on the covariance matrix.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP.

    Returns
    -------
    tuple of Constraint
        One per non-adjacent pair, in node order.

    Examples
    --------
    Figure 1 (b) of the paper has one conditional independence and one Verma-type equation:

    >>> import bowfree as bf
    >>> for equation in bf.constraints(bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")):
    ...     print(equation)
    corr(x1, x3 | x2) = 0
    cov(x1, x4 - B[x4, x3] x3) = 0 (Verma type: no m-separation)

    References
    ----------
    Section 2.4 of the paper; T. Verma and J. Pearl, Equivalence and synthesis of causal models,
    UAI 1990.
    """
    g = graph_of(graph)
    g.check_bap()
    found = []
    for a, b in combinations(g.nodes, 2):
        if g.adjacent(a, b):
            continue
        given = minimal_separator(g, a, b)
        if given is None:
            found.append(Constraint(g, a, b, "Verma", ()))
        else:
            found.append(Constraint(g, a, b, "partial correlation", given))
    return tuple(found)


class RobustOption(TypedDict, total=False):
    """What tests of equations rely on.

    Attributes
    ----------
    se : {"standard", "robust"}
        Normal theory, or the covariance matrix of the entries of S.
    """

    se: Literal["standard", "robust"] | None


class ConstraintOptions(DataOptions, RobustOption, total=False):
    """All options of :func:`test_constraints`."""


@dataclass(frozen=True, repr=False)
class ConstraintTest(TextDisplay, ToDict):
    """An equation of a graph confronted with data.

    Attributes
    ----------
    constraint : Constraint
        The equation.
    value : float
        Its left-hand side on the data, as a correlation.
    statistic : float
        Approximately standard normal if the equation holds.
    p_value : float
        Two-sided.
    """

    constraint: Constraint
    value: float
    statistic: float
    p_value: float

    def _headline(self) -> str:
        return (
            f"value {self.value:.4f}, z {self.statistic:.2f}, {p_text(self.p_value)}: "
            f"{self.constraint}"
        )


@dataclass(frozen=True, repr=False)
class ConstraintTests(TextDisplay, ToDict):
    """The tests of all equations of a graph; iterable, with ``len``.

    Attributes
    ----------
    tests : tuple of ConstraintTest
        In the order of :func:`bowfree.constraints`.
    n : float
        Number of observations.
    """

    tests: tuple[ConstraintTest, ...]
    n: float

    def __iter__(self) -> Iterator[ConstraintTest]:
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, index: int) -> ConstraintTest:
        return self.tests[index]

    def _content(self) -> Any:
        columns = self._columns()
        tests = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        return {"n": self.n, "tests": tests}

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each equation.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, b, kind, given (the names, separated by commas), value, statistic, p_value.
        """
        columns = self._columns()
        given = [", ".join(map(quote, names)) for names in columns["given"]]
        return data_frame({**columns, "given": given}, backend)

    def _columns(self) -> dict[str, list[Any]]:
        equation, numbers = ("a", "b", "kind", "given"), ("value", "statistic", "p_value")
        return {
            **{name: [getattr(t.constraint, name) for t in self.tests] for name in equation},
            **{name: [getattr(t, name) for t in self.tests] for name in numbers},
        }

    def _headline(self) -> str:
        smallest = min((t.p_value for t in self.tests), default=1.0)
        tests = count(len(self.tests), "equation")
        return f"{tests} tested, n = {self.n:g}, smallest p-value {smallest:.4f}"

    def _sections(self) -> Iterator[str | Table]:
        if not self.tests:
            yield "the graph imposes no equation: there is nothing to test"
            return
        tests, rest = self.tests, ""
        if len(tests) > MOST_ROWS:
            tests, rest = (
                tuple(sorted(tests, key=lambda t: t.p_value)),
                "with larger p: to_frame() has all",
            )
        rows = [
            (f"{t.value:.4f}", f"{t.statistic:.2f}", p_cell(t.p_value), str(t.constraint))
            for t in tests
        ]
        heading = f"constraint (n = {self.n:g})"
        yield Table(("value", "z", "p", heading), rows, left=(3,), most=MOST_ROWS, rest=rest)


def test_constraints(
    graph: GraphLike, data: Any = None, **options: Unpack[ConstraintOptions]
) -> ConstraintTests:
    """Test each equation of a BAP on data.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows; the result of a search brings its own.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``: a covariance matrix in place of `data`; n must be
        finite. ``missing``, ``correlation``, ``ordinal``, ``weights``: as for
        :func:`bowfree.moments`. ``se="robust"``: no normality; the default where rows are not
        complete, are ranks or categories, or have weights.

    Returns
    -------
    ConstraintTests
        With p-values one by one; with many equations, correct for their number.

    Notes
    -----
    Partial correlations r given k nodes: Fisher's z, sqrt(n - k - 3) atanh(r). Verma type: the
    error correlation r as a function of the sample covariances, whose asymptotic variance under
    normality is (2/n) tr(G S G S) with the gradient G (delta method, on the scale of atanh r).
    Robust tests have g^T Gamma g / n for both, with g the gradient by the entries of S.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.3], [0.5, 1.0, 0.4], [0.3, 0.4, 1.0]]
    >>> print(bf.test_constraints(bf.parse("x -> y -> z"), cov=S, n=200))
     value     z       p  constraint (n = 200)
    0.1260  1.77  0.0762  corr(x, z | y) = 0
    """
    data_options, wanted = split_options("test_constraints", options, DataOptions, RobustOption)
    g, moments = graph_and_moments(graph, data, data_options)
    equations = constraints(g)
    if moments.n == math.inf:
        raise DataError(
            "n = inf: a population covariance matrix leaves nothing to test; give a finite n, or "
            "look at constraint.value(S)"
        )
    se, _ = choose_inference(moments, wanted.get("se"), None, full_information=False)
    if se not in ("standard", "robust"):
        raise BowfreeError(f"se = {short_repr(se)}: must be 'standard' or 'robust'")
    if se == "standard":
        tests = tuple(_test(c, moments.S, moments.n_rows) for c in equations)
    else:
        tests = tuple(_robust_test(c, moments) for c in equations)
    return ConstraintTests(tests, moments.n_rows)


# pytest takes functions of this name for tests wherever they are imported.
test_constraints.__test__ = False  # type: ignore[attr-defined]


def _test(constraint: Constraint, S: npt.NDArray[np.float64], n: float) -> ConstraintTest:
    r = constraint.value(S)
    if constraint.kind == "partial correlation":
        freedom = n - len(constraint.given) - 3
        if freedom <= 0:
            raise DataError(
                f"n = {n:g} observations are too few to test {constraint.text}: "
                f"more than {len(constraint.given) + 3} are needed"
            )
        z = math.sqrt(freedom) * math.atanh(r)
    else:
        G = _gradient(constraint, S)
        variance = 2.0 / n * float(np.trace(G @ S @ G @ S))
        z = math.atanh(r) * (1 - r * r) / math.sqrt(variance)
    return ConstraintTest(constraint, r, z, math.erfc(abs(z) / math.sqrt(2)))


def _robust_test(constraint: Constraint, moments: Moments) -> ConstraintTest:
    r = constraint.value(moments.S)
    i, j = np.tril_indices(len(moments.names))
    G = _gradient(constraint, moments.S)
    slope = np.where(i == j, 1.0, 2.0) * G[i, j]
    variance = float(slope @ moments.Gamma @ slope) / moments.n_rows
    z = math.atanh(r) * (1 - r * r) / math.sqrt(variance)
    return ConstraintTest(constraint, r, z, math.erfc(abs(z) / math.sqrt(2)))


def _gradient(constraint: Constraint, S: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Differentiate the correlation by complex steps, which are exact for rational functions."""
    graph = constraint.graph
    involved = sorted(
        map(graph._node, graph.ancestors((constraint.a, constraint.b, *constraint.given)))
    )
    scale = np.sqrt(np.diag(S))
    G = np.zeros_like(S)
    for k, i in enumerate(involved):
        for j in involved[k:]:
            step = 1e-20 * scale[i] * scale[j]
            moved = S.astype(np.complex128)
            moved[i, j] += 1j * step
            if i != j:
                moved[j, i] += 1j * step
            slope = constraint._correlation(moved).imag / step
            # tr(G dS) counts an off-diagonal entry twice.
            G[i, j] = G[j, i] = slope if i == j else slope / 2
    return G
