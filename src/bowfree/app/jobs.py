"""Work in threads, so that the page can be edited meanwhile.

Analyses of the current graph matter for the latest graph only: :class:`LatestTask` drops tasks that
were replaced before they started. Searches, bootstraps, averages and reports run one at a time,
with progress, and can be stopped: :class:`BackgroundJobs` runs them and keeps their results. The
core releases the interpreter lock while it works.

The interpreter does not wait for daemon threads when it exits, and a thread that then returns from
the core would crash the process. Sessions are therefore closed before (:mod:`bowfree.app.session`).
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from bowfree.app.editing import Drawing
from bowfree.app.views import View, graph_view, shares_view
from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.parallel.budget import Progress
from bowfree.results.display import count
from bowfree.results.serialization import to_plain
from bowfree.search.greedy import greedy_search
from bowfree.search.result import ScoredGraph, SearchResult
from bowfree.text_reading import truncate
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.uncertainty.search_bootstrap import BootstrapResult, bootstrap
from bowfree.visualization.report import render
from bowfree.visualization.report.content import AVERAGE_SECONDS, MAX_AVERAGED
from bowfree.visualization.warnings import search_warnings

if TYPE_CHECKING:
    from bowfree.app.session import Session

_PROGRESS_INTERVAL = 0.2  # seconds between two progress messages
_CLOSE_TIMEOUT = 5.0  # seconds to wait for a job when a session is closed
_MAX_CANDIDATES = 40  # near-optimal graphs that are listed
_SAME_SCORE = 1e-9

_log = logging.getLogger("bowfree.app")
# Warning filters belong to the process: one thread at a time may change them.
_filter_lock = threading.Lock()


@contextlib.contextmanager
def ignore_warnings() -> Iterator[None]:
    """Suppress Python warnings: the page shows its own."""
    with _filter_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def error_text(error: BaseException, context: str = "") -> str:
    """Return the message of an error for the page; log an unexpected one with its context."""
    if not isinstance(error, BowfreeError):
        _log.error(context, exc_info=error)
        return f"internal error ({type(error).__name__}); see the log"
    text = str(error)  # it may contain a very long name
    return text if len(text) <= 1000 else f"{truncate(text[:1000])}..."


class LatestTask:
    """A thread that runs the latest task it was given."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1)
        self._future: Future[None] | None = None

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task after the current one, in place of one that is still waiting."""
        if self._future is not None:
            self._future.cancel()
        with contextlib.suppress(RuntimeError):  # the session was closed
            self._future = self._executor.submit(task)

    def wait(self, seconds: float) -> bool:
        """Wait until there is no task; return whether that is the case."""
        end = time.monotonic() + seconds
        while (future := self._future) is not None:
            if wait([future], max(0.0, end - time.monotonic())).not_done:
                return False
            if future is self._future:  # the task has not submitted another one
                return True
        return True

    def close(self) -> None:
        """End the thread after the current task."""
        self._executor.shutdown(cancel_futures=True)


class _Job(threading.Thread):
    """The thread of a job, and its progress."""

    def __init__(self, kind: str, number: int, work: Callable[[_Job], None]) -> None:
        super().__init__(target=work, args=(self,), daemon=True)
        self.kind, self.number = kind, number
        self.progress: Progress | None = None
        self.stopping, self.running = False, True
        self.lock = threading.Lock()  # between stopping and ending

    def stop(self) -> None:
        """Ask the job to end, which it does within a fraction of a second.

        Searches check ten times a second for Ctrl-C, which reaches the main thread only. The same
        exception is therefore set in the thread of the job.
        """
        with self.lock:
            if self.running and not self.stopping and self.ident is not None:
                thread = ctypes.c_ulong(self.ident)
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, interrupt)
            self.stopping = True


class BackgroundJobs:
    """The current job of a session, and the results of earlier ones."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._job: _Job | None = None
        self._n_jobs = 0
        self._result: SearchResult | None = None
        self._search_text = ""  # the result in a line
        self.candidates: list[tuple[ScoredGraph, int]] = []
        self.last_search: tuple[Mapping[str, Any], Drawing] | None = None  # options, and the start
        self.shares: View | None = None
        self.report_file: str | None = None

    # --- the current job ---

    def stop(self) -> View:
        """Stop the current job."""
        if self._job is None:
            raise BowfreeError("nothing is running")
        self._job.stop()
        return self._announce()

    def close(self) -> None:
        """Stop the current job and wait for it."""
        if (job := self._job) is not None:
            job.stop()
            job.join(_CLOSE_TIMEOUT)

    def wait(self, seconds: float) -> bool:
        """Wait until no job is running; return whether that is the case."""
        if (job := self._job) is not None:
            job.join(seconds)
        return job is None or not job.is_alive()

    def job_view(self) -> View | None:
        """Return the progress of the current job; None if there is none."""
        if (job := self._job) is None:
            return None
        progress = None if job.progress is None else to_plain(job.progress)
        view = {"number": job.number, "kind": job.kind}
        return view | {"progress": progress, "stopping": job.stopping}

    def _announce(self) -> View:
        view = {"job": self.job_view()}
        self._session.broadcast({"kind": "job", **view})
        return view

    def _run(
        self,
        kind: str,
        task: Callable[[dict[str, Any]], Any],
        keep: Callable[[Any], str],
        partial: type | tuple[()] = (),
        then: Callable[[], object] = lambda: None,
    ) -> View:
        """Call `task` in a thread with a budget; `keep` stores its result and describes it in a line.

        After :meth:`stop`, the task ends with a :class:`KeyboardInterrupt`, as after Ctrl-C. Its
        result so far is kept as well if it has the type `partial`; otherwise `then` is called last.
        """
        if self._job is not None:
            raise BowfreeError(f"a {self._job.kind} is running: stop it first, or wait")
        last = 0.0

        def work(job: _Job) -> None:
            result: Any = None
            problem: BaseException | None = None

            def report(progress: Progress) -> None:
                nonlocal last
                job.progress, now = progress, time.monotonic()
                if now - last >= _PROGRESS_INTERVAL:
                    last = now
                    self._announce()

            # One core is left for edits.
            budget = {"n_jobs": max(1, (os.cpu_count() or 2) - 1), "progress": report}
            try:
                result = task(budget)
                with job.lock:
                    job.running = False
            except BaseException as error:  # the page must learn of every end
                job.running, problem = False, error
            stopped = isinstance(problem, KeyboardInterrupt)
            if isinstance(problem, WorkInterrupted) and isinstance(problem.result, partial):
                result, problem = problem.result, None
            with self._session.lock:
                self._job = None
                text = "stopped without a result"
                if problem is None:
                    text = keep(result)
                elif not stopped:
                    text = error_text(problem, f"{kind} failed")
            failed = problem is not None and not stopped
            ended = {"job": kind, "number": job.number, "text": text, "failed": failed}
            self._session.broadcast({"kind": "job_ended", **ended})
            self._session.broadcast({"kind": "candidates", "candidates": self.candidates_view()})
            if self.shares is not None:
                self._session.broadcast({"kind": "shares", "shares": self.shares})
            if problem is None and not stopped:
                then()

        self._n_jobs += 1
        self._job = _Job(kind, self._n_jobs, work)
        self._job.start()
        return self._announce()

    # --- kinds of jobs ---

    def search(self, options: Mapping[str, Any], *, from_current: bool, average: bool) -> View:
        """Search for better graphs that the knowledge permits, also from the current graph.

        With `average`, probabilities of edges are computed afterwards if that takes seconds.
        """
        drawing, moments = self._session.drawing, self._session.moments
        all_options = ({"starts": [drawing.graph]} if from_current else {}) | dict(options)

        def keep(result: SearchResult) -> str:
            self._result, self.candidates = result, _one_per_score(result)
            self.last_search = all_options, drawing
            best = f"best score {result.score:.4f}, {count(len(result.best_graphs), 'graph')}"
            self._search_text = "; ".join([best, *str(result.confidence).splitlines()])
            if not result.complete:
                self._search_text = f"ended early: {best}; a longer search may find better graphs"
            return self._search_text

        def then() -> None:
            complete = self._result is not None and self._result.complete
            if average and complete and len(moments.names) <= MAX_AVERAGED:
                with contextlib.suppress(BowfreeError):  # another job was started meanwhile
                    self.average({"rng": options["rng"], "time_limit": AVERAGE_SECONDS})

        def task(budget: dict[str, Any]) -> SearchResult:
            known = drawing.knowledge
            return greedy_search(moments, knowledge=known, **all_options, **budget)

        return self._run("search", task, keep, SearchResult, then)

    def candidates_view(self) -> View | None:
        """Return the best graphs of the last search, one for each score, and its warnings."""
        if self._result is None:
            return None
        return {
            "text": self._search_text,
            "complete": self._result.complete,
            "seconds": self._result.seconds,
            "warnings": search_warnings(self._result),
            "graphs": [
                {"graph": graph_view(best.graph), "score": best.score, "count": n}
                for best, n in self.candidates
            ],
        }

    def bootstrap(self, n_resamples: int, seed: int) -> View:
        """Search on resampled rows, and count edges."""
        session = self._session
        data = session.moments if session.data is None else session.data
        search: dict[str, Any] = {
            "penalty": session.penalty,
            "knowledge": session.drawing.knowledge,
            "rng": seed,
        }
        search |= {"n_resamples": n_resamples, **session.options.changed}

        def keep(result: BootstrapResult) -> str:
            self.shares = {"of": "resamples", "rows": shares_view(result)}
            n = len(result.graphs)
            early = f"ended early: {n} of " if n < n_resamples else ""
            return f"{early}{count(n_resamples, 'resample')} searched"

        def task(budget: dict[str, Any]) -> BootstrapResult:
            return bootstrap(data, **search, **budget)

        return self._run("bootstrap", task, keep, BootstrapResult)

    def average(self, options: Mapping[str, Any]) -> View:
        """Compute probabilities of edges, starting from the last search."""
        if (result := self._result) is None:
            raise BowfreeError("averages start from the graphs of a search: search first")

        def keep(average: Any) -> str:
            self.shares = {"of": "probability", "rows": shares_view(average)}
            return f"averaged over {count(average.n_graphs, 'graph')}"

        def task(budget: dict[str, Any]) -> Any:
            return averaged_effects(result, **options, **budget)

        return self._run("average", task, keep)

    def report(self) -> View:
        """Write the report on the current graph, with checks of the rows if there are any."""
        fit, rows = self._session.fit, self._session.rows
        title = f"A graph for {self._session.origin.name}"
        if fit is None:
            raise BowfreeError("the current graph could not be fitted: there is nothing to report")

        def keep(html: str) -> str:
            self.report_file = html
            return "the report is finished"

        return self._run("report", lambda _: render(fit, data=rows, title=title), keep)


def _one_per_score(result: SearchResult) -> list[tuple[ScoredGraph, int]]:
    """Return the first graph of each score, and the number of graphs with this score.

    Graphs with the same score are nearly always equivalent.
    """
    found: list[tuple[ScoredGraph, int]] = []
    for scored in result.pool:
        if found and found[-1][0].score - scored.score < _SAME_SCORE:
            found[-1] = found[-1][0], found[-1][1] + 1
        elif len(found) == _MAX_CANDIDATES:
            break
        else:
            found.append((scored, 1))
    return found
