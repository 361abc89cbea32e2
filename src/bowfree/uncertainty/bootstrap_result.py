"""How often edges and effects come back on resampled data; made by :func:`bowfree.bootstrap`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.text_tables import table_lines

__all__ = ["BootstrapResult"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """Frequencies and intervals over resamples; ``[i, j]`` is about j -> i, or j's effect on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    graphs : tuple of MixedGraph
        The best graph of each resample.
    scores : ndarray of shape (resamples,)
        Their scores.
    directed, bidirected, adjacent : ndarray of shape (d, d)
        How often there is an edge j -> i, an edge i <-> j, an edge of any kind. In a resample an
        edge counts by the share of the members of the class that have it.
    directed_interval, bidirected_interval, adjacent_interval : ndarray of shape (2, d, d)
        Lower and upper ends of Wilson's interval for these frequencies.
    effect : ndarray of shape (d, d)
        How often every member of the class has an effect of j on i.
    effect_interval : ndarray of shape (2, d, d)
        Wilson's interval for that.
    min_abs : ndarray of shape (d, d)
        Mean of the smallest absolute effect over the class.
    min_abs_interval : ndarray of shape (2, d, d)
        Quantiles of the same.
    total_effect_interval : ndarray of shape (2, d, d)
        Percentile interval for the total effect, whichever member of the class is true: the lower
        quantile of the lower bounds and the upper quantile of the upper bounds.
    confidence : float
        Level of all intervals.
    complete : bool
        False when some class had more members than were looked at.
    """

    names: tuple[str, ...]
    graphs: tuple[MixedGraph, ...]
    scores: Floats
    directed: Floats
    bidirected: Floats
    adjacent: Floats
    directed_interval: Floats
    bidirected_interval: Floats
    adjacent_interval: Floats
    effect: Floats
    effect_interval: Floats
    min_abs: Floats
    min_abs_interval: Floats
    total_effect_interval: Floats
    confidence: float
    complete: bool

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.graphs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        edges = ("directed", "bidirected", "adjacent")
        effects = ("effect", "effect_interval", "min_abs", "min_abs_interval")
        arrays = (*edges, *(f"{name}_interval" for name in edges), *effects)
        return {
            "names": list(self.names),
            "n_resamples": self.n_resamples,
            "confidence": self.confidence,
            "complete": self.complete,
            "graphs": [str(graph) for graph in self.graphs],
            "scores": self.scores.tolist(),
            **{name: getattr(self, name).tolist() for name in arrays},
            "total_effect_interval": self.total_effect_interval.tolist(),
        }

    def __str__(self) -> str:
        level = f"{100 * self.confidence:g} %"
        names, d = [quote(name) for name in self.names], len(self.names)
        rows: list[tuple[str, ...]] = [
            ("edge", "any", f"{level} interval", "a -> b", "a <- b", "a <-> b")
        ]
        for i in range(d):
            for j in range(i + 1, d):
                if self.adjacent[i, j] >= 0.05:
                    low, high = self.adjacent_interval[:, i, j]
                    numbers = (self.directed[j, i], self.directed[i, j], self.bidirected[i, j])
                    rows.append(
                        (
                            f"{names[i]}, {names[j]}",
                            f"{self.adjacent[i, j]:.2f}",
                            f"{low:.2f} to {high:.2f}",
                            *(f"{x:.2f}" for x in numbers),
                        )
                    )
        effects = [("effect", "in all members", f"{level} interval of its size")]
        for j in range(d):
            for i in range(d):
                if i != j and self.effect[i, j] >= 0.05:
                    low, high = self.total_effect_interval[:, i, j]
                    effects.append(
                        (
                            f"{names[j]} on {names[i]}",
                            f"{self.effect[i, j]:.2f}",
                            f"{low:.3f} to {high:.3f}",
                        )
                    )
        head = f"{self.n_resamples} bootstrap resamples"
        return "\n".join([head, *table_lines(rows), *table_lines(effects)])

    def __repr__(self) -> str:
        return f"<BootstrapResult: {self.n_resamples} resamples>"
