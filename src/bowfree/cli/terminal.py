"""What the commands show: a progress bar, tables, JSON, and which option an error is about.

What the library says of an argument, ``max_district=``, ``penalty='ebic'`` or "`time_limit`", is
said on a terminal in the words of the command: ``--max-district``, ``--penalty ebic``,
``--time-limit`` (:func:`in_options`).

The bar is drawn on standard error and only on a terminal. Tables go to standard output; where that
is a pipe or a file they are plain text, as wide as they need to be.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from bowfree.errors import BowfreeError
from bowfree.results.display import Table, TextDisplay, column_groups
from bowfree.text_reading import truncate

if TYPE_CHECKING:
    from bowfree.parallel.budget import Progress


_FEW_BROKEN = 0.25  # share of the rows of a table that may go on in the next line
_QUOTED_NAME, _GLUE = re.compile(r'"[^"]{1,40}"'), "\0"
_EDGES, _GAP = 2, 2  # characters that a table takes beside its columns, and between two of them


# Where an option has another name than the argument that it becomes.
_OTHER_NAMES = {
    "n_jobs": "jobs",
    "executor": "scheduler",
    "rng": "seed",
    "n_resamples": "resamples",
    "n_halves": "resamples",
    "n_bootstrap": "resamples",
}

# As the library writes arguments: `name`, or name=value, or "name = value:" in front of an error.
_ARGUMENT = re.compile(
    r"""(?<![\w.])(?:`(?P<quoted>[a-z_]+)`
      |(?P<name>[a-z_]{2,})(?:=(?:'(?P<text>[^']*)'|(?P<number>\d+(?:\.\d+)?)?(?![\w=]))
                         |\ =\ (?=\S+:)))""",
    re.VERBOSE,
)


def option_words(*commands: click.Command | None) -> dict[str, str]:
    """Return what a command calls the arguments of the library, and what another has beside it."""
    here, *others = commands
    found = {} if here is None else _own_words(here)
    for other in others:
        if other is not None:
            theirs = _own_words(other).items()
            found = {name: f"{other.name} {word}" for name, word in theirs} | found
    return found


def _words_here() -> dict[str, str]:
    """Return the words of the command that runs; of `fit` what only that has."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    root = context.find_root()
    group = root.command
    fit = group.get_command(root, "fit") if isinstance(group, click.Group) else None
    return option_words(context.command, fit)


def _own_words(command: click.Command) -> dict[str, str]:
    words = {}
    for param in command.params:
        name = str(param.name)
        words[name] = param.opts[0] if isinstance(param, click.Option) else name.upper()
    return words | {name: words[own] for name, own in _OTHER_NAMES.items() if own in words}


def in_options(text: str, words: Mapping[str, str] | None = None) -> str:
    """Say of a command's options what the library says of its arguments.

    Parameters
    ----------
    text : str
        A sentence of the library.
    words : mapping, optional
        Names of arguments, and what to call them; by default those of the command that runs.

    Examples
    --------
    >>> from bowfree.cli.terminal import in_options
    >>> words = {"penalty": "--penalty", "time_limit": "--time-limit"}
    >>> in_options("try penalty='ebic', or raise `time_limit`", words)
    'try --penalty ebic, or raise --time-limit'
    """
    words = _words_here() if words is None else words

    def option(found: re.Match[str]) -> str:
        word = words.get(found["quoted"] or found["name"])
        if word is None:
            return found[0]
        value = found["text"] or found["number"]
        if value:
            return f"{word} {value}"
        return f"{word} " if found[0].endswith(" = ") else word

    return _ARGUMENT.sub(option, text)


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Put the option in front of the errors that its value causes."""
    try:
        yield
    except BowfreeError as error:
        error.args = (f"{option}: {error}",)
        raise
    except OSError as error:
        name = truncate(str(error.filename))
        raise BowfreeError(f"{option}: {name}: {error.strerror}") from error


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar while something runs; gives its callback, or None when nobody watches."""
    if not sys.stderr.isatty():
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

        def show(progress: Any) -> None:
            best = progress.best_score
            what = progress.what + ("" if best is None else f", best score {best:.4f}")
            bar.update(task, completed=progress.done, total=progress.planned, what=what)

        yield show


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts; a heading that ends with `>` stands over numbers, set to the right.

    On a terminal that is too narrow, a few long texts go on in the next line, between words. Where
    that does not suffice, or would break many rows, the table goes on below itself, with its first
    column again, and then texts need not be broken unless they are longer than half a line.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    # A pipe has no edge. On a terminal the columns of text share what the numbers leave, as long as
    # that is enough for their longest word.
    texts = [k for k, heading in enumerate(headings) if not heading.endswith(">")]
    widest = {k: max(len(row[k]) for row in [headings, *rows]) for k in range(len(headings))}
    words = {
        k: max(len(word) for row in [headings, *rows] for word in row[k].split()) for k in texts
    }
    needed = list((widest | words if console.is_terminal else widest).values())
    room = console.width - _EDGES if console.is_terminal else None
    if room is not None and widest[0] <= room // 2:
        left = room - sum(width + _GAP for k, width in widest.items() if k > 0) - _GAP
        broken = sum(len(row[0]) > left for row in rows)
        if broken > _FEW_BROKEN * len(rows):
            needed = list(widest.values())
    for n, columns in enumerate(column_groups(needed, room, gap=_GAP)):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for k in columns:
            right = k not in texts
            table.add_column(
                headings[k].removesuffix(">"), justify="right" if right else "left", no_wrap=right
            )
        for row in rows:
            table.add_row(*(Text(row[k]) for k in columns))
        # A console prints nothing wider than itself.
        least = sum(needed[k] for k in columns) + _GAP * (len(columns) - 1) + _EDGES
        console.width = max(console.width, least)
        with console.capture() as captured:
            console.print(table)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        click.echo("\n" * (n > 0) + "\n".join(lines).strip("\n"))


def print_result(result: TextDisplay) -> None:
    """Print a result; on a terminal, tables go on below themselves and lines end between words."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(_InOptions(result)._text(width))


class _InOptions(TextDisplay):
    """A result with the words of the command in its sentences; tables hold the user's own."""

    def __init__(self, result: TextDisplay) -> None:
        self.result = result

    def _sections(self) -> Iterator[str | Table]:
        for part in self.result._sections():
            yield in_options(part) if isinstance(part, str) else part


def say(text: str, *, err: bool = False, most: int | None = None, hanging: str = "") -> None:
    """Print a sentence, whose lines end between words at the terminal's edge, about options.

    The words of a name in double quotes stay together.

    Parameters
    ----------
    text : str
        One line.
    err : bool
        Whether it goes to standard error.
    most : int, optional
        Characters of a line, even where there is no edge or it is farther.
    hanging : str
        In front of all lines but the first.
    """
    text = in_options(text)
    ends = [most] if most is not None else []
    if (sys.stderr if err else sys.stdout).isatty():
        ends.append(get_terminal_size().columns)
    if ends:
        text = fill(
            _QUOTED_NAME.sub(lambda name: name[0].replace(" ", _GLUE), text),
            width=min(ends),
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ).replace(_GLUE, " ")
    click.echo(text, err=err)


def print_json(content: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, indent=2))
