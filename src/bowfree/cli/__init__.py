"""The command line, ``bowfree COMMAND``.

Results go to standard output, messages to standard error. The exit code is 0 on success, 2 if the
options are wrong, and 1 if the input cannot be used, after a signal, or if a result could not be
computed, printed or written. An error is one sentence; ``bowfree --debug COMMAND`` prints its
traceback. After Ctrl-C or SIGTERM, all results that are finished are printed and written.

- ``terminal``: printing, progress, and the names of options in library messages
- ``work``: computations that signals may end, and files
- ``options``, ``tables``: options that commands share, for graphs, searches and data
- ``learn``, ``data_commands``, ``graph_commands``, ``programs``: the commands

The module of a command is imported when the command runs, so that ``bowfree --help`` is fast.
"""

from __future__ import annotations

import sys
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import IO, Any

import click

from bowfree import __version__
from bowfree.cli.terminal import describe_error, in_options, say
from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr

COMMANDS = {
    "demo": ("programs", "Analyze an example data set and explain the result."),
    "learn": ("learn", "Learn a graph from data."),
    "bootstrap": ("data_commands", "Repeat the search on resampled data."),
    "fit": ("data_commands", "Fit the parameters of a given graph to data."),
    "app": ("programs", "Draw, fit and compare graphs in your browser."),
    "compare": ("data_commands", "Compare several graphs on the same data."),
    "effects": ("data_commands", "Estimate causal effects."),
    "paths": (
        "data_commands",
        "Estimate direct and indirect effects, and their sensitivity to hidden causes.",
    ),
    "adjust": ("graph_commands", "List the variables to adjust for, and instruments."),
    "equiv": ("graph_commands", "List the graphs that are equivalent to a graph."),
    "design": ("graph_commands", "Rank possible experiments by what they would reveal."),
    "convert": ("graph_commands", "Convert a graph to another format."),
    "sample": ("graph_commands", "Draw data from a graph or a fitted model."),
    "simulate": ("graph_commands", "Draw a random graph, parameters and data."),
    "study": ("programs", "Repeat the studies of the paper."),
}
"""The module and the one-line help of each command."""


class _Failure(click.ClickException):
    """An error that ends a command."""

    def show(self, file: IO[Any] | None = None) -> None:
        say(f"Error: {in_options(self.message)}")


class _Commands(click.Group):
    """Import commands when they are called, and turn library errors into one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"bowfree.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = get_close_matches(args[0], COMMANDS, n=1)
        if close and args[0] not in COMMANDS:
            ctx.fail(f"No such command {short_repr(args[0])}; did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        if sys.stdout is None:
            raise _Failure("standard output is closed; redirect it to a file, or to /dev/null")
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"Warning: {message}")
            try:
                return super().invoke(ctx)
            except BrokenPipeError:  # click handles it
                raise
            except (BowfreeError, OSError, MemoryError, UnicodeEncodeError) as error:
                if ctx.params["debug"]:
                    raise
                raise _Failure(describe_error(error)) from error


_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(cls=_Commands, context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="bowfree")
@click.option("--debug", is_flag=True, help="Print the traceback of an error.")
@click.option(
    "--tables",
    type=click.Choice(["text", "markdown", "latex", "apa"]),
    default="text",
    help="Format of printed tables; apa is HTML that word processors open.",
)
def main(debug: bool, tables: str) -> None:
    """Learn causal structure in the presence of hidden confounders.

    The model is a bow-free acyclic path diagram: x -> y is a direct effect, x <-> y a hidden common
    cause. Start with `bowfree demo`.
    """
