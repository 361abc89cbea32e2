"""Linear structural equation models on a mixed graph (section 2.2, appendix A.1).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``. ``B[i, j]`` is the effect of j on i, so it
may differ from zero only where ``j -> i``; ``Omega[i, j]`` only where ``i <-> j`` or ``i = j``.
Then ``cov(X) = (I - B)^-1 Omega (I - B)^-T``, which is also a sum over treks: Wright's theorem,
here as :meth:`LinearSEM.wright_covariance`. Rows and columns are in the graph's node order.

To estimate B and Omega from data, go on to :func:`bowfree.fit`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError, GraphError
from bowfree.graph.encodings import members
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.paths import Path, Trek
from bowfree.graph.text import quote
from bowfree.model.closed_form import closed_form
from bowfree.model.inference import TotalEffects
from bowfree.model.parameter_matrices import (
    check_positive_definite,
    check_support,
    square_matrix,
    supports,
    symmetric,
)
from bowfree.parallel.budget import random_generator
from bowfree.results.display import MOST_ROWS, Table, count
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.graph_display import GraphDisplay
from bowfree.text_reading import short_repr
from bowfree.validation import LARGEST_COUNT

Matrix = npt.NDArray[np.float64]

_SMALLEST_EIGENVALUE = 1e-6  # section 4.1, footnote


@dataclass(frozen=True, eq=False, repr=False)
class LinearSEM(GraphDisplay, Frozen):
    """A linear SEM: an acyclic mixed graph with parameters B and Omega.

    Parameters
    ----------
    graph : MixedGraph
        Acyclic; bows are allowed.
    B : array-like (d, d)
        ``B[i, j]`` is the direct effect of j on i; zero wherever ``j -> i`` is not an edge.
    Omega : array-like (d, d)
        Covariance of the errors: symmetric, positive definite, zero off the diagonal wherever
        ``i <-> j`` is not an edge.

    Raises
    ------
    GraphError
        The graph has a directed cycle.
    DataError
        A matrix has the wrong shape, NaN or infinite entries, an entry where the graph has no edge,
        labels in another order than the nodes; Omega is not symmetric or not positive definite.

    Notes
    -----
    The matrices are copied and cannot be written to. A data frame is accepted if its columns (and
    its rows, when they have names) are the nodes, in their order.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> B = [[0, 0, 0], [2, 0, 0], [0, 0, 0]]          # y = 2 x + eps_y
    >>> Omega = [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
    >>> bf.LinearSEM(g, B, Omega).covariance()
    array([[1. , 2. , 0. ],
           [2. , 5. , 0.5],
           [0. , 0.5, 1. ]])
    >>> print(bf.LinearSEM(g, B, Omega))
    x = eps(x)
    y = 2 x + eps(y)
    z = eps(z)
    var eps(x) = 1
    var eps(y) = 1
    var eps(z) = 1
    cov eps(y), eps(z) = 0.5

    References
    ----------
    Section 2.2 of the paper, equations (sem) and (covmat).
    """

    graph: MixedGraph
    B: Matrix
    Omega: Matrix

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", graph_of(self.graph))
        self.graph.check_acyclic()
        B = square_matrix(self.B, "B", self.graph)
        Omega = square_matrix(self.Omega, "Omega", self.graph)
        directed, bidirected = supports(self.graph)
        check_support(B, "B", directed, self.graph, "->")
        Omega = symmetric(Omega, self.graph)
        check_support(Omega, "Omega", bidirected, self.graph, "<->")
        check_positive_definite(Omega, self.graph)
        for name, matrix in (("B", B), ("Omega", Omega)):
            object.__setattr__(self, name, matrix)
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(self.covariance()).all():
                raise DataError(
                    "the covariances of the variables are beyond the largest number, 1.8e308; "
                    "give B and Omega in other units"
                )
        super().__post_init__()

    @classmethod
    def from_covariance(cls, graph: MixedGraph, Sigma: Any) -> LinearSEM:
        """Return the parameters that belong to a covariance matrix of the model.

        No iteration: the coefficients into a node solve a linear system, ancestors of it first
        where it needs them (the half-trek criterion). Without bows this always works; with bows
        where ``graph.identified()`` says that all is identified.

        Parameters
        ----------
        graph : MixedGraph
            Acyclic.
        Sigma : array-like (d, d) or data frame
            A covariance matrix that the graph implies, up to rounding. For one that it does not
            imply, such as one computed from data, there is :func:`bowfree.fit`.

        Returns
        -------
        LinearSEM

        Raises
        ------
        GraphError
            The graph has a cycle, or a parameter that the covariances do not determine.
        DataError
            The matrix is no covariance matrix, or not one of this model.

        Examples
        --------
        >>> import bowfree as bf
        >>> sem = bf.random_sem(bf.parse("z -> x -> y <-> x"), rng=1)
        >>> again = bf.LinearSEM.from_covariance(sem.graph, sem.covariance())
        >>> bool(abs(again.B - sem.B).max() < 1e-12)
        True

        References
        ----------
        Foygel, Draisma and Drton (2012), Theorem 1.
        """
        return cls(graph, *closed_form(graph_of(graph), Sigma))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearSEM):
            return NotImplemented
        return (
            self.graph == other.graph
            and np.array_equal(self.B, other.B)
            and np.array_equal(self.Omega, other.Omega)
        )

    def __hash__(self) -> int:
        return hash((self.graph, self.B.tobytes(), self.Omega.tobytes()))

    def _headline(self) -> str:
        nodes, edges = count(len(self.graph), "variable"), count(self.graph.n_edges, "edge")
        return f"{nodes}, {edges}"

    def _sections(self) -> Iterator[Table]:
        lines = [(line,) for line in self._equations()]
        yield Table((), lines, most=MOST_ROWS, rest="more: B and Omega have all")

    def _equations(self) -> Iterator[str]:
        names = [quote(name) for name in self.graph.nodes]
        for i, name in enumerate(names):
            right = ""
            for p in members(self.graph._parents[i]):
                sign = "-" if self.B[i, p] < 0 else "+"
                right += f" {sign} {abs(self.B[i, p]):.4g} {names[p]}"
            yield f"{name} = {(right + f' + eps({name})').removeprefix(' + ').strip()}"
        for i, name in enumerate(names):
            yield f"var eps({name}) = {self.Omega[i, i]:.4g}"
        for i in range(len(names)):
            for j in members(self.graph._spouses[i] >> i << i):
                yield f"cov eps({names[i]}), eps({names[j]}) = {self.Omega[i, j]:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return graph, B and Omega as plain lists and strings, ready for JSON."""
        return {
            "graph": self.graph.to_dict(),
            "B": self.B.tolist(),
            "Omega": self.Omega.tolist(),
        }

    def total_effects(self) -> TotalEffects:
        """Return E = (I - B)^-1; ``estimate[i, j]`` is the total causal effect of j on i.

        Returns
        -------
        TotalEffects
            As that of a fit, without standard errors: these parameters are not estimated.

        Examples
        --------
        >>> import bowfree as bf
        >>> import numpy as np
        >>> g = bf.parse("x -> y -> z")
        >>> sem = bf.LinearSEM(g, [[0, 0, 0], [2, 0, 0], [0, 3, 0]], np.eye(3))
        >>> sem.total_effects().effect(of="x", on="z").estimate
        6.0

        References
        ----------
        Equation (causaleffect) of section 2.2.
        """
        E = self._effects()
        unknown = np.full_like(E, np.nan)
        return TotalEffects(self.graph.nodes, E, unknown, unknown, unknown)

    def _effects(self) -> Matrix:
        """Return (I - B)^-1, ancestors first: what the graph excludes is exactly zero."""
        E = np.eye(len(self.graph))
        for name in self.graph.topological_order():
            v = self.graph._node(name)
            for p in members(self.graph._parents[v]):
                E[v] += self.B[v, p] * E[p]
        return E

    def covariance(self) -> Matrix:
        """Return Sigma = (I - B)^-1 Omega (I - B)^-T, the covariance of X.

        References
        ----------
        Equation (covmat) of section 2.2.
        """
        E = self._effects()
        Sigma = E @ self.Omega @ E.T
        return Sigma / 2 + Sigma.T / 2  # rounding leaves the product slightly asymmetric

    def standardized(self) -> LinearSEM:
        """Return the same model in units in which every variable has variance 1.

        References
        ----------
        Section 2.2 of the paper: the normalized parameters of the graph.
        """
        sd = np.sqrt(np.diag(self.covariance()))
        return LinearSEM(self.graph, self.B * (sd / sd[:, None]), self.Omega / np.outer(sd, sd))

    def sample(self, n: int, *, rng: Any = None, as_frame: str | None = None) -> Any:
        """Draw n observations of X, normal with mean zero.

        Parameters
        ----------
        n : int
            Number of observations.
        rng : None, int, numpy.random.Generator, ...
            Anything :func:`numpy.random.default_rng` takes; the same rng gives the same data.
        as_frame : {None, "pandas", "polars", "pyarrow"}
            Return a data frame of this library, with the nodes as columns, instead of an array.

        Returns
        -------
        array (n, d), or data frame
            Columns in node order.

        Examples
        --------
        >>> import bowfree as bf
        >>> sem = bf.random_sem(bf.parse("x -> y <-> z"), rng=1)
        >>> sem.sample(100, rng=2).shape
        (100, 3)
        """
        try:
            size = operator.index(n)
        except TypeError:
            size = -1
        if size < 1:
            raise DataError(
                f"n must be a positive integer, the number of observations, not {short_repr(n)}"
            )
        if size > LARGEST_COUNT:
            raise DataError(
                f"n = {short_repr(n)} is too large: at most {LARGEST_COUNT:,} observations"
            )
        white = random_generator(rng).standard_normal((size, len(self.graph)))
        X = white @ (self._effects() @ np.linalg.cholesky(self.Omega)).T
        if as_frame is None:
            return X
        columns = {name: X[:, k] for k, name in enumerate(self.graph.nodes)}
        return data_frame(columns, as_frame, option="as_frame")

    def edge_product(self, path: Path | Trek) -> float:
        """Return the product of the parameters of the edges along a path or trek.

        ``B[t, s]`` for every s -> t and ``Omega[s, t]`` for every s <-> t; 1 for no edge.

        Examples
        --------
        >>> import bowfree as bf
        >>> g = bf.parse("x -> y <-> z")
        >>> sem = bf.LinearSEM(g, [[0, 0, 0], [2, 0, 0], [0, 0, 0]],
        ...                    [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
        >>> [sem.edge_product(path) for path in g.paths("x", "z")]
        [1.0]
        """
        if not isinstance(path, Path | Trek):
            raise GraphError(
                f"expected a Path or a Trek, got {short_repr(path)}; see MixedGraph.paths"
            )
        product = 1.0
        for a, mark, b in path.edges:
            i, j = self.graph._node(a), self.graph._node(b)
            if mark == "->":
                product *= self.B[j, i]
            elif mark == "<-":
                product *= self.B[i, j]
            else:
                product *= self.Omega[i, j]
        return float(product)

    def wright_covariance(self) -> Matrix:
        """Return the covariance of X by path tracing: sums of products along treks.

        A variance is ``Omega[i, i]`` plus the sum over all treks from i to itself; a covariance is
        the sum over the *simple* treks from i to j, those with a head multiplied by the variance
        of the head. In a standardized model those variances are 1 and the simple treks alone give
        the correlations, which is Wright's theorem as it is usually quoted.

        Returns
        -------
        array (d, d)
            Equal to :meth:`covariance` up to rounding. The number of treks is exponential in the
            number of edges: this is for understanding and for small graphs.

        Examples
        --------
        Figure 1 (b): in standard units, cov(x2, x4) = B32 B43 + Omega24.

        >>> import bowfree as bf
        >>> sem = bf.random_sem(bf.parse("x1 -> x2 -> x3 -> x4 <-> x2"), rng=0).standardized()
        >>> trace = sem.B[2, 1] * sem.B[3, 2] + sem.Omega[1, 3]
        >>> bool(abs(sem.wright_covariance()[1, 3] - trace) < 1e-15)
        True

        References
        ----------
        Theorems "unstandardized" and "wright" of appendix A.1. There they are stated for cyclic
        graphs as well, where the sum over simple treks is not right: the proof splits a trek at
        the node where its sides meet, and in a cycle they can meet in more than one way.
        """
        nodes = self.graph.nodes
        phi = np.zeros_like(self.Omega)
        for i, a in enumerate(nodes):
            phi[i, i] = self.Omega[i, i] + sum(
                self.edge_product(trek) * self._at_head(trek, self.Omega)
                for trek in self.graph.treks(a, a)
            )
        for i, a in enumerate(nodes):
            for j, b in enumerate(nodes[:i]):
                phi[i, j] = phi[j, i] = sum(
                    self.edge_product(trek) * self._at_head(trek, phi)
                    for trek in self.graph.treks(a, b, simple=True)
                )
        return phi

    def _at_head(self, trek: Trek, matrix: Matrix) -> float:
        """Return the diagonal entry at the head of a trek; 1 if it has none."""
        if trek.head is None:
            return 1.0
        h = self.graph._node(trek.head)
        return float(matrix[h, h])


def random_sem(graph: MixedGraph, *, rng: Any = None) -> LinearSEM:
    """Draw parameters for a graph as in the simulations of the paper.

    Edge labels in B and Omega are standard normal; an error variance is the sum of the absolute
    values of the rest of its row of Omega plus a chi-squared variable with one degree of freedom.
    Omega is drawn anew while its smallest eigenvalue is below 1e-6.

    Parameters
    ----------
    graph : MixedGraph
        Acyclic.
    rng : None, int, numpy.random.Generator, ...
        Anything :func:`numpy.random.default_rng` takes. Labels are drawn in the order of
        ``graph.directed``, then of ``graph.bidirected``, then the variances in node order.

    Returns
    -------
    LinearSEM

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y <-> z")
    >>> bf.random_sem(g, rng=7) == bf.random_sem(g, rng=7)
    True

    References
    ----------
    Section 4.1 of the paper.
    """
    graph = graph_of(graph)
    graph.check_acyclic()
    generator = random_generator(rng)
    d = len(graph)
    B = np.zeros((d, d))
    for a, b in graph.directed:
        B[graph._node(b), graph._node(a)] = generator.standard_normal()
    pairs = [(graph._node(a), graph._node(b)) for a, b in graph.bidirected]
    while True:
        Omega = np.zeros((d, d))
        for i, j in pairs:
            Omega[i, j] = Omega[j, i] = generator.standard_normal()
        Omega[np.diag_indices(d)] = np.abs(Omega).sum(axis=1) + generator.chisquare(1, size=d)
        if d == 0 or np.linalg.eigvalsh(Omega)[0] >= _SMALLEST_EIGENVALUE:
            return LinearSEM(graph, B, Omega)
