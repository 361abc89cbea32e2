"""Whole classes: the exact search, the walk and the collider-invariant graphs (section 2.4)."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import orientations
from random_models import random_bap
from reference_cases import case_id, graph_of, load

CASES = load("equivalence.json")["cases"]
SPLIT = next(case for case in CASES if case["name"].startswith("single_edge_disconnected"))


# -- the smallest examples --


def test_a_chain():
    # x -> y -> z:  the root can be x, y or z, or one of the two edges can be bidirected.
    members = bf.equivalence_class(bf.parse("x -> y -> z"))
    texts = ["x -> y -> z", "x <- y -> z", "x <- y <- z", "x <-> y -> z", "x <- y <-> z"]
    assert set(members) == {bf.parse(text) for text in texts}
    for method in ("edge-changes", "colliders"):
        assert set(bf.equivalence_class(bf.parse(texts[0]), method=method)) == set(members)


# -- reference --


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_reference_classes(case):
    g = graph_of(case, case["d"])
    expected = [graph_of(member, case["d"]) for member in case["exact_class"]]
    exact = bf.equivalence_class(g)
    assert exact.complete
    assert len(exact) == len(expected)
    assert set(exact) == set(expected)
    colliders = bf.equivalence_class(g, method="colliders")
    assert set(colliders) == {expected[k] for k in case["same_colliders_index"]}
    assert len(colliders) == case["r_collider_invariant_size"]
    walk = bf.equivalence_class(g, method="edge-changes")
    if case is not SPLIT:
        assert set(walk) == set(expected)


def test_the_class_that_walks_cannot_reach():
    g = graph_of(SPLIT, SPLIT["d"])
    exact, walk = bf.equivalence_class(g), bf.equivalence_class(g, method="edge-changes")
    assert (len(exact), len(walk)) == (6, 3)
    assert set(walk) == {
        graph_of(SPLIT["exact_class"][k], 5) for k in SPLIT["r_ec_maxiter1000_index"]
    }
    assert set(walk) < set(exact)


# -- the search against brute force, and identities --


@pytest.mark.parametrize("seed", range(12))
def test_exact_and_colliders_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, 5, density=0.65)
    candidates = list(orientations(g.nodes, [tuple(pair) for pair in g.skeleton()]))
    assert set(bf.equivalence_class(g)) == {h for h in candidates if bf.equivalent(g, h)}
    assert set(bf.equivalence_class(g, method="colliders")) == {
        h for h in candidates if h.collider_triples() == g.collider_triples()
    }


@given(seed=st.integers(0, 2**32), d=st.integers(2, 9))
@settings(max_examples=50, deadline=None)
def test_classes_are_sound_and_each_member_has_the_same(seed, d):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=2.2 / d)
    exact = bf.equivalence_class(g, limit=3000)
    colliders = bf.equivalence_class(g, method="colliders")
    walk = bf.equivalence_class(g, method="edge-changes", limit=3000)
    assert g in exact
    assert g in colliders
    h = exact[int(rng.integers(len(exact)))]
    assert bf.equivalent(g, h)
    c = colliders[int(rng.integers(len(colliders)))]
    assert bf.equivalence.same_skeleton_and_colliders(g, c)
    if exact.complete:
        members = set(exact)
        assert len(members) == len(exact)  # each once
        assert members.issuperset(colliders)
        assert members.issuperset(walk)
        assert set(bf.equivalence_class(h)) == members


@given(seed=st.integers(0, 2**32), d=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_sequence_and_summary_tell_what_iteration_does(seed, d):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=2 / d)
    for method in ("exact", "colliders"):
        members = bf.equivalence_class(g, method=method, limit=400)
        listed = list(members)
        assert len(members) == len(listed) == members.size
        assert [members[k] for k in range(len(listed))] == listed
        assert members[-1] == listed[-1]
        assert members[1:3] == listed[1:3]
        assert all(h in members for h in listed)
        outsider = g.remove(" ".join(g.edges[0])) if g.n_edges else g.add(nodes=["extra"])
        assert outsider not in members
        assert g.reorder(g.nodes[::-1]) in members
        for edge in members.summary().edges:
            for mark, count in (
                ("->", edge.n_forward),
                ("<-", edge.n_backward),
                ("<->", edge.n_bidirected),
            ):
                assert count == sum(h.has_edge(f"{edge.a} {mark} {edge.b}") for h in listed)


# -- huge classes --


def forest(n_edges):
    """Separate edges: 3^n members."""
    return bf.MixedGraph(
        [f"v{i}" for i in range(2 * n_edges)],
        directed=[(f"v{2 * i}", f"v{2 * i + 1}") for i in range(n_edges)],
    )


@pytest.mark.parametrize("method", ["exact", "edge-changes", "colliders"])
def test_a_class_of_3_to_the_60(method):
    g = forest(60)
    members = bf.equivalence_class(g, method=method)
    assert members.size == 3**60
    assert members.complete
    with pytest.raises(OverflowError, match=r"use \.size"):
        len(members)
    assert len(set(itertools.islice(members, 1000))) == 1000
    assert members[3**60 - 1] in members
    assert members.summary().edges[0].n_bidirected == 3**59
    few = bf.equivalence_class(g, method=method, limit=50)
    assert (len(set(few)), few.complete, g in few) == (50, False, True)


@pytest.mark.parametrize("method", ["exact", "edge-changes"])
def test_limits_are_honest(method):
    def complete_graph(d):
        names = [f"v{i}" for i in range(d)]
        return bf.MixedGraph(names, bidirected=itertools.combinations(names, 2))

    g = complete_graph(4)
    for limit, complete in ((542, False), (543, True), (544, True)):
        members = bf.equivalence_class(g, method=method, limit=limit)
        assert (len(set(members)), members.complete) == (min(limit, 543), complete)
        assert g in members
        assert members.summary().complete == complete
    # The complete graph on 9 nodes has 1.2 * 10^15 members.
    start = time.perf_counter()
    members = bf.equivalence_class(complete_graph(9), method=method, time_limit=0.05)
    assert time.perf_counter() - start < 2  # the clock is looked at often enough
    assert not members.complete
    assert complete_graph(9) in members


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", ["exact", "colliders"])
def test_knowledge_keeps_what_it_permits(method, seed):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, 6, density=0.4)
    members = bf.equivalence_class(g, method=method, limit=2000)
    names = rng.permutation(g.nodes).tolist()
    for known in (
        bf.Knowledge(),
        bf.Knowledge(tiers=[names[:3], names[3:]], unconfounded=names[:1]),
        bf.Knowledge(required=[" ".join(g.edges[0])], forbidden=[f"{names[0]} -- {names[1]}"])
        if not g.adjacent(names[0], names[1])
        else bf.Knowledge(required=[" ".join(g.edges[0])]),
        bf.Knowledge(forbidden=[f"{a} -- {b}" for a, _, b in g.edges[:1]]),
    ):
        kept = members.permitted_by(known)
        assert list(kept) == [h for h in members if known.permits(h)]
        assert kept.summary().n_members == len(kept)


@pytest.mark.parametrize("method", ["exact", "edge-changes", "colliders"])
def test_no_member_has_an_edge_that_the_skeleton_has_not(method):
    # x and z are not adjacent in any member of the class of x -> y -> z.
    members = bf.equivalence_class(bf.parse("x -> y -> z"), method=method)
    assert len(members.permitted_by(bf.Knowledge(required=["x -> z"]))) == 0
    assert len(members.permitted_by(bf.Knowledge(forbidden=["x -> z"]))) == 5
    lonely = bf.equivalence_class(bf.parse("x, y"), method=method)
    assert len(lonely.permitted_by(bf.Knowledge(required=["x <-> y"]))) == 0


def test_large_graphs_need_no_deep_stack():
    # A member is a path of as many decisions as there are edges. As calls within calls, 7,140 of
    # them would not fit into this stack.
    names = [f"v{i}" for i in range(120)]
    graph = bf.MixedGraph(names, directed=list(itertools.combinations(names, 2)))
    before = threading.stack_size(256 * 1024)
    try:
        with ThreadPoolExecutor(1) as thread:
            members = thread.submit(bf.equivalence_class, graph, limit=3).result()
    finally:
        threading.stack_size(before)
    assert (len(members), members.complete) == (3, False)
    assert all(bf.equivalent(member, graph) for member in members)


# -- the atlas --


@pytest.mark.parametrize("d", [2, 3, 4])
def test_counts(d):
    totals = load("equivalence.json")["totals"][str(d)]
    atlas = bf.equivalence.atlas(d)
    assert (atlas.n_baps, atlas.n_classes, atlas.n_split) == (
        totals["n_baps"],
        totals["n_classes"],
        0,
    )
    for n_edges, expected in totals["by_n_edges"].items():
        entries = [e for e in atlas.rows if len(e.skeleton) == int(n_edges)]
        assert sum(e.orbit for e in entries) == expected["n_skeletons"]
        assert sum(e.orbit * e.n_baps for e in entries) == expected["n_baps"]
        assert sum(e.orbit * e.n_classes for e in entries) == expected["n_classes"]
    shapes = sorted(
        (len(e["skeleton"]), e["orbit"], e["n_baps"], e["n_classes"], e["largest_class"])
        for e in totals.get("by_unlabeled_skeleton", [])
    )
    if shapes:
        assert shapes == sorted(
            (len(e.skeleton), e.orbit, e.n_baps, e.n_classes, e.largest_class) for e in atlas.rows
        )


def test_five_nodes():
    start = time.perf_counter()
    atlas = bf.equivalence.atlas(5, n_jobs=2)
    seconds = time.perf_counter() - start
    assert atlas.n_baps == load("equivalence.json")["n_baps_by_recurrence"]["5"]
    # Found by this package, and the same with other seeds.
    assert atlas.n_classes == 87_219
    assert atlas.n_split == 60
    assert seconds < 60
    example = next(e.split_example for e in atlas.rows if e.split_example is not None)
    walk = bf.equivalence_class(example, method="edge-changes")
    assert len(walk) < len(bf.equivalence_class(example))
    assert bf.equivalence.atlas(5, rng=1, n_jobs=1) == atlas  # for any seed and number of threads
