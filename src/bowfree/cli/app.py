"""``bowfree app``: the workbench in a browser."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Real
from bowfree.cli.tables import Source, data_options, read_source


@click.command(epilog="Example: bowfree app plants.csv")
@data_options
@graph_options
@click.option(
    "--penalty",
    type=Real(min=0),
    default=1.0,
    show_default=True,
    help="Weight of log n per node and edge in the score; 0.5 is the usual BIC.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the page. [default: any that is free]",
)
@click.option("--no-browser", is_flag=True, help="Print the address, but do not open a browser.")
def app(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    penalty: float,
    port: int,
    no_browser: bool,
    **given: Any,
) -> None:
    """Draw, fit, search and compare graphs for DATA in your browser.

    DATA is as for `bowfree fit`. --graph may also be the name of a file. Needs starlette and
    uvicorn: pip install "bowfree[app]". Ctrl-C ends it.
    """
    from threadpoolctl import threadpool_limits

    from bowfree.app.server import Server
    from bowfree.app.session import Session

    if graph is not None and graph_file is None and Path(graph).is_file():
        graph_file, graph = Path(graph), None
    begin = None
    if graph is not None or graph_file is not None:
        begin = read_graph(graph, graph_file, graph_format, auto)
    source = read_source(**given)
    session = Session(graph=begin, penalty=penalty, origin=origin(source), **source.arguments())
    server = Server(session, port)
    # The page says what is doubtful about a fit; here nobody reads it.
    warnings.simplefilter("ignore")
    # Matrices of a graph that people draw are small: more threads only wait for each other.
    threadpool_limits(1)
    click.echo(f"The workbench is at {server.address}")
    click.echo("Ctrl-C ends it.", err=True)
    if not no_browser:
        click.launch(server.address)
    server.run()
    click.echo("The workbench has ended.", err=True)


def origin(source: Source) -> Any:
    """Return Python code that reads the data as the command did; none where it takes more."""
    from bowfree.app.reproduce import Origin

    if source.cov is not None or len(source.paths) > 1:
        return Origin((), source.name)
    words = {
        name: getattr(source.read, name)
        for name in ("columns", "drop", "na", "separator", "decimal", "encoding", "sheet")
        if getattr(source.read, name)
    }
    options = "".join(
        f", {name}={list(value) if isinstance(value, tuple) else value!r}"
        for name, value in words.items()
    )
    lines = [f"data = dict(bf.datasets.read_table({str(source.paths[0])!r}{options}))"]
    if source.missing == "listwise":
        lines.append("whole = ~np.isnan(list(data.values())).any(axis=0)")
        lines.append("data = {name: data[name][whole] for name in data}")
    apart = [*source.gate.get("ordinal", ()), source.gate.get("weights")]
    kept = [name for name in apart if name is not None]
    measured = f"for name in data if name not in {kept!r}" if kept else "for name in data"
    if source.log:
        lines.append(f"data |= {{name: np.log(data[name]) {measured}}}")
    if source.standardize:
        lines.append(f"data |= {{name: data[name] / data[name].std() {measured}}}")
    if len(lines) > 1:
        lines.insert(0, "import numpy as np\n")
    return Origin(tuple(lines), source.name)
