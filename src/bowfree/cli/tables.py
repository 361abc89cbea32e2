"""Options for data: tables of observations, covariance matrices, and conditions.

The options of all commands that read data are in `data_options` and `condition_options`;
:func:`read_source` returns their values as a :class:`Source`, which reads the files.
"""

from __future__ import annotations

import shlex
import tomllib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import numpy as np
import numpy.typing as npt

from bowfree.cli.options import (
    EXISTING_FILE,
    NumberOrWord,
    kind_option,
    options,
    shared_option,
)
from bowfree.cli.terminal import say
from bowfree.data.column_checks import odd_columns, sentences
from bowfree.data.loader import read_moments, read_once
from bowfree.data.moments import Moments
from bowfree.data.streaming import Sums
from bowfree.datasets.files import (
    Piece,
    data_files,
    read_file,
    read_matrix,
    read_pieces,
    row_places,
)
from bowfree.datasets.tables import SEPARATORS, ReadOptions, Table
from bowfree.errors import DataError
from bowfree.parameters import Correlation, Kind, Means, Missing
from bowfree.results.display import count
from bowfree.text_reading import join_names, read_text, truncate

if TYPE_CHECKING:
    from bowfree.data.conditions import Condition


@dataclass(frozen=True)
class Source:
    """The files with the data, and how to prepare their content.

    `options` are options of :func:`bowfree.moments`.
    """

    paths: tuple[Path, ...]
    read: ReadOptions
    cov: dict[str, Any] | None
    log: bool = False
    standardize: bool = False
    missing: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    conditions: Conditions | None = None

    @property
    def name(self) -> str:
        """The file, or the first one of several."""
        others = len(self.paths) - 1
        return self.paths[0].name + (f" and {others} more" if others else "")

    def arguments(self, needed: Sequence[str] | None = None) -> dict[str, Any]:
        """Read the files, and return the data arguments of ``fit`` and ``greedy_search``.

        Only columns that are `needed` are read: others may contain names or dates.
        """
        found = self._read(needed)
        if self.conditions is not None:
            found["data"] = self.conditions.split(self, found["data"])
            found["means"] = self.conditions.means
        return found

    def _read(self, needed: Sequence[str] | None) -> dict[str, Any]:
        chosen = self.read.columns if self.read.columns is not None or needed is None else needed
        weights = self.options.get("weights")
        if chosen is not None and weights is not None and weights not in chosen:
            chosen = (*chosen, weights)
        read = replace(self.read, columns=chosen)
        if self.cov is not None:
            matrix = read_matrix(self.paths[0], read)
            if self.standardize:
                sd = _scales(np.diag(matrix.X))
                matrix = replace(matrix, X=matrix.X / np.outer(sd, sd))
            return {"cov": matrix, **self.cov, **self.options}
        # Incomplete rows are dropped here, where they are counted by the lines of the file.
        missing = {} if self.missing in (None, "listwise") else {"missing": self.missing}
        moment_options = {**missing, **self.options}
        rows = _Rows(self, read, look=chosen is None)
        if len(self.paths) == 1:
            table = rows.usable(Piece(self.paths[0], 0, read_file(self.paths[0], read)))
        else:
            pieces = (rows.usable(piece) for piece in read_pieces(self.paths, read))
            found = read_once(pieces, **moment_options)
            if isinstance(found, Sums):
                rows.tell()
                return {"data": self._moments_of(found)}
            table = Table(found.names, found.values)
        rows.tell()
        if self.standardize:
            table = self._rescaled(table, _standardized)
        return {"data": table, **moment_options}

    def _rescaled(self, table: Table, change: Callable[[Table], Table]) -> Table:
        """Change the measurements; categories and weights are what they are."""
        measured = self.measured(table)
        X = table.X.copy()
        X[:, [table.names.index(name) for name in measured.names]] = change(measured).X
        return replace(table, X=X)

    def measured(self, table: Table) -> Table:
        """Return the columns that are neither categories nor weights."""
        apart = {*self.options.get("ordinal", ()), self.options.get("weights")}
        kept = [k for k, name in enumerate(table.names) if name not in apart]
        if len(kept) == len(table):
            return table
        return Table(tuple(table.names[k] for k in kept), table.X[:, kept])

    def _moments_of(self, sums: Sums) -> Moments:
        """Return the moments of a table that is too large for memory."""
        found = read_moments(sums, **self.options)
        if not self.standardize:
            return found
        sd = np.sqrt(np.diag(found.S))
        mean = None if found.mean is None else found.mean / sd
        return Moments(found.names, found.S / np.outer(sd, sd), found.n, mean)


