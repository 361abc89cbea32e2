"""Commands that run prepared analyses: ``bowfree demo`` and ``bowfree study``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli import options as opt
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
