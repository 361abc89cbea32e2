"""Options for data: tables of observations, covariance matrices, and conditions.

The options of all commands that read data are in `data_options` and `condition_options`;
:func:`read_source` returns their values as a :class:`Source`, which reads the files.
"""

from __future__ import annotations

import itertools
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

from bowfree.cli import options as opt
from bowfree.cli.terminal import naming, say
from bowfree.data.covariance import unusable_columns
from bowfree.data.diagnostics import describe_odd_columns, odd_columns
from bowfree.data.frames import Table, drop_call
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.streaming import Sums
from bowfree.datasets.files import (
    Piece,
    data_files,
    read_file,
    read_labels,
    read_matrix,
    read_pieces,
    row_places,
)
from bowfree.datasets.tables import ReadOptions
from bowfree.errors import DataError
from bowfree.formats.csv_text import CsvReader
from bowfree.parameters import Kind, Means
from bowfree.text_reading import join_names, read_text, truncate

if TYPE_CHECKING:
    from bowfree.data.conditions import Condition

Floats = npt.NDArray[np.float64]


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
    conditions: str | None = None  # the column that names the condition of each row
    targets: Path | None = None
    kind: Kind = "perfect"
    means: Means = "free"
    clusters: str | None = None

    @property
    def name(self) -> str:
        """The file, or the first one of several."""
        others = len(self.paths) - 1
        return self.paths[0].name + (f" and {others} more" if others else "")

    def arguments(
        self, needed: Sequence[str] | None = None, *, rows: bool = False
    ) -> dict[str, Any]:
        """Read the files, and return the data arguments of ``fit`` and ``greedy_search``.

        Only columns that are `needed` are read: others may contain names or dates. Nominal columns
        and clusters are options of few functions; moments are returned unless `rows` are wanted.
        """
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
        options = self.options | ({} if self.missing is None else {"missing": self.missing})
        if len(self.paths) == 1:
            pieces = iter([Piece(self.paths[0], 0, read_file(self.paths[0], read))])
        else:
            pieces = read_pieces(self.paths, read)
        prepared = self._prepared(pieces, read, warn=chosen is None)
        table: Any = next(prepared)
        if len(self.paths) > 1:
            table = DataOptions(**options).read_table(itertools.chain([table], prepared))
            if isinstance(table, Sums):
                return {"data": self._moments_of(table)}
        complete = np.ones(len(table.X), dtype=bool)
        if self.missing == "listwise":  # dropped here, and not by the library, to be counted
            complete = ~np.isnan(table.X).any(axis=1)
            del options["missing"]
        if not complete.all():
            say(f"dropped {(~complete).sum()} of {len(complete)} rows: missing values")
            table = replace(table, X=table.X[complete])
        if self.standardize:
            table = self._change(table, _standardized)
        if self.conditions is not None:
            parts = self._split(table, self._labels(self.conditions)[complete])
            return {"data": parts, "means": self.means, **options}
        if self.clusters is not None:
            options["clusters"] = self._labels(self.clusters)[complete]
        if {"nominal", "clusters", "errors"} & {*options} and not rows:
            return {"data": DataOptions(**options).read(table)}
        return {"data": table, **options}

    def _prepared(self, pieces: Iterator[Piece], read: ReadOptions, warn: bool) -> Iterator[Table]:
        """Check for missing values and odd columns, and take logarithms, as the options say."""
        for piece in pieces:
            table = piece.table
            if self.missing is None and np.isnan(table.X).any():
                raise self._missing_values(piece, read)
            if warn:
                measured = self._measured(table)
                odd = odd_columns([table.names[k] for k in measured], table.X[:, measured])
                for sentence in describe_odd_columns(odd):
                    say(f"Warning: {sentence}")
                warn = False
            if self.log:
                for k in self._measured(table):
                    smallest = np.fmin.reduce(table.X[:, k], initial=np.inf)
                    if smallest <= 0:
                        raise DataError(
                            f"--log: column {table.names[k]!r} has the value {smallest:g}, which "
                            "has no logarithm; choose other --columns, or omit --log"
                        )
                table = self._change(table, np.log)
            yield table

    def _missing_values(self, piece: Piece, read: ReadOptions) -> DataError:
        """Return the error for missing values, with the lines of the file."""
        missing = np.isnan(piece.table.X)
        columns = np.flatnonzero(missing.any(axis=0)).tolist()
        first = [piece.begun + int(missing[:, k].argmax()) for k in columns]
        where = [
            f"{piece.table.names[k]} ({np.count_nonzero(missing[:, k])}, first in {place})"
            for k, place in zip(columns, row_places(piece.path, read, first), strict=True)
        ]
        use = "pairwise" if "ordinal" in self.options else "fiml"
        only = "correlation" in self.options or self.conditions is not None
        fiml = "" if only else f"--missing {use} uses all observed values, "
        message = (
            f"{piece.path.name}: missing values in {join_names(where)}; {fiml}--missing listwise "
            f"drops incomplete rows ({np.count_nonzero(missing.any(axis=1))} of {len(missing)}), "
            "--drop leaves out columns"
        )
        problems, drop = unusable_columns(piece.table.names, piece.table.X)
        if drop:
            message = f"{'; '.join([message, *problems])}; to drop these: {drop_call(drop)}"
        return DataError(message)

    def _measured(self, table: Table) -> list[int]:
        """Return the positions of the columns that are neither categories nor weights."""
        others = {*self.options.get("ordinal", ()), self.options.get("weights"), *table.categories}
        return [k for k, name in enumerate(table.names) if name not in others]

    def _change(self, table: Table, function: Callable[[Floats], Floats]) -> Table:
        """Apply a function to the measured columns."""
        X, measured = table.X.copy(), self._measured(table)
        X[:, measured] = function(X[:, measured])
        return replace(table, X=X)

    def _labels(self, column: str) -> npt.NDArray[np.object_]:
        """Return the entries of a column of text, None where they are missing."""
        labels = [x for path in self.paths for x in read_labels(path, column, self.read)]
        return np.array([x or None for x in labels], dtype=object)

    def _split(self, table: Table, labels: npt.NDArray[np.object_]) -> list[Condition]:
        """Return one condition for each label, with the targets that the file names."""
        from bowfree.data.conditions import conditions

        column, targets = str(self.conditions), None
        if self.targets is not None:
            try:
                targets = tomllib.loads(read_text(self.targets))
            except (ValueError, RecursionError) as error:
                reason = truncate(str(error))
                raise DataError(f"{self.targets.name} is not valid TOML: {reason}") from None
        columns = {name: values for name, values in table.items() if name != column}
        with naming("--targets"):
            return conditions(
                {**columns, column: labels}, column=column, targets=targets, kind=self.kind
            )

    def _moments_of(self, sums: Sums) -> Moments:
        """Return the moments of a table that is too large for memory."""
        if self.conditions is not None:
            raise click.UsageError("--conditions needs all rows, and these files exceed the memory")
        if sums.n_dropped:
            say(f"dropped {sums.n_dropped} rows: missing values")
        found = DataOptions(**self.options).read(sums)
        sd = np.sqrt(np.diag(found.S)) if self.standardize else np.ones(len(found.S))
        mean = None if found.mean is None else found.mean / sd
        return Moments(found.names, found.S / np.outer(sd, sd), found.n, mean)


