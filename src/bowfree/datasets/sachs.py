"""Flow cytometry data of Sachs et al. (2005): 11 proteins in human T cells under 14 conditions.

These are the data of section 4.2 of the paper. They are not part of bowfree. `load_sachs` reads
them from a folder, from the folder in the environment variable ``BOWFREE_DATA``, or from the cache
of pooch (``pip install "bowfree[data]"``), in this order. Files that are not in the cache are
downloaded from the folder ``data-raw`` of the authors' R package greedyBAPs, which has the original
.xls files, and converted to CSV with a header in lower case.

All files are compared with SHA-256 sums before they are used. The sums are those of the original
.xls files and of the CSV files made from them. The paper numbers the conditions in the alphabetical
order of the original files: condition 1 is ``1. cd3cd28.xls``, condition 2 is
``10. cd3cd28icam2+aktinhib.xls``.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from bowfree.data.frames import Table
from bowfree.errors import BowfreeError, DataError
from bowfree.parameters import public
from bowfree.text_reading import short_repr

VARIABLE = "BOWFREE_DATA"
INSTALL = 'pip install "bowfree[data]"'
# One commit of the R package, so that the files cannot change.
SOURCE = (
    "https://raw.githubusercontent.com/cnowzohour/greedyBAPs/"
    "af07b758c28e6b478b9167f827076006746213fb/data-raw/"
)


@dataclass(frozen=True)
class SachsCondition:
    """One of the 14 experiments.

    Attributes
    ----------
    number, name : int, str
        Number and name in the paper.
    n : int
        Number of cells.
    sha256, original, original_sha256 : str
        SHA-256 sum of the CSV file; name and sum of the .xls file in the authors' R package.
    """

    number: int
    name: str
    n: int
    sha256: str
    original: str
    original_sha256: str

    @property
    def file(self) -> str:
        """Name of the CSV file."""
        return f"{self.number:02}_{self.name}.csv"


# Name, number in the original file's name, number of cells; SHA-256 of the CSV, then of the .xls.
_TABLE = """
cd3cd28                 1  853  bc5b02b7c6f3e64200dba1bce832608379058a83de3c024b3c483d941ee1b4e5
                                f40e57e659b1d8223fb483ad49200006bdc676b8280a3c17762e223c02520c9e
cd3cd28icam2+aktinhib  10  899  90f0e982e80788bc0514bb01a33ef98ad697462417b1d2459c4da8e1c3960dc4
                                909524bcb36ea441c2e096d73a582f7e88aa5434687728c76dc08735b7e8427f
cd3cd28icam2+g0076     11  753  c86e601d7acfa5c783c9458b4d0f7b0e5b2003f7b7de308b09f2211c7f9fa145
                                3ecd48a409c69ccbb097047be06aca910d2cff55407f85203104d2af9265e48d
cd3cd28icam2+psit      12  868  bae682c1d1746a3960d91f20c48d280aadcd534c3bd66f6adbc30f03fade74c0
                                2b30765db653bd4c384d29eb7b6495964fcd07959b92e4d6cea218b05cdf5cbb
cd3cd28icam2+u0126     13  759  1e9a3db72bb7a1884a5db6b81b484eef833ee93766b106b93c1c520d6e9c0507
                                2038754399429cbe2d183d5b15e4353d65f0401ab4ce77b1f67781618f893b54
cd3cd28icam2+ly        14  927  e89c65ca2ee7e5e7faeaa7d858ef81c3c55baf0325f3a3bc153fab942c79eead
                                0ac13bc2a4a0f984174ef791e830bbd9a2ac1441ec4fa944015f3895479001ad
cd3cd28icam2            2  902  b061f9d12e577e3db27212011f5e250e98a8d1c9c82d499e8a52fd97a8641c15
                                b3839961a51e3d97c42a4d8f8ce16c628e50e37db21791813d132804d103f57d
cd3cd28+aktinhib        3  911  f00bd8b73bbbf909fdf60457e2acc544960539bbdf5839aa1213580509d18d59
                                f40a5d43fa31ce5a316d01095f686b707122e972048dc8135c88ebe9b6837581
cd3cd28+g0076           4  723  46735a5a35251cef91111c1540eaa0bc03408af079356520b3d673f6884372d8
                                7323337b2345dc44d6e67c60388793773372d044953c2e90efbe369502c17037
cd3cd28+psitect         5  810  fff8d40e2c68fcce5e70d7a8db4c65f495814baca7395e78cd1ab5cffaa851df
                                477e66554a6d6b0f77c3aa199c41d3aac56822d21b6b9b06dfa34c5500172866
cd3cd28+u0126           6  799  84a4e6443cc9b44e3bbc9fe8a6d137e37a7243a8db4ba51dba8b525e04abcf9e
                                aea166819571c2014bf67941808a4505e68d49552ff6bc8069de29aea2ca895b
cd3cd28+ly              7  848  63e0f487c988c5cac620d7b4eafe6d84b7db10b1633ce6dd555f45ce342c6fa0
                                ccb319ebac26d606ec00f69dac69a2315e4cdef6a102adb4047d59f14467f9f6
pma                     8  913  0d93cff4dac13678d3e4c54e5285c575a464f94fc2ac93c831047cea8a54246b
                                184431b6700bf4cd06ac087089e7474bb6383234f172c943496725db99b2d2fc
b2camp                  9  707  b8c65eca58d91348a19992df1221e7339690cb074a678c1ca54fe0e26d76bf16
                                ca52e1116cb41ef3d41dbf45d043b626a04d9ec10dcde2e63747d5502635fdd3
