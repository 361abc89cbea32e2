"""How data are given on the command line: a table of observations, or a covariance matrix.

One group of options for all commands that take data. They come in four kinds: what DATA is, how
the file is written and which of it to read (:class:`~bowfree.datasets.reading.ReadOptions`), what
to do with the numbers, and what to make of them at the gate for data (`Source.gate`). A new option
is one line in `_OPTIONS` and one in the part of :class:`Source` that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from bowfree.cli.numbers import Real, Shrinkage
from bowfree.datasets.reading import SEPARATORS, ReadOptions
from bowfree.datasets.tables import Table, read_file, read_matrix, row_lines
from bowfree.errors import DataError
from bowfree.model.column_checks import odd_columns, sentences
from bowfree.text_input import listed

__all__ = ["Source", "data_options", "read_source"]


@dataclass(frozen=True)
class Source:
    """Where the data are and what to do with them before use."""

    path: Path
    read: ReadOptions
    cov: dict[str, Any] | None
    log: bool = False
    standardize: bool = False
    drop_missing: bool = False
    gate: dict[str, Any] = field(default_factory=dict)

    def arguments(self, needed: Sequence[str] | None = None) -> dict[str, Any]:
        """Read the file; what it holds are the arguments of ``fit`` and ``greedy_search``.

        Columns that are not `needed` are not looked at: they may hold names or dates.
        """
        chosen = self.read.columns if self.read.columns is not None or needed is None else needed
        options = replace(self.read, columns=chosen)
        if self.cov is not None:
            matrix = read_matrix(self.path, options)
            if self.standardize:
                sd = _scales(np.diag(matrix.X))
                matrix = replace(matrix, X=matrix.X / np.outer(sd, sd))
            return {"cov": matrix, **self.cov, **self.gate}
        table = read_file(self.path, options)
        table = self._complete(table, options)
        if chosen is None:
            for sentence in sentences(odd_columns(table.names, table.X), drop="--drop"):
                click.echo(f"Warning: {sentence}", err=True)
        if self.log:
            table = _logarithm(table)
        if self.standardize:
            with np.errstate(all="ignore"):  # no rows, or values too large to square
                variances = table.X.var(axis=0) if len(table.X) else np.ones(len(table))
            table = replace(table, X=table.X / _scales(variances))
        return {"data": table, **self.gate}

    def _complete(self, table: Table, options: ReadOptions) -> Table:
        """Leave out rows with gaps if asked to; else say where the gaps are."""
        gaps = np.isnan(table.X)
        incomplete = gaps.any(axis=1)
        n_missing = int(np.count_nonzero(incomplete))
        if not n_missing:
            return table
        if self.drop_missing:
            click.echo(f"dropped {n_missing} of {len(table.X)} rows: missing values", err=True)
            return replace(table, X=table.X[~incomplete])
        columns = np.flatnonzero(gaps.any(axis=0)).tolist()
        lines = row_lines(self.path, options, [int(gaps[:, k].argmax()) for k in columns])
        where = [
            f"{table.names[k]} ({np.count_nonzero(gaps[:, k])}, first in row {line})"
            for k, line in zip(columns, lines, strict=True)
        ]
        raise DataError(
            f"{self.path.name}: missing values in {n_missing} of {len(table.X)} rows: "
            f"{listed(where)}; --drop-missing leaves out these rows, --drop a column"
        )


_OPTIONS = (
    # at the gate for data
    click.option(
        "--shrinkage",
        type=Shrinkage(),
        metavar="A",
        help="Multiply covariances by 1 - A, as for few rows; 'auto' is Ledoit and Wolf's A.",
    ),
    # what to do with the numbers
    click.option(
        "--drop-missing", is_flag=True, help="Leave out the rows that have a missing value."
    ),
    click.option("--standardize", is_flag=True, help="Scale all variables to variance one."),
    click.option("--log", is_flag=True, help="Take logarithms of all variables first."),
    # how the file is written, and what to read of it
    click.option("--sheet", help="Sheet of a workbook."),
    click.option("--encoding", help="Of a text, such as cp1252. [default: UTF-8]"),
    click.option(
        "--decimal",
        type=click.Choice(["point", "comma"]),
        help="Before decimals, if it does not show.",
    ),
    click.option(
        "--separator",
        type=click.Choice(list(SEPARATORS)),
        help="Between cells, if it does not show.",
    ),
    click.option("--na", multiple=True, metavar="TEXT", help="Stands for a missing value."),
    click.option("--drop", metavar="A,B,...", help="Leave out these columns."),
    click.option("--columns", metavar="A,B,...", help="Use these columns only."),
    # what DATA is
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
    drop: str | None,
    na: tuple[str, ...],
    separator: str | None,
    decimal: Any,
    encoding: str | None,
    sheet: str | None,
    log: bool,
    standardize: bool,
    drop_missing: bool,
    shrinkage: float | str | None,
) -> Source:
    """Return what the options of `data_options` say; the file is not read yet."""
    if cov and n is None:
        raise click.UsageError("--cov needs --n, the number of observations")
    for name, given in {"--n": n is not None, "--ddof": ddof is not None}.items():
        if given and not cov:
            raise click.UsageError(f"{name} belongs to --cov; the rows of DATA are counted")
    needs_rows = {
        "--log": log,
        "--drop-missing": drop_missing,
        "--shrinkage auto": shrinkage == "auto",
    }
    for name, given in needs_rows.items():
        if given and cov:
            raise click.UsageError(f"{name} needs observations; DATA is a covariance matrix")
    chosen = None if columns is None else _names(columns)
    left_out = () if drop is None else _names(drop)
    read = ReadOptions(chosen, left_out, na, separator, decimal, encoding, sheet, written="--{}")
    matrix = {"n": n, "ddof": 1 if ddof is None else int(ddof)} if cov else None
    gate = {} if shrinkage is None else {"shrinkage": shrinkage}
    return Source(data, read, matrix, log, standardize, drop_missing, gate)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _scales(variances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standard deviations; where there is none, 1: the gate for data names the column."""
    usable = np.isfinite(variances) & (variances > 0)
    return np.sqrt(np.where(usable, variances, 1.0))


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
