"""The scoring rule of graphs, and the data and settings that come with a graph.

A :class:`ScoringRule` has the penalty of an edge and the method of the fits. Functions that take a
graph also take a result that has one: of a search, a fit, an equivalence class. Such a result
brings the data it was made from, the search space and the scoring rule; :func:`context_of` returns
them, so that no function inspects results by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.parameters import Method, Penalty
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count, check_penalty, is_number

DEFAULT_GAMMA = 0.5


@dataclass(frozen=True)
class ScoringRule:
    """The penalty of nodes and edges, and the method of the fits behind scores.

    The penalty is ``penalty * log n`` for each node and edge. It is a number; or "ebic", for many
    variables; and `smallest_effect` raises it for many observations. The last two depend on the
    data and become a number when these are known (:meth:`resolve`).

    Parameters
    ----------
    penalty : float or "ebic"
        Weight of ``log n``: 1 is the paper's, 0.5 the usual BIC, "ebic" the extended BIC.
    method : {"newton", "ricf"}
        Converged fits, or those after `max_iter` sweeps of the paper's algorithm.
    max_iter : int, optional
        Only for ``"ricf"``: largest number of sweeps, by default 1000.
    gamma : float, optional
        Only for ``penalty="ebic"``: between 0 and 1, by default 0.5.
    smallest_effect : float
        Smallest partial correlation that justifies an edge.

    Attributes
    ----------
    origin : str
        Explanation of a penalty that was computed by :meth:`resolve`; otherwise empty.

    References
    ----------
    Section 2.3 of the paper. R. Foygel and M. Drton, Extended Bayesian information criteria for
    Gaussian graphical models, *NIPS 23* (2010).
    """

    penalty: Penalty = 1.0
    method: Method = "newton"
    max_iter: int | None = None
    gamma: float | None = None
    smallest_effect: float = 0.0
    origin: str = field(default="", init=False)

    def __post_init__(self) -> None:
        extended = isinstance(self.penalty, str) and self.penalty == "ebic"
        if not extended:
            object.__setattr__(self, "penalty", check_penalty(self.penalty, also=", or 'ebic'"))
        if self.gamma is not None and not extended:
            raise BowfreeError("gamma is an option of penalty='ebic'; leave it out with a number")
        if self.gamma is not None and not (is_number(self.gamma) and 0 <= self.gamma <= 1):
            raise BowfreeError(
                f"gamma = {short_repr(self.gamma)}: must be a number between 0 and 1"
            )
        if not is_number(self.smallest_effect) or not 0 <= self.smallest_effect < 1:
            raise BowfreeError(
                f"smallest_effect = {short_repr(self.smallest_effect)}: must be a partial correlation, "
                "a number of at least 0 (no edge is too weak) and less than 1"
            )
        check_choice("method", self.method, ("newton", "ricf"))
        if self.method == "newton" and self.max_iter is not None:
            raise BowfreeError(
                "max_iter is an option of method='ricf'; 'newton' runs until it is certified"
            )
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, 1)

    @property
    def sweeps(self) -> int:
        """Number of RICF sweeps behind a score, 0 for converged fits."""
        if self.method == "newton":
            return 0
        return 1000 if self.max_iter is None else int(self.max_iter)

    @property
    def weight(self) -> float:
        """The penalty as a number; the rule must have been resolved."""
        if isinstance(self.penalty, str):
            raise TypeError(f"penalty {self.penalty!r} depends on the data: resolve the rule first")
        return self.penalty

    def resolve(self, n: float, d: int) -> ScoringRule:
        """Return the rule with a number for its penalty, for n observations of d variables.

        Examples
        --------
        >>> import bowfree as bf
        >>> rule = bf.model.ScoringRule("ebic", smallest_effect=0.01).resolve(1000, 50)
        >>> round(rule.weight, 4), rule.origin
        (1.0663, "that of penalty='ebic' with gamma = 0.5 and 50 variables")
        """
        if self.origin:
            return self
        weight, origin = self.penalty, ""
        if isinstance(weight, str):
            gamma = DEFAULT_GAMMA if self.gamma is None else float(self.gamma)
            weight = 0.5 + 2 * gamma * math.log(d) / math.log(n)
            origin = f"that of penalty='ebic' with gamma = {gamma:g} and {d} variables"
        if self.smallest_effect and math.isfinite(n):
            least = -0.5 * math.log1p(-(self.smallest_effect**2)) * n / math.log(n)
            if least > weight:
                weight = least
                origin = f"implied by smallest_effect = {self.smallest_effect:g}"
        if not origin:
            return self
        resolved = replace(self, penalty=1.0, gamma=None, smallest_effect=0.0)
        # Without the check, because a smallest effect may imply a very large penalty.
        vars(resolved).update(penalty=weight, origin=origin)
        return resolved


DEFAULT_RULE: ScoringRule = ScoringRule()


@dataclass(frozen=True)
class Context:
    """A graph with the data, the search space and the scoring rule that it came with."""

    graph: MixedGraph
    moments: Moments | None = None  # the data that the graph was learned from or fitted to
    holdout: Moments | None = None  # rows that were put aside before a search
    space: SearchSpace | None = None  # the graphs that were considered
    rule: ScoringRule | None = None  # how graphs were scored
    learned: bool = False  # whether the graph was chosen on `moments`
    constraints: Any = None  # parameters that are equal or fixed

    def read(
        self, data: Any, options: DataOptions, *, bows: bool = False, constrained: bool = False
    ) -> Moments:
        """Return the moments of `data`, by default of the holdout rows or of the result's data.

        Unless the caller is for models that are `constrained`, these raise an error.
        """
        if self.constraints is not None and not constrained:
            raise BowfreeError(
                "equal labels and fixed values of a model apply to bf.fit and bf.bootstrap_fit only; "
                "pass model.graph for the graph without them"
            )
        if data is None and options.cov is None:
            data = self.holdout or self.moments
        return options.read(data, self.graph, bows=bows)

    def scoring_rule(
        self,
        penalty: Penalty | None = None,
        gamma: float | None = None,
        smallest_effect: float = 0.0,
        method: Method = "newton",
        max_iter: int | None = None,
    ) -> ScoringRule:
        """Return a scoring rule; its penalty is by default that of the result, or 1."""
        if penalty is None:
            penalty = 1.0 if self.rule is None else self.rule.weight
        return ScoringRule(penalty, method, max_iter, gamma, smallest_effect)


def context_of(given: GraphLike) -> Context:
    """Return the context of a graph or of a result that has one."""
    if isinstance(given, MixedGraph):
        return Context(given)
    context = getattr(given, "_context", None)
    if callable(context):
        found: Context = context()
        return found
    return Context(graph_of(given))
