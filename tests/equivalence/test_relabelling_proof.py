"""The proof of Theorem 2, as a computation: edge labels are carried over to an equivalent graph.

G and H have the same skeleton and collider triples. Give H the standardized edge labels of G,
whatever the type of edge, and choose its error variances so that all variances are 1 (equation 10).
Then both have the same covariance matrix (equation 11), and H's Omega is positive definite.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import baps
from twins import graph_matrices


def carried_over(model, h):
    """Return B and Omega of the graph h with the edge labels of a standardized model."""
    labels = model.B + model.B.T + model.Omega  # no bows: the supports do not overlap
    D, U = graph_matrices(h)
    B, Omega = D * labels, U * labels
    # Equation 10: (E Omega E')_ii = 1 is linear in the diagonal of Omega, and E**2 is regular.
    E = np.linalg.inv(np.eye(len(h)) - B)
    variances = np.linalg.solve(E**2, 1 - np.diag(E @ Omega @ E.T))
    return B, Omega + np.diag(variances)


def test_a_confounder_becomes_an_effect():
    """The remark after Theorem 2: in Figure 2 (b), X1 <-> X2 may be X1 -> X2."""
    g = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 -> x4")
    h = g.replace("x1 <-> x2", "x1 -> x2")
    assert bf.equivalence.same_skeleton_and_colliders(g, h)
    model = bf.random_sem(g, rng=1).standardized()
    other = bf.LinearSEM(h, *carried_over(model, h))
    np.testing.assert_allclose(other.covariance(), model.covariance(), atol=1e-12)


@given(baps(max_nodes=5).filter(len), st.integers(0, 2**32 - 1))
def test_same_colliders_same_covariance(g, seed):
    model = bf.random_sem(g, rng=seed).standardized()
    for h in bf.equivalence_class(g, method="colliders")[:20]:
        B, Omega = carried_over(model, h)
        E = np.linalg.inv(np.eye(len(h)) - B)
        # Labels of up to about 30 are multiplied along paths of at most 4 edges.
        np.testing.assert_allclose(E @ Omega @ E.T, model.covariance(), atol=1e-6)
        assert np.linalg.eigvalsh(Omega).min() > -1e-8
