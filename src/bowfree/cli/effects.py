"""``bowfree effects``: bounds on causal effects, whichever equivalent graph is true."""

from __future__ import annotations

import click

from bowfree.cli.graphs import graph_options
from bowfree.cli.tables import Source, data_options
from bowfree.cli.terminal import print_json
from bowfree.graph import MixedGraph

__all__ = ["effects"]


@click.command(epilog="Example: bowfree effects plants.csv --graph-file results/graph.txt")
@data_options
@graph_options
@click.option(
    "--limit", type=click.IntRange(min=1), help="Most equivalent graphs. [default: 1000000]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def effects(source: Source, graph: MixedGraph, limit: int | None, as_json: bool) -> None:
    """Bound every total effect over all graphs that are equivalent to a given one.

    If the cause is changed by one unit from outside, the effect changes by an amount between
    `lower` and `upper`. Where all equivalent graphs agree on the sign, + or - says which.
    """
    import bowfree as bf

    bounds = bf.effect_bounds(
        bf.equivalence_class(graph), **source.arguments(graph.nodes), limit=limit
    )
    if as_json:
        print_json(bounds.to_dict())
    else:
        click.echo(str(bounds))
