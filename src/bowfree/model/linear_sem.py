"""Linear structural equation models on a mixed graph (section 2.2, appendix A.1).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``. ``B[i, j]`` is the effect of j on i, so it
may differ from zero only if ``j -> i``; ``Omega[i, j]`` only if ``i <-> j`` or ``i = j``. Then
``cov(X) = (I - B)^-1 Omega (I - B)^-T``, which is also a sum over treks: Wright's theorem, here
:meth:`LinearSEM.wright_covariance`. Rows and columns are in node order.

:func:`bowfree.fit` estimates B and Omega from data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bowfree.data.covariance import total_effect_matrix
from bowfree.data.sample import Bools, Floats
from bowfree.errors import DataError, GraphError
from bowfree.graph.encodings import members
from bowfree.graph.identification import half_trek_equations
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.paths import Path, Trek
from bowfree.graph.text import quote
from bowfree.model.effect_tables import TotalEffects
from bowfree.model.inference import implied_covariance
from bowfree.parallel.budget import random_generator
from bowfree.parameters import Rng, public
from bowfree.results.display import MOST_ROWS, Table, count, shorten_list
from bowfree.results.frozen import Frozen
from bowfree.results.graph_display import GraphDisplay
from bowfree.results.rows import data_frame
from bowfree.text_reading import short_repr
from bowfree.validation import as_list, check_count

_SMALLEST_EIGENVALUE = 1e-6  # section 4.1, footnote
_ASYMMETRY = 1e-10  # relative; larger than rounding errors, smaller than mistakes
_NO_COVARIANCE = 1e-8  # a larger error correlation without an edge is not rounding
_WORST_CONDITION = 1e12  # equations with a larger condition number have no meaningful solution


@dataclass(frozen=True, eq=False, repr=False)
class LinearSEM(GraphDisplay, Frozen):
    """A linear SEM: an acyclic mixed graph with parameters B and Omega.

    Parameters
    ----------
    graph : MixedGraph
        Acyclic; bows are allowed.
    B : array-like (d, d) or data frame with the nodes in their order
        ``B[i, j]`` is the direct effect of j on i; zero wherever ``j -> i`` is not an edge.
    Omega : array-like (d, d)
        Covariance of the errors: symmetric, positive definite, zero off the diagonal wherever
        ``i <-> j`` is not an edge.

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
    B: Floats
    Omega: Floats

    def __post_init__(self) -> None:
        graph = graph_of(self.graph)
        graph.check_acyclic()
        directed, bidirected = supports(graph)
        B = square_matrix(self.B, "B", graph)
        check_support(B, "B", directed, graph, "->")
        Omega = symmetric(square_matrix(self.Omega, "Omega", graph), graph)
        check_support(Omega, "Omega", bidirected, graph, "<->")
        remedy = "raise the error variances (the diagonal) or lower the error covariances"
        to_correlations(Omega, "Omega", graph, remedy)
        vars(self).update(graph=graph, B=B, Omega=Omega)
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(self.covariance()).all():
                raise DataError(
                    "the covariances of the variables exceed the largest number, 1.8e308; "
                    "use other units for B and Omega"
                )
        super().__post_init__()

    @classmethod
    def from_covariance(cls, graph: MixedGraph, Sigma: Any) -> LinearSEM:
        """Compute the parameters of the model from its covariance matrix.

        The coefficients into a node solve a linear system (the half-trek criterion). Without bows
        this is always possible; with bows if ``graph.identified()`` lists all parameters.

        Parameters
        ----------
        graph : MixedGraph
            Acyclic.
        Sigma : array-like (d, d) or data frame
            A covariance matrix that the graph implies, up to rounding. For other matrices, such as
            one computed from data, use :func:`bowfree.fit`.

        References
        ----------
        Foygel, Draisma and Drton (2012), Theorem 1.
        """
        return cls(graph, *closed_form(graph_of(graph), Sigma))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearSEM):
            return NotImplemented
        same = np.array_equal(self.B, other.B) and np.array_equal(self.Omega, other.Omega)
        return same and self.graph == other.graph

    def __hash__(self) -> int:
        return hash((self.graph, self.B.tobytes(), self.Omega.tobytes()))

    def _headline(self) -> str:
        return f"{count(len(self.graph), 'variable')}, {count(self.graph.n_edges, 'edge')}"

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
        return {"graph": self.graph.to_dict(), "B": self.B.tolist(), "Omega": self.Omega.tolist()}

    def total_effects(self) -> TotalEffects:
        """Return E = (I - B)^-1 (eq. causaleffect), without errors: nothing is estimated here."""
        E = total_effect_matrix(self.B)
        unknown = np.full_like(E, np.nan)
        return TotalEffects(self.graph.nodes, E, unknown, unknown, unknown)

    def covariance(self) -> Floats:
        """Return Sigma = (I - B)^-1 Omega (I - B)^-T, the covariance of X (eq. covmat)."""
        return implied_covariance(self.B, self.Omega)

    def standardized(self) -> LinearSEM:
        """Return the model in units in which every variable has variance 1 (section 2.2)."""
        sd = np.sqrt(np.diag(self.covariance()))
        return LinearSEM(self.graph, self.B * (sd / sd[:, None]), self.Omega / np.outer(sd, sd))

    def sample(self, n: int, *, rng: Rng = None, as_frame: str | None = None) -> Any:
        """Draw n observations of X, normal with mean zero.

        Parameters
        ----------
        n : int
            Number of observations.
        rng : int or numpy.random.Generator, optional
            Seed or generator.
        as_frame : {None, "pandas", "polars", "pyarrow"}
            Return a data frame of this library, with the nodes as columns, instead of an array.
        """
        size = check_count("n", n, 1)
        white = random_generator(rng).standard_normal((size, len(self.graph)))
        X = white @ (total_effect_matrix(self.B) @ np.linalg.cholesky(self.Omega)).T
        if as_frame is None:
            return X
        columns = {name: X[:, k] for k, name in enumerate(self.graph.nodes)}
        return data_frame(columns, as_frame, option="as_frame")

    def edge_product(self, path: Path | Trek) -> float:
        """Return the product of the parameters of the edges along a path or trek.

        ``B[t, s]`` for every s -> t and ``Omega[s, t]`` for every s <-> t; 1 for no edge.
        """
        if not isinstance(path, Path | Trek):
            raise GraphError(
                f"expected a Path or a Trek, got {short_repr(path)}; see MixedGraph.paths"
            )
        product = 1.0
        for a, mark, b in path.edges:
            i, j = self.graph._node(a), self.graph._node(b)
            product *= {"->": self.B[j, i], "<-": self.B[i, j]}.get(mark, self.Omega[i, j])
        return float(product)

    def wright_covariance(self) -> Floats:
        """Return the covariance of X by path tracing: sums of products along treks.

        A variance is ``Omega[i, i]`` plus the sum over all treks from i to itself; a covariance is
        the sum over the *simple* treks from i to j, where treks with a head are multiplied by the
        variance of the head (1 in a standardized model). The result is equal to :meth:`covariance`
        up to rounding. The number of treks is exponential in the number of edges.

        References
        ----------
        Theorems "unstandardized" and "wright" of appendix A.1. They are stated there for cyclic
        graphs as well, where the sum over simple treks is incorrect: the proof splits a trek at
        the node where its sides meet, which is not unique in a cycle.
        """
        nodes = self.graph.nodes
        phi = np.zeros_like(self.Omega)

        def summed(treks: Iterable[Trek], variances: Floats) -> float:
            at = [1.0 if t.head is None else variances[self.graph._node(t.head)] for t in treks]
            return sum(self.edge_product(t) * v for t, v in zip(treks, at, strict=True))

        own = np.diag(self.Omega)
        for i, a in enumerate(nodes):
            phi[i, i] = own[i] + summed(tuple(self.graph.treks(a, a)), own)
        for i, a in enumerate(nodes):
            for j, b in enumerate(nodes[:i]):
                simple = tuple(self.graph.treks(a, b, simple=True))
                phi[i, j] = phi[j, i] = summed(simple, np.diag(phi))
        return phi


