"""The empirical class of section 3.3 on converged scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bowfree as bf
from random_models import random_bap, random_parameters, sample_covariance
from reference_cases import case_id, graph_of, load, matrix
from twins import graph_matrices, implied_covariance

CASES = load("equivalence.json")["cases"]


def walk_twin(g, S, n, epsilon):
    """Section 3.3 as it is written, on whole graphs and `bf.score`."""
    zeta = bf.score(g, cov=S, n=n)
    found = set(bf.equivalence_class(g, method="colliders"))
    front = list(found)
    for _ in range(len(g) * (len(g) - 1) // 2):
        reached = []
        for h in front:
            for a, mark, b in h.edges:
                for new in (f"{a} -> {b}", f"{b} -> {a}", f"{a} <-> {b}"):
                    neighbor = h.replace(f"{a} {mark} {b}", new)
                    if neighbor in found or not neighbor.is_acyclic():
                        continue
                    if abs(bf.score(neighbor, cov=S, n=n) - zeta) <= epsilon:
                        found.add(neighbor)
                        reached.append(neighbor)
        front = reached
    return found


def test_a_chain():
    # x -> y -> z on its own covariances: all five members of its class, and nothing else.
    g = bf.parse("x -> y -> z")
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    found = bf.empirical_class(g, cov=S, n=100)
    assert set(found) == set(bf.equivalence_class(g))
    assert found[0] == g
    assert (found.complete, found.method, found.epsilon) == (True, "empirical", 1e-10)


def test_all_complete_baps_on_four_nodes():
    names = ["a", "b", "c", "d"]
    g = bf.MixedGraph(names, bidirected=itertools.combinations(names, 2))
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(4, 4))) + 2 * np.eye(4)
    found = bf.empirical_class(g, cov=L @ L.T, n=1000, epsilon=1e-10)
    assert len(found) == 543
    for start in (found[100], found[400]):
        assert set(bf.empirical_class(start, cov=L @ L.T, n=1000)) == set(found)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_population_covariances_give_the_class_within_reach(case):
    g, S = graph_of(case, case["d"]), matrix(case["S"])
    found = bf.empirical_class(g, cov=S, n=case["n"])
    assert set(found) == set(bf.equivalence_class(g, method="edge-changes"))
    # What R found with 1000 sweeps is among it; ours is never smaller.
    r = {graph_of(case["exact_class"][k], case["d"]) for k in case["r_ec_maxiter1000_index"]}
    assert r <= set(found)


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_twin_on_samples(seed):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, 4, density=0.8)
    S = sample_covariance(rng, implied_covariance(*random_parameters(rng, *graph_matrices(g))), 500)
    sizes = []
    for epsilon in (1e-10, 1e-2, 1e9):
        found = bf.empirical_class(g, cov=S, n=500, epsilon=epsilon)
        sizes.append(len(found))
        for h, score in itertools.islice(zip(found, found.scores, strict=True), 10):
            assert score == pytest.approx(bf.score(h, cov=S, n=500), abs=1e-11)
        if epsilon < 1:
            assert set(found) == walk_twin(g, S, 500, epsilon)
    assert found.score == pytest.approx(bf.score(g, cov=S, n=500), abs=1e-11)
    assert sizes == sorted(sizes)
    # Everything with the skeleton is within reach, if scores do not matter.
    skeleton = bf.equivalence.atlas(4).rows
    assert sizes[-1] in {entry.n_baps for entry in skeleton if len(entry.skeleton) == g.n_edges}


def test_limits():
    names = ["a", "b", "c", "d"]
    g = bf.MixedGraph(names, bidirected=itertools.combinations(names, 2))
    few = bf.empirical_class(g, cov=np.eye(4) + 1, n=100, limit=20)
    assert (len(few), few.complete, few[0]) == (20, False, g)
    late = bf.empirical_class(g, cov=np.eye(4) + 1, n=100, time_limit=1e-9)
    assert not late.complete
    assert g in late
