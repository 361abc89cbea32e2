"""Path effects agree with sums over paths, with lavaan's formulas, and with the bootstrap."""

from itertools import product

import numpy as np
import pytest

import bowfree as bf
from bowfree.effects.mediation import path_effect_bounds, path_effects


def random_case(seed):
    rng = np.random.default_rng(seed)
    graph = bf.random_bap([f"v{i}" for i in range(6)], rng=rng)
    order = graph.topological_order()
    return graph, order[0], order[-1], bf.random_sem(graph, rng=rng)


def along_paths(sem, of, on, through=(), avoiding=()):
    """Return the sum over directed paths, one by one."""
    return sum(
        sem.edge_product(path)
        for path in sem.graph.directed_paths(of, on)
        if set(through) <= set(path.nodes) and not set(avoiding) & set(path.nodes)
    )


@pytest.mark.parametrize("seed", range(40))
def test_effects_are_sums_over_paths(seed):
    graph, of, on, sem = random_case(seed)
    between = [v for v in graph.topological_order() if v not in (of, on)]
    found = path_effects(sem, of=of, on=on, max_paths=1000)
    assert found.effect("total").estimate == pytest.approx(along_paths(sem, of, on), abs=1e-12)
    direct = sem.B[graph.nodes.index(on), graph.nodes.index(of)]
    assert found.effect("direct").estimate == direct
    rest = along_paths(sem, of, on) - direct
    assert found.effect("indirect").estimate == pytest.approx(rest, abs=1e-12)
    assert sum(row.estimate for row in found.rows[3:]) == pytest.approx(rest, abs=1e-12)
    rng = np.random.default_rng(seed)
    via, without = ([v for v in between if rng.random() < 0.3] for _ in range(2))
    without = [v for v in without if v not in via]
    (row,) = path_effects(sem, of=of, on=on, through=via[::-1], avoiding=without, max_paths=0).rows[
        3:
    ] or [found.rows[0]]
    wanted = along_paths(sem, of, on, via, without)
    assert row.estimate == pytest.approx(wanted, abs=1e-12)
    assert np.isnan(row.se)


@pytest.mark.parametrize("seed", range(12))
def test_standard_errors_are_those_of_numerical_derivatives(seed):
    graph, of, on, sem = random_case(seed)
    data = sem.sample(300, rng=seed)
    fit = bf.fit(graph, data)
    errors = fit.standard_errors()
    rows = [s for s, (kind, _, _) in enumerate(errors.parameters) if kind == "B"]
    V = errors.covariance[np.ix_(rows, rows)]
    total = fit.total_effects().effect(of=of, on=on)
    for row in path_effects(fit, of=of, on=on):
        gradient = []
        for s in rows:
            _, i, j = errors.parameters[s]
            ends = []
            for step in (1e-6, -1e-6):
                B = fit.B.copy()
                B[i, j] += step
                moved = path_effects(bf.LinearSEM(graph, B, fit.Omega), of=of, on=on)
                ends.append(moved.effect(row.effect).estimate)
            gradient.append((ends[0] - ends[1]) / 2e-6)
        variance = np.array(gradient) @ V @ np.array(gradient)
        if np.any(gradient):
            assert row.se == pytest.approx(np.sqrt(variance), rel=1e-5)
        else:
            assert np.isnan(row.se)
    first = path_effects(fit, of=of, on=on)[0]
    for name in ("estimate", "se", "lower", "upper"):
        assert first[name] == pytest.approx(total[name], rel=1e-9, nan_ok=True)


MEDIATION = bf.parse("x -> m -> y <- x")
SEM = bf.LinearSEM(
    MEDIATION, [[0, 0, 0], [0.4, 0, 0], [0.2, 0.5, 0]], np.diag([1.0, 0.8, 0.6])
)  # x, m, y


def test_sobel_and_the_definitions_of_lavaan():
    data = SEM.sample(200, rng=1, as_frame="pandas")
    text = "m ~ a*x\ny ~ b*m + c*x\nindirect := a*b\ntotal := c + a*b"
    model = bf.formats.read_lavaan(text)
    fit = bf.fit(model, data)
    found = path_effects(fit, of="x", on="y", through="m")
    defined = model.defined(fit)
    for name, other in (("indirect", "indirect"), ("through m", "indirect"), ("total", "total")):
        row, wanted = found.effect(name), defined.parameter(other)
        assert (row.estimate, row.se) == pytest.approx((wanted.estimate, wanted.se), rel=1e-9)
    with pytest.raises(bf.BowfreeError, match="no effect 'through y'; there are: total"):
        found.effect("through y")


