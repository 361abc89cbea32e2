"""The data, search space and scoring rule that come with a graph.

Functions that take a graph also take a result that has one: of a search, a fit, an equivalence
class. Such a result brings the data it was made from, the search space and the scoring rule;
:func:`context_of` returns them, so that no function inspects results by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.scoring_rule import ScoringRule
from bowfree.parameters import Method, Penalty
from bowfree.space.search_space import SearchSpace


@dataclass(frozen=True)
class Context:
    """A graph with the data, the search space and the scoring rule that it came with.

    Attributes
    ----------
    graph : MixedGraph
        The graph.
    moments : Moments or None
        The data that the graph was learned from or fitted to.
    holdout : Moments or None
        Rows that were put aside before a search.
    space : SearchSpace or None
        The graphs that were considered.
    rule : ScoringRule or None
        How graphs were scored.
    learned : bool
        Whether the graph was chosen on `moments`.
    """

    graph: MixedGraph
    moments: Moments | None = None
    holdout: Moments | None = None
    space: SearchSpace | None = None
    rule: ScoringRule | None = None
    learned: bool = False

    def read(self, data: Any, options: DataOptions) -> Moments:
        """Return the moments of `data`, by default of the holdout rows or of the result's data."""
        if data is None and options.cov is None:
            data = self.holdout or self.moments
        return options.read(data, self.graph)

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
