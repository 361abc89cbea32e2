"""Results that consist of matrices of effects, as tables with names.

Total effects, their bounds, averages and bootstrap intervals are matrices of shape (d, d) in which
entry ``[i, j]`` belongs to the effect of j on i. :class:`EffectMatrices` gives such results
``effect(of=, on=)`` and ``to_frame()``; :func:`effect_table` prints them. :class:`TotalEffects` are
those of one graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import total_effect_matrix
from bowfree.data.sample import Bools, Floats
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.model.inference import Resamples, StandardErrors, normal_quantile, wald
from bowfree.results.display import (
    MOST_ROWS,
    Table,
    TextDisplay,
    count,
    number,
    p_cell,
    significant,
)
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, data_frame
from bowfree.results.serialization import ToDict

Column = Callable[[int, int], str]
"""Returns the text of a cell for entry ``[i, j]`` of a matrix."""


class EffectMatrices(TextDisplay, ToDict):
    """Base of results with ``names`` and matrices whose entry ``[i, j]`` is the effect of j on i.

    A subclass lists the attributes that are columns of its table in ``_columns``, or overrides
    :meth:`_matrices` where a column is computed.
    """

    names: tuple[str, ...]
    _columns: ClassVar[tuple[str, ...]] = ()

    def _matrices(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the matrices by the names of their columns."""
        return {name: getattr(self, name) for name in self._columns}

    def effect(self, *, of: str, on: str) -> Row:
        """Return the row of the table that belongs to the effect of one variable on another."""
        entry = node_index(on, self.names), node_index(of, self.names)
        return Row(of=of, on=on, **{k: m[entry].item() for k, m in self._matrices().items()})

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Its columns are ``of`` (the cause), ``on`` (the variable it acts on) and those of
        :meth:`effect`; `backend` is "pandas", "polars" or "pyarrow".
        """
        return self._frame(self._matrices(), backend)

    def _frame(self, matrices: Mapping[str, npt.NDArray[Any]], backend: str) -> Any:
        d = len(self.names)
        pairs = effect_pairs(np.ones((d, d), dtype=bool))
        on, of = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        ends = {"of": [self.names[j] for j in of], "on": [self.names[i] for i in on]}
        return data_frame(ends | {name: m[on, of] for name, m in matrices.items()}, backend)


def effect_pairs(present: Bools) -> list[tuple[int, int]]:
    """Return all (i, j), i != j, with ``present[i, j]``, sorted by the cause j."""
    d = len(present)
    return [(i, j) for j in range(d) for i in range(d) if i != j and present[i, j]]


def decimals(matrix: Floats, digits: int) -> Column:
    """Return a column of numbers with a fixed number of decimals; empty where they are NaN."""
    return lambda i, j: number(float(matrix[i, j]), digits)


def quantities(matrix: Floats, digits: int, noise: Floats | None = None) -> Column:
    """Return a column of numbers that have units; small ones keep three significant digits.

    Numbers that are not larger than `noise`, which has the same units, are rounded to zero.
    """

    def cell(i: int, j: int) -> str:
        value = float(matrix[i, j])
        least = 0.0 if noise is None else float(noise[i, j])
        small = least < abs(value) < 10.0 ** (1 - digits)
        return significant(value) if small else number(value, digits)

    return cell


def effect_table(
    heading: str,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    columns: Mapping[str, Column],
    *,
    size: Floats,
) -> Table:
    """Return a row "j on i" for each pair (i, j); long tables are sorted by `size` and cut."""
    if len(pairs) > MOST_ROWS:
        pairs = sorted(pairs, key=lambda pair: -size[pair])
    rows = [
        (f"{quote(names[j])} on {quote(names[i])}", *(cell(i, j) for cell in columns.values()))
        for i, j in pairs
    ]
    return Table((heading, *columns), rows, most=MOST_ROWS, rest="smaller ones: to_frame() has all")


@dataclass(frozen=True, eq=False, repr=False)
class TotalEffects(EffectMatrices, Frozen):
    """Total causal effects ``E = (I - B)^-1``, with delta-method standard errors after a fit.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    estimate : ndarray of shape (d, d)
        Entry ``[i, j]`` is the total effect of j on i.
    se, z, p_value : ndarray of shape (d, d)
        Standard error, ratio of the two, and two-sided p-value. NaN where no directed path leads
        from j to i (the effect is 0 in this graph) and on the diagonal (it is 1). NaN everywhere
        for a :class:`~bowfree.LinearSEM`, whose parameters are not estimated.
    resamples : Resamples or None
        The effects in bootstrap samples, for their standard errors and intervals.

    Examples
    --------
    >>> import bowfree as bf
    >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=300, ddof=0)
    >>> fit.total_effects().effect(of="x", on="y")
    <Row: of x, on y, estimate 0.500, se 0.0500, z 10.0, p_value 1.52e-23, lower 0.402, upper 0.598>
    """

    names: tuple[str, ...]
    estimate: Floats
    se: Floats
    z: Floats
    p_value: Floats
    resamples: Resamples | None = None

    def to_frame(self, backend: str = "pandas", *, confidence: float = 0.95) -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Its columns are of, on, estimate, se, z, p_value, lower, upper (the interval of level
        `confidence`); `backend` is "pandas", "polars" or "pyarrow".
        """
        return self._frame(self._matrices(confidence), backend)

    def _matrices(self, confidence: float = 0.95) -> dict[str, Floats]:
        if self.resamples is None:
            half = normal_quantile(confidence) * self.se
            lower, upper = self.estimate - half, self.estimate + half
        else:
            bounds = self.resamples.bounds(self.estimate.ravel(), confidence)
            lower, upper = (end.reshape(self.se.shape) for end in bounds)
        numbers = ("estimate", "se", "z", "p_value")
        return {name: getattr(self, name) for name in numbers} | {"lower": lower, "upper": upper}

    def _content(self) -> Any:
        return {name: value for name, value in vars(self).items() if name != "resamples"}

    def _headline(self) -> str:
        effects = count(len(effect_pairs(self.estimate != 0)), "effect")
        return f"{effects} among {count(len(self.names), 'variable')}"

    def _sections(self) -> Iterator[str | Table]:
        pairs = effect_pairs(self.estimate != 0)
        if not pairs:
            yield "no variable has an effect on another"
            return
        columns = {"estimate": quantities(self.estimate, 4)}
        if not np.isnan(self.se).all():
            interval = self._matrices()
            columns["s.e."] = quantities(self.se, 4)
            columns["z"] = decimals(self.z, 2)
            columns["p"] = lambda i, j: p_cell(float(self.p_value[i, j]))
            columns["95 % lower"] = quantities(interval["lower"], 4)
            columns["95 % upper"] = quantities(interval["upper"], 4)
        yield effect_table("effect", self.names, pairs, columns, size=np.abs(self.estimate))


