"""Flow cytometry of Sachs et al. (2005): 11 proteins in human T-cells under 14 conditions.

The data of section 4.2 of the paper. They are not part of bowfree. `load_sachs` takes them from a
folder that you name, from the folder in the environment variable ``BOWFREE_DATA``, or from the
folder where pooch keeps downloads (``pip install "bowfree[data]"``), in this order. A file that is
not in pooch's folder yet is downloaded: the authors' R package greedyBAPs has a script that reads
the original .xls files from its folder ``data-raw``, and there they are looked for.

Each condition becomes one CSV file with raw intensities and a header in lower case. What is
downloaded, and what is read, is compared with SHA-256 sums (`bowfree.datasets.sachs_files`) before
a number is used, because a study on the wrong data looks like any other.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from bowfree.datasets.sachs_files import SachsCondition, find_condition
from bowfree.datasets.tables import Table, parse_table
from bowfree.errors import BowfreeError, DataError

VARIABLE = "BOWFREE_DATA"
INSTALL = 'pip install "bowfree[data]"'
# One commit of the R package, so that the files cannot change under us.
SOURCE = (
    "https://raw.githubusercontent.com/cnowzohour/greedyBAPs/"
    "af07b758c28e6b478b9167f827076006746213fb/data-raw/"
)


def load_sachs(
    condition: int | str, *, log: bool = True, folder: str | os.PathLike[str] | None = None
) -> Table:
    """Load the measurements of one condition.

    Parameters
    ----------
    condition : int or str
        Number 1 to 14 or name, as in the paper (:data:`SACHS_CONDITIONS`).
    log : bool
        Take logarithms, as the paper does; the intensities are heavily skewed.
    folder : path, optional
        Where the files are, as CSV (``13_pma.csv``) or as the original ``8. pma.xls``. By default
        the folder in the environment variable ``BOWFREE_DATA`` (or ``sachs`` inside it), else
        pooch's cache for bowfree. Only files missing in the cache are downloaded.

    Returns
    -------
    Table
        707 to 927 rows, 11 columns.

    Raises
    ------
    BowfreeError
        No such condition, or no copy of the file and no download; the message says where to put it.
    DataError
        The file is not the one that was used here (its SHA-256 sum differs).

    Notes
    -----
    Neither the address of the download nor the original .xls files were within reach where this was
    written: both steps were tried on stand-ins only. The sums guard against wrong data; if a step
    does not work for you, the message names the folder to put the file in.

    References
    ----------
    Section 4.2 of the paper. Sachs, Perez, Pe'er, Lauffenburger and Nolan (2005), Science 308.

    Examples
    --------
    >>> import bowfree as bf
    >>> data = bf.datasets.load_sachs("pma", folder=folder)  # doctest: +SKIP
    >>> data  # doctest: +SKIP
    <Table of 913 rows: praf, pmek, plcg, pip2, pip3, p44/42, pakts473, pka, pkc, p38, pjnk>
    """
    wanted = find_condition(condition)
    if folder is not None:
        csv = _from_folder(wanted, [Path(folder)], "folder=")
    elif os.environ.get(VARIABLE):
        base = Path(os.environ[VARIABLE])
        csv = _from_folder(wanted, [base, base / "sachs"], VARIABLE)
    else:
        csv = _from_cache(wanted)
    table = parse_table(csv.decode("utf-8"), what=wanted.file)
    return Table(table.names, np.log(table.X)) if log else table


def _from_folder(condition: SachsCondition, places: list[Path], origin: str) -> bytes:
    """Return the CSV of a condition; a folder that is named is the only one looked at."""
    for place in places:
        if (place / condition.file).is_file():
            return _checked(place / condition.file, condition.sha256)
        if (place / condition.original).is_file():
            return _converted(place / condition.original, condition)
    if not places[0].is_dir():
        raise BowfreeError(
            f"the data folder {places[0]} (from {origin}) does not exist; it should hold "
            f"{condition.file} or {condition.original!r} and the like"
        )
    raise BowfreeError(
        f"neither {condition.file} nor {condition.original!r} was found in "
        f"{' or '.join(map(str, places))} (from {origin}); without {origin} and with "
        f"{VARIABLE} unset the file is downloaded"
    )


def _from_cache(condition: SachsCondition) -> bytes:
    """Return the CSV of a condition from pooch's folder, after a download if it is not there."""
    by_hand = (
        f"get {condition.original!r} from {SOURCE} or from the supplement of Sachs et al. (2005)"
    )
    try:
        import pooch
    except ImportError as error:
        raise BowfreeError(
            f"{condition.file} is not part of bowfree, and pooch, which downloads it, is not "
            f"installed: {INSTALL}; or {by_hand}, and name its folder by folder=... or by the "
            f"variable {VARIABLE}"
        ) from error
    cache = Path(pooch.os_cache("bowfree")) / "sachs"
    path = cache / condition.file
    if path.is_file():
        return _checked(path, condition.sha256)
    try:
        # No network is needed if the .xls file is there and is the right one.
        original = pooch.retrieve(
            SOURCE + quote(condition.original),
            known_hash=f"sha256:{condition.original_sha256}",
            fname=condition.original,
            path=cache,
        )
    except OSError as error:
        raise BowfreeError(
            f"{condition.original!r} could not be downloaded ({error}); {by_hand}, and put it "
            f"in {cache}, or name its folder by folder=... or by the variable {VARIABLE}"
        ) from error
    except ValueError as error:  # pooch's word for a wrong sum
        raise DataError(
            f"the download of {condition.original!r} is not the file that was used here ({error}); "
            f"{by_hand}, and put it in {cache}"
        ) from error
    csv = _converted(Path(original), condition)
    # Another process may do the same: a reader must never see half a file.
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(csv)
    draft.replace(path)
    return csv


def _checked(path: Path, sha256: str) -> bytes:
    """Return a file's content if its SHA-256 sum is right."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{path} is not the file that was used here: its SHA-256 sum is {found}, expected "
            f"{sha256}; delete it or get a fresh copy (bowfree.datasets.read_table reads any CSV "
            "without this check)"
        )
    return content


def _converted(path: Path, condition: SachsCondition) -> bytes:
    """Return the CSV of an original .xls file, which must be the one that was used here."""
    content = _checked(path, condition.original_sha256)
    try:
        import xlrd
    except ImportError as error:
        raise BowfreeError(f"reading {path} needs xlrd: {INSTALL}") from error
    sheet = xlrd.open_workbook(file_contents=content).sheet_by_index(0)
    csv = _csv([sheet.row_values(row) for row in range(sheet.nrows)])
    found = hashlib.sha256(csv).hexdigest()
    if found != condition.sha256:
        raise DataError(
            f"{path} is the right file, but reads as a CSV with SHA-256 sum {found}, not "
            f"{condition.sha256}; this may be a change of xlrd: please report it"
        )
    return csv


def _csv(rows: list[list[Any]]) -> bytes:
    """Return the one spelling of a table that the SHA-256 sums are of.

    The header in lower case; numbers as ``26.4`` and ``17``: the instrument gives three or four
    digits, of which ``g`` keeps six and drops the zeros. Blank cells at the margins, which Excel
    likes to leave, are not part of the table.
    """
    names = [str(name).strip().lower() for name in rows[0] if name != ""]
    lines = [names, *([f"{x:g}" for x in row[: len(names)]] for row in rows[1:] if row[0] != "")]
    return "".join(",".join(line) + "\n" for line in lines).encode()
