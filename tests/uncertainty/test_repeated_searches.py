"""Searches repeated on resamples, halves and folds of the rows."""

import json
import time

import numpy as np
import pytest
from scipy import stats
from scipy.stats import multivariate_normal

import bowfree as bf
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.uncertainty import repeated_searches
from bowfree.uncertainty.repeated_searches import RepeatedSearch, Rows
from bowfree.uncertainty.search_bootstrap import wilson_interval
from bowfree.uncertainty.selection import _choose, _threshold, held_out_loglik
from random_models import collider_data

QUICK = bf.search.Strategy(restarts=2, rounds=0)


def test_twin():
    X = collider_data(60)
    values = X.to_numpy()
    found = bf.bootstrap(X, n_resamples=40, confidence=0.9, strategy=QUICK, rng=5)
    seeds = np.random.default_rng(5).integers(0, 2**63, size=40)
    frequency, lower, upper, least = np.zeros((4, 4)), [], [], []
    for seed in seeds:
        stream = np.random.default_rng(int(seed))
        rows = values[stream.integers(0, 60, size=60)]
        graph = bf.greedy_search(
            dict(zip("xyzw", rows.T, strict=True)), rng=stream, strategy=QUICK, proof=False
        ).graph
        for a, b in graph.skeleton():
            i, j = "xyzw".index(a), "xyzw".index(b)
            frequency[i, j] += 1 / 40
            frequency[j, i] += 1 / 40
        bounds = bf.effect_bounds(
            bf.equivalence_class(graph), dict(zip("xyzw", rows.T, strict=True))
        )
        lower.append(bounds.lower)
        upper.append(bounds.upper)
        least.append(bounds.min_abs)
    assert (found.n_resamples, found.complete) == (40, True)
    assert "y on w" in str(found)
    np.testing.assert_allclose(found.adjacent, frequency, atol=1e-12)
    np.testing.assert_allclose(found.min_abs, np.mean(least, axis=0), atol=1e-9)
    np.testing.assert_allclose(found.effect_frequency, (np.array(least) > 1e-8).mean(axis=0))
    np.testing.assert_allclose(
        found.total_effect_interval,
        [np.quantile(lower, 0.05, axis=0), np.quantile(upper, 0.95, axis=0)],
        atol=1e-9,
    )
    np.testing.assert_allclose(
        found.min_abs_interval, np.quantile(least, [0.05, 0.95], axis=0), atol=1e-9
    )


def test_wilson_interval():
    # Wilson's interval for 8 of 10 at 95 %, and its ends for none and for all.
    for count, size in ((8, 10), (0, 20), (20, 20), (1, 3)):
        exact = stats.binomtest(count, size).proportion_ci(0.95, method="wilson")
        interval = wilson_interval(np.array(count / size), size, 0.95)
        np.testing.assert_allclose(interval, [exact.low, exact.high], atol=1e-12)


