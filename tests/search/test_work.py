"""A bound on the work of one run: what it cuts off, that it cuts at the same place, and says so.

What is counted is the work behind the scores that a run asks for, whether it was done by the run
itself or is in the memory that all runs share.
"""

import re

import numpy as np
import pytest

import bowfree as bf
from bowfree.search import conductor, plan
from search_cases import essence, simulate

D = 14


@pytest.fixture
def little_work(monkeypatch):
    """Let a run do a hundredth of what it needs here, and leave no work for kicks."""
    monkeypatch.setattr(plan, "work_for", lambda d: 1e5)
    monkeypatch.setattr(conductor, "work_of_search_for", lambda d: 1e5)


@pytest.fixture
def little_work_each(monkeypatch):
    """Let a run do a hundredth of what it needs here."""
    monkeypatch.setattr(plan, "work_for", lambda d: 1e5)


def search(**options):
    S, _ = simulate(3, D, max_in_degree=3)
    return bf.greedy_search(cov=S, n=1000, rng=1, restarts=4, rounds=1, **options)


def test_few_variables_have_no_bound():
    assert plan.work_for(12) == np.inf
    assert plan.work_for(13) < plan.work_for(1000) < np.inf


def test_a_run_that_has_done_its_work_ends_with_the_best_it_has_met(little_work):
    found = search()
    cut = [run for run in found.runs if run.exhausted]
    assert len(cut) > 1
    assert found.complete
    for run in cut:
        assert run.complete
        assert run.score == pytest.approx(bf.score(run.end, cov=found.moments.S, n=1000, ddof=0))
        assert run.score >= max(run.path) - 1e-9
        assert "ended when its work was done" in repr(run)
    said, no_more = found.notes
    assert no_more == (
        "there were no more rounds of kicks because the work set aside for a search was done"
    )
    assert {run.strategy for run in found.runs} == {"dag-first"}
    assert re.fullmatch(rf"{len(cut)} of {len(found.runs)} runs ended when the work .*", said)
    assert said in str(found)
    assert "max_district= avoids" in said


def test_whoever_did_the_work(little_work_each):
    results = [search(n_jobs=k, cache_mb=mb) for k, mb in ((1, 256), (2, 256), (1, 1e-9))]
    assert any(run.exhausted for run in results[0].runs)
    assert {run.strategy for run in results[0].runs} == {"dag-first", "kicks"}
    assert essence(results[0]) == essence(results[1]) == essence(results[2])


def test_a_checkpoint_remembers_it(little_work, tmp_path):
    path = tmp_path / "search.ckpt"
    first = search(checkpoint=path)
    again = search(checkpoint=path)
    assert essence(first) == essence(again)
    assert first.notes == again.notes


def test_an_ordinary_search_is_not_cut():
    found = search()
    assert found.notes == ()
    assert 0 < max(run.work for run in found.runs) < plan.work_for(D)