def total_effects(
    B: Floats, errors: StandardErrors, resamples: Resamples | None = None
) -> TotalEffects:
    """Return total effects, with errors by ``dE = E dB E`` or of bootstrap samples."""
    d = len(B)
    E = total_effect_matrix(B)
    rows = [s for s, (kind, _, _) in enumerate(errors.parameters) if kind == "B"]
    k = [errors.parameters[s][1] for s in rows]
    l = [errors.parameters[s][2] for s in rows]
    V = errors.covariance[np.ix_(rows, rows)]
    variance = np.empty((d, d))
    for i in range(d):
        # dE_ij = sum over parameters s = (k, l) of E_ik E_lj dB_kl.
        scaled = V * np.outer(E[i, k], E[i, k])
        variance[i] = np.sum(E[l] * (scaled @ E[l]), axis=0)
    # Without a directed path the effect is exactly zero, not an estimate.
    reach = np.eye(d, dtype=bool)
    reach[k, l] = True
    for _ in range(d.bit_length()):
        reach = reach @ reach
    variance[~reach | np.eye(d, dtype=bool)] = np.nan
    se = np.sqrt(np.maximum(variance, 0.0))
    if resamples is not None:

        def effects(draws: Floats) -> Floats:
            slopes = np.zeros((len(draws), d, d))
            slopes[:, k, l] = draws[:, rows]
            return np.array([total_effect_matrix(B) for B in slopes]).reshape(-1, d * d)

        resamples = resamples.map(effects)
        se = np.where(np.isnan(se), np.nan, resamples.se().reshape(d, d))
    z, p_value = wald(E, se)
    return TotalEffects(errors.names, E, se, z, p_value, resamples)
