"""The command line: ``bowfree COMMAND``; one file per command.

Results go to standard output, messages to standard error. The exit code is 0 when all went well,
1 when the input could not be used, 2 when the command was called the wrong way. Errors are one
sentence; ``--debug`` in front of the command shows where they come from. The files of the
commands import what they need inside the functions, so that ``bowfree --help`` costs little more
than Python with NumPy.
"""

from __future__ import annotations

import warnings
from typing import Any, TextIO

import click

from bowfree import __version__
from bowfree.cli.convert import convert
from bowfree.cli.demo import demo
from bowfree.cli.fit import fit
from bowfree.cli.sample import sample
from bowfree.errors import BowfreeError

__all__ = ["main"]


class _Commands(click.Group):
    """A group whose commands fail with one sentence instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except (BowfreeError, OSError) as error:
                if ctx.params["debug"]:
                    raise
                raise click.ClickException(str(error)) from error


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one sentence; which line of the package it comes from helps nobody."""
    click.echo(f"Warning: {message}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bowfree")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Learn causal structure in the presence of hidden confounders.

    The model is a bow-free acyclic path diagram: x -> y is a direct effect, x <-> y a hidden common
    cause. Start with `bowfree demo`.
    """


for _command in (demo, fit, sample, convert):
    main.add_command(_command)
