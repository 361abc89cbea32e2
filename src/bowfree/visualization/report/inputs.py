"""What a report may be given besides the result, so that it need not be worked out again.

The page has more than the result says by itself: the class, bounds of effects, how sure it all is.
Some of it is worked out where it is missing, some is only shown when somebody has it. Both come
here first, and what is of the wrong type, or about other variables, is refused before any work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowfree.effects.bounds_result import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import short_repr
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.stability import StablePairs

_TYPES: Mapping[str, type] = {
    "equivalence_class": EquivalenceClass,
    "bounds": EffectBounds,
    "average": AveragedEffects,
    "bootstrap": BootstrapResult,
    "stability": StablePairs,
    "settings": Mapping,
}


@dataclass(frozen=True, eq=False)
class AtHand:
    """Whatever is known already; :func:`bowfree.visualization.report.render` explains each word."""

    data: Any = None
    equivalence_class: EquivalenceClass | None = None
    bounds: EffectBounds | None = None
    average: AveragedEffects | None = None
    bootstrap: BootstrapResult | None = None
    stability: StablePairs | None = None
    settings: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for word, kind in _TYPES.items():
            value = getattr(self, word)
            if value is not None and not isinstance(value, kind):
                raise BowfreeError(
                    f"{word} is {short_repr(value)}: give an object of type {kind.__name__}"
                )

    def check_variables(self, graph: MixedGraph) -> None:
        """Raise when something was counted on other variables than the graph's."""
        for word in ("average", "bootstrap", "stability"):
            value = getattr(self, word)
            if value is not None and value.names != graph.nodes:
                raise BowfreeError(f"{word} is about other variables than the result")
