"""``bowfree bootstrap``: how much of what was learned comes back on data drawn anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from bowfree.cli.conditions import by_condition, condition_options, without_column
from bowfree.cli.numbers import Real, Whole
from bowfree.cli.searches import budget_options, read_budget, read_search, search_options
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json, print_result, progress_bar, say
from bowfree.parameters import Kind, Means


@click.command(epilog="Example: bowfree bootstrap plants.csv --resamples 200 --jobs -1 --seed 1")
@data_options
@condition_options
@search_options
@budget_options
@click.option(
    "--resamples",
    type=Whole(min=1),
    default=100,
    show_default=True,
    help="Number of resamples, each with a search of its own.",
)
@click.option(
    "--confidence",
    type=Real(min=0, max=1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
@click.option(
    "--max-false",
    type=Real(min=0, min_open=True),
    help="Instead, stability selection: the pairs that most halves of the rows join, with no more "
    "than this many false ones on average.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def bootstrap(
    resamples: int,
    confidence: float,
    max_false: float | None,
    as_json: bool,
    conditions: str | None,
    targets: Path | None,
    kind: Kind,
    means: Means,
    **given: Any,
) -> None:
    """Learn graphs from DATA drawn anew, and count which edges and effects come back.

    An edge that comes back in nearly every resample would have been found on other data of the same
    kind, too; one that comes back in a third of them is a guess. Rows of DATA are drawn with
    replacement, those of each condition by themselves; with --max-false they are halved (stability
    selection).
    """
    import bowfree as bf
    from bowfree.uncertainty.search_bootstrap import resamples_needed

    needed = resamples_needed(confidence)
    if max_false is None and resamples < needed:
        raise click.UsageError(
            f"--resamples {resamples} is too few for intervals of --confidence {confidence:g}: "
            f"give at least {needed}"
        )
    budget, search = read_budget(given), read_search(given)
    source = without_column(read_source(**given), conditions)
    arguments = by_condition(source, source.arguments(), conditions, targets, kind, means)
    if "data" not in arguments:
        raise click.UsageError("bootstrap draws rows anew: give a table of observations")
    data = arguments.pop("data")
    if conditions is not None:
        data = bf.moments(data, means=means)
    search |= {name: value for name, value in arguments.items() if name == "shrinkage"}
    found: Any
    interrupted = False
    try:
        with progress_bar("searching") as progress:
            if max_false is not None:
                found = bf.stability_selection(
                    data,
                    max_false=max_false,
                    n_halves=resamples,
                    search=search,
                    progress=progress,
                    **budget,
                )
            else:
                found = bf.bootstrap(
                    data,
                    n_resamples=resamples,
                    confidence=confidence,
                    search=search,
                    progress=progress,
                    **budget,
                )
    except bf.errors.WorkInterrupted as stop:  # Ctrl-C, with what was done by then
        found, interrupted = stop.result, True
    except bf.errors.WorkersLost as lost:
        if lost.result is None:
            raise
        say(f"Warning: {lost}", err=True)
        found, interrupted = lost.result, True
    if as_json:
        print_json(found.to_dict())
    else:
        print_result(found)
    if interrupted:
        sys.exit(1)