class _Rows:
    """Rows on their way from the files: without gaps, if these are to be left out."""

    def __init__(self, source: Source, options: ReadOptions, *, look: bool) -> None:
        self.source, self.options, self.look = source, options, look
        self.seen = self.dropped = 0
        self.never: set[str] | None = None  # columns without any value in the rows seen

    def usable(self, piece: Piece) -> Table:
        """Return a piece with rows left out and logarithms taken, as asked for; say what is odd."""
        table = self._complete(piece)
        if self.look:  # once
            measured = self.source.measured(table)
            odd = odd_columns(measured.names, measured.X)
            for sentence in sentences(odd, drop=_option("--drop"), ordinal=_option("--ordinal")):
                say(f"Warning: {sentence}")
            self.look = False
        if self.source.log:
            table = self.source._rescaled(table, _logarithm)
        return table

    def tell(self) -> None:
        """Say how many rows were left out, and refuse to go on with none."""
        if not self.dropped:
            return
        say(f"dropped {self.dropped} of {self.seen} rows: missing values")
        if self.seen - self.dropped < 2:
            left = (
                f"{self.source.name}: --missing listwise leaves "
                f"{count(self.seen - self.dropped, 'row')} of {self.seen}; "
            )
            if self.never:
                names = join_names(sorted(self.never))
                raise DataError(
                    f"{left}no row has a value of {names}: leave out such columns, --drop"
                )
            raise DataError(f"{left}{self._all_cells}--drop leaves out a column with many gaps")

    @property
    def _all_cells(self) -> str:
        """The way out that keeps all rows, where there is one."""
        in_order = "ordinal" in self.source.options or "correlation" in self.source.options
        return "" if in_order else "--missing fiml uses all cells that are there, "

    def _complete(self, piece: Piece) -> Table:
        """Leave out rows with gaps if asked to; else say where the gaps are."""
        table = piece.table
        self.seen += len(table.X)
        gaps = np.isnan(table.X)
        never = {table.names[k] for k in np.flatnonzero(gaps.all(axis=0))}
        self.never = never if self.never is None else self.never & never
        incomplete = gaps.any(axis=1)
        n_missing = int(np.count_nonzero(incomplete))
        if not n_missing:
            return table
        if self.source.missing == "listwise":
            self.dropped += n_missing
            return replace(table, X=table.X[~incomplete])
        if self.source.missing is not None:
            return table
        columns = np.flatnonzero(gaps.any(axis=0)).tolist()
        first = [piece.begun + int(gaps[:, k].argmax()) for k in columns]
        counted = [int(np.count_nonzero(gaps[:, k])) for k in columns]
        places = row_places(piece.path, self.options, first)
        where = [
            f"{table.names[k]} ({n}, {'first ' * (n > 1)}in {place})"
            for k, n, place in zip(columns, counted, places, strict=True)
        ]
        raise DataError(
            f"{piece.path.name}: missing values in {n_missing} of {len(table.X)} rows: "
            f"{join_names(where)}; {self._all_cells}--missing listwise leaves out these rows, --drop a "
            "column"
        )


@dataclass(frozen=True)
class Conditions:
    """Values of `condition_options`."""

    column: str
    targets: Path | None
    kind: Kind
    means: Means

    def split(self, source: Source, table: Any) -> list[Condition]:
        """Return one condition for each value of the column."""
        from bowfree.data.conditions import conditions
        from bowfree.datasets.files import read_labels

        if isinstance(table, Moments):
            raise click.UsageError("--conditions needs all rows, and these files exceed the memory")
        if source.missing is not None:
            raise click.UsageError("--conditions needs complete rows; drop incomplete rows first")
        labels = [x for path in source.paths for x in read_labels(path, self.column, source.read)]
        columns = {name: values for name, values in table.items() if name != self.column}
        return conditions(
            {**columns, self.column: np.array([x or None for x in labels], dtype=object)},
            column=self.column,
            targets=None if self.targets is None else _read_targets(self.targets),
            kind=self.kind,
        )


def _read_targets(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is not valid TOML: {truncate(str(error))}") from None
    for name, variables in content.items():
        if not isinstance(variables, list):
            raise DataError(
                f"{path.name}: {name} = {truncate(repr(variables))}; give a list of variables, such "
                f'as {name} = ["mek"]'
            )
    return content


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


data_options = options(
    click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)),
    click.option("--cov", is_flag=True, help="DATA is a covariance matrix; needs --n."),
    shared_option("n", type=click.FloatRange(min=2)),
    shared_option("ddof", type=click.Choice(["0", "1"])),
    # which part of the file to read, and how it is written
    click.option("--columns", metavar="A,B,...", help="Use only these columns."),
    click.option("--drop", metavar="A,B,...", help="Leave out these columns."),
    click.option("--na", multiple=True, metavar="TEXT", help="A code for missing values."),
    click.option("--separator", type=click.Choice(list(SEPARATORS)), help="Separator of cells."),
    click.option("--decimal", type=click.Choice(["point", "comma"]), help="Decimal mark."),
    click.option("--encoding", help="Encoding of a text file, such as cp1252. [default: UTF-8]"),
    click.option(
        "--comment",
        metavar="TEXT",
        help="Skip lines that begin with this. [default: # before the header]",
    ),
    click.option("--sheet", help="Sheet of a workbook."),
    # transformations
    click.option("--log", is_flag=True, help="Take logarithms of all variables."),
    click.option("--standardize", is_flag=True, help="Scale all variables to variance one."),
    # options of bowfree.moments
    shared_option("missing", type=click.Choice(get_args(Missing))),
    click.option("--drop-missing", is_flag=True, help="Short for --missing listwise."),
    click.option(
        "--ordinal",
        multiple=True,
        metavar="A,B,...|A=LOW,...,HIGH",
        help="Columns of ordered categories: numbers, or words in the order given.",
    ),
    shared_option("correlation", type=click.Choice(get_args(Correlation))),
    click.option("--weights", metavar="NAME", help="Column that contains sampling weights."),
    shared_option("shrinkage", type=NumberOrWord("auto", min=0, max=1), metavar="NUMBER|auto"),
)

