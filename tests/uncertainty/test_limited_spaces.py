"""Chains in spaces with limits, where single changes must pass through improbable graphs."""

import numpy as np
import pytest

import bowfree as bf

# x is correlated with y and with z equally: by symmetry both pairs are equally probable.
S = [[1.0, 0.7, 0.7], [0.7, 1.0, 0.8], [0.7, 0.8, 1.0]]


@pytest.mark.parametrize("limits", [{"max_in_degree": 1}, {"max_edges": 2}])
@pytest.mark.parametrize("seed", range(3))
def test_both_modes_are_visited(limits, seed):
    samples = bf.structure_mcmc(cov=S, n=150, ddof=0, steps=100_000, rng=seed, **limits)
    adjacent = samples.directed + samples.directed.T + samples.bidirected
    assert adjacent[0, 1] == pytest.approx(adjacent[0, 2], abs=0.02)
    assert samples.mixed


def test_exchanges_keep_the_posterior():
    """Edge probabilities equal those of the enumeration of all graphs in the space."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    limits = {"max_edges": 3}
    exact = bf.averaged_effects(bf.exhaustive_search(X, penalty=0.5, **limits), window=40)
    samples = bf.structure_mcmc(X, rng=1, steps=200_000, **limits)
    np.testing.assert_allclose(samples.directed, exact.directed, atol=0.015)
    np.testing.assert_allclose(samples.bidirected, exact.bidirected, atol=0.015)
