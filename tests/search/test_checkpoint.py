"""Checkpoints: a search that was broken off ends as if it had not been; a wrong file is refused."""

import json

import pytest

import bowfree as bf
from search_cases import essence, simulate

S, _ = simulate(21, 7)
SEARCH = {"cov": S, "n": 1000, "restarts": 8, "rounds": 2, "rng": 3}


class Broken(Exception):
    pass


def break_after(n_runs):
    """Return a progress callback that breaks the search after so many runs."""

    def progress(report):
        if report.done >= n_runs:
            raise Broken

    return progress


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.json"


@pytest.mark.parametrize("n_runs", [1, 6, 13])
def test_resumed_search_ends_like_an_unbroken_one(path, n_runs, monkeypatch):
    monkeypatch.setattr("bowfree.search.conductor.SAVE_EVERY", 0.0)
    unbroken = bf.greedy_search(**SEARCH)
    with pytest.raises(Broken):
        bf.greedy_search(**SEARCH, checkpoint=path, progress=break_after(n_runs))
    kept = json.loads(path.read_text())["runs"]
    assert n_runs <= len(kept) < len(unbroken.runs)
    resumed = bf.greedy_search(**SEARCH, checkpoint=path, n_jobs=2)
    assert essence(resumed) == essence(unbroken)
    # Once finished there is nothing left to do, and rng=None takes the seed from the file.
    again = bf.greedy_search(**(SEARCH | {"rng": None}), checkpoint=path)
    assert essence(again) == essence(unbroken)


def test_time_limit_leaves_a_checkpoint_to_go_on_from(path):
    unbroken = bf.greedy_search(**SEARCH)
    cut = bf.greedy_search(**SEARCH, checkpoint=path, time_limit=0.01)
    assert not cut.complete
    assert essence(bf.greedy_search(**SEARCH, checkpoint=path)) == essence(unbroken)


def cut_short(text):
    return text[: len(text) // 2]


def of_another_version(text):
    return text.replace("checkpoint 1", "checkpoint 0")


@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [
        (cut_short, {}, "not a complete checkpoint"),
        (lambda text: "[]", {}, "not a complete checkpoint"),
        (lambda text: "x1,x2\n1,2\n", {}, "another kind of file"),
        (of_another_version, {}, "written by another version"),
        (str, {"cov": 2 * S}, "belongs to another search: its data"),
        (str, {"n": 999}, "belongs to another search: its data"),
        (str, {"penalty": 0.5}, "belongs to another search: its options"),
        (str, {"knowledge": bf.Knowledge(unconfounded=["x1"])}, "its space"),
        (str, {"rng": 4}, "another rng"),
    ],
)
def test_wrong_file_is_refused_and_left_alone(path, spoil, options, message):
    bf.greedy_search(**SEARCH, checkpoint=path)
    path.write_text(spoil(path.read_text()))
    before = path.read_bytes()
    with pytest.raises(bf.CheckpointError, match=message):
        bf.greedy_search(**(SEARCH | options), checkpoint=path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
