"""Several conditions on the command line: the column that says which, and their targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from bowfree.cli.tables import Source
from bowfree.errors import DataError
from bowfree.text_input import brief, read_text

__all__ = ["by_condition", "condition_options"]


def condition_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--conditions`` and ``--targets`` to a command; see `by_condition`."""
    for option in (
        click.option(
            "--targets",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help='A TOML file of what was set from outside: lines such as inhibitor = ["mek"].',
        ),
        click.option(
            "--conditions",
            metavar="COLUMN",
            help="The column that says which condition, batch or experiment a row is from.",
        ),
    ):
        command = option(command)
    return command


def by_condition(
    source: Source, arguments: dict[str, Any], column: str | None, targets: Path | None
) -> dict[str, Any]:
    """Take the table in the arguments of ``fit`` apart by a column of its file."""
    from bowfree.datasets.tables import read_labels
    from bowfree.model.conditions import conditions

    if column is None:
        if targets is not None:
            raise click.UsageError("--targets needs --conditions, the column that names them")
        return arguments
    if source.cov is not None:
        raise click.UsageError("--conditions needs observations; DATA is a covariance matrix")
    if len(source.paths) > 1:
        raise click.UsageError("--conditions is a column of one file: put the files together")
    if source.missing is not None:
        raise click.UsageError("--conditions needs all rows: leave out those with gaps beforehand")
    labels = read_labels(source.paths[0], column, source.read)
    table = {name: values for name, values in arguments["data"].items() if name != column}
    said = None if targets is None else _read_targets(targets)
    made = conditions(
        {**table, column: np.array([label or None for label in labels], dtype=object)},
        column=column,
        targets=said,
    )
    return {**arguments, "data": made}


def _read_targets(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is not valid TOML: {brief(str(error))}") from None
    for name, variables in content.items():
        if not isinstance(variables, list):
            raise DataError(
                f"{path.name}: {name} = {brief(repr(variables))}: give a list of variables, such "
                f'as {name} = ["mek"]'
            )
    return content
