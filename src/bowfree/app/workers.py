"""Work beside the conversation: threads that think while the page goes on being edited.

Two kinds. What follows from the drawn graph (the best changes, its class) is worth knowing for the
newest graph only: :class:`Newest` drops what was overtaken before it began. What was asked for and
may take long (a search, a bootstrap) is an :class:`Errand`: one at a time, with progress, and it
can be stopped. The core releases the interpreter while it works, so both leave room for the rest.

Python ends without its daemon threads, and one that comes back from the core then takes the process
with it. So sessions are closed before (:mod:`bowfree.app.session`), and closing waits.

A search looks up ten times a second to see whether Ctrl-C was pressed, and so does all that is made
of searches. Ctrl-C reaches the main thread only; an errand is stopped by the same exception, set in
its own thread.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

from bowfree.parallel.budget import Progress

_EVERY = 0.2  # seconds between two reports of progress
PATIENCE = 5.0
"""Seconds that whatever is under way has to end in, once nobody wants it any more."""

_IDLE = 5.0  # seconds after which a thread without a task ends; the next task begins another


class Newest:
    """A thread that does the newest task it was given."""

    def __init__(self) -> None:
        self._task: Callable[[], None] | None = None
        self._changed = threading.Condition()
        self._busy = self._closed = False
        self._thread: threading.Thread | None = None

    def give(self, task: Callable[[], None]) -> None:
        """Have a task done after the one under way; one that still waits is forgotten."""
        with self._changed:
            if self._closed:
                return
            self._task = task
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to do; say whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: self._task is None and not self._busy, seconds)

    def close(self) -> None:
        """End the thread after the task under way, which is waited for a little."""
        with self._changed:
            self._closed, self._task = True, None
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(PATIENCE)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._task is not None or self._closed, _IDLE)
                task, self._task = self._task, None
                if task is None:
                    self._thread = None
                    return
                self._busy = True
            try:
                task()
            finally:
                del task  # and with it the session, if nobody else wants it
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()


class Errand:
    """One long call in a thread of its own.

    Parameters
    ----------
    kind : str
        What is done: "search", "bootstrap", ...
    task : callable
        Given a ``progress`` callback for a function of this package; returns its result.
    tell : callable
        Called with the progress a few times a second.
    end : callable
        Called once, with the result and with the exception that ended it, one of them None. An
        errand that was stopped ends with a :class:`KeyboardInterrupt`, as Ctrl-C would have it;
        that of a search brings what was found so far.
    """

    def __init__(
        self,
        kind: str,
        task: Callable[[Callable[[Progress], None]], Any],
        tell: Callable[[Progress], object],
        end: Callable[[Any, BaseException | None], None],
    ) -> None:
        self.kind = kind
        self.progress: Progress | None = None
        self.stopping = False
        self._task, self._tell, self._end = task, tell, end
        self._turn = threading.Lock()  # to stop it, or to see that it has ended
        self._under_way = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._told = 0.0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end, which it does within a fraction of a second."""
        with self._turn:
            if self._under_way and not self.stopping and self._thread.ident is not None:
                thread = ctypes.c_ulong(self._thread.ident)
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, interrupt)
            self.stopping = True

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; say whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self._tell(progress)

    def _work(self) -> None:
        result: Any = None
        problem: BaseException | None = None
        try:
            result = self._task(self._report)
            with self._turn:
                self._under_way = False
        except BaseException as error:
            # Whatever ended it, the page has to hear of it: nobody waits for this thread.
            problem = error
            with self._turn:
                self._under_way = False
        self._end(result, problem)
