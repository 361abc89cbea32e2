"""How a graph is given on the command line: as text, or as a file in a named format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bowfree.cli.terminal import naming
from bowfree.formats import FORMATS, read
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_input import read_text

__all__ = ["graph_options", "read_graph"]

_OPTIONS = (
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
)


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--graph``, ``--graph-file`` and ``--format`` to a command; see `read_graph`."""
    for option in _OPTIONS:
        command = option(command)
    return command


def read_graph(graph: str | None, graph_file: Path | None, graph_format: str | None) -> MixedGraph:
    """Return the graph that the options of `graph_options` name."""
    if graph is not None and graph_file is None:
        if graph_format is not None:
            raise click.UsageError("--format belongs to --graph-file")
        with naming("--graph"):
            return read(graph, format="text")
    if graph is None and graph_file is not None:
        with naming("--graph-file"):
            return read(read_text(graph_file), format=graph_format or "text")
    raise click.UsageError("give the graph as one of --graph or --graph-file")
