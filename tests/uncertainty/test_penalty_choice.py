"""The penalty by cross-validation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import bowfree as bf
from bowfree.uncertainty.penalty_choice import _choose, held_out_loglik
from random_models import collider_data

QUICK = bf.search.Strategy(restarts=2, rounds=0)


def test_penalty_between_too_small_and_too_large():
    X = collider_data(150, seed=2)
    choice = bf.choose_penalty(X, penalties=[100.0, 0.0, 1.0], strategy=QUICK, rng=0)
    assert choice.penalties == (0.0, 1.0, 100.0)
    assert choice.best != 100.0
    assert choice.one_standard_error == 1.0
    assert (choice.n_edges[:, 2] == 0).all()
    assert (choice.n_edges[:, 0] == 6).all()  # without a penalty: the complete graph
    assert choice.mean[choice.penalties.index(choice.best)] == choice.mean.max()
    assert "one s.e." in str(choice)
    assert json.loads(json.dumps(choice.to_dict()))["best"] == choice.best


def test_held_out_likelihood():
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    rows = rng.normal(size=(7, 3))
    density = stats.multivariate_normal(np.zeros(3), L @ L.T).logpdf(rows)
    assert held_out_loglik(rows.T @ rows / 7, L @ L.T) == pytest.approx(density.mean(), rel=1e-12)


def test_penalty_twin():
    X = collider_data(90, seed=4)
    values = X.to_numpy()
    choice = bf.choose_penalty(X, penalties=[0.5, 2.0], cv=3, strategy=QUICK, rng=8)
    generator = np.random.default_rng(8)
    fold = np.empty(90, dtype=int)
    fold[generator.permutation(90)] = np.arange(90) % 3
    assert np.bincount(fold).tolist() == [30, 30, 30]
    seeds = generator.integers(0, 2**63, size=3)
    for k in range(3):
        for p, penalty in enumerate((0.5, 2.0)):
            train, test = values[fold != k], values[fold == k]
            result = bf.greedy_search(train, penalty=penalty, rng=int(seeds[k]), strategy=QUICK)
            Sigma = bf.fit(result.graph, train).Sigma
            distribution = stats.multivariate_normal(train.mean(axis=0), Sigma)
            assert choice.folds[k, p] == pytest.approx(distribution.logpdf(test).mean(), rel=1e-9)
            assert choice.n_edges[k, p] == result.graph.n_edges


@pytest.mark.parametrize(("seed", "chosen"), [(5, 0.5), (9, 1.0)])
def test_one_standard_error_rule(seed, chosen):
    # Cases in which a standard deviation in the place of the standard error would choose another.
    choice = bf.choose_penalty(
        collider_data(60, seed=seed),
        penalties=[0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0],
        cv=4,
        strategy=QUICK,
        rng=seed,
    )
    best = choice.penalties.index(choice.best)
    largest = {}
    for divisor in (1, 2):  # the square root of four folds is 2
        for k, penalty in enumerate(choice.penalties):
            losses = choice.folds[:, best] - choice.folds[:, k]
            if losses.mean() <= losses.std(ddof=1) / divisor:
                largest[divisor] = penalty
    assert choice.one_standard_error == largest[2] == chosen < largest[1]
    losses = choice.folds - choice.folds[:, [best]]
    np.testing.assert_allclose(choice.standard_error, losses.std(axis=0, ddof=1) / 2, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_one_fold_that_differs_is_within_one_standard_error(seed):
    # Its loss g / cv equals the standard error, and rounding must not decide.
    rng = np.random.default_rng(seed)
    folds = np.repeat(rng.normal(-5, 1, size=(5, 1)), 4, axis=1)
    folds[seed % 5, 2] -= 10.0 ** rng.uniform(-6, 6)
    folds[:, 3] -= 1.0
    folds[:, 1] += 1e-14 * rng.normal(size=5)  # an equivalent graph, scored in another order
    assert _choose(folds) == (0, 2)


def test_more_than_one_standard_error_is_not_within():
    folds = np.zeros((5, 2))
    folds[:2, 1] = (-1.0, -1e-3)
    assert _choose(folds) == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalties": [1.0]}, "at least two"),
        ({"penalties": [-1.0, 1.0]}, ">= 0"),
        ({"data": collider_data(5), "cv": 2}, "fewer folds"),
    ],
)
def test_invalid_input(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.choose_penalty(**({"data": collider_data(30)} | options))
