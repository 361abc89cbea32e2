"""Effects and edges averaged over graphs, against exact weights."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

import bowfree as bf
from bowfree import _core
from bowfree.equivalence.targets import read_targets
from bowfree.graph.encodings import graphs_of_bits
from bowfree.uncertainty.averaging import first_of_class
from bowfree.uncertainty.posterior import GraphPosterior
from bowfree.visualization.warnings import average_warnings
from random_models import random_bap, random_covariance, random_parameters, sample_covariance
from twins import graph_matrices, implied_covariance

SIZES = ("min_abs", "mean_abs", "max_abs", "mean", "positive", "negative")
MATRICES = ("probability_all_members", *SIZES)
EDGES = ("directed", "bidirected")


def log_weights_twin(graphs, S, n, *, penalty=0.5, prior="density", temperature=1.0, kinds=3):
    """Return log weights: n * score, and one over the number of graphs with as many edges."""
    found = []
    for graph in graphs:
        m, k = comb(len(graph.nodes), 2), graph.n_edges
        alike = comb(m, k) * kinds**k if prior == "density" else 1
        found.append(
            (n * bf.score(graph, cov=S, n=n, penalty=penalty) - np.log(alike)) / temperature
        )
    return np.array(found)


def average_twin(graphs, S, n, *, window=np.inf, count="graphs", **posterior):
    """Average over classes that are grouped by the exact test."""
    weights = log_weights_twin(graphs, S, n, **posterior)
    best = weights.max()
    classes = []
    for k in np.argsort(-weights, kind="stable"):
        if best - weights[k] <= window and not any(
            bf.equivalent(graphs[k], other) for other, _ in classes
        ):
            size = len(list(bf.equivalence_class(graphs[k]))) if count == "graphs" else 1
            classes.append((graphs[k], size * np.exp(weights[k] - best)))
    weights = np.array([weight for _, weight in classes])
    weights /= weights.sum()
    names = graphs[0].nodes
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
    return total, np.sort(weights)[::-1]


def mixture_twin(classes, weights, S, n):
    """Return {(i, j): [(weight, estimate, standard error), ...]}, one entry per member."""
    mixtures = {}
    for graph, weight in zip(classes, weights, strict=True):
        members = list(bf.equivalence_class(graph))
        for member in members:
            fit = bf.fit(member, cov=S, n=n, ddof=0)
            found = fit.total_effects(information="observed")
            for i, j in zip(*np.nonzero(np.isfinite(found.se)), strict=True):
                component = (weight / len(members), found.estimate[i, j], found.se[i, j])
                mixtures.setdefault((int(i), int(j)), []).append(component)
    return mixtures


def interval_twin(mixture, level):
    """Solve F(x) = p by root finding, for graphs with an effect."""
    weight, estimate, error = np.array(mixture).T
    P, weight = weight.sum(), weight / weight.sum()

    def below(x):
        return weight @ ndtr((x - estimate) / error)

    def quantile(p):
        wide = 10 * (np.abs(estimate) + error).max()
        return brentq(lambda x: below(x) - p, -wide, wide, xtol=1e-12)

    if min(0.01, 1 - level) >= P:
        return 0.0, 0.0
    if level < P:
        lower, upper = (quantile(0.5 * (1 + sign * level / P)) for sign in (-1, 1))
        if lower > 0 or upper < 0:
            return lower, upper
    found = []
    for share in (1 / 6, 1 / 2, 5 / 6):
        tail = share * (1 - level)
        if below(0.0) <= tail:
            found.append((0.0, quantile(below(0.0) + level)))
        elif 1 - below(0.0) <= 1 - level - tail:
            found.append((quantile(below(0.0) - level), 0.0))
        else:
            found.append((quantile(tail), quantile(tail + level)))
    return min(found, key=lambda ends: ends[1] - ends[0])


def assert_equal(average, twin):
    for name in (*MATRICES, *EDGES):
        np.testing.assert_allclose(getattr(average, name), twin[name], atol=1e-9, err_msg=name)


def weights_of(average):
    return np.array([cls.weight for cls in average.classes])


def test_one_nearly_singular_graph_does_not_decide_the_mean():
    weights, estimates, errors = np.array([[0.6, 1e-3], [0.3, -1e3], [0.05, 500.0]])
    mean, lower, upper = _core.summarize_mixture(weights, estimates, errors, 0.95, 1.0, 0.01)
    assert lower <= 0 < mean < upper
    assert mean == pytest.approx(0.18, abs=0.01)


@pytest.mark.parametrize("count", ["graphs", "classes"])
def test_two_variables(count):
    # Two classes: no edge, and {x1 -> x2, x1 <- x2, x1 <-> x2}. One pair, three kinds of edge: the
    # prior gives no edge as much as the three together.
    S, n = [[1.0, 0.35], [0.35, 1.0]], 60
    result = bf.exhaustive_search(cov=S, n=n)
    average = bf.averaged_effects(result, count=count)
    empty, joined = (
        bf.score(bf.parse(text), cov=S, n=n, penalty=0.5) for text in ("x1, x2", "x1 -> x2")
    )
    gain = np.exp(n * (joined - empty)) * (1 if count == "graphs" else 1 / 3)
    edge = gain / (1 + gain)
    assert sorted(cls.n_members for cls in average.classes) == [1, 3]
    assert weights_of(average).max() == pytest.approx(max(edge, 1 - edge))
    assert average.adjacent[0, 1] == pytest.approx(edge)
    np.testing.assert_allclose(average.directed, [[0, edge / 3], [edge / 3, 0]])
    np.testing.assert_allclose(average.max_abs, [[1, 0.35 * edge], [0.35 * edge, 1]])
    np.testing.assert_allclose(average.probability_all_members, np.eye(2))
    np.testing.assert_allclose(average.probability, [[1, edge / 3], [edge / 3, 1]])
    assert average.complete
    assert average.mixed


@pytest.mark.parametrize(("d", "n", "seed"), [(3, 80, 0), (3, 400, 1), (4, 120, 2)])
def test_intervals_against_root_finding(d, n, seed):
    S = random_covariance(np.random.default_rng(seed), d, n)
    average = bf.averaged_effects(
        bf.exhaustive_search(cov=S, n=n, ddof=0),
        window=3.0,
        max_classes=40,
        penalty=1.0,
        count="classes",
    )
    mixtures = mixture_twin([cls.graph for cls in average.classes], weights_of(average), S, n)
    assert mixtures
    for (i, j), mixture in mixtures.items():
        lower, upper = interval_twin(mixture, 0.95)
        # Components that are closer than a hundredth of a standard error are one for the core.
        near = 0.015 * max(error for _, _, error in mixture)
        assert average.lower[i, j] == pytest.approx(lower, abs=near)
        assert average.upper[i, j] == pytest.approx(upper, abs=near)
        assert average.probability[i, j] == pytest.approx(sum(w for w, _, _ in mixture), abs=1e-9)


POSTERIORS = [
    {},
    {"count": "classes"},
    {"prior": "flat", "penalty": 1.0, "temperature": 2.0},
    {"prior": "flat", "penalty": 1.0, "count": "classes"},
]


@pytest.mark.parametrize("options", POSTERIORS)
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_weights(seed, options):
    n = 80
    S = random_covariance(np.random.default_rng(seed), 3, n)
    result = bf.exhaustive_search(cov=S, n=n)
    average = bf.averaged_effects(result, window=1e9, **options)
    graphs = [graph for graph, _ in result.ranking(np.inf)]
    twin, weights = average_twin(graphs, S, n, **options)
    assert_equal(average, twin)
    np.testing.assert_allclose(weights_of(average), weights, rtol=1e-6)
    assert len(average.classes) == 11  # all classes on three nodes
    np.testing.assert_allclose(average.adjacent, average.adjacent.T)
    assert ((average.min_abs <= average.mean_abs + 1e-12) | np.eye(3, dtype=bool)).all()
    assert (average.mean_abs <= average.max_abs + 1e-12).all()
    # The same from the graphs alone, one of each class or all of them.
    given = {"cov": S, "n": n, "window": 1e9, **options}
    assert_equal(bf.averaged_effects(graphs, **given), twin)
    assert_equal(bf.averaged_effects([cls.graph for cls in average.classes], **given), twin)


def test_classes_that_are_not_enumerated_are_represented_by_their_graphs():
    n = 80
    S = random_covariance(np.random.default_rng(2), 4, n)
    result = bf.exhaustive_search(cov=S, n=n)
    whole = bf.averaged_effects(result, window=8.0, max_classes=10_000, limit=10_000)
    few = bf.averaged_effects(result, window=8.0, max_classes=5)
    cut = bf.averaged_effects(result, window=8.0, limit=1)
    assert (len(few.classes), few.n_classes) == (5, len(whole.classes))
    assert any(not cls.complete for cls in cut.classes)
    for name in ("mean", "mean_abs", "positive", "negative", *EDGES):
        # A window cuts through no class, so that all members are among the graphs.
        for other in (few, cut):
            np.testing.assert_allclose(getattr(other, name), getattr(whole, name), atol=1e-9)
    assert few.complete
    assert cut.complete
    # A class that counts once must be counted, and so the others are left out.
    assert not bf.averaged_effects(result, window=8.0, max_classes=5, count="classes").complete


def test_nothing_outside_the_window_counts():
    S, n = random_covariance(np.random.default_rng(3), 3, 30), 30
    graphs = [graph for graph, _ in bf.exhaustive_search(cov=S, n=n).ranking(np.inf)]
    weights = log_weights_twin(graphs, S, n)
    below, window = weights.max() - weights, 3.0
    inside = int((below <= window).sum())
    assert ((window < below) & (below < 1.9 * window)).any()
    assert ((window / 2 < below) & (below <= window)).any()
    average = bf.averaged_effects(graphs, cov=S, n=n, window=window)
    assert sum(cls.n_members for cls in average.classes) == inside
    listed = bf.averaged_effects(bf.exhaustive_search(cov=S, n=n), window=window)
    assert listed.n_graphs == inside


def test_the_lightest_graphs_are_left_out():
    S, n = random_covariance(np.random.default_rng(3), 4, 100), 100
    result = bf.exhaustive_search(cov=S, n=n)
    whole = bf.averaged_effects(result, window=1e9)
    average = bf.averaged_effects(result)
    graphs, weights = zip(*result.ranking(np.inf), strict=True)
    weights = np.sort(np.exp(log_weights_twin(graphs, S, n)))[::-1]
    left_out = 1 - np.cumsum(weights) / weights.sum()
    k = average.n_graphs
    assert whole.n_graphs == len(graphs)
    assert 0 < left_out[k - 1] < 1e-3 + 1e-9
    # One class less would leave out too much.
    first = np.argmax(weights <= weights[k - 1] * (1 + 1e-6))
    assert left_out[first - 1] > 1e-3
    for name in ("probability", *EDGES):
        np.testing.assert_allclose(getattr(average, name), getattr(whole, name), atol=1e-3)


@pytest.mark.parametrize("d", [4, 5])
def test_chains_come_close_to_exact_weights(d):
    rng = np.random.default_rng(d)
    graph = random_bap(rng, d)
    Sigma = implied_covariance(*random_parameters(rng, *graph_matrices(graph)))
    S, n = sample_covariance(rng, Sigma, 200), 200
    limits = {"max_in_degree": 2 if d == 5 else None}  # 5 nodes have 700,000 BAPs
    everything = bf.exhaustive_search(cov=S, n=n, **limits)
    exact = bf.averaged_effects(everything)
    search = bf.greedy_search(cov=S, n=n, restarts=6, rounds=0, rng=0, **limits)
    samples = bf.structure_mcmc(search, steps=150_000, thin=150, rng=0)
    found = bf.averaged_effects(samples)
    assert found.mixed
    for name in ("probability", "mean", "lower", "upper", *EDGES):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=0.03)
    np.testing.assert_allclose(
        found.probability_all_members, exact.probability_all_members, atol=0.03
    )


def test_averages_over_dags():
    S, n = random_covariance(np.random.default_rng(7), 3, 60), 60
    exact = bf.exhaustive_search(cov=S, n=n, graph_class="dag")
    average = bf.averaged_effects(exact, window=1e9)
    assert len(average.classes) == 11  # Markov equivalence classes of DAGs on three nodes
    assert sum(cls.n_members for cls in average.classes) == len(exact) == 25
    assert average.bidirected.max() == 0.0
    graphs = [graph for graph, _ in exact.ranking(np.inf)]
    weights = np.exp(log_weights_twin(graphs, S, n, kinds=2))
    total = sum(
        weight * graph_matrices(graph)[0] for graph, weight in zip(graphs, weights, strict=True)
    )
    np.testing.assert_allclose(average.directed, total / weights.sum(), atol=1e-9)
    search = bf.greedy_search(cov=S, n=n, graph_class="dag", restarts=4, rounds=0, rng=0)
    sampled = bf.averaged_effects(search, steps=100_000, rng=0)
    np.testing.assert_allclose(sampled.directed, average.directed, atol=0.02)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_in_degree": 1, "max_district": 2},
        {"graph_class": "bidirected"},
        {"graph_class": "ancestral"},
        {"graph_class": "arid"},
    ],
)
def test_chains_stay_in_the_space(limits):
    S = random_covariance(np.random.default_rng(9), 6, 100)
    space = bf.SearchSpace(**limits)
    search = bf.greedy_search(cov=S, n=100, restarts=2, rounds=0, rng=0, space=space)
    average = bf.averaged_effects(search, steps=2000, rng=0)
    assert all(space.permits(graph) for graph, _ in average.samples.pool)
    # The space of the average may be smaller than that of the search, or larger.
    free = bf.greedy_search(cov=S, n=100, restarts=2, rounds=0, rng=0)
    smaller = bf.averaged_effects(free, steps=2000, rng=0, **limits)
    assert all(space.permits(graph) for graph, _ in smaller.samples.pool)
    larger = bf.averaged_effects(search, steps=2000, rng=0, space=bf.SearchSpace())
    assert not all(space.permits(graph) for graph, _ in larger.samples.pool)


def test_time_limit():
    S = random_covariance(np.random.default_rng(5), 4, 100)
    graphs = [graph for graph, _ in bf.exhaustive_search(cov=S, n=100).ranking(1e9)]
    few = {"graphs": graphs[:3], "cov": S, "n": 100, "window": 1e9}
    whole = bf.averaged_effects(**few, time_limit=600)
    assert whole.complete
    np.testing.assert_array_equal(whole.mean, bf.averaged_effects(**few).mean)
    # All 3,608 graphs cannot be scored in a millisecond.
    cut = bf.averaged_effects(graphs, cov=S, n=100, window=1e9, time_limit=1e-9)
    assert 1 <= cut.n_graphs < 3608
    assert not cut.complete
    # Nor can all members of the class of a path of 40 nodes.
    d = 40
    path = bf.parse(" -> ".join(f"x{k}" for k in range(d)))
    S = np.fromfunction(lambda i, j: 0.5 ** np.abs(i - j), (d, d))
    cut = bf.averaged_effects([path], cov=S, n=500, limit=10**6, time_limit=1e-3)
    assert not cut.complete
    assert 1 <= cut.classes[0].n_members < 10**5
    assert np.triu(cut.adjacent, 1).sum() == pytest.approx(d - 1)


def test_print_lists_probable_effects_only():
    average = bf.averaged_effects(bf.greedy_search(bf.datasets.load_demo(), rng=1), rng=1)
    probable = (average.probability >= 0.1).sum() - len(average.names)
    lines = str(average).splitlines()
    assert len([line for line in lines if " on " in line]) == probable < 25
    assert (
        lines[-1] == f"{42 - probable} other effects with a probability below 0.1: see to_frame()"
    )
    assert len(average.to_frame()) == 42


def test_small_effects_beside_large_ones_are_not_printed_as_zero():
    units = np.array([1e7, 1.0, 1e-7])  # the effect of x on y is about 5e-8, that of z on y 5e6
    S = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]) * np.outer(units, units)
    graph = bf.parse("x -> y <- z")
    average = bf.averaged_effects([graph], cov=S, n=1000)
    bounds = bf.effect_bounds([graph], cov=S, n=1000)
    for result in (average, bounds, bf.fit(graph, cov=S, n=1000).total_effects()):
        assert "e-08" in str(result)


S2 = [[1.0, 0.5], [0.5, 1.0]]
EXHAUSTIVE = bf.exhaustive_search(cov=S2, n=50)
SAMPLES = bf.structure_mcmc(cov=S2, n=50, steps=100, rng=0)


@pytest.mark.parametrize(
    ("graphs", "options", "message"),
    [
        ([], {"cov": S2, "n": 50}, "graphs is empty"),
        (bf.parse("x -> y"), {"cov": S2, "n": 50}, "single graph"),
        ([bf.parse("x -> y")], {"cov": S2, "n": np.inf}, "n = inf"),
        (EXHAUSTIVE, {"cov": S2, "n": 50}, "has its own data"),
        (EXHAUSTIVE, {"graph_class": "arid"}, "'dag' or 'bidirected'"),
        (SAMPLES, {"penalty": 1.0}, "pass them to structure_mcmc"),
    ],
)
def test_invalid_input(graphs, options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.averaged_effects(graphs, **options)


def t5_rows(sem, n, seed):
    """Draw from a multivariate t mixture, for which Gamma is 3 times that of normal data."""
    rng = np.random.default_rng(seed)
    rows = np.asarray(sem.sample(n, rng=rng)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    return dict(zip(sem.graph.nodes, rows.T, strict=True))


def test_the_weights_are_those_of_a_smaller_sample():
    sem = bf.random_sem(bf.parse("x -> y <- z"), rng=1)
    result = bf.exhaustive_search(t5_rows(sem, 500, 3))
    average = bf.averaged_effects(result, window=15.0)
    fit = bf.fit(result.graph, result.moments, test="satorra-bentler")
    assert average.scaling == pytest.approx(fit.chi2 / fit.scaled.chi2, rel=1e-6)
    assert bf.averaged_effects(result, se="standard").scaling == 1.0
    S, n = result.moments.S, round(500 / average.scaling)
    assert average.scaling > 1.3
    smaller = bf.averaged_effects(bf.exhaustive_search(cov=S, n=n, ddof=0), window=15.0)
    np.testing.assert_allclose(average.probability, smaller.probability, atol=1e-6)
    graphs = [graph for graph, _ in result.ranking(np.inf)]
    listed = bf.averaged_effects(graphs, result.moments)
    np.testing.assert_allclose(listed.probability, average.probability, atol=1e-6)


def test_edges_that_depend_on_normality_are_named():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 3))
    X[:, 1] += 0.3 * X[:, 0]
    X[0, :2] = 40.0  # one outlier makes the correlation
    table = dict(zip("xyz", X.T, strict=True))
    average = bf.averaged_effects(bf.exhaustive_search(table))
    (row,) = average.nonnormal_edges
    assert {row.a, row.b} == {"x", "y"}
    assert row.ratio > 2
    assert "NOT NORMAL" in str(average)
    assert any("depend on these edges" in note for note in average_warnings(average))


SEM = bf.random_sem(bf.parse("x -> m -> y <- x, z -> m"), rng=3)
TABLE = SEM.sample(150, rng=2, as_frame="pandas")
ALL = bf.exhaustive_search(TABLE, penalty=0.5)


@pytest.mark.parametrize("se", ["standard", "robust"])
def test_averages_over_all_graphs(se):
    """The mixture of the path effects of all graphs, the slow way."""
    average = bf.averaged_effects(ALL, se=se, window=12)
    found = average.path_effects(of="x", on="y", through="m", max_paths=30)
    n, moments = average._moments.n, bf.moments(TABLE)
    prior = GraphPosterior().log_prior(bf.moments(cov=np.eye(4), n=100), bf.SearchSpace())
    ranked = list(ALL.ranking(window=30))
    # With robust weights there are n / scaling observations.
    price = 0.5 * np.log(moments.n) / moments.n - 0.5 * np.log(n) / n
    logs = np.array([n * (s + price * (4 + g.n_edges)) + prior[g.n_edges] for g, s in ranked])
    near = logs >= logs.max() - 12
    weights = np.where(near, np.exp(logs - logs.max()), 0.0)
    weights /= weights.sum()
    sums = dict.fromkeys([row.effect for row in found.rows], (0.0, 0.0))
    for (graph, _), weight in zip(ranked, weights, strict=True):
        if weight == 0.0 or "x" not in graph.ancestors("y"):
            continue
        fit = bf.fit(graph, moments)
        for row in bf.effects.path_effects(fit, of="x", on="y", through="m", max_paths=99).rows:
            if row.effect in sums and row.se == row.se:
                p, mean = sums[row.effect]
                sums[row.effect] = (p + weight, mean + weight * row.estimate)
    assert len(sums) >= 5
    for row in found.rows:
        assert (row.probability, row.mean) == pytest.approx(sums[row.effect], abs=1e-6)
    total = average.effect(of="x", on="y")
    assert (found.rows[0].lower, found.rows[0].upper) == pytest.approx(
        (total.lower, total.upper),
        abs=1e-3,  # similar components are merged
    )
    assert {row.mcse for row in found.rows} == {0.0}


def test_over_samples_of_chains():
    samples = bf.structure_mcmc(TABLE, steps=10_000, rng=1)
    chains = bf.averaged_effects(samples)
    exact = bf.averaged_effects(ALL).path_effects(of="x", on="y", avoiding="m")
    found = chains.path_effects(of="x", on="y", avoiding="m")
    for name in ("total", "direct", "indirect", "avoiding m"):
        one, other = found.effect(name), exact.effect(name)
        assert one.probability == pytest.approx(other.probability, abs=0.03)
        assert one.mean == pytest.approx(other.mean, abs=0.03)
    assert 0 < found.effect("direct").mcse < 0.02
    assert "P(path)" in str(found)
    assert list(found.to_frame().columns) == [
        "effect",
        "probability",
        "mcse",
        "mean",
        "lower",
        "upper",
    ]


def test_bad_questions():
    average = bf.averaged_effects(ALL)
    with pytest.raises(bf.errors.GraphError, match="unknown node 'q'"):
        average.path_effects(of="q", on="y")
    with pytest.raises(bf.errors.GraphError, match="more than one of of, on, through and avoiding"):
        average.path_effects(of="x", on="y", through="y")
    some = bf.averaged_effects([bf.parse("x -> m -> y, z")], TABLE)
    with pytest.raises(bf.errors.BowfreeError, match="graphs of a search or of chains"):
        some.path_effects(of="x", on="y")
    two = [bf.Condition(TABLE[:70]), bf.Condition(TABLE[70:], targets=["m"])]
    joint = bf.averaged_effects(bf.greedy_search(two, restarts=1, rng=1), steps=1000, rng=1)
    with pytest.raises(bf.errors.BowfreeError, match="one condition"):
        joint.path_effects(of="x", on="y")


RNG = np.random.default_rng(3)


def rows(n, *, set_y=False):
    x, y, z = RNG.normal(size=(3, n))
    y = 1.5 * y if set_y else 0.5 * x + y
    return {"x": x, "y": y, "z": 0.4 * y + z + 0.2 * x}


DATA = [
    bf.Condition(rows(80), name="watched"),
    bf.Condition(rows(60, set_y=True), targets=["y"], name="set"),
]
TARGETS = [(), ("y",)]
N = 140


def test_weights_and_effects_of_all_graphs():
    graphs = list(bf.exhaustive_search(DATA, penalty=0.5).ranking(1e9))
    assert len(graphs) == 62
    result = bf.exhaustive_search(DATA)
    average = bf.averaged_effects(result, window=1e6, se="standard", prior="flat")
    weights = np.exp([N * (score - graphs[0].score) for _, score in graphs])
    weights /= weights.sum()
    B = [bf.fit(graph, DATA).B for graph, _ in graphs]
    effects = np.array([np.linalg.inv(np.eye(3) - b) for b in B])
    off = average.lower < average.upper  # the others are improbable, or effects on themselves
    assert off.sum() == 5
    expected = {
        "probability": np.tensordot(weights, np.abs(effects) > 1e-8, 1),
        "mean": np.tensordot(weights, effects, 1),
        "mean_abs": np.tensordot(weights, np.abs(effects), 1),
    }
    for name, twin in expected.items():
        np.testing.assert_allclose(getattr(average, name)[off], twin[off], rtol=1e-7, atol=1e-9)
    directed = np.zeros((3, 3))
    for (graph, _), weight in zip(graphs, weights, strict=True):
        for a, b in graph.directed:
            directed["xyz".index(b), "xyz".index(a)] += weight
    np.testing.assert_allclose(average.directed, directed, rtol=1e-7, atol=1e-9)


def half_widths(graph, data):
    """Return half the widths of the intervals, with one graph in the average."""
    moments = bf.moments(data, graph=graph)
    total, _, _ = bf._core.average_classes(
        bf._core.EffectCounter(moments._core_data(), 1.0, 1e-8, 100, True),
        *(bits[None] for bits in graph._bits()),
        shares=[1.0],
        batches=[],
        sizes=[1],
        n_classes=0,
        power=0,
        n=moments.n,
        level=0.95,
        limit=1,
        knowledge=np.zeros((0, 0), dtype=np.uint8),
        conditions=[],
        seconds=None,
    )
    return (total["upper"] - total["lower"]) / 2


@pytest.mark.parametrize("kind", ["perfect", "mechanism", "activity", "noise"])
def test_classes_and_standard_errors(kind):
    data = [DATA[0], bf.Condition(DATA[1].data, targets=["y"], kind=kind)]
    # The distribution of the effect in one graph is normal, up to the accuracy of quantiles.
    for text in ("x -> y -> z, x <-> z", "x <-> y -> z, x -> z", "x -> y -> z <- x"):
        graph = bf.parse(text)
        se = bf.fit(graph, data).total_effects(information="observed").se
        found = np.isfinite(se) & (se > 0)
        assert found.any()
        np.testing.assert_allclose(half_widths(graph, data)[found], 1.96 * se[found], rtol=1e-3)
    result = bf.exhaustive_search(data)
    options = {"window": 1e6, "se": "standard"}
    listed = bf.averaged_effects(result, **options)
    of_graphs = bf.averaged_effects([g for g, _ in result.ranking(1e9)], data, **options)
    np.testing.assert_allclose(of_graphs.probability, listed.probability, rtol=1e-7, atol=1e-9)
    assert of_graphs.n_classes == listed.n_classes == len(listed.classes)
    for one in listed.classes:
        assert one.n_members == bf.equivalence_class(one.graph, targets=TARGETS, kind=kind).size


def test_standard_errors_beside_an_unidentified_covariance():
    # One end of y <-> z is always a target: nothing tells of it, and x -> y is known all the same.
    always = [
        bf.Condition(DATA[0].data, targets=["z"]),
        bf.Condition(DATA[1].data, targets=["y"]),
        bf.Condition(rows(50, set_y=True), targets=["y"]),
    ]
    graph = bf.parse("x -> y <-> z")
    se = bf.fit(graph, always).total_effects(information="observed").se[1, 0]
    assert half_widths(graph, always)[1, 0] == pytest.approx(1.96 * se, rel=1e-3)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_grouping_is_exact(seed):
    rng = np.random.default_rng(seed)
    graphs = list({random_bap(rng, 4, density=0.6) for _ in range(12)})
    nodes = graphs[0].nodes
    for kind in ("perfect", "noise"):
        for targets in ([()], [(), nodes[:1]], [(nodes[0],), (nodes[1],), nodes[2:]]):
            if kind == "perfect" and () not in targets:
                targets = [(nodes[0],), (nodes[1],), (nodes[2],)]
            conditions = read_targets(targets, kind, nodes)
            bits = zip(*(graph._bits() for graph in graphs), strict=True)
            first = first_of_class(*map(np.stack, bits), conditions)
            for k, graph in enumerate(graphs):
                same = [
                    j
                    for j, other in enumerate(graphs)
                    if bf.equivalent(graph, other, targets=targets, kind=kind)
                ]
                assert first[k] == same[0]


def test_chains_use_the_conditions():
    result = bf.greedy_search(DATA, rng=1)
    average = bf.averaged_effects(result, steps=40_000, rng=1)
    exact = bf.averaged_effects(bf.exhaustive_search(DATA))
    np.testing.assert_allclose(average.probability, exact.probability, atol=0.04)
    assert average.mixed


def heavy_tailed(sem, n, seed):
    """Draw from a multivariate t distribution with 8 degrees of freedom; the factor is 1.5."""
    rng = np.random.default_rng(seed)
    rows = np.asarray(sem.sample(n, rng=rng)) * np.sqrt(6 / rng.chisquare(8, (n, 1)))
    return dict(zip(sem.graph.nodes, rows.T, strict=True))


def test_heavy_tails_in_batches():
    """Batches with shared means are one table; with free means, the tables minus their means."""
    graph = bf.parse("x -> y <- z, y -> w")
    sem = bf.random_sem(graph, rng=1)
    tables = [heavy_tailed(sem, n, n) for n in (300, 200)]
    batches = [bf.Condition(table, name=str(k)) for k, table in enumerate(tables)]
    centered = [{k: v - v.mean() for k, v in table.items()} for table in tables]
    for means, parts in (("shared", tables), ("free", centered)):
        table = {name: np.concatenate([part[name] for part in parts]) for name in graph.nodes}
        one = bf.averaged_effects([graph], table)
        several = bf.averaged_effects([graph], batches, means=means)
        assert one.se == several.se == "robust"
        assert several.scaling == pytest.approx(one.scaling)
        for name in ("probability", "mean", "lower", "upper"):
            np.testing.assert_allclose(getattr(several, name), getattr(one, name), atol=1e-8)


@pytest.mark.parametrize("means", ["free", "shared"])
def test_heavy_tails_under_interventions(means):
    graph = bf.parse("x -> y <-> z, y -> w")
    sem = bf.random_sem(graph, rng=1)
    B, Omega = sem.B.copy(), sem.Omega.copy()
    B[1], Omega[1], Omega[:, 1] = 0.0, 0.0, 0.0
    Omega[1, 1] = 2.0
    cut = bf.LinearSEM(bf.parse("x, y -> w, z").reorder(graph.nodes), B, Omega)
    given = [
        bf.Condition(heavy_tailed(sem, 6000, 1), name="observed"),
        bf.Condition(heavy_tailed(cut, 4000, 2), targets=["y"], name="set"),
    ]
    average = bf.averaged_effects([graph], given, means=means)
    normal = bf.averaged_effects([graph], given, means=means, se="standard")
    assert (average.se, normal.scaling) == ("standard", 1.0)
    assert average.scaling == pytest.approx(1.5 if means == "free" else 1.38, abs=0.15)
    k, j = graph.nodes.index("w"), graph.nodes.index("y")
    width, narrow = ((a.upper - a.lower)[k, j] for a in (average, normal))
    assert width / narrow == pytest.approx(np.sqrt(average.scaling), rel=0.02)


def five_variables(n, seed):
    graph = bf.parse("a -> b <-> c -> e, a -> e, f")
    return bf.random_sem(graph, rng=seed).sample(n, rng=seed, as_frame="pandas")


@pytest.mark.filterwarnings("ignore::bowfree.errors.FitWarning")  # of improbable graphs
def test_five_variables_against_one_fit_for_each_graph():
    """Graphs one by one have fits of their own; after a search those of a class share one."""
    table = five_variables(1000, 6)
    search = bf.greedy_search(table, rng=1)
    average = bf.averaged_effects(search, max_classes=1, max_edges=5)
    assert average.samples is None
    assert average.n_classes > 10
    parents, spouses = average._graphs.parents, average._graphs.spouses
    d, sums = 5, {name: np.zeros((5, 5)) for name in ("mean", "probability", *EDGES)}
    for graph, weight in zip(
        graphs_of_bits(average.names, parents, spouses), average._graphs.weights, strict=True
    ):
        B = bf.fit(graph, table).B
        sums["mean"] += weight * np.linalg.inv(np.eye(d) - B)
        reached = [[a in graph.ancestors(b) for a in graph.nodes] for b in graph.nodes]
        sums["probability"] += weight * np.array(reached)
        directed, bidirected = graph_matrices(graph)
        sums["directed"] += weight * directed
        sums["bidirected"] += weight * bidirected
    sums["mean"][average.lower == average.upper] = 0.0  # improbable effects are neglected
    np.fill_diagonal(sums["mean"], 1.0)
    for name, twin in sums.items():
        # Fits end where the score cannot rise by more than 1e-10.
        np.testing.assert_allclose(getattr(average, name), twin, atol=1e-5, err_msg=name)


def test_five_variables_in_another_order_and_other_units():
    table = five_variables(300, 4)
    one = bf.averaged_effects(bf.greedy_search(table, rng=1))
    units = {"a": 8.0, "b": -0.25, "c": 1e3, "e": 1.0, "f": 0.01}
    other = bf.averaged_effects(
        bf.greedy_search(table[list("fcabe")] * [units[name] for name in "fcabe"], rng=2)
    )
    assert (other.n_graphs, other.n_classes) == (one.n_graphs, one.n_classes)
    for on in "abcef":
        for of in set("abcef") - {on}:
            x, y = one.effect(of=of, on=on), other.effect(of=of, on=on)
            factor = units[on] / units[of]
            ends = sorted([factor * x.lower, factor * x.upper])
            assert y.probability == pytest.approx(x.probability, abs=1e-6)
            # Components that are closer than a hundredth of a standard error are merged.
            near = 1e-2 * (ends[1] - ends[0])
            assert [y.lower, y.upper] == pytest.approx(ends, abs=near)


def test_five_variables_obey_limits():
    search = bf.greedy_search(five_variables(200, 4), rng=1)
    reports = []
    whole = bf.averaged_effects(search, progress=reports.append)
    assert whole.complete
    assert {report.what for report in reports} == {"graphs"}
    assert all(report.done <= report.planned == 765_664 for report in reports)
    assert bf.averaged_effects(search, time_limit=600).samples is None
    # There may be no time for all graphs: chains return what they have.
    assert bf.averaged_effects(search, steps=1000, time_limit=4.0, rng=1).samples is not None

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bf.averaged_effects(search, progress=interrupt)
    limited = bf.averaged_effects(search, max_edges=3, knowledge=bf.Knowledge(forbidden=["f -- a"]))
    assert limited.adjacent[4, 0] == 0
    assert limited.n_graphs < whole.n_graphs
