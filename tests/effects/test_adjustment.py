"""Adjustment sets and instruments agree with their definitions, and with regressions."""

from collections import defaultdict
from itertools import chain, combinations

import numpy as np
import pytest

import bowfree as bf
from bowfree.effects.adjustment import Question, adjustment_distance, adjustment_sets, instruments
from graph_strategies import all_baps
from random_models import random_parameters
from twins import graph_matrices


def subsets(names):
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def minimal(sets):
    sets = list(map(frozenset, sets))
    return {one for one in sets if not any(other < one for other in sets)}


def random_admg(rng, d=5):
    """Return an acyclic graph that may have bows."""
    nodes = [f"v{i}" for i in range(d)]
    pairs = list(combinations(nodes, 2))
    density = rng.uniform(0.2, 0.6, size=2)
    arrows = [pair for pair in pairs if rng.random() < density[0]]
    arcs = [pair for pair in pairs if rng.random() < density[1] / 2]
    return bf.MixedGraph(rng.permutation(nodes), arrows, arcs)


def random_question(seed, d=5):
    rng = np.random.default_rng(seed)
    graph = random_admg(rng, d)
    x, y = rng.permutation(graph.nodes)[:2]
    return graph, str(x), str(y)


def forbidden(graph, x, y):
    causal = {v for path in graph.directed_paths(x, y) for v in path.nodes} - {x}
    return graph.descendants(causal) | {x, y}


def blocked(graph, path, given):
    above = graph.ancestors(given)
    colliders = set(path.colliders)
    return any(v not in above if v in colliders else v in given for v in path.nodes[1:-1])


def is_valid(graph, x, y, given):
    """Check the adjustment criterion path by path."""
    return not forbidden(graph, x, y) & set(given) and all(
        path.is_directed or blocked(graph, path, given) for path in graph.paths(x, y)
    )


def is_instrument(graph, x, y, z, given):
    """Check the definition path by path; the effect of x is cut off at its first edge."""
    out = forbidden(graph, x, y)
    if z in out or out & set(given) or z in given:
        return False
    first_edges = {(path.nodes[0], path.nodes[1]) for path in graph.directed_paths(x, y)}
    cut = graph.remove(directed=sorted(first_edges))
    return all(blocked(cut, path, given) for path in cut.paths(z, y)) and not all(
        blocked(graph, path, given) for path in graph.paths(z, x)
    )


def test_a_thousand_graphs_path_by_path():
    n_sets = n_without = 0
    for seed in range(1000):
        graph, x, y = random_question(seed)
        others = [v for v in graph.nodes if v not in (x, y)]
        valid = [given for given in subsets(others) if is_valid(graph, x, y, given)]
        found = adjustment_sets(graph, of=x, on=y)
        assert found.complete
        assert len(set(found.minimal)) == len(found.minimal)
        assert set(map(frozenset, found.minimal)) == minimal(valid), (graph, x, y)
        if found.optimal is not None:
            assert set(found.optimal) in map(set, valid)
        n_sets += len(found.minimal)
        n_without += not valid
    assert n_sets > 500
    assert n_without > 100


class Model:
    """Random parameters on a graph that may have bows, and their covariance matrix."""

    def __init__(self, graph, rng):
        self.at = graph.nodes.index
        B, Omega = random_parameters(rng, *graph_matrices(graph))
        self.effects = np.linalg.inv(np.eye(len(graph)) - B)
        self.Sigma = self.effects @ Omega @ self.effects.T

    def effect(self, x, y):
        return self.effects[self.at(y), self.at(x)]

    def given(self, names):
        """Return the covariance matrix of all variables given some."""
        S, g = self.Sigma, list(map(self.at, names))
        return S - S[:, g] @ np.linalg.solve(S[np.ix_(g, g)], S[g]) if g else S

    def coefficient(self, x, y, names):
        rest = self.given(names)
        return rest[self.at(x), self.at(y)] / rest[self.at(x), self.at(x)]

    def variance(self, x, y, names):
        """Return the asymptotic variance of the coefficient."""
        of_y = self.given([x, *names])[self.at(y), self.at(y)]
        return of_y / self.given(names)[self.at(x), self.at(x)]


