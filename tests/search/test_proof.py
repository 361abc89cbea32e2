"""The proof at the end of a greedy search."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bowfree as bf
from bowfree.errors import BowfreeError
from bowfree.parallel.budget import Budget
from bowfree.search.proof import Proof
from bowfree.search.scheduler import Setup

NO_SEARCH = {"restarts": 1, "rounds": 0, "max_steps": 0}  # almost none


def sample(d: int, seed: int, n: int = 200) -> np.ndarray:
    graph = bf.random_bap(d, max_in_degree=2, rng=seed)
    return bf.random_sem(graph, rng=seed).sample(n, rng=seed)


@pytest.mark.parametrize("space", [{}, {"graph_class": "ancestral"}, {"max_edges": 2}])
@pytest.mark.parametrize("d", [3, 4])
def test_all_graphs_of_few_variables(d: int, space: dict[str, object]) -> None:
    for seed in range(3):
        data = sample(d, seed)
        expected = bf.exhaustive_search(data, **space)
        for options in ({}, NO_SEARCH):
            result = bf.greedy_search(data, rng=1, **space, **options)
            assert result.proved
            assert result.score == pytest.approx(expected.score, abs=1e-9)
            assert result.space.permits(result.graph)
            assert result.confidence.reliable
            assert result.confidence.missed == 0
            assert f"proved best among {result.space}" in str(result)
            assert "simulations" not in str(result)


def test_graphs_with_too_many_edges_are_omitted() -> None:
    result = bf.exhaustive_search(sample(4, 0))
    core = Setup(result.moments, result.space, result.rule, bf.search.Strategy()).core()
    everything = dict(zip(*core.score_all(), strict=True))
    least = result.score - 1e-9
    some = dict(zip(*core.score_all(least), strict=True))
    assert some.items() <= everything.items()
    assert len(some) < len(everything) / 2
    assert {code for code, score in everything.items() if score >= least} <= set(some)


@pytest.mark.parametrize("space", [{"graph_class": "dag"}, {"max_district": 2}])
def test_the_exact_method(space: dict[str, object]) -> None:
    data = sample(7, 2)
    expected = bf.exact_search(data, max_parents=None, rng=1, **space)
    result = bf.greedy_search(data, rng=2, **space, **NO_SEARCH)
    assert expected.proved
    assert result.proved
    assert result.score == pytest.approx(expected.score, abs=1e-9)


def test_a_part_of_the_space() -> None:
    data = sample(7, 3)
    result = bf.greedy_search(data, rng=1, **NO_SEARCH)
    assert not result.proved
    assert result.proof == (
        "proved: no better graph among BAPs with at most 2 nodes in a district, and at most 3 "
        "parents of a node"
    )
    assert result.proof in str(result.confidence)
    assert result.score >= bf.exact_search(data, rng=1).score - 1e-9
    for n_jobs in (1, 2):
        again = bf.greedy_search(data, rng=1, n_jobs=n_jobs, **NO_SEARCH)
        assert (again.graph, again.score, again.proof) == (result.graph, result.score, result.proof)


def test_without_a_proof() -> None:
    data = sample(4, 1)
    for options in ({"proof": False}, {"strategy": "restart"}, {"method": "ricf"}):
        result = bf.greedy_search(data, rng=1, **options)
        assert (result.proved, result.proof) == (False, "")
    poor = bf.greedy_search(data, rng=1, proof=False, **NO_SEARCH)
    assert poor.score < bf.greedy_search(data, rng=1, **NO_SEARCH).score
    with pytest.raises(BowfreeError, match="proof must be True or False, got 3"):
        bf.greedy_search(data, proof=3)


def test_a_proof_ends_at_its_work_limit() -> None:
    result = bf.greedy_search(sample(8, 1), rng=1, proof=False)
    space = replace(result.space, max_district=2)
    setup = Setup(result.moments, space, result.rule, bf.search.Strategy())
    found = []
    for work in (1e5, 1e5, math.inf):
        proof = Proof(setup, 3, Budget(), work)
        proof.score = result.score
        proof.run()
        found.append((proof.proved, proof.fits, proof.states, proof.bound))
    assert found[0] == found[1] != found[2]
    assert [proved for proved, *_ in found] == [False, False, True]
