"""How often edges and effects come back on resampled data; made by :func:`bowfree.bootstrap`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import place
from bowfree.graph.text import quote
from bowfree.model.effect_tables import decimals, effect_frame, effect_pairs, effect_table
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, percent
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.uncertainty.edge_share import EdgeShares
from bowfree.uncertainty.repeated_searches import exhausted_note

Floats = npt.NDArray[np.float64]

_EDGES = ("directed", "bidirected", "adjacent")
_RARE = 0.05  # what is found less often than this is not printed


@dataclass(frozen=True, repr=False)
class ResampledEffect(TextDisplay, ToDict):
    """The effect of one variable on another, over resamples.

    Attributes
    ----------
    of, on : str
        The cause and what it acts on.
    frequency : float
        How often every member of the class has the effect.
    frequency_interval : (float, float)
        Wilson's interval for that.
    min_abs : float
        Mean of the smallest absolute effect over the class.
    min_abs_interval : (float, float)
        Quantiles of the same.
    interval : (float, float)
        Percentile interval for the effect, whichever member of the class is true.
    """

    of: str
    on: str
    frequency: float
    frequency_interval: tuple[float, float]
    min_abs: float
    min_abs_interval: tuple[float, float]
    interval: tuple[float, float]

    def _headline(self) -> str:
        low, high = self.interval
        return (
            f"{quote(self.of)} on {quote(self.on)}: {low:.4f} to {high:.4f}, "
            f"there in {percent(self.frequency)} of the resamples"
        )


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(TextDisplay, ToDict, EdgeShares, Frozen):
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
    effect_frequency : ndarray of shape (d, d)
        How often every member of the class has an effect of j on i.
    effect_frequency_interval : ndarray of shape (2, d, d)
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
    n_planned : int
        Resamples that were asked for; after a time limit or Ctrl-C there are fewer.
    n_exhausted : int
        Resamples whose search ended when the work set aside for it was done, with the best graph by
        then; a longer search may have found a better one.
    complete : bool
        False when the time was up before the last resample, or when some class had more members
        than were looked at.
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
    effect_frequency: Floats
    effect_frequency_interval: Floats
    min_abs: Floats
    min_abs_interval: Floats
    total_effect_interval: Floats
    confidence: float
    n_planned: int
    n_exhausted: int
    complete: bool

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.graphs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was cut short, in sentences."""
        found = []
        if self.n_resamples < self.n_planned:
            found.append(
                f"NOT COMPLETE: ended after {self.n_resamples} of {self.n_planned} "
                "resamples; frequencies and intervals are those of these"
            )
        elif not self.complete:
            found.append("NOT COMPLETE: some classes have more members than `limit`")
        if self.n_exhausted:
            found.append(exhausted_note(self.n_exhausted, self.n_resamples))
        return tuple(found)

    def effect(self, *, of: str, on: str) -> ResampledEffect:
        """Return what the resamples say about the effect of one variable on another."""
        i, j = place(on, self.names), place(of, self.names)

        def ends(interval: Floats) -> tuple[float, float]:
            return float(interval[0, i, j]), float(interval[1, i, j])

        return ResampledEffect(
            of,
            on,
            float(self.effect_frequency[i, j]),
            ends(self.effect_frequency_interval),
            float(self.min_abs[i, j]),
            ends(self.min_abs_interval),
            ends(self.total_effect_interval),
        )

    def _edge_interval(self, kind: str, i: int, j: int) -> tuple[float, float] | None:
        low, high = getattr(self, f"{kind}_interval")[:, i, j].tolist()
        return low, high

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns cause, effect, frequency (of the effect), lower, upper (percentile interval of
            its size), min_abs, directed (frequency of cause -> effect), bidirected, adjacent.
        """
        lower, upper = self.total_effect_interval
        return effect_frame(
            self.names,
            {
                "frequency": self.effect_frequency,
                "lower": lower,
                "upper": upper,
                **{name: getattr(self, name) for name in ("min_abs", *_EDGES)},
            },
            backend,
        )

    def _content(self) -> Any:
        counts = ("n_resamples", "n_planned", "n_exhausted")
        plain = ("names", *counts, "confidence", "complete", "notes", "graphs", "scores")
        effects = ("effect_frequency", "effect_frequency_interval", "min_abs", "min_abs_interval")
        arrays = (*_EDGES, *(f"{name}_interval" for name in _EDGES), *effects)
        return {name: getattr(self, name) for name in (*plain, *arrays, "total_effect_interval")}

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {count(self.n_resamples, 'resample')}"
        return some if self.complete else f"{some}, not complete"

    def _sections(self) -> Iterator[str | Table]:
        level = f"{100 * self.confidence:g} %"
        yield f"{self.n_resamples} bootstrap resamples"
        yield from self.notes
        yield self._edges(level)
        lower, upper = self.total_effect_interval
        yield effect_table(
            "effect",
            self.names,
            effect_pairs(self.effect_frequency >= _RARE),
            {
                "in all members": decimals(self.effect_frequency, 2),
                f"{level} interval of its size": lambda i, j: (
                    f"{lower[i, j]:.3f} to {upper[i, j]:.3f}"
                ),
            },
            size=self.effect_frequency,
        )

    def _edges(self, level: str) -> Table:
        names, d = [quote(name) for name in self.names], len(self.names)
        pairs = [(i, j) for i, j in combinations(range(d), 2) if self.adjacent[i, j] >= _RARE]
        if len(pairs) > MOST_ROWS:
            pairs.sort(key=lambda pair: -self.adjacent[pair])
        low, high = self.adjacent_interval
        rows = []
        for i, j in pairs:
            numbers = (self.directed[j, i], self.directed[i, j], self.bidirected[i, j])
            rows.append(
                (
                    f"{names[i]}, {names[j]}",
                    f"{self.adjacent[i, j]:.2f}",
                    f"{low[i, j]:.2f} to {high[i, j]:.2f}",
                    *(f"{x:.2f}" for x in numbers),
                )
            )
        headings = ("edge", "any", f"{level} interval", "a -> b", "a <- b", "a <-> b")
        return Table(headings, rows, most=MOST_ROWS, rest="rarer ones: to_frame() has all")
