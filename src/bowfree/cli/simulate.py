"""``bowfree simulate``: a random graph, random parameters, and data from them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bowfree.cli.folder import refuse_existing, write_folder
from bowfree.cli.numbers import Whole
from bowfree.cli.searches import class_option
from bowfree.cli.terminal import naming
from bowfree.parameters import GraphClass


@click.command(epilog="Example: bowfree simulate --nodes 10 --max-in-degree 2 --seed 1 --out truth")
@click.option("--nodes", type=Whole(min=1), required=True, help="Number of variables.")
@click.option("--n", type=Whole(min=1), default=1000, show_default=True, help="Rows.")
@click.option("--max-in-degree", type=Whole(min=0), help="Most arrowheads at a node.")
@click.option("--max-edges", type=Whole(min=0), help="Most edges.")
@class_option("Which graphs to draw from, uniformly.")
@click.option("--seed", type=Whole(min=0), required=True, help="Seed: same seed, same data.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A new folder for data, graph and model. [default: data on standard output]",
)
def simulate(
    nodes: int,
    n: int,
    max_in_degree: int | None,
    max_edges: int | None,
    graph_class: GraphClass,
    seed: int,
    out: Path | None,
) -> None:
    """Draw a random graph, its parameters (section 4.1 of the paper) and data, as CSV."""
    import numpy as np

    import bowfree as bf
    from bowfree.datasets.tables import Table, write_table

    with naming("--out"):
        refuse_existing(out)
    rng = np.random.default_rng(seed)
    graph = bf.random_bap(
        nodes,
        max_in_degree=max_in_degree,
        max_edges=max_edges,
        graph_class=graph_class,
        rng=rng,
    )
    model = bf.random_sem(graph, rng=rng)
    data = write_table(Table(graph.nodes, model.sample(n, rng=rng)))
    if out is None:
        click.echo(f"graph: {graph}", err=True)
        click.echo(data, nl=False)
        return
    write_folder(
        out,
        {
            "data.csv": data,
            "graph.txt": f"{graph}\n",
            "graph.svg": graph.to_svg(),
            "model.json": json.dumps(model.to_dict(), indent=2) + "\n",
        },
    )
    click.echo(str(graph))
