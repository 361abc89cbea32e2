"""Markov chains over graphs: stationary distribution, reproducibility, diagnostics."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import bowfree as bf
from bowfree.graph.encodings import graph_of_states
from bowfree.uncertainty.structure_samples import (
    effective_sample_size,
    mcse,
    normal_ranks,
    path_indicators,
    split_r_hat,
)
from random_models import random_covariance
from search_cases import same_samples


@pytest.mark.parametrize(
    ("d", "seed", "options"),
    [
        (3, 1, {"prior": "flat", "penalty": 1.0}),
        (3, 2, {"temperature": 3.0}),
        (4, 3, {"temperature": 2.0}),
        (4, 3, {"temperature": 2.0, "keep": 0}),  # without jumps
        (4, 4, {"keep": 20}),  # the list has a part of the weight
        (4, 4, {"keep": 20, "max_steps": 1_200_000}),  # the same in a second segment
    ],
)
def test_stationary_distribution_is_exact(d, seed, options, monkeypatch):
    steps, thin = 800_000, 80
    if "max_steps" in options:
        monkeypatch.setattr("bowfree.uncertainty.chain_segments.have_mixed", lambda states: False)
        steps, thin = 400_000, 40
    S = random_covariance(np.random.default_rng(seed), d, 40)
    n = 20
    samples = bf.structure_mcmc(
        cov=S, n=n, steps=steps, thin=thin, burn_in=1000, chains=2, rng=seed, **options
    )
    assert samples.steps == 800_000
    exact = bf.exhaustive_search(cov=S, n=n, penalty=options.get("penalty", 0.5))
    graphs = [graph for graph, _ in exact.ranking(1e9)]
    weights = n * exact.scores
    if "prior" not in options:
        m = d * (d - 1) // 2
        weights = weights - [math.log(math.comb(m, g.n_edges) * 3**g.n_edges) for g in graphs]
    weights = np.exp((weights - weights.max()) / options.get("temperature", 1.0))
    weights /= weights.sum()
    counts = samples.counts()
    total = sum(counts.values())
    assert total == 20_000
    observed = np.array([counts.get(graph, 0) for graph in graphs])
    assert observed.sum() == total  # nothing but BAPs was sampled
    # Graphs with fewer than 5 samples expected are counted together.
    rare = weights * total < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        weights = np.append(weights[~rare], weights[rare].sum())
    assert len(weights) > 40
    # Samples 80 steps apart are nearly independent here, so the usual distribution holds.
    assert stats.chisquare(observed, weights * total).pvalue > 1e-3
    assert samples.r_hat < 1.01
    assert samples.mixed


def test_chains_know_what_a_search_found():
    S = random_covariance(np.random.default_rng(5), 5, 100)
    search = bf.greedy_search(cov=S, n=100, max_edges=6, restarts=4, rounds=0, rng=0)
    samples = bf.structure_mcmc(search, steps=4000, rng=0)
    assert samples.space == search.space
    assert samples.moments is search.moments
    assert max(graph.n_edges for graph in samples.counts()) <= 6
    known = {graph for graph, _ in samples.pool}
    near = [g for g, s in search.pool if 100 * (search.pool[0].score - s) < 1.0]
    assert known.issuperset(near)
    with pytest.raises(bf.BowfreeError, match="n = 100: a SearchResult has its own data"):
        bf.structure_mcmc(search, n=100)


def test_chains_that_have_not_mixed():
    # Two chains that hardly moved from where they began.
    S = random_covariance(np.random.default_rng(5), 6, 5000)
    far = bf.parse("x1 <-> x2 <-> x3 <-> x4 <-> x5 <-> x6")
    stuck = bf.structure_mcmc(
        cov=S, n=5000, steps=40, burn_in=0, thin=1, keep=0, starts=[far, bf.MixedGraph(far.nodes)]
    )
    assert stuck.worst_r_hat > 1.05
    assert not stuck.mixed
    assert "NOT MIXED" in str(stuck)
    assert "NOT MIXED" in repr(stuck)
    assert json.loads(json.dumps(stuck.to_dict()))["mixed"] is False


def test_same_result_for_every_number_of_threads():
    S = random_covariance(np.random.default_rng(5), 5, 100)
    runs = [
        bf.structure_mcmc(cov=S, n=100, steps=5000, chains=3, n_jobs=jobs, cache_mb=mb, rng=4)
        for jobs, mb in ((1, 64), (2, 64), (3, 0.001))
    ]
    for other in runs[1:]:
        assert same_samples(runs[0], other)
    different = bf.structure_mcmc(cov=S, n=100, steps=5000, chains=3, rng=5)
    assert (different.states != runs[0].states).any()
    assert (runs[0].states[0] != runs[0].states[1]).any()


def test_acceptance_counts_the_moves_after_the_burn_in():
    # With every step kept, an accepted proposal is a change of state. Only the change from the last
    # state of the burn-in to the first one kept cannot be seen.
    S = random_covariance(np.random.default_rng(5), 4, 40)
    samples = bf.structure_mcmc(
        cov=S, n=20, steps=300, thin=1, burn_in=2000, chains=3, keep=0, temperature=2.0, rng=1
    )
    assert samples.states.shape[:2] == (3, 300)
    changes = (samples.states[:, 1:] != samples.states[:, :-1]).any(axis=2).sum(axis=1)
    unseen = 300 * samples.acceptance - changes
    assert set(unseen.round(9)) <= {0.0, 1.0}
    assert (changes > 30).all()


def test_scores_and_pool_are_those_of_the_graphs():
    S = random_covariance(np.random.default_rng(6), 4, 200)
    samples = bf.structure_mcmc(cov=S, n=200, steps=20_000, chains=2, rng=1, prior="flat")
    for chain, index in ((0, 0), (1, 17)):
        graph = graph_of_states(samples.names, samples.states[chain, index])
        score = bf.score(graph, cov=S, n=200, penalty=0.5)
        assert samples.scores[chain, index] == pytest.approx(score, abs=1e-10)
    exact = bf.exhaustive_search(cov=S, n=200, penalty=0.5)
    best = [score for _, score in exact.ranking(3.0)]
    np.testing.assert_allclose([s for _, s in samples.pool[: len(best)]], best, atol=1e-9)
    assert len({graph for graph, _ in samples.pool}) == len(samples.pool)
    span = samples.pool[0].score - samples.pool[-1].score
    assert span * 200 <= 10.0 + 1e-6


# --- diagnostics ----------------------------------------------------------------------------------


def r_hat_twin(chains):
    halves = [half for chain in chains for half in np.array_split(chain, 2)]
    n = len(halves[0])
    W = np.mean([np.var(half, ddof=1) for half in halves])
    B = n * np.var([np.mean(half) for half in halves], ddof=1)
    return math.sqrt(((n - 1) / n * W + B / n) / W)


def ess_twin(chains):
    """Sum autocorrelations lag by lag, as the definition has it."""
    halves = [half for chain in chains for half in np.array_split(chain, 2)]
    m, n = len(halves), len(halves[0])
    W = np.mean([np.var(half, ddof=1) for half in halves])
    plus = (n - 1) / n * W + np.var([np.mean(half) for half in halves], ddof=1)

    def rho(t):
        if t == 0:
            return 1.0
        lagged = [
            np.sum((half[t:] - half.mean()) * (half[: n - t] - half.mean())) / n for half in halves
        ]
        return 1 - (W - np.mean(lagged)) / plus

    time, bound = -1.0, math.inf
    for t in range(0, n - 1, 2):
        pair = rho(t) + rho(t + 1)
        if pair <= 0:
            break
        bound = min(bound, pair)
        time += 2 * bound
    return m * n / time


def autoregressive(rng, phi, chains, samples):
    x = np.zeros((chains, samples))
    for t in range(1, samples):
        x[:, t] = phi * x[:, t - 1] + rng.normal(size=chains)
    return x


@pytest.mark.parametrize("seed", range(4))
def test_diagnostics_twin(seed):
    rng = np.random.default_rng(seed)
    draws = autoregressive(rng, (0.0, 0.5, 0.9, -0.3)[seed], 3, 400)
    if seed == 2:
        draws = (draws > 0).astype(float)
    assert split_r_hat(draws) == pytest.approx(r_hat_twin(draws), rel=1e-12)
    assert effective_sample_size(draws) == pytest.approx(ess_twin(draws), rel=1e-9)


def test_diagnostics_of_constants():
    assert split_r_hat(np.full((2, 10), -0.1)) == 1.0
    assert split_r_hat(np.array([[0.0] * 10, [1.0] * 10])) == math.inf
    assert math.isnan(effective_sample_size(np.full((2, 10), -0.1)))
    assert math.isnan(split_r_hat(np.zeros((2, 3))))


def test_normal_ranks():
    ranks = normal_ranks([[3.0, 1.0, 2.0], [2.0, 5.0, 4.0]])
    order = stats.rankdata([3.0, 1.0, 2.0, 2.0, 5.0, 4.0])
    expected = stats.norm.ppf((order - 0.375) / 6.25).reshape(2, 3)
    np.testing.assert_allclose(ranks, expected)
    # Of an indicator they are a straight line, and R-hat does not notice.
    draws = np.random.default_rng(0).integers(0, 2, (4, 50))
    assert split_r_hat(normal_ranks(draws)) == pytest.approx(split_r_hat(draws), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": np.inf}, "n = inf"),
        ({"steps": 3}, "at least 4"),
        ({"starts": []}, "starts is empty"),
        ({"starts": [bf.parse("x -> y")]}, "nodes"),
    ],
)
def test_invalid_input(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.structure_mcmc(**({"cov": [[1.0, 0.5], [0.5, 1.0]], "n": 50} | options))


def test_chains_start_from_a_short_search():
    """Data and the result of a search lead to the same kind of starts, for any number of threads."""
    S = random_covariance(np.random.default_rng(3), 8, 40)
    best = bf.greedy_search(cov=S, n=2000, penalty=0.5, rng=1).score
    options = {"cov": S, "n": 2000, "steps": 400, "thin": 1, "burn_in": 0}
    samples = bf.structure_mcmc(**options, rng=1)
    assert (2000 * samples.scores[:, 0] > 2000 * best - 15).all()
    assert len({chain[0].tobytes() for chain in samples.states}) > 1
    assert same_samples(samples, bf.structure_mcmc(**options, rng=1, n_jobs=2))


def test_pool_outside_of_the_space():
    """If no graph of the search lies in the space, another short search is made there."""
    data = bf.random_sem(bf.parse("a -> b -> c -> e <-> b"), rng=1).sample(500, rng=1)
    found = bf.greedy_search(data, rng=1)
    assert all(graph.n_edges > 1 for graph, _ in found.pool)
    samples = bf.structure_mcmc(found, max_edges=1, steps=4000, rng=1)
    assert max(graph.n_edges for graph in samples.counts()) == 1


# --- spaces with limits: single changes would have to pass through improbable graphs ---------------

# x is correlated with y and with z equally: by symmetry both pairs are equally probable.
SYMMETRIC = [[1.0, 0.7, 0.7], [0.7, 1.0, 0.8], [0.7, 0.8, 1.0]]


@pytest.mark.parametrize("limits", [{"max_in_degree": 1}, {"max_edges": 2}])
@pytest.mark.parametrize("seed", range(3))
def test_both_modes_are_visited(limits, seed):
    samples = bf.structure_mcmc(cov=SYMMETRIC, n=150, ddof=0, steps=100_000, rng=seed, **limits)
    adjacent = samples.directed + samples.directed.T + samples.bidirected
    assert adjacent[0, 1] == pytest.approx(adjacent[0, 2], abs=0.02)
    assert samples.mixed


def test_exchanges_keep_the_posterior():
    """Edge probabilities equal those of the enumeration of all graphs in the space."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    limits = {"max_edges": 3}
    exact = bf.averaged_effects(bf.exhaustive_search(X, penalty=0.5, **limits), window=40)
    samples = bf.structure_mcmc(X, rng=1, steps=200_000, **limits)
    np.testing.assert_allclose(samples.directed, exact.directed, atol=0.015)
    np.testing.assert_allclose(samples.bidirected, exact.bidirected, atol=0.015)


