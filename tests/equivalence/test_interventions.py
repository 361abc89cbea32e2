"""Equivalence under interventions: the exact decision, classes and the atlas for given targets."""

from __future__ import annotations

import re
from itertools import combinations, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.equivalence.targets import Kind, read_targets
from conditions_twin import (
    field_population,
    intercepts_agree,
    lack_of_fit,
    model_of,
    population,
)
from field_twin import produces_under
from graph_strategies import all_baps
from random_models import random_bap

KINDS = get_args(Kind)
X_TO_Y, X_FROM_Y, X_WITH_Y = (bf.parse(f"x, y, x {mark} y") for mark in ("->", "<-", "<->"))


def subsets(nodes):
    return [T for size in range(len(nodes) + 1) for T in combinations(nodes, size)]


def random_member(rng, graph):
    """Return a graph that is equivalent without interventions, and one that may be."""
    members = bf.equivalence_class(graph, limit=200)
    return members[int(rng.integers(len(members)))]


# -- the smallest examples --


def test_one_edge():
    # Set x by hand:   x -> y   stays,   x <- y   and   x <-> y   fall apart alike.
    targets = [(), ("x",)]
    assert not bf.equivalent(X_TO_Y, X_FROM_Y, targets=targets)
    assert not bf.equivalent(X_TO_Y, X_WITH_Y, targets=targets)
    assert bf.equivalent(X_FROM_Y, X_WITH_Y, targets=targets)
    assert not bf.equivalent(X_FROM_Y, X_WITH_Y, targets=[(), ("x",), ("y",)])
    # Both at once: nothing is left of any of them.
    assert bf.equivalent(X_TO_Y, X_WITH_Y, targets=[(), ("x", "y")])


def test_one_edge_without_an_undisturbed_condition():
    # With x set by hand in all data, what acts on x never shows.
    assert bf.equivalent(X_FROM_Y, X_WITH_Y, targets=["x"])
    assert bf.equivalent(X_FROM_Y, bf.parse("x, y"), targets=["x"])
    assert not bf.equivalent(X_TO_Y, bf.parse("x, y"), targets=["x"])
    # x and y in turn: only x <-> y, which always falls apart, looks like no edge.
    turns = ["x", "y"]
    assert bf.equivalent(X_WITH_Y, bf.parse("x, y"), targets=turns)
    assert not bf.equivalent(X_TO_Y, X_WITH_Y, targets=turns)
    assert not bf.equivalent(X_TO_Y, X_FROM_Y, targets=turns)


@pytest.mark.parametrize("kind", KINDS)
def test_two_conditions_with_the_same_targets(kind):
    # Without an undisturbed condition they are compared with each other: y is what it was where
    # x <- y, and not where x -> y. A third says no more.
    assert not bf.equivalent(X_TO_Y, X_FROM_Y, targets=["x", "x"], kind=kind)
    sets = read_targets(["x", "y"] * 3, kind, ("x", "y")).sets
    assert sets == (("x",), ("y",)) * (1 if kind == "perfect" else 2)
    assert read_targets(["x", (), "x"], kind, ("x", "y")).sets == (("x",), ())


def test_the_conditions_have_to_agree():
    # Is z a common cause of x and y, or only a spouse of both? Each graph alone fits any covariance
    # matrix, and cut at x both are  x -> y  with y joined to z. But only the first gets the effect
    # of x on y right when it adjusts for z.
    g, h = bf.parse("x -> y <- z -> x"), bf.parse("x -> y <-> z <-> x")
    verdict = bf.explain_equivalence(g, h, targets=[(), ("x",)])
    assert not verdict
    assert (verdict.reason, verdict.evidence) == ("shared parameters", ("x", "y"))
    assert "coefficient of x -> y" in verdict.text
    assert bf.equivalent(g, h, targets=[("x",)])


# -- identities --


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_everywhere_at_once(kind):
    # Every node a target: perfect and mechanism leave nothing to share, the others show all.
    for g, h in product(all_baps(3), repeat=2):
        expected = bf.equivalent(g, h) if kind in ("perfect", "mechanism") else g == h
        assert bf.equivalent(g, h, targets=[(), ("a", "b", "c")], kind=kind) == (expected)


def test_experiments_on_each_node_settle_everything():
    atlas = bf.equivalence.atlas(4, targets=[(), *(f"x{i}" for i in range(1, 5))])
    assert atlas.n_classes == atlas.n_baps == 3608


