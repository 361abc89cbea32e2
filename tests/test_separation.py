"""m-separation: the definition, word for word, against the reachability search."""

from itertools import combinations, permutations

import bowfree as bf
import numpy as np
from graph_strategies import admgs, all_baps, mixed_graphs
from hypothesis import given, settings
from hypothesis import strategies as st


def test_figure_1b_has_one_separation():
    #   x1 -> x2 -> x3 -> x4 <-> x2
    g = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    found = [
        (a, b, given)
        for a, b in combinations(g.nodes, 2)
        for size in range(3)
        for given in combinations([v for v in g.nodes if v not in (a, b)], size)
        if g.m_separated(a, b, given)
    ]
    assert found == [("x1", "x3", ("x2",))]


def test_a_descendant_opens_a_collider():
    #   a -> c <-> b,  c -> d
    g = bf.parse("a -> c <-> b, c -> d")
    assert g.m_separated("a", "b")
    assert not g.m_separated("a", "b", "d")
    assert not g.m_separated(["a"], ["b"], ["c"])
    assert g.m_separated("a", [], "c")


def _connecting_sets(g, a, b):
    """Yield the sets C given which a path connects a and b, by the definition of section 2.1.

    Written for at most one edge per pair: a path is then its nodes. Sets are masks.
    """
    d = len(g)
    into = [p | s for p, s in zip(g._parents, g._spouses, strict=True)]  # arrowheads at i, from j
    linked = [p | s | c for p, s, c in zip(g._parents, g._spouses, g._children(), strict=True)]
    an = [0] * (1 << d)
    for C in range(1 << d):
        an[C] = g._mask(g.ancestors(g._names(C)))
    rest = [v for v in range(d) if v not in (a, b)]
    sets = [C for C in range(1 << d) if not C & (1 << a | 1 << b)]
    for size in range(len(rest) + 1):
        for inner in permutations(rest, size):
            path = (a, *inner, b)
            if not all(linked[u] >> v & 1 for u, v in zip(path, path[1:], strict=False)):
                continue
            colliders = others = 0
            for u, v, w in zip(path, path[1:], path[2:], strict=False):
                if into[v] >> u & 1 and into[v] >> w & 1:
                    colliders |= 1 << v
                else:
                    others |= 1 << v
            yield from (C for C in sets if not others & C and not colliders & ~an[C])


def test_every_bap_on_up_to_four_nodes_and_every_set():
    for d in (2, 3, 4):
        for g in all_baps(d):
            for a, b in combinations(range(d), 2):
                connecting = set(_connecting_sets(g, a, b))
                for C in range(1 << d):
                    if C & (1 << a | 1 << b):
                        continue
                    answer = g.m_separated(g.nodes[a], g.nodes[b], g._names(C))
                    assert answer == (C not in connecting), (g, a, b, C)


def _separated_by_paths(g, A, B, C):
    """Apply the definition to sets, and to graphs with bows and cycles: over all Path objects."""
    ancestors = g.ancestors(C)
    return not any(
        set(path.colliders) <= ancestors
        and not (set(path.nodes[1:-1]) - set(path.colliders)) & set(C)
        for a in A
        for b in B
        for path in g.paths(a, b)
    )


@given(mixed_graphs(max_nodes=5), st.data())
@settings(max_examples=150)
def test_sets_bows_and_cycles_agree_with_the_definition(g, data):
    part = data.draw(st.lists(st.sampled_from("ABC-"), min_size=len(g), max_size=len(g)))
    A, B, C = ([v for v, p in zip(g.nodes, part, strict=True) if p == kind] for kind in "ABC")
    answer = g.m_separated(A, B, C)
    assert answer == _separated_by_paths(g, A, B, C)
    assert answer == g.m_separated(B, A, C)


@given(admgs(max_nodes=5), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_separation_means_zero_partial_correlation(g, seed):
    """The global Markov property: zero if separated; if not, not zero for almost all parameters."""
    Sigma = bf.random_sem(g, rng=seed).standardized().covariance()
    for a, b in combinations(range(len(g)), 2):
        rest = [v for v in range(len(g)) if v not in (a, b)]
        for size in range(len(rest) + 1):
            for C in combinations(rest, size):
                index = [a, b, *C]
                P = np.linalg.inv(Sigma[np.ix_(index, index)])
                if g.m_separated(g.nodes[a], g.nodes[b], [g.nodes[v] for v in C]):
                    # Rounding of the inverse: condition number times machine precision.
                    bound = 1e-13 * np.linalg.cond(Sigma[np.ix_(index, index)])
                    assert abs(P[0, 1]) <= bound * np.sqrt(P[0, 0] * P[1, 1])