def test_work_is_limited_and_the_result_says_so(monkeypatch):
    monkeypatch.setattr(repeated_searches, "WORK", 5e3)  # instead of 1.7e8
    X = bf.random_sem(bf.random_bap(8, max_in_degree=3, rng=4), rng=4).sample(300, rng=4)
    found = bf.bootstrap(X, n_resamples=4, confidence=0.5, rng=2)
    assert 0 < found.n_hit_work_limit <= found.n_resamples == 4
    assert found.complete  # every resample has its graph
    for free in (bf.search.Strategy(work=np.inf), "restart"):
        unlimited = bf.bootstrap(X, n_resamples=3, confidence=0.1, strategy=free, restarts=1, rng=2)
        assert unlimited.n_hit_work_limit == 0
    halves = bf.stability_selection(X, n_halves=4, rng=2)
    choice = bf.choose_penalty(X, penalties=[0.25, 0.5], cv=2, rng=2)
    for result in (found, halves, choice):
        assert f"{result.n_hit_work_limit} of 4 searches reached the work limit" in str(result)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (bf.bootstrap, {"n_resamples": 10}, "at least 40"),
        (bf.bootstrap, {"data": None}, "observations in rows"),
        (bf.choose_penalty, {"penalties": [1.0]}, "at least two"),
        (bf.choose_penalty, {"penalties": [-1.0, 1.0]}, ">= 0"),
        (bf.choose_penalty, {"data": collider_data(5), "cv": 2}, "fewer folds"),
        (bf.stability_selection, {"max_false": 0}, "max_false"),
        (bf.stability_selection, {"n_halves": 1}, "n_halves"),
        (bf.stability_selection, {"data": [[1.0], [2.0], [4.0]]}, "at least 2"),
    ],
)
def test_invalid_input(function, options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        function(**({"data": collider_data(30)} | options))


@pytest.mark.parametrize(
    ("function", "number"),
    [(bf.bootstrap, "n_resamples"), (bf.stability_selection, "n_halves")],
)
def test_time_limit_leaves_what_is_complete(function, number):
    began = time.monotonic()
    cut = function(collider_data(400), **{number: 10**6}, strategy=QUICK, rng=1, time_limit=3.0)
    assert time.monotonic() - began < 8
    assert not cut.complete
    assert 0 < getattr(cut, number) < cut.n_planned == 10**6
    assert f"NOT COMPLETE: ended after {getattr(cut, number)} of" in str(cut)


def test_resamples_with_fewer_distinct_rows_than_variables():
    """A resample of 18 rows has about eleven distinct ones."""
    X = np.random.default_rng(18).normal(size=(18, 13))
    found = bf.bootstrap(X, n_resamples=40, strategy=QUICK, penalty="ebic", rng=1)
    assert found.n_resamples == 40
    chain = bf.MixedGraph(
        found.names, directed=list(zip(found.names, found.names[1:], strict=False))
    )
    again = bf.bootstrap_fit(chain, X, n_bootstrap=40, rng=1)
    assert again.n_failed == 0


# --- stability selection: the halves, the threshold, and the bound that it keeps ------------------


CHAIN = bf.LinearSEM(
    bf.parse("a -> b -> c, d, e"),
    np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0] * 5, [0] * 5]),
    np.eye(5),
)


def test_halves_come_in_complementary_pairs():
    X = CHAIN.sample(41, rng=1)
    found = bf.stability_selection(X, n_halves=4, penalty=0.3, strategy=QUICK, rng=0)
    frequency = np.zeros((5, 5))
    seeds = np.random.default_rng(0).integers(0, 2**63, size=4)
    for k in range(4):
        order = np.random.default_rng(seeds[k - k % 2]).permutation(41)
        rows = X[order[20 * (k % 2) :][:20]]
        search = {"penalty": 0.3, "strategy": QUICK, "rng": np.random.default_rng(seeds[k])}
        for a, b in bf.greedy_search(rows, proof=False, **search).graph.skeleton():
            i, j = int(a[1:]) - 1, int(b[1:]) - 1
            frequency[[i, j], [j, i]] += 1 / 4
    np.testing.assert_allclose(found.frequency, frequency)
    assert 0 < found.frequency.max() <= 1


def bound(tau, n):
    return 1 / (2 * (2 * tau - 1 - 1 / n)) if tau <= 0.75 else 4 * (1 - tau + 1 / n) / (1 + 2 / n)


@pytest.mark.parametrize("most", [0.05, 0.1, 0.3, 0.6, 0.9, 1.1, 2.0, 10.0, 1e9])
def test_threshold_is_the_smallest(most):
    taus = np.linspace(0.52, 1.0, 4801)
    enough = [tau for tau in taus if bound(tau, 50) <= most]
    found = _threshold(most, 50)
    if enough:
        assert found == pytest.approx(min(enough), abs=2e-3) or found < taus[0]
    else:
        assert found > 1


def test_threshold_and_pairs():
    data = CHAIN.sample(400, rng=1)
    found = bf.stability_selection(data, n_halves=30, strategy=QUICK, rng=0)
    graphs = found.frequency
    np.testing.assert_array_equal(graphs, graphs.T)
    assert found.n_adjacent == pytest.approx(np.triu(graphs, 1).sum())
    share = found.n_adjacent**2 / 10
    assert bound(found.threshold, 30) * share == pytest.approx(1.0)
    assert set(found.pairs) == {("x1", "x2"), ("x2", "x3")}
    frame = found.to_frame()
    assert frame["stable"].sum() == 2
    assert "false pairs at most 1:" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["n_halves"] == 30
    again = bf.stability_selection(data, n_halves=30, strategy=QUICK, rng=0, n_jobs=2)
    np.testing.assert_array_equal(found.frequency, again.frequency)
    strict = bf.stability_selection(data, n_halves=10, max_false=0.01, strategy=QUICK, rng=0)
    assert strict.threshold > 1
    assert strict.pairs == ()
    assert "no pair can be selected" in str(strict)