@given(st.integers(0, 2**32), st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_names_and_order_do_not_matter(seed, kind):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, 4, density=0.7)
    h = random_member(rng, g)
    sets = [T for T in subsets(g.nodes) if rng.random() < 0.2] or [()]
    names = dict(zip(g.nodes, rng.permutation(["p", "q", "r", "s"]).tolist(), strict=True))
    renamed = [graph.relabel(names).reorder(sorted(names.values())) for graph in (g, h)]
    elsewhere = [[names[v] for v in T] for T in reversed(sets)]
    answer = bf.equivalent(g, h, targets=sets, kind=kind)
    assert answer == bf.equivalent(*renamed, targets=elsewhere, kind=kind)
    assert answer == bf.equivalent(h, g, targets=sets, kind=kind, rng=seed)


# -- the slow twins --


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_slow_twin(kind):
    rng = np.random.default_rng(2)
    seen = {True: 0, False: 0}
    for d in (3, 4, 5) * 8:
        g = random_bap(rng, d, density=0.6)
        h = random_member(rng, g)
        sets = [T for T in subsets(g.nodes) if rng.random() < 3 / 2**d] or [(g.nodes[0],)]
        conditions = read_targets(sets, kind, g.nodes)
        Sigma = field_population(g, [(kind, T) for T in conditions.sets], rng)
        where = model_of(h, [(kind, T) for T in conditions.sets]).index
        answer = bf.is_submodel(g, h, targets=sets, kind=kind)
        assert answer == produces_under(h, where, Sigma)
        seen[answer] += 1
    assert min(seen.values()) > 1


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_likelihood_where_kinds_differ(seed):
    rng = np.random.default_rng([5, seed])
    answers = []
    for _ in range(5):
        g = random_bap(rng, 4, density=0.7)
        h = random_member(rng, g)
        sets = [(), *rng.permutation(g.nodes)[:2].reshape(2, 1).tolist()]
        kinds = ["perfect", *rng.choice(KINDS, 2, replace=False).tolist()]
        conditions = list(zip(kinds, sets, strict=True))
        lack = lack_of_fit(h, conditions, population(g, conditions, rng), rng)
        answers.append(bf.is_submodel(g, h, targets=sets, kind=kinds))
        assert answers[-1] == (lack < 1e-10), (str(g), str(h), conditions, lack)
    assert 0 < sum(answers) < 5


def test_conditions_of_different_kinds():
    # x -> y or x <-> y? Setting y does not say; a new variance of x does: it shows in y, or not.
    g, h = bf.parse("x -> y"), bf.parse("x <-> y")
    sets = [(), ("y",), ("x",)]
    assert bf.equivalent(g, h, targets=sets[:2])
    assert not bf.equivalent(g, h, targets=sets, kind=["perfect", "perfect", "noise"])
    members = bf.equivalence_class(g, targets=sets, kind=["noise", "perfect", "noise"])
    assert members.kind == ("perfect", "perfect", "noise")  # without targets there is no kind
    assert "targets by condition: none; y (perfect); x (noise)" in str(members)
    assert members.to_dict()["kind"] == ["perfect", "perfect", "noise"]
    one = bf.equivalence_class(g, targets=sets[:2], kind=["noise", "perfect"])
    assert one.kind == "perfect"
    twice = bf.equivalence_class(g, targets=[(), "x", "x"], kind=["perfect", "perfect", "noise"])
    assert twice.targets == ((), ("x",), ("x",))


@pytest.mark.parametrize("kind", KINDS)
def test_means_say_no_more_than_covariances(kind):
    # Intercepts are shared where an intervention does not act. A graph that can produce the
    # covariance matrices can produce the means, too, if one condition has no targets.
    rng = np.random.default_rng([13, KINDS.index(kind)])
    seen = {True: 0, False: 0}
    for d in (2, 3, 4) * 15:
        g = random_bap(rng, d, density=0.8)
        h = random_member(rng, g)
        sets = [(), *(tuple(v for v in g.nodes if rng.random() < 0.4) for _ in range(2))]
        conditions = [(kind, T) for T in sets]
        agree = intercepts_agree(g, h, conditions, rng)
        same = bf.is_submodel(g, h, targets=sets, kind=kind)
        assert agree or not same, (str(g), str(h), conditions)
        seen[same] += g != h
    assert min(seen.values()) > 0


# -- classes --


@given(st.integers(0, 2**32), st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_a_class_is_what_is_left_of_the_class_without_targets(seed, kind):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, int(rng.integers(2, 7)), density=0.5)
    sets = [(), *(T for T in subsets(g.nodes) if rng.random() < 1.5 / 2 ** len(g))]
    members = bf.equivalence_class(g, targets=sets, kind=kind)
    everything = bf.equivalence_class(g)
    expected = {h for h in everything if bf.equivalent(g, h, targets=sets, kind=kind)}
    assert members.complete
    assert len(members) == len(expected)
    assert set(members) == expected
    assert members.size == len(members.permitted_by(bf.Knowledge()))


