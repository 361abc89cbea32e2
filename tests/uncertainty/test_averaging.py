"""Effects and edges averaged over classes, against exact weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

import bowfree as bf
from bowfree.search.result import ScoredGraph
from bowfree.uncertainty.averaging import group_by_class
from graph_strategies import all_baps
from random_models import random_bap, random_covariance, random_parameters, sample_covariance
from twins import graph_matrices, implied_covariance

SIZES = ("min_abs", "mean_abs", "max_abs", "mean", "positive", "negative")
MATRICES = ("probability_all_members", *SIZES)
EDGES = ("directed", "bidirected")


def average_twin(scored, S, n, *, window, temper=1.0):
    """Group by the exact test, pair by pair, and add up what each class says."""
    best = max(score for _, score in scored)
    classes = []
    for graph, score in sorted(scored, key=lambda entry: -entry[1]):
        if n * (best - score) <= window and not any(
            bf.equivalent(graph, other) for other, _ in classes
        ):
            classes.append((graph, score))
    weights = np.array([np.exp(n * (score - best) / temper) for _, score in classes])
    weights /= weights.sum()
    names = scored[0][0].nodes
    d = len(names)
    total = {name: np.zeros((d, d)) for name in (*MATRICES, *EDGES)}
    for (graph, _), weight in zip(classes, weights, strict=True):
        members = list(bf.equivalence_class(graph))
        bounds = bf.effect_bounds(members, cov=S, n=n)
        total["probability_all_members"] += weight * (bounds.min_abs > 1e-8)
        for name in SIZES:
            total[name] += weight * getattr(bounds, name)
        for member in members:
            for a, mark, b in member.edges:
                i, j = names.index(a), names.index(b)
                if mark == "->":
                    total["directed"][j, i] += weight / len(members)
                else:
                    total["bidirected"][i, j] += weight / len(members)
                    total["bidirected"][j, i] += weight / len(members)
    return total, weights


def law_twin(classes, weights, S, n):
    """Return {(i, j): [(weight, estimate, standard error), ...]}, one entry per member."""
    laws = {}
    for graph, weight in zip(classes, weights, strict=True):
        members = list(bf.equivalence_class(graph))
        for member in members:
            fit = bf.fit(member, cov=S, n=n, ddof=0)
            found = fit.total_effects(information="observed")
            for i, j in zip(*np.nonzero(np.isfinite(found.se)), strict=True):
                component = (weight / len(members), found.estimate[i, j], found.se[i, j])
                laws.setdefault((int(i), int(j)), []).append(component)
    return laws


def interval_twin(law, level):
    """Solve F(x) = p by root finding, for all graphs and for those with an effect."""
    weight, estimate, error = np.array(law).T
    no_effect = 1 - weight.sum()

    def quantile(p, weight, at_zero):
        def below(x):
            return weight @ ndtr((x - estimate) / error)

        if below(0.0) < p <= below(0.0) + at_zero:
            return 0.0
        shift = at_zero if below(0.0) < p else 0.0
        wide = 10 * (np.abs(estimate) + error).max()
        return brentq(lambda x: below(x) + shift - p, -wide, wide, xtol=1e-12)

    tails = (0.5 * (1 - level), 0.5 * (1 + level))
    ends = [[quantile(p, weight, no_effect) for p in tails]]
    if weight.sum() >= 0.01:
        ends.append([quantile(p, weight / weight.sum(), 0.0) for p in tails])
    lower, upper = np.transpose(ends)
    return lower.min(), upper.max()


def assert_equal(average, twin):
    for name in (*MATRICES, *EDGES):
        np.testing.assert_allclose(getattr(average, name), twin[name], atol=1e-9, err_msg=name)


def test_two_variables():
    # Two classes: no edge, and {x1 -> x2, x1 <- x2, x1 <-> x2}, which counts once and not thrice.
    S, n = [[1.0, 0.35], [0.35, 1.0]], 60
    result = bf.exhaustive_search(cov=S, n=n)
    average = bf.averaged_effects(result)
    empty, joined = (bf.score(bf.parse(text), cov=S, n=n) for text in ("x1, x2", "x1 -> x2"))
    gain = np.exp(n * (joined - empty))
    edge = gain / (1 + gain)
    assert sorted(cls.n_members for cls in average.classes) == [1, 3]
    assert average.weights.max() == pytest.approx(max(edge, 1 - edge))
    assert average.adjacent[0, 1] == pytest.approx(edge)
    np.testing.assert_allclose(average.directed, [[0, edge / 3], [edge / 3, 0]])
    np.testing.assert_allclose(average.max_abs, [[1, 0.35 * edge], [0.35 * edge, 1]])
    np.testing.assert_allclose(average.probability_all_members, np.eye(2))
    np.testing.assert_allclose(average.probability, [[1, edge / 3], [edge / 3, 1]])
    assert average.complete


def test_effect_that_all_members_share_has_the_interval_of_a_fit():
    # x1 *-> x2 <-* x3, x2 -> x4: the members differ in x1 and x3, all have the same x2 -> x4.
    S = np.array([[1, 0.5, 0, 0.3], [0.5, 1.2, 0.4, 0.6], [0, 0.4, 0.9, 0.2], [0.3, 0.6, 0.2, 1]])
    graph = bf.parse("x1 -> x2 <- x3, x2 -> x4")
    average = bf.averaged_effects([graph], cov=S, n=100, ddof=0, level=0.9)
    found = bf.fit(graph, cov=S, n=100, ddof=0).total_effects(information="observed")
    half = 1.6448536269514722 * found.se[3, 1]
    assert average.classes[0].n_members > 1
    assert average.probability[3, 1] == average.probability_all_members[3, 1] == pytest.approx(1)
    assert average.lower[3, 1] == pytest.approx(found.estimate[3, 1] - half, abs=2e-3 * half)
    assert average.upper[3, 1] == pytest.approx(found.estimate[3, 1] + half, abs=2e-3 * half)
    assert average.lower[1, 3] == average.upper[1, 3] == 0  # no member has such an effect
    assert average.lower[1, 1] == average.upper[1, 1] == 1


def test_interval_of_an_improbable_effect_is_not_empty():
    # x1 -> x2 has a weight of about .02: both quantiles of the mixture are 0, yet if there is an
    # effect it is near .2.
    S, n = [[1.0, 0.2], [0.2, 1.0]], 100
    average = bf.averaged_effects(bf.exhaustive_search(cov=S, n=n, ddof=0))
    assert 0.01 < average.probability[1, 0] < 0.025
    assert average.lower[1, 0] == 0
    assert average.upper[1, 0] == pytest.approx(0.2 + 1.96 * np.sqrt((1 - 0.2**2) / n), abs=1e-3)


@pytest.mark.parametrize(("d", "n", "seed"), [(3, 80, 0), (3, 400, 1), (4, 120, 2)])
def test_intervals_against_root_finding(d, n, seed):
    S = random_covariance(np.random.default_rng(seed), d, n)
    average = bf.averaged_effects(
        bf.exhaustive_search(cov=S, n=n, ddof=0), window=3.0, max_classes=40
    )
    laws = law_twin([cls.graph for cls in average.classes], average.weights, S, n)
    assert laws
    for (i, j), law in laws.items():
        lower, upper = interval_twin(law, 0.95)
        # The core stops halving at a thousandth of the narrowest standard error, and takes
        # components for one that are as close.
        near = 5e-3 * max(error for _, _, error in law)
        assert average.lower[i, j] == pytest.approx(lower, abs=near)
        assert average.upper[i, j] == pytest.approx(upper, abs=near)
        assert average.probability[i, j] == pytest.approx(sum(w for w, _, _ in law), abs=1e-9)


@pytest.mark.parametrize(("d", "seed", "temper"), [(3, 0, 1.0), (3, 1, 2.0), (4, 2, 1.0)])
def test_exact_weights(d, seed, temper):
    n = 80
    S = random_covariance(np.random.default_rng(seed), d, n)
    result = bf.exhaustive_search(cov=S, n=n)
    window = 1e9 if d == 3 else 6.0
    average = bf.averaged_effects(result, window=window, temper=temper, max_classes=10_000)
    twin, weights = average_twin(list(result.ranking(window)), S, n, window=window, temper=temper)
    assert_equal(average, twin)
    np.testing.assert_allclose(average.weights, weights, rtol=1e-6)
    assert average.weights.sum() == pytest.approx(1.0)
    if d == 3:
        assert len(average.classes) == 11  # all classes on three nodes
    np.testing.assert_allclose(average.adjacent, average.adjacent.T)
    assert ((average.min_abs <= average.mean_abs + 1e-12) | np.eye(d, dtype=bool)).all()
    assert (average.mean_abs <= average.max_abs + 1e-12).all()


def test_given_graphs_are_scored_and_grouped():
    S = random_covariance(np.random.default_rng(3), 3, 70)
    names = ("x1", "x2", "x3")
    graphs = [graph.relabel(dict(zip("abc", names, strict=True))) for graph in all_baps(3)]
    listed = bf.averaged_effects(graphs, cov=S, n=70, window=8.0)
    exact = bf.averaged_effects(bf.exhaustive_search(cov=S, n=70), window=8.0)
    assert_equal(listed, {name: getattr(exact, name) for name in (*MATRICES, *EDGES)})
    assert listed.n_graphs == exact.n_graphs
    other = bf.averaged_effects(graphs, cov=S, n=70, window=8.0, penalty=0.5)
    exact = bf.averaged_effects(bf.exhaustive_search(cov=S, n=70, penalty=0.5), window=8.0)
    assert_equal(other, {name: getattr(exact, name) for name in (*MATRICES, *EDGES)})


def test_nothing_outside_the_window_counts():
    S, n = random_covariance(np.random.default_rng(3), 3, 30), 30
    ranking = list(bf.exhaustive_search(cov=S, n=n).ranking(np.inf))
    gaps = [n * (ranking[0].score - score) for _, score in ranking]
    window = 4.0
    inside = sum(gap <= window for gap in gaps)
    assert any(window < gap < 1.9 * window for gap in gaps)
    assert any(window / 2 < gap <= window for gap in gaps)
    graphs = [graph for graph, _ in ranking]
    average = bf.averaged_effects(graphs, cov=S, n=n, window=window)
    assert average.n_graphs == inside
    assert sum(cls.n_members for cls in average.classes) == inside
    assert all(n * (ranking[0].score - cls.score) <= window for cls in average.classes)


@pytest.mark.parametrize("d", [4, 5])
def test_search_pool_comes_close_to_exact_weights(d):
    rng = np.random.default_rng(d)
    graph = random_bap(rng, d)
    Sigma = implied_covariance(*random_parameters(rng, *graph_matrices(graph)))
    S, n = sample_covariance(rng, Sigma, 200), 200
    limits = {"max_in_degree": 2 if d == 5 else None}  # 5 nodes have 700,000 BAPs
    everything = bf.exhaustive_search(cov=S, n=n, **limits)
    exact = bf.averaged_effects(everything, window=7.0, max_classes=10_000)
    search = bf.greedy_search(cov=S, n=n, restarts=6, rounds=0, rng=0, **limits)
    found = bf.averaged_effects(search, window=7.0, max_classes=10_000, rng=0)
    # All classes of some weight are found: what is missing adds up to very little.
    for name in (*MATRICES, *EDGES):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=0.01)
    assert found.samples is not None
    assert 0 < found.samples.acceptance.mean() < 1
    narrow = bf.averaged_effects(search, window=7.0, widen=0)
    assert narrow.samples is None
    assert len(narrow.classes) <= len(found.classes)


def test_result_does_not_depend_on_threads():
    S = random_covariance(np.random.default_rng(4), 5, 100)
    search = bf.greedy_search(cov=S, n=100, restarts=4, rounds=0, rng=0)
    one, two = (bf.averaged_effects(search, widen=3000, n_jobs=jobs, rng=3) for jobs in (1, 2))
    for name in (*MATRICES, *EDGES):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_knowledge_of_the_search_holds():
    rng = np.random.default_rng(5)
    S = random_covariance(rng, 4, 150)
    known = bf.Knowledge(tiers=[["x1"], ["x2"], ["x3"], ["x4"]], unconfounded=["x1", "x2"])
    search = bf.greedy_search(cov=S, n=150, knowledge=known, restarts=4, rounds=0, rng=0)
    average = bf.averaged_effects(search, widen=5000, rng=0)
    assert np.triu(average.directed, 1).max() == 0.0  # nothing points back in time
    assert average.bidirected[:2].max() == 0.0
    exact = bf.exhaustive_search(cov=S, n=150, knowledge=known)
    best = exact.graph_at(0)
    assert average.classes[0].score == pytest.approx(exact.score, abs=1e-9)
    members = [g for g in bf.equivalence_class(best) if known.permits(g)]
    assert average.classes[0].n_members == len(members)


def test_averages_over_dags():
    S = random_covariance(np.random.default_rng(7), 3, 60)
    search = bf.greedy_search(cov=S, n=60, graph_class="dag", restarts=4, rounds=0, rng=0)
    average = bf.averaged_effects(search, window=1e9, rng=0)
    exact = bf.exhaustive_search(cov=S, n=60, graph_class="dag")
    assert len(average.classes) == 11  # Markov equivalence classes of DAGs on three nodes
    assert sum(cls.n_members for cls in average.classes) == len(exact) == 25
    assert average.bidirected.max() == 0.0
    weights = {cls.score: cls.weight for cls in average.classes}
    total = np.zeros((3, 3))
    for cls in exact.classes(1e9):
        weight = min(weights.items(), key=lambda item: abs(item[0] - cls.score))[1]
        for graph in cls.graphs:
            total += weight * graph_matrices(graph)[0] / len(cls.graphs)
    np.testing.assert_allclose(average.directed, total, atol=1e-9)


def test_limits_of_the_search_hold_for_the_chains():
    S = random_covariance(np.random.default_rng(8), 5, 300)
    limits = {"max_in_degree": 1, "max_district": 2}
    search = bf.greedy_search(cov=S, n=300, restarts=2, rounds=0, rng=0, **limits)

    def widest(average):
        graphs = [graph for graph, _ in average.samples.pool]
        arrows = max(len(g.parents(v)) + len(g.spouses(v)) for g in graphs for v in g.nodes)
        return arrows, max(len(district) for g in graphs for district in g.districts())

    assert widest(bf.averaged_effects(search, widen=4000, rng=0)) == (1, 2)
    free = bf.averaged_effects(search, widen=4000, max_in_degree=5, max_district=5, rng=0)
    assert widest(free) > (1, 2)


@pytest.mark.parametrize("graph_class", ["bidirected", "ancestral", "arid"])
def test_chains_stay_in_the_class_of_the_search(graph_class):
    S = random_covariance(np.random.default_rng(9), 4, 100)
    search = bf.greedy_search(cov=S, n=100, graph_class=graph_class, restarts=2, rounds=0, rng=0)
    average = bf.averaged_effects(search, widen=2000, rng=0)
    graphs = [graph for graph, _ in average.samples.pool]
    if graph_class == "bidirected":
        assert average.directed.max() == 0.0
        assert all(graph.n_directed == 0 for graph in graphs)
    else:
        assert all(getattr(graph, f"is_{graph_class}")() for graph in graphs)


def test_time_limit():
    # A path of 40 nodes has more members than can be looked at in a millisecond.
    d = 40
    S = np.fromfunction(lambda i, j: 0.5 ** np.abs(i - j), (d, d))
    path = bf.MixedGraph(
        [f"x{k}" for k in range(d)], directed=[(f"x{k}", f"x{k + 1}") for k in range(d - 1)]
    )
    cut = bf.averaged_effects([path], cov=S, n=500, limit=10**6, time_limit=1e-3)
    assert not cut.complete
    assert 1 <= cut.classes[0].n_members < 10**5
    assert np.triu(cut.adjacent, 1).sum() == pytest.approx(d - 1)
    # Enough time changes nothing.
    short = bf.parse("x0 -> x1 -> x2")
    given = {"cov": S[:3, :3], "n": 500}
    whole = bf.averaged_effects([short], **given, time_limit=600)
    assert whole.complete
    np.testing.assert_array_equal(whole.mean, bf.averaged_effects([short], **given).mean)


def test_limits_are_reported():
    S = random_covariance(np.random.default_rng(6), 4, 500)
    result = bf.exhaustive_search(cov=S, n=500)
    cut = bf.averaged_effects(result, limit=2, max_classes=3)
    assert not cut.complete
    assert len(cut.classes) == 3
    assert cut.n_left_out > 0
    assert any(not cls.complete for cls in cut.classes)
    assert "NOT COMPLETE" in str(cut)
    assert "left out" in str(cut)
    assert json.loads(json.dumps(cut.to_dict()))["complete"] is False
    whole = bf.averaged_effects(result, effects="as-published")
    assert whole.complete
    assert (whole.formula, "NOT COMPLETE" in str(whole)) == ("as-published", False)
    assert not whole.probability.flags.writeable


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_grouping_is_exact(seed):
    rng = np.random.default_rng(seed)
    graphs = {random_bap(rng, 4, density=0.6) for _ in range(25)}
    scored = [ScoredGraph(graph, float(rng.normal())) for graph in graphs]
    found = group_by_class(scored)
    score = dict(scored)
    assert [entry.score for entry in found] == sorted((s for _, s in found), reverse=True)
    kept = [graph for graph, _ in found]
    for graph in graphs:
        same = [other for other in kept if bf.equivalent(graph, other)]
        assert len(same) == 1
        assert score[same[0]] >= score[graph]