def test_the_regression_has_the_total_effect_exactly_if_the_set_is_valid():
    for seed in range(150):
        graph, x, y = random_question(seed)
        model = Model(graph, np.random.default_rng(seed))
        for given in subsets([v for v in graph.nodes if v not in (x, y)]):
            same = abs(model.coefficient(x, y, given) - model.effect(x, y)) < 1e-8
            assert same == is_valid(graph, x, y, given), (graph, x, y, given)


def test_the_optimal_set_has_the_smallest_asymptotic_variance():
    seen = 0
    for seed in range(1000):
        graph, x, y = random_question(seed)
        best = adjustment_sets(graph, of=x, on=y).optimal
        if best is None:
            continue
        model = Model(graph, np.random.default_rng(seed))
        others = [v for v in graph.nodes if v not in (x, y)]
        least = min(
            model.variance(x, y, given) for given in subsets(others) if is_valid(graph, x, y, given)
        )
        assert model.variance(x, y, best) <= least * (1 + 1e-9)
        seen += 1
    assert seen > 50


def test_instruments_path_by_path():
    n_found = 0
    for seed in range(400):
        graph, x, y = random_question(seed)
        found = instruments(graph, of=x, on=y)
        assert found.complete
        listed = {(row.instrument, frozenset(row.given)) for row in found}
        assert len(listed) == len(found)
        for z in set(graph.nodes) - {x, y}:
            others = [v for v in graph.nodes if v not in (x, y, z)]
            valid = [g for g in subsets(others) if is_instrument(graph, x, y, z, g)]
            own = {given for name, given in listed if name == z}
            assert own <= set(map(frozenset, valid)), (graph, x, y, z)
            # Separators that are minimal and connect z with x are all listed.
            out = forbidden(graph, x, y)
            free = [v for v in others if v not in out]
            first = {path.nodes[:2] for path in graph.directed_paths(x, y)}
            cut = graph.remove(directed=sorted(first))
            separators = (
                [] if z in out else [g for g in subsets(free) if cut.m_separated(z, y, given=g)]
            )
            assert own == minimal(separators) & set(map(frozenset, valid)), (graph, x, y, z)
        n_found += len(found)
    assert n_found > 100


def test_an_instrument_estimates_the_effect():
    graph = bf.parse("z -> x -> y <-> x, w -> z, w -> y")
    (row,) = instruments(graph, of="x", on="y")
    assert (row.instrument, row.given) == ("z", ("w",))
    model = Model(graph, np.random.default_rng(1))
    x, y, z = map(model.at, "xyz")
    rest = model.given(row.given)
    assert rest[z, y] / rest[z, x] == pytest.approx(model.effect("x", "y"))


@pytest.mark.parametrize("seed", range(25))
def test_over_a_class_sets_are_valid_in_every_member(seed):
    graph = bf.random_bap([f"v{i}" for i in range(5)], max_in_degree=2, rng=seed)
    x, y = map(str, np.random.default_rng(seed).permutation(graph.nodes)[:2])
    members = bf.equivalence_class(graph)
    others = [v for v in graph.nodes if v not in (x, y)]
    found = adjustment_sets(members, of=x, on=y)
    valid = [g for g in subsets(others) if all(is_valid(m, x, y, g) for m in members)]
    assert set(map(frozenset, found.minimal)) == minimal(valid)
    assert (found.n_graphs, found.all_graphs, found.complete) == (members.size, True, True)
    listed = {(row.instrument, frozenset(row.given)) for row in instruments(members, of=x, on=y)}
    for z in others:
        rest = [v for v in others if v != z]
        good = [g for g in subsets(rest) if all(is_instrument(m, x, y, z, g) for m in members)]
        assert {given for name, given in listed if name == z} == minimal(good)


def all_admgs(d):
    """Yield all acyclic graphs on d nodes, with bows."""
    for graph in all_baps(d):
        for spouses in subsets(graph.directed):  # which are bows
            yield graph.add(bidirected=spouses)