@public
def random_sem(graph: GraphLike, *, rng: Rng = None) -> LinearSEM:
    """Draw parameters for a graph as in the simulations of the paper.

    Edge labels in B and Omega are standard normal; an error variance is the sum of the absolute
    values of the rest of its row of Omega plus a chi-squared variable with one degree of freedom.
    Omega is redrawn if its smallest eigenvalue is below 1e-6. The order is that of
    ``graph.directed``, then ``graph.bidirected``, then the variances in node order.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        Acyclic.

    Returns
    -------
    LinearSEM

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.random_sem(bf.parse("x -> y <-> z"), rng=7).sample(100, rng=2).shape
    (100, 3)

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


# --- checks of matrices ---


def square_matrix(value: Any, name: str, graph: MixedGraph) -> Floats:
    """Return a copy as a float array; check labels, shape and entries."""
    if hasattr(value, "columns"):  # a data frame, maybe with row labels
        rows = getattr(value, "index", range(len(graph)))
        for kind, found in (("columns", value.columns), ("rows", rows)):
            labels = tuple(as_list(f"{kind} of {name}", found, "nodes", DataError))
            if labels != graph.nodes and (kind == "columns" or labels != tuple(range(len(graph)))):
                raise DataError(
                    f"{name} has {kind} {short_repr(list(labels))} but the nodes are "
                    f"{short_repr(list(graph.nodes))}; reorder rows and columns"
                )
    try:
        matrix = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} must be a matrix of numbers, not {short_repr(value)}") from None
    d = len(graph)
    if matrix.shape != (d, d):
        raise DataError(
            f"{name} has shape {matrix.shape}, but the graph has {d} nodes; expected ({d}, {d})"
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{name}[{graph.nodes[i]}, {graph.nodes[j]}] is {matrix[i, j]}; "
            "every entry must be a finite number"
        )
    return matrix


def real_array(value: Any) -> Floats:
    """Return a copy as an array of floats; raise if entries are not real numbers."""
    found = np.asarray(value)
    if np.iscomplexobj(found):
        raise TypeError("complex numbers are not real")
    return found.astype(np.float64)


def supports(graph: MixedGraph) -> tuple[Bools, Bools]:
    """Return boolean matrices of the entries of B and Omega that may differ from zero."""
    d = len(graph)
    directed, bidirected = np.zeros((d, d), dtype=bool), np.eye(d, dtype=bool)
    for i in range(d):
        directed[i, list(members(graph._parents[i]))] = True
        bidirected[i, list(members(graph._spouses[i]))] = True
    return directed, bidirected


def check_support(matrix: Floats, name: str, support: Bools, graph: MixedGraph, mark: str) -> None:
    """Raise an error if an entry without an edge differs from zero."""
    outside = np.argwhere((matrix != 0) & ~support)
    if len(outside):
        i, j = (int(k) for k in outside[0])
        a, b = quote(graph.nodes[i]), quote(graph.nodes[j])
        # A transposed B is the usual mistake.
        hint = " (B[i, j] is the effect of j on i; is it transposed?)" if name == "B" else ""
        raise DataError(
            f"{name}[{a}, {b}] is {matrix[i, j]:g}, but {b} {mark} {a} is not an edge of the graph"
            f"{hint}; set the entry to zero or add the edge"
        )


def symmetric(Omega: Floats, graph: MixedGraph, name: str = "Omega") -> Floats:
    """Return the symmetrized matrix; raise an error if more than rounding is asymmetric."""
    gap = np.abs(Omega - Omega.T)
    if gap.size and gap.max() > _ASYMMETRY * np.abs(Omega).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        a, b = graph.nodes[i], graph.nodes[j]
        raise DataError(
            f"{name} is not symmetric: {name}[{a}, {b}] is {Omega[i, j]:g} but {name}[{b}, {a}] is "
            f"{Omega[j, i]:g}; use ({name} + {name}.T) / 2 if the difference is rounding"
        )
    return Omega / 2 + Omega.T / 2


def to_correlations(C: Floats, name: str, graph: MixedGraph, remedy: str) -> tuple[Floats, Floats]:
    """Return correlations and standard deviations, or raise if C is not positive definite."""
    variances = np.diag(C)
    if variances.min(initial=1.0) <= 0:
        node = quote(graph.nodes[int(variances.argmin())])
        raise DataError(
            f"{name} is not positive definite: the variance of {node} is {variances.min():.3g}; "
            f"{remedy}"
        )
    # In units of the standard deviations nothing overflows, and tolerances are relative.
    sd = np.sqrt(variances)
    R = C / sd / sd[:, None]
    eigenvalues = np.linalg.eigvalsh(R) if R.size else np.ones(1)
    # An eigenvalue of zero is computed with an error of d times that of the largest.
    if eigenvalues[0] <= len(C) * np.finfo(float).eps * eigenvalues[-1]:
        raise DataError(
            f"{name} is not positive definite: the smallest eigenvalue of its correlations is "
            f"{eigenvalues[0]:.3g}; {remedy}"
        )
    return R, sd


# --- parameters from a covariance matrix ---


def closed_form(graph: MixedGraph, Sigma: Any) -> tuple[Floats, Floats]:
    """Return B and Omega of a covariance matrix; see :meth:`LinearSEM.from_covariance`.

    A source of the equations of a node enters by its error if its own coefficients are known,
    otherwise by itself (:func:`bowfree.graph.identification.half_trek_equations`).
    """
    graph.check_acyclic()
    S = symmetric(square_matrix(Sigma, "Sigma", graph), graph, "Sigma")
    equations = half_trek_equations(graph)
    if len(equations) < len(graph):
        unsolved = (e for e in graph.identified().rows if e.verdict != "identified")
        edges = ", ".join(f"{e.a} {e.mark} {e.b}" for e in unsolved)
        some = shorten_list(edges, "and others", most=99)
        raise GraphError(
            f"the covariances may not determine the parameters of {some}; see graph.identified()"
        )
    R, sd = to_correlations(S, "Sigma", graph, "it is not a covariance matrix of such a model")
    B = np.zeros_like(R)
    rows = R.copy()  # row y of R, or of (I - B) R after the coefficients into y are computed
    for v, sources, reached in equations:
        parents = list(members(graph._parents[v]))
        used = np.array([rows[y] if reached >> y & 1 else R[y] for y in sources])
        if parents:
            A, b = used[:, parents], used[:, v]
            if np.linalg.cond(A) > _WORST_CONDITION:
                raise DataError(
                    f"at this Sigma the coefficients into {quote(graph.nodes[v])} are not "
                    "determined: their equations are singular (an instrument without effect?)"
                )
            B[v, parents] = np.linalg.solve(A, b)
        rows[v] = R[v] - B[v] @ R
    Omega = (np.eye(len(R)) - B) @ R @ (np.eye(len(R)) - B).T
    outside = ~supports(graph)[1]
    gap = np.where(outside, np.abs(Omega), 0.0)
    if gap.size and gap.max() > _NO_COVARIANCE:
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        x, y = quote(graph.nodes[i]), quote(graph.nodes[j])
        raise DataError(
            f"Sigma is not a covariance matrix of this graph: the errors of {x} and {y} would "
            f"have covariance {Omega[i, j]:.3g} (at unit variances) without {x} <-> {y}; "
            "bowfree.fit finds the closest model"
        )
    Omega[outside] = 0.0
    return B * np.outer(sd, 1 / sd), Omega * np.outer(sd, sd)