# --- monte carlo standard errors of probabilities, and chains that go on until these are small ----


def test_independent_draws():
    draws = np.random.default_rng(1).random((4, 1000)) < 0.3
    assert mcse(draws) == pytest.approx(np.sqrt(0.3 * 0.7 / 4000), rel=0.25)
    assert mcse(np.ones((4, 100), dtype=bool)) == 0.0


def test_chains_that_disagree_have_a_large_error():
    draws = np.zeros((4, 1000), dtype=bool)
    draws[:2] = True
    assert mcse(draws) > 0.15


def test_paths():
    # Pairs (0, 1), (0, 2), (1, 2): a -> b, c alone; then a -> b -> c.
    states = np.array([[[1, 0, 0], [1, 0, 1]]], dtype=np.uint8)
    paths = path_indicators(states, 3)[0]
    assert np.argwhere(paths[0]).tolist() == [[1, 0]]
    assert np.argwhere(paths[1]).tolist() == [[1, 0], [2, 0], [2, 1]]


def test_results_vary_between_seeds_as_much_as_their_errors():
    graph = bf.parse("a -> b <-> c -> e, a -> e, f")
    data = bf.random_sem(graph, rng=4).sample(300, rng=5, as_frame="pandas")
    samples = [bf.structure_mcmc(data, rng=seed) for seed in range(8)]
    averages = [bf.averaged_effects(sample) for sample in samples]
    first, second = averages[:2]
    assert first.mixed
    assert second.mixed
    assert first.samples.largest_mcse <= 0.02
    error = np.hypot(first.mcse, second.mcse)
    assert (np.abs(first.probability - second.probability) <= 4 * error + 1e-12).all()
    assert set(first.to_frame().columns) >= {"probability", "mcse"}
    for end in ("lower", "upper"):
        spread = np.std([getattr(average, end) for average in averages], axis=0, ddof=1)
        errors = np.mean([getattr(average, f"{end}_mcse") for average in averages], axis=0)
        varies = spread > 1e-3
        assert varies.any()
        assert 0.4 < np.median(errors[varies] / spread[varies]) < 2.5


def test_with_few_variables_nothing_is_random():
    graph = bf.parse("a -> b <-> c -> e, a -> e, f")
    five = bf.random_sem(graph, rng=4).sample(300, rng=5, as_frame="pandas")
    four = five.drop(columns="f")
    cases = [(four, {"graph_class": "ancestral"}), (four, {"max_in_degree": 1}), (five, {})]
    for data, options in cases:
        exact = bf.averaged_effects(bf.exhaustive_search(data, **options))
        found = bf.averaged_effects(bf.greedy_search(data, **options, rng=1), rng=2)
        for name in ("probability", "mean", "lower", "upper", "directed"):
            np.testing.assert_array_equal(getattr(found, name), getattr(exact, name))
        assert not exact.lower_mcse.any()
        assert not exact.upper_mcse.any()
