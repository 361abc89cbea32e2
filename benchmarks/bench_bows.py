"""Searches with a bow that knowledge requires: an instrument, with the rest of the graph unknown.

    python benchmarks/bench_bows.py --sets 40

Data: an instrument z -> x, a bow x -> y (0.5) with x <-> y (an error correlation of -.6), and further
variables: random directed edges, also into x and y, and hidden common causes of pairs of them.
Known are tiers (x and y come last), z -> x, and that z and y have no edge.

| method | |
|---|---|
| search with the bow | the fit of the best graph |
| search without bows | the same knowledge without x <-> y; the fit of the best graph |
| true graph | its fit |

*Edges*: F of the edges (with their marks) other than those between z, x and y.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import bowfree as bf

EFFECT = 0.5


def draw(d: int, n: int, seed: int) -> tuple[bf.MixedGraph, np.ndarray]:
    """Return a graph and data."""
    rng = np.random.default_rng([d, n, seed])
    others = [f"w{k}" for k in range(d - 3)]
    names = [*others, "z", "x", "y"]
    B, Omega = np.zeros((d, d)), np.eye(d)
    z, x, y = d - 3, d - 2, d - 1
    for j in [*range(d - 3), x, y]:
        for i in range(min(j, d - 3)):
            kind = rng.random()
            if kind < 0.25:
                B[j, i] = rng.choice([-1, 1]) * rng.uniform(0.3, 0.8)
            elif kind < 0.35 and j < d - 3:
                Omega[i, j] = Omega[j, i] = rng.choice([-1, 1]) * rng.uniform(0.2, 0.4)
    B[x, z], B[y, x] = rng.uniform(0.4, 0.8), EFFECT
    Omega[x, y] = Omega[y, x] = -0.6
    Omega += max(0.0, 0.1 - np.linalg.eigvalsh(Omega)[0]) * np.eye(d)
    directed = [(names[j], names[i]) for i, j in np.argwhere(B)]
    bidirected = [(names[i], names[j]) for i, j in np.argwhere(np.triu(Omega, 1))]
    errors = rng.multivariate_normal(np.zeros(d), Omega, n)
    return bf.MixedGraph(names, directed, bidirected), np.linalg.solve(np.eye(d) - B, errors.T).T


def edge_f(found: bf.MixedGraph, true: bf.MixedGraph) -> float:
    """Return F of the edges outside z, x and y."""
    fixed = {"z", "x", "y"}
    a, b = ({e for e in g.edges if not {e[0], e[2]} <= fixed} for g in (found, true))
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--variables", type=int, nargs="+", default=[6, 10])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| d | method | sets | mean estimate | RMSE | 95 % interval covers | edges F | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for d in options.variables:
        rows: dict[str, list[tuple[float, bool, float, float]]] = {}
        for seed in range(options.seed, options.seed + options.sets):
            true, X = draw(d, options.rows, seed)
            data = dict(zip(true.nodes, X.T, strict=True))
            known = {"forbidden": ["z -- y"], "tiers": [true.nodes[: d - 2], ["x"], ["y"]]}
            required = ["z -> x", "x -> y"]
            for name, edges in (
                ("search with the bow", [*required, "x <-> y"]),
                ("search without bows", required),
                ("true graph", None),
            ):
                began = time.process_time()
                graph = true
                if edges is not None:
                    knowledge = bf.Knowledge(required=edges, **known)
                    graph = bf.greedy_search(data, knowledge=knowledge, rng=seed).graph
                seconds = time.process_time() - began
                row = next(e for e in bf.fit(graph, data).estimates() if (e.a, e.b) == ("x", "y"))
                covers = row.lower <= EFFECT <= row.upper
                result = (row.estimate, covers, edge_f(graph, true), seconds)
                rows.setdefault(name, []).append(result)
        for name, found in rows.items():
            estimates, covers, f, seconds = (np.array(part) for part in zip(*found, strict=True))
            rmse = float(np.sqrt(np.mean((estimates - EFFECT) ** 2)))
            print(
                f"| {d} | {name} | {len(found)} | {estimates.mean():.3f} | {rmse:.3f} | "
                f"{covers.mean():.2f} | {f.mean():.2f} | {seconds.mean():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
