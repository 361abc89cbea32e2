"""Exhaustive search: the scores of all graphs on up to five variables.

There are 3,608 BAPs on four variables and 765,664 on five. They share their districts, so that all
of them can be scored. The weights ``exp(n * score)`` give probabilities of edges and of equivalence
classes; with ``penalty=0.5`` these are BIC approximations of posterior probabilities under a
uniform prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments
from bowfree.data.options import DataOptions
from bowfree.data.sample import Floats, Indices
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    EDGES,
    FORWARD,
    MARKS,
    NONE,
    graph_of_states,
    index_pairs,
)
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import describe
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.parameters import Correlation, GraphClass, Means, Method, Missing, Penalty, public
from bowfree.results.display import count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row
from bowfree.search.greedy import adapt_to_data, check_finite_n
from bowfree.search.plan import Strategy
from bowfree.search.result import TOLERANCE, LearnedGraph, ScoredGraph
from bowfree.search.scheduler import Setup
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.validation import check_count, check_nonnegative

MAX_NODES = 5
N_BAPS = (1, 1, 4, 62, 3608, 765_664)  # by the number of nodes


@dataclass(frozen=True, eq=False, repr=False)
class ExhaustiveResult(LearnedGraph, Frozen):
    """The result of :func:`bowfree.exhaustive_search`: all graphs and their scores.

    Attributes
    ----------
    moments : Moments
        The data.
    space : SearchSpace
        The graphs considered: class, limits, knowledge.
    rule : ScoringRule
        The score: its penalty, and the method of the fits.
    codes : ndarray of uint32
        All graphs, best first: the pairs (1,2), (1,3), (2,3), (1,4), ... as digits in base 4.
    scores : ndarray of float
        Their scores.
    notes : tuple of str
        Limits and penalties that were derived from the data.
    """

    moments: Moments
    space: SearchSpace
    rule: ScoringRule
    codes: npt.NDArray[np.uint32]
    scores: Floats
    notes: tuple[str, ...] = ()

    @property
    def graph(self) -> MixedGraph:
        """The best graph, the first of `best_graphs`."""
        return self.graph_at(0)

    @property
    def score(self) -> float:
        """Score of the best graph."""
        return float(self.scores[0])

    @property
    def best_graphs(self) -> tuple[MixedGraph, ...]:
        """All graphs with the best score."""
        return tuple(graph for graph, _ in self.ranking(TOLERANCE * self.moments.n))

    def __len__(self) -> int:
        return len(self.codes)

    def graph_at(self, rank: int) -> MixedGraph:
        """Return the graph of a rank, 0 for the best."""
        if check_count("rank", rank, 0) >= len(self):
            raise BowfreeError(
                f"rank = {rank}: must be less than {len(self):,}, the number of graphs"
            )
        return graph_of_states(self.moments.names, self._states(rank, rank + 1)[0])

    def edge_counts(self) -> Indices:
        """Return the number of edges of every graph, best first."""
        adjacent = (self.codes | self.codes >> 1) & 0x55555555
        counts: Indices = np.bitwise_count(adjacent).astype(np.intp)
        return counts

    def parameter_counts(self) -> Indices:
        """Return the number of edge parameters of every graph; conditions or categories add some."""
        counts = self.edge_counts()
        own = None
        if isinstance(self.moments, JointMoments) and not self.moments._alike:
            own = self.moments._own
        elif isinstance(self.moments, BlockMoments):
            own = (self.moments.extra_parameters(),) * 2
        if own is not None:
            B, Omega = own
            for k, (i, j) in enumerate(index_pairs(len(self.moments.names))):
                more = np.zeros(1 + max(EDGES), dtype=np.intp)
                more[FORWARD], more[BACKWARD], more[BIDIRECTED] = B[j, i], B[i, j], Omega[i, j]
                counts += more[self._states()[:, k]]
        return counts

    def ranking(self, window: float) -> Iterator[ScoredGraph]:
        """Yield the graphs within `window` units of ``n * score`` of the best, best first."""
        count = self._within(window)
        for rank in range(count):
            yield ScoredGraph(self.graph_at(rank), float(self.scores[rank]))

    def weights(self) -> Floats:
        """Return the weight of every graph, ``exp(n * score)`` scaled to sum 1."""
        weights = np.exp(self.moments.n * (self.scores - self.scores[0]))
        normed: Floats = weights / weights.sum()
        return normed

    def edge_probabilities(self) -> dict[tuple[str, str, str], float]:
        """Return the total weight of the graphs with each edge, as ``(a, mark, b): weight``."""
        weights, states, names = self.weights(), self._states(), self.moments.names
        return {
            (names[i], MARKS[state], names[j]): float(weights[states[:, k] == state].sum())
            for k, (i, j) in enumerate(index_pairs(len(names)))
            for state in EDGES
        }

    def classes(self, window: float = 10.0) -> tuple[Row, ...]:
        """Group the graphs within `window` units of ``n * score`` of the best into classes.

        A class has the graphs with the same skeleton and score, as equivalent graphs have. Its row
        has the ``graphs``, their ``score`` and their total weight, the ``probability``.
        """
        count = self._within(window)
        weights, skeletons = self.weights()[:count], self._states(0, count) != NONE
        groups: list[list[int]] = []
        open_groups: dict[bytes, list[int]] = {}
        for rank in range(count):
            skeleton = skeletons[rank].tobytes()
            group = open_groups.get(skeleton)
            if group is None or self.scores[group[-1]] - self.scores[rank] > TOLERANCE:
                group = []
                groups.append(group)
                open_groups[skeleton] = group
            group.append(rank)
        return tuple(
            Row(
                graphs=tuple(self.graph_at(rank) for rank in group),
                score=float(self.scores[group[0]]),
                probability=float(weights[group].sum()),
            )
            for group in groups
        )

    def to_dict(self, window: float = 10.0) -> dict[str, Any]:
        """Return plain lists and numbers, with the graphs within `window` of the best."""
        return self._content() | {
            "n_graphs": len(self),
            "best_graphs": [str(graph) for graph in self.best_graphs],
            "ranking": [
                {"graph": str(graph), "score": score} for graph, score in self.ranking(window)
            ],
        }

    def _within(self, window: float) -> int:
        """Return the number of graphs within `window` units of ``n * score`` of the best."""
        gap = check_nonnegative("window", window) / self.moments.n
        return int((self.scores >= self.scores[0] - gap).sum())

    def _states(self, first: int = 0, last: int | None = None) -> npt.NDArray[np.uint8]:
        """Return the states of all pairs, one row for each rank from `first` to `last` - 1."""
        d = len(self.moments.names)
        shifts = 2 * np.arange(d * (d - 1) // 2, dtype=np.uint32)
        states: npt.NDArray[np.uint8] = (self.codes[first:last, None] >> shifts & 3).astype(
            np.uint8
        )
        return states

    def _headline(self) -> str:
        return f"{count(len(self), 'graph')}, best score {self.score:.6f}, {describe(self.graph)}"

    def _sections(self) -> Iterator[str]:
        yield f"best of {len(self):,} graphs: {describe(self.graph)}"
        yield f"score {self.score:.6f}, shared by {count(len(self.best_graphs), 'graph')}"
        yield from self.notes


@public
def exhaustive_search(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty = 1.0,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
) -> ExhaustiveResult:
    """Score every graph on up to five variables.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows, of at most five variables.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    >>> result = bf.exhaustive_search(cov=S, n=500)
    >>> len(result), str(result.graph)
    (62, 'x1 -> x2 <- x3')
    """
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    moments = options.read(data)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    d = len(moments.names)
    if d > MAX_NODES:
        raise DataError(
            f"{d} variables have too many graphs to score all of them; choose at most {MAX_NODES} "
            "variables, or use greedy_search"
        )
    check_finite_n(moments)
    return score_all_graphs(moments, within, rule)


def score_all_graphs(
    moments: Moments, space: SearchSpace, rule: ScoringRule, budget: Budget | None = None
) -> ExhaustiveResult:
    """Score the graphs of a space on up to five variables, after the data have been read.

    Raises
    ------
    TimeIsUp
        If the time of the budget is up.
    """
    space, rule, notes = adapt_to_data(moments, space, rule)
    budget = budget or Budget()
    all_baps = N_BAPS[len(moments.names)]
    codes, scores = (
        Setup(moments, space, rule, Strategy())
        .core()
        .score_all(
            seconds=budget.seconds_left,
            progress=lambda done: budget.report_progress("graphs", done, all_baps),
        )
    )
    order = np.lexsort((codes, -scores))
    return ExhaustiveResult(moments, space, rule, codes[order], scores[order], tuple(notes))
