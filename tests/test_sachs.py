"""The protein data: read from the right place, and only when they are the right ones."""

import hashlib
import sys

import numpy as np
import pytest

import bowfree as bf
from bowfree.datasets import sachs
from sachs_folder import SACHS, needs_sachs

ROWS = "praf,pmek\n1,10\n2,30\n"


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """Hide copies of the data that this machine may have."""
    monkeypatch.delenv("BOWFREE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a folder with a tiny file in the place of condition 13."""
    folder = tmp_path / "data"
    folder.mkdir()
    known = sachs.SACHS_CONDITIONS
    pma = sachs.SachsCondition(13, "pma", 2, hashlib.sha256(ROWS.encode()).hexdigest())
    monkeypatch.setattr(sachs, "SACHS_CONDITIONS", (*known[:12], pma, known[13]))
    (folder / "13_pma.csv").write_bytes(ROWS.encode())
    return folder


def test_logarithms_of_the_file(fake):
    raw = bf.datasets.load_sachs(13, folder=fake, log=False)
    assert raw.names == ("praf", "pmek")
    assert raw.X.tolist() == [[1, 10], [2, 30]]
    assert np.array_equal(bf.datasets.load_sachs("pma", folder=fake).X, np.log(raw.X))


@pytest.mark.parametrize("inside", ["", "sachs"])
def test_folder_from_the_environment(fake, monkeypatch, inside):
    if inside:
        (fake / inside).mkdir()
        (fake / "13_pma.csv").rename(fake / inside / "13_pma.csv")
    monkeypatch.setenv("BOWFREE_DATA", str(fake))
    assert len(bf.datasets.load_sachs(13).X) == 2


def test_a_copy_in_the_cache_is_found(fake, monkeypatch):
    monkeypatch.setattr(sachs, "_cache", lambda: [fake])
    assert len(bf.datasets.load_sachs(13).X) == 2


def test_fourteen_conditions_numbered_as_in_the_paper():
    assert [c.number for c in bf.datasets.SACHS_CONDITIONS] == list(range(1, 15))
    assert bf.datasets.SACHS_CONDITIONS[3].file == "04_cd3cd28icam2+psit.csv"
    assert min(c.n for c in bf.datasets.SACHS_CONDITIONS) == 707
    assert max(c.n for c in bf.datasets.SACHS_CONDITIONS) == 927


@needs_sachs
def test_all_files_are_the_ones_measured():
    for condition in bf.datasets.SACHS_CONDITIONS:
        data = bf.datasets.load_sachs(condition.name, folder=SACHS)
        assert data.X.shape == (condition.n, 11)
        assert np.isfinite(data.X).all()


def corrupt(folder):
    (folder / "13_pma.csv").write_text(ROWS + "3,40\n")


def nothing(folder):
    pass


@pytest.mark.parametrize(
    ("condition", "before", "inside", "problem"),
    [
        (15, nothing, "", r"no condition 15; choose one of 1: cd3cd28, .* 14: b2camp"),
        ("PMA", nothing, "", "no condition 'PMA'; choose one of"),
        (True, nothing, "", "no condition True"),
        (13, corrupt, "", "not the file that was used here: its SHA-256 sum is .* expected"),
        (12, nothing, "", r"12_cd3cd28\+ly.csv was not found; looked in .*BOWFREE_DATA"),
        (13, nothing, "missing", "missing .from folder=. does not exist; it should hold 13_pma"),
    ],
)
def test_bad_input(fake, condition, before, inside, problem):
    before(fake)
    with pytest.raises(bf.BowfreeError, match=problem):
        bf.datasets.load_sachs(condition, folder=fake / inside)


def test_no_copy_at_all(monkeypatch):
    with pytest.raises(bf.BowfreeError, match=r"was not found; looked in .*name the folder"):
        bf.datasets.load_sachs(1)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(bf.BowfreeError, match=r"nowhere .pooch is not installed.*name the folder"):
        bf.datasets.load_sachs(1)


def test_missing_folder_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BOWFREE_DATA", str(tmp_path / "gone"))
    with pytest.raises(bf.BowfreeError, match=r"gone .from BOWFREE_DATA. does not exist"):
        bf.datasets.load_sachs(1)
