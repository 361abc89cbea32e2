"""Targets that nobody knows: which variables an intervention acted on is searched for, too.

A condition may say ``targets="learn"``. The search is then for a *place*: a graph, and targets for
these conditions. A move adds a target to one condition, takes one back or exchanges one, and lets
the graph climb to where the new targets want it. That the graph may follow at once is what matters:
a wrong target comes with edges that make up for it, and neither could leave without the other.

    truth        x -> y -> z; in one condition y was set, so that x and y do not go together there
    a wrong end  x <- y -> z, and x is the target. With y in its place, but  x <- y  as it is, x and
                 y would go together: worse. With  x <- y  turned, and the target x: worse.

A target pays for the variance that it has to itself, as any parameter does. There are two
beginnings: the graph that all conditions have without targets, and that of the conditions whose
targets are known, which no unknown intervention has touched. Each first takes the targets that suit
it as it is, and moves on from there. At the better end of the two the whole search for a graph is
done; where it finds better, the moves go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import NamedTuple, Protocol

import numpy as np

from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.results.rows import Row
from bowfree.search.plan import CLIMB, Task, work_for
from bowfree.search.result import TOLERANCE, SearchResult
from bowfree.search.runs import Setup, run_elsewhere

MOST_ROUNDS = 10  # of moves and a whole search in turn; one is usual
MOST_CLIMBS = 20  # of the graph, for the changes of one condition that look best without one

Names = tuple[str, ...]
Targets = tuple[Names, ...]  # of each condition


class GraphSearch(Protocol):
    """A search for the graph, with all its options but data, random numbers and one more start."""

    def __call__(
        self, moments: Moments, budget: Budget, start: MixedGraph | None, /
    ) -> SearchResult:
        """Search."""
        ...


class Place(NamedTuple):
    """A graph and targets, and what they are worth together."""

    score: float
    graph: MixedGraph
    targets: Targets


@dataclass(frozen=True)
class _Moves:
    """Moves over places; what they have met."""

    setup: Setup  # what a climb is given, but for the targets
    moments: JointMoments
    unknown: tuple[int, ...]  # conditions
    budget: Budget
    plenty: bool  # whether each condition alone has rows enough for any graph
    met: dict[Targets, float] = field(default_factory=dict)  # best score with these targets
    conditions: dict[tuple[int, Names], ConditionMoments] = field(default_factory=dict)

    def data(self, targets: Targets) -> JointMoments:
        """Return all conditions with these targets."""
        for e, names in enumerate(targets):
            if (e, names) not in self.conditions:
                self.conditions[e, names] = replace(self.moments.conditions[e], targets=names)
        return self.moments._like(self.conditions[key] for key in enumerate(targets))

    def given(self, targets: Targets) -> Setup:
        """Return what a climb with these targets is given."""
        return replace(self.setup, moments=self.data(targets))

    def score(self, graph: MixedGraph, targets: Targets) -> float:
        """Return the score of a graph with these targets."""
        return self.given(targets).core().score(*graph._bits())

    def near(self, graph: MixedGraph, targets: Targets) -> Place:
        """Let the graph climb to where these targets want it."""
        climb = Task(CLIMB, 0, 0, graph, work_for(len(self.moments.names)))
        done = run_elsewhere((self.given(targets), climb, self.budget))
        if done is None:  # the time is up
            return Place(-math.inf, graph, targets)
        self.met[targets] = max(done.run.score, self.met.get(targets, -math.inf))
        return Place(done.run.score, done.run.end, targets)

    def changes(self, targets: Targets, e: int) -> list[Targets]:
        """Return the targets after every change of one condition: one more, one less, exchanged."""
        now, names = {*targets[e]}, self.moments.names
        sets = [now ^ {name} for name in names]
        sets += [now ^ {a, b} for a in names for b in names if a in now and b not in now]
        in_order = (tuple(name for name in names if name in after) for after in sets)
        found = [(*targets[:e], after, *targets[e + 1 :]) for after in in_order]
        return [after for after in found if self.tells(after)]

    def tells(self, targets: Targets) -> bool:
        """Say whether enough is left to tell of every variable, and of what a condition has alone.

        A variable that is a target everywhere is told of by nothing, and three rows, if no others
        are left, are fitted exactly by a variable with two parents.
        """
        if set.intersection(*map(set, targets)):
            return False
        return self.plenty or _passes(self.data(targets))

    def improve(self, place: Place, e: int) -> Place:
        """Make the best change of one condition while there is one."""
        while not self.budget.expired:
            changes = self.changes(place.targets, e)
            if len(changes) > MOST_CLIMBS:
                changes.sort(key=lambda targets: -self.score(place.graph, targets))
            ends = (self.near(place.graph, targets) for targets in changes[:MOST_CLIMBS])
            best = max(ends, key=lambda end: end.score, default=place)
            if best.score <= place.score + TOLERANCE:
                break
            place = best
        return place

    def suited(self, graph: MixedGraph, targets: Targets) -> Targets:
        """Add and take back targets, the best of all conditions first, for the graph as it is."""
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

    def climb(self, graph: MixedGraph, targets: Targets) -> Place:
        """Go round the conditions until none has a change that is better."""
        place, unchanged = self.near(graph, targets), 0
        for e in cycle(self.unknown):
            if unchanged == len(self.unknown) or self.budget.expired:
                break
            before, place = place, self.improve(place, e)
            unchanged = 1 + (unchanged if place.targets == before.targets else 0)
        return place

    def probabilities(self, result: SearchResult, targets: Targets) -> Iterator[Row]:
        """Weigh the targets of each condition, those of the others being as they are.

        Every set of targets that differs from the one found by a change has a score. For a
        variable, the sets with it weigh against the same sets without it.
        """
        n = self.moments.n
        for e in self.unknown:
            scores = {frozenset(targets[e]): result.score}
            for after in self.changes(targets, e):
                if after in self.met:
                    scores[frozenset(after[e])] = self.met[after]
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
    """Search for the graph and the targets of the conditions that do not know them.

    `setup` is what a climb is given; its moments are those of all conditions, without targets.
    """
    short = replace(setup, strategy=replace(setup.strategy, starts=None, keep=1))
    # Where all rows together are too few, the space has only graphs that they are enough for.
    alone = (moments._like([replace(c, targets=())]) for c in moments.conditions)
    plenty = not _passes(moments) or all(map(_passes, alone))
    moves = _Moves(short, moments, tuple(unknown), budget, plenty)
    seeds = iter(budget.generator().integers(0, 2**63, size=MOST_ROUNDS + 2).tolist())

    def whole(data: Moments, start: MixedGraph | None = None) -> SearchResult:
        left = Budget(
            next(seeds),
            budget.n_jobs,
            budget.seconds_left,
            budget.progress,
            budget.executor,
            budget.cancelled,
        )
        return search(data, left, start)

    given: Targets = tuple(condition.targets for condition in moments.conditions)
    graphs = _first_graphs(moments, unknown, whole)
    ends = [moves.climb(graph, moves.suited(graph, given)) for graph in graphs]
    place = max(ends, key=lambda end: end.score)
    for _ in range(MOST_ROUNDS):
        result = whole(moments._with_targets(place.targets), place.graph)
        if budget.expired or result.score <= place.score + TOLERANCE:
            break
        further = moves.climb(result.graph, place.targets)
        if further.targets == place.targets:
            break
        place = further
    return result, tuple(moves.probabilities(result, place.targets))


def _passes(moments: JointMoments) -> bool:
    """Say whether the likelihood of any graph has a maximum."""
    try:
        moments._check(None)
    except DataError:
        return False
    return True


def _first_graphs(
    moments: JointMoments, unknown: Sequence[int], search: Callable[[Moments], SearchResult]
) -> Iterator[MixedGraph]:
    """Yield graphs to begin with: of all conditions, and of those whose targets are known."""
    yield search(moments).graph
    known = [c for k, c in enumerate(moments.conditions) if k not in unknown]
    if known:
        alone = JointMoments(known, means=moments.means)
        if _passes(alone):
            yield search(alone).graph