condition_options = options(
    click.option(
        "--conditions",
        "condition_column",
        metavar="COLUMN",
        help="Column that names the condition, batch or experiment of each row.",
    ),
    click.option(
        "--targets",
        "targets_file",
        type=EXISTING_FILE,
        help='TOML file with the targets of interventions, as in inhibitor = ["mek"].',
    ),
    kind_option,
    shared_option("means", type=click.Choice(get_args(Means)), default="free", show_default=True),
)


def read_source(given: dict[str, Any]) -> Source:
    """Return the values of `data_options` and `condition_options`; no file is read yet."""
    value = given.pop
    cov, n, ddof, missing = value("cov"), value("n"), value("ddof"), value("missing")
    if cov and n is None:
        raise click.UsageError("--cov needs --n, the number of observations")
    for name, number in {"--n": n, "--ddof": ddof}.items():
        if number is not None and not cov:
            raise click.UsageError(f"{name} belongs to --cov; the rows of DATA are counted")
    if value("drop_missing"):
        if missing not in (None, "listwise"):
            raise click.UsageError(f"choose one of --drop-missing and --missing {missing}")
        missing = "listwise"
    paths = data_files(value("data"))
    if cov and len(paths) > 1:
        raise click.UsageError(f"--cov needs one file with a covariance matrix, not {len(paths)}")
    column, targets = value("condition_column", None), value("targets_file", None)
    means = value("means", "free")
    if column is None and (targets is not None or means != "free"):
        name = "--targets" if targets is not None else "--means"
        raise click.UsageError(f"{name} needs --conditions, the column that names the conditions")
    # `kind` belongs to the conditions only where the command has them.
    conditions = None if column is None else Conditions(column, targets, value("kind"), means)
    ordered, orders = _ordered(value("ordinal"))
    columns, drop = value("columns"), value("drop")
    dropped = () if drop is None else _names(drop)
    read = ReadOptions(
        None if columns is None else _names(columns),
        dropped if column is None else (*dropped, column),
        *(value(name) for name in ("na", "separator", "decimal", "encoding", "comment", "sheet")),
        orders,
        style="--{}",
    )
    chosen = {"ordinal": ordered or None} | {
        name: value(name) for name in ("correlation", "weights", "shrinkage")
    }
    moment_options = {name: choice for name, choice in chosen.items() if choice is not None}
    log = value("log")
    for name, needs_rows in {
        "--log": log,
        "--missing": missing is not None,
        "--conditions": conditions is not None,
    }.items():
        if needs_rows and cov:
            raise click.UsageError(f"{name} needs observations; DATA is a covariance matrix")
    matrix = {"n": n, "ddof": 1 if ddof is None else int(ddof)} if cov else None
    return Source(
        paths, read, matrix, log, value("standardize"), missing, moment_options, conditions
    )


def _ordered(given: Sequence[str]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the columns that ``--ordinal`` names, and the orders that it gives of their words."""
    columns: list[str] = []
    orders: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, words = text.partition("=")
        named = (name.strip(),) if equals else _names(text)
        twice = next((word for word in named if word in columns), None)
        if twice is not None:
            raise click.UsageError(f"--ordinal names column {twice} twice")
        columns += named
        if equals:
            orders[name.strip()] = _names(words)
    return tuple(columns), orders


def _option(name: str) -> Callable[[Sequence[str]], str]:
    """Return how an option that takes columns is written, as a shell reads it."""
    return lambda columns: f"{name} {shlex.quote(','.join(columns))}"


def _scales(variances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standard deviations; or 1 for columns that the library rejects later."""
    usable = np.isfinite(variances) & (variances > 0)
    return np.sqrt(np.where(usable, variances, 1.0))


def _standardized(table: Table) -> Table:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # No rows, columns without values, or values too large to square: the library reports them.
        warnings.simplefilter("ignore", RuntimeWarning)
        return replace(table, X=table.X / _scales(np.nanvar(table.X, axis=0)))


def _logarithm(table: Table) -> Table:
    for name in table.names:
        # A column without values has no minimum; the library reports it.
        smallest = np.fmin.reduce(table[name], initial=np.inf)
        if smallest <= 0:
            raise DataError(
                f"--log: column {name!r} has the value {smallest:g}, which has no logarithm; "
                "choose other --columns, or leave --log out"
            )
    return replace(table, X=np.log(table.X))
