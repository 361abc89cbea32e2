"""Structure search: optima, cost and threads, each table with its assertion.

    python benchmarks/bench_search.py optimum      # 200 sets of 4 variables, all 3,608 BAPs
    python benchmarks/bench_search.py external     # bowfree10 and bowfree20, if available
    python benchmarks/bench_search.py protocol     # the paper's 100 sets x 101 starts, and fewer
    python benchmarks/bench_search.py cost         # climbs from the empty graph, d = 10 .. 100
    python benchmarks/bench_search.py threads      # speed-up of two threads, cache, memory

Times are CPU seconds of one thread unless a table says otherwise. See also bench_strategies.py and
bench_peers.py.
"""

from __future__ import annotations

import math
import resource
import sys
import time

# Before numpy: it sets the number of threads.
from search_data import N, dense_strong, sparse_weak  # isort: skip

import numpy as np

import bowfree as bf
from search_cases import simulate

INTEGER_PROGRAM = [
    -17741.6, -17508.5, -17871.2, -19055.6, -17881.6,
    -18584.9, -17789.5, -18964.8, -17562.1, -17627.9,
]  # fmt: skip


def timed(**options):
    """Return (result, CPU seconds)."""
    start = time.process_time()
    result = bf.greedy_search(**options)
    return result, time.process_time() - start


def optimum(n_sets: int = 200) -> None:
    """Compare both strategies with the exhaustive optimum on four variables."""
    hits = {"ils": 0, "restart": 0}
    seconds = dict.fromkeys(hits, 0.0)
    for k in range(n_sets):
        S, _ = simulate([4, k], 4)
        best = bf.exhaustive_search(cov=S, n=N).score
        for strategy in hits:
            result, cpu = timed(cov=S, n=N, strategy=strategy, rng=k)
            hits[strategy] += result.score >= best - 1e-9
            seconds[strategy] += cpu
    for strategy, count in hits.items():
        print(f"| {strategy} | {count} of {n_sets} | {seconds[strategy] / n_sets * 1e3:.0f} ms |")
    # The paper's strategy is the yardstick, not ours to promise: 101 climbs can all miss.
    assert hits["ils"] == n_sets


def external(seeds: tuple[int, ...] = (0, 1)) -> None:
    """Run the default search on the external benchmark."""
    missed = []
    for name, n_sets in {"bowfree10": 10, "bowfree20": 5}.items():
        for k, (X, truth, penalty) in enumerate(dense_strong(name, n_sets)):
            n, d = X.shape
            true_score = bf.score(truth, X, penalty=penalty)
            for seed in seeds:
                result, cpu = timed(data=X, penalty=penalty, rng=seed)
                published = n * result.score - math.log(n) / 2 * d
                above = n * (result.score - true_score)
                needed = INTEGER_PROGRAM[k] - 0.05 if name == "bowfree10" else -math.inf
                if published < needed or above < -1e-6:
                    missed.append((name, k, seed))
                print(
                    f"| {name} | {k} | {seed} | {published:.1f} | {above:+.2f} | "
                    f"{result.graph.n_edges} | {cpu:.1f} |",
                    flush=True,
                )
    print("missed:", missed or "none")


def protocol(n_sets: int = 100) -> None:
    """Time the paper's search protocol on two threads, and the least of ours that is as good.

    As good: on average over the data sets, in the score.
    """
    rows = {
        "the paper's: 101 starts": {"strategy": "restart"},
        "DAG-first and sparse, 4 runs": {"restarts": 4, "rounds": 0},
        "DAG-first and sparse, 12 runs": {"restarts": 12, "rounds": 0},
        "default": {},
    }
    scores = {name: [] for name in rows}
    walls = dict.fromkeys(rows, 0.0)
    for k, (X, truth, _) in enumerate(sparse_weak(10, n_sets)):
        S = dict(zip(truth.nodes, np.cov(X.T), strict=True))
        # The authors draw sparse starts, but let the search leave their limit.
        uniform = bf.random_bap(truth.nodes, max_in_degree=2, size=100, rng=k)
        starts = {"starts": [bf.MixedGraph(truth.nodes), *uniform]}
        for name, options in rows.items():
            given = options | (starts if "strategy" in options else {})
            begin = time.perf_counter()
            scores[name].append(bf.greedy_search(cov=S, n=N, rng=k, n_jobs=2, **given).score)
            walls[name] += time.perf_counter() - begin
    paper = np.array(scores["the paper's: 101 starts"])
    for name, found in scores.items():
        gap = N * (np.array(found) - paper)
        print(
            f"| {name} | {walls[name]:.1f} | {gap.mean():+.2f} | {np.mean(gap > -1e-4):.2f} | "
            f"{np.mean(gap > 1e-4):.2f} |",
            flush=True,
        )
    assert np.mean(scores["default"]) > paper.mean()


def cost() -> None:
    """Time one climb from the empty graph, with about 1.25 d edges in the truth.

    Beside the climb in the core, the whole call: reading the data, and making graphs of the pool.
    """
    for d in (10, 20, 30, 50, 100):
        rng = np.random.default_rng(d)
        names = [f"x{i + 1}" for i in range(d)]
        pairs = {tuple(sorted(rng.choice(d, 2, replace=False))) for _ in range(int(1.25 * d))}
        kinds = rng.random(len(pairs)) < 0.25
        edges = [(names[a], names[b]) for a, b in pairs]
        graph = bf.MixedGraph(
            names,
            [edge for edge, kind in zip(edges, kinds, strict=True) if not kind],
            [edge for edge, kind in zip(edges, kinds, strict=True) if kind],
        )
        X = np.asarray(bf.random_sem(graph, rng=rng).sample(N, rng=rng))
        result, cpu = timed(data=X, strategy="restart", restarts=0, rng=0)
        (run,) = result.runs
        print(
            f"| {d} | {result.graph.n_edges} | {max(map(len, result.graph.districts()))} | "
            f"{run.seconds:.3f} | {cpu:.3f} | {run.candidates} | {run.fits} | "
            f"{run.fits / run.seconds:,.0f} |",
            flush=True,
        )


def threads() -> None:
    """Two threads beside one on the same search; the results are equal."""
    S, _ = simulate(77, 10, max_in_degree=2)
    walls, results = [], []
    for n_jobs in (1, 2):
        start = time.perf_counter()
        results.append(bf.greedy_search(cov=S, n=N, restarts=200, rounds=0, rng=0, n_jobs=n_jobs))
        walls.append(time.perf_counter() - start)
    assert results[0].pool == results[1].pool
    runs = results[0].runs
    fits, hits = sum(r.fits for r in runs), sum(r.cache_hits for r in runs)
    candidates = sum(r.candidates for r in runs)
    print(f"wall seconds {walls[0]:.2f} and {walls[1]:.2f}: {walls[0] / walls[1]:.2f}x")
    print(f"{candidates / walls[0]:,.0f} candidates/s, {fits / walls[0]:,.0f} fits/s")
    print(f"cache hit rate {hits / (fits + hits):.1%}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    parts = {f.__name__: f for f in (optimum, external, protocol, cost, threads)}
    for wanted in sys.argv[1:] or parts:
        print(f"\n{wanted}")
        parts[wanted]()
