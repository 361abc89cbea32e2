"""One graph fitted to several conditions, under every kind of intervention, with free and shared means.

The slow twin writes the log-likelihood of all conditions down from the definition of the kinds, in
one vector of all parameters, and climbs it with BFGS. So whatever the core does on its way
(districts, peeled members, pooled groups of conditions, sweeps, Newton steps) is compared with
nothing but the model.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.data.joint_moments import JointMoments
from bowfree.model.joint_fit import ConditionParameters, JointVariation
from conditions_twin import ConditionModel
from random_models import random_bap
from reference_cases import case_id, conditions_of, graph_of, load, matrix
from twins import log_likelihood

CASES = load("conditions.json")["cases"]


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


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_reference(case):
    fit = bf.fit(graph_of(case, case["d"]), conditions_of(case))
    assert fit.converged
    assert fit.loglik >= case["loglik"] - 1e-7
    assert fit.loglik == pytest.approx(case["loglik"], rel=1e-8)
    np.testing.assert_allclose(fit.B, matrix(case["B"]), atol=1e-6)
    np.testing.assert_allclose(fit.Omega, matrix(case["Omega"]), atol=1e-6)
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
    saturated = sum(log_likelihood(S, S, n) for n, S, _ in data)
    assert fit.chi2 == pytest.approx(2 * (saturated - fit.loglik), abs=1e-7)
    assert (fit.df, fit.n_parameters) == (3 * 6 - 8, 3 + 3 + 2)  # two variances of targets
    assert fit.chi2 == pytest.approx(sum(c.chi2 for c in fit.conditions), abs=1e-8)
    assert fit.loglik == pytest.approx(sum(c.loglik for c in fit.conditions), abs=1e-8)


def test_sharing_is_doubted_where_there_is_none():
    opposite = [bf.Condition(cov=[[1.0, r], [r, 1.0]], n=200) for r in (0.8, -0.8)]
    test = bf.fit(bf.parse("x1 -> x2"), opposite).sharing_test()
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
    graph, given = graph_of(CASES[2], CASES[2]["d"]), conditions_of(CASES[2])
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


KINDS = ("perfect", "mechanism", "activity", "noise")
TARGETS = ((), ("v1",), ("v0", "v2"))
CHAIN = bf.parse("x -> y -> z")
RNG = np.random.default_rng(0)


def sampled(kind, seed, *, d=3, means="free"):
    """Return a graph, its model at random parameters, and the sample of three conditions."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.8)
    model = ConditionModel(graph, kind, TARGETS, means=means == "shared")
    theta = model.random(rng, graph)
    return graph, model, theta, model.sample(rng, theta, (200, 120, 90))


def moments(graph, kinds, targets, data, means="free"):
    """Return the moments of (n, covariance matrix, mean) of each condition."""
    kinds = [kinds] * len(data) if isinstance(kinds, str) else kinds
    conditions = [
        bf.Condition(bf.Moments(graph.nodes, S, n, m), targets=names, kind=kind)
        for (n, S, m), names, kind in zip(data, targets, kinds, strict=True)
    ]
    return bf.moments(conditions, means=means)


def pair(n, slope, sd):
    x = RNG.normal(size=n)
    return {"x": x, "y": slope * x + sd * RNG.normal(size=n)}


def chain(n, *, shift=0.0, set_y=None):
    """Return rows of x -> y -> z with intercepts 1, 2, 3; x shifted, or y set by hand."""
    x, y, z = RNG.normal(size=(3, n))
    x = x + 1 + shift
    y = 2 + 0.5 * x + y if set_y is None else set_y + 2 * y
    return {"x": x, "y": y, "z": 3 - y + z}


def test_conditions_of_different_kinds():
    #  x -> y: y varies more in the second condition, x is set in the third
    given = [
        bf.Condition(pair(80, 1.0, 1.0), kind="activity"),
        bf.Condition(pair(60, -0.5, 2.0), targets=["y"], kind="noise"),
        bf.Condition(pair(50, 1.0, 1.0), targets=["x"]),
    ]
    joint = bf.moments(given)
    assert joint.kinds == ("perfect", "noise", "perfect")  # without targets there is none
    fit = bf.fit(bf.parse("x -> y"), joint)
    assert fit.n_parameters == 3 + 2
    S = [c.S for c in joint.conditions]
    # x varies by itself where it was not set; y has a variance in the second condition and another
    # in the others.
    assert fit.Omega[0, 0] == pytest.approx((80 * S[0][0, 0] + 60 * S[1][0, 0]) / 140)
    left = [s[1, 1] - 2 * fit.B[1, 0] * s[0, 1] + fit.B[1, 0] ** 2 * s[0, 0] for s in S]
    assert fit.own[1].Omega[1, 1] == pytest.approx(left[1], rel=1e-6)
    assert fit.Omega[1, 1] == pytest.approx((80 * left[0] + 50 * left[2]) / 130, rel=1e-6)


