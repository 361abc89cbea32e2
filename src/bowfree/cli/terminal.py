"""What the commands show: a progress bar, tables, JSON, and which option an error is about.

The bar is drawn on standard error and only on a terminal. Tables go to standard output; where that
is a pipe or a file they are plain text, as wide as they need to be.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bowfree.errors import BowfreeError
from bowfree.text_input import brief

if TYPE_CHECKING:
    from bowfree.budget import Progress

__all__ = ["naming", "print_json", "print_table", "progress_bar"]


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Put the option in front of the errors that its value causes."""
    try:
        yield
    except BowfreeError as error:
        error.args = (f"{option}: {error}",)
        raise
    except OSError as error:
        name = brief(str(error.filename))
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

    On a terminal that is too narrow, texts go on in the next line, between words.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        right = heading.endswith(">")
        table.add_column(
            heading.removesuffix(">"), justify="right" if right else "left", no_wrap=right
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(file=sys.stdout, highlight=False)
    # A pipe has no edge. On a terminal the columns of text share what the numbers leave; where that
    # is less than a word needs, the terminal has to break the line.
    texts = [k for k, heading in enumerate(headings) if not heading.endswith(">")]
    widest = {k: max(len(row[k]) for row in [headings, *rows]) + 3 for k in range(len(headings))}
    words = {
        k: max(len(word) for row in [headings, *rows] for word in row[k].split()) + 3 for k in texts
    }
    needed = widest | words if console.is_terminal else widest
    console.width = max(console.width, sum(needed.values()))
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    click.echo("\n".join(lines).strip("\n"))


def print_json(content: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, indent=2))
