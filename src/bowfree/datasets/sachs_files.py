"""The 14 files of Sachs et al. (2005): names, numbers of cells and SHA-256 sums.

The paper numbers the conditions in the alphabetical order of the original files: condition 1 is
``1. cd3cd28.xls``, condition 2 is ``10. cd3cd28icam2+aktinhib.xls``. The sums are our own
measurement, of the original .xls files and of the CSV files that `bowfree.datasets.load_sachs`
makes of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr


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
    original : str
        Name of the .xls file in the authors' R package.
    original_sha256 : str
        Of the .xls file.
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


def _conditions() -> tuple[SachsCondition, ...]:
    """Parse the table above: five words a condition, in the paper's order."""
    words = _TABLE.split()
    return tuple(
        SachsCondition(number, name, int(n), sha256, f"{place}. {name}.xls", original_sha256)
        for number, (name, place, n, sha256, original_sha256) in enumerate(
            zip(*(words[k::5] for k in range(5)), strict=True), start=1
        )
    )


SACHS_CONDITIONS: tuple[SachsCondition, ...] = _conditions()
"""The conditions in the order of the paper."""


def find_condition(condition: int | str) -> SachsCondition:
    """Return the condition of a number or name, or an error that lists them all."""
    for known in SACHS_CONDITIONS:
        # True == 1, but nobody means condition 1 by it.
        if condition in (known.number, known.name) and not isinstance(condition, bool):
            return known
    names = ", ".join(f"{known.number}: {known.name}" for known in SACHS_CONDITIONS)
    raise BowfreeError(f"there is no condition {short_repr(condition)}; choose one of {names}")
