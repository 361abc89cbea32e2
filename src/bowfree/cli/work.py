"""The computations and the output of a command, arranged so that no finished result is lost.

A command calls :meth:`Work.begin` when its input is read, and :meth:`Work.end` last. In between,

- a signal (Ctrl-C, SIGTERM, SIGHUP) ends the computation of :meth:`Work.run`, and the command
  continues with the results so far; elsewhere it waits until the output is written, unless a second
  signal arrives;
- a file that cannot be written, or standard output that cannot, does not keep the command from
  writing the others.

:meth:`Work.end` reports what could not be written; the exit code is then 1, as after a signal.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from bowfree.cli.terminal import describe_error, progress_bar, say
from bowfree.errors import WorkersLost, WorkInterrupted
from bowfree.text_reading import join_names, replace_file

_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Work:
    """The work of one command."""

    def __init__(self) -> None:
        self.interrupted = self.failed = False
        self._n_waiting = 0  # signals outside of computations
        self._missing: list[str] = []  # parts that a signal has prevented
        self._not_written: dict[str, list[str]] = {}  # files by reason
        self._not_printed: Exception | None = None

    @classmethod
    def begin(cls) -> Work:
        """Begin the work of the current command: from here on, signals are handled."""
        work = cls()
        # Python permits it in the main thread only.
        if threading.current_thread() is threading.main_thread():
            click.get_current_context().with_resource(work._signals_handled())
        return work

    @contextmanager
    def _signals_handled(self) -> Iterator[None]:
        # A signal that is ignored, as SIGHUP under `nohup`, stays ignored.
        before = {n: signal.getsignal(n) for n in _SIGNALS}
        before = {n: handler for n, handler in before.items() if handler != signal.SIG_IGN}
        for number in before:
            signal.signal(number, self._handle)
        hook = sys.unraisablehook

        def unraisable(found: sys.UnraisableHookArgs) -> None:
            # Python drops an exception that a signal raises while an object is being finalized.
            # The computation then continues; those after it are skipped.
            if not isinstance(found.exc_value, KeyboardInterrupt):
                hook(found)

        sys.unraisablehook = unraisable
        try:
            yield
        finally:
            sys.unraisablehook = hook
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        inner = frame.f_back if frame is not None else None
        while inner is not None and inner.f_code is not _compute.__code__:
            inner = inner.f_back
        if inner is None:  # no computation, or one that has just ended
            self._n_waiting += 1
            if self._n_waiting < 2:
                return
        raise KeyboardInterrupt

    def run(
        self,
        what: str,
        function: Callable[..., Any],
        *arguments: Any,
        required: bool = False,
        strict: bool = False,
        short: bool = False,
        bar: str = "",
        **settings: Any,
    ) -> Any:
        """Return the result of a computation; a partial one, or None, after a signal or an error.

        After a signal, only `short` computations are run. Without a result that is `required`, the
        command ends; with `strict`, after an error only. On a terminal, a progress `bar` has this
        label.
        """
        result = None
        try:
            if bar and not self.interrupted:
                with progress_bar(bar) as progress:
                    result = _compute(function, arguments, settings | {"progress": progress})
            elif short or not self.interrupted:
                result = _compute(function, arguments, settings)
        except KeyboardInterrupt as stop:
            self.interrupted = True
            if isinstance(stop, WorkInterrupted):
                result = stop.result
        except Exception as error:
            if isinstance(error, WorkersLost):
                result = error.result
            if strict or (required and result is None):
                raise
            self._fail(what, error)
        if result is None and required:
            raise click.Abort
        if result is None and self.interrupted:
            self._missing.append(what)
        return result

    def _fail(self, what: str, error: Exception) -> None:
        self.failed = True
        if click.get_current_context().find_root().params.get("debug"):
            traceback.print_exc()
        say(f"Error: {what}: {describe_error(error)}")

    def output(self, show: Callable[..., None], *arguments: Any) -> None:
        """Print results; if this fails, the command continues and fails at its end."""
        try:
            show(*arguments)
        except (OSError, UnicodeEncodeError) as error:
            self._not_printed = error

    def save(self, path: Path, create: Callable[[], str | bytes], *, long: bool = False) -> None:
        """Write a result into a file, in one step; if this fails, the command continues.

        A signal ends the creation of the content if that may take `long`, and otherwise waits.
        """
        try:
            content = self.run(path.name, create, short=True) if long else create()
            if content is None:
                return
            text = content.rstrip("\n") + "\n" if isinstance(content, str) else content
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode() if isinstance(text, str) else text)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._not_written.setdefault(reason, []).append(str(path))
        except Exception as error:
            self._fail(path.name, error)
        else:
            say(f"wrote {path}")

    def end(self) -> None:
        """End the command, with exit code 1 unless all was computed, printed and written."""
        if self._missing:
            say(f"Warning: interrupted before {join_names(self._missing)}")
        for reason, files in self._not_written.items():
            other = "" if self._not_printed else "; the results are printed"
            say(f"Error: cannot write {join_names(files)}: {reason}{other}")
        if self._not_printed is not None:
            raise self._not_printed
        if self.interrupted or self.failed or self._not_written:
            sys.exit(1)


def _compute(
    function: Callable[..., Any], arguments: tuple[Any, ...], settings: dict[str, Any]
) -> Any:
    """Call a function; while this is on the stack, and not at its top, signals interrupt it."""
    return function(*arguments, **settings)
