"""A bound on the work of one run: what it cuts off, that it cuts at the same place, and says so.

What is counted is the work behind the scores that a run asks for, whether it was done by the run
itself or is in the memory that all runs share.
"""

import numpy as np
import pytest

import bowfree as bf
from bowfree.search import plan
from search_cases import essence, simulate

D = 14


@pytest.fixture
def little_work(monkeypatch):
    """Let a run do a hundredth of what it needs here."""
    monkeypatch.setattr(plan, "work_for", lambda d: 1e5)


def search(**options):
    S, _ = simulate(3, D, max_in_degree=3)
    return bf.greedy_search(cov=S, n=1000, rng=1, restarts=4, rounds=1, **options)


def test_a_run_that_has_done_its_work_ends_with_the_best_it_has_met(little_work, monkeypatch):
    monkeypatch.setattr(plan, "work_of_search_for", lambda d: 1e5)  # no work is left for kicks
    found = search()
    cut = [run for run in found.runs if run.hit_work_limit]
    assert len(cut) > 1
    assert found.complete
    for run in cut:
        assert run.complete
        assert run.score == pytest.approx(bf.score(run.end, cov=found.moments.S, n=1000, ddof=0))
        assert run.score >= max(run.path) - 1e-9
        assert "ended at its work limit" in repr(run)
    assert "the search ended at its work limit" in found.notes
    assert {run.strategy for run in found.runs} == {"dag-first"}
    assert f"{len(cut)} of {len(found.runs)} runs ended at their work limit" in str(found)


def test_whoever_did_the_work(little_work):
    results = [search(n_jobs=k, cache_mb=mb) for k, mb in ((1, 256), (2, 256), (1, 1e-9))]
    assert any(run.hit_work_limit for run in results[0].runs)
    assert {run.strategy for run in results[0].runs} == {"dag-first", "kicks"}
    assert essence(results[0]) == essence(results[1]) == essence(results[2])


def test_a_search_may_be_told_how_much_it_may_do():
    whole = search()
    done = sum(run.work for run in whole.runs)
    enough = search(work=3 * max(8 * run.work for run in whole.runs))
    assert essence(enough) == essence(whole)
    cut = [
        search(work=done / 2, n_jobs=k, cache_mb=mb) for k, mb in ((1, 256), (2, 256), (1, 1e-9))
    ]
    assert essence(cut[0]) == essence(cut[1]) == essence(cut[2])
    assert any(run.hit_work_limit for run in cut[0].runs)
    assert any("work limit" in note for note in cut[0].notes)
    # No run goes further than the fit that ends it.
    largest = max(run.work for run in whole.runs)
    assert sum(run.work for run in cut[0].runs) < done / 2 + 0.1 * len(cut[0].runs) * largest


def test_what_is_left_is_shared_out():
    work = plan.Work.of(1000.0, 30)
    assert work.of_each(0.0, 4) == 250
    assert work.of_each(600.0, 4) == 100
    usual = plan.Work.of(None, 30)
    assert usual.of_each(0.0, 4) == usual.of_each(1e10, 24) == plan.work_for(30)
    assert plan.Work.of(np.inf, 30).of_each(1e12, 3) == plan.work_for(30)