# --- the penalty by cross-validation --------------------------------------------------------------


def test_penalty_between_too_small_and_too_large():
    X = collider_data(150, seed=2)
    choice = bf.choose_penalty(X, penalties=[100.0, 0.0, 1.0], strategy=QUICK, rng=0)
    assert choice.penalties == (0.0, 1.0, 100.0)
    assert choice.best != 100.0
    assert choice.one_standard_error == 1.0
    assert (choice.n_edges[:, 2] == 0).all()
    assert (choice.n_edges[:, 0] == 6).all()  # without a penalty: the complete graph
    assert choice.mean[choice.penalties.index(choice.best)] == choice.mean.max()
    assert "one s.e." in str(choice)
    assert json.loads(json.dumps(choice.to_dict()))["best"] == choice.best


def test_held_out_likelihood():
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    rows = rng.normal(size=(7, 3))
    density = stats.multivariate_normal(np.zeros(3), L @ L.T).logpdf(rows)
    assert held_out_loglik(rows.T @ rows / 7, L @ L.T) == pytest.approx(density.mean(), rel=1e-12)


def test_penalty_twin():
    X = collider_data(90, seed=4)
    values = X.to_numpy()
    choice = bf.choose_penalty(X, penalties=[0.5, 2.0], cv=3, strategy=QUICK, rng=8)
    generator = np.random.default_rng(8)
    fold = np.empty(90, dtype=int)
    fold[generator.permutation(90)] = np.arange(90) % 3
    assert np.bincount(fold).tolist() == [30, 30, 30]
    seeds = generator.integers(0, 2**63, size=3)
    for k in range(3):
        for p, penalty in enumerate((0.5, 2.0)):
            train, test = values[fold != k], values[fold == k]
            result = bf.greedy_search(train, penalty=penalty, rng=int(seeds[k]), strategy=QUICK)
            Sigma = bf.fit(result.graph, train).Sigma
            distribution = stats.multivariate_normal(train.mean(axis=0), Sigma)
            assert choice.folds[k, p] == pytest.approx(distribution.logpdf(test).mean(), rel=1e-9)
            assert choice.n_edges[k, p] == result.graph.n_edges


