"""Exact search agrees with the enumeration of all graphs of its space."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from bowfree.errors import BowfreeError, DataError
from bowfree.search.exact import ExactResult


def sample(d: int, seed: int, n: int = 500, density: float = 2 / 3) -> np.ndarray:
    """Return rows of a random model. Half of its edges are effects, half hidden causes.

    At the default density the best graphs have districts of several nodes.
    """
    rng = np.random.default_rng(seed)
    B, errors = np.zeros((d, d)), rng.normal(size=(n, d))
    for i, j in itertools.combinations(range(d), 2):
        kind, sign = rng.random(), rng.choice([-1, 1])
        if kind < density / 2:
            B[j, i] = sign * rng.uniform(0.5, 1)
        elif kind < density:
            cause = rng.normal(size=n)
            errors[:, i] += cause
            errors[:, j] += sign * cause
    return (errors @ np.linalg.inv(np.eye(d) - B).T)[:, rng.permutation(d)]


def best_of_all(data: np.ndarray, max_parents: int | None, **space: object) -> float:
    """Return the best score of all graphs with at most `max_parents` parents of a node."""
    result = bf.exhaustive_search(data, penalty=0.5, **space)
    for rank in range(len(result)):
        graph = result.graph_at(rank)
        if max_parents is None or max(len(graph.parents(v)) for v in graph) <= max_parents:
            return float(result.scores[rank])
    raise AssertionError


KNOWLEDGE = bf.Knowledge(
    required=[("x1", "<->", "x3"), ("x2", "->", "x4")],
    forbidden=[("x2", "->", "x1"), ("x1", "--", "x4")],
)
SPACES = [
    (3, {"max_district": 2}),
    (1, {"max_district": 2}),
    (2, {"max_district": 3}),
    (None, {"max_district": 4}),
    (None, {"graph_class": "dag"}),
    (2, {"graph_class": "bidirected", "max_district": 4}),
    (3, {"graph_class": "ancestral", "max_district": 3}),
    (3, {"graph_class": "arid", "max_district": 3}),
    (3, {"max_district": 3, "max_in_degree": 2}),
    (3, {"max_district": 2, "max_edges": 3}),
    (3, {"max_district": 3, "knowledge": KNOWLEDGE}),
]


@pytest.mark.parametrize(("max_parents", "space"), SPACES)
def test_the_best_graph_of_four_variables(
    max_parents: int | None, space: dict[str, object]
) -> None:
    # Branching over the number of edges takes long if the limit excludes strong edges.
    density = 0.4 if "max_edges" in space else 2 / 3
    for seed in range(4):
        check(sample(4, seed, density=density), max_parents, space)


@pytest.mark.parametrize(("max_parents", "max_district"), [(3, 2), (2, 3), (None, 5)])
def test_the_best_graph_of_five_variables(max_parents: int | None, max_district: int) -> None:
    check(sample(5, max_district), max_parents, {"max_district": max_district})


def check(data: np.ndarray, max_parents: int | None, space: dict[str, object]) -> None:
    start = bf.SearchSpace(**space).required_graph(tuple(f"x{i + 1}" for i in range(data.shape[1])))
    for given in (None, start):  # with a greedy search first, and without
        result = bf.exact_search(
            data, penalty=0.5, max_parents=max_parents, start=given, rng=1, **space
        )
        assert result.proved
        assert result.gap == 0
        assert result.space.permits(result.graph)
        assert result.score == pytest.approx(best_of_all(data, max_parents, **space), abs=1e-9)


@pytest.mark.parametrize(("max_district", "seed"), [(2, 3), (3, 3), (3, 8), (3, 9)])
def test_six_variables_by_brute_force(max_district: int, seed: int) -> None:
    """All orders, all partitions into districts, all parents in the order, at most one of a node."""
    d = 6
    data = sample(d, seed)
    names = tuple(f"x{i}" for i in range(1, d + 1))
    moments = bf.exact_search(data, penalty=0.5, graph_class="dag").moments
    core = bf.search.exact.Setup(
        moments, bf.SearchSpace(), bf.model.ScoringRule(0.5), bf.search.Strategy()
    ).core()
    constant = core.score(*bf.MixedGraph(names)._bits())
    # By members: the gains of all districts on them, and the parent of each member, -1 for none.
    districts: dict[frozenset[int], tuple[np.ndarray, np.ndarray]] = {}
    for k in range(1, max_district + 1):
        for members in itertools.combinations(range(d), k):
            gains, parents = [], []
            pairs = list(itertools.combinations(members, 2))
            for marks in itertools.product((0, 1), repeat=len(pairs)):
                spouses = [pair for pair, mark in zip(pairs, marks, strict=True) if mark]
                if len(spouses) < k - 1:
                    continue  # not connected
                for chosen in itertools.product(range(-1, d), repeat=k):
                    arrows = [(p, v) for p, v in zip(chosen, members, strict=True) if p >= 0]
                    edges = [frozenset(arrow) for arrow in arrows] + [frozenset(s) for s in spouses]
                    if len(set(edges)) < len(edges) or any(len(edge) < 2 for edge in edges):
                        continue
                    graph = bf.MixedGraph(
                        names,
                        [(names[p], names[v]) for p, v in arrows],
                        [(names[p], names[v]) for p, v in spouses],
                    )
                    gains.append(core.score(*graph._bits()) - constant)
                    parents.append(chosen)
            districts[frozenset(members)] = np.array(gains), np.array(parents)
    best = -np.inf
    for order in itertools.permutations(range(d)):
        place = np.append(np.argsort(order), -1)  # the last one is that of no parent
        gain = {
            members: gains[(place[parents] < place[sorted(members)]).all(axis=1)].max()
            for members, (gains, parents) in districts.items()
        }
        best = max(best, best_partition(frozenset(range(d)), gain))
    result = bf.exact_search(data, penalty=0.5, max_parents=1, max_district=max_district, rng=1)
    assert result.proved
    assert result.score == pytest.approx(constant + best, abs=1e-9)


def best_partition(nodes: frozenset[int], gain: dict[frozenset[int], float]) -> float:
    if not nodes:
        return 0.0
    a = min(nodes)
    return max(
        value + best_partition(nodes - members, gain)
        for members, value in gain.items()
        if a in members and members <= nodes
    )


@pytest.mark.parametrize("seed", range(4))
def test_dense_data_of_five_variables(seed: int) -> None:
    """Factors behind all variables, so that many districts of three nodes fit well."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 5))
    data = factors + rng.normal(size=(300, 5)) * rng.uniform(0.3, 1.0, size=5)
    check(data, 3 if seed % 2 else None, {"max_district": 3})


