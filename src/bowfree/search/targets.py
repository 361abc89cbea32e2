"""Search for a graph together with the unknown targets of interventions (``targets="learn"``).

A *candidate* is a graph with targets for every condition. A move adds a target to one condition,
removes one or exchanges one, and then lets the graph climb. The graph must be able to follow at
once, because a wrong target comes with edges that compensate for it:

    truth        x -> y -> z; y was set in one condition, so that x and y are independent there
    wrong end    x <- y -> z with target x. With target y, but x <- y unchanged, x and y would be
                 dependent: worse. With x <- y reversed, but target x: worse.

The search starts from two graphs: that of all conditions without targets, and that of the
conditions with known targets. Each first gets the targets that fit it best, and moves on from
there. A complete search for a graph is done at the better end; if it finds a better graph, the
moves continue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from time import monotonic
from typing import NamedTuple

import numpy as np

from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.results.rows import Row
from bowfree.search.plan import CLIMB, RunTask, work_for
from bowfree.search.result import TOLERANCE, SearchResult
from bowfree.search.scheduler import Setup, execute_run

MAX_ROUNDS = 10  # of moves followed by a complete search; one is usual
MAX_CLIMBS = 20  # for the changes of one condition with the best scores before a climb

Names = tuple[str, ...]
Targets = tuple[Names, ...]  # of each condition

GraphSearch = Callable[[Moments, Budget, MixedGraph | None], SearchResult]
"""A complete search for a graph, with an additional start."""


class Candidate(NamedTuple):
    """A graph with targets, and their score."""

    score: float
    graph: MixedGraph
    targets: Targets


@dataclass(frozen=True)
class _TargetSearch:
    """Moves between candidates."""

    setup: Setup  # of a climb, without targets
    moments: JointMoments
    unknown: tuple[int, ...]  # conditions with unknown targets
    budget: Budget
    enough_rows: bool  # whether each condition alone has enough rows for any graph
    best: dict[Targets, float] = field(default_factory=dict)  # best score found with these targets
    conditions: dict[tuple[int, Names], ConditionMoments] = field(default_factory=dict)

    def data(self, targets: Targets) -> JointMoments:
        """Return all conditions with these targets."""
        for e, names in enumerate(targets):
            if (e, names) not in self.conditions:
                self.conditions[e, names] = replace(self.moments.conditions[e], targets=names)
        return self.moments._like(self.conditions[key] for key in enumerate(targets))

    def score(self, graph: MixedGraph, targets: Targets) -> float:
        """Return the score of a graph with these targets."""
        setup = replace(self.setup, moments=self.data(targets))
        return setup.core().score(*graph._bits())

    def climb_graph(self, graph: MixedGraph, targets: Targets) -> Candidate:
        """Let the graph climb with these targets."""
        setup = replace(self.setup, moments=self.data(targets))
        climb = RunTask(CLIMB, 0, 0, graph, work_for(len(self.moments.names)))
        finished = execute_run((setup, climb, self.budget))
        if finished is None:  # no time left
            return Candidate(-math.inf, graph, targets)
        run, _ = finished
        self.best[targets] = max(run.score, self.best.get(targets, -math.inf))
        return Candidate(run.score, run.end, targets)

    def changes(self, targets: Targets, e: int) -> list[Targets]:
        """Return the targets after each change of one condition: add, remove, exchange."""
        now, names = {*targets[e]}, self.moments.names
        sets = [now ^ {name} for name in names]
        sets += [now ^ {a, b} for a in names for b in names if a in now and b not in now]
        in_order = (tuple(name for name in names if name in after) for after in sets)
        found = [(*targets[:e], after, *targets[e + 1 :]) for after in in_order]
        return [after for after in found if self.is_identified(after)]

    def is_identified(self, targets: Targets) -> bool:
        """Return whether the other conditions have enough data for every variable.

        Data do not determine a variable that is a target in all conditions, and three rows, if no
        others are left, are fitted exactly by a variable with two parents.
        """
        if set.intersection(*map(set, targets)):
            return False
        return self.enough_rows or _has_maximum(self.data(targets))

    def improve(self, candidate: Candidate, e: int) -> Candidate:
        """Make the best change of one condition while there is an improvement."""
        while not self.budget.expired:
            changes = self.changes(candidate.targets, e)
            if len(changes) > MAX_CLIMBS:
                changes.sort(key=lambda targets: -self.score(candidate.graph, targets))
            ends = (self.climb_graph(candidate.graph, targets) for targets in changes[:MAX_CLIMBS])
            best = max(ends, key=lambda end: end.score, default=candidate)
            if best.score <= candidate.score + TOLERANCE:
                break
            candidate = best
        return candidate

    def fit_targets(self, graph: MixedGraph, targets: Targets) -> Targets:
        """Add and remove the best targets over all conditions, without changing the graph."""
        score = self.score(graph, targets)
        while not self.budget.expired:
            changes = [
                after
                for e in self.unknown
                for after in self.changes(targets, e)
                if len(after[e]) != len(targets[e])
            ]
            scores = [self.score(graph, after) for after in changes]
            if max(scores, default=-math.inf) <= score + TOLERANCE:
                break
            score = max(scores)
            targets = changes[scores.index(score)]
        return targets

    def climb(self, graph: MixedGraph, targets: Targets) -> Candidate:
        """Improve the conditions in turn until no change of any condition is better."""
        candidate, unchanged = self.climb_graph(graph, targets), 0
        for e in cycle(self.unknown):
            if unchanged == len(self.unknown) or self.budget.expired:
                break
            before, candidate = candidate, self.improve(candidate, e)
            unchanged = 1 + (unchanged if candidate.targets == before.targets else 0)
        return candidate

    def probabilities(self, result: SearchResult, targets: Targets) -> Iterator[Row]:
        """Yield the probability of every target, given the targets of the other conditions.

        It compares the sets of targets with a variable to the same sets without it.
        """
        n = self.moments.n
        for e in self.unknown:
            scores = {frozenset(targets[e]): result.score}
            for after in self.changes(targets, e):
                if after in self.best:
                    scores[frozenset(after[e])] = self.best[after]
                elif len(after[e]) != len(targets[e]):  # a single change
                    scores[frozenset(after[e])] = self.score(result.graph, after)
            for name in self.moments.names:
                pairs = dict.fromkeys((s | {name}, s - {name}) for s in scores)
                known = [[scores[s] for s in pair] for pair in pairs if scores.keys() >= {*pair}]
                if not known:
                    continue
                logs = n * np.array(known)
                with_it, without_it = np.exp(logs - logs.max()).sum(axis=0)
                yield Row(
                    condition=self.moments.conditions[e].name,
                    variable=name,
                    probability=float(with_it / (with_it + without_it)),
                    chosen=name in targets[e],
                )


def learn_targets(
    setup: Setup,
    moments: JointMoments,
    unknown: Sequence[int],
    search: GraphSearch,
    budget: Budget,
) -> tuple[SearchResult, tuple[Row, ...]]:
    """Search for the graph and the unknown targets.

    `setup` is that of a climb; its moments are those of all conditions, without targets.
    """
    short = replace(setup, strategy=replace(setup.strategy, starts=None, keep=1))
    # If all rows together are too few, the space only has graphs for which they suffice.
    alone = (moments._like([replace(c, targets=())]) for c in moments.conditions)
    enough_rows = not _has_maximum(moments) or all(map(_has_maximum, alone))
    moves = _TargetSearch(short, moments, tuple(unknown), budget, enough_rows)
    seeds = iter(budget.generator().integers(0, 2**63, size=MAX_ROUNDS + 2).tolist())

    def search_graph(data: Moments, start: MixedGraph | None = None) -> SearchResult:
        left = replace(budget, rng=next(seeds), time_limit=budget.seconds_left, began=monotonic())
        return search(data, left, start)

    def start_graphs() -> Iterator[MixedGraph]:
        yield search_graph(moments).graph
        known = [c for k, c in enumerate(moments.conditions) if k not in unknown]
        if known:
            untouched = JointMoments(known, means=moments.means)
            if _has_maximum(untouched):
                yield search_graph(untouched).graph

    known: Targets = tuple(condition.targets for condition in moments.conditions)
    ends = [moves.climb(graph, moves.fit_targets(graph, known)) for graph in start_graphs()]
    candidate = max(ends, key=lambda end: end.score)
    for _ in range(MAX_ROUNDS):
        result = search_graph(moments._with_targets(candidate.targets), candidate.graph)
        if budget.expired or result.score <= candidate.score + TOLERANCE:
            break
        further = moves.climb(result.graph, candidate.targets)
        if further.targets == candidate.targets:
            break
        candidate = further
    return result, tuple(moves.probabilities(result, candidate.targets))


def _has_maximum(moments: JointMoments) -> bool:
    """Return whether the likelihood of every graph has a maximum."""
    try:
        moments._check(None)
    except DataError:
        return False
    return True
