"""Section 2.4: conditions for equivalence from both sides, and the exact decision between them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, compress, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree import _core
from field_twin import produces, rational_covariance
from graph_strategies import orientations, separations
from random_models import random_bap
from reference_cases import graph_of, load

STATEMENTS = load("equivalence.json")["paper_statements"]
FIGURES = {
    name: graph_of(graph, 4)
    for name, graph in STATEMENTS["figure_graphs_vanishing_partial_correlations"].items()
}


def change_edges(rng, graph, n_changes):
    """Change the marks of some edges at random, staying a BAP."""
    for _ in range(n_changes if graph.n_edges else 0):
        edges = graph.edges
        a, mark, b = edges[rng.integers(len(edges))]
        new = [f"{a} -> {b}", f"{b} -> {a}", f"{a} <-> {b}"][rng.integers(3)]
        changed = graph.replace(f"{a} {mark} {b}", new)
        if changed.is_acyclic():
            graph = changed
    return graph


# -- the smallest examples --


def test_one_edge_and_two_edges():
    #   x -> y,  x <- y,  x <-> y are one model;   x -> y -> z  and  x -> y <- z are two.
    edge = [bf.parse(f"x, y, {text}") for text in ("x -> y", "x <- y", "x <-> y")]
    assert all(bf.equivalent(g, h) for g in edge for h in edge)
    assert not bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x -> y <- z"))
    assert not bf.equivalent(bf.parse("x, y"), edge[0])
    assert bf.is_submodel(bf.parse("x, y"), edge[0])
    assert not bf.is_submodel(edge[0], bf.parse("x, y"))


# -- the figures of the paper --


def test_figure_inclusions():
    for statement, expected in STATEMENTS["figure_inclusions"].items():
        inner, outer = (FIGURES[name] for name in statement.split(" subset of "))
        assert bf.is_submodel(inner, outer) == bool(expected), statement


def test_figure_m_separations():
    for name, g in FIGURES.items():
        expected = STATEMENTS["figure_graphs_vanishing_partial_correlations"][name]
        wanted = {
            (f"x{a}", f"x{b}", tuple(f"x{c}" for c in C))
            for a, b, C in expected["vanishing_partial_correlations"]
        }
        assert separations(g) == wanted


def test_figure_counterexample():
    a, b, c = (FIGURES[f"counterexample_{k}"] for k in "abc")
    assert bf.equivalence.same_skeleton_and_v_structures(a, b)
    assert not bf.equivalence.markov_equivalent(a, b)
    assert not bf.equivalent(a, b)
    assert bf.equivalence.markov_equivalent(a, c)
    assert not bf.equivalence.same_skeleton_and_v_structures(a, c)
    assert not bf.equivalent(a, c)


def test_figure_counterexample2():
    a, b = (FIGURES[f"counterexample2_{k}"] for k in "ab")
    assert bf.equivalence.same_skeleton_and_v_structures(a, b)
    assert bf.equivalence.markov_equivalent(a, b)
    for W in combinations(a.nodes, 3):
        assert bf.equivalent(a.subgraph(W), b.subgraph(W))
    assert not bf.equivalent(a, b)
    # "if we replace the X1 <-> X2 edge with X1 -> X2, the resulting graph is equivalent"
    turned = b.replace("x0 <-> x1", "x0 -> x1")
    assert bf.equivalence.same_skeleton_and_colliders(b, turned)
    assert bf.equivalent(b, turned)


def test_the_sufficient_condition_needs_bow_freeness():
    # The theorem is stated for acyclic path diagrams. These two share skeleton and collider triples
    # (z, x, y), but only in the second are z and y independent:
    #     z -> x -> y, x <-> y        z -> x <-> y
    bowed, plain = bf.parse("x, y, z -> x -> y <-> x"), bf.parse("x, y, z -> x <-> y")
    assert bowed.skeleton() == plain.skeleton()
    assert bowed.collider_triples() == plain.collider_triples()
    assert not bf.is_submodel(bowed, plain)
    assert not bf.equivalence.markov_equivalent(bowed, plain)
    with pytest.raises(bf.errors.GraphError, match="bow"):
        bf.equivalence.same_skeleton_and_colliders(bowed, plain)


def test_equivalence_is_up_to_null_sets():
    # Both graphs have an edge at every pair, but the second, which is not arid, cannot produce this
    # positive definite matrix: var(eps_c) is fixed to zero there while cov(d, eps_c) is not.
    dag = bf.parse("a -> b -> c -> d, a -> c, a -> d, b -> d")
    chain = bf.parse("a -> b -> c -> d, a <-> c, a <-> d, b <-> d")
    assert bf.equivalent(dag, chain)
    S = np.eye(4) * 90
    S[0, 1] = S[1, 0] = 81
    S[0, 2] = S[2, 0] = 12
    S[1, 2] = S[2, 1] = 45
    S[2, 3] = S[3, 2] = 9
    assert np.linalg.eigvalsh(S)[0] > 0
    exact = [[Fraction(int(x)) for x in row] for row in S]
    assert produces(dag, exact, Fraction)
    assert produces(chain, exact, Fraction) is None


# -- identities: what any equivalence must satisfy --


@given(seed=st.integers(0, 2**32), d=st.integers(2, 7))
@settings(max_examples=60, deadline=None)
def test_symmetric_and_blind_to_names_order_and_seed(seed, d):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=0.6)
    h = change_edges(rng, g, 2)
    answer = bf.equivalent(g, h)
    assert bf.equivalent(h, g) == answer
    assert bf.equivalent(g, h.reorder(h.nodes[::-1]), rng=rng) == answer
    names = dict(zip(g.nodes, rng.permutation(g.nodes).tolist(), strict=True))
    assert bf.equivalent(g.relabel(names), h.relabel(names), rng=seed) == answer
    assert bf.is_submodel(g, h) == answer  # one skeleton, one dimension


# -- agreement with the twins --


@pytest.mark.parametrize("seed", range(40))
def test_decisions_agree_with_rational_covariances(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 8))
    g = random_bap(rng, d, density=0.6)
    bowed = g.add(bidirected=[e for e in g.directed if rng.random() < 0.3])
    for G in (g, bowed):
        Sigma = rational_covariance(G, rng)
        for H in (g, change_edges(rng, g, 1), change_edges(rng, g, 3), random_bap(rng, d)):
            inside = produces(H, Sigma, Fraction)
            assert bf.is_submodel(G, H) == inside
            if G is g and G.skeleton() == H.skeleton():
                assert bf.equivalent(G, H) == inside


# -- both sides: every pair of one skeleton up to four nodes --


@pytest.mark.parametrize("d", [3, 4])
def test_every_pair_of_one_skeleton(d):
    names = [f"v{i}" for i in range(d)]
    pairs = list(combinations(names, 2))
    totals = Counter()

    def count(prefix, keys):
        totals[prefix] += sum(k * (k - 1) // 2 for k in Counter(keys).values())

    for present in product((False, True), repeat=len(pairs)):
        graphs = list(orientations(names, list(compress(pairs, present))))
        bits = map(np.stack, zip(*(graph._bits() for graph in graphs), strict=True))
        classes = _core.first_of_class(*bits, 7).tolist()
        if all(present):  # all complete BAPs are equivalent
            assert (len(graphs), set(classes)) == ({3: 25, 4: 543}[d], {0})
        v, c = (
            [f(g) for g in graphs]
            for f in (bf.MixedGraph.v_structures, bf.MixedGraph.collider_triples)
        )
        count("same_skeleton", [0] * len(graphs))
        count("equivalent", classes)
        count("same_colliders", c)
        count("same_vstructures", v)
        count("colliders and equivalent", zip(classes, c, strict=True))
        count("vstructures and equivalent", zip(classes, v, strict=True))

    expected = load("equivalence.json")["totals"][str(d)]["pairs"]
    for key in ("same_skeleton", "equivalent", "same_colliders", "same_vstructures"):
        assert totals[key] == expected[key]
    assert totals["colliders and equivalent"] == totals["same_colliders"]  # sufficient
    assert totals["vstructures and equivalent"] == totals["equivalent"]  # necessary


@given(seed=st.integers(0, 2**32), d=st.integers(5, 10), n_changes=st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_necessary_exact_sufficient_on_random_pairs(seed, d, n_changes):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=0.35)
    h = change_edges(rng, g, n_changes)
    exact = bf.equivalent(g, h)
    verdict = bf.explain_equivalence(g, h)
    assert bool(verdict) == exact
    if exact:
        assert bf.equivalence.same_skeleton_and_v_structures(g, h)
        assert bf.equivalence.markov_equivalent(g, h)
        W = rng.permutation(g.nodes)[: d // 2]
        assert bf.equivalent(g.subgraph(W), h.subgraph(W))  # Theorem "subgraph"
    else:
        W = bf.equivalence.distinguishing_subgraph(g, h)
        assert not bf.equivalent(g.subgraph(W), h.subgraph(W))
        for v in W:
            fewer = [w for w in W if w != v]
            assert bf.equivalent(g.subgraph(fewer), h.subgraph(fewer))
    if bf.equivalence.same_skeleton_and_colliders(g, h):
        assert exact


@given(seed=st.integers(0, 2**32), d=st.integers(3, 5))
@settings(max_examples=80, deadline=None)
def test_markov_equivalence_by_brute_force(seed, d):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=0.7)
    h = change_edges(rng, g, 2)
    if rng.random() < 0.3:
        h = h.add(bidirected=[tuple(rng.permutation(h.nodes)[:2].tolist())])
    assert bf.equivalence.markov_equivalent(g, h) == (separations(g) == separations(h))


# -- reasons --


@pytest.mark.parametrize(
    ("g", "h", "reason", "evidence"),
    [
        ("x -> y", "x -> y", "identical", ()),
        ("x -> y, z", "x, y -> z", "skeleton", ("x", "y")),
        ("x -> y -> z", "x -> y <- z", "v-structure", ("x", "y", "z")),
        ("x -> y -> z", "x <- y -> z", "colliders", ()),
        ("x -> y -> z <- x", "x <-> y <-> z <-> x", "algebraic", ()),
        (
            "x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4",
            "x1 <-> x2 <- x4 <-> x3 <- x1 -> x4",
            "m-separation",
            ("x2", "x3", "x1", "x4"),
        ),
        (
            "x1, x2 <-> x1, x2 -> x3 -> x4 <-> x2, x3 -> x1",
            "x1, x2 <-> x1, x2 -> x3 -> x4 <-> x2, x1 -> x3",
            "algebraic",
            ("x1", "x4"),
        ),
        (
            "x0, x1, x2 <-> x1, x2 -> x3 -> x4 <-> x2, x3 -> x1 -> x0",
            "x0, x1, x2 <-> x1, x2 -> x3 -> x4 <-> x2, x1 -> x3, x1 -> x0",
            "induced subgraph",  # the figure above; x0 changes nothing
            ("x1", "x2", "x3", "x4"),
        ),
    ],
)
def test_reasons(g, h, reason, evidence):
    g, h = bf.parse(g), bf.parse(h)
    verdict = bf.explain_equivalence(g, h)
    assert (bool(verdict), verdict.reason) == (bf.equivalent(g, h), reason)
    assert verdict.evidence == evidence
    assert verdict.text in str(verdict)


# -- bad input --


CYCLE, BOW, GOOD = bf.parse("x -> y -> z -> x"), bf.parse("x -> y <-> x, z"), bf.parse("x -> y, z")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.equivalent(GOOD, bf.parse("x -> y, w")), r"only the first has \['z'\]"),
        (lambda: bf.equivalence.markov_equivalent(GOOD, bf.parse("x -> y")), "different nodes"),
        (lambda: bf.equivalent(CYCLE, GOOD), "directed cycle x -> y -> z -> x"),
        (lambda: bf.equivalent(BOW, GOOD), r"bow at \(x, y\)"),
        (lambda: bf.is_submodel(CYCLE, GOOD), "directed cycle"),
        (lambda: bf.is_submodel(GOOD, BOW), r"bow at \(x, y\)"),
        (lambda: bf.equivalence.markov_equivalent(CYCLE, GOOD), "directed cycle"),
        (lambda: bf.explain_equivalence(GOOD, BOW), "bow at"),
        (lambda: bf.equivalence_class(CYCLE), "directed cycle"),
        (lambda: bf.constraints(BOW), "bow at"),
        (lambda: bf.constraint_tests(GOOD, cov=np.eye(3), n=np.inf), "n = inf"),
        (lambda: bf.constraint_tests(GOOD, cov=np.eye(3), n=3), "too few"),
        (lambda: bf.equivalence.atlas(6), "d is at most 5"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(bf.BowfreeError, match=message):
        call()
