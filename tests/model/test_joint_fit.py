"""One graph fitted to several conditions: against a slow twin, a closed form, and the reference."""

import math

import numpy as np
import pytest

import bowfree as bf
import reference_cases
from bowfree.data.joint_moments import JointMoments
from bowfree.model.joint_fit import ConditionParameters, JointVariation
from conditions_twin import ConditionModel
from random_models import random_bap
from twins import graph_matrices

CASES = reference_cases.load("conditions.json")["cases"]


def random_conditions(rng, graph, targets, n=80):
    """Return data of the graph under perfect interventions, the model, and its data."""
    names = [tuple(graph.nodes[t] for t in chosen) for chosen in targets]
    model = ConditionModel(graph, "perfect", names)
    data = model.sample(rng, model.random(rng, graph), [n] * len(names))
    given = [
        bf.Condition(cov=S, n=n, ddof=0, targets=chosen)
        for (n, S, _), chosen in zip(data, names, strict=True)
    ]
    return given, model, data


#   x -> y -> z, x <-> z: when y is set, x and z tell of their common cause alone.
def test_the_smallest_example():
    graph = bf.parse("x -> y -> z, x <-> z")
    given, model, data = random_conditions(np.random.default_rng(1), graph, [(), (1,)])
    fit = bf.fit(graph, given)
    assert fit.converged
    theta = model.parameters(fit.B, fit.Omega, data)
    assert fit.loglik == pytest.approx(model.loglik(theta, data), abs=1e-8)
    start = model.parameters(np.zeros((3, 3)), np.eye(3), data)
    assert fit.loglik == pytest.approx(model.fit(data, start)[1], abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids=reference_cases.case_id)
