"""``bowfree sample``: data from a graph with random parameters."""

from __future__ import annotations

from pathlib import Path

import click

from bowfree.cli.graphs import graph_options, read_graph

__all__ = ["sample"]


@click.command(epilog='Example: bowfree sample --graph "x -> y <-> z" --n 500 --seed 1 > data.csv')
@graph_options
@click.option("--n", type=click.IntRange(min=1), default=1000, show_default=True, help="Rows.")
@click.option(
    "--seed", type=click.IntRange(min=0), required=True, help="Seed: same seed, same data."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file for the data. [default: standard output]",
)
def sample(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    n: int,
    seed: int,
    out: Path | None,
) -> None:
    """Draw data from a graph with random parameters (section 4.1 of the paper), as CSV."""
    import numpy as np

    import bowfree as bf
    from bowfree.tables import Table, write_table

    admg = read_graph(graph, graph_file, graph_format)
    rng = np.random.default_rng(seed)
    text = write_table(Table(admg.nodes, bf.random_sem(admg, rng=rng).sample(n, rng=rng)))
    if out is None:
        click.echo(text, nl=False)
        return
    with out.open("x", encoding="utf-8") as file:  # "x": an existing file is not overwritten
        file.write(text)
    click.echo(f"wrote {n} rows to {out}", err=True)
