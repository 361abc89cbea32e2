"""Districts, colliders, cycles, bows, and the classes of graphs."""

from itertools import combinations, permutations

from hypothesis import given

import bowfree as bf
from graph_strategies import admgs, all_baps, mixed_graphs


def test_topological_order_takes_the_first_free_node():
    assert bf.parse("c -> a, b, d -> b").topological_order() == ("c", "a", "d", "b")
    assert bf.parse("").topological_order() == ()


def test_counts_of_small_graphs():
    # BAPs: DESIGN of the package, checked by enumeration; DAGs: 3, 25, 543 (OEIS A003024).
    assert [len(all_baps(d)) for d in (2, 3, 4)] == [4, 62, 3608]
    assert [sum(g.is_dag() for g in all_baps(d)) for d in (2, 3, 4)] == [3, 25, 543]
    # Not arid on 4 nodes: the six pairs split into two spanning trees, which must both be paths
    # (the complement of a star is a triangle). 12 paths, and 4 ends to direct one of them to.
    assert sum(not g.is_arid() for g in all_baps(4)) == 12 * 4
    assert all(g.is_arid() for g in all_baps(3))


def test_the_classes_nest():
    for g in all_baps(4):
        flags = [g.is_dag(), g.is_ancestral(), g.is_arid(), g.is_bap()]
        assert flags == sorted(flags)


def _is_arid_by_definition(g):
    for size in range(2, len(g) + 1):
        for inside in combinations(g.nodes, size):
            part = g.subgraph(inside)
            if len(part.districts()) == 1 and any(len(part.ancestors(v)) == size for v in inside):
                return False
    return g.is_acyclic()


@given(mixed_graphs())
def test_arid_and_ancestral_agree_with_their_definitions(g):
    assert g.is_arid() == _is_arid_by_definition(g)
    assert g.is_ancestral() == (
        g.is_acyclic() and not any(g.ancestors(v) & g.spouses(v) for v in g)
    )


@given(mixed_graphs())
def test_cycles_agree_with_descent(g):
    cyclic = any(v in g.descendants(g.children(v)) for v in g)
    assert g.is_acyclic() == (not cyclic)
    cycle = g.find_cycle()
    assert (cycle is not None) == cyclic
    if cycle is not None:
        assert len(set(cycle)) == len(cycle) >= 2
        assert g.has_edge(" -> ".join(cycle + cycle[:1]))


@given(admgs())
def test_topological_order_puts_parents_first(g):
    order = g.topological_order()
    assert sorted(order) == sorted(g.nodes)
    assert all(order.index(a) < order.index(b) for a, b in g.directed)


@given(mixed_graphs(max_nodes=5))
def test_colliders_agree_with_paths_of_length_two(g):
    triples = {
        (i, j, k)
        for i, j, k in permutations(g.nodes, 3)
        if g.nodes.index(i) < g.nodes.index(k)
        for path in g.paths(i, k)
        if path.nodes == (i, j, k) and path.colliders
    }
    assert g.collider_triples() == triples
    assert g.v_structures() == {t for t in triples if frozenset(t[::2]) not in g.skeleton()}


@given(mixed_graphs())
def test_districts_are_connected_and_apart(g):
    districts = g.districts()
    assert sorted(v for district in districts for v in district) == sorted(g.nodes)
    for district in districts:
        assert g.spouses(district) <= set(district)
        seen = {district[0]}
        while not g.spouses(seen) <= seen:
            seen |= g.spouses(seen)
        assert seen == set(district)
