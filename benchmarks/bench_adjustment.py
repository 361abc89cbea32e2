"""Compare adjustment sets and instruments with those of other programs on random graphs.

    python benchmarks/bench_adjustment.py --graphs 1000

needs `pydagitty`, a port of dagitty's algorithms to Python (dagitty itself is an R package and a web
page, in no package registry for Python or JavaScript), and `gadjid` for DAGs.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import gadjid
import numpy as np
import pydagitty

import bowfree as bf


def random_admg(rng: np.random.Generator, d: int, arcs: bool) -> bf.MixedGraph:
    """Return an acyclic graph, which may have bows."""
    nodes = [f"v{i}" for i in range(d)]
    pairs = list(combinations(nodes, 2))
    density = rng.uniform(0.15, 0.5)
    arrows = [pair for pair in pairs if rng.random() < density]
    hidden = [pair for pair in pairs if arcs and rng.random() < density / 3]
    return bf.MixedGraph(list(rng.permutation(nodes)), arrows, hidden)


def to_pydagitty(graph: bf.MixedGraph) -> tuple[pydagitty.Graph, dict[str, pydagitty.Node]]:
    """Return the graph; a bidirected edge is an edge with two arrowheads."""
    node = {name: pydagitty.Node(name) for name in graph.nodes}
    other = pydagitty.DAG()
    for name in graph.nodes:
        other.add_node(node[name])
    head, tail = pydagitty.Endpoint.ARROW, pydagitty.Endpoint.TAIL
    for a, b in graph.directed:
        other.add_edge(pydagitty.Edge(node[a], node[b], tail, head))
    for a, b in graph.bidirected:
        other.add_edge(pydagitty.Edge(node[a], node[b], head, head))
    return other, node


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    same_sets = without_sets = with_effect = same_instruments = same_without_effect = 0
    for number in range(options.graphs):
        graph = random_admg(rng, int(rng.integers(4, 9)), arcs=number % 2 == 1)
        x, y = map(str, rng.permutation(graph.nodes)[:2])
        other, node = to_pydagitty(graph)
        ends = {"exposure": node[x], "outcome": node[y]}
        ours = {
            frozenset(row.adjust_for)
            for row in bf.effects.adjustment_sets(graph, of=x, on=y, limit=10_000).rows
            if row.minimal
        }
        theirs = {frozenset(v.identifier for v in found) for found in other.adjustment_sets(**ends)}
        same_sets += ours == theirs
        without_sets += not ours
        if ours != theirs:
            print(
                f"sets differ: {graph}; {x} on {y}: {sorted(map(sorted, ours))}, {sorted(map(sorted, theirs))}"
            )
        own = {row.instrument for row in bf.effects.instruments(graph, of=x, on=y).rows}
        found = {row.node.identifier for row in other.instrumental_variables(**ends)}
        if x in graph.ancestors(y):
            with_effect += 1
            same_instruments += own == found
        else:
            same_without_effect += own == found
    n = options.graphs
    print(
        f"minimal adjustment sets: the same for {same_sets} of {n} graphs ({without_sets} without any)"
    )
    print(f"instruments: the same for {same_instruments} of {with_effect} graphs with an effect")
    # Without an effect, dagitty excludes conditioning on descendants of the outcome; we do not.
    print(f"and for {same_without_effect} of {n - with_effect} graphs without one")
    same = 0
    for _ in range(n):
        d = int(rng.integers(4, 9))
        one, two = (random_admg(rng, d, arcs=False) for _ in range(2))
        matrices = []
        for graph in (one, two):
            matrix = np.zeros((d, d), dtype=np.int8)
            for a, b in graph.directed:
                matrix[one.nodes.index(a), one.nodes.index(b)] = 1
            matrices.append(matrix)
        _, mistakes = gadjid.oset_aid(*matrices, edge_direction="from row to column")
        same += mistakes == bf.effects.adjustment_distance(two, one).mistakes
    print(
        f"adjustment-identification distance of two DAGs: the same for {same} of {n} pairs (gadjid)"
    )


if __name__ == "__main__":
    main()
