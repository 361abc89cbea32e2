"""``bowfree fit``: maximum likelihood for a given graph."""

from __future__ import annotations

import click

from bowfree.cli.graphs import graph_options
from bowfree.cli.tables import Source, data_options
from bowfree.cli.terminal import print_json
from bowfree.graph import MixedGraph

__all__ = ["fit"]


@click.command(
    epilog='Example: bowfree fit plants.csv --graph "sun -> leaves <- water, leaves <-> fruit"'
)
@data_options
@graph_options
@click.option(
    "--penalty",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Weight of log n per node and edge in the score; 0.5 is the usual BIC.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def fit(source: Source, graph: MixedGraph, penalty: float, as_json: bool) -> None:
    """Fit the parameters of a graph to DATA (.csv, .tsv or .parquet with named columns)."""
    import bowfree as bf

    result = bf.fit(graph, **source.arguments(graph.nodes), penalty=penalty)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(result.summary())
