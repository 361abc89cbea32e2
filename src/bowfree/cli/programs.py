"""Commands that run programs of their own: ``demo``, ``app`` and ``study``."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli import options as opt
from bowfree.cli.tables import Source, data_options, read_source
from bowfree.cli.terminal import echo, say
from bowfree.cli.work import Work
from bowfree.errors import BowfreeError

if TYPE_CHECKING:
    from bowfree.parallel.budget import Progress


@click.command(epilog="Example: bowfree demo --out my-first-graph")
@opt.options("""
--out NEW | A new folder for the results. [default: bowfree-demo, or bowfree-demo-2, ...]
""")
def demo(out: Path | None) -> None:
    """Analyze an example data set and explain the result, in a few seconds."""
    from bowfree.studies.demo import free_folder, run_demo

    folder = free_folder(Path("bowfree-demo")) if out is None else out
    work = Work.begin()
    report = work.run("the demo", run_demo, folder, required=True, bar="searching")
    work.output(echo, report.text)
    for name, content in report.contents.items():
        work.save(folder / name, partial(str, content))
    work.end()


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
    session = Session(data, options, graph=graph, penalty=penalty, origin=_origin(source))
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


def _origin(source: Source) -> Any:
    """Return Python code that reads the data as the command did, if one line can."""
    from bowfree.app.saved import Origin

    changed = source.log or source.standardize or source.missing == "listwise"
    if source.cov is not None or len(source.paths) > 1 or changed:
        return Origin((), source.name)
    names = ("columns", "drop", "na", "separator", "decimal", "encoding", "comment", "sheet")
    read = {name: getattr(source.read, name) for name in names if getattr(source.read, name)}
    options = "".join(
        f", {name}={list(value) if isinstance(value, tuple) else value!r}"
        for name, value in read.items()
    )
    line = f"data = dict(bf.datasets.read_table({str(source.paths[0])!r}{options}))"
    return Origin((line,), source.name)


@click.command(epilog="Example: bowfree study effects --n-sims 20 --out results")
@click.argument("name", type=click.Choice(["effects", "sachs", "uniformity", "all"]))
@opt.options("""
--out FOLDER! | A new or empty folder for tables and figures.
--n-sims int>=1 = 100 | effects: number of simulated data sets.
--as-published flag | effects: ten sweeps of RICF and the published formula, in place of corrected
    ones.
--sachs/sachs_folder PATH | sachs: folder with the protein data. [default: BOWFREE_DATA, else a
    download]
--samples int>=1 = 30000 | uniformity: number of graphs that each sampler draws.
""")
@opt.budget_options
def study(
    name: str,
    out: Path,
    n_sims: int,
    as_published: bool,
    sachs_folder: str | None,
    samples: int,
    **given: Any,
) -> None:
    """Repeat a study of the paper, or all: tables (Markdown, CSV, JSON) and figures (PNG).

    `effects`: effects in simulated data (section 4.1). `sachs`: the best BAP and DAG for 14 protein
    data sets (section 4.2). `uniformity`: counts of random graphs on three nodes (section 3.2).

    Figures need matplotlib: pip install "bowfree[plot]". After a time limit or Ctrl-C, the results
    so far are written. A --time-limit applies to each study.
    """
    from bowfree import studies

    try:
        import matplotlib
    except ImportError as error:
        raise BowfreeError('figures need matplotlib; run `pip install "bowfree[plot]"`') from error
    matplotlib.use("agg")  # works without a screen
    if out.exists() and any(out.iterdir()):
        raise BowfreeError(f"{out} is not empty; choose another folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    budget = opt.read_budget(given)
    long = budget | {"progress": _log_progress}
    published: dict[str, Any] = {"method": "ricf", "max_iter": 10, "effects": "as-published"}
    functions: dict[str, Any] = {
        "uniformity": partial(studies.uniformity_study, samples, rng=budget["rng"]),
        "sachs": partial(studies.sachs_study, folder=sachs_folder, **long),
        "effects": partial(
            studies.causal_effect_study, n_sims, **long, **(published if as_published else {})
        ),
    }
    work = Work.begin()
    for chosen in functions if name == "all" else [name]:
        found = work.run(f"study {chosen}", functions[chosen], required=name != "all")
        if found is None:
            continue
        work.output(echo, found.table())
        for file, create in found.contents():
            work.save(out / file, create, long=file.endswith(".png"))
        if not getattr(found, "complete", True):
            say("the study ended early: tables and figures contain the results so far")
    work.end()


def _log_progress(progress: Progress) -> None:
    """Print a line for every tenth of the work, for log files."""
    done, planned = progress.done, progress.planned
    if done and (done == planned or done % max(1, planned // 10) == 0):
        say(f"{done} of {planned} {progress.what}")