def test_units_do_not_matter():
    data = SEM.sample(200, rng=1, as_frame="pandas")
    scaled = data * [2.0**20, 2.0**-30, 2.0**7]
    one, other = (
        path_effects(bf.fit(MEDIATION, each), of="x", on="y", through="m")
        for each in (data, scaled)
    )
    for a, b in zip(one, other, strict=True):
        assert (a.z, a.p_value, a.share) == (b.z, b.p_value, b.share)
        assert b.estimate == a.estimate * 2.0 ** (7 - 20)


def test_bootstrap_intervals_are_quantiles_of_products():
    data = SEM.sample(150, rng=1, as_frame="pandas")
    again = bf.bootstrap_fit(MEDIATION, data, n_bootstrap=100, rng=1)
    row = path_effects(again, of="x", on="y").effect("indirect")
    a, b = (again.draws[:, again.fit._parameter_at(*edge)] for edge in ((0, "->", 1), (1, "->", 2)))
    assert (row.lower, row.upper) == pytest.approx(tuple(np.quantile(a * b, [0.025, 0.975])))
    assert row.se == pytest.approx(np.std(a * b, ddof=1))


def test_bounds_over_a_class_are_those_of_its_members():
    graph = bf.parse("x -> m -> y, w -> y, q -> r")
    sem = bf.random_sem(graph, rng=4)
    data = sem.sample(500, rng=1)
    members = bf.equivalence_class(graph)
    for of, on, through in product("xm", "yw", ("m", "x")):
        if through == of:
            continue
        found = path_effect_bounds(members, data, of=of, on=on, through=through)
        values = {row.effect: [] for row in found}
        for member in members:
            for row in path_effects(
                bf.fit(member, data), of=of, on=on, through=through, max_paths=0
            ):
                values[row.effect].append(row.estimate)
        for row in found:
            ends = min(values[row.effect]), max(values[row.effect])
            assert (row.lower, row.upper) == pytest.approx(ends, rel=1e-6, abs=1e-9)
            assert row.nonzero == pytest.approx(np.mean(np.array(values[row.effect]) != 0))
        assert found.complete


def test_a_search_result_brings_its_data():
    data = SEM.sample(300, rng=2, as_frame="pandas")
    result = bf.greedy_search(data, rng=1, restarts=2)
    bounds = path_effect_bounds(result, of="x", on="y", through="m")
    total = bf.effect_bounds(result).effect(of="x", on="y")
    row = bounds.effect("total")
    assert (row.lower, row.upper) == pytest.approx((total.lower, total.upper), abs=1e-9)
    assert "through m" in str(bounds)
    assert len(bounds.to_dict()["effects"]) == 4


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"of": "x", "on": "x"}, "x in more than one of"),
        ({"of": "x", "on": "y", "through": "y"}, "y in more than one of"),
        ({"of": "x", "on": "y", "through": "m", "avoiding": ["m"]}, "m in more than one of"),
    ],
)
def test_bad_questions(options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        path_effects(SEM, **options)
    with pytest.raises(bf.BowfreeError, match="pass a fit"):
        path_effects(MEDIATION, of="x", on="y")


def test_several_conditions():
    conditions = [
        bf.Condition(SEM.sample(100, rng=k, as_frame="pandas"), targets=targets)
        for k, targets in enumerate([(), (), ("x",)])
    ]
    fit = bf.fit(MEDIATION, conditions)
    found = path_effects(fit, of="x", on="y")
    total = fit.total_effects().effect(of="x", on="y")
    assert (found[0].estimate, found[0].se) == pytest.approx((total.estimate, total.se))
    for refused in (
        lambda: path_effect_bounds(MEDIATION, conditions, of="x", on="y"),
        lambda: bf.effects.sensitivity(fit, of="x", on="y"),
    ):
        with pytest.raises(bf.BowfreeError, match="several conditions"):
            refused()
