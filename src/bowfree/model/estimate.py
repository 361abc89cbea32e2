"""One parameter of a fitted graph: what the tables of estimates have a line for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bowfree.graph.text import quote
from bowfree.model.inference import normal_quantile
from bowfree.results.display import TextDisplay, p_text
from bowfree.results.serialization import ToDict


@dataclass(frozen=True, repr=False)
class Estimate(TextDisplay, ToDict):
    """One line of the table of parameters, in lavaan's language.

    Attributes
    ----------
    lhs, op, rhs : str
        ``y ~ x`` is the effect of x on y, ``y ~~ z`` an error covariance, ``y ~~ y`` a variance.
    estimate, se, z, p_value : float
        Estimate, standard error, their ratio, and the two-sided p-value.
    std_all : float
        Standardized estimate: an effect in standard deviations, an error correlation, or the
        share of the variance that is unexplained.
    """

    lhs: str
    op: Literal["~", "~~"]
    rhs: str
    estimate: float
    se: float
    z: float
    p_value: float
    std_all: float

    def ci(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the lower and upper end of the normal confidence interval.

        Examples
        --------
        >>> import bowfree as bf
        >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=300, ddof=0)
        >>> low, high = fit.edge("x -> y").ci(0.9)
        >>> f"{low:.3f} to {high:.3f}"
        '0.418 to 0.582'
        """
        half = normal_quantile(confidence) * self.se
        return self.estimate - half, self.estimate + half

    @property
    def edge(self) -> tuple[str, str, str]:
        """The edge it belongs to, cause first: ``("x", "->", "y")``; of a variance, "variance"."""
        if self.op == "~":
            return self.rhs, "->", self.lhs
        return self.lhs, "variance" if self.lhs == self.rhs else "<->", self.rhs

    def _headline(self) -> str:
        a, mark, b = self.edge
        what = f"var eps({quote(a)})" if mark == "variance" else f"{quote(a)} {mark} {quote(b)}"
        known = "" if math.isnan(self.se) else f" (s.e. {self.se:.4f}, {p_text(self.p_value)})"
        return f"{what}: {self.estimate:.4f}{known}"

    def _content(self) -> Any:
        lower, upper = self.ci()
        return {**vars(self), "lower": lower, "upper": upper}