@pytest.mark.parametrize("d", [3, 4])
def test_a_pag_has_the_sets_that_are_valid_in_all_graphs_it_represents(d):
    classes, pags = defaultdict(list), {}
    for graph in all_admgs(d):
        mag = graph.mag()
        if mag not in pags:
            pags[mag] = mag.pag()
        classes[pags[mag]].append(graph)
    x, y, *others = "abcd"[:d]  # other pairs are these in a relabeled class
    for pag, graphs in classes.items():
        questions = [Question(graph, x, y) for graph in graphs]
        valid = [
            given
            for given in subsets(others)
            if all(not q.graph._mask(given) & ~q.allowed and q.adjusts(given) for q in questions)
        ]
        found = adjustment_sets(pag, of=x, on=y)
        assert set(map(frozenset, found.minimal)) == minimal(valid), (pag, x, y)
    assert len(classes) == {3: 11, 4: 248}[d]


def test_sets_of_larger_pags_are_valid_in_the_true_graph():
    n_sets = 0
    for seed in range(150):
        graph, x, y = random_question(seed, d=7)
        for row in adjustment_sets(graph.pag(), of=x, on=y):
            assert is_valid(graph, x, y, row.adjust_for), (graph, x, y)
            n_sets += 1
    assert n_sets > 20
    with pytest.raises(bf.errors.GraphError, match="selection bias"):
        adjustment_sets(bf.PAG(("a", "b"), ((0, 3), (3, 0))), of="a", on="b")
    pag = bf.parse("a -> x <- b, x -> y").pag()
    assert "valid in all graphs of the PAG" in str(adjustment_sets(pag, of="x", on="y"))
    with pytest.raises(bf.errors.GraphError, match="of and on are both x"):
        adjustment_sets(pag, of="x", on="x")


def test_gadjid_counts_the_same_mistakes():
    gadjid = pytest.importorskip("gadjid")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth, guess = (
            bf.MixedGraph(g.nodes, g.directed) for g in (random_admg(rng, 6), random_admg(rng, 6))
        )
        matrices = [
            (bf.formats.to_matrix(g, format="ggm") == 1).astype(np.int8)
            for g in (truth, guess.reorder(truth.nodes))
        ]
        distance, mistakes = gadjid.oset_aid(*matrices, edge_direction="from row to column")
        found = adjustment_distance(guess, truth)
        assert (found.mistakes, found.distance) == (mistakes, pytest.approx(distance))


def test_distances_of_graphs_with_hidden_causes():
    for seed in range(30):
        graph = random_admg(np.random.default_rng(seed))
        assert adjustment_distance(graph, graph).mistakes == 0
    truth = bf.parse("x -> y <-> z, w")
    assert adjustment_distance(bf.MixedGraph(truth.nodes), truth).mistakes == 1
    with pytest.raises(bf.errors.GraphError, match="different nodes"):
        adjustment_distance(bf.parse("x -> y"), truth)


def test_bad_questions_and_what_is_shown():
    graph = bf.parse("x -> y, z")
    with pytest.raises(bf.errors.GraphError, match="of and on are both x"):
        adjustment_sets(graph, of="x", on="x")
    with pytest.raises(bf.errors.GraphError, match="unknown node 'q'"):
        instruments(graph, of="q", on="x")
    with pytest.raises(bf.errors.GraphError, match="cycle"):
        adjustment_sets(bf.parse("x -> y -> x"), of="x", on="y")
    assert adjustment_sets(graph, of="x", on="z").minimal == ((),)
    assert "no adjustment set" in str(adjustment_sets(bf.parse("x -> y <-> x"), of="x", on="y"))
    found = adjustment_sets(bf.parse("a -> x <- b, x -> y, a -> y, b -> y"), of="x", on="y")
    assert found.to_frame()["adjust_for"].tolist() == ["a, b"]
    assert found.to_dict()["sets"][0]["adjust_for"] == ["a", "b"]
    many = bf.parse(", ".join(f"a{i} -> b{i}, x <- a{i}, b{i} -> y" for i in range(4)))
    assert len(adjustment_sets(many, of="x", on="y").minimal) == 2**4
    cut = adjustment_sets(many, of="x", on="y", limit=3)
    assert (len(cut.minimal), cut.complete) == (3, False)
