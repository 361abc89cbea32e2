"""How chains walk: on threads of the core, or leg by leg wherever an executor does them.

The way has *legs*: the two halves of the burn-in, then the one whose samples count, and, as long
as the chains have not mixed and may go on, another one that is twice as long. Chains know of each
other between legs only, when the graphs that they jump among and splice from are renewed. On a
leg, a chain's steps depend on its place (the graph, the random numbers, the counts) and on these
graphs. So a worker elsewhere is sent both, walks a *stretch* with a memory of scores of its own,
and sends back where the chain is now and what it noted on the way: its samples and the heaviest
graphs that it met. Samples never travel twice.

A stretch is so many slices, and slices are the same everywhere: where one begins, the score of the
graph is worked out afresh, and what the pool knows of that graph can differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.errors import WorkersLost
from bowfree.graph.encodings import States
from bowfree.parallel.budget import Budget
from bowfree.parallel.tasks import run_tasks
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.posterior import GraphLaw, log_prior
from bowfree.uncertainty.structure_samples import MIXED, worst_edge_r_hat

SLICES = 50  # between which whoever waits is told how far the chains are
SLICE = 5000  # steps at most, so that no chain is far ahead when time is up
STRETCH = 5  # slices of the first stretch of a leg; each is twice as long as the one before,
LONGEST_STRETCH = 80  # up to this: a worker begins each with an empty memory of scores


@dataclass(frozen=True, eq=False)
class ChainSetup:
    """What every chain is given."""

    moments: Moments
    space: SearchSpace
    law: GraphLaw
    keep: int
    window: float
    cache_bytes: int

    def core(self, starts: Sequence[Any], seed: int) -> _core.StructureChains:
        """Return chains that begin at these graphs."""
        names = self.moments.names
        return _core.StructureChains(
            self.moments._core_data(),
            self.moments.n,
            self.law.penalty,
            self.cache_bytes,
            self.space.rules(names),
            starts,
            temper=self.law.temper,
            log_prior=log_prior(self.law, len(names), self.space).tolist(),
            keep=self.keep,
            window=self.window,
            seed=seed,
        )


class Leg(NamedTuple):
    """A part of the way on which the graphs to jump among and to splice from stay the same."""

    steps: int
    thin: int
    slice: int  # steps
    burn_in: bool = False

    def slices(self) -> Iterator[int]:
        """Yield the steps of each slice."""
        for begin in range(0, self.steps, self.slice):
            yield min(self.slice, self.steps - begin)

    def stretches(self, first: int) -> Iterator[Leg]:
        """Yield the parts that are walked elsewhere in one go, the first of so many slices."""
        begin, size = 0, first * self.slice
        while begin < self.steps:
            yield self._replace(steps=min(size, self.steps - begin))
            begin, size = begin + size, min(2 * size, max(first, LONGEST_STRETCH) * self.slice)


def legs_of(warm_up: int, steps: int, thin: int, most: int) -> Iterator[Leg]:
    """Yield the two halves of the burn-in, and the legs that are walked until chains have mixed.

    Each of these is twice as long as the one before and has as many samples; together they have at
    most `most` steps.
    """
    # The list is renewed half-way through the burn-in: the first jumps lead to places that the
    # chains would not have found by themselves.
    half = warm_up // 2
    size = min(-(-(warm_up + steps) // SLICES), SLICE)
    yield Leg(half, thin, size, burn_in=True)
    yield Leg(warm_up - half, thin, size, burn_in=True)
    done = 0
    while done == 0 or done + steps <= most:
        yield Leg(steps, thin, size)
        done, steps, thin = done + steps, 2 * steps, 2 * thin


@dataclass(frozen=True, eq=False)
class LegSamples:
    """What the chains noted on a leg, as many samples of each."""

    leg: Leg
    before: int  # steps of each chain until then
    scores: npt.NDArray[np.float64]
    states: States
    acceptance: npt.NDArray[np.float64]

    @property
    def n_steps(self) -> int:
        """Steps of each chain that its samples stand for."""
        return int(self.scores.shape[1]) * self.leg.thin


@dataclass(frozen=True, eq=False)
class Way:
    """How far chains came: the leg to go by, if any, and what kept them from going on."""

    samples: LegSamples | None
    complete: bool
    cut: KeyboardInterrupt | WorkersLost | None


def walk(
    chains: _core.StructureChains,
    n_chains: int,
    legs: Iterable[Leg],
    budget: Budget,
    setup: ChainSetup,
    planned: int,
) -> Way:
    """Walk leg after leg until the chains agree, or as far as time and workers allow.

    What counts are the samples of the last leg, or, when that was cut short, of the one before if
    that was longer. How many legs there are depends on samples and never on the clock, unless that
    ends it all.
    """
    steps = _Steps(budget, n_chains, planned)
    kept: LegSamples | None = None
    walked, done, complete = None, 0, False
    cut: KeyboardInterrupt | WorkersLost | None = None
    try:
        for leg in legs:
            if kept is not None and worst_edge_r_hat(kept.states) < MIXED:
                break
            if walked is not None:
                complete = chains.begin_leg(budget.seconds_left)
                if not complete:
                    break
                done += walked.steps
            walked, complete = leg, False
            steps.plan(done + leg.steps)
            complete = _walk_leg(chains, leg, budget, setup, steps)
            kept = _longer(kept, chains, leg, done)
            if not complete:
                break
    except (KeyboardInterrupt, WorkersLost) as error:
        cut = error
        if walked is not None:
            kept = _longer(kept, chains, walked, done)
    return Way(kept, complete and cut is None, cut)


def _longer(
    kept: LegSamples | None, chains: _core.StructureChains, leg: Leg, before: int
) -> LegSamples | None:
    """Return what was noted on a leg, unless what was kept of another stands for more steps."""
    if leg.burn_in:
        return None
    found = chains.samples()
    size = min(len(chain["scores"]) for chain in found)
    if size < 4:
        return kept
    latest = LegSamples(
        leg,
        before,
        np.stack([chain["scores"][:size] for chain in found]),
        np.stack([chain["states"][:size] for chain in found]),
        np.array([chain["accepted"] / chain["steps"] for chain in found]),
    )
    return kept if kept is not None and kept.n_steps > latest.n_steps else latest


class _Steps:
    """How far the chains are, for whoever waits; a leg that was not foreseen is more to do."""

    def __init__(self, budget: Budget, n_chains: int, planned: int):
        self.budget, self.n_chains = budget, n_chains
        self.planned, self.done = planned, 0
        self.tell(0)

    def plan(self, steps: int) -> None:
        self.planned = max(self.planned, steps)

    def tell(self, steps: int) -> None:
        """Tell that chains have taken so many steps, added up over all of them."""
        self.done += steps
        self.budget.report_progress("steps", self.done // self.n_chains, self.planned)


def _walk_leg(
    chains: _core.StructureChains, leg: Leg, budget: Budget, setup: ChainSetup, steps: _Steps
) -> bool:
    """Walk a leg; return False when time was up before its end."""
    if budget.executor is None:
        return _walk_here(chains, leg, budget, lambda size: steps.tell(steps.n_chains * size))
    return _walk_elsewhere(chains, leg, budget, setup, steps)


def _walk_here(
    chains: _core.StructureChains, leg: Leg, budget: Budget, tell: Callable[[int], None]
) -> bool:
    for size in leg.slices():
        if budget.expired or not chains.walk(size, leg.thin, budget.n_threads, budget.seconds_left):
            return False
        tell(size)
    return True


def _walk_elsewhere(
    chains: _core.StructureChains, leg: Leg, budget: Budget, setup: ChainSetup, steps: _Steps
) -> bool:
    known = chains.jumps(), chains.memory()
    setup = replace(setup, moments=setup.moments.without_rows())
    # All chains end a stretch before one begins the next: none is far ahead when time is up. What
    # is under way then may be lost, so where that can be, the first ones with samples are short.
    first = STRETCH if leg.burn_in or budget.time_limit is None else 1
    for stretch in leg.stretches(first):
        complete = 0
        pieces = _Pieces(chains, steps.n_chains, setup, known, stretch, budget)
        for c, walked in run_tasks(walk_stretch, pieces, budget):
            chains.put(c, walked.place, walked.notes)
            if walked.complete:
                complete += 1
                steps.tell(stretch.steps)
        if complete < steps.n_chains:
            return False
    return True


class Piece(NamedTuple):
    """One stretch of one chain, for whoever walks it."""

    setup: ChainSetup
    place: Any
    known: Any  # the graphs to jump among, and those to splice from
    stretch: Leg
    budget: Budget


class Walked(NamedTuple):
    """What comes back; not complete when time was up on the way."""

    place: Any
    notes: Any
    complete: bool


def walk_stretch(piece: Piece) -> Walked:
    """Walk one stretch of one chain."""
    graph, *_ = piece.place
    chains = piece.setup.core([graph], seed=0)
    chains.put(0, piece.place)
    jumps, memory = piece.known
    chains.set_jumps(jumps)
    chains.add_to_memory(memory)
    complete = _walk_here(chains, piece.stretch, piece.budget, lambda _: None)
    return Walked(chains.place(0), chains.notes(0), complete)


@dataclass(frozen=True, eq=False)
class _Pieces(Sequence[Piece]):
    """A stretch of every chain, made when it is asked for: the clock is running."""

    chains: _core.StructureChains
    n_chains: int
    setup: ChainSetup
    known: Any
    stretch: Leg
    budget: Budget

    def __len__(self) -> int:
        return self.n_chains

    def __getitem__(self, c: Any) -> Any:
        return Piece(
            self.setup, self.chains.place(c), self.known, self.stretch, self.budget.for_task(0)
        )
