"""Targets that nobody knows are found together with the graph."""

import numpy as np
import pytest

import bowfree as bf

QUICK = {"restarts": 4, "rounds": 1}
#   x -> y -> z, w
B = np.array([[0, 0, 0, 0], [0.9, 0, 0, 0], [0, 0.8, 0, 0], [0, 0, 0, 0]])
NAMES = ("x", "y", "z", "w")


def rows(rng, target=None, n=400):
    coefficients, sd = B.copy(), np.ones(4)
    if target is not None:
        coefficients[target] = 0
        sd[target] = 1.5
    X = np.linalg.solve(np.eye(4) - coefficients, (rng.normal(size=(n, 4)) * sd).T).T
    return dict(zip(NAMES, X.T, strict=True))


def experiments(*targets, known=None, seed=0):
    rng = np.random.default_rng(seed)
    return [
        bf.Condition(rows(rng), name="watched"),
        *[
            bf.Condition(rows(rng, t), targets="learn" if known is None else known, name=f"c{t}")
            for t in targets
        ],
    ]


def test_targets_are_found():
    result = bf.greedy_search(experiments(1, 2), rng=1, **QUICK)
    assert [c.targets for c in result.moments.conditions] == [(), ("y",), ("z",)]
    assert result.graph == bf.parse("x -> y -> z, w")
    found = {(t.condition, t.variable): t for t in result.targets}
    assert len(found) == 8
    assert {key for key, t in found.items() if t.chosen} == {("c1", "y"), ("c2", "z")}
    for t in found.values():
        assert (t.probability > 0.9) if t.chosen else (t.probability < 0.3)
    assert "y in c1: P(target) = 1.000" in str(result)
    assert result.to_dict()["targets"][0]["condition"] == "c1"


def test_the_score_is_that_of_the_targets_found():
    data = experiments(1, 2)
    result = bf.greedy_search(data, rng=1, **QUICK)
    said = [
        bf.Condition(c.data, targets=t, name=c.name)
        for c, t in zip(data, [(), ("y",), ("z",)], strict=True)
    ]
    assert result.score == pytest.approx(bf.score(result.graph, said), abs=1e-12)
    known = bf.greedy_search(said, rng=1, **QUICK)
    assert result.score == pytest.approx(known.score, abs=1e-9)
    again = bf.greedy_search(data, rng=1, **QUICK)
    assert again.pool == result.pool
    assert again.targets == result.targets


def test_a_probability_weighs_two_scores():
    # One graph is far better than all others, so its two scores say it all.
    data = experiments(1)
    result = bf.greedy_search(data, rng=1, window=1e-9, **QUICK)
    (target,) = (t for t in result.targets if t.variable == "w")
    assert not target.chosen
    both = [
        bf.score(result.graph, [data[0], bf.Condition(data[1].data, targets=targets, name="c1")])
        for targets in (["y"], ["y", "w"])
    ]
    odds = np.exp(800 * (both[1] - both[0]))
    assert target.probability == pytest.approx(odds / (1 + odds), rel=1e-6)


def test_no_target_where_nothing_was_done():
    rng = np.random.default_rng(3)
    data = [bf.Condition(rows(rng)), bf.Condition(rows(rng), targets="learn")]
    result = bf.greedy_search(data, rng=1, **QUICK)
    assert not any(t.chosen for t in result.targets)
    assert "targets learned: none" in str(result)


def test_a_variable_is_left_alone_somewhere():
    rng = np.random.default_rng(4)
    data = [
        bf.Condition(rows(rng, 1), targets=["y"]),
        bf.Condition(rows(rng, 1), targets="learn"),
    ]
    result = bf.greedy_search(data, rng=1, **QUICK)
    assert "y" not in result.moments.conditions[1].targets
    assert ("2", "y") not in {(t.condition, t.variable) for t in result.targets}


def test_unknown_targets_are_for_a_search():
    data = experiments(1)
    for call in (
        lambda: bf.fit(bf.parse("x -> y"), data),
        lambda: bf.moments(data[1]),
        lambda: bf.exhaustive_search(data),
    ):
        with pytest.raises(bf.DataError, match="targets='learn' is for greedy_search"):
            call()
    with pytest.raises(bf.DataError, match="in a single condition"):
        bf.greedy_search(data[1:], rng=1)
    for word, value in (("holdout", 0.5), ("checkpoint", "never-written.json")):
        with pytest.raises(bf.BowfreeError, match=f"{word} is for known targets"):
            bf.greedy_search(data, rng=1, **{word: value})
    assert repr(data[1]) == "<Condition: c1, targets unknown>"


def test_time_is_kept():
    result = bf.greedy_search(experiments(1, 2), rng=1, time_limit=0.001)
    assert not result.complete
