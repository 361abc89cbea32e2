"""``bowfree study``: the paper's studies, from data to tables and figures in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli.numbers import Whole
from bowfree.cli.searches import budget_options, read_budget
from bowfree.errors import BowfreeError, WorkInterrupted

if TYPE_CHECKING:
    from bowfree.parallel.budget import Progress


_out = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="A new or empty folder for tables and figures.",
)
_n_sims = click.option(
    "--n-sims",
    type=Whole(min=1),
    default=100,
    show_default=True,
    help="Simulations of each row of the table.",
)
_sachs = click.option(
    "--sachs",
    "sachs_folder",
    type=click.Path(path_type=Path),
    help="Folder with the protein data. [default: BOWFREE_DATA, else a download]",
)
_bench = click.option(
    "--bench",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder with graph-0.txt, sample-0.txt, ...; may be repeated.",
)
_samples = click.option(
    "--samples",
    type=Whole(min=1),
    default=30_000,
    show_default=True,
    help="Graphs that each sampler draws.",
)
_seed = click.option(
    "--seed", type=Whole(min=0), default=0, show_default=True, help="Same seed, same result."
)


@click.group(epilog="Example: bowfree study effects --n-sims 20 --protocol best --out results")
def study() -> None:
    """Repeat the studies of the paper: tables (Markdown, CSV, JSON) and figures (PNG).

    Figures need matplotlib: pip install "bowfree[plot]". When the time is up, or after Ctrl-C, what
    was done by then is written.
    """


@study.command(
    short_help="Effects in simulated data (section 4.1).",
    epilog="Example: bowfree study effects --protocol averaged --out results",
)
@_out
@_n_sims
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="Only this row of the table; may be repeated. [default: all]",
)
@budget_options
def effects(out: Path, n_sims: int, protocols: tuple[str, ...], **given: Any) -> None:
    """Find causal effects in simulated data (section 4.1, figure "simulation")."""
    from bowfree.studies import compare_protocols

    budget = read_budget(given)
    _new_folder(out)
    _run(compare_protocols, out, protocols or None, n_sims=n_sims, **budget)


@study.command(
    short_help="Whether stated certainties come true.",
    epilog="Example: bowfree study calibration --n-sims 20 --out results",
)
@_out
@_n_sims
@budget_options
def calibration(out: Path, n_sims: int, **given: Any) -> None:
    """Check in simulations that stated probabilities and intervals come true."""
    from bowfree.studies import calibration_study

    budget = read_budget(given)
    _new_folder(out)
    _run(calibration_study, out, n_sims, **budget)


@study.command(
    short_help="14 protein data sets, one by one (section 4.2).",
    epilog="Example: bowfree study sachs --sachs data/sachs --out results",
)
@_out
@_sachs
@budget_options
def sachs(out: Path, sachs_folder: Path | None, **given: Any) -> None:
    """Find the best BAP and DAG for 14 protein data sets (section 4.2, figures "real")."""
    from bowfree.studies import sachs_study

    budget = read_budget(given)
    _new_folder(out)
    _run(sachs_study, out, folder=sachs_folder, **budget)


@study.command(
    "sachs-joint",
    short_help="The 14 protein data sets at once.",
    epilog="Example: bowfree study sachs-joint --sachs data/sachs --out results",
)
@_out
@_sachs
@budget_options
def sachs_joint(out: Path, sachs_folder: Path | None, **given: Any) -> None:
    """Search on the 14 protein data sets at once, with the targets of their interventions."""
    from bowfree.studies import sachs_joint_study

    budget = read_budget(given)
    _new_folder(out)
    _run(sachs_joint_study, out, folder=sachs_folder, **budget)


@study.command(
    short_help="Random graphs on three nodes (section 3.2).",
    epilog="Example: bowfree study uniformity --out results",
)
@_out
@_samples
@_seed
def uniformity(out: Path, samples: int, seed: int) -> None:
    """Count random graphs on three nodes (section 3.2, figure "uniform")."""
    from bowfree.studies import uniformity_study

    _new_folder(out)
    _finish(uniformity_study(samples, rng=seed), out)


@study.command(
    short_help="The public bow-free benchmark.",
    epilog="Example: bowfree study benchmark --bench bench/bowfree10 --out results",
)
@_out
@_bench
@budget_options
def benchmark(out: Path, bench: tuple[Path, ...], **given: Any) -> None:
    """Search on the public bow-free benchmark and compare with the true graphs."""
    if not bench:
        raise click.UsageError("give the folder of the benchmark by --bench")
    budget = read_budget(given)
    _new_folder(out)
    _each_folder(bench, out, budget)


@study.command(
    short_help="All of these.",
    epilog="Example: bowfree study all --sachs data/sachs --bench bench/bowfree10 --out results",
)
@_out
@_n_sims
@_sachs
@_bench
@budget_options
def all(
    out: Path, n_sims: int, sachs_folder: Path | None, bench: tuple[Path, ...], **given: Any
) -> None:
    """Run all studies of the paper; the benchmark only where --bench names its folders.

    A --time-limit is for each of them.
    """
    from bowfree.studies import (
        calibration_study,
        compare_protocols,
        sachs_study,
        uniformity_study,
    )

    budget = read_budget(given)
    _new_folder(out)
    _finish(uniformity_study(rng=budget["rng"]), out)
    _run(sachs_study, out, folder=sachs_folder, **budget)
    if bench:
        _each_folder(bench, out, budget)
    else:
        click.echo("no --bench given: the benchmark is left out", err=True)
    _run(compare_protocols, out, n_sims=n_sims, **budget)
    _run(calibration_study, out, n_sims, **budget)


def _each_folder(folders: tuple[Path, ...], out: Path, budget: dict[str, Any]) -> None:
    from bowfree.studies import bowfree_benchmark

    for folder in folders:
        _run(bowfree_benchmark, out, folder, **budget)


def _new_folder(out: Path) -> None:
    """Make the folder before the long work; what is in a folder is never overwritten."""
    try:
        import matplotlib
    except ImportError as error:
        raise BowfreeError('figures need matplotlib; run `pip install "bowfree[plot]"`') from error
    matplotlib.use("agg")  # a study draws to files, also where there is no screen
    if out.exists() and any(out.iterdir()):
        raise BowfreeError(f"{out} is not empty; choose another folder with --out")
    out.mkdir(parents=True, exist_ok=True)


def _run(function: Callable[..., Any], out: Path, *arguments: Any, **options: Any) -> None:
    """Do a study and write what it found, also when Ctrl-C came before its end."""
    try:
        found = function(*arguments, progress=_tell, **options)
    except WorkInterrupted as stop:
        _finish(stop.result, out)
        raise
    _finish(found, out)
    if not found.complete:
        click.echo("the time was up: tables and figures have what was done by then", err=True)


def _finish(found: Any, out: Path) -> None:
    """Print the table, and write everything."""
    click.echo(found.table())
    for path in found.save(out):
        click.echo(f"wrote {path}", err=True)


def _tell(progress: Progress) -> None:
    """One line for every tenth of the work, enough for a log."""
    done, planned = progress.done, progress.planned
    if done and (done == planned or done % max(1, planned // 10) == 0):
        click.echo(f"{done} of {planned} {progress.what}", err=True)
