"""Fits over several conditions beside the slow twin, which knows neither districts nor groups.

The twin writes the log-likelihood of all conditions down from the definition of the kinds, in one
vector of all parameters, and climbs it with BFGS. So whatever the core does on its way (districts,
members peeled off, groups of conditions that are pooled, sweeps, Newton's method) is compared with
nothing but the model.
"""

import numpy as np
import pytest

import bowfree as bf
from kinds_twin import ConditionModel
from random_models import random_bap

KINDS = ("perfect", "mechanism", "activity", "noise")
SIZES = (150, 250, 100, 180)


def problem(kind, d, seed, *, means):
    """Return a random BAP, its twin at random parameters, and a sample of four conditions.

    One condition is undisturbed, one has one target, one two, and one has one of these again: some
    members of a district are left alone by several conditions together. The undisturbed one comes
    first or last.
    """
    rng = np.random.default_rng([d, seed])
    graph = random_bap(rng, d, density=0.8, bidirected=0.5)
    a, b, c = rng.permutation(d)[:3]
    targets = [tuple(graph.nodes[t] for t in chosen) for chosen in ((), (a,), (b, c), (b,))]
    targets = targets[seed % 2 :] + targets[: seed % 2]
    model = ConditionModel(graph, kind, targets, means=means)
    theta = model.random(rng, graph)
    return graph, targets, model, theta, model.sample(rng, theta, SIZES)


def conditions(graph, kinds, targets, data):
    """Return the sample as the package takes it."""
    return [
        bf.Condition(bf.Moments(graph.nodes, S, n, m), targets=names, kind=kind)
        for (n, S, m), names, kind in zip(data, targets, kinds, strict=True)
    ]


def compare(graph, kinds, targets, model, theta, data, *, means):
    """Compare log-likelihood, parameters and score of the package's fit with the twin's."""
    given = bf.moments(conditions(graph, kinds, targets, data), means=means)
    fit = bf.fit(graph, given)
    shared = means == "shared"
    best, loglik = model.fit(data, theta, means=shared)
    assert fit.converged
    assert fit.loglik == pytest.approx(loglik, rel=1e-9)
    assert sum(part.loglik for part in fit.conditions) == pytest.approx(loglik, rel=1e-9)
    for e, condition in enumerate(fit.conditions):
        B, Omega, _ = model.matrices(best, e)
        E = np.linalg.inv(np.eye(len(B)) - B)
        np.testing.assert_allclose(condition.Sigma, E @ Omega @ E.T, atol=1e-4, rtol=1e-4)
        if kinds[e] != "perfect":
            np.testing.assert_allclose(fit.own[e].B, B, atol=2e-4)
            np.testing.assert_allclose(fit.own[e].Omega, Omega, atol=2e-4)
    d, n = len(graph), sum(SIZES)
    intercepts = {number for places in model.index for what, *_, number in places if what == "c"}
    priced = model.size - (d if shared else len(intercepts))  # shared intercepts are free
    assert fit.n_parameters == priced
    assert fit.df == len(data) * (d * (d + 1) // 2 + d * shared) - model.size
    for penalty in (0.5, 1.0):
        score = (loglik - penalty * np.log(n) * priced) / n
        assert bf.score(graph, given, penalty=penalty) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("means", ["free", "shared"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "seed"), [(3, 0), (3, 1), (4, 0), (4, 1), (5, 0), (5, 1)])
def test_one_kind(kind, d, seed, means):
    graph, targets, model, theta, data = problem(kind, d, seed, means=means == "shared")
    compare(graph, [kind] * 4, targets, model, theta, data, means=means)


# What the undisturbed condition is called does not matter.
MIXTURES = (
    ("noise", "perfect", "noise", "mechanism"),
    ("perfect", "activity", "perfect", "noise"),
    ("perfect", "mechanism", "activity", "perfect"),
)


@pytest.mark.parametrize("means", ["free", "shared"])
@pytest.mark.parametrize("kinds", MIXTURES, ids="-".join)
@pytest.mark.parametrize(("d", "seed"), [(3, 2), (4, 2), (4, 3), (5, 3)])
def test_different_kinds(kinds, d, seed, means):
    graph, targets, model, theta, data = problem(kinds, d, seed, means=means == "shared")
    compare(graph, kinds, targets, model, theta, data, means=means)
