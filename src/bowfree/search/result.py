"""What a search returns: the best graph, how it was found, and what came close.

The result of :func:`bowfree.greedy_search`. Its pool (the best distinct graphs met) is what model
averaging works on; its best graph stands for a whole equivalence class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bowfree.data.moments import Moments
from bowfree.errors import WorkInterrupted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.scoring_rule import ScoringRule
from bowfree.results.display import TextDisplay, count, shorten_list
from bowfree.results.graph_display import GraphDisplay
from bowfree.results.serialization import ToDict, to_plain
from bowfree.search.confidence import Ending, Sureness, judge
from bowfree.shortcuts import FoundShortcuts
from bowfree.space.search_space import SearchSpace


class ScoredGraph(NamedTuple):
    """A graph with its score."""

    graph: MixedGraph
    score: float

    def __repr__(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        return f"<ScoredGraph: {nodes}, {edges}, score {self.score:.6f}>"

    def __str__(self) -> str:
        return f"{shorten_list(str(self.graph), '.graph has all')} (score {self.score:.6f})"


@dataclass(frozen=True, repr=False)
class SearchRun(TextDisplay, ToDict):
    """One run of a search.

    Attributes
    ----------
    strategy : {"climb", "sparse", "dag-first", "kicks"}
        What the run did, see :func:`bowfree.greedy_search`.
    start, end : MixedGraph
        Where it began and ended.
    score : float
        Score of the end.
    path : tuple of float
        Score of the start, then of every graph on the way that was better than all before it.
    complete : bool
        False when the run was cut short by a time limit or an interrupt.
    exhausted : bool
        True when the run ended because it had done the work set aside for one run, with the best
        graph it had met; beyond twelve variables, where districts have become very large.
    seconds : float
        Time taken.
    work : float
        Multiplications behind all scores that it asked for, whoever had done them.
    fits, cache_hits, candidates : int
        Districts fitted, districts whose score was known, moves whose gain was worked out. Which
        of two runs fits a district that both need depends on who comes first; these counts, and
        the time, are the only numbers of a search that are not the same every time.
    """

    strategy: str
    start: MixedGraph
    end: MixedGraph
    score: float
    path: tuple[float, ...]
    complete: bool
    exhausted: bool
    seconds: float
    work: float
    fits: int
    cache_hits: int
    candidates: int

    def _headline(self) -> str:
        early = "" if self.complete else ", ended early"
        if self.exhausted:
            early = ", ended when its work was done"
        return (
            f"{self.strategy}, score {self.path[0]:.6f} to {self.score:.6f}, "
            f"{count(self.fits, 'district')} fitted in {self.seconds:.2f} s{early}"
        )

    def _sections(self) -> Iterator[str]:
        yield self._headline()
        yield f"from: {shorten_list(str(self.start), '.start has all')}"
        yield f"to: {shorten_list(str(self.end), '.end has all')}"


@dataclass(frozen=True, repr=False)
class LearnedTarget(TextDisplay, ToDict):
    """Whether a variable was set from outside in a condition that does not know its targets.

    Attributes
    ----------
    condition, variable : str
        Where, and which.
    probability : float
        Weight of sets of targets of the condition that have this one, against the same sets without
        it: the set found, and those that are one change away from it. Each has the graph that suits
        it best, and weighs ``exp(n * score)``; other conditions have their targets as found.
    chosen : bool
        Whether it is a target in the result.
    """

    condition: str
    variable: str
    probability: float
    chosen: bool

    def _headline(self) -> str:
        return f"{self.variable} in {self.condition}: P(target) = {self.probability:.3f}"


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(GraphDisplay, FoundShortcuts):
    """The result of a search.

    Attributes
    ----------
    graph : MixedGraph
        The best graph; of several with equal score the first of `best_graphs`.
    score : float
        Its score.
    runs : tuple of SearchRun
        All runs, in a fixed order.
    best_graphs : tuple of MixedGraph
        The distinct graphs met whose score equals the best one's (within 1e-9).
    pool : tuple of ScoredGraph
        The best distinct graphs met over all runs, best first, within the score window.
    moments : Moments
        The data as the search saw them.
    space : SearchSpace
        The graphs considered: class, limits, knowledge.
    rule : ScoringRule
        How graphs were scored: penalty, and method of the fits.
    complete : bool
        False when a time limit or an interrupt ended the search early.
    seconds : float
        Time taken.
    settings : mapping
        Options of the search that were not left to their defaults, for the record.
    holdout : Moments or None
        Rows put aside, which the search has not seen; :meth:`fit` uses them.
    targets : tuple of LearnedTarget
        Of conditions with ``targets="learn"``: every variable in every such condition. `moments`
        have the targets that were chosen.
    notes : tuple of str
        What the data made of the options and could not go without saying: limits where
        observations are few, a penalty that depends on them.

    See Also
    --------
    bowfree.greedy_search, bowfree.exhaustive_search
    """

    graph: MixedGraph
    score: float
    runs: tuple[SearchRun, ...]
    best_graphs: tuple[MixedGraph, ...]
    pool: tuple[ScoredGraph, ...]
    moments: Moments
    space: SearchSpace
    rule: ScoringRule
    complete: bool
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    holdout: Moments | None = None
    targets: tuple[LearnedTarget, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def penalty(self) -> float:
        """Penalty per node and edge, in units of ``log n``."""
        return self.rule.weight

    @property
    def exhausted(self) -> bool:
        """Whether a run ended because it had done the work set aside for it."""
        return any(run.exhausted for run in self.runs)

    @property
    def sureness(self) -> Sureness:
        """How sure the search can be that there is no better graph."""
        return judge(
            [Ending(run.path[0], run.score, run.strategy != "kicks") for run in self.runs],
            self.score,
            n_nodes=len(self.graph),
            n_edges=self.graph.n_edges,
            complete=self.complete,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers."""
        return {
            "graph": str(self.graph),
            "score": self.score,
            "n": self.moments.n,
            "penalty": self.penalty,
            "notes": list(self.notes),
            "space": self.space.to_dict(),
            "complete": self.complete,
            "sureness": to_plain(self.sureness),
            "seconds": self.seconds,
            "best_graphs": [str(graph) for graph in self.best_graphs],
            "targets": [target.to_dict() for target in self.targets],
            "pool": [{"graph": str(graph), "score": score} for graph, score in self.pool],
            "runs": [
                {
                    "strategy": run.strategy,
                    "start": str(run.start),
                    "end": str(run.end),
                    "score": run.score,
                    "path": list(run.path),
                    "complete": run.complete,
                    "exhausted": run.exhausted,
                    "seconds": run.seconds,
                    "work": run.work,
                    "fits": run.fits,
                    "cache_hits": run.cache_hits,
                    "candidates": run.candidates,
                }
                for run in self.runs
            ],
        }

    def _headline(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        early = "" if self.complete else ", ended early"
        return f"{nodes}, {edges}, score {self.score:.6f}, {count(len(self.runs), 'run')}{early}"

    def _sections(self) -> Iterator[str]:
        fits = sum(run.fits for run in self.runs)
        known = sum(run.cache_hits for run in self.runs)
        at_best = sum(run.score >= self.score - 1e-9 for run in self.runs)
        yield f"best graph: {shorten_list(str(self.graph), '.graph has all')}"
        yield (
            f"score {self.score:.6f} (n = {self.moments.n:g}, penalty {self.penalty:g}), "
            f"{count(len(self.best_graphs), 'graph')} met with it"
        )
        yield from self.moments.notes
        yield from self.notes
        if self.targets:
            chosen = [str(t) for t in self.targets if t.chosen]
            yield f"targets learned: {'; '.join(chosen) or 'none'}"
        yield (
            f"{count(len(self.runs), 'run')}, {at_best} ended there; "
            f"{fits:,} districts fitted, {known:,} known already; {self.seconds:.2f} s"
        )
        if not self.complete:
            yield "the search was ended early: a longer one may find better"
        elif not self.sureness.sure:
            yield from self.sureness._sections()


class SearchInterrupted(WorkInterrupted):
    """Ctrl-C during a search; what was found so far is in :attr:`result`.

    Attributes
    ----------
    result : SearchResult
        The best so far, with ``complete=False``.
    """

    def __init__(self, result: SearchResult) -> None:
        super().__init__(result)
        self.args = ("search interrupted; the best graph so far is in .result",)
