"""Sweeps over a district under several conditions, each compared with EM from its definition.

A fit that Newton's method ends does not show what the sweeps before it did. So they are asked for
by themselves here, and beside them stands a twin without districts, groups or regressions: the
errors of set members are filled in by their expectations, and then each row of B and Omega in turn
goes to the minimum of what is expected of F, by BFGS.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import bowfree as bf
import groups_twin
from bowfree import _core
from random_models import random_bap, random_parameters
from twins import graph_matrices, implied_covariance


def problem(seed, d, targets, n=60):
    """Return a random BAP and (share, S, mask of targets) of conditions that set some nodes."""
    rng = np.random.default_rng([d, seed])
    graph = random_bap(rng, d, density=0.7, bidirected=0.7)
    B, Omega = random_parameters(rng, *graph_matrices(graph))
    found = []
    for chosen in targets:
        target = np.isin(np.arange(d), chosen)
        Sigma = implied_covariance(*groups_twin.cut(B, Omega, 2 * np.eye(d), target))
        X = rng.normal(size=(n, d)) @ np.linalg.cholesky(Sigma).T
        found.append((1 / len(targets), np.cov(X.T, ddof=0), target))
    return graph, found


def swept(graph, conditions, n_sweeps, kind=0):
    """Return the core's state after some sweeps."""
    weights, S, targets = zip(*conditions, strict=True)
    data = _core.JointData(
        np.stack(S), list(weights), np.stack(targets).astype(np.uint8), [kind] * len(S), False
    )
    return _core.sweep_groups(data, *graph._bits(), n_sweeps)


def objective(B, Omega, conditions):
    """Return F: the rows and columns of the members that are left, summed over conditions."""
    total = 0.0
    for weight, S, target in conditions:
        R = np.flatnonzero(~target)
        A, W = (np.eye(len(B)) - B)[R], Omega[np.ix_(R, R)]
        total += weight * (np.linalg.slogdet(W)[1] + np.trace(np.linalg.solve(W, A @ S @ A.T)))
    return total


def completed(B, Omega, condition):
    """Return what fills in the errors of set members: a linear form in x, and what is left open."""
    _, _, target = condition
    T, R = np.flatnonzero(target), np.flatnonzero(~target)
    K = np.linalg.solve(Omega[np.ix_(R, R)], Omega[np.ix_(R, T)]).T
    form, left = np.zeros_like(B), np.zeros_like(Omega)
    form[T] = K @ (np.eye(len(B)) - B)[R]
    left[np.ix_(T, T)] = Omega[np.ix_(T, T)] - K @ Omega[np.ix_(R, T)]
    return form, left


def em_sweep(graph, B, Omega, conditions):
    """Return B and Omega after one sweep."""
    D, U = graph_matrices(graph)
    filled = [completed(B, Omega, condition) for condition in conditions]

    def expected(B, Omega):
        total = 0.0
        for (weight, S, target), (form, left) in zip(conditions, filled, strict=True):
            G = np.where(target[:, None], form, np.eye(len(B)) - B)
            W = np.linalg.inv(Omega)
            total += weight * (np.linalg.slogdet(Omega)[1] + np.trace(W @ (G @ S @ G.T + left)))
        return total

    for v in range(len(B)):
        P, spouses = np.flatnonzero(D[v]), np.flatnonzero(U[v])

        def changed(row, v=v, P=P, spouses=spouses, at=(B, Omega)):
            B, Omega = at[0].copy(), at[1].copy()
            B[v, P] = row[: len(P)]
            Omega[v, spouses] = Omega[spouses, v] = row[len(P) : -1]
            Omega[v, v] = row[-1]
            return B, Omega

        def loss(row, changed=changed):
            B, Omega = changed(row)
            return expected(B, Omega) if np.linalg.eigvalsh(Omega)[0] > 0 else 1e6

        row = np.concatenate([B[v, P], Omega[v, spouses], [Omega[v, v]]])
        for _ in range(2):  # differences are rough, so it is started again where it stops
            row = minimize(loss, row, method="BFGS", options={"gtol": 1e-9}).x
        B, Omega = changed(row)
    return B, Omega


# Every member is left alone somewhere, and every pair together.
TARGETS = ((), (0,), (1, 2), (2,))


def test_the_start():
    graph, conditions = problem(0, 4, TARGETS)
    state = swept(graph, conditions, 0)
    assert not state.B.any()
    for v in range(4):
        seen = [(weight, S) for weight, S, target in conditions if not target[v]]
        mean = sum(w * S[v, v] for w, S in seen) / sum(w for w, _ in seen)
        assert state.Omega[v, v] == pytest.approx(mean, rel=1e-12)
    assert sum(state.objective) == pytest.approx(
        objective(state.B, state.Omega, conditions), rel=1e-12
    )


@pytest.mark.parametrize(("d", "seed"), [(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)])
def test_a_sweep_is_em(d, seed):
    graph, conditions = problem(seed, d, TARGETS)
    assert graph.n_bidirected
    for n_sweeps in (0, 1, 5):
        before = swept(graph, conditions, n_sweeps)
        after = swept(graph, conditions, n_sweeps + 1)
        B, Omega = em_sweep(graph, before.B, before.Omega, conditions)
        np.testing.assert_allclose(after.B, B, atol=2e-5)
        np.testing.assert_allclose(after.Omega, Omega, atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_descend_to_the_fit(seed):
    graph, conditions = problem(seed, 5, TARGETS, n=200)
    states = [swept(graph, conditions, n) for n in (*range(12), 5000)]
    values = [sum(state.objective) for state in states]
    assert all(low <= high + 1e-12 for high, low in pairwise(values))
    for state, value in zip(states, values, strict=True):
        assert value == pytest.approx(objective(state.B, state.Omega, conditions), rel=1e-12)
    given = [
        bf.Condition(cov=S, n=200, ddof=0, targets=[graph.nodes[v] for v in np.flatnonzero(target)])
        for _, S, target in conditions
    ]
    fit = bf.fit(graph, given)
    assert fit.converged
    end = sum(certificate.objective for certificate in fit.certificate)
    assert values[-1] == pytest.approx(end, abs=1e-8)


def test_there_are_none_for_parameters_of_a_condition_s_own():
    graph, conditions = problem(0, 4, TARGETS)
    for kind in (1, 3):
        state = swept(graph, conditions, 3, kind)
        assert max(state.n_iter) == 0
