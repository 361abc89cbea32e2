"""``bowfree demo``: the main job, end to end, on data that ship with the package."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example: bowfree demo --out my-first-graph")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A new folder for the results. [default: bowfree-demo, or bowfree-demo-2, ...]",
)
def demo(out: Path | None) -> None:
    """Analyze a shipped data set and say what was found, in a few seconds."""
    from bowfree.cli.terminal import progress_bar
    from bowfree.studies.demo import free_folder, run_demo

    folder = free_folder(Path("bowfree-demo")) if out is None else out
    with progress_bar("searching") as progress:
        report = run_demo(folder, progress=progress)
    click.echo(report.text)
    for path in report.files:
        click.echo(f"wrote {path}", err=True)
