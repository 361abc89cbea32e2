"""m-separation and latent projection against their definitions."""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.graph.separation import minimal_separator
from field_twin import rational_covariance, solve
from graph_strategies import admgs, all_baps, mixed_graphs, separations


def test_figure_1b_has_one_separation():
    #   x1 -> x2 -> x3 -> x4 <-> x2
    g = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    assert separations(g) == {("x1", "x3", ("x2",))}


def test_a_descendant_opens_a_collider():
    #   a -> c <-> b,  c -> d
    g = bf.parse("a -> c <-> b, c -> d")
    assert g.m_separated("a", "b")
    assert not g.m_separated("a", "b", "d")
    assert not g.m_separated(["a"], ["b"], ["c"])
    assert g.m_separated("a", [], "c")


def connects(path, given, ancestors):
    """Apply the definition of section 2.1 to one path; `ancestors` are those of the set given."""
    colliders = set(path.colliders)
    return colliders <= ancestors and not (set(path.nodes[1:-1]) - colliders) & set(given)


def test_every_bap_on_up_to_four_nodes_and_every_set():
    for g in (graph for d in (2, 3, 4) for graph in all_baps(d)):
        for a, b in combinations(g.nodes, 2):
            paths = list(g.paths(a, b))
            rest = [v for v in g.nodes if v not in (a, b)]
            for C in (C for size in range(len(rest) + 1) for C in combinations(rest, size)):
                connected = any(connects(path, C, g.ancestors(C)) for path in paths)
                assert g.m_separated(a, b, C) != connected, (g, a, b, C)


@given(mixed_graphs(max_nodes=5), st.data())
@settings(max_examples=150)
def test_sets_bows_and_cycles_agree_with_the_definition(g, data):
    part = data.draw(st.lists(st.sampled_from("ABC-"), min_size=len(g), max_size=len(g)))
    A, B, C = ([v for v, p in zip(g.nodes, part, strict=True) if p == kind] for kind in "ABC")
    paths = [path for a in A for b in B for path in g.paths(a, b)]
    connected = any(connects(path, C, g.ancestors(C)) for path in paths)
    assert g.m_separated(A, B, C) == g.m_separated(B, A, C) == (not connected)


@given(admgs(max_nodes=5), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_separation_means_zero_partial_correlation(g, seed):
    """The global Markov property, both ways, in exact arithmetic.

    If a partial covariance is not zero for all parameters, a random integer point makes it zero with
    probability below 1e-7.
    """
    Sigma = rational_covariance(g, np.random.default_rng(seed), largest=10**9)
    separated = separations(g)
    for a, b in combinations(range(len(g)), 2):
        rest = [v for v in range(len(g)) if v not in (a, b)]
        for C in chain.from_iterable(combinations(rest, size) for size in range(len(rest) + 1)):
            slopes = solve(
                [[Sigma[i][j] for j in C] for i in C], [Sigma[i][b] for i in C], Fraction
            )
            covariance = Sigma[a][b] - sum(
                (Sigma[a][c] * x for c, x in zip(C, slopes, strict=True)), start=Fraction(0)
            )
            key = (g.nodes[a], g.nodes[b], tuple(g.nodes[v] for v in C))
            assert (key in separated) == (covariance == 0)


@pytest.mark.parametrize("seed", range(60))
def test_minimal_separators_separate_and_have_no_needless_member(seed):
    rng = np.random.default_rng(seed)
    graph = bf.random_bap(int(rng.integers(3, 7)), rng=seed)
    for a, b in combinations(graph.nodes, 2):
        others = [v for v in graph.nodes if v not in (a, b)]
        needed = tuple(v for v in others if rng.random() < 0.2)
        found = minimal_separator(graph, a, b, including=needed)
        sets = [
            {*needed, *more}
            for k in range(len(others) + 1)
            for more in combinations([v for v in others if v not in needed], k)
        ]
        separating = [s for s in sets if graph.m_separated(a, b, s)]
        assert (found is None) == (not separating)
        if found is not None:
            assert set(found) in separating
            assert not any(s < set(found) for s in separating)


# -- latent projection --

#   x1 -> h2 -> x2          h1 is a common effect of x1 and x3,
#         x2 <- h3 -> x4    h3 a common cause of x2 and x4
#   x2 -> x3 -> x4
FIGURE_1A = bf.parse(
    "x1, x2, x3, x4, x1 -> h1 <- x3, x1 -> h2 -> x2, x2 <- h3 -> x4, x2 -> x3 -> x4"
)


def test_figure_1():
    b = FIGURE_1A.latent_projection(["h1", "h2", "h3"])
    assert b == bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    assert b.is_bap()
    c = b.latent_projection("x3")
    assert c == bf.parse("x1 -> x2 -> x4 <-> x2")
    assert not c.is_bap()
    assert c.bows() == (("x2", "x4"),)


def _projection_by_paths(g, hidden):
    seen = [v for v in g.nodes if v not in hidden]
    directed, bidirected = [], []
    for a, b in combinations(seen, 2):
        for path in g.paths(a, b):
            if path.colliders or not set(path.nodes[1:-1]) <= set(hidden):
                continue
            if path.is_directed:
                directed.append((a, b))
            elif all(mark == "<-" for mark in path.marks):
                directed.append((b, a))
            elif path.marks[0] != "->" and path.marks[-1] != "<-":
                bidirected.append((a, b))
    return bf.MixedGraph(seen, directed, bidirected)


@given(admgs(), st.randoms(use_true_random=False))
def test_projection_agrees_with_paths_and_can_be_done_in_steps(g, random):
    hidden = [v for v in g.nodes if random.random() < 0.5]
    projected = g.latent_projection(hidden)
    assert projected == _projection_by_paths(g, hidden)
    random.shuffle(hidden)
    stepwise = g
    for v in hidden:
        stepwise = stepwise.latent_projection(v)
    assert stepwise == projected


@given(admgs(max_nodes=5), st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_projection_keeps_the_separations_of_what_is_seen(g, random):
    projected = g.latent_projection([v for v in g.nodes if random.random() < 0.4])
    for a, b in combinations(projected.nodes, 2):
        rest = [v for v in projected.nodes if v not in (a, b)]
        given_ = [v for v in rest if random.random() < 0.5]
        assert projected.m_separated(a, b, given_) == g.m_separated(a, b, given_)
