"""Averages over interventional equivalence classes, against sums over all graphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.equivalence.targets import read_targets
from bowfree.uncertainty.averaging import first_of_class
from random_models import random_bap

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
        for targets in ([(), nodes[:1]], [(nodes[0],), (nodes[1],), nodes[2:]]):
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
