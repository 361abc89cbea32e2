"""Effects and edges with their probabilities; made by :func:`bowfree.averaged_effects`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.effect_bounds import Formula
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.uncertainty.structure_samples import StructureSamples

__all__ = ["AveragedClass", "AveragedEffects"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AveragedClass:
    """One class of the average.

    Attributes
    ----------
    graph : MixedGraph
        Its best-scoring graph among those given.
    score : float
        The score of that graph.
    weight : float
        Weight of the class; the weights of all classes sum to 1.
    n_members : int
        Members found.
    complete : bool
        False when the limit or the time limit kept members out.
    """

    graph: MixedGraph
    score: float
    weight: float
    n_members: int
    complete: bool


@dataclass(frozen=True, eq=False)
class AveragedEffects:
    """Effects and edges, averaged over classes; ``[i, j]`` is about the effect of j on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    probability : ndarray of shape (d, d)
        Weight of the classes in which every member has an effect of j on i: the probability that
        the minimal absolute effect over the class is not zero.
    min_abs, mean_abs, max_abs : ndarray of shape (d, d)
        Weighted means of the smallest, the mean and the largest absolute effect over the class.
    mean : ndarray of shape (d, d)
        Weighted mean of the effect.
    positive, negative : ndarray of shape (d, d)
        Probability of a positive and of a negative effect; within a class the share of members.
    directed : ndarray of shape (d, d)
        Probability of the edge j -> i; within a class the share of members.
    bidirected : ndarray of shape (d, d)
        The same for i <-> j.
    classes : tuple of AveragedClass
        What was averaged, best first.
    n_graphs : int
        Number of graphs that the classes were found from.
    n_left_out : int
        Classes within the window that `max_classes` kept out.
    window, temper : float
        Classes within so many units of ``n * score`` of the best; weights are
        ``exp(n * (score - best) / temper)``.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    samples : StructureSamples or None
        The chains that widened the pool, with their diagnostics.
    """

    names: tuple[str, ...]
    probability: Floats
    min_abs: Floats
    mean_abs: Floats
    max_abs: Floats
    mean: Floats
    positive: Floats
    negative: Floats
    directed: Floats
    bidirected: Floats
    classes: tuple[AveragedClass, ...]
    n_graphs: int
    n_left_out: int
    window: float
    temper: float
    formula: Formula
    samples: StructureSamples | None

    @property
    def adjacent(self) -> Floats:
        """Probability of an edge of any kind, shape (d, d), symmetric."""
        total: Floats = self.directed + self.directed.T + self.bidirected
        return total

    @property
    def weights(self) -> Floats:
        """Weights of the classes, best first."""
        return np.array([cls.weight for cls in self.classes])

    @property
    def complete(self) -> bool:
        """Whether all members of all classes in the window were looked at."""
        return self.n_left_out == 0 and all(cls.complete for cls in self.classes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        matrices = ("probability", "min_abs", "mean_abs", "max_abs", "mean", "positive")
        edges = ("negative", "directed", "bidirected", "adjacent")
        return {
            "names": list(self.names),
            **{name: getattr(self, name).tolist() for name in (*matrices, *edges)},
            "classes": [
                {
                    "graph": str(cls.graph),
                    "score": cls.score,
                    "weight": cls.weight,
                    "n_members": cls.n_members,
                    "complete": cls.complete,
                }
                for cls in self.classes
            ],
            "n_graphs": self.n_graphs,
            "n_left_out": self.n_left_out,
            "window": self.window,
            "temper": self.temper,
            "formula": self.formula,
            "complete": self.complete,
        }

    def __str__(self) -> str:
        count = len(self.classes)
        head = [
            f"effects averaged over {count} class{'es' * (count != 1)}, "
            f"the best with weight {self.classes[0].weight:.2f}"
        ]
        cut = sum(not cls.complete for cls in self.classes)
        if cut:
            head.append(f"{cut} of them NOT COMPLETE: `limit` or `time_limit` kept members out")
        if self.n_left_out:
            head.append(
                f"{self.n_left_out} classes of lower score were left out (`max_classes` or "
                "`time_limit`)"
            )
        rows: list[tuple[str, ...]] = [
            ("effect", "P(effect)", "min |.|", "mean |.|", "max |.|", "P(+)", "P(-)")
        ]
        numbers = (self.probability, self.min_abs, self.mean_abs, self.max_abs)
        d = len(self.names)
        shown = [
            (i, j)
            for i in range(d)
            for j in range(d)
            if i != j and (self.probability[i, j] >= 0.01 or self.mean_abs[i, j] >= 0.01)
        ]
        shown.sort(key=lambda pair: (-self.probability[pair], -self.mean_abs[pair]))
        for i, j in shown:
            rows.append(
                (
                    f"{quote(self.names[j])} on {quote(self.names[i])}",
                    f"{self.probability[i, j]:.2f}",
                    *(f"{matrix[i, j]:.3f}" for matrix in numbers[1:]),
                    f"{self.positive[i, j]:.2f}",
                    f"{self.negative[i, j]:.2f}",
                )
            )
        width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])]) for row in rows
        ]
        return "\n".join([*head, *lines])

    def __repr__(self) -> str:
        return f"<AveragedEffects: {len(self.classes)} classes, complete={self.complete}>"
