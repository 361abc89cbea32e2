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
@click.option(
    "--out",
    type=opt.NewPath(),
    help="A new folder for the results. [default: bowfree-demo, or bowfree-demo-2, ...]",
)
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


_out = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="A new or empty folder for tables and figures.",
)
_n_sims = click.option(
    "--n-sims", type=opt.COUNT, default=100, help="Number of simulated data sets."
)
_sachs = click.option(
    "--sachs",
    "sachs_folder",
    type=click.Path(path_type=Path),
    help="Folder with the protein data. [default: BOWFREE_DATA, else a download]",
)


@click.group(epilog="Example: bowfree study effects --n-sims 20 --out results")
def study() -> None:
    """Repeat the studies of the paper: tables (Markdown, CSV, JSON) and figures (PNG).

    Figures need matplotlib: pip install "bowfree[plot]". After a time limit or Ctrl-C, the results
    so far are written.
    """


@study.command(epilog="Example: bowfree study effects --as-published --out results")
@_out
@_n_sims
@click.option(
    "--as-published",
    is_flag=True,
    help="Ten sweeps of RICF and the published formula of effects, in place of corrected ones.",
)
@opt.budget_options
def effects(out: Path, n_sims: int, as_published: bool, **given: Any) -> None:
    """Estimate effects in simulated data (section 4.1, figure "simulation")."""
    from bowfree.studies import causal_effect_study

    published = {"method": "ricf", "max_iter": 10, "effects": "as-published"}
    _prepare(out)
    options = opt.read_budget(given) | (published if as_published else {})
    _run(out, partial(causal_effect_study, n_sims, progress=_log_progress, **options))


@study.command(epilog="Example: bowfree study sachs --sachs data/sachs --out results")
@_out
@_sachs
@opt.budget_options
def sachs(out: Path, sachs_folder: Path | None, **given: Any) -> None:
    """Find the best BAP and DAG for 14 protein data sets (section 4.2, figures "real")."""
    from bowfree.studies import sachs_study

    _prepare(out)
    budget = opt.read_budget(given)
    _run(out, partial(sachs_study, folder=sachs_folder, progress=_log_progress, **budget))


@study.command(epilog="Example: bowfree study uniformity --out results")
@_out
@click.option(
    "--samples",
    type=opt.COUNT,
    default=30_000,
    help="Number of graphs that each sampler draws.",
)
@click.option("--seed", type=opt.WHOLE, default=0, help="Seed.")
def uniformity(out: Path, samples: int, seed: int) -> None:
    """Count random graphs on three nodes (section 3.2, figure "uniform")."""
    from bowfree.studies import uniformity_study

    _prepare(out)
    _run(out, partial(uniformity_study, samples, rng=seed))


@study.command(epilog="Example: bowfree study all --sachs data/sachs --out results")
@_out
@_n_sims
@_sachs
@opt.budget_options
def all(out: Path, n_sims: int, sachs_folder: Path | None, **given: Any) -> None:
    """Run all studies of the paper. A --time-limit applies to each study."""
    from bowfree import studies

    _prepare(out)
    budget = opt.read_budget(given)
    long = budget | {"progress": _log_progress}
    _run(
        out,
        partial(studies.uniformity_study, rng=budget["rng"]),
        partial(studies.sachs_study, folder=sachs_folder, **long),
        partial(studies.causal_effect_study, n_sims, **long),
    )


def _prepare(out: Path) -> None:
    """Create the folder before the long work; refuse one that contains files."""
    try:
        import matplotlib
    except ImportError as error:
        raise BowfreeError('figures need matplotlib; run `pip install "bowfree[plot]"`') from error
    matplotlib.use("agg")  # works without a screen
    if out.exists() and any(out.iterdir()):
        raise BowfreeError(f"{out} is not empty; choose another folder with --out")
    out.mkdir(parents=True, exist_ok=True)


def _run(out: Path, *functions: partial[Any]) -> None:
    """Run studies, and print and write the results of each as soon as it is finished."""
    work = Work.begin()
    for function in functions:
        name = function.func.__name__
        found = work.run(name, function, required=len(functions) == 1)
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
