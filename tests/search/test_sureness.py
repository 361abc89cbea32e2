"""How sure a search says it is."""

from __future__ import annotations

import math

import pytest

import bowfree as bf
from bowfree.results.display import percent
from bowfree.search.confidence import LOG_ODDS, MISSED, SURE, Ending, judge
from bowfree.search.plan import patience_for


def runs(*ends, start=0.0, first=True):
    return [Ending(start, end, first) for end in ends]


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
    found = judge(runs(*ends), 1.0, n_nodes=10, n_edges=12, complete=True)
    assert (found.runs, found.agreeing) == (len(ends), sum(end == 1.0 for end in ends))
    assert found.agree is found.sure is sure
    assert ("NOT SURE" in str(found)) is not sure
    assert found.missed == MISSED[sure]
    # The search has more patience where its runs disagree.
    assert patience_for(10, found.runs, found.agreeing) == (3 if sure else 8)


def test_nothing_is_known_after_an_early_end():
    found = judge(runs(*[1.0] * 8), 1.0, n_nodes=5, n_edges=4, complete=False)
    assert math.isnan(found.missed)
    assert not found.sure
    assert "simulations" not in str(found)


def test_who_arrived_from_below():
    kicked = [*runs(1.0, 1.0, start=1.0, first=False), *runs(1.0, 0.5, start=0.4, first=False)]
    found = judge([*runs(0.9, 1.0), *kicked], 1.0, n_nodes=20, n_edges=20, complete=True)
    assert (found.runs, found.agreeing, found.arrivals) == (2, 1, 2)


def test_more_variables_than_twelve():
    def missed(n_edges, n_agreeing, n_nodes=30):
        ends = [1.0] * n_agreeing + [0.5] * (24 - n_agreeing)
        found = judge(runs(*ends), 1.0, n_nodes=n_nodes, n_edges=n_edges, complete=True)
        assert found.sure is (n_agreeing >= 3 and found.missed <= SURE)
        assert f"in simulations {percent(found.missed)} of such searches missed" in str(found)
        return found.missed

    twin = 1 / (1 + math.exp(-(LOG_ODDS[0] + LOG_ODDS[1] * 1.5 + LOG_ODDS[2] * math.log(5))))
    assert missed(45, 4) == pytest.approx(twin)
    # Denser graphs, and scores that fewer runs came to, are less sure; very dense ones not at all.
    assert missed(15, 24) < missed(45, 24) < missed(45, 0) < missed(90, 0) < missed(155, 0)
    assert missed(155, 0) > 0.99
    assert missed(10, 24) < SURE


def test_a_search_counts_its_independent_runs():
    result = bf.greedy_search(bf.datasets.load_demo(), rng=1)
    first = [run for run in result.runs if run.strategy != "kicks"]
    assert result.sureness.runs == len(first) == 24 < len(result.runs)
    assert result.sureness.sure
    assert result.to_dict()["sureness"]["agreeing"] == result.sureness.agreeing
    cut = bf.greedy_search(bf.datasets.load_demo(), restarts=300, rng=1, time_limit=0.02)
    assert not cut.complete
    assert math.isnan(cut.sureness.missed)
    assert not cut.sureness.sure
    dense = bf.random_sem(bf.random_bap(14, max_in_degree=3, rng=3), rng=3).sample(300, rng=3)
    many = bf.greedy_search(dense, rng=1, restarts=4, rounds=1)
    assert 0.1 < many.sureness.missed < 1
    assert str(many.sureness) in str(many)
    assert "NOT SURE" not in str(result)