def test_the_reference(case):
    graph = reference_cases.graph_of(case, case["d"])
    fit = bf.fit(graph, reference_cases.conditions_of(case))
    assert fit.converged
    assert fit.loglik >= case["loglik"] - 1e-7
    assert fit.loglik == pytest.approx(case["loglik"], rel=1e-8)
    np.testing.assert_allclose(fit.B, reference_cases.matrix(case["B"]), atol=1e-6)
    np.testing.assert_allclose(fit.Omega, reference_cases.matrix(case["Omega"]), atol=1e-6)
    # Without what the targets have to themselves: one objective for each district.
    left = sum(e["n"] * (case["d"] - len(e["targets"])) for e in case["conditions"])
    objective = math.fsum(district.objective for district in fit.certificate)
    free = -(left * math.log(2 * math.pi) + fit.n * objective) / 2
    assert free == pytest.approx(case["loglik_free_nodes"], rel=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_large_districts_are_certified_and_have_no_gradient(seed):
    rng = np.random.default_rng([7, seed])
    graph = random_bap(rng, 7, density=0.5, bidirected=0.7)
    given, model, data = random_conditions(rng, graph, [(), (0,), (1, 2), (3,), (6,)], n=200)

    def loglik(B, Omega):
        return model.loglik(model.parameters(B, Omega, data), data)

    fit = bf.fit(graph, given)
    assert fit.converged
    assert fit.gradient_norm < 1e-4
    here = loglik(fit.B, fit.Omega)
    assert fit.loglik == pytest.approx(here, rel=1e-10)
    for name, entries in (("B", np.argwhere(fit.B)), ("Omega", np.argwhere(np.triu(fit.Omega)))):
        for i, j in entries[:6]:
            for step in (-1e-3, 1e-3):
                B, Omega = fit.B.copy(), fit.Omega.copy()
                if name == "B":
                    B[i, j] += step
                else:
                    Omega[i, j] = Omega[j, i] = Omega[i, j] + step
                assert loglik(B, Omega) < here


def test_single_nodes_have_a_closed_form():
    rng = np.random.default_rng(3)
    graph = random_bap(rng, 6, density=0.6, bidirected=0.0)
    given, _, data = random_conditions(rng, graph, [(), (0,), (2, 4), (5,)])
    fit = bf.fit(graph, given)
    D, _ = graph_matrices(graph)
    for v in range(6):
        conditions = zip(data, given, strict=True)
        left = [(S, n) for (n, S, _), c in conditions if graph.nodes[v] not in c.targets]
        S = sum(n * S for S, n in left) / sum(n for _, n in left)
        P = np.flatnonzero(D[v])
        b = np.linalg.solve(S[np.ix_(P, P)], S[P, v])
        np.testing.assert_allclose(fit.B[v, P], b, rtol=1e-12, atol=1e-13)
        assert fit.Omega[v, v] == pytest.approx(S[v, v] - b @ S[P, v], rel=1e-12)


def test_the_order_of_columns_and_conditions_does_not_matter():
    rng = np.random.default_rng(5)
    graph = random_bap(rng, 6, density=0.6, bidirected=0.7)
    given, *_ = random_conditions(rng, graph, [(), (0,), (1, 2), (3,)])
    fit = bf.fit(graph, given)
    order = rng.permutation(6)
    turned = bf.MixedGraph(
        [graph.nodes[i] for i in order], directed=graph.directed, bidirected=graph.bidirected
    )
    moments = bf.moments(given, graph=graph)
    again = bf.fit(turned, bf.data.JointMoments([moments.conditions[k] for k in (2, 0, 3, 1)]))
    assert again.loglik == pytest.approx(fit.loglik, abs=1e-8)
    np.testing.assert_allclose(again.B, fit.B[np.ix_(order, order)], atol=1e-5)


def test_without_targets_it_is_the_fit_to_the_pooled_matrix():
    rng = np.random.default_rng(6)
    graph = random_bap(rng, 5, density=0.6, bidirected=0.7)
    given, *_ = random_conditions(rng, graph, [(), ()])
    fit, moments = bf.fit(graph, given), bf.moments(given, graph=graph)
    pooled = bf.fit(graph, cov=moments.S, n=moments.n, ddof=0)
    np.testing.assert_array_equal(fit.B, pooled.B)
    assert fit.loglik == pooled.loglik
    assert fit.score == pooled.score
    np.testing.assert_allclose(fit.standard_errors().B, pooled.standard_errors().B, rtol=1e-10)
    # But the saturated model has two matrices.
    assert fit.df == pooled.df + 5 * 6 // 2
    assert fit.chi2 > pooled.chi2


def test_what_no_condition_tells_of():
    # y and z are never left alone together: nothing is known of y <-> z.
    graph = bf.parse("x -> y <-> z")
    given, *_ = random_conditions(np.random.default_rng(9), graph, [(1,), (2,)])
    fit = bf.fit(graph, given)
    assert fit.converged
    assert fit.Omega[1, 2] == 0
    errors = fit.standard_errors()
    assert np.isnan(errors.Omega[1, 2])
    assert np.isfinite(errors.B[1, 0])
    simpler = bf.fit(bf.parse("x -> y, z"), given)
    assert fit.loglik == pytest.approx(simpler.loglik, abs=1e-8)
    assert fit.df == simpler.df


def test_chi_square_is_against_a_matrix_for_each_condition():
    graph = bf.parse("x -> y -> z, x <-> z")
    given, _, data = random_conditions(np.random.default_rng(11), graph, [(), (1,), (0,)])
    fit = bf.fit(graph, given)
    saturated = sum(-n / 2 * (np.linalg.slogdet(2 * np.pi * S)[1] + len(S)) for n, S, _ in data)
    assert fit.chi2 == pytest.approx(2 * (saturated - fit.loglik), abs=1e-7)
    assert fit.df == 3 * 6 - (3 + 3) - 2  # two variances of targets
    assert fit.n_parameters == 8
    assert fit.chi2 == pytest.approx(sum(c.chi2 for c in fit.conditions), abs=1e-8)
    assert fit.loglik == pytest.approx(sum(c.loglik for c in fit.conditions), abs=1e-8)


def test_chi_square_has_its_law():
    # The mean over 60 samples of a true model; its standard error is sqrt(2 df / 60).
    graph = bf.parse("x -> y -> z, x <-> z")
    chi2, shared = [], []
    for seed in range(60):
        given, *_ = random_conditions(np.random.default_rng([12, seed]), graph, [(), (1,)], n=300)
        fit = bf.fit(graph, given)
        chi2.append(fit.chi2)
        shared.append(fit.sharing_test().chi2)
    assert np.mean(chi2) == pytest.approx(fit.df, abs=4 * math.sqrt(2 * fit.df / 60))
    df = fit.sharing_test().df
    assert np.mean(shared) == pytest.approx(df, abs=4 * math.sqrt(2 * df / 60))


def test_sharing_is_doubted_where_there_is_none():
    one = bf.Condition(cov=[[1.0, 0.8], [0.8, 1.0]], n=200)
    other = bf.Condition(cov=[[1.0, -0.8], [-0.8, 1.0]], n=200)
    test = bf.fit(bf.parse("x1 -> x2"), [one, other]).sharing_test()
    assert test.df == 3
    assert test.p_value < 1e-10
    # Twice the gain, by hand: the slopes are 0.8 and -0.8, and zero when they have to be equal.
    assert test.chi2 == pytest.approx(400 * math.log(1 / 0.36), rel=1e-9)


def test_a_constant_target_has_no_density():
    rng = np.random.default_rng(13)
    x, y = rng.normal(size=(2, 50))
    watched = bf.Condition({"x": x, "y": x + y})
    fixed = bf.Condition({"x": np.full(30, 2.0), "y": 2 + rng.normal(size=30)}, targets=["x"])
    fit = bf.fit(bf.parse("x -> y"), [watched, fixed])
    assert fit.n_parameters == 3
    assert fit.df == 3 + 1 - 3
    alone = [bf.fit(bf.parse("x -> y"), [watched]), fit]
    assert alone[0].B[1, 0] == pytest.approx(fit.B[1, 0])  # nothing varies with a constant
    assert fit.loglik == pytest.approx(sum(c.loglik for c in fit.conditions), abs=1e-9)
    assert np.isfinite(fit.chi2)
    assert fit.score == pytest.approx(bf.model.district_scores(fit.graph, [watched, fixed]).total)


def test_scores_of_districts_sum_to_the_score():
    case = CASES[2]
    graph, given = reference_cases.graph_of(case, case["d"]), reference_cases.conditions_of(case)
    fit = bf.fit(graph, given)
    shares = bf.model.district_scores(graph, given)
    assert shares.total == pytest.approx(fit.score, abs=1e-12)
    assert bf.score(graph, given) == fit.score
    n, q = fit.n, len(graph) + graph.n_edges + 3  # three variances of targets
    assert fit.score == pytest.approx((fit.loglik - q * math.log(n)) / n, abs=1e-12)


def test_what_is_for_one_sample_is_refused():
    given, *_ = random_conditions(np.random.default_rng(14), bf.parse("x -> y"), [(), (1,)])
    for options in ({"se": "robust"}, {"test": "satorra-bentler"}, {"se": "bootstrap"}):
        with pytest.raises(bf.errors.DataError, match="are for one sample"):
            bf.fit(bf.parse("x -> y"), given, **options)
    with pytest.raises(bf.BowfreeError, match="method='ricf' needs a single covariance matrix"):
        bf.fit(bf.parse("x -> y"), given, method="ricf")


def test_estimates_by_condition():
    """Each condition by itself, and the test that lavaan's users know from two separate fits."""
    graph = bf.parse("x -> y <-> z")
    sems = [bf.random_sem(graph, rng=seed) for seed in (1, 2)]
    data = [sem.sample(300, rng=1) for sem in sems]
    parts = [bf.Condition(X, name=name) for X, name in zip(data, "ab", strict=True)]
    parts.append(bf.Condition(sems[0].sample(200, rng=3), name="set", targets=["y"]))
    found = bf.fit(graph, parts).estimates_by_condition()
    alone = [{(r.a, r.mark, r.b): r for r in bf.fit(graph, X).estimates()} for X in data]
    by_name = {(row.edge, row.condition): row for row in found.rows}
    for edge in (("x", "->", "y"), ("y", "<->", "z")):
        one, two = (rows[edge] for rows in alone)
        chi2 = (one.estimate - two.estimate) ** 2 / (one.se**2 + two.se**2)
        for row, twin in zip("ab", (one, two), strict=True):
            got = by_name[" ".join(edge), row]
            assert (got.estimate, got.se) == pytest.approx((twin.estimate, twin.se))
            assert (got.chi2, got.df) == (pytest.approx(chi2), 1)
        assert np.isnan(by_name[" ".join(edge), "set"].estimate)
    assert "chi-square" in str(found)


def test_robust_covariances_of_one_condition():
    """Without targets they are those of one table, by fourth moments."""
    graph = bf.parse("x -> y <-> z, y -> w")
    rows = bf.random_sem(graph, rng=1).sample(300, rng=2) ** 3
    table = dict(zip(graph.nodes, rows.T, strict=True))
    one = bf.fit(graph, table, se="robust-huber-white", test="satorra-bentler")
    moments = bf.moments([bf.Condition(table), bf.Condition(table)])
    alone = JointMoments(moments.conditions[:1])
    estimates = ConditionParameters(one.B, one.Omega, np.zeros(4))
    chi2, robust, _ = JointVariation(alone, (estimates,), one._parameters, ()).robust()
    assert chi2 / one.df == pytest.approx(one.scaling_factor)
    assert np.sqrt(np.diag(robust)) == pytest.approx([row.se for row in one.estimates()])
