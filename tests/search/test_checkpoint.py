"""Checkpoints: a search that was broken off ends as if it had not been; a wrong file is refused."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bowfree as bf
from search_cases import essence, simulate

S, _ = simulate(21, 7)
SEARCH = {"cov": S, "n": 1000, "restarts": 8, "rounds": 2, "rng": 3}
SMALL = {"cov": simulate(0, 5)[0], "n": 1000, "rng": 0}


class Broken(Exception):
    pass


def break_after(n_runs):
    """Return a progress callback that breaks the search after so many runs."""

    def progress(report):
        if report.done >= n_runs:
            raise Broken

    return progress


def read(path):
    """Return the content of a checkpoint."""
    return json.loads(path.read_text().splitlines()[1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the checkpoint of a finished search, as bytes."""
    path = tmp_path_factory.mktemp("finished") / "search.json"
    bf.greedy_search(**SEARCH, checkpoint=path)
    return path.read_bytes()


@pytest.mark.parametrize("n_runs", [1, 13])
def test_resumed_search_ends_like_an_unbroken_one(path, n_runs, monkeypatch):
    monkeypatch.setattr("bowfree.search.scheduler.SAVE_SECONDS", 0.0)
    unbroken = bf.greedy_search(**SEARCH)
    with pytest.raises(Broken):
        bf.greedy_search(**SEARCH, checkpoint=path, progress=break_after(n_runs))
    assert n_runs <= len(read(path)["runs"]) < len(unbroken.runs)
    resumed = bf.greedy_search(**SEARCH, checkpoint=path, n_jobs=2)
    assert essence(resumed) == essence(unbroken)
    # Once finished there is nothing left to do, and rng=None takes the seed from the file.
    again = bf.greedy_search(**(SEARCH | {"rng": None}), checkpoint=path)
    assert essence(again) == essence(unbroken)


@pytest.mark.parametrize("n_runs", [3, 26])
def test_the_pool_is_cut_at_the_same_place(path, n_runs, monkeypatch):
    # On these data many graphs have equal scores, and more than `keep` of them are met: which of
    # them stay hangs on the last bit of the scores that the pool is ranked by.
    monkeypatch.setattr("bowfree.search.scheduler.SAVE_SECONDS", 0.0)
    unbroken = bf.greedy_search(**SMALL)
    assert len(unbroken.pool) == 300
    with pytest.raises(Broken):
        bf.greedy_search(**SMALL, checkpoint=path, progress=break_after(n_runs))
    assert bf.greedy_search(**SMALL, checkpoint=path).pool == unbroken.pool


def test_time_limit_leaves_a_checkpoint_to_go_on_from(path):
    unbroken = bf.greedy_search(**SEARCH)
    cut = bf.greedy_search(**SEARCH, checkpoint=path, time_limit=0.01)
    assert not cut.complete
    assert cut.pool  # of runs that were cut short, too...
    finished = len(read(path)["runs"])
    assert finished < len(unbroken.runs)
    if finished == 0:
        assert not read(path)["pool"]  # ...but those do not get into the file
    assert essence(bf.greedy_search(**SEARCH, checkpoint=path)) == essence(unbroken)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_and_resumed():
    """A short version of the script, which says more."""
    script = Path(__file__).parents[1] / "fuzz" / "kill_and_resume.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 ended differently" in done.stdout


@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [
        (lambda text: text[: len(text) // 2], {}, "not a complete checkpoint"),
        (lambda text: "", {}, "not a complete checkpoint"),
        (lambda text: "x1,x2\n1,2\n", {}, "another kind of file"),
        (lambda text: text.replace("0", "1", 40), {}, "damaged"),
        (lambda text: text.replace("checkpoint 5", "checkpoint 1"), {}, "of this version"),
        (str, {"cov": 2 * S}, "belongs to another search: its data"),
        (str, {"n": 999}, "belongs to another search: its data"),
        (str, {"penalty": 0.5}, "belongs to another search: its options"),
        (str, {"knowledge": bf.Knowledge(unconfounded=["x1"])}, "its space"),
        (str, {"rng": 4}, "another rng"),
    ],
)
def test_wrong_file_is_refused_and_left_alone(path, finished, spoil, options, message):
    path.write_text(spoil(finished.decode()))
    before = path.read_bytes()
    with pytest.raises(bf.errors.CheckpointError, match=message):
        bf.greedy_search(**(SEARCH | options), checkpoint=path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# --- files ----------------------------------------------------------------------------------------


def full_disk(*args):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_costs_the_checkpoint_and_not_the_search(path, monkeypatch):
    """The disk is full from the second writing on."""
    fsync, calls = os.fsync, []

    def first_only(handle):
        calls.append(handle)
        return fsync(handle) if len(calls) == 1 else full_disk()

    monkeypatch.setattr("bowfree.search.scheduler.SAVE_SECONDS", 0.0)
    monkeypatch.setattr(os, "fsync", first_only)
    with pytest.warns(
        RuntimeWarning, match="cannot be written .No space left.*continues"
    ) as warned:
        result = bf.greedy_search(**SMALL, checkpoint=path)
    assert len(warned) == 1  # and not at every writing
    assert len(calls) > 2
    assert essence(result) == essence(bf.greedy_search(**SMALL))
    assert list(path.parent.iterdir()) == [path]  # the first one, and nothing half written


def test_a_place_that_cannot_be_written_to_shows_before_the_search(tmp_path):
    for path in (tmp_path / "nowhere" / "search.json", tmp_path):
        with pytest.raises(bf.errors.CheckpointError, match=r"cannot be (written|read)"):
            bf.greedy_search(**SMALL, checkpoint=path, progress=break_after(0))


def test_what_a_killed_search_left_is_removed(path):
    left = path.parent / f".{path.name}.k1ll3d.tmp"
    other = path.parent / f".other-{path.name}.k1ll3d.tmp"
    for file in (left, other):
        file.write_text("half")
    bf.greedy_search(**SMALL, checkpoint=path)
    assert sorted(path.parent.iterdir()) == sorted([path, other])
