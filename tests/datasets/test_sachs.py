"""The protein data: read from the right place, and only when they are the right ones."""

import hashlib
import http.server
import io
import sys
import threading
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import bowfree as bf
from bowfree.datasets import sachs
from sachs_folder import SACHS, needs_sachs

ROWS = "praf,pmek\n1,10\n2,30.5\n"


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """Hide copies of the data that this machine may have, and the network."""
    monkeypatch.delenv("BOWFREE_DATA", raising=False)
    if find_spec("pooch"):
        monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # Port 9 (discard) is below those that servers of tests get: no answer.
    monkeypatch.setattr(sachs, "SOURCE", "http://127.0.0.1:9/data-raw/")


def pma(csv, xls=b""):
    """Return condition 13 with other files in the place of its own."""
    sums = [hashlib.sha256(content).hexdigest() for content in (csv, xls)]
    return sachs.SachsCondition(13, "pma", 2, sums[0], "8. pma.xls", sums[1])


def replace_condition_13(monkeypatch, condition):
    known = sachs.SACHS_CONDITIONS
    monkeypatch.setattr(sachs, "SACHS_CONDITIONS", (*known[:12], condition, known[13]))


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a folder with a tiny file in the place of condition 13."""
    folder = tmp_path / "data"
    folder.mkdir()
    replace_condition_13(monkeypatch, pma(ROWS.encode()))
    (folder / "13_pma.csv").write_bytes(ROWS.encode())
    return folder


def test_logarithms_of_the_file(fake):
    raw = bf.datasets.load_sachs(13, folder=fake, log=False)
    assert raw.names == ("praf", "pmek")
    assert raw.X.tolist() == [[1, 10], [2, 30.5]]
    assert np.array_equal(bf.datasets.load_sachs("pma", folder=fake).X, np.log(raw.X))


def test_folder_from_the_environment(fake, monkeypatch):
    monkeypatch.setenv("BOWFREE_DATA", str(fake.parent))
    with pytest.raises(bf.BowfreeError, match=r"was found in .* .from BOWFREE_DATA"):
        bf.datasets.load_sachs(13)
    fake.rename(fake.parent / "sachs")
    assert len(bf.datasets.load_sachs(13).X) == 2


def write_xls(margin=False):
    """Return ROWS as an .xls file with the header's case mixed, perhaps with blank cells around."""
    xlwt = pytest.importorskip("xlwt")
    pytest.importorskip("xlrd")
    book = xlwt.Workbook()
    sheet = book.add_sheet("cells")
    for k, row in enumerate([("praf", "PMEK"), (1, 10), (2, 30.5), *[("", "")] * margin]):
        for j, cell in enumerate([*row, *[""] * margin]):
            sheet.write(k, j, cell)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Return a folder that is served in place of the public address."""
    pytest.importorskip("pooch")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *args: None)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{running.server_address[1]}/data-raw/"
        monkeypatch.setattr(sachs, "SOURCE", address)
        (tmp_path / "data-raw").mkdir()
        yield tmp_path / "data-raw"
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("margin", [False, True])
def test_download_once(served, monkeypatch, margin):
    xls = write_xls(margin)
    (served / "8. pma.xls").write_bytes(xls)
    replace_condition_13(monkeypatch, pma(ROWS.encode(), xls))
    first = bf.datasets.load_sachs(13, log=False)
    assert first.names == ("praf", "pmek")
    assert first.X.tolist() == [[1, 10], [2, 30.5]]
    (served / "8. pma.xls").unlink()
    assert np.array_equal(bf.datasets.load_sachs(13, log=False).X, first.X)


def test_original_file_in_a_folder(monkeypatch, tmp_path):
    xls = write_xls()
    replace_condition_13(monkeypatch, pma(ROWS.encode(), xls))
    (tmp_path / "8. pma.xls").write_bytes(xls)
    assert bf.datasets.load_sachs(13, folder=tmp_path).names == ("praf", "pmek")
    assert not list(tmp_path.glob("*.csv"))  # the user's folder is left as it is


@pytest.mark.parametrize(
    ("content", "csv", "problem"),
    [
        (b"<html>", ROWS, r"'8. pma.xls' could not be downloaded .*hash"),
        (None, ROWS, r"'8. pma.xls' could not be downloaded .404.*BOWFREE_DATA"),
        ("xls", "other", r"the CSV of .* has the SHA-256 sum"),
    ],
)
def test_bad_download(served, monkeypatch, content, csv, problem):
    xls = write_xls()
    if content is not None:
        (served / "8. pma.xls").write_bytes(xls if content == "xls" else content)
    replace_condition_13(monkeypatch, pma(csv.encode(), xls))
    with pytest.raises(bf.BowfreeError, match=problem):
        bf.datasets.load_sachs(13)


def test_missing_extras(monkeypatch, tmp_path):
    replace_condition_13(monkeypatch, pma(ROWS.encode()))
    (tmp_path / "8. pma.xls").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "xlrd", None)
    with pytest.raises(bf.BowfreeError, match=r'needs xlrd: pip install "bowfree\[data\]"'):
        bf.datasets.load_sachs(13, folder=tmp_path)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(bf.BowfreeError, match=r'pooch.*pip install "bowfree\[data\]"; or get'):
        bf.datasets.load_sachs(13)


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
        (13, corrupt, "", "has the SHA-256 sum .* expected"),
        (12, nothing, "", r"12_cd3cd28\+ly.csv nor '7. cd3cd28\+ly.xls' was found in .*data .from"),
        (13, nothing, "missing", "missing .from folder=., which does not exist"),
    ],
)
def test_bad_input(fake, condition, before, inside, problem):
    before(fake)
    with pytest.raises(bf.BowfreeError, match=problem):
        bf.datasets.load_sachs(condition, folder=fake / inside)
