"""The bootstrap of a given graph: a slow twin, the original rows, intervals, Bollen and Stine."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import norm

import bowfree as bf
from bowfree.errors import TimeIsUp
from bowfree.uncertainty import model_bootstrap as given_model

# x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
MODEL = bf.LinearSEM(
    GRAPH, [[0, 0, 0], [0.8, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
)
DATA = MODEL.sample(150, rng=1, as_frame="pandas")


def test_slow_twin():
    found = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=7)
    seeds = np.random.default_rng(7).integers(0, 2**63, size=40)
    slopes, effects = [], []
    for seed in seeds:
        drawn = np.random.default_rng(seed).integers(0, 150, size=150)
        fit = bf.fit(GRAPH, DATA.iloc[drawn])
        slopes.append(fit.edge("x -> y").estimate)
        effects.append(fit.total_effects().effect(of="x", on="y").estimate)
    entry = found.edge("x", "->", "y")
    assert (entry.lower, entry.upper) == pytest.approx(tuple(np.quantile(slopes, [0.025, 0.975])))
    assert entry.se == pytest.approx(np.std(slopes, ddof=1))
    assert entry.bias == pytest.approx(
        np.mean(slopes) - bf.fit(GRAPH, DATA).edge("x -> y").estimate
    )
    effect = found.effect(of="x", on="y")
    assert (effect.lower, effect.upper) == pytest.approx(
        tuple(np.quantile(effects, [0.025, 0.975]))
    )


def test_every_parameter_has_its_own_draws():
    found = bf.bootstrap(GRAPH, DATA, n_resamples=60, rng=1)
    estimates = found.estimates()
    assert [e.estimate for e in estimates] == [e.estimate for e in found.fit.estimates()]
    for e in estimates:
        # near the standard error of the normal theory, which holds here
        se = next(t.se for t in found.fit.estimates() if t.edge == (e.a, e.mark, e.b))
        assert 0.6 * se < e.se < 1.6 * se
        assert e.lower < e.estimate < e.upper
    assert found.variance("y") == estimates[-2]
    assert found.edge("z <-> y").estimate == found.fit.Omega[1, 2]
    assert found.effect(of="y", on="x").upper == 0.0  # no path, no draw
    assert [e.text for e in found.effects()] == ["x on y"]
    assert len(found.to_frame()) == len(estimates) + 1


def test_bias_corrected():
    """By hand: the levels move by twice the normal score of the share below the estimate."""
    plain = bf.bootstrap(GRAPH, DATA, n_resamples=200, rng=3)
    shifted = bf.bootstrap(GRAPH, DATA, n_resamples=200, rng=3, interval="bias-corrected")
    draws = plain.draws[:, 1]
    e = plain.estimates()[1]
    z = norm.ppf(np.mean(draws < e.estimate))
    levels = norm.cdf(2 * z + norm.ppf([0.025, 0.975]))
    assert (shifted.estimates()[1].lower, shifted.estimates()[1].upper) == pytest.approx(
        tuple(np.quantile(draws, levels))
    )
    assert (e.lower, e.upper) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))
    assert given_model._interval(9.0, draws, 0.95, "bias-corrected") == pytest.approx(
        (draws.max(), draws.max()), rel=0.05
    )


def test_rows_in_which_the_model_holds():
    wrong = bf.parse("x -> y, z")
    fit = bf.fit(wrong, DATA)
    Z = given_model._model_holds(DATA.to_numpy(), fit)
    np.testing.assert_allclose(np.cov(Z.T, ddof=0), fit.Sigma, atol=1e-12)
    right = bf.bootstrap(GRAPH, DATA, n_resamples=100, bollen_stine=True, rng=1)
    rejected = bf.bootstrap(wrong, DATA, n_resamples=100, bollen_stine=True, rng=1)
    assert right.bollen_stine_p_value > 0.05
    assert rejected.bollen_stine_p_value == 1 / 101
    assert "Bollen-Stine p-value 0.0099" in str(rejected)
    assert abs(right.chi2_draws.mean() - right.fit.df) < 1.0
    assert math.isnan(bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1).bollen_stine_p_value)


def test_heavy_tails_are_seen():
    """With t errors the normal standard error of a variance is too small; the bootstrap's grows."""
    rng = np.random.default_rng(5)
    data = {"x": rng.standard_t(5, 1000), "y": rng.standard_t(5, 1000)}
    found = bf.bootstrap(bf.parse("x -> y"), data, n_resamples=200, rng=1)
    normal = next(e for e in found.fit.estimates() if e.edge == ("x", "variance", "x")).se
    assert found.variance("x").se > 1.3 * normal


def test_same_for_every_number_of_threads():
    plain = bf.bootstrap(GRAPH, DATA, n_resamples=50, bollen_stine=True, rng=2)
    with ThreadPoolExecutor(2) as executor:
        for options in ({"n_jobs": 2}, {"executor": executor}):
            other = bf.bootstrap(GRAPH, DATA, n_resamples=50, bollen_stine=True, rng=2, **options)
            assert other.draws.tobytes() == plain.draws.tobytes()
            assert other.chi2_draws.tobytes() == plain.chi2_draws.tobytes()
    assert pickle.loads(pickle.dumps(plain)).edge("x -> y") == plain.edge("x -> y")


def test_a_fit_will_do_and_data_by_name():
    fit = bf.fit(GRAPH, DATA)
    one = bf.bootstrap(fit, DATA, n_resamples=40, rng=1)
    two = bf.bootstrap(graph=GRAPH, data=DATA, n_resamples=40, rng=1)
    assert one.draws.tobytes() == two.draws.tobytes()
    quick = {"restarts": 1, "rounds": 0}
    by_name = bf.bootstrap(data=DATA, n_resamples=40, search=quick, rng=1)
    assert isinstance(by_name, bf.BootstrapResult)


