"""What takes long and was asked for: a search, a bootstrap, averages, a report; one at a time.

Each is an :class:`~bowfree.app.workers.Errand`. It is told when it begins, how far it is and how it
ended; what it found stays here until the next one of its kind: the graphs of the last search, and
the shares of edges over resamples or as probabilities.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from bowfree.app.editing import Board
from bowfree.app.messages import Message
from bowfree.app.views import seen_graph, seen_shares
from bowfree.app.workers import PATIENCE, Errand
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.model.fit_result import Fit
from bowfree.parallel.budget import Progress
from bowfree.results.display import count
from bowfree.results.serialization import to_plain
from bowfree.search.greedy import greedy_search
from bowfree.search.result import ScoredGraph, SearchResult
from bowfree.text_reading import truncate
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.uncertainty.search_bootstrap import BootstrapResult, bootstrap
from bowfree.visualization.report import render

_MOST_CANDIDATES = 40  # near-optimal graphs that are listed
_SAME_SCORE = 1e-9
_LONGEST = 100_000  # seconds that anything may be given
_LARGEST_SEED = 2**53 - 1  # JavaScript's whole numbers

_log = logging.getLogger("bowfree.app")

Answer = dict[str, Any]
Tell = Callable[[Answer], None]
Report = Callable[[Progress], None]


class LongWork:
    """The errand under way, and what earlier ones have brought.

    Parameters
    ----------
    moments : Moments
        The data as everything else sees them.
    data, options
        The rows and the options of the gate, for what has to draw them anew.
    lock : lock
        Held while what was found is put in its place.
    tell : callable
        Called with what all pages should know.
    """

    def __init__(
        self,
        moments: Moments,
        data: Any,
        options: Mapping[str, Any],
        lock: threading.RLock,
        tell: Tell,
    ) -> None:
        self._moments, self._data, self._options = moments, data, options
        self._lock, self._tell = lock, tell
        self._errand: Errand | None = None
        self._result: SearchResult | None = None
        self.candidates: list[tuple[ScoredGraph, int]] = []
        self.searched: tuple[Mapping[str, Any], Board] | None = None
        self.shares: Answer | None = None
        self.written: str | None = None  # the last report

    # --- one at a time ---

    def stop(self) -> Answer:
        """Ask what is under way to end."""
        if self._errand is None:
            raise BowfreeError("nothing is under way")
        self._errand.stop()
        return self._told()

    def close(self) -> None:
        """Stop what is under way, and wait a little for it."""
        errand = self._errand
        if errand is not None:
            errand.stop()
            errand.wait(PATIENCE)

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is under way; say whether that came about."""
        errand = self._errand
        return errand is None or errand.wait(seconds)

    def under_way(self) -> Answer | None:
        """Return how far the errand is; None when there is none."""
        errand = self._errand
        if errand is None:
            return None
        progress = None if errand.progress is None else to_plain(errand.progress)
        return {"errand": errand.kind, "progress": progress, "stopping": errand.stopping}

    def _told(self) -> Answer:
        self._tell({"kind": "errand", "errand": self.under_way()})
        return {"errand": self.under_way()}

    def _run(
        self,
        kind: str,
        task: Callable[[Report], Any],
        keep: Callable[[Any], str],
        keeps: type | tuple[()] = (),
    ) -> Answer:
        """Begin an errand; `keep` puts the result in its place, and says in a line what it is.

        A result of the type `keeps` is kept even if the errand was stopped before its end.
        """
        if self._errand is not None:
            raise BowfreeError(f"a {self._errand.kind} is under way: stop it first, or wait")

        def end(result: Any, problem: BaseException | None) -> None:
            early = isinstance(problem, KeyboardInterrupt)
            if isinstance(problem, WorkInterrupted) and isinstance(problem.result, keeps):
                result, problem = problem.result, None  # what it had found by then
            with self._lock:
                self._errand = None
                if problem is None:
                    said = keep(result)
                elif early:
                    said = "stopped before there was anything to show"
                elif isinstance(problem, BowfreeError):
                    said = brief_sentence(problem)
                else:
                    _log.error("an errand failed", exc_info=problem)
                    said = f"something went wrong inside ({type(problem).__name__})"
            failed = problem is not None and not early
            self._tell({"kind": "ended", "errand": kind, "said": said, "failed": failed})
            self._tell({"kind": "candidates", "candidates": self.seen_candidates()})
            if self.shares is not None:
                self._tell({"kind": "shares", "shares": self.shares})

        self._errand = Errand(kind, task, lambda progress: self._told(), end)
        self._errand.start()
        return self._told()

    # --- searches ---

    def search(self, board: Board, penalty: float, message: Message) -> Answer:
        """Look for better graphs within what is known, from the drawn one if wanted."""
        options = _budget(penalty, message)
        given: dict[str, Any] = {"starts": [board.graph]} if message.yes("from_drawn") else {}

        def task(progress: Report) -> SearchResult:
            return greedy_search(
                self._moments,
                knowledge=board.knowledge,
                n_jobs=_spare_cores(),
                progress=progress,
                **given,
                **options,
            )

        def keep(result: SearchResult) -> str:
            self._result, self.candidates = result, _one_of_each_score(result)
            self.searched = {**given, **options}, board
            best = (
                f"best score {result.score:.4f}, met in {count(len(result.best_graphs), 'graph')}"
            )
            if not result.complete:
                return f"ended early: {best}; a longer search may find better"
            return "; ".join([best, *str(result.confidence).splitlines()])

        return self._run("search", task, keep, SearchResult)

    def seen_candidates(self) -> Answer | None:
        """Return the best graphs of the last search, one for each score."""
        if self._result is None:
            return None
        return {
            "complete": self._result.complete,
            "seconds": self._result.seconds,
            "graphs": [
                {"graph": seen_graph(best.graph), "score": best.score, "alike": alike}
                for best, alike in self.candidates
            ],
        }

    # --- how sure ---

    def bootstrap(self, board: Board, penalty: float, message: Message) -> Answer:
        """Search on resampled rows, and count edges."""
        resamples = message.whole("resamples", 40, 10_000)
        seed = message.whole("seed", 0, _LARGEST_SEED)
        search = {"penalty": penalty, "knowledge": board.knowledge, **self._options}

        def task(progress: Report) -> Any:
            return bootstrap(
                self._moments if self._data is None else self._data,
                n_resamples=resamples,
                search=search,
                rng=seed,
                n_jobs=_spare_cores(),
                progress=progress,
            )

        def keep(result: Any) -> str:
            self.shares = {"of": "resamples", "rows": seen_shares(result)}
            done = len(result.graphs)
            if done < resamples:
                return f"ended early: {done} of {resamples} resamples searched"
            return f"{count(done, 'resample')} searched"

        return self._run("bootstrap", task, keep, BootstrapResult)

    def average(self, penalty: float, message: Message) -> Answer:
        """Work out probabilities of edges, beginning at what the last search has found."""
        result, options = self._result, _budget(penalty, message)
        if result is None:
            raise BowfreeError("averages begin at what a search has found: search first")

        def task(progress: Report) -> Any:
            return averaged_effects(result, n_jobs=_spare_cores(), progress=progress, **options)

        def keep(average: Any) -> str:
            self.shares = {"of": "probability", "rows": seen_shares(average)}
            return f"averaged over {count(average.n_graphs, 'graph')}"

        return self._run("average", task, keep)

    # --- the report ---

    def report(self, fit: Fit, title: str, rows: Any) -> Answer:
        """Write the report on a fit; with the rows, it looks at their distribution, too."""

        def task(progress: Report) -> str:
            return render(fit, data=rows, title=title)

        def keep(html: str) -> str:
            self.written = html
            return "the report is written"

        return self._run("report", task, keep)


