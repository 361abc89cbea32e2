"""Experiments compared by how they would split an equivalence class."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import numpy as np
import pytest

import bowfree as bf
from bowfree.equivalence.targets import Kind
from random_models import collider_data, random_bap

KINDS = get_args(Kind)
CHAIN = bf.parse("x -> y -> z")
CLIQUE = bf.MixedGraph(list("abcdefg"), bidirected=combinations("abcdefg", 2))


def by_brute_force(members, known, T, kind):
    """Return classes, expected resolved ends and expected members left, member by member."""
    groups: list[list[bf.MixedGraph]] = []
    kinds = [*["perfect"] * len(known), kind]
    for member in members:
        for group in groups:
            if bf.equivalent(group[0], member, targets=[*known, T], kind=kinds):
                group.append(member)
                break
        else:
            groups.append([member])
    n = sum(map(len, groups))
    resolved = left = 0.0
    for group in groups:
        ends = 0
        for a, _, b in members[0].edges:
            for at, other in ((a, b), (b, a)):
                # A head at the node, or a tail?
                heads = {other not in graph.children(at) for graph in group}
                ends += len(heads) == 1
        resolved += len(group) / n * ends
        left += len(group) ** 2 / n
    return len(groups), resolved, left


def test_a_chain():
    # Five members; y set by hand:  {x -> y -> z, x <-> y -> z}, {x <- y -> z}, and {x <- y <- z,
    # x <- y <-> z}.
    found = bf.design(CHAIN)
    assert (found.n_members, found.resolved_ends, found.n_ends) == (5, 0, 4)
    assert [e.targets for e in found.experiments] == [("y",), ("x",), ("z",)]
    middle = found.experiment("y")
    assert middle == found.best
    assert middle.n_classes == 3
    assert middle.resolved_ends == pytest.approx((2 * 3 + 4 + 2 * 3) / 5)
    assert middle.members_left == pytest.approx((4 + 1 + 4) / 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [[()], [(), ("v0",)], [("v0",), ("v1",), ("v2",)]])
def test_agrees_with_brute_force(kind, known):
    # With and without an undisturbed condition, which is what fingerprints stand on.
    rng = np.random.default_rng(1)
    for d in (4, 4, 5):
        members = bf.equivalence_class(random_bap(rng, d, density=0.7), targets=known, limit=40)
        found = bf.design(members, kind=kind, max_targets=2)
        assert len(found) == d + d * (d - 1) // 2
        for T in [("v3",), ("v1", "v2")]:
            here = found.experiment(*T)
            numbers = (here.n_classes, here.resolved_ends, here.members_left)
            assert numbers == pytest.approx(by_brute_force(list(members), known, T, kind))


def test_a_new_mechanism_tells_what_a_perfect_intervention_does():
    members = bf.equivalence_class(CLIQUE, limit=500)
    perfect, new = (bf.design(members, kind=kind, max_targets=2) for kind in KINDS[:2])
    assert perfect.experiments == new.experiments


def test_after_an_experiment():
    members = bf.equivalence_class(CHAIN, targets=[(), "y"])
    after = bf.design(members)
    assert after.n_members == 2
    assert after.targets == ((), ("y",))
    assert after.experiment("y").n_classes == 1
    assert after.experiment("x").members_left == 1
    again = bf.design(CHAIN, targets=[(), "y"])
    assert again == after


def test_components_multiply():
    pairs = [f"a{i} -> b{i}" for i in range(30)]
    found = bf.design(bf.parse(", ".join(pairs)), max_targets=2, candidates=["a0", "b0", "a1"])
    one = bf.design(bf.parse(pairs[0]))
    assert found.n_members == pytest.approx(3.0**30)
    assert found.n_ends == 60
    assert found.experiment("a0").members_left == pytest.approx(
        one.experiment("a0").members_left * 3.0**29
    )
    both = found.experiment("a0", "a1")
    assert both.n_classes == one.experiment("a0").n_classes ** 2
    assert both.resolved_ends == pytest.approx(2 * one.experiment("a0").resolved_ends)
    assert both == found.best
    assert found.experiment("b0", "a0").n_classes == 1


def test_a_search_and_its_space():
    result = bf.greedy_search(collider_data(500), restarts=3, rng=1)
    found = bf.design(result)
    assert found.n_members == len(bf.equivalence_class(result))
    known = bf.SearchSpace(knowledge=bf.Knowledge(unconfounded=["x", "z"]))
    assert bf.design(result, space=known).n_members == 1


@pytest.mark.parametrize("kind", ["perfect", "noise"])
def test_conditions_that_the_data_are_from_count(kind):
    # x -> y -> z where x was acted on already: of the five graphs of the skeleton few are open.
    rng = np.random.default_rng(5)
    tables = [rng.normal(size=(300, 3)) @ np.diag([s, 1, 1]) for s in (1, 3)]
    for X in tables:
        X[:, 1] += X[:, 0]
        X[:, 2] += X[:, 1]
    data = [
        bf.Condition(dict(zip("xyz", X.T, strict=True)), targets=T, kind=kind)
        for X, T in zip(tables, [(), ["x"]], strict=True)
    ]
    result = bf.exhaustive_search(data)
    open_now = bf.design(result.equivalence_class(), kind=kind)
    assert (open_now.targets, open_now.n_members < 5) == (((), ("x",)), True)
    assert bf.design(result, kind=kind) == open_now
    average = bf.averaged_effects(result)
    assert (average.targets, average.kind) == (((), ("x",)), kind)
    weighed = bf.design(average, kind=kind)
    assert weighed.targets == open_now.targets
    heads = [
        bf.equivalence_class(one.graph, targets=[(), "x"], kind=kind) for one in average.classes
    ]
    weights = np.array([one.weight for one in average.classes])
    sizes = np.array([members.size for members in heads])
    assert weighed.n_members == pytest.approx(weights @ sizes / weights.sum())
    # What was said is what counts.
    assert bf.design(result, targets=[()], kind=kind).n_members == 5


def test_an_average_weighs_its_classes():
    average = bf.averaged_effects(bf.exhaustive_search(collider_data(60)))
    found = bf.design(average)
    assert found.n_averaged == len(average.classes) > 3
    weights = np.array([one.weight for one in average.classes])
    each = [bf.design(one.graph).experiment("y") for one in average.classes]
    mean = weights @ [e.members_left for e in each] / weights.sum()
    assert found.experiment("y").members_left == pytest.approx(mean)
    sizes = [bf.equivalence_class(one.graph).size for one in average.classes]
    assert found.n_members == pytest.approx(weights @ sizes / weights.sum())
    assert "means over" in str(found)


def test_threads_seeds_and_progress_change_nothing():
    g = bf.parse("a -> b -> c -> d <- a, b -> d, a -> c")
    reports = []
    first = bf.design(g, max_targets=2, n_jobs=2, rng=5, progress=reports.append)
    assert first == bf.design(g, max_targets=2)
    assert (reports[0].what, reports[0].done, reports[-1].done) == ("experiments", 0, 10)


def test_limits_are_reported():
    g = bf.parse("a -> b -> c -> d <- a, b -> d, a -> c")
    some = bf.design(g, limit=5)
    assert (some.n_members, some.complete) == (5, False)
    assert "NOT COMPLETE" in str(some)
    hurried = bf.design(bf.equivalence_class(CLIQUE, limit=20_000), time_limit=1e-9)
    assert (len(hurried), hurried.complete) == (0, False)
    assert repr(hurried) == "<Design: 0 experiments, not complete>"
    with pytest.raises(bf.BowfreeError, match="raise `time_limit`"):
        _ = hurried.best


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": "x"}, "candidates is 'x'"),
        ({"candidates": []}, "needs at least one target"),
        ({"candidates": ["w"]}, "unknown node 'w'"),
        (
            {"candidates": [("x", "y")], "max_targets": 2},
            "max_targets = 2 requires single variables",
        ),
        ({"targets": ["x", "y"]}, "every condition intervenes on x or y"),
        ({"space": "dag"}, "space is an object of type str"),
        (
            {"space": bf.SearchSpace(knowledge=bf.Knowledge(forbidden=["x -- y"]))},
            "no member of the class is in the search space",
        ),
    ],
)
def test_invalid_options(options, words):
    with pytest.raises(bf.BowfreeError, match=words):
        bf.design(CHAIN, **options)


def test_invalid_graphs():
    members = bf.equivalence_class(CHAIN)
    with pytest.raises(bf.BowfreeError, match="the class was computed for targets"):
        bf.design(members, targets=[()])
    empirical = bf.empirical_class(CHAIN, cov=np.eye(3), n=10)
    with pytest.raises(bf.BowfreeError, match="the members of an empirical class"):
        bf.design(empirical)
    with pytest.raises(bf.errors.GraphError, match="expected a graph"):
        bf.design("x -> y")
    with pytest.raises(bf.BowfreeError, match="was not considered"):
        bf.design(CHAIN).experiment("x", "y")
    wide = bf.MixedGraph([f"v{i}" for i in range(40)])
    with pytest.raises(bf.BowfreeError, match="102,090 experiments on up to 4 of 40"):
        bf.design(wide, max_targets=4)
