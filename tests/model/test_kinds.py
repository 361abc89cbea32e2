"""Interventions that keep a target's edges: parameters that a condition has to itself."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import bowfree as bf
from random_models import random_bap, random_parameters
from twins import graph_matrices

KINDS = ("mechanism", "activity", "noise")
RNG = np.random.default_rng(0)


def uses(kind, targets, graph):
    """Return which entries of B and Omega are a condition's own, as boolean matrices."""
    d = len(graph)
    B, Omega = np.zeros((2, d, d), dtype=bool)
    for name in targets:
        t = graph.nodes.index(name)
        if kind == "mechanism":
            B[t] = True
            Omega[t] = Omega[:, t] = True
        elif kind == "activity":
            B[:, t] = True
        else:
            Omega[t, t] = True
    return B, Omega


class Model:
    """All conditions of a graph: which numbers there are, and the matrices that they make."""

    def __init__(self, graph, kind, targets):
        self.edges, spouses = graph_matrices(graph)  # [i, j]: j -> i
        self.errors = spouses + np.eye(len(graph), dtype=int)
        self.d, self.index, self.size = len(graph), [], 0
        shared = {}
        for names in targets:
            own_B, own_Omega = uses(kind, names, graph)
            places = []
            for what, mask, own in (("B", self.edges, own_B), ("O", self.errors, own_Omega)):
                for i, j in zip(*np.nonzero(mask), strict=True):
                    if what == "O" and i < j:
                        continue
                    if own[i, j]:
                        number = self._new()
                    else:
                        if (what, i, j) not in shared:
                            shared[what, i, j] = self._new()
                        number = shared[what, i, j]
                    places.append((what, i, j, number))
            self.index.append(places)
        self.shared = shared

    def _new(self):
        self.size += 1
        return self.size - 1

    def matrices(self, theta, e):
        B, Omega = np.zeros((2, self.d, self.d))
        for what, i, j, number in self.index[e]:
            if what == "B":
                B[i, j] = theta[number]
            else:
                Omega[i, j] = Omega[j, i] = theta[number]
        return B, Omega

    def covariances(self, theta):
        found = []
        for e in range(len(self.index)):
            B, Omega = self.matrices(theta, e)
            E = np.linalg.inv(np.eye(self.d) - B)
            found.append(E @ Omega @ E.T)
        return found

    def random(self, rng, graph):
        """Return parameters; variances of a condition's own are larger, the rest is smaller."""
        B, Omega = random_parameters(rng, *graph_matrices(graph))
        theta = np.zeros(self.size)
        for places in self.index:
            for what, i, j, number in places:
                theta[number] = (B if what == "B" else Omega)[i, j]
        shared = set(self.shared.values())
        for places in self.index:
            for what, i, j, number in places:
                if number not in shared:
                    larger = what == "O" and i == j
                    theta[number] *= rng.uniform(1, 2) if larger else rng.uniform(0.5, 1)
        return theta

    def loglik(self, theta, data):
        total = 0.0
        for e, (n, S) in enumerate(data):
            B, Omega = self.matrices(theta, e)
            try:
                L = np.linalg.cholesky(Omega)
            except np.linalg.LinAlgError:
                return -np.inf
            A = np.linalg.solve(L, np.eye(self.d) - B)
            log_det = 2 * np.log(np.diag(L)).sum()
            total -= n / 2 * (self.d * np.log(2 * np.pi) + log_det + np.sum((A @ S) * A))
        return total


def fit_twin(model, data, start):
    """Maximise the likelihood numerically, over all parameters at once."""
    n = sum(size for size, _ in data)

    def loss(theta):
        value = -model.loglik(theta, data) / n
        return value if np.isfinite(value) else 1e6

    best = start
    for _ in range(3):  # anew from the end, since BFGS forgets what its numerical slopes blur
        best = minimize(loss, best, method="BFGS", options={"gtol": 1e-9}).x
    return best, model.loglik(best, data)


