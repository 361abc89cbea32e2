"""Data sets of the search benchmarks; imported first, because it sets the number of threads.

Two families: *sparse-weak*, as in section 4.1 of the paper, and *dense-strong*, the public bow-free
benchmark, if its folder is available.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# CPU seconds are those of the search, not of a linear algebra library's idle threads.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

import bowfree as bf  # noqa: E402

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from search_cases import read_bench, simulate_data  # noqa: E402

N = 1000
BENCH = HERE.parents[1] / "shared" / "bench"
FIGURES = HERE.parent / "docs" / "figures"


class DataSet(NamedTuple):
    """Data with their true graph, and the penalty that their family is scored with."""

    X: np.ndarray
    truth: bf.MixedGraph
    penalty: float


def sparse_weak(d: int, n_sets: int) -> Iterator[DataSet]:
    """Yield data of section 4.1: uniform BAPs of in-degree at most 2, n = 1000."""
    for k in range(n_sets):
        yield DataSet(*simulate_data([d, k], d, N, max_in_degree=2), penalty=1.0)


def dense_strong(name: str, n_sets: int) -> Iterator[DataSet]:
    """Yield sets of the public benchmark, none when it is not there; its score is the usual BIC."""
    for k in range(n_sets):
        found = read_bench(BENCH / name, k)
        if found is None:
            print(f"{name} is not here: skipped", file=sys.stderr)
            return
        yield DataSet(*found, penalty=0.5)


def save_json(name: str, results: dict[str, Any]) -> None:
    """Write benchmarks/results/NAME.json."""
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(HERE.parent)}", file=sys.stderr)
