"""The probability that a search has missed a better graph."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import bowfree as bf
from bowfree.search.plan import patience_for
from bowfree.search.result import LOG_ODDS, MISSED, missed_probability


@pytest.fixture(scope="module")
def result():
    return bf.greedy_search(bf.datasets.load_demo(), rng=1)


def with_runs(result, ends, *, start=0.0, kind="climb"):
    return [replace(result.runs[0], path=(start,), score=end, strategy=kind) for end in ends]


@pytest.mark.parametrize(
    ("n_best", "n_others", "agree"), [(3, 21, True), (2, 22, False), (0, 5, False), (0, 0, False)]
)
def test_one_independent_run_in_eight(result, n_best, n_others, agree):
    runs = with_runs(result, [1.0] * n_best + [0.5] * n_others)
    found = replace(result, runs=tuple(runs), score=1.0).confidence
    assert (found.independent, found.independent_at_best) == (n_best + n_others, n_best)
    assert found.runs_agree is found.reliable is agree
    assert ("a better graph may exist" in str(found)) is not agree
    assert found.missed == MISSED[agree]
    # The search continues for longer if its runs disagree.
    assert patience_for(10, n_best + n_others, n_best) == (3 if agree else 8)


def test_more_variables_than_twelve():
    def missed(n_edges, n_best):
        return missed_probability(24, n_best, n_best, n_nodes=30, n_edges=n_edges)

    twin = 1 / (1 + math.exp(-(LOG_ODDS[0] + LOG_ODDS[1] * 1.5 + LOG_ODDS[2] * math.log(5))))
    assert missed(45, 4) == pytest.approx(twin)
    # Misses are more likely in denser graphs and if fewer runs reach the best score.
    assert missed(15, 24) < missed(45, 24) < missed(45, 0) < missed(90, 0) < missed(155, 0)


def test_confidence_of_a_search(result):
    assert result.confidence.independent == 24 < result.confidence.runs == len(result.runs)
    assert result.confidence.reliable
    assert result.to_dict()["confidence"]["at_best"] == result.confidence.at_best
    early = bf.greedy_search(bf.datasets.load_demo(), restarts=300, rng=1, time_limit=0.02)
    assert math.isnan(early.confidence.missed)
    assert not early.confidence.reliable
    assert "simulations" not in str(early)
    dense = bf.random_sem(bf.random_bap(14, max_in_degree=3, rng=3), rng=3).sample(300, rng=3)
    many = bf.greedy_search(dense, rng=1, restarts=4, rounds=1)
    assert 0.1 < many.confidence.missed < 1
    assert "a better graph may exist" in str(many)
