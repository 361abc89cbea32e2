"""Several conditions on the command line: the column that says which, and their targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from bowfree.cli.tables import Source
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.parameters import Kind, Means
from bowfree.text_reading import read_text, truncate


def condition_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of conditions to a command; see `by_condition`."""
    for option in (
        click.option(
            "--means",
            type=click.Choice(get_args(Means)),
            default="free",
            show_default=True,
            help="Whether each condition has its own mean, or intercepts are shared.",
        ),
        click.option(
            "--kind",
            type=click.Choice(get_args(Kind)),
            default="perfect",
            show_default=True,
            help="What was done to the targets.",
        ),
        click.option(
            "--targets",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help='A TOML file with what was intervened on, in lines such as inhibitor = ["mek"].',
        ),
        click.option(
            "--conditions",
            metavar="COLUMN",
            help="The column that says which condition, batch or experiment a row is from.",
        ),
    ):
        command = option(command)
    return command


def without_column(source: Source, column: str | None) -> Source:
    """Return the source with the column of names not looked at as data."""
    if column is None:
        return source
    return replace(source, read=replace(source.read, drop=(*source.read.drop, column)))


def by_condition(
    source: Source,
    arguments: dict[str, Any],
    column: str | None,
    targets: Path | None,
    kind: Kind,
    means: Means,
) -> dict[str, Any]:
    """Take the table in the arguments of ``fit`` apart by a column of its files."""
    from bowfree.data.conditions import conditions
    from bowfree.datasets.tables import read_labels

    if column is None:
        if targets is not None:
            raise click.UsageError("--targets needs --conditions, the column that names them")
        if means != "free":
            raise click.UsageError("--means is for several conditions: give --conditions, too")
        return arguments
    if source.cov is not None:
        raise click.UsageError("--conditions needs observations; DATA is a covariance matrix")
    if isinstance(arguments["data"], Moments):
        raise click.UsageError("--conditions needs the rows, and these files are too large for it")
    if source.missing is not None:
        raise click.UsageError("--conditions needs all rows: leave out those with gaps beforehand")
    labels = [label for path in source.paths for label in read_labels(path, column, source.read)]
    table = {name: values for name, values in arguments["data"].items() if name != column}
    said = None if targets is None else _read_targets(targets)
    made = conditions(
        {**table, column: np.array([label or None for label in labels], dtype=object)},
        column=column,
        targets=said,
        kind=kind,
    )
    return {**arguments, "data": made, "means": means}


def _read_targets(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is not valid TOML: {truncate(str(error))}") from None
    for name, variables in content.items():
        if not isinstance(variables, list):
            raise DataError(
                f"{path.name}: {name} = {truncate(repr(variables))}: give a list of variables, such "
                f'as {name} = ["mek"]'
            )
    return content
