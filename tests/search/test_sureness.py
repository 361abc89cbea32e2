"""How sure a search says it is."""

from __future__ import annotations

import math

import pytest

import bowfree as bf
from bowfree.search.plan import patience_for
from bowfree.search.sureness import MISSED, judge


@pytest.mark.parametrize(
    ("ends", "sure"),
    [
        ([1.0] * 3 + [0.5] * 21, True),
        ([1.0] * 2 + [0.5] * 22, False),
        ([0.5] * 5, False),
        ([], False),
    ],
)
def test_one_run_in_eight(ends, sure):
    found = judge(ends, 1.0, n_nodes=10, complete=True)
    assert (found.runs, found.agreeing) == (len(ends), sum(end == 1.0 for end in ends))
    assert found.sure is sure
    assert ("NOT SURE" in str(found)) is not sure
    assert found.missed == MISSED[sure]
    # The search has more patience where its runs disagree.
    assert patience_for(10, found.runs, found.agreeing) == (3 if sure else 8)


@pytest.mark.parametrize(("n_nodes", "complete"), [(13, True), (5, False)])
def test_nothing_is_claimed_that_was_not_measured(n_nodes, complete):
    found = judge([1.0] * 8, 1.0, n_nodes=n_nodes, complete=complete)
    assert math.isnan(found.missed)
    assert "simulations" not in str(found)


def test_a_search_counts_its_independent_runs():
    result = bf.greedy_search(bf.datasets.load_demo(), rng=1)
    first = [run for run in result.runs if run.strategy != "kicks"]
    assert result.sureness.runs == len(first) == 24 < len(result.runs)
    assert result.sureness.sure
    assert result.to_dict()["sureness"]["agreeing"] == result.sureness.agreeing
    cut = bf.greedy_search(bf.datasets.load_demo(), restarts=300, rng=1, time_limit=0.02)
    assert not cut.complete
    assert math.isnan(cut.sureness.missed)