def brief_sentence(error: Exception) -> str:
    """Return what an error says, cut where a name in it is endless."""
    text = str(error)
    return text if len(text) <= 1000 else f"{truncate(text[:1000])}..."


def _budget(penalty: float, message: Message) -> dict[str, Any]:
    """Return seed, time limit and penalty as options of the package, those that are not usual."""
    options: dict[str, Any] = {"rng": message.whole("seed", 0, _LARGEST_SEED)}
    if penalty != 1.0:
        options["penalty"] = penalty
    if message.has("seconds"):
        options["time_limit"] = message.real("seconds", 0.1, _LONGEST)
    return options


def _one_of_each_score(result: SearchResult) -> list[tuple[ScoredGraph, int]]:
    """Return the best graphs found, the first of each score, and how many share it.

    Graphs of one score are nearly always one class, of which the canvas shows the marks.
    """
    found: list[tuple[ScoredGraph, int]] = []
    for scored in result.pool:
        if found and found[-1][0].score - scored.score < _SAME_SCORE:
            found[-1] = found[-1][0], found[-1][1] + 1
        elif len(found) == _MOST_CANDIDATES:
            break
        else:
            found.append((scored, 1))
    return found


def _spare_cores() -> int:
    """Return how many threads long work may have: one core is left for the conversation."""
    return max(1, (os.cpu_count() or 2) - 1)