def test_failed_fits_are_left_out_and_counted(monkeypatch):
    certified, calls = given_model._certified, []

    def sometimes(*given):
        calls.append(1)
        return None if len(calls) % 4 == 0 else certified(*given)

    monkeypatch.setattr(given_model, "_certified", sometimes)
    found = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    assert (found.n_resamples, found.n_failed, found.complete) == (30, 10, True)
    assert "10 resamples without a certified fit" in str(found)


def test_too_few_rows():
    with pytest.raises(bf.BowfreeError, match="resamples have no certified fit: too few rows"):
        bf.bootstrap(bf.parse("a <-> b <-> c <-> a"), bf.random_sem(
            bf.parse("a, b, c"), rng=1).sample(4, rng=2), n_resamples=40, rng=1)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "options", "problem"),
    [
        ((GRAPH, None), {}, "needs the rows themselves"),
        ((GRAPH, bf.moments(DATA)), {}, "needs the rows themselves"),
        ((GRAPH, DATA), {"interval": "normal"}, "unknown interval 'normal'"),
        ((GRAPH, DATA), {"n_resamples": 20}, "too few for intervals of level 0.95"),
        ((GRAPH, DATA), {"confidence": 95}, "must be a number between 0 and 1"),
        ((GRAPH, DATA), {"search": {}}, "search and limit are for bootstrap"),
        ((DATA,), {"bollen_stine": True}, "bollen_stine: only with a graph"),
        ((GRAPH, DATA), {"wild": 1}, "bootstrap has no option 'wild'"),
        ((GRAPH, DATA[["x", "y"]]), {}, "no column for the graph's node 'z'"),
    ],
)
def test_bad_questions(given, options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        bf.bootstrap(*given, **options)


def test_unknown_names():
    found = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    for ask in (
        lambda: found.edge("x -> q"),
        lambda: found.variance("q"),
        lambda: found.effect(of="q", on="x"),
    ):
        with pytest.raises(bf.errors.GraphError, match="unknown node 'q'"):
            ask()
    with pytest.raises(bf.errors.GraphError, match="the graph has no edge x -> z"):
        found.edge("x -> z")


class Fits:
    """Stands in for the fits: after so many, something happens."""

    def __init__(self, monkeypatch, most, event):
        self.real, self.most, self.event, self.calls = given_model.fit_moments, most, event, 0
        monkeypatch.setattr(given_model, "fit_moments", self)

    def __call__(self, *given, **options):
        self.calls += 1
        if self.calls > self.most:
            raise self.event
        return self.real(*given, **options)


def test_what_was_done_in_time_is_handed_over(monkeypatch):
    whole = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    fits = Fits(monkeypatch, 11, TimeIsUp("over"))
    # Effects need no standard errors: with many variables these take longer than all fits.
    monkeypatch.setattr(bf.Fit, "standard_errors", None)
    found = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    assert fits.calls == 41
    assert (found.n_resamples, found.n_failed, found.complete) == (10, 0, False)
    np.testing.assert_array_equal(found.draws, whole.draws[:10])
    np.testing.assert_array_equal(found.total_effects, whole.total_effects[:10])


def test_the_time_goes_with_every_fit(monkeypatch):
    given = []

    def fit_moments(*args, seconds, **options):
        given.append(seconds)
        return real(*args, seconds=seconds, **options)

    real = given_model.fit_moments
    monkeypatch.setattr(given_model, "fit_moments", fit_moments)
    bf.bootstrap(GRAPH, DATA, n_resamples=40, bollen_stine=True, time_limit=1e6, rng=1)
    assert len(given) == 81
    assert all(0 < seconds <= 1e6 for seconds in given)


def test_no_time_for_the_first_fit(monkeypatch):
    Fits(monkeypatch, 0, TimeIsUp("the time limit was over"))
    with pytest.raises(bf.BowfreeError, match="time limit was over"):
        bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)


def test_ctrl_c_hands_over_what_was_done(monkeypatch):
    Fits(monkeypatch, 11, KeyboardInterrupt())
    with pytest.raises(bf.errors.WorkInterrupted) as caught:
        bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    assert (caught.value.result.n_resamples, caught.value.result.complete) == (10, False)


def test_ctrl_c_while_nothing_can_be_made_of_what_was_done(monkeypatch):
    Fits(monkeypatch, 11, KeyboardInterrupt())
    monkeypatch.setattr(bf.Fit, "converged", False)
    with pytest.raises(KeyboardInterrupt) as caught:
        bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    assert not isinstance(caught.value, bf.errors.WorkInterrupted)


def test_effects_are_zero_where_no_path_leads():
    found = bf.bootstrap(GRAPH, DATA, n_resamples=40, rng=1)
    reach = found.fit.total_effects().estimate != 0
    np.testing.assert_array_equal(
        found.total_effects != 0, np.broadcast_to(reach, (40, *reach.shape))
    )
    E = [np.linalg.inv(np.eye(len(reach)) - b) for b in _coefficients(found)]
    np.testing.assert_allclose(found.total_effects, np.where(reach, E, 0.0), atol=1e-15)


def _coefficients(found):
    for draw in found.draws:
        B = np.zeros_like(found.fit.B)
        for (kind, i, j), value in zip(found.fit._parameters, draw, strict=True):
            if kind == "B":
                B[i, j] = value
        yield B