def test_a_shift_that_the_graph_does_not_explain():
    honest = [bf.Condition(chain(200)), bf.Condition(chain(200, shift=3.0), targets=["x"])]
    other = bf.Condition(chain(200, shift=3.0), targets=["z"], kind="mechanism")
    wrong = [honest[0], other]
    good, bad = (bf.fit(CHAIN, data, means="shared") for data in (honest, wrong))
    assert good.p_value > 0.001
    assert bad.p_value < 1e-10
    assert bf.fit(CHAIN, wrong).p_value > 0.001  # free means are not compared


# --- the twin ---

# The kind of the condition without targets does not matter.
MIXTURES = (
    ("noise", "perfect", "noise", "mechanism"),
    ("perfect", "activity", "perfect", "noise"),
    ("perfect", "mechanism", "activity", "perfect"),
)
PROBLEMS = [([kind] * 4, d, seed) for kind in KINDS for d in (3, 4, 5) for seed in (0, 1)]
PROBLEMS += [(kinds, d, s) for kinds in MIXTURES for d, s in ((3, 2), (4, 2), (4, 3), (5, 3))]


@pytest.mark.parametrize("means", ["free", "shared"])
@pytest.mark.parametrize(("kinds", "d", "seed"), PROBLEMS)
def test_fits_are_those_of_the_twin(kinds, d, seed, means):
    # One condition is undisturbed, one has one target, one two, and one has one of these again:
    # some members of a district are left alone by several conditions together. The undisturbed one
    # comes first or last.
    rng = np.random.default_rng([d, seed])
    graph = random_bap(rng, d, density=0.8, bidirected=0.5)
    a, b, c = rng.permutation(d)[:3]
    targets = [tuple(graph.nodes[t] for t in chosen) for chosen in ((), (a,), (b, c), (b,))]
    targets = targets[seed % 2 :] + targets[: seed % 2]
    shared = means == "shared"
    model = ConditionModel(graph, kinds, targets, means=shared)
    theta = model.random(rng, graph)
    data = model.sample(rng, theta, (150, 250, 100, 180))
    joint = moments(graph, kinds, targets, data, means)
    fit = bf.fit(graph, joint)
    best, loglik = model.fit(data, theta, means=shared)
    assert fit.converged
    assert fit.loglik == pytest.approx(loglik, rel=1e-9)
    assert sum(part.loglik for part in fit.conditions) == pytest.approx(loglik, rel=1e-9)
    for e, (condition, (_, Sigma)) in enumerate(
        zip(fit.conditions, model.distributions(best), strict=True)
    ):
        np.testing.assert_allclose(condition.Sigma, Sigma, atol=1e-4, rtol=1e-4)
        if kinds[e] != "perfect":
            B, Omega, _ = model.matrices(best, e)
            np.testing.assert_allclose(fit.own[e].B, B, atol=2e-4)
            np.testing.assert_allclose(fit.own[e].Omega, Omega, atol=2e-4)
    intercepts = {number for places in model.index for what, *_, number in places if what == "c"}
    priced = model.size - (d if shared else len(intercepts))  # shared intercepts are free
    assert fit.n_parameters == priced
    assert fit.df == len(data) * (d * (d + 1) // 2 + d * shared) - model.size
    for penalty in (0.5, 1.0):
        score = (loglik - penalty * np.log(fit.n) * priced) / fit.n
        assert bf.score(graph, joint, penalty=penalty) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("means", "seed"), [("free", 1), ("free", 6), ("shared", 3)])
def test_standard_errors_are_those_of_the_curvature(kind, means, seed):
    graph, model, theta, data = sampled(kind, seed, means=means)
    assert graph.n_directed
    fit = bf.fit(graph, moments(graph, kind, TARGETS, data, means))
    shared = means == "shared"
    best, _ = model.fit(data, theta, means=shared)
    expected = model.standard_errors(best, data, means=shared)
    observed = fit.standard_errors(information="observed")
    for (what, i, j), number in model.shared.items():
        if what != "c":
            se = (observed.B if what == "B" else observed.Omega)[i, j]
            assert se == pytest.approx(expected[number], rel=1e-3)


