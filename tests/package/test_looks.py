"""How often long loops ask whether to stop, counted: no clock is looked at.

`tests/package/test_stopping.py` measures what comes of it. There a loop without a look can hide
behind the looks of the loops around it; here each has its own number.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest

import bowfree as bf
from bowfree import _core
from bowfree.errors import TimeIsUp
from bowfree.parallel.budget import Budget
from bowfree.search.scheduler import NAP, Conductor


def path(d):
    names = [f"x{i + 1}" for i in range(d)]
    return bf.MixedGraph(names, directed=list(pairwise(names)))


def complete_dag(d):
    names = [f"x{i + 1}" for i in range(d)]
    return bf.MixedGraph(names, directed=list(combinations(names, 2)))


def looks_of(call, most=10**6):
    """Return how often a call asks: one ask more, and it ends as if nothing were."""

    def ends(ask):
        try:
            call(end_at_ask=ask)
        except TimeIsUp:
            return False
        return True

    low, high = 0, 1
    while not ends(high):
        low, high = high, 2 * high
        assert high < most
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if ends(middle) else (middle, high)
    return high - 1


def bits_and_sigma(graph):
    return graph._bits(), _core.random_covariance(*graph._bits(), 0)


def test_the_smallest_example():
    (parents, spouses), _ = bits_and_sigma(path(64))
    with pytest.raises(TimeIsUp, match="time limit was over before"):
        _core.random_covariance(parents, spouses, 0, end_at_ask=1)


@pytest.mark.parametrize(("d", "looks"), [(63, 0), (64, 2 * 64), (100, 2 * 100)])
def test_a_covariance_matrix_asks_for_every_row_and_every_column(d, looks):
    bits, _ = bits_and_sigma(path(d))
    assert looks_of(lambda **ask: _core.random_covariance(*bits, 0, **ask)) == looks


@pytest.mark.parametrize(("d", "looks"), [(63, 0), (64, 64), (100, 100)])
def test_a_decision_asks_for_every_node(d, looks):
    bits, Sigma = bits_and_sigma(path(d))
    assert looks_of(lambda **ask: _core.produces(*bits, Sigma, **ask)) == looks


def test_a_decision_asks_within_large_systems():
    d = 80
    bits, Sigma = bits_and_sigma(complete_dag(d))
    unknowns = sum(range(64, d))  # of the nodes with 64 parents and more, one system each
    assert looks_of(lambda **ask: _core.produces(*bits, Sigma, **ask)) == d + unknowns


def one_district(d):
    """Return a graph with one district of all nodes, of which nothing can be fitted apart."""
    names = [f"x{i + 1}" for i in range(d)]
    pairs = list(combinations(range(d), 2))
    return bf.MixedGraph(
        names,
        directed=[(names[i], names[j]) for i, j in pairs if (j - i) % 3 == 2],
        bidirected=[(names[i], names[j]) for i, j in pairs if (j - i) % 3 == 1],
    )


def test_a_step_of_newton_asks_for_every_row_of_the_hessian():
    graph = one_district(12)
    n = 12 + graph.n_edges
    # When a row is worked out, when it is copied, and when it is factorized: in blocks of 48.
    a_step = n + n + n + (n - 48)
    found = []
    for seed in range(5):
        S = np.cov(bf.random_sem(graph, rng=seed).sample(200, rng=seed), rowvar=False)
        found.append(looks_of(lambda S=S, **ask: _core.fit_graph(S, *graph._bits(), **ask)))
    steps, rest = np.divmod(np.subtract(found, min(found)), a_step)
    assert steps.max() > 0
    # Each step evaluates f a few times, too, and asks each time.
    assert (np.minimum(rest, a_step - rest) <= 6 * (steps + 1)).all()


def test_a_sweep_over_groups_asks_for_every_regressor_and_every_spouse():
    d = 18
    graph = one_district(d)
    targets = np.zeros((2, d), dtype=np.uint8)
    targets[1, 3] = 1
    S = np.stack([np.eye(d) + 0.1, np.eye(d) + 0.2])
    data = _core.JointData(S, [0.5, 0.5], targets, [0, 0], False)
    found = [
        looks_of(lambda k=k, **ask: _core.sweep_groups(data, *graph._bits(), k, **ask))
        for k in range(3)
    ]
    # The start and the objective ask for every member that a group leaves alone.
    assert found[0] == 2 * (d + d - 1)
    # Sixteen nodes have children; one of them is the parent of x4, and a regressor of its own for
    # it, which the second group does not have.
    assert len({tail for tail, _ in graph.directed}) == 16
    assert list(graph.parents("x4")) == ["x2"]
    regressors = 17 + 16
    spouses = 2 * graph.n_bidirected
    assert np.diff(found).tolist() == 2 * [1 + regressors + d + 2 * spouses]


@pytest.mark.parametrize(("graph_class", "looks"), [("bap", 16), ("arid", 1000)])
def test_a_walk_asks_every_64_steps_or_where_steps_are_long_at_each(graph_class, looks):
    nodes = path(10).nodes
    rules = bf.SearchSpace(graph_class).rules(nodes)
    bits = bf.MixedGraph(nodes)._bits()
    # Two walks; a walk of 1000 steps has fifteen blocks of 64 and a rest.
    for thin, walks in ((0, 2), (1000, 2)):
        found = looks_of(
            lambda thin=thin, **ask: _core.sample_mcmc(*bits, rules, 2, 1000, thin, False, 0, **ask)
        )
        assert found == walks * looks


class Idle:
    """A core whose runs never end; it notes how long it was waited for."""

    def __init__(self):
        self.naps = []

    def collect(self, seconds):
        self.naps.append(seconds)
        return []


@pytest.mark.parametrize(
    ("limit", "stopped", "expected"),
    [(None, False, NAP), (1e9, False, NAP), (1e-6, False, 1e-3), (1e-6, True, NAP)],
)
def test_a_search_does_not_sleep_beyond_its_time_limit(limit, stopped, expected):
    conductor = object.__new__(Conductor)
    conductor.core = Idle()
    conductor.budget = Budget(time_limit=limit)
    conductor.stopped = stopped
    conductor.memory = type("NoFile", (), {"path": ""})
    conductor.saved = np.inf
    conductor.collect()
    assert conductor.core.naps == [pytest.approx(expected)]
