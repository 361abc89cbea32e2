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

__all__ = ["naming", "print_json", "print_table", "search_bar"]


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
def search_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar while a search runs; gives its callback, or None when nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("searching"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} runs, best score {task.fields[best]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("search", total=1, best="…")

        def show(progress: Any) -> None:
            best = "…" if progress.best_score is None else f"{progress.best_score:.4f}"
            bar.update(task, completed=progress.done, total=progress.planned, best=best)

        yield show


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts; a heading that ends with `>` stands over numbers, set to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        right = heading.endswith(">")
        table.add_column(
            heading.removesuffix(">"), justify="right" if right else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    wanted = sum(max(len(row[k]) for row in [headings, *rows]) + 3 for k in range(len(headings)))
    console = Console(file=sys.stdout, highlight=False)
    # Rich cuts cells that do not fit. A narrow terminal wraps the line instead, a pipe has no edge.
    if console.width < wanted:
        console.width = wanted
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    click.echo("\n".join(lines).strip("\n"))


def print_json(content: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, indent=2))
