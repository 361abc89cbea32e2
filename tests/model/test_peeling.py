"""The identity behind peeling: members of a district that are fitted on their own."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bowfree as bf
from random_models import random_bap, random_covariance
from twins import graph_matrices, implied_covariance, log_likelihood, ricf


def n_iterations(graph):
    return bf.fit(graph, cov=random_covariance(np.random.default_rng(1), 4, 100), n=100).n_iter


@pytest.mark.parametrize(
    "text",
    [
        "a <-> b <-> c, d",  # the ends first, and b is left with the parents a and c
        "a <-> b, a <-> c, a <-> d",  # a star, from its leaves
        "a <-> b, a <-> c, b <-> c, c <-> d",  # the spouses b, c of a are spouses
        "a -> b, a -> c, b <-> c, d",  # b has no parent that c has not
    ],
)
def test_closed_forms(text):
    """Nothing is left to iterate on when all members can be peeled off."""
    assert n_iterations(bf.parse(text)) == 0


#   a <-> b <-> c         a -> b <- c
def test_a_chain_of_spouses_is_a_regression():
    S = random_covariance(np.random.default_rng(2), 3, 100)
    chain, collider = (bf.fit(bf.parse(t), cov=S, n=100) for t in ("a <-> b <-> c", "a -> b <- c"))
    assert_allclose(chain.loglik, collider.loglik, rtol=1e-14)
    assert_allclose(chain.Sigma, collider.Sigma, atol=1e-12)
    a, b = 0, 1
    assert_allclose(chain.Omega[a, b], collider.B[b, a] * chain.Omega[a, a], rtol=1e-12)


def first_peelable(graph):
    """Return the first node whose spouses are pairwise spouses and have all of its parents."""
    for v in graph.nodes:
        Q = graph.spouses(v)
        if Q and all(
            set(graph.parents(v)) <= set(graph.parents(q)) and set(Q) - {q} <= set(graph.spouses(q))
            for q in Q
        ):
            return v
    return None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), d=st.integers(3, 8))
def test_a_spouse_may_be_read_as_a_child(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, bidirected=0.6), random_covariance(rng, d, 30 * d)
    v = first_peelable(graph)
    assume(v is not None)
    fit = bf.fit(graph, cov=S, n=500, ddof=0, n_starts=10, rng=0)

    # The parameters are a fixed point of plain sweeps over the whole graph, none peeled off.
    D, U = graph_matrices(graph)
    B, Omega, _ = ricf(S, D, U, max_iter=3, tol=0.0, start=(fit.B, fit.Omega))
    assert_allclose(B, fit.B, atol=1e-4)
    assert fit.loglik > log_likelihood(implied_covariance(B, Omega), S, 500) - 1e-7

    # Where no cycle forbids it, the graph with v -> q for v <-> q has the same likelihood.
    spouses = set(graph.spouses(v))
    bidirected = [(a, b) for a, b in graph.bidirected if v not in (a, b)]
    read = bf.MixedGraph(graph.nodes, [*graph.directed, *((v, q) for q in spouses)], bidirected)
    if read.is_bap():
        other = bf.fit(read, cov=S, n=500, ddof=0, n_starts=10, rng=0)
        assert_allclose(other.loglik, fit.loglik, rtol=1e-9)