def sampled(kind, seed, d=3, targets=((), ("v1",), ("v0", "v2")), sizes=(200, 120, 90)):
    """Return a graph, its model, and covariance matrices of samples from it."""
    rng = np.random.default_rng(seed)
    graph = random_bap(rng, d, density=0.8)
    model = Model(graph, kind, targets)
    theta = model.random(rng, graph)
    data = []
    for n, Sigma in zip(sizes, model.covariances(theta), strict=True):
        X = rng.multivariate_normal(np.zeros(d), Sigma, size=n)
        data.append((n, np.cov(X.T, ddof=0)))
    return graph, model, theta, data


def conditions(graph, kind, targets, data):
    names = graph.nodes
    return [
        bf.Condition(
            bf.Moments(names, S, n),
            targets=chosen,
            kind=kind,
        )
        for (n, S), chosen in zip(data, targets, strict=True)
    ]


TARGETS = ((), ("v1",), ("v0", "v2"))


# --- one node: closed forms ---


def pair(n, slope, sd):
    x = RNG.normal(size=n)
    return {"x": x, "y": slope * x + sd * RNG.normal(size=n)}


TWO = [pair(80, 1.0, 1.0), pair(60, -0.5, 2.0)]


def test_a_mechanism_of_its_own_is_a_regression_of_its_own():
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="mechanism")],
    )
    for (B, Omega), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-10)
        assert Omega[1, 1] == pytest.approx(S[1, 1] - S[0, 1] ** 2 / S[0, 0], rel=1e-10)
    assert fit.n_parameters == 5
    assert fit.df == 1  # two matrices of three entries; only the variance of x is shared


def test_an_activity_of_its_own_is_a_slope_of_its_own():
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["x"], kind="activity")],
    )
    left = 0.0
    for (B, _), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        assert B[1, 0] == pytest.approx(S[0, 1] / S[0, 0], rel=1e-8)
        left += len(table["x"]) / 140 * (S[1, 1] - S[0, 1] ** 2 / S[0, 0])
    assert fit.Omega[1, 1] == pytest.approx(left, rel=1e-8)
    assert (fit.n_parameters, fit.df) == (4, 2)


