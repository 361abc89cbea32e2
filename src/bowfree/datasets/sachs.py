"""Flow cytometry of Sachs et al. (2005): 11 proteins in human T-cells under 14 conditions.

The data of section 4.2 of the paper. They are not part of bowfree: `load_sachs` reads them from a
folder that you name, from the folder in the environment variable ``BOWFREE_DATA``, or from the
folder where pooch keeps downloads (``pip install bowfree[data]``), in this order. Each condition is
one CSV file with raw intensities; the header is in lower case. The files are compared with the
SHA-256 sums below (our own measurement) before a number is read, because a study on the wrong data
looks like any other.

The authors of the paper publish the same numbers as .xls files in ``data-raw`` of their R package
greedyBAPs. There is no public address of the CSV files that we know of, hence no download: see
`load_sachs` for what to do.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bowfree.errors import BowfreeError, DataError
from bowfree.tables import Table, parse_table

__all__ = ["SACHS_CONDITIONS", "SachsCondition", "load_sachs"]

VARIABLE = "BOWFREE_DATA"


@dataclass(frozen=True)
class SachsCondition:
    """One of the 14 experiments.

    Attributes
    ----------
    number : int
        In the paper's order.
    name : str
        In the paper's spelling.
    n : int
        Number of cells.
    sha256 : str
        Of the CSV file.
    """

    number: int
    name: str
    n: int
    sha256: str

    @property
    def file(self) -> str:
        """Name of the CSV file."""
        return f"{self.number:02}_{self.name}.csv"


SACHS_CONDITIONS: tuple[SachsCondition, ...] = tuple(
    SachsCondition(number, name, n, sha256)
    for number, (name, n, sha256) in enumerate(
        [
            ("cd3cd28", 853, "bc5b02b7c6f3e64200dba1bce832608379058a83de3c024b3c483d941ee1b4e5"),
            (
                "cd3cd28icam2+aktinhib",
                899,
                "90f0e982e80788bc0514bb01a33ef98ad697462417b1d2459c4da8e1c3960dc4",
            ),
            (
                "cd3cd28icam2+g0076",
                753,
                "c86e601d7acfa5c783c9458b4d0f7b0e5b2003f7b7de308b09f2211c7f9fa145",
            ),
            (
                "cd3cd28icam2+psit",
                868,
                "bae682c1d1746a3960d91f20c48d280aadcd534c3bd66f6adbc30f03fade74c0",
            ),
            (
                "cd3cd28icam2+u0126",
                759,
                "1e9a3db72bb7a1884a5db6b81b484eef833ee93766b106b93c1c520d6e9c0507",
            ),
            (
                "cd3cd28icam2+ly",
                927,
                "e89c65ca2ee7e5e7faeaa7d858ef81c3c55baf0325f3a3bc153fab942c79eead",
            ),
            (
                "cd3cd28icam2",
                902,
                "b061f9d12e577e3db27212011f5e250e98a8d1c9c82d499e8a52fd97a8641c15",
            ),
            (
                "cd3cd28+aktinhib",
                911,
                "f00bd8b73bbbf909fdf60457e2acc544960539bbdf5839aa1213580509d18d59",
            ),
            (
                "cd3cd28+g0076",
                723,
                "46735a5a35251cef91111c1540eaa0bc03408af079356520b3d673f6884372d8",
            ),
            (
                "cd3cd28+psitect",
                810,
                "fff8d40e2c68fcce5e70d7a8db4c65f495814baca7395e78cd1ab5cffaa851df",
            ),
            (
                "cd3cd28+u0126",
                799,
                "84a4e6443cc9b44e3bbc9fe8a6d137e37a7243a8db4ba51dba8b525e04abcf9e",
            ),
            ("cd3cd28+ly", 848, "63e0f487c988c5cac620d7b4eafe6d84b7db10b1633ce6dd555f45ce342c6fa0"),
            ("pma", 913, "0d93cff4dac13678d3e4c54e5285c575a464f94fc2ac93c831047cea8a54246b"),
            ("b2camp", 707, "b8c65eca58d91348a19992df1221e7339690cb074a678c1ca54fe0e26d76bf16"),
        ],
        start=1,
    )
)
"""The conditions in the order of the paper."""


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
        Where the CSV files are. By default the folder in the environment variable
        ``BOWFREE_DATA`` (or ``sachs`` inside it), else pooch's cache for bowfree.

    Returns
    -------
    Table
        707 to 927 rows, 11 columns.

    Raises
    ------
    BowfreeError
        No such condition, or no copy of the file; the message says where to put it.
    DataError
        The file is not the one that was used here (its SHA-256 sum differs).

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
    path = _locate(wanted, folder)
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != wanted.sha256:
        raise DataError(
            f"{path} is not the file that was used here: its SHA-256 sum is {found}, expected "
            f"{wanted.sha256}; get a fresh copy (read_table of bowfree.tables reads any CSV "
            "without this check)"
        )
    table = parse_table(content.decode("utf-8"), what=path.name)
    return Table(table.names, np.log(table.X)) if log else table


def find_condition(condition: int | str) -> SachsCondition:
    """Return the condition of a number or name, or an error that lists them all."""
    for known in SACHS_CONDITIONS:
        # True == 1, but nobody means condition 1 by it.
        if condition in (known.number, known.name) and not isinstance(condition, bool):
            return known
    names = ", ".join(f"{known.number}: {known.name}" for known in SACHS_CONDITIONS)
    raise BowfreeError(f"there is no condition {condition!r}; choose one of {names}")


def _locate(condition: SachsCondition, folder: str | os.PathLike[str] | None) -> Path:
    """Return the path of a condition's file; a folder that is named is the only one looked at."""
    if folder is not None:
        places, origin = [Path(folder)], "folder="
    elif os.environ.get(VARIABLE):
        base = Path(os.environ[VARIABLE])
        places, origin = [base, base / "sachs"], VARIABLE
    else:
        places, origin = _cache(), ""
    for place in places:
        if (place / condition.file).is_file():
            return place / condition.file
    if origin and not places[0].is_dir():
        raise BowfreeError(
            f"the data folder {places[0]} (from {origin}) does not exist; it should hold "
            f"{condition.file} and the like"
        )
    looked = " and ".join(str(place) for place in places) or "nowhere (pooch is not installed)"
    raise BowfreeError(
        f"{condition.file} was not found; looked in {looked}. bowfree does not ship these data and "
        "no public address of the CSV files is known: convert the .xls files in data-raw of the R "
        f"package greedyBAPs, and name the folder by folder=... or by the variable {VARIABLE}"
    )


def _cache() -> list[Path]:
    """Return pooch's folder for bowfree, where a copy may have been put by hand."""
    try:
        import pooch
    except ImportError:
        return []
    return [Path(pooch.os_cache("bowfree")) / "sachs"]
