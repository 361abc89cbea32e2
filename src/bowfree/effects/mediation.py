"""Direct, indirect and path-specific effects: :func:`bowfree.effects.path_effects`.

The total effect of x on y is a sum over the directed paths from x to y, each with the product of
its coefficients. The effect *through* some variables is the sum over the paths that visit all of
them, and the direct effect is the edge x -> y alone. In matrices: ``T = (I - B)^-1``, without the
rows and columns of variables that the paths must avoid, and the effect through m is
``T[m, x] T[y, m]``. Its derivative by ``B[i, j]`` follows from ``dT[b, a] = T[b, i] T[j, a]``, which
gives standard errors by the delta method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import total_effect_matrix
from bowfree.data.joint_moments import JointMoments
from bowfree.data.options import DataOptions
from bowfree.effects.adjustment import class_graphs
from bowfree.effects.bounds import _regular_moments, read_moments
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError, GraphError
from bowfree.graph.encodings import closure, singletons
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.text import quote, quote_edge, quote_names
from bowfree.model.context import context_of
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments
from bowfree.model.inference import normal_quantile, wald
from bowfree.model.linear_sem import LinearSEM
from bowfree.model.resampling import BootstrapFit
from bowfree.parameters import public
from bowfree.results.display import Table, number, significant
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.validation import check_count, check_fraction

Floats = npt.NDArray[np.float64]
Effect = Callable[[Floats], tuple[float, Floats]]
"""Returns an effect and its derivatives by the entries of B."""


@dataclass(frozen=True, repr=False)
class NamedEffects(RowTable, ToDict):
    """Base of tables of effects of one variable on another, by name."""

    of: str
    on: str
    rows: tuple[Row, ...]
    _rows_key: ClassVar = "effects"

    def effect(self, name: str) -> Row:
        """Return the row of one effect, such as "indirect" or "through m"."""
        for row in self.rows:
            if row.effect == name:
                return row
        known = ", ".join(row.effect for row in self.rows)
        raise BowfreeError(f"there is no effect {short_repr(name)}; there are: {known}")


@dataclass(frozen=True, repr=False)
class PathEffects(NamedEffects):
    """Effects along the paths from one variable to another; returned by :func:`path_effects`.

    Attributes
    ----------
    of, on : str
        Cause and outcome.
    rows : tuple of Row
        ``effect`` ("total", "direct", "indirect", "through m", or a path), ``estimate``, ``se``,
        ``z``, ``p_value``, ``lower``, ``upper`` and ``share``, the part of the total effect. The
        interval is that of the delta method, or of the bootstrap samples. NaN where no path exists,
        so that the effect is zero by the graph.
    confidence : float
        Level of the intervals.
    """

    confidence: float
    _columns: ClassVar = (
        "effect", "estimate", "se", "z", "p_value", "lower", "upper", "share"
    )  # fmt: skip

    def _headline(self) -> str:
        first = self.rows[0]
        return (
            f"effect of {quote(self.of)} on {quote(self.on)}: {significant(first.estimate)}, "
            f"{len(self.rows)} rows"
        )

    def _sections(self) -> Iterator[str | Table]:
        yield f"effects of {quote(self.of)} on {quote(self.on)}"
        level = f"{100 * self.confidence:g} %"
        cells: dict[str, Cell] = {
            "effect": "effect",
            "estimate": "estimate",
            "s.e.": "se",
            "p": "p_value:p",
            f"{level} lower": "lower",
            f"{level} upper": "upper",
            "share": lambda row: number(100 * row.share, 0) and f"{100 * row.share:.0f} %",
        }
        yield row_table(self.rows, cells)


@dataclass(frozen=True, repr=False)
class PathEffectBounds(NamedEffects):
    """Bounds of path effects over an equivalence class; see :func:`path_effect_bounds`.

    Attributes
    ----------
    of, on : str
        Cause and outcome.
    rows : tuple of Row
        ``effect``, ``lower`` and ``upper`` over the members, and ``nonzero``, the fraction of
        members in which a path exists.
    n_members : int
        Number of members that differ near the cause.
    complete : bool
        Whether all of them were fitted.
    """

    n_members: int
    complete: bool
    _columns: ClassVar = ("effect", "lower", "upper", "nonzero")

    def _headline(self) -> str:
        first = self.rows[0]
        ends = f"{significant(first.lower)} to {significant(first.upper)}"
        return f"effect of {quote(self.of)} on {quote(self.on)}: {ends}"

    def _sections(self) -> Iterator[str | Table]:
        some = "" if self.complete else f"the first {self.n_members:,} "
        yield f"effects of {quote(self.of)} on {quote(self.on)} over {some}equivalent graphs"
        cells: dict[str, Cell] = {
            "effect": "effect",
            "lower": "lower",
            "upper": "upper",
            "path exists in": lambda row: f"{100 * row.nonzero:.0f} %",
        }
        yield row_table(self.rows, cells, most=None)


@public
def path_effects(
    model: Fit | BootstrapFit | LinearSEM,
    *,
    of: str,
    on: str,
    through: str | Iterable[str] = (),
    avoiding: str | Iterable[str] = (),
    confidence: float = 0.95,
    max_paths: int = 20,
) -> PathEffects:
    """Return direct, indirect and path-specific effects with standard errors.

    Parameters
    ----------
    model : Fit, BootstrapFit or LinearSEM
        A fit has delta-method standard errors of the kind of its ``se=``. A fit with
        ``se="bootstrap"`` and a :func:`bowfree.bootstrap_fit` have bootstrap intervals, which do
        not assume that a product of coefficients is normal. Known parameters have no errors.
    of, on : str
        Cause and outcome.
    through : str or iterable of str
        Mediators: add the effect along the paths that visit all of them.
    avoiding : str or iterable of str
        Leave out the paths that visit any of these in the effect `through`.
    confidence : float
        Level of the intervals. A `BootstrapFit` has its own.
    max_paths : int
        List single paths if there are at most this many; 0 lists none.

    Returns
    -------
    PathEffects
        The total effect, the direct effect (the edge), the indirect effect (the rest), the one
        `through` mediators or `avoiding` variables, and single paths.

    Examples
    --------
    >>> import bowfree as bf
    >>> cov = [[1.0, 0.5, 0.5], [0.5, 1.0, 0.6], [0.5, 0.6, 1.0]]
    >>> fit = bf.fit(bf.parse("x -> m -> y <- x"), cov=cov, n=400, ddof=0)
    >>> print(bf.effects.path_effects(fit, of="x", on="y"))
    effects of x on y
    effect       estimate    s.e.         p  95 % lower  95 % upper  share
    total           0.500  0.0433  < 0.0001       0.415       0.585  100 %
    direct          0.267  0.0442  < 0.0001       0.180       0.353   53 %
    indirect        0.233  0.0300  < 0.0001       0.175       0.292   47 %
    x -> m -> y     0.233  0.0300  < 0.0001       0.175       0.292   47 %

    References
    ----------
    M. Sobel, Asymptotic confidence intervals for indirect effects in structural equation models,
    Sociological Methodology 13 (1982).
    """
    level = model.confidence if isinstance(model, BootstrapFit) else confidence
    level = check_fraction("confidence", level)
    check_count("max_paths", max_paths, 0)
    if not isinstance(model, Fit | BootstrapFit | LinearSEM):
        raise BowfreeError(
            f"model is {short_repr(model)}: pass a fit, a bootstrap_fit or a LinearSEM; "
            "path_effect_bounds takes an equivalence class"
        )
    fit = model.fit if isinstance(model, BootstrapFit) else model
    graph = fit.graph
    effects = named_effects(graph, of, on, through, avoiding)
    if max_paths > 0:
        paths = list(islice(graph.directed_paths(of, on), max_paths + 1))
        if len(paths) <= max_paths:
            effects |= {
                str(path): effect_along(graph, path.nodes) for path in paths if path.length > 1
            }
    found = {name: effect(fit.B) for name, effect in effects.items()}
    estimates = np.array([value for value, _ in found.values()])
    se = lower = upper = np.full(len(found), np.nan)
    if isinstance(fit, Fit):
        se = _standard_errors(fit, [gradient for _, gradient in found.values()])
        half = normal_quantile(level) * se
        lower, upper = estimates - half, estimates + half
        if fit.resamples is not None:
            draws = fit.resamples.map(partial(_resampled, fit, list(effects.values())))
            exists = ~np.isnan(se)
            se, ends = np.where(exists, draws.se(), np.nan), draws.bounds(estimates, level)
            lower, upper = (np.where(exists, end, np.nan) for end in ends)
    z, p_value = wald(estimates, se)
    total = estimates[0]
    columns = {
        "estimate": estimates,
        "se": se,
        "z": z,
        "p_value": p_value,
        "lower": lower,
        "upper": upper,
        "share": estimates / total + 0.0 if total else np.full(len(found), np.nan),
    }
    rows = tuple(
        Row(effect=name, **{column: float(values[k]) for column, values in columns.items()})
        for k, name in enumerate(found)
    )
    return PathEffects(of, on, rows, level)


@public
def path_effect_bounds(
    graphs: EquivalenceClass | GraphLike,
    data: Any = None,
    *,
    of: str,
    on: str,
    through: str | Iterable[str] = (),
    avoiding: str | Iterable[str] = (),
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    limit: int = 1000,
) -> PathEffectBounds:
    """Bound direct, indirect and path-specific effects over an equivalence class.

    Parameters
    ----------
    graphs : EquivalenceClass, graph, or a result that has a graph
        The class, or a graph whose class is computed. A search result, and a class made from one,
        bring their data.
    of, on, through, avoiding
        As for :func:`path_effects`.
    limit : int
        Largest number of members to fit.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> members = bf.equivalence_class(bf.parse("x -> m -> y"))
    >>> bounds = bf.effects.path_effect_bounds(members, cov=S, n=1000, of="x", on="y", through="m")
    >>> row = bounds.effect("through m")
    >>> round(row.lower, 3), round(row.upper, 3), row.nonzero
    (0.0, 0.2, 0.2)
    """
    check_count("limit", limit, 1)
    members = graphs if isinstance(graphs, EquivalenceClass) else equivalence_class(graphs)
    if data is None and cov is None:
        data = context_of(members).moments
    moments = read_moments(members.graph, data, DataOptions(cov, n, ddof))
    if isinstance(moments, JointMoments):
        raise BowfreeError(
            "path_effect_bounds does not support data from several conditions; effect_bounds bounds "
            "total effects, and path_effects takes the fit of one graph"
        )
    moments = _regular_moments(moments, members.graph)
    own, _, complete = class_graphs(members, of, limit)
    names = list(named_effects(own[0], of, on, through, avoiding))
    values = np.empty((len(own), len(names)))
    exists = np.zeros((len(own), len(names)), dtype=bool)
    for k, graph in enumerate(own):
        B = fit_moments(graph, moments).B
        for s, effect in enumerate(named_effects(graph, of, on, through, avoiding).values()):
            values[k, s], gradient = effect(B)
            exists[k, s] = gradient.any()
    columns = (values.min(axis=0), values.max(axis=0), exists.mean(axis=0))
    rows = [
        Row(effect=name, lower=lower, upper=upper, nonzero=nonzero)
        for name, lower, upper, nonzero in zip(names, *(c.tolist() for c in columns), strict=True)
    ]
    return PathEffectBounds(of, on, tuple(rows), len(own), complete)


def named_effects(
    graph: MixedGraph,
    of: str,
    on: str,
    through: str | Iterable[str],
    avoiding: str | Iterable[str],
) -> dict[str, Effect]:
    """Return the effects by name: total, direct, indirect, and through or avoiding variables."""
    graph.check_acyclic()
    via, without = graph._mask(through), graph._mask(avoiding)
    ends = graph._mask([of, on])
    repeated = (via & without) | ((via | without) & ends)
    if of == on or repeated:
        names = [of] if of == on else sorted(graph._names(repeated))
        raise GraphError(f"{quote_names(names)} in more than one of of, on, through and avoiding")
    order = [name for name in graph.topological_order() if via >> graph._node(name) & 1]
    edge = quote_edge(of, "->", on)
    effects: dict[str, Effect] = {
        "total": _through(graph, (of, on), ()),
        "direct": effect_along(graph, (of, on)),
        "indirect": _through(graph.remove(edge) if graph.has_edge(edge) else graph, (of, on), ()),
    }
    if via or without:
        left_out = [name for name in graph.nodes if without >> graph._node(name) & 1]
        name = " ".join(
            f"{word} {quote_names(names)}"
            for word, names in (("through", order), ("avoiding", left_out))
            if names
        )
        effects[name] = _through(graph, (of, *order, on), tuple(left_out))
    return effects


def _through(graph: MixedGraph, visited: tuple[str, ...], left_out: tuple[str, ...]) -> Effect:
    """Return the effect along the paths that visit these nodes, in topological order."""
    steps = [graph._node(name) for name in visited]
    without = [graph._node(name) for name in left_out]
    support = _support(graph, without)
    inside = ~singletons(without)
    exists = all(
        closure(graph._children(), 1 << a, within=inside) >> b & 1 for a, b in pairwise(steps)
    )

    def effect(B: Floats) -> tuple[float, Floats]:
        gradient = np.zeros(B.shape)
        if not exists:
            return 0.0, gradient
        T = total_effect_matrix(np.where(support, B, 0.0))
        parts = [float(T[b, a]) for a, b in pairwise(steps)]
        for k, (a, b) in enumerate(pairwise(steps)):
            others = float(np.prod(parts[:k] + parts[k + 1 :]))
            gradient += others * np.where(support, np.outer(T[b], T[:, a]), 0.0)
        return float(np.prod(parts)), gradient

    return effect


def effect_along(graph: MixedGraph, nodes: tuple[str, ...]) -> Effect:
    """Return the effect along one path; it is zero if an edge is missing."""
    steps = [(graph._node(b), graph._node(a)) for a, b in pairwise(nodes)]
    exists = all(graph._parents[b] >> a & 1 for b, a in steps)

    def effect(B: Floats) -> tuple[float, Floats]:
        gradient = np.zeros(B.shape)
        if not exists:
            return 0.0, gradient
        values = [float(B[entry]) for entry in steps]
        for k, entry in enumerate(steps):
            gradient[entry] = np.prod(values[:k] + values[k + 1 :])
        return float(np.prod(values)), gradient

    return effect


def _support(graph: MixedGraph, without: list[int]) -> npt.NDArray[np.bool_]:
    """Return which entries of B belong to edges between nodes that paths may visit."""
    support = np.zeros((len(graph), len(graph)), dtype=bool)
    for a, b in graph.directed:
        support[graph._node(b), graph._node(a)] = True
    support[without] = False
    support[:, without] = False
    return support


def _standard_errors(fit: Fit, gradients: list[Floats]) -> Floats:
    """Return standard errors by the delta method; NaN where no path exists."""
    errors = fit.standard_errors()
    rows = [s for s, (kind, _, _) in enumerate(errors.parameters) if kind == "B"]
    V = errors.covariance[np.ix_(rows, rows)]
    i, j = np.array([errors.parameters[s][1:] for s in rows], dtype=int).reshape(-1, 2).T
    variances = [G[i, j] @ V @ G[i, j] if G.any() else np.nan for G in gradients]
    return np.sqrt(np.array(variances, dtype=np.float64))


def _resampled(fit: Fit, effects: list[Effect], draws: Floats) -> Floats:
    """Return the effects for each row of parameters."""
    B = np.zeros((len(draws), *fit.B.shape))
    for s, (kind, i, j) in enumerate(fit._parameters):
        if kind == "B":
            B[:, i, j] = draws[:, s]
    return np.array([[effect(each)[0] for effect in effects] for each in B])
