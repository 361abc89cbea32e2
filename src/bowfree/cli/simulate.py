"""Commands that draw data: simulate and sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli import options as opt
from bowfree.cli.terminal import echo, naming, say
from bowfree.cli.work import Work
from bowfree.errors import ParseError
from bowfree.parameters import GraphClass
from bowfree.text_reading import load_json, read_text

if TYPE_CHECKING:
    from bowfree.model.linear_sem import LinearSEM

_rows_option = click.option("--n", type=opt.COUNT, default=1000, help="Number of rows.")
_seed_option = click.option(
    "--seed", type=opt.WHOLE, required=True, help="Seed; the same seed gives the same data."
)


@click.command(epilog="Example: bowfree simulate --nodes 10 --max-in-degree 2 --seed 1 --out truth")
@click.option("--nodes", type=opt.COUNT, required=True, help="Number of variables.")
@_rows_option
@opt.max_in_degree_option
@opt.shared_option("max_edges", type=opt.WHOLE)
@opt.class_option
@_seed_option
@click.option(
    "--out",
    type=opt.NewPath(),
    help="A new folder for data, graph and model. [default: data to standard output]",
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
    """Draw a random graph, its parameters (section 4.1 of the paper) and data, as CSV.

    The graph is drawn uniformly from its class.
    """
    import numpy as np

    import bowfree as bf
    from bowfree.datasets.tables import Table, write_table

    rng = np.random.default_rng(seed)
    graph = bf.random_bap(
        nodes, max_in_degree=max_in_degree, max_edges=max_edges, graph_class=graph_class, rng=rng
    )
    model = bf.random_sem(graph, rng=rng)
    data = write_table(Table(graph.nodes, model.sample(n, rng=rng)))
    if out is None:
        say(f"graph: {graph}")
        echo(data, nl=False)
        return
    work = Work.begin()
    work.output(echo, str(graph))
    work.save(out / "data.csv", lambda: data)
    work.save(out / "graph.txt", lambda: str(graph))
    work.save(out / "graph.svg", graph.to_svg, long=True)
    work.save(out / "model.json", lambda: json.dumps(model.to_dict(), indent=2))
    work.end()


@click.command(epilog='Example: bowfree sample --graph "x -> y <-> z" --n 500 --seed 1 > data.csv')
@opt.graph_options
@click.option(
    "--model",
    type=opt.EXISTING_FILE,
    help="A model.json of `learn` or `simulate`, in place of a graph, with its parameters.",
)
@_rows_option
@_seed_option
@click.option(
    "--out", type=opt.NewPath(), help="A new file for the data. [default: standard output]"
)
def sample(model: Path | None, n: int, seed: int, out: Path | None, **given: Any) -> None:
    """Draw data from a graph with random parameters (section 4.1 of the paper), as CSV."""
    import numpy as np

    import bowfree as bf
    from bowfree.datasets.tables import Table, write_table

    rng = np.random.default_rng(seed)
    if model is None:
        sem = bf.random_sem(opt.read_graph(given), rng=rng)
    elif given["graph"] is None and given["graph_file"] is None:
        with naming("--model"):
            sem = _read_model(model)
    else:
        raise click.UsageError("--model contains a graph already; omit --graph and --graph-file")
    text = write_table(Table(sem.graph.nodes, sem.sample(n, rng=rng)))
    if out is None:
        echo(text, nl=False)
        return
    work = Work.begin()
    work.save(out, lambda: text)
    work.end()


def _read_model(path: Path) -> LinearSEM:
    import bowfree as bf

    content = load_json(read_text(path))
    if not (isinstance(content, dict) and {"graph", "B", "Omega"} <= content.keys()):
        raise ParseError(
            f"{path.name} is not a model.json with graph, B and Omega; `bowfree learn --out` "
            "writes one"
        )
    return bf.LinearSEM(bf.MixedGraph.from_dict(content["graph"]), content["B"], content["Omega"])
