"""How data are given on the command line: a table of observations, or a covariance matrix.

One group of options for all commands that take data. They come in four kinds: what DATA is, how
the file is written and which of it to read (:class:`~bowfree.datasets.reading.ReadOptions`), what
to do with the numbers, and what to make of them at the gate for data (`Source.gate`). A new option
is one line in `_OPTIONS` and one in the part of :class:`Source` that it belongs to.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from bowfree.cli.numbers import Real, Shrinkage
from bowfree.cli.terminal import say
from bowfree.data.column_checks import odd_columns, sentences
from bowfree.data.loader import read_moments, read_once
from bowfree.data.moments import Moments
from bowfree.data.streaming import Sums
from bowfree.datasets.pieces import Piece, data_files, read_pieces
from bowfree.datasets.reading import SEPARATORS, ReadOptions
from bowfree.datasets.tables import Table, read_file, read_matrix, row_places
from bowfree.errors import DataError
from bowfree.results.display import count
from bowfree.text_reading import join_names


@dataclass(frozen=True)
class Source:
    """Where the data are and what to do with them before use."""

    paths: tuple[Path, ...]
    read: ReadOptions
    cov: dict[str, Any] | None
    log: bool = False
    standardize: bool = False
    missing: str | None = None
    gate: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file, or the first one of several."""
        others = len(self.paths) - 1
        return self.paths[0].name + (f" and {others} more" if others else "")

    def arguments(self, needed: Sequence[str] | None = None) -> dict[str, Any]:
        """Read the file; what it holds are the arguments of ``fit`` and ``greedy_search``.

        Columns that are not `needed` are not looked at: they may hold names or dates.
        """
        chosen = self.read.columns if self.read.columns is not None or needed is None else needed
        weights = self.gate.get("weights")
        if chosen is not None and weights is not None and weights not in chosen:
            chosen = (*chosen, weights)
        options = replace(self.read, columns=chosen)
        if self.cov is not None:
            matrix = read_matrix(self.paths[0], options)
            if self.standardize:
                sd = _scales(np.diag(matrix.X))
                matrix = replace(matrix, X=matrix.X / np.outer(sd, sd))
            return {"cov": matrix, **self.cov, **self.gate}
        # Rows with gaps are left out here, where they are counted as the file does.
        missing = {} if self.missing in (None, "listwise") else {"missing": self.missing}
        gate = {**missing, **self.gate}
        rows = _Rows(self, options, look=chosen is None)
        if len(self.paths) == 1:
            table = rows.usable(Piece(self.paths[0], 0, read_file(self.paths[0], options)))
        else:
            found = read_once((rows.usable(p) for p in read_pieces(self.paths, options)), **gate)
            if isinstance(found, Sums):
                rows.tell()
                return {"data": self._moments_of(found)}
            table = Table(found.names, found.values)
        rows.tell()
        if self.standardize:
            table = self._rescaled(table, _standardized)
        return {"data": table, **gate}

    def _rescaled(self, table: Table, change: Callable[[Table], Table]) -> Table:
        """Change the measurements; categories and weights are what they are."""
        measured = self.measured(table)
        X = table.X.copy()
        X[:, [table.names.index(name) for name in measured.names]] = change(measured).X
        return replace(table, X=X)

    def measured(self, table: Table) -> Table:
        """Return the columns that are neither categories nor weights."""
        apart = {*self.gate.get("ordinal", ()), self.gate.get("weights")}
        kept = [k for k, name in enumerate(table.names) if name not in apart]
        if len(kept) == len(table):
            return table
        return Table(tuple(table.names[k] for k in kept), table.X[:, kept])

    def _moments_of(self, sums: Sums) -> Moments:
        """Return the moments of a table that is too large for memory."""
        found = read_moments(sums, **self.gate)
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
                say(f"Warning: {sentence}", err=True)
            self.look = False
        if self.source.log:
            table = self.source._rescaled(table, _logarithm)
        return table

    def tell(self) -> None:
        """Say how many rows were left out, and refuse to go on with none."""
        if not self.dropped:
            return
        say(f"dropped {self.dropped} of {self.seen} rows: missing values", err=True)
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
        in_order = "ordinal" in self.source.gate or "correlation" in self.source.gate
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


