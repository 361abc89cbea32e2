"""Effects and edges with their probabilities; made by :func:`bowfree.averaged_effects`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.bounds_result import Doubt, Formula
from bowfree.equivalence.targets import OBSERVED, Kinds
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.model.effect_tables import (
    decimals,
    effect_frame,
    effect_pairs,
    effect_table,
    quantities,
)
from bowfree.results.display import Table, TextDisplay, count
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.uncertainty.edge_share import EdgeShares
from bowfree.uncertainty.posterior import GraphLaw
from bowfree.uncertainty.structure_samples import StructureSamples

Floats = npt.NDArray[np.float64]

_EFFECTS = (
    "probability",
    "positive",
    "negative",
    "mean",
    "lower",
    "upper",
    "probability_all_members",
    "min_abs",
    "mean_abs",
    "max_abs",
)


@dataclass(frozen=True, repr=False)
class AveragedClass(TextDisplay, ToDict):
    """One class of the average.

    Attributes
    ----------
    graph : MixedGraph
        One of its members.
    weight : float
        Probability of the class.
    n_members : int
        Members found.
    complete : bool
        False when the limit or the time limit kept members out.
    """

    graph: MixedGraph
    weight: float
    n_members: int
    complete: bool

    def _headline(self) -> str:
        members = count(self.n_members, "member")
        return f"weight {self.weight:.3f}, {members}, {self.graph}"


@dataclass(frozen=True, repr=False)
class AveragedEffect(TextDisplay, ToDict):
    """The effect of one variable on another, averaged over graphs.

    Attributes
    ----------
    of, on : str
        The cause and what it acts on.
    probability : float
        Probability of an effect.
    positive, negative : float
        Probability of a positive and of a negative effect.
    mean : float
        Weighted mean of the effect.
    lower, upper : float
        Its interval.
    probability_all_members : float
        Probability that every member of the class has the effect.
    min_abs, mean_abs, max_abs : float
        Weighted means of the smallest, the mean and the largest absolute effect over the class.
    """

    of: str
    on: str
    probability: float
    positive: float
    negative: float
    mean: float
    lower: float
    upper: float
    probability_all_members: float
    min_abs: float
    mean_abs: float
    max_abs: float

    def _headline(self) -> str:
        return (
            f"{quote(self.of)} on {quote(self.on)}: probability {self.probability:.3f}, "
            f"mean {self.mean:.4f} [{self.lower:.4f}, {self.upper:.4f}], "
            f"P(+) {self.positive:.3f}, P(-) {self.negative:.3f}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class AveragedEffects(TextDisplay, ToDict, EdgeShares, Frozen):
    """Effects and edges, averaged over graphs; ``[i, j]`` is about the effect of j on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    lower, upper : ndarray of shape (d, d)
        Interval of the effect, with the error of the estimates, the members of a class and the
        choice of the class in it. It leaves at most ``(1 - level) / 2`` of the weight on either
        side, among all graphs and (unless an effect is less probable than 0.01) among those with
        an effect.
    mean, mean_abs : ndarray of shape (d, d)
        Mean of the effect, and of its absolute value.
    positive, negative : ndarray of shape (d, d)
        Probability of a positive and of a negative effect.
    directed : ndarray of shape (d, d)
        Probability of the edge j -> i.
    bidirected : ndarray of shape (d, d)
        Probability of the edge i <-> j.
    without_se : ndarray of shape (d, d)
        Probability of graphs in which the effect has no standard error, because the information
        matrix is singular there. They are not part of the interval.
    probability_all_members : ndarray of shape (d, d)
        Probability that every member of the class has an effect of j on i. This and the next two
        are averages over `classes`.
    min_abs, max_abs : ndarray of shape (d, d)
        Mean of the smallest and of the largest absolute effect over the class.
    classes : tuple of AveragedClass
        The classes that were enumerated, the most probable first.
    n_graphs, n_classes : int
        Number of graphs that took part, and of their classes.
    level : float
        What the intervals should cover.
    count : {"graphs", "classes"}
        What counts once.
    law : GraphLaw
        How probable a graph is: penalty, prior, temper.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    complete : bool
        False when `time_limit`, `max_classes` or `limit` left out graphs that should count.
    samples : StructureSamples or None
        The chains that sampled the graphs, with their diagnostics.
    targets : tuple of tuple of str
        Nodes intervened on in each of the conditions that the data are from; ``((),)`` is one
        condition without targets.
    kind : str or tuple of str
        What the interventions do (:mod:`bowfree.equivalence.targets`); one for each condition where
        they differ.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    mean: Floats
    mean_abs: Floats
    positive: Floats
    negative: Floats
    directed: Floats
    bidirected: Floats
    without_se: Floats
    probability_all_members: Floats
    min_abs: Floats
    max_abs: Floats
    classes: tuple[AveragedClass, ...]
    n_graphs: int
    n_classes: int
    level: float
    count: str
    law: GraphLaw
    formula: Formula
    complete: bool
    samples: StructureSamples | None
    targets: tuple[tuple[str, ...], ...] = OBSERVED
    kind: Kinds = "perfect"

    @property
    def probability(self) -> Floats:
        """Probability of an effect, shape (d, d)."""
        total: Floats = self.positive + self.negative
        total.setflags(write=False)
        return total

    @property
    def covers(self) -> tuple[Doubt, ...]:
        """The doubts that are in `lower` and `upper`: all three."""
        return ("estimates", "members", "classes")

    @property
    def adjacent(self) -> Floats:
        """Probability of an edge of any kind, shape (d, d), symmetric."""
        total: Floats = self.directed + self.directed.T + self.bidirected
        return total

    @property
    def mixed(self) -> bool:
        """Whether the chains agree; see :attr:`StructureSamples.mixed`."""
        return self.samples is None or self.samples.mixed

    def effect(self, *, of: str, on: str) -> AveragedEffect:
        """Return the averaged effect of one variable on another."""
        at = node_index(on, self.names), node_index(of, self.names)
        return AveragedEffect(of, on, *(float(getattr(self, name)[at]) for name in _EFFECTS))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns of, on, probability, positive, negative, mean, lower, upper,
            probability_all_members, min_abs, mean_abs, max_abs, directed (probability of cause ->
            effect), bidirected.
        """
        names = (*_EFFECTS, "directed", "bidirected")
        return effect_frame(self.names, {name: getattr(self, name) for name in names}, backend)

    def _content(self) -> Any:
        matrices = (*_EFFECTS, "directed", "bidirected", "adjacent")
        names = ("n_graphs", "n_classes", "level", "count", "law", "formula", "complete", "mixed")
        return {
            name: getattr(self, name) for name in ("names", *matrices, "classes", *names, "covers")
        }

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {count(self.n_classes, 'class', 'classes')}"
        doubts = (", not complete" * (not self.complete)) + ", chains NOT MIXED" * (not self.mixed)
        return some + doubts

    def _sections(self) -> Iterator[str | Table]:
        yield (
            f"averaged over {count(self.n_graphs, 'graph')} in "
            f"{count(self.n_classes, 'class', 'classes')}, the most probable class with "
            f"{self.classes[0].weight:.2f}; {100 * self.level:g} % intervals with the doubt about "
            "estimates, members and classes in them"
        )
        if not self.mixed:
            yield (
                "NOT MIXED: the chains disagree on edges; a larger `max_steps` makes these numbers "
                "more exact"
            )
        if not self.complete:
            yield "NOT COMPLETE: `time_limit`, `max_classes` or `limit` left graphs out"
        pairs = effect_pairs((self.probability >= 0.01) | (self.mean_abs >= 0.01))
        pairs.sort(key=lambda pair: (-self.probability[pair], -self.mean_abs[pair]))
        yield effect_table(
            "effect",
            self.names,
            pairs,
            {
                "P(effect)": decimals(self.probability, 2),
                "P(+)": decimals(self.positive, 2),
                "P(-)": decimals(self.negative, 2),
                "mean": quantities(self.mean, 3),
                "lower": quantities(self.lower, 3),
                "upper": quantities(self.upper, 3),
            },
            size=self.probability,
        )
