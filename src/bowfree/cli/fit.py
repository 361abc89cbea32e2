"""``bowfree fit``: maximum likelihood for a given graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bowfree.cli.graphs import graph_options, read_model
from bowfree.cli.numbers import Real
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json
from bowfree.formats import LavaanModel
from bowfree.graph.given import graph_of

__all__ = ["fit"]


@click.command(
    epilog='Example: bowfree fit plants.csv --graph "sun -> leaves <- water, leaves <-> fruit"'
)
@data_options
@graph_options
@click.option(
    "--penalty",
    type=Real(min=0),
    default=1.0,
    show_default=True,
    help="Weight of log n per node and edge in the score; 0.5 is the usual BIC.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def fit(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    penalty: float,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit the parameters of a graph to DATA (.csv, .tsv or .parquet with named columns)."""
    import bowfree as bf

    model = read_model(graph, graph_file, graph_format, auto)
    nodes = graph_of(model).nodes
    result = bf.fit(model, **read_source(**given).arguments(nodes), penalty=penalty)
    defined = None
    if isinstance(model, LavaanModel) and model.definitions:
        defined = model.defined(result)
    if as_json:
        print_json(result.to_dict() | ({"defined": defined.to_dict()} if defined else {}))
        return
    click.echo(result.summary())
    if defined:
        click.echo(f"\nDefined parameters\n{defined}")