_OPTIONS = (
    # at the gate for data
    click.option(
        "--shrinkage",
        type=Shrinkage(),
        metavar="A",
        help="Multiply covariances by 1 - A, where rows are few; 'auto' is Ledoit and Wolf's A.",
    ),
    click.option("--weights", metavar="NAME", help="The column that has sampling weights."),
    click.option(
        "--correlation",
        type=click.Choice(["pearson", "spearman", "kendall"]),
        help="Ranks in place of numbers: for monotone functions of normal variables.",
    ),
    click.option(
        "--ordinal",
        multiple=True,
        metavar="A,B,...|A=LOW,...,HIGH",
        help="These columns have ordered categories: numbers, or words in the order given.",
    ),
    click.option("--drop-missing", is_flag=True, help="Short for --missing listwise."),
    click.option(
        "--missing",
        type=click.Choice(["fiml", "two-stage", "listwise"]),
        help="Missing values: use all cells that are there (in one step or in two), or leave out "
        "rows with gaps.",
    ),
    # what to do with the numbers
    click.option("--standardize", is_flag=True, help="Scale all variables to variance one."),
    click.option("--log", is_flag=True, help="Take logarithms of all variables first."),
    # how the file is written, and what to read of it
    click.option("--sheet", help="Sheet of a workbook."),
    click.option("--encoding", help="Encoding of a text file, such as cp1252. [default: UTF-8]"),
    click.option(
        "--decimal",
        type=click.Choice(["point", "comma"]),
        help="Decimal mark, if the file does not show it.",
    ),
    click.option(
        "--separator",
        type=click.Choice(list(SEPARATORS)),
        help="What stands between cells, if the file does not show it.",
    ),
    click.option(
        "--na", multiple=True, metavar="TEXT", help="Text that stands for a missing value."
    ),
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
    click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)),
)


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DATA and its options to a command; see `read_source`."""
    for option in _OPTIONS:
        command = option(command)
    return command


def read_source(
    *,
    data: tuple[Path, ...],
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
    missing: str | None,
    drop_missing: bool,
    ordinal: tuple[str, ...],
    correlation: str | None,
    weights: str | None,
    shrinkage: float | str | None,
) -> Source:
    """Return what the options of `data_options` say; the file is not read yet."""
    if cov and n is None:
        raise click.UsageError("--cov needs --n, the number of observations")
    for name, given in {"--n": n is not None, "--ddof": ddof is not None}.items():
        if given and not cov:
            raise click.UsageError(f"{name} belongs to --cov; the rows of DATA are counted")
    if drop_missing:
        if missing not in (None, "listwise"):
            raise click.UsageError(f"choose one of --drop-missing and --missing {missing}")
        missing = "listwise"
    needs_rows = {
        "--log": log,
        "--missing": missing is not None,
        "--ordinal": bool(ordinal),
        "--correlation": correlation is not None,
        "--weights": weights is not None,
        "--shrinkage auto": shrinkage == "auto",
    }
    for name, given in needs_rows.items():
        if given and cov:
            raise click.UsageError(f"{name} needs observations; DATA is a covariance matrix")
    paths = data_files(data)
    if cov and len(paths) > 1:
        raise click.UsageError(f"--cov needs one file with a covariance matrix, not {len(paths)}")
    chosen = None if columns is None else _names(columns)
    left_out = () if drop is None else _names(drop)
    ordered, orders = _ordered(ordinal)
    read = ReadOptions(
        chosen, left_out, na, separator, decimal, encoding, sheet, orders, written="--{}"
    )
    matrix = {"n": n, "ddof": 1 if ddof is None else int(ddof)} if cov else None
    _check_together(missing, bool(ordinal), correlation, weights)
    words = {
        "ordinal": ordered or None,
        "correlation": correlation,
        "weights": weights,
        "shrinkage": shrinkage,
    }
    gate = {name: value for name, value in words.items() if value is not None}
    return Source(paths, read, matrix, log, standardize, missing, gate)


def _check_together(
    missing: str | None, ordinal: bool, correlation: str | None, weights: str | None
) -> None:
    """Refuse what the gate for data would refuse, in the words of the command line."""
    ranks = None if correlation in (None, "pearson") else f"--correlation {correlation}"
    order = "--ordinal" if ordinal else ranks
    if order is None:
        return
    if ordinal and ranks is not None:
        raise click.UsageError(
            f"choose one of --ordinal, whose correlations are polychoric, and {ranks}"
        )
    if missing in ("fiml", "two-stage"):
        raise click.UsageError(
            f"--missing {missing} is for covariances of numbers; with {order} use --missing "
            "listwise"
        )
    if weights is not None:
        raise click.UsageError(f"--weights are for covariances of numbers, and not for {order}")


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


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _scales(variances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standard deviations; where there is none, 1: the gate for data names the column."""
    usable = np.isfinite(variances) & (variances > 0)
    return np.sqrt(np.where(usable, variances, 1.0))


def _standardized(table: Table) -> Table:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # No rows, columns without values, or values too large to square: the gate says so.
        warnings.simplefilter("ignore", RuntimeWarning)
        return replace(table, X=table.X / _scales(np.nanvar(table.X, axis=0)))


def _logarithm(table: Table) -> Table:
    for name in table.names:
        # A column without values has no smallest one; the gate for data says what it lacks.
        smallest = np.fmin.reduce(table[name], initial=np.inf)
        if smallest <= 0:
            raise DataError(
                f"--log: column {name!r} has the value {smallest:g}, which has no logarithm; "
                "choose other --columns, or leave --log out"
            )
    return replace(table, X=np.log(table.X))
