"""Monte Carlo standard errors of probabilities, and chains that go on until these are small."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.uncertainty.structure_samples import mcse, path_indicators


def test_independent_draws():
    draws = np.random.default_rng(1).random((4, 1000)) < 0.3
    assert mcse(draws) == pytest.approx(np.sqrt(0.3 * 0.7 / 4000), rel=0.25)
    assert mcse(np.ones((4, 100), dtype=bool)) == 0.0


def test_chains_that_disagree_have_a_large_error():
    draws = np.zeros((4, 1000), dtype=bool)
    draws[:2] = True
    assert mcse(draws) > 0.15


def test_paths():
    # Pairs (0, 1), (0, 2), (1, 2): a -> b, c alone; then a -> b -> c.
    states = np.array([[[1, 0, 0], [1, 0, 1]]], dtype=np.uint8)
    paths = path_indicators(states, 3)[0]
    assert np.argwhere(paths[0]).tolist() == [[1, 0]]
    assert np.argwhere(paths[1]).tolist() == [[1, 0], [2, 0], [2, 1]]


def test_results_vary_between_seeds_as_much_as_their_errors():
    graph = bf.parse("a -> b <-> c -> e, a -> e, f")
    data = bf.random_sem(graph, rng=4).sample(300, rng=5, as_frame="pandas")
    result = bf.greedy_search(data, rng=1)
    averages = [bf.averaged_effects(result, rng=seed) for seed in range(8)]
    first, second = averages[:2]
    assert first.mixed
    assert second.mixed
    assert first.samples.largest_mcse <= 0.02
    error = np.hypot(first.mcse, second.mcse)
    assert (np.abs(first.probability - second.probability) <= 4 * error + 1e-12).all()
    assert set(first.to_frame().columns) >= {"probability", "mcse"}
    for end in ("lower", "upper"):
        spread = np.std([getattr(average, end) for average in averages], axis=0, ddof=1)
        errors = np.mean([getattr(average, f"{end}_mcse") for average in averages], axis=0)
        varies = spread > 1e-3
        assert varies.any()
        assert 0.4 < np.median(errors[varies] / spread[varies]) < 2.5


def test_with_four_variables_nothing_is_random():
    data = bf.random_sem(bf.parse("a -> b <-> c -> e, a -> e"), rng=4).sample(300, rng=5)
    for options in ({}, {"graph_class": "ancestral"}, {"max_in_degree": 1}):
        exact = bf.averaged_effects(bf.exhaustive_search(data, **options))
        found = bf.averaged_effects(bf.greedy_search(data, **options, rng=1), rng=2)
        for name in ("probability", "mean", "lower", "upper", "directed"):
            np.testing.assert_array_equal(getattr(found, name), getattr(exact, name))
        assert not exact.lower_mcse.any()
        assert not exact.upper_mcse.any()
