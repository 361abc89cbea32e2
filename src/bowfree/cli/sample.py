"""``bowfree sample``: data from a graph with random parameters, or from a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bowfree.cli.folder import check_new_file
from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Whole
from bowfree.cli.terminal import naming
from bowfree.errors import ParseError
from bowfree.text_reading import load_json, read_text

if TYPE_CHECKING:
    from bowfree.model.linear_sem import LinearSEM


@click.command(epilog='Example: bowfree sample --graph "x -> y <-> z" --n 500 --seed 1 > data.csv')
@graph_options
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A model.json of `learn` or `simulate`, in place of a graph: its parameters are used.",
)
@click.option("--n", type=Whole(min=1), default=1000, show_default=True, help="Rows.")
@click.option("--seed", type=Whole(min=0), required=True, help="Seed: same seed, same data.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file for the data. [default: standard output]",
)
def sample(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    model: Path | None,
    n: int,
    seed: int,
    out: Path | None,
) -> None:
    """Draw data from a graph with random parameters (section 4.1 of the paper), as CSV."""
    import numpy as np

    import bowfree as bf
    from bowfree.datasets.tables import Table, write_table

    with naming("--out"):
        check_new_file(out)
    rng = np.random.default_rng(seed)
    if model is None:
        sem = bf.random_sem(read_graph(graph, graph_file, graph_format, auto), rng=rng)
    elif graph is None and graph_file is None and graph_format is None:
        with naming("--model"):
            sem = _read_model(model)
    else:
        raise click.UsageError("--model has its graph already; leave --graph and its like out")
    text = write_table(Table(sem.graph.nodes, sem.sample(n, rng=rng)))
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    click.echo(f"wrote {n} rows to {out}", err=True)


def _read_model(path: Path) -> LinearSEM:
    import bowfree as bf

    with naming("not a model.json"):
        content = load_json(read_text(path))
    if not (isinstance(content, dict) and {"graph", "B", "Omega"} <= content.keys()):
        raise ParseError(
            f"{path.name} is not a model.json with graph, B and Omega; `bowfree learn --out` "
            "writes one"
        )
    return bf.LinearSEM(bf.MixedGraph.from_dict(content["graph"]), content["B"], content["Omega"])
