"""Print results, messages, JSON and progress, in the words of the command line.

Library messages name parameters as ```max_district``` or ``penalty='ebic'``. :func:`in_options`
replaces them by the options ``--max-district`` and ``--penalty ebic``; everything that a command
prints passes through it.
"""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from bowfree.errors import BowfreeError
from bowfree.formats.csv_text import write_line
from bowfree.results.display import Table

if TYPE_CHECKING:
    from bowfree.parallel.budget import Progress

WIDTH = 80
"""Largest number of characters in a line of prose."""

_LONGEST_ERROR = 1000  # characters; a name in an error may be of any length
_SAME_NAME = (
    "cov n ddof columns drop na separator decimal encoding sheet missing ordinal nominal clusters errors correlation "
    "weights shrinkage conditions targets kind means max_in_degree max_district max_edges "
    "knowledge strategy restarts steps max_steps penalty smallest_effect holdout "
    "confidence max_false limit time_limit method se test interval baseline fixed_x"
)
OPTIONS = {name: "--" + name.replace("_", "-") for name in _SAME_NAME.split()} | {
    "data": "DATA",
    "max_classes": "the limit on classes",
    "graph_class": "--class",
    "n_jobs": "--jobs",
    "executor": "--scheduler",
    "rng": "--seed",
    "n_resamples": "--resamples",
    "n_halves": "--resamples",
    "n_bootstrap": "--resamples",
}
"""Parameters of the library and the options that set them."""

_PHRASES = {
    "see to_frame()": "--json prints all",
    "folder=": "--sachs",
    "to_frame() has all": "--json prints all",
    " (graph.identified() shows which coefficients data determine)": "",
    "averaged_effects": "`bowfree effects` without a graph",
}
# `name`, "name must be" at the start, name='word', name=1 or name = 1
# data.drop(columns=['a', 'b']), drop=['a', 'b'], ordinal=['a', 'b'] and nominal=['a', 'b']
_COLUMNS = re.compile(r"data\.(drop)\(columns=(\[.*?\])\)|(?<!\w)(drop|ordinal|nominal)=(\[.*?\])")
_PARAMETER = re.compile(
    r"""`([a-z_]+)`|(?:^|(?<=:\ ))([a-z_]+)(?=\ must\ )
    |(?<![\w.])([a-z_]{2,})\ ?=\ ?(?:'([^']*)'|"([^"]*)"|(?=\d|nan|inf))""",
    re.VERBOSE,
)


def in_options(text: str) -> str:
    """Replace the Python names in a message by the options of the command line.

    Examples
    --------
    >>> from bowfree.cli.terminal import in_options
    >>> in_options("try penalty='ebic', or raise `time_limit`")
    'try --penalty ebic, or raise --time-limit'
    """

    def option(found: re.Match[str]) -> str:
        quoted, first, assigned, *values = found.groups()
        name = OPTIONS.get(quoted or first or assigned)
        if name is None:
            return found[0]
        if name in ("--se", "--test") and command != "fit":
            name = f"`bowfree fit` {name}"
        return f"{name} {values[0] or values[1] or ''}" if assigned else name

    context = click.get_current_context(silent=True)
    command = "" if context is None else context.info_name
    for phrase, replacement in _PHRASES.items():
        text = text.replace(phrase, replacement)
    with suppress(ValueError, SyntaxError):  # a name may contain anything
        text = _COLUMNS.sub(_columns_option, text)
    return _PARAMETER.sub(option, text)


def _columns_option(found: re.Match[str]) -> str:
    """Return an option with names of columns, quoted for a shell."""
    name, columns = (text for text in found.groups() if text is not None)
    return f"--{name} {shlex.quote(write_line(literal_eval(columns)).rstrip())}"


def say(text: str) -> None:
    """Print a message to standard error; on a terminal, break its lines between words."""
    text = in_options(text)
    # A closed pipe, or a full disk, must not end a computation that has a warning.
    with suppress(OSError):
        click.echo(_wrap(text, WIDTH) if is_terminal(sys.stderr) else text, err=True)


def echo(text: str, *, nl: bool = True) -> None:
    """Print a result; an error names standard output."""
    try:
        click.echo(text, nl=nl)
    except OSError as error:
        error.filename = "standard output"
        raise


def is_terminal(stream: Any) -> bool:
    """Return whether a standard stream is a terminal; a closed one is None."""
    return stream is not None and bool(stream.isatty())


def show(sections: Iterable[str | Table]) -> None:
    """Print lines and tables; on a terminal, a table that is too wide continues below itself."""
    width = get_terminal_size().columns if is_terminal(sys.stdout) else None
    context = click.get_current_context(silent=True)
    style = "text" if context is None else context.find_root().params["tables"]
    above: str | Table = ""
    for part in sections:
        if isinstance(part, str):
            lines = [_wrap(in_options(line), WIDTH) for line in part.split("\n")]
            if style == "apa":
                lines = [f"<p>{html.escape(in_options(part))}</p>"] if part else []
        else:
            table = replace(part, rest=in_options(part.rest))
            writers = {"markdown": table.markdown, "latex": table.latex, "apa": table.apa}
            write = writers.get(style) if table.headings or style == "apa" else None
            lines = table.lines(width) if write is None else write()
            lines = [""] * isinstance(above, Table) + lines
        echo("\n".join(lines))
        above = part


def _wrap(line: str, width: int) -> str:
    width = min(width, get_terminal_size().columns)
    indent = "  " if line.startswith("! ") else ""
    return fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def show_or_json(result: Any, as_json: bool) -> None:
    """Print a result as text, or as one JSON document."""
    if as_json:
        print_json(result.to_dict())
    else:
        show(result._sections())


def print_json(content: Any) -> None:
    """Print one JSON document."""
    echo(json.dumps(content, indent=2))


def describe_error(error: Exception) -> str:
    """Return one sentence for an error that ends a command."""
    if isinstance(error, MemoryError):
        return "there is not enough memory; use fewer variables or rows"
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start : error.start + 1]
        return (
            f"the output encoding ({error.encoding}) cannot represent {character!a}; "
            "set PYTHONUTF8=1"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)[:100]}: {error.strerror}"
    lines = str(error).split("\n")  # the last one often is an option that can be copied
    return "\n".join(
        line if len(line) <= _LONGEST_ERROR else f"{line[:_LONGEST_ERROR]}..." for line in lines
    )


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Put the name of an option in front of the errors that its value causes."""
    try:
        yield
    except (BowfreeError, OSError) as error:
        raise BowfreeError(f"{option}: {describe_error(error)}") from error


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[Progress], None] | None]:
    """Draw a progress bar on standard error, if that is a terminal; yield its callback or None."""
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(doing),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[what]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=1, what="…")

        def update(progress: Any) -> None:
            best = progress.best_score
            what = progress.what + ("" if best is None else f", best score {best:.4f}")
            bar.update(task, completed=progress.done, total=progress.planned, what=what)

        yield update
