"""Bootstrap and cross-validated penalty."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import bowfree as bf
from bowfree.resampling import held_out_loglik, wilson_interval

QUICK = {"restarts": 2, "rounds": 0}


def collider_data(n, *, seed=0):
    # x -> y <- z, y -> w
    g = bf.parse("x -> y <- z, y -> w")
    B = [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    return bf.LinearSEM(g, B, np.eye(4)).sample(n, rng=seed, as_frame="pandas")


def test_a_collider_is_stable():
    X = collider_data(400)
    found = bf.bootstrap(X, n_resamples=40, search=QUICK, rng=1)
    x, y, z, w = range(4)
    assert found.names == ("x", "y", "z", "w")
    assert found.adjacent[x, y] == found.adjacent[y, w] == pytest.approx(1.0)
    assert found.adjacent[x, z] < 0.3
    assert found.effect[w, y] > 0.8
    assert found.effect[y, w] == 0.0
    low, high = found.total_effect_interval[:, w, y]
    assert low < 1.0 < high
    assert found.n_resamples == 40
    assert found.complete
    assert "y on w" in str(found)


def test_twin():
    X = collider_data(60)
    values = X.to_numpy()
    found = bf.bootstrap(X, n_resamples=40, confidence=0.9, search=QUICK, rng=5)
    seeds = np.random.default_rng(5).integers(0, 2**63, size=40)
    frequency, lower, upper, least = np.zeros((4, 4)), [], [], []
    for seed in seeds:
        stream = np.random.default_rng(int(seed))
        rows = values[stream.integers(0, 60, size=60)]
        graph = bf.greedy_search(dict(zip("xyzw", rows.T, strict=True)), rng=stream, **QUICK).graph
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
    np.testing.assert_allclose(found.adjacent, frequency, atol=1e-12)
    np.testing.assert_allclose(found.min_abs, np.mean(least, axis=0), atol=1e-9)
    np.testing.assert_allclose(found.effect, (np.array(least) > 1e-8).mean(axis=0))
    np.testing.assert_allclose(
        found.total_effect_interval,
        [np.quantile(lower, 0.05, axis=0), np.quantile(upper, 0.95, axis=0)],
        atol=1e-9,
    )
    np.testing.assert_allclose(
        found.min_abs_interval, np.quantile(least, [0.05, 0.95], axis=0), atol=1e-9
    )


def test_same_result_for_every_number_of_jobs():
    X = collider_data(80)
    one, two = (
        bf.bootstrap(X, n_resamples=40, search=QUICK, n_jobs=jobs, rng=3) for jobs in (1, 2)
    )
    assert one.graphs == two.graphs
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    penalties = [0.5, 1.0]
    first, second = (
        bf.choose_penalty(X, penalties=penalties, cv=3, search=QUICK, n_jobs=jobs, rng=3)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(first.folds, second.folds)


def test_wilson_interval():
    # Wilson's interval for 8 of 10 at 95 %, and its ends for none and for all.
    for count, size in ((8, 10), (0, 20), (20, 20), (1, 3)):
        exact = stats.binomtest(count, size).proportion_ci(0.95, method="wilson")
        interval = wilson_interval(np.array(count / size), size, 0.95)
        np.testing.assert_allclose(interval, [exact.low, exact.high], atol=1e-12)


def test_held_out_likelihood():
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    rows = rng.normal(size=(7, 3))
    density = stats.multivariate_normal(np.zeros(3), L @ L.T).logpdf(rows)
    assert held_out_loglik(rows, L @ L.T) == pytest.approx(density.mean(), rel=1e-12)


def test_penalty_between_too_small_and_too_large():
    X = collider_data(150, seed=2)
    choice = bf.choose_penalty(X, penalties=[100.0, 0.0, 1.0], search=QUICK, rng=0)
    assert choice.penalties == (0.0, 1.0, 100.0)
    assert choice.best != 100.0
    assert choice.one_standard_error == 1.0
    assert (choice.n_edges[:, 2] == 0).all()
    assert (choice.n_edges[:, 0] == 6).all()  # without a penalty: the complete graph
    assert choice.mean[choice.penalties.index(choice.best)] == choice.mean.max()
    assert "one s.e." in str(choice)
    assert json.loads(json.dumps(choice.to_dict()))["best"] == choice.best


def test_penalty_twin():
    X = collider_data(90, seed=4)
    values = X.to_numpy()
    choice = bf.choose_penalty(X, penalties=[0.5, 2.0], cv=3, search=QUICK, rng=8)
    generator = np.random.default_rng(8)
    fold = np.empty(90, dtype=int)
    fold[generator.permutation(90)] = np.arange(90) % 3
    assert np.bincount(fold).tolist() == [30, 30, 30]
    seeds = generator.integers(0, 2**63, size=3)
    for k in range(3):
        for p, penalty in enumerate((0.5, 2.0)):
            train, test = values[fold != k], values[fold == k]
            result = bf.greedy_search(train, penalty=penalty, rng=int(seeds[k]), **QUICK)
            Sigma = bf.fit(result.graph, train).Sigma
            law = stats.multivariate_normal(train.mean(axis=0), Sigma)
            assert choice.folds[k, p] == pytest.approx(law.logpdf(test).mean(), rel=1e-9)
            assert choice.n_edges[k, p] == result.graph.n_edges
