"""Graphs found with ``errors="nongaussian"``, beside the search by covariances.

Reads the generator of random BAPs with non-Gaussian errors in ``../shared/bench/nongaussian``. The
table has the share of sets in which the graph is exact, in which its class is right, the structural
Hamming distance, and CPU seconds of a search in one thread, each as "by covariances / non-Gaussian".

Run ``python benchmarks/bench_nongaussian.py [SETS [SETTING ...]]``, such as ``20 "gamma latent
sparse 1000 6"``; seeds start at 10,000 (the score was developed on smaller ones).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import bowfree as bf

FIRST_SEED = 10_000
SETTINGS = (
    "gamma latent sparse 1000 6",
    "gamma copula medium 1000 6",
    "lognormal latent medium 1000 6",
    "gamma latent medium 1000 6",
    "unif copula medium 1000 6",
    "skewnormal latent sparse 1000 6",
    "unif latent sparse 1000 6",
    "gauss latent sparse 1000 6",
    "gamma copula medium 1000 10",
)


def truth(drawn) -> bf.MixedGraph:
    names = [f"v{i}" for i in range(len(drawn["D"]))]
    arrows = [f"{names[j]} -> {names[i]}" for i, j in np.argwhere(drawn["D"])]
    spouses = [f"{names[i]} <-> {names[j]}" for i, j in np.argwhere(np.tril(drawn["Bi"]))]
    return bf.parse(", ".join([*names, *arrows, *spouses]))


def measure(setting: str, n_sets: int, generator) -> str:
    law, kind, regime, n, p = setting.split()
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
        drawn = generator.setting(int(n), int(p), regime, law, kind, seed)
        graph = truth(drawn)
        data = dict(zip(graph.nodes, drawn["X"].T, strict=True))
        row = []
        for errors in ("gaussian", "nongaussian"):
            begin = time.process_time()
            found = bf.greedy_search(data, errors=errors, penalty=1.0, rng=1, n_jobs=1).graph
            seconds = time.process_time() - begin
            row.append(
                (found == graph, bf.equivalent(found, graph), bf.graph.shd(found, graph), seconds)
            )
        rows.append(row)
    one, other = np.mean(np.array(rows, dtype=float), axis=0)
    cells = (f"{a:.2f} / {b:.2f}" for a, b in zip(one, other, strict=True))
    return f"| {law} {kind} {regime}, n = {n}, p = {p} | {n_sets} | {' | '.join(cells)} |"


def main() -> None:
    folder = Path(__file__).resolve().parents[2] / "shared" / "bench" / "nongaussian"
    sys.path.insert(0, str(folder))
    import generator

    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("| setting | sets | exact graph | right class | distance | CPU s |")
    print("|---|---|---|---|---|---|")
    for setting in sys.argv[2:] or SETTINGS:
        print(measure(setting, n_sets, generator), flush=True)


if __name__ == "__main__":
    main()
