"""Unknown targets are found together with the graph."""

from itertools import combinations

import numpy as np
import pytest

import bowfree as bf
from graph_strategies import all_baps

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
    assert "z in c2 (P = 1.000)" in str(result)
    # x <- y with the target x fits nearly as well: y varies little more than it did.
    assert 0.9 < found["c1", "y"].probability < 0.99
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


def every_place(data):
    """Return the best score over all graphs for all targets of the last condition."""
    graphs, best = all_baps(3), {}
    for size in range(4):
        for T in combinations(graphs[0].nodes, size):
            moments = bf.moments([*data[:-1], bf.Condition(data[-1].data, targets=T)])
            best[frozenset(T)] = max(bf.score(graph, moments) for graph in graphs)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_all_graphs_with_all_targets(seed):
    rng = np.random.default_rng([3, seed])
    truths = [graph for graph in all_baps(3) if graph.n_edges > 1]
    sem = bf.random_sem(truths[int(rng.integers(len(truths)))], rng=rng)
    names, target = sem.graph.nodes, int(rng.integers(3))
    B, Omega = sem.B.copy(), sem.Omega.copy()
    B[target] = Omega[target] = Omega[:, target] = 0
    Omega[target, target] = sem.covariance()[target, target]
    tables = [sem.sample(150, rng=rng)]
    errors = rng.multivariate_normal(np.zeros(3), Omega, size=150)
    tables.append(np.linalg.solve(np.eye(3) - B, errors.T).T)
    data = [
        bf.Condition(dict(zip(names, X.T, strict=True)), targets=T)
        for X, T in zip(tables, [(), "learn"], strict=True)
    ]
    result = bf.greedy_search(data, rng=1, **QUICK)
    best = every_place(data)
    found = frozenset(result.moments.conditions[1].targets)
    assert result.score == pytest.approx(max(best.values()), abs=1e-9)
    assert best[found] == pytest.approx(result.score, abs=1e-9)
    near = [T for T in best if len(T - found) <= 1 and len(found - T) <= 1]
    for row in result.targets:
        one = {row.variable}
        pairs = {(T | one, T - one) for T in near if T | one in near and T - one in near}
        worth = np.array([[best[T] for T in pair] for pair in pairs]) - result.score
        odds = np.exp(300 * worth)
        assert row.probability == pytest.approx(odds[:, 0].sum() / odds.sum(), abs=1e-6)


@pytest.mark.parametrize(
    ("sizes", "kind"), [((400, 3), "mechanism"), ((400, 3), "noise"), ((3, 400), "perfect")]
)
def test_what_three_rows_cannot_tell(sizes, kind):
    # Four variables: a mechanism of three rows fits them exactly, and so does a graph that nothing
    # but three rows tells about.
    rng = np.random.default_rng(5)
    data = [
        bf.Condition(rows(rng, t, n), targets=T, kind=kind)
        for t, n, T in zip((None, 1), sizes, ((), "learn"), strict=True)
    ]
    result = bf.greedy_search(data, rng=1, **QUICK)
    assert not any(t.chosen for t in result.targets)
    bf.fit(result.graph, result.moments)


def test_unknown_targets_are_for_a_search():
    data = experiments(1)
    for call in (
        lambda: bf.fit(bf.parse("x -> y"), data),
        lambda: bf.moments(data[1]),
        lambda: bf.exhaustive_search(data),
    ):
        with pytest.raises(bf.errors.DataError, match="targets='learn'"):
            call()
    with pytest.raises(bf.errors.DataError, match="needs several conditions"):
        bf.greedy_search(data[1:], rng=1)
    for word, value in (("holdout", 0.5), ("checkpoint", "never-written.json")):
        with pytest.raises(bf.BowfreeError, match=f"{word} requires known targets"):
            bf.greedy_search(data, rng=1, **{word: value})
    assert repr(data[1]) == "<Condition: c1, targets unknown>"