def test_noise_of_its_own():
    fit = bf.fit(
        bf.parse("x, y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="noise")],
    )
    for (_, Omega), table in zip(fit.own, TWO, strict=True):
        assert Omega[1, 1] == pytest.approx(np.var(table["y"]), rel=1e-8)
    assert fit.n_parameters == 3
    # With a parent the slope is shared: each condition counts by its precision.
    fit = bf.fit(
        bf.parse("x -> y"),
        [bf.Condition(TWO[0]), bf.Condition(TWO[1], targets=["y"], kind="noise")],
    )
    up = down = 0.0
    for (_, Omega), table in zip(fit.own, TWO, strict=True):
        S = np.cov(table["x"], table["y"], ddof=0)
        up += len(table["x"]) * S[0, 1] / Omega[1, 1]
        down += len(table["x"]) * S[0, 0] / Omega[1, 1]
    assert fit.B[1, 0] == pytest.approx(up / down, rel=1e-7)


# --- identities ---


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_the_truth_is_found_in_population_matrices(kind, seed):
    graph, model, theta, _ = sampled(kind, seed, d=4, targets=TARGETS)
    exact = [(1000, Sigma) for Sigma in model.covariances(theta)]
    fit = bf.fit(graph, conditions(graph, kind, TARGETS, exact))
    assert fit.chi2 == pytest.approx(0, abs=1e-5)
    for e, (B, Omega) in enumerate(fit.own):
        want_B, want_Omega = model.matrices(theta, e)
        np.testing.assert_allclose(B, want_B, atol=1e-4)
        np.testing.assert_allclose(Omega, want_Omega, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_as_many_as_the_matrices_have_dimensions(kind):
    for seed in range(4):
        graph, model, theta, data = sampled(kind, seed, d=4)
        step = 1e-6
        slopes = [
            (
                np.array(model.covariances(theta + step * np.eye(model.size)[k])).ravel()
                - np.array(model.covariances(theta)).ravel()
            )
            / step
            for k in range(model.size)
        ]
        fit = bf.fit(graph, conditions(graph, kind, TARGETS, data))
        assert fit.n_parameters == model.size == np.linalg.matrix_rank(slopes, tol=1e-4)
        assert fit.df == 3 * 10 - model.size
        assert fit.score == pytest.approx((fit.loglik - model.size * np.log(410)) / 410, rel=1e-12)
        assert sum(c.loglik for c in fit.conditions) == pytest.approx(fit.loglik, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_a_class_fit_equally_well(kind):
    for seed in range(3):
        graph, _, _, data = sampled(kind, seed, d=4)
        given_ = conditions(graph, kind, TARGETS, data)
        members = bf.equivalence_class(graph, targets=TARGETS, kind=kind)
        logliks = [bf.fit(member, given_).loglik for member in members]
        np.testing.assert_allclose(logliks, logliks[0], rtol=1e-9)


# --- the twin ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_direct_maximisation(kind, seed):
    graph, model, theta, data = sampled(kind, seed)
    fit = bf.fit(graph, conditions(graph, kind, TARGETS, data))
    assert fit.converged
    best, loglik = fit_twin(model, data, theta)
    assert fit.loglik == pytest.approx(loglik, rel=1e-8)
    for e, (B, Omega) in enumerate(fit.own):
        want_B, want_Omega = model.matrices(best, e)
        np.testing.assert_allclose(B, want_B, atol=1e-4)
        np.testing.assert_allclose(Omega, want_Omega, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 6])
def test_standard_errors_are_those_of_the_curvature(kind, seed):
    graph, model, theta, data = sampled(kind, seed)
    assert graph.n_directed
    fit = bf.fit(graph, conditions(graph, kind, TARGETS, data))
    best, _ = fit_twin(model, data, theta)
    step = 1e-4

    def slope(at):
        unit = np.eye(model.size) * step
        return np.array(
            [(model.loglik(at + u, data) - model.loglik(at - u, data)) / (2 * step) for u in unit]
        )

    unit = np.eye(model.size) * step
    hessian = np.array([(slope(best + u) - slope(best - u)) / (2 * step) for u in unit])
    covariance = np.linalg.inv(-hessian)
    observed = fit.standard_errors(information="observed")
    for (what, i, j), number in model.shared.items():
        se = (observed.B if what == "B" else observed.Omega)[i, j]
        assert se == pytest.approx(np.sqrt(covariance[number, number]), rel=1e-3)


# --- searches ---


@pytest.mark.parametrize("kind", KINDS)
def test_searches_score_as_fits_do(kind):
    graph, _, _, data = sampled(kind, 7)
    given_ = conditions(graph, kind, TARGETS, data)
    result = bf.exhaustive_search(given_)
    for found, score in list(result.ranking(1e9))[::7]:
        assert score == pytest.approx(bf.score(found, given_), rel=1e-10)
    greedy = bf.greedy_search(given_, rng=1)
    assert greedy.score == pytest.approx(result.score, rel=1e-10)
    assert greedy.graph in bf.equivalence_class(result)
    cheap = bf.exhaustive_search(given_, penalty=0.5)
    price = 0.5 * np.log(410) / 410
    by_graph = dict(cheap.ranking(1e9))
    n_fixed = 3 + {"mechanism": 3, "noise": 3, "activity": 0}[kind]
    for (found, score), number in zip(result.ranking(1e9), result.parameter_counts(), strict=True):
        assert by_graph[found] == pytest.approx(score + price * (n_fixed + number), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_edges_count_what_conditions_have_to_themselves(kind):
    graph, _, _, data = sampled(kind, 3)
    given_ = conditions(graph, kind, TARGETS, data)
    fit = bf.fit(graph, given_)
    for change in bf.edge_changes(graph, given_):
        a, b = change.a, change.b
        edges = [e for e in graph.edges if {e[0], e[2]} != {a, b}]
        now = bf.MixedGraph(
            graph.nodes,
            directed=[(x, y) for x, mark, y in edges if mark == "->"]
            + [(a, b)] * (change.after == "->")
            + [(b, a)] * (change.after == "<-"),
            bidirected=[(x, y) for x, mark, y in edges if mark == "<->"]
            + [(a, b)] * (change.after == "<->"),
        )
        other = bf.fit(now, given_)
        assert change.df == other.df - fit.df
        assert change.score == pytest.approx(other.score - fit.score, abs=1e-9)


def test_targets_of_a_kind_are_learned():
    rng = np.random.default_rng(1)
    graph = bf.parse("v0 -> v1 -> v2")
    model = Model(graph, "noise", [(), ("v1",)])
    theta = np.ones(model.size) * 0.8
    own = [k for *_, k in model.index[1] if k not in set(model.shared.values())]
    theta[own] = 4.0
    data = [
        (n, np.cov(rng.multivariate_normal(np.zeros(3), Sigma, size=n).T, ddof=0))
        for n, Sigma in zip((300, 300), model.covariances(theta), strict=True)
    ]
    asked = conditions(graph, "noise", [(), "learn"], data)
    result = bf.greedy_search(asked, rng=1)
    assert [t.variable for t in result.targets if t.chosen] == ["v1"]
    assert result.moments.kind == "noise"


# --- what is refused ---


def test_kinds_do_not_mix():
    mixed = [
        bf.Condition(TWO[0]),
        bf.Condition(TWO[1], targets=["y"], kind="noise"),
        bf.Condition(pair(50, 1.0, 1.0), targets=["x"], kind="perfect"),
    ]
    with pytest.raises(bf.DataError, match="conditions of kinds noise, perfect together"):
        bf.moments(mixed)
    # A condition without targets has no kind to speak of.
    assert bf.moments([bf.Condition(TWO[0], kind="noise"), mixed[2]]).kind == "perfect"


def test_too_few_rows_for_parameters_of_their_own():
    X = RNG.normal(size=(53, 3))
    for kind in ("mechanism", "noise"):
        with pytest.raises(bf.DataError, match=f"parameters of its own .kind='{kind}'.: n = 3"):
            bf.moments([bf.Condition(X[3:]), bf.Condition(X[:3], targets=["x1"], kind=kind)])
    bf.moments([bf.Condition(X[3:]), bf.Condition(X[:3], targets=["x1"], kind="activity")])


def test_a_held_variable_was_set():
    held = {**TWO[1], "y": np.ones(60)}
    with pytest.raises(bf.DataError, match=r"constant column 'y': .* \(kind='perfect'\)"):
        bf.moments([bf.Condition(TWO[0]), bf.Condition(held, targets=["y"], kind="noise")])


def test_what_is_not_foreseen():
    data = [bf.Condition(t, targets=["y"] * k, kind="noise") for k, t in enumerate(TWO)]
    with pytest.raises(bf.DataError, match="kind = 'noise': what an intervention changes"):
        bf.leave_out_conditions([*data, bf.Condition(pair(50, 1.0, 1.0))])


def test_scores_rise_with_the_freedom_of_the_kind():
    # Every noise model is a mechanism model: at price zero it cannot fit better.
    graph, _, _, data = sampled("mechanism", 2, d=4)
    scores = [
        bf.score(graph, conditions(graph, kind, TARGETS, data), penalty=0)
        for kind in ("noise", "mechanism")
    ]
    assert all(low <= high + 1e-12 for low, high in pairwise(scores))
