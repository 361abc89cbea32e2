"""Latent projection: figure 1, and the definition by paths."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from graph_strategies import admgs, all_baps

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


def test_hiding_nothing_or_everything():
    assert FIGURE_1A.latent_projection([]) == FIGURE_1A
    assert len(FIGURE_1A.latent_projection(FIGURE_1A.nodes)) == 0


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


@pytest.mark.parametrize("hidden", ["a", "ab"])
def test_every_bap_on_four_nodes_agrees_with_its_paths(hidden):
    for g in all_baps(4):
        assert g.latent_projection(list(hidden)) == _projection_by_paths(g, hidden)


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
