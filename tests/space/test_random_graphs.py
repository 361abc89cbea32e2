"""Random graphs: uniform over all BAPs, which is shown by counting every one of them.

Two nodes have four BAPs: no edge, x1 -> x2, x1 <- x2, x1 <-> x2.
"""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import bowfree as bf
from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import graph_of_bits

RIGHT, LEFT, BOTH = 1, 2, 3  # states of a pair (i, j), i < j; 0 is "no edge"


def rules_of(d, graph_class="bap", **limits):
    """Rules of a search space on x1, x2, ..., as the core has them."""
    names = tuple(f"x{i + 1}" for i in range(d))
    return bf.SearchSpace(graph_class, **limits).rules(names)


def heads(states, d):
    """Arrowheads at each node."""
    found = [0] * d
    for (i, j), state in zip(combinations(range(d), 2), states, strict=True):
        found[i] += state in (LEFT, BOTH)
        found[j] += state in (RIGHT, BOTH)
    return found


def acyclic(states, d):
    """Peel off nodes without parents: the slow twin of the core's test."""
    parents = {v: set() for v in range(d)}
    for (i, j), state in zip(combinations(range(d), 2), states, strict=True):
        if state == RIGHT:
            parents[j].add(i)
        elif state == LEFT:
            parents[i].add(j)
    while free := [v for v, above in parents.items() if not above & parents.keys()]:
        for v in free:
            del parents[v]
    return not parents