def test_dags_with_interventions() -> None:
    frame = {f"x{k + 1}": column for k, column in enumerate(sample(4, 1, 400).T)}
    frame["place"] = np.repeat(["a", "b"], 200)
    data = bf.conditions(frame, column="place", targets={"b": ["x1"]})
    result = bf.exact_search(data, graph_class="dag", rng=1)
    expected = bf.exhaustive_search(data, graph_class="dag")
    assert result.proved
    assert result.score == pytest.approx(expected.score, abs=1e-9)
    with pytest.raises(BowfreeError, match="graph_class='dag'"):
        bf.exact_search(data)


def test_a_search_gets_its_proof() -> None:
    found = bf.greedy_search(sample(6, 5), penalty=0.5, max_district=2, rng=1)
    result = bf.exact_search(start=found, max_parents=None)
    assert result.proved
    assert result.penalty == 0.5
    assert result.score >= found.score - 1e-9
    assert result.runs == found.runs
    assert result.confidence.reliable
    assert "proved best among BAPs" in str(result)


def test_a_time_limit_gives_a_bound() -> None:
    data = sample(12, 4, density=0.2)
    result = bf.exact_search(data, max_district=3, rng=1, time_limit=1)
    assert not result.proved
    assert not result.complete
    assert result.gap > 0
    assert result.bound == pytest.approx(result.score + result.gap / 500)
    assert "units of n * score below the best" in str(result)


def test_progress_and_ctrl_c() -> None:
    """Ctrl-C has the best graph so far and its bound in its result."""
    data = sample(12, 4, density=0.2)
    start = bf.greedy_search(data, max_district=3, rng=1)
    reports: list[bf.Progress] = []

    def progress(report: bf.Progress) -> None:
        reports.append(report)
        if len(reports) == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        bf.exact_search(start=start, max_district=3, progress=progress)
    result = caught.value.result
    assert len(reports) == 3
    assert {report.what for report in reports} == {"districts"}
    assert reports[0].done <= reports[-1].done == reports[-1].planned
    assert reports[-1].best_score == pytest.approx(start.score)
    assert not result.proved
    assert result.score >= start.score - 1e-9
    assert result.gap > 0


def test_the_result_is_that_of_a_search(tmp_path: Path) -> None:
    result = bf.exact_search(sample(4, 6), rng=1)
    assert isinstance(result, ExactResult)
    assert isinstance(result, bf.SearchResult)
    assert result.graph in result.equivalence_class()
    assert result.to_dict()["proved"] is True
    assert len(result.to_frame()) == result.graph.n_edges
    assert len(result.averaged_effects(steps=2000, rng=1).to_frame()) > 0
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "roved best among BAPs" in page


def test_limits_are_named() -> None:
    with pytest.raises(DataError, match="at most 20 variables"):
        bf.exact_search(np.random.default_rng(1).normal(size=(50, 21)))
    with pytest.raises(DataError, match="shrinkage"):
        bf.exact_search(np.random.default_rng(1).normal(size=(5, 6)))
    with pytest.raises(BowfreeError, match="max_district = 7"):
        bf.exact_search(sample(8, 1), max_district=7)
    with pytest.raises(BowfreeError, match="requires at most 12 variables, not 13"):
        bf.exact_search(sample(13, 1), max_district=3)
