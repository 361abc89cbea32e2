"""Stability selection: the halves, the threshold, and the bound that it keeps."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import bowfree as bf
from bowfree.uncertainty.stability import _threshold

QUICK = bf.search.Strategy(restarts=1, rounds=0)
CHAIN = bf.LinearSEM(
    bf.parse("a -> b -> c, d, e"),
    np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0] * 5, [0] * 5]),
    np.eye(5),
)


def test_halves_come_in_complementary_pairs():
    X = CHAIN.sample(41, rng=1)
    found = bf.stability_selection(X, n_halves=4, penalty=0.3, strategy=QUICK, rng=0)
    frequency = np.zeros((5, 5))
    seeds = np.random.default_rng(0).integers(0, 2**63, size=4)
    for k in range(4):
        order = np.random.default_rng(seeds[k - k % 2]).permutation(41)
        rows = X[order[20 * (k % 2) :][:20]]
        search = {"penalty": 0.3, "strategy": QUICK, "rng": np.random.default_rng(seeds[k])}
        for a, b in bf.greedy_search(rows, proof=False, **search).graph.skeleton():
            i, j = int(a[1:]) - 1, int(b[1:]) - 1
            frequency[[i, j], [j, i]] += 1 / 4
    np.testing.assert_allclose(found.frequency, frequency)
    assert 0 < found.frequency.max() <= 1


def bound(tau, n):
    return 1 / (2 * (2 * tau - 1 - 1 / n)) if tau <= 0.75 else 4 * (1 - tau + 1 / n) / (1 + 2 / n)


@pytest.mark.parametrize("most", [0.05, 0.1, 0.3, 0.6, 0.9, 1.1, 2.0, 10.0, 1e9])
def test_threshold_is_the_smallest(most):
    taus = np.linspace(0.52, 1.0, 4801)
    enough = [tau for tau in taus if bound(tau, 50) <= most]
    found = _threshold(most, 50)
    if enough:
        assert found == pytest.approx(min(enough), abs=2e-3) or found < taus[0]
    else:
        assert found > 1


def test_threshold_and_pairs():
    data = CHAIN.sample(400, rng=1)
    found = bf.stability_selection(data, n_halves=30, strategy=QUICK, rng=0)
    graphs = found.frequency
    np.testing.assert_array_equal(graphs, graphs.T)
    assert found.n_adjacent == pytest.approx(np.triu(graphs, 1).sum())
    share = found.n_adjacent**2 / 10
    assert bound(found.threshold, 30) * share == pytest.approx(1.0)
    assert set(found.pairs) == {("x1", "x2"), ("x2", "x3")}
    frame = found.to_frame()
    assert frame["stable"].sum() == 2
    assert "false pairs at most 1:" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["n_halves"] == 30
    again = bf.stability_selection(data, n_halves=30, strategy=QUICK, rng=0, n_jobs=2)
    np.testing.assert_array_equal(found.frequency, again.frequency)
    strict = bf.stability_selection(data, n_halves=10, max_false=0.01, strategy=QUICK, rng=0)
    assert strict.threshold > 1
    assert strict.pairs == ()
    assert "no pair can be selected" in str(strict)


def test_the_bound_is_kept():
    # On noise every pair is false. By a small penalty there are many in each half.
    rng = np.random.default_rng(3)
    false = [
        len(
            bf.stability_selection(
                rng.normal(size=(60, 6)),
                n_halves=20,
                max_false=1.0,
                strategy=QUICK,
                penalty=0.4,
                rng=k,
            ).pairs
        )
        for k in range(12)
    ]
    assert np.mean(false) <= 1.0


def test_time_limit_and_invalid_input():
    data = CHAIN.sample(400, rng=1)
    began = time.monotonic()
    cut = bf.stability_selection(data, n_halves=10**6, strategy=QUICK, rng=0, time_limit=1.0)
    assert time.monotonic() - began < 6
    assert not cut.complete
    assert "NOT COMPLETE" in str(cut)
    for options in ({"max_false": 0}, {"n_halves": 1}):
        with pytest.raises(bf.BowfreeError):
            bf.stability_selection(data, **options)
    with pytest.raises(bf.BowfreeError, match="at least 2"):
        bf.stability_selection(data[:3, :1])
