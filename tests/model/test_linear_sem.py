"""Linear SEMs: covariance, effects, sampling, and the lemmas and theorems of appendix A.1."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import admgs, baps

SEEDS = st.integers(0, 2**32 - 1)

#   x -> y <-> z      y = 2 x + eps_y,  cov(eps_y, eps_z) = 0.5
CHAIN = bf.parse("x -> y <-> z")
B = np.array([[0.0, 0, 0], [2, 0, 0], [0, 0, 0]])
OMEGA = np.array([[1.0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])


def test_smallest_model():
    sem = bf.LinearSEM(CHAIN, B, OMEGA)
    np.testing.assert_array_equal(sem.covariance(), [[1, 2, 0], [2, 5, 0.5], [0, 0.5, 1]])
    np.testing.assert_array_equal(sem.total_effects().estimate, [[1, 0, 0], [2, 1, 0], [0, 0, 1]])


def test_figure_1b_by_hand():
    """Section 2.4: cov(x2, x4) = B32 B43 + Omega24 and cov(x1, x4) = B21 B32 B43, standardized."""
    g = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    sem = bf.random_sem(g, rng=1).standardized()
    Sigma = sem.covariance()
    assert Sigma[1, 3] == pytest.approx(sem.B[2, 1] * sem.B[3, 2] + sem.Omega[1, 3], abs=1e-14)
    assert Sigma[0, 3] == pytest.approx(sem.B[1, 0] * sem.B[2, 1] * sem.B[3, 2], abs=1e-14)


def test_data_frames_in_node_order_are_welcome():
    names = list(CHAIN.nodes)
    expected = bf.LinearSEM(CHAIN, B, OMEGA)
    frames = [pd.DataFrame(M, columns=names) for M in (B, OMEGA)]
    assert bf.LinearSEM(CHAIN, *frames) == expected
    assert bf.LinearSEM(CHAIN, *(frame.set_axis(names) for frame in frames)) == expected
    assert bf.LinearSEM(CHAIN, *(pl.DataFrame(M, schema=names) for M in (B, OMEGA))) == expected


def test_a_model_is_a_value():
    given_B = B.copy()
    sem = bf.LinearSEM(CHAIN, given_B, OMEGA)
    given_B[1, 0] = 99
    assert sem.B[1, 0] == 2  # copied
    with pytest.raises(ValueError, match="read-only"):
        sem.B[1, 0] = 3
    with pytest.raises(AttributeError):
        sem.B = B
    again = pickle.loads(pickle.dumps(sem))
    assert again == sem
    assert hash(again) == hash(sem)
    assert not again.Omega.flags.writeable
    assert sem != bf.LinearSEM(CHAIN, 0 * B, OMEGA)
    assert sem != "sem"


def test_sample_has_the_covariance():
    sem = bf.random_sem(bf.parse("a -> b -> c <-> a, c <-> d"), rng=5)
    n = 200_000
    S = np.cov(sem.sample(n, rng=6).T)
    Sigma = sem.covariance()
    sd = np.sqrt(np.diag(Sigma))
    # A sample correlation has standard error at most 1/sqrt(n); five of them.
    assert (np.abs(S - Sigma) / np.outer(sd, sd)).max() < 5 * np.sqrt(2 / n)


def test_random_sem_draws_as_in_section_4_1():
    """Normal labels, and variances that exceed the rest of their row by chi-squared variables."""
    sem = bf.random_sem(bf.parse("a -> b -> c <-> a, c <-> d"), rng=3)
    rng = np.random.default_rng(3)
    assert [sem.B[1, 0], sem.B[2, 1]] == [rng.standard_normal() for _ in range(2)]
    assert [sem.Omega[0, 2], sem.Omega[2, 3]] == [rng.standard_normal() for _ in range(2)]
    rest = np.abs(sem.Omega).sum(axis=1) - np.diag(sem.Omega)
    np.testing.assert_array_equal(np.diag(sem.Omega), rest + rng.chisquare(1, size=4))


# -- appendix A.1 --


def weight(sem, trek):
    """Return the product of the labels of a trek, times the error variance of its head."""
    head = 1.0 if trek.head is None else sem.Omega[(sem.graph.nodes.index(trek.head),) * 2]
    return sem.edge_product(trek) * head


def test_lemma_geometric():
    """(I - B)^-1 is the sum of all powers of B when its eigenvalues are below 1 in modulus."""
    M = np.random.default_rng(0).standard_normal((5, 5))
    M *= 0.5 / np.abs(np.linalg.eigvals(M)).max()
    total, power = np.zeros((5, 5)), np.eye(5)
    for _ in range(80):  # 0.5 ** 80 is below rounding
        total, power = total + power, power @ M
    np.testing.assert_allclose(total, np.linalg.inv(np.eye(5) - M), rtol=0, atol=1e-12)


@given(admgs(max_nodes=5), SEEDS)
@settings(max_examples=40)
def test_lemma_path(g, seed):
    """(B^l)[i, j] is the sum over directed paths of length l from j to i."""
    sem = bf.random_sem(g, rng=seed)
    for l in range(len(g)):
        sums = [
            [
                sum(sem.edge_product(p) for p in g.directed_paths(j, i) if p.length == l)
                for j in g.nodes
            ]
            for i in g.nodes
        ]
        # Products of at most four normal labels: rounding is far below 1e-10 of their size.
        np.testing.assert_allclose(np.linalg.matrix_power(sem.B, l), sums, rtol=1e-10, atol=1e-10)


@given(admgs(), SEEDS)
def test_lemma_acyclic_inverse(g, seed):
    """(I - B)^-1 = I + B + ... + B^(d-1); effects that the graph excludes are exactly zero."""
    sem = bf.random_sem(g, rng=seed)
    if len(g) == 0:
        return
    powers = sum(np.linalg.matrix_power(sem.B, s) for s in range(len(g)))
    E = sem.total_effects().estimate
    np.testing.assert_allclose(E, powers, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(E @ (np.eye(len(g)) - sem.B), np.eye(len(g)), atol=1e-9)
    for j, cause in enumerate(g.nodes):
        for i, effect in enumerate(g.nodes):
            assert (E[i, j] != 0) <= (effect in g.descendants(cause))


@given(admgs(max_nodes=4), SEEDS)
@settings(max_examples=40)
def test_equation_summand(g, seed):
    """B^k Omega (B^l)^T sums the treks with k edges on the left and l on the right.

    The paper adds Omega[i, i] for i = j whatever k and l; it belongs to k = l = 0 only.
    """
    sem = bf.random_sem(g, rng=seed)
    power = [np.linalg.matrix_power(sem.B, k) for k in range(len(g))]
    for k in range(len(g)):
        for l in range(len(g)):
            expected = power[k] @ sem.Omega @ power[l].T
            for i, a in enumerate(g.nodes):
                for j, b in enumerate(g.nodes):
                    total = sem.Omega[i, i] if i == j and k == l == 0 else 0.0
                    for trek in g.treks(a, b):
                        if (len(trek.left) - 1, len(trek.right) - 1) == (k, l):
                            total += weight(sem, trek)
                    assert total == pytest.approx(expected[i, j], rel=1e-9, abs=1e-9)


@given(admgs(max_nodes=4), SEEDS)
@settings(max_examples=40)
def test_equation_nonsimple(g, seed):
    """A covariance is the sum over all treks, plus Omega[i, i] if it is a variance."""
    sem = bf.random_sem(g, rng=seed)
    Sigma = sem.covariance()
    for i, a in enumerate(g.nodes):
        for j, b in enumerate(g.nodes):
            total = sem.Omega[i, i] if i == j else 0.0
            for trek in g.treks(a, b):
                total += weight(sem, trek)
            assert total == pytest.approx(Sigma[i, j], rel=1e-9, abs=1e-9)


@given(st.one_of(admgs(max_nodes=5), baps()), SEEDS)
@settings(max_examples=60, deadline=None)
def test_theorem_unstandardized(g, seed):
    """Path tracing gives the covariance, for BAPs and for graphs with bows."""
    sem = bf.random_sem(g, rng=seed)
    Sigma = sem.covariance()
    sd = np.sqrt(np.diag(Sigma))
    # Cancelling terms can each be larger than their sum: errors in units of standard deviations.
    error = np.abs(sem.wright_covariance() - Sigma) / np.outer(sd, sd)
    assert error.max(initial=0) < 1e-10


@given(admgs(max_nodes=5), SEEDS)
@settings(max_examples=40, deadline=None)
def test_theorem_wright(g, seed):
    """In standard units a correlation is the plain sum over simple treks."""
    sem = bf.random_sem(g, rng=seed).standardized()
    Sigma = sem.covariance()
    np.testing.assert_allclose(np.diag(Sigma), np.ones(len(g)), rtol=1e-10)
    for i, a in enumerate(g.nodes):
        for j, b in enumerate(g.nodes[:i]):
            total = sum(sem.edge_product(trek) for trek in g.treks(a, b, simple=True))
            assert total == pytest.approx(Sigma[i, j], abs=1e-9)


def test_theorem_unstandardized_fails_with_a_cycle():
    """The appendix claims the theorem for cyclic graphs too; the cycle x -> y -> x refutes it.

    With x = a y + eps_x, y = b x + eps_y the simple treks from x to y are x -> y -> ... -> y with
    head x and their mirror images with head y.
    """
    a, b = 0.5, 0.25
    M = np.array([[0, a], [b, 0]])
    E = np.linalg.inv(np.eye(2) - M)
    phi = E @ E.T  # Omega = I
    rounds = 1 / (1 - a * b)  # a side may go round the cycle any number of times
    simple_treks = b * rounds * phi[0, 0] + a * rounds * phi[1, 1]
    without_rounds = b * phi[0, 0] + a * phi[1, 1]
    assert abs(simple_treks - phi[0, 1]) > 0.1
    assert abs(without_rounds - phi[0, 1]) > 0.1
    with pytest.raises(bf.errors.GraphError, match="cycle x -> y -> x"):
        bf.LinearSEM(bf.parse("x -> y -> x"), M, np.eye(2))


@given(admgs(), SEEDS)
def test_covariance_agrees_with_the_matrix_formula(g, seed):
    sem = bf.random_sem(g, rng=seed)
    inverse = np.linalg.inv(np.eye(len(g)) - sem.B)
    Sigma = sem.covariance()
    scale = np.sqrt(np.outer(np.diag(Sigma), np.diag(Sigma)))
    assert (np.abs(Sigma - inverse @ sem.Omega @ inverse.T) <= 1e-10 * scale).all()
    np.testing.assert_array_equal(Sigma, Sigma.T)
    # Renaming and reordering the nodes moves the entries and changes none.
    order = sorted(g.nodes)
    index = [g.nodes.index(v) for v in order]
    moved = bf.LinearSEM(
        g.reorder(order), sem.B[np.ix_(index, index)], sem.Omega[np.ix_(index, index)]
    )
    assert (
        np.abs(moved.covariance() - Sigma[np.ix_(index, index)]) <= 1e-10 * scale.max(initial=0)
    ).all()


@pytest.mark.parametrize(("b", "variance"), [(1e200, 1.0), (3.0, 1e308)])
def test_no_covariance_beyond_the_largest_number(b, variance):
    with pytest.raises(bf.errors.DataError, match="exceed the largest number"):
        bf.LinearSEM(bf.parse("x -> y"), [[0, 0], [b, 0]], variance * np.eye(2))


def test_units_do_not_decide_what_is_positive_definite():
    # Standard deviations 1 and 1e-9: one eigenvalue is 1e-18 of the other, and nothing is wrong.
    g = bf.parse("x <-> y")
    sem = bf.LinearSEM(g, np.zeros((2, 2)), [[1.0, 5e-10], [5e-10, 1e-18]])
    np.testing.assert_allclose(sem.standardized().Omega[0, 1], 0.5)
    with pytest.raises(bf.errors.DataError, match="smallest eigenvalue of its correlations"):
        bf.LinearSEM(g, np.zeros((2, 2)), [[1.0, 1e-9], [1e-9, 1e-18]])
