"""Rows in clusters: false edges of searches, and coverage of intervals, with and without `clusters`.

Random BAPs with as many edges as variables; the errors have the given intraclass correlation in
clusters of equal size. Counted are edges between pairs that are not adjacent in the true graph,
adjacent pairs that were not found, the coverage of coefficients of the true graph, and that of total
effects averaged over graphs (95 % intervals).

Run: ``python benchmarks/bench_clusters.py [n_sims]``
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import bowfree as bf

D, N_CLUSTERS, SIZE = 6, 50, 20


def random_model(rng: np.random.Generator) -> bf.LinearSEM:
    """Return a random model with D edges."""
    graph = bf.random_bap(D, rng=rng)
    edges = [graph.edges[k] for k in rng.permutation(graph.n_edges)[:D]]
    kinds = {mark: [(a, b) for a, own, b in edges if own == mark] for mark in ("->", "<->")}
    return bf.random_sem(bf.MixedGraph(graph.nodes, kinds["->"], kinds["<->"]), rng=rng)


def clustered_rows(
    model: bf.LinearSEM, icc: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and their clusters."""
    labels = np.repeat(np.arange(N_CLUSTERS), SIZE)
    common = rng.normal(size=(N_CLUSTERS, D))[labels]
    errors = np.sqrt(icc) * common + np.sqrt(1 - icc) * rng.normal(size=(len(labels), D))
    return errors @ np.linalg.cholesky(model.Omega).T @ np.linalg.inv(np.eye(D) - model.B).T, labels


def simulate(icc: float, seed: int) -> dict[str, dict[str, Any]]:
    """Return the counts of one simulation without and with clusters."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    X, labels = clustered_rows(model, icc, rng)
    data = dict(zip(model.graph.nodes, X.T, strict=True))
    truth, effects = model.graph, np.linalg.inv(np.eye(D) - model.B)
    found = {}
    for name, clusters in (("rows", None), ("clusters", labels)):
        search = bf.greedy_search(data, clusters=clusters, restarts=6, rng=1)
        fit = bf.fit(truth, data, clusters=clusters)
        covered = [
            row.lower <= model.B[truth._node(row.b), truth._node(row.a)] <= row.upper
            for row in fit.estimates()
            if row.mark == "->"
        ]
        average = bf.averaged_effects(search, steps=4000, max_steps=8000, rng=1)
        inside = (average.lower <= effects) & (effects <= average.upper)
        found[name] = {
            "false": sum(not truth.adjacent(a, b) for a, _, b in search.graph.edges),
            "missed": sum(not search.graph.adjacent(a, b) for a, _, b in truth.edges),
            "coefficients": covered,
            "averages": inside[(np.abs(effects) > 1e-9) & ~np.eye(D, dtype=bool)].tolist(),
            "n": search.moments.n,
        }
    return found


def main(n_sims: int) -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print(f"{n_sims} simulations, {D} variables, {N_CLUSTERS} clusters of {SIZE} rows")
    print("| intraclass correlation | | n | false edges | missed | coefficients | averages |")
    for icc in (0.0, 0.1, 0.2, 0.3):
        runs = [simulate(icc, seed) for seed in range(n_sims)]
        for name in ("rows", "clusters"):
            own = [run[name] for run in runs]
            mean = [np.mean([one[key] for one in own]) for key in ("n", "false", "missed")]
            shares = [
                np.mean([x for one in own for x in one[key]])
                for key in ("coefficients", "averages")
            ]
            numbers = [f"{mean[0]:.0f}", *(f"{x:.2f}" for x in (*mean[1:], *shares))]
            print(f"| {icc} | {name} |", " | ".join(numbers), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