# -- the atlas --


@pytest.mark.parametrize(
    ("d", "counts"),
    # Found by this package; at d = 3 the same as sorting all BAPs by `equivalent`, see below.
    [(2, [2, 3, 2]), (3, [11, 26, 25, 11]), (4, [368, 960, 1154, 847, 368])],
)
def test_one_experiment(d, counts):
    for size, expected in enumerate(counts):
        T = tuple(f"x{i + 1}" for i in range(size))
        atlas = bf.equivalence.atlas(d, targets=[(), T], rng=size)
        assert atlas.n_classes == expected
        assert atlas.n_baps == bf.equivalence.atlas(d).n_baps
        # A new mechanism tells no more and no less than a perfect intervention.
        assert bf.equivalence.atlas(d, targets=[(), T], kind="mechanism").n_classes == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sets", [[(), ("a",)], [(), ("a", "c")], [("a",), ("b",), ("c",)]])
def test_the_atlas_is_all_baps_sorted(kind, sets):
    heads: list[bf.MixedGraph] = []
    for g in all_baps(3):
        if not any(bf.equivalent(g, h, targets=sets, kind=kind) for h in heads):
            heads.append(g)
    numbered = [tuple("x" + str("abc".index(v) + 1) for v in T) for T in sets]
    atlas = bf.equivalence.atlas(3, targets=numbered, kind=kind)
    assert atlas.n_classes == len(heads)
    classes = list(atlas.classes())
    assert len(classes) == len(heads)
    assert sum(map(len, classes)) == 62
    assert all(members.targets == atlas.targets for members in classes)


# -- in words --


@pytest.mark.parametrize(
    ("g", "h", "kind", "reason"),
    [
        ("x -> y", "x -> y", "perfect", "identical"),
        ("x <- y", "x <-> y", "perfect", "algebraic"),
        ("x -> y", "x <- y", "perfect", "intervention"),
        ("x -> y -> z", "x -> y <- z", "perfect", "v-structure"),
        ("x, y, x <- y", "x -> y", "activity", "dimension"),
        ("x -> y", "x <- y", "noise", "shared parameters"),
    ],
)
def test_explanations(g, h, kind, reason):
    verdict = bf.explain_equivalence(bf.parse(g), bf.parse(h), targets=[(), "x"], kind=kind)
    assert verdict.reason == reason


def test_every_explanation_agrees_with_the_decision():
    rng = np.random.default_rng(9)
    for _ in range(60):
        g = random_bap(rng, 4, density=0.8)
        h = random_member(rng, g)
        sets = [T for T in subsets(g.nodes) if rng.random() < 0.2] or [()]
        kind = KINDS[rng.integers(4)]
        verdict = bf.explain_equivalence(g, h, targets=sets, kind=kind)
        assert verdict.equivalent == bf.equivalent(g, h, targets=sets, kind=kind)


# -- bad input --


@pytest.mark.parametrize(
    ("targets", "kind", "words"),
    [
        ("x", "perfect", "targets is 'x': pass the targets"),
        ([], "perfect", "targets is []: pass"),
        (3, "perfect", "targets is 3; pass a list of sets of nodes"),
        ([(), ("aktt",)], "perfect", "unknown node 'aktt'; did you mean 'akt'?"),
        ([(), "akt"], ["perfect"], "pass one kind for all conditions, or one for each"),
        ([(), "akt"], ["perfect", "magic"], "unknown kind 'magic'"),
    ],
)
def test_bad_targets(targets, kind, words):
    g = bf.parse("akt -> pkc")
    for call in (
        lambda: bf.equivalent(g, g, targets=targets, kind=kind),
        lambda: bf.is_submodel(g, g, targets=targets, kind=kind),
        lambda: bf.explain_equivalence(g, g, targets=targets, kind=kind),
        lambda: bf.equivalence_class(g, targets=targets, kind=kind),
    ):
        with pytest.raises(bf.BowfreeError, match=re.escape(words)):
            call()


def test_classes_that_no_skeleton_holds():
    g = bf.parse("x -> y -> z")
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on x or y"):
        bf.equivalence_class(g, targets=["x", "y"])
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on x1 or x2"):
        bf.equivalence.atlas(2, targets=["x1"])
    # All edges act in all conditions of another kind.
    assert g in bf.equivalence_class(g, targets=["x", "y"], kind="mechanism")


def test_other_methods_know_no_targets():
    g = bf.parse("x -> y -> z")
    for method in ("colliders", "edge-changes"):
        with pytest.raises(bf.BowfreeError, match="targets require method='exact'"):
            bf.equivalence_class(g, targets=[(), "x"], method=method)
        assert len(bf.equivalence_class(g, targets=[()], method=method)) > 1
