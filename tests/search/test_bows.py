"""Searches with a bow, x -> y and x <-> y, that knowledge requires."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

import bowfree as bf
from bowfree.model.fitting import score_graphs

NAMES = ("z", "w", "x", "y")
BOW = bf.Knowledge(required=["x -> y", "x <-> y"])


def instrument(n, seed):
    """Simulate z -> x -> y <-> x with w -> y and z -> w."""
    rng = np.random.default_rng(seed)
    z, hidden, e_w, e_x, e_y = rng.standard_normal((5, n))
    w = 0.4 * z + e_w
    x = 0.6 * z + hidden + e_x
    y = 0.5 * x - hidden + 0.4 * w + e_y
    return dict(zip(NAMES, (z, w, x, y), strict=True))


def all_with_the_bow():
    """Return all acyclic graphs of four variables whose only bow is x -> y, x <-> y."""
    pairs = [pair for pair in combinations(NAMES, 2) if pair != ("x", "y")]
    graphs = []
    for states in product(range(4), repeat=len(pairs)):
        directed, bidirected = [("x", "y")], [("x", "y")]
        for (a, b), state in zip(pairs, states, strict=True):
            directed += [(a, b)] * (state == 1) + [(b, a)] * (state == 2)
            bidirected += [(a, b)] * (state == 3)
        graph = bf.MixedGraph(NAMES, directed, bidirected)
        graphs += [graph] * graph.is_acyclic()
    return graphs


GRAPHS = all_with_the_bow()


def core_scores(graphs, moments):
    parents, spouses = (np.stack(bits) for bits in zip(*(g._bits() for g in graphs), strict=True))
    return score_graphs(moments, 1.0, parents, spouses)


def slow_score(graph, S, n, rng):
    """Maximize the likelihood by BFGS; the number of parameters is the rank of the derivative."""
    d = len(graph)
    places = [(graph._node(b), graph._node(a)) for a, b in graph.directed]
    errors = [(i, i) for i in range(d)]
    errors += [(graph._node(a), graph._node(b)) for a, b in graph.bidirected]
    split = len(places)

    def matrices(values):
        B, Omega = np.zeros((d, d)), np.zeros((d, d))
        for (i, j), value in zip(places, values, strict=False):
            B[i, j] = value
        for (i, j), value in zip(errors, values[split:], strict=True):
            Omega[i, j] = Omega[j, i] = value
        return B, Omega

    def covariances(values):
        B, Omega = matrices(values)
        total = np.linalg.inv(np.eye(d) - B)
        return (total @ Omega @ total.T)[np.tril_indices(d)]

    def objective(values):
        B, Omega = matrices(values)
        least = np.linalg.eigvalsh(Omega)[0]
        if least < 1e-6:
            return 1e3 * (1 - least)
        A = np.eye(d) - B
        return np.linalg.slogdet(Omega)[1] + np.trace(np.linalg.solve(Omega, A @ S @ A.T))

    point = np.concatenate([rng.uniform(0.5, 1.5, split), rng.uniform(2, 3, len(errors))])
    point[split + d :] -= 2.5
    steps = 1e-6 * np.eye(len(point))
    slopes = [(covariances(point + s) - covariances(point - s)) / 2e-6 for s in steps]
    n_parameters = np.linalg.matrix_rank(np.array(slopes), tol=1e-6)
    start = np.concatenate([np.zeros(split), np.ones(d), np.zeros(len(errors) - d)])
    starts = (start + 0.3 * (start != 1) * rng.standard_normal(len(start)) for _ in range(2))
    best = min(minimize(objective, at, method="BFGS", options={"gtol": 1e-6}).fun for at in starts)
    return -(d * np.log(2 * np.pi) + best) / 2 - np.log(n) / n * n_parameters


def test_scores_agree_with_a_slow_twin():
    """Also where the bow is not identified, and the model has fewer parameters than edges."""
    rng = np.random.default_rng(3)
    data = instrument(300, 1)
    S = np.corrcoef(np.array(list(data.values())))
    chosen = [GRAPHS[k] for k in rng.choice(len(GRAPHS), 8, replace=False)]
    assert {row.verdict for g in chosen for row in g.identified()} >= {
        "identified",
        "not identified",
    }
    found = core_scores(chosen, bf.moments(cov=S, n=300, ddof=0))
    slow = [slow_score(g, S, 300, rng) for g in chosen]
    # One parameter more or less is log(300) / 300 = .019. A graph that fits badly may have a
    # supremum at infinity, which neither reaches.
    assert found == pytest.approx(slow, abs=2e-3)
    assert np.median(np.abs(found - slow)) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_graphs_is_found(seed):
    data = instrument(200 + 100 * seed, seed)
    scores = core_scores(GRAPHS, bf.moments(data))
    result = bf.greedy_search(data, knowledge=BOW, rng=0)
    assert result.score == pytest.approx(scores.max(), abs=1e-9)
    assert all(graph.bows() == (("x", "y"),) for graph, _ in result.pool)


def test_an_unidentified_bow_is_an_edge():
    data = {name: values for name, values in instrument(300, 2).items() if name in "xy"}
    result = bf.greedy_search(data, knowledge=BOW, rng=0)
    assert result.score == pytest.approx(bf.score(bf.parse("x -> y"), data), abs=1e-9)
    assert "identified in 0 of 1" in result.notes[-1]
    with pytest.raises(bf.errors.GraphError, match="do not determine x -> y"):
        bf.fit(result)


def test_the_effect_of_an_instrument_is_estimated():
    data = instrument(4000, 5)
    known = bf.Knowledge(
        required=["x -> y", "x <-> y", "w -> y"],
        forbidden=["z -- y"],
        tiers=[["z"], ["w", "x"], ["y"]],
    )
    result = bf.greedy_search(data, knowledge=known, rng=0)
    assert result.score == pytest.approx(bf.score(result.graph, data), abs=1e-9)
    with pytest.warns(bf.errors.LearnedGraphWarning):
        fit = bf.fit(result)
    assert fit.B[3, 2] == pytest.approx(0.5, abs=0.1)
    one, two = (bf.greedy_search(data, knowledge=known, rng=0, n_jobs=n) for n in (1, 2))
    assert one.graph == two.graph == result.graph


@pytest.mark.parametrize(
    "call",
    [
        lambda data, **known: bf.averaged_effects(bf.greedy_search(data, **known)),
        lambda data, **known: bf.bootstrap(data, n_resamples=40, **known),
        bf.structure_mcmc,
        bf.exact_search,
        lambda data, knowledge, rng: bf.exhaustive_search(data, knowledge=knowledge),
        lambda data, **known: bf.greedy_search(data, errors="nongaussian", **known),
        lambda data, **known: bf.greedy_search(data, method="ricf", **known),
        lambda data, **known: bf.greedy_search(
            [bf.Condition(data), bf.Condition(data, targets=["z"])], **known
        ),
    ],
)
def test_other_functions_refuse_bows(call):
    with pytest.raises(bf.errors.KnowledgeError, match=r"both x -> y and x <-> y \(a bow\)"):
        call(instrument(100, 0), knowledge=BOW, rng=0)


def test_contradictions():
    for more, message in [
        ({"forbidden": ["y <- x"]}, "x -> y is required, but y <- x is forbidden"),
        ({"forbidden": ["x -- y"]}, "x -> y is required, but x -- y is forbidden"),
        ({"forbidden": ["x <-> y"]}, "x <-> y is required, but x <-> y is forbidden"),
        ({"tiers": [["y"], ["x"]]}, "x -> y is required, but 'x' is in a later tier"),
        ({"unconfounded": ["x"]}, "x <-> y is required, but 'x' is unconfounded"),
    ]:
        known = bf.Knowledge(required=BOW.required, **more)
        with pytest.raises(bf.errors.KnowledgeError, match=message):
            bf.greedy_search(instrument(50, 0), knowledge=known)
    for graph, permitted in [("x -> y <-> x, z, w", True), ("x -> y, z, w", False)]:
        assert BOW.permits(bf.parse(graph)) is permitted
        assert bf.SearchSpace(knowledge=BOW).permits(bf.parse(graph)) is permitted
    backward = bf.Knowledge(required=["y <-> x", "x <- y"])
    assert backward.bows == (("y", "x"),)
    assert bf.SearchSpace(knowledge=backward).permits(bf.parse("y -> x <-> y"))
