"""Interventions in a fitted model (:func:`bowfree.intervene`), and effects over the waves of a panel.

Under do(x = 1) the equation of x is replaced by x = 1 and all other equations stay as they are: the
rows of B, and the rows and columns of Omega, that belong to the intervened variables are zero. The
total effect of x on y is the change of the mean of y per unit of x (section 2.2 of the paper).

A panel has one column for each wave, such as ``x_1, x_2, x_3``. :func:`equal_over_waves` makes
effects equal over waves, and :func:`lagged_effects` lists total effects by lag.
:meth:`bowfree.Knowledge.from_waves` derives tiers from the waves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import total_effect_matrix
from bowfree.errors import BowfreeError, DataError, GraphError
from bowfree.graph.mixed_graph import GraphLike, graph_of
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.model.effect_tables import quantities
from bowfree.model.fit_result import Fit
from bowfree.model.linear_sem import LinearSEM
from bowfree.parameters import public
from bowfree.results.display import Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.space.knowledge import wave_of
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Intervention(RowTable, ToDict, Frozen):
    """The distribution of the variables under an intervention.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of `mean` and `covariance`.
    do : dict of str to float
        The intervened variables and their values.
    mean : ndarray of shape (d,)
        Interventional means.
    covariance : ndarray of shape (d, d)
        Interventional covariance matrix; zero for the intervened variables.
    """

    names: tuple[str, ...]
    do: dict[str, float]
    mean: Floats
    covariance: Floats

    def variable(self, name: str) -> Row:
        """Return mean and standard deviation of one variable, and whether it was intervened on."""
        i = node_index(name, self.names)
        sd = math.sqrt(self.covariance[i, i])
        return Row(variable=name, mean=float(self.mean[i]), sd=sd, fixed=name in self.do)

    @property
    def rows(self) -> list[Row]:
        """The rows of :meth:`to_frame`: variable, mean, sd, fixed."""
        return [self.variable(name) for name in self.names]

    def _headline(self) -> str:
        setting = ", ".join(f"{quote(name)} = {value:g}" for name, value in self.do.items())
        return f"under do({setting})"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        sd = np.sqrt(np.diagonal(self.covariance))
        mean, spread = (quantities(x[:, None], 4, 1e-10 * sd[:, None]) for x in (self.mean, sd))
        cells: dict[str, Cell] = {
            "variable": lambda i: quote(self.names[i]),
            "mean": lambda i: mean(i, 0),
            "sd": lambda i: spread(i, 0),
        }
        yield row_table(range(len(sd)), cells)


@public
def intervene(
    model: Fit | LinearSEM,
    do: Mapping[str, float],
    *,
    mean: Mapping[str, float] | Sequence[float] | None = None,
) -> Intervention:
    """Compute the mean and the covariance matrix of all variables under an intervention.

    Parameters
    ----------
    model : Fit or LinearSEM
        A fitted or known model.
    do : mapping from str to float
        The intervened variables and their values.
    mean : mapping from str to float, or sequence of float in the order of the nodes, optional
        Means of the variables without the intervention. By default those of the data of a fit, so
        that values and results are in the units of the data. Without them (a covariance matrix,
        several conditions, a LinearSEM) they are 0: values and results are deviations.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z, x <-> z")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0], [2, 0, 0], [0, 3, 0]],
    ...                    [[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]])
    >>> print(bf.intervene(sem, do={"x": 1.0}))
    under do(x = 1)
    variable    mean      sd
    x         1.0000  0.0000
    y         2.0000  1.0000
    z         6.0000  3.1623
    """
    if not isinstance(model, Fit | LinearSEM):
        raise DataError(f"model is {short_repr(model)}: pass a Fit or a LinearSEM")
    graph = model.graph
    values = dict(do) if isinstance(do, Mapping) else {}  # type: ignore[redundant-expr]
    if not values:
        raise DataError(
            f"do is {short_repr(do)}: pass at least one variable with its value, as in "
            "do={'x': 1.0}"
        )
    values = {name: _number(f"do[{short_repr(name)}]", value) for name, value in values.items()}
    fixed = [graph._node(name) for name in values]
    own = model.mean if mean is None and isinstance(model, Fit) else mean
    base = _means(own, graph.nodes)
    B, Omega = model.B.copy(), model.Omega.copy()
    B[fixed] = 0.0
    Omega[fixed] = 0.0
    Omega[:, fixed] = 0.0
    shift = np.zeros(len(graph))
    shift[fixed] = np.array(list(values.values())) - base[fixed]
    E = total_effect_matrix(B)
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = E @ Omega @ E.T
        shifted = base + E @ shift
    if not (np.isfinite(shifted).all() and np.isfinite(covariance).all()):
        raise DataError(
            "means or variances under the intervention exceed the largest number, 1.8e308; pass "
            "smaller values"
        )
    # Exactly zero, without rounding errors.
    covariance[fixed] = 0.0
    covariance[:, fixed] = 0.0
    shifted[fixed] = list(values.values())
    return Intervention(graph.nodes, values, shifted, (covariance + covariance.T) / 2)


def _number(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{what} is {short_repr(value)}: it must be a finite number")
    return number


def _means(mean: Any, names: tuple[str, ...]) -> Floats:
    if mean is None:
        return np.zeros(len(names))
    if isinstance(mean, Mapping):
        missing = [name for name in names if name not in mean]
        unknown = [name for name in mean if name not in names]
        if missing or unknown:
            raise GraphError(
                "mean must have one value for each variable; missing: "
                f"{join_names(missing) or 'none'}, unknown: {short_repr(unknown)}"
            )
        mean = [mean[name] for name in names]
    values = list(as_list("mean", mean, "numbers", DataError))
    if len(values) != len(names):
        raise DataError(f"mean has {len(values)} values, the model has {len(names)} variables")
    return np.array(
        [_number(f"mean[{short_repr(name)}]", m) for name, m in zip(names, values, strict=True)]
    )


@public
def equal_over_waves(graph: GraphLike) -> list[list[str]]:
    """Return the edges that should be equal over waves: same variables, same lag, same mark.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A graph with waves of variables as nodes.

    Returns
    -------
    list of list of str
        For ``fit(graph, data, equal=...)``. Bidirected edges and variances stay free.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.effects.equal_over_waves(bf.parse("x_1 -> x_2 -> x_3, x_1 -> y_2, x_2 -> y_3"))
    [['x_1 -> x_2', 'x_2 -> x_3'], ['x_1 -> y_2', 'x_2 -> y_3']]
    """
    groups: dict[tuple[str, str, int], list[str]] = {}
    for a, b in graph_of(graph).directed:
        (one, early), (other, late) = wave_of(a), wave_of(b)
        if early is not None and late is not None:
            edge = f"{quote(a)} -> {quote(b)}"
            groups.setdefault((one, other, late - early), []).append(edge)
    return [edges for edges in groups.values() if len(edges) > 1]


@dataclass(frozen=True, repr=False)
class LaggedEffects(RowTable, ToDict):
    """Total effects by lag; iterable, with ``len``.

    Attributes
    ----------
    rows : tuple of Row
        ``of`` and ``on`` (variables without their wave), ``lag``, ``wave`` (of the effect), and
        ``estimate``, ``se``, ``lower``, ``upper`` of the total effect.
    """

    rows: tuple[Row, ...]
    _columns: ClassVar = ("of", "on", "lag", "wave", "estimate", "se", "lower", "upper")
    _cells: ClassVar = {name if name != "se" else "s.e.": name for name in _columns}
    _rows_key: ClassVar = "effects"

    def _headline(self) -> str:
        return count(len(self.rows), "effect")


@public
def lagged_effects(fit: Fit) -> LaggedEffects:
    """Return the total effects of a fit by variables and lag.

    Parameters
    ----------
    fit : Fit
        A fit of a graph with waves of variables as nodes.

    Returns
    -------
    LaggedEffects
        Effects without a directed path are left out. With effects that are equal over waves
        (:func:`equal_over_waves`), rows of the same lag differ only where paths begin before the
        first wave.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.3], [0.5, 1.0, 0.5], [0.3, 0.5, 1.0]]
    >>> graph = bf.parse("x_1 -> x_2 -> x_3")
    >>> fit = bf.fit(graph, bf.Moments(graph.nodes, S, 200), equal=bf.effects.equal_over_waves(graph))
    >>> [(row.lag, row.wave, round(row.estimate, 2)) for row in bf.effects.lagged_effects(fit)]
    [(1, 2, 0.5), (1, 3, 0.5), (2, 3, 0.25)]
    """
    if not isinstance(fit, Fit):
        raise BowfreeError(f"fit is of type {type(fit).__name__}: pass the result of bf.fit")
    effects = fit.total_effects()
    rows = []
    for a in fit.graph.nodes:
        for b in sorted(fit.graph.descendants(a) - {a}):
            (one, early), (other, late) = wave_of(a), wave_of(b)
            if early is None or late is None:
                continue
            found = effects.effect(of=a, on=b)
            numbers = {key: found[key] for key in ("estimate", "se", "lower", "upper")}
            rows.append(Row(of=one, on=other, lag=late - early, wave=late, **numbers))
    rows.sort(key=lambda row: (row.of, row.on, row.lag, row.wave))
    return LaggedEffects(tuple(rows))
