"""Which parameters the covariances determine: textbook cases, twins of both tests, recovery."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings

import bowfree as bf
from bowfree.graph.identification import half_trek_equations
from graph_strategies import admgs, baps


def verdicts(text):
    found = bf.parse(text).identified()
    return {f"{e.a} {e.mark} {e.b}": e.verdict for e in found.rows}


def test_an_instrument_identifies_what_a_bow_alone_does_not():
    #   z -> x -> y with x <-> y
    assert set(verdicts("z -> x -> y <-> x").values()) == {"identified"}
    assert verdicts("x -> y <-> x") == {"x -> y": "not identified", "x <-> y": "not identified"}
    found = bf.parse("z -> x -> y <-> x").identified()
    assert found.complete
    assert found.edge("x", "->", "y").by == ("z",)
    assert found.edge("y <-> x").verdict == "identified"
    with pytest.raises(bf.errors.GraphError, match="no edge"):
        found.edge("z -> y")
    assert "not identified" in str(bf.parse("x -> y <-> x").identified())


def test_a_cycle_is_refused_and_a_bow_gets_a_hint():
    with pytest.raises(bf.errors.GraphError, match="cycle"):
        bf.parse("x -> y -> z -> x").identified()
    with pytest.raises(bf.errors.GraphError, match=r"graph\.identified\(\)"):
        bf.parse("x -> y <-> x").check_bap()


@given(baps())
def test_without_bows_all_is_identified(graph):
    found = graph.identified()
    assert found.complete
    for edge in found.rows:
        if edge.mark == "->":
            assert len(edge.by) == len(graph.parents(edge.b))  # one equation each


# -- the criterion as it is written down: all sets, all systems of half-treks --


def half_treks(graph, y, w):
    """Yield the right sides of all half-treks from y to w."""

    def down(t, path):
        if t == w:
            yield frozenset(path)
        for child in graph.children(t):
            yield from down(child, [*path, child])

    for t in {y} | graph.spouses(y):
        yield from down(t, [t])


def system(graph, sources, targets):
    """Tell whether half-treks without a common right node lead from sources to targets."""

    def choose(pairs, used):
        if not pairs:
            return True
        (y, w), *rest = pairs
        return any(
            choose(rest, used | right) for right in half_treks(graph, y, w) if not used & right
        )

    return any(
        choose(list(zip(sources, order, strict=True)), frozenset())
        for order in permutations(targets)
    )


def solved_by_definition(graph):
    """Return the nodes that the criterion solves, by trying everything."""
    solved = set()
    while True:
        new = set()
        for v in set(graph.nodes) - solved:
            near = {v} | graph.spouses(v)
            reached = graph.descendants(near)
            allowed = [
                y for y in graph.nodes if y not in near and (y in solved or y not in reached)
            ]
            parents = sorted(graph.parents(v))
            if any(system(graph, Y, parents) for Y in combinations(allowed, len(parents))):
                new.add(v)
        if not new:
            return solved
        solved |= new


@given(admgs(max_nodes=5))
@settings(max_examples=60, deadline=None)
def test_half_treks_by_definition(graph):
    found = {graph.nodes[each.node] for each in half_trek_equations(graph)}
    assert found == solved_by_definition(graph)


# -- the rank of the derivative, in floating point --


def moving(graph, rng):
    """Return the edges whose parameters can change while Sigma does not, by the full Jacobian."""
    sem = bf.random_sem(graph, rng=rng)
    d = len(graph)
    E = np.linalg.inv(np.eye(d) - sem.B)
    Sigma = sem.covariance()
    directions, edges = [], []
    for a, mark, b in graph.edges:
        i, j = graph.nodes.index(a), graph.nodes.index(b)
        D = np.zeros((d, d))
        if mark == "->":
            D[j, i] = 1.0
            directions.append(E @ D @ Sigma + (E @ D @ Sigma).T)
        else:
            D[i, j] = D[j, i] = 1.0
            directions.append(E @ D @ E.T)
        edges.append((a, mark, b))
    directions += [np.outer(E[:, i], E[:, i]) for i in range(d)]
    J = np.array([D[np.tril_indices(d)] for D in directions]).T
    J /= np.linalg.norm(J, axis=0)

    def rank(M):
        return np.linalg.matrix_rank(M, tol=1e-9)

    full = rank(J)
    return {e for k, e in enumerate(edges) if rank(np.delete(J, k, axis=1)) == full}


@given(admgs(max_nodes=5))
@settings(max_examples=80, deadline=None)
def test_what_can_move_agrees_with_the_full_jacobian(graph):
    found = {(e.a, e.mark, e.b) for e in graph.identified().rows if e.verdict == "not identified"}
    # Any of a few points shows the generic rank; a bad one can only lower it.
    assert found == set.intersection(*(moving(graph, rng) for rng in range(3)))


def test_finitely_many_values_are_left_undecided():
    # Three children of one cause, each with a bow: three equations, quadratic, for three effects.
    found = bf.parse("x -> a <-> x, x -> b <-> x, x -> c <-> x").identified()
    assert {edge.verdict for edge in found.rows} == {"undecided"}
    assert str(found).startswith("6 undecided")


# -- recovery --


@given(admgs(max_nodes=6))
@settings(max_examples=60, deadline=None)
def test_parameters_come_back_from_the_covariance(graph):
    sem = bf.random_sem(graph, rng=5)
    if graph.identified().complete:
        again = bf.LinearSEM.from_covariance(graph, sem.covariance())
        # An instrument can be weak by chance, and then digits are lost.
        assert np.allclose(again.B, sem.B, rtol=1e-4, atol=1e-4)
        assert np.allclose(again.covariance(), sem.covariance(), rtol=1e-6, atol=1e-6)
    else:
        with pytest.raises(bf.errors.GraphError, match="not determine"):
            bf.LinearSEM.from_covariance(graph, sem.covariance())


def test_other_covariances_are_refused():
    graph = bf.parse("x -> y -> z")
    cov = [[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]]
    with pytest.raises(bf.errors.DataError, match=r"errors of x and z would have covariance 0\.25"):
        bf.LinearSEM.from_covariance(graph, cov)
    with pytest.raises(bf.errors.DataError, match="Sigma is not symmetric"):
        bf.LinearSEM.from_covariance(bf.parse("x -> y"), [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(bf.errors.DataError, match="Sigma is not positive definite"):
        bf.LinearSEM.from_covariance(bf.parse("x -> y"), [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(bf.errors.DataError, match="variance of y is 0"):
        bf.LinearSEM.from_covariance(bf.parse("x -> y"), [[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(bf.errors.DataError, match="instrument without effect"):
        bf.LinearSEM.from_covariance(bf.parse("z -> x -> y <-> x"), np.eye(3))


def test_units_do_not_matter():
    sem = bf.random_sem(bf.parse("z -> x -> y <-> x, y -> w <-> z"), rng=2)
    scale = np.array([1e-2, 1e2, 1.0, 10.0])
    again = bf.LinearSEM.from_covariance(sem.graph, sem.covariance() * np.outer(scale, scale))
    assert np.allclose(again.B, sem.B * np.outer(scale, 1 / scale), rtol=1e-9)
