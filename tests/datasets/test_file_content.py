"""Large files are fetched on threads: byte by byte what one thread would have read."""

import os

import numpy as np
import pytest

from bowfree import _core
from bowfree.datasets import unpacking
from bowfree.datasets.tables import read_table

PIECE = 2**23  # bytes that a thread reads at a time


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 12_345])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_the_bytes_are_those_of_the_file(tmp_path, size, n_threads):
    path = tmp_path / "bytes \u00e9"
    content = np.random.default_rng(size).bytes(size)
    path.write_bytes(content)
    assert _core.read_file(path, size, n_threads) == content


def test_a_file_that_has_become_shorter_is_not_made_up(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"x" * PIECE)
    assert _core.read_file(path, PIECE + 1, 2) is None
    assert _core.read_file(tmp_path / "not there", 10, 2) is None


def test_tables_come_by_this_way(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1.5,2\n" * 1000, encoding="utf-8")
    asked, by_the_core = [], _core.read_file

    def read_file(path, size, n_threads):
        asked.append(size)
        return by_the_core(path, size, n_threads)

    monkeypatch.setattr(unpacking, "_LARGE", 1000)
    monkeypatch.setattr(_core, "read_file", read_file)
    table = read_table(path)
    assert asked == [path.stat().st_size]
    assert table["x"].tolist() == [1.5] * 1000


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_refused_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_LARGE", 1)
    path = tmp_path / "table.csv"
    path.write_text("x\n1\n", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(PermissionError):
        read_table(path)
