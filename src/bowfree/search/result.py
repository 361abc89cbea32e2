"""Results of searches: the best graph, the runs that found it, and graphs with similar scores.

:class:`LearnedGraph` has the methods that :class:`SearchResult` shares with
:class:`bowfree.search.ExhaustiveResult`.

A greedy search by itself proves nothing (:mod:`bowfree.search.proof` may do so afterwards), but the
runs of its first round are independent. If many of them end at the best score, a better graph is
unlikely (:class:`SearchConfidence`). The probability that one exists was
estimated in simulations (``benchmarks/bench_confidence.py``): five searches with other seeds were
run on the same data, and it was counted how often one of them found a better graph. Up to twelve
variables this is rare. Beyond, it depends mostly on the density of the best graph, then on the
number of runs that reached its score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bowfree.data.moments import Moments
from bowfree.data.sample import NonGaussianRows
from bowfree.errors import WorkInterrupted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import describe
from bowfree.model.context import Context, ScoringRule
from bowfree.model.fitting import fit, fit_moments
from bowfree.parallel.budget import Progress
from bowfree.parameters import Rng, StandardErrorKind, TestKind, public
from bowfree.results.display import Table, TextDisplay, count, percent, shorten_list, significant
from bowfree.results.graph_display import GraphDisplay, Reportable
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict, to_plain
from bowfree.space.search_space import SearchSpace

if TYPE_CHECKING:
    from bowfree.equivalence.class_members import EquivalenceClass
    from bowfree.equivalence.mark_evidence import MarkEvidence
    from bowfree.model.fit_result import Fit
    from bowfree.uncertainty.average_result import AveragedEffects

# Scores closer than this are equal: equivalent graphs differ by rounding only.
TOLERANCE = 1e-9


RELIABLE = 0.1  # largest probability of a better graph of a reliable search
FEW_NODES = 12  # beyond, the probability is that of a logistic regression
MISSED = {True: 0.025, False: 0.051}  # 4 of 162 and 7 of 138 searches, by `runs_agree`
# Coefficients of 1, edges per variable, and log(1 + arrivals), from 228 searches on 38 data sets
# with 15 to 50 variables.
LOG_ODDS = (-3.78, 1.92, -0.43)


def runs_agree(independent: int, at_best: int) -> bool:
    """Return whether at least one in eight of the independent runs ended at the best score."""
    return at_best >= max(1, independent // 8)


def missed_probability(
    independent: int, at_best: int, arrivals: int, n_nodes: int, n_edges: int
) -> float:
    """Return the probability that a complete search has missed a better graph."""
    if n_nodes <= FEW_NODES:
        return MISSED[runs_agree(independent, at_best)]
    predictors = (1.0, n_edges / n_nodes, math.log1p(arrivals))
    odds = math.exp(math.fsum(a * x for a, x in zip(LOG_ODDS, predictors, strict=True)))
    return odds / (1.0 + odds)


@dataclass(frozen=True, repr=False)
class SearchConfidence(TextDisplay, ToDict):
    """How likely it is that a search has found the best graph.

    Attributes
    ----------
    runs, at_best : int
        Number of runs, and of those that ended at the best score.
    independent, independent_at_best : int
        The same counts among the independent runs, those of the first round.
    arrivals : int
        Number of runs that reached the best score from a lower one.
    missed : float
        Estimated probability that five times as many runs would find a better graph. NaN if the
        search was ended early or errors are non-Gaussian, and 0 if the best graph is proved.
    proved : bool
        Whether no graph of the search space is better.
    proof : str
        What is proved: that, or that no graph of a part of the space is better. Empty if nothing is.
    """

    runs: int
    at_best: int
    independent: int
    independent_at_best: int
    arrivals: int
    missed: float
    proved: bool = False
    proof: str = ""

    @property
    def runs_agree(self) -> bool:
        """Whether at least one in eight of the independent runs ended at the best score."""
        return runs_agree(self.independent, self.independent_at_best)

    @property
    def reliable(self) -> bool:
        """Whether the graph is proved best, or the runs agree and 10 % at most miss a better one."""
        return self.proved or (self.runs_agree and self.missed <= RELIABLE)

    def _headline(self) -> str:
        return (
            f"{self.at_best} of {self.runs} runs ended at the best score, among them "
            f"{self.independent_at_best} of the {self.independent} independent runs"
        )

    def _sections(self) -> Iterator[str]:
        yield self._headline()
        if self.proof:
            yield self.proof
        if not (self.proved or math.isnan(self.missed)):
            yield f"in simulations, {percent(self.missed)} of such searches missed a better graph"
        if self.runs_agree and math.isnan(self.missed):
            yield "how often such a search misses a better graph is unknown: try another seed as well"
        elif not self.reliable:
            beyond = " outside of these" if self.proof else ""
            yield f"a better graph may exist{beyond}: search with more restarts or with another seed"


class ScoredGraph(NamedTuple):
    """A graph with its score."""

    graph: MixedGraph
    score: float

    def __repr__(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        return f"<ScoredGraph: {nodes}, {edges}, score {self.score:.6f}>"

    def __str__(self) -> str:
        return f"{shorten_list(describe(self.graph), '.graph has all')} (score {self.score:.6f})"


@dataclass(frozen=True, repr=False)
class SearchRun(TextDisplay, ToDict):
    """One run of a search.

    Attributes
    ----------
    strategy : {"climb", "sparse", "dag-first", "kicks"}
        Kind of run, see :mod:`bowfree.search.greedy`.
    start, end : MixedGraph
        First and best graph of the run.
    score : float
        Score of `end`.
    path : tuple of float
        Score of `start`, followed by each score that was better than all before it.
    complete : bool
        False if a time limit or an interrupt ended the run early.
    hit_work_limit : bool
        True if the run ended at its work limit. This happens beyond twelve variables, when
        districts become very large.
    seconds : float
        Run time.
    work : float
        Number of multiplications needed for all scores of the run, whether computed or cached.
    fits, cache_hits, candidates : int
        Districts fitted, districts whose score was in the cache, and moves whose gain was computed.
        Which of two runs fits a district that both need depends on timing; these counts and
        `seconds` are the only numbers of a search that vary from call to call.
    """

    strategy: str
    start: MixedGraph
    end: MixedGraph
    score: float
    path: tuple[float, ...]
    complete: bool
    hit_work_limit: bool
    seconds: float
    work: float
    fits: int
    cache_hits: int
    candidates: int

    def _headline(self) -> str:
        early = "" if self.complete else ", ended early"
        if self.hit_work_limit:
            early = ", ended at its work limit"
        return (
            f"{self.strategy}, score {self.path[0]:.6f} to {self.score:.6f}, "
            f"{count(self.fits, 'district')} fitted in {self.seconds:.2f} s{early}"
        )

    def _sections(self) -> Iterator[str]:
        yield self._headline()
        yield f"start: {shorten_list(str(self.start), '.start has all')}"
        yield f"end: {shorten_list(str(self.end), '.end has all')}"


@dataclass(frozen=True, repr=False)
class SearchSummary(RowTable, ToDict):
    """The edges of the best graph, with a description of the search.

    Attributes
    ----------
    lines : tuple of str
        Description of the search.
    rows : tuple of Row
        One row for each edge, see :meth:`SearchResult.to_frame`.
    """

    lines: tuple[str, ...]
    rows: tuple[Row, ...]

    def _headline(self) -> str:
        return f"{count(len(self.rows), 'edge')}; {self.lines[0]}"

    def _sections(self) -> Iterator[str | Table]:
        yield from self.lines
        cells = [
            (f"{row.a} {row.mark} {row.b}", significant(row.estimate), percent(row.in_best_graphs))
            for row in self.rows
        ]
        yield Table(("edge", "estimate", "in best graphs"), cells)


class LearnedGraph(GraphDisplay, Reportable):
    """Base of the results of searches: a graph with the data and the space it was learned from."""

    if TYPE_CHECKING:
        moments: Moments
        space: SearchSpace
        rule: ScoringRule
        score: Any  # a number, as a field or as a property
        notes: tuple[str, ...]

        @property
        def best_graphs(self) -> tuple[MixedGraph, ...]:
            """The graphs with the best score."""

    holdout: Moments | None = None

    def _context(self) -> Context:
        return Context(self.graph, self.moments, self.holdout, self.space, self.rule, learned=True)

    @property
    def penalty(self) -> float:
        """Penalty of each node and edge, in units of ``log n``."""
        return self.rule.weight

    def _content(self) -> dict[str, Any]:
        """Return the beginning of the dictionary of :meth:`to_dict`."""
        return {
            "graph": str(self.graph),
            "score": self.score,
            "n": self.moments.n,
            "penalty": self.penalty,
            "notes": list(self.notes),
            "space": self.space.to_dict(),
        }

    @public
    def fit(
        self,
        holdout: Any = None,
        *,
        se: StandardErrorKind | None = None,
        test: TestKind | None = None,
        n_bootstrap: int = 1000,
        n_starts: int | None = None,
        rng: Rng = None,
    ) -> Fit:
        """Fit the best graph; :func:`bowfree.fit` has more options.

        Parameters
        ----------
        holdout : array_like of shape (n, d), data frame or Moments, optional
            Rows that were not used by the search. By default those that the search has set aside.
            If there are none, the rows of the search are used, with a warning.
        """
        return fit(
            self, holdout, se=se, test=test, n_bootstrap=n_bootstrap, n_starts=n_starts, rng=rng
        )

    @public
    def equivalence_class(
        self,
        *,
        method: Literal["exact", "edge-changes", "colliders"] = "exact",
        limit: int | None = None,
        rng: Rng = None,
        time_limit: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> EquivalenceClass:
        """Return the graphs of the search space that are equivalent to the best one.

        Parameters
        ----------
        method : {"exact", "edge-changes", "colliders"}
            See :func:`bowfree.equivalence_class`.
        """
        from bowfree.equivalence.classes import equivalence_class

        return equivalence_class(
            self, method=method, limit=limit, rng=rng, time_limit=time_limit, progress=progress
        )

    def mark_evidence(self) -> MarkEvidence:
        """Return which evidence decided each mark: covariances, knowledge or non-Gaussianity.

        The pairs of adjacent variables are taken as given. A mark was decided by covariances if all
        equivalent graphs have it, by knowledge if only those have it that knowledge permits.

        Examples
        --------
        >>> import bowfree as bf
        >>> import numpy as np
        >>> e = np.random.default_rng(1).exponential(size=(500, 2))
        >>> data = {"x": e[:, 0], "y": e[:, 0] + e[:, 1]}
        >>> result = bf.greedy_search(data, errors="nongaussian", rng=1)
        >>> row = result.mark_evidence()[0]
        >>> row.a, row.mark, row.b, row.evidence
        ('x', '->', 'y', 'non-Gaussianity')
        """
        from bowfree.equivalence.mark_evidence import mark_evidence

        return mark_evidence(self._context())

    @public
    def averaged_effects(
        self,
        *,
        penalty: float = 0.5,
        confidence: float = 0.95,
        steps: int = 40_000,
        max_steps: int | None = None,
        rng: Rng = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        time_limit: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> AveragedEffects:
        """Average effects and edges over probable graphs; :func:`bowfree.averaged_effects` has more.

        Parameters
        ----------
        penalty : float
            Penalty of the posterior, by default that of the usual BIC, whatever that of the search.
        steps : int
            Number of steps of each of the chains that sample graphs.
        max_steps : int, optional
            Largest number of steps of each chain that has not mixed.
        """
        from bowfree.uncertainty.averaging import averaged_effects

        return averaged_effects(
            self,  # type: ignore[arg-type]  # the result of a search
            penalty=penalty,
            confidence=confidence,
            steps=steps,
            max_steps=max_steps,
            rng=rng,
            n_jobs=n_jobs,
            executor=executor,
            time_limit=time_limit,
            progress=progress,
        )

    def summary(self) -> SearchSummary:
        """Return the edges of the best graph, with a description of the search; printable."""
        fitted = fit_moments(self.graph, self.holdout or self.moments, self.rule)
        place = self.graph.nodes.index
        counts = Counter(edge for graph in self.best_graphs for edge in graph.edges)
        rows = tuple(
            Row(
                a=a,
                mark=mark,
                b=b,
                estimate=float((fitted.B if mark == "->" else fitted.Omega)[place(b), place(a)]),
                in_best_graphs=counts[a, mark, b] / len(self.best_graphs),
            )
            for a, mark, b in self.graph.edges
        )
        return SearchSummary(tuple(map(str, self._sections())), rows)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the edges of the best graph as a data frame, one row for each edge.

        The columns ``a``, ``mark``, ``b`` name the edge, such as x -> y or x <-> y. ``estimate`` is
        its coefficient, or the covariance of the errors for ``<->``, fitted to the holdout rows if
        there are any. ``in_best_graphs`` is the share of the graphs with the best score that
        contain the edge with this mark; it is less than 1 if the data do not determine the edge.
        """
        return self.summary().to_frame(backend)


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(LearnedGraph):
    """The result of :func:`bowfree.greedy_search`.

    Attributes
    ----------
    graph : MixedGraph
        The best graph, the first of `best_graphs`.
    score : float
        Its score.
    runs : tuple of SearchRun
        All runs, in a fixed order.
    best_graphs : tuple of MixedGraph
        All distinct graphs found that have the best score (within 1e-9).
    pool : tuple of ScoredGraph
        The best distinct graphs of all runs, best first, within the score window.
    moments : Moments
        The data of the search.
    space : SearchSpace
        The graphs considered: class, limits, knowledge.
    rule : ScoringRule
        The score: its penalty, and the method of the fits.
    complete : bool
        False if a time limit or an interrupt ended the search early.
    proved : bool
        Whether it is proved that no graph of the space has a better score (by more than 1e-9).
    proof : str
        What is proved, see :class:`SearchConfidence`.
    seconds : float
        Run time.
    settings : mapping
        Options of the search that differ from their defaults.
    holdout : Moments or None
        Rows that were set aside before the search; :meth:`fit` uses them.
    targets : tuple of Row
        For conditions with ``targets="learn"``: a row for each condition and variable, with
        ``condition``, ``variable``, ``probability`` and ``chosen``. The probability compares sets of
        targets with and without the variable: the chosen set and those that differ from it by one
        change. Each has weight ``exp(n * score)`` of its best graph, given the targets of the other
        conditions. `moments` contains the chosen targets.
    notes : tuple of str
        Limits and penalties that were derived from the data, and other remarks.
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
    targets: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    proved: bool = False
    proof: str = ""

    @property
    def hit_work_limit(self) -> bool:
        """Whether a run ended at its work limit."""
        return any(run.hit_work_limit for run in self.runs)

    @property
    def confidence(self) -> SearchConfidence:
        """How likely it is that the search has found the best graph."""
        at_best = [run for run in self.runs if run.score >= self.score - TOLERANCE]
        independent = sum(run.strategy != "kicks" for run in self.runs)
        agreeing = sum(run.strategy != "kicks" for run in at_best)
        arrivals = sum(run.path[0] < self.score - TOLERANCE for run in at_best)
        missed = 0.0 if self.proved else float("nan")
        if (
            self.complete
            and not self.proved
            and not isinstance(self.moments.sample, NonGaussianRows)
        ):
            n_nodes, n_edges = len(self.graph), self.graph.n_edges
            missed = missed_probability(independent, agreeing, arrivals, n_nodes, n_edges)
        return SearchConfidence(
            len(self.runs),
            len(at_best),
            independent,
            agreeing,
            arrivals,
            missed,
            self.proved,
            self.proof,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists and numbers."""
        return self._content() | {
            "complete": self.complete,
            "proved": self.proved,
            "confidence": to_plain(self.confidence),
            "seconds": self.seconds,
            "best_graphs": [str(graph) for graph in self.best_graphs],
            "targets": [target.to_dict() for target in self.targets],
            "pool": [{"graph": str(graph), "score": score} for graph, score in self.pool],
            "runs": [run.to_dict() for run in self.runs],
        }

    def _headline(self) -> str:
        nodes, edges = count(len(self.graph), "node"), count(self.graph.n_edges, "edge")
        early = "" if self.complete else ", ended early"
        return f"{nodes}, {edges}, score {self.score:.6f}, {count(len(self.runs), 'run')}{early}"

    def _sections(self) -> Iterator[str]:
        fits = sum(run.fits for run in self.runs)
        cached = sum(run.cache_hits for run in self.runs)
        yield f"best graph: {shorten_list(describe(self.graph), '.graph has all')}"
        yield (
            f"score {self.score:.6f} (n = {self.moments.n:g}, penalty {self.penalty:g}), shared by "
            f"{count(len(self.best_graphs), 'graph')} found"
        )
        yield from self.moments.notes
        yield from self.notes
        if self.targets:
            chosen = [
                f"{target.variable} in {target.condition} (P = {target.probability:.3f})"
                for target in self.targets
                if target.chosen
            ]
            yield f"learned targets: {', '.join(chosen) or 'none'}"
        if not self.complete:
            yield "the search was ended early: a longer one may find a better graph"
        yield from (self.confidence._sections() if self.complete else [self.confidence._headline()])
        yield f"{fits:,} districts fitted, {cached:,} found in the cache; {self.seconds:.2f} s"


class SearchInterrupted(WorkInterrupted):
    """Ctrl-C during a search; its ``result`` is the one so far, with ``complete=False``."""

    def __init__(self, result: SearchResult) -> None:
        super().__init__(result)
        self.args = ("search interrupted; the best graph so far is in .result",)
