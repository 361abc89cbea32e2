"""The command line: ``bowfree COMMAND``; one file per command.

Results go to standard output, messages to standard error. The exit code is 0 when all went well,
1 when the input could not be used, 2 when the command was called the wrong way. Errors are one
sentence; ``--debug`` in front of the command shows where they come from. Ctrl-C and SIGTERM end a
search with its best graph so far. The file of a command is
imported when the command is called, so that ``bowfree --help`` costs little more than Python with
NumPy.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import IO, Any, TextIO

import click

from bowfree import __version__
from bowfree.cli.terminal import in_options, option_words, say
from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr

__all__ = ["COMMANDS", "main"]

# Each is the function of the same name in the module of the same name.
COMMANDS = {
    "demo": "Analyze a shipped data set and say what was found.",
    "learn": "Learn a graph from data.",
    "bootstrap": "Learn again on resampled data, and say what comes back.",
    "fit": "Fit the parameters of a given graph to data.",
    "app": "Draw, fit and compare graphs live, in your browser.",
    "compare": "Compare several graphs on the same data.",
    "equiv": "Say which graphs no data can tell apart.",
    "design": "Say which experiment would tell most.",
    "effects": "Say how strongly each variable acts on the others.",
    "sample": "Draw data from a graph or a fitted model.",
    "simulate": "Draw a random graph, parameters and data.",
    "convert": "Write a graph in another format.",
    "study": "Repeat the studies of the paper.",
}


_LONGEST = 1000  # characters of an error; a name in it may be of any length


class _Commands(click.Group):
    """Commands that are imported when called, and fail with a sentence instead of a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"bowfree.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            if close:
                ctx.fail(f"No such command {short_repr(args[0])}; did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings(), _ended_like_ctrl_c():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except BrokenPipeError:  # whoever read the output has seen enough; click knows
                raise
            except (BowfreeError, OSError, MemoryError, UnicodeEncodeError) as error:
                if ctx.params["debug"]:
                    raise
                # The command's own context has ended by now.
                names = (ctx.invoked_subcommand or "", "fit")
                called = [self.get_command(ctx, name) for name in names]
                raise _Failure(in_options(_sentence(error), option_words(*called))) from error


class _Failure(click.ClickException):
    """What ends a command, as a sentence."""

    def show(self, file: IO[Any] | None = None) -> None:
        say(f"Error: {self.format_message()}", err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; make it smaller"
    if isinstance(error, UnicodeEncodeError):
        seen = error.object[error.start : error.start + 1]
        return f"the output's encoding ({error.encoding}) has no {seen!a}; set PYTHONUTF8=1"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = str(error)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: a search ends with its best graph so far.

    Schedulers and containers send it before they kill.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only there it is allowed
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one sentence; which line of the package it comes from helps nobody."""
    say(f"Warning: {message}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bowfree")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Learn causal structure in the presence of hidden confounders.

    The model is a bow-free acyclic path diagram: x -> y is a direct effect, x <-> y a hidden common
    cause. Start with `bowfree demo`.
    """
