"""``bowfree effects``: bounds on causal effects, whichever equivalent graph is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Whole
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json

__all__ = ["effects"]


@click.command(epilog="Example: bowfree effects plants.csv --graph-file results/graph.txt")
@data_options
@graph_options
@click.option("--limit", type=Whole(min=1), help="Most equivalent graphs. [default: 1000000]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def effects(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    limit: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Bound every total effect over all graphs that are equivalent to a given one.

    If the cause is changed by one unit from outside, the effect changes by an amount between
    `lower` and `upper`. Where all equivalent graphs agree on the sign, + or - says which.
    """
    import bowfree as bf

    bap = read_graph(graph, graph_file, graph_format, auto)
    arguments = read_source(**given).arguments(bap.nodes)
    bounds = bf.effect_bounds(bf.equivalence_class(bap), **arguments, limit=limit)
    if as_json:
        print_json(bounds.to_dict())
    else:
        click.echo(str(bounds))
