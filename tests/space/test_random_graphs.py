"""Random graphs are uniform over all BAPs, which is tested by counting every one of them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import bowfree as bf
from bowfree import _core
from bowfree.graph.encodings import graphs_of_bits
from graph_strategies import all_baps


def frequencies(d, size, max_in_degree=None, method="mcmc", rng=0):
    """Draw from one chain, d**4 steps apart; return the number of draws of every BAP."""
    drawn = Counter(
        bf.random_bap(
            tuple("abcdef"[:d]), size=size, max_in_degree=max_in_degree, method=method,
            thin=d**4, rng=rng,
        )
    )  # fmt: skip
    graphs = all_baps(d)
    if max_in_degree is not None:
        graphs = [g for g in graphs if max(map(g.in_degree, g)) <= max_in_degree]
    assert drawn.keys() <= set(graphs)
    return graphs, np.array([drawn[graph] for graph in graphs])


# 200 (d = 3) and 20 (d = 4) expected draws of each graph; the p-values of a uniform sampler are
# uniform themselves, so at fixed seeds a bound of 1e-3 is safe and still detects a bias of 5 %.
@pytest.mark.parametrize(
    ("d", "size", "max_in_degree"),
    [(3, 12_400, None), (3, 12_400, 1), (4, 72_160, None), (4, 72_160, 2)],
)
def test_corrected_chain_is_uniform(d, size, max_in_degree):
    assert chisquare(frequencies(d, size, max_in_degree)[1]).pvalue > 1e-3


@pytest.mark.parametrize(("d", "size"), [(3, 12_400), (4, 72_160)])
@pytest.mark.parametrize("method", ["mcmc-printed", "naive"])
def test_printed_step_and_naive_sampler_are_not_uniform(d, size, method):
    assert chisquare(frequencies(d, size, method=method)[1]).pvalue < 1e-100


def test_printed_step_has_the_predicted_distribution():
    """Directed edges are removed twice as often as added: weights 2**-(number of them)."""
    graphs, counts = frequencies(3, 20_000, method="mcmc-printed", rng=3)
    weights = np.array([0.5**graph.n_directed for graph in graphs])
    assert chisquare(counts, weights / weights.sum() * counts.sum()).pvalue > 1e-3


TIERS = bf.Knowledge(tiers=[["a"], ["b", "c"]])


# The counts by hand, state by state of the pairs ab, ac and bc:
#   1 * 3 * 3 less the cycle; 3 * 3 * 4; 3 * 1 * 4; nothing or one arrow into c; 2 * 2 * 3
@pytest.mark.parametrize(
    ("knowledge", "limits", "count"),
    [
        (bf.Knowledge(required=["a -> b"], unconfounded=["c"]), {}, 8),
        (TIERS, {}, 36),
        (bf.Knowledge(forbidden=["a -- c", "b <-> a"]), {}, 12),
        (bf.Knowledge(required=["a <-> b"]), {"max_in_degree": 1}, 3),
        (TIERS, {"graph_class": "dag"}, 12),
    ],
    ids=["required", "tiers", "forbidden", "in-degree", "dag"],
)
def test_uniform_within_knowledge(knowledge, limits, count):
    space = bf.SearchSpace(**limits)
    expected = {g for g in all_baps(3) if knowledge.permits(g) and space.permits(g)}
    assert len(expected) == count
    # Independent chains of 81 steps, 200 expected draws of each graph.
    drawn = bf.random_bap(["a", "b", "c"], knowledge=knowledge, **limits, size=200 * count, rng=5)
    found = Counter(drawn)
    assert found.keys() == expected
    assert chisquare(list(found.values())).pvalue > 1e-3


def test_transition_matrix_of_one_step_is_symmetric():
    """One-step frequencies out of every 3-node BAP and back agree (appendix A.3, corrected)."""
    names, size = ("a", "b", "c"), 6_000
    rules = bf.SearchSpace().rules(names)
    steps = {}
    for seed, start in enumerate(all_baps(3)):
        bits = _core.sample_mcmc(*start._bits(), rules, size, 1, 0, False, seed)
        ends, counts = np.unique(np.stack(bits, axis=1), axis=0, return_counts=True)
        for end, n in zip(graphs_of_bits(names, ends[:, 0], ends[:, 1]), counts, strict=True):
            if end != start:
                steps[start, end] = n
    assert len(steps) == 2 * sum(graph.n_edges for graph in all_baps(3))
    for (start, end), n in steps.items():
        # p/2 = 1/12 or p = 1/6 of 6,000 draws; five standard deviations of the difference
        assert abs(n - steps[end, start]) < 5 * np.sqrt(2 * n)


@given(
    d=st.integers(1, 9),
    graph_class=st.sampled_from(["bap", "dag", "bidirected", "ancestral", "arid"]),
    max_in_degree=st.none() | st.integers(0, 4),
    max_edges=st.none() | st.integers(0, 12),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_limits_hold(d, graph_class, max_in_degree, max_edges, seed):
    limits = {"max_in_degree": max_in_degree, "max_edges": max_edges}
    for graph in bf.random_bap(d, graph_class=graph_class, **limits, size=3, rng=seed):
        assert bf.SearchSpace(graph_class).permits(graph)
        assert getattr(graph, f"is_{graph_class}", lambda graph=graph: graph.n_directed == 0)()
        assert max_in_degree is None or max(map(graph.in_degree, graph)) <= max_in_degree
        assert max_edges is None or graph.n_edges <= max_edges


def test_more_than_one_word():
    graph = bf.random_bap(70, max_in_degree=1, burn_in=20_000, rng=4)
    assert bf.SearchSpace(max_in_degree=1).permits(graph)
    assert any(mask >> 64 for mask in graph._parents)


def test_same_rng_same_graphs():
    draws = [bf.random_bap(6, size=5, rng=11) for _ in range(2)]
    assert draws[0] == draws[1]
    assert draws[0] != bf.random_bap(6, size=5, rng=12)
    # Every second graph of a chain with 50 steps between graphs is a graph after 100 steps.
    chain = bf.random_bap(6, size=10, thin=50, burn_in=100, rng=11)
    assert chain[::2] == bf.random_bap(6, size=5, thin=100, burn_in=100, rng=11)
    assert chain != bf.random_bap(6, size=10, thin=50, burn_in=100, rng=12)
    assert len(set(chain)) > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": 0}, "number of nodes must be a whole number of at least 1, got 0"),
        ({"nodes": "abc"}, "sequence of names"),
        ({"method": "naive", "max_edges": 2}, "use method='mcmc'"),
        ({"method": "naive", "knowledge": TIERS, "nodes": list("abc")}, "use method='mcmc'"),
        (
            {"knowledge": bf.Knowledge(required=["x1 -> x2"]), "max_edges": 0},
            "required edges .x1 -> x2, isolated: x3. are not possible",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.random_bap(**{"nodes": 3, **arguments})
