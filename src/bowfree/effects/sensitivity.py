"""Sensitivity of an effect to hidden causes: :func:`bowfree.effects.sensitivity`.

Let the effect of x on y be the coefficient of x in the regression of y on x and a set Z. A hidden
cause u of x and y changes it by ``sqrt(r2_y r2_x / (1 - r2_x)) s``, where ``r2_x`` is the partial
R^2 of x and u given Z, ``r2_y`` that of y and u given x and Z, and ``s^2`` the residual variance of
y given x and Z over that of x given Z. The *robustness value* is the value of ``r2_x = r2_y`` at
which the effect is zero. In the graph, such a cause is a missing ``x <-> y``.

References
----------
C. Cinelli, C. Hazlett, Making sense of sensitivity: extending omitted variable bias, JRSS B 82
(2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bowfree.effects.adjustment import Question, adjustment_sets
from bowfree.errors import BowfreeError, GraphError
from bowfree.graph.text import quote, quote_names
from bowfree.model.fit_result import Fit
from bowfree.model.joint_fit import JointFit
from bowfree.parameters import public
from bowfree.results.display import Table, significant
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list, check_fraction, is_number

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Sensitivity(RowTable, ToDict):
    """Sensitivity of a total effect to a hidden cause; returned by :func:`sensitivity`.

    Attributes
    ----------
    of, on : str
        Exposure and outcome.
    adjust_for : tuple of str
        The adjustment set Z of the regression.
    estimate, se : float
        The total effect, and its standard error in the regression.
    df : float
        Residual degrees of freedom of the regression.
    partial_r2 : float
        Partial R^2 of exposure and outcome given Z: a hidden cause that explains all residual
        variance of the outcome must explain this part of that of the exposure to remove the effect.
    robustness_value : float
        Partial R^2 with exposure and outcome, both alike, of a hidden cause that removes the effect.
    robustness_value_significance : float
        The same, for an interval at level `confidence` that contains zero.
    error_correlation : float
        Correlation of the errors of exposure and outcome (a ``<->`` between them) that removes the
        effect.
    confidence : float
        Level of the interval.
    rows : tuple of Row
        For each variable of Z, a hidden cause as strong as this ``variable``: at most
        ``r2_exposure`` and ``r2_outcome``, and the ``estimate`` that would remain.
    """

    of: str
    on: str
    adjust_for: tuple[str, ...]
    estimate: float
    se: float
    df: float
    partial_r2: float
    robustness_value: float
    robustness_value_significance: float
    error_correlation: float
    confidence: float
    rows: tuple[Row, ...]
    _columns: ClassVar = ("variable", "r2_exposure", "r2_outcome", "estimate")
    _rows_key: ClassVar = "benchmarks"

    @public
    def adjusted(self, *, r2_exposure: float, r2_outcome: float) -> float:
        """Return the effect that remains if a hidden cause has these partial R^2.

        Parameters
        ----------
        r2_exposure, r2_outcome : float
            Partial R^2 of the hidden cause with the exposure given Z, and with the outcome given
            the exposure and Z; at least 0, and the first less than 1.

        Returns
        -------
        float
            If the hidden cause acts against the sign of the effect; it may change the sign.
        """
        for name, value in (("r2_exposure", r2_exposure), ("r2_outcome", r2_outcome)):
            if not is_number(value) or not 0 <= value <= 1 or (value == 1 and "exp" in name):
                raise BowfreeError(f"{name} = {short_repr(value)}: must be a part of a variance")
        return _adjusted(self.estimate, self.se * math.sqrt(self.df), r2_exposure, r2_outcome)

    def _headline(self) -> str:
        return (
            f"effect of {quote(self.of)} on {quote(self.on)} {significant(self.estimate)}, "
            f"robustness value {self.robustness_value:.3f}"
        )

    def _sections(self) -> Iterator[str | Table]:
        given = quote_names(self.adjust_for) or "nothing"
        x, y = quote(self.of), quote(self.on)
        yield (
            f"effect of {x} on {y}, adjusted for {given}: {significant(self.estimate)} "
            f"(s.e. {significant(self.se)})"
        )
        yield (
            f"robustness value {self.robustness_value:.3f}: a hidden cause that explains "
            f"{100 * self.robustness_value:.1f} % of the residual variance of both {x} and {y} "
            "would remove the effect"
        )
        yield (
            f"{100 * self.robustness_value_significance:.1f} % would be enough for a "
            f"{100 * self.confidence:g} % interval that contains zero"
        )
        yield (
            f"a missing {x} <-> {y} with an error correlation of {self.error_correlation:.3f} would "
            "remove the effect"
        )
        if self.rows:
            cells: dict[str, Cell] = {
                "a hidden cause": lambda row: f"as strong as {quote(row.variable)}",
                f"R^2 with {x}": "r2_exposure:.3f",
                f"R^2 with {y}": "r2_outcome:.3f",
                "effect left": "estimate",
            }
            yield row_table(self.rows, cells)


@public
def sensitivity(
    fit: Fit,
    *,
    of: str,
    on: str,
    adjust_for: Iterable[str] | None = None,
    confidence: float = 0.95,
) -> Sensitivity:
    """Determine how strong a hidden cause must be to explain an effect away.

    Parameters
    ----------
    fit : Fit
        A fit of a graph. The regression is that of its covariance matrix, so that the coefficient
        is the total effect of the model.
    of, on : str
        Exposure and outcome.
    adjust_for : iterable of str, optional
        An adjustment set; by default the optimal one, or the smallest, of
        :func:`bowfree.effects.adjustment_sets`.
    confidence : float
        Level of the interval for ``robustness_value_significance``.

    Notes
    -----
    The robustness value and the table depend on the covariance matrix only. The standard error, and
    with it ``robustness_value_significance``, is that of least squares on complete rows; for ranks,
    categories, weights or missing values it is approximate.

    Examples
    --------
    >>> import bowfree as bf
    >>> cov = [[1.0, 0.3, 0.4], [0.3, 1.0, 0.5], [0.4, 0.5, 1.0]]
    >>> fit = bf.fit(bf.parse("w -> x -> y <- w"), cov=cov, n=500)
    >>> print(bf.effects.sensitivity(fit, of="x", on="y"))  # doctest: +ELLIPSIS
    effect of x on y, adjusted for w: 0.418 (s.e. 0.0388)
    robustness value 0.380: a hidden cause that explains 38.0 % of the residual variance ...
    32.4 % would be enough for a 95 % interval that contains zero
    a missing x <-> y with an error correlation of 0.435 would remove the effect
    a hidden cause  R^2 with x  R^2 with y  effect left
    as strong as w       0.099       0.123        0.317
    """
    confidence = check_fraction("confidence", confidence)
    if not isinstance(fit, Fit):
        raise BowfreeError(f"fit is {short_repr(fit)}: pass the result of bowfree.fit")
    if isinstance(fit, JointFit):
        raise BowfreeError(
            "sensitivity does not support data from several conditions; fit one condition"
        )
    question = Question(fit.graph, of, on)
    names = fit.graph.nodes
    if adjust_for is None:
        found = adjustment_sets(fit.graph, of=of, on=on)
        if not found.rows:
            raise GraphError(
                f"no adjustment set for the effect of {quote(of)} on {quote(on)}: the graph has "
                "hidden causes that no variable blocks"
            )
        adjust_for = found.optimal if found.optimal is not None else found.minimal[0]
    Z = as_list("adjust_for", [adjust_for] if isinstance(adjust_for, str) else adjust_for, "names")
    if fit.graph._mask(Z) & ~question.allowed or not question.adjusts(tuple(Z)):
        raise GraphError(
            f"{join_names(Z) or 'the empty set'} is not an adjustment set for the effect of "
            f"{quote(of)} on {quote(on)}; see bowfree.effects.adjustment_sets"
        )
    at = fit.graph._node
    x, y, z = at(of), at(on), [at(name) for name in Z]
    Sigma = fit.Sigma
    residual = _partial(Sigma, z)
    slope = float(residual[x, y] / residual[x, x])
    rest = _partial(Sigma, [*z, x])[y, y]
    scale = math.sqrt(rest / residual[x, x])
    df = float(fit.n) - len(z) - 2
    if not df > 1:
        raise BowfreeError(f"n = {fit.n:g} leaves {df:g} degrees of freedom; more rows are needed")
    f = abs(slope) / scale
    correlation = float(residual[x, y] / math.sqrt(residual[x, x] * residual[y, y]))
    return Sensitivity(
        of=of,
        on=on,
        adjust_for=tuple(names[v] for v in sorted(z)),
        estimate=slope,
        se=scale / math.sqrt(df),
        df=df,
        partial_r2=correlation**2,
        robustness_value=_robustness(f, 0.0),
        robustness_value_significance=_robustness(f, _critical(confidence, df)),
        error_correlation=correlation,
        confidence=confidence,
        rows=tuple(
            Row(variable=names[v], **_benchmark(Sigma, x, y, sorted(z), v, slope, scale))
            for v in sorted(z)
        ),
    )


def _partial(Sigma: Floats, given: list[int]) -> Floats:
    """Return the covariance matrix given some variables; units do not matter."""
    if not given:
        return Sigma
    unit = 1 / np.sqrt(np.diag(Sigma))
    R = unit[:, None] * Sigma * unit
    rest = R - R[:, given] @ np.linalg.solve(R[np.ix_(given, given)], R[given])
    result: Floats = rest / unit[:, None] / unit
    return result


def _partial_r2(Sigma: Floats, a: int, b: int, given: list[int]) -> float:
    rest = _partial(Sigma, given)
    return float(rest[a, b] ** 2 / (rest[a, a] * rest[b, b]))


def _critical(confidence: float, df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df - 1, (1 + confidence) / 2)) / math.sqrt(df - 1)


def _robustness(f: float, critical: float) -> float:
    """Return the robustness value of a partial f, of the estimate or of its significance."""
    if f <= critical:
        return 0.0
    if critical and f > 1 / critical:  # the outcome alone may be explained completely
        return (f**2 - critical**2) / (1 + f**2)
    g = f - critical
    return (math.sqrt(g**4 + 4 * g**2) - g**2) / 2


def _adjusted(estimate: float, scale: float, r2_exposure: float, r2_outcome: float) -> float:
    bias = scale * math.sqrt(r2_outcome * r2_exposure / (1 - r2_exposure))
    return estimate - math.copysign(bias, estimate)


def _benchmark(
    Sigma: Floats, x: int, y: int, z: list[int], v: int, estimate: float, scale: float
) -> dict[str, float]:
    """Return the largest partial R^2 of a hidden cause that is as strong as an observed variable."""
    others = [w for w in z if w != v]
    with_x = _partial_r2(Sigma, x, v, others)
    with_y = _partial_r2(Sigma, y, v, [*others, x])
    r2_x = with_x / (1 - with_x)
    if r2_x >= 1:
        return {"r2_exposure": 1.0, "r2_outcome": 1.0, "estimate": math.nan}
    overlap = with_x**2 / (1 - with_x) ** 2
    ratio = (1 + math.sqrt(overlap)) ** 2 / (1 - overlap)
    r2_y = min(ratio * with_y / (1 - with_y), 1.0)
    left = _adjusted(estimate, scale, r2_x, r2_y)
    return {"r2_exposure": r2_x, "r2_outcome": r2_y, "estimate": left}
