"""The point (B, Omega) = (0, I), from which the appendix derives the necessary conditions."""

import math

import numpy as np
import pytest

import bowfree as bf
from graph_strategies import all_baps
from twins import graph_matrices


@pytest.mark.parametrize("variances", [(1, 1, 1), (0.1, 3, 20)])
def test_lemma_ident(variances):
    """At a diagonal Sigma the parameters of every BAP are unique: B = 0 and Omega = Sigma."""
    Sigma = np.diag(variances).astype(float)
    for graph in all_baps(3):
        # Several starts: were there another solution, one of them would end there.
        fit = bf.fit(graph, cov=Sigma, n=math.inf, n_starts=5, rng=1)
        # The likelihood is flat to second order, so parameters are good to about sqrt(1e-16).
        np.testing.assert_allclose(fit.B, 0, atol=1e-6 * math.sqrt(max(variances) / min(variances)))
        np.testing.assert_allclose(fit.Omega, Sigma, atol=1e-6 * max(variances))


def test_corollary_neig():
    """Near I the covariance of a pair is its own parameter, up to second order."""
    rng = np.random.default_rng(1)
    for graph in all_baps(3):
        labels = rng.uniform(0.5, 1, (3, 3)) * rng.choice([-1, 1], (3, 3))
        D, U = graph_matrices(graph)
        errors = []
        for size in (1e-3, 1e-4):
            B, Omega = size * D * labels, np.eye(3) + size * U * np.maximum(labels, labels.T)
            Sigma = bf.LinearSEM(graph, B, Omega).covariance()
            # B + B' and Omega do not overlap: there are no bows.
            first_order = Omega + B + B.T
            errors.append(np.abs(Sigma - first_order).max())
            # A zero of Sigma next to I is a zero parameter, and the other way round.
            assert ((np.abs(Sigma) < size / 4) == (first_order == 0)).all()
        # The error is of second order: a hundredth at a tenth of the size (or there is none).
        assert errors[1] <= 0.011 * errors[0] + 1e-15
