"""``bowfree compare``: several graphs on the same data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import naming, print_json, print_result
from bowfree.formats import FORMATS, read
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import read_text

_NAMED = re.compile(r"\s*([\w.-]+)\s*=(.*)", re.DOTALL)


@click.command(
    epilog='Example: bowfree compare plants.csv --graph "arrow=sun -> leaves, water" '
    '--graph "both=sun -> leaves <- water"'
)
@data_options
@click.option(
    "--graph",
    "graphs",
    multiple=True,
    metavar="[NAME=]TEXT",
    help='A graph, as in "x -> y, y <-> z"; say it again for each graph.',
)
@click.option(
    "--graph-file",
    "graph_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with a graph, which is then named after the file.",
)
@click.option(
    "--format",
    "graph_format",
    type=click.Choice(FORMATS),
    help="Format of the files; it is never guessed. [default: text]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def compare(
    graphs: tuple[str, ...],
    graph_files: tuple[Path, ...],
    graph_format: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit several graphs to DATA and test every pair of them.

    Nested graphs are compared by the difference of their chi-squares, others by Vuong's test; which
    are nested is decided exactly.
    """
    import bowfree as bf

    if graph_format is not None and not graph_files:
        raise click.UsageError("--format belongs to --graph-file")
    named: dict[str, MixedGraph] = {}
    for k, text in enumerate(graphs, start=1):
        said = _NAMED.fullmatch(text)
        name, content = (said[1], said[2]) if said else (f"G{k}", text)
        with naming("--graph"):
            _put(named, name, read(content, format="text"))
    for path in graph_files:
        with naming("--graph-file"):
            _put(named, path.stem, read(read_text(path), format=graph_format or "text"))
    if len(named) < 2:
        raise click.UsageError("give two graphs or more, each with its own --graph or --graph-file")
    nodes = dict.fromkeys(node for graph in named.values() for node in graph.nodes)
    result = bf.compare(named, **read_source(**given).arguments(tuple(nodes)))
    if as_json:
        print_json(result.to_dict())
    else:
        print_result(result)


def _put(named: dict[str, MixedGraph], name: str, graph: MixedGraph) -> None:
    if name in named:
        raise click.UsageError(f"two graphs are called {name}; name them: --graph 'name=x -> y'")
    named[name] = graph
