"""MAGs and PAGs: the paper's figure, brute force over all MAGs, and causal-learn's rules."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

import bowfree as bf
from bowfree.graph.separation import minimal_separator
from graph_strategies import admgs, all_baps, baps, orientations, separations

NONE, CIRCLE, HEAD, TAIL = range(4)


def test_figure_1b():
    # x1 -> x2 -> x3 -> x4 with x2 <-> x4: no set separates x1 from x4
    graph = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    assert graph.mag() == bf.parse("x1 -> x2 -> x3 -> x4 <- x1, x2 -> x4")
    assert str(graph.pag()) == "x1 o-o x2, x1 o-> x4, x2 o-o x3, x2 o-> x4, x3 o-> x4"


def test_marks_by_name():
    pag = bf.parse("w -> x -> z, y -> x, v").pag()
    assert pag.edges == (("w", "o->", "x"), ("x", "->", "z"), ("y", "o->", "x"))
    assert pag.mark_at("w", "x") == "circle"
    assert pag.mark_at("x", "w") == "head"
    assert pag.mark_at("x", "z") == "tail"
    assert pag.to_dict()["edges"][0] == ["w", "o->", "x"]
    with pytest.raises(bf.errors.GraphError, match="not adjacent"):
        pag.mark_at("v", "x")
    with pytest.raises(bf.errors.GraphError, match="unknown node 'u'"):
        pag.mark_at("u", "x")


def test_a_cycle_has_no_mag():
    with pytest.raises(bf.errors.GraphError, match="cycle"):
        bf.parse("x -> y -> z -> x").pag()


def marks(mag):
    """Return the marks of a MAG as those of a PAG."""
    d = len(mag)
    M = np.zeros((d, d), dtype=int)
    at = {name: i for i, name in enumerate(mag.nodes)}
    for a, b in mag.directed:
        M[at[a], at[b]], M[at[b], at[a]] = HEAD, TAIL
    for a, b in mag.bidirected:
        M[at[a], at[b]] = M[at[b], at[a]] = HEAD
    return M


def common(mags):
    """Return the marks in which all of these agree, circles where they do not."""
    stack = np.array([marks(mag) for mag in mags])
    return np.where((stack == stack[0]).all(axis=0), stack[0], CIRCLE)


def classes(d):
    """Return all MAGs on d nodes in their Markov classes."""
    found = {}
    for graph in all_baps(d):
        if graph.is_ancestral() and graph.mag() == graph:
            found.setdefault(frozenset(separations(graph)), []).append(graph)
    return list(found.values())


@pytest.mark.parametrize(("d", "n_mags", "n_classes"), [(2, 4, 2), (3, 56, 11), (4, 2492, 248)])
def test_all_small_mags(d, n_mags, n_classes):
    found = classes(d)
    assert (sum(map(len, found)), len(found)) == (n_mags, n_classes)
    for mags in found:
        assert np.array_equal(mags[0].pag().marks, common(mags))
        assert np.array_equal(mags[-1].pag().marks, common(mags))


@pytest.mark.parametrize("seed", range(12))
def test_five_and_six_nodes(seed):
    nodes = [f"v{i}" for i in range(5 + seed % 2)]
    draws = (
        bf.random_bap(nodes, rng=k, max_edges=7).mag() for k in range(100 * seed, 100 * seed + 99)
    )
    mag = next(mag for mag in draws if 5 <= mag.n_edges <= 7)  # 3^7 graphs to look at
    pairs = [pair for pair in combinations(nodes, 2) if mag.adjacent(*pair)]
    key = separations(mag)
    same = [
        other
        for other in orientations(mag.nodes, pairs)
        if other.is_ancestral() and separations(other) == key
    ]
    assert np.array_equal(mag.pag().marks, common(same))


@given(admgs())
def test_a_mag_has_the_same_separations_and_ancestors(graph):
    mag = graph.mag()
    assert mag.is_ancestral()
    assert mag.mag() == mag
    assert separations(mag) == separations(graph)
    for node in graph.nodes:
        assert mag.ancestors(node) == graph.ancestors(node)


@given(baps())
@settings(max_examples=25)
def test_equivalent_graphs_have_one_pag(graph):
    pag = graph.pag()
    for member in bf.equivalence_class(graph, limit=20)[:5]:
        assert member.pag() == pag


# -- causal-learn --


def by_causal_learn(graph):
    """Orient with the rules of causal-learn: our skeleton and separators, their marks."""
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased import FCI

    nodes = [GraphNode(name) for name in graph.nodes]
    pag = GeneralGraph(nodes)
    separators = {}
    for i, j in combinations(range(len(nodes)), 2):
        a, b = graph.nodes[i], graph.nodes[j]
        separator = minimal_separator(graph, a, b)
        if separator is None:
            pag.add_edge(Edge(nodes[i], nodes[j], Endpoint.CIRCLE, Endpoint.CIRCLE))
        else:
            found = {graph.nodes.index(name) for name in separator}
            separators[i, j] = separators[j, i] = found

    def independent(i, j, given):
        a, b = graph.nodes[i], graph.nodes[j]
        return float(graph.m_separated(a, b, given=[graph.nodes[k] for k in given]))

    FCI.rule0(pag, nodes, separators, None, False)
    changed = True
    while changed:
        changed = FCI.rulesR1R2cycle(pag, None, False, False)
        changed = FCI.ruleR3(pag, separators, None, changed, False)
        changed = FCI.ruleR4B(pag, -1, None, independent, 0.5, separators, changed, None, False)
        changed = FCI.rule8(pag, nodes, changed)
        changed = FCI.rule9(pag, nodes, changed)
        changed = FCI.rule10(pag, changed)
    return pag.graph


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_by_the_rules_of_causal_learn(seed):
    pytest.importorskip("causallearn")
    d = 5 + seed % 6
    graph = bf.random_bap([f"v{i}" for i in range(d)], rng=seed, max_in_degree=2)
    assert np.array_equal(
        bf.formats.to_matrix(graph.pag(), format="causal-learn"), by_causal_learn(graph)
    )
