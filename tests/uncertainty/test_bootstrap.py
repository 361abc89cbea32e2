"""The bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bowfree as bf
from bowfree.uncertainty import repeated_searches
from bowfree.uncertainty.search_bootstrap import wilson_interval
from random_models import collider_data

QUICK = bf.search.Strategy(restarts=2, rounds=0)


def test_twin():
    X = collider_data(60)
    values = X.to_numpy()
    found = bf.bootstrap(X, n_resamples=40, confidence=0.9, strategy=QUICK, rng=5)
    seeds = np.random.default_rng(5).integers(0, 2**63, size=40)
    frequency, lower, upper, least = np.zeros((4, 4)), [], [], []
    for seed in seeds:
        stream = np.random.default_rng(int(seed))
        rows = values[stream.integers(0, 60, size=60)]
        graph = bf.greedy_search(
            dict(zip("xyzw", rows.T, strict=True)), rng=stream, strategy=QUICK, proof=False
        ).graph
        for a, b in graph.skeleton():
            i, j = "xyzw".index(a), "xyzw".index(b)
            frequency[i, j] += 1 / 40
            frequency[j, i] += 1 / 40
        bounds = bf.effect_bounds(
            bf.equivalence_class(graph), dict(zip("xyzw", rows.T, strict=True))
        )
        lower.append(bounds.lower)
        upper.append(bounds.upper)
        least.append(bounds.min_abs)
    assert (found.n_resamples, found.complete) == (40, True)
    assert "y on w" in str(found)
    np.testing.assert_allclose(found.adjacent, frequency, atol=1e-12)
    np.testing.assert_allclose(found.min_abs, np.mean(least, axis=0), atol=1e-9)
    np.testing.assert_allclose(found.effect_frequency, (np.array(least) > 1e-8).mean(axis=0))
    np.testing.assert_allclose(
        found.total_effect_interval,
        [np.quantile(lower, 0.05, axis=0), np.quantile(upper, 0.95, axis=0)],
        atol=1e-9,
    )
    np.testing.assert_allclose(
        found.min_abs_interval, np.quantile(least, [0.05, 0.95], axis=0), atol=1e-9
    )


def test_wilson_interval():
    # Wilson's interval for 8 of 10 at 95 %, and its ends for none and for all.
    for count, size in ((8, 10), (0, 20), (20, 20), (1, 3)):
        exact = stats.binomtest(count, size).proportion_ci(0.95, method="wilson")
        interval = wilson_interval(np.array(count / size), size, 0.95)
        np.testing.assert_allclose(interval, [exact.low, exact.high], atol=1e-12)


def test_work_is_limited_and_the_result_says_so(monkeypatch):
    monkeypatch.setattr(repeated_searches, "WORK", 5e3)  # instead of 1.7e8
    X = bf.random_sem(bf.random_bap(8, max_in_degree=3, rng=4), rng=4).sample(300, rng=4)
    found = bf.bootstrap(X, n_resamples=4, confidence=0.5, rng=2)
    assert 0 < found.n_hit_work_limit <= found.n_resamples == 4
    assert found.complete  # every resample has its graph
    for unlimited in (bf.search.Strategy(work=1e9), "restart"):
        free = bf.bootstrap(X, n_resamples=3, confidence=0.1, strategy=unlimited, restarts=1)
        assert free.n_hit_work_limit == 0
    halves = bf.stability_selection(X, n_halves=4, rng=2)
    choice = bf.choose_penalty(X, penalties=[0.25, 0.5], cv=2, rng=2)
    for result in (found, halves, choice):
        assert f"{result.n_hit_work_limit} of 4 searches reached the work limit" in str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 10}, "at least 40"),
        ({"data": None}, "observations in rows"),
    ],
)
def test_invalid_input(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.bootstrap(**({"data": np.random.default_rng(0).normal(size=(30, 3))} | options))


def test_time_limit_leaves_what_is_complete():
    X = collider_data(400)
    cut = bf.bootstrap(X, n_resamples=10**6, strategy=QUICK, rng=1, time_limit=1.0)
    assert not cut.complete
    assert 0 < cut.n_resamples < cut.n_planned == 10**6
    assert f"NOT COMPLETE: ended after {cut.n_resamples} of" in str(cut)
    assert len(cut.scores) == cut.n_resamples


def test_resamples_with_fewer_distinct_rows_than_variables():
    """A resample of 18 rows has about eleven distinct ones."""
    X = np.random.default_rng(18).normal(size=(18, 13))
    found = bf.bootstrap(X, n_resamples=40, strategy=QUICK, penalty="ebic", rng=1)
    assert found.n_resamples == 40
    chain = bf.MixedGraph(
        found.names, directed=list(zip(found.names, found.names[1:], strict=False))
    )
    again = bf.bootstrap_fit(chain, X, n_bootstrap=40, rng=1)
    assert again.n_failed == 0