def all_baps(d, max_in_degree=None):
    """Codes of all BAPs: the pairs' states as digits in base 4."""
    codes = []
    for states in product(range(4), repeat=d * (d - 1) // 2):
        if not acyclic(states, d):
            continue
        if max_in_degree is not None and max(heads(states, d)) > max_in_degree:
            continue
        codes.append(sum(state * 4**k for k, state in enumerate(states)))
    return np.array(codes)


def sampled_codes(d, size, *, max_in_degree=None, method="mcmc", seed=0):
    """Draw through the core and encode in NumPy; one chain, d**4 steps between samples."""
    empty = np.zeros((d, 1), dtype=np.uint64)
    limits = rules_of(d, "bap", max_in_degree=max_in_degree)
    if method == "naive":
        parents, spouses = _core.sample_triangular(d, limits, size, seed)
    else:
        parents, spouses = _core.sample_mcmc(
            empty, empty, limits, size, d**4, d**4, method == "mcmc-printed", seed
        )
    return encode(parents, spouses)


def encode(parents, spouses):
    """Codes as in `all_baps`, from the core's bits."""
    codes = np.zeros(len(parents), dtype=np.int64)
    for k, (i, j) in enumerate(combinations(range(parents.shape[1]), 2)):

        def bit(bits, row, column):
            return (bits[:, row, 0] >> np.uint64(column)).astype(np.int64) & 1

        state = RIGHT * bit(parents, j, i) + LEFT * bit(parents, i, j) + BOTH * bit(spouses, i, j)
        codes += state * 4**k
    return codes


def decode(code, d):
    """Bits of one graph, the inverse of `encode`."""
    parents, spouses = np.zeros((2, d, 1), dtype=np.uint64)
    for k, (i, j) in enumerate(combinations(range(d), 2)):
        state = code // 4**k % 4
        parents[j, 0] |= np.uint64((state == RIGHT) << i)
        parents[i, 0] |= np.uint64((state == LEFT) << j)
        spouses[j, 0] |= np.uint64((state == BOTH) << i)
        spouses[i, 0] |= np.uint64((state == BOTH) << j)
    return parents, spouses


def uniformity_p_value(d, size, *, max_in_degree=None, method="mcmc", seed=0):
    """Chi-square against the uniform law on all BAPs; every sample must be one of them."""
    codes = all_baps(d, max_in_degree)
    drawn = sampled_codes(d, size, max_in_degree=max_in_degree, method=method, seed=seed)
    place = np.searchsorted(np.sort(codes), drawn)
    assert (np.sort(codes)[place] == drawn).all()
    return chisquare(np.bincount(place, minlength=len(codes))).pvalue


def test_two_nodes():
    graphs = bf.random_bap(["x", "y"], size=400, rng=1)
    found = {g: graphs.count(g) for g in set(graphs)}
    expected = {
        bf.MixedGraph(["x", "y"]),
        bf.MixedGraph(["x", "y"], [("x", "y")]),
        bf.MixedGraph(["x", "y"], [("y", "x")]),
        bf.MixedGraph(["x", "y"], [], [("x", "y")]),
    }
    assert found.keys() == expected
    assert min(found.values()) > 70


def test_counts_of_all_baps():
    assert [len(all_baps(d)) for d in (2, 3, 4)] == [4, 62, 3608]


# 200 (d = 3) and 20 (d = 4) expected draws per graph; the p-values of a uniform sampler are
# uniform themselves, so at fixed seeds a bound of 1e-3 is safe and still catches a bias of 5 %.
@pytest.mark.parametrize(
    ("d", "size", "max_in_degree"),
    [(3, 12_400, None), (3, 12_400, 1), (4, 72_160, None), (4, 72_160, 2)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_corrected_chain_is_uniform(d, size, max_in_degree, seed):
    assert uniformity_p_value(d, size, max_in_degree=max_in_degree, seed=seed) > 1e-3


@pytest.mark.parametrize(("d", "size"), [(3, 12_400), (4, 72_160)])
@pytest.mark.parametrize("method", ["mcmc-printed", "naive"])
def test_printed_step_and_naive_sampler_are_not(d, size, method):
    assert uniformity_p_value(d, size, method=method) < 1e-100


TIERS = bf.Knowledge(tiers=[["x1"], ["x2", "x3"]])


# The counts by hand, state by state of the pairs 12, 13 and 23:
#   1 * 3 * 3 less the cycle; 3 * 3 * 4; 3 * 1 * 4; nothing or one arrow into x3; 2 * 2 * 3
@pytest.mark.parametrize(
    ("knowledge", "limits", "count"),
    [
        (bf.Knowledge(required=["x1 -> x2"], unconfounded=["x3"]), {}, 8),
        (TIERS, {}, 36),
        (bf.Knowledge(forbidden=["x1 -- x3", "x2 <-> x1"]), {}, 12),
        (bf.Knowledge(required=["x1 <-> x2"]), {"max_in_degree": 1}, 3),
        (TIERS, {"graph_class": "dag"}, 12),
    ],
    ids=["required", "tiers", "forbidden", "in-degree", "dag"],
)
def test_uniform_within_knowledge(knowledge, limits, count):
    names = ("x1", "x2", "x3")
    rules = rules_of(3, limits.get("graph_class", "bap"), max_in_degree=limits.get("max_in_degree"))
    everything = [decode(code, 3) for code in all_baps(3).tolist()]
    expected = {
        graph
        for bits in everything
        if knowledge.permits(graph := graph_of_bits(names, *bits)) and rules.permits(*bits)
    }
    assert len(expected) == count
    # Independent chains of 81 steps at 200 expected draws per graph.
    drawn = bf.random_bap(3, knowledge=knowledge, **limits, size=200 * count, rng=5)
    found = Counter(drawn)
    assert found.keys() == expected
    assert chisquare(list(found.values())).pvalue > 1e-3


def test_printed_step_has_the_predicted_law():
    """Directed edges go twice as often as they come: weights 2**-(number of directed edges)."""
    codes = np.sort(all_baps(3))
    digits = np.array([[code // 4**k % 4 for k in range(3)] for code in codes])
    weights = 0.5 ** np.isin(digits, [RIGHT, LEFT]).sum(axis=1)
    drawn = sampled_codes(3, 20_000, method="mcmc-printed", seed=3)
    counts = np.bincount(np.searchsorted(codes, drawn), minlength=len(codes))
    assert chisquare(counts, weights / weights.sum() * counts.sum()).pvalue > 1e-3


def test_transition_matrix_of_one_step_is_symmetric():
    """One-step frequencies out of every 3-node BAP and back agree (appendix A.3, corrected)."""
    d, size = 3, 6_000
    limits = rules_of(d, "bap")
    steps = {}
    for start in all_baps(d).tolist():
        ends = encode(*_core.sample_mcmc(*decode(start, d), limits, size, 1, 0, False, start))
        for end, n in zip(*np.unique(ends, return_counts=True), strict=True):
            if end != start:
                steps[start, int(end)] = n
    n_edges = sum(code // 4**k % 4 > 0 for code in all_baps(d).tolist() for k in range(3))
    assert len(steps) == 2 * n_edges  # every edge can go, and come back
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
    for graph in bf.random_bap(
        d,
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_edges=max_edges,
        size=3,
        rng=seed,
    ):
        n_parents = [bin(mask).count("1") for mask in graph._parents]
        n_spouses = [bin(mask).count("1") for mask in graph._spouses]
        assert rules_of(d, graph_class).permits(*graph._bits())
        if graph_class == "dag":
            assert sum(n_spouses) == 0
        if graph_class == "bidirected":
            assert sum(n_parents) == 0
        if max_in_degree is not None:
            assert max(map(sum, zip(n_parents, n_spouses, strict=True))) <= max_in_degree
        if max_edges is not None:
            assert sum(n_parents) + sum(n_spouses) // 2 <= max_edges


def test_more_than_one_word():
    graph = bf.random_bap(70, max_in_degree=1, burn_in=20_000, rng=4)
    assert rules_of(70, "bap", max_in_degree=1).permits(*graph._bits())
    assert any(mask >> 64 for mask in graph._parents)


def test_same_rng_same_graphs():
    draws = [bf.random_bap(6, size=5, rng=11) for _ in range(2)]
    assert draws[0] == draws[1]
    assert draws[0] != bf.random_bap(6, size=5, rng=12)
    # One chain: its graphs are 50 steps apart, so taking every second is taking them 100 apart.
    chain = bf.random_bap(6, size=10, thin=50, burn_in=100, rng=11)
    assert chain[::2] == bf.random_bap(6, size=5, thin=100, burn_in=100, rng=11)
    assert chain != bf.random_bap(6, size=10, thin=50, burn_in=100, rng=12)
    assert len(set(chain)) > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": 0}, "number of nodes must be a whole number of at least 1, got 0"),
        ({"nodes": 2.5}, "got 2.5"),
        ({"nodes": "abc"}, "sequence of names"),
        ({"nodes": 3, "max_in_degree": -1}, "max_in_degree must be a whole number"),
        ({"nodes": 3, "max_edges": -2}, "max_edges must be a whole number"),
        ({"nodes": 3, "size": -1}, "size must be"),
        ({"nodes": 3, "burn_in": -1}, "burn_in must be"),
        ({"nodes": 3, "thin": 0}, "thin must be a whole number of at least 1"),
        ({"nodes": 3, "graph_class": "mag"}, "choose one of bap, dag"),
        ({"nodes": 3, "method": "gibbs"}, "unknown method 'gibbs'"),
        ({"nodes": 3, "method": "naive", "max_edges": 2}, "use method='mcmc'"),
        ({"nodes": 3, "method": "naive", "knowledge": TIERS}, "use method='mcmc'"),
        ({"nodes": 2, "knowledge": TIERS}, "x3"),
        ({"nodes": ["a", "b", "c"], "knowledge": TIERS}, "x1"),
        (
            {"nodes": 2, "knowledge": bf.Knowledge(required=["x1 -> x2", "x2 -> x1"])},
            "contradiction",
        ),
        (
            {"nodes": 2, "knowledge": bf.Knowledge(required=["x1 -> x2"]), "max_edges": 0},
            "required edges .x1 -> x2. are not possible",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(BowfreeError, match=message):
        bf.random_bap(**arguments)
