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


def all_graphs():
    """Return every BAP on three nodes with its score."""
    return list(bf.exhaustive_search(DATA, penalty=0.5).ranking(1e9))


def test_weights_and_effects_of_all_graphs():
    graphs = all_graphs()
    assert len(graphs) == 62
    result = bf.exhaustive_search(DATA)
    average = bf.averaged_effects(result, window=1e6, prior="flat")
    weights = np.exp([N * (score - graphs[0].score) for _, score in graphs])
    weights /= weights.sum()
    B = [bf.fit(graph, DATA).B for graph, _ in graphs]
    effects = np.array([np.linalg.inv(np.eye(3) - b) for b in B])
    off = ~np.eye(3, dtype=bool)
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


def test_classes_are_those_of_the_conditions():
    listed = bf.averaged_effects(bf.exhaustive_search(DATA), window=1e6)
    graphs = [graph for graph, _ in all_graphs()]
    for one in listed.classes:
        same = [g for g in graphs if bf.equivalent(g, one.graph, targets=TARGETS)]
        assert one.n_members == len(same)
    assert sum(one.n_members for one in listed.classes) == 62
    of_graphs = bf.averaged_effects(graphs, DATA, window=1e6)
    np.testing.assert_allclose(of_graphs.probability, listed.probability, rtol=1e-7, atol=1e-9)
    assert of_graphs.n_classes == listed.n_classes == len(listed.classes)


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


@pytest.mark.parametrize("text", ["x -> y -> z, x <-> z", "x -> y -> z <- x", "x <-> y -> z"])
def test_the_interval_of_one_graph_is_that_of_its_standard_error(text):
    # The distribution of the effect is then one normal, up to the accuracy of quantiles.
    graph = bf.parse(text)
    se = bf.fit(graph, DATA).total_effects(information="observed").se
    found = np.isfinite(se) & (se > 0)
    assert found.any()
    np.testing.assert_allclose(half_widths(graph, DATA)[found], 1.96 * se[found], rtol=1e-3)


@pytest.mark.parametrize("kind", ["mechanism", "activity", "noise"])
def test_parameters_of_single_conditions(kind):
    data = [DATA[0], bf.Condition(DATA[1].data, targets=["y"], kind=kind)]
    for text in ("x -> y -> z, x <-> z", "x <-> y -> z, x -> z"):
        graph = bf.parse(text)
        se = bf.fit(graph, data).total_effects(information="observed").se
        found = np.isfinite(se) & (se > 0)
        assert found.any()
        np.testing.assert_allclose(half_widths(graph, data)[found], 1.96 * se[found], rtol=1e-3)
    result = bf.exhaustive_search(data)
    listed = bf.averaged_effects(result, window=1e6)
    given_ = bf.averaged_effects([g for g, _ in result.ranking(1e9)], data, window=1e6)
    np.testing.assert_allclose(given_.probability, listed.probability, rtol=1e-7, atol=1e-9)
    for one in listed.classes:
        alike = bf.equivalence_class(one.graph, targets=TARGETS, kind=kind)
        assert one.n_members == alike.size


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
