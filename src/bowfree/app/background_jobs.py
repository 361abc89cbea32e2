"""Work in threads, so that the page can be edited meanwhile.

Analyses of the current graph matter for the latest graph only: :class:`LatestTask` drops tasks that
were replaced before they started. Searches, bootstraps, averages and reports run one at a time,
with progress, and can be stopped: :class:`Job` is one of them, and :class:`BackgroundJobs` keeps
their results. The core releases the interpreter lock while it works.

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
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from bowfree.app.editing import Drawing
from bowfree.app.views import View, graph_view, shares_view
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
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
from bowfree.visualization.report.content import MAX_AVERAGED
from bowfree.visualization.report.uncertainty import AVERAGE_SECONDS
from bowfree.visualization.warnings import search_warnings

_PROGRESS_INTERVAL = 0.2  # seconds between two progress messages
_CLOSE_TIMEOUT = 5.0  # seconds to wait for a job when a session is closed
_MAX_CANDIDATES = 40  # near-optimal graphs that are listed
_SAME_SCORE = 1e-9

_log = logging.getLogger("bowfree.app")

Broadcast = Callable[[View], None]
Report = Callable[[Progress], None]


def error_text(error: Exception) -> str:
    """Return the message of an error, truncated if it contains a very long name."""
    text = str(error)
    return text if len(text) <= 1000 else f"{truncate(text[:1000])}..."


def internal_error(error: BaseException, context: str) -> str:
    """Log an unexpected error; return a message for the page."""
    _log.error(context, exc_info=error)
    return f"internal error ({type(error).__name__}); see the log"


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


class Job:
    """A long call in a thread of its own.

    `task` is called with a ``progress`` callback, `on_progress` several times a second, and
    `finish` once, with the result and the exception, one of them None. A stopped job ends with a
    :class:`KeyboardInterrupt`, as after Ctrl-C; that of a search contains the result so far.
    """

    def __init__(
        self,
        kind: str,
        task: Callable[[Report], Any],
        on_progress: Callable[[], object],
        finish: Callable[[Any, BaseException | None], None],
    ) -> None:
        self.kind = kind
        self.progress: Progress | None = None
        self.stopping = False
        self._task, self._on_progress, self._finish = task, on_progress, finish
        self._lock = threading.Lock()  # between stopping and ending
        self._running = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._last_progress = 0.0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the job to end, which it does within a fraction of a second.

        Searches check ten times a second for Ctrl-C, which reaches the main thread only. The same
        exception is therefore set in the thread of the job.
        """
        with self._lock:
            if self._running and not self.stopping and self._thread.ident is not None:
                thread = ctypes.c_ulong(self._thread.ident)
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, interrupt)
            self.stopping = True

    def wait(self, seconds: float) -> bool:
        """Wait until the job has ended; return whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_INTERVAL:
            self._last_progress = now
            self._on_progress()

    def _work(self) -> None:
        result: Any = None
        problem: BaseException | None = None
        try:
            result = self._task(self._report)
            with self._lock:
                self._running = False
        except BaseException as error:  # the page must learn of every end
            self._running, problem = False, error
        self._finish(result, problem)


class BackgroundJobs:
    """The current job, and the results of earlier ones.

    `data` and `options` are the rows and how to read them, for bootstraps. `lock` is held while a
    result is stored; `broadcast` sends a message to all pages.
    """

    def __init__(
        self,
        moments: Moments,
        data: Any,
        options: DataOptions,
        lock: threading.RLock,
        broadcast: Broadcast,
    ) -> None:
        self._moments, self._data, self._options = moments, data, options
        self._lock, self._broadcast = lock, broadcast
        self._job: Job | None = None
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
        job = self._job
        if job is not None:
            job.stop()
            job.wait(_CLOSE_TIMEOUT)

    def wait(self, seconds: float) -> bool:
        """Wait until no job is running; return whether that is the case."""
        job = self._job
        return job is None or job.wait(seconds)

    def job_view(self) -> View | None:
        """Return the progress of the current job; None if there is none."""
        job = self._job
        if job is None:
            return None
        progress = None if job.progress is None else to_plain(job.progress)
        return {
            "number": self._n_jobs,
            "kind": job.kind,
            "progress": progress,
            "stopping": job.stopping,
        }

    def _announce(self) -> View:
        self._broadcast({"kind": "job", "job": self.job_view()})
        return {"job": self.job_view()}

    def _run(
        self,
        kind: str,
        task: Callable[[Report], Any],
        keep: Callable[[Any], str],
        partial: type | tuple[()] = (),
        then: Callable[[], object] = lambda: None,
    ) -> View:
        """Start a job; `keep` stores its result and describes it in a line.

        If the job is stopped, a result of the type `partial` is kept as well; otherwise `then` is
        called after it.
        """
        if self._job is not None:
            raise BowfreeError(f"a {self._job.kind} is running: stop it first, or wait")
        self._n_jobs = number = self._n_jobs + 1

        def finish(result: Any, problem: BaseException | None) -> None:
            stopped = isinstance(problem, KeyboardInterrupt)
            if isinstance(problem, WorkInterrupted) and isinstance(problem.result, partial):
                result, problem = problem.result, None
            with self._lock:
                self._job = None
                if problem is None:
                    text = keep(result)
                elif stopped:
                    text = "stopped without a result"
                elif isinstance(problem, BowfreeError):
                    text = error_text(problem)
                else:
                    text = internal_error(problem, f"{kind} failed")
            failed = problem is not None and not stopped
            ended = {"job": kind, "number": number, "text": text, "failed": failed}
            self._broadcast({"kind": "job_ended", **ended})
            self._broadcast({"kind": "candidates", "candidates": self.candidates_view()})
            if self.shares is not None:
                self._broadcast({"kind": "shares", "shares": self.shares})
            if problem is None and not stopped:
                then()

        self._job = Job(kind, task, self._announce, finish)
        self._job.start()
        return self._announce()

    # --- kinds of jobs ---

    def search(
        self,
        drawing: Drawing,
        options: Mapping[str, Any],
        *,
        from_current: bool,
        average: bool,
    ) -> View:
        """Search for better graphs that the knowledge permits, also from the current graph.

        With `average`, probabilities of edges are computed afterwards if that takes seconds.
        """
        all_options = ({"starts": [drawing.graph]} if from_current else {}) | dict(options)

        def task(progress: Report) -> SearchResult:
            return greedy_search(
                self._moments,
                knowledge=drawing.knowledge,
                n_jobs=_n_threads(),
                progress=progress,
                **all_options,
            )

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
            if average and complete and len(self._moments.names) <= MAX_AVERAGED:
                with contextlib.suppress(BowfreeError):  # another job was started meanwhile
                    self.average({"rng": options["rng"], "time_limit": AVERAGE_SECONDS})

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

    def bootstrap(self, drawing: Drawing, penalty: float, n_resamples: int, seed: int) -> View:
        """Search on resampled rows, and count edges."""
        search = {"penalty": penalty, "knowledge": drawing.knowledge, **self._options.changed}

        def task(progress: Report) -> BootstrapResult:
            return bootstrap(
                self._moments if self._data is None else self._data,
                n_resamples=n_resamples,
                **search,
                rng=seed,
                n_jobs=_n_threads(),
                progress=progress,
            )

        def keep(result: BootstrapResult) -> str:
            self.shares = {"of": "resamples", "rows": shares_view(result)}
            n = len(result.graphs)
            early = f"ended early: {n} of " if n < n_resamples else ""
            return f"{early}{count(n_resamples, 'resample')} searched"

        return self._run("bootstrap", task, keep, BootstrapResult)

    def average(self, options: Mapping[str, Any]) -> View:
        """Compute probabilities of edges, starting from the last search."""
        result = self._result
        if result is None:
            raise BowfreeError("averages start from the graphs of a search: search first")

        def task(progress: Report) -> Any:
            return averaged_effects(result, n_jobs=_n_threads(), progress=progress, **options)

        def keep(average: Any) -> str:
            self.shares = {"of": "probability", "rows": shares_view(average)}
            return f"averaged over {count(average.n_graphs, 'graph')}"

        return self._run("average", task, keep)

    def report(self, fit: Fit, title: str, rows: Any) -> View:
        """Write the report on a fit, with checks of the rows if there are any."""

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


def _n_threads() -> int:
    """Return the number of threads of a job: one core is left for edits."""
    return max(1, (os.cpu_count() or 2) - 1)