"""


# Five words for each condition, in the order of the paper.
_WORDS = (_TABLE.split()[k::5] for k in range(5))
SACHS_CONDITIONS: tuple[SachsCondition, ...] = tuple(
    SachsCondition(number, name, int(n), sha256, f"{place}. {name}.xls", original_sha256)
    for number, (name, place, n, sha256, original_sha256) in enumerate(
        zip(*_WORDS, strict=True), start=1
    )
)
"""The conditions in the order of the paper."""


def find_condition(condition: int | str) -> SachsCondition:
    """Return a condition by its number or name."""
    for known in SACHS_CONDITIONS:
        if condition in (known.number, known.name) and not isinstance(condition, bool):
            return known
    names = ", ".join(f"{known.number}: {known.name}" for known in SACHS_CONDITIONS)
    raise BowfreeError(f"there is no condition {short_repr(condition)}; choose one of {names}")


@public
def load_sachs(
    condition: int | str, *, log: bool = True, folder: str | os.PathLike[str] | None = None
) -> Table:
    """Load the protein data of one condition.

    Parameters
    ----------
    condition : int or str
        Number from 1 to 14, or name, as in the paper (:data:`SACHS_CONDITIONS`).
    log : bool
        Take logarithms, as the paper does; the intensities are heavily skewed.
    folder : path, optional
        Folder of the files, as CSV (``13_pma.csv``) or as the original ``8. pma.xls``. By default
        the folder in the environment variable ``BOWFREE_DATA`` (or ``sachs`` inside it), or else
        the cache of pooch for bowfree. Files that are not in the cache are downloaded.

    Returns
    -------
    Table
        707 to 927 rows, 11 columns.

    Raises
    ------
    BowfreeError
        If there is no such condition, or its file is neither found nor downloaded.
    DataError
        If the SHA-256 sum of the file is wrong.

    Notes
    -----
    The download and the conversion of .xls files were tested on replacements only. The SHA-256 sums
    protect against wrong data; if a step fails, the message names the folder for the file.

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
    variable = os.environ.get(VARIABLE)
    places = [Path(folder)] if folder is not None else []
    if folder is None and variable:
        places = [Path(variable), Path(variable, "sachs")]
    csv = None if places else _downloaded(wanted)
    for place in places:
        if csv is None and (place / wanted.file).is_file():
            csv = _checked(place / wanted.file, wanted.sha256)
        if csv is None and (place / wanted.original).is_file():
            csv = _converted(place / wanted.original, wanted)
    if csv is None:
        origin = VARIABLE if folder is None else "folder="
        missing = "" if places[0].is_dir() else ", which does not exist"
        raise BowfreeError(
            f"neither {wanted.file} nor {wanted.original!r} was found in "
            f"{' or '.join(map(str, places))} (from {origin}){missing}; without {origin} and with "
            f"{VARIABLE} unset the file is downloaded"
        )
    names = tuple(csv.partition(b"\n")[0].decode().split(","))
    X = np.loadtxt(BytesIO(csv), delimiter=",", skiprows=1, ndmin=2)
    return Table(names, np.log(X) if log else X)


def _downloaded(condition: SachsCondition) -> bytes:
    """Return the CSV of a condition from the cache of pooch, after a download if necessary."""
    remedy = (
        f"get {condition.original!r} from {SOURCE} or from the supplement of Sachs et al. (2005), "
        f"and pass its folder as folder= or in the variable {VARIABLE}"
    )
    try:
        import pooch

        original = pooch.retrieve(
            SOURCE + quote(condition.original),
            known_hash=f"sha256:{condition.original_sha256}",
            fname=condition.original,
            path=Path(pooch.os_cache("bowfree")) / "sachs",
        )
    except ImportError as error:
        raise BowfreeError(
            f"{condition.file} is not part of bowfree, and pooch, which downloads it, is not "
            f"installed: run {INSTALL}; or {remedy}"
        ) from error
    except (OSError, ValueError) as error:  # no network, or a wrong SHA-256 sum
        raise BowfreeError(
            f"{condition.original!r} could not be downloaded ({error}); {remedy}"
        ) from error
    return _converted(Path(original), condition)


def _checked(path: Path, sha256: str) -> bytes:
    """Return the content of a file if its SHA-256 sum is right."""
    return _check_sum(path.read_bytes(), sha256, str(path))


def _check_sum(content: bytes, sha256: str, what: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{what} has the SHA-256 sum {found}, expected {sha256}; get a new copy of the file "
            "(bowfree.datasets.read_table reads any CSV without this check)"
        )
    return content


def _converted(path: Path, condition: SachsCondition) -> bytes:
    """Return the CSV of an original .xls file, whose SHA-256 sum must be right."""
    content = _checked(path, condition.original_sha256)
    try:
        import xlrd
    except ImportError as error:
        raise BowfreeError(f"reading {path} needs xlrd: {INSTALL}") from error
    sheet = xlrd.open_workbook(file_contents=content).sheet_by_index(0)
    csv = _csv([sheet.row_values(row) for row in range(sheet.nrows)])
    return _check_sum(csv, condition.sha256, f"the CSV of {path}, as xlrd reads it,")


def _csv(rows: list[list[Any]]) -> bytes:
    """Return the CSV whose SHA-256 sums are known.

    The header is in lower case. Numbers are written as ``26.4`` and ``17``: the instrument gives
    three or four digits, and ``g`` keeps six. Blank cells at the margins are dropped.
    """
    names = [str(name).strip().lower() for name in rows[0] if name != ""]
    lines = [names, *([f"{x:g}" for x in row[: len(names)]] for row in rows[1:] if row[0] != "")]
    return "".join(",".join(line) + "\n" for line in lines).encode()
