"""Targets that nobody knows: which variables an intervention acted on is searched for, too.

A condition may say ``targets="learn"``. To make a variable its target, or to take it back, is then
a move as any other: it changes the score of one district, and a target pays for the variance that
it has to itself. The moves are made in turn with the search for the graph, until neither finds
better: targets for the graph at hand, then a graph for these targets. There are two beginnings: the
graph that all conditions have without targets, and that of the conditions whose targets are known,
which no unknown intervention has touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bowfree import _core
from bowfree.budget import Budget
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.joint_moments import JointMoments
from bowfree.model.moments import Moments
from bowfree.model.scoring_rule import ScoringRule
from bowfree.search.plan import TOLERANCE
from bowfree.search.result import LearnedTarget, SearchResult

__all__ = ["learn_targets"]

MOST_ROUNDS = 10  # of targets and graph in turn; three are usual
MOST_GRAPHS = 50  # of the pool, that probabilities are averaged over

Targets = tuple[tuple[str, ...], ...]  # of each condition


class GraphSearch(Protocol):
    """A search for the graph, with all its options but the data and the random numbers."""

    def __call__(self, moments: Moments, budget: Budget, /) -> SearchResult:
        """Search."""
        ...


@dataclass(frozen=True)
class _Scores:
    """Scores of graphs and targets together."""

    moments: JointMoments
    unknown: tuple[int, ...]  # conditions
    rule: ScoringRule

    def of(self, graph: MixedGraph, targets: Targets) -> float:
        """Return the score of a graph with these targets."""
        moments = self.moments._with_targets(targets)
        n, own = moments.n, moments._set_terms()[0]
        fits = _core.fit_graph(moments._core_data(), *graph._bits())
        F = math.fsum(fits.objective) + math.fsum(own)
        q = len(graph) + graph.n_edges + int(moments._own_numbers(graph).sum())
        price = self.rule.weight * math.log(n) / n
        return -(len(graph) * math.log(2 * math.pi) + F) / 2 - price * q

    def toggled(self, targets: Targets) -> Iterator[tuple[int, str, Targets]]:
        """Yield every change of one target: condition, variable, and all targets after it."""
        for e in self.unknown:
            for name in self.moments.names:
                now = targets[e]
                after = tuple(t for t in now if t != name) if name in now else (*now, name)
                changed = (*targets[:e], after, *targets[e + 1 :])
                if all(name in others for others in changed):
                    continue  # nothing would be left to tell of it
                yield e, name, changed

    def climb(self, graph: MixedGraph, targets: Targets, budget: Budget) -> Targets:
        """Change one target after the other while the score rises."""
        score = self.of(graph, targets)
        while not budget.over:
            best = max(
                ((self.of(graph, after), after) for _, _, after in self.toggled(targets)),
                default=(-math.inf, targets),
            )
            if best[0] <= score + TOLERANCE:
                break
            score, targets = best
        return targets

    def probabilities(self, result: SearchResult, targets: Targets) -> tuple[LearnedTarget, ...]:
        """Weigh each target against its absence, the other targets as they are."""
        graphs = result.pool[:MOST_GRAPHS]
        n = self.moments.n
        here = np.array([n * self.of(graph, targets) for graph, _ in graphs])
        found = []
        for e, name, after in self.toggled(targets):
            there = np.array([n * self.of(graph, after) for graph, _ in graphs])
            top = max(here.max(), there.max())
            stays, changes = np.exp(here - top).sum(), np.exp(there - top).sum()
            chosen = name in targets[e]
            share = float((stays if chosen else changes) / (stays + changes))
            found.append(LearnedTarget(self.moments.conditions[e].name, name, share, chosen))
        return tuple(found)


def learn_targets(
    moments: JointMoments,
    unknown: Sequence[int],
    rule: ScoringRule,
    search: GraphSearch,
    budget: Budget,
) -> tuple[SearchResult, tuple[LearnedTarget, ...]]:
    """Search for the graph and the targets of the conditions that do not know them."""
    scores = _Scores(moments, tuple(unknown), rule)
    seeds = iter(budget.generator().integers(0, 2**63, size=2 * MOST_ROUNDS + 2).tolist())

    def again(data: Moments) -> SearchResult:
        left = Budget(
            next(seeds),
            budget.n_jobs,
            budget.seconds_left,
            budget.progress,
            budget.executor,
            budget.cancelled,
        )
        return search(data, left)

    given: Targets = tuple(condition.targets for condition in moments.conditions)
    ends: list[tuple[SearchResult, Targets]] = []
    for graph in _first_graphs(moments, unknown, again):
        at, targets = graph, given
        for _ in range(MOST_ROUNDS):
            changed = scores.climb(at, targets, budget)
            result = again(moments._with_targets(changed))
            ends.append((result, changed))
            if changed == targets or budget.over:
                break
            at, targets = result.graph, changed
    result, targets = max(ends, key=lambda end: end[0].score)
    return result, scores.probabilities(result, targets)


def _first_graphs(
    moments: JointMoments, unknown: Sequence[int], search: Callable[[Moments], SearchResult]
) -> Iterator[MixedGraph]:
    """Yield graphs to begin with: of all conditions, and of those whose targets are known."""
    yield search(moments).graph
    known = [c for k, c in enumerate(moments.conditions) if k not in unknown]
    if known:
        alone = JointMoments(known, means=moments.means)
        try:
            alone._check(None)
        except DataError:  # too little to learn a graph from
            return
        yield search(alone).graph
