"""How a graph is given on the command line: as text, or as a file in a named format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bowfree.cli.terminal import naming, say
from bowfree.errors import ParseError
from bowfree.formats import FORMATS, LavaanModel, read, read_lavaan
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import read_text

lavaan_auto = click.option(
    "--auto",
    type=click.Choice(["sem", "none"]),
    default="sem",
    show_default=True,
    help="Read a lavaan text as sem() would, or only what is written.",
)

_OPTIONS = (
    lavaan_auto,
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
    """Add the options that say which graph is meant to a command; see `read_graph`."""
    for option in _OPTIONS:
        command = option(command)
    return command


def read_named(text: str, format: str, auto: str) -> MixedGraph | LavaanModel:
    """Return what a text in this format says; on what lavaan would add there is a message."""
    if format != "lavaan":
        return read(text, format=format)
    model = read_lavaan(text, auto=auto)  # type: ignore[arg-type]  # click knows the choices
    if model.note:
        say(f"note: {model.note} (--auto)", err=True)
    return model


def read_model(
    graph: str | None, graph_file: Path | None, graph_format: str | None, auto: str
) -> MixedGraph | LavaanModel:
    """Return the graph, or lavaan's model, that the options of `graph_options` name."""
    if graph is not None and graph_file is None:
        if graph_format is not None:
            raise click.UsageError("--format belongs to --graph-file")
        with naming("--graph"):
            return read(graph, format="text")
    if graph is None and graph_file is not None:
        with naming("--graph-file"):
            text = read_text(graph_file)
            try:
                return read_named(text, graph_format or "text", auto)
            except ParseError as error:
                if graph_format is None:
                    error.args = (f"{error}; if the file has another format, say so by --format",)
                raise
    raise click.UsageError("give the graph as one of --graph or --graph-file")


def read_graph(
    graph: str | None, graph_file: Path | None, graph_format: str | None, auto: str
) -> MixedGraph:
    """Return the graph that the options of `graph_options` name."""
    return graph_of(read_model(graph, graph_file, graph_format, auto))
