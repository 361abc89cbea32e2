"""Graphs far from the data: their likelihood has several maxima, and fits return the highest found.

Dense random graphs on data of a factor model, which none of them describes.
"""

import warnings

import numpy as np
import pytest

import bowfree as bf
from bowfree.errors import FitWarning


def dense_graph_on_factor_data(seed):
    rng = np.random.default_rng([11, seed])
    d = int(rng.integers(6, 9))
    names = [f"x{i}" for i in range(d)]
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(300, d))
    graph = bf.random_bap(names, rng=int(rng.integers(2**31)))
    return graph, bf.moments(dict(zip(names, X.T, strict=True)))


def test_a_fit_is_the_best_end_or_warns():
    gains = []
    for seed in range(40):
        graph, moments = dense_graph_on_factor_data(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = bf.fit(graph, moments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = bf.fit(graph, moments, n_starts=1)
            best = bf.fit(graph, moments, n_starts=60, rng=1)
            score = bf.score(graph, moments)
        assert fit.loglik >= one.loglik - 1e-9
        assert caught or fit.loglik > best.loglik - 1e-3
        # A score is computed from the canonical start, whatever the fit found.
        assert fit.score == pytest.approx(score, abs=1e-12)
        assert fit.score == pytest.approx(one.score, abs=1e-12)
        gains.append(fit.loglik - one.loglik)
        said = [w for w in caught if "above the maximum that scores use" in str(w.message)]
        assert bool(said) == (sum(district.gain for district in fit.certificate) > 0)
        assert all(w.category is FitWarning for w in caught)
    assert max(gains) > 10


def test_a_district_too_large_to_look_at():
    """Beyond some hundred parameters nothing is looked for, and the warning says so."""
    rng = np.random.default_rng(3)
    d = 20
    names = [f"x{i}" for i in range(d)]
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(400, d))
    pairs = [(names[j], names[i]) for i in range(d) for j in range(i) if rng.uniform() < 0.8]
    graph = bf.MixedGraph(names, bidirected=pairs)
    with pytest.warns(FitWarning, match="too many parameters"):
        bf.fit(graph, dict(zip(names, X.T, strict=True)))
