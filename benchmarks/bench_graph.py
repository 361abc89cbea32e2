"""How long graph operations take at d = 1,000 with 3,000 edges, beside networkx where it can.

Run ``python benchmarks/bench_graph.py``. Every answer is checked. The BAP has 2,000 directed and
1,000 bidirected edges; networkx knows DAGs only, so its d-separation is asked on the directed
part, and so is ours for comparison. Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
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
    # A query that is answered only after the whole graph was searched: a node is m-separated from a
    # node without descendants below it, given all its parents and spouses, in the DAG part.
    last = order[-1]
    given = dag.parents(last)
    first = next(v for v in order if v not in given and v != last)

    def fresh(graph: bf.MixedGraph) -> bf.MixedGraph:
        return graph._with(graph._parents, graph._spouses)  # without the cached children

    rows: list[tuple[str, float, float | None]] = []

    ms, built = best(lambda: bf.MixedGraph(g.nodes, directed, bidirected), repeat)
    assert built == g
    build_ms = ms

    ms, order_found = best(lambda: fresh(g).topological_order(), repeat)
    place = {v: k for k, v in enumerate(order_found)}
    assert all(place[a] < place[b] for a, b in directed)
    order_ms = ms

    districts_ms, districts = best(lambda: fresh(g).districts(), repeat)
    assert sum(map(len, districts)) == d
    where = {v: k for k, district in enumerate(districts) for v in district}
    assert all(where[a] == where[b] for a, b in bidirected)

    dag_ms, separated = best(lambda: fresh(dag).m_separated(first, last, given), repeat)
    assert separated
    mixed_ms, connected = best(lambda: fresh(g).m_separated(order[0], last), repeat)
    assert connected == (not trek_exists(g, order[0], last))
    closed_ms, closed = best(
        lambda: fresh(g).m_separated(last, first, g.spouses(last) | given - {first}), repeat
    )
    text_ms, parsed = best(lambda: bf.parse(str(g)), repeat)
    assert parsed == g
    add_ms, more = best(lambda: g.remove(directed=directed[:1]).add(directed=directed[:1]), repeat)
    assert more == g

    peer: dict[str, float] = {}
    try:
        import networkx as nx
    except ImportError:
        print("networkx is not installed: no comparison")
    else:
        peer["build"], D = best(lambda: _digraph(nx, g.nodes, directed), repeat)
        peer["order"], peer_order = best(lambda: list(nx.topological_sort(D)), repeat)
        place = {v: k for k, v in enumerate(peer_order)}
        assert all(place[a] < place[b] for a, b in directed)
        U = nx.Graph(bidirected)
        U.add_nodes_from(g.nodes)
        peer["districts"], components = best(lambda: list(nx.connected_components(U)), repeat)
        assert {frozenset(c) for c in components} == {frozenset(c) for c in districts}
        peer["dag"], answer = best(
            lambda: nx.is_d_separator(D, {first}, {last}, set(given)), repeat
        )
        assert answer == separated

    rows = [
        ("construction", build_ms, peer.get("build")),
        ("topological order", order_ms, peer.get("order")),
        ("districts", districts_ms, peer.get("districts")),
        ("separation, directed part", dag_ms, peer.get("dag")),
        ("m-separation, whole graph", mixed_ms, None),
        ("m-separation given spouses and parents", closed_ms, None),
        ("remove and add an edge", add_ms, None),
        ("parse(str(g))", text_ms, None),
    ]
    print(f"d = {d}, {g.n_edges} edges ({g.n_directed} directed); milliseconds, best of {repeat}")
    print(f"{'':40s}{'bowfree':>10s}{'networkx':>10s}")
    for name, ours, theirs in rows:
        print(f"{name:40s}{ours:10.2f}{'' if theirs is None else f'{theirs:10.2f}'}")
    print(f"(the query given spouses and parents: {'separated' if closed else 'connected'})")


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
