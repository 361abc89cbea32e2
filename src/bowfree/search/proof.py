"""Proofs that no graph of a space has a better score than a known one.

The score is a sum over districts. The core (``cpp/search/exact.hpp``) combines dynamic programming
over orders of the variables, a Lagrangian relaxation that excludes nearly all districts before they
are fitted, and A* search with those that remain. It knows the rules about single pairs and nodes.
The other rules (ancestral and arid graphs, the number of edges) are imposed by branching here: if
the best graph violates one of them, every permitted graph lacks one edge of a smallest set that
violates it.

:func:`prove` is the end of a greedy search. Up to five variables it scores all graphs whose
number of edges does not exclude them.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.nominal import BlockMoments
from bowfree.data.sample import NonGaussianRows
from bowfree.graph.encodings import graph_of_bits, graph_of_states
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.results.display import count
from bowfree.search.result import TOLERANCE
from bowfree.search.scheduler import Setup

# As in cpp/search/exact.hpp.
MAX_NODES, MAX_DISTRICT = 20, 6
_MAX_CELLS = 4e8
DEFAULT_DISTRICT, DEFAULT_PARENTS = 2, 3

MAX_ENUMERATED = 5  # variables, in cpp/search/enumeration.hpp
#: Limit of the proof at the end of a greedy search, in units of cpp/search/exact.hpp: about a second.
PROOF_WORK = 1e9
#: Variables beyond which that is never enough, if there may be bidirected edges.
MAX_PROVED = 12

_Edges = tuple[tuple[str, str, str], ...]


def max_nodes(max_district: int) -> int:
    """Return the largest number of variables for an exact search with districts of some size."""
    if max_district == 1:
        return MAX_NODES
    d = MAX_DISTRICT
    while _count_cells(d + 1, max_district) <= _MAX_CELLS:
        d += 1
    return d


def _count_cells(d: int, max_district: int) -> int:
    sizes = range(2, min(d, max_district) + 1)
    return sum(math.perm(d, k) * (k + 1) ** (d - k) for k in sizes)


class Proved(NamedTuple):
    """The end of a greedy search: a better graph if there is one, and what is proved."""

    better: MixedGraph | None = None
    statement: str = ""  # empty: nothing
    whole: bool = False  # whether it is about all graphs of the search space


def prove(setup: Setup, score: float, budget: Budget) -> Proved:
    """Prove that no graph has a score above `score`, or find the best one, if that takes a second.

    Up to five variables this is about the space of the search, beyond only if that has DAGs or small
    districts, and otherwise about a part of it.
    """
    moments, space, d = setup.moments, setup.space, len(setup.moments.names)
    special = isinstance(moments, JointMoments | BlockMoments)
    special |= isinstance(moments.sample, NonGaussianRows) or setup.score is not None
    if special or setup.rule.method != "newton" or not moments.definite:
        return Proved()
    if d <= MAX_ENUMERATED:
        codes, scores = setup.core().score_all(score)
        better = None
        if len(scores) and scores.max() > score + TOLERANCE:
            digits = codes[scores.argmax()] >> 2 * np.arange(d * (d - 1) // 2) & 3
            better = graph_of_states(moments.names, digits.astype(np.uint8))
        return Proved(better, f"proved best among {space}", whole=True)
    largest = 1 if space.graph_class == "dag" else space.max_district or d
    if d > (MAX_NODES if largest == 1 else MAX_PROVED):
        return Proved()
    provable = DEFAULT_DISTRICT + (d <= MAX_ENUMERATED + 1)
    whole = largest <= provable
    within = replace(space, max_district=min(largest, provable))
    max_parents = None if whole else DEFAULT_PARENTS
    quiet = replace(budget, progress=None)  # the callback counts the runs of the search
    proof = Proof(replace(setup, space=within), max_parents, quiet, PROOF_WORK)
    proof.score = score
    proof.run()
    if proof.interrupted:
        raise KeyboardInterrupt
    if not proof.proved:
        return Proved(proof.graph)
    if whole:
        return Proved(proof.graph, f"proved best among {space}", whole=True)
    return Proved(proof.graph, f"proved: no better graph among {proof.considered}")


class Proof:
    """The best graph so far, and a bound that falls until it is proved."""

    def __init__(
        self, setup: Setup, max_parents: int | None, budget: Budget, work: float = math.inf
    ) -> None:
        self._setup = setup
        self._budget = budget
        self._work_left = work
        self._names = setup.moments.names
        self._rules = setup.space.rules(self._names)
        self.max_parents = len(self._names) if max_parents is None else max_parents
        self.graph: MixedGraph | None = None
        self.score = self.bound = float("-inf")
        self.proved = self.interrupted = False
        self.fits = self.states = 0
        self.considered = str(setup.space)
        if max_parents is not None:
            self.considered += f", and at most {count(max_parents, 'parent')} of a node"

    def permits(self, graph: MixedGraph) -> bool:
        """Return whether a graph is in the space."""
        most = max(mask.bit_count() for mask in graph._parents)
        return most <= self.max_parents and self._rules.permits(*graph._bits())

    def improve(self, graph: MixedGraph, score: float) -> None:
        """Keep a permitted graph if it is the best so far."""
        if self.graph is None or score > self.score:
            self.graph, self.score = graph, score

    def run(self) -> None:
        """Search until the best graph is proved, or work or time is up.

        A subproblem has a bound and the edges that it forbids; the best bound comes first.
        """
        queue: list[tuple[float, _Edges]] = [(float("-inf"), ())]
        seen: set[_Edges] = set()
        while queue:
            negative_bound, forbidden = heapq.heappop(queue)
            self.bound = max(-negative_bound, self.score)
            if -negative_bound <= self.score + TOLERANCE:
                break
            found = self._solve(forbidden)
            self.fits += found["fits"]
            self.states += found["states"]
            self._work_left -= found["work"]
            graph = None if found["graph"] is None else graph_of_bits(self._names, *found["graph"])
            if graph is not None and self._rules.permits(*graph._bits()):
                self.improve(graph, found["score"])
            elif graph is not None and found["proved"]:
                for edge in self._conflict(graph):
                    subproblem = tuple(sorted((*forbidden, edge)))
                    if subproblem not in seen:
                        seen.add(subproblem)
                        heapq.heappush(queue, (-found["score"], subproblem))
            self.interrupted = found["interrupted"]
            if not found["proved"]:
                others = -queue[0][0] if queue else float("-inf")
                self.bound = max(min(found["bound"], -negative_bound), others, self.score)
                return
        self.proved, self.bound = True, self.score

    def _solve(self, forbidden: _Edges) -> dict[str, Any]:
        """Return the best graph without the forbidden edges, if it is better than the known one."""
        setup, space = self._setup, self._setup.space
        known = replace(space.knowledge, forbidden=(*space.knowledge.forbidden, *forbidden))
        found: dict[str, Any] = _core.exact_search(
            setup.moments._core_data(setup.rule.method),
            setup.moments.n,
            setup.rule.weight,
            setup.strategy.cache_bytes,
            replace(space, knowledge=known).rules(self._names),
            space.max_district or DEFAULT_DISTRICT,
            self.max_parents,
            TOLERANCE,
            self._work_left,
            self.score,
            self._budget.seconds_left,
            self._report_progress,
        )
        return found

    def _report_progress(self, n_fits: int) -> None:
        done = self.fits + n_fits
        best = None if self.graph is None else self.score
        self._budget.report_progress("districts", done, done, best)

    def _conflict(self, graph: MixedGraph) -> list[tuple[str, str, str]]:
        """Return a smallest set of edges that no permitted graph contains."""
        required = set(self._setup.required_graph.edges)
        edges = list(graph.edges)
        for edge in graph.edges:
            fewer = [other for other in edges if other != edge]
            pairs: dict[str, list[tuple[str, str]]] = {"->": [], "<->": []}
            for a, mark, b in fewer:
                pairs[mark].append((a, b))
            smaller = MixedGraph(self._names, pairs["->"], pairs["<->"])
            if edge not in required and not self._rules.permits(*smaller._bits()):
                edges = fewer
        return [edge for edge in edges if edge not in required]
