"""``bowfree study``: the paper's studies, from data to tables and figures in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli.numbers import Whole
from bowfree.errors import BowfreeError

if TYPE_CHECKING:
    from bowfree.budget import Progress

__all__ = ["study"]

Command = Callable[..., Any]


def _options(*wanted: str) -> Callable[[Command], Command]:
    """Add options that several studies share, by name."""
    known = {
        "out": click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            required=True,
            help="A new or empty folder for tables and figures.",
        ),
        "seed": click.option(
            "--seed",
            type=Whole(min=0),
            default=2017,
            show_default=True,
            help="Seed: same seed, same result.",
        ),
        "jobs": click.option(
            "--jobs",
            type=Whole(min=1),
            default=1,
            show_default=True,
            help="Simulations, or threads of a search, at a time.",
        ),
        "n_sims": click.option(
            "--n-sims",
            type=Whole(min=1),
            default=100,
            show_default=True,
            help="Simulations of each row of the table.",
        ),
        "protocols": click.option(
            "--protocol",
            "protocols",
            multiple=True,
            help="Only this row of the table; may be repeated. [default: all]",
        ),
        "sachs": click.option(
            "--sachs",
            type=click.Path(path_type=Path),
            help="Folder with the protein data. [default: BOWFREE_DATA, else a download]",
        ),
        "bench": click.option(
            "--bench",
            type=click.Path(path_type=Path),
            multiple=True,
            help="Folder with graph-0.txt, sample-0.txt, ...; may be repeated.",
        ),
    }

    def add(command: Command) -> Command:
        for name in reversed(wanted):
            command = known[name](command)
        return command

    return add


@click.group(epilog="Example: bowfree study effects --n-sims 20 --protocol best --out results")
def study() -> None:
    """Repeat the studies of the paper: tables (Markdown, CSV, JSON) and figures (PNG).

    Figures need matplotlib: pip install "bowfree[plot]".
    """


@study.command(epilog="Example: bowfree study effects --protocol averaged --out results")
@_options("out", "n_sims", "protocols", "jobs", "seed")
def effects(out: Path, n_sims: int, protocols: tuple[str, ...], jobs: int, seed: int) -> None:
    """Find causal effects in simulated data (section 4.1, figure "simulation")."""
    _new_folder(out)
    _effects(out, n_sims, protocols, jobs, seed)


@study.command(epilog="Example: bowfree study calibration --n-sims 20 --out results")
@_options("out", "n_sims", "jobs", "seed")
def calibration(out: Path, n_sims: int, jobs: int, seed: int) -> None:
    """Check in simulations that stated probabilities and intervals come true."""
    _new_folder(out)
    _calibration(out, n_sims, jobs, seed)


@study.command(epilog="Example: bowfree study sachs --sachs data/sachs --out results")
@_options("out", "sachs", "jobs", "seed")
def sachs(out: Path, sachs: Path | None, jobs: int, seed: int) -> None:
    """Find the best BAP and DAG for 14 protein data sets (section 4.2, figures "real")."""
    _new_folder(out)
    _sachs(out, sachs, jobs, seed)


@study.command(
    "sachs-joint", epilog="Example: bowfree study sachs-joint --sachs data/sachs --out results"
)
@_options("out", "sachs", "jobs", "seed")
def sachs_joint(out: Path, sachs: Path | None, jobs: int, seed: int) -> None:
    """Search on the 14 protein data sets at once, with the targets of their interventions."""
    from bowfree.experiments import sachs_joint_study

    _new_folder(out)
    _finish(sachs_joint_study(folder=sachs, n_jobs=jobs, progress=_tell, rng=seed), out)


@study.command(epilog="Example: bowfree study uniformity --out results")
@_options("out", "seed")
@click.option("--samples", type=Whole(min=1), default=30_000, show_default=True)
def uniformity(out: Path, seed: int, samples: int) -> None:
    """Count random graphs on three nodes (section 3.2, figure "uniform")."""
    _new_folder(out)
    _uniformity(out, samples, seed)


@study.command(epilog="Example: bowfree study benchmark --bench bench/bowfree10 --out results")
@_options("out", "bench", "jobs", "seed")
def benchmark(out: Path, bench: tuple[Path, ...], jobs: int, seed: int) -> None:
    """Search on the public bow-free benchmark and compare with the true graphs."""
    if not bench:
        raise click.UsageError("give the folder of the benchmark by --bench")
    _new_folder(out)
    _benchmark(out, bench, jobs, seed)


@study.command(
    epilog="Example: bowfree study all --sachs data/sachs --bench bench/bowfree10 --out results"
)
@_options("out", "n_sims", "sachs", "bench", "jobs", "seed")
def all(
    out: Path, n_sims: int, sachs: Path | None, bench: tuple[Path, ...], jobs: int, seed: int
) -> None:
    """Run all studies; the benchmark only where --bench names its folders."""
    _new_folder(out)
    _uniformity(out, 30_000, seed)
    _sachs(out, sachs, jobs, seed)
    if bench:
        _benchmark(out, bench, jobs, seed)
    else:
        click.echo("no --bench given: the benchmark is left out", err=True)
    _effects(out, n_sims, (), jobs, seed)
    _calibration(out, n_sims, jobs, seed)


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


def _effects(out: Path, n_sims: int, protocols: tuple[str, ...], jobs: int, seed: int) -> None:
    from bowfree.experiments import compare_protocols

    found = compare_protocols(
        protocols or None,
        n_sims=n_sims,
        n_jobs=jobs,
        progress=_tell,
        rng=seed,
    )
    _finish(found, out)


def _calibration(out: Path, n_sims: int, jobs: int, seed: int) -> None:
    from bowfree.experiments import calibration_study

    _finish(calibration_study(n_sims, n_jobs=jobs, progress=_tell, rng=seed), out)


def _sachs(out: Path, folder: Path | None, jobs: int, seed: int) -> None:
    from bowfree.experiments import sachs_study

    found = sachs_study(
        folder=folder,
        n_jobs=jobs,
        progress=_tell,
        rng=seed,
    )
    _finish(found, out)
    for v in found.named_v_structures():
        click.echo(
            f"condition {v.condition}: over the DAGs {' and '.join(v.dag_edges)}, "
            f"over the BAPs {' and '.join(v.bap_edges)}"
        )


def _uniformity(out: Path, samples: int, seed: int) -> None:
    from bowfree.experiments import uniformity_study

    _finish(uniformity_study(samples, rng=seed), out)


def _benchmark(out: Path, folders: tuple[Path, ...], jobs: int, seed: int) -> None:
    from bowfree.experiments import bowfree_benchmark

    for folder in folders:
        found = bowfree_benchmark(
            folder,
            n_jobs=jobs,
            progress=_tell,
            rng=seed,
        )
        _finish(found, out)


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