@pytest.mark.parametrize(("seed", "chosen"), [(5, 0.5), (9, 1.0)])
def test_one_standard_error_rule(seed, chosen):
    # Cases in which a standard deviation in the place of the standard error would choose another.
    choice = bf.choose_penalty(
        collider_data(60, seed=seed),
        penalties=[0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0],
        cv=4,
        strategy=QUICK,
        rng=seed,
    )
    best = choice.penalties.index(choice.best)
    largest = {}
    for divisor in (1, 2):  # the square root of four folds is 2
        for k, penalty in enumerate(choice.penalties):
            losses = choice.folds[:, best] - choice.folds[:, k]
            if losses.mean() <= losses.std(ddof=1) / divisor:
                largest[divisor] = penalty
    assert choice.one_standard_error == largest[2] == chosen < largest[1]
    losses = choice.folds - choice.folds[:, [best]]
    np.testing.assert_allclose(choice.standard_error, losses.std(axis=0, ddof=1) / 2, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_one_fold_that_differs_is_within_one_standard_error(seed):
    # Its loss g / cv equals the standard error, and rounding must not decide.
    rng = np.random.default_rng(seed)
    folds = np.repeat(rng.normal(-5, 1, size=(5, 1)), 4, axis=1)
    folds[seed % 5, 2] -= 10.0 ** rng.uniform(-6, 6)
    folds[:, 3] -= 1.0
    folds[:, 1] += 1e-14 * rng.normal(size=5)  # an equivalent graph, scored in another order
    assert _choose(folds) == (0, 2)


# --- rows are drawn anew within each condition ----------------------------------------------------


GRAPH = bf.parse("x -> y -> z")
RNG = np.random.default_rng(0)


def rows(n, shift=0.0, *, set_y=False):
    x, y, z = RNG.normal(size=(3, n))
    y = y if set_y else x + y
    return {"x": x + shift, "y": y - shift, "z": y + z}


DATA = [
    bf.Condition(rows(60), name="watched"),
    bf.Condition(rows(40, 9.0, set_y=True), targets=["y"], name="set"),
]


def test_every_part_has_its_share_of_each_condition():
    table = Rows.of(DATA)
    fold = table.folds(5, np.random.default_rng(1))
    assert np.bincount(fold[:60]).tolist() == [12] * 5
    assert np.bincount(fold[60:]).tolist() == [8] * 5
    first, second = table.halves(np.random.default_rng(1))
    assert not set(first) & set(second)
    for half in (first, second):
        assert [c.n for c in table.moments(half).conditions] == [30, 20]
    drawn = table.draw(np.random.default_rng(1))
    assert len(drawn) == 100
    assert ((drawn[:60] < 60) & (drawn[:60] >= 0)).all()
    assert ((drawn[60:] < 100) & (drawn[60:] >= 60)).all()
    moments = table.moments(drawn)
    assert [c.n for c in moments.conditions] == [60, 40]
    assert [c.targets for c in moments.conditions] == [(), ("y",)]
    X = np.column_stack(list(DATA[1].data.values()))[drawn[60:] - 60]
    np.testing.assert_allclose(moments.conditions[1].S, np.cov(X.T, ddof=0), rtol=1e-10)
    np.testing.assert_allclose(moments.conditions[1].mean, X.mean(axis=0), rtol=1e-10)


def test_effects_over_the_interventional_classes_of_resamples():
    again = bf.bootstrap(DATA, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
    y, z = 1, 2
    # With y set by hand every resample knows which way y acts; the watched rows alone do not.
    assert again.effect_frequency[z, y] == 1
    assert again.effect_frequency[y, z] == 0
    alone = bf.bootstrap(DATA[0].data, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
    assert alone.effect_frequency[z, y] < 0.5
    # One resample, done by hand.
    stream = np.random.default_rng(np.random.default_rng(1).integers(0, 2**63, size=20).tolist()[0])
    table, search = Rows.of(DATA), RepeatedSearch.of(bf.SearchSpace(), ScoringRule(), QUICK)
    moments = table.moments(table.draw(stream))
    result = search.search(moments, Budget(stream))
    assert result.graph == again.graphs[0]
    bounds = bf.effect_bounds(bf.equivalence_class(result.graph, targets=[(), ("y",)]), moments)
    assert again.total_effect_interval[0][z, y] <= bounds.lower[z, y]


def test_the_penalty_is_chosen_by_rows_left_out_of_each_condition():
    options = {"penalties": [0.5, 40.0], "cv": 3, "strategy": QUICK, "rng": 4}
    choice = bf.choose_penalty(DATA, **options)
    assert choice.best == 0.5
    # The folds once more, row by row.
    generator = np.random.default_rng(4)
    table = Rows.of(DATA)
    fold = table.folds(3, generator)
    for k in range(3):
        train = table.moments(np.flatnonzero(fold != k))
        graph = bf.greedy_search(train, penalty=40.0, strategy=QUICK, rng=0).graph
        assert graph.n_edges == 0 == choice.n_edges[k, 1]
        fit = bf.fit(graph, train)
        densities = []
        for c, (condition, start) in enumerate(zip(DATA, (0, 60), strict=True)):
            X = np.column_stack(list(condition.data.values()))
            out = fold[start : start + len(X)] == k
            mean = X[~out].mean(axis=0)
            distribution = multivariate_normal(mean, fit.conditions[c].Sigma)
            densities += distribution.logpdf(X[out]).tolist()
        assert choice.folds[k, 1] == pytest.approx(np.mean(densities), rel=1e-9)


def test_a_target_held_constant_has_no_density():
    held = bf.Condition({**DATA[1].data, "y": np.full(40, 2.0)}, targets=["y"], name="held")
    choice = bf.choose_penalty([DATA[0], held], penalties=[0.5, 1], cv=2, strategy=QUICK, rng=1)
    assert np.isfinite(choice.folds).all()


def test_what_cannot_be_resampled():
    matrix = [*DATA[:1], bf.Condition(bf.moments(DATA[1].data).without_rows(), name="set")]
    for call in (
        lambda: bf.bootstrap_fit(GRAPH, matrix, n_bootstrap=40, rng=1),
        lambda: bf.stability_selection(matrix, n_halves=4, strategy=QUICK, rng=1),
        lambda: bf.bootstrap(matrix, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1),
        lambda: bf.choose_penalty(matrix, penalties=[0.5, 1.0], cv=2, strategy=QUICK, rng=1),
    ):
        with pytest.raises(bf.errors.DataError, match="in every condition"):
            call()
