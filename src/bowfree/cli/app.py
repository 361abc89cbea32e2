"""``bowfree app``: the workbench in a browser."""

from __future__ import annotations

import warnings
from typing import Any

import click

from bowfree.cli import options as opt
from bowfree.cli.tables import Source, data_options, read_source
from bowfree.cli.terminal import echo, say
from bowfree.cli.work import Work


@click.command(epilog="Example: bowfree app plants.csv")
@data_options
@opt.graph_options
@opt.options("""
--penalty number>=0 = 1.0 | Weight of log n for each node and edge in the score; 0.5 is the usual BIC.
--port int>=0<=65535 | Port of the page. [default: any free port]
--no-browser flag | Print the address, but do not open a browser.
""")
def app(penalty: float, port: int | None, no_browser: bool, **given: Any) -> None:
    """Draw, fit, search and compare graphs for DATA in your browser.

    DATA is as for `bowfree fit`. Needs starlette and uvicorn: pip install "bowfree[app]". Press
    Ctrl-C to quit.
    """
    from threadpoolctl import threadpool_limits

    from bowfree.app.server import Server
    from bowfree.app.session import Session
    from bowfree.data.options import DataOptions

    graph = None
    if given["graph"] is not None or given["graph_file"] is not None:
        graph = opt.read_graph(given)
    else:
        for name in ("graph", "graph_file", "graph_format", "auto"):
            given.pop(name)
    source = read_source(given)
    arguments = source.arguments()
    data = arguments.pop("data", None)
    options = DataOptions(**arguments)
    session = Session(data, options, graph=graph, penalty=penalty, origin=origin(source))
    server = Server(session, port or 0)
    warnings.simplefilter("ignore")  # the page shows the warnings of each fit
    # The matrices of a graph that people draw are small: more threads would slow it down.
    threadpool_limits(1)
    echo(f"The workbench is at {server.address}")
    say("Press Ctrl-C to quit.")
    if not no_browser:
        click.launch(server.address)
    Work.begin()  # SIGTERM, too, ends the server and its computations
    server.run()
    say("The workbench has stopped.")


def origin(source: Source) -> Any:
    """Return Python code that reads the data as the command did, if a few lines suffice."""
    from bowfree.app.saved import Origin

    if source.cov is not None or len(source.paths) > 1:
        return Origin((), source.name)
    names = ("columns", "drop", "na", "separator", "decimal", "encoding", "comment", "sheet")
    read = {name: getattr(source.read, name) for name in names if getattr(source.read, name)}
    options = "".join(
        f", {name}={list(value) if isinstance(value, tuple) else value!r}"
        for name, value in read.items()
    )
    lines = [f"data = dict(bf.datasets.read_table({str(source.paths[0])!r}{options}))"]
    if source.missing == "listwise":
        lines.append("complete = ~np.isnan(list(data.values())).any(axis=0)")
        lines.append("data = {name: data[name][complete] for name in data}")
    others = [*source.options.get("ordinal", ()), source.options.get("weights")]
    unscaled = [name for name in others if name is not None]
    each = f"for name in data if name not in {unscaled!r}" if unscaled else "for name in data"
    if source.log:
        lines.append(f"data |= {{name: np.log(data[name]) {each}}}")
    if source.standardize:
        lines.append(f"data |= {{name: data[name] / data[name].std() {each}}}")
    if len(lines) > 1:
        lines.insert(0, "import numpy as np\n")
    return Origin(tuple(lines), source.name)
