"""How data are given on the command line: a table of observations, or a covariance matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from bowfree.cli.numbers import Real
from bowfree.datasets.tables import Table, read_covariance, read_table
from bowfree.errors import DataError

__all__ = ["Source", "data_options", "read_source"]


@dataclass(frozen=True)
class Source:
    """Where the data are and what to do with them before use."""

    path: Path
    cov: bool
    n: float | None
    ddof: int
    columns: tuple[str, ...] | None
    log: bool
    standardize: bool
    drop_missing: bool

    def arguments(self, needed: Sequence[str] | None = None) -> dict[str, Any]:
        """Read the file; what it holds are the arguments of ``fit`` and ``greedy_search``.

        Columns that are not `needed` are not looked at: they may hold names or dates.
        """
        chosen = self.columns if self.columns is not None or needed is None else tuple(needed)
        if self.cov:
            matrix = read_covariance(self.path, columns=chosen)
            if self.standardize:
                sd = _scales(np.diag(matrix.X))
                matrix = replace(matrix, X=matrix.X / np.outer(sd, sd))
            return {"cov": matrix, "n": self.n, "ddof": self.ddof}
        table = read_table(self.path, columns=chosen)
        if self.drop_missing:
            table = _complete_rows(table)
        if self.log:
            table = _logarithm(table)
        if self.standardize:
            with np.errstate(all="ignore"):  # no rows, or values too large to square
                variances = table.X.var(axis=0) if len(table.X) else np.ones(len(table))
            table = replace(table, X=table.X / _scales(variances))
        return {"data": table}


_OPTIONS = (
    click.option(
        "--drop-missing", is_flag=True, help="Leave out the rows that have a missing value."
    ),
    click.option("--standardize", is_flag=True, help="Scale all variables to variance one."),
    click.option("--log", is_flag=True, help="Take logarithms of all variables first."),
    click.option("--columns", metavar="A,B,...", help="Use these columns only."),
    click.option(
        "--ddof",
        type=click.Choice(["0", "1"]),
        help="The covariance matrix has divisor n - ddof. [default: 1]",
    ),
    click.option("--n", type=Real(min=2), help="Number of observations behind the covariances."),
    click.option("--cov", is_flag=True, help="DATA is a covariance matrix; give --n, too."),
    click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
)


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DATA and its options to a command; see `read_source`."""
    for option in _OPTIONS:
        command = option(command)
    return command


def read_source(
    *,
    data: Path,
    cov: bool,
    n: float | None,
    ddof: str | None,
    columns: str | None,
    log: bool,
    standardize: bool,
    drop_missing: bool,
) -> Source:
    """Return what the options of `data_options` say; the file is not read yet."""
    if cov and n is None:
        raise click.UsageError("--cov needs --n, the number of observations")
    for name, given in {"--n": n is not None, "--ddof": ddof is not None}.items():
        if given and not cov:
            raise click.UsageError(f"{name} belongs to --cov; the rows of DATA are counted")
    for name, given in {"--log": log, "--drop-missing": drop_missing}.items():
        if given and cov:
            raise click.UsageError(f"{name} needs observations; DATA is a covariance matrix")
    chosen = None if columns is None else tuple(name.strip() for name in columns.split(","))
    divisor = 1 if ddof is None else int(ddof)
    return Source(data, cov, n, divisor, chosen, log, standardize, drop_missing)


def _scales(variances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standard deviations; where there is none, 1: the gate for data names the column."""
    usable = np.isfinite(variances) & (variances > 0)
    return np.sqrt(np.where(usable, variances, 1.0))


def _complete_rows(table: Table) -> Table:
    missing = np.isnan(table.X).any(axis=1)
    if missing.any():
        n_missing = np.count_nonzero(missing)
        click.echo(f"dropped {n_missing} of {len(table.X)} rows: missing values", err=True)
    return replace(table, X=table.X[~missing])


def _logarithm(table: Table) -> Table:
    for name in table.names:
        # A table without rows has no smallest value; the gate for data says what it lacks.
        smallest = table[name].min(initial=np.inf)
        if smallest <= 0:
            raise DataError(
                f"--log: column {name!r} has the value {smallest:g}, which has no logarithm; "
                "choose other --columns, or leave --log out"
            )
    return replace(table, X=np.log(table.X))
