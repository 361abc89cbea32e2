"""Effects over classes of graphs that several conditions, some with targets, cannot tell apart."""

import numpy as np
import pytest

import bowfree as bf
from random_models import random_bap, random_parameters
from twins import MATRICES, extremes, graph_matrices


def experiments(seed, d, targets, *, n=200):
    """Return a graph and conditions with these targets, set by hand, each with shifted means."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.6)
    B, Omega = random_parameters(rng, *graph_matrices(graph))
    data = []
    for names in targets:
        b, omega = B.copy(), Omega.copy()
        at = [graph.nodes.index(name) for name in names]
        b[at] = omega[at] = omega[:, at] = 0.0
        omega[at, at] = 1.5
        errors = rng.multivariate_normal(np.zeros(d), omega, size=n)
        X = np.linalg.solve(np.eye(d) - b, errors.T).T + rng.normal(size=d)
        data.append(bf.Condition(dict(zip(graph.nodes, X.T, strict=True)), targets=names))
    return graph, data


def test_an_intervention_settles_an_effect():
    # x -> y: the control leaves x <- y and x <-> y open, and with x set by hand nothing is.
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 300))
    control = bf.Condition({"x": x, "y": 0.8 * x + y})
    set_x = bf.Condition({"x": 2 * y, "y": 1.6 * y + x}, targets=["x"])
    open_ = bf.effect_bounds(bf.exhaustive_search([control])).effect(of="x", on="y")
    identified = bf.effect_bounds(bf.exhaustive_search([control, set_x])).effect(of="x", on="y")
    assert open_.lower == 0 < open_.upper
    assert identified.lower == identified.upper == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("targets", [[(), ("v2",)], [(), ("v0", "v3"), ("v1",)]])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_those_of_members_fitted_one_by_one(seed, targets):
    graph, data = experiments(seed, 4, targets)
    members = bf.equivalence_class(graph, targets=targets)
    bounds = bf.effect_bounds(members, data)
    twin = extremes([np.linalg.inv(np.eye(4) - bf.fit(member, data).B) for member in members])
    assert bounds.n_members == len(members)
    for name in MATRICES:
        np.testing.assert_allclose(getattr(bounds, name), twin[name], rtol=1e-8, atol=1e-10)


def test_the_result_of_a_search_stands_for_its_interventional_class():
    _, data = experiments(5, 4, [(), ("v1",), ("v2",)])
    result = bf.exhaustive_search(data)
    members = bf.equivalence_class(result)
    assert members.targets == ((), ("v1",), ("v2",))
    assert members.size < bf.equivalence_class(result.graph).size
    mine, theirs = bf.effect_bounds(result), bf.effect_bounds(members, data)
    assert mine.n_members == theirs.n_members == members.size
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def test_conditions_that_hide_an_edge_have_no_class():
    _, data = experiments(2, 3, [("v0",), ("v1",)])
    result = bf.exhaustive_search(data)
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on v0 or v1"):
        bf.effect_bounds(result)
    with pytest.raises(bf.BowfreeError, match="every condition intervenes on v0 or v1"):
        bf.averaged_effects(result)


def test_members_may_need_more_rows_than_the_graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 3))
    few = [bf.Condition(X[:3]), bf.Condition(X[3:], targets=["x1"])]
    with pytest.raises(bf.errors.DataError, match="n = 3 observations of 3 variables"):
        bf.effect_bounds([bf.MixedGraph(["x1", "x2", "x3"])], few)
