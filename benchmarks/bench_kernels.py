"""Searches and averages under the BLAS kernels of four processors.

    python benchmarks/bench_kernels.py        # about two minutes; x86-64 with OpenBLAS

The same 20 searches (d = 10 and 20) and 20 averages (d = 6) run in one process for each kernel.
Asserted: graphs, scores, probabilities and intervals have the same bits.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np

KERNELS = ("Nehalem", "Haswell", "SkylakeX", "Zen")


def table(seed, d, n):
    """Return rows of a random recursive model, computed without BLAS."""
    rng = np.random.default_rng(seed)
    columns = []
    for i in range(d):
        column = rng.standard_normal(n)
        for j in range(i):
            if rng.random() < 2.0 / d:
                column = column + rng.normal(scale=0.6) * columns[j]
        columns.append(column)
    return {f"x{i}": column for i, column in enumerate(columns)}


def results():
    """Print a line for each search and each average: what was computed, and a hash of its bits."""
    import bowfree as bf

    warnings.simplefilter("ignore")
    for seed in range(20):
        d = 10 if seed < 14 else 20
        found = bf.greedy_search(table(seed, d, 500), rng=1)
        bits = f"{found.graph} {found.score.hex()}".encode()
        print(f"search, d = {d}, seed {seed}: {hashlib.sha256(bits).hexdigest()[:12]}")
    for seed in range(20):
        found = bf.averaged_effects(bf.greedy_search(table(seed, 6, 300), rng=1), rng=1)
        bits = found.probability.tobytes() + found.lower.tobytes() + found.upper.tobytes()
        print(f"averages, d = 6, seed {seed}: {hashlib.sha256(bits).hexdigest()[:12]}")


def main():
    lines = {}
    for kernel in KERNELS:
        environment = {**os.environ, "OPENBLAS_CORETYPE": kernel}
        command = [sys.executable, __file__, "--results"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        lines[kernel] = done.stdout.splitlines()
    first = lines[KERNELS[0]]
    print("| kernel | searches with the same bits | averages with the same bits |")
    print("|---|---|---|")
    for kernel in KERNELS:
        same = [a == b for a, b in zip(lines[kernel], first, strict=True)]
        print(f"| {kernel} | {sum(same[:20])} of 20 | {sum(same[20:])} of 20 |")
    assert all(lines[kernel] == first for kernel in KERNELS), "a kernel changes a result"


if __name__ == "__main__":
    results() if "--results" in sys.argv else main()