def _names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; those that contain commas are in double quotes."""
    rows = list(CsvReader(text, what="the list of names"))
    return tuple(rows[0].cells) if rows else ("",)


data_options = opt.group(
    click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)),
    opt.options("""
--cov flag | DATA is a covariance matrix; needs --n.
n
ddof
--columns A,B,... | Use only these columns.
--drop A,B,... | Leave out these columns.
--na TEXT* | A code for missing values.
--separator {comma,semicolon,tab,space} | Separator of cells.
--decimal {point,comma} | Decimal mark.
--encoding TEXT | Encoding of a text file, such as cp1252. [default: UTF-8]
--comment TEXT | Skip lines that begin with this. [default: # before the header]
--sheet TEXT | Sheet of a workbook.
--log flag | Take logarithms of all variables.
--standardize flag | Scale all variables to variance one.
missing
--drop-missing flag | Short for --missing listwise.
--ordinal A,B,...|A=LOW,...,HIGH* | Columns of ordered categories: numbers, or words in the order
    given.
--nominal A,B,...* | Columns of unordered categories, words or numbers; True and False need no
    option.
--clusters COLUMN | Column of the clusters of rows that may be dependent, such as persons or
    schools.
errors
correlation
--weights NAME | Column that contains sampling weights.
shrinkage
"""),
)
condition_options = opt.options("""
--conditions/condition_column COLUMN | Column that names the condition, batch or experiment of each
    row.
--targets/targets_file FILE | TOML file with the targets of interventions, as in
    inhibitor = ["mek"].
kind
means
""")


def read_source(given: dict[str, Any]) -> Source:
    """Return the values of `data_options` and `condition_options`; no file is read yet."""
    value = given.pop
    cov, n, ddof, missing, log = (value(k) for k in ("cov", "n", "ddof", "missing", "log"))
    if value("drop_missing"):
        both = missing not in (None, "listwise")
        opt.refuse({f"choose one of --drop-missing and --missing {missing}": both})
        missing = "listwise"
    paths = data_files(value("data"))
    column, targets = value("condition_column", None), value("targets_file", None)
    means, kind = value("means", "free"), value("kind", "perfect")
    ordered, orders = _ordered(value("ordinal"))
    clusters = value("clusters")
    nominal = tuple(name for names in value("nominal") for name in _names(names))
    counted = "belongs to --cov; the rows of DATA are counted"
    observed = "needs observations; DATA is a covariance matrix"
    named = "needs --conditions, the column that names the conditions"
    opt.refuse(
        {
            "--cov needs --n, the number of observations": cov and n is None,
            f"--n {counted}": n is not None and not cov,
            f"--ddof {counted}": ddof is not None and not cov,
            f"--cov needs one file with a covariance matrix, not {len(paths)}": cov
            and len(paths) > 1,
            f"--targets {named}": column is None and targets is not None,
            f"--means {named}": column is None and means != "free",
            f"--log {observed}": cov and log,
            f"--missing {observed}": cov and missing,
            f"--conditions {observed}": cov and column,
            "--conditions needs complete rows; pass --missing listwise": column is not None
            and missing not in (None, "listwise"),
            "--nominal needs one table of observations, without --conditions": nominal
            and (cov or column is not None),
            "--clusters needs one table of observations, without --conditions": clusters is not None
            and (cov or column is not None),
        }
    )
    columns, drop = (
        None if (names := value(name)) is None else _names(names) for name in ("columns", "drop")
    )
    reading = {k: value(k) for k in ("na", "separator", "decimal", "encoding", "comment", "sheet")}
    read = ReadOptions(
        columns=columns,
        drop=tuple(dict.fromkeys(x for x in (*(drop or ()), column, clusters) if x is not None)),
        ordinal=orders,
        nominal=nominal,
        style="--{}",
        **reading,
    )
    chosen = {k: value(k) for k in ("correlation", "weights", "shrinkage", "errors")}
    chosen |= {"ordinal": ordered or None, "nominal": nominal or None}
    return Source(
        paths,
        read,
        {"n": n, "ddof": int(ddof or 1)} if cov else None,
        log,
        value("standardize"),
        missing,
        {name: choice for name, choice in chosen.items() if choice is not None},
        column,
        targets,
        kind,
        means,
        clusters,
    )


def _ordered(given: Sequence[str]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the columns that ``--ordinal`` names, and the words of those that have words."""
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


def _standardized(X: Floats) -> Floats:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Empty columns, and values too large to square: the library reports them.
        warnings.simplefilter("ignore", RuntimeWarning)
        return X / _scales(np.nanvar(X, axis=0))


def _scales(variances: Floats) -> Floats:
    """Return standard deviations, or 1 for columns that the library rejects later."""
    usable = np.isfinite(variances) & (variances > 0)
    return np.sqrt(np.where(usable, variances, 1.0))
