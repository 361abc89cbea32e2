"""Time of graph operations with 1,000 nodes and 3,000 edges, compared with networkx.

Run ``python benchmarks/bench_graph.py``. Every result is checked. The BAP has 2,000 directed and
1,000 bidirected edges; networkx supports DAGs only, so that d-separation is compared on the
directed part. Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import bowfree as bf


def random_bap(d: int, n_directed: int, n_bidirected: int, seed: int) -> bf.MixedGraph:
    """Draw edges at random, at most one per pair, directed along a random order."""
    rng = np.random.default_rng(seed)
    nodes = [f"x{i}" for i in range(d)]
    order = rng.permutation(d)
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < n_directed + n_bidirected:
        i, j = sorted(rng.choice(d, size=2, replace=False).tolist())
        pairs[i, j] = None
    edges = [(nodes[order[i]], nodes[order[j]]) for i, j in pairs]
    return bf.MixedGraph(nodes, edges[:n_directed], edges[n_directed:])


def best(call: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Return the shortest time of several runs in milliseconds, and the answer."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times), answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    d, repeat = options.nodes, options.repeat
    g = random_bap(d, 2 * d, d, seed=0)
    directed, bidirected = g.directed, g.bidirected
    dag = bf.MixedGraph(g.nodes, directed)
    order = g.topological_order()
    # Given the parents of a node without children, the directed part is searched in vain: all of
    # it that can be reached is.
    last = order[-1]
    given = dag.parents(last)
    first = next(v for v in order if v not in given and v != last)

    def fresh(graph: bf.MixedGraph) -> bf.MixedGraph:
        return graph._with(graph._parents, graph._spouses)  # the sets of children are not cached

    ours: dict[str, float] = {}
    ours["construction"], built = best(lambda: bf.MixedGraph(g.nodes, directed, bidirected), repeat)
    assert built == g
    ours["topological order"], found = best(lambda: fresh(g).topological_order(), repeat)
    assert is_topological(found, directed)
    ours["districts"], districts = best(lambda: fresh(g).districts(), repeat)
    where = {v: k for k, district in enumerate(districts) for v in district}
    assert len(where) == d
    assert all(where[a] == where[b] for a, b in bidirected)
    ours["separation, directed part"], separated = best(
        lambda: fresh(dag).m_separated(first, last, given), repeat
    )
    assert separated
    ours["m-separation, whole graph"], separated = best(
        lambda: fresh(g).m_separated(order[0], last), repeat
    )
    assert separated == (not trek_exists(g, order[0], last))
    ours["remove an edge and add it"], again = best(
        lambda: g.remove(directed=directed[:1]).add(directed=directed[:1]), repeat
    )
    assert again == g
    ours["parse(str(g))"], again = best(lambda: bf.parse(str(g)), repeat)
    assert again == g

    theirs: dict[str, float] = {}
    try:
        import networkx as nx
    except ImportError:
        print("networkx is not installed: no comparison")
    else:
        theirs["construction"], D = best(lambda: _digraph(nx, g.nodes, directed), repeat)
        theirs["topological order"], found = best(lambda: list(nx.topological_sort(D)), repeat)
        assert is_topological(found, directed)
        U = nx.Graph(bidirected)
        U.add_nodes_from(g.nodes)
        theirs["districts"], parts = best(lambda: list(nx.connected_components(U)), repeat)
        assert {frozenset(part) for part in parts} == {frozenset(part) for part in districts}
        theirs["separation, directed part"], separated = best(
            lambda: nx.is_d_separator(D, {first}, {last}, set(given)), repeat
        )
        assert separated

    print(f"d = {d}, {g.n_edges} edges ({g.n_directed} directed); milliseconds, best of {repeat}")
    print(f"{'':30s}{'bowfree':>10s}{'networkx':>10s}")
    for name, ms in ours.items():
        print(
            f"{name:30s}{ms:10.2f}{theirs[name]:10.2f}"
            if name in theirs
            else f"{name:30s}{ms:10.2f}"
        )


def is_topological(order: Iterable[str], directed: Iterable[tuple[str, str]]) -> bool:
    """Tell whether every edge goes forward in the order."""
    place = {v: k for k, v in enumerate(order)}
    return all(place[a] < place[b] for a, b in directed)


def trek_exists(g: bf.MixedGraph, a: str, b: str) -> bool:
    """Tell whether a and b are connected given nothing: by a common ancestor or joined ones."""
    above = g.ancestors(a)
    return bool((above | g.spouses(above)) & g.ancestors(b))


def _digraph(nx: Any, nodes: tuple[str, ...], edges: tuple[tuple[str, str], ...]) -> Any:
    D = nx.DiGraph()
    D.add_nodes_from(nodes)
    D.add_edges_from(edges)
    return D


if __name__ == "__main__":
    main()
