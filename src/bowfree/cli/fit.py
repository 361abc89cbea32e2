"""``bowfree fit``: maximum likelihood for a given graph."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bowfree.cli.graphs import graph_options, read_graph

__all__ = ["fit"]


@click.command(
    epilog='Example: bowfree fit plants.csv --graph "sun -> leaves <- water, leaves <-> fruit"'
)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@graph_options
@click.option("--cov", is_flag=True, help="DATA is a covariance matrix with named columns.")
@click.option("--n", type=float, help="Number of observations behind the covariance matrix.")
@click.option(
    "--ddof",
    type=click.Choice(["0", "1"]),
    default="1",
    show_default=True,
    help="The covariance matrix has divisor n - ddof.",
)
@click.option(
    "--penalty",
    type=float,
    default=1.0,
    show_default=True,
    help="Weight of log n per node and edge in the score; 0.5 is the usual BIC.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def fit(
    data: Path,
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    cov: bool,
    n: float | None,
    ddof: str,
    penalty: float,
    as_json: bool,
) -> None:
    """Fit the parameters of a graph to DATA (.csv, .tsv or .parquet with named columns)."""
    import bowfree as bf
    from bowfree.tables import read_table

    bap = read_graph(graph, graph_file, graph_format)
    table = read_table(data)
    if cov:
        if n is None:
            raise click.UsageError("--cov needs --n, the number of observations")
        result = bf.fit(bap, cov=table, n=n, ddof=int(ddof), penalty=penalty)
    else:
        if n is not None:
            raise click.UsageError("--n belongs to --cov; the rows of DATA are counted")
        result = bf.fit(bap, table, penalty=penalty)
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else result.summary())