# --- identities ---


@pytest.mark.parametrize("kind", KINDS[1:])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_the_truth_is_found_in_population_matrices(kind, seed):
    graph, model, theta, _ = sampled(kind, seed, d=4)
    exact = [(1000, Sigma, mean) for mean, Sigma in model.distributions(theta)]
    fit = bf.fit(graph, moments(graph, kind, TARGETS, exact))
    assert fit.chi2 == pytest.approx(0, abs=1e-5)
    for e, (B, Omega, _) in enumerate(fit.own):
        want_B, want_Omega, _ = model.matrices(theta, e)
        np.testing.assert_allclose(B, want_B, atol=1e-4)
        np.testing.assert_allclose(Omega, want_Omega, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("seed", range(4))
def test_parameters_are_as_many_as_the_matrices_have_dimensions(kind, seed):
    graph, model, theta, data = sampled(kind, seed, d=4)

    def matrices(theta):
        return np.array([Sigma for _, Sigma in model.distributions(theta)]).ravel()

    slopes = [(matrices(theta + u) - matrices(theta)) / 1e-6 for u in 1e-6 * np.eye(model.size)]
    fit = bf.fit(graph, moments(graph, kind, TARGETS, data))
    assert fit.n_parameters == model.size == np.linalg.matrix_rank(slopes, tol=1e-4)


# --- searches ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("means", ["free", "shared"])
def test_searches_score_as_fits_do(kind, means):
    graph, _, _, data = sampled(kind, 7, means=means)
    joint = moments(graph, kind, TARGETS, data, means)
    result = bf.exhaustive_search(joint)
    for found, score in list(result.ranking(1e9))[::9]:
        assert score == pytest.approx(bf.score(found, joint), rel=1e-10)
    greedy = bf.greedy_search(joint, rng=1)
    assert greedy.score == pytest.approx(result.score, rel=1e-10)
    assert greedy.graph in bf.equivalence_class(result)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_changes_of_edges_count_specific_parameters(kind):
    graph, _, _, data = sampled(kind, 3)
    joint = moments(graph, kind, TARGETS, data)
    fit = bf.fit(graph, joint)
    for change in bf.edge_changes(graph, joint):
        a, b = change.a, change.b
        kept = [" ".join(edge) for edge in graph.edges if {edge[0], edge[2]} != {a, b}]
        kept += [f"{a} {change.after} {b}"] if change.after else []
        other = bf.fit(bf.parse(", ".join([*graph.nodes, *kept])), joint)
        assert change.df == other.df - fit.df
        assert change.score == pytest.approx(other.score - fit.score, abs=1e-9)


def test_intervals_know_that_intercepts_are_estimated():
    data = [bf.Condition(chain(80)), bf.Condition(chain(60, shift=4.0), targets=["x"])]
    joint = bf.moments(data, means="shared")
    se = bf.fit(CHAIN, joint).total_effects(information="observed").se
    required = bf.SearchSpace(knowledge=bf.Knowledge(required=["x -> y", "y -> z"]))
    average = bf.averaged_effects([CHAIN], joint, space=required)
    half = (average.upper - average.lower) / 2
    found = se > 0
    np.testing.assert_allclose(half[found], 1.96 * se[found], rtol=1e-3)


@pytest.mark.parametrize(("kind", "own"), [("perfect", 1), ("mechanism", 1), ("noise", 0)])
def test_intercepts_of_targets_are_counted(kind, own):
    """With shared means, the intercept of a target is a parameter: in fits, scores and searches."""
    graph = bf.parse("a -> b -> c")
    sem = bf.random_sem(graph, rng=1)
    tables = [sem.sample(300, rng=seed, as_frame="pandas") for seed in (2, 3)]
    given = [bf.Condition(tables[0]), bf.Condition(tables[1], targets=["b"], kind=kind)]
    free, shared = (bf.fit(graph, given, means=means) for means in ("free", "shared"))
    assert shared.n_parameters == free.n_parameters + own
    assert shared.score == pytest.approx(bf.score(graph, given, means="shared"), abs=1e-12)
    search = bf.greedy_search(given, means="shared", rng=1, restarts=2, rounds=0)
    again = bf.score(search.graph, given, means="shared", penalty=search.penalty)
    assert search.score == pytest.approx(again, abs=1e-9)
