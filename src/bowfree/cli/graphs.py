"""How a graph is given on the command line: as text, or as a file in a named format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bowfree.formats import FORMATS, read
from bowfree.graph import MixedGraph

__all__ = ["graph_options", "read_graph"]


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--graph``, ``--graph-file`` and ``--format`` to a command that takes ``graph``."""

    def with_graph(
        graph: str | None, graph_file: Path | None, graph_format: str | None, **options: Any
    ) -> Any:
        return command(graph=read_graph(graph, graph_file, graph_format), **options)

    # click reads the options off the function and its docstring for the help text.
    with_graph.__doc__ = command.__doc__
    with_graph.__name__ = command.__name__
    with_graph.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option(
            "--format",
            "graph_format",
            type=click.Choice(FORMATS),
            help="Format of the file; it is never guessed. [default: text]",
        ),
        click.option(
            "--graph-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A file with the graph.",
        ),
        click.option("--graph", metavar="TEXT", help='The graph, as in "x -> y, y <-> z".'),
    ):
        with_graph = option(with_graph)
    return with_graph


def read_graph(text: str | None, file: Path | None, format: str | None) -> MixedGraph:
    """Read the graph from whichever of the options was given."""
    if (text is None) == (file is None):
        raise click.UsageError("give the graph as one of --graph or --graph-file")
    if text is None and file is not None:
        text = file.read_text(encoding="utf-8")
    elif format is not None:
        raise click.UsageError("--format belongs to --graph-file")
    return read(str(text), format=format or "text")
